//! What the clients of this machine have of Twig; for others, what they enter in theirs.

use std::path::{Path, PathBuf};

use axum::http::StatusCode;
use axum::http::request::Parts;
use tokio::task::block_in_place;
use twig_core::problem::shell_word;
use twig_page::{ClientState, RemoteClient, ShownClient};

use super::super::headers::one;
use super::answers::{PageVisit, parameter};
use crate::connect::{
    ClientConfig, ConfigError, ConfigScope, ConnectClient, EntryProgram, RemoteServer,
    ServerTarget, installed, made_folders, own_program, survey,
};
use crate::places::{ClientPlaces, Places, on_disk};

/// The name of Twig in files of clients.
const NAME: &str = "twig";
/// The variable that files of clients read a key from.
const TOKEN: &str = "TWIG_TOKEN";

impl PageVisit {
    /// The screen of clients.
    pub(super) fn connect(&self, parts: &Parts) -> Result<String, StatusCode> {
        if self.is_owner {
            return Ok(block_in_place(|| {
                twig_page::connect(&clients_here()).into_string()
            }));
        }
        let host = one(&parts.headers, axum::http::header::HOST);
        let host = host.ok_or(StatusCode::BAD_REQUEST)?;
        // Only the browser knows whether a proxy speaks https for this server.
        let asked = parameter(parts.uri.query().unwrap_or_default(), "scheme");
        let scheme = match asked.as_deref() {
            Some("https") => "https",
            _ => "http",
        };
        let address = format!("{scheme}://{host}/mcp");
        let clients = remote_clients(&address);
        Ok(twig_page::connect_remote(&address, &clients).into_string())
    }
}

/// Every client, with what its own file on this machine has.
fn clients_here() -> Vec<ShownClient> {
    let (places, homes) = (Places::from_environment(), ClientPlaces::from_environment());
    let folder: PathBuf = on_disk(Path::new("."));
    let found = survey(&folder, &homes);
    let made = made_folders(places.made_folders.as_deref());
    let installed = installed(&found, &made, &homes);
    let program = own_program(ConfigScope::User, &homes).ok();
    let program = program.as_deref().and_then(Path::to_str);
    let clients = ConnectClient::all().zip(installed);
    let clients = clients.map(|(client, is_installed)| {
        let mut files = found.iter();
        let own = files.find(|it| (it.0, it.1) == (client, ConfigScope::User));
        let config = own.map(|(.., config)| config);
        let link = client.install_link().zip(program);
        ShownClient {
            title: client.title(),
            is_installed,
            state: config.map_or(ClientState::Without, |config| {
                state(config, &folder, &homes)
            }),
            file: own.map(|(_, _, path, _)| places.shown(path)),
            command: format!("twig connect {}", client.as_str()),
            link: link.map(|(link, program)| link.address(NAME, program, &["serve"])),
            next: client
                .next(ConfigScope::User)
                .replace("{call}", &client.call().line(NAME, ":", "NAME", &[])),
        }
    });
    clients.collect()
}

fn state(
    config: &Result<ClientConfig, ConfigError>,
    folder: &Path,
    homes: &ClientPlaces,
) -> ClientState {
    let config = match config {
        Ok(config) => config,
        Err(error) => return ClientState::Broken(format!("its file cannot be read: {error}")),
    };
    let mut names = Vec::new();
    for entry in config.twigs() {
        if entry.is_off {
            return ClientState::Broken(format!("`{}` is switched off there", entry.name));
        }
        let program = entry.launch().map(|launch| {
            (
                launch,
                EntryProgram::of(launch, config.scope, folder, homes),
            )
        });
        if let Some((launch, EntryProgram::Missing)) = program {
            let program = &launch.program;
            return ClientState::Broken(format!("the program `{program}` is not there"));
        }
        names.push(entry.name.clone());
    }
    if names.is_empty() {
        ClientState::Without
    } else {
        ClientState::Connected(names)
    }
}

/// What each client that reaches servers over HTTP reads.
fn remote_clients(address: &str) -> Vec<RemoteClient> {
    let target = ServerTarget::Address(RemoteServer {
        url: address.to_owned(),
        token_env: Some(TOKEN.to_owned()),
        has_other_headers: false,
    });
    let clients = ConnectClient::all().filter(|client| {
        let remote = client.remote();
        remote.is_some_and(|remote| remote.token.is_some())
    });
    let clients = clients.filter_map(|client| {
        let path = client.shown_file()?;
        let empty = ClientConfig::without_servers(client, ConfigScope::User, PathBuf::new());
        Some(RemoteClient {
            title: client.title(),
            file: path,
            text: empty.with(NAME, &target).ok()?,
            command: format!(
                "twig connect {} --url {} --token-env {TOKEN}",
                client.as_str(),
                shell_word(address)
            ),
        })
    });
    clients.collect()
}
