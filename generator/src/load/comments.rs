//! Comments directly above a key or a list item: they describe what follows.

use std::collections::BTreeMap;

use crate::diagnostic::Span;
use crate::spec::{Content, Node};

pub(super) struct Comments<'t> {
    text: &'t str,
    /// Where lines start.
    starts: Vec<usize>,
    /// Lines that hold nothing but a comment: start of the line, and place of the `#`.
    lines: BTreeMap<usize, Span>,
}

impl<'t> Comments<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        Self {
            text,
            starts: lines_of(text),
            lines: BTreeMap::new(),
        }
    }

    pub(super) fn add(&mut self, comment: Span) {
        let line = self.line_start(comment.start);
        if self.text[line..comment.start].trim().is_empty() {
            self.lines.insert(line, comment);
        }
    }

    pub(super) fn attach(&self, node: &mut Node) {
        match &mut node.content {
            Content::Scalar(_) => {}
            Content::Sequence(items) => {
                for item in items {
                    item.comment = self.above_item(item.span.start);
                    self.attach(item);
                }
            }
            Content::Mapping(mapping) => {
                for entry in &mut mapping.entries {
                    entry.comment = self.above(entry.key.span.start);
                    self.attach(&mut entry.value);
                }
            }
        }
    }

    fn line_start(&self, offset: usize) -> usize {
        let after = self.starts.partition_point(|start| *start <= offset);
        self.starts[after.saturating_sub(1)]
    }

    fn above_item(&self, start: usize) -> Option<String> {
        let line = self.line_start(start);
        let before = &self.text[line..start];
        let dash = before.find('-')?;
        before
            .chars()
            .all(|c| c == ' ' || c == '-')
            .then(|| self.ending_at(line, dash))?
    }

    fn above(&self, start: usize) -> Option<String> {
        let line = self.line_start(start);
        let before = &self.text[line..start];
        before.trim().is_empty().then(|| self.ending_at(line, before.len()))?
    }

    /// The comment lines that end just above a line and start in a column.
    fn ending_at(&self, mut line: usize, column: usize) -> Option<String> {
        let mut lines = Vec::new();
        while line > 0 {
            line = self.line_start(line - 1);
            match self.lines.get(&line) {
                Some(comment) if comment.start - line == column => lines.push(self.words(*comment)),
                _ => break,
            }
        }
        lines.reverse();
        let text = lines.join("\n").trim().to_string();
        (!text.is_empty()).then_some(text)
    }

    fn words(&self, comment: Span) -> &'t str {
        self.text[comment.start..comment.end].trim_start_matches('#').trim()
    }
}

fn lines_of(text: &str) -> Vec<usize> {
    let ends = text.match_indices('\n').map(|(index, _)| index + 1);
    std::iter::once(0).chain(ends).collect()
}
