//! The part of the command line that is about workspaces, projects and what they hold.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// Which workspace is meant.
#[derive(Debug, Clone, Args)]
pub(crate) struct InWorkspace {
    /// The workspace
    #[arg(short, long, value_name = "NAME", default_value = "default")]
    pub(crate) workspace: String,
}

/// Which project is meant.
#[derive(Debug, Clone, Args)]
pub(crate) struct InProject {
    #[command(flatten)]
    pub(crate) place: InWorkspace,

    /// The project; may be left out where the workspace has just one
    #[arg(short, long, value_name = "NAME")]
    pub(crate) project: Option<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Workspace {
    /// List workspaces and how many projects they have
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Make a workspace
    Create {
        /// Its name
        name: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Drop old versions and give the space of what was deleted back
    Compact(Compact),
    /// Delete a workspace, its projects and all their versions, for good
    Delete {
        /// Its name
        name: String,
        #[command(flatten)]
        force: Force,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, Args)]
pub(crate) struct Compact {
    /// Its name
    #[arg(default_value = "default")]
    pub(crate) name: String,

    /// Drop all but the last N versions of each prompt and resource, for good
    #[arg(long, value_name = "N", value_parser = version)]
    pub(crate) keep: Option<u64>,

    /// Drop versions of this project only
    #[arg(short, long, value_name = "NAME", requires = "keep")]
    pub(crate) project: Option<String>,

    /// Drop them without asking
    #[arg(short, long)]
    pub(crate) yes: bool,

    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Project {
    /// List projects and what they hold
    List {
        #[command(flatten)]
        place: InWorkspace,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Make a project
    Create {
        /// Its name
        name: String,
        #[command(flatten)]
        place: InWorkspace,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Give a project another name
    Rename {
        /// Its name
        #[arg(value_name = "OLD")]
        name: String,
        /// Its name from now on
        #[arg(value_name = "NEW")]
        to: String,
        #[command(flatten)]
        place: InWorkspace,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Delete a project, what it holds and all versions of it, for good
    Delete {
        /// Its name
        name: String,
        #[command(flatten)]
        place: InWorkspace,
        #[command(flatten)]
        force: Force,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Write a project as a folder of plain files, which git can hold
    Export {
        /// Its name
        name: String,
        /// Where to; an earlier export is brought up to date
        folder: PathBuf,
        #[command(flatten)]
        place: InWorkspace,
        /// Replace files that were changed since the last export
        #[arg(short, long)]
        force: bool,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Make a project of an exported folder
    Import {
        /// The folder
        folder: PathBuf,
        /// The project's name, if not the one that it had
        #[arg(long)]
        name: Option<String>,
        #[command(flatten)]
        place: InWorkspace,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum Prompt {
    /// List the prompts of a project
    List(ListItems),
    /// Print what a prompt says, and nothing else
    #[command(disable_version_flag = true)]
    Show(ShowItem),
    /// Add a prompt to a project
    Add(AddItem),
    /// Change a prompt; what it was is kept as a version
    Update(UpdateItem),
    /// Delete a prompt; `restore` brings it back
    Delete(DeleteItem),
    /// List the versions of a prompt, also of a deleted one
    History(ItemHistory),
    /// Bring an earlier version of a prompt back
    #[command(disable_version_flag = true)]
    Restore(RestoreItem),
}

#[derive(Debug, Subcommand)]
pub(crate) enum Resource {
    /// List the resources of a project
    List(ListItems),
    /// Print what a resource holds, and nothing else
    #[command(disable_version_flag = true)]
    Show(ShowItem),
    /// Add a resource to a project
    Add(AddResource),
    /// Change a resource; what it was is kept as a version
    Update(UpdateResource),
    /// Delete a resource; `restore` brings it back
    Delete(DeleteItem),
    /// List the versions of a resource, also of a deleted one
    History(ItemHistory),
    /// Bring an earlier version of a resource back
    #[command(disable_version_flag = true)]
    Restore(RestoreItem),
}

#[derive(Debug, Args)]
pub(crate) struct Force {
    /// Delete without asking
    #[arg(short, long)]
    pub(crate) force: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ListItems {
    #[command(flatten)]
    pub(crate) place: InProject,

    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ShowItem {
    /// Its name
    pub(crate) name: String,

    #[command(flatten)]
    pub(crate) place: InProject,

    /// What it was at this version
    #[arg(long, value_name = "N", value_parser = version)]
    pub(crate) version: Option<u64>,

    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct AddItem {
    /// Its name: letters a to z, digits, `-`, `_` and `.`
    pub(crate) name: String,

    #[command(flatten)]
    pub(crate) place: InProject,

    /// What it holds; @FILE reads a file, - reads standard input, @@TEXT starts with an @
    #[arg(short, long, allow_hyphen_values = true)]
    pub(crate) content: String,

    /// What it is for
    #[arg(short, long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) description: Option<String>,

    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct AddResource {
    #[command(flatten)]
    pub(crate) item: AddItem,

    /// Its URI, such as `file:///docs/api.md`: a key, from which nothing is ever read
    #[arg(long)]
    pub(crate) uri: String,

    /// What its bytes are; where it is left out the names of file and URI tell, else text/plain
    #[arg(short, long, value_name = "TYPE")]
    pub(crate) mime_type: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct UpdateItem {
    /// Its name
    pub(crate) name: String,

    #[command(flatten)]
    pub(crate) place: InProject,

    /// What it holds; @FILE reads a file, - reads standard input, @@TEXT starts with an @
    #[arg(short, long, allow_hyphen_values = true)]
    pub(crate) content: Option<String>,

    /// What it is for; an empty text takes the description away
    #[arg(short, long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) description: Option<String>,

    /// Change nothing unless this is the last version
    #[arg(long, value_name = "N", value_parser = version)]
    pub(crate) expected_version: Option<u64>,

    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct UpdateResource {
    #[command(flatten)]
    pub(crate) item: UpdateItem,

    /// Its URI from now on
    #[arg(long)]
    pub(crate) uri: Option<String>,

    /// What its bytes are from now on
    #[arg(short, long, value_name = "TYPE")]
    pub(crate) mime_type: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct DeleteItem {
    /// Its name
    pub(crate) name: String,

    #[command(flatten)]
    pub(crate) place: InProject,

    /// Delete nothing unless this is the last version
    #[arg(long, value_name = "N", value_parser = version)]
    pub(crate) expected_version: Option<u64>,

    #[command(flatten)]
    pub(crate) force: Force,

    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ItemHistory {
    /// Its name
    pub(crate) name: String,

    #[command(flatten)]
    pub(crate) place: InProject,

    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct RestoreItem {
    /// Its name
    pub(crate) name: String,

    #[command(flatten)]
    pub(crate) place: InProject,

    /// The version that comes back
    #[arg(long, value_name = "N", value_parser = version)]
    pub(crate) version: u64,

    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// A version: they are counted from 1.
fn version(text: &str) -> Result<u64, String> {
    let number = text.parse().ok().filter(|number| *number > 0);
    number.ok_or_else(|| "it has to be a whole number from 1".to_owned())
}
