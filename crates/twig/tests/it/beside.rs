//! A project's documents that stay where the project has them: `[documents] folder = "../docs"`.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::json;
use twig_testkit::TestEnv;

use crate::env;

/// A project with decisions, whose manifest names this folder.
fn project(folder: &str) -> TestEnv {
    let env = env("");
    let work = env.work();
    fs::create_dir_all(work.join("docs/adr")).expect("writable");
    fs::create_dir_all(work.join(".twig")).expect("writable");
    fs::write(work.join("docs/adr/001-sqlite.md"), "# Use SQLite\n").expect("writable");
    name(&env, folder);
    env
}

fn name(env: &TestEnv, folder: &str) {
    let text = format!(
        "[documents]\nscheme = \"team\"\nfolder = \"{folder}\"\n\n[prompts.decide]\ntext = '{{{{ resource(\"team://adr/*\") }}}}'\n"
    );
    fs::write(env.work().join(".twig/twig.toml"), text).expect("writable");
}

/// The first line of the first problem, and its place.
fn refused(env: &TestEnv) -> String {
    assert_eq!(env.run(["list", "--documents"]).stdout, "");
    let checked = env.run(["check"]);
    assert_eq!(checked.code, 1, "{checked}");
    let lines: Vec<&str> = checked.stdout.lines().take(2).collect();
    lines.join("\n")
}

#[test]
fn documents_of_a_project_are_served_from_their_place() {
    let env = project("../docs");
    insta::assert_snapshot!(env.run(["list", "--documents"]), @"
    team://adr/001-sqlite  text/markdown  Use SQLite
    --- exit 0
    ");
    insta::assert_snapshot!(env.run(["show", "team://adr/001"]).stdout, @"# Use SQLite");
    insta::assert_snapshot!(env.run(["render", "decide"]).stdout, @"
    # Use SQLite
    Source: team://adr/001-sqlite

    # Use SQLite
    ");
    insta::assert_snapshot!(env.run(["path", "team://adr/001-sqlite"]).stdout, @"[work]/docs/adr/001-sqlite.md");
    insta::assert_snapshot!(env.run(["search", "sqlite"]).stdout, @"team://adr/001-sqlite  Use SQLite");
    insta::assert_snapshot!(env.run(["check"]).stderr, @"checked 1 prompt and 1 document in 1 library: no problems");
    // The same folder in the other format, and from a folder below.
    fs::remove_file(env.work().join(".twig/twig.toml")).expect("writable");
    let config = "[documents]\nfolder = \"./../docs/\"\n";
    fs::write(env.work().join(".twig/config.toml"), config).expect("writable");
    let listed = env.run(["-C", "docs/adr", "list", "--documents"]).stdout;
    assert!(
        listed.starts_with("architecture://adr/001-sqlite"),
        "{listed}"
    );
    let named = ["list", "--documents", "--library", ".twig"];
    assert_eq!(env.run(named).stdout, listed);
}

#[test]
fn only_a_folder_inside_the_project_is_read() {
    let env = project("../docs");
    let mut told = String::new();
    for folder in [
        "/etc",
        "..",
        "../.",
        "../../elsewhere",
        "../docs/../..",
        "../.git",
        "../docs/.drafts",
        "../missing",
        "../docs/adr/001-sqlite.md",
    ] {
        name(&env, folder);
        told.push_str(&refused(&env));
        told.push('\n');
    }
    insta::assert_snapshot!(told, @"
    error[outside-library]: `/etc` is an absolute path; use one inside the library's folder
     --> .twig/twig.toml:3:10
    error[outside-library]: `..` is the project's own folder; name a folder inside it
     --> .twig/twig.toml:3:10
    error[outside-library]: `../.` is the project's own folder; name a folder inside it
     --> .twig/twig.toml:3:10
    error[outside-library]: `../../elsewhere` has more than one `..`; the folder has to be inside the project
     --> .twig/twig.toml:3:10
    error[outside-library]: `../docs/../..` has more than one `..`; the folder has to be inside the project
     --> .twig/twig.toml:3:10
    error[outside-library]: `../.git` is in a hidden folder: documents are not read from folders whose names start with `.`
     --> .twig/twig.toml:3:10
    error[outside-library]: `../docs/.drafts` is in a hidden folder: documents are not read from folders whose names start with `.`
     --> .twig/twig.toml:3:10
    error[missing-folder]: the documents folder ../missing is not there
     --> .twig/twig.toml:3:10
    error[not-a-folder]: the documents folder ../docs/adr/001-sqlite.md is a file, not a folder
     --> .twig/twig.toml:3:10
    ");
}

#[test]
fn a_symlink_leads_only_to_a_folder_of_the_project() {
    let env = project("../linked");
    let outside = env.root().join("outside");
    for folder in [&outside, &env.work().join(".git/docs")] {
        fs::create_dir_all(folder).expect("writable");
        fs::write(folder.join("secret.md"), "# Secret\n").expect("writable");
    }
    let linked = env.work().join("linked");
    for target in ["../outside", ".", ".git/docs", ".twig", "docs/../.git"] {
        symlink(target, &linked).expect("writable");
        insta::allow_duplicates! {
            insta::assert_snapshot!(refused(&env), @"
            error[outside-library]: the documents folder ../linked is not read: a symlink leads out of the project, to a hidden folder or to the project itself
             --> .twig/twig.toml:3:10
            ");
        }
        fs::remove_file(&linked).expect("writable");
    }
    symlink("docs", &linked).expect("writable");
    assert_eq!(env.run(["show", "team://adr/001"]).stdout, "# Use SQLite\n");
    // A document may be a symlink to another document, and to nothing else.
    let adr = env.work().join("docs/adr");
    symlink("001-sqlite.md", adr.join("002-same.md")).expect("writable");
    symlink("../../.git/docs/secret.md", adr.join("003-secret.md")).expect("writable");
    symlink(outside.join("secret.md"), adr.join("004-secret.md")).expect("writable");
    symlink("../../.twig/twig.toml", adr.join("005-own.md")).expect("writable");
    insta::assert_snapshot!(env.run(["list", "--documents"]).stdout, @"
    team://adr/001-sqlite  text/markdown  Use SQLite
    team://adr/002-same    text/markdown  Use SQLite
    ");
    insta::assert_snapshot!(env.run(["check"]).stdout, @"
    error[outside-library]: [work]/linked/adr/003-secret.md points outside the documents folder
    --> linked/adr/003-secret.md
     = help: copy the file into the documents folder

    error[outside-library]: [work]/linked/adr/004-secret.md points outside the documents folder
    --> linked/adr/004-secret.md
     = help: copy the file into the documents folder

    error[outside-library]: [work]/linked/adr/005-own.md points outside the documents folder
    --> linked/adr/005-own.md
     = help: copy the file into the documents folder
    ");
}

#[test]
fn a_project_folder_behind_a_symlink_names_nothing_beside_it() {
    let env = project("../docs");
    fs::rename(env.work().join(".twig"), env.work().join("moved")).expect("writable");
    symlink("moved", env.work().join(".twig")).expect("writable");
    insta::assert_snapshot!(refused(&env), @"
    error[outside-library]: the documents folder ../docs is not read: a symlink leads out of the project, to a hidden folder or to the project itself
     --> .twig/twig.toml:3:10
    ");
}

#[test]
fn no_other_library_names_a_folder_beside_it() {
    let text = "[documents]\nfolder = \"../docs\"\n";
    let env = env("");
    env.write("docs/a.md", "# A\n");
    env.write("mine/twig.toml", text);
    insta::assert_snapshot!(refused(&env), @"
    error[outside-library]: `../docs` has a `..`; paths stay inside the library's folder
     --> [data]/mine/twig.toml:2:10
    ");
    // Nor does a project's own folder that was added as a library.
    fs::remove_dir_all(env.data().join("mine")).expect("writable");
    let shop = env.root().join("shop");
    fs::create_dir_all(shop.join(".twig")).expect("writable");
    fs::create_dir_all(shop.join("docs")).expect("writable");
    fs::write(shop.join("docs/a.md"), "# A\n").expect("writable");
    fs::write(shop.join(".twig/twig.toml"), text).expect("writable");
    let added = shop.join(".twig").display().to_string();
    env.run(["library", "add", "--name", "shop", &added]);
    insta::assert_snapshot!(refused(&env), @"
    error[outside-library]: `../docs` has a `..`; paths stay inside the library's folder
     --> [root]/shop/.twig/twig.toml:2:10
    ");
}

#[test]
fn a_server_follows_the_folder() {
    let env = project("../docs/adr");
    let mut client = env.serve();
    client.initialize();
    let changed = "notifications/resources/list_changed";
    let listed = |client: &mut twig_testkit::TestClient| -> Vec<String> {
        let listed = client.request("resources/list", json!({}));
        let listed = listed["result"]["resources"].as_array().cloned();
        let listed = listed.unwrap_or_default();
        let uris = listed
            .iter()
            .map(|it| it["uri"].as_str().map(str::to_owned));
        uris.flatten().collect()
    };
    assert_eq!(listed(&mut client), ["team://001-sqlite"]);
    let adr = env.work().join("docs/adr");
    fs::write(adr.join("002-http.md"), "# HTTP\n").expect("writable");
    client.notification(changed);
    assert_eq!(
        listed(&mut client),
        ["team://001-sqlite", "team://002-http"]
    );
    let read = json!({"uri": "team://001-sqlite"});
    client.request("resources/subscribe", read.clone());
    fs::write(adr.join("001-sqlite.md"), "# Use SQLite\n\nReally.\n").expect("writable");
    client.notification("notifications/resources/updated");
    let text = client.request("resources/read", read)["result"]["contents"][0]["text"].clone();
    assert_eq!(text, "# Use SQLite\n\nReally.\n");
    // The folder goes, and comes back.
    fs::rename(env.work().join("docs"), env.work().join("away")).expect("writable");
    client.notification(changed);
    assert!(listed(&mut client).is_empty());
    fs::rename(env.work().join("away"), env.work().join("docs")).expect("writable");
    client.notification(changed);
    assert_eq!(listed(&mut client).len(), 2);
    // A document that becomes a symlink out of the folder is not read, not even before a list says so.
    fs::write(env.work().join("secret"), "secret").expect("writable");
    fs::remove_file(adr.join("002-http.md")).expect("writable");
    symlink("../../secret", adr.join("002-http.md")).expect("writable");
    let read = client.request("resources/read", json!({"uri": "team://002-http"}));
    assert!(!read.to_string().contains("\"secret"), "{read}");
}
