//! The part of the command line that is about files of other clients.

use std::path::PathBuf;

use clap::Args;
use twig_clients::export::Client;
use twig_core::Kind;

use super::{Sources, parse_kind};

#[derive(Debug, Args)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "each of them is a flag of its own"
)]
pub(crate) struct Export {
    /// Prompts to write, `*` for any letters, such as `review:*`; without any, all that are served
    #[arg(value_name = "NAME")]
    pub(crate) names: Vec<String>,

    /// Whose files to write: skills, claude, copilot, cursor, opencode, windsurf or gemini
    #[arg(long, value_name = "CLIENT", value_parser = parse_client)]
    pub(crate) to: Client,

    /// Write into this project [default: the working folder]
    #[arg(long, value_name = "DIR", conflicts_with = "user")]
    pub(crate) project: Option<PathBuf>,

    /// Write where the client looks for your own files, whatever the project
    #[arg(long)]
    pub(crate) user: bool,

    /// Write into this folder of the project or of your home instead of the client's own
    #[arg(long = "in", value_name = "FOLDER")]
    pub(crate) folder: Option<String>,

    #[command(flatten)]
    pub(crate) from: ExportSources,

    /// Write nothing; exit with 1 where files are not as they would be written
    #[arg(long, conflicts_with_all = ["dry_run", "force", "prune"])]
    pub(crate) check: bool,

    /// Write nothing; show what would be done
    #[arg(long)]
    pub(crate) dry_run: bool,

    /// Replace files that were changed or are not Twig's; a copy stays beside each
    #[arg(short, long)]
    pub(crate) force: bool,

    /// Remove files that were exported from prompts that are gone
    #[arg(long)]
    pub(crate) prune: bool,

    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Where prompts come from; `--project` says where they go.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct ExportSources {
    /// Take this library too, before those of the data folder (may be given several times)
    #[arg(long, value_name = "PATH")]
    pub(crate) library: Vec<PathBuf>,

    /// How the files of --library are read, where their layout does not say
    #[arg(long, value_name = "KIND", value_parser = parse_kind, requires = "library")]
    pub(crate) kind: Option<Kind>,

    /// Take this project of a workspace too, before all libraries
    #[arg(long, value_name = "NAME")]
    pub(crate) from_project: Option<String>,

    /// The workspace that the project is in
    #[arg(short, long, value_name = "NAME", requires = "from_project")]
    pub(crate) workspace: Option<String>,
}

impl ExportSources {
    /// The same in the words of other commands.
    pub(crate) fn sources(&self) -> Sources {
        Sources {
            library: self.library.clone(),
            kind: self.kind,
            project: self.from_project.clone(),
            workspace: self.workspace.clone(),
        }
    }
}

fn parse_client(text: &str) -> Result<Client, String> {
    let known = Client::ALL.map(Client::as_str);
    Client::ALL
        .into_iter()
        .find(|client| client.as_str() == text)
        .ok_or_else(|| {
            let near = twig_core::suggest::did_you_mean(text, known);
            near.unwrap_or_else(|| format!("known clients: {}", known.join(", ")))
        })
}
