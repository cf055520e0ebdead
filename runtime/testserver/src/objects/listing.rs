//! Lists: which version they show, selection, and pages.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::cluster::{Cluster, Place};
use crate::objects::continuing::Token;
use crate::objects::selectors::Selector;
use crate::objects::writing::name_of;
use crate::status::{Cause, Status};
use crate::store;

const COMPACTED: &str = "The provided continue parameter is too old to display a consistent list result. You can start \
     a new list without the continue parameter, or use the continue token in this response to retrieve the remainder \
     of the results. Continuing with the provided token results in an inconsistent list - objects that were created, \
     modified, or deleted between the time the first chunk was returned and now may show up in the list.";

/// The query of a list.
#[derive(Debug, Default)]
pub(crate) struct ListOptions {
    pub(crate) selector: Selector,
    /// The most objects of a page; 0 for all.
    pub(crate) limit: usize,
    /// Where to go on; empty for a new list.
    pub(crate) token: String,
    pub(crate) version: String,
    /// How the version is meant.
    pub(crate) version_match: String,
}

/// One page, or all of it.
#[derive(Debug)]
pub(crate) struct Page {
    pub(crate) objects: Vec<Arc<Value>>,
    pub(crate) version: u64,
    pub(crate) token: Option<String>,
    pub(crate) remaining: Option<usize>,
}

impl ListOptions {
    /// Refuses combinations that mean nothing.
    pub(crate) fn check(&self, initial_events: bool) -> Result<(), Status> {
        let forbidden = |detail: &str| Cause::forbidden("resourceVersionMatch", detail);
        let mut causes = Vec::new();
        let wanted = self.version_match.as_str();
        if !wanted.is_empty() {
            if self.version.is_empty() {
                let detail = "resourceVersionMatch is forbidden unless resourceVersion is provided";
                causes.push(forbidden(detail));
            }
            if !self.token.is_empty() {
                causes.push(forbidden("resourceVersionMatch is forbidden when continue is provided"));
            }
            if !matches!(wanted, "Exact" | "NotOlderThan") {
                let supported = ["Exact", "NotOlderThan", ""].map(|each| json!(each));
                causes.push(Cause::unsupported("resourceVersionMatch", &json!(wanted), &supported));
            }
            if (wanted, self.version.as_str()) == ("Exact", "0") {
                let detail = "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"";
                causes.push(forbidden(detail));
            }
        }
        if initial_events {
            let detail = "sendInitialEvents is forbidden for list";
            causes.push(Cause::forbidden("sendInitialEvents", detail));
        }
        if causes.is_empty() {
            Ok(())
        } else {
            Err(Status::invalid_options("ListOptions", &causes))
        }
    }
}

impl Cluster {
    pub(crate) fn list(&self, place: &Place, options: &ListOptions) -> Result<Page, Status> {
        let current = self.store.version();
        let (version, after) = if options.token.is_empty() {
            (self.version_to_show(options)?, None)
        } else {
            let token = Token::decode(&options.token)?;
            if !matches!(options.version.as_str(), "" | "0") {
                return Err(Status::bad_request(
                    "specifying resource version is not allowed when using continue",
                ));
            }
            let version = token.version.unwrap_or(current);
            if version > current {
                return Err(future());
            }
            (version, Some(token.after))
        };
        let prefix = match (place.kind.namespaced, place.namespace.as_str()) {
            (true, "") => String::new(),
            (_, namespace) => store::path(namespace, ""),
        };
        let start = after.as_ref().map(|after| format!("{prefix}{after}"));
        let (key, namespace) = (place.kind.key(), scope(place));
        let found = self.store.list_at(&key, namespace, version, start.as_deref());
        let mut found = found.map_err(|_| match after {
            None => Status::expired("The resourceVersion for the provided list is too old."),
            Some(after) => {
                let mut status = Status::expired(COMPACTED);
                status.continues = Some(Token { version: None, after }.encode());
                status
            }
        })?;
        let limit = if ignores_limit(place, options) {
            0
        } else {
            options.limit
        };
        let mut objects: Vec<Arc<Value>> = Vec::new();
        for object in found.by_ref() {
            if options.selector.matches(object) {
                objects.push(Arc::clone(object));
            }
            if limit > 0 && objects.len() == limit {
                break;
            }
        }
        let rest = if limit == 0 { 0 } else { found.count() };
        let last = objects.last().filter(|_| rest > 0).map(|object| {
            let path = store::path(
                object["metadata"]["namespace"].as_str().unwrap_or_default(),
                &name_of(object),
            );
            path.strip_prefix(&prefix).unwrap_or(&path).to_owned()
        });
        Ok(Page {
            objects: objects.iter().map(|object| place.present(object)).collect(),
            version,
            token: last.map(|after| {
                let version = Some(version);
                Token { version, after }.encode()
            }),
            // With a selector the server cannot know how many more would match, and says nothing.
            remaining: (rest > 0 && options.selector.is_empty()).then_some(rest),
        })
    }

    /// The version that a new list shows.
    fn version_to_show(&self, options: &ListOptions) -> Result<u64, Status> {
        let (wanted, current) = (parse_version(&options.version)?, self.store.version());
        // The older way to ask for an exact version.
        let exact = options.version_match == "Exact" || (options.version_match.is_empty() && options.limit > 0);
        match (wanted, exact) {
            (0, _) => Ok(current),
            (wanted, true) if wanted > current => Err(future()),
            (wanted, true) => Ok(wanted),
            (wanted, false) if wanted > current => Err(too_large(wanted, current)),
            (_, false) => Ok(current),
        }
    }
}

/// Lists of any version come from the cache of the server, which knows no pages. Events are not cached.
fn ignores_limit(place: &Place, options: &ListOptions) -> bool {
    options.token.is_empty() && options.version == "0" && place.kind.plural != "events"
}

/// The namespace that a place is limited to.
pub(crate) fn scope(place: &Place) -> Option<&str> {
    Some(place.namespace.as_str()).filter(|name| !name.is_empty())
}

/// A version that is yet to come, where the server would have to wait for it.
pub(crate) fn too_large(wanted: u64, current: u64) -> Status {
    let message = format!("Timeout: Too large resource version: {wanted}, current: {current}");
    let mut status = Status::new(504, "Timeout", message);
    let cause = json!({"reason": "ResourceVersionTooLarge", "message": "Too large resource version"});
    status.details = json!({"causes": [cause], "retryAfterSeconds": 1});
    status
}

/// A version that is yet to come, where it is looked for in the history.
fn future() -> Status {
    Status::unexpected("etcdserver: mvcc: required revision is a future revision")
}

/// A resource version of a query; absent is 0.
pub(crate) fn parse_version(text: &str) -> Result<u64, Status> {
    if text.is_empty() {
        return Ok(0);
    }
    let why = match text.parse() {
        // Unlike Rust, Go takes no plus sign.
        Ok(version) if !text.starts_with('+') => return Ok(version),
        _ if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) => "value out of range",
        _ => "invalid syntax",
    };
    Err(Status::unexpected(format!(
        "resourceVersion: Invalid value: {text:?}: strconv.ParseUint: parsing {text:?}: {why}"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn causes(version: &str, version_match: &str, token: &str) -> usize {
        let options = ListOptions {
            version: version.into(),
            version_match: version_match.into(),
            token: token.into(),
            ..ListOptions::default()
        };
        let outcome = options.check(false);
        outcome.map_or_else(|status| status.details["causes"].as_array().unwrap().len(), |()| 0)
    }

    #[test]
    fn a_match_needs_a_version_and_a_new_list() {
        assert_eq!(causes("", "", ""), 0);
        assert_eq!(causes("5", "Exact", ""), 0);
        assert_eq!(causes("0", "NotOlderThan", ""), 0);
        assert_eq!(causes("", "Exact", ""), 1);
        assert_eq!(causes("0", "Exact", ""), 1);
        assert_eq!(causes("5", "Exact", "token"), 1);
        assert_eq!(causes("", "Nonsense", "token"), 3);
    }

    #[test]
    fn versions_are_numbers() {
        assert_eq!(parse_version("").unwrap(), 0);
        assert_eq!(parse_version("17").unwrap(), 17);
        for odd in ["x", "-1", "+1", "1.5", "99999999999999999999"] {
            assert_eq!(parse_version(odd).unwrap_err().code, 500, "{odd}");
        }
    }
}
