//! What a list, a watch or a deletion is limited to: label and field selectors together.

use serde_json::Value;

use crate::kinds::Kind;
use crate::objects::field_selectors::{self, Field};
use crate::objects::label_selectors::{self, Requirement};
use crate::status::Status;

/// Both selectors of a request.
#[derive(Debug, Clone, Default)]
pub(crate) struct Selector {
    labels: Vec<Requirement>,
    fields: Vec<Field>,
}

impl Selector {
    pub(crate) fn parse(labels: &str, fields: &str, kind: &Kind, version: &str) -> Result<Self, Status> {
        Ok(Self {
            labels: label_selectors::parse(labels).map_err(Status::bad_request)?,
            fields: field_selectors::parse(fields, kind, version).map_err(Status::bad_request)?,
        })
    }

    /// The same, for the one object of this name.
    pub(crate) fn named(mut self, name: &str) -> Result<Self, Status> {
        let field = Field::name(name);
        match self.fields.iter().find(|other| other.is_name()) {
            Some(other) if *other != field => {
                let message = "fieldSelector metadata.name doesn't match requested name";
                return Err(Status::bad_request(message));
            }
            _ => self.fields.push(field),
        }
        Ok(self)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.labels.is_empty() && self.fields.is_empty()
    }

    pub(crate) fn matches(&self, object: &Value) -> bool {
        let labels = &object["metadata"]["labels"];
        self.labels.iter().all(|requirement| requirement.accepts(labels))
            && self.fields.iter().all(|field| field.accepts(object))
    }
}
