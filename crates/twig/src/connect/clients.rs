//! The clients: where each keeps its servers, and in which words.

use std::path::{Path, PathBuf};

use super::launch::Form;
use crate::places::ClientPlaces;

/// A client whose configuration Twig can write itself into.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Client {
    ClaudeCode,
    ClaudeDesktop,
    VsCode,
    Cursor,
    Zed,
    Codex,
    Gemini,
    OpenCode,
    Windsurf,
}

/// For whom a file is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope {
    /// This person, in every project.
    User,
    /// Everybody who works in a project.
    Project,
}

impl Scope {
    pub(crate) const ALL: [Scope; 2] = [Scope::User, Scope::Project];

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Scope::User => "user",
            Scope::Project => "project",
        }
    }
}

/// How a file is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Syntax {
    Jsonc,
    Toml,
}

impl Client {
    pub(crate) const ALL: [Client; 9] = [
        Client::ClaudeCode,
        Client::ClaudeDesktop,
        Client::VsCode,
        Client::Cursor,
        Client::Zed,
        Client::Codex,
        Client::Gemini,
        Client::OpenCode,
        Client::Windsurf,
    ];

    /// The name on the command line.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Client::ClaudeCode => "claude-code",
            Client::ClaudeDesktop => "claude-desktop",
            Client::VsCode => "vscode",
            Client::Cursor => "cursor",
            Client::Zed => "zed",
            Client::Codex => "codex",
            Client::Gemini => "gemini",
            Client::OpenCode => "opencode",
            Client::Windsurf => "windsurf",
        }
    }

    /// The name that people know it by.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Client::ClaudeCode => "Claude Code",
            Client::ClaudeDesktop => "Claude Desktop",
            Client::VsCode => "VS Code",
            Client::Cursor => "Cursor",
            Client::Zed => "Zed",
            Client::Codex => "Codex",
            Client::Gemini => "Gemini CLI",
            Client::OpenCode => "opencode",
            Client::Windsurf => "Windsurf",
        }
    }

    /// The client of a name, also in other usual spellings of it.
    pub(crate) fn of(text: &str) -> Option<Self> {
        let letters = text.chars().filter(char::is_ascii_alphanumeric);
        let plain: String = letters.map(|c| c.to_ascii_lowercase()).collect();
        Some(match plain.as_str() {
            "claudecode" => Client::ClaudeCode,
            "claudedesktop" => Client::ClaudeDesktop,
            "vscode" | "code" | "visualstudiocode" => Client::VsCode,
            "cursor" => Client::Cursor,
            "zed" => Client::Zed,
            "codex" | "codexcli" => Client::Codex,
            "gemini" | "geminicli" => Client::Gemini,
            "opencode" => Client::OpenCode,
            // Windsurf is called Devin Desktop since 2026.
            "windsurf" | "devin" | "devindesktop" => Client::Windsurf,
            _ => return None,
        })
    }

    pub(crate) fn syntax(self) -> Syntax {
        if self == Client::Codex {
            Syntax::Toml
        } else {
            Syntax::Jsonc
        }
    }

    /// The file of a scope. Nothing where the client has no such scope, or this person no home.
    pub(crate) fn file(
        self,
        scope: Scope,
        project: &Path,
        places: &ClientPlaces,
    ) -> Option<PathBuf> {
        match scope {
            Scope::User => self.user_file(places),
            Scope::Project => self.project_file(project, places),
        }
    }

    fn user_file(self, places: &ClientPlaces) -> Option<PathBuf> {
        let home = places.home.as_deref();
        let config = places.config.as_deref();
        let applications = places.applications.as_deref();
        Some(match self {
            Client::ClaudeCode => {
                let folder = places.claude.as_deref().or(home)?;
                folder.join(".claude.json")
            }
            Client::ClaudeDesktop => applications?.join("Claude/claude_desktop_config.json"),
            Client::VsCode => applications?.join("Code/User/mcp.json"),
            Client::Cursor => home?.join(".cursor/mcp.json"),
            Client::Zed if cfg!(windows) => applications?.join("Zed/settings.json"),
            Client::Zed => config?.join("zed/settings.json"),
            Client::Codex => codex_home(places)?.join("config.toml"),
            Client::Gemini => gemini_home(places)?.join("settings.json"),
            Client::OpenCode => with_comments(&config?.join("opencode/opencode.json")),
            Client::Windsurf => match devin(places) {
                Some(devin) => devin.join("mcp_config.json"),
                None => home?.join(".codeium/windsurf/mcp_config.json"),
            },
        })
    }

    fn project_file(self, project: &Path, places: &ClientPlaces) -> Option<PathBuf> {
        Some(match self {
            Client::ClaudeCode => project.join(".mcp.json"),
            Client::ClaudeDesktop => return None,
            Client::VsCode => project.join(".vscode/mcp.json"),
            Client::Cursor => project.join(".cursor/mcp.json"),
            Client::Zed => project.join(".zed/settings.json"),
            Client::Codex => project.join(".codex/config.toml"),
            Client::Gemini => project.join(".gemini/settings.json"),
            Client::OpenCode => with_comments(&project.join("opencode.json")),
            // Only since it is called Devin Desktop.
            Client::Windsurf => devin(places).map(|_| project.join(".devin/mcp_config.json"))?,
        })
    }

    /// The keys that lead to the servers, and the words of an entry there.
    pub(crate) fn layout(self, text: &str) -> (&'static [&'static str], Form) {
        match self {
            Client::ClaudeCode | Client::Cursor => (&["mcpServers"], Form::Typed),
            Client::VsCode => (&["servers"], Form::Typed),
            Client::ClaudeDesktop | Client::Gemini | Client::Windsurf => {
                (&["mcpServers"], Form::Plain)
            }
            Client::Zed => (&["context_servers"], Form::Plain),
            Client::Codex => (&["mcp_servers"], Form::Plain),
            // The second opencode has servers one level deeper, and reads the first one's form as
            // well; the first does not read the second's. A file says which one it was made for.
            Client::OpenCode if is_second_opencode(text) => (&["mcp", "servers"], Form::Local),
            Client::OpenCode => (&["mcp"], Form::Enabled),
        }
    }

    /// Whether it seems to be on this machine: its folder or its program is.
    pub(crate) fn is_installed(self, places: &ClientPlaces) -> bool {
        let home = |path: &str| places.home.as_ref().map(|home| home.join(path));
        let config = |path: &str| places.config.as_ref().map(|config| config.join(path));
        let application = |path: &str| places.applications.as_ref().map(|base| base.join(path));
        let (folders, programs): (Vec<Option<PathBuf>>, &[&str]) = match self {
            Client::ClaudeCode => (
                vec![places.claude.clone(), home(".claude"), home(".claude.json")],
                &["claude"],
            ),
            Client::ClaudeDesktop => (vec![application("Claude")], &["claude-desktop"]),
            Client::VsCode => (vec![application("Code")], &["code"]),
            Client::Cursor => (vec![home(".cursor")], &["cursor", "cursor-agent"]),
            Client::Zed if cfg!(windows) => (vec![application("Zed")], &["zed"]),
            Client::Zed => (vec![config("zed")], &["zed", "zeditor"]),
            Client::Codex => (vec![codex_home(places)], &["codex"]),
            Client::Gemini => (vec![gemini_home(places)], &["gemini"]),
            Client::OpenCode => (vec![config("opencode")], &["opencode"]),
            Client::Windsurf => (
                vec![home(".codeium/windsurf"), devin(places)],
                &["windsurf", "devin"],
            ),
        };
        folders.iter().flatten().any(|folder| folder.exists())
            || programs.iter().any(|name| places.program(name).is_some())
    }

    /// What a person has to do or know once the file is written.
    pub(crate) fn next(self, scope: Scope) -> &'static str {
        match (self, scope) {
            (Client::ClaudeCode, Scope::User) => "start Claude Code anew, then type /mcp__",
            (Client::ClaudeCode, Scope::Project) => {
                "Claude Code asks each person once whether to use it; then type /mcp__"
            }
            (Client::ClaudeDesktop, _) => "quit Claude Desktop and start it again",
            (Client::VsCode, _) => "VS Code asks once whether to trust it; then type /mcp. in chat",
            (Client::Cursor, _) => "switch it on in Cursor's settings if Cursor asks",
            (Client::Zed, _) => "Zed has it at once; it lists prompts with at most one argument",
            (Client::Codex, Scope::User) => {
                "start Codex anew; it has no prompts, and reaches them with two tools"
            }
            (Client::Codex, Scope::Project) => {
                "Codex reads it in folders that you trust; it reaches prompts with two tools"
            }
            (Client::Gemini, _) => {
                "start Gemini CLI anew in a folder that it trusts, then type / and a prompt's name"
            }
            (Client::OpenCode, _) => "start opencode anew, then type / and a prompt's name",
            (Client::Windsurf, _) => "reload the MCP servers in its settings",
        }
    }
}

fn codex_home(places: &ClientPlaces) -> Option<PathBuf> {
    let named = places.codex.clone();
    named.or_else(|| Some(places.home.as_ref()?.join(".codex")))
}

fn gemini_home(places: &ClientPlaces) -> Option<PathBuf> {
    let home = places.gemini.as_ref().or(places.home.as_ref())?;
    Some(home.join(".gemini"))
}

/// The folder of Devin Desktop, which Windsurf became, where it has been run.
fn devin(places: &ClientPlaces) -> Option<PathBuf> {
    let base = if cfg!(windows) {
        places.applications.as_ref()
    } else {
        places.config.as_ref()
    };
    let folder = base?.join("devin");
    folder.is_dir().then_some(folder)
}

/// A `.json` that is there, else a `.jsonc` that is.
fn with_comments(path: &Path) -> PathBuf {
    let other = path.with_extension("jsonc");
    if !path.exists() && other.exists() {
        other
    } else {
        path.to_owned()
    }
}

/// Whether `mcp.servers` holds servers, and is not itself one of that name.
fn is_second_opencode(text: &str) -> bool {
    let entries = super::jsonc::entries(text, &["mcp"]).unwrap_or_default();
    let servers = entries.iter().find(|(name, ..)| name == "servers");
    servers.is_some_and(|(_, value, _)| value.is_object() && value.get("type").is_none())
}
