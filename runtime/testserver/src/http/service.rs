//! The server as a `tower` service: requests without a network.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::BodyExt;

use crate::access::User;
use crate::http::Api;
use crate::http::responses::ResponseBody;

/// A connection to a [`Server`](crate::Server) within the process; what clients such as kube's are built on.
#[derive(Clone)]
pub struct Service {
    pub(crate) api: Arc<Api>,
    /// Who asks, unless a request has credentials of its own.
    pub(crate) user: User,
}

impl<B> tower::Service<Request<B>> for Service
where
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    type Response = Response<ResponseBody>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Self::Response>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let (api, user) = (Arc::clone(&self.api), self.user.clone());
        Box::pin(async move {
            let (head, body) = request.into_parts();
            let body = body.collect().await.map_err(io::Error::other)?.to_bytes();
            api.serve(&user, Request::from_parts(head, body)).await
        })
    }
}
