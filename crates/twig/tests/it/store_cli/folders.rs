//! `twig project export` and `twig project import`.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use serde_json::Value;
use twig_testkit::TestEnv;

use crate::store_cli::{done, fed, garden, json, refused};

/// A project with a bit of everything, exported to `out`.
fn exported() -> TestEnv {
    let env = garden();
    done(
        &env,
        &[
            "prompt",
            "add",
            "water",
            "-c",
            "Water {{ plants }}\r\n",
            "-d",
            "What to water",
        ],
    );
    done(&env, &["prompt", "add", "Water", "-c", ""]);
    done(&env, &["prompt", "add", "con", "-c", "\u{feff}x"]);
    done(
        &env,
        &[
            "resource",
            "add",
            "api",
            "--uri",
            "file:///api.md",
            "-c",
            "# API\n",
        ],
    );
    let bytes: Vec<u8> = (0..=255).collect();
    let add = [
        "resource",
        "add",
        "logo",
        "--uri",
        "a:b",
        "-m",
        "image/png",
        "-c",
        "-",
    ];
    assert!(fed(&env, &add, &bytes).status.success());
    done(&env, &["project", "export", "garden", "out"]);
    env
}

/// The files of a folder and what they hold.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut all = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(inner) = folders.pop() {
        for entry in fs::read_dir(inner).expect("readable").flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let name = path
                .strip_prefix(folder)
                .expect("beneath")
                .display()
                .to_string();
            all.insert(name, fs::read(path).expect("readable"));
        }
    }
    all
}

fn names(folder: &Path) -> String {
    files(folder).into_keys().collect::<Vec<_>>().join("\n")
}

/// Changes what `project.json` says.
fn edit(env: &TestEnv, change: impl FnOnce(&mut Value)) {
    let path = env.work().join("out/project.json");
    let mut json = serde_json::from_slice(&fs::read(&path).expect("readable")).expect("JSON");
    change(&mut json);
    fs::write(path, json.to_string()).expect("writable");
}

#[test]
fn a_project_is_a_folder_of_plain_files() {
    let env = exported();
    let out = env.work().join("out");
    insta::assert_snapshot!(names(&out), @"
    .gitattributes
    project.json
    prompts/Water~7ca7dea9.md
    prompts/_con~1143da2b.md
    prompts/water~0f416849.md
    resources/api.md
    resources/logo.png
    ");
    insta::assert_snapshot!(String::from_utf8_lossy(&files(&out)["project.json"]), @r#"
    {
      "format": 1,
      "name": "garden",
      "prompts": [
        {
          "name": "Water",
          "file": "prompts/Water~7ca7dea9.md",
          "sha256": "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
        },
        {
          "name": "con",
          "file": "prompts/_con~1143da2b.md",
          "sha256": "84144a41283d6dc344addf4e83189d83fdd656439675abf54e6f44ccb73b4eb6"
        },
        {
          "name": "water",
          "description": "What to water",
          "file": "prompts/water~0f416849.md",
          "sha256": "fe8b7c5ab8153a39f8ff186371eab592d98415d677817a1e9e6c2768351a25e0"
        }
      ],
      "resources": [
        {
          "name": "api",
          "uri": "file:///api.md",
          "mime_type": "text/markdown",
          "file": "resources/api.md",
          "sha256": "06886e8bb04f52881e06ac404cdcf597afb41f8ea306120b75881ed214954f98"
        },
        {
          "name": "logo",
          "uri": "a:b",
          "mime_type": "image/png",
          "file": "resources/logo.png",
          "sha256": "40aff2e9d2d8922e47afd4648e6967497158785fbd1da870e7110266bf944880"
        }
      ]
    }
    "#);
    assert_eq!(files(&out)[".gitattributes"], b"* -text\n");
    assert_eq!(files(&out)["resources/logo.png"].len(), 256);
}

#[test]
fn there_and_back_is_exact() {
    let env = exported();
    insta::assert_snapshot!(env.run(["project", "import", "out"]), @"
    --- stderr
    error: Project 'garden' already exists in workspace 'default'
    hint: bring the folder's changes into it with `--update`, or give the folder's another name with `--name NAME`
    --- exit 1
    ");
    done(&env, &["workspace", "create", "other"]);
    insta::assert_snapshot!(env.run(["project", "import", "out", "-w", "other"]), @"
    --- stderr
    imported project `garden` into workspace `other`: 3 prompts, 2 resources
    --- exit 0
    ");
    done(
        &env,
        &["project", "export", "garden", "back", "-w", "other"],
    );
    assert_eq!(
        files(&env.work().join("out")),
        files(&env.work().join("back"))
    );
    insta::assert_snapshot!(done(&env, &["project", "import", "out", "--name", "park", "--json"]), @r#"
    {
      "workspace": "default",
      "name": "park",
      "prompts": 3,
      "resources": 2,
      "edited": []
    }
    "#);
    let show = ["prompt", "show", "water", "-p", "park"];
    assert_eq!(done(&env, &show), "Water {{ plants }}\r\n");
    let row = &json(&env, &["resource", "list", "-p", "park", "--json"])[0];
    assert_eq!(
        (&row["author"], &row["version"]),
        (&"twig".into(), &1.into())
    );
    let projects = json(&env, &["project", "list", "--json"]);
    assert_eq!(projects.as_array().map(Vec::len), Some(2), "{projects}");
}

#[test]
fn an_earlier_export_is_brought_up_to_date() {
    let env = exported();
    let out = env.work().join("out");
    let before = files(&out);
    insta::assert_snapshot!(env.run(["project", "export", "garden", "out"]), @"
    --- stderr
    exported project `garden` to [work]/out: 3 prompts, 2 resources; 0 files written
    --- exit 0
    ");
    assert_eq!(files(&out), before);
    fs::write(out.join("README.txt"), "mine").expect("writable");
    done(&env, &["prompt", "delete", "Water", "-f"]);
    done(&env, &["prompt", "update", "con", "-c", "new"]);
    done(&env, &["resource", "delete", "api", "-f"]);
    fs::write(out.join("resources/api.md"), "edited").expect("writable");
    insta::assert_snapshot!(env.run(["project", "export", "garden", "out"]), @"
    --- stderr
    exported project `garden` to [work]/out: 2 prompts, 1 resource; 2 files written
    removed prompts/Water~7ca7dea9.md, which is no longer in the project
    removed prompts/water~0f416849.md, which is no longer in the project
    kept resources/api.md, which is no longer in the project: it was changed since the last export
    --- exit 0
    ");
    let told = json(&env, &["project", "export", "garden", "out", "--json"]);
    assert_eq!((&told["items"], &told["written"]), (&3.into(), &0.into()));
    insta::assert_snapshot!(names(&out), @"
    .gitattributes
    README.txt
    project.json
    prompts/_con~1143da2b.md
    prompts/water.md
    resources/api.md
    resources/logo.png
    ");
    done(&env, &["project", "rename", "garden", "park"]);
    insta::assert_snapshot!(env.run(["project", "export", "park", "out"]), @"
    --- stderr
    error: [work]/out: the folder holds project `garden`
    hint: use --force to put this project there instead, or name another folder
    --- exit 1
    ");
    done(&env, &["project", "export", "park", "out", "--force"]);
    done(&env, &["prompt", "delete", "con", "-f"]);
    done(&env, &["prompt", "delete", "water", "-f"]);
    done(&env, &["project", "export", "park", "out"]);
    insta::assert_snapshot!(names(&out), @"
    .gitattributes
    README.txt
    project.json
    resources/api.md
    resources/logo.png
    ");
    assert!(!out.join("prompts").exists());
}

#[test]
fn what_somebody_edited_is_not_overwritten_by_itself() {
    let env = exported();
    let file = env.work().join("out/resources/api.md");
    fs::write(&file, "edited").expect("writable");
    insta::assert_snapshot!(env.run(["project", "export", "garden", "out"]), @"
    --- stderr
    error: [work]/out: one file is not as the last export left it: resources/api.md
    hint: use --force to replace what is there; `twig project import FOLDER --update` brings what is there into the project
    --- exit 1
    ");
    assert_eq!(fs::read(&file).expect("readable"), b"edited");
    done(&env, &["project", "export", "garden", "out", "-f"]);
    assert_eq!(fs::read(&file).expect("readable"), b"# API\n");
}

#[test]
fn other_folders_are_left_alone() {
    let env = exported();
    let run = |folder: &str| env.run(["project", "export", "garden", folder]);
    for (folder, file, text) in [
        ("full", "notes.txt", "mine"),
        (
            "foreign",
            "project.json",
            r#"{"name": "an app", "targets": {}}"#,
        ),
        ("newer", "project.json", r#"{"format": 3}"#),
    ] {
        fs::create_dir(env.work().join(folder)).expect("writable");
        fs::write(env.work().join(folder).join(file), text).expect("writable");
    }
    insta::assert_snapshot!(run("full"), @"
    --- stderr
    error: [work]/full: the folder is not empty and is not an exported project
    hint: name an empty folder, or one that is to be made
    --- exit 1
    ");
    insta::assert_snapshot!(run("foreign"), @"
    --- stderr
    error: [work]/foreign: the folder is not empty and is not an exported project
    hint: name an empty folder, or one that is to be made
    --- exit 1
    ");
    insta::assert_snapshot!(run("newer"), @"
    --- stderr
    error: [work]/newer: project.json has format 3; this version of Twig reads formats 1 and 2
    --- exit 1
    ");
    insta::assert_snapshot!(run("full/notes.txt"), @"
    --- stderr
    error: [work]/full/notes.txt: it is not a folder
    --- exit 1
    ");
    assert_eq!(names(&env.work().join("full")), "notes.txt");
    assert_eq!(names(&env.work().join("foreign")), "project.json");
    insta::assert_snapshot!(env.run(["project", "export", "gardn", "new"]), @"
    --- stderr
    error: Project 'gardn' does not exist in workspace 'default'
    hint: did you mean `garden`?
    --- exit 1
    ");
    assert!(!env.work().join("new").exists());
    // A fresh repository is as good as empty.
    fs::create_dir_all(env.work().join("repository/.git")).expect("writable");
    done(&env, &["project", "export", "garden", "repository"]);
}

#[test]
fn an_export_does_not_follow_links_out() {
    let env = exported();
    let out = env.work().join("out");
    let elsewhere = env.root().join("elsewhere");
    fs::create_dir(&elsewhere).expect("writable");
    fs::write(elsewhere.join("api.md"), "theirs").expect("writable");
    fs::remove_dir_all(out.join("resources")).expect("writable");
    symlink(&elsewhere, out.join("resources")).expect("writable");
    for force in [&[][..], &["--force"]] {
        let args = ["project", "export", "garden", "out"];
        let talk = refused(&env, &[&args, force].concat());
        assert!(talk.contains("resources/"), "{talk}");
        assert_eq!(names(&elsewhere), "api.md");
        assert_eq!(
            fs::read(elsewhere.join("api.md")).expect("readable"),
            b"theirs"
        );
    }
    // A link in a file's place is replaced, not written through.
    fs::remove_file(out.join("resources")).expect("writable");
    fs::create_dir(out.join("resources")).expect("writable");
    symlink(elsewhere.join("api.md"), out.join("resources/api.md")).expect("writable");
    refused(&env, &["project", "export", "garden", "out"]);
    done(&env, &["project", "export", "garden", "out", "--force"]);
    assert_eq!(
        fs::read(elsewhere.join("api.md")).expect("readable"),
        b"theirs"
    );
    assert!(!out.join("resources/api.md").is_symlink());
}

#[test]
fn an_edited_file_is_taken_as_it_is_now() {
    let env = exported();
    fs::write(env.work().join("out/resources/api.md"), "edited").expect("writable");
    insta::assert_snapshot!(env.run(["project", "import", "out", "--name", "park"]), @"
    --- stderr
    resources/api.md was changed since the export: taken as it is now
    imported project `park`: 3 prompts, 2 resources
    --- exit 0
    ");
    assert_eq!(
        done(&env, &["resource", "show", "api", "-p", "park"]),
        "edited"
    );
}

#[test]
fn a_folder_by_hand_is_imported_too() {
    let env = garden();
    let folder = env.work().join("mine");
    fs::create_dir_all(folder.join("prompts")).expect("writable");
    fs::write(folder.join("prompts/hello.txt"), "Hello").expect("writable");
    let json = r#"{"format": 1, "name": "mine", "prompts": [{"name": "hello", "file": "prompts/hello.txt"}],
        "resources": [{"name": "hi", "uri": "note:hi", "file": "./prompts/hello.txt"}]}"#;
    fs::write(folder.join("project.json"), json).expect("writable");
    done(&env, &["project", "import", "mine"]);
    assert_eq!(
        done(&env, &["prompt", "show", "hello", "-p", "mine"]),
        "Hello"
    );
    let hi = crate::store_cli::json(&env, &["resource", "show", "hi", "-p", "mine", "--json"]);
    assert_eq!(hi["mime_type"], "text/plain");
}

#[test]
fn a_folder_with_a_mistake_makes_no_project() {
    let env = exported();
    let good = fs::read(env.work().join("out/project.json")).expect("readable");
    fs::write(env.root().join("secret"), "secret").expect("writable");
    symlink(
        env.root().join("secret"),
        env.work().join("out/prompts/link"),
    )
    .expect("writable");
    fs::write(env.work().join("out/prompts/binary"), b"\xff\xfe").expect("writable");
    fs::write(
        env.work().join("out/prompts/large"),
        vec![b'x'; 1024 * 1024 + 1],
    )
    .expect("writable");
    let mut told = Vec::new();
    let mut check = |change: &dyn Fn(&mut Value)| {
        fs::write(env.work().join("out/project.json"), &good).expect("writable");
        edit(&env, change);
        told.push(refused(
            &env,
            &["project", "import", "out", "--name", "park"],
        ));
    };
    for file in [
        "prompts/link",
        "../secret",
        "prompts/gone",
        "prompts/binary",
        "prompts/large",
    ] {
        check(&|json| json["prompts"][0]["file"] = file.into());
    }
    check(&|json| json["prompts"][1]["name"] = "a/b".into());
    insta::assert_snapshot!(told.concat(), @"
    error: [work]/out: prompts/link is a symlink, and symlinks are not imported: put the file itself there
    error: [work]/out: project.json has a path that does not point to a file inside the folder: `../secret`
    error: [work]/out: prompts/gone is not there
    error: [work]/out: prompts/binary: Content of type 'text/plain' has to be UTF-8 text, which ends at byte 0
    error: [work]/out: prompts/large is 1048577 bytes long; the limit is 1048576
    error: [work]/out: project.json has a name that cannot be: Prompt name 'a/b' contains invalid characters. Allowed: a-z, A-Z, 0-9, -, _, .
    ");
    insta::assert_snapshot!(env.run(["project", "import", "nowhere"]), @"
    --- stderr
    error: [work]/nowhere: there is no project.json
    hint: `twig project export` makes such a folder
    --- exit 1
    ");
    insta::assert_snapshot!(env.run(["project", "import", "out", "--name", "../x"]), @"
    --- stderr
    error: Project name '../x' contains invalid characters. Allowed: a-z, A-Z, 0-9, -, _, .
    --- exit 1
    ");
    let projects = json(&env, &["project", "list", "--json"]);
    assert_eq!(projects.as_array().map(Vec::len), Some(1), "{projects}");
}
