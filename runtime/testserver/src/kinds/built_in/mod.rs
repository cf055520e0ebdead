//! The built-in kinds: how a row of their table becomes a kind.

mod rows;

use crate::kinds::{ASKED, Kind, Naming, STORED, Scale, Traits, Version};

/// All built-in kinds.
pub(crate) fn kinds() -> impl Iterator<Item = Kind> {
    rows::ROWS.iter().map(Row::kind)
}

/// What is stored, but not deleted by the collection.
const ONE_BY_ONE: &[&str] = &["create", "delete", "get", "list", "patch", "update", "watch"];

struct Row {
    group: &'static str,
    /// The preferred version, which is the stored one too, then others.
    versions: &'static [&'static str],
    plural: &'static str,
    kind: &'static str,
    short_names: &'static [&'static str],
    categories: &'static [&'static str],
    namespaced: bool,
    status: bool,
    scale: bool,
    verbs: &'static [&'static str],
    traits: Traits,
}

impl Row {
    const fn new(group: &'static str, plural: &'static str, kind: &'static str) -> Self {
        let traits = Traits {
            generation: false,
            unconditional: true,
            created_by_update: false,
            naming: Naming::Subdomain,
            standard_finalizers: true,
            initial_status: None,
            fields: &["spec", "status"],
            stored_as: None,
        };
        Self {
            group,
            versions: &["v1"],
            plural,
            kind,
            short_names: &[],
            categories: &[],
            namespaced: true,
            status: false,
            scale: false,
            verbs: STORED,
            traits,
        }
    }

    const fn versions(mut self, versions: &'static [&'static str]) -> Self {
        self.versions = versions;
        self
    }

    const fn short(mut self, names: &'static [&'static str]) -> Self {
        self.short_names = names;
        self
    }

    const fn in_category(mut self, categories: &'static [&'static str]) -> Self {
        self.categories = categories;
        self
    }

    const fn cluster(mut self) -> Self {
        self.namespaced = false;
        self
    }

    const fn asked(mut self) -> Self {
        self.verbs = ASKED;
        self
    }

    const fn one_by_one(mut self) -> Self {
        self.verbs = ONE_BY_ONE;
        self
    }

    const fn status(mut self, initial: &'static str) -> Self {
        self.status = true;
        self.traits.initial_status = Some(initial);
        self
    }

    /// The number of replicas stands where most kinds have it.
    const fn scaled(mut self) -> Self {
        self.scale = true;
        self
    }

    const fn generation(mut self) -> Self {
        self.traits.generation = true;
        self
    }

    const fn conditional(mut self) -> Self {
        self.traits.unconditional = false;
        self
    }

    const fn created_by_update(mut self) -> Self {
        self.traits.created_by_update = true;
        self
    }

    const fn named(mut self, naming: Naming) -> Self {
        self.traits.naming = naming;
        self
    }

    const fn any_finalizers(mut self) -> Self {
        self.traits.standard_finalizers = false;
        self
    }

    const fn fields(mut self, fields: &'static [&'static str]) -> Self {
        self.traits.fields = fields;
        self
    }

    /// Another face of the objects of this group.
    const fn stored_as(mut self, group: &'static str) -> Self {
        self.traits.stored_as = Some(group);
        self
    }

    fn kind(&self) -> Kind {
        let version = |name: &&str| Version {
            name: (*name).into(),
            status: self.status,
            scale: self.scale.then(|| Scale {
                wanted: ".spec.replicas".into(),
                found: ".status.replicas".into(),
                selector: Some(".spec.selector".into()),
            }),
            ..Version::default()
        };
        Kind {
            group: self.group.into(),
            plural: self.plural.into(),
            singular: self.kind.to_lowercase(),
            kind: self.kind.into(),
            list_kind: format!("{}List", self.kind),
            short_names: self.short_names.iter().map(|&name| name.into()).collect(),
            categories: self.categories.iter().map(|&name| name.into()).collect(),
            namespaced: self.namespaced,
            storage: self.versions[0].into(),
            versions: self.versions.iter().map(version).collect(),
            unserved: Vec::new(),
            revised: false,
            custom: false,
            verbs: self.verbs,
            traits: self.traits,
        }
    }
}
