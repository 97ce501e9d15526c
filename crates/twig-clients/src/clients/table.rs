//! The rows of the table of clients.

use twig_core::LibraryKind;

use super::BaseFolder::{Applications, Config, Home, Own, Settings};
use super::{
    ConfigSyntax, EntryForm, ExportFormat, ExportRules, InstallLink, KnownClient, ListingLimit,
    PromptCall, PromptFolder, PromptFormat, RemoteForm, ServerFile, Successor, TokenForm,
    ValueForm, formats,
};

/// Every client, in the order in which kinds of libraries are offered.
pub static CLIENTS: [&KnownClient; 19] = [
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
    &COPILOT_CLI,
    &KILO,
    &QWEN,
    &GOOSE,
    &FABRIC,
    &CONTINUE,
    &GITHUB_MODELS,
];

/// Clients that Twig can add itself to as a server, in the order in which they are offered.
pub const CONNECTED: [&KnownClient; 15] = [
    &CLAUDE_CODE,
    &CLAUDE_DESKTOP,
    &VS_CODE,
    &CURSOR,
    &ZED,
    &CODEX,
    &GEMINI,
    &OPENCODE,
    &WINDSURF,
    &COPILOT_CLI,
    &KILO,
    &QWEN,
    &GOOSE,
    &CLINE,
    &CONTINUE,
];

/// A client of which only the name is known.
const fn named(id: &'static str, title: &'static str) -> KnownClient {
    KnownClient {
        id,
        aliases: &[],
        title,
        called: &[],
        home_variable: None,
        folders: &[],
        loads: &[],
        reads: None,
        writes: None,
        writes_as: None,
        servers: None,
        listing: None,
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
    remote: None,
    new_file: "",
    successor: None,
    installed: &[],
    programs: &[],
    next: "",
    next_in_project: None,
    call: PromptCall {
        before: None,
        is_rewritten: false,
        values: ValueForm::Words,
        most_arguments: None,
    },
    note: None,
    install_link: None,
};

/// A header in which `${env:NAME}` stands for a variable.
const ENV_HEADER: Option<TokenForm> = Some(TokenForm::Header("${env:", "}"));

/// A header in which `${NAME}` stands for a variable, as in a shell.
const SHELL_HEADER: Option<TokenForm> = Some(TokenForm::Header("${", "}"));

/// A server over HTTP with `type`, `url` and `headers`.
const fn http(kind: &'static str, token: Option<TokenForm>) -> RemoteForm {
    RemoteForm {
        kind: Some(kind),
        url: "url",
        token,
    }
}

/// The same without `type`.
const fn address(url: &'static str, token: Option<TokenForm>) -> RemoteForm {
    RemoteForm {
        kind: None,
        url,
        token,
    }
}

const fn call(before: &'static str, values: ValueForm) -> PromptCall {
    PromptCall {
        before: Some(before),
        is_rewritten: false,
        values,
        most_arguments: None,
    }
}

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

/// Folders of skills that several clients load.
const AGENTS_SKILLS: &str = super::SHARED_SKILLS;
const CLAUDE_SKILLS: &str = ".claude/skills";
const CODEX_SKILLS: &str = ".codex/skills";

/// A folder of prompts, whose library is named like their format.
const fn prompts(path: &'static str, format: &'static PromptFormat) -> PromptFolder {
    folder(path, format.kind(), format.files.id)
}

pub(super) const fn skills(path: &'static str, name: &'static str) -> PromptFolder {
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
    called: &["claude-code"],
    home_variable: Some("CLAUDE_CONFIG_DIR"),
    folders: &[
        prompts(".claude/commands", &formats::CLAUDE),
        skills(AGENTS_SKILLS, "skills"),
        skills(CLAUDE_SKILLS, "claude_skills"),
    ],
    loads: &[".claude/commands", CLAUDE_SKILLS],
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
        remote: Some(http("http", SHELL_HEADER)),
        next: "restart Claude Code, then type `{call}`",
        next_in_project: Some(
            "Claude Code asks each person once whether to use it; then type `{call}`",
        ),
        call: call("/mcp__SERVER__", ValueForm::Words),
        note: Some(
            "Claude Code takes one word for each argument of an MCP prompt; `twig export --to claude` \
             writes commands that keep whole sentences, of prompts without conditions",
        ),
        ..JSON
    }),
    // Version 2.1.325, for a model with a context of 200,000 tokens; it lists its own skills and
    // commands there, and prompts of servers in its menu alone.
    listing: Some(ListingLimit {
        characters: 8_000,
        excess: "drops the descriptions past that",
    }),
    ..named("claude-code", "Claude Code")
};

static CLAUDE_DESKTOP: KnownClient = KnownClient {
    called: &["claude-ai", "claude-desktop"],
    servers: Some(ServerFile {
        user: &[(Applications, "Claude/claude_desktop_config.json")],
        installed: &[&[(Applications, "Claude")]],
        programs: &["claude-desktop"],
        next: "quit Claude Desktop and start it again, then choose `{call}` in the + menu",
        call: call("", ValueForm::Asked),
        ..JSON
    }),
    ..named("claude-desktop", "Claude Desktop")
};

static VS_CODE: KnownClient = KnownClient {
    aliases: &["code", "visualstudiocode", "copilot", "githubcopilot"],
    called: &["visual studio code", "code - oss"],
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
    loads: &[
        ".github/prompts",
        ".config/Code/User/prompts",
        "Library/Application Support/Code/User/prompts",
        ".github/skills",
        ".copilot/skills",
        AGENTS_SKILLS,
        CLAUDE_SKILLS,
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
        remote: Some(http("http", ENV_HEADER)),
        next: "VS Code asks once whether to trust it; then type `{call}` in chat",
        call: PromptCall {
            is_rewritten: true,
            ..call("/mcp.SERVER.", ValueForm::Asked)
        },
        install_link: Some(InstallLink::Json("vscode:mcp/install?")),
        ..JSON
    }),
    ..named("vscode", "VS Code")
};

static CODEX: KnownClient = KnownClient {
    aliases: &["codexcli"],
    called: &["codex-mcp-client"],
    home_variable: Some("CODEX_HOME"),
    folders: &[
        prompts(".codex/prompts", &formats::CODEX),
        skills(CODEX_SKILLS, "codex_skills"),
    ],
    loads: &[".codex/prompts", CODEX_SKILLS, AGENTS_SKILLS],
    reads: Some(&formats::CODEX),
    writes_as: Some(ExportFormat::Skills),
    servers: Some(ServerFile {
        syntax: ConfigSyntax::Toml,
        user: &[(Own, "config.toml"), (Home, ".codex/config.toml")],
        project: Some(".codex/config.toml"),
        layout: (&["mcp_servers"], EntryForm::Plain),
        installed: &[&[(Own, ""), (Home, ".codex")]],
        programs: &["codex"],
        remote: Some(address(
            "url",
            Some(TokenForm::Key("bearer_token_env_var", "", "")),
        )),
        next: "restart Codex, then write `{call}` in a message (Codex has no MCP prompts, so Twig \
               offers tools)",
        next_in_project: Some(
            "Codex reads it in folders that you trust; write `{call}` in a message (Codex has no MCP \
             prompts, so Twig offers tools)",
        ),
        ..JSON
    }),
    // Version 0.166.0, for its list of skills.
    listing: Some(ListingLimit {
        characters: 20_000,
        excess: "shortens all descriptions to fit",
    }),
    ..named("codex", "Codex")
};

static GEMINI: KnownClient = KnownClient {
    aliases: &["geminicli"],
    called: &["gemini-cli-mcp-client"],
    home_variable: Some("GEMINI_CLI_HOME"),
    folders: &[
        prompts(".gemini/commands", &formats::GEMINI),
        skills(".gemini/skills", "gemini_skills"),
    ],
    loads: &[".gemini/commands", ".gemini/skills", AGENTS_SKILLS],
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
        remote: Some(address("httpUrl", SHELL_HEADER)),
        next: "restart Gemini CLI in a folder that it trusts, then type `{call}`",
        call: call("/", ValueForm::Flags),
        ..JSON
    }),
    ..named("gemini", "Gemini CLI")
};

static CURSOR: KnownClient = KnownClient {
    called: &["cursor"],
    folders: &[
        prompts(".cursor/commands", &formats::CURSOR),
        skills(".cursor/skills", "cursor_skills"),
    ],
    loads: &[
        ".cursor/commands",
        ".cursor/skills",
        AGENTS_SKILLS,
        CLAUDE_SKILLS,
        CODEX_SKILLS,
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
        remote: Some(address("url", ENV_HEADER)),
        next: "switch it on in Cursor's settings if Cursor asks, then type `{call}`",
        call: call("/", ValueForm::Words),
        install_link: Some(InstallLink::NameAndConfig(
            "cursor://anysphere.cursor-deeplink/mcp/install?",
        )),
        ..JSON
    }),
    ..named("cursor", "Cursor")
};

static OPENCODE: KnownClient = KnownClient {
    called: &["opencode"],
    folders: &[
        prompts(".opencode/command", &formats::OPENCODE),
        prompts(".opencode/commands", &formats::OPENCODE),
        skills(".opencode/skills", "opencode_skills"),
        prompts(".config/opencode/command", &formats::OPENCODE),
        prompts(".config/opencode/commands", &formats::OPENCODE),
        skills(".config/opencode/skills", "opencode_skills"),
    ],
    loads: &[
        ".opencode/command",
        ".opencode/commands",
        ".opencode/skills",
        ".config/opencode/command",
        ".config/opencode/commands",
        ".config/opencode/skills",
        AGENTS_SKILLS,
        CLAUDE_SKILLS,
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
        remote: Some(http("remote", Some(TokenForm::Header("{env:", "}")))),
        installed: &[&[(Config, "opencode")]],
        programs: &["opencode"],
        next: "restart opencode, then type `{call}`",
        call: PromptCall {
            is_rewritten: true,
            ..call("/SERVER:", ValueForm::Words)
        },
        ..JSON
    }),
    ..named("opencode", "opencode")
};

static WINDSURF: KnownClient = KnownClient {
    // Windsurf is called Devin Desktop since 2026.
    aliases: &["devin", "devindesktop"],
    called: &["windsurf"],
    folders: &[
        prompts(".windsurf/workflows", &formats::WINDSURF),
        skills(".windsurf/skills", "windsurf_skills"),
        prompts(".codeium/windsurf/global_workflows", &formats::WINDSURF),
        skills(".codeium/windsurf/skills", "windsurf_skills"),
    ],
    loads: &[
        ".windsurf/workflows",
        ".windsurf/skills",
        ".codeium/windsurf/global_workflows",
        ".codeium/windsurf/skills",
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
        remote: Some(address("serverUrl", ENV_HEADER)),
        next: "reload the MCP servers in its settings, then write `{call}` in a message",
        ..JSON
    }),
    ..named("windsurf", "Windsurf")
};

static ZED: KnownClient = KnownClient {
    called: &["zed"],
    loads: &[AGENTS_SKILLS],
    servers: Some(ServerFile {
        user: &[(Settings, "zed/settings.json")],
        project: Some(".zed/settings.json"),
        layout: (&["context_servers"], EntryForm::Plain),
        installed: &[&[(Settings, "zed")]],
        programs: &["zed", "zeditor"],
        // Its headers are written out.
        remote: Some(address("url", None)),
        next: "Zed has it at once: type `{call}` (it lists prompts with at most one argument)",
        call: PromptCall {
            most_arguments: Some(1),
            ..call("/", ValueForm::Words)
        },
        ..JSON
    }),
    ..named("zed", "Zed")
};

static KIRO: KnownClient = KnownClient {
    folders: &[skills(".kiro/skills", "kiro_skills")],
    ..named("kiro", "Kiro")
};

static CLINE: KnownClient = KnownClient {
    called: &["cline", "@cline/core"],
    folders: &[
        folder(".clinerules/workflows", formats::WINDSURF.kind(), "cline"),
        skills(".cline/skills", "cline_skills"),
    ],
    loads: &[".clinerules/workflows", ".cline/skills", AGENTS_SKILLS],
    home_variable: Some("CLINE_DATA_DIR"),
    servers: Some(ServerFile {
        user: &[
            (Own, "settings/cline_mcp_settings.json"),
            (Home, ".cline/data/settings/cline_mcp_settings.json"),
        ],
        // Its headers are written out.
        remote: Some(http("streamableHttp", None)),
        installed: &[&[(Own, ""), (Home, ".cline/data")]],
        programs: &["cline"],
        next: "restart Cline, then write `{call}` in a message (Cline has no MCP prompts, so Twig \
               offers tools)",
        ..JSON
    }),
    ..named("cline", "Cline")
};

static COPILOT_CLI: KnownClient = KnownClient {
    aliases: &["githubcopilotcli"],
    called: &["copilot-cli", "github-copilot-developer"],
    home_variable: Some("COPILOT_HOME"),
    loads: &[".github/skills", ".copilot/skills", AGENTS_SKILLS],
    servers: Some(ServerFile {
        user: &[(Own, "mcp-config.json"), (Home, ".copilot/mcp-config.json")],
        project: Some(".github/mcp.json"),
        layout: (&["mcpServers"], EntryForm::AllTools),
        remote: Some(http("http", SHELL_HEADER)),
        installed: &[
            &[(Own, "session-state"), (Home, ".copilot/session-state")],
            &[(Own, "mcp-config.json"), (Home, ".copilot/mcp-config.json")],
        ],
        programs: &["copilot"],
        next: "restart Copilot CLI, then write `{call}` in a message (Copilot CLI has no MCP prompts, \
               so Twig offers tools)",
        ..JSON
    }),
    ..named("copilot-cli", "Copilot CLI")
};

static KILO: KnownClient = KnownClient {
    aliases: &["kilocode"],
    called: &["kilo"],
    loads: &[".kilo/skills", AGENTS_SKILLS],
    servers: Some(ServerFile {
        user: &[(Config, "kilo/kilo.json")],
        is_jsonc: true,
        layout: (&["mcp"], EntryForm::Enabled),
        remote: Some(http("remote", Some(TokenForm::Header("{env:", "}")))),
        installed: &[&[(Config, "kilo")]],
        programs: &["kilo"],
        next: "restart Kilo, then type `{call}`",
        call: PromptCall {
            is_rewritten: true,
            ..call("/SERVER:", ValueForm::Words)
        },
        ..JSON
    }),
    ..named("kilo", "Kilo")
};

static QWEN: KnownClient = KnownClient {
    aliases: &["qwencode"],
    called: &["qwen-cli-mcp-client", "qwen-code"],
    home_variable: Some("QWEN_HOME"),
    loads: &[".qwen/skills"],
    servers: Some(ServerFile {
        user: &[(Own, "settings.json"), (Home, ".qwen/settings.json")],
        project: Some(".qwen/settings.json"),
        remote: Some(address("httpUrl", SHELL_HEADER)),
        installed: &[&[(Own, ""), (Home, ".qwen")]],
        programs: &["qwen"],
        next: "restart Qwen Code, then type `{call}`",
        call: call("/", ValueForm::Flags),
        ..JSON
    }),
    ..named("qwen", "Qwen Code")
};

static GOOSE: KnownClient = KnownClient {
    called: &["goose"],
    loads: &[".goose/skills", ".config/goose/skills"],
    servers: Some(ServerFile {
        syntax: ConfigSyntax::Yaml,
        user: &[(Settings, "goose/config.yaml")],
        layout: (&["extensions"], EntryForm::Extension),
        remote: Some(RemoteForm {
            kind: Some("streamable_http"),
            url: "uri",
            token: SHELL_HEADER,
        }),
        installed: &[&[(Settings, "goose")]],
        programs: &["goose"],
        next: "restart goose, then type `{call}`",
        call: call("/prompt ", ValueForm::Pairs),
        ..JSON
    }),
    ..named("goose", "goose")
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
    called: &["continue-client", "continue-cli-client"],
    folders: &[folder(
        ".continue/prompts",
        LibraryKind::Markdown,
        "continue",
    )],
    loads: &[".continue/prompts", ".continue/skills"],
    home_variable: Some("CONTINUE_GLOBAL_DIR"),
    servers: Some(ServerFile {
        syntax: ConfigSyntax::YamlList,
        user: &[(Own, "config.yaml"), (Home, ".continue/config.yaml")],
        layout: (&["mcpServers"], EntryForm::Named),
        remote: Some(http(
            "streamable-http",
            Some(TokenForm::Key("apiKey", "${{ secrets.", " }}")),
        )),
        new_file: "name: Local Config\nversion: 1.0.0\nschema: v1\n",
        installed: &[&[(Own, ""), (Home, ".continue")]],
        programs: &["cn"],
        next: "restart Continue, then write `{call}` in a message (Continue CLI offers no MCP prompts, \
               so Twig offers tools)",
        ..JSON
    }),
    ..named("continue", "Continue")
};

static GITHUB_MODELS: KnownClient = KnownClient {
    aliases: &["models"],
    reads: Some(&formats::MODELS),
    ..named("github-models", "GitHub Models")
};
