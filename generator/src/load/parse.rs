//! YAML events to the tree.

use std::collections::HashMap;

use granit_parser::{Event, Parser, ScalarStyle, Span as YamlSpan, StructureStyle, options};

use super::comments::Comments;
use crate::diagnostic::{Code, Diagnostic, Span, cut_by_yaml};
use crate::spec::{Content, Entry, Mapping, Node, Scalar, Spanned};

/// A licence text or a field that is commented out may be long.
const COMMENT_LINES: usize = 100_000;

/// Mappings and lists within each other.
const DEPTH: usize = 128;

/// The one document of a text. `None` comes with a fault.
pub(super) fn parse(text: &str, faults: &mut Vec<Diagnostic>) -> Option<Node> {
    let mut builder = Builder {
        text,
        stack: Vec::new(),
        root: None,
        documents: 0,
        has_alias: false,
        faults: Vec::new(),
    };
    let mut comments = Comments::new(text);
    let options = options! { max_buffered_comment_events: COMMENT_LINES };
    for next in Parser::new_from_str_with_options(text, options) {
        match next {
            Ok((Event::Comment(..), span)) => comments.add(place(&span)),
            Ok((event, span)) => {
                let span = place(&span);
                builder.event(event, span);
                if builder.stack.len() > DEPTH {
                    let message = format!("mappings and lists stand in each other more than {DEPTH} levels deep");
                    faults.append(&mut builder.faults);
                    faults.push(Diagnostic::error(Code::TooLarge, span, message));
                    return None;
                }
            }
            Err(error) => {
                faults.append(&mut builder.faults);
                faults.push(syntax_fault(text, &error));
                return None;
            }
        }
    }
    faults.append(&mut builder.faults);
    if builder.documents > 1 || builder.has_alias {
        return None;
    }
    let Some(mut root) = builder.root else {
        faults.push(Diagnostic::error(
            Code::NotOneDocument,
            Span::default(),
            "the file holds no operator spec",
        ));
        return None;
    };
    comments.attach(&mut root);
    Some(root)
}

fn place(span: &YamlSpan) -> Span {
    let range = span.byte_range().unwrap_or_default();
    Span::new(range.start, range.end)
}

enum Open {
    Sequence {
        start: Span,
        items: Vec<Node>,
    },
    Mapping {
        start: Span,
        mapping: Mapping,
        key: Option<Spanned<String>>,
        /// Where each key was first.
        first: HashMap<String, Span>,
    },
}

struct Builder<'t> {
    text: &'t str,
    stack: Vec<Open>,
    root: Option<Node>,
    documents: usize,
    has_alias: bool,
    faults: Vec<Diagnostic>,
}

impl Builder<'_> {
    fn event(&mut self, event: Event<'_>, span: Span) {
        match event {
            Event::DocumentStart(..) => {
                self.documents += 1;
                if self.documents == 2 {
                    let message = "the file holds a second document; one operator spec is one document";
                    self.faults.push(Diagnostic::error(Code::NotOneDocument, span, message));
                }
            }
            Event::Scalar(text, style, anchor, tag) => {
                self.refuse(span, anchor, tag.is_some());
                let plain = style == ScalarStyle::Plain;
                // The parser writes `~` where a value is absent.
                let text = if plain && span.start == span.end {
                    String::new()
                } else {
                    text.into_owned()
                };
                let verbatim = self.verbatim(&text, span);
                self.scalar(Scalar { text, plain, verbatim }, span);
            }
            Event::SequenceStart(_, anchor, tag) => {
                self.refuse(span, anchor, tag.is_some());
                self.stack.push(Open::Sequence {
                    start: span,
                    items: Vec::new(),
                });
            }
            Event::MappingStart(style, anchor, tag) => {
                self.refuse(span, anchor, tag.is_some());
                let mapping = Mapping {
                    entries: Vec::new(),
                    flow: style == StructureStyle::Flow,
                };
                self.stack.push(Open::Mapping {
                    start: span,
                    mapping,
                    key: None,
                    first: HashMap::new(),
                });
            }
            Event::SequenceEnd | Event::MappingEnd => self.close(span),
            Event::Alias(_) | Event::UnresolvedAlias(_) => {
                self.has_alias = true;
                let message = "aliases are not read: write the value out";
                self.faults.push(Diagnostic::error(Code::AnchorOrTag, span, message));
                self.scalar(
                    Scalar {
                        text: String::new(),
                        plain: true,
                        verbatim: None,
                    },
                    span,
                );
            }
            _ => {}
        }
    }

    fn refuse(&mut self, span: Span, anchor: usize, tagged: bool) {
        if anchor != 0 {
            let message = "anchors are not read: write the value out where it is needed";
            self.faults.push(Diagnostic::error(Code::AnchorOrTag, span, message));
        }
        if tagged {
            let message = "tags are not read: quote what is text";
            self.faults.push(Diagnostic::error(Code::AnchorOrTag, span, message));
        }
    }

    fn verbatim(&self, decoded: &str, span: Span) -> Option<usize> {
        let written = self.text.get(span.start..span.end)?;
        let offset = usize::from(written.starts_with(['"', '\'']));
        let inner = written.get(offset..written.len().checked_sub(offset)?)?;
        (inner == decoded).then_some(span.start + offset)
    }

    fn scalar(&mut self, scalar: Scalar, span: Span) {
        if let Some(Open::Mapping {
            key: key @ None, first, ..
        }) = self.stack.last_mut()
        {
            if let Some(first) = first.get(&scalar.text) {
                let line = self.text[..first.start].matches('\n').count() + 1;
                let message = format!("`{}` stands twice in this mapping, first on line {line}", scalar.text);
                let fault = Diagnostic::error(Code::DuplicateKey, span, message);
                self.faults.push(fault.help("keep one of the two"));
            } else {
                first.insert(scalar.text.clone(), span);
            }
            *key = Some(Spanned::new(scalar.text, span));
            return;
        }
        self.add(Node {
            span,
            content: Content::Scalar(scalar),
            comment: None,
        });
    }

    fn close(&mut self, end: Span) {
        let node = match self.stack.pop() {
            Some(Open::Sequence { start, items }) => {
                let last = items.last().map_or(start, |item| item.span);
                Node {
                    span: Span::new(start.start, end.end.max(last.end)),
                    content: Content::Sequence(items),
                    comment: None,
                }
            }
            Some(Open::Mapping { start, mapping, .. }) => {
                let last = mapping.entries.last().map_or(start, |entry| entry.value.span);
                let end = if mapping.flow { end.end } else { last.end.max(start.end) };
                Node {
                    span: Span::new(start.start, end),
                    content: Content::Mapping(mapping),
                    comment: None,
                }
            }
            None => return,
        };
        self.add(node);
    }

    fn add(&mut self, node: Node) {
        match self.stack.last_mut() {
            None if self.documents <= 1 => self.root = Some(node),
            None => {}
            Some(Open::Sequence { items, .. }) => items.push(node),
            Some(Open::Mapping { mapping, key, .. }) => {
                if let Some(key) = key.take() {
                    mapping.entries.push(Entry {
                        key,
                        value: node,
                        comment: None,
                    });
                } else {
                    self.faults
                        .push(cut_by_yaml(node.span, format!("{} cannot be a key", node.kind())));
                    *key = Some(Spanned::new(String::new(), node.span));
                }
            }
        }
    }
}

/// A fault of the syntax is mostly a field whose text YAML has cut.
fn syntax_fault(text: &str, error: &granit_parser::ScanError) -> Diagnostic {
    let offset = error.marker().byte_offset().unwrap_or(0).min(text.len());
    let span = Span::new(offset, offset);
    let start = text[..offset].rfind('\n').map_or(0, |index| index + 1);
    let line = text[start..].lines().next().unwrap_or_default();
    if let Some((key, value)) = field_line(line) {
        let at = start + line.len() - value.len();
        let quoted = value.replace('\'', "''");
        let message = format!("YAML cuts the value of `{key}`: {}", error.info());
        return Diagnostic::error(Code::CutByYaml, Span::new(at, at + value.len()), message)
            .help(format!("quote this value: '{quoted}'"));
    }
    if line.contains(" | ") {
        let message = format!("YAML cuts a field of this line: {}", error.info());
        return cut_by_yaml(span, message);
    }
    let fault = Diagnostic::error(Code::InvalidYaml, span, format!("this is not YAML: {}", error.info()));
    let by_tab = line.chars().take_while(|c| c.is_whitespace()).any(|c| c == '\t');
    fault.maybe_help(by_tab.then(|| "indent with spaces: YAML takes no tabs there".to_string()))
}

/// Key and unquoted value of a line that holds a field.
fn field_line(line: &str) -> Option<(&str, &str)> {
    let line = line.trim_end();
    let (key, value) = line.trim_start().trim_start_matches("- ").split_once(": ")?;
    let value = value.trim_start();
    let like_a_field = value.contains(" | ") || value.starts_with("[]") || value.contains("=\"");
    (like_a_field && !value.starts_with(['"', '\'', '{'])).then_some((key, value))
}
