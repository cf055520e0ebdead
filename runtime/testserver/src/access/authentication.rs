//! Finding out who asks: bearer tokens, and callers who speak for others.

use std::collections::BTreeMap;

use http::HeaderMap;
use http::header::AUTHORIZATION;
use percent_encoding::percent_decode_str;

use crate::access::{Attributes, User, authorize, tokens};
use crate::cluster::Cluster;
use crate::status::Status;

const AUTHENTICATION: &str = "authentication.k8s.io";

/// Finds out who asks. A request without credentials is of the caller that the connection was made for.
pub(crate) fn authenticate(cluster: &Cluster, connection: &User, headers: &HeaderMap) -> Result<User, Status> {
    let user = match bearer(headers) {
        // Credentials that nobody understands make nobody of the caller, as in a cluster.
        None if headers.contains_key(AUTHORIZATION) => User::anonymous(),
        None => connection.clone(),
        Some(token) => {
            let accepted = tokens::verify(cluster, token, &[tokens::AUDIENCE.to_owned()]);
            accepted.map_err(|_| unauthorized())?.user
        }
    };
    impersonate(cluster, user, headers)
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let header = headers.get(AUTHORIZATION)?.to_str().ok()?.trim();
    let (scheme, token) = header.split_once(' ')?;
    Some(token.trim()).filter(|token| scheme.eq_ignore_ascii_case("bearer") && !token.is_empty())
}

fn unauthorized() -> Status {
    let mut status = Status::of_code(401);
    status.details = serde_json::Value::Null;
    status
}

/// Makes the caller into whom the headers name, if they may do that.
fn impersonate(cluster: &Cluster, caller: User, headers: &HeaderMap) -> Result<User, Status> {
    let all = |name: &str| -> Vec<String> {
        let values = headers.get_all(name).iter();
        values
            .filter_map(|value| value.to_str().ok().map(str::to_owned))
            .collect()
    };
    let one = |name: &str| all(name).into_iter().next().unwrap_or_default();
    let (name, uid, groups) = (
        one("impersonate-user"),
        one("impersonate-uid"),
        all("impersonate-group"),
    );
    let mut extra: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for header in headers.keys() {
        if let Some(key) = header.as_str().strip_prefix("impersonate-extra-") {
            let key = percent_decode_str(key).decode_utf8_lossy().to_lowercase();
            extra.entry(key).or_default().extend(all(header.as_str()));
        }
    }
    if name.is_empty() {
        if uid.is_empty() && groups.is_empty() && extra.is_empty() {
            return Ok(caller);
        }
        let message = "requested groups, a uid or extra fields without impersonating a user";
        return Err(Status::new(500, "InternalError", message));
    }
    let mut user = User::impersonated(&name, groups.clone());
    for wanted in wishes(&user, &uid, &groups, &extra) {
        authorize(cluster, &caller, &wanted)?;
    }
    user.uid = uid;
    user.extra = extra;
    Ok(user)
}

/// What one has to be allowed for speaking for somebody.
fn wishes(user: &User, uid: &str, groups: &[String], extra: &BTreeMap<String, Vec<String>>) -> Vec<Attributes> {
    let wish = |group: &str, resource: &str, name: &str| Attributes {
        verb: "impersonate".into(),
        group: group.into(),
        version: "v1".into(),
        resource: resource.into(),
        name: name.into(),
        ..Attributes::default()
    };
    let mut wishes = vec![match user.service_account_name() {
        Some((namespace, name)) => Attributes {
            namespace: namespace.into(),
            ..wish("", "serviceaccounts", name)
        },
        None => wish("", "users", &user.name),
    }];
    wishes.extend(groups.iter().map(|group| wish("", "groups", group)));
    for (key, values) in extra {
        wishes.extend(values.iter().map(|value| Attributes {
            subresource: key.clone(),
            ..wish(AUTHENTICATION, "userextras", value)
        }));
    }
    if !uid.is_empty() {
        wishes.push(wish(AUTHENTICATION, "uids", uid));
    }
    wishes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_bearer_tokens_count_as_credentials() {
        let of = |text: &str| {
            let headers = HeaderMap::from_iter([(AUTHORIZATION, text.parse().unwrap())]);
            bearer(&headers).map(str::to_owned)
        };
        assert_eq!(of("Bearer abc").as_deref(), Some("abc"));
        assert_eq!(of("bearer  abc ").as_deref(), Some("abc"));
        assert_eq!(of("Basic abc"), None);
        assert_eq!(of("Bearer "), None);
    }

    #[test]
    fn each_part_of_a_foreign_identity_needs_a_right_of_its_own() {
        let account = User::service_account("a", "op");
        let extra = BTreeMap::from([("scopes".to_owned(), vec!["x".to_owned()])]);
        let wishes = wishes(&account, "1", &["g".into()], &extra);
        let told: Vec<_> = wishes
            .iter()
            .map(|wish| {
                format!(
                    "{}/{}/{}/{}",
                    wish.namespace, wish.resource, wish.subresource, wish.name
                )
            })
            .collect();
        assert_eq!(
            told,
            [
                "a/serviceaccounts//op",
                "/groups//g",
                "/userextras/scopes/x",
                "/uids//1"
            ]
        );
    }
}
