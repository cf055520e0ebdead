//! Formats and shapes of answers, as the `Accept` header asks for them.

use std::io;

use bytes::Bytes;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use http::{HeaderValue, Response};
use http_body_util::{BodyExt as _, Full};
use serde_json::{Value, json};

use crate::http::responses::ResponseBody;
use crate::http::table::Include;
use crate::status::Status;

/// How the bytes of an answer are written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Format {
    #[default]
    Json,
    Yaml,
}

/// What an answer looks like.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Shape {
    #[default]
    Whole,
    /// Rows, under this `apiVersion`.
    Table(&'static str, Include),
    /// The metadata of one object, under this `apiVersion`.
    Metadata(&'static str),
    /// The metadata of the objects of a list, under this `apiVersion`.
    MetadataList(&'static str),
}

/// The formats of bodies, both ways. The real server knows protobuf too.
pub(crate) const TYPES: &str = "application/json, application/yaml";
const WATCHED_TYPES: &str = "application/json;stream=watch";

/// The first option of the header that can be served, with what rows of tables are to include.
pub(crate) fn negotiate(accept: &str, watch: bool, include: &str) -> Result<(Format, Shape), Status> {
    if accept.trim().is_empty() {
        return Ok(Default::default());
    }
    let mut shapes_only = true;
    for option in accept.split(',') {
        let mut parts = option.split(';').map(str::trim);
        let format = match parts.next().unwrap_or_default() {
            "application/json" | "application/*" | "*/*" => Format::Json,
            "application/yaml" if !watch => Format::Yaml,
            _ => {
                shapes_only = false;
                continue;
            }
        };
        let parameters: Vec<_> = parts.filter_map(|part| part.split_once('=')).collect();
        let get = |name: &str| parameters.iter().find(|(key, _)| *key == name).map(|(_, value)| *value);
        let Some(kind) = get("as") else {
            return Ok((format, Shape::Whole));
        };
        let version = match (get("g"), get("v")) {
            (Some("meta.k8s.io"), Some("v1")) => "meta.k8s.io/v1",
            (Some("meta.k8s.io"), Some("v1beta1")) => "meta.k8s.io/v1beta1",
            _ => {
                shapes_only = false;
                continue;
            }
        };
        match kind {
            "Table" => return Ok((format, Shape::Table(version, Include::parse(include)?))),
            "PartialObjectMetadata" => return Ok((format, Shape::Metadata(version))),
            "PartialObjectMetadataList" => return Ok((format, Shape::MetadataList(version))),
            _ => {}
        }
    }
    let message = if shapes_only {
        "406: Not Acceptable".to_owned()
    } else {
        let types = if watch { WATCHED_TYPES } else { TYPES };
        format!("only the following media types are accepted: {types}")
    };
    Err(Status::not_acceptable(message))
}

/// Built-in kinds have a route for each format, so that what none is for is refused before anything is negotiated.
pub(crate) fn refused_by_routes(accept: &str, otherwise: Status) -> Status {
    let has_route = |option: &str| {
        let wanted = option.split(';').next().unwrap_or_default().trim();
        wanted == "*/*" || TYPES.split(", ").any(|format| format == wanted)
    };
    if accept.split(',').any(has_route) {
        return otherwise;
    }
    let message = format!("406: Not Acceptable\n\nAvailable representations: {TYPES}");
    Status {
        details: json!({}),
        ..Status::not_acceptable(message)
    }
}

/// An answer in another format than JSON on one line; streams and plain texts stay as they are.
pub(crate) async fn reformat(
    response: Response<ResponseBody>,
    format: Format,
    indented: bool,
) -> io::Result<Response<ResponseBody>> {
    let is_json = response
        .headers()
        .get(CONTENT_TYPE)
        .is_some_and(|value| value == "application/json");
    if (format == Format::Json && !indented) || !is_json {
        return Ok(response);
    }
    let (mut parts, body) = response.into_parts();
    let body = body.collect().await?.to_bytes();
    let value: Value = serde_json::from_slice(&body)?;
    let text = if format == Format::Json {
        format!("{value:#}")
    } else {
        let yaml = HeaderValue::from_static("application/yaml");
        parts.headers.insert(CONTENT_TYPE, yaml);
        serde_yaml::to_string(&value).map_err(io::Error::other)?
    };
    parts.headers.remove(CONTENT_LENGTH);
    let body = Full::new(Bytes::from(text))
        .map_err(|never| match never {})
        .boxed_unsync();
    Ok(Response::from_parts(parts, body))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_option_that_can_be_served_counts() {
        let kubectl = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,\
                       application/json";
        for (accept, expected) in [
            ("", (Format::Json, Shape::Whole)),
            ("*/*", (Format::Json, Shape::Whole)),
            (
                kubectl,
                (Format::Json, Shape::Table("meta.k8s.io/v1", Include::Metadata)),
            ),
            (
                "application/vnd.kubernetes.protobuf, application/json",
                (Format::Json, Shape::Whole),
            ),
            ("application/yaml", (Format::Yaml, Shape::Whole)),
            (
                "application/json;as=Thing;v=v1;g=meta.k8s.io, application/json; q=0.5",
                (Format::Json, Shape::Whole),
            ),
            (
                "application/json;as=PartialObjectMetadataList;v=v1beta1;g=meta.k8s.io",
                (Format::Json, Shape::MetadataList("meta.k8s.io/v1beta1")),
            ),
        ] {
            assert_eq!(negotiate(accept, false, "").unwrap(), expected, "{accept}");
        }
    }

    #[test]
    fn what_cannot_be_served_is_not_acceptable() {
        for (accept, watch, part) in [
            ("application/xml", false, "application/json, application/yaml"),
            ("application/yaml", true, "application/json;stream=watch"),
            (
                "application/json;as=Thing;v=v1;g=meta.k8s.io",
                false,
                "406: Not Acceptable",
            ),
        ] {
            let status = negotiate(accept, watch, "").unwrap_err();
            assert_eq!(status.code, 406);
            assert!(status.message.contains(part), "{}", status.message);
        }
    }
}
