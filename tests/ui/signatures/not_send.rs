//! Something that cannot move between threads is held across an await.

use kopf_runtime::{Change, HandlerResult};

use crate::generated::bucket::{Bucket, ProvisionResult};

pub async fn provision(_: Change<Bucket>) -> HandlerResult<ProvisionResult> {
    Ok(ProvisionResult::default())
}

pub async fn reconfigure(_: Change<Bucket>) -> HandlerResult {
    let counter = std::rc::Rc::new(1);
    std::future::ready(()).await;
    drop(counter);
    Ok(())
}

pub async fn resize(_: Change<Bucket>) -> HandlerResult {
    Ok(())
}

pub async fn release(_: Change<Bucket>) -> HandlerResult {
    Ok(())
}
