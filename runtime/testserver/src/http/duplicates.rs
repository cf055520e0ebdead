//! Fields that a JSON text has twice; as a value it has only the last of them.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// The paths of the fields that come again, in the order of the text.
pub(super) fn duplicates(text: &[u8]) -> Vec<String> {
    let found = RefCell::default();
    let place = Place {
        path: String::new(),
        found: &found,
    };
    // Whatever else is wrong with the text is told when it is read.
    let _ = serde_json::Deserializer::from_slice(text).deserialize_any(place);
    found.into_inner()
}

struct Place<'a> {
    path: String,
    found: &'a RefCell<Vec<String>>,
}

impl Place<'_> {
    fn at(&self, path: String) -> Self {
        Self {
            path,
            found: self.found,
        }
    }
}

impl<'de> DeserializeSeed<'de> for Place<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Place<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("any value")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<(), A::Error> {
        let mut seen = BTreeSet::new();
        while let Some(key) = fields.next_key::<String>()? {
            let path = if self.path.is_empty() {
                key.clone()
            } else {
                format!("{}.{key}", self.path)
            };
            if seen.insert(key) {
                fields.next_value_seed(self.at(path))?;
            } else {
                let mut found = self.found.borrow_mut();
                if !found.contains(&path) {
                    found.push(path);
                }
                drop(found);
                fields.next_value::<IgnoredAny>()?;
            }
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        for index in 0.. {
            if items
                .next_element_seed(self.at(format!("{}[{index}]", self.path)))?
                .is_none()
            {
                break;
            }
        }
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_that_come_again_are_told_once() {
        let text = br#"{"a": 1, "a": 2, "b": [{"c": null, "c": "x", "d": {"e": 1.5, "e": true}}], "a": {"f": 1}}"#;
        assert_eq!(duplicates(text), ["a", "b[0].c", "b[0].d.e"]);
    }

    #[test]
    fn other_texts_have_none() {
        assert_eq!(duplicates(br#"{"a": {"b": 1}, "b": 1}"#), Vec::<String>::new());
        assert_eq!(duplicates(b"a: 1"), Vec::<String>::new());
    }
}
