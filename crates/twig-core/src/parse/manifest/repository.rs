//! What a repository's `config.toml` says besides its own library: what it exports, which of its
//! folders are libraries, and what lists show of them.

use std::mem;

use super::Manifest;
use super::fields::ManifestFields;
use crate::model::ListingRules;
use crate::name::{LibraryName, RelativePath};
use crate::parse::project::{
    ExportSettings, FOLDER, ListedFolder, ListedPackage, ListedPlace, ProjectVocabulary,
};
use crate::parse::toml::{Table, TomlItem, TomlValue};
use crate::problem::{FileProblems, ProblemCode, shorten};

/// The maximum number of entries in one list, and their maximum length in bytes.
const ENTRIES: usize = 256;
const LENGTH: usize = 256;

/// The maximum number of `*` in a pattern: every prompt is compared with every pattern.
const STARS: usize = 8;

impl Manifest<'_> {
    /// `[export]`: what `twig export` writes, for whom, and where.
    pub(super) fn export(
        &mut self,
        item: &TomlItem<'_>,
        words: &ProjectVocabulary,
    ) -> ExportSettings {
        // Its own list: the first mistake is known even if the file has too many to report.
        let own = FileProblems::new(self.path, self.text);
        let others = mem::replace(&mut self.problems, own);
        let mut settings = ExportSettings::default();
        if let TomlValue::Table(table) = &item.value {
            let mut fields = ManifestFields::new(table);
            for (client, item) in self.texts("to", fields.take("to")) {
                if self.is_client(&client, item, words) {
                    settings.to.push(client);
                }
            }
            let is_silent = self.problems.reported().is_empty();
            if settings.to.is_empty() && is_silent {
                let message = "[export] needs the clients to write files for: to = [\"claude\"]";
                self.setting(item, message.to_owned());
            }
            let only = self.texts("only", fields.take("only"));
            settings.only = only.into_iter().map(|(text, _)| text).collect();
            if let Some(item) = fields.take("in") {
                settings.folders = self.export_folders(item, words);
            }
            self.unknown(&fields, "[export]");
        } else {
            self.wrong_type("export", "a table: [export]", item);
        }
        let own = mem::replace(&mut self.problems, others);
        settings.mistake = own.reported().first().cloned();
        self.problems.extend(own.finish());
        settings
    }

    /// `in`: the folder of each client, from the repository's own.
    fn export_folders(
        &mut self,
        item: &TomlItem<'_>,
        words: &ProjectVocabulary,
    ) -> Vec<(Box<str>, RelativePath)> {
        let TomlValue::Table(table) = &item.value else {
            let expected = "a table of folders by client: in = { skills = \".claude/skills\" }";
            self.wrong_type("in", expected, item);
            return Vec::new();
        };
        let mut folders = Vec::new();
        for entry in &table.entries {
            if !self.is_client(&entry.key, &entry.item, words) {
                continue;
            }
            let item = &entry.item;
            let TomlValue::Text(text) = &item.value else {
                self.wrong_type(&entry.key, "a string", item);
                continue;
            };
            if let Ok(folder) = RelativePath::parse(text) {
                folders.push((entry.key.as_ref().into(), folder));
            } else {
                let help = "write it from the repository's folder on, such as \".claude/skills\"";
                self.outside(text, item, help);
            }
        }
        folders
    }

    fn is_client(&mut self, name: &str, item: &TomlItem<'_>, words: &ProjectVocabulary) -> bool {
        let Err(why) = (words.check_client)(name) else {
            return true;
        };
        let name = shorten(name, 64);
        self.setting(item, format!("`{}`: {why}", name.escape_debug()));
        false
    }

    /// `[[libraries]]`: folders of the repository, and packages.
    pub(super) fn folders(
        &mut self,
        item: &TomlItem<'_>,
        words: &ProjectVocabulary,
    ) -> Vec<ListedFolder> {
        let expected = "tables: [[libraries]] with a `path` or a `source` each";
        let TomlValue::List(items) = &item.value else {
            self.wrong_type("libraries", expected, item);
            return Vec::new();
        };
        let mut folders = Vec::new();
        for (count, item) in items.iter().enumerate() {
            let TomlValue::Table(table) = &item.value else {
                self.wrong_type("libraries", expected, item);
                continue;
            };
            if count == ENTRIES {
                self.setting(
                    item,
                    format!("`libraries` has more than {ENTRIES} entries; the rest is ignored"),
                );
                break;
            }
            folders.extend(self.folder(count, table, item, words));
        }
        folders
    }

    fn folder(
        &mut self,
        index: usize,
        table: &Table<'_>,
        item: &TomlItem<'_>,
        words: &ProjectVocabulary,
    ) -> Option<ListedFolder> {
        let mut fields = ManifestFields::new(table);
        let path_item = fields.take("path");
        let source_item = fields.take("source");
        let package =
            source_item.map(|item| (self.package(item, path_item, &mut fields, words), item));
        let mut kind = None;
        if let Some(item) = fields.take("kind") {
            match &item.value {
                TomlValue::Text(text) => match (words.kind)(text) {
                    Ok(known) => kind = Some(known),
                    Err(why) => self.setting(item, why),
                },
                _ => drop(self.wrong_type("kind", "a string", item)),
            }
        }
        let mut name = None;
        if let Some(item) = fields.take("name") {
            match &item.value {
                TomlValue::Text(text) => {
                    name = LibraryName::from_folder(text).filter(|name| name.as_str() == &**text);
                    if name.is_none() {
                        let text = shorten(text, 64);
                        let message = format!(
                            "`{}` is not a valid library name: letters, digits and `_`",
                            text.escape_debug()
                        );
                        self.error(ProblemCode::BadLibraryName, item.span.clone(), message);
                    }
                }
                _ => drop(self.wrong_type("name", "a string", item)),
            }
        }
        let mut first_argument = None;
        if let Some(item) = fields.take("first_argument") {
            match item.value {
                TomlValue::Integer(number @ (0 | 1)) => {
                    first_argument = Some(u8::from(number == 1));
                }
                _ => self.setting(
                    item,
                    "`first_argument` is the number of the first argument: 0 or 1".to_owned(),
                ),
            }
        }
        self.unknown(&fields, "[[libraries]]");
        if let Some((package, item)) = package {
            return Some(ListedFolder {
                place: ListedPlace::Package(package?),
                index,
                line: self.problems.line(item.span.start),
                kind,
                name,
                first_argument,
            });
        }
        let Some(path_item) = path_item else {
            let message =
                "a library under [[libraries]] needs a `path` or a `source`: path = \"../prompts\"";
            self.error(
                ProblemCode::MissingField,
                item.span.clone(),
                message.to_owned(),
            );
            return None;
        };
        Some(ListedFolder {
            place: ListedPlace::Folder(self.repository_path(path_item)?),
            index,
            line: self.problems.line(path_item.span.start),
            kind,
            name,
            first_argument,
        })
    }

    /// A package: `source`, `ref`, `path` and `only`.
    fn package(
        &mut self,
        source: &TomlItem<'_>,
        path: Option<&TomlItem<'_>>,
        fields: &mut ManifestFields<'_, '_>,
        words: &ProjectVocabulary,
    ) -> Option<ListedPackage> {
        let reference_item = fields.take("ref");
        let only = self.texts("only", fields.take("only"));
        let TomlValue::Text(text) = &source.value else {
            self.wrong_type("source", "a string", source);
            return None;
        };
        let reference = match reference_item.map(|item| (&item.value, item)) {
            None => None,
            Some((TomlValue::Text(reference), _)) => Some(Box::from(&**reference)),
            Some((_, item)) => {
                self.wrong_type("ref", "a string", item);
                return None;
            }
        };
        if let Err(why) = (words.check_package)(text, reference.as_deref()) {
            self.setting(source, why);
            return None;
        }
        let path = match path.map(|item| (&item.value, item)) {
            None => None,
            Some((TomlValue::Text(path), item)) => match RelativePath::parse(path) {
                Ok(path) => Some(path),
                Err(error) => {
                    self.setting(item, format!("`path` in the package {error}"));
                    return None;
                }
            },
            Some((_, item)) => {
                self.wrong_type("path", "a string", item);
                return None;
            }
        };
        Some(ListedPackage {
            source: Box::from(&**text),
            reference,
            path,
            only: only.into_iter().map(|(text, _)| text).collect(),
        })
    }

    /// A folder of the repository, which is written from the folder of the configuration; returned
    /// from the repository's own.
    fn repository_path(&mut self, item: &TomlItem<'_>) -> Option<RelativePath> {
        let TomlValue::Text(text) = &item.value else {
            self.wrong_type("path", "a string", item);
            return None;
        };
        let outside = text.starts_with('/') || text.starts_with('~') || text.starts_with("../..");
        let below = match text.strip_prefix("../") {
            Some(below) => below.to_owned(),
            None => format!("{FOLDER}/{text}"),
        };
        match RelativePath::parse(below.trim_end_matches('/')) {
            Ok(path) if !outside && &**text != ".." && !text.is_empty() => Some(path),
            _ => {
                let help = "write it from the folder of this file on, such as \"../prompts\"; folders elsewhere belong in your own configuration";
                self.outside(text, item, help);
                None
            }
        }
    }

    /// A path that leaves the repository, or is none.
    fn outside(&mut self, text: &str, item: &TomlItem<'_>, help: &str) {
        let text = shorten(text, 64);
        let message = format!(
            "`{}` is not a folder inside this repository",
            text.escape_debug()
        );
        self.error(ProblemCode::OutsideLibrary, item.span.clone(), message);
        self.help(help.to_owned());
    }

    /// `hide` and `pin`: patterns of names of prompts.
    pub(super) fn listing(
        &mut self,
        hide: Option<&TomlItem<'_>>,
        pin: Option<&TomlItem<'_>>,
    ) -> ListingRules {
        let mut patterns = |key: &str, item| {
            let mut patterns = Vec::new();
            for (text, item) in self.texts(key, item) {
                if text.matches('*').count() > STARS {
                    self.setting(
                        item,
                        format!("an entry of `{key}` has more than {STARS} `*` and is ignored"),
                    );
                } else {
                    patterns.push(text);
                }
            }
            patterns
        };
        ListingRules {
            hide: patterns("hide", hide),
            pin: patterns("pin", pin),
        }
    }

    /// A list of strings, bounded in number and length.
    fn texts<'t, 'a>(
        &mut self,
        key: &str,
        item: Option<&'t TomlItem<'a>>,
    ) -> Vec<(Box<str>, &'t TomlItem<'a>)> {
        let Some(item) = item else {
            return Vec::new();
        };
        let TomlValue::List(items) = &item.value else {
            self.wrong_type(key, "a list of strings", item);
            return Vec::new();
        };
        let mut texts = Vec::new();
        for item in items {
            match &item.value {
                TomlValue::Text(_) if texts.len() == ENTRIES => {
                    self.setting(
                        item,
                        format!("`{key}` has more than {ENTRIES} entries; the rest is ignored"),
                    );
                    break;
                }
                TomlValue::Text(text) if text.trim().is_empty() => {
                    self.setting(item, format!("`{key}` has an empty entry"));
                }
                TomlValue::Text(text) if text.len() > LENGTH => {
                    self.setting(
                        item,
                        format!("an entry of `{key}` is longer than {LENGTH} bytes"),
                    );
                }
                TomlValue::Text(text) => texts.push((text.trim().into(), item)),
                _ => drop(self.wrong_type(key, "a list of strings", item)),
            }
        }
        texts
    }

    /// A value that a setting cannot have.
    fn setting(&mut self, item: &TomlItem<'_>, message: String) {
        self.error(ProblemCode::BadSetting, item.span.clone(), message);
    }
}
