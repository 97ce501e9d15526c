//! `twig show`: one prompt with its arguments and text; or one document.

use std::path::Path;
use std::process::ExitCode;

use clap::Args;
use serde::Serialize;
use twig_core::model::ShellLines;
use twig_core::shell_lines::shell_lines_of;
use twig_core::{
    Bodies, BodyError, Content, Dialect, FileRole, Marks, MessageSource, PromptRef, RelativePath,
    Role,
};

use super::documents;
use super::list::{self, PromptRow};
use super::opened_catalog::{OpenedCatalog, SourceArgs};
use super::origin::OriginRow;
use super::packages::why::PackageOrigin;
use crate::command_error::CommandError;
use crate::places::Places;
use crate::ui::{Ui, one_line};

/// The most names on a line.
const MOST_NAMES: usize = 20;

#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// The prompt's name, or a document's URI
    name: String,

    #[command(flatten)]
    sources: SourceArgs,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Serialize)]
struct ShownPrompt<'c> {
    #[serde(flatten)]
    row: PromptRow<'c>,
    /// The number of the first argument, if numbers stand for arguments.
    #[serde(skip_serializing_if = "Option::is_none")]
    first_argument: Option<u8>,
    messages: Vec<ShownMessage>,
    #[serde(skip_serializing_if = "Option::is_none")]
    package: Option<PackageOrigin>,
    /// What the prompt's own client would put in.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    shell_lines: Vec<ShellLineRow>,
}

/// A command or file in a prompt's text.
#[derive(Debug, Serialize)]
struct ShellLineRow {
    kind: &'static str,
    text: String,
}

#[derive(Debug, Serialize)]
struct ShownMessage {
    role: &'static str,
    path: Option<String>,
    text: String,
}

pub(super) fn run(options: &ShowArgs, ui: &mut Ui) -> Result<ExitCode, CommandError> {
    let opened = OpenedCatalog::open_with_store(&options.sources, ui)?;
    let catalog = opened.live.snapshot();
    if catalog.document(&options.name).is_some() || options.name.contains("://") {
        documents::show(&opened, &options.name, options.json, ui)?;
        return Ok(ExitCode::SUCCESS);
    }
    let found = opened.find(&catalog, &options.name)?;
    if let Some(reason) = &found.prompt.unavailable {
        return Err(
            CommandError::fixable(reason.to_string()).hint("run `twig check` for the place")
        );
    }
    let messages = found
        .prompt
        .messages
        .iter()
        .map(|message| shown(&opened.live, found, message));
    let messages: Vec<ShownMessage> = messages.collect::<Result<_, _>>()?;
    let row = list::row(found.library, found.prompt, None);
    let shell_lines = shell_lines_of(&opened.live, found.library, found.prompt);
    let shell_lines: Vec<ShellLineRow> = shell_lines
        .into_iter()
        .map(|(kind, text)| ShellLineRow {
            kind: kind.as_str(),
            text,
        })
        .collect();
    let first_argument = match found.prompt.dialect {
        Dialect::Marks(Marks::Dollar { first, .. }) => Some(first),
        _ => None,
    };
    let shown = ShownPrompt {
        row,
        first_argument,
        messages,
        package: PackageOrigin::of(&opened, found.library),
        shell_lines,
    };
    if options.json {
        ui.json(&shown)?;
        return Ok(ExitCode::SUCCESS);
    }
    let names_workspace = opened.has_several_workspaces();
    ui.page();
    print(&opened.places, &shown, names_workspace, ui)?;
    if !shown.shell_lines.is_empty() {
        ui.line("")?;
        ui.heading(match found.library.shell_lines {
            ShellLines::Text => "put in by its own client, served as text",
            ShellLines::Instruct => "put in by its own client, served as instructions",
        })?;
        let rows = shown.shell_lines.iter();
        let rows: Vec<Vec<String>> = rows
            .map(|it| vec![it.kind.to_owned(), one_line(&it.text)])
            .collect();
        ui.facts("  ", &rows)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The texts of a prompt, as far as they can be read.
pub(super) fn texts(bodies: &dyn Bodies, found: PromptRef<'_>) -> Vec<String> {
    let messages = found.prompt.messages.iter();
    let shown = messages.map(|message| shown(bodies, found, message));
    shown
        .map(|shown| shown.map_or_else(|error| error.message, |shown| shown.text))
        .collect()
}

fn shown(
    bodies: &dyn Bodies,
    found: PromptRef<'_>,
    message: &MessageSource,
) -> Result<ShownMessage, CommandError> {
    let role = message.role.as_str();
    let absolute = |path: &RelativePath| Some(found.library.path_of(path));
    let cannot = |shown: &str, error: &BodyError| {
        CommandError::fixable(error.sentence(FileRole::PromptText, shown))
    };
    match &message.content {
        Content::File(path) => {
            let body = bodies.read(found.library, path);
            let body = body.map_err(|error| cannot(&found.library.shown_path_of(path), &error))?;
            Ok(ShownMessage {
                role,
                path: absolute(path),
                text: body.text,
            })
        }
        Content::Stored(version) => {
            let bytes = bodies.stored(version);
            let bytes = bytes.map_err(|error| cannot(&found.library.shown_root, &error))?;
            Ok(ShownMessage {
                role,
                path: None,
                text: String::from_utf8_lossy(&bytes).into_owned(),
            })
        }
        Content::Text { text, file, .. } => Ok(ShownMessage {
            role,
            path: file.as_ref().and_then(absolute),
            text: text.to_string(),
        }),
        Content::Braces { text, file } => Ok(ShownMessage {
            role,
            path: absolute(file),
            text: text.as_str().to_owned(),
        }),
        Content::Document { uri, is_link, file } => {
            let link = if *is_link { "link to " } else { "" };
            Ok(ShownMessage {
                role,
                path: absolute(file),
                text: format!("[{link}{}]", uri.as_str()),
            })
        }
        Content::Media { mime, path, .. } => Ok(ShownMessage {
            role,
            path: absolute(path),
            text: format!("[{mime}: {path}]"),
        }),
        Content::Function(function) => Ok(ShownMessage {
            role,
            path: absolute(function.file()),
            text: format!("[what {} prints]", function.file()),
        }),
        _ => Err(CommandError::fixable("this prompt has no text to show")),
    }
}

fn print(
    places: &Places,
    shown: &ShownPrompt<'_>,
    names_workspace: bool,
    ui: &mut Ui,
) -> Result<(), CommandError> {
    let ShownPrompt { row, messages, .. } = shown;
    let mut facts = vec![vec!["name".to_owned(), row.name.to_owned()]];
    let mut fact = |key: &str, value: Option<&str>| {
        if let Some(value) = value {
            facts.push(vec![key.to_owned(), value.to_owned()]);
        }
    };
    fact("title", row.title);
    fact("description", row.description);
    match &row.origin {
        OriginRow::File { library, path } => {
            fact("library", Some(library));
            fact("kind", Some(row.kind));
            fact("path", Some(&places.shown(Path::new(path))));
        }
        OriginRow::Project {
            project,
            workspace,
            version,
        } => {
            fact("project", Some(project));
            fact("workspace", Some(*workspace).filter(|_| names_workspace));
            fact("version", version.map(|it| it.to_string()).as_deref());
        }
    }
    if let Some(package) = &shown.package {
        fact("package", Some(&package.name));
        fact("source", Some(&package.source));
        fact("version", Some(&package.version));
        let left_out = left_out(package);
        fact("left out", left_out.as_deref());
    }
    fact("runs", row.runs);
    let first = shown.first_argument.map(|first| format!("${first}"));
    fact("first argument", first.as_deref());
    let asked = row.asks.join(", ");
    fact("asks for", Some(&*asked).filter(|asked| !asked.is_empty()));
    ui.facts("", &facts)?;
    if !row.arguments.is_empty() {
        ui.line("")?;
        ui.heading("arguments")?;
        let rows: Vec<Vec<String>> = row.arguments.iter().map(argument_cells).collect();
        ui.facts("  ", &rows)?;
    }
    for message in messages {
        let role = if messages.len() > 1 || message.role != Role::User.as_str() {
            format!(" ({})", message.role)
        } else {
            String::new()
        };
        ui.line("")?;
        ui.heading(&format!("text{role}"))?;
        ui.line(message.text.trim_end())?;
    }
    Ok(())
}

/// What `only` leaves out of a package, as far as a line has room.
fn left_out(package: &PackageOrigin) -> Option<String> {
    let names = &package.left_out;
    let shown = names.get(..MOST_NAMES).unwrap_or(names).join(", ");
    match names.len().saturating_sub(MOST_NAMES) {
        _ if names.is_empty() => None,
        0 => Some(shown),
        more => Some(format!("{shown} and {more} more")),
    }
}

fn argument_cells(argument: &list::ArgumentRow<'_>) -> Vec<String> {
    let mut rules = Vec::new();
    if argument.required {
        rules.push("required".to_owned());
    }
    if let Some(default) = argument.default {
        rules.push(format!("default {}", one_line(default)));
    }
    if !argument.choices.is_empty() {
        rules.push(format!("one of {}", argument.choices.join(", ")));
    }
    if let Some(limit) = argument.max_length {
        rules.push(format!("at most {limit} characters"));
    }
    if let Some(pattern) = argument.pattern {
        rules.push(format!("matches {pattern}"));
    }
    let description = argument.description.unwrap_or_default().to_owned();
    vec![argument.name.to_owned(), rules.join("; "), description]
}
