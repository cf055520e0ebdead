//! Another result than `returns` says.

use kopf_runtime::{Change, HandlerResult};

use crate::generated::bucket::{Bucket, ProvisionResult};

pub async fn provision(_: Change<Bucket>) -> HandlerResult<u32> {
    Ok(3)
}

pub async fn reconfigure(_: Change<Bucket>) -> HandlerResult {
    Ok(())
}

pub async fn resize(_: Change<Bucket>) -> HandlerResult {
    Ok(())
}

pub async fn release(_: Change<Bucket>) -> HandlerResult {
    Ok(())
}
