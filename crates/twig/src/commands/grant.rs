//! `twig grant`: which role people have in which workspace or project.

use std::process::ExitCode;

use clap::{Args, Subcommand};
use serde::Serialize;
use twig_core::access::{AccessPlace, AccessRole, Grantee, RoleGrant};
use twig_sources::now;

use super::key::KnownAccess;
use super::opened_catalog::parse_known;
use crate::command_error::{CommandError, ErrorKind};
use crate::ui::Ui;

#[derive(Debug, Subcommand)]
pub(crate) enum GrantCommand {
    /// Give a person, a group or everyone a role
    Add(GrantArgs),
    /// List all roles
    #[command(visible_alias = "ls")]
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Take a role away
    #[command(visible_alias = "rm", alias = "delete")]
    Remove(GrantArgs),
}

#[derive(Debug, Args)]
pub(crate) struct GrantArgs {
    /// The name of a key, or `everyone` with a key
    who: String,

    /// reader, writer, admin, or run (to run prompt functions)
    #[arg(value_parser = parse_role)]
    role: AccessRole,

    /// A workspace, or WORKSPACE/PROJECT; everywhere if it is omitted
    #[arg(value_name = "WHERE")]
    place: Option<String>,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// One role as scripts see it; this shape is stable.
#[derive(Debug, Serialize)]
struct GrantRow {
    who: String,
    role: &'static str,
    #[serde(rename = "where")]
    place: String,
}

pub(super) fn run(what: GrantCommand, ui: &mut Ui) -> Result<ExitCode, CommandError> {
    let known = KnownAccess::find()?;
    let (options, is_added) = match what {
        GrantCommand::List { json } => return list(&known, json, ui),
        GrantCommand::Add(options) => (options, true),
        GrantCommand::Remove(options) => (options, false),
    };
    let grant = RoleGrant {
        who: Grantee::parse(&options.who)
            .map_err(|error| CommandError::fixable(error.to_string()))?,
        role: options.role,
        place: match options.place.as_deref() {
            None => AccessPlace::Everywhere,
            Some("") => {
                let message = "the place is empty: leave it out for everywhere";
                return Err(CommandError::new(ErrorKind::Usage, message));
            }
            Some(place) => AccessPlace::parse(place)?,
        },
    };
    let (who, role, place) = (&grant.who, grant.role.as_str(), &grant.place);
    let at = now();
    let said = if is_added {
        known.change(|record| record.add_grant(grant.clone(), at))?;
        match grant.role {
            AccessRole::Run => format!("`{who}` may run functions {place} now"),
            _ => format!("`{who}` is {role} {place} now"),
        }
    } else {
        known.change(|record| record.remove_grant(&grant, at))?;
        match grant.role {
            AccessRole::Run => format!("`{who}` may not run functions {place} any more"),
            _ => format!("`{who}` is not {role} {place} any more"),
        }
    };
    ui.say(said);
    if is_added {
        KnownAccess::warn_of_missing(place, ui)?;
    }
    if is_added && matches!(who, Grantee::Group(_)) {
        ui.say("hint: keys have no groups; a group takes effect when tokens name it");
    }
    known.hint_at_file(ui)?;
    if options.json {
        ui.json(&row(&grant))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn list(known: &KnownAccess, json: bool, ui: &mut Ui) -> Result<ExitCode, CommandError> {
    let record = known.read()?;
    let mut rows: Vec<GrantRow> = record.grants.iter().map(row).collect();
    rows.sort_by(|one, two| (&one.who, &one.place).cmp(&(&two.who, &two.place)));
    if json {
        ui.json(&rows)?;
        return Ok(ExitCode::SUCCESS);
    }
    let everywhere = |place: &str| match place {
        "" => "everywhere".to_owned(),
        place => place.to_owned(),
    };
    let cells = rows.iter();
    let cells = cells.map(|row| vec![row.who.clone(), row.role.to_owned(), everywhere(&row.place)]);
    ui.table(&cells.collect::<Vec<_>>())?;
    if rows.is_empty() {
        ui.say("no roles\nhint: `twig key create NAME --role reader` makes a key with one");
    }
    Ok(ExitCode::SUCCESS)
}

fn row(grant: &RoleGrant) -> GrantRow {
    GrantRow {
        who: grant.who.to_string(),
        role: grant.role.as_str(),
        place: grant.place.as_text(),
    }
}

fn parse_role(text: &str) -> Result<AccessRole, String> {
    parse_known(text, &AccessRole::ALL, AccessRole::as_str, "roles")
}
