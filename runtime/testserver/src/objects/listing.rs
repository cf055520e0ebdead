//! Lists: selection, pages, and the snapshots behind continue tokens.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::cluster::{Cluster, Place};
use crate::objects::selectors::Selector;
use crate::status::Status;

/// Unfinished paged lists that are kept; the oldest one expires when there are more.
const SNAPSHOTS: usize = 100;

/// What remains of paged lists, so that each is consistent with its first page.
#[derive(Debug, Default)]
pub(crate) struct Snapshots {
    last: u64,
    kept: BTreeMap<u64, Arc<Snapshot>>,
}

#[derive(Debug)]
struct Snapshot {
    version: u64,
    objects: Vec<Arc<Value>>,
}

/// The query of a list.
#[derive(Debug, Default)]
pub(crate) struct ListOptions {
    pub(crate) selector: Selector,
    pub(crate) limit: usize,
    pub(crate) token: String,
    pub(crate) version: String,
    pub(crate) exact: bool,
}

/// One page, or all of it.
#[derive(Debug)]
pub(crate) struct Page {
    pub(crate) objects: Vec<Arc<Value>>,
    pub(crate) version: u64,
    pub(crate) token: Option<String>,
    pub(crate) remaining: Option<usize>,
}

impl Snapshots {
    pub(crate) fn clear(&mut self) {
        self.kept.clear();
    }

    fn keep(&mut self, snapshot: Arc<Snapshot>) -> u64 {
        self.last += 1;
        self.kept.insert(self.last, snapshot);
        if self.kept.len() > SNAPSHOTS {
            self.kept.pop_first();
        }
        self.last
    }
}

impl Cluster {
    pub(crate) fn list(&mut self, place: &Place, options: &ListOptions) -> Result<Page, Status> {
        self.check_version(options)?;
        let (id, start, snapshot) = if options.token.is_empty() {
            let (version, objects) = (self.store.version(), self.select(place, &options.selector));
            let snapshot = Snapshot { version, objects };
            (None, 0, Arc::new(snapshot))
        } else {
            let fault = || Status::bad_request("continue key is not valid");
            let (id, start) = options.token.split_once('-').ok_or_else(fault)?;
            let (id, start) = (id.parse().map_err(|_| fault())?, start.parse().map_err(|_| fault())?);
            let snapshot = self.snapshots.kept.get(&id).cloned().ok_or_else(|| {
                Status::expired(
                    "The provided continue parameter is too old to display a consistent list result. You can start \
                     a new list without the continue parameter.",
                )
            })?;
            (Some(id), start, snapshot)
        };
        let all = snapshot.objects.len();
        let start: usize = all.min(start);
        let end = if options.limit == 0 {
            all
        } else {
            all.min(start.saturating_add(options.limit))
        };
        let objects = snapshot.objects[start..end]
            .iter()
            .map(|object| place.present(object))
            .collect();
        let version = snapshot.version;
        let more = end < all;
        let token = more.then(|| format!("{}-{end}", id.unwrap_or_else(|| self.snapshots.keep(snapshot))));
        // With a selector the real server cannot know the number, and says nothing.
        let remaining = (more && options.selector.is_empty()).then_some(all - end);
        Ok(Page {
            objects,
            version,
            token,
            remaining,
        })
    }

    /// The objects of a place that match, as they are stored.
    pub(crate) fn select(&self, place: &Place, selector: &Selector) -> Vec<Arc<Value>> {
        let namespace = Some(place.namespace.as_str()).filter(|name| !name.is_empty());
        let objects = self.store.list(&place.kind.key(), namespace);
        objects.filter(|object| selector.matches(object)).cloned().collect()
    }

    /// Refuses versions that cannot be shown: from the future, or exactly an earlier one.
    fn check_version(&self, options: &ListOptions) -> Result<(), Status> {
        let (wanted, current) = (parse_version(&options.version)?, self.store.version());
        if wanted > current {
            let message = format!("Timeout: Too large resource version: {wanted}, current: {current}");
            let mut status = Status::new(504, "Timeout", message);
            let cause = json!({"reason": "ResourceVersionTooLarge", "message": "Too large resource version"});
            status.details = json!({"causes": [cause], "retryAfterSeconds": 1});
            return Err(status);
        }
        if options.exact && wanted != current {
            return Err(Status::expired("The resourceVersion for the provided list is too old."));
        }
        Ok(())
    }
}

/// A resource version of a query; absent is 0.
pub(crate) fn parse_version(text: &str) -> Result<u64, Status> {
    if text.is_empty() {
        return Ok(0);
    }
    text.parse().map_err(|_| {
        Status::bad_request(format!(
            "resourceVersion: Invalid value: {text:?}: strconv.ParseUint: parsing {text:?}: invalid syntax"
        ))
    })
}
