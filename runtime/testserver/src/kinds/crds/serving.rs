//! What a definition in the store changes in what is served.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use crate::cluster::Cluster;
use crate::kinds::Kind;
use crate::kinds::crds::{GROUP, PLURAL, accept, are_accepted, kind_of};
use crate::objects::writing::name_of;

/// Whether objects are read in another way than they were stored.
fn is_revised(known: &Kind, new: &Kind) -> bool {
    let schemas = |kind: &Kind| {
        let versions = kind.versions.iter().chain(&kind.unserved);
        versions
            .map(|version| (version.name.clone(), version.schema.clone()))
            .collect::<BTreeMap<_, _>>()
    };
    known.storage != new.storage || schemas(known) != schemas(new)
}

impl Cluster {
    /// Completes a definition by what the others of its group leave to it.
    pub(crate) fn settle(&self, crd: &mut Value) {
        let others = self.definitions(&crd["spec"]["group"]);
        let name = name_of(crd);
        let others: Vec<_> = others
            .iter()
            .map(Arc::as_ref)
            .filter(|other| name_of(other) != name)
            .collect();
        accept(crd, &others, &self.now());
    }

    /// Serves what a stored definition says from now on.
    pub(crate) fn serve(&mut self, crd: &Value) {
        if are_accepted(crd) {
            let mut kind = kind_of(crd);
            match self.kinds.get(&kind.group, &kind.plural) {
                Some(known) => kind.revised = known.revised || is_revised(known, &kind),
                None => self.store.begin(&kind.key()),
            }
            self.kinds.insert(kind);
        }
        self.settle_others(crd);
    }

    /// Names that a definition has left free, or left to others at last, may be what these wait for.
    pub(crate) fn settle_others(&mut self, crd: &Value) {
        let name = name_of(crd);
        for other in self.definitions(&crd["spec"]["group"]) {
            if name_of(&other) == name || other["spec"]["names"] == other["status"]["acceptedNames"] {
                continue;
            }
            let mut settled = Value::clone(&other);
            self.settle(&mut settled);
            if settled != *other {
                let stored = self.store.put(&(GROUP.into(), PLURAL.into()), settled);
                self.serve(&stored);
            }
        }
    }

    fn definitions(&self, group: &Value) -> Vec<Arc<Value>> {
        let all = self.store.list(&(GROUP.into(), PLURAL.into()), None);
        all.filter(|crd| crd["spec"]["group"] == *group).cloned().collect()
    }
}
