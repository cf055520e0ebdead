//! Answers to questions about access: kinds that are only created, and never stored.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::access::{Attributes, User, policy, tokens};
use crate::cluster::{Cluster, Place};
use crate::status::{Cause, Status};

/// The question whether something is allowed; of oneself, without the user.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct AccessSpec {
    resource_attributes: Option<ResourceAttributes>,
    non_resource_attributes: Option<NonResourceAttributes>,
    user: String,
    uid: String,
    groups: Option<Vec<String>>,
    extra: Option<BTreeMap<String, Vec<String>>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ResourceAttributes {
    namespace: String,
    verb: String,
    group: String,
    version: String,
    resource: String,
    subresource: String,
    name: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct NonResourceAttributes {
    path: String,
    verb: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct TokenSpec {
    token: String,
    audiences: Option<Vec<String>>,
}

/// Answers a review.
pub(crate) fn answer(cluster: &Cluster, place: &Place, user: &User, mut review: Value) -> Result<Value, Status> {
    let kind = place.kind.kind.as_str();
    if !review.is_object() {
        let message = format!("the object provided is unrecognized (must be of type {kind})");
        return Err(Status::bad_request(message));
    }
    let namespace = namespace(place, &mut review)?;
    let status = match kind {
        "SelfSubjectReview" => {
            review["metadata"] = json!({"creationTimestamp": cluster.now()});
            json!({"userInfo": user.to_value()})
        }
        "SelfSubjectRulesReview" => {
            let spec: BTreeMap<String, String> = spec(place, &review)?;
            let namespace = spec.get("namespace").cloned().unwrap_or_default();
            if namespace.is_empty() {
                return Err(without_details(Status::bad_request("no namespace on request")));
            }
            // The real server does not repeat the question either.
            review["spec"] = json!({});
            rules(cluster, user, &namespace)
        }
        "TokenReview" => token(cluster, &spec(place, &review)?)?,
        _ => {
            let spec: AccessSpec = spec(place, &review)?;
            let of_self = kind == "SelfSubjectAccessReview";
            let causes = faults(&spec, of_self, namespace);
            if !causes.is_empty() {
                return Err(invalid(place, &causes));
            }
            let asked = if of_self { user.clone() } else { spec.subject() };
            let decision = policy(cluster).decide(&asked, &spec.wanted());
            let mut status = json!({"allowed": decision.allowed});
            if !decision.reason.is_empty() {
                status["reason"] = json!(decision.reason);
            }
            status
        }
    };
    review["kind"] = json!(kind);
    review["apiVersion"] = json!(place.api_version());
    if !review["metadata"].is_object() {
        review["metadata"] = json!({});
    }
    if let Some(metadata) = review["metadata"].as_object_mut() {
        metadata.entry("creationTimestamp").or_insert(Value::Null);
    }
    review["status"] = status;
    Ok(review)
}

/// The namespace of a review that has one, which is the request's.
fn namespace<'a>(place: &'a Place, review: &mut Value) -> Result<Option<&'a str>, Status> {
    if !place.kind.namespaced {
        return Ok(None);
    }
    let given = review["metadata"]["namespace"].as_str().unwrap_or_default();
    if !given.is_empty() && given != place.namespace {
        return Err(Status::bad_request(
            "the namespace of the provided object does not match the namespace sent on the request",
        ));
    }
    if !review["metadata"].is_object() {
        review["metadata"] = json!({});
    }
    review["metadata"]["namespace"] = json!(place.namespace);
    Ok(Some(&place.namespace))
}

fn spec<T: DeserializeOwned + Default>(place: &Place, review: &Value) -> Result<T, Status> {
    let spec: Result<Option<T>, _> = serde_json::from_value(review["spec"].clone());
    let (kind, version) = (&place.kind.kind, &place.version);
    spec.map(Option::unwrap_or_default).map_err(|error| {
        let what = format!("{kind} in version {version:?} cannot be handled as a {kind}");
        Status::bad_request(format!("{what}: {error}"))
    })
}

impl AccessSpec {
    fn wanted(&self) -> Attributes {
        match (&self.resource_attributes, &self.non_resource_attributes) {
            (Some(of), _) => Attributes {
                verb: of.verb.clone(),
                group: of.group.clone(),
                version: of.version.clone(),
                resource: of.resource.clone(),
                subresource: of.subresource.clone(),
                namespace: of.namespace.clone(),
                name: of.name.clone(),
                path: String::new(),
            },
            (None, Some(of)) => Attributes {
                verb: of.verb.clone(),
                path: of.path.clone(),
                ..Attributes::default()
            },
            (None, None) => Attributes::default(),
        }
    }

    fn subject(&self) -> User {
        User {
            name: self.user.clone(),
            uid: self.uid.clone(),
            groups: self.groups.clone().unwrap_or_default(),
            extra: self.extra.clone().unwrap_or_default(),
        }
    }
}

fn faults(spec: &AccessSpec, of_self: bool, namespace: Option<&str>) -> Vec<Cause> {
    let mut causes = Vec::new();
    let shown = |of: &NonResourceAttributes| {
        format!(
            "authorization.NonResourceAttributes{{Path:{:?}, Verb:{:?}}}",
            of.path, of.verb
        )
    };
    let invalid = |field: &str, value: &str, detail: &str| Cause {
        field: field.into(),
        reason: "FieldValueInvalid",
        message: format!("Invalid value: {value}: {detail}"),
    };
    match (&spec.resource_attributes, &spec.non_resource_attributes) {
        (Some(_), Some(of)) => causes.push(invalid(
            "spec.nonResourceAttributes",
            &shown(of),
            "cannot be specified in combination with resourceAttributes",
        )),
        (None, None) => causes.push(invalid(
            "spec.resourceAttributes",
            "\"null\"",
            "exactly one of nonResourceAttributes or resourceAttributes must be specified",
        )),
        _ => {}
    }
    if !of_self && spec.user.is_empty() && spec.groups.as_ref().is_none_or(Vec::is_empty) {
        causes.push(invalid(
            "spec.user",
            "\"\"",
            "at least one of user or group must be specified",
        ));
    }
    if let Some(namespace) = namespace {
        if let Some(of) = spec.resource_attributes.as_ref().filter(|of| of.namespace != namespace) {
            causes.push(invalid(
                "spec.resourceAttributes.namespace",
                &format!("{:?}", of.namespace),
                "must match metadata.namespace",
            ));
        }
        if let Some(of) = &spec.non_resource_attributes {
            causes.push(invalid(
                "spec.nonResourceAttributes",
                &shown(of),
                "disallowed on this kind of request",
            ));
        }
    }
    causes
}

/// A refusal that does not name the kind: the real server's does not, either.
fn invalid(place: &Place, causes: &[Cause]) -> Status {
    let mut status = Status::invalid(&place.kind, "", causes);
    let prefix = place.kind.kind.len();
    status.message.drain(..prefix);
    if let Some(details) = status.details.as_object_mut() {
        details.remove("kind");
    }
    status
}

fn without_details(mut status: Status) -> Status {
    status.details = Value::Null;
    status
}

fn rules(cluster: &Cluster, user: &User, namespace: &str) -> Value {
    let held = policy(cluster).held(user, namespace);
    let (mut resources, mut paths) = (Vec::new(), Vec::new());
    for rule in &held.rules {
        if !rule.resources.is_empty() {
            resources.push(json!(rule));
        }
        if !rule.non_resource_urls.is_empty() {
            paths.push(json!({"verbs": rule.verbs, "nonResourceURLs": rule.non_resource_urls}));
        }
    }
    let mut status = json!({"resourceRules": resources, "nonResourceRules": paths, "incomplete": false});
    if let Some(error) = held.errors(false) {
        status["evaluationError"] = json!(error);
    }
    status
}

fn token(cluster: &Cluster, spec: &TokenSpec) -> Result<Value, Status> {
    if spec.token.is_empty() {
        let message = "token is required for TokenReview in authentication";
        return Err(without_details(Status::bad_request(message)));
    }
    let audiences = spec.audiences.clone().filter(|audiences| !audiences.is_empty());
    let audiences = audiences.unwrap_or_else(|| vec![tokens::AUDIENCE.to_owned()]);
    Ok(match tokens::verify(cluster, &spec.token, &audiences) {
        Ok(accepted) => json!({
            "authenticated": true, "user": accepted.user.to_value(), "audiences": accepted.audiences,
        }),
        Err(why) => json!({"user": {}, "error": why}),
    })
}
