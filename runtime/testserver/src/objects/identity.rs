//! Whether an object is what the path of its request says, and what the client has seen.

use serde_json::{Map, Value, json};

use crate::cluster::Place;
use crate::kinds::Kind;
use crate::objects::metadata;
use crate::objects::writing::{metadata_of, name_of};
use crate::status::{Cause, Status};

const MODIFIED: &str = "the object has been modified; please apply your changes to the latest version and try again";

/// Whether an object claims to be what its path says.
pub(crate) fn check_identity(place: &Place, object: &mut Value) -> Result<(), Status> {
    let kind = &place.kind;
    if !object.is_object() {
        let message = format!("the object provided is unrecognized (must be of type {})", kind.kind);
        return Err(Status::bad_request(message));
    }
    metadata::check_shape(object)?;
    for field in ["apiVersion", "kind"] {
        match object.get(field) {
            None | Some(Value::String(_)) => {}
            Some(Value::Null) if !kind.custom => {}
            Some(_) => {
                let message = format!(
                    "the object provided is unrecognized (must be of type {}): couldn't get version/kind; json parse \
                     error: json: cannot unmarshal into Go struct field .{field} of type string",
                    kind.kind
                );
                return Err(Status::bad_request(message));
            }
        }
    }
    if kind.custom && object["kind"].as_str().is_none_or(str::is_empty) {
        return Err(Status::bad_request(format!("Object 'Kind' is missing in '{object}'")));
    }
    for (field, wanted) in [("apiVersion", place.api_version()), ("kind", kind.kind.clone())] {
        match object.get(field).and_then(Value::as_str).unwrap_or_default() {
            // Requests for built-in kinds may leave out what the path says already; of custom ones it is missed later.
            "" if !kind.custom => object[field] = json!(wanted),
            "" => {}
            given if given == wanted => {}
            given if field == "apiVersion" => {
                return Err(Status::bad_request(format!(
                    "the API version in the data ({given}) does not match the expected API version ({wanted})"
                )));
            }
            // Validation tells.
            _ if kind.custom => {}
            given => {
                let version = &place.version;
                let message = format!("{given} in version \"{version}\" cannot be handled as a {wanted}");
                return Err(Status::bad_request(message));
            }
        }
    }
    let metadata = metadata_of(object);
    let given = metadata.get("namespace").and_then(Value::as_str).unwrap_or_default();
    if !given.is_empty() && given != place.namespace {
        return Err(Status::bad_request(
            "the namespace of the provided object does not match the namespace sent on the request",
        ));
    }
    Ok(())
}

/// Whether a custom object claims to be of its kind, which is asked once it is known what it changes.
pub(crate) fn check_type(place: &Place, object: &Value) -> Result<(), Status> {
    if !place.kind.custom {
        return Ok(());
    }
    let text = |field: &str| object[field].as_str().unwrap_or_default();
    if text("apiVersion").is_empty() {
        let why = "Object 'apiVersion' is missing in 'object has no apiVersion field'";
        let mut status = Status::new(500, "InternalError", format!("Internal error occurred: {why}"));
        status.details = json!({"causes": [{"message": why}]});
        return Err(status);
    }
    let mut causes = Vec::new();
    for (field, wanted) in [("apiVersion", place.api_version()), ("kind", place.kind.kind.clone())] {
        if text(field) != wanted {
            causes.push(Cause::invalid(field, &json!(text(field)), &format!("must be {wanted}")));
        }
    }
    if causes.is_empty() {
        return Ok(());
    }
    // The refusal is about what the object claims to be.
    let kind = Kind {
        kind: text("kind").into(),
        ..Kind::clone(&place.kind)
    };
    Err(Status::invalid(&kind, &name_of(object), &causes))
}

/// Whether an object has the name that its path says.
pub(crate) fn check_name(name: &str, given: &Value) -> Result<(), Status> {
    match given.as_str() {
        None | Some("") => Err(Status::bad_request(format!(
            "the name of the object ({name} based on URL) was undeterminable: name must be provided"
        ))),
        Some(given) if given != name => Err(Status::bad_request(format!(
            "the name of the object ({given}) does not match the name on the URL ({name})"
        ))),
        Some(_) => Ok(()),
    }
}

/// Where a cluster keeps an object, which its messages tell.
pub(crate) fn storage_key(place: &Place, name: &str) -> String {
    let kind = &place.kind;
    let folder = match (kind.group.as_str(), kind.plural.as_str()) {
        ("", "endpoints") => "services/endpoints".into(),
        ("", "nodes") => "minions".into(),
        ("", "services") => "services/specs".into(),
        ("networking.k8s.io", "ingresses") => "ingress".into(),
        (group, plural) if kind.custom || group == "apiextensions.k8s.io" => format!("{group}/{plural}"),
        (_, plural) => plural.to_owned(),
    };
    let parts = ["/registry", &folder, &place.namespace, name];
    parts
        .into_iter()
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join("/")
}

/// Whether an update is of the object, and of the version of it, that the client has seen.
pub(crate) fn check_preconditions(
    place: &Place,
    name: &str,
    current: &Value,
    metadata: &Map<String, Value>,
) -> Result<(), Status> {
    let given = |field: &str| {
        metadata
            .get(field)
            .and_then(Value::as_str)
            .filter(|text| !text.is_empty())
    };
    check_name(name, metadata.get("name").unwrap_or(&Value::Null))?;
    let current = &current["metadata"];
    for field in ["uid", "deletionTimestamp"] {
        let may_differ = field == "deletionTimestamp" && current.get(field).is_some();
        if let Some(value) = given(field).filter(|&value| !may_differ && current[field] != *value) {
            let cause = Cause::invalid(format!("metadata.{field}"), &json!(value), "field is immutable");
            let mut status = Status::invalid(&place.kind, name, &[cause]);
            // It is found twice, for any object and for one of the kind, but told once.
            let twice = vec![status.details["causes"][0].take(); 2];
            status.details["causes"] = json!(twice);
            return Err(status);
        }
    }
    match given("resourceVersion") {
        Some(version) if version.parse::<u64>().is_err() => Err(Status::unexpected(format!(
            "strconv.ParseUint: parsing {version:?}: invalid syntax"
        ))),
        Some(version) if current["resourceVersion"] != *version => Err(Status::conflict(&place.kind, name, MODIFIED)),
        None if !place.kind.traits.unconditional => {
            let message = "Invalid value: 0x0: must be specified for an update".into();
            let cause = Cause {
                field: "metadata.resourceVersion".into(),
                reason: "FieldValueInvalid",
                message,
            };
            let mut status = Status::invalid(&place.kind, name, &[cause]);
            // This is found where objects are stored, by the names of resources.
            status.message = status.message.replacen(&place.kind.kind, &place.kind.plural, 1);
            status.details["kind"] = json!(place.kind.plural);
            Err(status)
        }
        _ => Ok(()),
    }
}
