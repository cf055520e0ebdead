//! `deploy/peering`: the CRDs that all Kopf operators of a cluster share, and this operator's object.

use super::{add, kustomization, metadata};
use crate::fileset::FileSet;
use crate::model::{Operator, Peering};
use crate::render::yaml::{Yaml, list, map};

const KINDS: [(&str, &str, &str, &str); 2] = [
    (
        "ClusterKopfPeering",
        "clusterkopfpeerings",
        "clusterkopfpeering",
        "Cluster",
    ),
    ("KopfPeering", "kopfpeerings", "kopfpeering", "Namespaced"),
];

/// Adds both folders, unless the operator has no peering.
pub(super) fn render(operator: &Operator, files: &mut FileSet) {
    let Some(peering) = &operator.peering else { return };
    let definitions = KINDS.map(|(kind, plural, singular, scope)| definition(kind, plural, singular, scope));
    add(files, "peering/crds/peerings.yaml", &definitions);
    kustomization(files, "peering/crds", &map! { "resources" => list!["peerings.yaml"] });
    add(files, "peering/object/peering.yaml", &[object(operator, peering)]);
    kustomization(files, "peering/object", &map! { "resources" => list!["peering.yaml"] });
}

pub(super) fn plural(peering: &Peering) -> &'static str {
    if peering.clusterwide {
        "clusterkopfpeerings"
    } else {
        "kopfpeerings"
    }
}

/// As in Kopf's own manifest, with none of our labels; whoever removes this operator must not remove them.
fn definition(kind: &str, plural: &str, singular: &str, scope: &str) -> Yaml {
    let status = map! { "type" => "object", "x-kubernetes-preserve-unknown-fields" => true };
    let schema = map! { "type" => "object", "properties" => map! { "status" => status } };
    let version = map! {
        "name" => "v1",
        "served" => true,
        "storage" => true,
        "schema" => map! { "openAPIV3Schema" => schema },
    };
    let annotations = map! {
        "argocd.argoproj.io/sync-options" => "Prune=false,Delete=false",
        "helm.sh/resource-policy" => "keep",
        "kustomize.toolkit.fluxcd.io/prune" => "disabled",
    };
    map! {
        "apiVersion" => "apiextensions.k8s.io/v1",
        "kind" => "CustomResourceDefinition",
        "metadata" => map! {
            "name" => format!("{plural}.kopf.dev"),
            "annotations" => annotations.comment("shared by every Kopf operator of the cluster: never to be pruned with one"),
        },
        "spec" => map! {
            "group" => "kopf.dev",
            "names" => map! { "kind" => kind, "plural" => plural, "singular" => singular },
            "scope" => scope,
            "versions" => list![version],
        },
    }
}

fn object(operator: &Operator, peering: &Peering) -> Yaml {
    let (kind, namespace) = if peering.clusterwide {
        ("ClusterKopfPeering", None)
    } else {
        ("KopfPeering", Some(operator.deploy.namespace.as_str()))
    };
    map! {
        "apiVersion" => "kopf.dev/v1",
        "kind" => kind,
        "metadata" => metadata(operator, &peering.name, namespace),
    }
}
