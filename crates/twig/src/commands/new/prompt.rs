//! `twig new prompt`: one more prompt in a library, or in the `.twig` folder of the project.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use serde::Serialize;
use twig_core::name::twin_key;
use twig_core::parse::table::{PromptTable, with_prompts};
use twig_core::parse::{TomlValue, read_toml};
use twig_core::store::{GivenContent, ItemKind};
use twig_core::{
    Argument, Catalog, Latest, Library, LibraryKind, LibraryOrigin, Limits, Problem, PromptName,
    Severity,
};

use super::super::check::{ProblemRow, is_problem};
use super::super::content;
use super::super::manifest_file::{ManifestFile, create};
use super::super::opened_catalog::{OpenedCatalog, SourceArgs};
use super::super::path::refuse_package;
use super::definition;
use crate::command_error::{CommandError, ErrorKind};
use crate::ui::Ui;

#[derive(Debug, Args)]
pub(crate) struct NewPromptArgs {
    /// The library and the prompt's name; NAME alone goes to the project's `.twig`
    #[arg(value_name = "LIBRARY:NAME")]
    name: String,
    /// Its name for people
    #[arg(long)]
    title: Option<String>,
    /// What the prompt does
    #[arg(short, long)]
    description: Option<String>,
    /// An argument: `code` is required, `code?` is optional, `language?=rust,go` has choices (may
    /// be given several times)
    #[arg(long = "arg", value_name = "NAME[?][=CHOICE,…]", value_parser = parse_argument)]
    arguments: Vec<Argument>,
    /// Its text; `@FILE` reads a file, `-` standard input
    #[arg(long)]
    text: Option<String>,
    #[command(flatten)]
    sources: SourceArgs,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// A prompt as the user described it.
pub(super) struct PromptDraft<'d> {
    pub(super) title: Option<&'d str>,
    pub(super) description: Option<&'d str>,
    pub(super) arguments: &'d [Argument],
    pub(super) text: Option<String>,
}

fn parse_argument(text: &str) -> Result<Argument, String> {
    Argument::from_short(text).map_err(|error| error.to_string())
}

/// A prompt that was created, as scripts see it; this shape is stable.
#[derive(Debug, Serialize)]
struct NewPromptRow<'c> {
    name: &'c str,
    path: &'c str,
    /// The errors and warnings of its text, as `twig check` prints them.
    problems: Vec<ProblemRow<'c>>,
}

pub(super) fn run(options: &NewPromptArgs, ui: &mut Ui) -> Result<ExitCode, CommandError> {
    let opened = OpenedCatalog::open(&options.sources)?;
    let catalog = opened.live.snapshot();
    let (library, own) = target(&catalog, &options.name, &opened.config.separator)?;
    if let Some(twice) = twice(&options.arguments) {
        let message = format!("argument `{twice}` is given twice");
        return Err(CommandError::new(ErrorKind::Usage, message));
    }
    let draft = PromptDraft {
        title: options.title.as_deref(),
        description: options.description.as_deref().filter(|it| !it.is_empty()),
        arguments: &options.arguments,
        text: text(options.text.as_deref(), &opened.config.limits)?,
    };
    let has_text = draft.text.is_some();
    let (prompt, full_name, file) = if library.kind == LibraryKind::Definitions {
        let (prompt, file) = definition::write(&opened.places, library, own, &draft)?;
        let full_name = prompt.to_string();
        (prompt, full_name, file)
    } else {
        let (prompt, file) = add(&opened, library, own, &draft)?;
        let prefix = match library.origin {
            LibraryOrigin::ProjectFolder => String::new(),
            _ => format!("{}{}", library.name, opened.config.separator),
        };
        let full_name = format!("{prefix}{prompt}");
        (prompt, full_name, file.display().to_string())
    };
    let problems = if has_text {
        new_problems(&options.sources, &catalog, library, &prompt)?
    } else {
        Vec::new()
    };
    if options.json {
        ui.json(&NewPromptRow {
            name: &full_name,
            path: &file,
            problems: problems.iter().map(ProblemRow::from).collect(),
        })?;
    } else {
        ui.line(&file)?;
    }
    let is_broken = problems.iter().any(|it| it.severity == Severity::Error);
    let flags = options.sources.library.iter();
    let flags = flags.map(|path| format!(" --library {}", path.display()));
    let values = options.arguments.iter().filter(|it| it.required);
    let values = values.map(|argument| format!(" {}=…", argument.name));
    let mut command: String = values.chain(flags).collect();
    if library.kind == LibraryKind::Definitions && !has_text && options.arguments.is_empty() {
        command.insert_str(0, " input=…");
    }
    let edit = if has_text && !is_broken {
        ""
    } else {
        "edit the file, then "
    };
    ui.say(format!(
        "created prompt `{full_name}`; {edit}try `twig render {full_name}{command}`"
    ));
    for problem in &problems {
        ui.insist_on_problem(problem);
    }
    Ok(if is_broken {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    })
}

/// The errors and warnings that a prompt brought, as `twig check` finds them.
fn new_problems(
    sources: &SourceArgs,
    before: &Catalog,
    library: &Library,
    prompt: &PromptName,
) -> Result<Vec<Problem>, CommandError> {
    let sources = SourceArgs {
        only: vec![format!("{}:{prompt}", library.name)],
        ..sources.clone()
    };
    let opened = OpenedCatalog::open(&sources)?;
    let mut problems = opened.problems(&Latest::from(opened.live.snapshot()));
    let is_known = |problem: &Problem| before.problems().any(|known| known == problem);
    problems.retain(|problem| is_problem(problem) && !is_known(problem));
    Ok(problems)
}

/// The first argument that has the name of an earlier one.
fn twice(arguments: &[Argument]) -> Option<&str> {
    let mut seen = Vec::with_capacity(arguments.len());
    for argument in arguments {
        if seen.contains(&&argument.name) {
            return Some(&argument.name);
        }
        seen.push(&argument.name);
    }
    None
}

/// The text that `--text` names.
fn text(value: Option<&str>, limits: &Limits) -> Result<Option<String>, CommandError> {
    let Some(value) = value else { return Ok(None) };
    Ok(Some(
        match content::content(ItemKind::Prompt, value, limits)? {
            GivenContent::Text(text) => text,
            GivenContent::Bytes(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        },
    ))
}

/// Adds a table to the manifest, and the file with the text. A text of one line is in the manifest.
fn add(
    opened: &OpenedCatalog,
    library: &Library,
    own: &str,
    draft: &PromptDraft<'_>,
) -> Result<(PromptName, PathBuf), CommandError> {
    let places = &opened.places;
    let prompt = PromptName::parse(own).map_err(|error| {
        CommandError::new(ErrorKind::Usage, format!("the prompt name `{own}` {error}"))
    })?;
    let root = Path::new(&*library.root);
    let manifest = ManifestFile::open(places, library)?;
    if let Some(other) = declared(&manifest.text, &prompt) {
        let message = format!("library `{}` has a prompt `{other}` already", library.name);
        let hint = if other == prompt.as_str() {
            "choose another name"
        } else {
            "choose a name that differs in more than case"
        };
        return Err(CommandError::fixable(message).hint(hint));
    }
    let path = PathBuf::from(format!("prompts/{prompt}.md"));
    let file = root.join(&path);
    let is_line = |text: &&str| !text.trim_end().contains('\n') && !text.trim().is_empty();
    let line = draft.text.as_deref().filter(is_line).map(str::trim_end);
    if line.is_none() && file.exists() {
        let message = format!("{} is already there", places.shown(&file));
        return Err(CommandError::fixable(message));
    }
    let table = PromptTable {
        name: &prompt,
        title: draft.title,
        description: draft.description.or(Some("Say what this prompt does")),
        is_template: true,
        text: line,
        messages: &[],
        arguments: draft.arguments,
        may_be_short: true,
    };
    let text = with_prompts(&manifest.text, &[table]);
    if let Err(error) = read_toml(&text) {
        let message = format!(
            "a table cannot be added to {}: {}",
            manifest.shown, error.message
        );
        let hint = match read_toml(&manifest.text) {
            Ok(_) => "declare the prompt there by hand",
            Err(_) => "run `twig check`, fix the file, and try again",
        };
        return Err(CommandError::fixable(message).hint(hint));
    }
    if line.is_some() {
        manifest.replace(&text)?;
        return Ok((prompt, root.join(twig_core::parse::library::MANIFEST)));
    }
    let body = draft
        .text
        .clone()
        .unwrap_or_else(|| starter(&prompt, draft));
    create(places, root, &path, &body)?;
    if let Err(error) = manifest.replace(&text) {
        // A prompt that is not in the manifest would only get in the way of the next attempt.
        let _ = fs::remove_file(&file);
        return Err(error);
    }
    Ok((prompt, file))
}

/// A first text, which has every argument in its place.
fn starter(prompt: &PromptName, draft: &PromptDraft<'_>) -> String {
    let mut text = format!("Write what `{prompt}` should say here.\n");
    for argument in draft.arguments {
        let name = &argument.name;
        let _ = if argument.required {
            write!(text, "\n{{{{ {name} }}}}\n")
        } else {
            write!(
                text,
                "{{% if {name} %}}\n{name}: {{{{ {name} }}}}\n{{% endif %}}\n"
            )
        };
    }
    text
}

/// The library and the prompt name in `LIBRARY:NAME`; the configured separator works too.
fn target<'c, 'n>(
    catalog: &'c Catalog,
    name: &'n str,
    separator: &str,
) -> Result<(&'c Library, &'n str), CommandError> {
    let libraries = || {
        catalog
            .libraries()
            .iter()
            .filter(|library| matches!(library.kind, LibraryKind::Twig | LibraryKind::Definitions))
    };
    let own = libraries().find_map(|library| {
        let rest = name.strip_prefix(library.name.as_str())?;
        let own = rest
            .strip_prefix(':')
            .or_else(|| rest.strip_prefix(separator))?;
        Some((&**library, own))
    });
    // A bare name goes to the project around the working folder.
    let own = own.or_else(|| {
        let is_bare = !name.contains(':') && !name.contains(separator);
        let mut projects = libraries().filter(|it| it.origin == LibraryOrigin::ProjectFolder);
        Some((&**projects.next().filter(|_| is_bare)?, name))
    });
    let Some((library, own)) = own else {
        let Some((wanted, _)) = name
            .split_once(':')
            .filter(|(wanted, _)| !wanted.is_empty())
        else {
            let message = format!("`{name}` does not name a library");
            let error = CommandError::new(ErrorKind::Usage, message);
            return Err(error.hint(format!(
                "write LIBRARY:NAME, such as `my_prompts:{}`, or run `twig init` to have prompts of this project",
                name.trim_start_matches(':')
            )));
        };
        if let Some(other) = catalog.library(wanted) {
            let message = format!(
                "library `{wanted}` has the kind `{}`, to which `new prompt` cannot add",
                other.kind.as_str()
            );
            let hint = match other.stored() {
                Some(_) => "`twig prompt add` adds prompts to a project".to_owned(),
                None => format!("write a file of that kind into {}", other.shown_root),
            };
            return Err(CommandError::fixable(message).hint(hint));
        }
        let near = twig_core::suggest::did_you_mean(wanted, libraries().map(|l| l.name.as_str()));
        let hint = near.unwrap_or_else(|| format!("make it with `twig new library {wanted}`"));
        return Err(CommandError::fixable(format!("there is no library `{wanted}`")).hint(hint));
    };
    refuse_package(library, name)?;
    Ok((library, own))
}

/// The prompt in a manifest with this name, or with one that differs only in case.
fn declared(manifest: &str, prompt: &PromptName) -> Option<String> {
    let table = read_toml(manifest).ok()?;
    let TomlValue::Table(prompts) = &table.get("prompts")?.value else {
        return None;
    };
    let mut names = prompts.entries.iter().map(|entry| entry.key.to_string());
    names.find(|name| twin_key(name) == twin_key(prompt.as_str()))
}
