//! Prompts of GitHub Models: `*.prompt.yml`, with roles and `{{variables}}`.

use super::about::TextAbout;
use super::arguments::too_many;
use super::files::without_ending;
use super::{Reading, draft, refused};
use twig_core::argument::Argument;
use twig_core::limits::Limits;
use twig_core::marks::curly;
use twig_core::model::{Dialect, LibraryKind, Marks};
use twig_core::name::RelativePath;
use twig_core::parse::library::LibraryRoot;
use twig_core::spoken::yaml_messages::{self, NoYamlMessages};

/// Reads a prompt from a file.
pub(super) fn read(
    kind: LibraryKind,
    folder: &LibraryRoot,
    path: &RelativePath,
    text: &str,
    limits: &Limits,
) -> Reading {
    let read = match yaml_messages::read(text) {
        Ok(read) => read,
        Err(NoYamlMessages { why, line }) => {
            let lines = text.split_inclusive('\n');
            let before = lines.take(line.unwrap_or(1).saturating_sub(1));
            let at = before.map(str::len).sum();
            let help = "give it `messages`, each with a `role` and a `content`";
            return refused(kind, folder, path, text, &why, at..at, help);
        }
    };
    let id = without_ending(kind, path).replace('/', ":");
    let mut prompt = draft(kind, folder, path, &id);
    let spoken = read.spoken();
    let about = spoken.first().map(|first| TextAbout::of(&first.text));
    let said = |text: &Option<String>| text.as_deref().map(str::trim).map(str::to_owned);
    if let Some(title) = said(&read.name).filter(|name| !name.is_empty()) {
        prompt.title = Some(title.into());
    }
    let description = said(&read.description).filter(|text| !text.is_empty());
    let seen = || about.unwrap_or_default().description(&id);
    prompt.description = Some(description.unwrap_or_else(seen).into());
    let mut names: Vec<&str> = Vec::new();
    for spoken in &spoken {
        curly::variable_names(&spoken.text, limits.arguments + 1, &mut names);
    }
    let mut remarks = Vec::new();
    if names.len() > limits.arguments {
        names.truncate(limits.arguments);
        remarks.push(too_many(limits));
    }
    // Free text comes last: several clients give it the rest of the line.
    names.sort_by_key(|name| *name == curly::INPUT);
    prompt.dialect = Dialect::Marks(match names[..] {
        [] => Marks::None,
        _ => Marks::Variables,
    });
    let arguments = names.into_iter().map(|name| Argument {
        name: name.into(),
        ..Argument::default()
    });
    prompt.arguments = arguments.collect();
    Reading::of(folder, path, text, &id, prompt).with(folder, path, remarks)
}
