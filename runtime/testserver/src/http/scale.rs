//! Requests for the number of replicas of an object.

use http::{Method, Response};
use serde_json::Value;

use crate::cluster::Place;
use crate::http::requests::Call;
use crate::http::responses::{self, ResponseBody};
use crate::http::writes::how;
use crate::http::{Api, lock};
use crate::kinds::Scale;
use crate::objects::patching::Patch;
use crate::objects::scale::{Scaled, write};
use crate::objects::writing::Scope;
use crate::status::Status;

impl Api {
    pub(super) async fn scale(
        &self,
        call: &Call,
        place: &Place,
        name: &str,
        paths: &Scale,
    ) -> Result<Response<ResponseBody>, Status> {
        let internal = |why: String| Status::new(500, "InternalError", why);
        match call.method {
            Method::GET => {
                let cluster = lock(&self.cluster);
                let object = cluster.store.get(&place.kind.key(), &place.namespace, name).cloned();
                drop(cluster);
                let object = place.present(&object.ok_or_else(|| Status::not_found(&place.kind, name))?);
                let scale = Scaled::of(&object, paths).map_err(internal)?.read(paths)?;
                Ok(responses::json(200, &scale))
            }
            Method::PUT => {
                let scale = call.json("Scale")?;
                check_identity(&scale, name, &place.namespace)?;
                let how = how(call, Scope::Scale, "UpdateOptions", Vec::new())?;
                let (_, object) = self
                    .change(call, place, name, how, |current| write(current, &scale, paths))
                    .await?;
                let scaled = Scaled::of(&object, paths).map_err(Status::bad_request)?;
                Ok(responses::json(200, &scaled.scale))
            }
            Method::PATCH => {
                let patch = Patch::parse(&call.content_type, &call.body, &place.kind)?;
                if patch.is_applied() {
                    return Err(Status::not_implemented("configurations that are applied to scales"));
                }
                let faults = patch.check_options(call.query.get("fieldManager"), !call.query.get("force").is_empty());
                let how = how(call, Scope::Scale, "PatchOptions", faults)?;
                let patched = how.clone();
                let change = |current: &Value| {
                    let scale = Scaled::of(current, paths).map_err(internal)?.draft();
                    let scale = patch.apply(&scale, place, &patched)?;
                    write(current, &scale, paths)
                };
                let (_, object) = self.change(call, place, name, how, change).await?;
                let scaled = Scaled::of(&object, paths).map_err(Status::bad_request)?;
                Ok(responses::json(200, &scaled.scale))
            }
            _ => Err(Status::method_not_allowed()),
        }
    }
}

fn check_identity(scale: &Value, name: &str, namespace: &str) -> Result<(), Status> {
    if !scale.is_object() || scale["kind"].as_str().is_some_and(|kind| kind != "Scale") {
        return Err(Status::bad_request(
            "the object provided is unrecognized (must be of type Scale)",
        ));
    }
    let given = |field: &str| scale["metadata"][field].as_str().unwrap_or_default();
    match given("name") {
        "" => Err(Status::bad_request(format!(
            "the name of the object ({name} based on URL) was undeterminable: name must be provided"
        ))),
        other if other != name => Err(Status::bad_request(format!(
            "the name of the object ({other}) does not match the name on the URL ({name})"
        ))),
        _ if !matches!(given("namespace"), "") && given("namespace") != namespace => Err(Status::bad_request(
            "the namespace of the object does not match the namespace on the request",
        )),
        _ => Ok(()),
    }
}
