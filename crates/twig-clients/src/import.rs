//! Prompts that were written for other tools, as values that a library or a project can hold.
//!
//! [`read`] takes files as text and returns an [`ImportItem`] for each prompt that it finds: the
//! imported prompt and its changes, or why it is skipped. It never fails as a whole, resolves
//! nothing and runs nothing. Callers find the files and store the prompts.

mod arguments;
mod continue_prompt;
mod cursor_rule;
mod detect;
mod dotprompt;
mod draft;
mod front;
mod go_template;
mod handlebars;
mod jinja;
mod langfuse;
mod logic;
mod minipuft;
mod mustache;
mod picoschema;
mod prompts_chat;
mod prompty;
mod summary;
mod turns;
mod words;

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use sha2::{Digest, Sha256};

use crate::clients::KnownClient;
use twig_core::argument::Argument;
use twig_core::limits::Limits;
use twig_core::model::Role;
use twig_core::name::PromptName;
use twig_core::parse::table::{PromptTable, table};
use twig_core::slug::{Unique, slug};

use self::detect::fits;
pub use self::detect::{detect, is_candidate};

/// The format of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum ImportFormat {
    /// The catalogue of prompts.chat: CSV with `act` and `prompt`.
    PromptsChat,
    /// Prompts of Langfuse as JSON.
    Langfuse,
    /// `.prompty` files.
    Prompty,
    /// `.prompt` files of Genkit.
    Dotprompt,
    /// `.prompt` files of Continue.
    Continue,
    /// `.mdc` rules of Cursor.
    CursorRules,
    /// Go templates of mcp-prompt-engine.
    GoTemplates,
    /// `prompt.yaml` folders of claude-prompts.
    Minipuft,
}

impl ImportFormat {
    /// Every format, in the order in which they are offered.
    pub const ALL: [ImportFormat; 8] = [
        ImportFormat::PromptsChat,
        ImportFormat::Langfuse,
        ImportFormat::Prompty,
        ImportFormat::Dotprompt,
        ImportFormat::Continue,
        ImportFormat::CursorRules,
        ImportFormat::GoTemplates,
        ImportFormat::Minipuft,
    ];

    /// The format of what is imported from a client; `None` if its files are read in place.
    pub fn of_client(client: &KnownClient) -> Option<Self> {
        match client.id {
            "continue" => Some(Self::Continue),
            "cursor" => Some(Self::CursorRules),
            _ => None,
        }
    }

    /// The word for it in flags and listings.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::PromptsChat => "prompts-chat",
            Self::Langfuse => "langfuse",
            Self::Prompty => "prompty",
            Self::Dotprompt => "dotprompt",
            Self::Continue => "continue",
            Self::CursorRules => "cursor-rules",
            Self::GoTemplates => "go-templates",
            Self::Minipuft => "minipuft",
        }
    }
}

/// One file to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceFile {
    /// Its path relative to the start of the import, `/` between its parts.
    pub path: String,
    /// Its text.
    pub text: String,
}

/// The result for one prompt, or for one file without any.
#[derive(Debug, Clone, PartialEq)]
pub struct ImportItem {
    /// Where it was found, such as `prompts.csv, row 12`.
    pub from: String,
    /// The prompt, or why it is skipped.
    pub prompt: Result<ImportedPrompt, String>,
    /// What was changed, one sentence each.
    pub changes: Vec<String>,
    /// What was not changed and is still worth knowing.
    pub notes: Vec<String>,
}

impl ImportItem {
    /// A skipped prompt.
    pub fn left(from: impl Into<String>, why: impl Into<String>) -> Self {
        Self {
            from: from.into(),
            prompt: Err(why.into()),
            changes: Vec::new(),
            notes: Vec::new(),
        }
    }
}

/// A prompt as it will be stored.
#[derive(Debug, Clone, PartialEq)]
pub struct ImportedPrompt {
    /// Its name, unique in the import: `[a-z0-9_-]`, 1 to 64 long.
    pub name: String,
    /// Its original name, from which its name is made.
    wished: String,
    /// Distinguishes it from others of the same name.
    key: String,
    /// A name for people.
    pub title: Option<String>,
    /// What it does.
    pub description: Option<String>,
    /// What it takes.
    pub arguments: Vec<Argument>,
    /// What it says.
    pub messages: Vec<ImportedMessage>,
    /// True if the texts are Jinja templates; all of them or none.
    pub is_template: bool,
    /// The original text with its placeholders.
    pub original: String,
}

impl ImportedPrompt {
    /// The files that hold its texts, by their paths in a library.
    pub fn files(&self) -> Vec<(String, &str)> {
        let files = self.messages.iter().enumerate();
        files
            .map(|(at, message)| (self.path(at), message.text.as_str()))
            .collect()
    }

    /// The role and file of each message; empty for the default file.
    fn listed_messages(&self) -> Vec<(Role, String)> {
        match self.messages.as_slice() {
            [message] if message.role == Role::User => Vec::new(),
            messages => {
                let messages = messages.iter().enumerate();
                messages
                    .map(|(at, message)| (message.role, self.path(at)))
                    .collect()
            }
        }
    }

    /// Its table in a library's manifest, under a name that was checked.
    pub fn table(&self, name: &PromptName) -> String {
        table(&PromptTable {
            name,
            title: self.title.as_deref(),
            description: self.description.as_deref(),
            is_template: self.is_template,
            text: None,
            messages: &self.listed_messages(),
            arguments: &self.arguments,
            may_be_short: false,
        })
    }

    fn path(&self, at: usize) -> String {
        match self.messages.len() {
            1 => format!("prompts/{}.md", self.name),
            _ => format!("prompts/{}/{}.md", self.name, at + 1),
        }
    }
}

/// One message of an imported prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportedMessage {
    /// Its role.
    pub role: Role,
    /// The template, or the text itself.
    pub text: String,
}

/// The start of a change that reports a prompt's new name.
pub const NAMED: &str = "another prompt is called";

/// The person's options.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ImportRequest {
    /// The format of all files; if `None`, each file's format is detected.
    pub format: Option<ImportFormat>,
    /// True if rules that apply automatically are prompts, too.
    pub all_rules: bool,
}

/// The prompts that were found in files.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ImportOutcome {
    /// Every prompt, and every file that should have held one.
    pub items: Vec<ImportItem>,
    /// Files that are there for another reason, and why they are no prompts.
    pub others: Vec<(String, String)>,
}

/// Reads prompts from files, all of one format or each with its detected format.
///
/// If two prompts want the same name, the first file gets it; pass the files sorted.
pub fn read(files: &[SourceFile], wish: ImportRequest, limits: &Limits) -> ImportOutcome {
    let mut items = Vec::new();
    let mut others = Vec::new();
    let batch = ImportBatch { files, limits };
    for file in files {
        let format = match wish.format {
            None => detect(file),
            Some(format) if files.len() == 1 || fits(format, &file.path) => Ok(format),
            Some(format) => Err(format!(
                "it is not called like a file of {}",
                format.as_str()
            )),
        };
        let found = match format {
            Ok(ImportFormat::PromptsChat) => prompts_chat::read(batch, file),
            Ok(ImportFormat::Langfuse) => langfuse::read(batch, file),
            Ok(ImportFormat::Prompty) => prompty::read(batch, file),
            Ok(ImportFormat::Dotprompt) => dotprompt::read(batch, file),
            Ok(ImportFormat::Continue) => continue_prompt::read(batch, file),
            Ok(ImportFormat::CursorRules) => cursor_rule::read(batch, file, wish.all_rules),
            Ok(ImportFormat::GoTemplates) => go_template::read(batch, file),
            Ok(ImportFormat::Minipuft) => minipuft::read(batch, file),
            Err(why) => {
                others.push((file.path.clone(), why));
                continue;
            }
        };
        items.extend(found);
    }
    give_names(&mut items);
    ImportOutcome { items, others }
}

/// All files that are read together.
#[derive(Clone, Copy)]
struct ImportBatch<'b> {
    files: &'b [SourceFile],
    limits: &'b Limits,
}

impl<'b> ImportBatch<'b> {
    /// A file of the import by its path.
    fn file(&self, path: &str) -> Option<&'b SourceFile> {
        self.files.iter().find(|file| file.path == path)
    }
}

/// Gives each prompt a unique name. An exact duplicate is imported once.
fn give_names(items: &mut [ImportItem]) {
    let mut names = Unique::new();
    let mut seen: BTreeMap<(String, [u8; 32]), String> = BTreeMap::new();
    for item in items {
        let Ok(prompt) = &mut item.prompt else {
            continue;
        };
        let wanted = slug(&prompt.wished);
        let digest = Sha256::digest(prompt.original.as_bytes()).into();
        match seen.entry((wanted.clone(), digest)) {
            Entry::Occupied(first) => {
                item.prompt = Err(format!("says the same as {}", first.get()));
                continue;
            }
            Entry::Vacant(place) => drop(place.insert(item.from.clone())),
        }
        prompt.name = names.name(&wanted, &prompt.key);
        if prompt.name != wanted {
            item.changes
                .push(format!("{NAMED} `{wanted}`: this one is `{}`", prompt.name));
        }
    }
}

/// The file's name without its folders and without `end`.
fn stem<'p>(path: &'p str, end: &str) -> &'p str {
    let file = path.rsplit_once('/').map_or(path, |(_, file)| file);
    file.strip_suffix(end).unwrap_or(file)
}

/// A path without `end` and without folders that only name a tool.
fn wished_name(path: &str, end: &str) -> String {
    let path = path.strip_suffix(end).unwrap_or(path);
    let is_told = |part: &&str| {
        !part.starts_with('.') && !matches!(*part, "prompts" | "rules" | "commands" | "resources")
    };
    let (folders, file) = path.rsplit_once('/').unwrap_or(("", path));
    let folders = folders.split('/').filter(|part| !part.is_empty());
    let parts: Vec<&str> = folders.filter(is_told).chain([file]).collect();
    parts.join("/")
}
