//! The command line, as one clap definition: help, completions and the man page come out of it.

mod connect;
mod export;
mod import;
mod library;
mod store;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use twig_core::Kind;

pub(crate) use self::connect::Connect;
pub(crate) use self::export::Export;
pub(crate) use self::import::Import;
pub(crate) use self::library::{AddLibrary, Library};
pub(crate) use self::store::{
    AddItem, AddResource, Compact, DeleteItem, InProject, InWorkspace, ItemHistory, ListItems,
    Project, Prompt, Resource, RestoreItem, ShowItem, UpdateItem, UpdateResource, Workspace,
};

/// Keep your prompts in one place and serve them to every AI client
#[derive(Debug, Parser)]
#[command(
    name = "twig",
    version,
    propagate_version = true,
    arg_required_else_help = true
)]
#[command(
    after_help = "Start with `twig demo`, then `twig connect` to have your prompts in a client."
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,

    /// How much to log on stderr
    #[arg(long, global = true, value_enum, default_value_t = LogLevel::Warn, value_name = "LEVEL")]
    pub(crate) log_level: LogLevel,
}

/// How much is logged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogLevel {
    Off,
    Error,
    Warn,
    Info,
    Debug,
    Trace,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Serve your prompts over MCP on standard input and output, or over HTTP
    #[command(alias = "start")]
    Serve(Serve),
    /// Show a server and a client talking, on a library made for it
    Demo,
    /// List prompts, or documents
    List(List),
    /// Show one prompt, what it takes and what it says, or one document
    Show(Show),
    /// Render a prompt with arguments
    Render(Render),
    /// Search prompts and documents by name, title, description and text
    Search(Search),
    /// Check libraries and report what is wrong with them
    Check(Check),
    /// Give a project prompts and documents of its own to start from
    Init(Init),
    /// Make a new library or prompt
    #[command(subcommand)]
    New(New),
    /// Take prompts over that were written for other tools
    Import(Import),
    /// See which libraries there are, add folders, and trust those that run programs
    #[command(subcommand)]
    Library(Library),
    /// Make and delete workspaces, which hold projects
    #[command(subcommand)]
    Workspace(Workspace),
    /// Make, rename, delete, export and import projects
    #[command(subcommand)]
    Project(Project),
    /// Change the prompts of a project, and bring earlier versions back
    #[command(subcommand)]
    Prompt(Prompt),
    /// Change the resources of a project, and bring earlier versions back
    #[command(subcommand)]
    Resource(Resource),
    /// Write prompts as files that another client reads
    Export(Export),
    /// Write Twig into the configuration of an AI client
    Connect(Connect),
    /// Say what was found where, what is wrong, and whether clients reach it
    Doctor(Doctor),
    /// Print a shell completion script
    Completions {
        /// The shell to complete for
        shell: clap_complete::Shell,
    },
    /// Print the man page of twig, or of one of its commands
    Man {
        /// The command, such as `new prompt`
        command: Vec<String>,
    },
    /// Run a prompt function for another Twig process
    #[command(hide = true)]
    RunFunction,
    /// Render computed templates for another Twig process
    #[command(hide = true)]
    RenderWorker,
}

/// Where prompts come from.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct Sources {
    /// Serve this library too, before those of the data folder (may be given several times)
    #[arg(long, value_name = "PATH")]
    pub(crate) library: Vec<PathBuf>,

    /// How the files of --library are read, where their layout does not say
    #[arg(long, value_name = "KIND", value_parser = parse_kind, requires = "library")]
    pub(crate) kind: Option<Kind>,

    /// Serve this project too, before all libraries
    #[arg(short, long, value_name = "NAME")]
    pub(crate) project: Option<String>,

    /// The workspace that the project is in
    #[arg(short, long, value_name = "NAME", requires = "project")]
    pub(crate) workspace: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Init {
    /// The project's folder
    #[arg(default_value = ".", hide_default_value = true, value_name = "PATH")]
    pub(crate) path: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct Serve {
    #[command(flatten)]
    pub(crate) sources: Sources,

    /// Look for changes by polling instead of waiting for the system's word
    #[arg(long)]
    pub(crate) poll: bool,

    /// Offer clients nothing that writes
    #[arg(long)]
    pub(crate) read_only: bool,

    #[command(flatten)]
    pub(crate) functions: Functions,

    #[command(flatten)]
    pub(crate) http: Http,
}

/// Programs that make prompts.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct Functions {
    /// Run trusted prompt functions also where the system cannot shut them in
    #[arg(long)]
    pub(crate) allow_unsandboxed_functions: bool,
}

/// Serving many clients over HTTP.
#[derive(Debug, Args)]
pub(crate) struct Http {
    /// Serve over HTTP on this address instead; port 0 picks a free one
    #[arg(
        id = "http",
        long,
        value_name = "ADDR",
        num_args = 0..=1,
        default_missing_value = "127.0.0.1:7373",
        value_parser = parse_address
    )]
    pub(crate) address: Option<SocketAddr>,

    /// Also answer to this host, such as `prompts.example.com` (may be given several times)
    #[arg(long, value_name = "HOST", requires = "http", value_parser = parse_host)]
    pub(crate) allow_host: Vec<String>,

    /// Also answer to pages of this origin, such as `https://example.com` (may be given several times)
    #[arg(long, value_name = "ORIGIN", requires = "http", value_parser = parse_origin)]
    pub(crate) allow_origin: Vec<String>,

    /// Ask every client for the token in this file; `TWIG_TOKEN` holds one otherwise
    #[arg(long, value_name = "FILE", requires = "http")]
    pub(crate) token_file: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct List {
    #[command(flatten)]
    pub(crate) sources: Sources,

    /// Also list what another library shadows and what cannot be served
    #[arg(long)]
    pub(crate) all: bool,

    /// List documents instead of prompts
    #[arg(long, conflicts_with = "all")]
    pub(crate) documents: bool,

    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Show {
    /// The prompt's name, or a document's URI
    pub(crate) name: String,

    #[command(flatten)]
    pub(crate) sources: Sources,

    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Render {
    /// The prompt's name
    pub(crate) name: String,

    /// Values for its arguments; KEY=@FILE reads a file, KEY=@@TEXT starts with an @
    #[arg(value_name = "KEY=VALUE")]
    pub(crate) arguments: Vec<String>,

    #[command(flatten)]
    pub(crate) sources: Sources,

    #[command(flatten)]
    pub(crate) functions: Functions,

    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Search {
    /// What to look for: beginnings of words, each of which has to be found
    #[arg(required = true)]
    pub(crate) words: Vec<String>,

    #[command(flatten)]
    pub(crate) sources: Sources,

    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Check {
    /// Libraries, or folders of libraries, to check instead of everything that is served
    #[arg(value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,

    /// Check this library (the same as PATH)
    #[arg(long, value_name = "PATH")]
    pub(crate) library: Vec<PathBuf>,

    /// How their files are read, where their layout does not say
    #[arg(long, value_name = "KIND", value_parser = parse_kind)]
    pub(crate) kind: Option<Kind>,

    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum New {
    /// Make a library in the data folder
    Library {
        /// Its folder's name
        name: String,
        /// Make it in this folder instead
        #[arg(long = "in", value_name = "FOLDER")]
        folder: Option<PathBuf>,
    },
    /// Make a prompt in a library
    Prompt {
        /// The library and the prompt's name
        #[arg(value_name = "LIBRARY:NAME")]
        name: String,
        /// What the prompt does
        #[arg(long, default_value = "")]
        description: String,
        #[command(flatten)]
        sources: Sources,
    },
}

#[derive(Debug, Args)]
pub(crate) struct Doctor {
    #[command(flatten)]
    pub(crate) sources: Sources,

    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// The port that is listened on where none is given.
const PORT: u16 = 7373;

/// An address with or without its port, or a port alone, which means this machine.
fn parse_address(text: &str) -> Result<SocketAddr, String> {
    let loopback = IpAddr::V4(Ipv4Addr::LOCALHOST);
    let port = text.strip_prefix("localhost").unwrap_or(text);
    if let Ok(port) = port.strip_prefix(':').unwrap_or(port).parse() {
        return Ok(SocketAddr::new(loopback, port));
    }
    if text == "localhost" {
        return Ok(SocketAddr::new(loopback, PORT));
    }
    let bare = text.trim_start_matches('[').trim_end_matches(']');
    text.parse()
        .or_else(|_| bare.parse().map(|ip| SocketAddr::new(ip, PORT)))
        .map_err(|_| format!("it has to be an address such as 127.0.0.1:{PORT}"))
}

/// An origin as browsers write it.
fn parse_origin(text: &str) -> Result<String, String> {
    let origin = text.to_ascii_lowercase();
    // Browsers leave out the port that goes without saying.
    let schemes = [("http://", ":80"), ("https://", ":443")];
    let host = schemes.iter().find_map(|(scheme, port)| {
        let host = parse_host(origin.strip_prefix(scheme)?).ok()?;
        Some(format!(
            "{scheme}{}",
            host.strip_suffix(port).unwrap_or(&host)
        ))
    });
    host.ok_or_else(|| {
        "write an origin such as https://example.com, without a path, once for each origin"
            .to_owned()
    })
}

/// A host as clients write it: a name or an address, with a port or without.
fn parse_host(text: &str) -> Result<String, String> {
    let host = text.to_ascii_lowercase();
    if let Ok(address) = host.parse::<Ipv6Addr>() {
        return Ok(format!("[{address}]"));
    }
    let (name, port) = match host.rsplit_once(':') {
        Some((name, port)) if !port.contains(']') => (name, Some(port)),
        _ => (&*host, None),
    };
    let is_name = |name: &str| {
        let is_part = |part: &str| {
            let mut bytes = part.bytes();
            !part.is_empty()
                && bytes.all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
        };
        name.split('.').all(is_part)
    };
    let bracketed = name
        .strip_prefix('[')
        .and_then(|name| name.strip_suffix(']'));
    let is_host = match bracketed {
        Some(address) => address.parse::<Ipv6Addr>().is_ok(),
        None => is_name(name),
    };
    if is_host && port.is_none_or(|port| port.parse::<u16>().is_ok_and(|port| port > 0)) {
        return Ok(host);
    }
    Err(
        "write a host such as prompts.example.com or prompts.example.com:8080, once for each host"
            .to_owned(),
    )
}

fn parse_kind(text: &str) -> Result<Kind, String> {
    let known = Kind::ALL.map(Kind::as_str);
    Kind::ALL
        .into_iter()
        .find(|kind| kind.as_str() == text)
        .ok_or_else(|| {
            let near = twig_core::suggest::did_you_mean(text, known);
            near.unwrap_or_else(|| format!("known kinds: {}", known.join(", ")))
        })
}
