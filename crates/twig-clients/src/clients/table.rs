//! The rows of the table of clients.

use twig_core::LibraryKind;

use super::BaseFolder::{Applications, Config, Home, Own, Settings};
use super::{
    ConfigSyntax, EntryForm, ExportFormat, ExportRules, KnownClient, PromptFolder, PromptFormat,
    ServerFile, Successor, formats,
};

/// Every client, in the order in which kinds of libraries are offered.
pub static CLIENTS: [&KnownClient; 15] = [
    &SKILLS,
    &CLAUDE_CODE,
    &CLAUDE_DESKTOP,
    &VS_CODE,
    &CODEX,
    &GEMINI,
    &CURSOR,
    &OPENCODE,
    &WINDSURF,
    &ZED,
    &KIRO,
    &CLINE,
    &FABRIC,
    &CONTINUE,
    &GITHUB_MODELS,
];

/// Clients that Twig can add itself to as a server, in the order in which they are offered.
pub const CONNECTED: [&KnownClient; 9] = [
    &CLAUDE_CODE,
    &CLAUDE_DESKTOP,
    &VS_CODE,
    &CURSOR,
    &ZED,
    &CODEX,
    &GEMINI,
    &OPENCODE,
    &WINDSURF,
];

/// A client of which only the name is known.
const fn named(id: &'static str, title: &'static str) -> KnownClient {
    KnownClient {
        id,
        aliases: &[],
        title,
        home_variable: None,
        folders: &[],
        reads: None,
        writes: None,
        writes_as: None,
        servers: None,
    }
}

/// A file of servers in JSON, with entries of `command`, `args` and `env`.
const JSON: ServerFile = ServerFile {
    syntax: ConfigSyntax::Jsonc,
    user: &[],
    project: None,
    is_jsonc: false,
    layout: (&["mcpServers"], EntryForm::Plain),
    newer_layout: None,
    successor: None,
    installed: &[],
    programs: &[],
    next: "",
    next_in_project: None,
};

/// Files of any length.
const EXPORT: ExportRules = ExportRules {
    format: ExportFormat::Skills,
    folder: "",
    user: &[],
    longest: None,
    keeps_keys: false,
};

const fn folder(path: &'static str, kind: LibraryKind, name: &'static str) -> PromptFolder {
    PromptFolder { path, kind, name }
}

/// A folder of prompts, whose library is named like their format.
const fn prompts(path: &'static str, format: &'static PromptFormat) -> PromptFolder {
    folder(path, format.kind(), format.files.id)
}

const fn skills(path: &'static str, name: &'static str) -> PromptFolder {
    folder(path, LibraryKind::Skills, name)
}

/// Folders with a `SKILL.md`, which many clients read. Their folder is next to Claude Code's, since
/// it comes before that one's skills, which often are a symlink to it.
static SKILLS: KnownClient = KnownClient {
    writes: Some(ExportRules {
        format: ExportFormat::Skills,
        folder: ".agents/skills",
        user: &[(Home, ".agents/skills")],
        ..EXPORT
    }),
    ..named("skills", "a skill")
};

static CLAUDE_CODE: KnownClient = KnownClient {
    aliases: &["claude"],
    home_variable: Some("CLAUDE_CONFIG_DIR"),
    folders: &[
        prompts(".claude/commands", &formats::CLAUDE),
        skills(".agents/skills", "skills"),
        skills(".claude/skills", "claude_skills"),
    ],
    reads: Some(&formats::CLAUDE),
    writes: Some(ExportRules {
        format: ExportFormat::Claude,
        folder: ".claude/commands",
        user: &[(Own, "commands"), (Home, ".claude/commands")],
        keeps_keys: true,
        ..EXPORT
    }),
    servers: Some(ServerFile {
        user: &[(Own, ".claude.json"), (Home, ".claude.json")],
        project: Some(".mcp.json"),
        layout: (&["mcpServers"], EntryForm::Typed),
        installed: &[
            &[(Own, "")],
            &[(Home, ".claude")],
            &[(Home, ".claude.json")],
        ],
        programs: &["claude"],
        next: "restart Claude Code, then type /mcp__",
        next_in_project: Some(
            "Claude Code asks each person once whether to use it; then type /mcp__",
        ),
        ..JSON
    }),
    ..named("claude-code", "Claude Code")
};

static CLAUDE_DESKTOP: KnownClient = KnownClient {
    servers: Some(ServerFile {
        user: &[(Applications, "Claude/claude_desktop_config.json")],
        installed: &[&[(Applications, "Claude")]],
        programs: &["claude-desktop"],
        next: "quit Claude Desktop and start it again",
        ..JSON
    }),
    ..named("claude-desktop", "Claude Desktop")
};

static VS_CODE: KnownClient = KnownClient {
    aliases: &["code", "visualstudiocode", "copilot", "githubcopilot"],
    folders: &[
        prompts(".github/prompts", &formats::COPILOT),
        prompts(".config/Code/User/prompts", &formats::COPILOT),
        prompts(
            "Library/Application Support/Code/User/prompts",
            &formats::COPILOT,
        ),
        skills(".github/skills", "copilot_skills"),
        skills(".copilot/skills", "copilot_skills"),
    ],
    reads: Some(&formats::COPILOT),
    writes: Some(ExportRules {
        format: ExportFormat::Copilot,
        folder: ".github/prompts",
        user: &[(Applications, "Code/User/prompts")],
        keeps_keys: true,
        ..EXPORT
    }),
    servers: Some(ServerFile {
        user: &[(Applications, "Code/User/mcp.json")],
        project: Some(".vscode/mcp.json"),
        layout: (&["servers"], EntryForm::Typed),
        installed: &[&[(Applications, "Code")]],
        programs: &["code"],
        next: "VS Code asks once whether to trust it; then type /mcp. in chat",
        ..JSON
    }),
    ..named("vscode", "VS Code")
};

static CODEX: KnownClient = KnownClient {
    aliases: &["codexcli"],
    home_variable: Some("CODEX_HOME"),
    folders: &[
        prompts(".codex/prompts", &formats::CODEX),
        skills(".codex/skills", "codex_skills"),
    ],
    reads: Some(&formats::CODEX),
    writes_as: Some(ExportFormat::Skills),
    servers: Some(ServerFile {
        syntax: ConfigSyntax::Toml,
        user: &[(Own, "config.toml"), (Home, ".codex/config.toml")],
        project: Some(".codex/config.toml"),
        layout: (&["mcp_servers"], EntryForm::Plain),
        installed: &[&[(Own, ""), (Home, ".codex")]],
        programs: &["codex"],
        next: "restart Codex, then write :NAME in a message (Codex has no MCP prompts, so Twig offers \
               tools)",
        next_in_project: Some(
            "Codex reads it in folders that you trust; write :NAME in a message (Codex has no MCP \
             prompts, so Twig offers tools)",
        ),
        ..JSON
    }),
    ..named("codex", "Codex")
};

static GEMINI: KnownClient = KnownClient {
    aliases: &["geminicli"],
    home_variable: Some("GEMINI_CLI_HOME"),
    folders: &[
        prompts(".gemini/commands", &formats::GEMINI),
        skills(".gemini/skills", "gemini_skills"),
    ],
    reads: Some(&formats::GEMINI),
    writes: Some(ExportRules {
        format: ExportFormat::Gemini,
        folder: ".gemini/commands",
        user: &[(Own, ".gemini/commands"), (Home, ".gemini/commands")],
        ..EXPORT
    }),
    servers: Some(ServerFile {
        user: &[
            (Own, ".gemini/settings.json"),
            (Home, ".gemini/settings.json"),
        ],
        project: Some(".gemini/settings.json"),
        installed: &[&[(Own, ".gemini"), (Home, ".gemini")]],
        programs: &["gemini"],
        next: "restart Gemini CLI in a folder that it trusts, then type / and a prompt's name",
        ..JSON
    }),
    ..named("gemini", "Gemini CLI")
};

static CURSOR: KnownClient = KnownClient {
    folders: &[
        prompts(".cursor/commands", &formats::CURSOR),
        skills(".cursor/skills", "cursor_skills"),
    ],
    reads: Some(&formats::CURSOR),
    writes: Some(ExportRules {
        format: ExportFormat::Cursor,
        folder: ".cursor/commands",
        user: &[(Home, ".cursor/commands")],
        ..EXPORT
    }),
    servers: Some(ServerFile {
        user: &[(Home, ".cursor/mcp.json")],
        project: Some(".cursor/mcp.json"),
        layout: (&["mcpServers"], EntryForm::Typed),
        installed: &[&[(Home, ".cursor")]],
        programs: &["cursor", "cursor-agent"],
        next: "switch it on in Cursor's settings if Cursor asks",
        ..JSON
    }),
    ..named("cursor", "Cursor")
};

static OPENCODE: KnownClient = KnownClient {
    folders: &[
        prompts(".opencode/command", &formats::OPENCODE),
        prompts(".opencode/commands", &formats::OPENCODE),
        skills(".opencode/skills", "opencode_skills"),
        prompts(".config/opencode/command", &formats::OPENCODE),
        prompts(".config/opencode/commands", &formats::OPENCODE),
        skills(".config/opencode/skills", "opencode_skills"),
    ],
    reads: Some(&formats::OPENCODE),
    writes: Some(ExportRules {
        format: ExportFormat::Opencode,
        folder: ".opencode/command",
        user: &[(Config, "opencode/command")],
        keeps_keys: true,
        ..EXPORT
    }),
    servers: Some(ServerFile {
        user: &[(Config, "opencode/opencode.json")],
        project: Some("opencode.json"),
        is_jsonc: true,
        layout: (&["mcp"], EntryForm::Enabled),
        // The second opencode also reads the first one's form; the first does not read the
        // second's.
        newer_layout: Some((&["mcp", "servers"], EntryForm::Local)),
        installed: &[&[(Config, "opencode")]],
        programs: &["opencode"],
        next: "restart opencode, then type / and a prompt's name",
        ..JSON
    }),
    ..named("opencode", "opencode")
};

static WINDSURF: KnownClient = KnownClient {
    // Windsurf is called Devin Desktop since 2026.
    aliases: &["devin", "devindesktop"],
    folders: &[
        prompts(".windsurf/workflows", &formats::WINDSURF),
        skills(".windsurf/skills", "windsurf_skills"),
        prompts(".codeium/windsurf/global_workflows", &formats::WINDSURF),
        skills(".codeium/windsurf/skills", "windsurf_skills"),
    ],
    reads: Some(&formats::WINDSURF),
    writes: Some(ExportRules {
        format: ExportFormat::Windsurf,
        folder: ".windsurf/workflows",
        user: &[(Home, ".codeium/windsurf/global_workflows")],
        longest: Some(12_000),
        ..EXPORT
    }),
    servers: Some(ServerFile {
        user: &[(Home, ".codeium/windsurf/mcp_config.json")],
        successor: Some(Successor {
            folder: &[(Settings, "devin")],
            user: "mcp_config.json",
            project: ".devin/mcp_config.json",
        }),
        installed: &[&[(Home, ".codeium/windsurf")], &[(Settings, "devin")]],
        programs: &["windsurf", "devin"],
        next: "reload the MCP servers in its settings",
        ..JSON
    }),
    ..named("windsurf", "Windsurf")
};

static ZED: KnownClient = KnownClient {
    servers: Some(ServerFile {
        user: &[(Settings, "zed/settings.json")],
        project: Some(".zed/settings.json"),
        layout: (&["context_servers"], EntryForm::Plain),
        installed: &[&[(Settings, "zed")]],
        programs: &["zed", "zeditor"],
        next: "Zed has it at once; it lists prompts with at most one argument",
        ..JSON
    }),
    ..named("zed", "Zed")
};

static KIRO: KnownClient = KnownClient {
    folders: &[skills(".kiro/skills", "kiro_skills")],
    ..named("kiro", "Kiro")
};

static CLINE: KnownClient = KnownClient {
    folders: &[
        folder(".clinerules/workflows", formats::WINDSURF.kind(), "cline"),
        skills(".cline/skills", "cline_skills"),
    ],
    ..named("cline", "Cline")
};

static FABRIC: KnownClient = KnownClient {
    folders: &[
        prompts(".config/fabric/patterns", &formats::FABRIC),
        prompts("data/patterns", &formats::FABRIC),
    ],
    reads: Some(&formats::FABRIC),
    ..named("fabric", "Fabric")
};

static CONTINUE: KnownClient = KnownClient {
    folders: &[folder(
        ".continue/prompts",
        LibraryKind::Markdown,
        "continue",
    )],
    ..named("continue", "Continue")
};

static GITHUB_MODELS: KnownClient = KnownClient {
    aliases: &["models"],
    reads: Some(&formats::MODELS),
    ..named("github-models", "GitHub Models")
};
