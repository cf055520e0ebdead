//! From requests to calls of the cluster, and from their outcomes to responses; nothing more.

use std::future::pending;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE};
use http::{Method, Request, Response};
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::cluster::{Cluster, Place};
use crate::deletion::Deleted;
use crate::discovery;
use crate::faults::{Failure, Faults, Switchboard, refusal};
use crate::listing::{ListOptions, parse_version};
use crate::openapi;
use crate::patching::Patch;
use crate::requests::{Entry, RequestLog};
use crate::responses::{self, ResponseBody};
use crate::routes::{Query, Route, Target, route};
use crate::selectors::Selector;
use crate::status::Status;
use crate::table::Shape;
use crate::watching::{Watch, WatchOptions};
use crate::writing::{How, Scope};

/// The limit of the real server.
const BODY_LIMIT: usize = 3 * 1024 * 1024;

/// All of a server's state.
pub(crate) struct Api {
    pub(crate) cluster: Arc<Mutex<Cluster>>,
    pub(crate) faults: Mutex<Faults>,
    pub(crate) signals: Switchboard,
    pub(crate) requests: Mutex<RequestLog>,
}

/// A request in the parts that matter.
struct Call<'a> {
    method: &'a Method,
    query: Query,
    shape: Shape,
    content_type: &'a str,
    body: &'a Bytes,
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A test that panics while it holds the lock must not hide its message behind those of others.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Api {
    /// Answers one request, or fails it as scripted.
    pub(crate) async fn serve(&self, request: Request<Bytes>) -> io::Result<Response<ResponseBody>> {
        let number = lock(&self.requests).note(entry(&request));
        let path = request.uri().path_and_query().map_or("/", |path| path.as_str());
        let failure = lock(&self.faults).take(request.method().as_str(), path);
        let reset = || io::Error::new(io::ErrorKind::ConnectionReset, "connection reset, as scripted");
        match &failure {
            Some(Failure::Reset) => return Err(reset()),
            Some(Failure::Hang) => return pending().await,
            Some(Failure::Delay(delay)) => sleep(*delay).await,
            Some(Failure::Status { .. } | Failure::LostResponse) | None => {}
        }
        let response = match &failure {
            Some(Failure::Status {
                code,
                reason,
                retry_after,
            }) => Err(refusal(*code, reason, *retry_after)),
            _ => self.answer(&request),
        };
        let response = response.unwrap_or_else(|status| responses::refused(&status));
        if failure == Some(Failure::LostResponse) {
            return Err(reset());
        }
        lock(&self.requests).answered(number, response.status().as_u16());
        Ok(response)
    }

    fn answer(&self, request: &Request<Bytes>) -> Result<Response<ResponseBody>, Status> {
        let header = |name| {
            request
                .headers()
                .get(name)
                .and_then(|value| value.to_str().ok())
                .unwrap_or_default()
        };
        let call = Call {
            method: request.method(),
            query: Query::parse(request.uri().query().unwrap_or_default()),
            shape: Shape::of(header(ACCEPT)),
            content_type: header(CONTENT_TYPE),
            body: request.body(),
        };
        if call.body.len() > BODY_LIMIT {
            let message = format!("Request entity too large: limit is {BODY_LIMIT}");
            return Err(Status::new(413, "RequestEntityTooLarge", message));
        }
        let route = route(request.uri().path()).ok_or_else(Status::no_such_path)?;
        let get_only = || {
            if call.method == Method::GET {
                Ok(())
            } else {
                Err(Status::method_not_allowed())
            }
        };
        match route {
            Route::Objects(target) => self.objects(&call, target),
            Route::Review if call.method == Method::POST => Ok(review(&call)),
            Route::Review => Err(Status::method_not_allowed()),
            Route::Health => Ok(responses::text("ok")),
            discovery_of => {
                get_only()?;
                let cluster = lock(&self.cluster);
                let kinds = &cluster.kinds;
                let answer = match discovery_of {
                    Route::Core => discovery::core(),
                    Route::Documents => openapi::index(kinds),
                    Route::Document { group, version } => openapi::document(kinds, &group, &version)?,
                    Route::Groups => discovery::groups(kinds),
                    Route::Group(group) => discovery::group(kinds, &group)?,
                    Route::Resources { group, version } => discovery::resources(kinds, &group, &version)?,
                    _ => discovery::version(),
                };
                Ok(responses::json(200, &answer))
            }
        }
    }

    fn objects(&self, call: &Call, target: Target) -> Result<Response<ResponseBody>, Status> {
        let namespace = target.namespace.as_deref();
        let place = lock(&self.cluster).place(&target.group, &target.version, &target.plural, namespace)?;
        match (target.name, target.subresource.as_deref()) {
            (None, _) => self.collection(call, place),
            (Some(_), _) if place.kind.namespaced && place.namespace.is_empty() => Err(Status::no_such_path()),
            (Some(name), None) => self.object(call, &place, &name, Scope::Main),
            (Some(name), Some("status")) if place.version()?.status => self.object(call, &place, &name, Scope::Status),
            (Some(_), Some(other)) if other != "status" && !place.kind.custom => {
                Err(Status::not_implemented(&format!("{}/{other}", place.kind.qualified())))
            }
            (Some(_), Some(_)) => Err(Status::no_such_subresource()),
        }
    }

    fn collection(&self, call: &Call, place: Place) -> Result<Response<ResponseBody>, Status> {
        let query = &call.query;
        let selector = Selector::parse(query.get("labelSelector"), query.get("fieldSelector"), &place.kind)?;
        match *call.method {
            Method::GET if query.flag("watch") => {
                let options = watch_options(query, selector)?;
                let watch = Watch::start(&self.cluster, &self.signals, place.clone(), options)?;
                Ok(responses::watch(watch, place, call.shape, query.get("includeObject")))
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
                Ok(responses::page(
                    &place,
                    &page,
                    call.shape,
                    query.get("includeObject"),
                    now,
                ))
            }
            _ if place.kind.namespaced && place.namespace.is_empty() => Err(Status::method_not_allowed()),
            Method::POST => {
                let object = call.object(&place)?;
                let created = lock(&self.cluster).create(&place, object, call.how(Scope::Main))?;
                Ok(responses::json(201, &*created))
            }
            Method::DELETE => {
                let mut cluster = lock(&self.cluster);
                let objects = cluster.delete_collection(&place, &selector, call.dry_run())?;
                let objects: Vec<_> = objects.iter().map(Arc::as_ref).collect();
                let list = json!({
                    "apiVersion": place.api_version(), "kind": place.kind.list_kind, "items": objects,
                    "metadata": {"resourceVersion": cluster.store.version().to_string()},
                });
                Ok(responses::json(200, &list))
            }
            _ => Err(Status::method_not_allowed()),
        }
    }

    fn object(&self, call: &Call, place: &Place, name: &str, scope: Scope) -> Result<Response<ResponseBody>, Status> {
        let how = call.how(scope);
        let mut cluster = lock(&self.cluster);
        match *call.method {
            Method::GET if call.query.flag("watch") => Err(Status::not_implemented("watches of single objects")),
            Method::GET => {
                let object = cluster.store.get(&place.kind.key(), &place.namespace, name).cloned();
                let object = place.present(&object.ok_or_else(|| Status::not_found(&place.kind, name))?);
                let now = cluster.timestamp();
                Ok(responses::object(
                    place,
                    &object,
                    call.shape,
                    call.query.get("includeObject"),
                    now,
                ))
            }
            Method::PUT => {
                let object = call.object(place)?;
                let updated = cluster.update(place, name, how, |current| {
                    // Of a replaced object the identity is a precondition; in a patch it is just an immutable field.
                    let (wanted, found) = (&object["metadata"]["uid"], &current["metadata"]["uid"]);
                    if wanted.as_str().is_some_and(|uid| !uid.is_empty()) && wanted != found {
                        let (wanted, found) = (wanted.as_str().unwrap_or_default(), found.as_str().unwrap_or_default());
                        let why =
                            format!("Precondition failed: UID in precondition: {wanted}, UID in object meta: {found}");
                        return Err(Status::conflict(&place.kind, name, &why));
                    }
                    Ok(object)
                })?;
                Ok(responses::json(200, &*updated))
            }
            Method::PATCH => {
                let patch = Patch::parse(call.content_type, call.body, &place.kind)?;
                let updated = cluster.update(place, name, how, |current| patch.apply(current))?;
                Ok(responses::json(200, &*updated))
            }
            Method::DELETE if scope == Scope::Main => {
                let options = if call.body.is_empty() {
                    Value::Null
                } else {
                    call.json("DeleteOptions")?
                };
                match cluster.delete(place, name, &options, call.dry_run())? {
                    Deleted::Pending(object) => Ok(responses::json(200, &*object)),
                    Deleted::Gone(object) => Ok(responses::json(200, &gone(place, name, &object))),
                }
            }
            _ => Err(Status::method_not_allowed()),
        }
    }
}

impl Call<'_> {
    fn how(&self, scope: Scope) -> How {
        let strict = self.query.get("fieldValidation") == "Strict";
        How {
            scope,
            dry_run: self.dry_run(),
            strict,
        }
    }

    fn dry_run(&self) -> bool {
        self.query.get("dryRun") == "All"
    }

    fn object(&self, place: &Place) -> Result<Value, Status> {
        self.json(&place.kind.kind)
    }

    fn json(&self, wanted: &str) -> Result<Value, Status> {
        let format = self.content_type.split(';').next().unwrap_or_default().trim();
        // Clients of the real server may also send YAML and protobuf; both would need a parser of their own.
        if !matches!(format, "" | "application/json" | "*/*") {
            return Err(Status::unsupported_media_type(
                "the body of the request was in an unknown format - accepted media types include: application/json; \
                 with kubectl, use create -f, since its other create commands send protobuf",
            ));
        }
        serde_json::from_slice(self.body).map_err(|error| {
            Status::bad_request(format!(
                "the object provided is unrecognized (must be of type {wanted}): {error}"
            ))
        })
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

/// Everybody may do everything here.
fn review(call: &Call) -> Response<ResponseBody> {
    // What is asked does not matter, so neither does a body that cannot be read.
    let mut review = call
        .json("SelfSubjectAccessReview")
        .ok()
        .filter(Value::is_object)
        .unwrap_or_else(|| json!({}));
    review["kind"] = json!("SelfSubjectAccessReview");
    review["apiVersion"] = json!("authorization.k8s.io/v1");
    review["status"] = json!({"allowed": true});
    responses::json(201, &review)
}

fn gone(place: &Place, name: &str, object: &Value) -> Value {
    let mut details = json!({"name": name, "kind": place.kind.plural, "uid": object["metadata"]["uid"]});
    if !place.kind.group.is_empty() {
        details["group"] = json!(place.kind.group);
    }
    json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details})
}

fn entry(request: &Request<Bytes>) -> Entry {
    let content_type = request
        .headers()
        .get(CONTENT_TYPE)
        .and_then(|value| value.to_str().ok());
    Entry {
        method: request.method().to_string(),
        path: request.uri().path().into(),
        query: request.uri().query().unwrap_or_default().into(),
        content_type: content_type.unwrap_or_default().into(),
        body: request.body().clone(),
        status: None,
    }
}
