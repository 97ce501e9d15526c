//! `twig list`: lists the prompts or the documents.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;
use serde::Serialize;
use twig_core::{Argument, Catalog, CatalogFilter, Library, Problem, ProblemCode, Prompt};

use super::check::{counted, is_problem};
use super::documents;
use super::opened_catalog::{OpenedCatalog, SourceArgs};
use super::origin::{OriginRow, project_flags};
use crate::command_error::CommandError;
use crate::places::working_folder;
use crate::ui::{TableGroup, Ui};
use twig_core::problem::shell_word;

#[allow(clippy::struct_excessive_bools, reason = "each is a flag")]
#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// What to list instead of everything: libraries by name or path, or prompts as LIBRARY:NAME;
    /// `*` stands for any characters
    #[arg(value_name = "NAME|PATH")]
    names: Vec<String>,

    #[command(flatten)]
    sources: SourceArgs,

    /// Also list prompts that are hidden, that another library shadows or that cannot be served
    #[arg(long)]
    all: bool,

    /// List documents instead of prompts
    #[arg(long, conflicts_with = "all")]
    documents: bool,

    /// Print names only, one a line
    #[arg(long = "names", conflicts_with = "json")]
    is_names_only: bool,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// One prompt as scripts see it; this shape is stable.
#[derive(Debug, Serialize)]
pub(super) struct PromptRow<'c> {
    pub(super) name: &'c str,
    pub(super) title: Option<&'c str>,
    pub(super) description: Option<&'c str>,
    pub(super) arguments: Vec<ArgumentRow<'c>>,
    pub(super) kind: &'static str,
    /// The origin of the prompt's text: of its first message.
    #[serde(flatten)]
    pub(super) origin: OriginRow<'c>,
    /// The library file that is run for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) runs: Option<&'c str>,
    /// What that program asks for beyond its library.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) asks: Vec<String>,
    /// Why it is not served; only set with `--all`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) unavailable: Option<String>,
    /// Whether its project is not selected.
    #[serde(skip)]
    is_offered: bool,
    /// True if lists leave it out.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) hidden: bool,
}

/// One argument as scripts see it.
#[derive(Debug, Serialize)]
pub(super) struct ArgumentRow<'c> {
    pub(super) name: &'c str,
    pub(super) description: Option<&'c str>,
    pub(super) required: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) default: Option<&'c str>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub(super) choices: &'c [Box<str>],
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) max_length: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) pattern: Option<&'c str>,
}

pub(super) fn run(options: &ListArgs, ui: &mut Ui) -> Result<ExitCode, CommandError> {
    let sources = options.sources.clone();
    let sources = sources.restricted_to_files(&options.names)?;
    let opened = OpenedCatalog::open_with_store(&sources, ui)?;
    if let Some(file) = opened
        .sources
        .files
        .iter()
        .find(|it| !is_prompt(&opened, it))
    {
        let (shown, word) = (opened.places.shown(file), shell_word(&beside(file)));
        let error = CommandError::fixable(format!("{shown} holds no prompts"));
        return Err(error.hint(format!("`twig check {word}` checks the library it is in")));
    }
    if options.documents {
        documents::list(&opened, options.json, ui)?;
        return Ok(ExitCode::SUCCESS);
    }
    let catalog = opened.live.snapshot();
    let has_unread = opened.report_unread(&catalog, ui);
    let mut rows: Vec<PromptRow<'_>> = catalog
        .shown_prompts(0)
        .map(|found| row(found.library, found.prompt, None))
        .collect();
    let hidden = catalog.len() - rows.len();
    if options.all {
        let shown: HashSet<&str> = rows.iter().map(|row| row.name).collect();
        let hidden = catalog.prompts(0).map(|found| PromptRow {
            hidden: true,
            ..row(found.library, found.prompt, None)
        });
        rows.extend(hidden.filter(|row| !shown.contains(row.name)));
        rows.extend(unserved(&catalog, catalog.libraries(), None));
        rows.extend(unserved(
            &catalog,
            catalog.shadowed(),
            Some("shadowed by a library of the same name"),
        ));
        let shadowed = catalog.shadowed_prompts().map(|found| {
            let reason = "shadowed by a prompt of the same name";
            row(found.library, found.prompt, Some(reason.to_owned()))
        });
        rows.extend(shadowed);
        rows.sort_by(|one, two| one.name.cmp(two.name));
    }
    if options.json {
        ui.json(&rows)?;
        return Ok(ExitCode::SUCCESS);
    }
    if options.is_names_only {
        for row in &rows {
            ui.line(row.name)?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    if ui.is_terminal() {
        ui.grouped_table(&groups(&catalog, &opened.config.separator, &rows))?;
    } else {
        let table: Vec<Vec<String>> = rows.iter().map(cells).collect();
        ui.table(&table)?;
    }
    if rows.is_empty() && !has_unread {
        ui.say(nothing_in_project(&catalog).unwrap_or_else(|| nothing(&opened)));
    }
    if hidden > 0 && !options.all {
        let count = counted(hidden, "prompt is", "prompts are");
        ui.say(format!(
            "hint: {count} hidden; `twig list --all` lists all of them"
        ));
    }
    for library in catalog.shadowed().iter().filter(|it| it.is_offered()) {
        if let Some((_, project)) = library.stored() {
            ui.say(format!(
                "hint: the library `{project}` hides the project of that name; add `-p {project}` for its prompts"
            ));
        }
    }
    if !ui.is_quiet() {
        hint_at_problems(&opened, &catalog, &options.names, ui);
    }
    Ok(ExitCode::SUCCESS)
}

/// Whether a file that was named holds a prompt, be it one that cannot be served.
fn is_prompt(opened: &OpenedCatalog, file: &Path) -> bool {
    let catalog = opened.live.snapshot();
    let mut libraries = catalog.libraries().iter().chain(catalog.shadowed());
    let mut filter = CatalogFilter::default();
    filter.add_file(file);
    libraries.any(|library| filter.names_prompt_of(library))
}

/// Says that `twig check` reports problems, if loading found any. How many they are, only checking
/// every text would show, and a list does not wait for that.
fn hint_at_problems(opened: &OpenedCatalog, catalog: &Catalog, names: &[String], ui: &mut Ui) {
    let libraries = catalog.libraries().iter().chain(catalog.shadowed());
    let offered: Vec<&Library> = libraries
        .map(|library| &**library)
        .filter(|library| library.is_offered())
        .collect();
    let is_offered = |problem: &Problem| {
        let path = Path::new(&*problem.path);
        offered.iter().any(|it| path.starts_with(&*it.root))
    };
    // `twig check` is about libraries; an unreadable store was reported when it was opened.
    let is_counted =
        |it: &Problem| is_problem(it) && it.code != ProblemCode::Store && !is_offered(it);
    let of_places = opened.live.problems();
    let found = catalog.problems().chain(&of_places);
    let problems: Vec<&Problem> = found.filter(|it| is_counted(it)).collect();
    if problems.is_empty() {
        return;
    }
    let commands = checks(opened, catalog, names, &problems).join("` and `");
    ui.say(format!("hint: problems found; run `{commands}`"));
}

/// The commands that report these problems: `twig check` alone does not look into folders that were
/// added for this run.
fn checks(
    opened: &OpenedCatalog,
    catalog: &Catalog,
    names: &[String],
    problems: &[&Problem],
) -> Vec<String> {
    let sources = &opened.sources;
    let project = project_flags(catalog);
    let only = sources.only.iter().filter(|name| !names.contains(name));
    let words = names.iter().chain(only).map(|word| shell_word(word));
    let words: Vec<String> = words.collect();
    if !words.is_empty() {
        return vec![format!("twig check {}{project}", words.join(" "))];
    }
    let is_in = |problem: &Problem, folder: &Path| Path::new(&*problem.path).starts_with(folder);
    let added = sources.library.iter();
    let added = added.filter(|folder| problems.iter().any(|it| is_in(it, folder)));
    let added: Vec<&PathBuf> = added.collect();
    let is_elsewhere = |problem: &&Problem| !added.iter().any(|folder| is_in(problem, folder));
    let mut commands = Vec::new();
    if problems.iter().any(is_elsewhere) {
        commands.push(format!("twig check{project}"));
    }
    if !added.is_empty() {
        let folders = added.iter().map(|folder| shell_word(&beside(folder)));
        let folders: Vec<String> = folders.collect();
        let kind = sources
            .kind
            .map(|kind| format!(" --kind {}", kind.as_str()));
        let kind = kind.unwrap_or_default();
        commands.push(format!("twig check {}{kind}", folders.join(" ")));
    }
    commands
}

/// A path as a user in the working folder would write it.
fn beside(path: &Path) -> String {
    let inner = working_folder().and_then(|here| Some(path.strip_prefix(here).ok()?.to_owned()));
    let inner = inner.filter(|inner| !inner.as_os_str().is_empty());
    inner.as_deref().unwrap_or(path).display().to_string()
}

/// The rows of each library, with the names that people have to type.
fn groups(catalog: &Catalog, separator: &str, rows: &[PromptRow<'_>]) -> Vec<TableGroup> {
    let mut by_library: BTreeMap<&str, Vec<&PromptRow<'_>>> = BTreeMap::new();
    for row in rows {
        let rows = by_library.entry(row.origin.library()).or_default();
        rows.push(row);
    }
    let short_names = short_names(catalog);
    let group = |(library, rows): (&str, Vec<&PromptRow<'_>>)| {
        let mut found = catalog.libraries().iter();
        let found = found.find(|it| it.name.as_str() == library);
        let place = found.map(|library| format!(" · {}", library.shown_root));
        let count = counted(rows.len(), "prompt", "prompts");
        let rows = rows.into_iter().map(|row| {
            let mut cells = cells(row);
            if let Some((_, short)) = row.name.split_once(separator)
                && short_names.contains(short)
                && let Some(name) = cells.first_mut()
            {
                short.clone_into(name);
            }
            cells
        });
        TableGroup {
            heading: library.to_owned(),
            note: format!("{count}{}", place.unwrap_or_default()),
            rows: rows.collect(),
        }
    };
    by_library.into_iter().map(group).collect()
}

/// The names without a library that find exactly one prompt, counted once for all of them.
pub(super) fn short_names(catalog: &Catalog) -> HashSet<&str> {
    let mut counts: HashMap<&str, usize> = HashMap::new();
    for library in catalog.libraries() {
        for prompt in &library.prompts {
            let (short, full) = (prompt.name.as_str(), &*prompt.full_name);
            *counts.entry(full).or_default() += 1;
            // What a project of the store holds is found by its full name.
            if short != full && library.stored().is_none() {
                *counts.entry(short).or_default() += 1;
            }
        }
    }
    let once = counts.into_iter().filter(|(_, count)| *count == 1);
    once.map(|(name, _)| name).collect()
}

/// The message for a selected project that has no prompts yet.
fn nothing_in_project(catalog: &Catalog) -> Option<String> {
    let (_, project) = catalog.project()?.stored()?;
    let hint = format!("twig prompt add NAME{} -c TEXT", project_flags(catalog));
    Some(format!(
        "no prompts in project `{project}` and none in libraries\nhint: add one with `{hint}`"
    ))
}

/// The message for a user who has no prompts yet.
pub(super) fn nothing(opened: &OpenedCatalog) -> String {
    let sources = &opened.sources;
    let roots = sources.roots.iter().map(|root| opened.places.shown(root));
    let named: Vec<String> = sources.only.iter().cloned().chain(roots).collect();
    if !named.is_empty() {
        let named = named.join("`, `");
        return format!("no prompts in `{named}`\nhint: `twig check` says what is wrong");
    }
    let data = opened
        .places
        .data
        .as_deref()
        .map(|path| opened.places.shown(path));
    let data = data.unwrap_or_else(|| "the data folder".to_owned());
    format!("no prompts in {data}\nhint: make a first library with `twig new library NAME`")
}

fn unserved<'c>(
    catalog: &'c Catalog,
    libraries: &'c [Arc<Library>],
    reason: Option<&'c str>,
) -> impl Iterator<Item = PromptRow<'c>> {
    let prompts = libraries
        .iter()
        .flat_map(|l| catalog.prompts_of(l).map(move |p| (l, p)));
    prompts.filter_map(move |(library, prompt)| {
        let reason = reason.or(prompt.unavailable.as_deref())?;
        Some(row(library, prompt, Some(reason.to_owned())))
    })
}

pub(super) fn row<'c>(
    library: &'c Library,
    prompt: &'c Prompt,
    unavailable: Option<String>,
) -> PromptRow<'c> {
    let asks = prompt.function().into_iter();
    let asks = asks.flat_map(|function| function.grants().iter());
    PromptRow {
        name: &prompt.full_name,
        title: prompt.title.as_deref(),
        description: prompt.description.as_deref(),
        arguments: prompt.arguments.iter().map(argument_row).collect(),
        kind: library.kind.as_str(),
        origin: OriginRow::of_prompt(library, prompt),
        runs: prompt.function().map(|function| function.file().as_str()),
        asks: asks.map(|grant| grant.to_string()).collect(),
        unavailable,
        is_offered: library.is_offered(),
        hidden: false,
    }
}

fn argument_row(argument: &Argument) -> ArgumentRow<'_> {
    ArgumentRow {
        name: &argument.name,
        description: argument.description.as_deref(),
        required: argument.required,
        default: argument.default.as_deref(),
        choices: &argument.choices,
        max_length: argument.max_length,
        pattern: argument
            .pattern
            .as_ref()
            .map(twig_core::argument::Pattern::as_str),
    }
}

/// A description with the mark of prompts that are in the store.
pub(super) fn marked(what: &str) -> String {
    format!("{what} (project)").trim_start().to_owned()
}

fn cells(row: &PromptRow<'_>) -> Vec<String> {
    let arguments: Vec<String> = row
        .arguments
        .iter()
        .map(|a| {
            if a.required {
                a.name.to_owned()
            } else {
                format!("[{}]", a.name)
            }
        })
        .collect();
    let what = match (&row.unavailable, row.description.or(row.title)) {
        (Some(reason), _) => format!("(not served: {reason})"),
        (None, Some(text)) => text.to_owned(),
        (None, None) => String::new(),
    };
    let what = if row.hidden {
        format!("{what} (hidden)").trim_start().to_owned()
    } else {
        what
    };
    let what = match row.runs {
        Some(program) if row.unavailable.is_none() => {
            format!("{what} (runs {program})").trim_start().to_owned()
        }
        _ if row.is_offered => marked(&what),
        _ => what,
    };
    vec![row.name.to_owned(), arguments.join(" "), what]
}
