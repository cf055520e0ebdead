//! The arguments of another kind.

use kopf_runtime::{Change, HandlerResult};

use crate::generated::bucket::{Bucket, ProvisionResult};

pub async fn provision(_: Change<Bucket>) -> HandlerResult<ProvisionResult> {
    Ok(ProvisionResult::default())
}

pub struct Other;

impl kopf_runtime::Kind for Other {
    type Spec = ();
    type Status = ();
    type Memo = ();
    const REFERENCE: kopf_runtime::Reference = <Bucket as kopf_runtime::Kind>::REFERENCE;
}

pub async fn reconfigure(_: Change<Other>) -> HandlerResult {
    Ok(())
}

pub async fn resize(_: Change<Bucket>) -> HandlerResult {
    Ok(())
}

pub async fn release(_: Change<Bucket>) -> HandlerResult {
    Ok(())
}
