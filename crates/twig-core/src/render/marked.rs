//! Prompts of other clients' formats: marks become values, in one pass.

use std::borrow::Cow;

use super::arguments::value_at;
use super::{Audience, Block, GivenArguments, Message, RenderError, read};
use crate::argument::Argument;
use crate::catalog::PromptRef;
use crate::marks::{MarkedPiece, curly, pieces};
use crate::model::{AppendedForm, Content, Library, LibraryKind, Marks, ShellLines};
use crate::name::RelativePath;
use crate::shell_lines::instruct;
use crate::spoken;
use crate::world::World;

/// The variable for the folder of a skill's files.
const SKILL_FOLDER: &str = "${CLAUDE_SKILL_DIR}";

/// The hint about a skill's files, for clients that can open them and for those that read
/// resources.
const FILES: &str = "\nRelative paths in this skill are relative to this base directory.\n";
const RESOURCES: &str = "\nRelative paths in this skill are relative to this base directory; read these files as resources.\n";

/// Renders a prompt whose text has marks for its arguments.
///
/// Without a value, `$1` and `${input:x}` stay as they are, as their clients leave them;
/// `$ARGUMENTS`, names and the numbers of opencode become empty. Each argument has one value: a last
/// number that takes all remaining words is handled where a line is split into values.
pub(super) fn render(
    world: World<'_>,
    found: PromptRef<'_>,
    marks: Marks,
    given: &GivenArguments<'_>,
    audience: Audience<'_>,
) -> Result<Vec<Message>, RenderError> {
    let prompt = found.prompt;
    let is_remote = audience.is_remote;
    let arguments = prompt.arguments.iter().enumerate();
    let each = arguments
        .map(|(at, argument)| value_at(given, at, argument).or(argument.default.as_deref()));
    let values = MarkValues {
        each: each.collect(),
        line: audience.line,
    };
    let mut room = world.templates.limits().rendered;
    let most = world.templates.limits().embedded;
    let mut messages = Vec::new();
    for message in &prompt.messages {
        let Content::File(path) = &message.content else {
            continue;
        };
        let text = read(world, found.library, path)?;
        let spoken = spoken::bodies(found.library.kind, &text).map_err(|why| {
            RenderError::Unavailable(format!("{}/{path} {why}", found.library.shown_root).into())
        })?;
        let folder = (found.library.kind == LibraryKind::Skills)
            .then(|| base(found.library, path, is_remote));
        for spoken in spoken {
            let mut output = LimitedText {
                text: String::with_capacity(spoken.text.len().min(room)),
                limit: room,
                whole: world.templates.limits().rendered,
            };
            let text = match found.library.shell_lines {
                ShellLines::Text => Cow::Borrowed(&*spoken.text),
                ShellLines::Instruct => instruct(found.library.kind, &spoken.text),
            };
            for piece in pieces(marks, &prompt.arguments, &text) {
                write(&mut output, piece, marks, &values, folder.as_deref())?;
            }
            if let Some(folder) = &folder {
                output.line_end()?;
                output.push("\nBase directory for this skill: ")?;
                output.push(folder)?;
                output.push(if is_remote { RESOURCES } else { FILES })?;
                output.files(&files(found.library, path, is_remote), most)?;
            }
            // Some clients send every argument, most of them empty.
            if let Marks::Appended { form, .. } = marks
                && values.each.iter().flatten().any(|it| !it.is_empty())
            {
                output.line_end()?;
                output.push("\n")?;
                match form {
                    AppendedForm::Labelled => output.push("ARGUMENTS: ")?,
                    AppendedForm::Bare => {}
                    AppendedForm::CommandLine => output.push(&command(path))?,
                }
                output.all(&values)?;
            }
            if marks == Marks::Patterns {
                append_input(&mut output, &prompt.arguments, &values.each, &text)?;
            }
            room -= output.text.len().min(room);
            messages.push(Message {
                role: spoken.role,
                block: Block::Text(output.text),
            });
        }
    }
    Ok(messages)
}

/// The values of a prompt's arguments.
struct MarkValues<'v> {
    each: Vec<Option<&'v str>>,
    /// What was typed, if they were split from it.
    line: Option<&'v str>,
}

/// What a person types before the words: `/folder:name `.
fn command(path: &RelativePath) -> String {
    let path = path.as_str();
    let name = path.rsplit_once('.').map_or(path, |(name, _)| name);
    format!("/{} ", name.replace('/', ":"))
}

fn write(
    output: &mut LimitedText,
    piece: MarkedPiece<'_>,
    marks: Marks,
    values: &MarkValues<'_>,
    folder: Option<&str>,
) -> Result<(), RenderError> {
    match piece {
        MarkedPiece::Text(text) => {
            let mut parts = text.split(SKILL_FOLDER);
            output.push(parts.next().unwrap_or_default())?;
            for part in parts {
                output.push(folder.unwrap_or(SKILL_FOLDER))?;
                output.push(part)?;
            }
            Ok(())
        }
        MarkedPiece::Argument { at, mark } => {
            let absent = match marks {
                // opencode replaces every number; Claude Code leaves those without a word.
                Marks::Named
                | Marks::Args
                | Marks::Patterns
                | Marks::Dollar {
                    is_greedy: true, ..
                } => "",
                _ => mark,
            };
            output.push(values.each.get(at).copied().flatten().unwrap_or(absent))
        }
        MarkedPiece::All { .. } => output.all(values),
    }
}

/// A pattern that does not say where its input goes has it at the end, after an empty line.
fn append_input(
    output: &mut LimitedText,
    arguments: &[Argument],
    values: &[Option<&str>],
    text: &str,
) -> Result<(), RenderError> {
    let at = arguments.iter().position(|it| *it.name == *curly::INPUT);
    let input = at.and_then(|at| values.get(at).copied().flatten());
    match input {
        Some(input) if !input.is_empty() && !text.contains("{{input}}") => {
            output.line_end()?;
            output.push("\n")?;
            output.push(input)
        }
        _ => Ok(()),
    }
}

/// A text that never grows past its limit.
struct LimitedText {
    text: String,
    limit: usize,
    /// The limit of the whole prompt, for the sentence.
    whole: usize,
}

impl LimitedText {
    fn push(&mut self, part: &str) -> Result<(), RenderError> {
        if part.len() > self.limit - self.text.len() {
            let limit = self.whole;
            return Err(RenderError::Limit(format!(
                "The rendered prompt exceeds the limit of {limit} bytes"
            )));
        }
        self.text.push_str(part);
        Ok(())
    }

    /// All values as they were typed: the line, or one space between two.
    fn all(&mut self, values: &MarkValues<'_>) -> Result<(), RenderError> {
        if let Some(line) = values.line {
            return self.push(line);
        }
        let typed = values.each.iter().flatten();
        let typed = typed.filter(|value| !value.is_empty());
        for (at, value) in typed.enumerate() {
            if at > 0 {
                self.push(" ")?;
            }
            self.push(value)?;
        }
        Ok(())
    }

    /// The list of a skill's files, up to a number of them.
    fn files(&mut self, files: &[&str], most: usize) -> Result<(), RenderError> {
        if files.is_empty() {
            return Ok(());
        }
        self.push("Files of this skill:\n")?;
        for file in files.iter().take(most) {
            self.push("- ")?;
            self.push(file)?;
            self.push("\n")?;
        }
        match files.len().saturating_sub(most) {
            0 => Ok(()),
            more => self.push(&format!("- and {more} more\n")),
        }
    }

    /// Starts a new line for what follows.
    fn line_end(&mut self) -> Result<(), RenderError> {
        if self.text.is_empty() || self.text.ends_with('\n') {
            return Ok(());
        }
        self.push("\n")
    }
}

/// The folder of a skill: absolute, or the prefix of its files' URIs.
fn base(library: &Library, path: &RelativePath, is_remote: bool) -> String {
    if is_remote {
        return base_uri(library, path).map_or_else(|| library.name.to_string(), ToOwned::to_owned);
    }
    match path.folder() {
        "" => library.root.to_string(),
        folder => library.path_of(folder),
    }
}

/// The prefix of the URIs of a skill's files, without the final `/`.
fn base_uri<'l>(library: &'l Library, path: &RelativePath) -> Option<&'l str> {
    let own = library
        .documents
        .iter()
        .find(|known| known.file() == Some(path));
    own.and_then(|own| own.uri.rsplit_once('/').map(|(base, _)| base))
}

/// The paths of the other files of a skill, from its folder: parts of their URIs for a client that
/// reads them as resources.
fn files<'l>(library: &'l Library, path: &RelativePath, is_remote: bool) -> Vec<&'l str> {
    let Some(base) = base_uri(library, path) else {
        return Vec::new();
    };
    let base = format!("{base}/");
    let start = library.documents.partition_point(|it| *it.uri < *base);
    let known = library.documents[start..].iter();
    let known = known.take_while(|known| known.uri.starts_with(&base));
    let others = known.filter(|known| known.file() != Some(path));
    let paths = others.filter_map(|known| match known.file() {
        Some(file) if !is_remote => {
            let inside = file.as_str().strip_prefix(path.folder())?;
            Some(inside.trim_start_matches('/'))
        }
        _ => Some(&known.uri[base.len()..]),
    });
    paths.collect()
}
