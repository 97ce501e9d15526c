//! What the server says about the cursor: what could be typed there, what it means, and where that
//! is defined. All of it comes from a catalog.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value, json};
use twig_core::parse::library::MANIFEST;
use twig_core::{Argument, Bodies, Catalog, Content, Document, Library, Prompt, RelativePath};

use super::cursor::{CursorSpot, spot};
use super::file_uri::uri_of;
use super::text_position::{TextPosition, TextRange};

/// The most suggestions of one answer.
const MOST: usize = 200;

/// The words that a block tag can begin with.
const KEYWORDS: [&str; 20] = [
    "block", "break", "continue", "elif", "else", "endblock", "endfor", "endif", "endmacro",
    "endraw", "endset", "extends", "for", "from", "if", "import", "include", "macro", "raw", "set",
];

/// A text at a position, with what it belongs to.
pub(crate) struct AskedPlace<'a> {
    pub(crate) catalog: &'a Catalog,
    pub(crate) bodies: &'a dyn Bodies,
    pub(crate) library: &'a Arc<Library>,
    /// The file's path in the library.
    pub(crate) file: &'a str,
    pub(crate) text: &'a str,
    /// The byte of the cursor.
    pub(crate) at: usize,
}

/// What could be typed, and the bytes that it replaces.
#[derive(Debug)]
pub(crate) struct CursorSuggestions {
    pub(crate) range: Range<usize>,
    pub(crate) items: Vec<CursorSuggestion>,
    /// True if they are all there are, whatever is typed already.
    pub(crate) is_whole: bool,
}

/// One of them.
#[derive(Debug)]
pub(crate) struct CursorSuggestion {
    pub(crate) label: String,
    pub(crate) kind: SuggestionKind,
    /// What stands beside it.
    pub(crate) detail: Option<String>,
    /// More about it, in Markdown.
    pub(crate) about: Option<String>,
}

/// What is suggested.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SuggestionKind {
    Argument,
    Function,
    Keyword,
    File,
    Folder,
}

impl CursorSuggestion {
    fn new(label: &str, kind: SuggestionKind) -> Self {
        Self {
            label: label.to_owned(),
            kind,
            detail: None,
            about: None,
        }
    }
}

impl SuggestionKind {
    /// The number for it in the protocol.
    fn number(self) -> u8 {
        match self {
            Self::Argument => 6,
            Self::Function => 3,
            Self::Keyword => 14,
            Self::File => 17,
            Self::Folder => 19,
        }
    }
}

impl<'a> AskedPlace<'a> {
    fn spot(&self) -> Option<CursorSpot> {
        spot(self.text, self.at, self.file == MANIFEST)
    }

    /// The prompts that the cursor's text is part of; all of the library in a file that is only
    /// included.
    fn prompts(&self) -> Vec<&'a Prompt> {
        let all = || self.library.prompts.iter().map(AsRef::as_ref);
        let own: Vec<&Prompt> = if self.file == MANIFEST {
            let name = table_of(self.text, self.at);
            all().filter(|it| name == Some(it.name.as_str())).collect()
        } else {
            let is_own = |prompt: &&Prompt| {
                let files = prompt.messages.iter().filter_map(|it| it.content.file());
                files
                    .map(RelativePath::as_str)
                    .any(|file| file == self.file)
            };
            all().filter(is_own).collect()
        };
        if own.is_empty() { all().collect() } else { own }
    }

    /// The arguments that the text can use, with the first prompt that has each.
    fn arguments(&self) -> BTreeMap<&'a str, (&'a Prompt, &'a Argument)> {
        let mut found = BTreeMap::new();
        for prompt in self.prompts() {
            for argument in prompt.arguments.iter() {
                found.entry(&*argument.name).or_insert((prompt, argument));
            }
        }
        found
    }

    /// What could be typed at the cursor.
    pub(crate) fn suggestions(&self) -> Option<CursorSuggestions> {
        let spot = self.spot()?;
        let mut items = Vec::new();
        match &spot {
            CursorSpot::Name(_) => {
                for (name, (prompt, argument)) in self.arguments() {
                    items.push(CursorSuggestion {
                        detail: Some(format!("argument of {}", prompt.full_name)),
                        about: Some(about_argument(prompt, argument)),
                        ..CursorSuggestion::new(name, SuggestionKind::Argument)
                    });
                }
                items.push(CursorSuggestion {
                    detail: Some("embeds a document".to_owned()),
                    ..CursorSuggestion::new("resource", SuggestionKind::Function)
                });
            }
            CursorSpot::Keyword(_) => {
                let words = KEYWORDS.iter();
                items
                    .extend(words.map(|word| CursorSuggestion::new(word, SuggestionKind::Keyword)));
            }
            CursorSpot::Template(range) => self.templates(range, &mut items),
            CursorSpot::File(range) => self.files(&[""], range, &mut items),
            CursorSpot::Document(range) => {
                let typed = &self.text[range.start..self.at];
                let documents = self.catalog.documents(0).map(|found| found.document);
                let fits = documents.filter(|it| it.uri.starts_with(typed)).take(MOST);
                items.extend(fits.map(|document| CursorSuggestion {
                    detail: Some(document.shown_title().to_owned()),
                    ..CursorSuggestion::new(&document.uri, SuggestionKind::File)
                }));
            }
        }
        let is_whole = matches!(spot, CursorSpot::Name(_) | CursorSpot::Keyword(_));
        let (CursorSpot::Name(range)
        | CursorSpot::Keyword(range)
        | CursorSpot::Template(range)
        | CursorSpot::Document(range)
        | CursorSpot::File(range)) = spot;
        Some(CursorSuggestions {
            range,
            items,
            is_whole,
        })
    }

    /// The same as the protocol has it.
    pub(super) fn completion(&self) -> Value {
        let Some(CursorSuggestions { range, items, .. }) = self.suggestions() else {
            return json!({ "isIncomplete": false, "items": [] });
        };
        let range = TextRange::of_bytes(self.text, range);
        let is_cut = items.len() >= MOST;
        let items = items.into_iter().map(|suggestion| {
            let label = suggestion.label;
            let mut item = json!({
                "label": label,
                "kind": suggestion.kind.number(),
                "textEdit": { "range": range, "newText": label },
            });
            if let Some(detail) = suggestion.detail {
                item["detail"] = detail.into();
            }
            if let Some(about) = suggestion.about {
                item["documentation"] = json!({ "kind": "markdown", "value": about });
            }
            item
        });
        let items: Vec<Value> = items.collect();
        json!({ "isIncomplete": is_cut, "items": items })
    }

    /// The names of prompts with a file, and the files in the folders that includes look in.
    fn templates(&self, range: &Range<usize>, items: &mut Vec<CursorSuggestion>) {
        let typed = &self.text[range.start..self.at];
        let libraries = self.catalog.sources();
        for library in libraries.filter(|library| library.stored().is_none()) {
            let is_own = Arc::ptr_eq(library, self.library);
            for prompt in &library.prompts {
                let name = if is_own {
                    prompt.name.as_str().to_owned()
                } else {
                    format!("{}:{}", library.name, prompt.name)
                };
                if !name.starts_with(typed) || first_file(prompt).is_none() || items.len() >= MOST {
                    continue;
                }
                items.push(CursorSuggestion {
                    detail: prompt.title.as_deref().map(str::to_owned),
                    ..CursorSuggestion::new(&name, SuggestionKind::File)
                });
            }
        }
        let own = self.file.rsplit_once('/').map_or("", |(folder, _)| folder);
        let mut folders = vec!["", "prompts", own];
        folders.dedup();
        self.files(&folders, range, items);
    }

    /// The files and folders that complete a path, which is relative to one of these folders.
    fn files(&self, folders: &[&str], range: &Range<usize>, items: &mut Vec<CursorSuggestion>) {
        let typed = &self.text[range.start..self.at];
        let (below, start) = typed.rsplit_once('/').unwrap_or(("", typed));
        for folder in folders {
            let place = [*folder, below].into_iter().filter(|part| !part.is_empty());
            let place = place.collect::<Vec<_>>().join("/");
            // Nothing outside the library is listed.
            if !place.is_empty() && RelativePath::parse(&place).is_err() {
                continue;
            }
            let path = Path::new(&*self.library.root).join(&place);
            let Ok(entries) = std::fs::read_dir(path) else {
                continue;
            };
            let mut found: Vec<(String, bool)> = entries
                .take(MOST * 10)
                .filter_map(|entry| {
                    let entry = entry.ok()?;
                    let kind = entry.file_type().ok()?;
                    let name = entry.file_name().into_string().ok()?;
                    let fits = name.starts_with(start) && !name.starts_with('.');
                    (fits && !kind.is_symlink()).then_some((name, kind.is_dir()))
                })
                .collect();
            found.sort_unstable();
            for (name, is_folder) in found.into_iter().take(MOST.saturating_sub(items.len())) {
                let name = if below.is_empty() {
                    name
                } else {
                    format!("{below}/{name}")
                };
                let kind = if is_folder {
                    SuggestionKind::Folder
                } else {
                    SuggestionKind::File
                };
                items.push(CursorSuggestion::new(&name, kind));
            }
        }
    }

    /// What the thing at the cursor is.
    pub(super) fn hover(&self) -> Value {
        let found = self.spot().and_then(|spot| match spot {
            CursorSpot::Name(range) => {
                let (prompt, argument) = *self.arguments().get(&self.text[range.clone()])?;
                Some((range, about_argument(prompt, argument)))
            }
            CursorSpot::Template(range) => {
                let (library, path) = self.template(&self.text[range.clone()])?;
                let prompts = library.prompts.iter();
                let mut prompts = prompts.filter(|it| first_file(it) == Some(&path));
                let head = prompts.next().map(|prompt| about_prompt(prompt));
                let head = head.unwrap_or_default();
                Some((range, format!("{head}`{}`", library.shown_path_of(&path))))
            }
            CursorSpot::Document(range) => {
                let document = self.document(&self.text[range.clone()])?.1;
                Some((range, about_document(document)))
            }
            CursorSpot::Keyword(_) | CursorSpot::File(_) => None,
        });
        found.map_or(Value::Null, |(range, text)| {
            json!({
                "contents": { "kind": "markdown", "value": text },
                "range": TextRange::of_bytes(self.text, range),
            })
        })
    }

    /// Where the thing at the cursor is defined.
    pub(super) fn definition(&self) -> Value {
        let place = self.spot().and_then(|spot| match spot {
            CursorSpot::Name(range) => {
                let (prompt, argument) = *self.arguments().get(&self.text[range])?;
                self.declaration(prompt, argument)
            }
            CursorSpot::Template(range) => {
                let (library, path) = self.template(&self.text[range])?;
                Some((PathBuf::from(library.path_of(&path)), TextPosition::START))
            }
            CursorSpot::Document(range) => {
                let (library, document) = self.document(&self.text[range])?;
                let path = library.path_of(document.file()?);
                Some((path.into(), TextPosition::START))
            }
            CursorSpot::File(range) => {
                let path = RelativePath::parse(&self.text[range]).ok()?;
                let is_there = self.bodies.stamp(self.library, &path).is_ok();
                let path = PathBuf::from(self.library.path_of(&path));
                is_there.then_some((path, TextPosition::START))
            }
            CursorSpot::Keyword(_) => None,
        });
        place.map_or(Value::Null, |(path, position)| {
            let range = TextRange {
                start: position,
                end: position,
            };
            json!({ "uri": uri_of(&path), "range": range })
        })
    }

    /// The file that a name in `include` leads to, as rendering finds it.
    fn template(&self, name: &str) -> Option<(&'a Arc<Library>, RelativePath)> {
        let (library, own) = match name.split_once(':') {
            Some((library, own)) => (self.catalog.library(library)?, own),
            None => (self.library, name),
        };
        let mut prompts = library.prompts.iter();
        let prompt = prompts.find(|prompt| prompt.name.as_str() == own);
        if let Some(path) = prompt.and_then(|prompt| first_file(prompt)) {
            return Some((library, path.clone()));
        }
        let beside = self.file.rsplit_once('/').map_or("", |(folder, _)| folder);
        for folder in ["", "prompts", beside] {
            for ending in ["", ".md"] {
                let text = format!("{folder}/{own}{ending}");
                let path = RelativePath::parse(text.trim_start_matches('/')).ok()?;
                if self.bodies.stamp(library, &path).is_ok() {
                    return Some((library, path));
                }
            }
        }
        None
    }

    fn document(&self, uri: &str) -> Option<(&'a Arc<Library>, &'a Document)> {
        let found = self.catalog.embedded_document(uri)?;
        Some((found.library, found.document))
    }

    /// Where an argument is declared: its name in quotes after the table of its prompt, or in the
    /// front matter of its own file.
    fn declaration(&self, prompt: &Prompt, argument: &Argument) -> Option<(PathBuf, TextPosition)> {
        let content = prompt.messages.first().map(|message| &message.content);
        let file = match content {
            Some(content) if self.library.kind != twig_core::LibraryKind::Twig => content.file(),
            _ => None,
        };
        let path = file.map_or(MANIFEST, RelativePath::as_str);
        let path = RelativePath::parse(path).ok()?;
        let body = self.bodies.read(self.library, &path).ok()?;
        let text = &body.text;
        let from = if path.as_str() == MANIFEST {
            table_start(text, prompt.name.as_str())?
        } else {
            0
        };
        let name = &*argument.name;
        let at = word_in(&text[from..], name)? + from;
        let path = PathBuf::from(self.library.path_of(&path));
        Some((path, TextPosition::of_byte(text, at)))
    }
}

/// The file of a prompt's first message.
fn first_file(prompt: &Prompt) -> Option<&RelativePath> {
    match prompt.messages.first()?.content {
        Content::File(ref path) => Some(path),
        _ => None,
    }
}

fn about_prompt(prompt: &Prompt) -> String {
    let title = prompt.title.as_deref().unwrap_or_default();
    format!("**{}** {title}\n\n", prompt.full_name)
}

fn about_argument(prompt: &Prompt, argument: &Argument) -> String {
    let required = if argument.required { ", required" } else { "" };
    let mut about = vec![format!(
        "`{}`: argument of {}{required}",
        argument.name, prompt.full_name
    )];
    about.extend(argument.description.as_deref().map(str::to_owned));
    let default = argument.default.as_ref();
    about.extend(default.map(|default| format!("Default: `{default}`")));
    let choices = argument.choices.iter().map(|choice| format!("`{choice}`"));
    let choices = choices.collect::<Vec<_>>().join(", ");
    about.extend((!choices.is_empty()).then(|| format!("Choices: {choices}")));
    let length = argument.max_length;
    about.extend(length.map(|length| format!("At most {length} characters")));
    about.join("\n\n")
}

fn about_document(document: &Document) -> String {
    let description = document.description.as_deref().unwrap_or_default();
    format!(
        "**{}**\n\n{description}\n\n`{}`, {} bytes",
        document.shown_title(),
        document.uri,
        document.size
    )
}

/// The prompt whose table in a manifest a byte is in.
fn table_of(text: &str, at: usize) -> Option<&str> {
    let lines = text.get(..at)?.lines().rev();
    let mut headers = lines.filter_map(|line| {
        let line = line.trim_start();
        line.starts_with('[').then(|| line.trim_start_matches('['))
    });
    let header = headers.next()?.strip_prefix("prompts.")?;
    header
        .split(['.', ']'])
        .next()
        .map(|name| name.trim_matches('"'))
}

/// Where the tables of a prompt begin in a manifest.
fn table_start(text: &str, name: &str) -> Option<usize> {
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let header = line.trim_start().trim_start_matches('[');
        let is_header = line.trim_start().starts_with('[');
        let of = header.strip_prefix("prompts.").map(|rest| {
            let rest = rest.split(['.', ']']).next().unwrap_or_default();
            rest.trim_matches('"')
        });
        if is_header && of == Some(name) {
            return Some(at);
        }
        at += line.len();
    }
    None
}

/// The first place of a word that is not part of a longer one.
fn word_in(text: &str, word: &str) -> Option<usize> {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(word).map(|(at, _)| at).find(|at| {
        let before = text[..*at].chars().next_back();
        let after = text[at + word.len()..].chars().next();
        !before.is_some_and(is_part) && !after.is_some_and(is_part)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_of_a_prompt_is_found() {
        let text = "[library]\ntitle = \"x\"\n[prompts.one]\nfile = \"a\"\n\
            [[prompts.\"two.b\".arguments]]\nname = \"code\"\n";
        let at = |part: &str| text.find(part).unwrap();
        assert_eq!(table_of(text, at("title")), None);
        assert_eq!(table_of(text, at("file")), Some("one"));
        assert_eq!(table_start(text, "one"), Some(at("[prompts.one]")));
        assert_eq!(table_start(text, "three"), None);
        assert_eq!(word_in("encode code", "code"), Some(7));
    }
}
