//! Kinds: own and built-in, their names, schemas and entries.

use super::entries::Entries;
use super::schema::{Lowering, Part, TypeNames, empty_object};
use super::{Faults, builtins, entries, filters, functions, indexes, memos, paths, results, samples, sub_handlers};
use crate::diagnostic::{Code, Diagnostic, Span, did_you_mean, listed};
use crate::model::{IndexMarker, Origin, OwnKind, Preserve, Reference, Resource, Schema};
use crate::naming;
use crate::spec::{ResourceSpec, Spanned};

pub(super) fn resources(specs: &[ResourceSpec], faults: &mut Faults) -> (Vec<Resource>, Vec<IndexMarker>) {
    check_listed_once(specs, faults);
    check_modules(specs, faults);
    let mut resources: Vec<(&ResourceSpec, Resource)> = specs
        .iter()
        .filter_map(|spec| Some((spec, resource(spec, specs, faults)?)))
        .collect();
    let indexes = indexes::add(&mut resources, faults);
    let resources: Vec<_> = resources.into_iter().map(|(_, resource)| resource).collect();
    check_shared_names(specs, &resources, faults);
    (resources, indexes)
}

fn resource(spec: &ResourceSpec, all: &[ResourceSpec], faults: &mut Faults) -> Option<Resource> {
    let module = module(spec);
    let type_name = type_name(spec, all, &module);
    let mut names = TypeNames::default();
    names.claim(&type_name, "kind");
    let (reference, own) = match &spec.spec {
        Some(_) => {
            let (group, version) = check_group(&spec.api_version, faults);
            let reference = own_reference(spec, group, version, faults);
            (reference, Some(own_kind(spec, &type_name, &mut names, faults)))
        }
        None => (builtin(spec, faults)?, None),
    };
    let Entries {
        handlers,
        timers,
        daemons,
    } = entries::entries(spec, own.is_none(), faults);
    let mut lowering = Lowering::new(&spec.types, &mut names, faults);
    let results = results::results(spec, &mut lowering);
    let functions = functions::functions(spec, &results, faults);
    let helpers = filters::helpers(spec, faults);
    let memo = memos::memo(spec.memo.as_ref(), faults);
    let own = own.map(|mut own| {
        results::add_to_status(spec, &results, &mut own.status, faults);
        own
    });
    if own.is_none() {
        results::refuse(spec, faults);
    }
    paths::check(spec, own.as_ref(), faults);
    sub_handlers::check(spec, own.as_ref(), faults);
    let samples = samples::samples(spec, &reference, own.as_ref(), faults);
    let origin = own.map_or(Origin::Builtin, |own| Origin::Own(Box::new(own)));
    Some(Resource {
        reference,
        module,
        type_name,
        origin,
        handlers,
        timers,
        daemons,
        indexes: Vec::new(),
        functions,
        helpers,
        memo,
        samples,
    })
}

fn module(spec: &ResourceSpec) -> String {
    spec.module
        .as_ref()
        .map_or_else(|| naming::module_name(&spec.kind.value), |module| module.value.clone())
}

/// Kinds of one name are told apart by their modules, whatever their order; one that needs no `module` keeps its name.
fn type_name(spec: &ResourceSpec, all: &[ResourceSpec], module: &str) -> String {
    let alone = all.iter().filter(|other| other.kind.value == spec.kind.value).count() == 1;
    naming::kind_type_name(&if alone || module == naming::module_name(&spec.kind.value) {
        spec.kind.value.clone()
    } else {
        naming::pascal_case(module)
    })
}

fn check_modules(specs: &[ResourceSpec], faults: &mut Faults) {
    for (index, spec) in specs.iter().enumerate() {
        if let Some(given) = &spec.module
            && (!naming::snake_identifier(&given.value) || naming::is_reserved_module(&given.value))
        {
            let message = format!("`{}` cannot name a module of the project", given.value);
            faults.push(Diagnostic::error(Code::ModuleName, given.span, message));
        }
        let module = module(spec);
        let Some(other) = specs[..index].iter().find(|other| self::module(other) == module) else {
            continue;
        };
        if is_same_kind(spec, other) {
            continue;
        }
        let span = spec.module.as_ref().map_or(spec.kind.span, |module| module.span);
        let message = format!("two kinds would share the module `{module}`");
        let group = spec.api_version.value.split('.').next().unwrap_or_default();
        let help = format!(
            "give one a name of its own, such as `module: {}_{module}`",
            naming::snake_case(group)
        );
        faults.push(Diagnostic::error(Code::ModuleName, span, message).help(help));
    }
}

fn group(spec: &ResourceSpec) -> &str {
    spec.api_version.value.split_once('/').map_or("", |(group, _)| group)
}

fn is_same_kind(one: &ResourceSpec, other: &ResourceSpec) -> bool {
    group(one) == group(other) && one.kind.value == other.kind.value
}

/// A kind has one CRD and one place in the registry, whatever its versions and modules are.
fn check_listed_once(specs: &[ResourceSpec], faults: &mut Faults) {
    for (index, spec) in specs.iter().enumerate() {
        let Some(other) = specs[..index].iter().find(|other| is_same_kind(spec, other)) else {
            continue;
        };
        let kind = &spec.kind;
        let fault = |message: String| Diagnostic::error(Code::Duplicate, kind.span, message);
        faults.push(if spec.api_version.value == other.api_version.value {
            fault(format!(
                "`{}` of `{}` is listed twice",
                kind.value, spec.api_version.value
            ))
            .help("put all its handlers into one entry")
        } else {
            let (first, second) = (&other.api_version.value, &spec.api_version.value);
            fault(format!("`{}` is listed as `{first}` and as `{second}`", kind.value)).help(
                if spec.spec.is_some() || other.spec.is_some() {
                    "several versions of a kind need `versions`, which is not supported yet: keep one of the entries"
                } else {
                    "every version shows the same objects: put all handlers into one entry"
                },
            )
        });
    }
}

fn check_group<'a>(api_version: &'a Spanned<String>, faults: &mut Faults) -> (&'a str, &'a str) {
    let span = api_version.span;
    let Some((group, version)) = api_version.value.split_once('/') else {
        let message = format!("`{}` has no group", api_version.value);
        let help = format!("an own kind has a group with a dot: example.com/{}", api_version.value);
        faults.push(Diagnostic::error(Code::Group, span, message).help(help));
        return ("", &api_version.value);
    };
    if !naming::is_dns_subdomain(group) {
        faults.push(Diagnostic::error(
            Code::Group,
            span,
            format!("group `{group}` is no DNS subdomain"),
        ));
    } else if !group.contains('.') {
        let fault = Diagnostic::error(Code::Group, span, format!("group `{group}` has no dot"));
        faults.push(fault.help(format!("use a domain of yours: {group}.example.com")));
    } else if naming::RESERVED_GROUPS
        .iter()
        .any(|reserved| group == *reserved || group.ends_with(&format!(".{reserved}")))
    {
        let fault = Diagnostic::error(
            Code::ReservedGroup,
            span,
            format!("group `{group}` is reserved for Kubernetes"),
        );
        faults.push(fault.help("use a domain of yours; for a built-in kind leave `spec` out"));
    }
    if !naming::is_dns_1035_label(version) {
        let fault = Diagnostic::error(Code::ResourceName, span, format!("version `{version}` is no DNS label"));
        faults.push(fault.help("versions are such as v1, v1beta2 or v1alpha1"));
    }
    (group, version)
}

fn own_reference(spec: &ResourceSpec, group: &str, version: &str, faults: &mut Faults) -> Reference {
    let kind = spec.kind.value.as_str();
    check_kind(&spec.kind, faults);
    let given =
        |name: &Option<Spanned<String>>, otherwise: String| name.as_ref().map_or(otherwise, |name| name.value.clone());
    for name in [&spec.plural, &spec.singular]
        .into_iter()
        .flatten()
        .chain(&spec.short_names)
    {
        if !naming::is_dns_1035_label(&name.value) {
            let fault = Diagnostic::error(
                Code::ResourceName,
                name.span,
                format!("`{}` is no DNS label", name.value),
            );
            faults.push(fault.help("write lower case letters, digits and dashes, a letter first"));
        }
    }
    for name in spec
        .short_names
        .iter()
        .filter(|name| builtins::SHORT_NAMES.contains(&name.value.as_str()))
    {
        let message = format!(
            "short name `{}` belongs to a built-in kind, which kubectl prefers",
            name.value
        );
        faults.push(Diagnostic::warning(Code::NameTaken, name.span, message));
    }
    let list_kind = given(&spec.list_kind, format!("{kind}List"));
    if list_kind == kind {
        let span = spec.list_kind.as_ref().map_or(spec.kind.span, |name| name.span);
        faults.push(Diagnostic::error(
            Code::ListKind,
            span,
            "`listKind` and `kind` must differ",
        ));
    }
    let namespaced = match &spec.scope {
        Some(scope) => scope_of(scope, faults),
        None => true,
    };
    Reference {
        group: group.to_string(),
        version: version.to_string(),
        kind: kind.to_string(),
        plural: given(&spec.plural, naming::plural(kind)),
        singular: given(&spec.singular, kind.to_lowercase()),
        list_kind,
        namespaced,
        status_subresource: spec.status_subresource.as_ref().is_none_or(|flag| flag.value),
    }
}

fn scope_of(scope: &Spanned<String>, faults: &mut Faults) -> bool {
    if !matches!(scope.value.as_str(), "Namespaced" | "Cluster") {
        let choices = ["Namespaced", "Cluster"];
        let fault = Diagnostic::error(Code::Scope, scope.span, format!("scope cannot be `{}`", scope.value));
        let meant = did_you_mean(&scope.value, choices).map(|name| format!("did you mean `{name}`?"));
        faults.push(fault.help("it is `Namespaced` or `Cluster`").maybe_help(meant));
    }
    scope.value != "Cluster"
}

fn check_kind(kind: &Spanned<String>, faults: &mut Faults) {
    let text = kind.value.as_str();
    let lowered = text.to_lowercase();
    let fault = if !naming::is_dns_1035_label(&lowered) && text.len() < 64 {
        let suggestion = naming::pascal_case(text);
        let legal = naming::is_dns_1035_label(&suggestion.to_lowercase());
        let fault = Diagnostic::error(
            Code::ResourceName,
            kind.span,
            format!("kind `{text}` is not letters, digits and dashes, a letter first"),
        );
        fault.maybe_help(legal.then(|| format!("write {suggestion}")))
    } else if text.len() > 59 {
        let message = format!("kind `{text}` has {} characters, more than 59", text.len());
        Diagnostic::error(Code::ResourceName, kind.span, message).help("`List` is appended, and 63 is the limit")
    } else if !text.starts_with(|c: char| c.is_ascii_uppercase()) {
        let fault = Diagnostic::error(
            Code::ResourceName,
            kind.span,
            format!("kind `{text}` does not start with a capital"),
        );
        fault.help(format!("write {}", naming::pascal_case(text)))
    } else {
        return;
    };
    faults.push(fault);
}

fn own_kind(spec: &ResourceSpec, type_name: &str, names: &mut TypeNames, faults: &mut Faults) -> OwnKind {
    let preserve = match spec.preserve_unknown_fields.as_ref().map(|text| text.value.as_str()) {
        Some("all") => Preserve::All,
        Some("none") => Preserve::None,
        _ => Preserve::Status,
    };
    let spec_name = names.claim(&format!("{type_name}Spec"), "kind.spec");
    let status_name = names.claim(&format!("{type_name}Status"), "kind.status");
    let mut lowering = Lowering::new(&spec.types, names, faults);
    lowering.check_types(&spec.types);
    let object = |field: &Option<_>, part, name: &str, open: bool, lowering: &mut Lowering<'_, '_>| -> Schema {
        field.as_ref().map_or_else(
            || empty_object(name, open),
            |field| lowering.root(field, part, name, open),
        )
    };
    let spec_schema = object(
        &spec.spec,
        Part::Spec,
        &spec_name,
        preserve == Preserve::All,
        &mut lowering,
    );
    let status = object(
        &spec.status,
        Part::Status,
        &status_name,
        preserve != Preserve::None,
        &mut lowering,
    );
    OwnKind {
        description: spec.comment.clone(),
        short_names: spec.short_names.iter().map(|name| name.value.clone()).collect(),
        preserve,
        spec: spec_schema,
        status,
    }
}

fn builtin(spec: &ResourceSpec, faults: &mut Faults) -> Option<Reference> {
    for key in &spec.own_keys {
        let message = format!("`{}` is for kinds with a `spec` of their own", key.value);
        let fault = Diagnostic::error(Code::NotForBuiltins, key.span, message);
        faults.push(fault.help("give the kind a `spec`, or remove the key if the kind is built into Kubernetes"));
    }
    let (api_version, kind) = (spec.api_version.value.as_str(), spec.kind.value.as_str());
    let Some(builtin) = builtins::find(api_version, kind) else {
        faults.push(unknown_builtin(spec));
        return None;
    };
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    Some(Reference {
        group: group.to_string(),
        version: version.to_string(),
        kind: kind.to_string(),
        plural: builtin.plural.to_string(),
        singular: kind.to_lowercase(),
        list_kind: format!("{kind}List"),
        namespaced: builtin.namespaced,
        status_subresource: builtin.status,
    })
}

fn unknown_builtin(spec: &ResourceSpec) -> Diagnostic {
    let (api_version, kind) = (&spec.api_version, &spec.kind);
    let served = builtins::api_versions(&kind.value);
    if !served.is_empty() {
        let message = format!("Kubernetes does not serve `{}` in `{}`", kind.value, api_version.value);
        return Diagnostic::error(Code::UnknownBuiltin, api_version.span, message)
            .help(format!("write {}", listed(served)));
    }
    let message = format!(
        "`{}` has no `spec`, and no kind of this name is built into Kubernetes",
        kind.value
    );
    let foreign = api_version.value.contains('.') && !api_version.value.contains(".k8s.io/");
    let help = match did_you_mean(&kind.value, builtins::kinds()).filter(|_| !foreign) {
        Some(name) => format!("did you mean `{name}`?"),
        None => "give an own kind a `spec`; kinds of others are not supported yet".to_string(),
    };
    Diagnostic::error(Code::UnknownBuiltin, kind.span, message).help(help)
}

/// Names that must be unique within a group, with the places where they are written.
fn check_shared_names(specs: &[ResourceSpec], resources: &[Resource], faults: &mut Faults) {
    let mut taken: Vec<(&str, String, &str)> = Vec::new();
    for resource in resources
        .iter()
        .filter(|resource| matches!(resource.origin, Origin::Own(_)))
    {
        let reference = &resource.reference;
        let Some(spec) = specs
            .iter()
            .find(|spec| spec.kind.value == reference.kind && spec.api_version.value == reference.api_version())
        else {
            continue;
        };
        let place = |name: &Option<Spanned<String>>| name.as_ref().map_or(spec.kind.span, |name| name.span);
        let mut names: Vec<(String, Span)> = vec![(reference.plural.clone(), place(&spec.plural))];
        names.push((reference.singular.clone(), place(&spec.singular)));
        names.push((reference.kind.to_lowercase(), spec.kind.span));
        names.push((reference.list_kind.to_lowercase(), place(&spec.list_kind)));
        names.extend(spec.short_names.iter().map(|name| (name.value.clone(), name.span)));
        for (name, span) in &names {
            let other = taken
                .iter()
                .find(|(group, other, kind)| *group == reference.group && other == name && *kind != reference.kind);
            if let Some((_, _, kind)) = other {
                let message = format!("`{name}` already names `{kind}` in this group");
                faults.push(Diagnostic::error(Code::NameTaken, *span, message));
            }
        }
        taken.extend(
            names
                .into_iter()
                .map(|(name, _)| (reference.group.as_str(), name, reference.kind.as_str())),
        );
    }
}
