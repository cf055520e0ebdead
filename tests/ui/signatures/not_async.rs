//! A plain function without `blocking: true` in the spec.

use kopf_runtime::{Change, HandlerResult};

use crate::generated::bucket::{Bucket, ProvisionResult};

pub async fn provision(_: Change<Bucket>) -> HandlerResult<ProvisionResult> {
    Ok(ProvisionResult::default())
}

pub fn reconfigure(_: Change<Bucket>) -> HandlerResult {
    Ok(())
}

pub async fn resize(_: Change<Bucket>) -> HandlerResult {
    Ok(())
}

pub async fn release(_: Change<Bucket>) -> HandlerResult {
    Ok(())
}
