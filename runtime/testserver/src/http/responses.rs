//! Bodies and headers of responses.

use std::borrow::Cow;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io;
use std::sync::Arc;

use bytes::Bytes;
use futures::stream;
use http::header::{CONTENT_TYPE, ETAG, RETRY_AFTER, VARY, WARNING};
use http::{HeaderValue, Response};
use http_body::Frame;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use jiff::Timestamp;
use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use crate::cluster::Place;
use crate::http::negotiation::Shape;
use crate::http::table::{metadata_only, table, without_header};
use crate::objects::listing::Page;
use crate::objects::watching::{Event, Watch};
use crate::status::Status;

/// The body of every response: whole, or a stream of watch events.
pub type ResponseBody = UnsyncBoxBody<Bytes, io::Error>;

pub(crate) fn text(text: &'static str) -> Response<ResponseBody> {
    respond(200, "text/plain; charset=utf-8", text.as_bytes().to_vec())
}

pub(crate) fn json(code: u16, value: &impl Serialize) -> Response<ResponseBody> {
    respond(
        code,
        "application/json",
        serde_json::to_vec(value).expect("JSON values can be written"),
    )
}

/// A refusal, on one line or over several ones.
pub(crate) fn refused(status: &Status, indented: bool) -> Response<ResponseBody> {
    if *status == Status::no_such_path() {
        // No handler, no object: clients have to cope with plain text here.
        let text = format!("{}\n", status.message);
        return respond(status.code, "text/plain; charset=utf-8", text.into_bytes());
    }
    let mut response = if indented {
        let text = format!("{:#}\n", status.to_value());
        respond(status.code, "application/json", text.into_bytes())
    } else {
        json(status.code, &status.to_value())
    };
    if let Some(seconds) = status.details["retryAfterSeconds"].as_u64() {
        response.headers_mut().insert(RETRY_AFTER, seconds.into());
    }
    response
}

/// An answer that clients keep until its tag changes.
pub(crate) fn tagged(value: &Value, content_type: &str, known_tag: &str) -> Response<ResponseBody> {
    let body = value.to_string().into_bytes();
    let mut hasher = DefaultHasher::new();
    body.hash(&mut hasher);
    let tag = format!("\"{:016X}\"", hasher.finish());
    let mut response = if tag == known_tag {
        respond(304, content_type, Vec::new())
    } else {
        respond(200, content_type, body)
    };
    let tag = HeaderValue::from_str(&tag).expect("the tag is made of digits");
    response.headers_mut().insert(ETAG, tag);
    response.headers_mut().insert(VARY, HeaderValue::from_static("Accept"));
    response
}

/// Adds the headers that carry warnings.
pub(crate) fn add_warnings(response: &mut Response<ResponseBody>, warnings: &[String]) {
    for warning in warnings {
        let quoted = warning.replace('\\', "\\\\").replace('"', "\\\"");
        // A warning that cannot be a header is dropped, as in the real server.
        if let Ok(value) = HeaderValue::from_str(&format!("299 - \"{quoted}\"")) {
            response.headers_mut().append(WARNING, value);
        }
    }
}

/// An object, be it as it was or as it has become.
pub(crate) fn object(
    code: u16,
    place: &Place,
    object: &Value,
    shape: Shape,
    now: Timestamp,
) -> Result<Response<ResponseBody>, Status> {
    if let Shape::MetadataList(_) = shape {
        let message = "you requested PartialObjectMetadataList, but the requested object is not a list";
        return Err(Status::not_acceptable(message));
    }
    Ok(json(code, &shaped(place, object, shape, now)))
}

pub(crate) fn page(place: &Place, page: &Page, shape: Shape, now: Timestamp) -> Result<Response<ResponseBody>, Status> {
    let mut metadata = json!({"resourceVersion": page.version.to_string()});
    if let Some(token) = &page.token {
        metadata["continue"] = json!(token);
    }
    if let Some(remaining) = page.remaining {
        metadata["remainingItemCount"] = json!(remaining);
    }
    let objects = page.objects.iter().map(Arc::as_ref);
    let (whole, of) = (place.api_version(), &place.kind.list_kind);
    Ok(match shape {
        Shape::Whole => {
            let bare = !place.kind.custom;
            if place.kind.custom && page.token.is_none() {
                // Lists of custom objects say so even when nothing is left.
                metadata["continue"] = json!("");
            }
            let items = objects.map(|object| Item { object, bare }).collect();
            let list = List {
                api_version: &whole,
                kind: of,
                metadata,
                items,
            };
            json(200, &list)
        }
        Shape::Table(api_version, include) => json(200, &table(place, objects, &metadata, (api_version, include), now)),
        Shape::MetadataList(api_version) => {
            let items = objects.map(|object| metadata_only(object, api_version)).collect();
            let list = List {
                api_version,
                kind: "PartialObjectMetadataList",
                metadata,
                items,
            };
            json(200, &list)
        }
        Shape::Metadata(_) => {
            let message = format!("you requested PartialObjectMetadata, but the requested object is a list ({of})");
            return Err(Status::not_acceptable(message));
        }
    })
}

pub(crate) fn watch(watch: Watch, place: Place, shape: Shape) -> Response<ResponseBody> {
    let frames = stream::unfold((watch, place, true), move |(mut watch, place, first)| async move {
        let event = watch.next().await?;
        let line = line(&place, &event, shape, first, watch.now());
        Some((Ok(Frame::data(Bytes::from(line))), (watch, place, false)))
    });
    let body = StreamBody::new(frames).boxed_unsync();
    let response = Response::builder().header(CONTENT_TYPE, "application/json").body(body);
    response.expect("the parts of the response are valid")
}

fn line(place: &Place, event: &Event, shape: Shape, first: bool, now: Timestamp) -> Vec<u8> {
    let shape = if event.kind == "ERROR" { Shape::Whole } else { shape };
    let mut object = match shape {
        Shape::Table(api_version, include) if event.kind == "BOOKMARK" => {
            let metadata = &event.object["metadata"];
            Cow::Owned(table(place, std::iter::empty(), metadata, (api_version, include), now))
        }
        _ => shaped(place, &event.object, shape, now),
    };
    if matches!(shape, Shape::Table(..)) && !first {
        object = Cow::Owned(without_header(object.into_owned()));
    }
    let line = Line {
        kind: event.kind,
        object: &object,
    };
    let mut line = serde_json::to_vec(&line).expect("JSON values can be written");
    line.push(b'\n');
    line
}

fn shaped<'a>(place: &Place, object: &'a Value, shape: Shape, now: Timestamp) -> Cow<'a, Value> {
    match shape {
        Shape::Whole => Cow::Borrowed(object),
        Shape::Metadata(api_version) | Shape::MetadataList(api_version) => {
            Cow::Owned(metadata_only(object, api_version))
        }
        Shape::Table(api_version, include) => {
            let metadata = json!({"resourceVersion": object["metadata"]["resourceVersion"]});
            let objects = std::iter::once(object);
            Cow::Owned(table(place, objects, &metadata, (api_version, include), now))
        }
    }
}

fn respond(code: u16, content_type: &str, body: Vec<u8>) -> Response<ResponseBody> {
    let body = Full::new(Bytes::from(body))
        .map_err(|never| match never {})
        .boxed_unsync();
    let response = Response::builder()
        .status(code)
        .header(CONTENT_TYPE, content_type)
        .body(body);
    response.expect("the parts of the response are valid")
}

#[derive(Serialize)]
struct Line<'a> {
    #[serde(rename = "type")]
    kind: &'a str,
    object: &'a Value,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct List<'a, T> {
    api_version: &'a str,
    kind: &'a str,
    metadata: Value,
    items: Vec<T>,
}

/// An item of a list: those of built-in kinds do not say what they are, as in a cluster.
struct Item<'a> {
    object: &'a Value,
    bare: bool,
}

impl Serialize for Item<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.object {
            Value::Object(fields) if self.bare => serializer.collect_map(
                fields
                    .iter()
                    .filter(|(key, _)| !matches!(key.as_str(), "apiVersion" | "kind")),
            ),
            other => other.serialize(serializer),
        }
    }
}
