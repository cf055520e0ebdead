//! Every identifier, plural and label.

mod kubernetes;
mod rust;
mod words;

pub(crate) use kubernetes::{
    RESERVED_GROUPS, is_dns_1035_label, is_dns_label, is_dns_subdomain, is_label_value, is_qualified_name, plural,
};
pub(crate) use rust::{
    field_name, function_fault, is_keyword, is_known_crate, is_reserved_module, kind_type_name, module_name,
    snake_identifier, type_name, variant_name,
};
pub(crate) use words::{is_camel_case, pascal_case, snake_case};
