//! `twig help`: a page of the documentation, or the help of a command.
//!
//! The pages are part of the program, so that hints lead somewhere on a machine that has nothing
//! else of Twig.

use std::fmt::Write as _;
use std::process::ExitCode;

use clap::{Args, CommandFactory};
use twig_core::suggest::did_you_mean;

use super::{Cli, examples};
use crate::command_error::{CommandError, ErrorKind};
use crate::ui::Ui;

/// The pages, by the name of their topic.
const PAGES: &[(&str, &str)] = &[
    ("ci", include_str!("../../../../docs/ci.md")),
    ("clients", include_str!("../../../../docs/clients.md")),
    ("codex", include_str!("../../../../docs/codex.md")),
    ("config", include_str!("../../../../docs/config.md")),
    ("connect", include_str!("../../../../docs/connect.md")),
    ("editor", include_str!("../../../../docs/editor.md")),
    ("export", include_str!("../../../../docs/export.md")),
    ("formats", include_str!("../../../../docs/formats.md")),
    ("functions", include_str!("../../../../docs/functions.md")),
    ("http", include_str!("../../../../docs/http.md")),
    ("hub", include_str!("../../../../docs/hub.md")),
    ("import", include_str!("../../../../docs/import.md")),
    ("installing", include_str!("../../../../docs/installing.md")),
    ("json", include_str!("../../../../docs/json.md")),
    ("library", include_str!("../../../../docs/library.md")),
    ("packages", include_str!("../../../../docs/packages.md")),
    ("page", include_str!("../../../../docs/page.md")),
    ("postgres", include_str!("../../../../docs/postgres.md")),
    ("problems", include_str!("../../../../docs/problems.md")),
    ("projects", include_str!("../../../../docs/projects.md")),
    ("security", include_str!("../../../../docs/security.md")),
    ("share", include_str!("../../../../docs/share.md")),
    ("shell", include_str!("../../../../docs/shell.md")),
    ("skills", include_str!("../../../../docs/skills.md")),
    ("team", include_str!("../../../../docs/team.md")),
    ("tools", include_str!("../../../../docs/tools.md")),
    ("upgrade", include_str!("../../../../docs/upgrade.md")),
    ("where", include_str!("../../../../docs/where.md")),
    ("words", include_str!("../../../../docs/words.md")),
];

#[derive(Debug, Args)]
pub(crate) struct HelpArgs {
    /// A topic such as `functions`, or a command such as `new prompt`
    topic: Vec<String>,
}

/// Prints a page or the help of a command; without a topic, the help of Twig and the list of
/// topics.
pub(super) fn run(options: &HelpArgs, ui: &mut Ui) -> Result<ExitCode, CommandError> {
    let text = match &*options.topic {
        [] => overview(),
        [topic] if let Some(page) = page(topic) => page.to_owned(),
        command => command_help(command)?,
    };
    ui.page();
    ui.raw(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// The names of the pages.
pub(super) fn topics() -> impl Iterator<Item = &'static str> {
    PAGES.iter().map(|(name, _)| *name)
}

fn page(topic: &str) -> Option<&'static str> {
    let found = PAGES.iter().find(|(name, _)| *name == topic);
    found.map(|(_, page)| *page)
}

fn overview() -> String {
    let mut text = examples::with_examples(Cli::command())
        .render_help()
        .to_string();
    text.push_str("\nTopics (`twig help TOPIC`):\n");
    for (name, page) in PAGES {
        let title = page.lines().next().unwrap_or_default();
        let title = title.trim_start_matches("# ");
        // Writing to a `String` cannot fail.
        let _ = writeln!(text, "  {name:<11}  {title}");
    }
    text
}

fn command_help(words: &[String]) -> Result<String, CommandError> {
    let mut found = examples::with_examples(Cli::command());
    for word in words {
        let inner = found.find_subcommand(word);
        let Some(inner) = inner.filter(|inner| !inner.is_hide_set()) else {
            let what = format!("there is no topic and no command `{}`", words.join(" "));
            let error = CommandError::new(ErrorKind::Usage, what);
            let commands = found.get_subcommands().filter(|it| !it.is_hide_set());
            let names = commands.map(clap::Command::get_name);
            let names = names.chain(PAGES.iter().map(|(name, _)| *name));
            let near = did_you_mean(word, names);
            let hint = near.unwrap_or_else(|| "`twig help` lists both".to_owned());
            return Err(error.hint(hint));
        };
        found = inner.clone();
    }
    Ok(found.render_help().to_string())
}
