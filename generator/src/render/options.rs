//! What follows `|o| o` in the registry: the options of entries as calls of the runtime's builders.

use std::time::Duration;

use serde_json::{Number, Value};

use super::registry::literal;
use super::scope::Scope;
use crate::model::{
    Backoff, ChangeType, Condition, Configured, Criterion, Daemon, Entry, ErrorsMode, Filters, Handler, HandlerType,
    Index, InitialDelay, Life, Limits, OnPermanent, Optional, Restart, SubHandler, Timer,
};

/// The options of a change or raw-event handler.
pub(super) fn of_handler(handler: &Handler, scope: &mut Scope) -> Vec<String> {
    let mut options = Options::new(scope);
    options.begin(&handler.entry);
    options.limits(&handler.entry.limits);
    // A field handler has its field as an argument.
    if handler.handler_type != HandlerType::Change(ChangeType::Field) {
        options.field(handler.entry.field.as_deref());
    }
    options.filters(&handler.entry.filters);
    options.configured("optional", &handler.optional, flag);
    options.configured("deleted", &handler.deleted, flag);
    options.configured("covers_downtime", &handler.covers_downtime, flag);
    options.calls
}

/// The options of a sub-handler, but for sub-handlers of its own.
pub(super) fn of_sub_handler(sub: &SubHandler, scope: &mut Scope) -> Vec<String> {
    let mut options = Options::new(scope);
    options.begin(&sub.entry);
    options.usual(&sub.entry);
    options.calls
}

/// The options of a timer.
pub(super) fn of_timer(timer: &Timer, scope: &mut Scope) -> Vec<String> {
    let mut options = Options::new(scope);
    options.begin(&timer.entry);
    options.configured("interval", &timer.interval, time);
    options.configured("idle", &timer.idle, time);
    options.configured("sharp", &timer.sharp, flag);
    options.configured("on_permanent", &timer.on_permanent, |choice, scope| {
        let choice = match choice {
            OnPermanent::Continue => "Continue",
            OnPermanent::Stop => "Stop",
        };
        format!("{}::{choice}", scope.runtime("OnPermanent"))
    });
    options.beginning(&timer.life);
    options.usual(&timer.entry);
    options.end(&timer.life);
    options.calls
}

/// The options of a daemon.
pub(super) fn of_daemon(daemon: &Daemon, scope: &mut Scope) -> Vec<String> {
    let mut options = Options::new(scope);
    options.begin(&daemon.entry);
    options.beginning(&daemon.life);
    options.configured("restart", &daemon.restart, |choice, scope| {
        let choice = match choice {
            Restart::Never => "Never",
            Restart::OnFailure => "OnFailure",
            Restart::Always => "Always",
        };
        format!("{}::{choice}", scope.runtime("Restart"))
    });
    options.usual(&daemon.entry);
    options.end(&daemon.life);
    options.calls
}

/// The options of an index.
pub(super) fn of_index(index: &Index, scope: &mut Scope) -> Vec<String> {
    let mut options = Options::new(scope);
    options.begin(&index.entry);
    options.usual(&index.entry);
    options.calls
}

struct Options<'s> {
    scope: &'s mut Scope,
    calls: Vec<String>,
}

impl<'s> Options<'s> {
    fn new(scope: &'s mut Scope) -> Self {
        Self {
            scope,
            calls: Vec::new(),
        }
    }

    fn call(&mut self, method: &str, argument: &str) {
        self.calls.push(format!(".{method}({argument})"));
    }

    /// What comes first for all entries.
    fn begin(&mut self, entry: &Entry) {
        self.configured("enabled", &entry.enabled, flag);
        self.param(entry.param.as_ref());
    }

    /// Limits, field and filters.
    fn usual(&mut self, entry: &Entry) {
        self.limits(&entry.limits);
        self.field(entry.field.as_deref());
        self.filters(&entry.filters);
    }

    fn beginning(&mut self, life: &Life) {
        let argument = match &life.initial_delay {
            None => return,
            Some(InitialDelay::Fixed(delay)) => configured(delay, time, self.scope),
            Some(InitialDelay::UpTo(delay)) => {
                let delay = configured(delay, time, self.scope);
                format!("{}::up_to({delay})", self.scope.runtime("InitialDelay"))
            }
            Some(InitialDelay::By(function)) => format!("{}::by({function})", self.scope.runtime("InitialDelay")),
        };
        self.call("initial_delay", &argument);
    }

    fn end(&mut self, life: &Life) {
        self.configured("optional", &life.optional, flag);
        self.configured("cancellation_backoff", &life.cancellation_backoff, time);
        self.configured("cancellation_timeout", &life.cancellation_timeout, time);
        self.configured("cancellation_polling", &life.cancellation_polling, time);
    }

    #[expect(clippy::ref_option, reason = "options are asked where they stand")]
    fn configured<T>(&mut self, method: &str, option: &Optional<T>, show: fn(&T, &mut Scope) -> String) {
        if let Some(option) = option {
            let argument = configured(option, show, self.scope);
            self.call(method, &argument);
        }
    }

    fn param(&mut self, param: Option<&Value>) {
        // Null is what functions get without it.
        if let Some(param) = param.filter(|param| !param.is_null()) {
            self.call("param", &value(param));
        }
    }

    fn limits(&mut self, limits: &Limits) {
        self.configured("retries", &limits.retries, |count, _| count.to_string());
        self.configured("timeout", &limits.timeout, time);
        self.configured("interrupt", &limits.interrupt, flag);
        match &limits.backoff {
            None => {}
            Some(Backoff::Fixed(wait)) => {
                let argument = configured(wait, time, self.scope);
                self.call("backoff", &argument);
            }
            Some(Backoff::Growing { initial, max, jitter }) => {
                let backoff = self.scope.runtime("Backoff");
                let (initial, max) = (time(initial, self.scope), time(max, self.scope));
                let jitter = jitter.map_or_else(String::new, |part| format!(".jitter({part:?})"));
                self.call("backoff", &format!("{backoff}::exponential({initial}, {max}){jitter}"));
            }
        }
        self.configured("errors", &limits.errors, |mode, scope| {
            let mode = match mode {
                ErrorsMode::Temporary => "Temporary",
                ErrorsMode::Permanent => "Permanent",
                ErrorsMode::Ignored => "Ignored",
            };
            format!("{}::{mode}", scope.runtime("ErrorsMode"))
        });
    }

    fn field(&mut self, field: Option<&[String]>) {
        if let Some(field) = field {
            self.call("field", &field_path(field));
        }
    }

    fn filters(&mut self, filters: &Filters) {
        for (method, criterion) in [("value", &filters.value), ("old", &filters.old), ("new", &filters.new)] {
            if let Some(criterion) = criterion {
                let argument = self.criterion(criterion);
                self.call(method, &argument);
            }
        }
        for (method, criteria) in [("label", &filters.labels), ("annotation", &filters.annotations)] {
            for (key, criterion) in criteria {
                let argument = self.criterion(criterion);
                self.call(method, &format!("{}, {argument}", literal(key)));
            }
        }
        if let Some(condition) = &filters.when {
            let argument = match condition {
                Condition::By(function) => function.clone(),
                condition => self.condition(condition),
            };
            self.call("when", &argument);
        }
    }

    fn criterion(&mut self, criterion: &Criterion) -> String {
        match criterion {
            Criterion::Equals(wanted @ (Value::Array(_) | Value::Object(_) | Value::Null)) => {
                format!("{}({})", self.scope.runtime("equals"), value(wanted))
            }
            Criterion::Equals(wanted) => value(wanted),
            Criterion::Environment { name, default } => {
                let variable = Configured::Environment {
                    name: name.clone(),
                    default: default.clone(),
                };
                configured(&variable, |text, _| format!("{}.to_owned()", literal(text)), self.scope)
            }
            Criterion::Present => self.scope.runtime("PRESENT"),
            Criterion::Absent => self.scope.runtime("ABSENT"),
            Criterion::By(function) => format!("{}({function})", self.scope.runtime("by")),
        }
    }

    fn condition(&mut self, condition: &Condition) -> String {
        let (name, arguments) = match condition {
            Condition::By(function) => return format!("{}::from({function})", self.scope.runtime("Condition")),
            Condition::Cel(expression) => ("cel", literal(expression)),
            Condition::All(parts) => ("all", self.conditions(parts)),
            Condition::Any(parts) => ("any", self.conditions(parts)),
            Condition::None(parts) => ("none", self.conditions(parts)),
            Condition::Not(part) => ("not", self.condition(part)),
        };
        format!("{}({arguments})", self.scope.name("kopf_runtime::filters", name))
    }

    fn conditions(&mut self, parts: &[Condition]) -> String {
        let parts: Vec<_> = parts.iter().map(|part| self.condition(part)).collect();
        format!("[{}]", parts.join(", "))
    }
}

fn configured<T>(option: &Configured<T>, show: fn(&T, &mut Scope) -> String, scope: &mut Scope) -> String {
    match option {
        Configured::Plain(value) => show(value, scope),
        Configured::Environment { name, default: None } => format!("{}({})", scope.runtime("env"), literal(name)),
        Configured::Environment {
            name,
            default: Some(default),
        } => {
            let default = show(default, scope);
            format!("{}({}, {default})", scope.runtime("env_or"), literal(name))
        }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "like the other values that are shown")]
fn flag(flag: &bool, _: &mut Scope) -> String {
    flag.to_string()
}

/// As a call of the runtime: `secs(15)`.
pub(super) fn time(time: &Duration, scope: &mut Scope) -> String {
    let (unit, count) = in_largest_unit(*time);
    format!("{}({count})", scope.runtime(unit))
}

/// `millis` is the finest that the format knows.
fn in_largest_unit(duration: Duration) -> (&'static str, u128) {
    let millis = duration.as_millis();
    let units = [("hours", 3_600_000), ("mins", 60_000), ("secs", 1000)];
    match units
        .into_iter()
        .find(|(_, length)| millis > 0 && millis.is_multiple_of(*length))
    {
        Some((unit, length)) => (unit, millis / length),
        None if millis == 0 => ("secs", 0),
        None => ("millis", millis),
    }
}

/// Dotted, or key by key where a key has a dot of its own.
pub(super) fn field_path(keys: &[String]) -> String {
    if keys.iter().any(|key| key.contains('.')) {
        let keys: Vec<_> = keys.iter().map(|key| literal(key)).collect();
        return format!("[{}]", keys.join(", "));
    }
    literal(&keys.join("."))
}

/// A literal where one is enough, and `json!` else.
fn value(value: &Value) -> String {
    match value {
        Value::Null => "serde_json::Value::Null".to_owned(),
        Value::Array(_) | Value::Object(_) => format!("serde_json::json!({})", json(value)),
        single => json(single),
    }
}

fn json(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(flag) => flag.to_string(),
        Value::Number(number) => self::number(number),
        Value::String(text) => literal(text),
        Value::Array(items) => format!("[{}]", items.iter().map(json).collect::<Vec<_>>().join(", ")),
        Value::Object(entries) => {
            let pairs = entries
                .iter()
                .map(|(key, value)| format!("{}: {}", literal(key), json(value)));
            format!("{{{}}}", pairs.collect::<Vec<_>>().join(", "))
        }
    }
}

/// Says its type where it is larger than what a plain number is taken for.
fn number(number: &Number) -> String {
    match (number.as_i64(), number.as_u64(), number.as_f64()) {
        (Some(number), _, _) if i32::try_from(number).is_ok() => number.to_string(),
        (Some(number), _, _) => format!("{number}_i64"),
        (None, Some(number), _) => format!("{number}_u64"),
        (None, None, number) => format!("{:?}", number.unwrap_or_default()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_are_rust() {
        for (given, rust) in [
            (json!("a \"b\""), r#""a \"b\"""#),
            (json!(3), "3"),
            (json!(5_000_000_000_i64), "5000000000_i64"),
            (json!(u64::MAX), "18446744073709551615_u64"),
            (json!(1.0), "1.0"),
            (json!(true), "true"),
            (
                json!(["a", null, {"b": 1}]),
                r#"serde_json::json!(["a", null, {"b": 1}])"#,
            ),
        ] {
            assert_eq!(value(&given), rust);
            assert!(syn::parse_str::<syn::Expr>(rust).is_ok(), "{rust}");
        }
    }
}
