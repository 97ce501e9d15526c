//! Folders of claude-prompts: `prompt.yaml` beside `user-message.md` and `system-message.md`.

use std::fmt::Write;

use super::draft::ImportDraft;
use super::jinja;
use super::turns::{Speaker, fold};
use super::words::{EscapedWords, quote};
use super::{ImportBatch, ImportItem, SourceFile};
use twig_core::argument::{Argument, Pattern};
use twig_core::front_matter::{FrontMatterValue, YamlError, read_yaml};

/// Prompts that another one may include, counting repetitions.
const REFERENCES: usize = 32;

/// Reads one `prompt.yaml`.
pub(super) fn read(batch: ImportBatch<'_>, file: &SourceFile) -> Vec<ImportItem> {
    if file.text.len() > batch.limits.manifest {
        let limit = batch.limits.manifest;
        let why = format!("it is longer than the limit of {limit} bytes");
        return vec![ImportItem::left(&file.path, why)];
    }
    let fields = match read_yaml(&file.text) {
        Ok(entries) => FrontMatterValue::Map(entries),
        Err(fault) => return vec![ImportItem::left(&file.path, why_unread(&fault, &file.text))],
    };
    let steps = fields.get("chainSteps").map(FrontMatterValue::items);
    if steps.is_some_and(|steps| !steps.is_empty()) {
        let why = "a chain of prompts: each of them is a prompt, the chain is none";
        return vec![ImportItem::left(&file.path, why)];
    }
    let id = id_of(file, &fields);
    let user = match part(batch, file, &fields, &USER) {
        Ok(text) => text.unwrap_or_default(),
        Err(why) => return vec![ImportItem::left(&file.path, why)],
    };
    let system = match part(batch, file, &fields, &SYSTEM) {
        Ok(text) => text.unwrap_or_default(),
        Err(why) => return vec![ImportItem::left(&file.path, why)],
    };
    if system.is_empty() && user.is_empty() && batch.files.len() == 1 {
        let why = "its texts are in files beside it: import its folder";
        return vec![ImportItem::left(&file.path, why)];
    }
    let original = match (system.is_empty(), user.is_empty()) {
        (false, false) => format!("{}\n\n{user}", system.trim_end()),
        (false, true) => system.clone(),
        _ => user.clone(),
    };
    let mut draft = ImportDraft::new(&file.path, &id, &original, batch.limits);
    draft.title = fields.word_at("name");
    draft.description = fields.word_at("description");
    if fields
        .get("registerWithMcp")
        .and_then(FrontMatterValue::flag)
        == Some(false)
    {
        draft
            .notes
            .push("was not offered over MCP there".to_owned());
    }
    declare(&fields, &mut draft);
    let said = draft
        .check_length(batch.limits)
        .and_then(|()| turns(batch, &system, &user, &mut draft));
    match said {
        Ok(turns) => draft.messages = fold(turns, &mut draft.changes),
        Err(why) => draft.keep_as_it_is(&why, batch.limits),
    }
    vec![draft.finish(batch.limits)]
}

/// Why a file is no map of fields.
fn why_unread(fault: &YamlError, text: &str) -> String {
    match fault {
        YamlError::NoMap => "it is no map of fields".to_owned(),
        YamlError::NotYaml { reason, offset } => {
            let before = offset.and_then(|offset| text.get(..offset));
            let line = before.map(|before| before.matches('\n').count() + 1);
            let line = line.map_or_else(String::new, |line| format!(" at line {line}"));
            format!("it is not valid YAML: {reason}{line}")
        }
    }
}

fn turns(
    batch: ImportBatch<'_>,
    system: &str,
    user: &str,
    draft: &mut ImportDraft,
) -> Result<Vec<(Speaker, EscapedWords)>, String> {
    let turns = [(Speaker::System, system), (Speaker::User, user)];
    let turns = turns.into_iter().map(|(speaker, text)| {
        let text = references(batch, text, draft);
        let words = jinja::convert(&text, &mut draft.arguments, &mut draft.changes)?;
        Ok((speaker, words))
    });
    turns.collect()
}

/// True if YAML could be a prompt of this kind.
pub(super) fn is_prompt(text: &str) -> bool {
    let is_key = |line: &str| {
        ["userMessageTemplate", "systemMessage", "chainSteps"]
            .iter()
            .any(|key| line.starts_with(key))
    };
    text.lines().any(is_key)
}

/// Where one part of a prompt is written.
struct MinipuftPart {
    inline: [&'static str; 2],
    file: [&'static str; 2],
    usual: &'static str,
}

const USER: MinipuftPart = MinipuftPart {
    inline: ["userMessageTemplate", "userMessage"],
    file: ["userMessageTemplateFile", "userMessageFile"],
    usual: "user-message.md",
};

const SYSTEM: MinipuftPart = MinipuftPart {
    inline: ["systemMessage", "systemMessageTemplate"],
    file: ["systemMessageFile", "systemMessageTemplateFile"],
    usual: "system-message.md",
};

/// The text of a part; a file has to be in the import.
fn part(
    batch: ImportBatch<'_>,
    file: &SourceFile,
    fields: &FrontMatterValue,
    part: &MinipuftPart,
) -> Result<Option<String>, String> {
    if let Some(text) = part.inline.iter().find_map(|key| fields.word_at(key)) {
        return Ok(Some(text));
    }
    let folder = file.path.rsplit_once('/').map(|(folder, _)| folder);
    let at = |name: &str| match folder {
        Some(folder) => format!("{folder}/{name}"),
        None => name.to_owned(),
    };
    if let Some(name) = part.file.iter().find_map(|key| fields.word_at(key)) {
        let name = name.strip_prefix("./").unwrap_or(&name);
        let found = batch.file(&at(name));
        let text = found.map(|file| Some(file.text.clone()));
        return text.ok_or_else(|| format!("its file `{name}` is not in the import"));
    }
    let is_own = file.path.rsplit('/').next().is_some_and(is_manifest);
    let usual = batch.file(&at(part.usual)).filter(|_| is_own);
    Ok(usual.map(|file| file.text.clone()))
}

/// True if a file of that name represents its folder.
pub(super) fn is_manifest(name: &str) -> bool {
    matches!(name, "prompt.yaml" | "prompt.yml")
}

/// The name of a prompt: its id, else its folder or file.
fn id_of(file: &SourceFile, fields: &FrontMatterValue) -> String {
    fields.word_at("id").unwrap_or_else(|| {
        let (folder, name) = file.path.rsplit_once('/').unwrap_or(("", &file.path));
        let folder = folder.rsplit('/').next().unwrap_or_default();
        if is_manifest(name) && !folder.is_empty() {
            folder.to_owned()
        } else {
            name.rsplit_once('.')
                .map_or(name, |(stem, _)| stem)
                .to_owned()
        }
    })
}

fn declare(fields: &FrontMatterValue, draft: &mut ImportDraft) {
    let arguments = fields.get("arguments").map(FrontMatterValue::items);
    for given in arguments.unwrap_or_default() {
        let Some(name) = given.word_at("name") else {
            continue;
        };
        let rules = given.get("validation");
        let pattern = rules.and_then(|rules| rules.word_at("pattern"));
        let pattern = pattern.and_then(|source| {
            let pattern = Pattern::parse(&source).ok();
            if pattern.is_none() {
                let change = format!("the pattern of `{name}` cannot be read and is left out");
                draft.changes.push(change);
            }
            pattern
        });
        let longest = rules.and_then(|rules| rules.word_at("maxLength")?.parse().ok());
        let choices = given
            .get("options")
            .map(FrontMatterValue::items)
            .unwrap_or_default();
        let choices = choices.iter().filter_map(FrontMatterValue::word);
        let default = given.get("defaultValue").or_else(|| given.get("default"));
        let argument = Argument {
            description: given.word_at("description").map(Into::into),
            required: given.get("required").and_then(FrontMatterValue::flag) == Some(true),
            default: default.map(|node| node.to_text().into()),
            choices: choices.map(Into::into).collect(),
            max_length: longest.filter(|length| *length > 0),
            pattern,
            ..Argument::default()
        };
        draft.arguments.declare(&name, argument);
    }
}

/// Replaces `{{ref:id}}` by other prompts; references that are not found stay as they are.
fn references(batch: ImportBatch<'_>, text: &str, draft: &mut ImportDraft) -> String {
    let mut result = String::with_capacity(text.len());
    let mut count = 0;
    let mut parents = Vec::new();
    expand(batch, text, &mut parents, &mut count, draft, &mut result);
    result
}

fn expand(
    batch: ImportBatch<'_>,
    text: &str,
    parents: &mut Vec<String>,
    count: &mut usize,
    draft: &mut ImportDraft,
    result: &mut String,
) {
    let mut rest = text;
    while let Some(start) = rest.find("{{") {
        let inner = &rest[start + 2..];
        let Some(end) = inner.find("}}") else { break };
        let name = inner[..end].trim();
        let until = start + 2 + end + 2;
        let written = &rest[start..until];
        let reference = name.strip_prefix("ref:").map(str::trim);
        if reference.is_none() && !name.starts_with("script:") {
            result.push_str(&rest[..start + 2]);
            rest = inner;
            continue;
        }
        result.push_str(&rest[..start]);
        rest = &rest[until..];
        let is_circle = |id: &&str| parents.iter().any(|parent| parent == *id);
        let found = reference.filter(|id| !is_circle(id) && *count < REFERENCES);
        if let Some((id, other)) = found.and_then(|id| Some((id, other(batch, id, draft)?))) {
            *count += 1;
            parents.push(id.to_owned());
            expand(batch, &other, parents, count, draft, result);
            parents.pop();
            continue;
        }
        let why = match reference {
            Some(_) => "is not in the import",
            None => "would run a program",
        };
        draft
            .changes
            .push(format!("`{written}` {why} and stays as it is"));
        let _ = write!(result, "{{{{ {} }}}}", quote(written));
    }
    result.push_str(rest);
}

/// The text of another prompt of the import; its arguments are added too.
fn other(batch: ImportBatch<'_>, id: &str, draft: &mut ImportDraft) -> Option<String> {
    let mut files = batch.files.iter();
    files.find_map(|file| {
        let is_yaml = super::detect::fits(super::ImportFormat::Minipuft, &file.path);
        let is_near = file.text.contains(id) || file.path.contains(id);
        if !is_yaml || !is_near || file.text.len() > batch.limits.manifest {
            return None;
        }
        let fields = FrontMatterValue::Map(read_yaml(&file.text).ok()?);
        if id_of(file, &fields) != id {
            return None;
        }
        let text = part(batch, file, &fields, &USER).ok()??;
        declare(&fields, draft);
        Some(text)
    })
}
