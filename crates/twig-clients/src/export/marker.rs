//! The line that identifies a file as exported, and shows whether it was edited since.
//!
//! It has a digest of everything else: of the file, and of the files that belong to a skill. Line
//! endings, empty lines at the end and a byte order mark do not count, so that a checkout does not
//! look like an edit.

use std::fmt::Write;

use sha2::{Digest, Sha256};

use super::BundledFile;
use crate::clients::ExportFormat;
use twig_core::name::RelativePath;

/// The start of the line, after the comment sign.
const WORD: &str = "twig:export sha256:";
/// The same as a key of a skill's metadata.
const KEY: &str = "  twig-export: \"sha256:";
/// The key of the marker in a skill's metadata.
pub(super) const EXPORT: &str = "twig-export";
/// The key of the list of files that came with a skill.
pub(super) const FILES: &str = "twig-files";

/// Hexadecimal digits of the digest.
const DIGITS: usize = 32;

/// The content of a file's marker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Marker<'t> {
    /// The full name of the exported prompt.
    pub prompt: &'t str,
    /// The digest at the time of the export.
    pub digest: &'t str,
    /// True if nothing was changed since.
    pub is_intact: bool,
}

/// A file's marker, if it has one. `bundled` are the files of a skill beside its `SKILL.md`.
pub fn marker_of<'t, 'b>(
    client: ExportFormat,
    text: &'t str,
    bundled: impl IntoIterator<Item = (&'b str, [u8; 32])>,
) -> Option<Marker<'t>> {
    let Some(line) = find(client, text) else {
        return astray(client, text);
    };
    let (hex, prompt) = parts(client, line.text)?;
    let found = digest(
        &text[..line.at],
        &text[line.at + line.length..],
        prompt,
        bundled,
    );
    Some(Marker {
        prompt,
        digest: hex,
        is_intact: hex == found,
    })
}

/// A marker that is not at its place: the file was exported, and edited around the marker.
fn astray(client: ExportFormat, text: &str) -> Option<Marker<'_>> {
    let is_hex = |hex: &str| hex.len() == DIGITS && hex.bytes().all(|b| b.is_ascii_hexdigit());
    let mut lines = text.lines().filter_map(|line| parts(client, line));
    let (digest, prompt) = lines.find(|(hex, _)| is_hex(hex))?;
    Some(Marker {
        prompt,
        digest,
        is_intact: false,
    })
}

/// The digest and the prompt's name of a marker's line.
fn parts(client: ExportFormat, line: &str) -> Option<(&str, &str)> {
    let line = line.trim_start_matches('\u{feff}').trim();
    let rest = match client {
        ExportFormat::Skills => line.strip_prefix(KEY.trim_start())?.strip_suffix('"')?,
        ExportFormat::Cursor => {
            let inner = line.strip_prefix("<!-- ")?.strip_suffix("-->")?;
            inner.trim_end().strip_prefix(WORD)?
        }
        _ => line.strip_prefix("# ")?.strip_prefix(WORD)?,
    };
    rest.split_once(' ')
}

/// The files that came with a skill, relative to its folder, from a line of its metadata.
pub fn bundled_of(text: &str) -> Vec<RelativePath> {
    let text = text.trim_start_matches('\u{feff}');
    let front = &text[..front_end(text).unwrap_or_default()];
    let line = front.lines().find_map(|line| {
        let value = line.strip_prefix("  ")?.strip_prefix(FILES)?.trim_end();
        value.strip_prefix(": \"")?.strip_suffix('"')
    });
    let paths = line.into_iter().flat_map(|line| line.split('|'));
    paths
        .filter_map(|path| RelativePath::parse(&decoded(path)).ok())
        .collect()
}

/// That line; empty if no files come with the skill.
pub(super) fn bundled_line(bundled: &[BundledFile]) -> String {
    if bundled.is_empty() {
        return String::new();
    }
    let mut line = format!("  {FILES}: \"");
    for (at, file) in bundled.iter().enumerate() {
        line.push_str(if at > 0 { "|" } else { "" });
        for c in file.to.chars() {
            match c {
                '|' | '%' | '"' | '\\' => {
                    let _ = write!(line, "%{:02X}", u32::from(c));
                }
                c => line.push(c),
            }
        }
    }
    line.push_str("\"\n");
    line
}

fn decoded(path: &str) -> String {
    let escapes = [("%7C", "|"), ("%22", "\""), ("%5C", "\\"), ("%25", "%")];
    let mut path = path.to_owned();
    for (code, c) in escapes {
        path = path.replace(code, c);
    }
    path
}

/// A prompt's name as it is written in markers.
pub fn marked_name(name: &str) -> String {
    let is_bad =
        |c: char| c.is_control() || c.is_whitespace() || matches!(c, '"' | '\\' | '<' | '>');
    name.replace(is_bad, "_")
}

/// Puts the marker into a file.
pub(super) fn seal<'b>(
    client: ExportFormat,
    text: &str,
    prompt: &str,
    bundled: impl IntoIterator<Item = (&'b str, [u8; 32])>,
) -> String {
    let at = place(client, text);
    let (before, after) = text.split_at(at);
    let name = marked_name(prompt);
    let hex = digest(before, after, &name, bundled);
    let line = match client {
        ExportFormat::Skills => format!("{KEY}{hex} {name}\"\n"),
        ExportFormat::Cursor => format!("<!-- {WORD}{hex} {name} -->\n"),
        _ => format!("# {WORD}{hex} {name}\n"),
    };
    format!("{before}{line}{after}")
}

/// Where the marker goes: the end of the front matter, the top of TOML, the last line elsewhere.
fn place(client: ExportFormat, text: &str) -> usize {
    match client {
        ExportFormat::Gemini => 0,
        // Text that looks like front matter must not come first in a file.
        ExportFormat::Cursor if text.trim_start().starts_with(['-', '`', '#']) && opens(text) => 0,
        ExportFormat::Cursor => text.len(),
        _ => front_end(text).unwrap_or_default(),
    }
}

/// True if a text at the top of a file would be read as more than text.
fn opens(text: &str) -> bool {
    let first = text.lines().find(|line| {
        let line = line.trim();
        !line.is_empty() && !line.starts_with('#')
    });
    first.is_some_and(|line| line.trim_end() == "---" || line.trim_start().starts_with("```"))
}

/// Where the closing `---` of front matter begins.
pub(super) fn front_end(text: &str) -> Option<usize> {
    let mut at = 0;
    for (number, line) in text.split_inclusive('\n').enumerate() {
        let is_fence = line.trim_end() == "---";
        match number {
            0 if !is_fence => return None,
            0 => {}
            _ if is_fence => return Some(at),
            _ => {}
        }
        at += line.len();
    }
    None
}

struct MarkerLine<'t> {
    at: usize,
    /// Including its line end.
    length: usize,
    text: &'t str,
}

/// The marker's line, at its place in this client's files.
fn find(client: ExportFormat, text: &str) -> Option<MarkerLine<'_>> {
    let skip = text.len() - text.trim_start_matches('\u{feff}').len();
    let end = match client {
        ExportFormat::Gemini | ExportFormat::Cursor => text.len(),
        _ => skip + front_end(&text[skip..])?,
    };
    let mut at = skip;
    let mut lines: Vec<MarkerLine<'_>> = Vec::new();
    for line in text[skip..end].split_inclusive('\n') {
        let is_it = match client {
            ExportFormat::Skills => line.starts_with(KEY),
            ExportFormat::Cursor => line.starts_with("<!-- ") && line[5..].starts_with(WORD),
            _ => line.starts_with("# ") && line[2..].starts_with(WORD),
        };
        if is_it {
            lines.push(MarkerLine {
                at,
                length: line.len(),
                text: line,
            });
        }
        at += line.len();
    }
    match client {
        // The text itself may have such a line elsewhere.
        ExportFormat::Cursor => {
            let is_last = |line: &MarkerLine<'_>| text[line.at + line.length..].trim().is_empty();
            let last = lines.pop_if(|line| is_last(line));
            last.or_else(|| lines.into_iter().find(|line| line.at == skip))
        }
        ExportFormat::Gemini => lines.into_iter().find(|line| line.at == skip),
        _ => lines.pop(),
    }
}

/// A digest of a file without its marker, of the prompt's name, and of the files of a skill.
fn digest<'b>(
    before: &str,
    after: &str,
    prompt: &str,
    bundled: impl IntoIterator<Item = (&'b str, [u8; 32])>,
) -> String {
    let whole = format!("{before}{after}");
    let whole = whole.trim_start_matches('\u{feff}').replace("\r\n", "\n");
    let mut hash = Sha256::new();
    // Two spaces at a line's end are a line break in Markdown: an author wrote them, and they
    // count.
    hash.update(whole.trim_end_matches('\n'));
    hash.update(b"\n");
    hash.update([0]);
    hash.update(prompt);
    let mut bundled: Vec<(&str, [u8; 32])> = bundled.into_iter().collect();
    bundled.sort_unstable();
    for (path, digest) in bundled {
        hash.update([0]);
        hash.update(path);
        hash.update([0]);
        hash.update(digest);
    }
    let mut hex = String::with_capacity(DIGITS);
    for byte in hash.finalize().iter().take(DIGITS / 2) {
        let _ = write!(hex, "{byte:02x}");
    }
    hex
}
