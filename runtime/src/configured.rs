//! Values of options that are given, or read from the environment when the operator starts.

use std::ffi::OsString;
use std::time::Duration;

/// A value of an option: given in the code, or read from an environment variable.
///
/// All scalar options take one. The variable is read once, when the operator is put together; one that is missing or
/// malformed keeps the operator from starting, before any request is made.
///
/// ```
/// use kopf_runtime::{ChangeOptions, Kind, env, env_or, secs};
///
/// fn options<K: Kind>(o: ChangeOptions<K>) -> ChangeOptions<K> {
///     o.retries(5)                                          // given
///         .timeout(env("FILL_TIMEOUT"))                     // must be set, such as to `90` or `1m30s`
///         .backoff(env_or("FILL_BACKOFF", secs(15)))        // may be set
///         .enabled(env_or("FILL_ENABLED", true))
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Configured<T>(Source<T>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Source<T> {
    Given(T),
    Variable { name: String, default: Option<T> },
}

/// The value of an environment variable, which must be set; an empty text counts as set.
///
/// Texts are taken as they are. Numbers are decimal; switches are `true` or `false`; durations are seconds such as `90`
/// or `1.5`, or have units as in `250ms`, `1m30s`, `2h`; modes of errors are `temporary`, `permanent` or `ignored`.
#[must_use]
pub fn env<T: FromVariable>(name: impl Into<String>) -> Configured<T> {
    Configured(Source::Variable {
        name: name.into(),
        default: None,
    })
}

/// The value of an environment variable, or `default` where it is not set. Texts are read as by [`env`](env()).
#[must_use]
pub fn env_or<T: FromVariable>(name: impl Into<String>, default: T) -> Configured<T> {
    Configured(Source::Variable {
        name: name.into(),
        default: Some(default),
    })
}

impl<T> From<T> for Configured<T> {
    fn from(value: T) -> Self {
        Self(Source::Given(value))
    }
}

impl From<&str> for Configured<String> {
    fn from(value: &str) -> Self {
        value.to_owned().into()
    }
}

/// What can be read from an environment variable.
pub trait FromVariable: Clone {
    /// How such a text looks, for whoever has to mend it.
    #[doc(hidden)]
    const EXPECTED: &'static str;
    /// Reads the text.
    #[doc(hidden)]
    fn from_variable(text: &str) -> Option<Self>;
}

impl FromVariable for bool {
    const EXPECTED: &'static str = "`true` or `false`";

    fn from_variable(text: &str) -> Option<Self> {
        match text {
            "true" | "True" | "TRUE" => Some(true),
            "false" | "False" | "FALSE" => Some(false),
            _ => None,
        }
    }
}

impl FromVariable for u32 {
    const EXPECTED: &'static str = "a whole number that is not negative";

    fn from_variable(text: &str) -> Option<Self> {
        text.parse().ok()
    }
}

impl FromVariable for f64 {
    const EXPECTED: &'static str = "a number";

    fn from_variable(text: &str) -> Option<Self> {
        text.parse().ok().filter(|number: &f64| number.is_finite())
    }
}

impl FromVariable for Duration {
    const EXPECTED: &'static str = "a duration, such as `90` seconds, `1.5`, `250ms` or `1m30s`";

    fn from_variable(text: &str) -> Option<Self> {
        if text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') {
            return Self::try_from_secs_f64(text.parse().ok()?).ok();
        }
        with_units(text)
    }
}

impl FromVariable for String {
    const EXPECTED: &'static str = "a text";

    fn from_variable(text: &str) -> Option<Self> {
        Some(text.to_owned())
    }
}

/// Amounts with units, the largest unit first.
fn with_units(text: &str) -> Option<Duration> {
    let units = [("h", 3600.0), ("ms", 0.001), ("m", 60.0), ("s", 1.0)];
    let (mut rest, mut total, mut last) = (text, Duration::ZERO, f64::INFINITY);
    while !rest.is_empty() {
        let digits = rest.find(|char: char| !char.is_ascii_digit() && char != '.')?;
        let amount: f64 = rest[..digits].parse().ok()?;
        let (unit, seconds) = units.into_iter().find(|(unit, _)| rest[digits..].starts_with(unit))?;
        if seconds >= last {
            return None;
        }
        last = seconds;
        total = total.checked_add(Duration::try_from_secs_f64(amount * seconds).ok()?)?;
        rest = &rest[digits + unit.len()..];
    }
    Some(total)
}

/// Where variables are looked up.
pub(crate) type Variables<'a> = &'a dyn Fn(&str) -> Option<OsString>;

/// The variables of this process.
pub(crate) fn of_process(name: &str) -> Option<OsString> {
    std::env::var_os(name)
}

/// Reads the options of one handler; what is wrong with them is gathered.
pub(crate) struct Reading<'a> {
    handler: &'a str,
    variables: Variables<'a>,
    faults: Vec<String>,
}

impl<'a> Reading<'a> {
    /// Begins with the options of the handler of this id.
    pub(crate) fn of(handler: &'a str, variables: Variables<'a>) -> Self {
        Self {
            handler,
            variables,
            faults: Vec::new(),
        }
    }

    /// The value of an option; `None` if it cannot be read, which is a fault.
    pub(crate) fn value<T: FromVariable>(&mut self, option: &str, value: &Configured<T>) -> Option<T> {
        let (name, default) = match &value.0 {
            Source::Given(value) => return Some(value.clone()),
            Source::Variable { name, default } => (name, default),
        };
        let Some(text) = (self.variables)(name) else {
            if default.is_none() {
                self.wrong_variable::<T>(option, name, "is not set");
            }
            return default.clone();
        };
        let read = text.to_str().and_then(T::from_variable);
        if read.is_none() {
            self.wrong_variable::<T>(option, name, &format!("is `{}`", text.to_string_lossy()));
        }
        read
    }

    /// The value of an option that may be left out.
    pub(crate) fn optional<T: FromVariable>(&mut self, option: &str, value: Option<&Configured<T>>) -> Option<T> {
        value.and_then(|value| self.value(option, value))
    }

    /// Says what is wrong with an option.
    pub(crate) fn fault(&mut self, option: &str, message: &str) {
        self.faults
            .push(format!("the handler `{}`: `{option}` {message}", self.handler));
    }

    fn wrong_variable<T: FromVariable>(&mut self, option: &str, name: &str, state: &str) {
        let message = format!(
            "comes from the environment variable {name}, which {state}; expected {}",
            T::EXPECTED
        );
        self.fault(option, &message);
    }

    /// Reads what belongs to the handler and has a name of its own.
    pub(crate) fn part<T>(&mut self, name: &str, read: impl FnOnce(&mut Reading<'_>) -> T) -> T {
        let mut part = Reading::of(name, self.variables);
        let value = read(&mut part);
        self.faults.extend(part.into_faults());
        value
    }

    /// The handler's id.
    pub(crate) fn handler(&self) -> &str {
        self.handler
    }

    /// All that was wrong.
    pub(crate) fn into_faults(self) -> Vec<String> {
        self.faults
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variables(name: &str) -> Option<OsString> {
        let value = match name {
            "COUNT" => "3",
            "WAIT" => "1m30s",
            "TEXT" => "some text",
            "EMPTY" => "",
            "SWITCH" => "False",
            _ => return None,
        };
        Some(value.into())
    }

    #[test]
    fn a_value_is_given_or_read_or_a_default() {
        let mut reading = Reading::of("fill", &variables);
        assert_eq!(reading.value("retries", &Configured::from(5)), Some(5_u32));
        assert_eq!(reading.value("retries", &env::<u32>("COUNT")), Some(3));
        assert_eq!(reading.value("retries", &env_or("COUNT", 7_u32)), Some(3));
        assert_eq!(reading.value("retries", &env_or("NOTHING", 7_u32)), Some(7));
        assert_eq!(reading.value("timeout", &env("WAIT")), Some(Duration::from_secs(90)));
        assert_eq!(reading.value("enabled", &env("SWITCH")), Some(false));
        assert_eq!(reading.value("value", &env("TEXT")), Some("some text".to_owned()));
        assert_eq!(reading.value("value", &env("EMPTY")), Some(String::new()));
        assert_eq!(reading.into_faults(), Vec::<String>::new());
    }

    #[test]
    fn faults_name_the_handler_the_variable_its_value_and_what_is_expected() {
        let mut reading = Reading::of("fill", &variables);
        assert_eq!(reading.value("retries", &env::<u32>("TEXT")), None);
        assert_eq!(reading.value("timeout", &env::<Duration>("NOTHING")), None);
        assert_eq!(
            reading.value("enabled", &env_or("EMPTY", true)),
            None,
            "malformed is no default"
        );
        assert_eq!(
            reading.into_faults(),
            [
                "the handler `fill`: `retries` comes from the environment variable TEXT, which is `some text`; \
                 expected a whole number that is not negative",
                "the handler `fill`: `timeout` comes from the environment variable NOTHING, which is not set; \
                 expected a duration, such as `90` seconds, `1.5`, `250ms` or `1m30s`",
                "the handler `fill`: `enabled` comes from the environment variable EMPTY, which is ``; \
                 expected `true` or `false`",
            ]
        );
    }

    #[test]
    fn durations_are_seconds_or_have_units_in_falling_order() {
        for (text, milliseconds) in [
            ("90", Some(90_000)),
            ("1.5", Some(1_500)),
            ("0", Some(0)),
            ("250ms", Some(250)),
            ("90s", Some(90_000)),
            ("1m30s", Some(90_000)),
            ("1.5h", Some(5_400_000)),
            ("1h1m1s1ms", Some(3_661_001)),
            ("30s1m", None),
            ("1s1s", None),
            ("1d", None),
            ("s", None),
            ("", None),
            (".", None),
            ("-5", None),
            ("-5s", None),
            ("5 s", None),
            ("1e3", None),
            ("99999999999999999999999", None),
        ] {
            let parsed = Duration::from_variable(text).map(|duration| duration.as_millis());
            assert_eq!(parsed, milliseconds, "{text}");
        }
    }
}
