//! Skills: `NAME/SKILL.md` with only the keys of the specification, and the files of the skill.

use std::fmt::Write;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::arguments::{Held, NAMED_ARGUMENTS, description, join, list, lost};
use super::claude::{self, ALL};
use super::speech::{Speech, SpeechPart};
use super::{BundledFile, ExportDraft, harmless, keys, marker, plain, yaml};
use crate::clients::ExportFormat;
use twig_core::World;
use twig_core::catalog::PromptRef;
use twig_core::model::{Content, LibraryKind};
use twig_core::name::RelativePath;

/// Characters of a description.
const DESCRIPTION: usize = 1024;
/// Characters of `compatibility`.
const COMPATIBILITY: usize = 500;

/// The fields of a skill's own front matter.
pub(super) type SkillAbout = Map<String, Value>;

/// The top of a skill's file.
pub(super) struct Top<'h> {
    pub(super) name: &'h str,
    /// Its own front matter, if it is already a skill.
    pub(super) about: Option<&'h SkillAbout>,
    /// The tools of a command.
    pub(super) tools: Option<String>,
}

pub(super) fn write(
    found: PromptRef<'_>,
    top: &Top<'_>,
    speech: &Speech,
    bundled: &[BundledFile],
) -> Result<ExportDraft, String> {
    let prompt = found.prompt;
    let count = speech.arguments.len();
    let is_skill = found.library.kind == LibraryKind::Skills;
    // The specification has no arguments; these are the marks that some clients fill in.
    let mark = |at: Option<usize>, after: &str| match at {
        Some(at) if count > 1 || after.starts_with('[') => format!("{ALL}[{at}]"),
        _ => ALL.to_owned(),
    };
    let escapes = |text: &str| claude::escape(text, &[], count > 0);
    // Most clients that read skills know no escapes: such a text has no marks either.
    let is_plain = !is_skill && has_escapes(speech, escapes);
    let (mut body, mut notes) = if is_plain {
        without_marks(found, speech)
    } else {
        claude::body(found, speech, escapes, mark)?
    };
    if count > 0 && is_plain {
        let _ = write!(body, "\n{}", list(NAMED_ARGUMENTS, &speech.arguments));
        notes.push(
            "skills have no arguments: a list at the end tells the model what to fill in"
                .to_owned(),
        );
    } else if count > 0 && !is_skill {
        let heading = "Arguments, in the order in which they are given:";
        let _ = write!(body, "\n{}", list(heading, &speech.arguments));
        notes.push(
            "skills have no arguments: clients that know `$ARGUMENTS` fill it in, a list at the end tells the others"
                .to_owned(),
        );
    }
    let mut text = "---\n".to_owned();
    yaml::field(&mut text, "name", top.name);
    let description = shortened(
        "description",
        &description(prompt, speech),
        DESCRIPTION,
        &mut notes,
    );
    yaml::field(&mut text, "description", &description);
    fields(&mut text, found, top, &mut notes);
    text.push_str("metadata:\n");
    metadata(&mut text, found, top.about);
    text.push_str(&marker::bundled_line(bundled));
    text.push_str("---\n");
    text.push_str(&body);
    let held = [
        Held::Title,
        Held::Names,
        Held::Descriptions,
        Held::Required,
        Held::Values,
    ];
    notes.extend(lost(speech, &held).filter(|_| !is_skill));
    Ok(ExportDraft { text, notes })
}

/// True if a text needs a backslash, so that the clients that fill in `$ARGUMENTS` leave it alone.
fn has_escapes(speech: &Speech, escape: impl Fn(&str) -> (String, bool)) -> bool {
    speech.parts.iter().any(|part| match part {
        SpeechPart::Text(text) | SpeechPart::Live(text) => {
            let (escaped, is_lost) = escape(text);
            is_lost || escaped.len() > text.len()
        }
        SpeechPart::Argument(_) | SpeechPart::All => false,
    })
}

/// The text with its arguments by name, for a model to fill in.
fn without_marks(found: PromptRef<'_>, speech: &Speech) -> (String, Vec<String>) {
    let mut parts = plain::named_parts(speech, |name| format!("{{{{{name}}}}}"));
    let hazards = harmless::claude_without_marks(&mut parts);
    let mut notes = hazards.notes(ExportFormat::Claude.title());
    notes.extend(claude::own_variables(found, &parts));
    (join(&parts), notes)
}

/// What the author of a skill, or of a library, says about it.
fn fields(text: &mut String, found: PromptRef<'_>, top: &Top<'_>, notes: &mut Vec<String>) {
    let about = top.about;
    let said = |key: &str| about.and_then(|about| about.get(key)).and_then(words);
    let of_library = found.library.about.license.as_deref().map(str::to_owned);
    if let Some(license) = said("license").or(of_library) {
        yaml::field(text, "license", &license);
    }
    if let Some(compatibility) = said("compatibility") {
        let compatibility = shortened("compatibility", &compatibility, COMPATIBILITY, notes);
        yaml::field(text, "compatibility", &compatibility);
    }
    if let Some(tools) = said(keys::TOOLS).or_else(|| top.tools.clone()) {
        notes.push(keys::note(&tools));
        yaml::field(text, keys::TOOLS, &tools);
    }
    let known = [
        "name",
        "description",
        "license",
        "compatibility",
        keys::TOOLS,
        "metadata",
    ];
    let others = about.into_iter().flat_map(Map::keys);
    let others: Vec<String> = others
        .filter(|key| !known.contains(&key.as_str()))
        .map(|key| format!("`{key}`"))
        .collect();
    if !others.is_empty() {
        notes.push(format!(
            "leaves out {}: not in the specification",
            others.join(", ")
        ));
    }
}

/// The author's metadata, and the title. The marker comes last.
fn metadata(text: &mut String, found: PromptRef<'_>, about: Option<&SkillAbout>) {
    let of_skill = about.and_then(|about| about.get("metadata"));
    let of_skill = of_skill.and_then(Value::as_object);
    let own = [marker::FILES, marker::EXPORT, "title"];
    for (key, value) in of_skill.into_iter().flatten() {
        if let Some(value) = words(value).filter(|_| !own.contains(&key.as_str())) {
            let _ = writeln!(text, "  {}: {}", yaml::scalar(key), yaml::quoted(&value));
        }
    }
    let own = of_skill
        .and_then(|of_skill| of_skill.get("title"))
        .and_then(words);
    let is_other = |title: &&str| *title != found.prompt.name.as_str();
    let title = found
        .prompt
        .title
        .as_deref()
        .filter(is_other)
        .map(str::to_owned);
    if let Some(title) = own.or(title) {
        let _ = writeln!(text, "  title: {}", yaml::quoted(&title));
    }
}

/// A value as text: a list's entries with a space between them.
fn words(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(yes) => Some(yes.to_string()),
        Value::Array(list) => {
            let parts: Option<Vec<String>> = list.iter().map(words).collect();
            parts.map(|parts| parts.join(" "))
        }
        Value::Null | Value::Object(_) => None,
    }
}

/// A text within its limit, cut after a word.
fn shortened(what: &str, text: &str, limit: usize, notes: &mut Vec<String>) -> String {
    if text.chars().count() <= limit {
        return text.to_owned();
    }
    notes.push(format!("the {what} is cut to {limit} characters"));
    let end = text
        .char_indices()
        .nth(limit - 1)
        .map_or(text.len(), |(at, _)| at);
    let cut = &text[..end];
    let cut = cut.rfind(char::is_whitespace).map_or(cut, |at| &cut[..at]);
    format!("{}…", cut.trim_end())
}

/// The files that a prompt of a library of skills was made from.
#[derive(Debug, Clone)]
pub struct SkillSource {
    /// Its `SKILL.md`, however the author spells that.
    pub main: RelativePath,
    /// The other files.
    pub bundled: Vec<BundledFile>,
    /// True if it has more files than a list may hold, so that some are missing here.
    pub is_partial: bool,
    front_matter: Box<str>,
}

/// The files of the skill that a prompt is, if it is one.
pub fn skill_source(world: World<'_>, found: PromptRef<'_>) -> Option<SkillSource> {
    let library = found.library;
    let message = found.prompt.messages.first();
    let Some(Content::File(path)) = message.map(|message| &message.content) else {
        return None;
    };
    let at = |uri: &str| {
        world
            .catalog
            .document(uri)
            .filter(|one| Arc::ptr_eq(one.library, library))
    };
    let own = |uri: &str| at(uri).is_some_and(|one| one.document.file() == Some(path));
    let skill = library.skills.iter().find(|skill| own(&skill.uri))?;
    let folder = path.folder();
    let files = skill.files.iter().filter_map(|file| {
        let document = at(&file.uri)?.document;
        let path = document.file()?;
        let inner = path.as_str().strip_prefix(folder)?;
        let to = inner.trim_start_matches('/');
        let is_main = to.eq_ignore_ascii_case("SKILL.md");
        (!is_main).then(|| BundledFile {
            library: Arc::clone(library),
            path: path.clone(),
            to: to.to_owned(),
            digest: file.digest,
            size: file.size,
        })
    });
    Some(SkillSource {
        main: path.clone(),
        bundled: files.collect(),
        is_partial: skill.is_unlisted,
        front_matter: skill.front_matter.clone(),
    })
}

/// The files of a skill beside its `SKILL.md`, and its front matter.
pub(super) fn bundled(
    world: World<'_>,
    found: PromptRef<'_>,
) -> (Vec<BundledFile>, Option<SkillAbout>) {
    match skill_source(world, found) {
        None => (Vec::new(), None),
        Some(skill) => {
            let about = serde_json::from_str::<SkillAbout>(&skill.front_matter).ok();
            (skill.bundled, about)
        }
    }
}
