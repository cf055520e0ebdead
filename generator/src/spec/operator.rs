//! The top level.

use std::time::Duration;

use super::handler::TextMap;
use super::resource::ResourceSpec;
use super::settings::Settings;
use super::tree::Spanned;
use crate::model::RuntimeSource;

/// A whole spec.
#[derive(Clone, Debug)]
pub(crate) struct OperatorSpec {
    /// `metadata`.
    pub(crate) metadata: Metadata,
    /// `project.runtime`.
    pub(crate) runtime: Option<RuntimeSource>,
    /// `settings`.
    pub(crate) settings: Settings,
    /// `memo`.
    pub(crate) memo: Option<Spanned<String>>,
    /// `peering`.
    pub(crate) peering: PeeringSpec,
    /// `deploy`.
    pub(crate) deploy: Deploy,
    /// `resources`.
    pub(crate) resources: Vec<ResourceSpec>,
}

/// `metadata`.
#[derive(Clone, Debug)]
pub(crate) struct Metadata {
    /// `name`.
    pub(crate) name: Spanned<String>,
    /// `description`.
    pub(crate) description: Option<Spanned<String>>,
    /// `labels`.
    pub(crate) labels: TextMap,
    /// `annotations`.
    pub(crate) annotations: TextMap,
}

/// `peering`.
#[derive(Clone, Debug)]
pub(crate) enum PeeringSpec {
    /// `false`.
    Standalone,
    /// A mapping, or nothing.
    With(Peering),
}

/// The mapping of `peering`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Peering {
    /// `name`.
    pub(crate) name: Option<Spanned<String>>,
    /// `mandatory`.
    pub(crate) mandatory: Option<Spanned<bool>>,
    /// `priority`.
    pub(crate) priority: Option<Priority>,
    /// `lifetime`.
    pub(crate) lifetime: Option<Spanned<Duration>>,
    /// `stealth`.
    pub(crate) stealth: Option<Spanned<bool>>,
    /// `clusterwide`.
    pub(crate) clusterwide: Option<Spanned<bool>>,
}

/// `peering.priority`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Priority {
    /// A number.
    Fixed(i64),
    /// `random`.
    Random,
}

/// `deploy`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Deploy {
    /// `namespace`.
    pub(crate) namespace: Option<Spanned<String>>,
    /// `image`.
    pub(crate) image: Option<Spanned<String>>,
}
