//! Requests for the collections of a kind: lists, watches, and what is created or deleted there.

use std::time::Duration;

use http::{Method, Response};
use serde_json::Value;

use crate::access::reviews;
use crate::cluster::Place;
use crate::http::requests::Call;
use crate::http::responses::{self, ResponseBody};
use crate::http::{Api, lock};
use crate::objects::delete_options::DeleteOptions;
use crate::objects::listing::{ListOptions, parse_version};
use crate::objects::patching::Patch;
use crate::objects::selectors::Selector;
use crate::objects::watching::{Watch, WatchOptions};
use crate::objects::writing::name_of;
use crate::status::Status;

impl Api {
    pub(super) async fn collection(&self, call: &Call, place: Place) -> Result<Response<ResponseBody>, Status> {
        if !place.kind.is_stored() {
            return self.review(call, &place);
        }
        let query = &call.query;
        match call.method {
            Method::GET if query.flag("watch") => self.watch(call, place, None),
            Method::GET => {
                let options = list_options(call, &place)?;
                let cluster = lock(&self.cluster);
                let page = cluster.list(&place, &options)?;
                let now = cluster.timestamp();
                drop(cluster);
                responses::page(&place, &page, call.shape, now)
            }
            _ if place.kind.namespaced && place.namespace.is_empty() => Err(if place.kind.custom {
                Status::no_such_path()
            } else {
                Status::method_not_allowed()
            }),
            Method::POST => self.add(call, &place).await,
            Method::DELETE if place.kind.verbs.contains(&"deletecollection") => {
                self.delete_collection(call, &place).await
            }
            Method::PUT | Method::PATCH if place.kind.custom => {
                if call.method == Method::PATCH {
                    Patch::parse(&call.content_type, &call.body, &place.kind)?;
                }
                Err(Status::bad_request("name must be provided"))
            }
            _ => Err(Status::method_not_allowed()),
        }
    }

    /// Creates an object, whose name is its own matter.
    pub(super) async fn add(&self, call: &Call, place: &Place) -> Result<Response<ResponseBody>, Status> {
        let created = self.create(call, place).await?;
        responses::object(201, place, &created, call.shape, lock(&self.cluster).timestamp())
    }

    /// Answers a question whose kind is never stored.
    fn review(&self, call: &Call, place: &Place) -> Result<Response<ResponseBody>, Status> {
        if call.method != Method::POST {
            return Err(Status::method_not_allowed());
        }
        let review = call.object(place)?;
        let answer = reviews::answer(&lock(&self.cluster), place, &call.user, review)?;
        Ok(responses::json(201, &answer))
    }

    /// Streams what happens to a collection, or to one object of it.
    pub(super) fn watch(
        &self,
        call: &Call,
        place: Place,
        name: Option<&str>,
    ) -> Result<Response<ResponseBody>, Status> {
        let mut options = watch_options(call, &place)?;
        if let Some(name) = name {
            options.selector = options.selector.named(name)?;
        }
        let watch = Watch::start(&self.cluster, &self.signals, place.clone(), options)?;
        Ok(responses::watch(watch, place, call.shape))
    }

    /// Deletes what a list with the same query shows, and answers with that list.
    async fn delete_collection(&self, call: &Call, place: &Place) -> Result<Response<ResponseBody>, Status> {
        let options = list_options(call, place)?;
        let how = call.delete_options()?;
        DeleteOptions::parse(&how)?;
        let page = lock(&self.cluster).list(place, &options)?;
        for object in &page.objects {
            match self
                .delete(call, &within(place, object), (&name_of(object), true), &how)
                .await
            {
                // Somebody else was faster.
                Err(status) if status.code == 404 => {}
                outcome => drop(outcome?),
            }
        }
        let now = lock(&self.cluster).timestamp();
        responses::page(place, &page, call.shape, now)
    }
}

/// Where an object of a list is.
fn within(place: &Place, object: &Value) -> Place {
    Place {
        namespace: object["metadata"]["namespace"].as_str().unwrap_or_default().to_owned(),
        ..place.clone()
    }
}

fn selector(call: &Call, place: &Place) -> Result<Selector, Status> {
    let (labels, fields) = (call.query.get("labelSelector"), call.query.get("fieldSelector"));
    Selector::parse(labels, fields, &place.kind, &place.version)
}

fn list_options(call: &Call, place: &Place) -> Result<ListOptions, Status> {
    let query = &call.query;
    query.number("timeoutSeconds")?;
    let options = ListOptions {
        limit: usize::try_from(query.number("limit")?.unwrap_or_default()).unwrap_or_default(),
        token: query.get("continue").into(),
        version: query.get("resourceVersion").into(),
        version_match: query.get("resourceVersionMatch").into(),
        selector: selector(call, place)?,
    };
    options.check(query.has("sendInitialEvents"))?;
    Ok(options)
}

fn watch_options(call: &Call, place: &Place) -> Result<WatchOptions, Status> {
    let query = &call.query;
    let seconds = query
        .number("timeoutSeconds")?
        .and_then(|seconds| u64::try_from(seconds).ok());
    let mut options = WatchOptions {
        selector: selector(call, place)?,
        version: 0,
        bookmarks: query.flag("allowWatchBookmarks"),
        timeout: seconds.filter(|&seconds| seconds > 0).map(Duration::from_secs),
        initial_events: query.has("sendInitialEvents").then(|| query.flag("sendInitialEvents")),
    };
    options.check(query.get("resourceVersionMatch"), query.get("continue"))?;
    options.version = parse_version(query.get("resourceVersion"))?;
    Ok(options)
}
