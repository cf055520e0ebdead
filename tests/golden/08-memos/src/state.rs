//! Memos: they live as long as the operator runs, and are stored nowhere.

/// What all handlers share.
#[derive(Debug, Default)]
pub struct Lines {}

/// What the handlers remember of one `Call`.
#[derive(Debug, Default)]
pub struct Connection {}

impl From<&Lines> for Connection {
    fn from(_: &Lines) -> Self {
        Self::default()
    }
}
