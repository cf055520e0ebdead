//! Entries of `timers` and `daemons`.

use super::Faults;
use super::entries::{self, PICK_OBJECTS, full_id, marks_all};
use super::options::plain;
use crate::diagnostic::{Code, Diagnostic};
use crate::model::{Configured, Daemon, Life, Timer};
use crate::spec::{DaemonSpec, EntrySpec, LifeSpec, TimerSpec};

pub(super) fn timer(spec: &TimerSpec, builtin: bool, faults: &mut Faults) -> Timer {
    let entry = &spec.entry;
    let lowered = entries::entry(entry, full_id(entry), faults);
    if spec.interval.is_none() && spec.idle.is_none() {
        let message = format!("timer `{}` has neither `interval` nor `idle`", entry.function.value);
        let fault = Diagnostic::error(Code::TimerWithoutClock, entry.function.span, message);
        faults.push(fault.help("write interval: 60s, or idle: 10m for one call after each pause"));
    }
    if builtin {
        check_marks(entry, "timer", faults);
    }
    Timer {
        entry: lowered,
        interval: plain(&spec.interval),
        idle: plain(&spec.idle),
        sharp: plain(&spec.sharp),
        on_permanent: plain(&spec.on_permanent),
        life: life(&spec.life, entry),
    }
}

pub(super) fn daemon(spec: &DaemonSpec, builtin: bool, faults: &mut Faults) -> Daemon {
    let entry = &spec.entry;
    let lowered = entries::entry(entry, full_id(entry), faults);
    if builtin {
        check_marks(entry, "daemon", faults);
    }
    let daemon = Daemon {
        entry: lowered,
        restart: plain(&spec.restart),
        life: life(&spec.life, entry),
    };
    let holds_up = daemon.life.optional != Some(Configured::Plain(true));
    let is_off = daemon.entry.enabled == Some(Configured::Plain(false));
    if holds_up && !is_off && daemon.life.cancellation_timeout.is_none() {
        let message = format!("daemon `{}` may hold up the deletion for ever", entry.function.value);
        let fault = Diagnostic::warning(Code::EndlessDaemon, entry.function.span, message);
        faults.push(fault.help("say how long a deletion waits for it: cancellationTimeout: 30s"));
    }
    daemon
}

fn check_marks(entry: &EntrySpec, what: &str, faults: &mut Faults) {
    if marks_all(entry) {
        let message = format!("this {what} puts a finalizer on every object of a built-in kind");
        let fault = Diagnostic::warning(Code::MarksAllObjects, entry.function.span, message);
        faults.push(fault.help(PICK_OBJECTS));
    }
}

fn life(spec: &LifeSpec, entry: &EntrySpec) -> Life {
    Life {
        initial_delay: spec.initial_delay.as_ref().map(|delay| delay.value.clone()),
        optional: plain(&entry.optional),
        cancellation_backoff: plain(&spec.cancellation_backoff),
        cancellation_timeout: plain(&spec.cancellation_timeout),
        cancellation_polling: plain(&spec.cancellation_polling),
    }
}
