//! Applies configurations: what a manager wants to be its own, and nothing else.

use serde_json::{Value, json};

use crate::cluster::Place;
use crate::discovery::openapi;
use crate::objects::managed::comparing::{compare, fields_of};
use crate::objects::managed::fields::Fields;
use crate::objects::managed::merging::merge;
use crate::objects::managed::pruning::prune;
use crate::objects::managed::{BEFORE_FIRST_APPLY, Entry, Manager, Managers, strip, strip_changes, typing};
use crate::objects::shapes::Shape;
use crate::objects::writing::{How, Scope, metadata_of, name_of};
use crate::status::Status;

const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// The object as the configuration wants it, with its managers; those that are new have no time yet.
pub(crate) fn apply(
    current: Option<&Value>,
    mut configuration: Value,
    place: &Place,
    how: &How,
) -> Result<Value, Status> {
    let shape = Shape::of(place);
    check_type(&configuration, place, shape).map_err(|fault| {
        // A fault of the client, though the real server takes it on itself.
        let about = about(&configuration);
        let message = format!("failed to create typed patch object ({about}): {fault}");
        Status {
            details: Value::Null,
            ..Status::new(500, "", message)
        }
    })?;
    confine(&mut configuration, place, how)?;
    let mut live = current.cloned().unwrap_or_else(|| json!({}));
    let stored = metadata_of(&mut live).remove("managedFields");
    let mut managers = Managers::parse(stored.as_ref()).unwrap_or_default();
    if managers.0.is_empty() && current.is_some() {
        managers.0.extend(before_first_apply(&live, place, shape));
    }

    let mut fields = fields_of(&configuration, shape);
    let manager = Manager::new(place, how, true);
    let last = managers.0.remove(&manager);
    let mut owned = fields.clone();
    for entry in managers.0.values() {
        owned.unite(entry.fields.clone());
    }
    strip(&mut fields);
    let merged = merge(&live, &configuration, shape);
    let mut object = match &last {
        Some(last) => prune(merged, &last.fields, &owned, shape),
        None => merged,
    };

    let mut changes = compare(Some(&live), Some(&object), shape);
    strip_changes(&mut changes);
    let mut taken = changes.added.clone();
    taken.unite(changes.modified.clone());
    if !how.force {
        refuse_conflicts(&managers, &taken, &manager, &live, shape)?;
    }
    managers.take(&changes);
    let entry = Entry {
        version: place.api_version(),
        time: None,
        fields,
    };
    managers.0.insert(manager, entry);
    managers.drop_empty();
    metadata_of(&mut object).insert("managedFields".into(), managers.to_value(None));
    Ok(object)
}

fn check_type(configuration: &Value, place: &Place, shape: Shape<'_>) -> Result<(), String> {
    if configuration["kind"] != *place.kind.kind {
        let about = about(configuration);
        let (_, kind) = about.split_once("; ").unwrap_or_default();
        return Err(format!("no corresponding type for {kind}"));
    }
    typing::check(configuration, shape)?;
    if cfg!(feature = "openapi") && !place.kind.custom {
        let unknown = openapi::decode(place, &mut configuration.clone())?;
        if let Some(path) = unknown.first() {
            return Err(format!(".{path}: field not declared in schema"));
        }
    }
    Ok(())
}

/// Leaves out what the request's path does not lead to.
fn confine(configuration: &mut Value, place: &Place, how: &How) -> Result<(), Status> {
    let Some(fields) = configuration.as_object_mut() else {
        return Ok(());
    };
    match how.scope {
        Scope::Main if place.version()?.status => drop(fields.remove("status")),
        Scope::Status => {
            fields.retain(|name, _| matches!(name.as_str(), "apiVersion" | "kind" | "metadata" | "status"));
            if let Some(Value::Object(metadata)) = fields.get_mut("metadata") {
                let identity = ["name", "namespace", "uid", "resourceVersion"];
                metadata.retain(|name, _| identity.contains(&name.as_str()));
            }
        }
        Scope::Main | Scope::Scale | Scope::Finalize | Scope::All => {}
    }
    Ok(())
}

/// The manager of all that was there when nobody kept track.
fn before_first_apply(live: &Value, place: &Place, shape: Shape<'_>) -> Option<(Manager, Entry)> {
    let mut changes = compare(Some(&json!({})), Some(live), shape);
    strip_changes(&mut changes);
    let manager = Manager {
        applies: false,
        name: BEFORE_FIRST_APPLY.into(),
        version: place.api_version(),
        subresource: String::new(),
    };
    let entry = Entry {
        version: place.api_version(),
        time: None,
        fields: changes.added,
    };
    (!entry.fields.is_empty()).then_some((manager, entry))
}

fn refuse_conflicts(
    managers: &Managers,
    taken: &Fields,
    applier: &Manager,
    live: &Value,
    shape: Shape<'_>,
) -> Result<(), Status> {
    // What `kubectl apply` once wrote on the client's side, it may take over on the server's.
    let allowed = last_applied(live, shape)
        .filter(|_| applier.name == "kubectl")
        .unwrap_or_default();
    let taken = taken.without(&allowed);
    let conflicts = managers
        .0
        .iter()
        .map(|(manager, entry)| (manager, entry.fields.common(&taken).paths()));
    let conflicts: Vec<_> = conflicts.filter(|(_, paths)| !paths.is_empty()).collect();
    if conflicts.is_empty() {
        Ok(())
    } else {
        Err(refusal(conflicts))
    }
}

fn last_applied(live: &Value, shape: Shape<'_>) -> Option<Fields> {
    let text = live["metadata"]["annotations"][LAST_APPLIED].as_str()?;
    let configuration: Value = serde_json::from_str(text).ok()?;
    Some(fields_of(&configuration, shape))
}

fn refusal(mut conflicts: Vec<(&Manager, Vec<String>)>) -> Status {
    conflicts.sort_by_key(|(manager, _)| manager.in_words());
    let causes: Vec<_> = conflicts
        .iter()
        .flat_map(|(manager, paths)| paths.iter().map(move |path| (manager.in_words(), path)))
        .map(|(manager, path)| {
            json!({"reason": "FieldManagerConflict", "message": format!("conflict with {manager}"), "field": path})
        })
        .collect();
    let message = match conflicts.as_slice() {
        [(manager, paths)] if paths.len() == 1 => {
            format!(
                "Apply failed with 1 conflict: conflict with {}: {}",
                manager.in_words(),
                paths[0]
            )
        }
        conflicts => {
            let parts: Vec<_> = conflicts
                .iter()
                .map(|(manager, paths)| format!("conflicts with {}:\n- {}", manager.in_words(), paths.join("\n- ")))
                .collect();
            format!("Apply failed with {} conflicts: {}", causes.len(), parts.join("\n"))
        }
    };
    let mut status = Status::new(409, "Conflict", message);
    status.details = json!({"causes": causes});
    status
}

/// The object that a configuration is of: namespace, name, and version with kind.
fn about(configuration: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let metadata = &configuration["metadata"];
    let name = match text(&metadata["namespace"]) {
        namespace if namespace.is_empty() => name_of(configuration),
        namespace => format!("{namespace}/{}", name_of(configuration)),
    };
    let version = text(&configuration["apiVersion"]);
    let version = if version.contains('/') {
        version
    } else {
        format!("/{version}")
    };
    format!("{name}; {version}, Kind={}", text(&configuration["kind"]))
}
