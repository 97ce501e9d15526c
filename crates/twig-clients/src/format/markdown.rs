//! The formats that are Markdown files: commands, prompts, workflows and skills.

use super::about::{TextAbout, title};
use super::arguments::take;
use super::declared::declared;
use super::files::without_ending;
use super::{Options, Reading, SkillHead, draft, old_name, shrink};
use crate::clients::{NameRule, format_of};
use twig_core::argument::Argument;
use twig_core::front_matter::{self, FrontMatterFields, FrontMatterValue, Repair};
use twig_core::limits::Limits;
use twig_core::model::{Dialect, LibraryKind, Prompt};
use twig_core::name::RelativePath;
use twig_core::parse::labels;
use twig_core::parse::library::LibraryRoot;
use twig_core::problem::{Problem, ProblemCode, Severity};

/// Keys with a meaning to their client that a prompt cannot carry.
pub(crate) const UNSERVED: [&str; 15] = [
    "agent",
    "allowed-tools",
    "background",
    "context",
    "disable-model-invocation",
    "disallowed-tools",
    "effort",
    "hooks",
    "mode",
    "model",
    "paths",
    "shell",
    "subtask",
    "tools",
    "variant",
];

/// The maximum length of a skill's description, in characters.
const DESCRIPTION: usize = 1024;

/// The values that select Jinja.
const JINJA: [&str; 3] = ["jinja", "jinja2", "minijinja"];

/// Reads a prompt from a file.
pub(super) fn read(
    kind: LibraryKind,
    folder: &LibraryRoot,
    path: &RelativePath,
    text: &str,
    options: Options,
    limits: &Limits,
) -> Reading {
    let file = folder.path_of(path);
    let mut reading = Reading::default();
    let front = front_matter::read(text, limits);
    let fields = &front.fields;
    let is_mended = !front.repairs.is_empty();
    let mut lost = front.repairs.iter();
    let lost = lost.find(|repair| repair.severity == Severity::Error);
    let lost = lost.map(|repair| repair.message.clone());
    let is_skill = kind == LibraryKind::Skills;
    let repairs = front.repairs.into_iter();
    // Other hosts read skills themselves, and strictly.
    let repairs = repairs.filter(|repair| is_skill || !repair.is_harmless);
    let repairs = repairs.map(|repair| repaired(&file, text, repair));
    reading.problems.extend(repairs);
    let mut note = |code, severity, message: String| {
        let problem = Problem::of_file(code, severity, &file, message);
        reading.problems.push(problem);
    };
    let id = id(kind, folder, path, fields);
    let about = TextAbout::of(front.body);
    let mut prompt = draft(kind, folder, path, &id);
    reading.old_name = old_name(&id);
    label(&mut prompt, fields, &about, &id);
    let engine = ["template", "engine"]
        .iter()
        .find_map(|key| fields.word(key));
    if engine.is_some_and(|engine| JINJA.contains(&&*engine.to_ascii_lowercase())) {
        let mut remarks = Vec::new();
        prompt.dialect = Dialect::Jinja;
        // Without its arguments, every variable would be a mistake.
        prompt.unavailable = lost.map(Into::into);
        if let Some(value) = fields.value("arguments") {
            prompt.arguments = declared(value, limits, &mut remarks).into();
        }
        for (code, severity, message) in remarks {
            note(code, severity, message);
        }
    } else if kind == LibraryKind::Markdown {
        prompt.dialect = Dialect::Input;
        prompt.arguments = vec![Argument {
            name: "input".into(),
            description: Some("Text to inject into the prompt template".into()),
            ..Argument::default()
        }]
        .into();
    } else {
        let rule = format_of(kind).marks;
        let taken = take(rule, fields, front.body, options, limits);
        let remarks = taken.fill(rule, &mut prompt);
        for (code, severity, message) in remarks {
            note(code, severity, message);
        }
    }
    let unserved: Vec<String> = UNSERVED
        .iter()
        .filter(|key| fields.value(key).is_some())
        .map(|key| format!("`{key}`"))
        .collect();
    if !unserved.is_empty() {
        let keys = unserved.join(", ");
        let message = format!("{keys} in front matter: only the file's own client follows it");
        note(ProblemCode::NotServed, Severity::Note, message);
    }
    let is_hidden = fields.flag("user-invocable") == Some(false);
    if is_hidden {
        let message = "it is no prompt: `user-invocable` is false".to_owned();
        note(ProblemCode::NotInvocable, Severity::Note, message);
    }
    if is_skill {
        match skill(fields, is_mended) {
            Ok(head) => {
                let length = head.description.chars().count();
                if length > DESCRIPTION {
                    let message = format!(
                        "the description has {length} characters; skills may have {DESCRIPTION}, and strict clients refuse more"
                    );
                    note(ProblemCode::LongDescription, Severity::Note, message);
                }
                reading.skill = Some(head);
            }
            Err(why) => note(
                ProblemCode::NotASkill,
                Severity::Note,
                format!("it is served as a prompt, and not as a skill: {why}"),
            ),
        }
    }
    let prompts = std::slice::from_mut(&mut prompt);
    labels::check(&file, text, prompts, &mut reading.problems);
    if prompt.unavailable.is_some() {
        reading.skill = None;
    }
    shrink(&mut prompt);
    reading.prompt = (!is_hidden).then(|| prompt.into());
    reading
}

/// The client's name for it.
fn id(
    kind: LibraryKind,
    folder: &LibraryRoot,
    path: &RelativePath,
    fields: &FrontMatterFields,
) -> String {
    let stem = without_ending(kind, path);
    let own = stem.rsplit('/').next().unwrap_or(stem);
    let named = fields.word("name");
    match format_of(kind).names {
        NameRule::NameOrFile => named.unwrap_or(own).to_owned(),
        NameRule::NameOrPath => named.unwrap_or(stem).to_owned(),
        NameRule::PathWithColons => stem.replace('/', ":"),
        NameRule::Path => stem.to_owned(),
        NameRule::Folder => {
            let here = folder_name(folder, path);
            // There the folder's name counts, and the name in the file is a label.
            let is_claude = folder.root.split(['/', '\\']).any(|part| part == ".claude");
            let named = named.filter(|name| !is_claude && is_skill_name(name));
            named.unwrap_or(here).to_owned()
        }
    }
}

/// The name of the folder in which a skill is.
pub(super) fn folder_name<'p>(folder: &'p LibraryRoot, path: &'p RelativePath) -> &'p str {
    let inside = path.folder();
    let all = if inside.is_empty() {
        &*folder.root
    } else {
        inside
    };
    let all = all.trim_end_matches(['/', '\\']);
    all.rsplit(['/', '\\']).next().unwrap_or(all)
}

/// Sets a prompt's title and description: from its author, else from its text.
fn label(prompt: &mut Prompt, fields: &FrontMatterFields, about: &TextAbout, id: &str) {
    let is_renamed = *prompt.name.as_str() != *id;
    let seen = || {
        let named = fields
            .word("name")
            .filter(|name| *name != prompt.name.as_str());
        let id = title(id);
        if is_renamed && id.is_some() {
            return id;
        }
        named.and_then(title).or_else(|| about.title()).or(id)
    };
    let title = fields.text("title").map(str::to_owned).or_else(seen);
    // A title that equals the full name adds nothing.
    let title = title.filter(|title| **title != *prompt.full_name);
    let description = match fields.text("description") {
        Some(said) => said.to_owned(),
        None => about.description(title.as_deref().unwrap_or(prompt.name.as_str())),
    };
    prompt.title = title.map(Into::into);
    prompt.description = Some(description.into());
}

/// What was repaired in a file's front matter.
fn repaired(file: &str, text: &str, repair: Repair) -> Problem {
    let (code, severity) = (ProblemCode::FrontMatter, repair.severity);
    Problem::at(code, severity, file, text, repair.at, repair.message)
}

/// The head of a skill, or why the file is none.
fn skill(fields: &FrontMatterFields, is_mended: bool) -> Result<SkillHead, String> {
    if is_mended {
        // Hosts read the file themselves and refuse what differs.
        return Err("its front matter is not plain YAML at the top of the file".into());
    }
    let Some(name) = fields.word("name") else {
        return Err("its front matter has no `name`".into());
    };
    if !is_skill_name(name) {
        return Err(
            "its `name` is not of the letters a to z, digits and single `-`, 64 at most".into(),
        );
    }
    let description = fields.value("description").and_then(FrontMatterValue::word);
    let description = description.unwrap_or_default();
    if description.trim().is_empty() {
        return Err("its front matter has no `description`".into());
    }
    Ok(SkillHead {
        name: name.into(),
        description: description.trim().into(),
        front_matter: fields.to_json().into(),
    })
}

/// True if a skill may have this name.
fn is_skill_name(name: &str) -> bool {
    let is_inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    (1..=64).contains(&name.len())
        && name
            .split('-')
            .all(|part| !part.is_empty() && part.bytes().all(is_inner))
}
