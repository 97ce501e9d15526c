//! `twig library`, as clap sees it.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use twig_core::Kind;

use super::{Sources, parse_kind};

#[derive(Debug, Subcommand)]
pub(crate) enum Library {
    /// List libraries: where they are, what they have, whether they are trusted
    List {
        #[command(flatten)]
        sources: Sources,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Remember folders of prompts, so that they are served from now on
    Add(AddLibrary),
    /// Forget a folder that was added; its files stay
    Remove {
        /// The library's name, or the folder that was added
        #[arg(value_name = "NAME|PATH")]
        library: String,
    },
    /// Let a library run its programs, as they are now
    Trust {
        /// The library's name, or its folder
        #[arg(value_name = "NAME|PATH")]
        library: String,
        /// Trust it without asking
        #[arg(long)]
        yes: bool,
    },
    /// Let a library run its programs no longer
    Distrust {
        /// The library's name, or its folder
        #[arg(value_name = "NAME|PATH")]
        library: String,
    },
}

/// Folders to remember.
#[derive(Debug, Args)]
pub(crate) struct AddLibrary {
    /// Folders: libraries, folders of a client such as `.claude/commands`, or a project with some
    #[arg(value_name = "PATH", required_unless_present = "detect")]
    pub(crate) paths: Vec<PathBuf>,

    /// How their files are read, where their layout does not say
    #[arg(long, value_name = "KIND", value_parser = parse_kind)]
    pub(crate) kind: Option<Kind>,

    /// What the library is called, if not by its folder
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,

    /// Look for folders of clients in your home and in this project, and pick from them
    #[arg(long, conflicts_with_all = ["paths", "kind", "name"])]
    pub(crate) detect: bool,

    /// Add all that were found without asking
    #[arg(long, requires = "detect")]
    pub(crate) yes: bool,

    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}
