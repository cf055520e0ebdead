//! Whether a definition can be served: everything beside its schemas, and where these lie.

use serde_json::{Value, json};

use crate::go;
use crate::kinds::crds::{keywords, labels, list, subresources};
use crate::objects::metadata::is_subdomain;
use crate::schema::pattern;
use crate::status::Cause;

const APPROVAL: &str = "api-approved.kubernetes.io";
const REFERENCE: &str = "see https://github.com/kubernetes/enhancements/pull/1111";

/// The faults of a complete definition that is new, or replaces another one.
pub(crate) fn faults(crd: &Value, old: Option<&Value>) -> Vec<Cause> {
    let spec = &crd["spec"];
    let mut causes = Vec::new();
    let wanted = format!("{}.{}", text(&spec["names"]["plural"]), text(&spec["group"]));
    if old.is_none() && crd["metadata"]["name"] != *wanted {
        let detail = "must be spec.names.plural+\".\"+spec.group";
        causes.push(Cause::invalid("metadata.name", &crd["metadata"]["name"], detail));
    }
    check_spec(spec, &mut causes);
    if let Some(old) = old {
        check_fixed(crd, old, &mut causes);
    }
    check_stored_versions(crd, &mut causes);
    check_approval(crd, old, &mut causes);
    if spec["preserveUnknownFields"] == true {
        let detail = "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema \
                      instead";
        causes.push(Cause::invalid("spec.preserveUnknownFields", &json!(true), detail));
    }
    causes
}

fn check_spec(spec: &Value, causes: &mut Vec<Cause>) {
    let group = text(&spec["group"]);
    if group.is_empty() {
        causes.push(Cause::required("spec.group", ""));
    } else if !is_subdomain(group) {
        causes.push(Cause::invalid(
            "spec.group",
            &json!(group),
            crate::objects::metadata::SUBDOMAIN,
        ));
    } else if !group.contains('.') {
        let detail = "should be a domain with at least one dot";
        causes.push(Cause::invalid("spec.group", &json!(group), detail));
    }
    one_of("spec.scope", &spec["scope"], &["Cluster", "Namespaced"], causes);
    let versions = list(&spec["versions"]);
    let missing = versions
        .iter()
        .enumerate()
        .filter(|(_, version)| schema_of(version).is_none());
    for (index, _) in missing {
        let path = format!("spec.versions[{index}].schema.openAPIV3Schema");
        causes.push(Cause::required(path, "schemas are required"));
    }
    check_versions(versions, causes);
    // The first one stands for all, in an older form of definitions.
    let first = versions
        .first()
        .map(|version| text(&version["name"]))
        .unwrap_or_default();
    let fault = labels::fault(first).filter(|_| !first.is_empty());
    causes.extend(fault.map(|why| Cause::invalid("spec.version", &json!(first), &why)));
    for name in ["plural", "singular", "kind", "listKind"] {
        if text(&spec["names"][name]).is_empty() {
            causes.push(Cause::required(format!("spec.names.{name}"), ""));
        }
    }
    check_names(&spec["names"], "spec.names", causes);
    // What is the same in all versions counts as said once, of the whole.
    if let Some(version) = versions.first() {
        let status = versions.iter().any(subresources::has_status);
        for part in PARTS.into_iter().filter(|part| part.is_common(versions)) {
            part.check(version, status, "spec", causes);
        }
    }
    check_conversion(&spec["conversion"], causes);
}

/// What versions may have in common.
#[derive(Clone, Copy)]
enum Part {
    Schema,
    Subresources,
    Columns,
    SelectableFields,
}

const PARTS: [Part; 4] = [Part::Schema, Part::Subresources, Part::Columns, Part::SelectableFields];

impl Part {
    fn field(self) -> &'static str {
        match self {
            Self::Schema => "schema",
            Self::Subresources => "subresources",
            Self::Columns => "additionalPrinterColumns",
            Self::SelectableFields => "selectableFields",
        }
    }

    fn is_common(self, versions: &[Value]) -> bool {
        let mut values = versions.iter().map(|version| version.get(self.field()));
        let first = values.next();
        values.all(|value| Some(value) == first)
    }

    fn check(self, version: &Value, status: bool, path: &str, causes: &mut Vec<Cause>) {
        let field = self.field();
        match self {
            Self::Schema => {
                let name = if path == "spec" { "validation" } else { field };
                if let Some(schema) = schema_of(version) {
                    keywords::check_root(schema, &format!("{path}.{name}"), status, causes);
                }
            }
            Self::Subresources => subresources::check(&version[field], &format!("{path}.{field}"), causes),
            Self::Columns => {
                for (index, column) in list(&version[field]).iter().enumerate() {
                    subresources::check_column(column, &format!("{path}.{field}[{index}]"), causes);
                }
            }
            Self::SelectableFields => {
                let schema = schema_of(version).unwrap_or(&Value::Null);
                subresources::check_selectable(list(&version[field]), schema, &format!("{path}.{field}"), causes);
            }
        }
    }
}

fn check_versions(versions: &[Value], causes: &mut Vec<Cause>) {
    for (index, version) in versions.iter().enumerate() {
        let path = format!("spec.versions[{index}]");
        let fault = labels::fault(text(&version["name"]));
        causes.extend(fault.map(|why| Cause::invalid(format!("{path}.name"), &json!(text(&version["name"])), &why)));
        check_deprecation(version, &path, causes);
        for part in PARTS.into_iter().filter(|part| !part.is_common(versions)) {
            part.check(version, subresources::has_status(version), &path, causes);
        }
    }
    let all = json!(versions);
    let mut names: Vec<_> = versions.iter().map(|version| text(&version["name"])).collect();
    names.sort_unstable();
    if names.windows(2).any(|pair| pair[0] == pair[1]) {
        causes.push(Cause::invalid(
            "spec.versions",
            &all,
            "must contain unique version names",
        ));
    }
    if versions.iter().filter(|version| version["storage"] == true).count() != 1 {
        let detail = "must have exactly one version marked as storage version";
        causes.push(Cause::invalid("spec.versions", &all, detail));
    }
}

fn check_deprecation(version: &Value, path: &str, causes: &mut Vec<Cause>) {
    let Some(warning) = version.get("deprecationWarning").filter(|warning| !warning.is_null()) else {
        return;
    };
    let mut fail = |why: &str| causes.push(Cause::invalid(format!("{path}.deprecationWarning"), warning, why));
    let warning = text(warning);
    if version["deprecated"] != true {
        return fail("can only be set for deprecated versions");
    }
    if warning.len() > 256 {
        fail("must be <= 256 characters long");
    }
    if warning.is_empty() {
        fail("must not be an empty string");
    }
    if let Some((index, _)) = warning.char_indices().find(|(_, character)| character.is_control()) {
        fail(&format!(
            "must only contain printable UTF-8 characters; non-printable character found at index {index}"
        ));
    }
}

fn check_names(names: &Value, path: &str, causes: &mut Vec<Cause>) {
    for name in ["plural", "singular"] {
        let value = text(&names[name]);
        let fault = labels::fault(value).filter(|_| !value.is_empty());
        causes.extend(fault.map(|why| Cause::invalid(format!("{path}.{name}"), &json!(value), &why)));
    }
    for name in ["kind", "listKind"] {
        let value = text(&names[name]);
        let fault = labels::fault(&value.to_lowercase()).filter(|_| !value.is_empty());
        causes.extend(fault.map(|why| {
            let why = format!("may have mixed case, but should otherwise match: {why}");
            Cause::invalid(format!("{path}.{name}"), &json!(value), &why)
        }));
    }
    check_labels(&names["shortNames"], &format!("{path}.shortNames"), causes);
    let kind = text(&names["kind"]);
    if !kind.is_empty() && names["kind"] == names["listKind"] {
        let detail = "kind and listKind may not be the same";
        causes.push(Cause::invalid(format!("{path}.listKind"), &json!(kind), detail));
    }
    check_labels(&names["categories"], &format!("{path}.categories"), causes);
}

fn check_labels(names: &Value, path: &str, causes: &mut Vec<Cause>) {
    for (index, name) in list(names).iter().enumerate() {
        let fault = labels::fault(text(name));
        causes.extend(fault.map(|why| Cause::invalid(format!("{path}[{index}]"), name, &why)));
    }
}

fn check_conversion(conversion: &Value, causes: &mut Vec<Cause>) {
    one_of(
        "spec.conversion.strategy",
        &conversion["strategy"],
        &["None", "Webhook"],
        causes,
    );
    let webhook = &conversion["webhook"];
    let (client, versions) = (&webhook["clientConfig"], list(&webhook["conversionReviewVersions"]));
    let client_path = "spec.conversion.webhookClientConfig";
    let versions_path = "spec.conversion.conversionReviewVersions";
    if conversion["strategy"] != "Webhook" {
        let detail = "should not be set when strategy is not set to Webhook";
        if client.is_object() {
            causes.push(Cause::forbidden(client_path, detail));
        }
        if !versions.is_empty() {
            causes.push(Cause::forbidden(versions_path, detail));
        }
        return;
    }
    if !client.is_object() {
        causes.push(Cause::required(client_path, "required when strategy is set to Webhook"));
    } else if client["url"].is_string() == client["service"].is_object() {
        causes.push(Cause::required(
            client_path,
            "exactly one of url or service is required",
        ));
    }
    if versions.is_empty() {
        causes.push(Cause::required(versions_path, ""));
    }
    let mut known = false;
    for (index, version) in versions.iter().enumerate() {
        let path = format!("{versions_path}[{index}]");
        if versions[..index].contains(version) {
            causes.push(Cause::invalid(path, version, "duplicate version"));
            continue;
        }
        let fault = labels::fault(text(version));
        causes.extend(fault.map(|why| Cause::invalid(path, version, &why)));
        known |= matches!(text(version), "v1" | "v1beta1");
    }
    if !versions.is_empty() && !known {
        causes.push(Cause {
            field: versions_path.into(),
            reason: "FieldValueInvalid",
            message: format!(
                "Invalid value: {}: must include at least one of v1, v1beta1",
                texts_shown(versions)
            ),
        });
    }
}

/// What stays as it is: the kind's place in the store and in paths.
fn check_fixed(crd: &Value, old: &Value, causes: &mut Vec<Cause>) {
    let conditions = list(&old["status"]["conditions"]);
    let established = conditions
        .iter()
        .any(|each| each["type"] == "Established" && each["status"] == "True");
    let mut fix = |pointer: &str| {
        let (new, old) = (crd.pointer(pointer), old.pointer(pointer));
        if new != old {
            let path = pointer[1..].replace('/', ".");
            causes.push(Cause::invalid(path, new.unwrap_or(&json!("")), "field is immutable"));
        }
    };
    if established {
        fix("/spec/scope");
        fix("/spec/names/kind");
    }
    fix("/spec/group");
    fix("/spec/names/plural");
}

fn check_stored_versions(crd: &Value, causes: &mut Vec<Cause>) {
    let stored = list(&crd["status"]["storedVersions"]);
    let path = "status.storedVersions";
    if stored.is_empty() {
        causes.push(Cause {
            field: path.into(),
            reason: "FieldValueInvalid",
            message: "Invalid value: []string(nil): must have at least one stored version".into(),
        });
    }
    let unknown = list(&crd["spec"]["versions"])
        .iter()
        .filter(|version| version["storage"] == true && !stored.is_empty() && !stored.contains(&version["name"]));
    causes.extend(unknown.map(|version| Cause {
        field: path.into(),
        reason: "FieldValueInvalid",
        message: format!(
            "Invalid value: {}: must have the storage version {}",
            texts_shown(stored),
            text(&version["name"])
        ),
    }));
    for (index, version) in stored.iter().enumerate() {
        if !list(&crd["spec"]["versions"])
            .iter()
            .any(|known| known["name"] == *version)
        {
            let detail = "must appear in spec.versions";
            causes.push(Cause::invalid(format!("{path}[{index}]"), version, detail));
        }
    }
}

/// Groups of the community need somebody's approval, or a word about why there is none.
fn check_approval(crd: &Value, old: Option<&Value>, causes: &mut Vec<Cause>) {
    let annotation = |crd: &Value| text(&crd["metadata"]["annotations"][APPROVAL]).to_owned();
    let (given, before) = (annotation(crd), old.map(annotation));
    if !is_protected(text(&crd["spec"]["group"])) || before.is_some_and(|before| before == given) {
        return;
    }
    let path = format!("metadata.annotations[{APPROVAL}]");
    if given.is_empty() {
        let detail = format!("protected groups must have approval annotation \"{APPROVAL}\", {REFERENCE}");
        causes.push(Cause::required(path, &detail));
    } else if !is_approval(&given) {
        let detail = format!(
            "protected groups must have approval annotation \"{APPROVAL}\" with either a URL or a reason starting with \
             \"unapproved\", {REFERENCE}"
        );
        causes.push(Cause::invalid(path, &json!(given), &detail));
    }
}

/// The condition that tells of the approval, in groups that need it.
pub(crate) fn approval(crd: &Value) -> Option<(&'static str, &'static str, String)> {
    if !is_protected(text(&crd["spec"]["group"])) {
        return None;
    }
    let given = text(&crd["metadata"]["annotations"][APPROVAL]);
    Some(if given.starts_with("unapproved") {
        (
            "False",
            "UnapprovedAnnotation",
            format!("not approved: {}", go::quoted(given)),
        )
    } else {
        ("True", "ApprovedAnnotation", format!("approved in {given}"))
    })
}

fn is_protected(group: &str) -> bool {
    ["k8s.io", "kubernetes.io"]
        .iter()
        .any(|own| group == *own || group.ends_with(&format!(".{own}")))
}

fn is_approval(text: &str) -> bool {
    let url = pattern("^[a-zA-Z][a-zA-Z0-9+.-]*://[^/]+");
    text.starts_with("unapproved") || url.as_ref().as_ref().is_ok_and(|url| url.is_match(text))
}

fn one_of(path: &str, value: &Value, options: &[&str], causes: &mut Vec<Cause>) {
    let given = text(value);
    if given.is_empty() {
        causes.push(Cause::required(path, ""));
    } else if !options.contains(&given) {
        let options: Vec<_> = options.iter().map(|&option| json!(option)).collect();
        causes.push(Cause::unsupported(path, value, &options));
    }
}

fn schema_of(version: &Value) -> Option<&Value> {
    version["schema"]
        .get("openAPIV3Schema")
        .filter(|schema| schema.is_object())
}

/// A list of texts as messages print it.
pub(super) fn texts_shown(texts: &[Value]) -> String {
    let texts: Vec<_> = texts.iter().map(|each| go::quoted(text(each))).collect();
    format!("[]string{{{}}}", texts.join(", "))
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
