//! Configurations to be applied, before they meet an object.

use serde_json::Value;

use crate::cluster::Place;
use crate::objects::patching::not_a;
use crate::objects::writing::name_of;
use crate::status::Status;

/// The configuration in a body, which is YAML or JSON.
pub(super) fn parse(body: &[u8], place: &Place) -> Result<Value, Status> {
    let bad = |why: String| Status::bad_request(format!("error decoding YAML: {why}"));
    let text = std::str::from_utf8(body).map_err(|error| bad(error.to_string()))?;
    // JSON is YAML too, but its own parser is quicker.
    let configuration = match serde_json::from_str(text) {
        Ok(value) => value,
        Err(_) if text.trim().is_empty() => Value::Null,
        Err(_) => {
            serde_yaml::from_str(text).map_err(|error| bad(format!("error converting YAML to JSON: yaml: {error}")))?
        }
    };
    if !configuration.is_object() && !configuration.is_null() {
        let fault = not_a("map[string]interface {}", &configuration);
        return Err(bad(format!("error unmarshaling JSON: while decoding JSON: {fault}")));
    }
    if configuration["metadata"]
        .get("managedFields")
        .is_some_and(|fields| !fields.is_null())
    {
        return Err(Status::bad_request("metadata.managedFields must be nil"));
    }
    let (given, wanted) = (
        configuration["apiVersion"].as_str().unwrap_or_default(),
        place.api_version(),
    );
    if given != wanted {
        return Err(Status::bad_request(format!(
            "Incorrect version specified in apply patch. Specified patch version: {given}, expected: {wanted}"
        )));
    }
    Ok(configuration)
}

/// Whether an object can be made from the configuration alone.
pub(super) fn check_new(configuration: &Value, place: &Place, name: &str) -> Result<(), Status> {
    match name_of(configuration) {
        given if given.is_empty() => {
            return Err(Status::bad_request(format!(
                "the name of the object ({name} based on URL) was undeterminable: name must be provided"
            )));
        }
        given if given != name => {
            return Err(Status::bad_request(format!(
                "the name of the object ({given}) does not match the name on the URL ({name})"
            )));
        }
        _ => {}
    }
    match configuration["metadata"]["uid"].as_str() {
        Some(uid) if !uid.is_empty() => {
            let why =
                format!("uid mismatch: the provided object specified uid {uid}, and no existing object was found");
            Err(Status::conflict(&place.kind, name, &why))
        }
        _ => Ok(()),
    }
}
