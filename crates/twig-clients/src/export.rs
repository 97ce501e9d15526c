//! Prompts as files of other clients, each in the syntax of its client.
//!
//! [`plan`] turns prompts into files. It reports what a format cannot hold beside the file, skips a
//! prompt that the format cannot hold at all and says why, and never turns plain text into
//! something that a client runs. Other crates write the files.

mod arguments;
mod claude;
mod copilot;
mod gemini;
mod harmless;
mod keys;
mod marker;
mod names;
mod opencode;
mod plain;
mod shell;
mod skills;
mod speech;
mod yaml;

use std::sync::Arc;

pub use self::marker::{Marker, bundled_of, marked_name, marker_of};
pub use self::names::FileNames;
pub use self::skills::{SkillSource, skill_source};
use crate::clients::ExportFormat;
use twig_core::World;
use twig_core::catalog::PromptRef;
use twig_core::model::{AppendedForm, Content, Library, LibraryKind};
use twig_core::name::RelativePath;
use twig_core::template::{ComputedJob, JobOutcome};

/// What an export writes.
#[derive(Debug, Clone, Default)]
pub struct Plan {
    /// A file for each prompt, or a folder, in the order of the prompts.
    pub items: Vec<ExportItem>,
    /// Prompts that the client's format cannot hold.
    pub left: Vec<SkippedPrompt>,
}

/// One prompt as a file.
#[derive(Debug, Clone)]
pub struct ExportItem {
    /// The prompt's full name.
    pub prompt: Box<str>,
    /// Where it is written, from the client's folder.
    pub path: String,
    /// The whole file, including its marker.
    pub text: String,
    /// The other files of a skill.
    pub bundled: Vec<BundledFile>,
    /// The file that the prompt was read from, if there is one.
    pub source: Option<String>,
    /// What the format does not hold, and what was changed.
    pub notes: Vec<String>,
}

/// A file of a skill, copied as it is.
#[derive(Debug, Clone)]
pub struct BundledFile {
    /// Its library.
    pub library: Arc<Library>,
    /// Its path in the library.
    pub path: RelativePath,
    /// Where it is written, from the skill's folder.
    pub to: String,
    /// SHA-256 of its bytes.
    pub digest: [u8; 32],
    /// Its size in bytes.
    pub size: u64,
}

/// A prompt that is not exported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkippedPrompt {
    /// Its full name.
    pub prompt: Box<str>,
    /// The reason; follows the name and a colon.
    pub why: String,
}

/// What becomes of the commands and files that the client of a prompt's file puts in, if the export
/// is for another client. An export for the same client keeps them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ShellTranslation {
    /// They are text.
    #[default]
    Off,
    /// They are written in the syntax of the other client, which runs and reads them.
    On,
}

/// Renders a computed template for an export.
pub type Compute<'c> = dyn FnMut(&ComputedJob) -> JobOutcome + 'c;

/// A file's text before its marker, and the notes on it.
#[derive(Debug, Default)]
struct ExportDraft {
    text: String,
    notes: Vec<String>,
}

/// Turns prompts into files.
///
/// `names` are those of everything that the catalog serves, so that the name of a prompt's file
/// does not depend on what else is exported.
pub fn plan<'c>(
    world: World<'_>,
    client: ExportFormat,
    translation: ShellTranslation,
    names: &FileNames,
    prompts: impl IntoIterator<Item = PromptRef<'c>>,
    compute: &mut Compute<'_>,
) -> Plan {
    let mut plan = Plan::default();
    for found in prompts {
        match item(world, client, translation, names, found, compute) {
            Ok(item) => plan.items.push(item),
            Err(why) => plan.left.push(SkippedPrompt {
                prompt: found.prompt.full_name.clone(),
                why,
            }),
        }
    }
    plan
}

fn item(
    world: World<'_>,
    client: ExportFormat,
    translation: ShellTranslation,
    names: &FileNames,
    found: PromptRef<'_>,
    compute: &mut Compute<'_>,
) -> Result<ExportItem, String> {
    let prompt = found.prompt;
    let file = names.of(found);
    let mut speech = speech::of(world, found, (client, translation), compute)?;
    let is_skill = client == ExportFormat::Skills && found.library.kind == LibraryKind::Skills;
    // Claude Code does that itself, and a skill is copied as it is.
    let is_claude =
        client == ExportFormat::Claude && speech.appended == Some(AppendedForm::Labelled);
    if !is_claude && !is_skill {
        speech.append();
    }
    let (bundled, about) = skills::bundled(world, found);
    let tools = keys::tools(client, found, &mut speech);
    let mut draft = match client {
        ExportFormat::Skills => {
            let top = skills::Top {
                name: &file.name,
                about: about.as_ref(),
                tools,
            };
            skills::write(found, &top, &speech, &bundled)?
        }
        ExportFormat::Claude => claude::write(found, &speech)?,
        ExportFormat::Copilot => copilot::write(prompt, &speech),
        ExportFormat::Cursor => plain::cursor(prompt, &speech),
        ExportFormat::Opencode => opencode::write(prompt, &speech),
        ExportFormat::Windsurf => plain::windsurf(prompt, &speech),
        ExportFormat::Gemini => gemini::write(prompt, &speech),
    };
    keys::keep(client, found, &mut speech, &mut draft);
    let bundled = match client {
        ExportFormat::Skills => bundled,
        _ if bundled.is_empty() => bundled,
        _ => {
            draft.notes.push(match bundled.len() {
                1 => "the file of the skill stays behind".to_owned(),
                count => format!("the {count} files of the skill stay behind"),
            });
            Vec::new()
        }
    };
    let digests = bundled.iter().map(|file| (&*file.to, file.digest));
    let text = marker::seal(client, &draft.text, &prompt.full_name, digests);
    if let Some(limit) = client.rules().longest
        && text.chars().count() > limit
    {
        return Err(format!(
            "is longer than the {limit} characters that {} takes",
            client.title()
        ));
    }
    let mut notes = speech.notes;
    if !is_skill && !speech.keys.is_empty() {
        let keys: Vec<&str> = speech.keys.iter().map(|(key, _)| *key).collect();
        let keys = keys.join("`, `");
        notes.push(format!("leaves out `{keys}` of its front matter"));
    }
    notes.extend(file.notes);
    notes.append(&mut draft.notes);
    notes.extend(speech.shell.notes());
    Ok(ExportItem {
        prompt: prompt.full_name.clone(),
        path: client.path(&file.name),
        text,
        bundled,
        source: source(found),
        notes,
    })
}

/// The path of the file that a prompt was read from, as the source knows it.
fn source(found: PromptRef<'_>) -> Option<String> {
    let message = found.prompt.messages.first()?;
    match &message.content {
        Content::File(path) if found.library.kind.is_format() => Some(found.library.path_of(path)),
        _ => None,
    }
}
