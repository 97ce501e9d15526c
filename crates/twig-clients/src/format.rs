//! Files that were written for other clients, read in place: one file, one prompt.
//!
//! [`part`] decides what a file of a library is, [`read`] reads a prompt from one, and [`library`]
//! combines all prompts. [`twig_core::spoken`] and [`twig_core::marks`] turn such a file into
//! messages. A client's own rules decide what is an argument; nothing is guessed from the text, and
//! nothing in it is run.

mod about;
mod arguments;
mod codex;
mod declared;
mod fabric;
mod files;
mod gemini;
mod library;
mod markdown;
mod models;
mod skills;

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

pub(crate) use self::arguments::has_number_marks;
pub use self::library::{SkillFileFound, library};
pub(crate) use self::markdown::UNSERVED;
use crate::clients::{NameRule, format_of};
use twig_core::body::BodyError;
use twig_core::body::FileRole;
use twig_core::limits::Limits;
use twig_core::model::{
    Content, Dialect, FileForm, LibraryKind, Marks, MessageSource, Prompt, Role, ShellLines,
};
use twig_core::name::{PromptName, RelativePath};
use twig_core::parse::labels;
use twig_core::parse::library::LibraryRoot;
use twig_core::problem::{Problem, ProblemCode, Severity};
use twig_core::slug::{native_slug, slug};

/// What a file of a library is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClientFilePart {
    /// A prompt: its text is read.
    Prompt,
    /// Text about prompts, such as Fabric's list of descriptions.
    Aside,
    /// A file that may belong to a skill.
    Bundled,
    /// A file of the right type that is no prompt. The words say why, and follow its name;
    /// [`skipped`] reports it.
    Skipped(&'static str),
}

/// The content of one file.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Reading {
    /// The prompt, under the name that its file asks for.
    pub prompt: Option<Arc<Prompt>>,
    /// That name in Latin letters, which was the prompt's name before, if it differs.
    pub old_name: Option<Box<str>>,
    /// The front matter of a skill that can be served as one.
    pub skill: Option<SkillHead>,
    /// Descriptions of other prompts, by their names.
    pub descriptions: Vec<(Box<str>, Box<str>)>,
    /// What is wrong with it, and what was repaired.
    pub problems: Vec<Problem>,
}

impl Reading {
    /// A prompt, after its labels were checked.
    fn of(
        folder: &LibraryRoot,
        path: &RelativePath,
        text: &str,
        id: &str,
        mut prompt: Prompt,
    ) -> Self {
        let file = folder.path_of(path);
        let mut problems = Vec::new();
        let prompts = std::slice::from_mut(&mut prompt);
        labels::check(&file, text, prompts, &mut problems);
        shrink(&mut prompt);
        Self {
            prompt: Some(Arc::new(prompt)),
            old_name: old_name(id),
            problems,
            ..Self::default()
        }
    }

    /// The same with a further remark: code, severity, message.
    fn with(
        mut self,
        folder: &LibraryRoot,
        path: &RelativePath,
        remarks: Vec<(ProblemCode, Severity, String)>,
    ) -> Self {
        let file = folder.path_of(path);
        let told = remarks.into_iter();
        let told =
            told.map(|(code, severity, message)| Problem::of_file(code, severity, &file, message));
        self.problems.extend(told);
        self
    }
}

/// The front matter of a skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillHead {
    /// Its name, by the rules of skills.
    pub name: Box<str>,
    /// What it is for.
    pub description: Box<str>,
    /// All of it, as a JSON object.
    pub front_matter: Box<str>,
}

/// A person's settings for how a library is read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Options {
    /// The number of the first argument, 0 or 1, if the text does not show it.
    pub first_argument: Option<u8>,
    /// What becomes of the commands and files that its own client would put in.
    pub shell_lines: ShellLines,
}

/// What a file of a library is; `None` for files that do not matter to it.
pub fn part(kind: LibraryKind, path: &RelativePath) -> Option<ClientFilePart> {
    if kind == LibraryKind::Skills {
        return files::skills(path);
    }
    let format = format_of(kind);
    match format.files.form {
        FileForm::Markdown => files::markdown(format, path),
        FileForm::Whole => files::fabric(path),
        FileForm::Toml | FileForm::Yaml => files::other(format, path),
    }
}

/// What a file in a library of skills is if no skill includes it; `None` if it needs no report.
pub fn part_outside_skills(path: &RelativePath) -> Option<ClientFilePart> {
    files::outside_skills(path).map(ClientFilePart::Skipped)
}

/// The report on a file that is [`ClientFilePart::Skipped`]. The code that lists files passes it to
/// [`library`] with the readings of the others.
pub fn skipped(folder: &LibraryRoot, path: &RelativePath, why: &str) -> Reading {
    let file = folder.path_of(path);
    let message = format!("{} {why}, so it is no prompt", path.file_name());
    let problem = Problem::of_file(ProblemCode::NotAPrompt, Severity::Note, &file, message);
    Reading {
        problems: vec![problem.with_help("rename or move it if it is meant to be one")],
        ..Reading::default()
    }
}

/// Reads a prompt from one file, or reports why there is none. Never fails, whatever the bytes are.
pub fn read(
    kind: LibraryKind,
    folder: &LibraryRoot,
    path: &RelativePath,
    text: Result<&str, &BodyError>,
    options: Options,
    limits: &Limits,
) -> Reading {
    let text = match text {
        Ok(text) => text,
        Err(error) => return unreadable(kind, folder, path, error),
    };
    match format_of(kind).files.form {
        FileForm::Whole => fabric::read(kind, folder, path, text, limits),
        FileForm::Toml => gemini::read(kind, folder, path, text),
        FileForm::Yaml => models::read(kind, folder, path, text, limits),
        FileForm::Markdown => markdown::read(kind, folder, path, text, options, limits),
    }
}

/// A file of the right type that its client would refuse: a prompt that cannot be served.
fn refused(
    kind: LibraryKind,
    folder: &LibraryRoot,
    path: &RelativePath,
    text: &str,
    why: &str,
    at: Range<usize>,
    help: &str,
) -> Reading {
    let file = folder.path_of(path);
    let id = files::without_ending(kind, path);
    let mut prompt = draft(kind, folder, path, id);
    let sentence = format!(
        "The prompt in {}/{path} is refused: it {why}",
        folder.shown_root
    );
    prompt.unavailable = Some(sentence.into());
    let message = format!("the file {why}");
    let problem = Problem::at(
        ProblemCode::NotACommand,
        Severity::Error,
        &file,
        text,
        at,
        message,
    );
    let mut problems = vec![problem.with_help(help)];
    labels::check(&file, "", std::slice::from_mut(&mut prompt), &mut problems);
    Reading {
        prompt: Some(Arc::new(prompt)),
        old_name: old_name(id),
        problems,
        ..Reading::default()
    }
}

/// A prompt of which only the path is known.
fn unreadable(
    kind: LibraryKind,
    folder: &LibraryRoot,
    path: &RelativePath,
    error: &BodyError,
) -> Reading {
    let file = folder.path_of(path);
    let shown = folder.shown_path_of(path);
    let id = match format_of(kind).names {
        NameRule::Folder => markdown::folder_name(folder, path),
        _ => files::without_ending(kind, path),
    };
    let mut prompt = draft(kind, folder, path, id);
    prompt.unavailable = Some(error.sentence(FileRole::ClientPrompt, &shown).into());
    let mut problems = vec![error.problem(FileRole::ClientPrompt, &file, &shown)];
    labels::check(&file, "", std::slice::from_mut(&mut prompt), &mut problems);
    Reading {
        prompt: Some(Arc::new(prompt)),
        old_name: old_name(id),
        problems,
        ..Reading::default()
    }
}

/// The name in Latin letters of a prompt that its client calls by this id, if it is not its name.
fn old_name(id: &str) -> Option<Box<str>> {
    if id.is_ascii() {
        return None;
    }
    let latin = slug(id);
    (latin != native_slug(id)).then(|| latin.into())
}

/// Frees spare capacity: there may be thousands of prompts.
fn shrink(prompt: &mut Prompt) {
    if let Cow::Owned(arguments) = &mut prompt.arguments {
        arguments.shrink_to_fit();
    }
}

/// A prompt whose message is the text of its file, under its client's name for it.
fn draft(kind: LibraryKind, folder: &LibraryRoot, path: &RelativePath, id: &str) -> Prompt {
    let name = PromptName::of_format(id);
    Prompt {
        full_name: full_name(kind, folder, &name),
        title: about::title(id).map(Into::into),
        description: Some(format!("The prompt {name}").into()),
        name,
        arguments: Vec::new().into(),
        messages: vec![MessageSource {
            role: Role::User,
            content: Content::File(path.clone()),
        }],
        dialect: Dialect::Marks(Marks::None),
        unavailable: None,
        written: None,
    }
}

/// The name that clients use; prompts of plain Markdown files have no prefix.
fn full_name(kind: LibraryKind, folder: &LibraryRoot, name: &PromptName) -> Box<str> {
    match kind {
        LibraryKind::Markdown => name.as_str().into(),
        _ => format!("{}{name}", folder.prefix).into(),
    }
}
