//! Bodies in protobuf, which kubectl sends for what it makes up itself (`create configmap`, `auth can-i`, ...).
//!
//! Numbers of fields are known for the few kinds of its table alone; whatever else is refused rather than dropped.

mod messages;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

/// What the body of every object begins with.
const MAGIC: &[u8] = b"k8s\0";

/// The fields of a message by their numbers.
struct Message(&'static [(u64, &'static str, Form)]);

/// What a field holds. Those that are written even if they are empty are left out then.
enum Form {
    Text,
    Texts,
    TextMap,
    /// JSON has bytes in base64.
    BytesMap,
    /// A number that is only there if it was set.
    Number,
    /// A number that is always there.
    PlainNumber,
    Flag,
    Part(&'static Message),
    Parts(&'static Message),
}

/// A body as a value, or why it cannot be read.
pub(super) fn decode(body: &[u8]) -> Result<Value, String> {
    let Some(envelope) = body.strip_prefix(MAGIC) else {
        return Err("provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]".into());
    };
    let (mut types, mut raw) = (Map::new(), &[][..]);
    for field in Fields(envelope) {
        match field? {
            (1, Wire::Bytes(bytes)) => types = read(&messages::TYPE_META, bytes)?,
            (2, Wire::Bytes(bytes)) => raw = bytes,
            _ => {}
        }
    }
    let text = |field: &str| types.get(field).and_then(Value::as_str).unwrap_or_default();
    let id = match text("kind") {
        // These belong to every group.
        "DeleteOptions" => "v1 DeleteOptions".to_owned(),
        kind => format!("{} {kind}", text("apiVersion")),
    };
    let Some((_, message)) = messages::KINDS.iter().find(|(known, _)| *known == id) else {
        return Err(format!(
            "the test server does not read {id} in protobuf, only in JSON and YAML"
        ));
    };
    let mut object = read(message, raw)?;
    object.extend(types);
    Ok(Value::Object(object))
}

/// One value as it stands in the bytes.
enum Wire<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

impl Wire<'_> {
    /// Whether a message says nothing by this value: numbers are zero, and what is inside is so too.
    fn is_hollow(&self) -> bool {
        match self {
            Self::Number(number) => *number == 0,
            Self::Bytes(bytes) => Fields(bytes).all(|field| field.is_ok_and(|(_, value)| value.is_hollow())),
        }
    }
}

/// The numbers and values of a message, one after the other.
struct Fields<'a>(&'a [u8]);

impl<'a> Iterator for Fields<'a> {
    type Item = Result<(u64, Wire<'a>), String>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let field = self.field();
        if field.is_none() {
            self.0 = &[];
        }
        Some(field.ok_or_else(|| "the protobuf message is cut off or damaged".to_owned()))
    }
}

impl<'a> Fields<'a> {
    fn field(&mut self) -> Option<(u64, Wire<'a>)> {
        let key = self.varint()?;
        let value = match key & 7 {
            0 => Wire::Number(self.varint()?),
            1 => Wire::Bytes(self.take(8)?),
            2 => {
                let length = usize::try_from(self.varint()?).ok()?;
                Wire::Bytes(self.take(length)?)
            }
            5 => Wire::Bytes(self.take(4)?),
            _ => return None,
        };
        Some((key >> 3, value))
    }

    fn varint(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let [byte] = self.take(1)? else {
                return None;
            };
            number |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(number);
            }
        }
        None
    }

    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }
}

fn read(message: &Message, bytes: &[u8]) -> Result<Map<String, Value>, String> {
    let mut object = Map::new();
    for field in Fields(bytes) {
        let (number, value) = field?;
        let Some((_, name, form)) = message.0.iter().find(|(known, ..)| *known == number) else {
            if value.is_hollow() {
                continue;
            }
            return Err(format!(
                "the test server does not read field {number} of a protobuf message, only JSON and YAML"
            ));
        };
        put(&mut object, name, form, &value)?;
    }
    Ok(object)
}

fn put(object: &mut Map<String, Value>, name: &str, form: &Form, value: &Wire<'_>) -> Result<(), String> {
    let list = |object: &mut Map<String, Value>, item: Value| {
        let list = object.entry(name).or_insert_with(|| json!([]));
        list.as_array_mut().into_iter().for_each(|list| list.push(item.clone()));
    };
    match (form, value) {
        (Form::Text, Wire::Bytes([])) | (Form::PlainNumber, Wire::Number(0)) => {}
        (Form::Text, Wire::Bytes(bytes)) => {
            object.insert(name.into(), json!(text(bytes)?));
        }
        (Form::Texts, Wire::Bytes(bytes)) => list(object, json!(text(bytes)?)),
        (Form::Number | Form::PlainNumber, Wire::Number(number)) => {
            // Negative numbers are written as large ones.
            object.insert(name.into(), json!(number.cast_signed()));
        }
        (Form::Flag, Wire::Number(number)) => {
            object.insert(name.into(), json!(*number != 0));
        }
        (Form::Part(message), Wire::Bytes(bytes)) => {
            let part = read(message, bytes)?;
            if !part.is_empty() {
                object.insert(name.into(), Value::Object(part));
            }
        }
        (Form::Parts(message), Wire::Bytes(bytes)) => list(object, Value::Object(read(message, bytes)?)),
        (Form::TextMap | Form::BytesMap, Wire::Bytes(bytes)) => {
            let (mut key, mut content) = (String::new(), &[][..]);
            for field in Fields(bytes) {
                match field? {
                    (1, Wire::Bytes(bytes)) => key = text(bytes)?,
                    (2, Wire::Bytes(bytes)) => content = bytes,
                    _ => {}
                }
            }
            let content = match form {
                Form::TextMap => json!(text(content)?),
                _ => json!(STANDARD.encode(content)),
            };
            let map = object.entry(name).or_insert_with(|| json!({}));
            map.as_object_mut().into_iter().for_each(|map| {
                map.insert(key.clone(), content.clone());
            });
        }
        _ => return Err(format!("the protobuf field {name} has another type")),
    }
    Ok(())
}

fn text(bytes: &[u8]) -> Result<String, String> {
    String::from_utf8(bytes.to_vec()).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A field that holds bytes.
    fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
        let mut all = vec![number << 3 | 2, u8::try_from(bytes.len()).unwrap()];
        all.extend(bytes);
        all
    }

    fn body(api_version: &str, kind: &str, raw: &[u8]) -> Vec<u8> {
        let types = [field(1, api_version.as_bytes()), field(2, kind.as_bytes())].concat();
        [MAGIC.to_vec(), field(1, &types), field(2, raw)].concat()
    }

    #[test]
    fn known_kinds_are_read() {
        let metadata = [
            field(1, b"a"),
            field(2, b""),
            field(11, &[field(1, b"x"), field(2, b"y")].concat()),
        ]
        .concat();
        let data = [field(1, b"k"), field(2, b"v")].concat();
        let raw = [field(1, &metadata), field(2, &data), vec![4 << 3, 1]].concat();
        assert_eq!(
            decode(&body("v1", "ConfigMap", &raw)).unwrap(),
            json!({
                "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "labels": {"x": "y"}},
                "data": {"k": "v"}, "immutable": true,
            })
        );
    }

    #[test]
    fn what_is_not_known_is_refused_unless_it_says_nothing() {
        let hollow = field(15, &field(3, b""));
        let told = field(15, b"text");
        assert!(decode(&body("v1", "ConfigMap", &hollow)).is_ok());
        assert!(decode(&body("v1", "ConfigMap", &told)).is_err());
        assert!(decode(&body("v1", "Node", b"")).unwrap_err().contains("v1 Node"));
        assert!(decode(b"{}").is_err());
        assert!(decode(&body("v1", "ConfigMap", &[10, 99])).is_err());
    }
}
