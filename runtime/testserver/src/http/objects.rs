//! Requests for single objects and their status.

use http::{Method, Response};
use serde_json::{Value, json};

use crate::access::tokens;
use crate::cluster::Place;
use crate::http::requests::Call;
use crate::http::responses::{self, ResponseBody};
use crate::http::{Api, lock};
use crate::objects::delete_options::returns_object;
use crate::objects::deletion::Deleted;
use crate::objects::patching::Patch;
use crate::objects::writing::Scope;
use crate::status::Status;

impl Api {
    pub(super) async fn object(
        &self,
        call: &Call,
        place: &Place,
        name: &str,
        scope: Scope,
    ) -> Result<Response<ResponseBody>, Status> {
        match call.method {
            Method::GET if scope != Scope::Finalize => {
                let cluster = lock(&self.cluster);
                let object = cluster.store.get(&place.kind.key(), &place.namespace, name).cloned();
                let object = place.present(&object.ok_or_else(|| Status::not_found(&place.kind, name))?);
                let now = cluster.timestamp();
                drop(cluster);
                responses::object(200, place, &object, call.shape, now)
            }
            Method::PUT => {
                let (created, updated) = self.replace(call, place, name, scope).await?;
                self.written(call, place, created, &updated)
            }
            Method::PATCH => {
                let patch = Patch::parse(&call.content_type, &call.body, &place.kind)?;
                let (created, patched) = self.patch(call, place, name, scope, &patch).await?;
                self.written(call, place, created, &patched)
            }
            Method::DELETE if scope == Scope::Main => {
                let options = call.delete_options()?;
                let show = |code, object: &Value| {
                    responses::object(code, place, object, call.shape, lock(&self.cluster).timestamp())
                };
                match self.delete(call, place, (name, false), &options).await? {
                    Deleted::Pending(object) => {
                        // Only the older option has the right code for this.
                        let code = if options["orphanDependents"] == false { 202 } else { 200 };
                        show(code, &object)
                    }
                    Deleted::Gone(object) if returns_object(&place.kind) => show(200, &object),
                    Deleted::Gone(object) => Ok(responses::json(200, &gone(place, name, &object))),
                }
            }
            // Custom kinds tell what is to be done by the method alone.
            Method::POST if place.kind.custom && scope == Scope::Main => self.add(call, place).await,
            Method::POST if place.kind.custom => Err(Status::not_supported(&place.kind, "create")),
            Method::DELETE if place.kind.custom => Err(Status::not_supported(&place.kind, "delete")),
            _ => Err(Status::method_not_allowed()),
        }
    }

    fn written(
        &self,
        call: &Call,
        place: &Place,
        created: bool,
        object: &Value,
    ) -> Result<Response<ResponseBody>, Status> {
        let code = if created { 201 } else { 200 };
        responses::object(code, place, object, call.shape, lock(&self.cluster).timestamp())
    }

    /// Makes a token of a service account.
    pub(super) fn token(&self, call: &Call, place: &Place, name: &str) -> Result<Response<ResponseBody>, Status> {
        if call.method != Method::POST {
            return Err(Status::method_not_allowed());
        }
        let request = call.json("TokenRequest")?;
        let answer = tokens::answer(&mut lock(&self.cluster), place, name, &request)?;
        Ok(responses::json(201, &answer))
    }
}

fn gone(place: &Place, name: &str, object: &Value) -> Value {
    let mut details = json!({"name": name, "kind": place.kind.plural, "uid": object["metadata"]["uid"]});
    if !place.kind.group.is_empty() {
        details["group"] = json!(place.kind.group);
    }
    json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details})
}
