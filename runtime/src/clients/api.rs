//! One request, one answer. Repeating is the business of the callers, who know what else may be done meanwhile.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use http::{Method, Request, header};
use http_body_util::BodyExt as _;
use kube::Client;
use kube::core::Status;
use serde_json::Value;
use tokio::sync::Semaphore;

use super::errors::ApiError;
use crate::structs::references::Reference;

/// How many requests one operator has under way at once, watches aside: enough to keep a connection busy, and few
/// enough that the first listing of thousands of objects is no flood (B-013).
const AT_ONCE: usize = 64;

/// A client with its share of requests; clones share it. Each operator has its own, so that none waits for another.
#[derive(Clone)]
pub(crate) struct Api {
    /// For watches, which last, and for handlers, whose requests are their own.
    pub(crate) client: Client,
    permits: Arc<Semaphore>,
}

impl Api {
    pub(crate) fn new(client: Client) -> Self {
        let permits = Arc::new(Semaphore::new(AT_ONCE));
        Self { client, permits }
    }
}

/// The media types of patches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PatchType {
    Merge,
    Json,
}

impl PatchType {
    fn media_type(self) -> &'static str {
        match self {
            Self::Merge => "application/merge-patch+json",
            Self::Json => "application/json-patch+json",
        }
    }
}

/// The path of a collection, or of what is below it (SEL-17).
pub(crate) fn path(
    reference: &Reference,
    namespace: Option<&str>,
    name: Option<&str>,
    subresource: Option<&str>,
) -> String {
    let mut path = if reference.group.is_empty() {
        format!("/api/{}", reference.version)
    } else {
        format!("/apis/{}/{}", reference.group, reference.version)
    };
    if let Some(namespace) = namespace.filter(|_| reference.namespaced) {
        let _ = write!(path, "/namespaces/{namespace}");
    }
    let _ = write!(path, "/{}", reference.plural);
    for part in [name, subresource].into_iter().flatten() {
        let _ = write!(path, "/{part}");
    }
    path
}

/// Sends a request and reads the answer as JSON; any status of 400 and above is an error.
///
/// The limit counts from when it is the request's turn.
pub(crate) async fn request(api: &Api, request: Request<Vec<u8>>, limit: Duration) -> Result<Value, ApiError> {
    let _permit = api.permits.acquire().await.map_err(ApiError::transport)?;
    let exchange = async {
        let response = api.client.send(request.map(kube::client::Body::from)).await?;
        let (parts, body) = response.into_parts();
        let bytes = body.collect().await.map_err(ApiError::transport)?.to_bytes();
        if parts.status.is_client_error() || parts.status.is_server_error() {
            let status = serde_json::from_slice::<Status>(&bytes).ok();
            let wish = parts
                .headers
                .get(header::RETRY_AFTER)
                .and_then(|value| value.to_str().ok());
            let wish = wish.and_then(|text| text.parse().ok()).map(Duration::from_secs);
            return Err(ApiError::from_status(parts.status.as_u16(), status.as_ref(), wish));
        }
        serde_json::from_slice(&bytes).map_err(ApiError::transport)
    };
    match tokio::time::timeout(limit, exchange).await {
        Ok(answer) => answer,
        Err(_) => Err(ApiError::transport(format_args!(
            "no answer within {} s",
            limit.as_secs()
        ))),
    }
}

pub(crate) fn get(path: &str) -> Result<Request<Vec<u8>>, ApiError> {
    Request::get(path)
        .header(header::ACCEPT, "application/json")
        .body(Vec::new())
        .map_err(ApiError::transport)
}

pub(crate) fn post(path: &str, body: &Value) -> Result<Request<Vec<u8>>, ApiError> {
    build(Method::POST, path, "application/json", body)
}

pub(crate) fn patch(path: &str, patch_type: PatchType, body: &Value) -> Result<Request<Vec<u8>>, ApiError> {
    build(Method::PATCH, path, patch_type.media_type(), body)
}

fn build(method: Method, path: &str, media_type: &str, body: &Value) -> Result<Request<Vec<u8>>, ApiError> {
    Request::builder()
        .method(method)
        .uri(path)
        .header(header::ACCEPT, "application/json")
        .header(header::CONTENT_TYPE, media_type)
        .body(body.to_string().into_bytes())
        .map_err(ApiError::transport)
}

#[cfg(test)]
mod tests {
    use super::*;

    const POD: Reference = Reference {
        group: "",
        version: "v1",
        kind: "Pod",
        plural: "pods",
        namespaced: true,
    };
    const NODE: Reference = Reference {
        group: "",
        version: "v1",
        kind: "Node",
        plural: "nodes",
        namespaced: false,
    };
    const CART: Reference = Reference {
        group: "shop.example.com",
        version: "v1beta1",
        kind: "Cart",
        plural: "carts",
        namespaced: true,
    };

    // SEL-17
    #[test]
    fn paths_follow_group_scope_and_subresource() {
        assert_eq!(path(&POD, None, None, None), "/api/v1/pods");
        assert_eq!(
            path(&POD, Some("shop"), Some("p"), None),
            "/api/v1/namespaces/shop/pods/p"
        );
        assert_eq!(path(&NODE, Some("shop"), Some("n"), None), "/api/v1/nodes/n");
        assert_eq!(
            path(&CART, Some("shop"), Some("c"), Some("status")),
            "/apis/shop.example.com/v1beta1/namespaces/shop/carts/c/status"
        );
    }
}
