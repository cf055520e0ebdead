//! Webhooks that only judge: all at once.

use std::sync::Mutex;

use futures::future::join_all;
use serde_json::Value;
use tokio::time::Instant;

use crate::admission::hooks::{Hook, Power};
use crate::admission::relevance::{Relevance, convert};
use crate::admission::{Attempt, calls, denied, failed};
use crate::cluster::{Cluster, Place};
use crate::status::Status;

pub(super) async fn run(
    cluster: &Mutex<Cluster>,
    hooks: &[Hook],
    attempt: &Attempt<'_>,
    object: &Value,
) -> Result<(), Status> {
    let relevance = Relevance { cluster, attempt };
    let mut concerned = Vec::new();
    for hook in hooks {
        if let Some(place) = relevance.place_for(hook, object)? {
            concerned.push((hook, place));
        }
    }
    let judgements = concerned.iter().map(async |(hook, place)| {
        let judgement = judge(cluster, hook, place, attempt, object).await;
        (Instant::now(), judgement)
    });
    let mut judgements = join_all(judgements).await;
    // The first refusal is told, though all were waited for.
    judgements.sort_by_key(|(at, _)| *at);
    judgements.into_iter().try_for_each(|(_, judgement)| judgement)
}

async fn judge(
    cluster: &Mutex<Cluster>,
    hook: &Hook,
    place: &Place,
    attempt: &Attempt<'_>,
    object: &Value,
) -> Result<(), Status> {
    let (old, new) = (
        attempt.old.map(|old| convert(old, place, attempt)),
        convert(object, place, attempt),
    );
    let verdict = calls::ask(cluster, attempt, (hook, Power::Validating), place, (old.as_ref(), &new)).await;
    let verdict = match verdict {
        Ok(verdict) => verdict,
        Err(why) => return failed(hook, &why),
    };
    for warning in &verdict.warnings {
        attempt.warnings.add(warning);
    }
    if verdict.allowed {
        Ok(())
    } else {
        Err(denied(hook, &verdict.status))
    }
}
