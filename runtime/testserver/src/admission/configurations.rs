//! What configurations of webhooks must be like.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::admission::conditions;
use crate::admission::hooks::{
    ClientConfig, Configuration, Hook, LabelSelector, MatchCondition, Power, Requirement, Rule, ServiceReference,
};
use crate::admission::urls::Url;
use crate::kinds::{Kind, Naming};
use crate::objects::metadata::{check_label_value, check_name, check_qualified};
use crate::status::{Cause, Status};

/// The reviews that the server can write.
const REVIEWS: [&str; 2] = ["v1", "v1beta1"];

const FORM: &str = "; desired format: https://host[/path]";

/// Refuses a configuration that cannot be read; objects of other kinds are none.
pub(crate) fn check_form(kind: &Kind, object: &mut Value) -> Result<(), Status> {
    if Power::of(kind).is_none() {
        return Ok(());
    }
    let configuration = read(object).map_err(|why| {
        let kind = &kind.kind;
        let why = format!("{kind} in version \"v1\" cannot be handled as a {kind}: {why}");
        let mut status = Status::bad_request(why);
        status.details = Value::Null;
        status
    })?;
    if configuration.webhooks.is_empty()
        && let Some(fields) = object.as_object_mut()
    {
        // An empty list is left out.
        fields.remove("webhooks");
    }
    let mut all = configuration.webhooks.iter().flat_map(|hook| &hook.match_conditions);
    all.try_for_each(conditions::check_served)
}

/// The faults of a configuration; objects of other kinds have none here.
pub(crate) fn faults(kind: &Kind, object: &Value) -> Vec<Cause> {
    let Some(power) = Power::of(kind) else {
        return Vec::new();
    };
    let configuration = read(object).unwrap_or_default();
    let mut causes = Vec::new();
    let mut names = BTreeSet::new();
    for (index, hook) in configuration.webhooks.iter().enumerate() {
        let path = format!("webhooks[{index}]");
        check_hook(&mut causes, &path, hook, power);
        check_reviews(&mut causes, &format!("{path}.admissionReviewVersions"), hook);
        if !hook.name.is_empty() && !names.insert(&hook.name) {
            causes.push(duplicate(format!("{path}.name"), &hook.name));
        }
    }
    causes
}

fn read(object: &Value) -> serde_json::Result<Configuration> {
    use serde::Deserialize as _;
    Configuration::deserialize(object)
}

fn check_hook(causes: &mut Vec<Cause>, path: &str, hook: &Hook, power: Power) {
    let field = |name: &str| format!("{path}.{name}");
    if hook.name.is_empty() {
        causes.push(Cause::required(field("name"), ""));
    } else if let Some(why) = check_name(&hook.name, Naming::Subdomain) {
        causes.push(Cause::invalid(field("name"), &json!(hook.name), &why));
    } else if hook.name.split('.').count() < 3 {
        let why = "should be a domain with at least three segments separated by dots";
        causes.push(Cause::invalid(field("name"), &json!(hook.name), why));
    }
    for (index, rule) in hook.rules.iter().enumerate() {
        check_rule(causes, &format!("{path}.rules[{index}]"), rule);
    }
    check_choice(
        causes,
        field("failurePolicy"),
        hook.failure_policy.as_deref(),
        &["Fail", "Ignore"],
    );
    check_choice(
        causes,
        field("matchPolicy"),
        hook.match_policy.as_deref(),
        &["Equivalent", "Exact"],
    );
    let effects = ["None", "NoneOnDryRun"];
    if hook.side_effects.is_none() {
        let detail = format!("must specify one of {}", effects.join(", "));
        causes.push(Cause::required(field("sideEffects"), &detail));
    }
    check_choice(causes, field("sideEffects"), hook.side_effects.as_deref(), &effects);
    if let Some(seconds) = hook.timeout_seconds.filter(|seconds| !(1..=30).contains(seconds)) {
        let why = "the timeout value must be between 1 and 30 seconds";
        causes.push(Cause::invalid(field("timeoutSeconds"), &json!(seconds), why));
    }
    for (name, selector) in [
        ("namespaceSelector", &hook.namespace_selector),
        ("objectSelector", &hook.object_selector),
    ] {
        if let Some(selector) = selector {
            check_selector(causes, &field(name), selector);
        }
    }
    check_client(causes, &field("clientConfig"), &hook.client_config);
    check_conditions(causes, &field("matchConditions"), &hook.match_conditions);
    if power == Power::Mutating {
        let policy = hook.reinvocation_policy.as_deref();
        check_choice(causes, field("reinvocationPolicy"), policy, &["IfNeeded", "Never"]);
    }
}

fn check_choice(causes: &mut Vec<Cause>, path: String, value: Option<&str>, choices: &[&str]) {
    if let Some(value) = value.filter(|value| !choices.contains(value)) {
        let choices: Vec<_> = choices.iter().map(|&choice| json!(choice)).collect();
        causes.push(Cause::unsupported(path, &json!(value), &choices));
    }
}

fn check_reviews(causes: &mut Vec<Cause>, path: &str, hook: &Hook) {
    let versions = &hook.admission_review_versions;
    if versions.is_empty() {
        let detail = format!("must specify one of {}", REVIEWS.join(", "));
        causes.push(Cause::required(path, &detail));
        return;
    }
    for (index, version) in versions.iter().enumerate() {
        let path = format!("{path}[{index}]");
        if versions[..index].contains(version) {
            causes.push(Cause::invalid(path, &json!(version), "duplicate version"));
            continue;
        }
        let faults = check_name(version, Naming::ServiceLabel);
        causes.extend(faults.map(|why| Cause::invalid(path.clone(), &json!(version), &why)));
    }
    if !versions.iter().any(|version| REVIEWS.contains(&version.as_str())) {
        let why = format!("must include at least one of {}", REVIEWS.join(", "));
        causes.push(invalid_list(path.to_owned(), "string", versions, &why));
    }
}

fn check_rule(causes: &mut Vec<Cause>, path: &str, rule: &Rule) {
    let lists = [
        (
            "operations",
            "admissionregistration.OperationType",
            &rule.operations,
            "operations",
        ),
        ("apiGroups", "string", &rule.api_groups, "API groups"),
        ("apiVersions", "string", &rule.api_versions, "API versions"),
    ];
    for (name, element, items, others) in lists {
        let path = format!("{path}.{name}");
        if items.is_empty() {
            causes.push(Cause::required(path.clone(), ""));
        }
        if items.len() > 1 && items.iter().any(|item| item == "*") {
            let why = format!("if '*' is present, must not specify other {others}");
            causes.push(invalid_list(path.clone(), element, items, &why));
        }
        for (index, item) in items.iter().enumerate() {
            let path = format!("{path}[{index}]");
            if name == "operations" {
                let choices = ["*", "CONNECT", "CREATE", "DELETE", "UPDATE"];
                check_choice(causes, path, Some(item), &choices);
            } else if name == "apiVersions" && item.is_empty() {
                causes.push(Cause::required(path, ""));
            }
        }
    }
    check_resources(causes, &format!("{path}.resources"), &rule.resources);
    check_choice(
        causes,
        format!("{path}.scope"),
        rule.scope.as_deref(),
        &["*", "Cluster", "Namespaced"],
    );
}

fn check_resources(causes: &mut Vec<Cause>, path: &str, resources: &[String]) {
    if resources.is_empty() {
        causes.push(Cause::required(path, ""));
    }
    let has = |wanted: &str| resources.iter().any(|each| each == wanted);
    let (mut with_all_subresources, mut of_all_resources) = (BTreeSet::new(), BTreeSet::new());
    for (index, each) in resources.iter().enumerate() {
        let path = format!("{path}[{index}]");
        if each.is_empty() {
            causes.push(Cause::required(path, ""));
            continue;
        }
        let Some((resource, subresource)) = each.split_once('/') else {
            continue;
        };
        let mut covered = |by: String| {
            let why = format!("if '{by}' is present, must not specify {each}");
            causes.push(Cause::invalid(path.clone(), &json!(each), &why));
        };
        if with_all_subresources.contains(resource) {
            covered(format!("{resource}/*"));
        }
        if of_all_resources.contains(subresource) {
            covered(format!("*/{subresource}"));
        }
        if subresource == "*" {
            with_all_subresources.insert(resource);
        }
        if resource == "*" {
            of_all_resources.insert(subresource);
        }
    }
    if resources.len() > 1 && has("*/*") {
        let why = "if '*/*' is present, must not specify other resources";
        causes.push(invalid_list(path.to_owned(), "string", resources, why));
    }
    // The last resource without a subresource decides, as in the real server.
    let last = resources.iter().rfind(|each| !each.is_empty() && !each.contains('/'));
    if has("*") && last.is_some_and(|last| last != "*") {
        let why = "if '*' is present, must not specify other resources without subresources";
        causes.push(invalid_list(path.to_owned(), "string", resources, why));
    }
}

fn check_client(causes: &mut Vec<Cause>, path: &str, client: &ClientConfig) {
    match (&client.url, &client.service) {
        (Some(url), None) => check_url(causes, &format!("{path}.url"), url),
        (None, Some(service)) => check_service(causes, &format!("{path}.service"), service),
        _ => causes.push(Cause::required(path, "exactly one of url or service is required")),
    }
}

fn check_url(causes: &mut Vec<Cause>, path: &str, text: &str) {
    let url = match Url::parse(text) {
        Ok(url) => url,
        Err(why) => {
            causes.push(Cause::required(path, &format!("url must be a valid URL: {why}{FORM}")));
            return;
        }
    };
    let mut fault = |value: &str, why: &str| causes.push(Cause::invalid(path, &json!(value), why));
    if url.scheme != "https" {
        fault(url.scheme, &format!("'https' is the only allowed URL scheme{FORM}"));
    }
    if url.host.is_empty() {
        fault(url.host, &format!("host must be provided{FORM}"));
    }
    if !url.user.is_empty() {
        fault(url.user, "user information is not permitted in the URL");
    }
    if !url.fragment.is_empty() {
        fault(url.fragment, "fragments are not permitted in the URL");
    }
    if !url.query.is_empty() {
        fault(url.query, "query parameters are not permitted in the URL");
    }
}

fn check_service(causes: &mut Vec<Cause>, path: &str, service: &ServiceReference) {
    for (name, value) in [("name", &service.name), ("namespace", &service.namespace)] {
        if value.is_empty() {
            causes.push(Cause::required(
                format!("{path}.{name}"),
                &format!("service {name} is required"),
            ));
        }
    }
    if !(1..=65535).contains(&service.port()) {
        let why = "port is not valid: must be between 1 and 65535, inclusive";
        causes.push(Cause::invalid(format!("{path}.port"), &json!(service.port()), why));
    }
    let Some(text) = service.path.as_deref().filter(|text| !matches!(*text, "" | "/")) else {
        return;
    };
    let mut fault = |why: &str| causes.push(Cause::invalid(format!("{path}.path"), &json!(text), why));
    if text == "//" {
        return fault("segment[0] may not be empty");
    }
    if !text.starts_with('/') {
        fault("must start with a '/'");
    }
    // The first character is taken for the slash, whatever it is.
    let mut characters = text.chars();
    characters.next();
    let rest = characters.as_str();
    for (index, segment) in rest.strip_suffix('/').unwrap_or(rest).split('/').enumerate() {
        if segment.is_empty() {
            fault(&format!("segment[{index}] may not be empty"));
        }
        if let Some(why) = check_name(segment, Naming::Subdomain).filter(|_| !segment.is_empty()) {
            fault(&format!("segment[{index}]: {why}"));
        }
    }
}

fn check_selector(causes: &mut Vec<Cause>, path: &str, selector: &LabelSelector) {
    for (key, value) in &selector.match_labels {
        let path = format!("{path}.matchLabels");
        causes.extend(check_qualified(key).map(|why| Cause::invalid(path.clone(), &json!(key), &why)));
        causes.extend(check_label_value(value).map(|why| Cause::invalid(path.clone(), &json!(value), &why)));
    }
    for (index, requirement) in selector.match_expressions.iter().enumerate() {
        check_requirement(causes, &format!("{path}.matchExpressions[{index}]"), requirement);
    }
}

fn check_requirement(causes: &mut Vec<Cause>, path: &str, requirement: &Requirement) {
    let (key, operator, values) = (&requirement.key, &requirement.operator, &requirement.values);
    match operator.as_str() {
        "In" | "NotIn" if values.is_empty() => {
            let detail = "must be specified when `operator` is 'In' or 'NotIn'";
            causes.push(Cause::required(format!("{path}.values"), detail));
        }
        "Exists" | "DoesNotExist" if !values.is_empty() => {
            let detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
            causes.push(Cause::forbidden(format!("{path}.values"), detail));
        }
        "In" | "NotIn" | "Exists" | "DoesNotExist" => {}
        other => {
            let why = "not a valid selector operator";
            causes.push(Cause::invalid(format!("{path}.operator"), &json!(other), why));
        }
    }
    causes.extend(check_qualified(key).map(|why| Cause::invalid(format!("{path}.key"), &json!(key), &why)));
    for (index, value) in values.iter().enumerate() {
        let path = format!("{path}.values[{index}]");
        causes.extend(check_label_value(value).map(|why| Cause::invalid(path.clone(), &json!(value), &why)));
    }
}

fn check_conditions(causes: &mut Vec<Cause>, path: &str, all: &[MatchCondition]) {
    if all.len() > 64 {
        causes.push(Cause::too_many(path, all.len() as u64, 64));
    }
    for (index, condition) in all.iter().enumerate() {
        let path = format!("{path}[{index}]");
        causes.extend(conditions::check(&format!("{path}.expression"), condition));
        let (path, name) = (format!("{path}.name"), &condition.name);
        if name.is_empty() {
            causes.push(Cause::required(path, ""));
            continue;
        }
        causes.extend(check_qualified(name).map(|why| Cause::invalid(path.clone(), &json!(name), &why)));
        if all[..index].iter().any(|other| other.name == *name) {
            causes.push(duplicate(path, name));
        }
    }
}

fn duplicate(path: String, value: &str) -> Cause {
    Cause {
        field: path,
        reason: "FieldValueDuplicate",
        message: format!("Duplicate value: {value:?}"),
    }
}

/// A list that is refused as a whole, printed with its type.
fn invalid_list(path: String, element: &str, items: &[String], why: &str) -> Cause {
    let items: Vec<_> = items.iter().map(|item| format!("{item:?}")).collect();
    Cause {
        field: path,
        reason: "FieldValueInvalid",
        message: format!("Invalid value: []{element}{{{}}}: {why}", items.join(", ")),
    }
}
