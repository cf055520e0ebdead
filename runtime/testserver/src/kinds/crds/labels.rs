//! Names that are labels of the older standard: they start with a letter.

use crate::schema::pattern;

const LABEL: &str = "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an \
     alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for \
     validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";

/// Why a text is no such label, if so.
pub(crate) fn fault(text: &str) -> Option<String> {
    let mut faults = Vec::new();
    if text.len() > 63 {
        faults.push("must be no more than 63 bytes");
    }
    if !pattern("^[a-z]([-a-z0-9]*[a-z0-9])?$")
        .as_ref()
        .as_ref()
        .is_ok_and(|label| label.is_match(text))
    {
        faults.push(LABEL);
    }
    (!faults.is_empty()).then(|| faults.join(","))
}
