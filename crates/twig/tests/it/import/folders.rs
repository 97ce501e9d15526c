//! What is read of a folder, and what is not.

use std::os::unix::fs::symlink;

use super::{counts, imported, put, tree, with_file};

#[test]
fn a_folder_is_read_whole_and_nothing_else() {
    let env = with_file("kit/a/One.prompty", "user:\nHi {{name}}\n");
    put(&env, "kit/b/two.prompt", "---\nmodel: x\n---\nHi {{name}}");
    put(&env, "kit/b/_part.prompt", "part");
    put(&env, "kit/rules/three.mdc", "---\nglobs: *.rs\n---\nText");
    put(
        &env,
        "kit/rules/four.mdc",
        "---\ndescription: Four\n---\nText",
    );
    put(&env, "kit/package.json", "{\"name\": \"x\"}");
    put(&env, "kit/README.md", "text");
    put(&env, "kit/image.png", b"\x89PNG");
    put(&env, "kit/.git/five.mdc", "Text");
    put(&env, "kit/node_modules/six.mdc", "Text");
    put(&env, "kit/latin.mdc", b"caf\xe9");
    put(&env, "outside.mdc", "secret");
    put(&env, "beyond/seven.mdc", "secret");
    symlink("../outside.mdc", env.work().join("kit/link.mdc")).unwrap();
    symlink("../beyond", env.work().join("kit/folder")).unwrap();
    symlink(".", env.work().join("kit/circle")).unwrap();
    insta::assert_snapshot!(env.run(["import", "kit"]), @"
    skipped  -  b/_part.prompt   a partial: it is included in the prompts that use it
    skipped  -  rules/three.mdc  the rule goes with files (`globs: *.rs`): it is context, not a prompt
    skipped  -  latin.mdc        it is not UTF-8 text (byte 3)
    skipped  -  link.mdc         it leads outside the folder that is imported
    --- stderr
    new library `kit`: 3 taken as they are, 4 skipped
    note: 5 other files ignored
    hint: `--all-rules` takes rules that apply by themselves, too
    --- exit 0
    ");
    for (path, bytes) in tree(&env.data()) {
        assert!(
            !String::from_utf8_lossy(&bytes).contains("secret"),
            "{path}"
        );
    }
    let again = imported(&env, &["kit", "--all-rules"]);
    assert_eq!(counts(&again), [1, 0, 3, 3], "{again}");
    assert_eq!(counts(&imported(&env, &["kit/.git"])), [1, 0, 0, 0]);
}

#[test]
fn a_file_that_nobody_knows_is_told() {
    let env = with_file("notes.txt", "Hi {{name}}");
    let outcome = env.run(["import", "notes.txt"]);
    assert_eq!(outcome.code, 1, "{outcome}");
    assert!(
        outcome.stdout.contains("give it with `--format`"),
        "{outcome}"
    );
    assert!(tree(&env.data()).is_empty());
    assert_eq!(
        counts(&imported(&env, &["notes.txt", "--format", "prompty"])),
        [1, 0, 0, 0]
    );
    let outcome = env.run(["import", "notes.txt", "--format", "promty"]);
    assert_eq!(outcome.code, 2);
    assert!(
        outcome.stderr.contains("did you mean `prompty`"),
        "{outcome}"
    );
    for path in ["gone.csv", "."] {
        let outcome = env.run(["import", path]);
        assert_eq!((outcome.code, &*outcome.stdout), (1, ""), "{outcome}");
        assert!(outcome.stderr.contains("hint: "), "{outcome}");
    }
}
