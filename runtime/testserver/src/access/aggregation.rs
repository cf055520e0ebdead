//! Cluster roles that are put together from others by labels.

use serde_json::{Value, json};

use crate::access::policy::key;
use crate::cluster::Cluster;
use crate::objects::writing::name_of;

/// Brings all aggregated roles up to date.
pub(crate) fn follow(cluster: &mut Cluster) {
    let key = key("clusterroles");
    let stored: Vec<_> = cluster.store.list(&key, None).cloned().collect();
    if stored.iter().all(|role| selectors(role).is_none()) {
        return;
    }
    let mut roles: Vec<Value> = stored.iter().map(|role| Value::clone(role)).collect();
    aggregate(&mut roles.iter_mut().collect::<Vec<_>>());
    for (role, before) in roles.into_iter().zip(stored) {
        if role != *before {
            cluster.store.put(&key, role);
        }
    }
}

/// Fills in the rules of the aggregated ones among all roles.
pub(crate) fn aggregate(roles: &mut [&mut Value]) {
    roles.sort_by_cached_key(|role| name_of(role));
    // A role may be part of another one that is part of a third; circles end here too.
    for _ in 0..roles.len() {
        let mut settled = true;
        for index in 0..roles.len() {
            let Some(rules) = gathered(roles, index) else {
                continue;
            };
            let before = roles[index]["rules"].as_array().map_or(&[][..], Vec::as_slice);
            if before != rules {
                roles[index]["rules"] = json!(rules);
                settled = false;
            }
        }
        if settled {
            break;
        }
    }
}

/// The rules of the roles that one selects; nothing if it does not select any way.
fn gathered(roles: &[&mut Value], index: usize) -> Option<Vec<Value>> {
    let selectors = selectors(roles[index])?;
    let mut rules: Vec<Value> = Vec::new();
    for (_, role) in roles.iter().enumerate().filter(|(other, _)| *other != index) {
        let labels = &role["metadata"]["labels"];
        if !selectors.iter().any(|selector| matches(selector, labels)) {
            continue;
        }
        for rule in role["rules"].as_array().into_iter().flatten() {
            if !rules.contains(rule) {
                rules.push(rule.clone());
            }
        }
    }
    Some(rules)
}

fn selectors(role: &Value) -> Option<&Vec<Value>> {
    role["aggregationRule"]["clusterRoleSelectors"].as_array()
}

fn matches(selector: &Value, labels: &Value) -> bool {
    let mut equal = selector["matchLabels"].as_object().into_iter().flatten();
    let mut rules = selector["matchExpressions"].as_array().into_iter().flatten();
    equal.all(|(key, value)| labels.get(key) == Some(value))
        && rules.all(|rule| {
            let found = rule["key"].as_str().and_then(|key| labels.get(key));
            let listed =
                || found.is_some_and(|value| rule["values"].as_array().is_some_and(|list| list.contains(value)));
            match rule["operator"].as_str() {
                Some("In") => listed(),
                Some("NotIn") => !listed(),
                Some("Exists") => found.is_some(),
                Some("DoesNotExist") => found.is_none(),
                _ => false,
            }
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn role(name: &str, label: &str, rules: &[&str]) -> Value {
        json!({"metadata": {"name": name, "labels": {"part-of": label}}, "rules": rules})
    }

    fn whole(name: &str, label: &str, of: &str) -> Value {
        let mut role = role(name, label, &["stale"]);
        role["aggregationRule"] = json!({"clusterRoleSelectors": [{"matchLabels": {"part-of": of}}]});
        role
    }

    #[test]
    fn rules_are_gathered_over_several_steps_each_once() {
        let mut roles = [
            whole("a", "", "x"),
            whole("b", "x", "y"),
            role("c", "y", &["1", "2"]),
            role("d", "x", &["2", "3"]),
        ];
        aggregate(&mut roles.iter_mut().collect::<Vec<_>>());
        assert_eq!(roles[0]["rules"], json!(["1", "2", "3"]));
        assert_eq!(roles[1]["rules"], json!(["1", "2"]));
    }

    #[test]
    fn circles_end() {
        let mut roles = [whole("a", "z", "x"), whole("b", "x", "y"), whole("c", "y", "z")];
        roles[0]["rules"] = json!(["1"]);
        aggregate(&mut roles.iter_mut().collect::<Vec<_>>());
    }

    #[test]
    fn expressions_select_too() {
        let labels = json!({"a": "1"});
        let by = |operator: &str, values: &[&str]| {
            let rule = json!({"key": "a", "operator": operator, "values": values});
            matches(&json!({"matchExpressions": [rule]}), &labels)
        };
        assert!(by("In", &["1", "2"]) && !by("In", &["2"]));
        assert!(by("NotIn", &["2"]) && !by("NotIn", &["1"]));
        assert!(by("Exists", &[]) && !by("DoesNotExist", &[]));
    }
}
