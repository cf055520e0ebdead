//! From requests to calls of the cluster, and from their outcomes to responses; nothing more.

mod collections;
mod duplicates;
pub(crate) mod listen;
mod negotiation;
mod objects;
mod protobuf;
pub(crate) mod requests;
pub(crate) mod responses;
mod routes;
mod scale;
pub(crate) mod service;
mod table;
mod writes;

use std::future::pending;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use http::{Method, Request, Response};
use tokio::time::sleep;

use crate::access::{self, Attributes, User, tokens};
use crate::audit::{Entry, Log};
use crate::cluster::Cluster;
use crate::discovery::{self, aggregated, openapi};
use crate::faults::{Disturbance, Failure, Planned, Switchboard, cut, disturb, refusal, shift_times};
use crate::http::requests::{BODY_LIMIT, Call};
use crate::http::responses::ResponseBody;
use crate::http::routes::{Query, Route, Target, attributes, route};
use crate::kinds::unserved;
use crate::objects::namespaces;
use crate::objects::writing::Scope;
use crate::status::Status;

/// All of a server's state.
pub(crate) struct Api {
    pub(crate) cluster: Arc<Mutex<Cluster>>,
    pub(crate) faults: Mutex<Planned>,
    pub(crate) signals: Switchboard,
    pub(crate) audit: Mutex<Log>,
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A test that panics while it holds the lock must not hide its message behind those of others.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Api {
    /// Answers one request of a connection, or fails it as planned.
    pub(crate) async fn serve(
        &self,
        connection: &User,
        mut request: Request<Bytes>,
    ) -> io::Result<Response<ResponseBody>> {
        if self.signals.borrow().stopped {
            return Err(io::Error::new(
                io::ErrorKind::ConnectionRefused,
                "the server is stopped",
            ));
        }
        let route = route(request.uri().path());
        let query = Query::parse(request.uri().query().unwrap_or_default());
        let wanted = attributes(route.as_ref(), request.method(), request.uri().path(), &query);
        let user = access::authenticate(&lock(&self.cluster), connection, request.headers());
        let caller = user.as_ref().map(|user| user.name.clone()).unwrap_or_default();
        let number = lock(&self.audit).note(Entry::new(&request, caller.clone(), wanted.clone()));
        let failure = lock(&self.faults).take(&wanted, &caller, request.uri().query().unwrap_or_default());
        let reset = || io::Error::new(io::ErrorKind::ConnectionReset, "connection reset, as planned");
        let mut refused = None;
        match &failure {
            Some(Failure::Reset) => return Err(reset()),
            Some(Failure::Hang) => return pending().await,
            Some(Failure::Delay(delay)) => sleep(*delay).await,
            Some(Failure::Status {
                code,
                reason,
                retry_after,
                indented,
            }) => {
                refused = Some(responses::refused(&refusal(*code, reason, *retry_after), *indented));
            }
            Some(Failure::Unchanged) => {
                *request.method_mut() = Method::GET;
                *request.uri_mut() = request.uri().path().parse().map_err(io::Error::other)?;
            }
            Some(Failure::Skew(by)) => {
                if let Ok(mut body) = serde_json::from_slice(request.body()) {
                    shift_times(&mut body, *by);
                    *request.body_mut() = Bytes::from(body.to_string());
                }
            }
            Some(Failure::LostResponse | Failure::Cut | Failure::Watch { .. }) | None => {}
        }
        let response = match (refused, user) {
            (Some(response), _) => response,
            (None, Err(status)) => responses::refused(&status, false),
            (None, Ok(user)) => {
                let answer = self.answer(&request, user, route, &wanted).await;
                answer.unwrap_or_else(|status| responses::refused(&status, false))
            }
        };
        if failure == Some(Failure::LostResponse) {
            return Err(reset());
        }
        lock(&self.audit).answered(number, response.status().as_u16());
        let (head, body) = response.into_parts();
        let body = match failure {
            Some(Failure::Cut) if wanted.verb != "watch" => cut(body).await,
            Some(Failure::Cut) => disturb(body, 0, Disturbance::Cut),
            Some(Failure::Watch { after, how }) if head.status.is_success() => disturb(body, after, how),
            _ => body,
        };
        Ok(Response::from_parts(head, body))
    }

    async fn answer(
        &self,
        request: &Request<Bytes>,
        user: User,
        route: Option<Route>,
        wanted: &Attributes,
    ) -> Result<Response<ResponseBody>, Status> {
        let call = Call::new(request, user);
        access::authorize(&lock(&self.cluster), &call.user, wanted)?;
        if call.body.len() > BODY_LIMIT {
            let message = format!("Request entity too large: limit is {BODY_LIMIT}");
            return Err(Status::new(413, "RequestEntityTooLarge", message));
        }
        let answer = match route {
            Some(Route::Objects(target)) => self.objects(&call, target).await,
            Some(route) => self.about(&call, route),
            None => Ok(self.index(request.uri().path())),
        };
        // Warnings come with refusals too.
        let mut response = answer.unwrap_or_else(|status| responses::refused(&status, false));
        responses::add_warnings(&mut response, &call.warnings.all());
        let response = negotiation::reformat(response, call.format, call.is_indented() && wanted.verb != "watch").await;
        response.map_err(|error| Status::new(500, "InternalError", error.to_string()))
    }

    /// The way to everything that is served: at the root, and in place of what is not.
    fn index(&self, path: &str) -> Response<ResponseBody> {
        let code = if matches!(path, "/" | "/index.html") { 200 } else { 404 };
        responses::json(code, &discovery::paths(&lock(&self.cluster).kinds))
    }

    /// What is served apart from objects.
    fn about(&self, call: &Call, route: Route) -> Result<Response<ResponseBody>, Status> {
        // These do not look at the method.
        let answers_all = matches!(
            route,
            Route::Health | Route::Groups | Route::Group(_) | Route::OldDocument
        );
        if call.method != Method::GET && !answers_all {
            return Err(Status::method_not_allowed());
        }
        if route == Route::Health {
            return Ok(responses::text("ok"));
        }
        let kinds = &lock(&self.cluster).kinds;
        if let (Route::Core | Route::Groups, Some(form)) = (&route, aggregated::wanted(&call.accept)) {
            let document = aggregated::document(kinds, route == Route::Core, form);
            return Ok(responses::tagged(
                &document,
                &aggregated::content_type(form),
                &call.known_tag,
            ));
        }
        if !matches!(route, Route::Documents | Route::Document { .. } | Route::OldDocument) {
            call.acceptable()?;
        }
        let answer = match route {
            Route::Core => discovery::core(),
            Route::OldDocument => {
                negotiation::negotiate(&call.accept, false, "")?;
                openapi::old_document(kinds)?
            }
            Route::Documents => openapi::index(kinds),
            Route::Document { group, version } => openapi::document(kinds, &group, &version)?,
            Route::Groups => discovery::groups(kinds),
            Route::Group(group) => discovery::group(kinds, &group)?,
            Route::Resources { group, version } => discovery::resources(kinds, &group, &version)?,
            _ => discovery::version(),
        };
        Ok(responses::json(200, &answer))
    }

    async fn objects(&self, call: &Call, target: Target) -> Result<Response<ResponseBody>, Status> {
        let namespace = target.namespace.as_deref();
        let place = lock(&self.cluster).place(&target.group, &target.version, &target.plural, namespace)?;
        call.acceptable().map_err(|status| {
            if place.kind.custom {
                status
            } else {
                negotiation::refused_by_routes(&call.accept, status)
            }
        })?;
        if let Some(warning) = &place.version()?.deprecation {
            call.warnings.add(warning);
        }
        if target.watch {
            let supported = place.kind.is_stored() && target.subresource.is_none();
            return match call.method {
                _ if !supported => Err(Status::no_such_subresource()),
                Method::GET => self.watch(call, place, target.name.as_deref()),
                _ => Err(Status::method_not_allowed()),
            };
        }
        let Some(name) = target.name else {
            return self.collection(call, place).await;
        };
        if place.kind.namespaced && place.namespace.is_empty() {
            return Err(unserved::path(&place.kind.group));
        }
        match target.subresource.as_deref() {
            None => self.object(call, &place, &name, Scope::Main).await,
            Some("token") if tokens::are_for(&place.kind) => self.token(call, &place, &name),
            Some("finalize") if namespaces::is_namespace(&place.kind) && call.method == Method::PUT => {
                self.object(call, &place, &name, Scope::Finalize).await
            }
            Some("finalize") if namespaces::is_namespace(&place.kind) => Err(Status::method_not_allowed()),
            Some("scale") if let Some(paths) = &place.version()?.scale => self.scale(call, &place, &name, paths).await,
            Some("status") if place.version()?.status => self.object(call, &place, &name, Scope::Status).await,
            Some(_) if place.kind.custom => Err(Status::not_found(&place.kind, &name)),
            Some(other) => Err(unserved::subresource(&place.kind, other)),
        }
    }
}
