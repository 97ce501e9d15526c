//! `twig.toml`: from a TOML tree to prompts, with a problem for each mistake.
//!
//! A mistake in one prompt makes that prompt unavailable and does not affect the others.

mod argument;
mod command;
mod documents;
mod fields;
mod grants;
mod message;

use std::collections::BTreeMap;

use self::fields::ManifestFields;
use super::documents::DocumentLayout;
use super::labels;
use super::library::{Files, LibraryRoot};
use super::toml::{Table, TomlEntry, TomlItem, TomlValue};
use crate::limits::Limits;
use crate::model::{Dialect, LibraryAbout, Prompt, Role};
use crate::name::{PromptName, RelativePath, twin_key};
use crate::problem::{FileProblems, ProblemCode};

/// Reads prompts from a manifest's tree.
pub(super) struct Manifest<'m> {
    pub(super) folder: &'m LibraryRoot,
    /// The manifest's own path, for problems.
    pub(super) path: &'m str,
    pub(super) text: &'m str,
    pub(super) files: &'m dyn Files,
    pub(super) limits: &'m Limits,
    pub(super) problems: FileProblems<'m>,
}

/// The content of a manifest.
pub(super) struct ManifestContents {
    pub(super) about: LibraryAbout,
    /// Sorted by name.
    pub(super) prompts: Vec<Prompt>,
    /// Where documents are, and their URIs.
    pub(super) layout: DocumentLayout,
}

/// The sentence for a client that asks for a prompt whose manifest entry is wrong.
type UnavailablePrompt = Box<str>;

impl Manifest<'_> {
    /// Reads the whole tree.
    pub(super) fn read(&mut self, root: &Table<'_>) -> ManifestContents {
        let mut fields = ManifestFields::new(root);
        let about = match fields.take("library") {
            Some(item) => self.about(item),
            None => LibraryAbout::default(),
        };
        let prompts = match fields.take("prompts") {
            None => Vec::new(),
            Some(TomlItem {
                value: TomlValue::Table(table),
                ..
            }) => self.prompts(table),
            Some(item) => {
                self.wrong_type("prompts", "a table such as `[prompts.review]`", item);
                Vec::new()
            }
        };
        let usual = self.usual();
        let layout = self.documents(fields.take("documents"), usual);
        self.unknown(&fields, "the manifest");
        ManifestContents {
            about,
            prompts,
            layout,
        }
    }

    /// Reads a tree that describes a library and its documents, without prompts.
    pub(super) fn read_config(
        &mut self,
        root: &Table<'_>,
        usual: DocumentLayout,
    ) -> (LibraryAbout, DocumentLayout) {
        let mut fields = ManifestFields::new(root);
        let about = match fields.take("library") {
            Some(item) => self.about(item),
            None => LibraryAbout::default(),
        };
        let layout = self.documents(fields.take("documents"), usual);
        self.unknown(&fields, "the configuration");
        (about, layout)
    }

    fn about(&mut self, item: &TomlItem<'_>) -> LibraryAbout {
        let TomlValue::Table(table) = &item.value else {
            self.wrong_type("library", "a table", item);
            return LibraryAbout::default();
        };
        let mut fields = ManifestFields::new(table);
        let mut about = LibraryAbout {
            title: self.text_field(&mut fields, "title").unwrap_or_default(),
            description: self
                .text_field(&mut fields, "description")
                .unwrap_or_default(),
            version: self.text_field(&mut fields, "version").unwrap_or_default(),
            license: self.text_field(&mut fields, "license").unwrap_or_default(),
            homepage: self.text_field(&mut fields, "homepage").unwrap_or_default(),
        };
        let mut hidden = Vec::new();
        labels::clean(self.path, self.text, &mut about, &mut hidden);
        self.problems.extend(hidden);
        self.unknown(&fields, "[library]");
        about
    }

    fn prompts(&mut self, table: &Table<'_>) -> Vec<Prompt> {
        let mut prompts: Vec<Prompt> = Vec::with_capacity(table.entries.len());
        let mut twins: BTreeMap<String, &str> = BTreeMap::new();
        // If two entries conflict, the first in the file is kept, whichever reader was used.
        let mut entries: Vec<&TomlEntry<'_>> = table.entries.iter().collect();
        entries.sort_by_key(|entry| entry.key_span.start);
        // Keys differ; only uppercase and non-ASCII letters can make them collide.
        let may_twin = |byte: u8| !byte.is_ascii() || byte.is_ascii_uppercase();
        let has_twins = entries.iter().any(|entry| entry.key.bytes().any(may_twin));
        for entry in entries {
            if has_twins && let Some(first) = twins.insert(twin_key(&entry.key), &entry.key) {
                let message = format!(
                    "prompts `{first}` and `{}` of {} differ only in case or in how their letters are composed",
                    entry.key, self.path
                );
                self.error(ProblemCode::TwinName, entry.key_span.clone(), message);
                continue;
            }
            let name = match PromptName::parse(&entry.key) {
                Ok(name) => name,
                Err(error) => {
                    let message = format!("prompt name `{}` {error}", entry.key.escape_debug());
                    self.error(ProblemCode::BadName, entry.key_span.clone(), message);
                    continue;
                }
            };
            prompts.push(self.prompt(name, entry));
        }
        prompts.sort_by(|one, two| one.name.cmp(&two.name));
        prompts
    }

    fn prompt(&mut self, name: PromptName, entry: &TomlEntry<'_>) -> Prompt {
        let full_name = format!("{}{name}", self.folder.prefix);
        let mut prompt = Prompt {
            name,
            full_name: full_name.into(),
            title: None,
            description: None,
            arguments: Vec::new(),
            messages: Vec::new(),
            dialect: Dialect::Jinja,
            unavailable: None,
        };
        if let Err(refusal) = self.fill(&mut prompt, entry) {
            prompt.unavailable = Some(refusal);
        }
        prompt
    }

    fn fill(
        &mut self,
        prompt: &mut Prompt,
        entry: &TomlEntry<'_>,
    ) -> Result<(), UnavailablePrompt> {
        let TomlValue::Table(table) = &entry.item.value else {
            return Err(self.wrong_type(&entry.key, "a table", &entry.item));
        };
        let mut fields = ManifestFields::new(table);
        prompt.title = self.text_field(&mut fields, "title")?;
        prompt.description = self.text_field(&mut fields, "description")?;
        if let Some(item) = fields.take("arguments") {
            prompt.arguments = self.arguments(item)?;
        }
        if let Some(item) = fields.take("template") {
            prompt.dialect = self.dialect(item, prompt)?;
        }
        let command = fields.take("command");
        let file = fields.take("file");
        let messages = fields.take("messages");
        if let Some(command) = command {
            let template = table.get("template");
            if let Some(other) = file.or(messages).or(template) {
                let message =
                    "a prompt with a `command` has neither `file`, `messages` nor `template`";
                return Err(self.error(
                    ProblemCode::CommandAndText,
                    other.span.clone(),
                    message.to_owned(),
                ));
            }
            prompt.dialect = Dialect::Function;
            prompt.messages = vec![self.command(command, &mut fields)?];
            self.unknown(&fields, "a prompt");
            return Ok(());
        }
        self.only_for_commands(&mut fields);
        match (file, messages) {
            (Some(file), Some(_)) => {
                let message = "a prompt has either `file` or `messages`, not both";
                return Err(self.error(
                    ProblemCode::FileAndMessages,
                    file.span.clone(),
                    message.to_owned(),
                ));
            }
            (None, Some(item)) => prompt.messages = self.messages(item, &prompt.arguments)?,
            (Some(item), None) => {
                let path = self.path_field("file", item)?;
                // Pushing to a list would allocate for four.
                prompt.messages = vec![self.file_message(Role::User, path, item.span.clone())?];
            }
            (None, None) => {
                let path = format!("prompts/{}.md", prompt.name);
                let path = match RelativePath::parse(&path) {
                    Ok(path) => path,
                    Err(error) => {
                        let message = format!("`{path}` {error}");
                        return Err(self.error(
                            ProblemCode::BadPath,
                            entry.key_span.clone(),
                            message,
                        ));
                    }
                };
                let span = entry.key_span.clone();
                prompt.messages = vec![self.file_message(Role::User, path, span)?];
            }
        }
        self.unknown(&fields, "a prompt");
        Ok(())
    }

    /// `template = "none"`: the text is served as it is, including braces.
    fn dialect(
        &mut self,
        item: &TomlItem<'_>,
        prompt: &Prompt,
    ) -> Result<Dialect, UnavailablePrompt> {
        match &item.value {
            TomlValue::Text(text) if text == "jinja" => Ok(Dialect::Jinja),
            TomlValue::Text(text) if text == "none" => match prompt.arguments.first() {
                None => Ok(Dialect::Verbatim),
                Some(argument) => {
                    let message = format!(
                        "argument `{}` has no place in a text that is no template",
                        argument.name
                    );
                    let refusal = self.error(
                        ProblemCode::ArgumentWithoutTemplate,
                        item.span.clone(),
                        message,
                    );
                    self.help("leave the arguments out, or `template = \"none\"`".to_owned());
                    Err(refusal)
                }
            },
            TomlValue::Text(_) => {
                let message = "`template` is \"jinja\" or \"none\"".to_owned();
                Err(self.error(ProblemCode::BadTemplateKind, item.span.clone(), message))
            }
            _ => Err(self.wrong_type("template", "a string", item)),
        }
    }
}
