//! Files as they are on disk: what stays, what is refused, what is kept beside them.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use twig_testkit::TestEnv;

use super::{CLIENTS, backup, connect, done, json, put, text};
use crate::TWIG;

const SETTINGS: &str = "\u{feff}// Zed settings\r\n{\r\n\t\"theme\": \"One\", // dark\r\n\t\"context_servers\": {\r\n\t\t/* none */\r\n\t},\r\n\t\"vim_mode\": true,\r\n}";

#[test]
fn what_was_there_comes_back_byte_for_byte() {
    let env = TestEnv::new(TWIG);
    let toml = "# mine\r\nmodel = 'o'\r\n\r\n[mcp_servers.files]\r\ncommand = \"npx\"";
    for (client, user, _) in CLIENTS {
        let jsons = [
            "",
            " \n",
            "{}",
            "{ }\n",
            "{\n}\n",
            SETTINGS,
            "{\"mcpServers\":{},\"servers\":{},\"context_servers\":{},\"mcp\":{}}",
            "{\n    \"mcpServers\": {\n        \"a\": {\"command\": \"a\"}\n    }\n}\n",
        ];
        let tomls = ["", "\n", "a = 1", toml, "[mcp_servers]\n\n# none\n"];
        let yamls = [
            "",
            "\n",
            "# only this",
            "a: 1",
            "mcpServers: [] # none\r\nextensions: {}\r\n",
            "extensions:\n  # mine\n  dev: {type: builtin}\n\nmcpServers:\n- name: a\n  command: a # b\n\nlast: |\n  text\n",
        ];
        let files: &[&str] = match client {
            "codex" => &tomls,
            "goose" | "continue" => &yamls,
            _ => &jsons,
        };
        for file in files {
            let path = put(&env, user, file);
            let report = json(&done(&env, &[client, "--json"]));
            assert_eq!(report["action"], "added");
            assert_ne!(text(&path), *file);
            assert_eq!(text(&backup(&path)), *file, "{client}");
            done(&env, &[client, "--remove"]);
            assert_eq!(text(&path), *file, "{client}");
            assert!(
                !backup(&path).exists(),
                "{client}: it is the same as the file"
            );
        }
    }
}

#[test]
fn what_was_edited_since_is_kept() {
    let env = TestEnv::new(TWIG);
    let path = put(&env, ".config/zed/settings.json", SETTINGS);
    done(&env, &["zed"]);
    let edited = text(&path).replace("\"One\"", "\"Two\"");
    fs::write(&path, &edited).expect("own file");
    let report = json(&done(&env, &["zed", "--remove", "--json"]));
    assert_eq!(text(&path), SETTINGS.replace("\"One\"", "\"Two\""));
    // The first copy is of before Twig, the second of just now.
    assert_eq!(text(&backup(&path)), SETTINGS);
    let second = format!("{}.2", backup(&path).display());
    assert_eq!(text(Path::new(&second)), edited);
    assert_eq!(
        report["backup"],
        "[home]/.config/zed/settings.json.twig-backup.2"
    );
}

#[test]
fn an_earlier_copy_is_never_written_over() {
    let env = TestEnv::new(TWIG);
    let path = put(&env, ".cursor/mcp.json", "{}\n");
    fs::write(backup(&path), "precious").expect("own file");
    done(&env, &["cursor"]);
    assert_eq!(text(&backup(&path)), "precious");
    done(&env, &["cursor", "--force", "--", "--read-only"]);
    done(&env, &["cursor", "--remove"]);
    assert_eq!(
        text(&path),
        "{}\n",
        "the copy of before is known through changes of our entry"
    );
    assert_eq!(text(&backup(&path)), "precious");
    assert!(!env.home().join(".cursor/mcp.json.twig-backup.2").exists());
}

#[test]
fn a_change_is_shown_and_not_made() {
    let env = TestEnv::new(TWIG);
    let path = put(
        &env,
        ".cursor/mcp.json",
        "{\n  \"mcpServers\": {\n    \"a\": {}\n  }\n}",
    );
    let shown = done(&env, &["cursor", "--print"]);
    insta::assert_snapshot!(shown.to_string().replace(TWIG, "/bin/twig"), @r#"
    --- [home]/.cursor/mcp.json
    +++ [home]/.cursor/mcp.json
    @@ -3,1 +3,6 @@
    -    "a": {}
    +    "a": {},
    +    "twig": {
    +      "type": "stdio",
    +      "command": "/bin/twig",
    +      "args": ["serve"]
    +    }
    --- exit 0
    "#);
    done(&env, &["cursor"]);
    let shown = done(&env, &["cursor", "--remove", "--print"]);
    insta::assert_snapshot!(shown.to_string().replace(TWIG, "/bin/twig"), @r#"
    --- [home]/.cursor/mcp.json
    +++ [home]/.cursor/mcp.json
    @@ -3,6 +3,1 @@
    -    "a": {},
    -    "twig": {
    -      "type": "stdio",
    -      "command": "/bin/twig",
    -      "args": ["serve"]
    -    }
    +    "a": {}
    --- exit 0
    "#);
    assert!(text(&path).contains(TWIG));
    assert_eq!(done(&env, &["cursor", "--print"]).stdout, "");
    let diff = json(&done(&env, &["zed", "--print", "--json"]));
    assert_eq!(diff["written"], false);
    assert!(
        diff["diff"]
            .as_str()
            .is_some_and(|diff| diff.starts_with("--- /dev/null\n"))
    );
    assert!(!env.home().join(".config/zed").exists());
}

#[test]
fn what_others_have_in_the_file_is_not_shown() {
    let env = TestEnv::new(TWIG);
    let one = "{\"mcpServers\": {\"gh\": {\"env\": {\"T\": \"secret\"}}}}\n";
    let few = "{\n  \"mcpServers\": {\n    \"gh\": {\n      \"env\": { \"T\": \"secret\" },\n      \"url\": \"secret\" }\n  },\n  \"key\": \"secret\"\n}\n";
    for file in [one, few] {
        put(&env, ".cursor/mcp.json", file);
        for flags in [&["--print"][..], &[], &["--remove", "--print"]] {
            let args: Vec<&str> = ["cursor"].iter().chain(flags).copied().collect();
            let outcome = done(&env, &args);
            assert!(!outcome.to_string().contains("secret"), "{outcome}");
            if !flags.is_empty() {
                assert!(outcome.stdout.contains(TWIG), "{outcome}");
                assert!(outcome.stdout.contains('…'), "{outcome}");
            }
        }
    }
    // Tables of one server may stand around those of another.
    let file = format!(
        "[mcp_servers.twig]\ncommand = \"{TWIG}\"\nargs = [\"serve\"]\n\n[mcp_servers.gh]\n\
         command = \"secret\"\n\n[mcp_servers.twig.env]\nA = \"b\"\n"
    );
    put(&env, ".codex/config.toml", &file);
    let outcome = done(&env, &["codex", "--remove", "--print"]);
    assert!(!outcome.stdout.contains("secret"), "{outcome}");
    assert!(
        outcome.stdout.contains("-[mcp_servers.twig.env]"),
        "{outcome}"
    );
}

#[test]
fn servers_within_braces_are_read_and_not_edited() {
    let env = TestEnv::new(TWIG);
    let file = "mcp_servers = { gh = { command = \"gh\" } }\n";
    let path = put(&env, ".codex/config.toml", file);
    insta::assert_snapshot!(connect(&env, &["codex"]), @"
    --- stderr
    error: ~/.codex/config.toml cannot be edited: line 1, column 15: `mcp_servers` has to be written as tables, `[mcp_servers.NAME]`
    hint: the file stays as it is; give each server a table `[mcp_servers.NAME]` of its own, then try again
    --- exit 1
    ");
    insta::assert_snapshot!(connect(&env, &["codex", "--remove"]), @"
    --- stderr
    there is no `twig` in ~/.codex/config.toml
    --- exit 0
    ");
    assert_eq!(text(&path), file);
    // Twig is there, and has to be taken out by hand.
    let file =
        format!("mcp_servers = {{ twig = {{ command = \"{TWIG}\", args = [\"serve\"] }} }}\n");
    put(&env, ".codex/config.toml", &file);
    let report = json(&done(&env, &["codex", "--json"]));
    assert_eq!(report["action"], "unchanged");
    let outcome = connect(&env, &["codex", "--remove"]);
    assert_eq!(outcome.code, 1, "{outcome}");
    assert!(
        outcome.stderr.contains("of its own, then try again"),
        "{outcome}"
    );
    assert_eq!(text(&path), file);
}

#[test]
fn links_and_permissions_stay() {
    let env = TestEnv::new(TWIG);
    let real = put(&env, "dotfiles/claude.json", "{\"oauth\": \"secret\"}\n");
    fs::set_permissions(&real, fs::Permissions::from_mode(0o600)).expect("own file");
    let link = env.home().join(".claude.json");
    symlink("dotfiles/claude.json", &link).expect("own folder");
    done(&env, &["claude-code"]);
    assert!(link.symlink_metadata().expect("a link").is_symlink());
    assert!(text(&real).contains(TWIG));
    let mode = |path: &PathBuf| fs::metadata(path).expect("a file").permissions().mode() & 0o777;
    assert_eq!(mode(&real), 0o600);
    assert_eq!(mode(&backup(&link)), 0o600);
    let beside = fs::read_dir(env.home().join("dotfiles"))
        .expect("own folder")
        .count();
    assert_eq!(beside, 1, "nothing is left where the link leads");
    done(&env, &["claude-code", "--remove"]);
    assert_eq!(text(&real), "{\"oauth\": \"secret\"}\n");

    let shared = put(&env, ".cursor/mcp.json", "{}");
    fs::set_permissions(&shared, fs::Permissions::from_mode(0o664)).expect("own file");
    done(&env, &["cursor"]);
    assert_eq!(mode(&shared), 0o664);

    // A link that leads to nothing yet.
    let settings = env.home().join(".config/zed/settings.json");
    fs::create_dir_all(settings.parent().expect("a folder")).expect("own folder");
    symlink(env.home().join("dotfiles/zed.json"), &settings).expect("own folder");
    done(&env, &["zed"]);
    assert!(text(&env.home().join("dotfiles/zed.json")).contains(TWIG));
    assert!(settings.symlink_metadata().expect("a link").is_symlink());
    assert_eq!(mode(&env.home().join("dotfiles/zed.json")), 0o600);
}

#[test]
fn the_links_of_a_project_lead_nowhere_else() {
    let env = TestEnv::new(TWIG);
    let outside = env.home().join("outside");
    fs::create_dir(&outside).expect("own folder");
    let settings = put(&env, "outside/mcp.json", "{}");
    symlink(outside.join("new/evil.json"), env.work().join(".mcp.json")).expect("own folder");
    symlink(&outside, env.work().join(".vscode")).expect("own folder");
    fs::create_dir(env.work().join(".cursor")).expect("own folder");
    symlink(&settings, env.work().join(".cursor/mcp.json")).expect("own folder");
    fs::create_dir(env.work().join("shared")).expect("own folder");
    symlink("../outside", env.work().join("shared/up")).expect("own folder");
    symlink("shared/up", env.work().join(".gemini")).expect("own folder");
    for (client, link) in [
        ("claude-code", ".mcp.json"),
        ("vscode", ".vscode"),
        ("cursor", ".cursor/mcp.json"),
        ("gemini", ".gemini"),
    ] {
        for more in [&[][..], &["--force"], &["--print"], &["--remove"]] {
            let outcome = connect(&env, &[&[client, "--scope=project"], more].concat());
            assert_eq!(outcome.code, 1, "{outcome}");
            let said = format!("the symlink [work]/{link} points out of the project\nhint: ");
            assert!(outcome.stderr.contains(&said), "{outcome}");
        }
    }
    assert_eq!(fs::read_dir(&outside).expect("own folder").count(), 1);
    assert_eq!(text(&settings), "{}");

    // Within the project a link is followed, and the way to the project may be one.
    symlink("shared", env.work().join(".zed")).expect("own folder");
    let way = env.home().join("way");
    symlink(env.work(), &way).expect("own folder");
    let way = way.to_str().expect("text");
    done(&env, &["zed", "--scope=project", "-C", way]);
    assert!(text(&env.work().join("shared/settings.json")).contains("serve"));
}

#[test]
fn a_folder_that_cannot_be_synced_is_no_error() {
    let env = TestEnv::new(TWIG);
    let path = put(&env, ".cursor/mcp.json", "{}");
    let folder = path.parent().expect("a folder");
    // Files can be made and found there, and the folder itself not be opened.
    fs::set_permissions(folder, fs::Permissions::from_mode(0o300)).expect("own folder");
    if fs::read_dir(folder).is_ok() {
        println!("skipped: this user may read everywhere");
        return;
    }
    done(&env, &["cursor"]);
    assert!(text(&path).contains(TWIG));
    fs::set_permissions(folder, fs::Permissions::from_mode(0o700)).expect("own folder");
}

#[test]
fn files_that_cannot_be_edited_stay() {
    let env = TestEnv::new(TWIG);
    for (client, path, file, message) in [
        (
            "cursor",
            ".cursor/mcp.json",
            "{\n  \"a\": 1\n  \"b\": 2\n}",
            "line 2, column 9: expected comma",
        ),
        (
            "vscode",
            ".config/Code/User/mcp.json",
            "{\"servers\": []}",
            "line 1, column 13: `servers` has to be an object",
        ),
        (
            "codex",
            ".codex/config.toml",
            "a = 1\na = 2\n",
            "line 2, column 1: duplicate key",
        ),
        (
            "gemini",
            ".gemini/settings.json",
            "[]",
            "line 1, column 1: the file has to hold an object",
        ),
    ] {
        let path = put(&env, path, file);
        for flag in ["--user", "--print", "--force"] {
            let outcome = connect(&env, &[client, flag]);
            assert_eq!(outcome.code, 1, "{outcome}");
            assert!(outcome.stderr.contains(message), "{outcome}");
        }
        // Where there is no place for servers, Twig is none of them; else nobody knows.
        let outcome = connect(&env, &[client, "--remove"]);
        if message.contains("has to") {
            assert_eq!(outcome.code, 0, "{outcome}");
            assert!(
                outcome.stderr.starts_with("there is no `twig` in ~/"),
                "{outcome}"
            );
        } else {
            assert_eq!(outcome.code, 1, "{outcome}");
            assert!(
                outcome.stderr.ends_with("; fix it, then try again\n"),
                "{outcome}"
            );
        }
        assert_eq!(text(&path), file);
        assert!(!backup(&path).exists());
    }
    let path = env.home().join(".config/zed/settings.json");
    fs::create_dir_all(&path).expect("own folder");
    let outcome = connect(&env, &["zed"]);
    assert_eq!(
        outcome.stderr,
        "error: ~/.config/zed/settings.json cannot be read: it is a folder\nhint: the file stays as it is\n"
    );
    let path = put(&env, ".codeium/windsurf/mcp_config.json", "");
    fs::write(&path, b"{\"a\": \"\xff\"}").expect("own file");
    let outcome = connect(&env, &["windsurf"]);
    assert!(outcome.stderr.contains("it is not UTF-8 text"), "{outcome}");
}

#[test]
fn without_a_home_only_projects_have_files() {
    let env = TestEnv::new(TWIG);
    let run = |args: &[&str]| {
        let args = ["connect", "cursor"].iter().chain(args);
        let output = env
            .command(args.copied())
            .env_remove("HOME")
            .output()
            .expect("it starts");
        (
            output.status.code(),
            String::from_utf8_lossy(&output.stderr).into_owned(),
        )
    };
    let (code, said) = run(&[]);
    assert_eq!(code, Some(1));
    assert!(
        said.contains("hint: set HOME to an absolute path"),
        "{said}"
    );
    assert_eq!(run(&["--scope=project"]).0, Some(0));
}
