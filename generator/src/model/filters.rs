//! Which objects and changes an entry is for.

use serde_json::Value;

/// All criteria of an entry; they are joined with AND.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Filters {
    /// On `metadata.labels`, sorted by key.
    pub labels: Vec<(String, Criterion)>,
    /// On `metadata.annotations`, sorted by key.
    pub annotations: Vec<(String, Criterion)>,
    /// On the value of `field`.
    pub value: Option<Criterion>,
    /// On the value that `field` had.
    pub old: Option<Criterion>,
    /// On the value that `field` has now.
    pub new: Option<Criterion>,
    /// On the whole object.
    pub when: Option<Condition>,
}

impl Filters {
    pub(super) fn needed_variables(&self) -> impl Iterator<Item = &str> {
        let texts = self.labels.iter().chain(&self.annotations);
        texts.filter_map(|(_, criterion)| match criterion {
            Criterion::Environment { name, default: None } => Some(name.as_str()),
            _ => None,
        })
    }

    /// The functions that it asks.
    #[must_use]
    pub fn functions(&self) -> Vec<&str> {
        let texts = self
            .labels
            .iter()
            .chain(&self.annotations)
            .map(|(_, criterion)| criterion);
        let values = [&self.value, &self.old, &self.new].into_iter().flatten();
        let mut functions: Vec<&str> = texts
            .chain(values)
            .filter_map(|criterion| match criterion {
                Criterion::By(function) => Some(function.as_str()),
                _ => None,
            })
            .collect();
        if let Some(condition) = &self.when {
            condition.collect(&mut functions);
        }
        functions
    }
}

/// What a label, an annotation or a field must be.
#[derive(Clone, Debug, PartialEq)]
pub enum Criterion {
    /// Exactly this; a text for labels and annotations.
    Equals(Value),
    /// The text of an environment variable, or of its default; for labels and annotations only.
    Environment {
        /// The variable.
        name: String,
        /// What is taken if it is not set.
        default: Option<String>,
    },
    /// Any value.
    Present,
    /// None.
    Absent,
    /// Whatever this function of the author's accepts.
    By(String),
}

/// What an object must be like.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Condition {
    /// This function of the author's accepts it.
    By(String),
    /// This CEL expression is true.
    Cel(String),
    /// All of them hold.
    All(Vec<Condition>),
    /// At least one of them holds.
    Any(Vec<Condition>),
    /// None of them holds.
    None(Vec<Condition>),
    /// It does not hold.
    Not(Box<Condition>),
}

impl Condition {
    /// Whether a part of it is a CEL expression.
    #[must_use]
    pub fn has_cel(&self) -> bool {
        match self {
            Self::By(_) => false,
            Self::Cel(_) => true,
            Self::All(parts) | Self::Any(parts) | Self::None(parts) => parts.iter().any(Self::has_cel),
            Self::Not(part) => part.has_cel(),
        }
    }

    fn collect<'c>(&'c self, functions: &mut Vec<&'c str>) {
        match self {
            Self::By(function) => functions.push(function),
            Self::Cel(_) => {}
            Self::All(parts) | Self::Any(parts) | Self::None(parts) => {
                for part in parts {
                    part.collect(functions);
                }
            }
            Self::Not(part) => part.collect(functions),
        }
    }
}

/// The argument of a function that an option names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HelperArgument {
    /// `Filter<K>`: the whole object.
    Filter,
    /// `ValueFilter`: one value.
    Value,
    /// `Delay<K>`: the whole object, about to be looked after.
    Delay,
}

/// A function that the author writes to decide on an option: whether objects or values are accepted, or how long to wait.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Helper {
    /// Its identifier.
    pub name: String,
    /// What it is asked about.
    pub argument: HelperArgument,
}
