//! The clients whose servers Twig can write: where their files are on this machine.
//!
//! The facts about each are a row of [`twig_clients::clients`]; this module checks on disk which of
//! its files apply.

use std::path::{Path, PathBuf};

pub(crate) use twig_clients::clients::ConfigSyntax as Syntax;
use twig_clients::clients::{
    BaseFolder, CONNECTED, EntryForm, InstallLink, KnownClient, ListingLimit, PromptCall,
    RemoteForm, ServerFile, client,
};

use crate::places::ClientPlaces;

/// A client to whose configuration Twig can add itself.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ConnectClient {
    known: &'static KnownClient,
    servers: &'static ServerFile,
}

impl PartialEq for ConnectClient {
    fn eq(&self, other: &Self) -> bool {
        self.known.id == other.known.id
    }
}

/// Who a file applies to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum ConfigScope {
    /// This user, in every project.
    User,
    /// Every user who works in a project.
    Project,
}

impl ConfigScope {
    pub(crate) const ALL: [ConfigScope; 2] = [ConfigScope::User, ConfigScope::Project];

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            ConfigScope::User => "user",
            ConfigScope::Project => "project",
        }
    }
}

impl ConnectClient {
    fn new(known: &'static KnownClient) -> Option<Self> {
        let servers = known.servers.as_ref()?;
        Some(Self { known, servers })
    }

    /// All of them, in the order of the listing.
    pub(crate) fn all() -> impl Iterator<Item = Self> {
        CONNECTED.into_iter().filter_map(Self::new)
    }

    /// The client with that name, including other common spellings.
    pub(crate) fn of(text: &str) -> Option<Self> {
        client(text).and_then(Self::new)
    }

    /// The name on the command line.
    pub(crate) fn as_str(self) -> &'static str {
        self.known.id
    }

    /// The name in ordinary text.
    pub(crate) fn title(self) -> &'static str {
        self.known.title
    }

    /// How much it shows its model of a list.
    pub(crate) fn listing(self) -> Option<ListingLimit> {
        self.known.listing
    }

    pub(crate) fn syntax(self) -> Syntax {
        self.servers.syntax
    }

    /// The file for a scope. `None` if the client has no such scope, or the user has no home.
    pub(crate) fn file(
        self,
        scope: ConfigScope,
        project: &Path,
        places: &ClientPlaces,
    ) -> Option<PathBuf> {
        let successor = self.servers.successor.as_ref().and_then(|successor| {
            let folder = places.first(self.known, successor.folder)?;
            folder.is_dir().then_some((successor, folder))
        });
        let path = match (scope, successor) {
            (ConfigScope::User, Some((successor, folder))) => folder.join(successor.user),
            (ConfigScope::User, None) => places.first(self.known, self.servers.user)?,
            (ConfigScope::Project, Some((successor, _))) => project.join(successor.project),
            (ConfigScope::Project, None) => project.join(self.servers.project?),
        };
        let other = path.with_extension("jsonc");
        let is_other = self.servers.is_jsonc && !path.exists() && other.exists();
        Some(if is_other { other } else { path })
    }

    /// A person's own file, as it is called on a machine where nothing is known of its folders.
    pub(crate) fn shown_file(self) -> Option<String> {
        let (base, path) = self.servers.user.last()?;
        let folder = match base {
            BaseFolder::Own | BaseFolder::Home => "~",
            BaseFolder::Config | BaseFolder::Settings => "~/.config",
            BaseFolder::Applications => "the settings of applications",
        };
        Some(format!("{folder}/{path}"))
    }

    /// The keys that hold the servers, and the format of an entry there. The file itself shows for
    /// which version of its client it was written.
    pub(crate) fn layout(self, text: &str) -> (&'static [&'static str], EntryForm) {
        match self.servers.newer_layout {
            Some(newer) if has_servers(text, newer.0) => newer,
            _ => self.servers.layout,
        }
    }

    /// Whether it seems to be installed: its program exists, or a file or folder of its own, which
    /// `is_ours` tells from those that Twig made.
    pub(crate) fn is_installed(
        self,
        places: &ClientPlaces,
        is_ours: impl Fn(&Path) -> bool,
    ) -> bool {
        let folders = self.servers.installed.iter();
        let mut folders = folders.filter_map(|folder| places.first(self.known, folder));
        let mut programs = self.servers.programs.iter();
        folders.any(|folder| folder.exists() && !is_ours(&folder))
            || programs.any(|name| places.program(name).is_some())
    }

    /// How it writes a server over HTTP.
    pub(crate) fn remote(self) -> Option<RemoteForm> {
        self.servers.remote
    }

    /// The text of a file that Twig makes, before its servers.
    pub(super) fn new_file(self) -> &'static str {
        self.servers.new_file
    }

    /// What the user has to do once the file is written; `{call}` stands for a call of a prompt.
    pub(crate) fn next(self, scope: ConfigScope) -> &'static str {
        let in_project = self.servers.next_in_project;
        let in_project = in_project.filter(|_| scope == ConfigScope::Project);
        in_project.unwrap_or(self.servers.next)
    }

    /// How a prompt is called there.
    pub(crate) fn call(self) -> PromptCall {
        self.servers.call
    }

    /// A link that asks it to add a server.
    pub(crate) fn install_link(self) -> Option<InstallLink> {
        self.servers.install_link
    }

    /// What the user should know besides.
    pub(crate) fn note(self) -> Option<&'static str> {
        self.servers.note
    }
}

/// Whether the last of these keys holds servers, and is not itself a server with that name.
fn has_servers(text: &str, keys: &[&str]) -> bool {
    let Some((last, above)) = keys.split_last() else {
        return false;
    };
    let entries = super::jsonc::entries(text, above).unwrap_or_default();
    let servers = entries.iter().find(|(name, ..)| name == last);
    servers.is_some_and(|(_, value, _)| value.is_object() && value.get("type").is_none())
}
