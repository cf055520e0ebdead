//! What Rust's syntax has and RE2 has not.

use regex_syntax::ast::{self, Ast, FlagsItemKind, GroupKind, RepetitionKind, RepetitionRange, Visitor};

/// The most that a repetition can ask for, nested ones multiplied.
const MOST: u32 = 1000;

pub(super) fn check(tree: &Ast) -> Result<(), String> {
    ast::visit(tree, Rules { room: vec![MOST] })
}

struct Rules {
    /// How often the parts below may be repeated, one for each repetition that is open.
    room: Vec<u32>,
}

impl Visitor for Rules {
    type Output = ();
    type Err = String;

    fn finish(self) -> Result<(), String> {
        Ok(())
    }

    fn visit_pre(&mut self, tree: &Ast) -> Result<(), String> {
        match tree {
            Ast::Flags(set) => flags(&set.flags),
            Ast::Group(group) => match &group.kind {
                GroupKind::NonCapturing(set) => flags(set),
                GroupKind::CaptureName { name, .. }
                    if !name.name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') =>
                {
                    Err(format!("`{}` cannot name a group", name.name))
                }
                _ => Ok(()),
            },
            Ast::Repetition(repetition) => {
                if matches!(*repetition.ast, Ast::Repetition(_)) {
                    return Err("a repetition of a repetition needs a group".to_string());
                }
                let room = self.room.last().copied().unwrap_or(MOST);
                let (least, most) = match &repetition.op.kind {
                    RepetitionKind::Range(RepetitionRange::Exactly(count) | RepetitionRange::AtLeast(count)) => {
                        (*count, *count)
                    }
                    RepetitionKind::Range(RepetitionRange::Bounded(least, most)) => (*least, *most),
                    _ => (0, 1),
                };
                if least > MOST || most > room {
                    return Err(format!("it repeats more than {MOST} times"));
                }
                self.room.push(room / most.max(1));
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn visit_post(&mut self, tree: &Ast) -> Result<(), String> {
        if matches!(tree, Ast::Repetition(_)) {
            self.room.pop();
        }
        Ok(())
    }
}

fn flags(set: &ast::Flags) -> Result<(), String> {
    let foreign = set.items.iter().find_map(|item| match item.kind {
        FlagsItemKind::Flag(ast::Flag::IgnoreWhitespace) => Some('x'),
        FlagsItemKind::Flag(ast::Flag::Unicode) => Some('u'),
        FlagsItemKind::Flag(ast::Flag::CRLF) => Some('R'),
        _ => None,
    });
    match foreign {
        Some(flag) => Err(format!("the flag `{flag}` is not part of it")),
        None => Ok(()),
    }
}
