//! Reading: one object, and how the cluster serves a kind.

use std::time::Duration;

use serde_json::Value;

use super::api::{self, Api};
use super::errors::ApiError;
use crate::structs::bodies::Body;
use crate::structs::references::Reference;

/// One object as it is now.
pub(crate) async fn get(
    api: &Api,
    reference: &Reference,
    namespace: Option<&str>,
    name: &str,
    limit: Duration,
) -> Result<Body, ApiError> {
    let path = api::path(reference, namespace, Some(name), None);
    api::request(api, api::get(&path)?, limit).await.map(Body::new)
}

/// How the cluster serves a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Serving {
    /// Whether the status is written through `/status`.
    pub(crate) status_subresource: bool,
}

/// Asks discovery for a kind; `None` if the cluster does not serve it (DISC-03, DISC-04).
pub(crate) async fn discover(api: &Api, reference: &Reference, limit: Duration) -> Result<Option<Serving>, ApiError> {
    let path = if reference.group.is_empty() {
        format!("/api/{}", reference.version)
    } else {
        format!("/apis/{}/{}", reference.group, reference.version)
    };
    match api::request(api, api::get(&path)?, limit).await {
        Ok(list) => Ok(serving(&list, reference.plural)),
        Err(error) if error.is_not_found() => Ok(None),
        Err(error) => Err(error),
    }
}

/// Reads an `APIResourceList` leniently: foreign entries may lack anything (B-077).
fn serving(list: &Value, plural: &str) -> Option<Serving> {
    let names: Vec<&str> = list
        .get("resources")?
        .as_array()?
        .iter()
        .filter_map(|entry| entry.get("name")?.as_str())
        .collect();
    let status = format!("{plural}/status");
    names.contains(&plural).then(|| Serving {
        status_subresource: names.contains(&status.as_str()),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    // B-077
    #[test]
    fn discovery_tolerates_entries_without_verbs_or_names() {
        let list =
            json!({"resources": [{}, {"name": 3}, {"name": "carts"}, {"name": "carts/status"}, {"name": "bags"}]});
        assert_eq!(
            serving(&list, "carts"),
            Some(Serving {
                status_subresource: true
            })
        );
        assert_eq!(
            serving(&list, "bags"),
            Some(Serving {
                status_subresource: false
            })
        );
        assert_eq!(serving(&list, "hats"), None);
        assert_eq!(serving(&json!({}), "carts"), None);
    }
}
