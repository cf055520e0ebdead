//! From requests to calls of the cluster, and from their outcomes to responses; nothing more.

mod collections;
pub(crate) mod listen;
mod objects;
pub(crate) mod requests;
pub(crate) mod responses;
mod routes;
pub(crate) mod service;
mod table;
mod writes;

use std::future::pending;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use http::{Method, Request, Response};
use tokio::time::sleep;

use crate::access::{self, User};
use crate::audit::{Entry, RequestLog};
use crate::cluster::Cluster;
use crate::discovery::{self, openapi};
use crate::faults::{Failure, Faults, Switchboard, refusal};
use crate::http::requests::{BODY_LIMIT, Call};
use crate::http::responses::ResponseBody;
use crate::http::routes::{Route, Target, attributes, route};
use crate::objects::writing::Scope;
use crate::status::Status;

/// All of a server's state.
pub(crate) struct Api {
    pub(crate) cluster: Arc<Mutex<Cluster>>,
    pub(crate) faults: Mutex<Faults>,
    pub(crate) signals: Switchboard,
    pub(crate) requests: Mutex<RequestLog>,
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A test that panics while it holds the lock must not hide its message behind those of others.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Api {
    /// Answers one request of a connection, or fails it as scripted.
    pub(crate) async fn serve(&self, connection: &User, request: Request<Bytes>) -> io::Result<Response<ResponseBody>> {
        let user = access::authenticate(&lock(&self.cluster), connection, request.headers());
        let name = user.as_ref().map(|user| user.name.clone()).unwrap_or_default();
        let number = lock(&self.requests).note(Entry::new(&request, name));
        let path = request.uri().path_and_query().map_or("/", |path| path.as_str());
        let failure = lock(&self.faults).take(request.method().as_str(), path);
        let reset = || io::Error::new(io::ErrorKind::ConnectionReset, "connection reset, as scripted");
        match &failure {
            Some(Failure::Reset) => return Err(reset()),
            Some(Failure::Hang) => return pending().await,
            Some(Failure::Delay(delay)) => sleep(*delay).await,
            Some(Failure::Status { .. } | Failure::LostResponse) | None => {}
        }
        let response = match (&failure, user) {
            (
                Some(Failure::Status {
                    code,
                    reason,
                    retry_after,
                }),
                _,
            ) => Err(refusal(*code, reason, *retry_after)),
            (_, Err(status)) => Err(status),
            (_, Ok(user)) => self.answer(&request, user).await,
        };
        let response = response.unwrap_or_else(|status| responses::refused(&status));
        if failure == Some(Failure::LostResponse) {
            return Err(reset());
        }
        lock(&self.requests).answered(number, response.status().as_u16());
        Ok(response)
    }

    async fn answer(&self, request: &Request<Bytes>, user: User) -> Result<Response<ResponseBody>, Status> {
        let call = Call::new(request, user);
        let route = route(request.uri().path());
        let wanted = attributes(route.as_ref(), &call.method, request.uri().path(), &call.query);
        access::authorize(&lock(&self.cluster), &call.user, &wanted)?;
        if call.body.len() > BODY_LIMIT {
            let message = format!("Request entity too large: limit is {BODY_LIMIT}");
            return Err(Status::new(413, "RequestEntityTooLarge", message));
        }
        let answer = match route.ok_or_else(Status::no_such_path)? {
            Route::Objects(target) => self.objects(&call, target).await,
            route => self.about(&call, route),
        };
        // Warnings come with refusals too.
        let mut response = answer.unwrap_or_else(|status| responses::refused(&status));
        responses::add_warnings(&mut response, &call.warnings.all());
        Ok(response)
    }

    /// What is served apart from objects.
    fn about(&self, call: &Call, route: Route) -> Result<Response<ResponseBody>, Status> {
        if call.method != Method::GET {
            return Err(Status::method_not_allowed());
        }
        if route == Route::Health {
            return Ok(responses::text("ok"));
        }
        let kinds = &lock(&self.cluster).kinds;
        let answer = match route {
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

    async fn objects(&self, call: &Call, target: Target) -> Result<Response<ResponseBody>, Status> {
        let namespace = target.namespace.as_deref();
        let place = lock(&self.cluster).place(&target.group, &target.version, &target.plural, namespace)?;
        let Some(name) = target.name else {
            return self.collection(call, place).await;
        };
        if place.kind.namespaced && place.namespace.is_empty() {
            return Err(Status::no_such_path());
        }
        match target.subresource.as_deref() {
            None => self.object(call, &place, &name, Scope::Main).await,
            Some("status") if place.version()?.status => self.object(call, &place, &name, Scope::Status).await,
            Some(other) if other != "status" && !place.kind.custom => {
                Err(Status::not_implemented(&format!("{}/{other}", place.kind.qualified())))
            }
            Some(_) => Err(Status::no_such_subresource()),
        }
    }
}
