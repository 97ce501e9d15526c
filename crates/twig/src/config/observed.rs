//! `[audit]` and `[stats]`: what is kept of the requests that a server answers.

use std::path::{Path, PathBuf};

use twig_core::parse::{Table, TomlItem, TomlValue};

use crate::places::Places;

/// What is kept; nothing by default.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ObservedSettings {
    /// The file for the log of reads.
    file: Option<PathBuf>,
    /// True if reads are logged.
    logs_reads: bool,
    /// True if the use of prompts is counted.
    pub(crate) counts_use: bool,
}

impl ObservedSettings {
    /// The file for the log of reads, if reads are logged.
    pub(crate) fn reads_file(&self) -> Option<&Path> {
        self.file.as_deref().filter(|_| self.logs_reads)
    }

    /// Reads `[audit]` or `[stats]`; `config` is the configuration's file. A mistake comes with its
    /// place, if that is not the whole table.
    pub(super) fn read(
        &mut self,
        places: &Places,
        config: &Path,
        key: &str,
        table: &Table<'_>,
    ) -> Result<(), (String, Option<usize>)> {
        let read = match key {
            "audit" => self.read_audit(places, config, table),
            _ => self.read_stats(table),
        };
        read.map_err(|(message, item)| (message, item.map(|item| item.span.start)))
    }

    fn read_audit<'t, 'a>(
        &mut self,
        places: &Places,
        config: &Path,
        table: &'t Table<'a>,
    ) -> Result<(), (String, Option<&'t TomlItem<'a>>)> {
        for entry in &table.entries {
            let item = &entry.item;
            match (&*entry.key, &item.value) {
                ("file", TomlValue::Text(text)) if !text.trim().is_empty() => {
                    self.file = Some(path(places, config, text.trim()));
                }
                ("file", _) => {
                    let message = "`file` is the path of a file, such as \"~/twig-reads.jsonl\"";
                    return Err((message.to_owned(), Some(item)));
                }
                ("reads", TomlValue::Text(text)) if matches!(&**text, "off" | "names") => {
                    self.logs_reads = **text == *"names";
                }
                ("reads", _) => {
                    let message = "`reads` has to be \"off\" or \"names\"";
                    return Err((message.to_owned(), Some(item)));
                }
                (key, _) => return Err((unknown(key, "audit", &["file", "reads"]), Some(item))),
            }
        }
        if self.logs_reads && self.file.is_none() {
            let message = "`reads = \"names\"` needs `file`, the path of the log";
            return Err((message.to_owned(), None));
        }
        Ok(())
    }

    fn read_stats<'t, 'a>(
        &mut self,
        table: &'t Table<'a>,
    ) -> Result<(), (String, Option<&'t TomlItem<'a>>)> {
        for entry in &table.entries {
            let item = &entry.item;
            match (&*entry.key, &item.value) {
                ("enable", TomlValue::Bool(value)) => self.counts_use = *value,
                ("enable", _) => {
                    return Err(("`enable` has to be true or false".to_owned(), Some(item)));
                }
                (key, _) => return Err((unknown(key, "stats", &["enable"]), Some(item))),
            }
        }
        Ok(())
    }
}

pub(super) fn unknown(key: &str, table: &str, known: &[&str]) -> String {
    let near = twig_core::suggest::did_you_mean(key, known.iter().copied());
    let near = near.map(|near| format!("; {near}")).unwrap_or_default();
    format!("unknown setting `{key}` of [{table}]{near}")
}

/// A path from the configuration's folder, or from home.
pub(super) fn path(places: &Places, config: &Path, text: &str) -> PathBuf {
    let below_home = text.strip_prefix("~/").zip(places.home.as_deref());
    match below_home {
        Some((rest, home)) => home.join(rest),
        None => config.parent().unwrap_or(config).join(text),
    }
}
