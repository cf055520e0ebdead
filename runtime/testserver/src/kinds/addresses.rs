//! What a cluster hands out to services: addresses, and ports of its nodes.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;

use serde_json::{Value, json};

use crate::cluster::{Cluster, Place};
use crate::kinds::paths::{at, each, each_mut};
use crate::status::Cause;

/// 10.96.0.0/12, as clusters have it by default, less its first addresses, which are the cluster's own.
const FIRST_ADDRESS: u32 = 0x0a60_0100;
const ADDRESSES: u32 = (1 << 20) - 0x101;

const FIRST_PORT: u64 = 30_000;
const PORTS: u64 = 2_768;

/// Gives a service what its type needs and it does not have.
pub(crate) fn allocate(
    cluster: &Cluster,
    place: &Place,
    current: Option<&Value>,
    service: &mut Value,
    causes: &mut Vec<Cause>,
) {
    if !place.kind.group.is_empty() || place.kind.plural != "services" || !service["spec"].is_object() {
        return;
    }
    let identity = |object: &Value| {
        (
            at(object, "metadata.namespace").clone(),
            at(object, "metadata.name").clone(),
        )
    };
    let own = identity(service);
    let others = || {
        let all = cluster.store.list(&place.kind.key(), None);
        all.filter(|other| identity(other) != own)
    };
    let seed = seed(at(service, "metadata.uid").as_str().unwrap_or_default());
    if let Some(current) = current {
        keep(&current["spec"], &mut service["spec"]);
    }
    let spec = &mut service["spec"];
    if spec["type"] == "ExternalName" {
        return;
    }
    if text(spec, "clusterIP").is_empty() {
        let given = spec["clusterIPs"][0].as_str().filter(|address| !address.is_empty());
        let new = || {
            let used = others().map(|other| text(&other["spec"], "clusterIP").to_owned());
            free_address(seed, &used.collect())
        };
        let address = given.map_or_else(new, str::to_owned);
        spec["clusterIP"] = json!(address);
    } else if current.is_none() {
        check_address(text(spec, "clusterIP"), others(), causes);
    }
    let address = spec["clusterIP"].clone();
    let headless = address == "None";
    let fields = spec.as_object_mut().expect("the spec was seen to be an object");
    fields.entry("clusterIPs").or_insert_with(|| json!([address]));
    let selects = fields.get("selector").is_some();
    // A headless service that selects nothing may get addresses of any family.
    let (families, policy) = if headless && !selects {
        (json!(["IPv4", "IPv6"]), "RequireDualStack")
    } else {
        (json!(["IPv4"]), "SingleStack")
    };
    fields.entry("ipFamilies").or_insert(families);
    fields.entry("ipFamilyPolicy").or_insert(json!(policy));
    if matches!(spec["type"].as_str(), Some("NodePort" | "LoadBalancer"))
        && spec["allocateLoadBalancerNodePorts"] != false
    {
        allocate_ports(seed, others(), service, causes);
    }
}

/// An update that does not say anything about what was handed out keeps it.
fn keep(old: &Value, new: &mut Value) {
    if new["type"] == "ExternalName" {
        // What it had goes back to where it came from.
        if let Some(fields) = new
            .as_object_mut()
            .filter(|fields| fields.get("clusterIP") == old.get("clusterIP"))
        {
            for field in [
                "clusterIP",
                "clusterIPs",
                "ipFamilies",
                "ipFamilyPolicy",
                "internalTrafficPolicy",
            ] {
                fields.remove(field);
            }
        }
        return;
    }
    let unset = new.get("clusterIP").is_none() && new.get("clusterIPs").is_none();
    if unset && let Some(fields) = new.as_object_mut() {
        for field in ["clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"] {
            if let Some(value) = old.get(field) {
                fields.entry(field).or_insert_with(|| value.clone());
            }
        }
    }
    each_mut(new, "ports[]", &mut |port| {
        let same = old["ports"]
            .as_array()
            .into_iter()
            .flatten()
            .find(|other| other["port"] == port["port"] && other["protocol"] == port["protocol"]);
        let number = same.and_then(|other| other.get("nodePort"));
        if let (Some(number), Some(fields)) = (number, port.as_object_mut()) {
            fields.entry("nodePort").or_insert_with(|| number.clone());
        }
    });
    if new["type"] == "ClusterIP" {
        each_mut(new, "ports[]", &mut |port| {
            if let Some(fields) = port.as_object_mut() {
                fields.remove("nodePort");
            }
        });
    }
}

fn check_address<'a>(
    address: &str,
    mut others: impl Iterator<Item = &'a std::sync::Arc<Value>>,
    causes: &mut Vec<Cause>,
) {
    if address == "None" {
        return;
    }
    let invalid = |detail: String| Cause {
        field: "spec.clusterIPs".into(),
        reason: "FieldValueInvalid",
        message: format!("Invalid value: []string{{{address:?}}}: {detail}"),
    };
    if address.parse::<std::net::IpAddr>().is_err() {
        let detail = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";
        causes.push(Cause::invalid("spec.clusterIPs[0]", &json!(address), detail));
    } else if others.any(|other| text(&other["spec"], "clusterIP") == address) {
        causes.push(invalid(format!(
            "failed to allocate IP {address}: provided IP is already allocated"
        )));
    } else if let Ok(parsed) = address.parse::<Ipv4Addr>()
        && !(0x0a60_0000..0x0a70_0000).contains(&u32::from(parsed))
    {
        causes.push(invalid(format!(
            "failed to allocate IP {address}: the provided IP ({address}) is not in the valid range. The range of \
             valid IPs is 10.96.0.0/12"
        )));
    }
}

fn allocate_ports<'a>(
    seed: u64,
    others: impl Iterator<Item = &'a std::sync::Arc<Value>>,
    service: &mut Value,
    causes: &mut Vec<Cause>,
) {
    let mut used = BTreeSet::new();
    for other in others {
        each(other, "spec.ports[].nodePort", &mut |_, port| {
            used.extend(port.as_u64());
        });
    }
    each(service, "spec.ports[].nodePort", &mut |path, port| {
        let number = port.as_u64().unwrap_or_default();
        if number != 0 && !(FIRST_PORT..FIRST_PORT + PORTS).contains(&number) {
            let detail = "provided port is not in the valid range. The range of valid ports is 30000-32767";
            causes.push(Cause::invalid(path, port, detail));
        } else if used.contains(&number) {
            causes.push(Cause::invalid(path, port, "provided port is already allocated"));
        }
    });
    let mut own: BTreeSet<u64> = BTreeSet::new();
    each(service, "spec.ports[].nodePort", &mut |_, port| {
        own.extend(port.as_u64());
    });
    used.extend(own);
    each_mut(service, "spec.ports[]", &mut |port| {
        let given = port["nodePort"].as_u64().unwrap_or_default();
        if given == 0
            && let Some(fields) = port.as_object_mut()
        {
            let mut candidates = (0..PORTS).map(|step| FIRST_PORT + (seed + step) % PORTS);
            if let Some(free) = candidates.find(|port| !used.contains(port)) {
                used.insert(free);
                fields.insert("nodePort".into(), json!(free));
            }
        }
    });
}

fn free_address(seed: u64, used: &BTreeSet<String>) -> String {
    let start = u32::try_from(seed % u64::from(ADDRESSES)).unwrap_or_default();
    let mut candidates =
        (0..ADDRESSES).map(|step| Ipv4Addr::from(FIRST_ADDRESS + (start + step) % ADDRESSES).to_string());
    candidates.find(|address| !used.contains(address)).unwrap_or_default()
}

/// A number that follows from the identity, so that what is handed out looks random but is the same in each run.
fn seed(uid: &str) -> u64 {
    uid.bytes()
        .fold(17, |seed: u64, byte| seed.wrapping_mul(31).wrapping_add(byte.into()))
}

fn text<'a>(spec: &'a Value, field: &str) -> &'a str {
    spec[field].as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_lie_in_the_range_and_are_not_handed_out_twice() {
        let first = free_address(7, &BTreeSet::new());
        let second = free_address(7, &BTreeSet::from([first.clone()]));
        assert_eq!((first.as_str(), second.as_str()), ("10.96.1.7", "10.96.1.8"));
        let last = free_address(u64::from(ADDRESSES) - 1, &BTreeSet::new());
        assert_eq!(last, "10.111.255.254");
    }

    #[test]
    fn an_update_keeps_what_it_does_not_name() {
        let old = json!({"clusterIP": "10.96.1.1", "clusterIPs": ["10.96.1.1"], "ports": [
            {"port": 1, "protocol": "TCP", "nodePort": 30001},
        ]});
        let mut new =
            json!({"type": "NodePort", "ports": [{"port": 1, "protocol": "TCP"}, {"port": 2, "protocol": "TCP"}]});
        keep(&old, &mut new);
        assert_eq!(new["clusterIP"], "10.96.1.1");
        assert_eq!(new["ports"][0]["nodePort"], 30001);
        assert_eq!(new["ports"][1].get("nodePort"), None);
    }
}
