//! `twig verify`: files against their lists, signatures against pinned keys; and what `twig add` shows.
//!
//! The skill in `tests/fixtures/signed` was signed once with openssl, as `skill.oms.sig` has it:
//! ECDSA with P-384, and a certificate that is valid until 4764. Its private key is gone.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use twig_testkit::{CommandOutput, GitRepo, GitServer, TestEnv};

use super::{json, new_env, run};

/// The fingerprint of `publisher.pem`, which signed the skill of the fixture.
const PUBLISHER: &str = "sha256:84f502319d8278cf2654cecdb59d8dac4713838394b60b9cb7fe371d14f606b3";

/// A key that signed nothing.
const STRANGER: &str = "sha256:c50bdb84caeccbab84f62642f2d479f8e4e5f38f1c9626a772fed13f1a01c855";

const SKILL: &str = "---\nname: plain\ndescription: Says little\n---\nSay little.\n";

fn fixture(name: &str) -> PathBuf {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/signed");
    fixtures.join(name)
}

/// A repository with a signed skill, and its address.
fn signed(env: &TestEnv) -> (GitRepo, String) {
    let repo = GitRepo::new(env.root().join("repos/signed.git"));
    for file in ["SKILL.md", "scripts/check.sh", "skill.oms.sig"] {
        let bytes = fs::read(fixture("review").join(file)).expect("a fixture");
        repo.write(&format!("skills/review/{file}"), bytes);
    }
    repo.write("README.md", "Skills.\n");
    repo.commit("a signed skill");
    repo.tag("v1.0.0");
    let address = format!("git+file://{}", repo.folder().display());
    (repo, address)
}

fn pin(env: &TestEnv, key: &str, pattern: &str) -> CommandOutput {
    let key = fixture(key).display().to_string();
    run(env, &["verify", "--trust-key", &key, "--for", pattern])
}

fn lock(env: &TestEnv) -> String {
    fs::read_to_string(env.home().join(".config/twig/twig.lock")).unwrap_or_default()
}

/// The folder of the only package.
fn package(env: &TestEnv) -> PathBuf {
    let folder = env.home().join(".local/share/twig/packages");
    let entries = fs::read_dir(folder).expect("packages").flatten();
    let is_tree = |path: &PathBuf| {
        let name = path
            .file_name()
            .expect("a name")
            .to_string_lossy()
            .into_owned();
        name.len() == 64 && path.is_dir()
    };
    entries
        .map(|it| it.path())
        .find(is_tree)
        .expect("a package")
}

/// Makes files of a package writable, as somebody would who edits them.
fn unlock(path: &Path) {
    use std::os::unix::fs::PermissionsExt;
    for path in [path, path.parent().expect("a folder")] {
        let mode = fs::metadata(path).expect("a file").permissions().mode();
        fs::set_permissions(path, fs::Permissions::from_mode(mode | 0o200)).expect("own files");
    }
}

fn assert_has(output: &CommandOutput, code: i32, texts: &[&str]) {
    let all = output.to_string();
    for text in texts {
        assert!(all.contains(text), "no {text:?} in:\n{all}");
    }
    assert_eq!(output.code, code, "{all}");
    assert!(!all.contains("safe"), "{all}");
}

#[test]
fn unchanged_files_and_an_unknown_key_are_no_error() {
    let env = new_env();
    let (repo, address) = signed(&env);
    let added = run(&env, &["add", &address, "--yes"]);
    assert_eq!(added.code, 0, "{added}");
    // Nothing is read from the network.
    fs::remove_dir_all(repo.folder()).unwrap();
    let verified = run(&env, &["verify"]);
    let unknown = format!(
        "1 skill is signed by {PUBLISHER} (its certificate names `CN=Example Skills`), which is not pinned"
    );
    assert_has(
        &verified,
        0,
        &[
            "4 files unchanged\n",
            &unknown,
            "--trust-key FILE --for 'git+file://",
        ],
    );
    let rows = json(&env, &["verify", "signed", "--json"]);
    assert_eq!(rows[0]["unchanged"], Value::Bool(true));
    assert_eq!(rows[0]["pinned"], Value::Bool(false));
    assert_eq!(rows[0]["signatures"][0]["state"], "not pinned");
    assert_eq!(rows[0]["signatures"][0]["key"], PUBLISHER);
    let none = run(&env, &["verify", "singed"]);
    assert_has(
        &none,
        1,
        &["there is no package `singed`", "did you mean `signed`?"],
    );
}

#[test]
fn every_file_that_differs_is_named() {
    let env = new_env();
    let (_repo, address) = signed(&env);
    pin(&env, "publisher.pem", "git+file://*");
    run(&env, &["add", &address, "--yes"]);
    let root = package(&env);
    let skill = root.join("skills/review/SKILL.md");
    unlock(&skill);
    fs::write(
        &skill,
        fs::read_to_string(&skill).unwrap().replace("the", "thy"),
    )
    .unwrap();
    fs::write(root.join("skills/review/more.md"), "More.\n").unwrap();
    let readme = root.join("README.md");
    unlock(&readme);
    fs::remove_file(&readme).unwrap();
    let verified = run(&env, &["verify"]);
    assert_has(
        &verified,
        1,
        &[
            "3 files differ from the list",
            "missing     README.md",
            "changed     skills/review/SKILL.md",
            "added       skills/review/more.md",
            "error: skills/review/skill.oms.sig: `skills/review/SKILL.md` differs from the list",
            "hint: `twig install --repair`",
        ],
    );
    let rows = json(&env, &["verify", "--json"]);
    assert_eq!(rows[0]["unchanged"], Value::Bool(false));
    assert_eq!(rows[0]["changed"][1]["difference"], "changed");
    let repaired = run(&env, &["install", "--repair"]);
    assert_eq!(repaired.code, 0, "{repaired}");
    assert_has(
        &run(&env, &["verify"]),
        0,
        &["4 files unchanged; 1 skill signed by"],
    );
}

#[test]
fn a_package_that_is_not_here_is_said_so() {
    let env = new_env();
    let (_repo, address) = signed(&env);
    run(&env, &["add", &address, "--yes"]);
    let root = package(&env);
    fs::rename(&root, root.with_extension("away")).unwrap();
    let list = root.with_extension("files");
    unlock(&list);
    fs::remove_file(&list).unwrap();
    assert_has(
        &run(&env, &["verify"]),
        1,
        &["not on this machine: run `twig install`"],
    );
    fs::write(env.home().join(".config/twig/twig.lock"), "").unwrap();
    assert_has(
        &run(&env, &["verify"]),
        1,
        &["signed", "is not in the lock"],
    );
}

#[test]
fn a_pinned_key_is_verified_before_a_package_is_locked() {
    let env = new_env();
    let (_repo, address) = signed(&env);
    assert_has(
        &run(&env, &["verify", "--keys"]),
        0,
        &["no keys are pinned"],
    );
    let pinned = pin(&env, "publisher.pem", "git+file://*");
    assert_has(&pinned, 0, &[PUBLISHER, "git+file://*"]);
    let again = pin(&env, "publisher.pem", "git+file://*");
    assert_has(&again, 0, &["nothing changed"]);
    let added = run(&env, &["add", &address, "--yes"]);
    assert_has(&added, 0, &[&format!("signed by {PUBLISHER}")]);
    assert!(
        lock(&env).contains(&format!("signed_by = \"{PUBLISHER}\"")),
        "{}",
        lock(&env)
    );
    let verified = run(&env, &["verify"]);
    let signed = format!("4 files unchanged; 1 skill signed by {PUBLISHER} and unchanged");
    assert_has(&verified, 0, &[&signed, "1 file is in no signed folder"]);
    assert_has(
        &run(&env, &["verify", "--keys"]),
        0,
        &["git+file://*", PUBLISHER],
    );
    let start = &PUBLISHER[..18];
    let gone = run(&env, &["verify", "--distrust-key", start]);
    assert_has(&gone, 0, &["is not pinned any more for git+file://*"]);
    assert_has(
        &run(&env, &["verify"]),
        0,
        &[
            "the lock says that it was signed by",
            "which is not pinned for this source",
        ],
    );
    let again = run(&env, &["verify", "--distrust-key", start]);
    assert_has(&again, 1, &["is pinned", "--keys"]);
}

#[test]
fn what_the_pinned_key_did_not_sign_is_refused() {
    let env = new_env();
    let (repo, address) = signed(&env);
    pin(&env, "stranger.pem", "git+file://*");
    let refused = run(&env, &["add", &address, "--yes"]);
    assert_has(
        &refused,
        1,
        &[
            "is refused because of `skills/review/skill.oms.sig`",
            PUBLISHER,
            "not pinned",
        ],
    );
    assert_eq!(lock(&env), "");
    assert!(!env.home().join(".config/twig/config.toml").exists());
    // Both keys: whoever of them signed.
    pin(&env, "publisher.pem", "git+file://*");
    run(&env, &["verify", "--distrust-key", STRANGER]);
    assert_eq!(run(&env, &["add", &address, "--yes"]).code, 0);
    let before = lock(&env);
    // A file that changed after it was signed.
    repo.write(
        "skills/review/SKILL.md",
        "---\nname: review\n---\nRun this.\n",
    );
    repo.commit("changed");
    repo.tag("v1.1.0");
    let refused = run(&env, &["update", "--yes"]);
    assert_has(
        &refused,
        1,
        &["skills/review/skill.oms.sig", "changed: `SKILL.md`"],
    );
    // A signature that is gone.
    repo.remove("skills/review/skill.oms.sig");
    repo.commit("not signed");
    repo.tag("v1.2.0");
    let refused = run(&env, &["update", "--yes"]);
    assert_has(&refused, 1, &["`skills/review/SKILL.md` is not signed"]);
    assert_eq!(lock(&env), before);
    assert_has(&run(&env, &["verify"]), 0, &["signed by"]);
}

#[test]
fn a_skill_without_a_signature_is_an_error_only_for_a_pinned_source() {
    let env = new_env();
    let (repo, address) = signed(&env);
    repo.write("skills/plain/SKILL.md", SKILL);
    repo.commit("another");
    repo.tag("v1.3.0");
    assert_eq!(run(&env, &["add", &address, "--yes"]).code, 0);
    assert_eq!(run(&env, &["verify"]).code, 0);
    pin(&env, "publisher.pem", "git+file://*");
    assert_has(
        &run(&env, &["verify"]),
        1,
        &["error: skills/plain/SKILL.md is not signed"],
    );
    // Another machine has the lock and the key.
    let root = package(&env);
    fs::rename(&root, root.with_extension("away")).unwrap();
    assert_has(
        &run(&env, &["install"]),
        1,
        &["`skills/plain/SKILL.md` is not signed"],
    );
    // `only` can be changed later, so it leaves nothing out of the check.
    assert_has(
        &run(
            &env,
            &["add", &address, "--only", "review", "--as", "part", "--yes"],
        ),
        1,
        &["`skills/plain/SKILL.md` is not signed"],
    );
}

#[test]
fn only_a_key_from_elsewhere_is_pinned() {
    let env = new_env();
    let (repo, address) = signed(&env);
    repo.write("key.pem", fs::read(fixture("publisher.pem")).unwrap());
    repo.commit("with its key");
    repo.tag("v1.4.0");
    run(&env, &["add", &address, "--yes"]);
    let key = package(&env).join("key.pem").display().to_string();
    let refused = run(&env, &["verify", "--trust-key", &key, "--for", "*"]);
    assert_has(
        &refused,
        1,
        &["a key that comes with a package proves nothing"],
    );
    let file = env.work().join("x.pem").display().to_string();
    let none = run(&env, &["verify", "--trust-key", &file, "--for", "a/*"]);
    assert_has(&none, 1, &["was not pinned: there is no such file"]);
    fs::write(&file, "-----BEGIN EC PRIVATE KEY-----\n").unwrap();
    let private = run(&env, &["verify", "--trust-key", &file, "--for", "a/*"]);
    assert_has(&private, 1, &["it holds a private key"]);
    assert_has(
        &pin(&env, "publisher.pem", "x"),
        2,
        &["`x` matches no source"],
    );
    assert_has(
        &run(&env, &["verify", "--keys"]),
        0,
        &["no keys are pinned"],
    );
    // A record that cannot be read protects nothing, so nothing is fetched.
    fs::write(env.home().join(".local/share/twig/keys.json"), "{").unwrap();
    let other = ["add", &address, "--as", "other"];
    for words in [&["verify"][..], &other, &["update"]] {
        assert_has(&run(&env, words), 1, &["keys.json cannot be read"]);
    }
}

#[test]
fn verify_asks_no_server() {
    let env = new_env();
    let (_repo, _) = signed(&env);
    let server = GitServer::start(&env.root().join("repos"));
    let added = run(&env, &["add", &server.url("signed"), "--yes"]);
    assert_eq!(added.code, 0, "{added}");
    let requests = server.request_count();
    assert_eq!(run(&env, &["verify"]).code, 0);
    assert_eq!(server.request_count(), requests);
}

#[test]
fn add_shows_what_a_package_can_do_and_what_is_left_out() {
    let env = new_env();
    let (repo, address) = signed(&env);
    repo.write(
        ".claude-plugin/marketplace.json",
        r#"{"name": "m", "owner": {"name": "o"}, "plugins": [
            {"name": "here", "source": "./", "hooks": "./hooks/hooks.json"},
            {"name": "there", "source": {"source": "github", "repo": "o/there", "ref": "v2"}},
            {"name": "npm", "source": {"source": "npm", "package": "x"}}
        ]}"#,
    );
    repo.write(".claude-plugin/plugin.json", "{");
    repo.write("hooks/hooks.json", "{}");
    repo.write(".mcp.json", "{}");
    repo.write("LICENSE", "MIT License\n\nPermission is hereby granted, free of charge, to any person, without restriction\n");
    repo.commit("a plugin");
    repo.tag("v2.0.0");
    let shown = run(&env, &["add", &address, "--dry-run"]);
    assert_has(
        &shown,
        0,
        &[
            "licence: MIT, as declared",
            "can run `curl` (skills/review/scripts/check.sh:2)",
            "can reach `lint.example.com` (skills/review/scripts/check.sh:2)",
            "has scripts: `skills/review/scripts/check.sh`",
            "left out: hooks (hooks): hooks run commands in a client",
            "left out: MCP servers (.mcp.json): Twig serves prompts and skills",
            "elsewhere: the plugin `there`: `twig add o/there#v2` adds it",
            "elsewhere: the plugin `npm` cannot be added: it is fetched from a package registry",
            "warning: .claude-plugin/plugin.json: it is not valid JSON",
        ],
    );
    let rows = json(&env, &["add", &address, "--yes", "--json"]);
    let row = &rows[0];
    assert_eq!(row["license"], "MIT");
    assert_eq!(row["capabilities"][0]["kind"], "programs");
    assert_eq!(row["capabilities"][0]["name"], "curl");
    let left_out: Vec<_> = row["left_out"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| &it["what"])
        .collect();
    assert!(left_out.contains(&&Value::from("hooks")), "{row}");
    assert_eq!(row["elsewhere"][0]["add"], "o/there#v2");
    assert_eq!(row["warnings"][0]["path"], ".claude-plugin/plugin.json");
    assert!(lock(&env).contains("license = \"MIT\""));
}

#[test]
fn the_licence_of_skills_counts_if_the_package_has_none() {
    let env = new_env();
    let (repo, address) = signed(&env);
    repo.write(
        "skills/plain/SKILL.md",
        SKILL.replace("name: plain", "name: plain\nlicense: Apache-2.0"),
    );
    repo.commit("with a licence");
    repo.tag("v3.0.0");
    assert_eq!(run(&env, &["add", &address, "--yes"]).code, 0);
    assert!(
        lock(&env).contains("license = \"Apache-2.0\""),
        "{}",
        lock(&env)
    );
}
