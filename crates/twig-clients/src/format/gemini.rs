//! Commands of the Gemini command line: a TOML file each, with `prompt` and `description`.

use std::borrow::Cow;

use super::about::TextAbout;
use super::files::without_ending;
use super::{Reading, draft, refused};
use twig_core::argument::{Argument, implied_arguments};
use twig_core::marks::curly::ARGS;
use twig_core::model::{AppendedForm, Dialect, LibraryKind, Marks};
use twig_core::name::RelativePath;
use twig_core::parse::library::LibraryRoot;
use twig_core::spoken::toml_prompt::{self, NoTomlPrompt};

/// Reads a prompt from a command's file.
pub(super) fn read(
    kind: LibraryKind,
    folder: &LibraryRoot,
    path: &RelativePath,
    text: &str,
) -> Reading {
    let command = match toml_prompt::read(text) {
        Ok(command) => command,
        Err(NoTomlPrompt { why, at, help }) => {
            return refused(kind, folder, path, text, &why, at, help);
        }
    };
    let id = without_ending(kind, path).replace('/', ":");
    let mut prompt = draft(kind, folder, path, &id);
    let about = TextAbout::of(&command.prompt);
    if id == prompt.name.as_str() {
        prompt.title = about.title().map(Into::into).or(prompt.title);
    }
    prompt.description = Some(match command.description {
        Some(said) => said.trim().into(),
        None => about.description(&id).into(),
    });
    if command.prompt.contains("{{args}}") {
        prompt.dialect = Dialect::Marks(Marks::Args);
        prompt.arguments = Cow::Owned(vec![Argument {
            name: ARGS.into(),
            description: Some("What follows the command".into()),
            ..Argument::default()
        }]);
    } else {
        prompt.dialect = Dialect::Marks(Marks::Appended {
            form: AppendedForm::CommandLine,
            is_implied: true,
        });
        prompt.arguments = Cow::Borrowed(implied_arguments());
    }
    Reading::of(folder, path, text, &id, prompt)
}
