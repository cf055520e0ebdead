//! A kind, and objects of it as they are after their creation was handled.

use kopf_runtime::{Kind, Reference};
use serde_json::{Value, json};

pub(crate) struct Cart;

impl Kind for Cart {
    type Spec = Value;
    type Status = Value;
    type Memo = ();
    const REFERENCE: Reference = Reference {
        group: "shop.example.com",
        version: "v1",
        kind: "Cart",
        plural: "carts",
        namespaced: true,
    };
}

pub(crate) fn definition() -> Value {
    let open = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "carts.shop.example.com"},
        "spec": {
            "group": "shop.example.com",
            "scope": "Namespaced",
            "names": {"kind": "Cart", "plural": "carts", "singular": "cart", "listKind": "CartList"},
            "versions": [{
                "name": "v1",
                "served": true,
                "storage": true,
                "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": open, "status": open}}},
            }],
        },
    })
}

/// An object of some two kilobytes.
pub(crate) fn cart(number: usize) -> Value {
    let items: Vec<Value> = (0..8)
        .map(|item| json!({"name": format!("item-{number}-{item}"), "count": item, "price": "12.50"}))
        .collect();
    let spec = json!({"owner": format!("customer-{number}"), "items": items});
    let essence = json!({"metadata": {"labels": {"app": "shop"}}, "spec": spec});
    json!({
        "apiVersion": "shop.example.com/v1",
        "kind": "Cart",
        "metadata": {
            "name": format!("cart-{number}"),
            "namespace": "default",
            "labels": {"app": "shop"},
            "annotations": {"kopf.zalando.org/last-handled-configuration": format!("{essence}\n")},
        },
        "spec": spec,
        "status": {"phase": "Filled"},
    })
}
