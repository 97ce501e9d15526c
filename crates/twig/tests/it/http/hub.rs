//! The hub: what installers fetch, from the outside.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use serde_json::Value;
use sha2::{Digest as _, Sha256};
use twig_testkit::TestEnv;

use super::Served;
use super::client::{Caller, Response};
use crate::functions::trust;
use crate::{TWIG, env};

const INDEX: &str = "/.well-known/agent-skills/index.json";
const OLD_INDEX: &str = "/.well-known/skills/index.json";
const CATALOG: &str = "/.well-known/ai-catalog.json";
const CARD: &str = "/mcp/server-card";
const OLD_CARD: &str = "/.well-known/mcp/server-card.json";
const MARKETPLACE: &str = "/.claude-plugin/marketplace.json";
const TIDES: &str = "/.well-known/agent-skills/tides.zip";
const HARBOUR: &str = "/.well-known/agent-skills/harbour/SKILL.md";
const PLUGIN: &str = "/.claude-plugin/plugins/coast.zip";

const PAGES: [&str; 9] = [
    INDEX,
    OLD_INDEX,
    CATALOG,
    CARD,
    OLD_CARD,
    MARKETPLACE,
    TIDES,
    HARBOUR,
    PLUGIN,
];

const LIBRARIES: &str = r#"
//- coast/tides/SKILL.md
---
name: tides
description: Reads a tide table
license: MIT
---
Run scripts/tide.sh.
//- coast/tides/scripts/tide.sh
#!/bin/sh
echo high
//- coast/tides/references/my harbours.md
# Harbours
//- coast/harbour/SKILL.md
---
name: harbour
description: Finds a harbour
---
Find one.
//- team/twig.toml
[library]
title = "Team"

[prompts.review]
description = "Reviews code"
arguments = ["code"]

[prompts.looped]
description = "Has to be computed"

[prompts.secret]
description = "Hidden"

[prompts.made]
description = "Made by a program"
command = ["bin/made"]
//- team/prompts/review.md
Review {{ code }}.
//- team/prompts/looped.md
{% for i in range(3) %}{{ i }}{% endfor %}
//- team/prompts/secret.md
Secret.
//- team/bin/made
#!/bin/sh
touch "$HOME/ran"
echo '{"messages": []}'
"#;

const CONFIG: &str = "hide = [\"team:secret\"]\n[hub]\nenable = true\ntitle = \"Coast Team\"\n";

fn make_executable(path: &Path) {
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("the test's own file");
}

/// A machine with skills and prompts, of which one is a trusted program and one is hidden.
fn machine() -> TestEnv {
    let env = env(LIBRARIES);
    make_executable(&env.data().join("coast/tides/scripts/tide.sh"));
    make_executable(&env.data().join("team/bin/made"));
    trust(&env, "team");
    env.configure(CONFIG);
    env
}

fn ask(caller: &mut Caller, method: &str, path: &str, headers: &[(&str, &str)]) {
    let mut head = format!("{method} {path} HTTP/1.1\r\n");
    if headers.iter().all(|(name, _)| *name != "host") {
        head += &format!("host: 127.0.0.1:{}\r\n", caller.port);
    }
    for (name, value) in headers {
        head += &format!("{name}: {value}\r\n");
    }
    caller.raw(head + "\r\n");
}

fn get_with(served: &Served, path: &str, headers: &[(&str, &str)]) -> Response {
    let mut caller = served.caller();
    ask(&mut caller, "GET", path, headers);
    caller.response()
}

fn get(served: &Served, path: &str) -> Response {
    get_with(served, path, &[])
}

/// The page of a hub, which has to be there.
#[track_caller]
fn page(served: &Served, path: &str) -> Vec<u8> {
    let response = get(served, path);
    assert_eq!(response.status, 200, "{path}");
    response.body
}

#[track_caller]
fn json(served: &Served, path: &str) -> Value {
    serde_json::from_slice(&page(served, path)).expect("JSON")
}

/// The names in a list of the hub.
fn names(list: &Value, key: &str) -> Vec<String> {
    let items = list[key].as_array().expect("a list").iter();
    items
        .map(|item| item["name"].as_str().expect("a name").to_owned())
        .collect()
}

fn digest(bytes: &[u8]) -> String {
    let digest = Sha256::digest(bytes);
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// All files below a folder, by path, with their modes.
fn files(folder: &Path) -> BTreeMap<String, (u32, Vec<u8>)> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(at) = folders.pop() {
        for entry in fs::read_dir(at).expect("the test's own files").flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let mode = path
                .metadata()
                .expect("the test's own files")
                .permissions()
                .mode()
                & 0o111;
            let name = path
                .strip_prefix(folder)
                .expect("the test's own files")
                .to_str()
                .expect("the test's own files");
            found.insert(
                name.to_owned(),
                (mode, fs::read(&path).expect("the test's own files")),
            );
        }
    }
    found
}

#[test]
fn nothing_is_there_unless_the_configuration_says_so() {
    for config in ["", "[hub]\ntitle = \"Coast\"\n", "[hub]\nenable = false\n"] {
        let env = machine();
        env.configure(config);
        let served = Served::from_env(env);
        let other = get(&served, "/elsewhere");
        for path in PAGES {
            let response = get(&served, path);
            assert_eq!(response.status, 404, "{config} {path}");
            assert_eq!(response.body, other.body);
            assert_eq!(
                response.header("content-type"),
                other.header("content-type")
            );
        }
        served.is_well();
    }
}

#[test]
fn the_index_leads_to_what_it_says() {
    let served = Served::from_env(machine());
    let index = json(&served, INDEX);
    // No hidden prompt, none that a program makes, none that has to be computed.
    assert_eq!(names(&index, "skills"), ["harbour", "review", "tides"]);
    let base = INDEX.strip_suffix("index.json").unwrap();
    for skill in index["skills"].as_array().unwrap() {
        let url = skill["url"].as_str().unwrap();
        let bytes = page(&served, &format!("{base}{url}"));
        assert_eq!(skill["digest"], format!("sha256:{}", digest(&bytes)));
    }
    insta::assert_snapshot!(index["skills"][2], @r#"{"description":"Reads a tide table","digest":"sha256:b218ce488e18530c3be27bab7a85651358f6ecc56051fc239316f166573bdeaa","name":"tides","type":"archive","url":"tides.zip"}"#);
    // A skill is the author's, byte for byte; a prompt is as `twig export` writes it.
    let own = fs::read(served.env.data().join("coast/harbour/SKILL.md")).unwrap();
    assert_eq!(page(&served, HARBOUR), own);
    let review = page(&served, &format!("{base}review/SKILL.md"));
    insta::assert_snapshot!(String::from_utf8_lossy(&review), @r#"
    ---
    name: review
    description: Reviews code
    metadata:
      twig-export: "sha256:b58c875ee70b04e24d319b443fc8f734 team:review"
    ---
    Review $ARGUMENTS.

    Arguments, in the order in which they are given:

    - code (required)
    "#);
    assert!(!served.env.home().join("ran").exists(), "a program ran");
}

#[test]
fn older_installers_get_a_list_of_files() {
    let served = Served::from_env(machine());
    let index = json(&served, OLD_INDEX);
    assert_eq!(names(&index, "skills"), ["harbour", "review", "tides"]);
    assert_eq!(index.get("$schema"), None);
    insta::assert_snapshot!(index["skills"][2], @r#"{"description":"Reads a tide table","files":["SKILL.md","references/my harbours.md","scripts/tide.sh"],"name":"tides"}"#);
    let file = get(
        &served,
        "/.well-known/skills/tides/references/my%20harbours.md",
    );
    assert_eq!(file.body, b"# Harbours\n");
    let program = get(&served, "/.well-known/skills/tides/scripts/tide.sh");
    assert_eq!(
        program.header("content-type"),
        Some("application/octet-stream")
    );
    assert_eq!(program.header("x-content-type-options"), Some("nosniff"));
}

#[test]
fn what_is_not_offered_is_not_there() {
    let served = Served::from_env(machine());
    for path in [
        "/.well-known/agent-skills/secret/SKILL.md",
        "/.well-known/agent-skills/made/SKILL.md",
        "/.well-known/agent-skills/looped/SKILL.md",
        "/.well-known/agent-skills/tides/../../../../etc/passwd",
        "/.well-known/agent-skills/tides/%2e%2e/harbour/SKILL.md",
        "/.well-known/agent-skills/tides/scripts",
        "/.well-known/agent-skills/tides/",
        "/.well-known/agent-skills/tides",
        "/.well-known/agent-skills/harbour.zip",
        "/.well-known/agent-skills/nothing.zip",
        "/.well-known/agent-skills/",
        "/.well-known/agent-skills",
        "/.well-known/skills/tides.zip",
        "/.well-known/other",
        "/.claude-plugin/plugins/nothing.zip",
        "/.claude-plugin/plugins/coast",
        "/.claude-plugin/plugin.json",
        "/mcp/other",
    ] {
        assert_eq!(get(&served, path).status, 404, "{path}");
    }
    served.is_well();
}

#[test]
fn only_what_the_server_offers_is_in_it() {
    let env = machine();
    env.configure(&format!("{CONFIG}[serve]\nonly = [\"coast:tides\"]\n"));
    let served = Served::from_env(env);
    assert_eq!(names(&json(&served, INDEX), "skills"), ["tides"]);
    assert_eq!(names(&json(&served, MARKETPLACE), "plugins"), ["coast"]);
    assert_eq!(get(&served, HARBOUR).status, 404);
}

#[test]
fn two_servers_and_a_restarted_one_give_the_same_bytes() {
    // Neither depends on where the hub is, nor on when its files were written.
    let paths = [INDEX, OLD_INDEX, TIDES, HARBOUR, PLUGIN];
    let pages = |served: &Served| paths.map(|path| page(served, path));
    let mut first = Served::from_env(machine());
    let before = pages(&first);
    let other = machine();
    let long_ago = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_hours(300_000);
    for path in files(&other.data().join("coast")).into_keys() {
        let file = fs::File::open(other.data().join("coast").join(path)).unwrap();
        file.set_modified(long_ago).unwrap();
    }
    let second = Served::from_env(other);
    assert_eq!(pages(&second), before);
    first.signal(rustix::process::Signal::TERM);
    let _ = first.ended();
    let command = first.env.command(["serve", "--http", "127.0.0.1:0"]);
    let env = std::mem::replace(&mut first.env, TestEnv::new(TWIG));
    assert_eq!(pages(&Served::start(env, command)), before);
}

#[test]
fn an_edit_is_published_at_once_and_undone_gives_the_same_bytes() {
    let served = Served::from_env(machine());
    let before = (page(&served, INDEX), page(&served, TIDES));
    let program = served.env.data().join("coast/tides/scripts/tide.sh");
    let own = fs::read(&program).unwrap();
    fs::write(&program, "#!/bin/sh\necho low\n").unwrap();
    let archive = page(&served, TIDES);
    assert_ne!(archive, before.1);
    let text = page(&served, INDEX);
    assert!(String::from_utf8_lossy(&text).contains(&digest(&archive)));
    fs::write(&program, own).unwrap();
    assert_eq!((page(&served, INDEX), page(&served, TIDES)), before);
    // So does a mode.
    fs::set_permissions(&program, fs::Permissions::from_mode(0o644)).unwrap();
    assert_ne!(page(&served, TIDES), before.1);
    // A prompt is read when it is asked for.
    served
        .env
        .write("team/prompts/review.md", "Judge {{ code }}.\n");
    let review = page(&served, "/.well-known/agent-skills/review/SKILL.md");
    assert!(String::from_utf8_lossy(&review).contains("Judge"));
}

#[test]
fn a_page_that_is_known_is_not_sent_again() {
    let served = Served::from_env(machine());
    for path in PAGES {
        let first = get(&served, path);
        let tag = first.header("etag").unwrap_or_default().to_owned();
        assert!(tag.len() > 2 && tag.starts_with('"'), "{path}: {tag}");
        for known in [
            tag.clone(),
            format!("W/{tag}"),
            format!("\"x\", {tag}"),
            "*".to_owned(),
        ] {
            let again = get_with(&served, path, &[("if-none-match", &known)]);
            assert_eq!((again.status, &*again.body), (304, &b""[..]), "{path}");
            assert_eq!(again.header("etag"), Some(&*tag));
        }
        let other = get_with(&served, path, &[("if-none-match", "\"x\"")]);
        assert_eq!((other.status, &other.body), (200, &first.body));
        let mut caller = served.caller();
        ask(&mut caller, "HEAD", path, &[]);
        let head = caller.head();
        assert_eq!(head.status, 200, "{path}");
        let length = first.body.len().to_string();
        assert_eq!(head.header("content-length"), Some(&*length));
        assert_eq!(head.header("etag"), Some(&*tag));
        // The next response begins where a body would have been.
        ask(&mut caller, "GET", path, &[]);
        assert_eq!(caller.response().body, first.body);
    }
}

#[test]
fn nothing_is_written_to_a_hub() {
    let served = Served::from_env(machine());
    for method in ["POST", "PUT", "DELETE", "PATCH", "OPTIONS"] {
        let mut caller = served.caller();
        ask(&mut caller, method, INDEX, &[("content-length", "0")]);
        let response = caller.response();
        assert_eq!(response.status, 405, "{method}");
        assert_eq!(response.header("allow"), Some("GET, HEAD"));
    }
}

#[test]
fn it_has_the_door_of_the_server() {
    let env = machine();
    let mut command = env.command(["serve", "--http", "127.0.0.1:0"]);
    command.env("TWIG_TOKEN", "correct-horse-battery-staple");
    let served = Served::start(env, command);
    let right = ("authorization", "Bearer correct-horse-battery-staple");
    let wrong = ("authorization", "Bearer incorrect-horse-battery");
    for path in PAGES {
        let none = get(&served, path);
        assert_eq!((none.status, none.code()), (401, -32600), "{path}");
        assert!(none.header("www-authenticate").is_some(), "{path}");
        assert_eq!(get_with(&served, path, &[wrong]).status, 401, "{path}");
        assert_eq!(get_with(&served, path, &[right]).status, 200, "{path}");
        let other = ("host", "evil.example");
        assert_eq!(get_with(&served, path, &[right, other]).status, 403);
        let page = ("origin", "https://evil.example");
        assert_eq!(get_with(&served, path, &[right, page]).status, 403);
    }
    let card: Value = serde_json::from_slice(&get_with(&served, CARD, &[right]).body).unwrap();
    let header = &card["remotes"][0]["headers"][0];
    assert_eq!(header["name"], "Authorization");
    assert_eq!(header["isRequired"], true);
}

#[test]
fn it_says_who_it_is() {
    let env = machine();
    env.configure(&format!(
        "{CONFIG}description = \"Skills for sailors\"\nurl = \"https://hub.example.com/\"\n"
    ));
    let served = Served::from_env(env);
    let version = format!("\"version\":\"{}\"", env!("CARGO_PKG_VERSION"));
    let card = String::from_utf8(page(&served, CARD)).unwrap();
    insta::assert_snapshot!(card.replace(&version, "\"version\":\"[version]\""), @r#"{"$schema":"https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json","name":"com.example.hub/twig","version":"[version]","description":"Skills for sailors","title":"Coast Team","remotes":[{"type":"streamable-http","url":"https://hub.example.com/mcp","supportedProtocolVersions":["2026-07-28","2025-11-25","2025-06-18","2025-03-26","2024-11-05"]}]}"#);
    assert_eq!(page(&served, OLD_CARD), card.as_bytes());
    let catalog = json(&served, CATALOG);
    insta::assert_snapshot!(catalog["host"], @r#"{"displayName":"Coast Team"}"#);
    insta::assert_snapshot!(catalog["entries"][0], @r#"{"identifier":"urn:air:hub.example.com:mcp:twig","type":"application/mcp-server-card+json","url":"https://hub.example.com/mcp/server-card"}"#);
    insta::assert_snapshot!(catalog["entries"][3], @r#"{"description":"Reads a tide table","displayName":"tides","identifier":"urn:air:hub.example.com:skill:tides","type":"application/agent-skills+zip","url":"https://hub.example.com/.well-known/agent-skills/tides.zip"}"#);
    let market = json(&served, MARKETPLACE);
    assert_eq!(names(&market, "plugins"), ["coast", "team"]);
    insta::assert_snapshot!(market["owner"], @r#"{"name":"Coast Team"}"#);
    assert_eq!(market["name"], "coast-team");
    assert_eq!(market["description"], "Skills for sailors");
    let plugin = &market["plugins"][0];
    assert_eq!(plugin["source"]["source"], "archive");
    assert_eq!(
        plugin["source"]["url"],
        format!("https://hub.example.com{PLUGIN}")
    );
    assert_eq!(plugin["source"]["sha256"], digest(&page(&served, PLUGIN)));
    assert_eq!(plugin["description"], "Skills of the library coast");
    assert_eq!(market["plugins"][1]["description"], "Team");
}

#[test]
fn twig_installs_from_it() {
    let served = Served::from_env(machine());
    let user = TestEnv::new(TWIG);
    let address = format!("http://127.0.0.1:{}", served.port);
    let added = user.run(["add", &address, "--as", "hub", "--yes"]);
    assert_eq!(added.code, 0, "{added}");
    let listed = user.run(["list", "--names"]).stdout;
    assert_eq!(listed, "hub:harbour\nhub:review\nhub:tides\n");
    let packages = user.home().join(".local/share/twig/packages");
    let tides = fs::read_dir(packages)
        .unwrap()
        .flatten()
        .map(|entry| entry.path().join("tides"))
        .find(|path| path.is_dir());
    let own = files(&served.env.data().join("coast/tides"));
    assert_eq!(own["scripts/tide.sh"].0, 0o111);
    assert_eq!(files(&tides.expect("the skill")), own);
    // What was installed from a hub can be published again.
    user.configure(&format!(
        "[hub]\nenable = true\n{}",
        fs::read_to_string(user.home().join(".config/twig/config.toml")).unwrap()
    ));
    let again = Served::from_env(user);
    assert_eq!(page(&again, INDEX), page(&served, INDEX));
    assert_eq!(page(&again, TIDES), page(&served, TIDES));
}

#[test]
fn two_prompts_with_one_name_are_two_skills() {
    let env = machine();
    env.write(
        "team/twig.toml",
        "[prompts.tides]\ndescription = \"Another one\"\n",
    );
    env.write("team/prompts/tides.md", "Tides.\n");
    let served = Served::from_env(env);
    let index = json(&served, INDEX);
    let all = names(&index, "skills");
    assert_eq!(all, ["coast-tides", "harbour", "team-tides"]);
    // The SKILL.md of a skill that needs another name is written again; its other files stay.
    let own = page(&served, "/.well-known/agent-skills/coast-tides/SKILL.md");
    let own = String::from_utf8(own).unwrap();
    assert!(own.starts_with("---\nname: coast-tides\n"), "{own}");
    let file = "/.well-known/agent-skills/coast-tides/scripts/tide.sh";
    assert_eq!(get(&served, file).status, 200);
}

#[test]
fn everything_at_once_is_answered() {
    let env = machine();
    let count = 150;
    for at in 0..count {
        let text = format!("---\nname: s{at}\ndescription: Skill {at}\n---\nText.\n");
        env.write(&format!("many/s{at}/SKILL.md"), text);
        // More than the hub keeps in memory.
        env.write(&format!("many/s{at}/data.bin"), vec![b'0'; 150_000]);
    }
    let served = Served::from_env(env);
    let index = json(&served, INDEX);
    assert_eq!(index["skills"].as_array().unwrap().len(), count + 3);
    let mut callers: Vec<Caller> = (0..count).map(|_| served.caller()).collect();
    for (at, caller) in callers.iter_mut().enumerate() {
        let path = format!("/.well-known/agent-skills/s{at}.zip");
        ask(caller, "GET", &path, &[]);
    }
    let digests: BTreeMap<&str, &str> = index["skills"]
        .as_array()
        .unwrap()
        .iter()
        .map(|skill| {
            (
                skill["name"].as_str().unwrap(),
                skill["digest"].as_str().unwrap(),
            )
        })
        .collect();
    for (at, caller) in callers.iter_mut().enumerate() {
        let response = caller.response();
        assert_eq!(response.status, 200, "s{at}");
        let found = format!("sha256:{}", digest(&response.body));
        assert_eq!(digests[&*format!("s{at}")], found);
    }
}

#[test]
fn a_skill_whose_file_is_gone_is_left_out() {
    let served = Served::from_env(machine());
    let before = names(&json(&served, INDEX), "skills");
    assert_eq!(before, ["harbour", "review", "tides"]);
    fs::remove_dir_all(served.env.data().join("coast/tides")).unwrap();
    let after = names(&json(&served, INDEX), "skills");
    assert_eq!(after, ["harbour", "review"]);
    assert_eq!(get(&served, TIDES).status, 404);
}

#[test]
fn mistakes_in_its_settings_say_what_to_write() {
    let env = TestEnv::new(TWIG);
    let said = |config: &str| {
        env.configure(config);
        let outcome = env.run(["list"]);
        assert_eq!(outcome.code, 1, "{outcome}");
        let line = outcome.stderr.lines().next().unwrap_or_default();
        line.strip_prefix("error: ~/.config/twig/config.toml:")
            .unwrap_or(line)
            .to_owned()
    };
    insta::assert_snapshot!(said("hub = true"), @"1: `hub` has to be a table: [hub]");
    insta::assert_snapshot!(said("[hub]\nenable = 1"), @"2: `enable` has to be true or false");
    insta::assert_snapshot!(said("[hub]\nenabled = true"), @"2: unknown setting `enabled` of [hub]; did you mean `enable`?");
    insta::assert_snapshot!(said("[hub]\nurl = \"hub.example.com\""), @r#"2: `url` is a scheme and a host, such as "https://hub.example.com""#);
    insta::assert_snapshot!(said("[hub]\ntitle = \"\""), @"2: `title` has to be one line of at most 100 characters");
    insta::assert_snapshot!(said("[hub]\ntitle = \"a\\nb\""), @"2: `title` has to be one line of at most 100 characters");
    insta::assert_snapshot!(said("[hub]\ndescription = 1"), @"2: `description` has to be a text");
}

#[test]
fn its_page_does_what_it_says() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/hub.md");
    let text = fs::read_to_string(path).expect("the page is there");
    let config = text.split("```toml").nth(1).expect("an example");
    let env = machine();
    env.configure(config.split("```").next().unwrap_or_default());
    let command = env.command([
        "serve",
        "--http",
        "127.0.0.1:0",
        "--allow-host",
        "hub.example.com",
    ]);
    let served = Served::start(env, command);
    let (_, table) = text.split_once("## Addresses").expect("a table");
    let rows = table.lines().filter(|line| line.starts_with("| `/"));
    let addresses = rows.flat_map(|row| row.split('|').nth(1).unwrap_or_default().split(", "));
    let mut count = 0;
    for address in addresses {
        let address = address.trim().trim_matches('`');
        let address = match address.strip_prefix("…/") {
            Some(rest) if rest.starts_with("skills/") => format!("/.well-known/{rest}"),
            Some(rest) => format!("/.well-known/agent-skills/{rest}"),
            None => address.to_owned(),
        };
        let address = address
            .replace("NAME", "tides")
            .replace("LIBRARY", "coast")
            .replace("PATH", "scripts/tide.sh");
        assert_eq!(get(&served, &address).status, 200, "{address}");
        count += 1;
    }
    assert_eq!(count, 10);
    // Claude Code uses this name in its commands.
    let market = json(&served, MARKETPLACE);
    let plugin = &names(&market, "plugins")[0];
    let install = format!(
        "plugin install {plugin}@{}",
        market["name"].as_str().unwrap()
    );
    assert!(text.contains(&install), "{install}");
}
