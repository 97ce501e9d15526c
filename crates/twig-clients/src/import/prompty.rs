//! Prompty: front matter with inputs, role markers, and a subset of Jinja or Mustache.

use super::draft::ImportDraft;
use super::front::split_and_read;
use super::turns::{Speaker, fold};
use super::words::EscapedWords;
use super::{ImportBatch, ImportItem, SourceFile, handlebars, jinja, logic, wished_name};
use twig_core::argument::Argument;
use twig_core::front_matter::{FrontMatterFields, FrontMatterValue};

/// Reads one file.
pub(super) fn read(batch: ImportBatch<'_>, file: &SourceFile) -> Vec<ImportItem> {
    let front = split_and_read(&file.text, batch.limits);
    let fields = &front.fields;
    let name = fields.text("name");
    let wished = name.map_or_else(|| wished_name(&file.path, ".prompty"), str::to_owned);
    let mut draft = ImportDraft::new(&file.path, &wished, front.body, batch.limits);
    draft.title = fields.text("displayName").or(name).map(Into::into);
    draft.description = fields.text("description").map(Into::into);
    draft.repairs = front.repairs;
    if ["tools", "outputs"]
        .iter()
        .any(|key| fields.get(key).is_some())
    {
        let note = "has its own tools or outputs, which are not imported";
        draft.notes.push(note.to_owned());
    }
    inputs(fields, &mut draft);
    let said = draft.check_length(batch.limits).and_then(|()| {
        if is_mustache(fields) {
            mustache(front.body, &mut draft)
        } else {
            markers(front.body, &mut draft)
        }
    });
    match said {
        Ok(turns) => draft.messages = fold(turns, &mut draft.changes),
        Err(why) => draft.keep_as_it_is(&why, batch.limits),
    }
    vec![draft.finish(batch.limits)]
}

fn is_mustache(fields: &FrontMatterFields) -> bool {
    let Some(template) = fields.get("template") else {
        return false;
    };
    let format = template.get("format");
    let kind = format.and_then(|format| format.get("kind"));
    [Some(template), format, template.get("type"), kind]
        .into_iter()
        .flatten()
        .filter_map(FrontMatterValue::word)
        .any(|word| word.eq_ignore_ascii_case("mustache"))
}

fn mustache(body: &str, draft: &mut ImportDraft) -> Result<Vec<(Speaker, EscapedWords)>, String> {
    let mut turns = Vec::new();
    for (speaker, text) in segments(body) {
        let steps = handlebars::parse(text, &|_| None, &mut draft.changes)?;
        let mut said = logic::write(&steps, speaker, &mut draft.arguments, &mut draft.changes)?;
        turns.append(&mut said);
    }
    Ok(turns)
}

fn markers(body: &str, draft: &mut ImportDraft) -> Result<Vec<(Speaker, EscapedWords)>, String> {
    let turns = segments(body).into_iter().map(|(speaker, text)| {
        let words = jinja::convert(text, &mut draft.arguments, &mut draft.changes)?;
        Ok((speaker, words))
    });
    turns.collect()
}

/// Splits a text by roles: a line with only a role starts a message of that role.
fn segments(body: &str) -> Vec<(Speaker, &str)> {
    let mut segments = Vec::new();
    let mut speaker = Speaker::System;
    let (mut start, mut at) = (0, 0);
    let mut has_markers = false;
    for line in body.split_inclusive('\n') {
        if let Some(next) = marker(line) {
            segments.push((speaker, &body[start..at]));
            (speaker, start) = (next, at + line.len());
            has_markers = true;
        }
        at += line.len();
    }
    segments.push((speaker, &body[start..]));
    if !has_markers {
        return vec![(Speaker::User, body)];
    }
    let line_ends = ['\n', '\r'];
    for (_, text) in &mut segments {
        *text = text.trim_matches(line_ends);
    }
    segments
}

/// `system:`, `# user:`, `assistant[name="x"]:`
fn marker(line: &str) -> Option<Speaker> {
    let line = line.trim();
    let line = line.strip_prefix('#').unwrap_or(line).trim_start();
    let line = line.strip_suffix(':')?.trim_end();
    let word = match line.split_once('[') {
        Some((word, rest)) => rest.ends_with(']').then_some(word)?,
        None => line,
    };
    match word.to_ascii_lowercase().as_str() {
        "system" | "user" | "assistant" => Speaker::parse(word),
        _ => None,
    }
}

/// Declares the arguments in `inputs`: a list, a map, or a map of values.
fn inputs(fields: &FrontMatterFields, draft: &mut ImportDraft) {
    let given = fields.get("inputs").or_else(|| fields.get("inputSchema"));
    let inner = given.and_then(|node| node.get("properties"));
    match inner.or(given) {
        Some(FrontMatterValue::List(items)) => {
            for item in items {
                if let Some(name) = item.word_at("name") {
                    declare(&name, item, draft);
                } else if let Some(name) = item.word() {
                    draft.arguments.declare(&name, Argument::default());
                }
            }
        }
        Some(FrontMatterValue::Map(inputs)) => {
            for (name, input) in inputs {
                match input {
                    FrontMatterValue::Map(_) => declare(name, input, draft),
                    FrontMatterValue::Null => draft.arguments.declare(name, Argument::default()),
                    input => scalar(name, input, draft),
                }
            }
        }
        Some(_) => {
            let change = "its inputs are looked up elsewhere and are not known";
            draft.changes.push(change.to_owned());
        }
        None => {}
    }
}

/// `name: string` gives the type, `name: Jane` the default value.
fn scalar(name: &str, input: &FrontMatterValue, draft: &mut ImportDraft) {
    let text = input.to_text();
    let kinds = [
        "string", "number", "integer", "float", "boolean", "array", "object", "list", "any", "str",
        "int", "bool", "dict",
    ];
    let default = (!kinds.contains(&text.as_str())).then_some(text);
    let default = plain(name, default, &mut draft.changes);
    draft.arguments.declare(
        name,
        Argument {
            default,
            ..Argument::default()
        },
    );
}

fn declare(name: &str, input: &FrontMatterValue, draft: &mut ImportDraft) {
    let kind = input.word_at("kind").or_else(|| input.word_at("type"));
    if let Some(kind) =
        kind.filter(|kind| matches!(kind.as_str(), "thread" | "image" | "audio" | "file"))
    {
        let change = format!("`{name}` is of the kind `{kind}` there: here it is a text");
        draft.changes.push(change);
    }
    let example = input.get("sample").or_else(|| input.get("example"));
    let example = example.map(|node| format!("For example: {}", node.to_text()));
    let choices = input.get("enumValues").or_else(|| input.get("enum"));
    let choices = choices.map(FrontMatterValue::items).unwrap_or_default();
    let default = input.get("default").map(FrontMatterValue::to_text);
    let default = plain(name, default, &mut draft.changes);
    let argument = Argument {
        description: input.word_at("description").or(example).map(Into::into),
        required: input.get("required").and_then(FrontMatterValue::flag) == Some(true),
        default,
        choices: choices
            .iter()
            .filter_map(FrontMatterValue::word)
            .map(Into::into)
            .collect(),
        ..Argument::default()
    };
    draft.arguments.declare(name, argument);
}

/// A default, unless it has to be looked up: `${env:NAME}` and `${file:path}`.
fn plain(name: &str, default: Option<String>, changes: &mut Vec<String>) -> Option<Box<str>> {
    let default = default?;
    if default.contains("${env:") || default.contains("${file:") {
        let change = format!("the default of `{name}` is looked up elsewhere and is left out");
        changes.push(change);
        return None;
    }
    Some(default.into())
}
