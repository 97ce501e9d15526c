//! What a client puts into its own prompt files before a model sees them: the output of a command
//! (`` !`git status` ``), a file (`@src/main.rs`), or a value of its editor (`${selection}`).
//!
//! Twig runs and reads nothing of that: it serves them as text, or as instructions for the model.

use std::borrow::Cow;
use std::ops::Range;

use crate::body::Bodies;
use crate::model::{Content, Dialect, Library, LibraryKind, Prompt};
use crate::spoken;

/// Something that the file's own client would put in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShellLine<'t> {
    /// What it is.
    pub what: ShellLineKind,
    /// The command, path or name, without its signs.
    pub text: &'t str,
    /// Its bytes in the text, signs included.
    pub range: Range<usize>,
}

/// What a client would put in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShellLineKind {
    /// The output of a command.
    Command,
    /// The content of a file.
    File,
    /// A value of the editor.
    EditorValue,
}

impl ShellLineKind {
    /// The word for it in every output.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Command => "command",
            Self::File => "file",
            Self::EditorValue => "editor value",
        }
    }
}

/// Values of VS Code that have no argument.
const EDITOR_VALUES: [(&str, &str); 8] = [
    (
        "selection",
        "the text that the user has selected in the editor",
    ),
    (
        "selectedText",
        "the text that the user has selected in the editor",
    ),
    ("file", "the path of the file that is open in the editor"),
    (
        "fileBasename",
        "the name of the file that is open in the editor",
    ),
    (
        "fileDirname",
        "the folder of the file that is open in the editor",
    ),
    (
        "fileBasenameNoExtension",
        "the name without ending of the file that is open in the editor",
    ),
    ("workspaceFolder", "the path of the project's folder"),
    (
        "workspaceFolderBasename",
        "the name of the project's folder",
    ),
];

/// Finds them in the text of a prompt, in order.
pub fn shell_lines(kind: LibraryKind, text: &str) -> Vec<ShellLine<'_>> {
    let mut found = match kind {
        LibraryKind::Skills => ticked(text, true).into_iter().chain(fenced(text)).collect(),
        LibraryKind::Client(files) => match files.id {
            "claude" => {
                let commands = ticked(text, true).into_iter().chain(fenced(text));
                commands.chain(words(text)).collect()
            }
            "opencode" => ticked(text, false).into_iter().chain(words(text)).collect(),
            "gemini" => braced(text),
            "copilot" => editor_values(text),
            _ => Vec::new(),
        },
        _ => Vec::new(),
    };
    found.sort_by_key(|line| line.range.start);
    // A path in a command belongs to the command.
    let mut end = 0;
    found.retain(|line| {
        let is_apart = line.range.start >= end;
        if is_apart {
            end = line.range.end;
        }
        is_apart
    });
    found
}

/// Those of all texts of a prompt, as far as they can be read: what each is, and its text.
pub fn shell_lines_of(
    bodies: &dyn Bodies,
    library: &Library,
    prompt: &Prompt,
) -> Vec<(ShellLineKind, String)> {
    let mut found = Vec::new();
    if !matches!(prompt.dialect, Dialect::Marks(_)) {
        return found;
    }
    for message in &prompt.messages {
        let Content::File(file) = &message.content else {
            continue;
        };
        let Ok(body) = bodies.read(library, file) else {
            continue;
        };
        for spoken in spoken::bodies(library.kind, &body.text).unwrap_or_default() {
            let lines = shell_lines(library.kind, &spoken.text);
            found.extend(lines.iter().map(|line| (line.what, line.text.to_owned())));
        }
    }
    found
}

/// The text with an instruction for the model in place of each.
pub fn instruct(kind: LibraryKind, text: &str) -> Cow<'_, str> {
    let found = shell_lines(kind, text);
    if found.is_empty() {
        return Cow::Borrowed(text);
    }
    let mut output = String::with_capacity(text.len() * 2);
    let mut at = 0;
    for line in found {
        output.push_str(&text[at..line.range.start]);
        output.push_str(&line.instruction());
        at = line.range.end;
    }
    output.push_str(&text[at..]);
    Cow::Owned(output)
}

impl ShellLine<'_> {
    /// The sentence that tells the model what to do.
    pub fn instruction(&self) -> String {
        let quoted = if self.text.contains('`') {
            format!("`` {} ``", self.text)
        } else {
            format!("`{}`", self.text)
        };
        match self.what {
            ShellLineKind::Command => {
                format!("(First run {quoted} and put its output here.)")
            }
            ShellLineKind::File => {
                format!("(First read the file {quoted} and put its content here.)")
            }
            ShellLineKind::EditorValue => {
                let mut values = EDITOR_VALUES.iter();
                let meaning = values.find(|(name, _)| *name == self.text);
                let meaning = meaning.map_or(self.text, |(_, meaning)| meaning);
                format!("(Put {meaning} here.)")
            }
        }
    }
}

/// The path of a word that is a file reference, such as `@src/main.rs`.
pub fn file_reference(word: &str) -> Option<&str> {
    let path = word.strip_prefix('@')?;
    let path = path.trim_end_matches(['.', ',', ';', ':', ')', '`', '"', '\'']);
    let has_ending = path.rsplit_once('.').is_some_and(|(stem, ending)| {
        let is_short = (1..=5).contains(&ending.len());
        !stem.is_empty() && is_short && ending.bytes().all(|b| b.is_ascii_alphanumeric())
    });
    let is_code = path.contains(['(', '{', '<', '=']);
    let has_start = ["./", "../", "~/", "/"]
        .iter()
        .any(|start| path.starts_with(start));
    let looks = has_start || has_ending || path.ends_with('/');
    (looks && !is_code).then_some(path)
}

/// `` !`command` ``, for some clients only after whitespace.
fn ticked(text: &str, needs_blank: bool) -> Vec<ShellLine<'_>> {
    const SIGN: &str = "!`";
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(start) = text[at..].find(SIGN).map(|start| at + start) {
        let inner = start + SIGN.len();
        let before = text[..start].chars().next_back();
        let is_apart = !needs_blank || before.is_none_or(char::is_whitespace);
        // Up to the next mark at most: a long line with many of them is read once.
        let end = text[inner..].find(['`', '\n']);
        let is_end = |length: &usize| *length > 0 && text[inner + length..].starts_with('`');
        let length = end.filter(|length| is_apart && is_end(length));
        at = inner;
        if let Some(length) = length {
            at = inner + length + 1;
            found.push(ShellLine {
                what: ShellLineKind::Command,
                text: &text[inner..inner + length],
                range: start..at,
            });
        }
    }
    found
}

/// A block of code whose language is `!`.
fn fenced(text: &str) -> Vec<ShellLine<'_>> {
    const FENCE: &str = "```";
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(start) = text[at..].find("```!").map(|start| at + start) {
        let inner = start + FENCE.len() + 1;
        // Without an end here there is none further on either.
        let Some(length) = text[inner..].find(FENCE) else {
            break;
        };
        at = inner + length + FENCE.len();
        let command = text[inner..inner + length].trim();
        if !command.is_empty() {
            found.push(ShellLine {
                what: ShellLineKind::Command,
                text: command,
                range: start..at,
            });
        }
    }
    found
}

/// `@path` as a word of its own.
fn words(text: &str) -> Vec<ShellLine<'_>> {
    let words = text.split_whitespace().filter_map(|word| {
        let path = file_reference(word)?;
        // A word is a part of the text, so the distance of their starts is its place.
        let start = word.as_ptr() as usize - text.as_ptr() as usize;
        Some(ShellLine {
            what: ShellLineKind::File,
            text: path,
            range: start..start + 1 + path.len(),
        })
    });
    words.collect()
}

/// `!{command}` and `@{path}`; braces inside are balanced.
fn braced(text: &str) -> Vec<ShellLine<'_>> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    let mut at = 0;
    while at + 1 < bytes.len() {
        let what = match (bytes[at], bytes[at + 1]) {
            (b'!', b'{') => ShellLineKind::Command,
            (b'@', b'{') => ShellLineKind::File,
            _ => {
                at += 1;
                continue;
            }
        };
        let inner = at + 2;
        let mut depth = 1_usize;
        let end = bytes[inner..].iter().position(|byte| {
            match byte {
                b'{' => depth += 1,
                b'}' => depth -= 1,
                _ => {}
            }
            depth == 0
        });
        // Without an end here there is none further on either.
        let Some(length) = end else { break };
        found.push(ShellLine {
            what,
            text: text[inner..inner + length].trim(),
            range: at..inner + length + 1,
        });
        at = inner + length + 1;
    }
    found
}

/// `${selection}` and the like.
fn editor_values(text: &str) -> Vec<ShellLine<'_>> {
    let starts = text.match_indices("${").filter_map(|(start, sign)| {
        let inner = start + sign.len();
        let rest = &text[inner..];
        let longest = EDITOR_VALUES.iter().map(|(name, _)| name.len()).max()?;
        let mut end = rest.len().min(longest + 1);
        while !rest.is_char_boundary(end) {
            end -= 1;
        }
        let length = rest[..end].find('}')?;
        let name = &rest[..length];
        let is_known = EDITOR_VALUES.iter().any(|(known, _)| *known == name);
        is_known.then(|| ShellLine {
            what: ShellLineKind::EditorValue,
            text: name,
            range: start..inner + length + 1,
        })
    });
    starts.collect()
}
