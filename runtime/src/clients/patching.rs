//! Sending one patch.

use std::time::Duration;

use serde_json::Value;

use super::api::{self, Api, PatchType};
use super::errors::ApiError;
use crate::structs::bodies::Body;
use crate::structs::references::Reference;

/// An object as the API addresses it.
#[derive(Clone)]
pub(crate) struct Target {
    pub(crate) api: Api,
    pub(crate) reference: Reference,
    pub(crate) namespace: Option<String>,
    pub(crate) name: String,
    /// Whether the status is written through `/status`.
    pub(crate) status_subresource: bool,
    /// `settings.networking.request_timeout`.
    pub(crate) limit: Duration,
}

impl Target {
    /// Patches the object, or its status; returns the object as it is afterwards.
    pub(crate) async fn patch(&self, patch_type: PatchType, status: bool, patch: &Value) -> Result<Body, ApiError> {
        let subresource = status.then_some("status");
        let path = api::path(
            &self.reference,
            self.namespace.as_deref(),
            Some(&self.name),
            subresource,
        );
        api::request(&self.api, api::patch(&path, patch_type, patch)?, self.limit)
            .await
            .map(Body::new)
    }

    /// The object as it is now.
    pub(crate) async fn get(&self) -> Result<Body, ApiError> {
        super::fetching::get(
            &self.api,
            &self.reference,
            self.namespace.as_deref(),
            &self.name,
            self.limit,
        )
        .await
    }
}
