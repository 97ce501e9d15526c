//! Which files of a library of skills belong to one.

use std::collections::HashSet;

use super::file::FormatFile;
use crate::tree::Base;

/// Drops files that no skill brings: there is no `SKILL.md` beside them, nor in a folder above. Of
/// these, Markdown and links to folders stay to be told.
pub(super) fn keep(base: &Base<'_>, files: &mut Vec<FormatFile>) {
    let skills = files.iter().filter(|file| file.is_prompt());
    let skills: HashSet<Box<str>> = skills.map(|file| file.folder().into()).collect();
    files.retain_mut(|file| {
        let is_kept = !file.is_bundled() || above(file.folder()).any(|it| skills.contains(it));
        is_kept || file.leave_out(base)
    });
}

/// A folder and those above it, `""` for the library's own.
fn above(folder: &str) -> impl Iterator<Item = &str> {
    let outer = |folder: &str| folder.rfind('/').unwrap_or(0);
    let lengths = std::iter::successors(Some(folder.len()), move |length| match length {
        0 => None,
        length => Some(outer(&folder[..*length])),
    });
    lengths.map(|length| &folder[..length])
}
