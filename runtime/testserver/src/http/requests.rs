//! A request in the parts that matter, and its body as a value.

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, USER_AGENT};
use http::{Method, Request};
use serde_json::Value;

use crate::access::User;
use crate::cluster::Place;
use crate::http::routes::Query;
use crate::http::table::Shape;
use crate::objects::writing::{FieldValidation, How, Scope};
use crate::status::Status;
use crate::warnings::Warnings;

/// The limit of the real server.
pub(crate) const BODY_LIMIT: usize = 3 * 1024 * 1024;

/// One request, and the warnings that its answer will carry.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) method: Method,
    pub(crate) query: Query,
    pub(crate) shape: Shape,
    pub(crate) content_type: String,
    pub(crate) body: Bytes,
    pub(crate) user: User,
    user_agent: String,
    pub(crate) warnings: Warnings,
}

impl Call {
    pub(crate) fn new(request: &Request<Bytes>, user: User) -> Self {
        let header = |name| {
            let value = request.headers().get(name).and_then(|value| value.to_str().ok());
            value.unwrap_or_default().to_owned()
        };
        Self {
            method: request.method().clone(),
            query: Query::parse(request.uri().query().unwrap_or_default()),
            shape: Shape::of(&header(ACCEPT)),
            content_type: header(CONTENT_TYPE),
            body: request.body().clone(),
            user,
            user_agent: header(USER_AGENT),
            warnings: Warnings::default(),
        }
    }

    /// How the request wants to write.
    pub(crate) fn how(&self, scope: Scope) -> Result<How, Status> {
        let validation = FieldValidation::parse(self.query.get("fieldValidation"))?;
        // The name of a client that does not say who manages its fields is the first part of its user agent.
        let manager = match self.query.get("fieldManager") {
            "" => self.user_agent.split('/').next().unwrap_or_default(),
            given => given,
        };
        Ok(How {
            scope,
            dry_run: self.dry_run()?,
            validation,
            manager: manager.to_owned(),
            force: self.query.flag("force"),
            ..How::default()
        })
    }

    pub(crate) fn dry_run(&self) -> Result<bool, Status> {
        match self.query.get("dryRun") {
            "" => Ok(false),
            "All" => Ok(true),
            other => Err(Status::bad_option("dryRun", other, &["All"])),
        }
    }

    /// The body of a deletion; null if there is none.
    pub(crate) fn delete_options(&self) -> Result<Value, Status> {
        if self.body.is_empty() {
            Ok(Value::Null)
        } else {
            self.json("DeleteOptions")
        }
    }

    pub(crate) fn object(&self, place: &Place) -> Result<Value, Status> {
        self.json(&place.kind.kind)
    }

    /// The body, of a kind that a refusal names.
    pub(crate) fn json(&self, wanted: &str) -> Result<Value, Status> {
        let format = self.content_type.split(';').next().unwrap_or_default().trim();
        // Clients of the real server may also send YAML and protobuf; both would need a parser of their own.
        if !matches!(format, "" | "application/json" | "*/*") {
            return Err(Status::unsupported_media_type(
                "the body of the request was in an unknown format - accepted media types include: application/json; \
                 with kubectl, use create -f, since its other create commands send protobuf",
            ));
        }
        serde_json::from_slice(&self.body).map_err(|error| {
            Status::bad_request(format!(
                "the object provided is unrecognized (must be of type {wanted}): {error}"
            ))
        })
    }
}
