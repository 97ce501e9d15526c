//! Front matter: the block between two `---` lines at the top of a file, as people really write it.
//!
//! [`read`] never fails. It tries strict YAML first, then reads line by line; text that is neither
//! stays in the body. Every repair is reported, and values stay as their author wrote them.

mod fields;
mod lines;
mod plain;
mod split;
mod yaml;

use std::collections::BTreeMap;
use std::ops::Range;

pub use self::fields::{FrontMatterFields, FrontMatterValue};
pub use self::split::{Split, split};
pub use self::yaml::{YamlError, read as read_yaml};
use crate::limits::Limits;
use crate::problem::Severity;

/// The metadata of a file, and the rest of it.
#[derive(Debug, Clone, PartialEq)]
pub struct FrontMatter<'t> {
    /// The fields of the front matter; empty if there is none.
    pub fields: FrontMatterFields,
    /// What follows, byte for byte.
    pub body: &'t str,
    /// Repairs, in the order of the file.
    pub repairs: Vec<Repair>,
}

/// Something that was repaired while reading.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repair {
    /// Where it is in the file.
    pub at: Range<usize>,
    /// Its severity: a note, unless something was lost.
    pub severity: Severity,
    /// What was wrong and how it was read, in one sentence without a final period.
    pub message: String,
    /// True if the text can only mean what was read: it matters to strict readers alone.
    pub is_harmless: bool,
}

/// Reads a file's front matter and separates it from the body.
pub fn read<'t>(text: &'t str, limits: &Limits) -> FrontMatter<'t> {
    let split = split(text);
    let mut read = FrontMatter {
        fields: FrontMatterFields::default(),
        body: split.body,
        repairs: split.repairs,
    };
    let Some(at) = split.front else { return read };
    let front = &text[at.clone()];
    let block = read_block(front, limits);
    read.fields = block.fields;
    read.repairs
        .extend(block.trouble.map(|trouble| match trouble {
            FrontMatterError::TooLong => Repair {
                at: at.start..at.start,
                severity: Severity::Warning,
                message: format!(
                    "the front matter is {} bytes long and was not read; the limit is {}",
                    front.len(),
                    limits.front_matter
                ),
                is_harmless: false,
            },
            FrontMatterError::NotYaml { fault, is_harmless } => {
                let place = at.start + fault.offset().unwrap_or_default().min(front.len());
                let message = format!("the front matter {fault}: it was read line by line");
                Repair {
                    is_harmless,
                    ..Repair::new(place..place + 1, message)
                }
            }
            FrontMatterError::Arguments(fault, lines) => {
                let place = fault.offset().filter(|at| lines.contains(at));
                let place = at.start + place.unwrap_or(lines.start);
                Repair {
                    at: place..place + 1,
                    severity: Severity::Error,
                    message: format!("`arguments` {fault} and was not read"),
                    is_harmless: false,
                }
            }
        }));
    read
}

/// The content of a block that is already separated.
#[derive(Debug)]
pub struct FrontMatterBlock {
    /// Its entries.
    pub fields: FrontMatterFields,
    /// Why the entries are not those of a YAML reader.
    pub trouble: Option<FrontMatterError>,
}

/// Why a block is not read as YAML.
#[derive(Debug)]
pub enum FrontMatterError {
    /// It is longer than the limit, and was not read.
    TooLong,
    /// It is not YAML, and was read line by line.
    NotYaml {
        /// Why not.
        fault: YamlError,
        /// True if every value can only mean what was read.
        is_harmless: bool,
    },
    /// The lines of `arguments` are not YAML, and were not read.
    Arguments(YamlError, Range<usize>),
}

/// Reads a block without the lines around it.
pub fn read_block(front: &str, limits: &Limits) -> FrontMatterBlock {
    let mut fields = FrontMatterFields::default();
    if front.len() > limits.front_matter {
        let trouble = Some(FrontMatterError::TooLong);
        return FrontMatterBlock { fields, trouble };
    }
    let values = match read_yaml(front) {
        Ok(values) => values,
        Err(fault) => {
            let read = lines::read(front);
            let trouble = match read.unread_arguments {
                Some(at) => FrontMatterError::Arguments(fault, at),
                None => FrontMatterError::NotYaml {
                    fault,
                    is_harmless: read.is_faithful,
                },
            };
            return FrontMatterBlock {
                fields: read.fields,
                trouble: Some(trouble),
            };
        }
    };
    let entries = lines::entries(front);
    let entries: BTreeMap<&str, &lines::FrontMatterEntry<'_>> =
        entries.iter().map(|entry| (&*entry.key, entry)).collect();
    for (key, value) in values {
        let entry = entries.get(&*key);
        let written = entry.and_then(|entry| entry.written(&value));
        let written = written.map(Into::into);
        fields.push(&key, value, written);
    }
    FrontMatterBlock {
        fields,
        trouble: None,
    }
}
