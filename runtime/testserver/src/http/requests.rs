//! A request in the parts that matter, and its body as a value.

use std::fmt::Display;

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, IF_NONE_MATCH, USER_AGENT};
use http::{Method, Request};
use serde_json::Value;

use crate::access::User;
use crate::cluster::Place;
use crate::http::duplicates::duplicates;
use crate::http::negotiation::{Format, Shape, TYPES, negotiate};
use crate::http::protobuf;
use crate::http::routes::Query;
use crate::objects::managed::tracking;
use crate::objects::writing::{FieldValidation, How, Scope, check_dry_run};
use crate::status::{Cause, Status};
use crate::warnings::Warnings;

/// The limit of the real server.
pub(crate) const BODY_LIMIT: usize = 3 * 1024 * 1024;

/// One request, and the warnings that its answer will carry.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) method: Method,
    pub(crate) query: Query,
    pub(crate) accept: String,
    /// The tag of an answer that the client has already.
    pub(crate) known_tag: String,
    pub(crate) format: Format,
    pub(crate) shape: Shape,
    /// Why there can be no answer in any of the wanted formats.
    unacceptable: Option<Status>,
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
        let query = Query::parse(request.uri().query().unwrap_or_default());
        let accept = header(ACCEPT);
        let watch = query.flag("watch") && request.method() == Method::GET;
        let negotiated = negotiate(&accept, watch, query.get("includeObject"));
        let (unacceptable, (format, shape)) = match negotiated {
            Ok(negotiated) => (None, negotiated),
            Err(status) => (Some(status), Default::default()),
        };
        Self {
            method: request.method().clone(),
            query,
            accept,
            known_tag: header(IF_NONE_MATCH),
            format,
            shape,
            unacceptable,
            content_type: header(CONTENT_TYPE),
            body: request.body().clone(),
            user,
            user_agent: header(USER_AGENT),
            warnings: Warnings::default(),
        }
    }

    /// Refuses a request for objects in a format that there is not.
    pub(crate) fn acceptable(&self) -> Result<(), Status> {
        self.unacceptable.clone().map_or(Ok(()), Err)
    }

    /// Whether the answer is to be written for people: when they ask for it, or seem to sit there themselves.
    pub(crate) fn is_indented(&self) -> bool {
        match self.query.get("pretty") {
            "" => ["curl", "Wget", "Mozilla/5.0"]
                .iter()
                .any(|tool| self.user_agent.starts_with(tool)),
            wanted => matches!(wanted, "1" | "t" | "T" | "true" | "True" | "TRUE"),
        }
    }

    /// How the request wants to write; the faults are those found already.
    pub(crate) fn how(&self, scope: Scope, mut faults: Vec<Cause>) -> Result<How, Vec<Cause>> {
        faults.extend(tracking::check_manager(self.query.get("fieldManager")));
        let stages: Vec<Value> = self.query.all("dryRun").map(Value::from).collect();
        faults.extend(check_dry_run(&stages));
        let validation = FieldValidation::parse(self.query.get("fieldValidation"));
        let validation = validation.map_err(|fault| faults.push(fault)).unwrap_or_default();
        if !faults.is_empty() {
            return Err(faults);
        }
        let manager = tracking::manager(self.query.get("fieldManager"), &self.user_agent);
        let whole = matches!(self.method, Method::POST | Method::PUT);
        let duplicates = if whole { duplicates(&self.body) } else { Vec::new() };
        Ok(How {
            scope,
            dry_run: !stages.is_empty(),
            validation,
            manager,
            duplicates,
            force: self.query.flag("force"),
            ..How::default()
        })
    }

    /// The options of a deletion: those in the body, and only if there is none, those in the query.
    pub(crate) fn delete_options(&self) -> Result<Value, Status> {
        if self.body.is_empty() {
            return self.delete_query();
        }
        let options = self.json("DeleteOptions").map_err(|status| match status.code {
            400 => Status::unexpected(format!(
                "couldn't get version/kind; json parse error: {}",
                status.message
            )),
            _ => status,
        })?;
        if !matches!(options, Value::Object(_) | Value::Null) {
            let message = "couldn't get version/kind; json parse error: the options are no object";
            return Err(Status::unexpected(message));
        }
        match options["kind"].as_str().unwrap_or_default() {
            "" | "DeleteOptions" => {}
            other => {
                let version = options["apiVersion"].as_str().unwrap_or_default();
                let message = format!("no kind {other:?} is registered for version {version:?} in scheme");
                return Err(Status::unexpected(message));
            }
        }
        let fits = |field: &str, fits: fn(&Value) -> bool| options[field].is_null() || fits(&options[field]);
        for (field, fine) in [
            ("gracePeriodSeconds", fits("gracePeriodSeconds", Value::is_i64)),
            ("orphanDependents", fits("orphanDependents", Value::is_boolean)),
            ("propagationPolicy", fits("propagationPolicy", Value::is_string)),
            ("preconditions", fits("preconditions", Value::is_object)),
            ("dryRun", fits("dryRun", Value::is_array)),
        ] {
            if !fine {
                let message = format!("json: cannot unmarshal into Go struct field DeleteOptions.{field}");
                return Err(Status::unexpected(message));
            }
        }
        Ok(options)
    }

    fn delete_query(&self) -> Result<Value, Status> {
        let query = &self.query;
        let mut options = serde_json::Map::new();
        if let Some(grace) = query.number("gracePeriodSeconds")? {
            options.insert("gracePeriodSeconds".into(), grace.into());
        }
        if query.has("orphanDependents") {
            options.insert("orphanDependents".into(), query.flag("orphanDependents").into());
        }
        if !query.get("propagationPolicy").is_empty() {
            options.insert("propagationPolicy".into(), query.get("propagationPolicy").into());
        }
        if query.has("dryRun") {
            options.insert("dryRun".into(), query.all("dryRun").collect::<Vec<_>>().into());
        }
        for field in ["uid", "resourceVersion"] {
            if !query.get(field).is_empty() {
                options.entry("preconditions").or_insert_with(|| serde_json::json!({}))[field] =
                    query.get(field).into();
            }
        }
        Ok(Value::Object(options))
    }

    pub(crate) fn object(&self, place: &Place) -> Result<Value, Status> {
        self.json(&place.kind.kind)
    }

    /// The body, of a kind that a refusal names.
    pub(crate) fn json(&self, wanted: &str) -> Result<Value, Status> {
        let format = self.content_type.split(';').next().unwrap_or_default().trim();
        let unrecognized = |error: &dyn Display| {
            Status::bad_request(format!(
                "the object provided is unrecognized (must be of type {wanted}): {error}"
            ))
        };
        match format {
            "" | "application/json" | "*/*" => serde_json::from_slice(&self.body).map_err(|error| unrecognized(&error)),
            "application/yaml" => {
                let text = std::str::from_utf8(&self.body).map_err(|error| unrecognized(&error))?;
                serde_yaml::from_str(text).map_err(|error| unrecognized(&error))
            }
            "application/vnd.kubernetes.protobuf" => protobuf::decode(&self.body).map_err(|why| {
                let hint = "with kubectl, use create -f, since its other create commands send protobuf";
                Status::unsupported_media_type(format!("{why}; {hint}"))
            }),
            _ => Err(Status::unsupported_media_type(format!(
                "the body of the request was in an unknown format - accepted media types include: {TYPES}"
            ))),
        }
    }
}
