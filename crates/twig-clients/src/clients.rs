//! The one table of clients: what each is called, where its prompts are, how they are read and
//! written, and where it configures its servers.
//!
//! A new client is one row of `clients/table.rs`. Only a file format that no other client has needs
//! code as well: a reader in [`format`](mod@crate::format), a writer in [`export`](crate::export).

mod export_format;
pub mod formats;
mod skill_folders;
mod table;

use std::borrow::Cow;
use std::path::Path;

use serde_json::json;
use twig_core::parse::project::ProjectVocabulary;
use twig_core::store::base64;
use twig_core::{ClientFiles, LibraryKind};

use crate::command_guard::is_called;

pub use self::export_format::ExportFormat;
use self::skill_folders::SKILL_FOLDERS;
pub use self::table::{CLIENTS, CONNECTED};

/// A program that has prompts of its own, starts servers such as Twig, or does both.
#[derive(Debug)]
pub struct KnownClient {
    /// Its name on the command line.
    pub id: &'static str,
    /// Other usual spellings: only lowercase letters and digits.
    pub aliases: &'static [&'static str],
    /// The name that people know it by.
    pub title: &'static str,
    /// The names that it gives itself over MCP, in lower case; a suffix may follow.
    pub called: &'static [&'static str],
    /// The environment variable that names its own folder.
    pub home_variable: Option<&'static str>,
    /// Where it looks for prompts and skills.
    pub folders: &'static [PromptFolder],
    /// The folders whose prompts and skills it loads itself, in a project and in the home; some are
    /// in the rows of other clients.
    pub loads: &'static [&'static str],
    /// The files of its prompts.
    pub reads: Option<&'static PromptFormat>,
    /// How prompts are written for it.
    pub writes: Option<ExportRules>,
    /// The format that is written for it if it has none of its own: it reads those files, too.
    pub writes_as: Option<ExportFormat>,
    /// The file with its servers.
    pub servers: Option<ServerFile>,
    /// How much it shows its model of a list of prompts or skills, as far as that is known.
    pub listing: Option<ListingLimit>,
}

/// How much a client shows its model of the names and descriptions in a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListingLimit {
    /// The number of characters, of names and descriptions together.
    pub characters: usize,
    /// What it does with the descriptions past that; follows the client's name.
    pub excess: &'static str,
}

/// The folder of skills that most clients share.
pub const SHARED_SKILLS: &str = ".agents/skills";

/// A folder that a client reads, from a project's folder or from the person's home.
#[derive(Debug)]
pub struct PromptFolder {
    /// Where it is.
    pub path: &'static str,
    /// How its files are read.
    pub kind: LibraryKind,
    /// The name of a library there.
    pub name: &'static str,
}

/// The files of a client's prompts.
#[derive(Debug)]
pub struct PromptFormat {
    /// The part that core needs.
    pub files: ClientFiles,
    /// The endings of the files' names, the longest first.
    pub endings: &'static [&'static str],
    /// How a prompt gets its name.
    pub(crate) names: NameRule,
    /// Which marks in its text are replaced.
    pub(crate) marks: MarkRule,
    /// Why files in subfolders are no prompts, if they are none.
    pub(crate) subfolders: Option<&'static str>,
}

impl PromptFormat {
    /// The kind of a library of such files.
    pub const fn kind(&'static self) -> LibraryKind {
        LibraryKind::Client(&self.files)
    }
}

/// How a client names the prompt in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NameRule {
    /// Its path without the ending.
    Path,
    /// The same with `:` for `/`.
    PathWithColons,
    /// The `name` of its front matter, else its path.
    NameOrPath,
    /// The `name` of its front matter, else the file's name.
    NameOrFile,
    /// The name of its folder.
    Folder,
}

/// Which marks a client replaces in a prompt's text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MarkRule {
    /// `$ARGUMENTS`, numbers from 0 or 1, declared names; a backslash escapes a mark.
    Dollars,
    /// The same, but numbers count only beside a hint or `$ARGUMENTS`: those in skills are nearly
    /// always prices, groups of patterns or fields of awk.
    HintedDollars,
    /// `$ARGUMENTS` and numbers from 1, the last of which takes all remaining words. There are no
    /// backslashes.
    GreedyDollars,
    /// `$NAME` in capitals, `$ARGUMENTS` and numbers from 1.
    Capitals,
    /// `${input:name}`.
    Inputs,
    /// Nothing that starts with a `$`.
    Nothing,
}

/// How prompts are written for a client.
#[derive(Debug)]
pub struct ExportRules {
    /// The format of the files.
    pub format: ExportFormat,
    /// The folder in a project.
    pub folder: &'static str,
    /// The folder of a person.
    pub user: Candidates,
    /// The maximum number of characters in a file.
    pub longest: Option<usize>,
    /// True if front matter keys that only this client reads are exported again.
    pub keeps_keys: bool,
}

/// The file in which a client configures its servers.
#[derive(Debug)]
pub struct ServerFile {
    /// Its syntax.
    pub syntax: ConfigSyntax,
    /// A person's own file.
    pub user: Candidates,
    /// A project's file, relative to its folder.
    pub project: Option<&'static str>,
    /// Whether the file may end in `.jsonc` as well as in `.json`.
    pub is_jsonc: bool,
    /// The keys of the table of servers, and the form of an entry there.
    pub layout: (&'static [&'static str], EntryForm),
    /// The same in a newer version, which has the servers one key deeper.
    pub newer_layout: Option<(&'static [&'static str], EntryForm)>,
    /// How it writes a server over HTTP; `None` if its file has only programs.
    pub remote: Option<RemoteForm>,
    /// The lines that a new file needs before its servers.
    pub new_file: &'static str,
    /// The client under its later name.
    pub successor: Option<Successor>,
    /// Folders and files, one of which exists if the client is installed.
    pub installed: &'static [Candidates],
    /// Programs, one of which exists if the client is installed.
    pub programs: &'static [&'static str],
    /// What a person has to do after their own file was written, up to a call of a prompt, which
    /// stands for `{call}`.
    pub next: &'static str,
    /// The same for a project's file, if it differs.
    pub next_in_project: Option<&'static str>,
    /// How a prompt is called there.
    pub call: PromptCall,
    /// What a person should know besides.
    pub note: Option<&'static str>,
    /// A link that asks the client to add a server, if it follows any.
    pub install_link: Option<InstallLink>,
}

/// The form of a link that asks a client to add a server; the client shows it first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InstallLink {
    /// This text, then the entry with its name as JSON, percent-encoded.
    Json(&'static str),
    /// This text, then `name`, and the entry as JSON in Base64 as `config`.
    NameAndConfig(&'static str),
}

impl InstallLink {
    /// The link for a program that serves on its standard input and output.
    pub fn address(self, name: &str, program: &str, args: &[&str]) -> String {
        match self {
            Self::Json(before) => {
                let entry = json!({ "name": name, "command": program, "args": args });
                format!("{before}{}", percent_encoded(&entry.to_string()))
            }
            Self::NameAndConfig(before) => {
                let entry = json!({ "command": program, "args": args });
                let config = base64(entry.to_string().as_bytes());
                let (name, config) = (percent_encoded(name), percent_encoded(&config));
                format!("{before}name={name}&config={config}")
            }
        }
    }
}

/// A text as a part of an address.
pub fn percent_encoded(text: &str) -> String {
    use std::fmt::Write as _;
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~') {
            out.push(char::from(byte));
        } else {
            // Writing to a `String` cannot fail.
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}

/// How a client's entry of a server over HTTP is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RemoteForm {
    /// The value of `type`, if it needs one.
    pub kind: Option<&'static str>,
    /// The key of the address.
    pub url: &'static str,
    /// How it gets a token from a variable; `None` if it cannot.
    pub token: Option<TokenForm>,
}

/// How a client's entry names the variable with a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenForm {
    /// In the value of a header, between these texts.
    Header(&'static str, &'static str),
    /// As the value of a key, between these texts.
    Key(&'static str, &'static str, &'static str),
}

/// How a person calls a prompt in a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PromptCall {
    /// What precedes the prompt's name, where `SERVER` is the name of the server; `None` for a client
    /// without prompts, where the trigger does.
    pub before: Option<&'static str>,
    /// True if all but ASCII letters, digits, `_` and `-` become `_` in the prompt's name.
    pub is_rewritten: bool,
    /// How values follow the name.
    pub values: ValueForm,
    /// The most arguments of a prompt that it lists, if it leaves out others.
    pub most_arguments: Option<usize>,
}

impl PromptCall {
    /// What to type to call a prompt of a server with these values. `trigger` marks a prompt in the
    /// message of a client without prompts.
    pub fn line(
        self,
        server: &str,
        trigger: &str,
        name: &str,
        values: &[(String, String)],
    ) -> String {
        let rewritten = |c: char| {
            let stays = c.is_ascii_alphanumeric() || c == '_' || c == '-';
            if stays { c } else { '_' }
        };
        let name: String = if self.is_rewritten {
            name.chars().map(rewritten).collect()
        } else {
            name.to_owned()
        };
        let before = self.before.unwrap_or(trigger).replace("SERVER", server);
        let values = values.iter().map(|(name, value)| match self.values {
            ValueForm::Words => format!(" {value}"),
            ValueForm::Flags => format!(" --{name}=\"{value}\""),
            ValueForm::Pairs => format!(" {name}=\"{value}\""),
            ValueForm::Asked => String::new(),
        });
        format!("{before}{name}{}", values.collect::<String>())
    }
}

/// How values are written after a prompt's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueForm {
    /// `value`.
    Words,
    /// `--name="value"`.
    Flags,
    /// `name="value"`.
    Pairs,
    /// Not at all: the client asks for them.
    Asked,
}

/// A client under a later name, with its own files. They count if its folder exists.
#[derive(Debug)]
pub struct Successor {
    /// Its folder.
    pub folder: Candidates,
    /// A person's file, from that folder.
    pub user: &'static str,
    /// A project's file.
    pub project: &'static str,
}

/// A path, relative to the first of these folders that is known.
pub type Candidates = &'static [(BaseFolder, &'static str)];

/// A folder of the person.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BaseFolder {
    /// The one that the client's [`home_variable`](KnownClient::home_variable) names.
    Own,
    /// The home.
    Home,
    /// `~/.config`, on every system.
    Config,
    /// The folder for settings of desktop applications on this system.
    Applications,
    /// `~/.config`, but on Windows the folder for settings of applications.
    Settings,
}

/// The syntax of a file of servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConfigSyntax {
    /// JSON, with comments or without.
    Jsonc,
    /// TOML.
    Toml,
    /// YAML, with the servers as a mapping by name.
    Yaml,
    /// YAML, with the servers as a list.
    YamlList,
}

/// The form of a client's entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryForm {
    /// `command`, `args` and `env`.
    Plain,
    /// The same, with `type = "stdio"` first.
    Typed,
    /// `type = "local"`, one list for the program and its arguments, `environment`, and whether it
    /// is `enabled`.
    Enabled,
    /// The same without `enabled`.
    Local,
    /// `type = "local"`, `command`, `args` and `env`, and the `tools` that are offered: all.
    AllTools,
    /// `enabled`, `type = "stdio"`, `name`, `cmd`, `args` and `envs`.
    Extension,
    /// `name`, `command`, `args` and `env`.
    Named,
}

/// Every kind of folder, in the order in which they are offered.
pub fn kinds() -> impl Iterator<Item = LibraryKind> {
    let own = [
        LibraryKind::Twig,
        LibraryKind::Definitions,
        LibraryKind::Markdown,
        LibraryKind::Functions,
        LibraryKind::Skills,
    ];
    let formats = CLIENTS.iter().filter_map(|client| client.reads);
    own.into_iter().chain(formats.map(PromptFormat::kind))
}

/// How the files of a kind of library are read.
pub(crate) fn format_of(kind: LibraryKind) -> &'static PromptFormat {
    let files = match kind {
        LibraryKind::Client(files) => files,
        LibraryKind::Skills => return &formats::SKILLS,
        _ => return &formats::MARKDOWN,
    };
    let mut formats = CLIENTS.iter().filter_map(|client| client.reads);
    let known = formats.find(|format| format.files.id == files.id);
    known.unwrap_or(&formats::MARKDOWN)
}

/// The kind of a word in flags and files: its own, or a client's.
pub fn kind(word: &str) -> Option<LibraryKind> {
    let of_client = || Some(client(word)?.reads?.kind());
    kinds()
        .find(|kind| kind.as_str() == word)
        .or_else(of_client)
}

/// The same, or what is wrong with the word.
pub fn kind_named(word: &str) -> Result<LibraryKind, String> {
    kind(word).ok_or_else(|| {
        let known: Vec<&str> = kinds().map(LibraryKind::as_str).collect();
        let near = twig_core::suggest::near(word, known.iter().copied());
        match near.first() {
            Some(near) => format!("unknown kind `{word}`; did you mean `{near}`?"),
            None => format!("unknown kind `{word}`; known are {}", known.join(", ")),
        }
    })
}

/// The clients for which files can be written.
pub fn exported_clients() -> impl Iterator<Item = &'static KnownClient> {
    let clients = CLIENTS.into_iter();
    clients.filter(|client| client.export_format().is_some())
}

/// The client of this name and the format that is written for it, or why none is.
pub fn exported_client(name: &str) -> Result<(&'static KnownClient, ExportFormat), String> {
    let Some(client) = client(name) else {
        let names: Vec<&str> = exported_clients().map(|client| client.id).collect();
        let near = twig_core::suggest::did_you_mean(name, names.iter().copied());
        return Err(near.unwrap_or_else(|| format!("known clients: {}", names.join(", "))));
    };
    let Some(format) = client.export_format() else {
        let how = match client.servers {
            Some(_) => format!("; `twig connect {}` gives it your prompts", client.id),
            None => String::new(),
        };
        return Err(format!("Twig writes no files for {}{how}", client.title));
    };
    Ok((client, format))
}

/// What a repository's configuration may name.
pub const VOCABULARY: ProjectVocabulary = ProjectVocabulary {
    check_client: |name| match exported_client(name) {
        Ok(_) => Ok(()),
        Err(why) if client(name).is_some() => Err(why),
        Err(why) => Err(format!("there is no client of this name; {why}")),
    },
    // Packages are fetched by other code, which knows their sources.
    check_package: |_, _| Ok(()),
    kind: kind_named,
};

/// Every folder that a client reads, in the order of the libraries of one project. If two are
/// symlinks to the same folder, the first is read.
pub fn prompt_folders() -> impl Iterator<Item = &'static PromptFolder> {
    let folders = CLIENTS.iter().flat_map(|client| client.folders);
    folders.chain(&SKILL_FOLDERS)
}

/// Finds a client by its name on the command line or another usual spelling of it: every command
/// knows the same names.
pub fn client(name: &str) -> Option<&'static KnownClient> {
    let plain = plain(name);
    let mut clients = CLIENTS.into_iter();
    clients.find(|client| self::plain(client.id) == plain || client.aliases.contains(&&*plain))
}

/// Finds a client by the name that it gives itself over MCP.
pub fn client_called(name: &str) -> Option<&'static KnownClient> {
    let mut clients = CLIENTS.into_iter();
    clients.find(|client| client.called.iter().any(|known| is_called(name, known)))
}

/// The name of a client in settings: its name on the command line, or the one that it gives itself.
pub fn settings_name(called: &str) -> Cow<'_, str> {
    match client_called(called) {
        Some(known) => Cow::Borrowed(known.id),
        None => Cow::Owned(called.to_lowercase()),
    }
}

/// The letters and digits of a name, in lower case.
fn plain(name: &str) -> String {
    let letters = name.chars().filter(char::is_ascii_alphanumeric);
    letters.map(|c| c.to_ascii_lowercase()).collect()
}

/// The format in which Twig writes files of this kind, if it does.
pub fn written_format(kind: LibraryKind) -> Option<ExportFormat> {
    if kind == LibraryKind::Skills {
        return Some(ExportFormat::Skills);
    }
    let mut clients = CLIENTS.into_iter();
    let client = clients.find(|client| client.reads.is_some_and(|it| it.kind() == kind))?;
    Some(client.writes.as_ref()?.format)
}

/// The client that reads the prompts or skills in this folder.
pub fn client_of_folder(path: &Path) -> Option<&'static KnownClient> {
    let is_its = |client: &KnownClient| {
        let mut folders = client.folders.iter();
        folders.any(|folder| path.ends_with(folder.path))
    };
    CLIENTS.into_iter().find(|client| is_its(client))
}

impl KnownClient {
    /// The format that is written for it.
    pub fn export_format(&self) -> Option<ExportFormat> {
        let own = self.writes.as_ref().map(|rules| rules.format);
        own.or(self.writes_as)
    }
}

/// The kind of prompt files with this name, in any folder.
///
/// `in_subfolder` is true if the file is below the folder that is scanned: a kind that is
/// recognised by its folder's name does not exist at the top.
pub fn kind_of_file(name: &str, in_subfolder: bool) -> Option<LibraryKind> {
    let ends = |ending: &str| {
        let start = name.len().checked_sub(ending.len()).filter(|at| *at > 0);
        let end = start.and_then(|at| name.get(at..));
        end.is_some_and(|end| end.eq_ignore_ascii_case(ending))
    };
    if name.eq_ignore_ascii_case("skill.md") {
        return Some(LibraryKind::Skills);
    }
    if name.eq_ignore_ascii_case("system.md") && in_subfolder {
        return Some(formats::FABRIC.kind());
    }
    let formats = [&formats::COPILOT, &formats::MODELS].into_iter();
    let mut formats = formats.filter(|format| format.endings.iter().any(|ending| ends(ending)));
    formats.next().map(PromptFormat::kind)
}

/// The kind of a folder called `commands`, by the numbers of its TOML and Markdown files.
pub fn kind_of_commands(toml: usize, markdown: usize) -> LibraryKind {
    if toml > markdown {
        formats::GEMINI.kind()
    } else {
        formats::CLAUDE.kind()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_one_clients() {
        let names = CLIENTS.iter().flat_map(|client| {
            let aliases = client.aliases.iter().map(|alias| (*alias).to_owned());
            aliases.chain([plain(client.id)])
        });
        let mut names: Vec<String> = names.collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count, "{names:?}");
        for alias in CLIENTS.iter().flat_map(|client| client.aliases) {
            assert_eq!(plain(alias), *alias);
        }
    }

    #[test]
    fn one_name_has_one_meaning_in_every_table() {
        // The word of a kind of files is a name of the client that has them.
        for format in CLIENTS.iter().filter_map(|client| client.reads) {
            let found = client(format.files.id).and_then(|client| client.reads);
            let found = found.map(|format| format.files.id);
            assert_eq!(found, Some(format.files.id));
        }
        assert_eq!(
            client("codex").and_then(KnownClient::export_format),
            Some(ExportFormat::Skills)
        );
    }
}
