//! Cells of pods: what their containers do, in a word.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{age, text};

fn list<'a>(object: &'a Value, part: &str, field: &str) -> impl Iterator<Item = &'a Value> + use<'a> {
    object[part][field].as_array().into_iter().flatten()
}

/// Init containers that go on beside the others.
fn is_sidecar(pod: &Value, status: &Value) -> bool {
    list(pod, "spec", "initContainers").any(|each| each["name"] == status["name"] && each["restartPolicy"] == "Always")
}

pub(super) fn ready(pod: &Value, _: Timestamp) -> Value {
    let ready = list(pod, "status", "containerStatuses")
        .filter(|status| status["ready"] == true && status["state"].get("running").is_some());
    let sidecars = list(pod, "spec", "initContainers").filter(|each| each["restartPolicy"] == "Always");
    let ready_sidecars = list(pod, "status", "initContainerStatuses")
        .filter(|status| is_sidecar(pod, status) && status["ready"] == true);
    let all = list(pod, "spec", "containers").count() + sidecars.count();
    text(format!("{}/{all}", ready.count() + ready_sidecars.count()))
}

pub(super) fn status(pod: &Value, _: Timestamp) -> Value {
    let words = |value: &Value| value.as_str().filter(|text| !text.is_empty()).map(str::to_owned);
    let phase = words(&pod["status"]["phase"]).unwrap_or_default();
    let mut reason = words(&pod["status"]["reason"]).unwrap_or(phase);
    for condition in list(pod, "status", "conditions") {
        if condition["type"] == "PodScheduled" && condition["reason"] == "SchedulingGated" {
            reason = "SchedulingGated".into();
        }
    }
    let total = list(pod, "spec", "initContainers").count();
    let mut initializing = false;
    for (index, container) in list(pod, "status", "initContainerStatuses").enumerate() {
        let state = &container["state"];
        let terminated = state.get("terminated");
        if terminated.is_some_and(|terminated| terminated["exitCode"].as_i64().unwrap_or_default() == 0)
            || (is_sidecar(pod, container) && container["started"] == true)
        {
            continue;
        }
        reason = match (terminated, words(&state["waiting"]["reason"])) {
            (Some(terminated), _) => format!("Init:{}", ended(terminated)),
            (None, Some(waiting)) if waiting != "PodInitializing" => format!("Init:{waiting}"),
            _ => format!("Init:{index}/{total}"),
        };
        initializing = true;
        break;
    }
    if !initializing {
        let mut running = false;
        for container in list(pod, "status", "containerStatuses")
            .collect::<Vec<_>>()
            .into_iter()
            .rev()
        {
            let state = &container["state"];
            if let Some(waiting) = words(&state["waiting"]["reason"]) {
                reason = waiting;
            } else if let Some(terminated) = state.get("terminated") {
                reason = ended(terminated);
            } else if container["ready"] == true && state.get("running").is_some() {
                running = true;
            }
        }
        if reason == "Completed" && running {
            let ready =
                list(pod, "status", "conditions").any(|each| each["type"] == "Ready" && each["status"] == "True");
            reason = if ready { "Running" } else { "NotReady" }.into();
        }
    }
    if pod["metadata"].get("deletionTimestamp").is_some() {
        reason = match pod["status"]["reason"].as_str() {
            Some("NodeLost") => "Unknown".into(),
            _ if matches!(pod["status"]["phase"].as_str(), Some("Failed" | "Succeeded")) => reason,
            _ => "Terminating".into(),
        };
    }
    text(reason)
}

fn ended(terminated: &Value) -> String {
    let code = |field: &str| terminated[field].as_i64().unwrap_or_default();
    match terminated["reason"].as_str().filter(|text| !text.is_empty()) {
        Some(reason) => reason.into(),
        None if code("signal") != 0 => format!("Signal:{}", code("signal")),
        None => format!("ExitCode:{}", code("exitCode")),
    }
}

pub(super) fn restarts(pod: &Value, now: Timestamp) -> Value {
    let statuses = list(pod, "status", "containerStatuses")
        .chain(list(pod, "status", "initContainerStatuses").filter(|status| is_sidecar(pod, status)));
    let (mut count, mut last) = (0, None);
    for status in statuses {
        count += status["restartCount"].as_i64().unwrap_or_default();
        let ended = &status["lastState"]["terminated"]["finishedAt"];
        if let Some(time) = ended.as_str()
            && last.is_none_or(|(earlier, _)| earlier < time)
        {
            last = Some((time, ended));
        }
    }
    match last {
        Some((_, ended)) if count != 0 => text(format!("{count} ({} ago)", age(ended, now))),
        _ => text(count.to_string()),
    }
}

pub(super) fn readiness_gates(pod: &Value, _: Timestamp) -> Value {
    let gates: Vec<_> = list(pod, "spec", "readinessGates").collect();
    if gates.is_empty() {
        return json!("<none>");
    }
    let open = gates.iter().filter(|gate| {
        list(pod, "status", "conditions").any(|each| each["type"] == gate["conditionType"] && each["status"] == "True")
    });
    text(format!("{}/{}", open.count(), gates.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status_of(spec: &Value, status: &Value) -> Value {
        super::status(
            &json!({"spec": spec, "status": status, "metadata": {}}),
            Timestamp::UNIX_EPOCH,
        )
    }

    #[test]
    fn the_status_is_what_matters_most() {
        let waiting = json!({"state": {"waiting": {"reason": "CrashLoopBackOff"}}});
        let running = json!({"ready": true, "state": {"running": {}}});
        let done = json!({"state": {"terminated": {"exitCode": 0, "reason": "Completed"}}});
        let killed = json!({"state": {"terminated": {"exitCode": 137, "signal": 9}}});
        assert_eq!(status_of(&json!({}), &json!({"phase": "Pending"})), "Pending");
        let of = |statuses: Value| status_of(&json!({}), &json!({"phase": "Running", "containerStatuses": statuses}));
        assert_eq!(of(json!([waiting])), "CrashLoopBackOff");
        assert_eq!(of(json!([running])), "Running");
        assert_eq!(of(json!([done, running])), "NotReady");
        assert_eq!(of(json!([killed])), "Signal:9");
        let init = json!({"phase": "Pending", "initContainerStatuses": [done, waiting]});
        assert_eq!(status_of(&json!({}), &init), "Init:CrashLoopBackOff");
        let init = json!({"phase": "Pending", "initContainerStatuses": [done, running]});
        assert_eq!(status_of(&json!({"initContainers": [{}, {}]}), &init), "Init:1/2");
    }

    #[test]
    fn restarts_tell_the_last_one() {
        let now = "2020-01-01T00:01:00Z".parse().unwrap();
        let last = json!({"terminated": {"finishedAt": "2020-01-01T00:00:30Z"}});
        let pod =
            json!({"status": {"containerStatuses": [{"restartCount": 2, "lastState": last}, {"restartCount": 1}]}});
        assert_eq!(restarts(&pod, now), "3 (30s ago)");
        assert_eq!(restarts(&json!({}), now), "0");
    }
}
