//! Names of kinds: within a group no two may have the same.

use serde_json::{Value, json};

use crate::go;
use crate::kinds::crds::{condition, definition, list};

/// Takes the names that a definition wants as far as no other of its group has them, and notes in its conditions
/// whether it can be served.
pub(crate) fn accept(crd: &mut Value, others: &[&Value], now: &str) {
    let wanted = crd["spec"]["names"].clone();
    if crd["status"]["acceptedNames"] != wanted {
        let mut accepted = crd["status"]["acceptedNames"].clone();
        let conflict = take(&wanted, &mut accepted, &Taken::of(others));
        crd["status"]["acceptedNames"] = accepted;
        let (status, reason, message) = match &conflict {
            Some((reason, message)) => ("False", *reason, message.as_str()),
            None => ("True", "NoConflicts", "no conflicts found"),
        };
        set_condition(crd, condition("NamesAccepted", status, reason, message, now));
        if conflict.is_some() && !has_condition(crd, "Established") {
            let message = "not all names are accepted";
            set_condition(crd, condition("Established", "False", "NotAccepted", message, now));
        }
    }
    if is_true(crd, "NamesAccepted") && !is_true(crd, "Established") {
        let message = "the initial names have been accepted";
        set_condition(
            crd,
            condition("Established", "True", "InitialNamesAccepted", message, now),
        );
    }
    if let Some((status, reason, message)) = definition::approval(crd) {
        let kind = "KubernetesAPIApprovalPolicyConformant";
        set_condition(crd, condition(kind, status, reason, &message, now));
    }
}

/// Whether a definition has names under which it can be served.
pub(crate) fn are_accepted(crd: &Value) -> bool {
    is_true(crd, "NamesAccepted") || is_true(crd, "Established")
}

/// The names that other kinds have: those of resources, and those of kinds.
#[derive(Default)]
struct Taken<'a> {
    resources: Vec<&'a Value>,
    kinds: Vec<&'a Value>,
}

impl<'a> Taken<'a> {
    fn of(others: &[&'a Value]) -> Self {
        let mut taken = Self::default();
        for crd in others {
            let names = &crd["status"]["acceptedNames"];
            taken.resources.extend([&names["plural"], &names["singular"]]);
            taken.resources.extend(list(&names["shortNames"]));
            taken.kinds.extend([&names["kind"], &names["listKind"]]);
        }
        taken
    }
}

/// The last conflict, if there is any, with its reason.
fn take(wanted: &Value, accepted: &mut Value, taken: &Taken<'_>) -> Option<(&'static str, String)> {
    let mut conflict = None;
    let in_use = |name: &Value| format!("{} is already in use", go::quoted(name.as_str().unwrap_or_default()));
    for (field, reason, used) in [
        ("plural", "PluralConflict", &taken.resources),
        ("singular", "SingularConflict", &taken.resources),
        ("shortNames", "ShortNamesConflict", &taken.resources),
        ("kind", "KindConflict", &taken.kinds),
        ("listKind", "ListKindConflict", &taken.kinds),
    ] {
        let names = |value: &'_ Value| value.as_array().cloned().unwrap_or_else(|| vec![value.clone()]);
        let had = names(&accepted[field]);
        let new = names(&wanted[field]).into_iter().filter(|name| !had.contains(name));
        let faults: Vec<_> = new
            .filter(|name| used.contains(&name))
            .map(|name| in_use(&name))
            .collect();
        match faults.len() {
            0 => copy(wanted, accepted, field),
            1 => conflict = Some((reason, faults.concat())),
            _ => conflict = Some((reason, format!("[{}]", faults.join(", ")))),
        }
    }
    copy(wanted, accepted, "categories");
    conflict
}

fn copy(from: &Value, to: &mut Value, field: &str) {
    if let Some(fields) = to.as_object_mut() {
        match from.get(field) {
            Some(value) => fields.insert(field.into(), value.clone()),
            None => fields.remove(field),
        };
    }
}

/// Adds a condition, or changes the one of its type; the time is that of the last change of the status.
fn set_condition(crd: &mut Value, mut new: Value) {
    let conditions = &mut crd["status"]["conditions"];
    if !conditions.is_array() {
        *conditions = json!([]);
    }
    let Some(conditions) = conditions.as_array_mut() else {
        return;
    };
    match conditions.iter_mut().find(|old| old["type"] == new["type"]) {
        Some(old) => {
            if old["status"] == new["status"] {
                new["lastTransitionTime"] = old["lastTransitionTime"].clone();
            }
            *old = new;
        }
        None => conditions.push(new),
    }
}

fn has_condition(crd: &Value, kind: &str) -> bool {
    list(&crd["status"]["conditions"])
        .iter()
        .any(|each| each["type"] == kind)
}

fn is_true(crd: &Value, kind: &str) -> bool {
    let conditions = list(&crd["status"]["conditions"]).iter();
    conditions
        .filter(|each| each["type"] == kind)
        .any(|each| each["status"] == "True")
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: &str = "2020-01-01T00:00:00Z";

    fn crd(kind: &str, plural: &str, short: &[&str]) -> Value {
        let names = json!({
            "kind": kind, "plural": plural, "singular": kind.to_lowercase(), "listKind": format!("{kind}List"),
            "shortNames": short,
        });
        json!({
            "spec": {"group": "example.com", "names": names},
            "status": {"acceptedNames": {"kind": "", "plural": ""}, "conditions": []},
        })
    }

    fn conditions(crd: &Value) -> Vec<String> {
        let conditions = list(&crd["status"]["conditions"]).iter();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        conditions
            .map(|each| {
                format!(
                    "{} {} {}",
                    text(&each["type"]),
                    text(&each["status"]),
                    text(&each["reason"])
                )
            })
            .collect()
    }

    #[test]
    fn free_names_are_accepted() {
        let mut a = crd("A", "as", &["x"]);
        accept(&mut a, &[], NOW);
        assert_eq!(a["status"]["acceptedNames"], a["spec"]["names"]);
        assert_eq!(
            conditions(&a),
            [
                "NamesAccepted True NoConflicts",
                "Established True InitialNamesAccepted"
            ]
        );
    }

    #[test]
    fn names_of_others_are_not_taken() {
        let mut a = crd("A", "as", &["x"]);
        accept(&mut a, &[], NOW);
        let mut b = crd("A", "bs", &["x", "y"]);
        b["spec"]["names"]["singular"] = json!("b");
        accept(&mut b, &[&a], NOW);
        assert_eq!(
            conditions(&b),
            ["NamesAccepted False ListKindConflict", "Established False NotAccepted"]
        );
        assert!(!are_accepted(&b));
        let accepted = &b["status"]["acceptedNames"];
        assert_eq!(*accepted, json!({"kind": "", "plural": "bs", "singular": "b"}));

        accept(&mut b, &[], NOW);
        assert_eq!(
            conditions(&b),
            [
                "NamesAccepted True NoConflicts",
                "Established True InitialNamesAccepted"
            ]
        );
    }

    #[test]
    fn a_kind_stays_served_when_its_new_names_are_taken() {
        let mut a = crd("A", "as", &["x"]);
        accept(&mut a, &[], NOW);
        let mut b = crd("B", "bs", &[]);
        accept(&mut b, &[&a], NOW);
        b["spec"]["names"]["shortNames"] = json!(["x"]);
        accept(&mut b, &[&a], NOW);
        assert_eq!(conditions(&b)[0], "NamesAccepted False ShortNamesConflict");
        assert!(are_accepted(&b));
    }
}
