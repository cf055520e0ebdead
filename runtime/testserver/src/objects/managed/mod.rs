//! Who manages which fields of an object: `metadata.managedFields`.

pub(crate) mod applying;
mod comparing;
mod fields;
mod merging;
mod pruning;
pub(crate) mod tracking;
mod typing;

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::cluster::Place;
use crate::objects::managed::comparing::Changes;
use crate::objects::managed::fields::Fields;
use crate::objects::writing::How;

/// The manager of fields that were set before the first configuration was applied.
const BEFORE_FIRST_APPLY: &str = "before-first-apply";
/// The manager of fields whose managers were too many.
const ANCIENT_CHANGES: &str = "ancient-changes";
/// How many managers may have updated an object.
const MOST_UPDATERS: usize = 10;
/// Who sets up tests.
const TEST_SERVER: &str = "testserver";

/// Metadata that nobody manages, for the server decides it.
const UNMANAGED: [&[&str]; 12] = [
    &["apiVersion"],
    &["kind"],
    &["metadata"],
    &["metadata", "name"],
    &["metadata", "namespace"],
    &["metadata", "creationTimestamp"],
    &["metadata", "selfLink"],
    &["metadata", "uid"],
    &["metadata", "clusterName"],
    &["metadata", "generation"],
    &["metadata", "managedFields"],
    &["metadata", "resourceVersion"],
];

/// One who manages fields in one way. The order is that of messages and of managers that changed at the same time.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Manager {
    /// Whether it applies configurations.
    applies: bool,
    name: String,
    /// Empty for who applies, since its fields are the same ones in every version.
    version: String,
    subresource: String,
}

/// What one manager manages.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Entry {
    version: String,
    /// Nothing if this very write makes the entry.
    time: Option<String>,
    fields: Fields,
}

/// The managers of an object.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Managers(BTreeMap<Manager, Entry>);

impl Manager {
    fn new(place: &Place, how: &How, applies: bool) -> Self {
        let name = if how.manager.is_empty() {
            TEST_SERVER
        } else {
            &how.manager
        };
        Self {
            applies,
            name: name.to_owned(),
            version: if applies { String::new() } else { place.api_version() },
            subresource: subresource(how).to_owned(),
        }
    }

    /// The manager as conflicts name it.
    fn in_words(&self) -> String {
        let subresource = match self.subresource.as_str() {
            "" => String::new(),
            name => format!(" with subresource {name:?}"),
        };
        let version = if self.applies {
            String::new()
        } else {
            format!(" using {}", self.version)
        };
        format!("{:?}{subresource}{version}", self.name)
    }
}

fn subresource(how: &How) -> &'static str {
    how.scope.subresource()
}

impl Managers {
    /// The managers as stored or sent; nothing if they are not well-formed.
    fn parse(value: Option<&Value>) -> Option<Self> {
        let mut managers = Self::default();
        let entries = value.and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        for entry in entries {
            let text = |field: &str| entry[field].as_str().unwrap_or_default().to_owned();
            let applies = match entry["operation"].as_str()? {
                "Apply" => true,
                "Update" => false,
                _ => return None,
            };
            if !matches!(entry["fieldsType"].as_str(), None | Some("" | "FieldsV1")) {
                return None;
            }
            let manager = Manager {
                applies,
                name: text("manager"),
                version: if applies { String::new() } else { text("apiVersion") },
                subresource: text("subresource"),
            };
            let fields = entry
                .get("fieldsV1")
                .map_or_else(|| Some(Fields::default()), Fields::parse)?;
            let entry = Entry {
                version: text("apiVersion"),
                time: entry["time"].as_str().map(str::to_owned),
                fields,
            };
            managers.0.insert(manager, entry);
        }
        Some(managers)
    }

    /// The form that objects carry, with entries that are new getting their time.
    fn to_value(&self, now: Option<&str>) -> Value {
        let mut entries: Vec<_> = self.0.iter().collect();
        entries.sort_by(|(one, first), (other, second)| {
            let rank = |manager: &Manager| !manager.applies;
            let time = |entry: &Entry| entry.time.as_deref().or(now).unwrap_or_default().to_owned();
            (rank(one), time(first), one).cmp(&(rank(other), time(second), other))
        });
        let entries = entries.into_iter().map(|(manager, entry)| {
            let operation = if manager.applies { "Apply" } else { "Update" };
            let mut value = json!({
                "manager": manager.name,
                "operation": operation,
                "apiVersion": entry.version,
                "fieldsType": "FieldsV1",
                "fieldsV1": entry.fields.to_value(),
            });
            if let Some(time) = entry.time.as_deref().or(now) {
                value["time"] = json!(time);
            }
            if !manager.subresource.is_empty() {
                value["subresource"] = json!(manager.subresource);
            }
            value
        });
        entries.collect()
    }

    /// Takes from everybody what a write changed or removed.
    fn take(&mut self, changes: &Changes) {
        for entry in self.0.values_mut() {
            for taken in [&changes.added, &changes.modified, &changes.removed] {
                if !taken.is_empty() {
                    entry.fields = entry.fields.without(taken);
                }
            }
        }
        self.drop_empty();
    }

    /// Gives a manager more fields.
    fn give(&mut self, manager: Manager, version: String, fields: Fields, now: &str) {
        if fields.is_empty() {
            return;
        }
        let entry = self.0.entry(manager).or_insert_with(|| Entry {
            version,
            time: None,
            fields: Fields::default(),
        });
        entry.fields.unite(fields);
        entry.time = Some(now.to_owned());
    }

    fn drop_empty(&mut self) {
        self.0.retain(|_, entry| !entry.fields.is_empty());
    }

    /// Merges the entries that changed longest ago, of each version into one, until few enough are left.
    fn cap(&mut self) {
        let mut updaters: Vec<_> = self.0.iter().filter(|(manager, _)| !manager.applies).collect();
        let mut count = updaters.len();
        if count <= MOST_UPDATERS {
            return;
        }
        updaters.sort_by_key(|(manager, entry)| (entry.time.clone(), (*manager).clone()));
        let updaters: Vec<_> = updaters.into_iter().map(|(manager, _)| manager.clone()).collect();
        let mut firsts: BTreeMap<String, Manager> = BTreeMap::new();
        for manager in updaters {
            if count <= MOST_UPDATERS {
                break;
            }
            let Some(first) = firsts.get(&manager.version).cloned() else {
                firsts.insert(manager.version.clone(), manager);
                continue;
            };
            let bucket = Manager {
                name: ANCIENT_CHANGES.into(),
                subresource: String::new(),
                ..manager.clone()
            };
            if !self.0.contains_key(&bucket)
                && let Some(entry) = self.0.remove(&first)
            {
                self.0.insert(bucket.clone(), entry);
            }
            if let (Some(merged), Some(entry)) = (self.0.remove(&manager), self.0.get_mut(&bucket)) {
                entry.fields.unite(merged.fields);
                entry.time = merged.time;
                count -= 1;
            }
        }
    }
}

/// Leaves out what nobody manages.
fn strip(fields: &mut Fields) {
    for path in UNMANAGED {
        fields.remove(path);
    }
}

fn strip_changes(changes: &mut Changes) {
    strip(&mut changes.added);
    strip(&mut changes.removed);
    strip(&mut changes.modified);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(manager: &str, time: &str, field: &str) -> Value {
        json!({
            "manager": manager, "operation": "Update", "apiVersion": "v1", "time": time,
            "fieldsType": "FieldsV1", "fieldsV1": {format!("f:{field}"): {}},
        })
    }

    #[test]
    fn entries_are_sorted_by_operation_and_time() {
        let mut applied = entry("z", "2026-01-03T00:00:00Z", "c");
        applied["operation"] = json!("Apply");
        let late = entry("a", "2026-01-02T00:00:00Z", "a");
        let early = entry("b", "2026-01-01T00:00:00Z", "b");
        let managers = Managers::parse(Some(&json!([late, early, applied]))).unwrap();
        assert_eq!(managers.to_value(None), json!([applied, early, late]));
    }

    #[test]
    fn malformed_entries_are_refused() {
        let good = entry("a", "", "a");
        for (field, value) in [
            ("operation", json!("Delete")),
            ("operation", Value::Null),
            ("fieldsType", json!("FieldsV2")),
            ("fieldsV1", json!({"x": {}})),
        ] {
            let mut bad = good.clone();
            bad[field] = value;
            assert!(Managers::parse(Some(&json!([bad]))).is_none(), "{bad}");
        }
        assert!(Managers::parse(Some(&json!([good]))).is_some());
    }

    #[test]
    fn the_oldest_entries_are_merged_when_they_are_too_many() {
        let entries = (1..=12).map(|n| {
            entry(
                &format!("m{n:02}"),
                &format!("2026-01-{n:02}T00:00:00Z"),
                &format!("f{n}"),
            )
        });
        let mut managers = Managers::parse(Some(&entries.collect())).unwrap();
        managers.cap();
        let capped = managers.to_value(None);
        let capped = capped.as_array().unwrap();
        assert_eq!(capped.len(), 10);
        assert_eq!(capped[0]["manager"], "ancient-changes");
        assert_eq!(capped[0]["fieldsV1"], json!({"f:f1": {}, "f:f2": {}, "f:f3": {}}));
        assert_eq!(capped[0]["time"], "2026-01-03T00:00:00Z");
    }

    #[test]
    fn managers_have_names_in_conflicts() {
        let mut manager = Manager {
            applies: true,
            name: "x".into(),
            version: String::new(),
            subresource: String::new(),
        };
        assert_eq!(manager.in_words(), "\"x\"");
        manager.applies = false;
        manager.version = "v1".into();
        assert_eq!(manager.in_words(), "\"x\" using v1");
        manager.subresource = "status".into();
        assert_eq!(manager.in_words(), "\"x\" with subresource \"status\" using v1");
    }
}
