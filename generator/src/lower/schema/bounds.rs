//! How large a schema may become, types written out.

use super::super::Faults;
use crate::diagnostic::{Code, Diagnostic, Span};

/// Objects, lists and maps within each other: a CRD has two levels for each, and readers of JSON stop at 128.
const DEPTH: usize = 50;

/// Types that are but names of others.
const NAMES: usize = 100;

/// Fields, lists and maps in all. A CRD of more is larger than the API server stores.
const NODES: usize = 20_000;

/// How much deeper a part leads: in levels, and in names.
#[derive(Clone, Copy, Debug)]
pub(super) struct Depth(usize, usize);

impl Depth {
    pub(super) const LEVEL: Self = Self(1, 0);
    pub(super) const NAME: Self = Self(0, 1);
    pub(super) const NONE: Self = Self(0, 0);
}

#[derive(Debug, Default)]
pub(super) struct Bounds {
    depth: usize,
    names: usize,
    nodes: usize,
    is_reported: bool,
}

impl Bounds {
    /// Another schema.
    pub(super) fn restart(&mut self) {
        self.nodes = 0;
    }

    /// Whether there is room for one more, which ends with `leave`.
    pub(super) fn enter(&mut self, part: Depth, span: Span, faults: &mut Faults) -> bool {
        self.nodes += 1;
        let message = if self.depth + part.0 > DEPTH || self.names + part.1 > NAMES {
            format!("the schema is more than {DEPTH} levels deep, once its types are written out")
        } else if self.nodes > NODES {
            format!("the schema has more than {NODES} fields, once its types are written out")
        } else {
            self.depth += part.0;
            self.names += part.1;
            return true;
        };
        if !self.is_reported {
            self.is_reported = true;
            let fault = Diagnostic::error(Code::TooLarge, span, message);
            faults.push(fault.help("use `object` or `any` where the details do not matter"));
        }
        false
    }

    pub(super) fn leave(&mut self, part: Depth) {
        self.depth -= part.0;
        self.names -= part.1;
    }
}
