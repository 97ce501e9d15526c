//! Checks titles and descriptions for hidden characters after any reader has read them: people
//! choose prompts by them.

use std::fmt;
use std::ops::Range;

use super::TOLD;
use crate::document::Document;
use crate::hidden::{self, HiddenCharacter, TextPlace};
use crate::model::{LibraryAbout, Prompt};
use crate::name::full_path;
use crate::problem::{Problem, ProblemCode, Severity};

/// Makes prompts unavailable whose title or description hides something.
pub fn check(path: &str, text: &str, prompts: &mut [Prompt], problems: &mut Vec<Problem>) {
    let mut file = File::new(path, text);
    for prompt in prompts {
        let name = &prompt.full_name;
        let mut refuse = |what: Label<'_>, label: Option<&str>| {
            let Some((label, found)) = look(label) else {
                return;
            };
            let whose = format!("the {what} of prompt `{name}`");
            problems.push(file.problem(Severity::Error, &whose, label, found));
            let sentence = format!("Prompt `{name}` is refused: the {what} {found}");
            prompt.unavailable.get_or_insert(sentence.into());
        };
        refuse(Label::Title, prompt.title.as_deref());
        refuse(Label::Description, prompt.description.as_deref());
        for argument in prompt.arguments.iter() {
            refuse(
                Label::OfArgument(&argument.name),
                argument.description.as_deref(),
            );
        }
    }
}

/// Removes hidden text from a library's description of itself.
pub(super) fn clean(path: &str, text: &str, about: &mut LibraryAbout, problems: &mut Vec<Problem>) {
    let mut file = File::new(path, text);
    let LibraryAbout {
        title,
        description,
        version,
        license,
        homepage,
    } = about;
    for (what, label) in [
        ("title", title),
        ("description", description),
        ("version", version),
        ("license", license),
        ("homepage", homepage),
    ] {
        if let Some((text, found)) = look(label.as_deref()) {
            let whose = format!("the library's {what} is ignored: it");
            problems.push(file.problem(Severity::Warning, &whose, text, found));
            *label = None;
        }
    }
}

/// Removes titles of documents that hide something, and documents whose names do.
pub fn clean_documents(root: &str, documents: &mut Vec<Document>, problems: &mut Vec<Problem>) {
    documents.retain_mut(|document| {
        let mut tell = |place: &str, severity, whose: &str, found: HiddenCharacter| {
            let path = full_path(root, place);
            let message = format!("{whose} {}", found.fault());
            let problem = Problem::of_file(ProblemCode::HiddenText, severity, &path, message);
            problems.push(problem.with_help(found.advice()));
        };
        if let Some((_, found)) = look(Some(&document.name)) {
            tell(
                document.place(),
                Severity::Error,
                "the document's name",
                found,
            );
            return false;
        }
        if let Some((_, found)) = look(document.title.as_deref()) {
            let whose = "the document's title is ignored: it";
            tell(document.place(), Severity::Warning, whose, found);
            document.title = None;
        }
        if let Some((_, found)) = look(document.description.as_deref()) {
            let whose = "the document's description is ignored: it";
            tell(document.place(), Severity::Warning, whose, found);
            document.description = None;
        }
        true
    });
}

/// Which text it is, in words.
enum Label<'l> {
    Title,
    Description,
    OfArgument(&'l str),
}

impl fmt::Display for Label<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Title => f.write_str("title"),
            Self::Description => f.write_str("description"),
            Self::OfArgument(name) => write!(f, "description of argument `{name}`"),
        }
    }
}

/// The file from which labels were read.
struct File<'f> {
    path: &'f str,
    text: &'f str,
    /// How many places were searched in the text: each costs a walk through it.
    places: usize,
}

impl<'f> File<'f> {
    fn new(path: &'f str, text: &'f str) -> Self {
        let places = 0;
        Self { path, text, places }
    }

    fn problem(
        &mut self,
        severity: Severity,
        whose: &str,
        label: &str,
        found: HiddenCharacter,
    ) -> Problem {
        let message = format!("{whose} {}", found.fault());
        self.places += 1;
        let place = (self.places <= TOLD).then(|| place(self.text, label, found));
        let problem = match place.flatten() {
            Some(range) => Problem::at(
                ProblemCode::HiddenText,
                severity,
                self.path,
                self.text,
                range,
                message,
            ),
            None => Problem::of_file(ProblemCode::HiddenText, severity, self.path, message),
        };
        problem.with_help(found.advice())
    }
}

fn look(label: Option<&str>) -> Option<(&str, HiddenCharacter)> {
    let label = label?;
    hidden::find(label, TextPlace::Label).map(|found| (label, found))
}

/// The place of a text's bad character in its file, written literally or escaped.
pub(crate) fn place(file: &str, text: &str, found: HiddenCharacter) -> Option<Range<usize>> {
    let (before, after) = text.split_at(found.offset);
    // A text of several lines may be indented in the file.
    let line = before.rfind('\n').map_or(0, |at| at + 1);
    let end = after.find('\n').map_or(text.len(), |at| found.offset + at);
    for start_and_end in [0..text.len(), line..end] {
        let start = start_and_end.start;
        if let Some(at) = file.find(&text[start_and_end]) {
            let at = at + found.offset - start;
            return Some(at..at + found.character.len_utf8());
        }
    }
    // Only text that is certainly written literally helps to find it.
    let may_be_escaped =
        |c: char| !c.is_ascii() || c.is_ascii_control() || matches!(c, '"' | '\'' | '\\');
    let before = before.rsplit(may_be_escaped).next().unwrap_or_default();
    spellings(found.character).into_iter().find_map(|spelling| {
        let at = file.find(&format!("{before}{spelling}"))? + before.len();
        Some(at..at + spelling.len())
    })
}

/// How TOML, JSON and YAML may write a character.
fn spellings(c: char) -> Vec<String> {
    let code = u32::from(c);
    let mut units = [0; 2];
    let units = c.encode_utf16(&mut units);
    let lower: Vec<String> = units.iter().map(|unit| format!("\\u{unit:04x}")).collect();
    let upper: Vec<String> = units.iter().map(|unit| format!("\\u{unit:04X}")).collect();
    let mut spellings = vec![
        c.to_string(),
        lower.concat(),
        upper.concat(),
        format!("\\U{code:08x}"),
        format!("\\U{code:08X}"),
        format!("\\x{code:02x}"),
        format!("\\x{code:02X}"),
    ];
    let short = match c {
        '\0' => "\\0",
        '\u{7}' => "\\a",
        '\u{8}' => "\\b",
        '\u{b}' => "\\v",
        '\u{c}' => "\\f",
        '\r' => "\\r",
        '\u{1b}' => "\\e",
        '\u{85}' => "\\N",
        '\u{2028}' => "\\L",
        '\u{2029}' => "\\P",
        _ => return spellings,
    };
    spellings.push(short.to_owned());
    spellings
}
