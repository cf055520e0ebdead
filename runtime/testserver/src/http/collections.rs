//! Requests for the collections of a kind: lists, watches, and what is created or deleted there.

use std::sync::Arc;
use std::time::Duration;

use http::{Method, Response};
use serde_json::json;

use crate::access::reviews;
use crate::cluster::Place;
use crate::http::requests::Call;
use crate::http::responses::{self, ResponseBody};
use crate::http::routes::Query;
use crate::http::{Api, lock};
use crate::objects::listing::{ListOptions, parse_version};
use crate::objects::selectors::Selector;
use crate::objects::watching::{Watch, WatchOptions};
use crate::status::Status;

impl Api {
    pub(super) async fn collection(&self, call: &Call, place: Place) -> Result<Response<ResponseBody>, Status> {
        if !place.kind.is_stored() {
            return self.review(call, &place);
        }
        let query = &call.query;
        let selector = Selector::parse(query.get("labelSelector"), query.get("fieldSelector"), &place.kind)?;
        match call.method {
            Method::GET if query.flag("watch") => {
                let options = watch_options(query, selector)?;
                let watch = Watch::start(&self.cluster, &self.signals, place.clone(), options)?;
                Ok(responses::watch(watch, place, call.shape))
            }
            Method::GET => {
                let options = ListOptions {
                    selector,
                    limit: query.get("limit").parse().unwrap_or_default(),
                    token: query.get("continue").into(),
                    version: query.get("resourceVersion").into(),
                    exact: query.get("resourceVersionMatch") == "Exact",
                };
                let mut cluster = lock(&self.cluster);
                let page = cluster.list(&place, &options)?;
                let now = cluster.timestamp();
                drop(cluster);
                responses::page(&place, &page, call.shape, now)
            }
            _ if place.kind.namespaced && place.namespace.is_empty() => Err(Status::method_not_allowed()),
            Method::POST => {
                let object = call.object(&place)?;
                let created = self.create(call, &place, object).await?;
                responses::object(201, &place, &created, call.shape, lock(&self.cluster).timestamp())
            }
            Method::DELETE if place.kind.verbs.contains(&"deletecollection") => self.delete_collection(call, &place, &selector).await,
            _ => Err(Status::method_not_allowed()),
        }
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

    async fn delete_collection(
        &self,
        call: &Call,
        place: &Place,
        selector: &Selector,
    ) -> Result<Response<ResponseBody>, Status> {
        let options = call.delete_options()?;
        let objects = lock(&self.cluster).select(place, selector);
        for object in &objects {
            let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default().to_owned();
            let place = Place {
                namespace: text("namespace"),
                ..place.clone()
            };
            match self.delete(call, &place, (&text("name"), true), &options).await {
                // Somebody else was faster.
                Err(status) if status.code == 404 => {}
                outcome => drop(outcome?),
            }
        }
        let objects: Vec<_> = objects.iter().map(|object| place.present(object)).collect();
        let objects: Vec<_> = objects.iter().map(Arc::as_ref).collect();
        let version = lock(&self.cluster).store.version().to_string();
        let list = json!({
            "apiVersion": place.api_version(), "kind": place.kind.list_kind, "items": objects,
            "metadata": {"resourceVersion": version},
        });
        Ok(responses::json(200, &list))
    }
}

fn watch_options(query: &Query, selector: Selector) -> Result<WatchOptions, Status> {
    let initial_events = query.flag("sendInitialEvents");
    if initial_events && query.get("resourceVersionMatch") != "NotOlderThan" {
        let message = "resourceVersionMatch: Forbidden: sendInitialEvents requires setting resourceVersionMatch to \
                       NotOlderThan";
        return Err(Status::new(422, "Invalid", message));
    }
    let timeout = query.get("timeoutSeconds").parse().ok().filter(|&seconds| seconds > 0);
    Ok(WatchOptions {
        selector,
        version: parse_version(query.get("resourceVersion"))?,
        bookmarks: query.flag("allowWatchBookmarks"),
        timeout: timeout.map(Duration::from_secs),
        initial_events,
    })
}
