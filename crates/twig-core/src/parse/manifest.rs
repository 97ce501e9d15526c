//! `twig.toml`: from a TOML tree to prompts, with a problem for each mistake.
//!
//! A mistake in one prompt makes that prompt unavailable and does not affect the others.

mod argument;
mod command;
mod documents;
mod fields;
mod grants;
mod message;
mod parts;
mod repository;

use std::collections::BTreeMap;

use self::fields::{FirstMistake, ManifestFields};
use super::documents::DocumentLayout;
use super::labels;
use super::library::{Files, LibraryRoot, MANIFEST};
use super::project::{ProjectConfig, ProjectVocabulary};
use super::toml::{Table, TomlEntry, TomlItem, TomlValue};
use crate::limits::Limits;
use crate::model::{Dialect, LibraryAbout, MessageSource, Prompt, Role};
use crate::name::{PromptName, RelativePath, twin_key};
use crate::problem::{FileProblems, ProblemCode};

/// The JSON Schema of the file. It says what this module reads; a test compares the two.
pub const MANIFEST_SCHEMA: &str = include_str!("manifest/schema.json");

/// The JSON Schema of a repository's configuration.
pub const REPOSITORY_SCHEMA: &str = include_str!("manifest/repository.json");

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
    /// Where documents are, and their URIs, if that could be read.
    pub(super) layout: Option<DocumentLayout>,
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
            layout: Some(layout),
        }
    }

    /// Reads the tree of a repository's configuration. If a manifest describes the library, that
    /// part of the configuration is ignored and reported.
    pub(super) fn read_config(
        &mut self,
        root: &Table<'_>,
        usual: DocumentLayout,
        has_manifest: bool,
        words: &ProjectVocabulary,
    ) -> ProjectConfig {
        let mut fields = ManifestFields::new(root);
        let (library, documents) = (fields.take("library"), fields.take("documents"));
        let mut config = ProjectConfig::new(usual);
        if has_manifest {
            for (key, item) in [("library", library), ("documents", documents)] {
                self.ignored_beside_manifest(key, item);
            }
        } else {
            config.about = library.map(|item| self.about(item)).unwrap_or_default();
            config.layout = self.documents(documents, config.layout);
        }
        config.export = fields.take("export").map(|item| self.export(item, words));
        let libraries = fields.take("libraries");
        let libraries = libraries.map(|item| self.folders(item, words));
        config.libraries = libraries.unwrap_or_default();
        let (hide, pin) = (fields.take("hide"), fields.take("pin"));
        config.listing = self.listing(hide, pin);
        self.unknown(&fields, "a repository's configuration");
        config
    }

    /// Reports a table that belongs in the manifest; a table without values says nothing.
    fn ignored_beside_manifest(&mut self, key: &str, item: Option<&TomlItem<'_>>) {
        let Some(item) = item else { return };
        if matches!(&item.value, TomlValue::Table(table) if table.entries.is_empty()) {
            return;
        }
        let message = format!("[{key}] is ignored here: {MANIFEST} describes the library");
        let code = ProblemCode::UnknownField;
        self.warning(code, item.span.clone(), message);
        self.help(format!("move it to {MANIFEST}"));
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

    /// A prompt of which only the name is known.
    fn unread_prompt(&self, name: PromptName) -> Prompt {
        let full_name = format!("{}{name}", self.folder.prefix);
        Prompt {
            name,
            full_name: full_name.into(),
            title: None,
            description: None,
            arguments: Vec::new().into(),
            messages: Vec::new(),
            dialect: Dialect::Jinja,
            unavailable: None,
            written: None,
        }
    }

    fn prompt(&mut self, name: PromptName, entry: &TomlEntry<'_>) -> Prompt {
        let mut prompt = self.unread_prompt(name);
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
        let mut mistake = FirstMistake::default();
        prompt.title = mistake.keep_field(self.text_field(&mut fields, "title"));
        prompt.description = mistake.keep_field(self.text_field(&mut fields, "description"));
        if let Some(item) = fields.take("arguments") {
            prompt.arguments = self.arguments(item, &mut mistake).into();
        }
        if let Some(item) = fields.take("template")
            && let Some(dialect) = mistake.keep(self.dialect(item, prompt))
        {
            prompt.dialect = dialect;
        }
        let command = fields.take("command");
        let messages = if let Some(command) = command {
            self.function(&mut fields, prompt, command)
        } else {
            self.only_for_commands(&mut fields);
            self.said(&mut fields, prompt, entry)
        };
        let messages = mistake.keep(messages);
        self.unknown(&fields, "a prompt");
        // A prompt that is not served has no messages, whichever of its fields is wrong.
        prompt.messages = mistake.or(messages)?.unwrap_or_default();
        Ok(())
    }

    /// The one message of a prompt with a `command`.
    fn function(
        &mut self,
        fields: &mut ManifestFields<'_, '_>,
        prompt: &mut Prompt,
        command: &TomlItem<'_>,
    ) -> Result<Vec<MessageSource>, UnavailablePrompt> {
        let message = self.command(command, fields);
        let others = ["file", "text", "messages", "template"].map(|key| fields.take(key));
        if let Some(other) = others.into_iter().flatten().next() {
            let sentence =
                "a prompt with a `command` has neither `file`, `text`, `messages` nor `template`";
            let code = ProblemCode::CommandAndText;
            return Err(self.error(code, other.span.clone(), sentence.to_owned()));
        }
        prompt.dialect = Dialect::Function;
        Ok(vec![message?])
    }

    /// The messages of a prompt that is text: in one file, in the manifest, or several.
    fn said(
        &mut self,
        fields: &mut ManifestFields<'_, '_>,
        prompt: &Prompt,
        entry: &TomlEntry<'_>,
    ) -> Result<Vec<MessageSource>, UnavailablePrompt> {
        let keys = ["file", "text", "messages"];
        let said = keys.map(|key| Some((key, fields.take(key)?)));
        let mut said = said.into_iter().flatten();
        let first = said.next();
        if let (Some((_, item)), Some(_)) = (first, said.next()) {
            let message = "a prompt has just one of: file, text, messages".to_owned();
            return Err(self.error(ProblemCode::FileAndMessages, item.span.clone(), message));
        }
        match first {
            Some(("messages", item)) => self.messages(item, &prompt.arguments),
            Some(("text", item)) => Ok(vec![self.text_message(Role::User, item)?]),
            Some((_, item)) => {
                let path = self.path_field("file", item)?;
                // Pushing to a list would allocate for four.
                Ok(vec![self.file_message(
                    Role::User,
                    path,
                    item.span.clone(),
                )?])
            }
            None => {
                let path = format!("prompts/{}.md", prompt.name);
                let span = entry.key_span.clone();
                let path = match RelativePath::parse(&path) {
                    Ok(path) => path,
                    Err(error) => {
                        let message = format!("`{path}` {error}");
                        return Err(self.error(ProblemCode::BadPath, span, message));
                    }
                };
                Ok(vec![self.file_message(Role::User, path, span)?])
            }
        }
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
