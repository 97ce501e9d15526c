//! Prompts of Langfuse: one object, a list of them, or an export of many versions.

use std::collections::BTreeMap;

use super::draft::ImportDraft;
use super::mustache::simple;
use super::turns::{Speaker, fold};
use super::words::EscapedWords;
use super::{ImportBatch, ImportItem, SourceFile};
use twig_core::depth;
use twig_core::front_matter::FrontMatterValue;
use twig_core::limits::Limits;

/// Reads every prompt of a file; of several versions, the one in use.
pub(super) fn read(batch: ImportBatch<'_>, file: &SourceFile) -> Vec<ImportItem> {
    let read = match objects(&file.text) {
        Ok(read) => read,
        Err(why) => return vec![ImportItem::left(&file.path, why)],
    };
    let left = read.left.iter();
    let left = left.map(|(place, why)| ImportItem::left(format!("{}, {place}", file.path), why));
    if read.versions.is_empty() && read.left.is_empty() {
        let why = "there is no object with `name` and `prompt` in it";
        return vec![ImportItem::left(&file.path, why)];
    }
    let mut items = Vec::new();
    let mut groups: Vec<(&str, Vec<&LangfuseVersion>)> = Vec::new();
    let mut places: BTreeMap<&str, usize> = BTreeMap::new();
    for version in &read.versions {
        let place = *places.entry(&version.name).or_insert(groups.len());
        match groups.get_mut(place) {
            Some((_, versions)) => versions.push(version),
            None => groups.push((&version.name, vec![version])),
        }
    }
    for (name, versions) in groups {
        let Some(chosen) = versions
            .iter()
            .copied()
            .max_by_key(|version| version.rank())
        else {
            continue;
        };
        for version in versions {
            let from = format!("{}, {name}{}", file.path, version.shown());
            if std::ptr::eq(version, chosen) {
                items.push(item(&from, version, batch.limits));
            } else {
                let why = format!("version{} is taken", chosen.shown().replace(" version", ""));
                items.push(ImportItem::left(from, why));
            }
        }
    }
    items.extend(left);
    items
}

/// True if a text could hold prompts of Langfuse.
pub(super) fn is_export(text: &str) -> bool {
    objects(text).is_ok_and(|found| !found.versions.is_empty())
}

/// One version of one prompt.
struct LangfuseVersion {
    name: String,
    number: Option<u64>,
    labels: Vec<String>,
    at: usize,
    fields: FrontMatterValue,
}

impl LangfuseVersion {
    /// The version in use comes first, then the newest.
    fn rank(&self) -> (bool, bool, u64, usize) {
        let has = |label: &str| self.labels.iter().any(|own| own == label);
        let number = self.number.unwrap_or_default();
        (has("production"), has("latest"), number, self.at)
    }

    fn shown(&self) -> String {
        let label = ["production", "latest"].into_iter();
        let label = label.filter(|label| self.labels.iter().any(|own| own == label));
        let label = label.map(|label| format!(" ({label})")).next();
        let label = label.unwrap_or_default();
        match self.number {
            Some(number) => format!(" version {number}{label}"),
            None => format!(" version {}{label}", self.at + 1),
        }
    }
}

/// The content of a file, in order.
#[derive(Default)]
struct LangfuseFile {
    versions: Vec<LangfuseVersion>,
    /// Entries that are no prompts, and why.
    left: Vec<(String, String)>,
}

impl LangfuseFile {
    fn count(&self) -> usize {
        self.versions.len() + self.left.len()
    }
}

/// The prompts of a file.
fn objects(text: &str) -> Result<LangfuseFile, String> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let root = json(text).or_else(|error| {
        // Some exports have one object per line.
        let lines = text.lines().filter(|line| !line.trim().is_empty());
        let lines: Result<Vec<FrontMatterValue>, String> = lines.map(json).collect();
        let lines = lines.ok().filter(|lines| lines.len() > 1);
        lines.map(FrontMatterValue::List).ok_or(error)
    })?;
    let mut found = LangfuseFile::default();
    collect(&root, None, 0, &mut found);
    if found.count() == 0 && has_prompt(&root) {
        let place = root.word_at("name").unwrap_or_else(|| "entry 1".to_owned());
        found.left.push((place, trouble(&root, None)));
    }
    Ok(found)
}

fn json(text: &str) -> Result<FrontMatterValue, String> {
    depth::json(text).map_err(|error| error.to_string())?;
    let read: Result<serde_json::Value, _> = serde_json::from_str(text);
    let read = read.map_err(|error| format!("it is not valid JSON: {error}"))?;
    Ok(read.into())
}

fn collect(value: &FrontMatterValue, name: Option<&str>, depth: usize, found: &mut LangfuseFile) {
    if depth > 4 {
        return;
    }
    if let FrontMatterValue::List(items) = value {
        for (at, item) in items.iter().enumerate() {
            let before = found.count();
            collect(item, name, depth + 1, found);
            // Listings have version numbers where exports have versions.
            let is_number = item.word().is_some() && !matches!(item, FrontMatterValue::Text(_));
            if found.count() == before && !is_number {
                let own = item.word_at("name");
                let own = own.as_deref().or(name);
                let place = own.map_or_else(|| format!("entry {}", at + 1), str::to_owned);
                found.left.push((place, trouble(item, name)));
            }
        }
        return;
    }
    let own = value.word_at("name");
    let own = own.as_deref().or(name);
    let prompt = value.get("prompt");
    if let (Some(own), Some(FrontMatterValue::Text(_) | FrontMatterValue::List(_))) = (own, prompt)
    {
        let labels = value
            .get("labels")
            .map(FrontMatterValue::items)
            .unwrap_or_default();
        let labels = labels.iter().filter_map(FrontMatterValue::word);
        found.versions.push(LangfuseVersion {
            name: own.to_owned(),
            number: value.word_at("version").and_then(|text| text.parse().ok()),
            labels: labels.collect(),
            at: found.versions.len(),
            fields: value.clone(),
        });
        return;
    }
    for key in ["data", "prompts", "versions", "items", "prompt"] {
        let inner = match value.get(key) {
            // If a list is a prompt, it has messages: without a name it is reported as a whole.
            Some(FrontMatterValue::List(_)) if key == "prompt" => continue,
            Some(inner @ (FrontMatterValue::List(_) | FrontMatterValue::Map(_))) => inner,
            _ => continue,
        };
        collect(inner, own, depth + 1, found);
    }
}

/// True if an entry has a prompt, even `null`.
fn has_prompt(entry: &FrontMatterValue) -> bool {
    let entries = entry.entries().unwrap_or_default();
    entries.iter().any(|(key, _)| &**key == "prompt")
}

/// Why an entry is no prompt.
fn trouble(entry: &FrontMatterValue, name: Option<&str>) -> String {
    if entry.entries().is_none() {
        return "it is no object with `name` and `prompt`".to_owned();
    }
    let is_nameless = name.is_none() && entry.word_at("name").is_none();
    let why = match entry.get("prompt") {
        None | Some(FrontMatterValue::Null) if has_prompt(entry) => "its `prompt` is null",
        None | Some(FrontMatterValue::Null) => "it has no `prompt`",
        Some(FrontMatterValue::Text(_) | FrontMatterValue::List(_)) if is_nameless => {
            "it has no `name`"
        }
        Some(FrontMatterValue::Map(_)) => {
            "its `prompt` is an object, and no text or list of messages"
        }
        Some(_) => "its `prompt` is no text or list of messages",
    };
    why.to_owned()
}

fn item(from: &str, version: &LangfuseVersion, limits: &Limits) -> ImportItem {
    let fields = &version.fields;
    let mut draft = ImportDraft::new(from, &version.name, "", limits);
    draft.key.clone_from(&version.name);
    draft.title = Some(version.name.clone());
    draft.description = fields.word_at("description");
    let config = fields.get("config").and_then(FrontMatterValue::entries);
    if config.is_some_and(|config| !config.is_empty()) {
        draft
            .notes
            .push("has settings for a model, which are not imported".to_owned());
    }
    let turns = match fields.get("prompt") {
        Some(FrontMatterValue::Text(text)) => {
            draft.original = text.to_string();
            vec![(Speaker::User, variables(text, &mut draft, limits))]
        }
        Some(FrontMatterValue::List(messages)) => turns(messages, &mut draft, limits),
        _ => Vec::new(),
    };
    if draft.original.contains("@@@langfusePrompt:") {
        let change = "it refers to another prompt; the reference stays as it is".to_owned();
        draft.changes.push(change);
    }
    draft.messages = fold(turns, &mut draft.changes);
    draft.finish(limits)
}

/// The variables of a text, unless it is too long for a template.
fn variables(text: &str, draft: &mut ImportDraft, limits: &Limits) -> EscapedWords {
    if text.len() > limits.template_source {
        return EscapedWords::of(text);
    }
    simple(text, &mut draft.arguments)
}

fn turns(
    messages: &[FrontMatterValue],
    draft: &mut ImportDraft,
    limits: &Limits,
) -> Vec<(Speaker, EscapedWords)> {
    let mut turns = Vec::new();
    for message in messages {
        if message.entries().is_none() {
            let change = "a message that is no object is left out".to_owned();
            draft.changes.push(change);
            continue;
        }
        if message.word_at("type").as_deref() == Some("placeholder") {
            let name = message.word_at("name").unwrap_or_default();
            draft.changes.push(format!(
                "the place for messages `{name}` is left out: a prompt starts a conversation"
            ));
            continue;
        }
        let role = message.word_at("role").unwrap_or_default();
        let speaker = Speaker::parse(&role).unwrap_or_else(|| {
            let change = format!("messages of `{role}` become messages of the user");
            draft.changes.push(change);
            Speaker::User
        });
        let text = content(message.get("content"), draft);
        if !draft.original.is_empty() {
            draft.original.push_str("\n\n");
        }
        draft.original.push_str(&text);
        turns.push((speaker, variables(&text, draft, limits)));
    }
    turns
}

/// The text of a message: a text, or parts of which some are text.
fn content(content: Option<&FrontMatterValue>, draft: &mut ImportDraft) -> String {
    match content {
        Some(FrontMatterValue::List(parts)) => {
            let mut texts = Vec::new();
            for part in parts {
                match part.word_at("text").or_else(|| part.word()) {
                    Some(text) => texts.push(text),
                    None => draft
                        .changes
                        .push("a part that is no text is left out".to_owned()),
                }
            }
            texts.join("\n")
        }
        Some(value) => value.to_text(),
        None => String::new(),
    }
}
