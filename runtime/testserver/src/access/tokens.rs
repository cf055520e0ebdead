//! Tokens of service accounts: what they say, for how long they hold, and how they are asked for.

use std::fmt;
use std::hash::{BuildHasher, RandomState};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::access::User;
use crate::access::rules::quoted;
use crate::cluster::{Cluster, Place};
use crate::kinds::Kind;
use crate::objects::writing::name_of;
use crate::status::{Cause, Status};

/// For whom tokens are, unless they are asked for others.
pub(crate) const AUDIENCE: &str = "https://kubernetes.default.svc";
const HOUR: i64 = 3600;
const SHORTEST: i64 = 600;
const LONGEST: i64 = 1 << 32;

/// Signs tokens with a secret of its own, so that those of other servers are foreign.
pub(crate) struct Issuer {
    secret: [u8; 32],
}

/// What a token is to be like.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Spec {
    audiences: Option<Vec<String>>,
    expiration_seconds: Option<i64>,
    bound_object_ref: Option<Reference>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Reference {
    kind: String,
    api_version: String,
    name: String,
    uid: String,
}

/// A token that was found good.
#[derive(Debug)]
pub(crate) struct Accepted {
    pub(crate) user: User,
    /// The audiences that were asked for and that the token is for.
    pub(crate) audiences: Vec<String>,
}

impl Default for Issuer {
    fn default() -> Self {
        let mut secret = [0; 32];
        for part in secret.chunks_mut(8) {
            // Keys of hash maps are the standard library's only source of chance.
            part.copy_from_slice(&RandomState::new().hash_one(()).to_le_bytes());
        }
        Self { secret }
    }
}

impl fmt::Debug for Issuer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Issuer").finish_non_exhaustive()
    }
}

impl Issuer {
    fn sign(&self, claims: &Value) -> String {
        let header = json!({"alg": "HS256", "typ": "JWT"});
        let body = format!("{}.{}", encode(&header), encode(claims));
        let signature = URL_SAFE_NO_PAD.encode(self.mac(&body));
        format!("{body}.{signature}")
    }

    /// What a token says, if it is one of this issuer.
    fn read(&self, token: &str) -> Option<Value> {
        let (body, signature) = token.rsplit_once('.')?;
        let signature = URL_SAFE_NO_PAD.decode(signature).ok()?;
        if signature != self.mac(body) {
            return None;
        }
        let claims = URL_SAFE_NO_PAD.decode(body.split_once('.')?.1).ok()?;
        serde_json::from_slice(&claims).ok()
    }

    // HMAC as in RFC 2104; the secret is shorter than a block.
    fn mac(&self, text: &str) -> [u8; 32] {
        let pad = |with: u8| {
            let mut block = [with; 64];
            for (byte, key) in block.iter_mut().zip(self.secret) {
                *byte ^= key;
            }
            block
        };
        let inner = Sha256::new().chain_update(pad(0x36)).chain_update(text).finalize();
        Sha256::new()
            .chain_update(pad(0x5c))
            .chain_update(inner)
            .finalize()
            .into()
    }
}

fn encode(value: &Value) -> String {
    URL_SAFE_NO_PAD.encode(value.to_string())
}

/// Whether tokens are asked for at objects of this kind.
pub(crate) fn are_for(kind: &Kind) -> bool {
    kind.group.is_empty() && kind.plural == "serviceaccounts"
}

/// Makes a token of a service account as [`answer`] does, for one hour and the server itself.
pub(crate) fn simple(cluster: &mut Cluster, namespace: &str, name: &str) -> Result<String, Status> {
    let place = cluster.place("", "v1", "serviceaccounts", Some(namespace))?;
    let answer = answer(cluster, &place, name, &json!({}))?;
    Ok(answer["status"]["token"].as_str().unwrap_or_default().to_owned())
}

/// Answers a request for a token of a service account.
pub(crate) fn answer(cluster: &mut Cluster, place: &Place, name: &str, request: &Value) -> Result<Value, Status> {
    let spec: Option<Spec> = serde_json::from_value(request["spec"].clone()).map_err(|error| {
        let what = "TokenRequest in version \"v1\" cannot be handled as a TokenRequest";
        Status::bad_request(format!("{what}: {error}"))
    })?;
    let spec = spec.unwrap_or_default();
    let account = cluster.store.get(&place.kind.key(), &place.namespace, name).cloned();
    let account = account.ok_or_else(|| Status::not_found(&place.kind, name))?;
    let given = request["metadata"]["namespace"].as_str().unwrap_or_default();
    if !given.is_empty() && given != place.namespace {
        return Err(Status::bad_request(
            "the namespace of the provided object does not match the namespace sent on the request",
        ));
    }
    let seconds = spec.expiration_seconds.unwrap_or(HOUR);
    if let Some(why) = fault_of(seconds) {
        return Err(invalid_request(&Cause::invalid(
            "spec.expirationSeconds",
            &json!(seconds),
            why,
        )));
    }
    let audiences = spec.audiences.filter(|audiences| !audiences.is_empty());
    let audiences = audiences.unwrap_or_else(|| vec![AUDIENCE.to_owned()]);
    let mut of = json!({
        "namespace": place.namespace,
        "serviceaccount": {"name": name, "uid": account["metadata"]["uid"]},
    });
    if let Some(reference) = &spec.bound_object_ref {
        let bound = bound_object(cluster, &place.namespace, reference)?;
        of[reference.kind.to_lowercase()] = bound;
    }
    let now = cluster.timestamp().as_second();
    let claims = json!({
        "aud": audiences, "exp": now + seconds, "iat": now, "iss": AUDIENCE, "jti": cluster.next_uid(),
        "kubernetes.io": of, "nbf": now, "sub": User::service_account(&place.namespace, name).name,
    });
    let expires = Timestamp::from_second(now + seconds).unwrap_or(Timestamp::MAX);
    let given = request["metadata"]["name"].as_str().filter(|given| !given.is_empty());
    let bound = spec.bound_object_ref.map(|reference| {
        let Reference {
            kind,
            api_version,
            name,
            uid,
        } = reference;
        let mut shown = json!({"kind": kind, "apiVersion": api_version, "name": name, "uid": uid});
        if let Some(fields) = shown.as_object_mut() {
            fields.retain(|_, text| text != "");
        }
        shown
    });
    Ok(json!({
        "kind": "TokenRequest", "apiVersion": "authentication.k8s.io/v1",
        "metadata": {
            "name": given.unwrap_or(name), "namespace": place.namespace, "creationTimestamp": cluster.now(),
        },
        "spec": {"audiences": claims["aud"], "expirationSeconds": seconds, "boundObjectRef": bound},
        "status": {
            "token": cluster.access.issuer.sign(&claims),
            "expirationTimestamp": expires.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        },
    }))
}

fn fault_of(seconds: i64) -> Option<&'static str> {
    if seconds < SHORTEST {
        Some("may not specify a duration less than 10 minutes")
    } else if seconds > LONGEST {
        Some("may not specify a duration larger than 2^32 seconds")
    } else {
        None
    }
}

fn invalid_request(cause: &Cause) -> Status {
    let message = format!(
        "TokenRequest.authentication.k8s.io \"\" is invalid: {}: {}",
        cause.field, cause.message
    );
    let mut status = Status::new(422, "Invalid", message);
    status.details = json!({
        "group": "authentication.k8s.io", "kind": "TokenRequest",
        "causes": [{"reason": cause.reason, "message": cause.message, "field": cause.field}],
    });
    status
}

/// The object without which a token does not hold, as claims name it.
fn bound_object(cluster: &Cluster, namespace: &str, reference: &Reference) -> Result<Value, Status> {
    let plural = match (reference.api_version.as_str(), reference.kind.as_str()) {
        ("v1", "Pod") => "pods",
        ("v1", "Secret") => "secrets",
        (version, kind) => {
            let (group, version) = version.rsplit_once('/').unwrap_or(("", version));
            let mut status = Status::bad_request(format!(
                "cannot bind token to object of type {group}/{version}, Kind={kind}"
            ));
            status.details = Value::Null;
            return Err(status);
        }
    };
    let place = cluster.place("", "v1", plural, Some(namespace))?;
    let object = cluster.store.get(&place.kind.key(), namespace, &reference.name);
    let object = object.ok_or_else(|| Status::not_found(&place.kind, &reference.name))?;
    let uid = &object["metadata"]["uid"];
    if !reference.uid.is_empty() && *uid != *reference.uid {
        let (kind, name, given) = (&reference.kind, &reference.name, &reference.uid);
        let mut status = Status::new(
            409,
            "Conflict",
            format!(
                "Operation cannot be fulfilled on {kind} {name:?}: the UID in the bound object reference ({given}) \
                 does not match the UID in record. The object might have been deleted and then recreated"
            ),
        );
        status.details = json!({"name": name, "kind": kind});
        return Err(status);
    }
    Ok(json!({"name": name_of(object), "uid": uid}))
}

/// Whose token this is, if it holds for one of the audiences; otherwise why not.
pub(crate) fn verify(cluster: &Cluster, token: &str, audiences: &[String]) -> Result<Accepted, String> {
    let claims = cluster.access.issuer.read(token).ok_or("invalid bearer token")?;
    let error = |text: &str| format!("[invalid bearer token, {text}]");
    let now = cluster.timestamp().as_second();
    if claims["exp"].as_i64().is_none_or(|end| now > end) {
        return Err(error("service account token has expired"));
    }
    if claims["nbf"].as_i64().is_some_and(|begin| now < begin) {
        return Err(error("service account token is not valid yet"));
    }
    let own: Vec<String> = serde_json::from_value(claims["aud"].clone()).unwrap_or_default();
    let common: Vec<String> = own.iter().filter(|each| audiences.contains(each)).cloned().collect();
    if common.is_empty() {
        let (own, wanted) = (quoted(&own), quoted(audiences));
        let text = format!("token audiences {own} is invalid for the target audiences {wanted}");
        return Err(error(&text));
    }
    let of = &claims["kubernetes.io"];
    let namespace = of["namespace"].as_str().unwrap_or_default();
    let text = |part: &str, field: &str| of[part][field].as_str().unwrap_or_default().to_owned();
    let mut user = User::service_account(namespace, &text("serviceaccount", "name"));
    user.uid = text("serviceaccount", "uid");
    for (plural, part) in [
        ("serviceaccounts", "serviceaccount"),
        ("pods", "pod"),
        ("secrets", "secret"),
    ] {
        let Some(name) = of[part]["name"].as_str() else {
            continue;
        };
        let found = cluster.store.get(&(String::new(), plural.into()), namespace, name);
        if found.is_none_or(|object| object["metadata"]["uid"] != of[part]["uid"]) {
            return Err(error("service account token has been invalidated"));
        }
    }
    let extra = |field: &str| format!("authentication.kubernetes.io/{field}");
    if of["pod"].is_object() {
        user.extra.insert(extra("pod-name"), vec![text("pod", "name")]);
        user.extra.insert(extra("pod-uid"), vec![text("pod", "uid")]);
    }
    let id = claims["jti"].as_str().unwrap_or_default();
    user.extra.insert(extra("credential-id"), vec![format!("JTI={id}")]);
    Ok(Accepted {
        user,
        audiences: common,
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicI64, Ordering};

    use super::*;

    fn cluster() -> (Cluster, Arc<AtomicI64>) {
        let time = Arc::new(AtomicI64::new(1_800_000_000));
        let clock = Arc::clone(&time);
        let cluster = Cluster::new(Arc::new(move || {
            Timestamp::from_second(clock.load(Ordering::Relaxed)).unwrap()
        }));
        (cluster, time)
    }

    fn own() -> [String; 1] {
        [AUDIENCE.to_owned()]
    }

    #[test]
    fn signatures_are_those_of_hmac() {
        // The second case of RFC 4231 has a key that zeros can fill up.
        let mut secret = [0; 32];
        secret[..4].copy_from_slice(b"Jefe");
        let mac = Issuer { secret }.mac("what do ya want for nothing?");
        let wanted = [
            0x5bdc_c146_bf60_754e_6a04_2426_0895_75c7_u128,
            0x5a00_3f08_9d27_3983_9dec_58b9_64ec_3843,
        ];
        assert_eq!(mac.to_vec(), wanted.map(u128::to_be_bytes).concat());
    }

    #[test]
    fn a_token_holds_until_its_time_is_over() {
        let (mut cluster, time) = cluster();
        let token = simple(&mut cluster, "default", "default").unwrap();
        let accepted = verify(&cluster, &token, &own()).unwrap();
        assert_eq!(accepted.user.name, "system:serviceaccount:default:default");
        time.fetch_add(HOUR, Ordering::Relaxed);
        assert!(verify(&cluster, &token, &own()).is_ok());
        time.fetch_add(1, Ordering::Relaxed);
        assert_eq!(
            verify(&cluster, &token, &own()).unwrap_err(),
            "[invalid bearer token, service account token has expired]"
        );
    }

    #[test]
    fn a_token_of_another_server_is_unknown() {
        let (mut first, _) = cluster();
        let (second, _) = cluster();
        let token = simple(&mut first, "default", "default").unwrap();
        assert_eq!(verify(&second, &token, &own()).unwrap_err(), "invalid bearer token");
        assert!(verify(&first, &token.replace('.', ""), &own()).is_err());
    }

    #[test]
    fn a_token_does_not_hold_for_other_audiences() {
        let (mut cluster, _) = cluster();
        let token = simple(&mut cluster, "default", "default").unwrap();
        assert_eq!(
            verify(&cluster, &token, &["x".to_owned()]).unwrap_err(),
            "[invalid bearer token, token audiences [\"https://kubernetes.default.svc\"] is invalid for the target \
             audiences [\"x\"]]"
        );
    }
}
