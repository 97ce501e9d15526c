//! The model: libraries, prompts and their arguments.
//!
//! These are plain values. `parse` knows how files write them, the protocol how they look on the
//! wire.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use crate::argument::Argument;
use crate::braces::{Braces, UriPattern};
use crate::document::{Document, UriTemplate};
use crate::grants::Grants;
use crate::media::MediaKind;
use crate::name::{LibraryName, PromptName, RelativePath, full_path};
use crate::problem::Problem;
use crate::slug;
use crate::stored_version::{StoredVersion, VersionAuthor};

/// How a library's files are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum LibraryKind {
    /// `twig.toml` and Jinja templates.
    Twig,
    /// `prompts/*.json` and the documents that they embed.
    Definitions,
    /// Markdown files, one prompt each.
    Markdown,
    /// `prompts.json` and the bash functions of `prompts.bash`.
    Functions,
    /// Folders with a `SKILL.md` and the files of the skill.
    Skills,
    /// Files of another client.
    Client(&'static ClientFiles),
    /// A project in a workspace; its content is served verbatim.
    Store,
}

/// The prompt files of another client, one prompt each.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClientFiles {
    /// The word for them in flags, files and listings.
    pub id: &'static str,
    /// Where in a file its text is.
    pub form: FileForm,
}

/// Where in a prompt file its text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FileForm {
    /// All of the file but its front matter.
    Markdown,
    /// All of the file.
    Whole,
    /// TOML: the value of `prompt`.
    Toml,
    /// YAML: `messages`, each with a role.
    Yaml,
}

impl LibraryKind {
    /// The word for it in flags, files and listings.
    pub fn as_str(self) -> &'static str {
        match self {
            LibraryKind::Twig => "twig",
            LibraryKind::Definitions => "definitions",
            LibraryKind::Markdown => "markdown",
            LibraryKind::Functions => "functions",
            LibraryKind::Skills => "skills",
            LibraryKind::Client(files) => files.id,
            LibraryKind::Store => "store",
        }
    }

    /// Whether its files are read in place: one file, one prompt.
    pub fn is_format(self) -> bool {
        matches!(
            self,
            LibraryKind::Markdown | LibraryKind::Skills | LibraryKind::Client(_)
        )
    }
}

/// What lists show of prompts: patterns of names, with `*` for any characters.
///
/// A pattern with a `:` names prompts with their library, one without names libraries or prompts
/// without a library in front.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ListingRules {
    /// Prompts that lists leave out; they can be used all the same.
    pub hide: Vec<Box<str>>,
    /// Prompts that come first.
    pub pin: Vec<Box<str>>,
}

impl ListingRules {
    /// True if they change nothing.
    pub(crate) fn is_silent(&self) -> bool {
        self.hide.is_empty() && self.pin.is_empty()
    }
}

/// What lists show, as the user says: to every client, and to some of them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ListingSettings {
    /// For every client.
    pub rules: ListingRules,
    /// True if clients are offered prompts that they load themselves, too.
    pub serves_own: bool,
    /// What differs for some clients, by their names.
    pub clients: BTreeMap<Box<str>, ClientListing>,
}

/// What lists show to one client.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClientListing {
    /// They come before those for every client.
    pub rules: ListingRules,
    /// True if it is offered prompts that it loads itself, too; as for every client if `None`.
    pub serves_own: Option<bool>,
}

/// A named set of prompts that came from one folder.
#[derive(Debug, Clone, PartialEq)]
pub struct Library {
    /// The prefix of its prompts' names.
    pub name: LibraryName,
    /// How its files are read.
    pub kind: LibraryKind,
    /// Where it comes from.
    pub origin: LibraryOrigin,
    /// Its folder, as the source knows it (absolute).
    pub root: Box<str>,
    /// Its folder in messages for people (`~` for home).
    pub shown_root: Box<str>,
    /// What the manifest says of the library itself.
    pub about: LibraryAbout,
    /// Its prompts, sorted by name; those that cannot be served say why.
    pub prompts: Vec<Arc<Prompt>>,
    /// Versions of its prompts that have a label, sorted by name, then by label.
    pub labelled: Vec<LabelledPrompt>,
    /// Names that prompts had when names were in Latin letters only: they still find the prompt.
    pub old_names: BTreeMap<Box<str>, PromptName>,
    /// Its skills, sorted by URI.
    pub skills: Vec<Arc<Skill>>,
    /// The package that it is part of, if it was fetched.
    pub package: Option<Arc<LibraryPackage>>,
    /// What lists show of its prompts, as its repository says.
    pub listing: ListingRules,
    /// The names of the clients that load its files themselves where the server runs.
    pub loaded_by: Vec<&'static str>,
    /// What becomes of the commands and files that its own client would put in.
    pub shell_lines: ShellLines,
    /// The workspace whose people alone may read it on a server with keys; everyone if `None`.
    pub workspace: Option<Box<str>>,
    /// Its documents, sorted by URI.
    pub documents: Vec<Document>,
    /// The folder that holds them, if a project names one outside its own folder.
    pub documents_beside: Option<RelativePath>,
    /// Templates for the URIs of its documents.
    pub templates: Vec<UriTemplate>,
    /// What is wrong with it, as far as is known without reading bodies.
    pub problems: Vec<Problem>,
    /// A hash of what it was made from, to tell one state of it from the next.
    pub state: u64,
    /// The files that its functions were read from; empty if it has none.
    pub function_sources: Vec<FunctionSource>,
}

/// A version of a project's prompt that has a label.
#[derive(Debug, Clone, PartialEq)]
pub struct LabelledPrompt {
    /// The label.
    pub label: Box<str>,
    /// The version, under the full name `name@label`.
    pub prompt: Arc<Prompt>,
}

/// What becomes of the commands and files in a library's prompts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ShellLines {
    /// They stay as they are.
    #[default]
    Text,
    /// Each becomes a sentence that tells the model to run it, or to read it, first.
    Instruct,
}

impl ShellLines {
    /// Reads the word for it in flags and files.
    pub fn parse(word: &str) -> Option<Self> {
        match word {
            "text" => Some(Self::Text),
            "instruct" => Some(Self::Instruct),
            _ => None,
        }
    }
}

impl Library {
    /// The full path of a file, from its path in the library.
    pub fn path_of(&self, file: impl fmt::Display) -> String {
        full_path(&self.root, file)
    }

    /// The same in messages for people.
    pub fn shown_path_of(&self, file: impl fmt::Display) -> String {
        full_path(&self.shown_root, file)
    }

    /// The labelled versions of a prompt, sorted by label.
    pub fn labelled_versions(&self, name: &PromptName) -> &[LabelledPrompt] {
        let from = self.labelled.partition_point(|it| it.prompt.name < *name);
        let to = self.labelled.partition_point(|it| it.prompt.name <= *name);
        &self.labelled[from..to]
    }

    /// True if it is a project's own: its prompts have bare names, and it takes no library's name.
    pub fn is_project(&self) -> bool {
        matches!(
            self.origin,
            LibraryOrigin::ProjectFolder | LibraryOrigin::Stored { .. }
        )
    }

    /// True if it is a project of a workspace that nobody selected: its prompts are
    /// `project:prompt`, and are found by that name only.
    pub fn is_offered(&self) -> bool {
        matches!(self.origin, LibraryOrigin::Offered { .. })
    }

    /// The workspace and the project that it was made from, if it was made from one.
    pub fn stored(&self) -> Option<(&str, &str)> {
        match &self.origin {
            LibraryOrigin::Stored { workspace, project }
            | LibraryOrigin::Offered { workspace, project } => Some((workspace, project)),
            LibraryOrigin::Folder | LibraryOrigin::ProjectFolder => None,
        }
    }

    /// The same library without the prompts that programs make.
    #[must_use]
    pub fn without_functions(&self) -> Self {
        let mut library = self.clone();
        library.prompts.retain(|prompt| prompt.function().is_none());
        library
    }

    /// True if a program makes any of its prompts.
    pub fn runs_functions(&self) -> bool {
        let mut prompts = self.prompts.iter();
        prompts.any(|prompt| prompt.function().is_some())
    }
}

/// Where a library comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LibraryOrigin {
    /// A folder.
    Folder,
    /// The folder with the prompts of the project that it belongs to.
    ProjectFolder,
    /// The selected project of a workspace.
    Stored {
        /// The workspace's name.
        workspace: Box<str>,
        /// The project's name.
        project: Box<str>,
    },
    /// A project of a workspace whose prompts are offered without being selected.
    Offered {
        /// The workspace's name.
        workspace: Box<str>,
        /// The project's name.
        project: Box<str>,
    },
}

/// The package that a library is part of: files that were fetched and must not change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LibraryPackage {
    /// Its name in the configuration and in the lock.
    pub name: LibraryName,
    /// Where it comes from.
    pub source: Box<str>,
    /// The branch, tag or commit that was asked for.
    pub reference: Option<Box<str>>,
    /// The commit.
    pub commit: Option<Box<str>>,
    /// The digest over its files: `sha256:` and hexadecimal digits.
    pub tree: Box<str>,
    /// The library's folder in it, with a `/` at its end; empty for all of it.
    pub below: Box<str>,
    /// What of it is served, by name; everything if it is empty.
    pub only: Vec<Box<str>>,
    /// The names of prompts that are not served because of that.
    pub left_out: Vec<Box<str>>,
}

impl LibraryPackage {
    /// The version in words: the reference, and the first digits of the commit.
    pub fn version(&self) -> String {
        let commit = self.commit.as_deref().map(|it| it.get(..10).unwrap_or(it));
        match (self.reference.as_deref(), commit) {
            (Some(reference), Some(commit)) if !reference.starts_with(commit) => {
                format!("{reference} ({commit})")
            }
            (_, Some(commit)) => commit.to_owned(),
            (Some(reference), None) => reference.to_owned(),
            (None, None) => self.tree.chars().take(17).collect(),
        }
    }
}

/// A file that says what the functions of a library run, as it was when they were read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FunctionSource {
    /// Its path from the library's folder.
    pub path: &'static str,
    /// SHA-256 of its bytes.
    pub digest: [u8; 32],
}

/// What a manifest says of its library.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LibraryAbout {
    /// A name for people.
    pub title: Option<Box<str>>,
    /// What it is for.
    pub description: Option<Box<str>>,
    /// The author's version of it.
    pub version: Option<Box<str>>,
    /// Under which terms it may be used.
    pub license: Option<Box<str>>,
    /// Where to read more.
    pub homepage: Option<Box<str>>,
}

/// One prompt.
#[derive(Debug, Clone, PartialEq)]
pub struct Prompt {
    /// Its own name.
    pub name: PromptName,
    /// The name that clients use: `library:prompt`.
    pub full_name: Box<str>,
    /// A name for people.
    pub title: Option<Box<str>>,
    /// What it does.
    pub description: Option<Box<str>>,
    /// What it takes, in the author's order.
    pub arguments: Cow<'static, [Argument]>,
    /// Its messages, one entry per message.
    pub messages: Vec<MessageSource>,
    /// How its text becomes a message.
    pub dialect: Dialect,
    /// Why it is not listed, if it cannot be served: a sentence for the client that asks for it.
    pub unavailable: Option<Box<str>>,
    /// Who wrote it, if it is a version in a store.
    pub written: Option<Box<VersionAuthor>>,
}

impl Prompt {
    /// What is before its own name in its full name.
    pub fn prefix(&self) -> &str {
        let prefix = self.full_name.strip_suffix(self.name.as_str());
        prefix.unwrap_or_default()
    }

    /// Its full name for clients that replace all letters outside ASCII, if its own name has such.
    pub fn short_full_name(&self) -> Option<String> {
        let short = slug::short_form(self.name.as_str())?;
        Some(format!("{}{short}", self.prefix()))
    }

    /// The program that makes its messages, if there is one.
    pub fn function(&self) -> Option<&Function> {
        self.messages
            .iter()
            .find_map(|message| match &message.content {
                Content::Function(function) => Some(function),
                _ => None,
            })
    }

    /// True if it has images or audio.
    pub fn has_media(&self) -> bool {
        let is_media = |message: &MessageSource| matches!(message.content, Content::Media { .. });
        self.messages.iter().any(is_media)
    }
}

/// How a prompt's text becomes a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// A Jinja template.
    Jinja,
    /// `{{input}}` is replaced; without one the input is appended. Front matter is removed.
    Input,
    /// The marks of a client's own format are replaced. Front matter is removed.
    Marks(Marks),
    /// `{{name}}` and `{{resource:URI}}`.
    Braces,
    /// A program prints the messages.
    Function,
    /// The text is the message.
    Verbatim,
}

/// Which marks of a text stand for arguments.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Marks {
    /// None: the text is the message.
    #[default]
    None,
    /// `$ARGUMENTS`, and `$name` for each argument that has that name; numbers are text.
    Named,
    /// `$ARGUMENTS`, and `$ARGUMENTS[N]` and `$N` for the argument at that place; names are text.
    Dollar {
        /// The number of the first argument: 0 or 1.
        first: u8,
        /// True if the mark with the highest number takes all remaining arguments.
        is_greedy: bool,
    },
    /// There is no mark: values are appended to the text.
    Appended {
        /// How they are written.
        form: AppendedForm,
        /// True if the author says nothing about arguments: the one argument is
        /// [`implied_arguments`](crate::argument::implied_arguments).
        is_implied: bool,
    },
    /// `$NAME`, in capitals.
    Capitals,
    /// `${input:name}` and `${input:name:what to put there}`.
    Inputs,
    /// `{{args}}`.
    Args,
    /// `{{name}}`, and the argument `input` appended where it has no mark.
    Patterns,
    /// `{{name}}`, which stays as it is if no value is given.
    Variables,
}

/// How a client appends what was typed after a command to a text that has no mark for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AppendedForm {
    /// `ARGUMENTS: words`.
    Labelled,
    /// `words`.
    Bare,
    /// The line that was typed: `/name words`.
    CommandLine,
}

/// The file that makes a folder a skill.
pub const SKILL_FILE: &str = "SKILL.md";

/// The prefix of the URIs of a skill's files.
pub const SKILL_SCHEME: &str = "skill://";

/// A folder with a `SKILL.md` and the files of the skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skill {
    /// Its name, as its front matter has it; the last part of its folder's URI.
    pub name: Box<str>,
    /// The URI of its `SKILL.md`.
    pub uri: Box<str>,
    /// Its front matter as a JSON object.
    pub front_matter: Box<str>,
    /// All its files, sorted by URI, including `SKILL.md`.
    pub files: Vec<SkillFile>,
    /// True if it has more files than a list may hold: then there is no list.
    pub is_unlisted: bool,
}

/// One file of a skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillFile {
    /// Its URI.
    pub uri: Box<str>,
    /// SHA-256 of its bytes.
    pub digest: [u8; 32],
    /// Its length in bytes.
    pub size: u64,
}

/// The role of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The person.
    User,
    /// The model.
    Assistant,
}

impl Role {
    /// The word for it in files and on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Role::User => "user",
            Role::Assistant => "assistant",
        }
    }
}

/// Where one message comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessageSource {
    /// Its role.
    pub role: Role,
    /// Its content.
    pub content: Content,
}

/// A template, in a file of its own or in the manifest; bytes; or a program.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Content {
    /// A file of the library.
    File(RelativePath),
    /// A version in a store.
    Stored(StoredVersion),
    /// Text in the manifest, and the line there on which it starts.
    Text {
        /// The template itself.
        text: Box<str>,
        /// Its first line in the manifest, from 1.
        line: u32,
        /// How it is written there.
        form: TextForm,
        /// Where it is, if not in `twig.toml`.
        file: Option<RelativePath>,
    },
    /// Text with `{{name}}` and `{{resource:URI}}`.
    Braces {
        /// The text, read once.
        text: Braces,
        /// Where it is.
        file: RelativePath,
    },
    /// A document, or a link to it.
    Document {
        /// Which one.
        uri: UriPattern,
        /// True if the client gets a link instead of the content of the document.
        is_link: bool,
        /// The file that says so.
        file: RelativePath,
    },
    /// An image or audio: a file of the library, sent as it is.
    Media {
        /// Which of the two.
        kind: MediaKind,
        /// What its bytes are.
        mime: &'static str,
        /// The file.
        path: RelativePath,
    },
    /// Whatever a program prints.
    Function(Function),
}

/// A program that makes a prompt's messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Function {
    /// A file of the library, and what it is started with.
    Command {
        /// The file.
        program: RelativePath,
        /// The author's own arguments; those of a request are never passed this way.
        arguments: Vec<Box<str>>,
        /// What it asks for beyond its library.
        grants: Box<Grants>,
        /// How its output is read.
        output: OutputForm,
    },
    /// A function of a bash script.
    Bash {
        /// The script.
        script: RelativePath,
        /// The function's name: letters a to z, digits and `_`.
        function: Box<str>,
    },
}

/// What a program prints.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum OutputForm {
    /// One JSON object with messages.
    #[default]
    Json,
    /// The text of one user message.
    Text,
}

impl Function {
    /// A file of the library that prints JSON and is started with these arguments.
    pub fn command(program: RelativePath, arguments: Vec<Box<str>>) -> Self {
        Self::Command {
            program,
            arguments,
            grants: Box::default(),
            output: OutputForm::default(),
        }
    }

    /// What it asks for beyond its library.
    pub fn grants(&self) -> &Grants {
        const NONE: &Grants = &Grants {
            repository: false,
            paths: Vec::new(),
            network: false,
            environment: Vec::new(),
        };
        match self {
            Self::Command { grants, .. } => grants,
            Self::Bash { .. } => NONE,
        }
    }

    /// How its output is read.
    pub fn output(&self) -> OutputForm {
        match self {
            Self::Command { output, .. } => *output,
            Self::Bash { .. } => OutputForm::Json,
        }
    }

    /// The file that holds the program.
    pub fn file(&self) -> &RelativePath {
        match self {
            Self::Command { program, .. } => program,
            Self::Bash { script, .. } => script,
        }
    }
}

impl Content {
    /// The file with the content, or the file that refers to it; `None` for the manifest and for a
    /// store.
    pub fn file(&self) -> Option<&RelativePath> {
        match self {
            Self::File(path) | Self::Media { path, .. } => Some(path),
            Self::Text { file, .. } => file.as_ref(),
            Self::Braces { file, .. } | Self::Document { file, .. } => Some(file),
            Self::Function(function) => Some(function.file()),
            Self::Stored(_) => None,
        }
    }

    /// The line of the manifest on which it starts, if it is there.
    pub fn line(&self) -> Option<u32> {
        match self {
            Self::Text {
                line, file: None, ..
            } => Some(*line),
            _ => None,
        }
    }

    /// The version in a store, if it is one.
    pub fn stored(&self) -> Option<&StoredVersion> {
        match self {
            Self::Stored(version) => Some(version),
            _ => None,
        }
    }

    /// The folders in which the argument at this place names a document.
    pub(crate) fn folders(&self, argument: usize) -> Vec<&str> {
        let patterns: Vec<&UriPattern> = match self {
            Self::Braces { text, .. } => text.patterns().collect(),
            Self::Document { uri, .. } => vec![uri],
            _ => Vec::new(),
        };
        let folders = patterns.into_iter();
        folders
            .filter_map(|uri| uri.folder_before(argument))
            .collect()
    }
}

/// How a template is written in a manifest, and so what its lines and columns mean there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextForm {
    /// On lines of its own, byte for byte.
    Lines,
    /// Byte for byte, but starting in the middle of a line.
    Inline,
    /// With escapes: its lines are not those of the file.
    Escaped,
}
