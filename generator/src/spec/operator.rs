//! The top level.

use std::time::Duration;

use super::handler::TextMap;
use super::resource::ResourceSpec;
use super::tree::Spanned;
use crate::model::RuntimeSource;

/// A whole spec.
#[derive(Clone, Debug)]
pub struct OperatorSpec {
    /// `metadata`.
    pub metadata: Metadata,
    /// `project.runtime`.
    pub runtime: Option<RuntimeSource>,
    /// `settings.persistence`.
    pub persistence: Persistence,
    /// `settings.posting`.
    pub posting: Posting,
    /// `peering`.
    pub peering: PeeringSpec,
    /// `deploy`.
    pub deploy: Deploy,
    /// `resources`.
    pub resources: Vec<ResourceSpec>,
}

/// `metadata`.
#[derive(Clone, Debug)]
pub struct Metadata {
    /// `name`.
    pub name: Spanned<String>,
    /// `description`.
    pub description: Option<Spanned<String>>,
    /// `labels`.
    pub labels: TextMap,
    /// `annotations`.
    pub annotations: TextMap,
}

/// `settings.persistence`.
#[derive(Clone, Debug, Default)]
pub struct Persistence {
    /// `prefix`.
    pub prefix: Option<Spanned<String>>,
    /// `finalizer`.
    pub finalizer: Option<Spanned<String>>,
}

/// `settings.posting`.
#[derive(Clone, Debug, Default)]
pub struct Posting {
    /// `enabled`.
    pub enabled: Option<Spanned<bool>>,
    /// `loggers`.
    pub loggers: Option<Spanned<bool>>,
    /// `level`.
    pub level: Option<Spanned<String>>,
}

/// `peering`.
#[derive(Clone, Debug)]
pub enum PeeringSpec {
    /// `false`.
    Standalone,
    /// A mapping, or nothing.
    With(Peering),
}

/// The mapping of `peering`.
#[derive(Clone, Debug, Default)]
pub struct Peering {
    /// `name`.
    pub name: Option<Spanned<String>>,
    /// `mandatory`.
    pub mandatory: Option<Spanned<bool>>,
    /// `priority`.
    pub priority: Option<Priority>,
    /// `lifetime`.
    pub lifetime: Option<Spanned<Duration>>,
    /// `stealth`.
    pub stealth: Option<Spanned<bool>>,
    /// `clusterwide`.
    pub clusterwide: Option<Spanned<bool>>,
}

/// `peering.priority`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Priority {
    /// A number.
    Fixed(i64),
    /// `random`.
    Random,
}

/// `deploy`.
#[derive(Clone, Debug, Default)]
pub struct Deploy {
    /// `namespace`.
    pub namespace: Option<Spanned<String>>,
    /// `image`.
    pub image: Option<Spanned<String>>,
}
