//! What one value must be: a label, an annotation, a field (F-2, F-5 to F-12).

use std::fmt;
use std::sync::Arc;

use serde_json::Value;

use super::filters::{Combine, Joint};
use crate::configured::{Configured, Reading};
use crate::structs::bodies::Body;
use crate::structs::diffs::equal;

/// What a label, an annotation or a field must be.
///
/// A plain value means just this value: numbers are compared as numbers, so 1 is 1.0, but `true` is not 1, and lists
/// are compared as a whole (F-12). A text may come from the environment, by [`env`](crate::env()). Besides there are
/// [`PRESENT`], [`ABSENT`], functions by [`by`], and combinations
/// of all these by [`all`](crate::filters::all), [`any`](crate::filters::any), [`none`](crate::filters::none) and
/// [`not`](crate::filters::not).
///
/// ```
/// use kopf_runtime::{ABSENT, Criterion, PRESENT, ValueFilter, by, filters};
///
/// fn is_big(filter: ValueFilter<'_>) -> bool {
///     filter.value.and_then(|value| value.as_i64()).is_some_and(|size| size > 100)
/// }
///
/// let small = filters::not(by(is_big));
/// let usual = filters::any([Criterion::from("medium"), ABSENT]);
/// ```
#[derive(Clone)]
pub struct Criterion(Test);

#[derive(Clone)]
enum Test {
    Equals(Value),
    /// A text that is read when the operator starts.
    Configured(Configured<String>),
    Present,
    Absent,
    By(Arc<dyn Fn(ValueFilter<'_>) -> bool + Send + Sync>),
    Joint(Joint, Vec<Criterion>),
}

/// There is a value, whatever it is; an empty text is one (F-3).
pub const PRESENT: Criterion = Criterion(Test::Present);

/// There is no value, or null, which is the same.
pub const ABSENT: Criterion = Criterion(Test::Absent);

/// Just this value (F-12).
pub fn equals(value: impl Into<Value>) -> Criterion {
    Criterion(Test::Equals(value.into()))
}

/// Whatever the function accepts; it is also asked about values that are absent (F-2, F-8).
///
/// The function is asked in every cycle of an object, so it must be quick and must not change anything (F-14). One
/// that panics fails its handler, as an error of the handler itself would (F-15).
pub fn by(function: impl Fn(ValueFilter<'_>) -> bool + Send + Sync + 'static) -> Criterion {
    Criterion(Test::By(Arc::new(function)))
}

macro_rules! criterion_from {
    ($($from:ty),*) => {$(
        impl From<$from> for Criterion {
            fn from(value: $from) -> Self {
                equals(value)
            }
        }
    )*};
}
impl From<Configured<String>> for Criterion {
    fn from(text: Configured<String>) -> Self {
        Self(Test::Configured(text))
    }
}

criterion_from!(&str, String, bool, i32, i64, u32, u64, f64, Value);

/// What the function of a criterion is asked about.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct ValueFilter<'a> {
    /// The value of the label, annotation or field; `None` if it is absent or null.
    pub value: Option<&'a Value>,
    /// `.metadata.name` of the object.
    pub name: &'a str,
    /// `.metadata.namespace` of the object; `None` for cluster-scoped objects.
    pub namespace: Option<&'a str>,
    /// The whole object as it is now.
    pub body: &'a Body,
}

impl<'a> ValueFilter<'a> {
    fn new(value: Option<&'a Value>, body: &'a Body) -> Self {
        Self {
            value: value.filter(|value| !value.is_null()),
            name: body.name().unwrap_or_default(),
            namespace: body.namespace(),
            body,
        }
    }
}

impl ValueFilter<'static> {
    /// The question about this value of this object; null is an absent value.
    ///
    /// Both are kept until the test program ends, so that they can be borrowed.
    #[must_use]
    pub fn for_test(value: impl Into<Value>, object: impl Into<Value>) -> Self {
        let value: &'static Value = Box::leak(Box::new(value.into()));
        Self::new(Some(value), Box::leak(Box::new(Body::new(object.into()))))
    }
}

impl Criterion {
    /// Whether the value is as it must be. Functions may panic.
    pub(super) fn accepts(&self, value: Option<&Value>, body: &Body) -> bool {
        let question = ValueFilter::new(value, body);
        match &self.0 {
            Test::Equals(wanted) => question.value.is_some() && equal(question.value, Some(wanted)),
            // Nothing is asked before it was read.
            Test::Configured(_) => false,
            Test::Present => question.value.is_some(),
            Test::Absent => question.value.is_none(),
            Test::By(function) => function(question),
            Test::Joint(joint, of) => joint.holds(of, |criterion| Ok(criterion.accepts(value, body))) == Ok(true),
        }
    }

    /// Takes the texts from the environment; `option` names the option in what is wrong with them.
    pub(super) fn read(self, option: &str, reading: &mut Reading<'_>) -> Self {
        Self(match self.0 {
            Test::Configured(text) => match reading.value(option, &text) {
                Some(text) => Test::Equals(text.into()),
                None => Test::Configured(text),
            },
            Test::Joint(joint, of) => Test::Joint(
                joint,
                of.into_iter()
                    .map(|criterion| criterion.read(option, reading))
                    .collect(),
            ),
            other => other,
        })
    }

    /// The first value that this can never be, if there is one: null, and anything but texts if it is about `texts`.
    pub(super) fn impossible(&self, texts: bool) -> Option<&Value> {
        match &self.0 {
            Test::Equals(wanted) => Some(wanted).filter(|wanted| wanted.is_null() || (texts && !wanted.is_string())),
            Test::Configured(_) | Test::Present | Test::Absent | Test::By(_) => None,
            Test::Joint(_, of) => of.iter().find_map(|criterion| criterion.impossible(texts)),
        }
    }
}

impl Combine for Criterion {
    fn join(joint: Joint, of: Vec<Self>) -> Self {
        Self(Test::Joint(joint, of))
    }
}

impl fmt::Debug for Criterion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Test::Equals(value) => write!(f, "equals({value})"),
            Test::Configured(text) => text.fmt(f),
            Test::Present => f.write_str("PRESENT"),
            Test::Absent => f.write_str("ABSENT"),
            Test::By(_) => f.write_str("by(..)"),
            Test::Joint(joint, of) => write!(f, "{joint:?}({of:?})"),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::intents::filters::{all, any, none, not};

    fn accepts(criterion: impl Into<Criterion>, value: &Value) -> bool {
        let body = Body::new(json!({"metadata": {"name": "n", "namespace": "ns"}}));
        criterion.into().accepts(Some(value), &body)
    }

    // F-12
    #[test]
    fn values_are_compared_as_json_and_numbers_as_numbers() {
        assert!(accepts(1, &json!(1)) && accepts(1, &json!(1.0)) && accepts(1.0, &json!(1)));
        assert!(!accepts(1, &json!(true)) && !accepts(true, &json!(1)) && !accepts(1, &json!("1")));
        assert!(accepts(u64::MAX, &json!(u64::MAX)) && !accepts(u64::MAX, &json!(u64::MAX - 1)));
        assert!(accepts(json!([1, {"a": 2}]), &json!([1.0, {"a": 2, "b": null}])));
        assert!(!accepts(json!([1, 2]), &json!([2, 1])), "lists are compared as a whole");
        assert!(!accepts(json!([1]), &json!([1, 2])));
    }

    // F-2, F-3
    #[test]
    fn an_empty_value_is_present_and_null_is_not() {
        for empty in [json!(""), json!(0), json!(false), json!([]), json!({})] {
            assert!(accepts(PRESENT, &empty) && !accepts(ABSENT, &empty), "{empty}");
        }
        assert!(!accepts(PRESENT, &Value::Null) && accepts(ABSENT, &Value::Null));
        assert!(accepts("", &json!("")) && !accepts("", &Value::Null));
    }

    // F-2, F-8: Kopf passes an object of its own where a field is absent.
    #[test]
    fn functions_are_asked_about_absent_values_too_and_they_are_none() {
        let absent = || by(|question| question.value.is_none());
        assert!(accepts(absent(), &Value::Null));
        assert!(absent().accepts(None, &Body::new(json!({}))));
        assert!(!accepts(absent(), &json!("")));
        let here = by(|question| (question.name, question.namespace) == ("n", Some("ns")));
        assert!(accepts(here, &json!(1)));
    }

    // F-16
    #[test]
    fn combinations_of_criteria() {
        for (values, [of_all, of_any, of_none]) in [
            (vec![], [true, false, true]),
            (vec![true], [true, true, false]),
            (vec![false], [false, false, true]),
            (vec![true, true], [true, true, false]),
            (vec![true, false], [false, true, false]),
            (vec![false, false], [false, false, true]),
        ] {
            let criteria = || values.iter().map(|&value| by(move |_| value)).collect::<Vec<_>>();
            let answers = [all(criteria()), any(criteria()), none(criteria())].map(|it| accepts(it, &json!(1)));
            assert_eq!(answers, [of_all, of_any, of_none], "{values:?}");
        }
        assert!(accepts(not(ABSENT), &json!(1)) && !accepts(not(PRESENT), &json!(1)));
        assert!(accepts(any([Criterion::from("a"), not(any([PRESENT]))]), &Value::Null));
    }

    // H-14
    #[test]
    fn what_no_value_can_be_is_found_wherever_it_stands() {
        assert_eq!(equals(Value::Null).impossible(false), Some(&Value::Null));
        assert_eq!(Criterion::from(f64::NAN).impossible(false), Some(&Value::Null));
        assert_eq!(Criterion::from(3).impossible(false), None);
        assert_eq!(
            any([PRESENT, not(Criterion::from(3))]).impossible(true),
            Some(&json!(3))
        );
        assert_eq!(any([PRESENT, ABSENT, "3".into(), by(|_| true)]).impossible(true), None);
    }

    #[test]
    fn a_test_asks_with_what_it_has() {
        let question = ValueFilter::for_test("x", json!({"metadata": {"name": "n"}}));
        assert_eq!((question.value, question.name), (Some(&json!("x")), "n"));
        assert_eq!(ValueFilter::for_test(Value::Null, json!({})).value, None);
    }
}
