//! How long a pod is given to end.

use std::time::Duration;

use crate::model::{Operator, Optional, Resource, unset};
use crate::render::yaml::Yaml;

/// What Kubernetes gives by itself.
const LEAST: u64 = 30;

/// For handlers that are running, and for what is said at last.
const MARGIN: u64 = 10;

/// What the runtime waits for tasks without a limit of their own.
const EXIT_TIMEOUT: Duration = Duration::from_secs(10);

/// The grace period in seconds, with a comment where it is more than usual.
pub(super) fn period(operator: &Operator) -> Yaml {
    let exit = operator.settings.queueing.exit_timeout.unwrap_or(EXIT_TIMEOUT);
    let slowest = slowest(operator).filter(|(_, takes)| *takes > exit);
    let longest = slowest.as_ref().map_or(exit, |(_, takes)| *takes);
    let seconds = (whole_seconds(longest) + MARGIN).max(LEAST);
    let number = Yaml::from(i64::try_from(seconds).unwrap_or(i64::MAX));
    if seconds == LEAST {
        return number;
    }
    let takes = whole_seconds(longest);
    let why = match slowest {
        Some((task, _)) => format!("{task} may take {takes} s to end"),
        None => format!("`settings.queueing.exitTimeout` is {takes} s"),
    };
    number.comment(format!("{why}; {MARGIN} s more are for running handlers"))
}

/// The task that may take longest to end, as long as nobody sets a variable.
fn slowest(operator: &Operator) -> Option<(String, Duration)> {
    let lives = operator.resources.iter().flat_map(Resource::lives);
    let tasks = lives.map(|(entry, life)| {
        let takes = span(&life.cancellation_backoff, &life.cancellation_timeout);
        (format!("`{}`", entry.id), takes)
    });
    // The first of those that are equally slow.
    tasks.reduce(|one, other| if other.1 > one.1 { other } else { one })
}

#[expect(clippy::ref_option, reason = "options are asked where they stand")]
fn span(backoff: &Optional<Duration>, timeout: &Optional<Duration>) -> Duration {
    unset(backoff).unwrap_or_default() + unset(timeout).unwrap_or_default()
}

fn whole_seconds(time: Duration) -> u64 {
    time.as_secs() + u64::from(time.subsec_nanos() > 0)
}

#[cfg(test)]
mod tests {
    fn line(settings: &str, timers: &str) -> String {
        let spec = format!(
            "apiVersion: kopf-gen.dev/v1alpha1\nkind: OperatorSpec\nmetadata: {{name: op}}\nsettings: {{{settings}}}\n\
             resources:\n- apiVersion: demo.example.com/v1\n  kind: Cart\n  spec: {{size: integer}}\n  timers:\n  \
             - {{fn: look, interval: 1s{timers}}}\n"
        );
        let generated = crate::generate("operator.yaml", &spec, &crate::Options::default());
        let files = generated.unwrap_or_else(|faults| panic!("{faults}")).files;
        let manifest = &files
            .get("deploy/operator/deployment.yaml")
            .expect("it is there")
            .contents;
        let at = manifest.find("terminationGracePeriodSeconds").expect("it is set");
        let lines: Vec<&str> = manifest[..at].lines().rev().skip(1).take(1).collect();
        let comment = lines.into_iter().find(|line| line.trim_start().starts_with('#'));
        let value = manifest[at..].lines().next().unwrap_or_default();
        format!("{value}{}", comment.map_or("", str::trim_start))
    }

    #[test]
    fn the_slowest_task_and_some_seconds_fit_into_the_grace_period() {
        let key = "terminationGracePeriodSeconds:";
        for (settings, timers, expected) in [
            ("", "", "30".to_owned()),
            (
                "",
                ", cancellationBackoff: 5s, cancellationTimeout: 15s",
                "30".to_owned(),
            ),
            (
                "",
                ", cancellationBackoff: 5s, cancellationTimeout: 15500ms",
                "31# `look` may take 21 s to end; 10 s more are for running handlers".to_owned(),
            ),
            (
                "",
                ", id: eye, cancellationTimeout: {env: WAIT, default: 1m}",
                "70# `eye` may take 60 s to end; 10 s more are for running handlers".to_owned(),
            ),
            ("", ", cancellationTimeout: {env: WAIT}", "30".to_owned()),
            (
                "queueing: {exitTimeout: 45s}",
                ", cancellationTimeout: 40s",
                "55# `settings.queueing.exitTimeout` is 45 s; 10 s more are for running handlers".to_owned(),
            ),
        ] {
            assert_eq!(
                line(settings, timers),
                format!("{key} {expected}"),
                "{settings}{timers}"
            );
        }
    }
}
