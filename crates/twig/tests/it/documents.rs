//! Documents that have to match the program.

use std::fs;
use std::path::Path;

use twig_clients::clients::CLIENTS;
use twig_testkit::TestEnv;

use crate::TWIG;

fn repository() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

fn read(path: &str) -> String {
    fs::read_to_string(repository().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// `docs/cli.md` is made of the help texts; `INSTA_UPDATE=always` writes it.
#[test]
fn the_command_line_reference_is_the_help() {
    let env = TestEnv::new(TWIG);
    let mut page = "# The command line\n\nResults go to stdout, messages to stderr. Exit codes: 0 done, 1 something to fix, 2 wrong command line, 70 a bug in Twig.\nThe options of `twig` itself work with every command.\n".to_owned();
    describe(&env, &mut Vec::new(), &[], &mut page);
    if std::env::var("INSTA_UPDATE").is_ok_and(|update| update == "always") {
        fs::write(repository().join("docs/cli.md"), &page).expect("writable");
    }
    assert_eq!(
        read("docs/cli.md"),
        page,
        "run `just accept` and read the difference"
    );
}

/// Adds the help of a command and of the commands below it, without the options that are known
/// from above.
fn describe(env: &TestEnv, command: &mut Vec<String>, known: &[String], page: &mut String) {
    let words = command.iter().map(String::as_str);
    let help = env.run(words.chain(["--help"])).stdout;
    let is_option = |line: &&str| line.starts_with("  -") || line.starts_with("      --");
    let flag = |line: &str| {
        let flag = line.trim_start().split("  ").next();
        flag.unwrap_or_default().to_owned()
    };
    let mut text = String::new();
    let mut is_left_out = false;
    for line in help.trim_end().lines() {
        is_left_out = match line {
            line if is_option(&line) => known.contains(&flag(line)),
            line => is_left_out && line.starts_with("         "),
        };
        let is_second_blank = line.is_empty() && text.ends_with("\n\n");
        if !is_left_out && !is_second_blank {
            text += &format!("{line}\n");
        }
    }
    let text = text.replace("Options:\n\n", "");
    let text = text.trim_end().trim_end_matches("Options:").trim_end();
    let title = format!("twig {}", command.join(" "));
    *page += &format!("\n## `{}`\n\n```text\n{text}\n```\n", title.trim_end());
    let mut known = known.to_vec();
    if command.is_empty() {
        known.extend(help.lines().filter(is_option).map(flag));
    }
    let commands = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let names = commands.take_while(|line| !line.is_empty());
    let names = names.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    for name in names.filter_map(|line| line.split_whitespace().next()) {
        if name != "help" || command.is_empty() {
            command.push(name.to_owned());
            describe(env, command, &known, page);
            command.pop();
        }
    }
}

/// Every page is a topic of `twig help`, apart from the reference, which is the help itself, and
/// the benchmarks.
#[test]
fn twig_help_has_every_page() {
    let env = TestEnv::new(TWIG);
    let overview = env.run(["help"]).stdout;
    for page in fs::read_dir(repository().join("docs")).expect("readable") {
        let page = page.expect("readable").path();
        let stem = page.file_stem().and_then(|stem| stem.to_str());
        let Some(topic) =
            stem.filter(|stem| !matches!(*stem, "cli" | "benchmarks") && page.is_file())
        else {
            continue;
        };
        assert_eq!(
            env.run(["help", topic]).stdout,
            read(&format!("docs/{topic}.md"))
        );
        assert!(overview.contains(&format!("\n  {topic} ")), "{topic}");
    }
    let help = env.run(["help", "new", "prompt"]).stdout;
    assert_eq!(help, env.run(["new", "prompt", "--help"]).stdout);
    let missing = env.run(["help", "fucntions"]);
    assert_eq!(missing.code, 2);
    let told =
        "error: there is no topic and no command `fucntions`\nhint: did you mean `functions`?\n";
    assert_eq!(missing.stderr, told);
}

/// `docs/words.md` has every client, its other names, and what can be done with it.
#[test]
fn the_names_of_clients_are_documented() {
    let page = read("docs/words.md");
    let (_, table) = page.split_once("## Clients").expect("a heading");
    let rows = table.lines().filter(|line| line.starts_with("| `"));
    let rows = rows.take_while(|line| !line.contains("--"));
    let rows: Vec<String> = rows.map(str::to_owned).collect();
    assert_eq!(rows.len(), CLIENTS.len());
    for (row, client) in rows.iter().zip(CLIENTS) {
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        let aliases: Vec<String> = client.aliases.iter().map(|it| format!("`{it}`")).collect();
        assert_eq!(cells[..2], [format!("`{}`", client.id), aliases.join(", ")]);
        assert_eq!(cells[2] == "yes", client.servers.is_some(), "{row}");
        assert_eq!(cells[3] != "–", client.export_format().is_some(), "{row}");
    }
}

/// ARCHITECTURE.md names every crate and dependency; the modules of a crate are listed in its
/// `lib.rs` or `main.rs`, one comment line above each `mod`.
#[test]
fn the_architecture_names_every_crate_and_module() {
    let text = read("ARCHITECTURE.md");
    for krate in fs::read_dir(repository().join("crates"))
        .expect("readable")
        .flatten()
    {
        let name = krate.file_name().to_string_lossy().into_owned();
        assert!(text.contains(&format!("**`{name}`**")), "{name}");
        for dependency in dependencies(&read(&format!("crates/{name}/Cargo.toml"))) {
            let is_named = text
                .split(|c: char| !c.is_alphanumeric() && !matches!(c, '-' | '_'))
                .any(|word| word == dependency);
            assert!(is_named, "{name} depends on {dependency}");
        }
        let src = krate.path().join("src");
        let roots = ["lib.rs", "main.rs"].map(|root| fs::read_to_string(src.join(root)).ok());
        let root = roots.into_iter().flatten().next().expect("a crate's root");
        let mut listed = described_modules(&name, &root);
        listed.sort_unstable();
        let mut files: Vec<String> = fs::read_dir(src)
            .expect("readable")
            .flatten()
            .filter_map(|entry| Some(entry.file_name().to_str()?.strip_suffix(".rs")?.to_owned()))
            .filter(|module| !matches!(&**module, "lib" | "main"))
            .collect();
        files.sort_unstable();
        assert_eq!(listed, files, "{name}");
    }
}

/// The dependencies of a manifest, without those of its tests.
fn dependencies(manifest: &str) -> impl Iterator<Item = &str> {
    let mut is_meant = false;
    let lines = manifest.lines().filter(move |line| {
        if line.starts_with('[') {
            is_meant = line.ends_with("dependencies]") && !line.contains("dev-");
        }
        is_meant && line.contains('=') && !line.starts_with('[')
    });
    lines.filter_map(|line| line.split([' ', '.', '=']).next())
}

/// The modules that a crate's root declares, each of which has a line that describes it.
fn described_modules(krate: &str, root: &str) -> Vec<String> {
    let lines: Vec<&str> = root.lines().collect();
    let declared = lines.iter().enumerate().filter_map(|(at, line)| {
        let line = line.strip_prefix("pub ").unwrap_or(line);
        let module = line.strip_prefix("mod ")?.strip_suffix(';')?;
        let above = lines[..at].iter().rev();
        let above = above.copied().find(|line| !line.starts_with("#["));
        let is_described = above.is_some_and(|line| line.starts_with("// ") && line.len() > 8);
        assert!(is_described, "{krate}: `{module}` has no line above it");
        Some(module.to_owned())
    });
    declared.collect()
}

/// The walks of ARCHITECTURE.md name files that exist, each followed by functions that are in it.
#[test]
fn the_walks_lead_through_the_code() {
    let text = read("ARCHITECTURE.md");
    let walks = text.split("\n## ").find(|it| it.starts_with("Four walks"));
    let walks: Vec<&str> = walks.expect("the walks").split("\n### ").skip(1).collect();
    assert_eq!(walks.len(), 4);
    for walk in walks {
        let (title, steps) = walk.split_once('\n').expect("steps");
        let (mut path, mut code) = ("", String::new());
        for word in steps.split('`').skip(1).step_by(2) {
            if is_source(word) {
                path = word;
                code = read(&source_path(word));
            } else {
                let is_there = [format!("fn {word}("), format!("fn {word}<")];
                let is_there = is_there.iter().any(|function| code.contains(function));
                assert!(is_there, "{title}: `{word}` is not in {path}");
            }
        }
    }
    // Files that are named elsewhere exist as well.
    let named = text.split('`').filter(|word| is_source(word));
    for path in named.filter(|word| word.contains('/') && !word.starts_with("crates/")) {
        read(&source_path(path));
    }
}

fn is_source(word: &str) -> bool {
    Path::new(word)
        .extension()
        .is_some_and(|extension| extension == "rs")
}

/// `twig-mcp/prompts.rs` is short for `crates/twig-mcp/src/prompts.rs`.
fn source_path(short: &str) -> String {
    let (krate, file) = short.split_once('/').expect("a crate and a file");
    format!("crates/{krate}/src/{file}")
}

/// The README's own library does what the README says.
#[test]
fn the_readme_works() {
    let env = TestEnv::new(TWIG);
    let readme = read("README.md");
    // The commands that make a library and a prompt, with the words in quotes as one.
    for line in readme.lines().filter(|line| line.starts_with("twig new ")) {
        let parts = line.split(['"', '\'']).enumerate();
        let words = parts.flat_map(|(at, part)| match at % 2 {
            0 => part.split_whitespace().collect(),
            _ => vec![part],
        });
        let outcome = env.run(words.skip(1));
        assert_eq!(outcome.code, 0, "{line}: {outcome}");
    }
    let block = |language: &str| -> String {
        let start = readme.find(&format!("```{language}\n")).expect("a block") + language.len() + 4;
        let block = readme[start..].split("\n```").next();
        format!("{}\n", block.unwrap_or_default())
    };
    env.write("my_prompts/prompts/review.md", block("markdown"));
    let manifest = env.data().join("my_prompts/twig.toml");
    let manifest = fs::read_to_string(manifest).expect("there");
    env.write(
        "my_prompts/twig.toml",
        format!("{manifest}\n{}", block("toml")),
    );
    fs::write(env.work().join("main.rs"), "fn main() {}").expect("writable");
    let check = env.run(["check", "--strict"]);
    assert_eq!(check.code, 0, "{check}");
    let rendered = env.run(["render", "review", "code=@main.rs", "language=rust"]);
    assert_eq!(
        rendered.stdout,
        "Please review this rust code for clarity:\n\nfn main() {}\n"
    );
    let rendered = env.run(["render", "standup", "Monday"]);
    assert_eq!(rendered.stdout, "Write my standup for Monday.\n");
    // The picture shows these prompts with their descriptions.
    for (name, description) in [
        ("hello", "Greet a person and offer help"),
        ("review", "Review code for clarity"),
    ] {
        let listed = env.run(["list", &format!("my_prompts:{name}"), "--json"]);
        assert!(listed.stdout.contains(description), "{listed}");
        let line = format!("/twig:my_prompts:{name} (MCP)");
        let line = readme.lines().find(|it| it.starts_with(&line));
        assert!(line.is_some_and(|line| line.contains(description)));
    }
}

#[test]
fn the_demonstration_leaves_nothing_behind() {
    let env = TestEnv::new(TWIG);
    let before = fs::read_dir(env.root()).expect("readable").count();
    let outcome = env.run(["demo"]);
    assert_eq!(outcome.code, 0, "{outcome}");
    for text in [
        "server/discover",
        "garden:review",
        "let x = 1;",
        "list_changed",
        "garden:explain",
    ] {
        assert!(outcome.stdout.contains(text), "{text}: {outcome}");
    }
    assert_eq!(fs::read_dir(env.root()).expect("readable").count(), before);
}

/// Core and protocol are pure: what they would need for IO is not even named there.
#[test]
fn the_pure_rooms_name_nothing_that_does_io() {
    let doors = [
        "std::fs",
        "std::net",
        "std::env",
        "std::thread",
        "std::process",
        "std::time",
        "tokio",
        "println!",
    ];
    for room in ["twig-core", "twig-clients", "twig-mcp"] {
        let mut folders = vec![repository().join("crates").join(room).join("src")];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).expect("readable").flatten() {
                let path = entry.path();
                if path.is_dir() {
                    folders.push(path);
                    continue;
                }
                // Tests inside a room may measure and start threads.
                let name = path.display().to_string();
                let text = fs::read_to_string(&path).expect("text");
                let code = text.split("#[cfg(test)]").next().unwrap_or_default();
                let is_test = name.contains("/tests");
                let door = doors.iter().find(|door| !is_test && code.contains(*door));
                assert_eq!(door, None, "{name}");
            }
        }
    }
}

/// Every `twig.toml` in the documents is one that `check` has nothing against.
#[test]
fn the_manifests_in_the_documents_are_right() {
    let env = TestEnv::new(TWIG);
    let text = read("docs/library.md");
    let start = text.find("```toml\n").expect("a block") + 8;
    let manifest = text[start..].split("```").next().unwrap_or_default();
    env.write("lib/twig.toml", manifest);
    env.write("lib/prompts/code_review.md", "{{ language }}");
    env.write("lib/prompts/pair/ask.md", "{{ topic }}");
    env.write("lib/shots/page.png", "");
    env.write("lib/docs/guide.md", "# Guide\n");
    let outcome = env.run(["check"]);
    assert_eq!(outcome.code, 0, "{outcome}");
    assert_eq!(outcome.stdout, "");
}

/// The programs in the documents do what the documents say.
#[test]
fn the_functions_in_the_documents_work() {
    use std::os::unix::fs::PermissionsExt;
    let env = TestEnv::new(TWIG);
    let page = read("docs/functions.md");
    // The standup before it has its own test, in a repository.
    let (_, page) = page.split_once("## Arguments and JSON").expect("a section");
    let block = |language: &str| {
        let start = page.find(&format!("```{language}\n")).expect("a block") + language.len() + 4;
        page[start..].split("```").next().unwrap_or_default()
    };
    env.write("my_prompts/twig.toml", block("toml"));
    env.write("my_prompts/bin/greet", block("sh"));
    env.write("notes/prompts.json", block("json"));
    env.write("notes/prompts.bash", block("bash"));
    let program = env.data().join("my_prompts/bin/greet");
    fs::set_permissions(program, fs::Permissions::from_mode(0o755)).expect("the test's own file");
    for library in ["my_prompts", "notes"] {
        let outcome = env.run(["library", "trust", library, "--yes"]);
        assert_eq!(outcome.code, 0, "{outcome}");
    }
    let check = env.run(["check"]);
    assert_eq!((check.code, check.stdout.as_str()), (0, ""), "{check}");
    let greeted = env.run(["render", "my_prompts:greet", "who=Ada"]);
    assert!(greeted.stdout.starts_with("Greet Ada; it is "), "{greeted}");
    let noted = env.run(["render", "daily-note", "topic=trees"]);
    assert_eq!(noted.stdout, "Start a note on trees.\n", "{noted}");
}

#[test]
fn the_definition_in_the_documents_is_right() {
    let env = TestEnv::new(TWIG);
    let text = read("docs/library.md");
    let start = text.find("```json\n").expect("a block") + 8;
    let definition = text[start..].split("```").next().unwrap_or_default();
    env.write("service/prompts/review-code.json", definition);
    env.write("service/docs/patterns/factory.md", "# Factory\n");
    let outcome = env.run(["check"]);
    assert_eq!(outcome.code, 0, "{outcome}");
    assert_eq!(outcome.stdout, "");
    let outcome = env.run(["render", "review-code", "code=x", "pattern=factory"]);
    assert!(
        outcome.stdout.starts_with("# Factory\nSource: "),
        "{outcome}"
    );
}

/// The commands of the page on projects print what the page says.
#[test]
fn the_projects_in_the_documents_work() {
    let env = TestEnv::new(TWIG);
    let page = read("docs/projects.md");
    let blocks = page.split("```console\n").skip(1);
    let blocks = blocks.map(|block| block.split("```").next().unwrap_or_default());
    let mut count = 0;
    for example in blocks.flat_map(|block| block.split("$ ").skip(1)) {
        let (line, expected) = example.split_once('\n').expect("a command and its output");
        let words = line.split('"').enumerate().flat_map(|(at, part)| {
            let is_quoted = at % 2 == 1;
            let words = if is_quoted {
                vec![part]
            } else {
                part.split_whitespace().collect()
            };
            words.into_iter()
        });
        let outcome = env.run(words.skip(1));
        // Times are those of the day on which the page was written.
        let timeless = |text: &str| -> String {
            let words = text.split_inclusive(char::is_whitespace);
            words
                .filter(|word| !word.contains('T') || !word.trim_end().ends_with('Z'))
                .collect()
        };
        let printed = format!("{}{}", outcome.stdout, outcome.stderr);
        assert_eq!(
            timeless(&printed).trim(),
            timeless(expected).trim(),
            "{line}"
        );
        count += 1;
    }
    assert_eq!(count, 15);
}

/// The page on clients names the files that are written, with the entries that are written there.
#[test]
fn the_clients_in_the_documents_are_right() {
    let env = TestEnv::new(TWIG);
    let page = read("docs/connect.md");
    let rows = page.lines().filter_map(|line| line.strip_prefix("| `"));
    let mut written = Vec::new();
    for row in rows {
        let cells: Vec<&str> = row
            .split('|')
            .map(|cell| cell.trim().trim_matches('`'))
            .collect();
        let [client, user, project, key, ..] = cells.as_slice() else {
            panic!("a row of four cells: {row}");
        };
        let outcome = env.run(["connect", client]);
        assert_eq!(outcome.code, 0, "{outcome}");
        let path = user.replacen('~', &env.home().display().to_string(), 1);
        let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
        assert!(text.contains(key), "{client}: {text}");
        let outcome = env.run(["connect", client, "--scope=project"]);
        assert_eq!(outcome.code == 0, *project != "–", "{outcome}");
        assert!(
            *project == "–" || env.work().join(project).exists(),
            "{client}"
        );
        written.push(text.replace(TWIG, "/usr/local/bin/twig"));
    }
    assert_eq!(written.len(), 15);
    for language in ["json", "toml", "jsonc"] {
        let start = page.find(&format!("```{language}\n")).expect("a block") + language.len() + 4;
        let block = page[start..].split("```").next().unwrap_or_default();
        assert!(written.iter().any(|text| text == block), "{block}");
    }
}
