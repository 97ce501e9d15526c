//! Addresses of screens.

use std::fmt::Write as _;

use twig_core::Skill;

/// The file that makes a folder a skill.
pub(crate) const SKILL_FILE: &str = "SKILL.md";

/// The address of a prompt's screen.
pub(crate) fn prompt(name: &str) -> String {
    format!("/p/{}", escaped(name))
}

/// The address of a document's screen.
pub(crate) fn document(uri: &str) -> String {
    format!("/d/{}", escaped(uri))
}

/// The address of a document's screen as it was written.
pub(crate) fn raw_document(uri: &str) -> String {
    format!("{}?raw=1", document(uri))
}

/// The address of the editor of a prompt.
pub(crate) fn edit(name: &str) -> String {
    format!("/edit/{}", escaped(name))
}

/// The address of the editor of a document.
pub(crate) fn edit_document(uri: &str) -> String {
    format!("/edit?document={}", escaped(uri))
}

/// The address of the editor of a manifest.
pub(crate) fn edit_manifest(library: &str) -> String {
    format!("/edit?manifest={}", escaped(library))
}

/// The address of a file of a skill.
pub(crate) fn skill(name: &str, skill: &Skill, uri: &str) -> String {
    let parts = below(skill, uri).split('/').map(escaped);
    let parts: Vec<String> = parts.collect();
    format!("/s/{}/{}", escaped(name), parts.join("/"))
}

/// The path of a file from the folder of its skill.
pub(crate) fn below<'u>(skill: &Skill, uri: &'u str) -> &'u str {
    let folder = skill.uri.strip_suffix(SKILL_FILE);
    folder
        .and_then(|folder| uri.strip_prefix(folder))
        .unwrap_or(uri)
}

/// A text as a part of an address.
pub(crate) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        // A `.` may stay: a browser resolves only whole segments `.` and `..`, which the escaped `/`
        // prevents.
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b':' | b'@' | b'~') {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_name_ends_its_part_of_the_address() {
        assert_eq!(prompt("team:review"), "/p/team:review");
        assert_eq!(prompt("a/../b?c#d%\"<"), "/p/a%2F..%2Fb%3Fc%23d%25%22%3C");
        assert_eq!(document("twig://lib/日"), "/d/twig:%2F%2Flib%2F%E6%97%A5");
    }
}
