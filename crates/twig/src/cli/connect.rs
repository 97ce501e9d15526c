//! The part of the command line about connecting clients.

use std::path::PathBuf;

use clap::Args;

/// Writing Twig into a client's configuration.
#[allow(clippy::struct_excessive_bools, reason = "each is a flag")]
#[derive(Debug, Args)]
#[command(
    after_help = "Clients: claude-code, claude-desktop, vscode, cursor, zed, codex, gemini, opencode, windsurf."
)]
pub(crate) struct Connect {
    /// The client; without one, all of them are listed with what they have
    pub(crate) client: Option<String>,

    /// Write the file that counts in all your projects, as happens without this flag
    #[arg(long, conflicts_with = "project")]
    pub(crate) user: bool,

    /// Write the file of a project, of this folder unless you name one
    #[arg(long, value_name = "DIR", num_args = 0..=1, default_missing_value = ".")]
    pub(crate) project: Option<PathBuf>,

    /// What the server is called there
    #[arg(long, value_name = "NAME", default_value = "twig", value_parser = parse_name)]
    pub(crate) name: String,

    /// Show the change and write nothing
    #[arg(long)]
    pub(crate) print: bool,

    /// Take out the entry of that name, if it starts a program called twig
    #[arg(long, conflicts_with = "serve")]
    pub(crate) remove: bool,

    /// Replace an entry of that name that is not as Twig would write it, or remove one that starts anything else
    #[arg(long)]
    pub(crate) force: bool,

    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,

    /// What the client gives to `twig serve`, such as `-- --library PATH`
    #[arg(last = true, value_name = "SERVE ARGS")]
    pub(crate) serve: Vec<String>,
}

/// Clients make commands and tool names of it.
fn parse_name(text: &str) -> Result<String, String> {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if (1..=64).contains(&text.len()) && text.chars().all(fits) {
        return Ok(text.to_owned());
    }
    Err("it has to be 1 to 64 letters, digits, - or _".to_owned())
}
