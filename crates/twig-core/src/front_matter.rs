//! Front matter: the block between two `---` lines at the top of a file, as people really write it.
//!
//! [`read`] never fails. YAML is read strictly first; what is not YAML is read line by line; what
//! is neither is left in the body. Whatever was mended on the way is said, and values stay as their
//! author wrote them.

mod fields;
mod split;
mod yaml;

use std::ops::Range;

pub use self::fields::{Fields, Value};
pub use self::split::{Split, split};
use crate::limits::Limits;

/// What a file says of itself, and the rest of it.
#[derive(Debug, Clone, PartialEq)]
pub struct FrontMatter<'t> {
    /// What stands in the front matter; empty where there is none.
    pub fields: Fields,
    /// What follows, byte for byte.
    pub body: &'t str,
    /// What had to be mended, in the order of the file.
    pub repairs: Vec<Repair>,
}

/// Something that was mended while reading.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repair {
    /// Where it stands in the file.
    pub at: Range<usize>,
    /// What it is and how it was read, in one sentence without a final period.
    pub message: String,
}

/// Reads a file's front matter and cuts it off.
pub fn read<'t>(text: &'t str, limits: &Limits) -> FrontMatter<'t> {
    let Split {
        front,
        body,
        repairs,
    } = split(text);
    let mut read = FrontMatter {
        fields: Fields::default(),
        body,
        repairs,
    };
    let Some(front) = front else { return read };
    match yaml::read(&text[front.clone()], limits) {
        Ok(fields) => read.fields = fields,
        Err(message) => read.repairs.push(Repair { at: front, message }),
    }
    read
}
