//! Names of kinds, modules and types.

use super::{HEAD, resolve};

#[test]
fn a_second_kind_of_the_name_leaves_the_first_as_it_was() {
    let first = "  - {apiVersion: a.example.com/v1, kind: HTTPRoute, spec: {x: string}}\n";
    let second = "  - {apiVersion: b.example.com/v1, kind: HTTPRoute, module: b_route, spec: {x: string}}\n";
    let names = |kinds: &[&str]| -> Vec<(String, String)> {
        let (operator, _) = resolve(&format!("{HEAD}{}", kinds.concat()));
        operator
            .resources
            .into_iter()
            .map(|resource| (resource.module, resource.type_name))
            .collect()
    };
    let pair = |module: &str, name: &str| (module.to_string(), name.to_string());
    let (old, new) = (pair("http_route", "HTTPRoute"), pair("b_route", "BRoute"));
    assert_eq!(names(&[first]), std::slice::from_ref(&old));
    assert_eq!(names(&[first, second]), [old.clone(), new.clone()]);
    assert_eq!(names(&[second, first]), [new, old]);
}
