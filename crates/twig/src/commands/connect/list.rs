//! `twig connect` without a client: lists which clients are installed, where their files are, and
//! which have Twig.

use std::path::Path;
use std::process::ExitCode;

use serde::Serialize;

use super::ConnectGround;
use crate::command_error::{CommandError, reason};
use crate::connect::{
    ClientConfig, ConfigError, ConfigScope, ConnectClient, EntryProgram, ServerEntry, installed,
    made_folders, survey,
};
use crate::places::Places;
use crate::ui::Ui;

#[derive(Debug, Serialize)]
struct ClientRow {
    client: &'static str,
    title: &'static str,
    installed: bool,
    /// `None` if there is no such file: no home, or no configuration for projects.
    user: Option<FileRow>,
    project: Option<FileRow>,
}

#[derive(Debug, Serialize)]
struct FileRow {
    file: String,
    exists: bool,
    /// Whether a server there is Twig, and its name.
    connected: bool,
    names: Vec<String>,
    /// Whether the program of one of them is missing.
    program_missing: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
}

pub(super) fn run(
    ground: &ConnectGround,
    json: bool,
    ui: &mut Ui,
) -> Result<ExitCode, CommandError> {
    let (places, homes, project) = (&ground.places, &ground.homes, &*ground.folder);
    let mut found = survey(project, homes);
    let made = made_folders(places.made_folders.as_deref());
    let installed = installed(&found, &made, homes);
    let mut take = |client: ConnectClient, scope: ConfigScope| -> Option<FileRow> {
        let at = found
            .iter()
            .position(|it| (it.0, it.1) == (client, scope))?;
        let (_, _, path, config) = found.swap_remove(at);
        let names = |config: &ClientConfig| -> Vec<String> {
            config.twigs().map(|entry| entry.name.clone()).collect()
        };
        let names = config.as_ref().map(names).unwrap_or_default();
        let is_missing = |entry: &ServerEntry| {
            let launch = entry.launch().filter(|_| !entry.is_off);
            let program = launch.map(|it| EntryProgram::of(it, scope, project, homes));
            matches!(program, Some(EntryProgram::Missing))
        };
        let program_missing = config.as_ref().is_ok_and(|it| it.twigs().any(is_missing));
        Some(FileRow {
            file: path.display().to_string(),
            exists: path.exists(),
            connected: !names.is_empty(),
            names,
            program_missing,
            problem: config.err().map(|error| problem(&error)),
        })
    };
    let clients = ConnectClient::all().zip(installed);
    let rows = clients.map(|(client, installed)| ClientRow {
        client: client.as_str(),
        title: client.title(),
        installed,
        user: take(client, ConfigScope::User),
        project: take(client, ConfigScope::Project),
    });
    let rows: Vec<ClientRow> = rows.collect();
    if json {
        ui.json(&rows)?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut table = vec![
        ["client", "installed", "has Twig", "file"]
            .map(str::to_owned)
            .to_vec(),
    ];
    table.extend(rows.iter().map(|row| cells(row, places)));
    ui.table(&table)?;
    for row in &rows {
        for file in [&row.user, &row.project].into_iter().flatten() {
            if let Some(problem) = &file.problem {
                let shown = places.shown(Path::new(&file.file));
                ui.say(format!("{}: {shown} cannot be read: {problem}", row.client));
            }
        }
    }
    ui.say(
        "hint: run `twig connect CLIENT`, or `twig connect CLIENT --scope project` for this folder alone",
    );
    Ok(ExitCode::SUCCESS)
}

/// What is wrong with a file, without its name.
pub(in crate::commands) fn problem(error: &ConfigError) -> String {
    match error {
        ConfigError::Read(cause) | ConfigError::Write(cause) => reason(cause),
        ConfigError::Edit(place) => place.to_string(),
    }
}

fn cells(row: &ClientRow, places: &Places) -> Vec<String> {
    let files = [("user", &row.user), ("project", &row.project)];
    let connected = files.iter().filter_map(|(scope, file)| {
        let file = file.as_ref()?;
        match (file.connected, &file.problem) {
            (true, _) if file.program_missing => Some(format!("{scope} (program missing)")),
            (true, _) => Some((*scope).to_owned()),
            (_, Some(_)) => Some(format!("{scope}?")),
            _ => None,
        }
    });
    let connected = connected.collect::<Vec<_>>().join(", ");
    // The files that have Twig, or else the one that would get it.
    let has_it = |file: &&FileRow| file.connected || file.problem.is_some();
    let shown = |file: &FileRow| places.shown(Path::new(&file.file));
    let with_it = [&row.user, &row.project].into_iter().flatten();
    let with_it: Vec<String> = with_it.filter(has_it).map(shown).collect();
    let file = match with_it.as_slice() {
        [] => row.user.as_ref().map(shown),
        files => Some(files.join(", ")),
    };
    vec![
        row.client.to_owned(),
        if row.installed { "yes" } else { "no" }.to_owned(),
        if connected.is_empty() {
            "no".to_owned()
        } else {
            connected
        },
        file.unwrap_or_else(|| "no home folder".to_owned()),
    ]
}
