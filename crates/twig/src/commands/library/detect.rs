//! `twig library add --detect`: finds clients' folders on this machine and in this project.

use std::collections::BTreeSet;
use std::io::{self, BufRead, IsTerminal};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use twig_clients::clients::written_format;
use twig_clients::export::marker_of;
use twig_core::{Bodies, Library, LibraryName, Prompt};
use twig_sources::{
    PlaceOrigin, Remembered, SearchedPlace, repository_of, scope_of, well_known_folders,
};

use super::super::check::counted;
use super::super::opened_catalog::{OpenedCatalog, SourceArgs};
use super::add::{self, AddedLibraryRow, LibraryAddArgs};
use crate::command_error::CommandError;
use crate::config::{self, Config, ConfigFile};
use crate::connect::ConfigScope;
use crate::places::{Places, working_folder};
use crate::ui::Ui;

pub(super) fn run(options: &LibraryAddArgs, ui: &mut Ui) -> Result<ExitCode, CommandError> {
    let places = Places::from_environment();
    let config = config::load(&places)?;
    let progress = ui.progress("looking for folders of other clients");
    let folders = client_folders(&places);
    drop(progress);
    let count = counted(folders.len(), "folder", "folders");
    let progress = ui.progress(&format!("reading {count} of other clients"));
    let scope = options.scope;
    let found = look(&places, &config, &folders, scope)?;
    drop(progress);
    let (own, found): (Vec<_>, Vec<_>) = found.into_iter().partition(|(row, _)| {
        let is_export = row.exported == row.prompts;
        is_export && !row.added
    });
    for (row, _) in own {
        ui.say(format!(
            "skipped {}: `twig export` wrote what is in it",
            places.shown(&row.path)
        ));
    }
    let (rows, names): (Vec<AddedLibraryRow>, Vec<Option<LibraryName>>) = found.into_iter().unzip();
    if options.json && !options.yes {
        ui.json(&rows)?;
        return Ok(ExitCode::SUCCESS);
    }
    if rows.is_empty() {
        ui.say("no client keeps prompts in your home or in this project");
        if options.json {
            ui.json(&rows)?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    let new: Vec<usize> = (0..rows.len()).filter(|at| !rows[*at].added).collect();
    if !options.json {
        show(&places, &rows, ui)?;
    }
    let picked = match &*new {
        [] => {
            ui.say("all of these were added before");
            Vec::new()
        }
        _ if options.yes => new,
        _ => pick(&rows, &new, ui)?,
    };
    if !picked.is_empty() {
        // Lock only now, so that other commands do not wait while the user picks.
        let mut file = ConfigFile::open(&places)?;
        let config = file.check(&places)?;
        for at in &picked {
            let row = &rows[*at];
            if add::known(&config, &row.path).is_none() {
                let folder = Remembered {
                    path: row.path.clone(),
                    name: names[*at].clone(),
                    repository: row.repository.clone(),
                    ..Remembered::default()
                };
                file.add(&places, &add::entry(&places, &folder))?;
            }
        }
        file.save(&places)?;
    }
    if !picked.is_empty() {
        let count = counted(picked.len(), "folder", "folders");
        ui.say(format!("added {count}; `twig list` shows what is in them"));
    }
    if options.json {
        let added = |(at, row): (usize, AddedLibraryRow)| AddedLibraryRow {
            added: row.added || picked.contains(&at),
            ..row
        };
        let rows: Vec<AddedLibraryRow> = rows.into_iter().enumerate().map(added).collect();
        ui.json(&rows)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The folders of clients on this machine and in this project, each once.
fn client_folders(places: &Places) -> Vec<PathBuf> {
    let mut seen = BTreeSet::new();
    let folders = bases(places).into_iter();
    let folders = folders.flat_map(|base| well_known_folders(&base));
    let folders = folders.filter(|path| {
        let real = path.canonicalize().unwrap_or_else(|_| path.clone());
        seen.insert(real)
    });
    folders.collect()
}

/// Every client folder that has a prompt, and the name to write down for it.
fn look(
    places: &Places,
    config: &Config,
    folders: &[PathBuf],
    scope: Option<ConfigScope>,
) -> Result<Vec<(AddedLibraryRow, Option<LibraryName>)>, CommandError> {
    // Name them as they will be named next to the existing ones.
    let mut all = config.clone();
    for path in folders {
        if add::known(config, path).is_none() {
            all.libraries.push(Remembered {
                path: path.clone(),
                ..Remembered::default()
            });
        }
    }
    let home = places.home.clone();
    let places = Places {
        trust: None,
        ..places.clone()
    };
    let live = OpenedCatalog::with(places, all, &SourceArgs::default())?.live;
    let (found, catalog) = (live.found(), live.snapshot());
    let exported = |root: &Path| {
        let all = catalog.libraries().iter().chain(catalog.shadowed());
        let mut all = all.filter(|library| Path::new(&*library.root) == root);
        all.next()
            .map_or(0, |library| exported_prompts(&live, library))
    };
    let rows = folders.iter().filter_map(|path| {
        let has_it = |place: &&SearchedPlace| {
            let mut libraries = place.libraries.iter();
            libraries.any(|library| same(&library.root, path))
        };
        let place = found.iter().find(has_it)?;
        let library = place.libraries.iter().find(|it| same(&it.root, path))?;
        let known = place.origin != PlaceOrigin::Configuration
            || config.libraries.iter().any(|it| it.path == place.path);
        let name = add::lasting_name(&live, library);
        (library.prompts > 0).then(|| {
            let row = AddedLibraryRow {
                exported: exported(&library.root),
                repository: match scope {
                    _ if known => add::known(config, path).and_then(|it| it.repository.clone()),
                    Some(ConfigScope::User) => None,
                    _ => scope_of(path, home.as_deref()),
                },
                ..AddedLibraryRow::of(library, known)
            };
            (row, name)
        })
    });
    Ok(rows.collect())
}

/// How many prompts of a client's folder `twig export` wrote.
fn exported_prompts(bodies: &dyn Bodies, library: &Library) -> usize {
    let Some(format) = written_format(library.kind) else {
        return 0;
    };
    let is_export = |prompt: &&Arc<Prompt>| {
        let mut files = prompt.messages.iter().filter_map(|it| it.content.file());
        let text = files
            .next()
            .and_then(|file| bodies.read(library, file).ok());
        text.is_some_and(|body| marker_of(format, &body.text, []).is_some())
    };
    let prompts = library.prompts.iter();
    prompts
        .filter(|it| it.unavailable.is_none())
        .filter(is_export)
        .count()
}

fn same(one: &Path, two: &Path) -> bool {
    one == two
        || matches!((one.canonicalize(), two.canonicalize()), (Ok(one), Ok(two)) if one == two)
}

/// Where clients look: in the home folder, and from the working folder up to its repository's root.
pub(in crate::commands) fn bases(places: &Places) -> Vec<PathBuf> {
    let home = places.home.clone();
    let is_home = |folder: &Path| home.as_deref() == Some(folder);
    let mut project: Vec<PathBuf> = Vec::new();
    if let Some(here) = working_folder() {
        let up = here.ancestors().take_while(|folder| !is_home(folder));
        let up: Vec<&Path> = up.collect();
        let root = repository_of(&here, home.as_deref());
        let count = root.map_or(1, |root| {
            up.iter().take_while(|it| **it != root).count() + 1
        });
        project.extend(up.into_iter().take(count).map(Path::to_path_buf));
    }
    // Libraries in the home folder keep their names in every project.
    home.into_iter().chain(project).collect()
}

fn show(places: &Places, rows: &[AddedLibraryRow], ui: &mut Ui) -> Result<(), CommandError> {
    let cells = rows.iter().enumerate().map(|(at, row)| {
        let mut cells = vec![format!("{}.", at + 1)];
        cells.extend(row.cells(places));
        let state = if row.added { "added" } else { "" };
        // Before the path and the repository.
        cells.insert(cells.len() - 2, state.to_owned());
        cells
    });
    ui.table(&cells.collect::<Vec<_>>())?;
    ui.flush()?;
    Ok(())
}

/// Asks which to add.
fn pick(rows: &[AddedLibraryRow], new: &[usize], ui: &mut Ui) -> Result<Vec<usize>, CommandError> {
    if !io::stdin().is_terminal() {
        let message = "nothing was added: this is not a terminal, so you cannot pick";
        let error = CommandError::fixable(message);
        return Err(error.hint("use --yes to add all of them, or `twig library add PATH`"));
    }
    ui.insist("\nwhich to add? numbers such as `1 3-5`, `all`, or nothing for none");
    let picked = loop {
        ui.ask("> ");
        let mut answer = String::new();
        io::stdin().lock().read_line(&mut answer)?;
        match chosen(&answer, rows.len()) {
            Ok(picked) => break picked,
            Err(why) => ui.insist(why),
        }
    };
    let picked = match picked {
        Chosen::All => new.to_vec(),
        Chosen::These(numbers) => {
            let places = numbers.into_iter().map(|number| number - 1);
            places.filter(|at| new.contains(at)).collect()
        }
    };
    if picked.is_empty() {
        ui.say("nothing was added");
    }
    Ok(picked)
}

#[derive(Debug, PartialEq, Eq)]
enum Chosen {
    All,
    /// Numbers from 1.
    These(BTreeSet<usize>),
}

/// The picked numbers; the error is a sentence.
fn chosen(answer: &str, count: usize) -> Result<Chosen, String> {
    let mut numbers = BTreeSet::new();
    for part in answer
        .split([',', ' ', '\t', '\n', '\r'])
        .filter(|it| !it.is_empty())
    {
        if part.eq_ignore_ascii_case("all") {
            return Ok(Chosen::All);
        }
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let number = |text: &str| text.parse().ok().filter(|it| (1..=count).contains(it));
        match (number(first), number(last)) {
            (Some(first), Some(last)) if first <= last => numbers.extend(first..=last),
            _ => {
                return Err(format!("`{part}` is not a number from 1 to {count}"));
            }
        }
    }
    Ok(Chosen::These(numbers))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_pick_numbers_and_ranges() {
        let these = |numbers: &[usize]| Ok(Chosen::These(numbers.iter().copied().collect()));
        assert_eq!(chosen("\n", 5), these(&[]));
        assert_eq!(chosen("1 3-5\n", 5), these(&[1, 3, 4, 5]));
        assert_eq!(chosen("2,2, 4", 5), these(&[2, 4]));
        assert_eq!(chosen("ALL", 5), Ok(Chosen::All));
        for wrong in ["0", "6", "x", "3-", "4-2", "-1", "99999999999999999999"] {
            assert!(chosen(wrong, 5).is_err(), "{wrong}");
        }
    }
}
