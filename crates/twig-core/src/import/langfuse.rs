//! Prompts of Langfuse: one object, a list of them, or an export of many versions.

use std::collections::BTreeMap;

use super::draft::Draft;
use super::mustache::simple;
use super::node::{Fields, Node, json};
use super::turns::{Speaker, fold};
use super::words::Words;
use super::{Batch, Item, SourceFile};
use crate::limits::Limits;

/// Reads every prompt of a file; of several versions that which is in use.
pub(super) fn read(batch: Batch<'_>, file: &SourceFile) -> Vec<Item> {
    let read = match objects(&file.text) {
        Ok(read) => read,
        Err(why) => return vec![Item::left(&file.path, why)],
    };
    let left = read.left.iter();
    let left = left.map(|(place, why)| Item::left(format!("{}, {place}", file.path), why));
    if read.versions.is_empty() && read.left.is_empty() {
        let why = "there is no object with `name` and `prompt` in it";
        return vec![Item::left(&file.path, why)];
    }
    let mut items = Vec::new();
    let mut groups: Vec<(&str, Vec<&Version>)> = Vec::new();
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
                items.push(Item::left(from, why));
            }
        }
    }
    items.extend(left);
    items
}

/// Whether a text could hold prompts of Langfuse.
pub(super) fn is_export(text: &str) -> bool {
    objects(text).is_ok_and(|found| !found.versions.is_empty())
}

/// One version of one prompt.
struct Version {
    name: String,
    number: Option<u64>,
    labels: Vec<String>,
    at: usize,
    fields: Fields,
}

impl Version {
    /// Who is in use comes first, then who is newest.
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

/// What a file holds, in its order.
#[derive(Default)]
struct Found {
    versions: Vec<Version>,
    /// Entries that are no prompts: which, and why.
    left: Vec<(String, String)>,
}

impl Found {
    fn count(&self) -> usize {
        self.versions.len() + self.left.len()
    }
}

/// The prompts of a file.
fn objects(text: &str) -> Result<Found, String> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let root = json(text).or_else(|error| {
        // Exports also come as one object a line.
        let lines = text.lines().filter(|line| !line.trim().is_empty());
        let lines: Result<Vec<Node>, String> = lines.map(json).collect();
        let lines = lines.ok().filter(|lines| lines.len() > 1);
        lines.map(Node::List).ok_or(error)
    })?;
    let mut found = Found::default();
    collect(&root, None, 0, &mut found);
    if found.count() == 0
        && let Some(fields) = root.as_map()
        && has_prompt(fields)
    {
        let place = fields.text("name").unwrap_or_else(|| "entry 1".to_owned());
        found.left.push((place, trouble(&root, None)));
    }
    Ok(found)
}

fn collect(node: &Node, name: Option<&str>, depth: usize, found: &mut Found) {
    if depth > 4 {
        return;
    }
    if let Some(items) = node.as_list() {
        for (at, item) in items.iter().enumerate() {
            let before = found.count();
            collect(item, name, depth + 1, found);
            // Listings have the numbers of versions where exports have versions.
            let is_number = item.scalar().is_some() && item.as_text().is_none();
            if found.count() == before && !is_number {
                let own = item.as_map().and_then(|fields| fields.text("name"));
                let own = own.as_deref().or(name);
                let place = own.map_or_else(|| format!("entry {}", at + 1), str::to_owned);
                found.left.push((place, trouble(item, name)));
            }
        }
        return;
    }
    let Some(fields) = node.as_map() else { return };
    let own = fields.text("name");
    let own = own.as_deref().or(name);
    let prompt = fields.get("prompt");
    if let (Some(own), Some(Node::Text(_) | Node::List(_))) = (own, prompt) {
        let labels = fields.get("labels").and_then(Node::as_list);
        let labels = labels.unwrap_or_default().iter().filter_map(Node::scalar);
        found.versions.push(Version {
            name: own.to_owned(),
            number: fields.text("version").and_then(|text| text.parse().ok()),
            labels: labels.collect(),
            at: found.versions.len(),
            fields: fields.clone(),
        });
        return;
    }
    for key in ["data", "prompts", "versions", "items", "prompt"] {
        let inner = match fields.get(key) {
            // A list that is a prompt has messages in it: without a name it is told as a whole.
            Some(Node::List(_)) if key == "prompt" => continue,
            Some(inner @ (Node::List(_) | Node::Map(_))) => inner,
            _ => continue,
        };
        collect(inner, own, depth + 1, found);
    }
}

/// Whether an entry should be a prompt, be it `null`.
fn has_prompt(fields: &Fields) -> bool {
    fields.0.iter().any(|(key, _)| key == "prompt")
}

/// Why an entry is no prompt.
fn trouble(entry: &Node, name: Option<&str>) -> String {
    let Some(fields) = entry.as_map() else {
        return "it is no object with `name` and `prompt`".to_owned();
    };
    let why = match fields.get("prompt") {
        None if has_prompt(fields) => "its `prompt` is null",
        None => "it has no `prompt`",
        Some(Node::Text(_) | Node::List(_)) if name.is_none() && fields.text("name").is_none() => {
            "it has no `name`"
        }
        Some(Node::Map(_)) => "its `prompt` is an object, and no text or list of messages",
        Some(_) => "its `prompt` is no text or list of messages",
    };
    why.to_owned()
}

fn item(from: &str, version: &Version, limits: &Limits) -> Item {
    let fields = &version.fields;
    let mut draft = Draft::new(from, &version.name, "", limits);
    draft.key.clone_from(&version.name);
    draft.title = Some(version.name.clone());
    draft.description = fields.text("description");
    if let Some(Node::Map(config)) = fields.get("config")
        && !config.0.is_empty()
    {
        draft
            .notes
            .push("has settings for a model, which are not kept".to_owned());
    }
    let turns = match fields.get("prompt") {
        Some(Node::Text(text)) => {
            draft.original.clone_from(text);
            vec![(Speaker::User, variables(text, &mut draft, limits))]
        }
        Some(Node::List(messages)) => turns(messages, &mut draft, limits),
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
fn variables(text: &str, draft: &mut Draft, limits: &Limits) -> Words {
    if text.len() > limits.template_source {
        return Words::of(text);
    }
    simple(text, &mut draft.arguments)
}

fn turns(messages: &[Node], draft: &mut Draft, limits: &Limits) -> Vec<(Speaker, Words)> {
    let mut turns = Vec::new();
    for message in messages {
        let Some(message) = message.as_map() else {
            let change = "a message that is no object is left out".to_owned();
            draft.changes.push(change);
            continue;
        };
        if message.text("type").as_deref() == Some("placeholder") {
            let name = message.text("name").unwrap_or_default();
            draft.changes.push(format!(
                "the place for messages `{name}` is left out: a prompt starts a conversation"
            ));
            continue;
        }
        let role = message.text("role").unwrap_or_default();
        let speaker = Speaker::parse(&role).unwrap_or_else(|| {
            let change = format!("what `{role}` says is said by the user");
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

/// What a message says: a text, or parts of which some are text.
fn content(content: Option<&Node>, draft: &mut Draft) -> String {
    match content {
        Some(Node::List(parts)) => {
            let mut texts = Vec::new();
            for part in parts {
                let text = part.as_map().and_then(|fields| fields.text("text"));
                match text.or_else(|| part.scalar()) {
                    Some(text) => texts.push(text),
                    None => draft
                        .changes
                        .push("a part that is no text is left out".to_owned()),
                }
            }
            texts.join("\n")
        }
        Some(node) => node.to_text(),
        None => String::new(),
    }
}
