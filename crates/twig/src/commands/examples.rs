//! The examples at the end of each `--help`.

use clap::Command;

/// A command, and lines that can be typed.
type ExampleRow = (&'static str, &'static [&'static str]);

const EXAMPLES: &[ExampleRow] = &[
    (
        "",
        &[
            "twig demo",
            "twig list",
            "git diff | twig render review code=-",
            "twig connect claude-code",
        ],
    ),
    (
        "serve",
        &[
            "twig serve",
            "twig serve --http 127.0.0.1:7390",
            "twig serve --library ./prompts --read-only",
        ],
    ),
    ("demo", &["twig demo"]),
    (
        "add",
        &[
            "twig add obra/superpowers",
            "twig add anthropics/skills --only 'pdf,docx' --as office",
            "twig add https://git.example.com/team/prompts.git#v2 --yes",
            "twig add ../prompts",
        ],
    ),
    ("install", &["twig install", "twig install --frozen"]),
    ("outdated", &["twig outdated"]),
    (
        "update",
        &["twig update --plan", "twig update", "twig update --undo"],
    ),
    (
        "diff",
        &[
            "twig diff superpowers",
            "twig diff superpowers v5.1.0..v5.2.0",
        ],
    ),
    ("why", &["twig why superpowers:debugging"]),
    ("remove", &["twig remove superpowers"]),
    ("gc", &["twig gc --dry-run", "twig gc"]),
    (
        "list",
        &[
            "twig list",
            "twig list --names | fzf",
            "twig list --documents --json",
        ],
    ),
    ("show", &["twig show review", "twig show review --json"]),
    (
        "render",
        &[
            "git diff | twig render review code=-",
            "twig render fix-issue 12 high",
            "twig render review code=@src/main.rs --copy",
        ],
    ),
    (
        "page",
        &["twig page", "twig page --no-open", "twig page --forget"],
    ),
    (
        "pick",
        &[
            "claude \"$(twig pick)\"",
            "twig pick commit --copy",
            "twig pick --plain | fzf",
        ],
    ),
    (
        "search",
        &[
            "twig search commit message",
            "twig search how do I write release notes",
            "twig search review --json",
        ],
    ),
    (
        "bench",
        &["twig bench search --evals ./skills --library ./skills"],
    ),
    (
        "bench search",
        &[
            "twig bench search --evals ./skills --library ./skills",
            "twig bench search --evals ./skills --misses",
        ],
    ),
    ("check", &["twig check", "twig check ./prompts"]),
    (
        "init",
        &[
            "twig init",
            "twig init ~/work/shop",
            "twig init --format definitions",
        ],
    ),
    ("lsp", &["twig lsp", "twig help editor"]),
    (
        "schema",
        &[
            "twig schema > twig.schema.json",
            "twig schema config > ~/.config/twig/config.schema.json",
        ],
    ),
    (
        "new",
        &[
            "twig new library my_prompts",
            "twig new prompt my_prompts:review",
        ],
    ),
    (
        "new library",
        &[
            "twig new library my_prompts",
            "twig new library team --in ~/team",
        ],
    ),
    (
        "new prompt",
        &[
            "twig new prompt my_prompts:review",
            "twig new prompt my_prompts:plan --description \"Plan a change\"",
        ],
    ),
    (
        "edit",
        &[
            "twig edit review",
            "VISUAL=\"code --wait\" twig edit review",
        ],
    ),
    ("mv", &["twig mv review my_prompts:check"]),
    ("rm", &["twig rm my_prompts:review"]),
    (
        "path",
        &[
            "twig path review",
            "cd \"$(dirname \"$(twig path review)\")\"",
        ],
    ),
    (
        "schema",
        &["twig schema > twig.schema.json", "twig schema config"],
    ),
    (
        "import",
        &[
            "twig import prompts.csv --dry-run",
            "twig import ~/src/app/prompts --into team",
        ],
    ),
    (
        "verify",
        &[
            "twig verify",
            "twig verify --trust-key nvidia.pem --for 'NVIDIA/*'",
        ],
    ),
    (
        "library",
        &["twig library list", "twig library add ~/.claude/commands"],
    ),
    (
        "vendor",
        &["twig vendor", "twig vendor third_party/prompts superpowers"],
    ),
    ("inventory", &["twig inventory", "twig inventory --json"]),
    (
        "library list",
        &["twig library list", "twig library list --json"],
    ),
    (
        "library add",
        &[
            "twig library add --detect",
            "twig library add ~/.claude/commands",
        ],
    ),
    ("library remove", &["twig library remove claude"]),
    (
        "library trust",
        &["twig library trust tools", "twig library trust ./tools"],
    ),
    ("library distrust", &["twig library distrust tools"]),
    (
        "key",
        &[
            "twig key create anna --role writer -w acme",
            "twig key list",
        ],
    ),
    (
        "key create",
        &[
            "twig key create anna --role writer -w acme",
            "twig key create ci --role reader -p acme/garden --expires 90d",
        ],
    ),
    ("key list", &["twig key list", "twig key list --all --json"]),
    ("key rotate", &["twig key rotate ci --grace 24h"]),
    ("key revoke", &["twig key revoke anna"]),
    ("key import", &["twig key import"]),
    (
        "grant",
        &["twig grant add anna writer acme/garden", "twig grant list"],
    ),
    (
        "grant add",
        &[
            "twig grant add anna writer acme/garden",
            "twig grant add everyone reader acme",
            "twig grant add anna run",
        ],
    ),
    ("grant list", &["twig grant list"]),
    ("grant remove", &["twig grant remove everyone reader acme"]),
    (
        "workspace",
        &["twig workspace list", "twig workspace create office"],
    ),
    (
        "workspace list",
        &["twig workspace list", "twig workspace list --json"],
    ),
    ("workspace create", &["twig workspace create office"]),
    ("workspace delete", &["twig workspace delete office"]),
    (
        "workspace compact",
        &["twig workspace compact default --keep 10"],
    ),
    ("workspace backup", &["twig workspace backup twig.backup"]),
    (
        "workspace restore",
        &["twig workspace restore twig.backup office"],
    ),
    (
        "project",
        &["twig project create garden", "twig project list"],
    ),
    (
        "project list",
        &["twig project list", "twig project list --json"],
    ),
    (
        "project show",
        &[
            "twig project show garden",
            "twig project show garden --json",
        ],
    ),
    ("project create", &["twig project create garden"]),
    ("project rename", &["twig project rename garden park"]),
    ("project delete", &["twig project delete garden"]),
    ("project export", &["twig project export garden ./garden"]),
    ("project import", &["twig project import ./garden"]),
    (
        "project protect",
        &["twig project protect production", "twig project protect"],
    ),
    (
        "audit",
        &["twig audit show --since 7d", "twig audit verify"],
    ),
    (
        "audit show",
        &[
            "twig audit show --since 7d",
            "twig audit show -p garden --json",
        ],
    ),
    ("audit verify", &["twig audit verify"]),
    ("store", &["twig store migrate", "twig store verify"]),
    ("store migrate", &["twig store migrate"]),
    (
        "store copy",
        &[
            "twig store copy --to @/run/secrets/twig-database",
            "twig store copy -w team --to files",
        ],
    ),
    (
        "store verify",
        &["twig store verify", "twig store verify -w default --json"],
    ),
    ("stats", &["twig stats", "twig stats --unused 30d"]),
    (
        "prompt",
        &[
            "twig prompt add water -p garden -c @water.md",
            "twig prompt history water",
        ],
    ),
    ("prompt list", &["twig prompt list -p garden"]),
    (
        "prompt show",
        &[
            "twig prompt show water",
            "twig prompt show water --version 2",
        ],
    ),
    (
        "prompt add",
        &[
            "twig prompt add water -p garden -c @water.md",
            "pbpaste | twig prompt add water -c -",
        ],
    ),
    ("prompt update", &["twig prompt update water -c @water.md"]),
    ("prompt delete", &["twig prompt delete water"]),
    ("prompt history", &["twig prompt history water"]),
    ("prompt restore", &["twig prompt restore water --version 2"]),
    ("prompt diff", &["twig prompt diff water"]),
    ("prompt edit", &["twig prompt edit water"]),
    ("prompt rename", &["twig prompt rename water water-2"]),
    (
        "prompt label",
        &[
            "twig prompt label water production",
            "twig prompt label water production --version 2",
            "twig prompt label water",
        ],
    ),
    (
        "resource",
        &[
            "twig resource list -p garden",
            "twig resource show plan > plan.png",
        ],
    ),
    ("resource list", &["twig resource list -p garden"]),
    ("resource show", &["twig resource show plan > plan.png"]),
    (
        "resource add",
        &["twig resource add plan --uri garden:plan -c @plan.png"],
    ),
    (
        "resource update",
        &["twig resource update plan -c @plan.png"],
    ),
    ("resource delete", &["twig resource delete plan"]),
    ("resource history", &["twig resource history plan"]),
    (
        "resource restore",
        &["twig resource restore plan --version 1"],
    ),
    ("resource diff", &["twig resource diff plan"]),
    ("resource edit", &["twig resource edit plan"]),
    ("resource rename", &["twig resource rename plan plan-2"]),
    (
        "resource label",
        &["twig resource label plan production --version 2"],
    ),
    (
        "export",
        &[
            "twig export --to claude",
            "twig export --to skills --scope user 'review:*'",
            "twig export --check",
        ],
    ),
    (
        "connect",
        &[
            "twig connect",
            "twig connect codex",
            "twig connect --all",
            "twig connect cursor --remove",
        ],
    ),
    (
        "budget",
        &["twig budget", "twig budget --client claude-code"],
    ),
    ("doctor", &["twig doctor", "twig doctor --json"]),
    (
        "completions",
        &[
            "twig completions --install",
            "source <(twig completions bash)",
        ],
    ),
    ("help", &["twig help shell", "twig help new prompt"]),
    ("man", &["twig man render | man -l -"]),
];

/// A command line whose help has examples.
pub(crate) fn with_examples(mut command: Command) -> Command {
    // The flags of a command are defined when it is parsed, or here.
    command.build();
    add(command, "")
}

fn add(mut command: Command, path: &str) -> Command {
    let names: Vec<String> = command
        .get_subcommands()
        .filter(|inner| !inner.is_hide_set())
        .map(|inner| inner.get_name().to_owned())
        .collect();
    for name in names {
        let inner = format!("{path} {name}");
        command = command.mut_subcommand(name, |command| add(command, inner.trim()));
    }
    let Some((_, lines)) = EXAMPLES.iter().find(|(name, _)| *name == path) else {
        return command;
    };
    let mut text = command
        .get_after_help()
        .map(|before| format!("{before}\n\n"))
        .unwrap_or_default();
    text.push_str("Examples:");
    for line in *lines {
        text.push_str("\n  ");
        text.push_str(line);
    }
    command.after_help(text)
}
