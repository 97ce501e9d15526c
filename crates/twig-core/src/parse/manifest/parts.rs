//! What is served of a manifest that is not valid TOML: the prompts whose tables are sound.

use std::collections::{BTreeMap, BTreeSet};

use super::{Manifest, ManifestContents};
use crate::model::{Dialect, Prompt};
use crate::name::PromptName;
use crate::parse::library::MANIFEST;
use crate::parse::toml::{Table, TomlEntry, TomlItem, TomlParts, TomlValue, read_any};
use crate::problem::{ProblemCode, Severity};

impl Manifest<'_> {
    /// Reads the sound parts. A prompt with a mistake in any of its tables is there, and
    /// unavailable; so is every function, because a program runs only for a manifest that was read
    /// as a whole.
    pub(in crate::parse) fn read_parts(&mut self, parts: &TomlParts) -> ManifestContents {
        for error in &parts.errors {
            let span = error.span.clone().unwrap_or(0..0);
            let message = not_valid(&error.message);
            let code = ProblemCode::ManifestSyntax;
            self.problems.add(code, Severity::Error, span, message);
            self.problems.help(error.help.map(str::to_owned));
        }
        let first = parts.errors.first();
        let refusal = not_valid(first.map_or("", |error| &*error.message));
        let unread = UnreadTables::of(&parts.unread);
        let table = read_any(&parts.text).unwrap_or_default();
        let mut contents = self.read(&unread.removed_from(table, self.text));
        if unread.has("documents") {
            contents.layout = None;
        }
        let read = contents.prompts.iter_mut();
        for prompt in read.filter(|prompt| prompt.function().is_some()) {
            prompt.messages = Vec::new();
            prompt.dialect = Dialect::Jinja;
            let sentence = format!("{refusal}; until that is fixed, its programs do not run");
            prompt.unavailable = Some(sentence.into());
        }
        for (name, why) in &unread.prompts {
            if let Ok(name) = PromptName::parse(name) {
                contents.prompts.push(Prompt {
                    unavailable: Some(not_valid(why).into()),
                    written: None,
                    ..self.unread_prompt(name)
                });
            }
        }
        contents.prompts.sort_by(|one, two| one.name.cmp(&two.name));
        contents
    }
}

/// The message for a mistake that the TOML reader found.
fn not_valid(message: &str) -> String {
    format!("{MANIFEST} is not valid TOML: {message}")
}

/// The tables of a manifest that were not read, or only in part.
struct UnreadTables<'p> {
    /// Tables of the manifest itself, such as `library`.
    tables: BTreeSet<&'p str>,
    /// Prompts, each with the mistake because of which it was not read.
    prompts: BTreeMap<&'p str, &'p str>,
    /// True if prompts without a header of their own may be among them.
    has_prompts_without_header: bool,
}

impl<'p> UnreadTables<'p> {
    fn of(headers: &'p BTreeMap<Vec<String>, Box<str>>) -> Self {
        let mut unread = Self {
            tables: BTreeSet::new(),
            prompts: BTreeMap::new(),
            has_prompts_without_header: false,
        };
        for (header, why) in headers {
            match &**header {
                [prompts, name, ..] if prompts == "prompts" => {
                    unread.prompts.entry(name).or_insert(why);
                }
                [prompts] if prompts == "prompts" => unread.has_prompts_without_header = true,
                [] => unread.has_prompts_without_header = true,
                [table, ..] => {
                    unread.tables.insert(table);
                }
            }
        }
        unread
    }

    fn has(&self, table: &str) -> bool {
        self.tables.contains(table)
    }

    /// A manifest's tree without what was read of these tables.
    fn removed_from<'a>(&self, mut root: Table<'a>, text: &str) -> Table<'a> {
        root.entries.retain(|entry| !self.has(&entry.key));
        let prompts = root.entries.iter_mut().find(|it| it.key == "prompts");
        if let Some(TomlEntry {
            item:
                TomlItem {
                    value: TomlValue::Table(prompts),
                    ..
                },
            ..
        }) = prompts
        {
            prompts.entries.retain(|entry| {
                let written = text.get(entry.item.span.start..);
                let has_header = written.is_some_and(|text| text.starts_with('['));
                let is_whole = has_header || !self.has_prompts_without_header;
                is_whole && !self.prompts.contains_key(&*entry.key)
            });
        }
        root
    }
}
