//! Twig in the configuration of AI clients: which clients there are, where each keeps its servers
//! and in which format, and edits that leave everything else in those files as it was.
//!
//! `commands/connect` decides what to do and reports it; nothing here prints.

mod clients;
mod config;
mod diff;
mod entry_program;
mod file;
mod jsonc;
mod launch;
mod made_folders;
mod mask;
mod node;
mod remote;
mod server_entry;
mod survey;
mod toml;
mod yaml;

pub(crate) use self::clients::{ConfigScope, ConnectClient};
pub(crate) use self::config::{ClientConfig, ConfigError};
pub(crate) use self::entry_program::{EntryProgram, is_same, own_program};
pub(crate) use self::file::link_out;
pub(crate) use self::launch::ClientLaunch;
pub(crate) use self::made_folders::{
    made_folders, missing_folders, record_folders, remove_made_folders,
};
pub(crate) use self::mask::without_secrets;
pub(crate) use self::remote::RemoteServer;
pub(crate) use self::server_entry::{ServerEntry, ServerTarget};
pub(crate) use self::survey::{installed, survey};
