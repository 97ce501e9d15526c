//! `twig add --from FILE`: takes over what another tool installed.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;
use std::process::ExitCode;

use serde::Serialize;
use twig_core::{LibraryName, RelativePath};
use twig_packages::{OtherLock, PackageSpec, TakenOver, read_other_lock};
use twig_sources::WantedPackage;

use super::add::{AddOutcome, AddedPackage, PackageAddOptions, add_all};
use super::scope::PackageScope;
use crate::command_error::{CommandError, ErrorKind, reason};
use crate::commands::check::counted;
use crate::places::Places;
use crate::ui::Ui;

/// The longest file that is read, in bytes; the reader's own limit is smaller.
const LONGEST: u64 = 8 * 1024 * 1024;

/// The most lines that are printed about what is refused.
const LINES: usize = 30;

/// What was taken over, as scripts see it; this shape is stable.
#[derive(Debug, Serialize)]
struct TakenOverReport {
    tool: &'static str,
    packages: Vec<AddedPackage>,
    /// Names of packages that were added before.
    known: Vec<String>,
    refused: Vec<RefusedRow>,
}

/// What is not taken over, as scripts see it.
#[derive(Debug, Serialize)]
struct RefusedRow {
    /// The name of the entry; empty if a package could not be fetched.
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    why: String,
}

/// What becomes of the entries of a file.
#[derive(Debug, Default)]
struct TakeOver {
    wanted: Vec<WantedPackage>,
    known: Vec<String>,
    refused: Vec<RefusedRow>,
}

/// Takes over what a file of another tool lists.
pub(crate) fn run(
    file: &Path,
    options: &PackageAddOptions<'_>,
    ui: &mut Ui,
) -> Result<ExitCode, CommandError> {
    let places = Places::from_environment();
    let scope = PackageScope::current(&places, options.is_global)?;
    let lock = read(&places, file)?;
    let taken = TakeOver::new(
        &lock,
        scope.wanted(&places)?.into_iter().map(|it| it.wanted),
    );
    say(&places, file, &lock, &taken, options.json, ui)?;
    let TakeOver {
        wanted,
        known,
        mut refused,
    } = taken;
    let AddOutcome { rows, errors } = add_all(options, &places, &scope, wanted, ui)?;
    if options.json {
        refused.extend(errors.iter().map(|error| RefusedRow {
            name: None,
            why: error.message.clone(),
        }));
        ui.json(&TakenOverReport {
            tool: lock.tool.name(),
            packages: rows,
            known,
            refused,
        })?;
    }
    let mut errors = errors.into_iter();
    let Some(last) = errors.next_back() else {
        return Ok(ExitCode::SUCCESS);
    };
    for error in errors {
        ui.error(&error);
    }
    Err(last)
}

fn read(places: &Places, file: &Path) -> Result<OtherLock, CommandError> {
    let shown = places.shown(file);
    let mut text = String::new();
    let read = File::open(file).and_then(|file| file.take(LONGEST).read_to_string(&mut text));
    read.map_err(|error| {
        CommandError::fixable(format!("{shown} cannot be read: {}", reason(&error)))
    })?;
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    read_other_lock(&name, &text).map_err(|error| {
        let message = format!("{shown} cannot be taken over: {error}");
        CommandError::new(ErrorKind::Fixable, message)
    })
}

/// Shows what is taken over and what is not, before anything is fetched.
fn say(
    places: &Places,
    file: &Path,
    lock: &OtherLock,
    taken: &TakeOver,
    is_json: bool,
    ui: &mut Ui,
) -> Result<(), CommandError> {
    ui.say(format!(
        "{} of {}: {} to add, {} there, {} not taken over",
        places.shown(file),
        lock.tool,
        counted(taken.wanted.len(), "package", "packages"),
        taken.known.len(),
        taken.refused.len()
    ));
    if !is_json {
        let cells = taken.wanted.iter().map(|it| {
            let only = match it.only.len() {
                0 => "everything".to_owned(),
                _ => it.only.join(", "),
            };
            let path = it.path.as_ref().map_or("", |path| path.as_str());
            vec![
                it.name.to_string(),
                it.source.to_string(),
                it.reference.clone().unwrap_or_default(),
                path.to_owned(),
                only,
            ]
        });
        ui.table(&cells.collect::<Vec<_>>())?;
    }
    for name in &taken.known {
        ui.say(format!("`{name}` was added before, and nothing changed"));
    }
    for row in taken.refused.iter().take(LINES) {
        let name = row.name.as_deref().unwrap_or_default();
        ui.say(format!("not taken over: `{name}`: {}", row.why));
    }
    if taken.refused.len() > LINES {
        let more = taken.refused.len() - LINES;
        ui.say(format!("not taken over: {more} more, which --json lists"));
    }
    Ok(())
}

impl TakeOver {
    /// One package for each folder of a source, without those that are there.
    fn new(lock: &OtherLock, known: impl Iterator<Item = WantedPackage>) -> Self {
        let known: Vec<WantedPackage> = known.collect();
        let mut taken = Self::default();
        for (name, why) in &lock.refused {
            taken.refused.push(RefusedRow {
                name: Some(name.clone()),
                why: why.clone(),
            });
        }
        for want in &lock.wants {
            let is_it = |it: &&WantedPackage| it.source == want.source && it.path == want.path;
            if let Some(known) = known.iter().find(is_it) {
                taken.known.push(known.name.to_string());
                continue;
            }
            if let Some(other) = taken.wanted.iter().find(is_it) {
                let version = other.reference.as_deref().unwrap_or("its newest version");
                taken.refuse(
                    want,
                    format!(
                        "`{}` takes the same folder at {version}, and one library has one version",
                        other.name
                    ),
                );
                continue;
            }
            let others = known.iter().chain(&taken.wanted);
            match library_name(want, &others.map(|it| &it.name).collect::<Vec<_>>()) {
                Some(name) => taken.wanted.push(WantedPackage {
                    name,
                    source: want.source.clone(),
                    reference: want.reference.clone().or_else(|| want.commit.clone()),
                    path: want.path.clone(),
                    only: want.only.iter().map(|name| name.as_str().into()).collect(),
                }),
                None => taken.refuse(want, "it gives its library no name".to_owned()),
            }
        }
        taken
    }

    fn refuse(&mut self, want: &TakenOver, why: String) {
        let name = match want.only.len() {
            0 => want.source.to_string(),
            _ => want.only.join(", "),
        };
        let name = Some(name);
        self.refused.push(RefusedRow { name, why });
    }
}

/// A name that no other package has: that of the source, with that of the folder or a number.
fn library_name(want: &TakenOver, others: &[&LibraryName]) -> Option<LibraryName> {
    let spec = PackageSpec {
        source: want.source.clone(),
        reference: None,
        path: want.path.clone(),
    };
    let usual = spec.library_name()?;
    let folder = want.path.as_ref().map(RelativePath::file_name);
    let with_folder = folder.map(|folder| format!("{usual}-{folder}"));
    let numbered = (2..=others.len() + 2).map(|number| format!("{usual}-{number}"));
    let texts = [usual.to_string()].into_iter().chain(with_folder);
    texts
        .chain(numbered)
        .filter_map(|text| LibraryName::from_folder(&text))
        .find(|name| !others.contains(&name))
}
