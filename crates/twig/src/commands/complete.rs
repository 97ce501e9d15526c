//! What could be typed next on the command line. The scripts of `twig completions` ask for it with
//! every press of the Tab key, so a mistake is silence, never a message.

mod name_cache;
mod paths;

use std::process::ExitCode;

use clap::{Arg, Args, Command, CommandFactory};
use twig_clients::clients::{self, CLIENTS, CONNECTED};
use twig_clients::import::ImportFormat;
use twig_core::store::{ItemKind, Store as _};
use twig_core::{LibraryKind, PromptRef};
use twig_sources::{Access, PlaceOrigin};

use self::name_cache::NameRow;
use super::opened_catalog::{OpenedCatalog, SourceArgs, parse_kind};
use super::packages::scope::PackageScope;
use super::store::{ProjectArgs, ProjectTarget, Stores};
use super::{Cli, help, list};
use crate::command_error::CommandError;
use crate::places::Places;
use crate::ui::{Ui, UiOptions, cut, one_line};

/// The longest description beside a candidate, in columns.
const DESCRIPTION: usize = 80;
/// The maximum number of candidates: no shell shows more in a useful way.
const MOST: usize = 10_000;

#[derive(Debug, Args)]
pub(crate) struct CompleteArgs {
    /// The last word is finished, and another one begins
    #[arg(long)]
    next: bool,

    /// The words of the command line up to the cursor, from the program's name on
    #[arg(last = true)]
    words: Vec<String>,
}

/// What the user may mean, with a description.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Suggestion {
    text: String,
    about: String,
}

impl Suggestion {
    fn new(text: impl Into<String>, about: impl AsRef<str>) -> Self {
        Self {
            text: text.into(),
            about: about.as_ref().to_owned(),
        }
    }
}

/// What was typed before the current word.
struct TypedLine<'c> {
    root: &'c Command,
    command: &'c Command,
    /// The names of the commands, without `twig`.
    path: Vec<&'c str>,
    positionals: Vec<String>,
    options: Vec<(&'c Arg, String)>,
    /// The option whose value is the current word.
    expects: Option<&'c Arg>,
    is_escaped: bool,
}

/// Prints one candidate a line: what to type, a tab, and a description.
pub(super) fn run(options: &CompleteArgs, ui: &mut Ui) -> Result<ExitCode, CommandError> {
    let mut words = options.words.iter().skip(1).cloned().collect::<Vec<_>>();
    let current = if options.next {
        String::new()
    } else {
        words.pop().unwrap_or_default()
    };
    let mut root = Cli::command();
    root.build();
    let typed = TypedLine::read(&root, &words);
    let mut suggestions = typed.suggest(&current);
    suggestions.retain(|it| it.text.starts_with(&current) && is_plain(&it.text));
    suggestions.truncate(MOST);
    for suggestion in suggestions {
        let about = cut(&one_line(&suggestion.about), DESCRIPTION);
        if about.is_empty() {
            ui.line(&suggestion.text)?;
        } else {
            ui.line(format!("{}\t{about}", suggestion.text))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Remembers the names of all prompts, so that the first press of the Tab key is fast, too.
pub(super) fn remember_names() {
    let root = Cli::command();
    TypedLine::read(&root, &[]).names();
}

/// Shells read lines, and people read letters.
fn is_plain(text: &str) -> bool {
    !text.is_empty() && !text.chars().any(char::is_control)
}

impl<'c> TypedLine<'c> {
    fn read(root: &'c Command, words: &[String]) -> Self {
        let mut typed = Self {
            root,
            command: root,
            path: Vec::new(),
            positionals: Vec::new(),
            options: Vec::new(),
            expects: None,
            is_escaped: false,
        };
        for word in words {
            typed.add(word);
        }
        typed
    }

    fn add(&mut self, word: &str) {
        if let Some(option) = self.expects.take() {
            self.options.push((option, word.to_owned()));
            return;
        }
        if self.is_escaped {
            self.positionals.push(word.to_owned());
            return;
        }
        if word == "--" {
            self.is_escaped = true;
        } else if let Some(flag) = word.strip_prefix("--") {
            let (name, value) = flag
                .split_once('=')
                .map_or((flag, None), |(name, value)| (name, Some(value.to_owned())));
            let command = self.command;
            let found = command
                .get_arguments()
                .find(|it| it.get_long() == Some(name));
            self.add_option(found, value);
        } else if let Some(flag) = word.strip_prefix('-').filter(|flag| !flag.is_empty()) {
            let mut letters = flag.chars();
            let first = letters.next();
            let rest = letters.as_str();
            let value = (!rest.is_empty()).then(|| rest.to_owned());
            let command = self.command;
            let found = command.get_arguments().find(|it| it.get_short() == first);
            self.add_option(found, value);
        } else if let Some(inner) = self.command.find_subcommand(word)
            && self.positionals.is_empty()
        {
            self.command = inner;
            self.path.push(inner.get_name());
        } else {
            self.positionals.push(word.to_owned());
        }
    }

    fn add_option(&mut self, option: Option<&'c Arg>, value: Option<String>) {
        let Some(option) = option.filter(|it| takes_value(it)) else {
            return;
        };
        match value {
            Some(value) => self.options.push((option, value)),
            None if needs_value(option) => self.expects = Some(option),
            None => {}
        }
    }

    fn suggest(&self, current: &str) -> Vec<Suggestion> {
        if let Some(option) = self.expects {
            return self.values_of(option, current);
        }
        if self.is_escaped {
            return Vec::new();
        }
        if let Some(flag) = current.strip_prefix("--")
            && let Some((name, value)) = flag.split_once('=')
        {
            let found = self.command.get_arguments();
            let mut found = found.filter(|it| it.get_long() == Some(name));
            let Some(option) = found.find(|it| takes_value(it)) else {
                return Vec::new();
            };
            let mut values = self.values_of(option, value);
            for value in &mut values {
                value.text = format!("--{name}={}", value.text);
            }
            return values;
        }
        if current.starts_with('-') {
            return self.flags();
        }
        let mut found = self.commands();
        if let Some(positional) = self.next_positional() {
            found.extend(self.values_of(positional, current));
        }
        found
    }

    /// The commands below this one; hidden ones are not for people.
    fn commands(&self) -> Vec<Suggestion> {
        if !self.positionals.is_empty() {
            return Vec::new();
        }
        commands_below(self.command)
    }

    /// The commands that `man` knows, below the ones that were typed.
    fn documented_commands(&self) -> Vec<Suggestion> {
        let mut command = self.root;
        for name in &self.positionals {
            let Some(inner) = command.find_subcommand(name) else {
                return Vec::new();
            };
            command = inner;
        }
        commands_below(command)
    }

    fn flags(&self) -> Vec<Suggestion> {
        let flags = self.command.get_arguments();
        let flags = flags.filter(|flag| !flag.is_hide_set() && !flag.is_positional());
        // What may be given once is not offered again.
        let is_given = |flag: &Arg| {
            let is_repeatable = matches!(flag.get_action(), clap::ArgAction::Append);
            let mut given = self.options.iter();
            !is_repeatable && given.any(|(other, _)| other.get_id() == flag.get_id())
        };
        let flags = flags.filter(|flag| !is_given(flag));
        let suggestion = |flag: &Arg| {
            let about = flag.get_help().map(ToString::to_string);
            Some(Suggestion::new(
                format!("--{}", flag.get_long()?),
                about.unwrap_or_default(),
            ))
        };
        flags.filter_map(suggestion).collect()
    }

    /// The argument without a flag that the current word belongs to.
    fn next_positional(&self) -> Option<&'c Arg> {
        let all = self.command.get_positionals();
        let all: Vec<&Arg> = all.filter(|it| !it.is_last_set()).collect();
        let many = |arg: &&Arg| arg.get_num_args().is_some_and(|it| it.max_values() > 1);
        let last = all.last().copied().filter(many);
        all.get(self.positionals.len()).copied().or(last)
    }

    /// What an argument of a command may be.
    fn values_of(&self, arg: &Arg, current: &str) -> Vec<Suggestion> {
        let known = arg.get_possible_values();
        if !known.is_empty() {
            let shown = known.iter().filter(|value| !value.is_hide_set());
            let suggestion = |value: &clap::builder::PossibleValue| {
                let about = value.get_help().map(ToString::to_string);
                Suggestion::new(value.get_name(), about.unwrap_or_default())
            };
            return shown.map(suggestion).collect();
        }
        let (first, second) = (self.path.first().copied(), self.path.get(1).copied());
        match (first.unwrap_or_default(), second, arg.get_id().as_str()) {
            ("render", _, "values") => self.prompt_values(current),
            ("project", Some("create" | "import"), "name" | "to")
            | ("project", _, "to")
            | ("workspace", Some("create"), "name")
            | ("prompt" | "resource", Some("add"), "name")
            | ("connect" | "library", _, "name")
            | ("new", Some("library"), "name") => Vec::new(),
            ("project", _, "name") | (_, _, "project" | "from_project") => self.projects(),
            ("workspace", _, "name") | (_, _, "workspace") => workspaces(),
            ("prompt", _, "name" | "names") => self.stored(ItemKind::Prompt, second),
            ("resource", _, "name" | "names") => self.stored(ItemKind::Resource, second),
            ("new", Some("prompt"), "name") => self.libraries(":"),
            ("library", Some("remove"), "library") => self.added_libraries(),
            ("remove", None, "library") => {
                let mut found = packages();
                found.extend(self.added_libraries());
                found.sort();
                found.dedup_by(|one, two| one.text == two.text);
                found
            }
            ("why", None, "name") => {
                let mut found = packages();
                found.extend(self.prompts(current));
                found
            }
            ("vendor", None, "names") => {
                let mut found = packages();
                if self.positionals.is_empty() {
                    found.extend(paths::suggest("", current));
                }
                found
            }
            ("update" | "outdated" | "diff" | "verify", None, "name" | "names") => packages(),
            ("library", _, "library" | "libraries" | "named") | (_, _, "into") => {
                self.libraries("")
            }
            ("list" | "check", _, "only" | "names" | "paths") | (_, _, "only") => {
                let mut found = self.libraries("");
                found.extend(self.projects());
                found.extend(paths::suggest("", current));
                found
            }
            ("connect" | "doctor" | "budget", _, "client" | "clients") => connected_clients(),
            ("export", _, "to") => {
                let clients = CLIENTS.iter();
                let clients = clients.filter(|client| client.export_format().is_some());
                clients
                    .map(|client| Suggestion::new(client.id, client.title))
                    .collect()
            }
            ("import", _, "format") => {
                let formats = ImportFormat::ALL.map(ImportFormat::as_str);
                formats.map(|format| Suggestion::new(format, "")).into()
            }
            (_, _, "kind") => {
                let kinds = clients::kinds().map(LibraryKind::as_str);
                kinds.map(|kind| Suggestion::new(kind, "")).collect()
            }
            ("man", ..) => self.documented_commands(),
            ("help", ..) => {
                let mut found = self.documented_commands();
                if self.positionals.is_empty() {
                    found.extend(help::topics().map(|topic| Suggestion::new(topic, "page")));
                }
                found
            }
            (
                "render" | "show" | "edit" | "rm" | "mv" | "path" | "export",
                None,
                "name" | "names" | "prompt" | "prompts" | "from",
            ) => self.prompts(current),
            _ if is_path(arg) => paths::suggest("", current),
            _ => Vec::new(),
        }
    }

    /// The value of an option that was typed.
    fn option(&self, id: &str) -> Option<&str> {
        let mut given = self.options.iter().rev();
        let found = given.find(|(option, _)| option.get_id().as_str() == id);
        found.map(|(_, value)| value.as_str())
    }

    /// What the typed line works on.
    fn open(&self) -> Option<OpenedCatalog> {
        let given = self.options.iter();
        let library = given.filter(|(option, _)| option.get_id() == "library");
        let sources = SourceArgs {
            library: library.map(|(_, path)| path.into()).collect(),
            kind: self.option("kind").and_then(|kind| parse_kind(kind).ok()),
            project: self.option("project").map(str::to_owned),
            workspace: self.option("workspace").map(str::to_owned),
            ..SourceArgs::default()
        };
        // A store that cannot be read is no news for someone who presses Tab.
        let mut silent = Ui::new(UiOptions {
            is_quiet: true,
            ..UiOptions::default()
        });
        OpenedCatalog::open_with_store(&sources, &mut silent).ok()
    }

    /// Prompts by their full names; by their short ones if the user has begun to type one.
    fn prompts(&self, current: &str) -> Vec<Suggestion> {
        let mut found = Vec::new();
        for row in self.names() {
            if row.full.starts_with(current) {
                found.push(Suggestion::new(row.full, row.about));
            } else if !current.is_empty() && row.short.starts_with(current) {
                found.push(Suggestion::new(row.short, row.about));
            }
        }
        found.sort();
        found
    }

    /// The names of all prompts: as they were the last time, if nothing has changed since.
    fn names(&self) -> Vec<NameRow> {
        let is_usual = self.options.iter().all(|(option, _)| {
            !["library", "kind", "project", "workspace", "only"].contains(&option.get_id().as_str())
        });
        let places = Places::from_environment();
        if is_usual && let Some(rows) = name_cache::read(&places) {
            return rows;
        }
        let Some(opened) = self.open() else {
            return Vec::new();
        };
        let catalog = opened.live.snapshot();
        let short_names = list::short_names(&catalog);
        let row = |found: PromptRef<'_>| {
            let prompt = found.prompt;
            let about = prompt.description.as_deref().or(prompt.title.as_deref());
            let (short, full) = (prompt.name.as_str(), &*prompt.full_name);
            let is_enough = short != full && short_names.contains(short);
            NameRow {
                full: full.to_owned(),
                short: if is_enough { short } else { "" }.to_owned(),
                about: cut(&one_line(about.unwrap_or_default()), DESCRIPTION),
            }
        };
        let rows: Vec<NameRow> = catalog.prompts(0).map(row).collect();
        let paths = name_cache::watched(&opened);
        drop(short_names);
        drop(catalog);
        drop(opened);
        if is_usual {
            name_cache::write(&places, &paths, &rows);
        }
        rows
    }

    /// `KEY=` for the arguments that have no value yet, and the choices of one.
    fn prompt_values(&self, current: &str) -> Vec<Suggestion> {
        let Some((opened, name)) = self.open().zip(self.positionals.first()) else {
            return Vec::new();
        };
        let catalog = opened.live.snapshot();
        let Ok(found) = opened.find(&catalog, name) else {
            return Vec::new();
        };
        let arguments = &found.prompt.arguments;
        if let Some((key, value)) = current.split_once('=') {
            if let Some(path) = value.strip_prefix('@') {
                return paths::suggest(&format!("{key}=@"), path);
            }
            let argument = arguments.iter().find(|argument| *argument.name == *key);
            let choices = argument.map_or(&[][..], |argument| &argument.choices);
            let choices = choices.iter();
            return choices
                .map(|choice| Suggestion::new(format!("{key}={choice}"), ""))
                .collect();
        }
        if let Some(path) = current.strip_prefix('@') {
            return paths::suggest("@", path);
        }
        let given = |name: &str| {
            let typed = self.positionals.iter().skip(1);
            let mut keys = typed.filter_map(|text| text.split_once('='));
            keys.any(|(key, _)| key == name)
        };
        let free = arguments.iter().filter(|argument| !given(&argument.name));
        free.map(|argument| {
            let about = argument.description.as_deref();
            Suggestion::new(format!("{}=", argument.name), about.unwrap_or_default())
        })
        .collect()
    }

    fn libraries(&self, end: &str) -> Vec<Suggestion> {
        let Some(opened) = self.open() else {
            return Vec::new();
        };
        let catalog = opened.live.snapshot();
        let libraries = catalog.libraries().iter();
        let libraries = libraries.filter(|library| library.stored().is_none());
        libraries
            .map(|library| Suggestion::new(format!("{}{end}", library.name), &*library.shown_root))
            .collect()
    }

    /// The libraries that were added to the configuration.
    fn added_libraries(&self) -> Vec<Suggestion> {
        let Some(opened) = self.open() else {
            return Vec::new();
        };
        let found = opened.live.found();
        let added = found.iter();
        let added = added.filter(|place| place.origin == PlaceOrigin::Configuration);
        added
            .flat_map(|place| {
                let libraries = place.libraries.iter();
                libraries.map(|library| Suggestion::new(library.name.as_str(), &place.shown))
            })
            .collect()
    }

    fn projects(&self) -> Vec<Suggestion> {
        let place = ProjectArgs::new(self.option("workspace"), None).place;
        let stores = Stores::new().ok();
        let store = stores.and_then(|stores| stores.open(&place, Access::ReadOrUpdate).ok()?);
        let projects = store.and_then(|store| store.projects().ok());
        let projects = projects.unwrap_or_default().into_iter();
        projects
            .map(|project| Suggestion::new(project.name.as_str(), ""))
            .collect()
    }

    /// The prompts or resources of the project, and their labels for commands that show versions.
    fn stored(&self, kind: ItemKind, command: Option<&str>) -> Vec<Suggestion> {
        let place = ProjectArgs::new(self.option("workspace"), self.option("project"));
        let project =
            ProjectTarget::open(&place, Access::ReadOrUpdate).and_then(|target| target.read());
        let items = project.map(|project| project.items).unwrap_or_default();
        let items = items.into_iter().filter(|item| item.kind == kind);
        let takes_labels = matches!(command, Some("show" | "history"));
        items
            .flat_map(|item| {
                let name = item.name.as_str();
                let about = item.head.description.as_deref().unwrap_or("");
                let labels = item.labels.iter().filter(|_| takes_labels);
                let labels = labels.map(|it| {
                    let about = format!("version {}", it.version.number);
                    Suggestion::new(format!("{name}@{}", it.label), about)
                });
                let all = [Suggestion::new(name, about)].into_iter().chain(labels);
                all.collect::<Vec<_>>()
            })
            .collect()
    }
}

fn commands_below(command: &Command) -> Vec<Suggestion> {
    let commands = command.get_subcommands();
    let shown = commands.filter(|command| !command.is_hide_set());
    let suggestion = |command: &Command| {
        let about = command.get_about().map(ToString::to_string);
        Suggestion::new(command.get_name(), about.unwrap_or_default())
    };
    shown.map(suggestion).collect()
}

/// The packages of the user and of the repository, with their sources.
fn packages() -> Vec<Suggestion> {
    let places = Places::from_environment();
    let scopes = PackageScope::all(&places).unwrap_or_default();
    let wanted = scopes
        .iter()
        .flat_map(|scope| scope.wanted(&places).unwrap_or_default());
    let mut found: Vec<Suggestion> = wanted
        .map(|it| Suggestion::new(it.wanted.name.as_str(), it.wanted.source.to_string()))
        .collect();
    found.sort();
    found
}

fn workspaces() -> Vec<Suggestion> {
    let stores = Stores::new().ok();
    let names = stores.and_then(|stores| stores.workspaces.list().ok());
    let names = names.unwrap_or_default().into_iter();
    names
        .map(|name| Suggestion::new(name.as_str(), ""))
        .collect()
}

fn connected_clients() -> Vec<Suggestion> {
    let clients = CONNECTED.iter();
    clients
        .map(|client| Suggestion::new(client.id, client.title))
        .collect()
}

fn takes_value(arg: &Arg) -> bool {
    arg.get_num_args().is_some_and(|count| count.takes_values())
}

fn needs_value(arg: &Arg) -> bool {
    arg.get_num_args()
        .is_some_and(|count| count.min_values() > 0)
}

/// Whether the value of an argument is a file or a folder.
fn is_path(arg: &Arg) -> bool {
    let names = arg.get_value_names().unwrap_or_default();
    let id = arg.get_id().as_str();
    let is_path = |name: &str| ["PATH", "DIR", "FILE", "FOLDER"].contains(&name);
    names.iter().any(|name| is_path(name)) || ["path", "paths", "folder", "file"].contains(&id)
}
