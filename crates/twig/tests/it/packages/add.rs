//! `twig add`: every way to write a source, and where it is added.

use std::fs;

use serde_json::json;
use twig_testkit::{GitDaemon, GitServer, SshServer};

use super::{PackageTest, skill, source, write_program};

#[test]
fn a_repository_is_fetched_locked_and_served() {
    let test = PackageTest::new();
    let repo = test.repo("kit");
    let said = test.says(["add", &source(&repo), "--yes"]);
    assert!(said.contains("v1.0.0"), "{said}");
    assert!(said.contains("1 skill in 2 files"), "{said}");
    assert!(
        said.contains("added `kit` to ~/.config/twig/config.toml"),
        "{said}"
    );
    assert_eq!(test.prompts(), ["kit:pdf"]);
    let commit = repo.git(["rev-parse", "v1.0.0"]);
    let lock = test.lock();
    for line in [
        "version = 1".to_owned(),
        "name = \"kit\"".to_owned(),
        format!("source = \"{}\"", source(&repo)),
        "ref = \"v1.0.0\"".to_owned(),
        format!("commit = \"{commit}\""),
        "files = 2".to_owned(),
    ] {
        assert!(lock.lines().any(|it| it == line), "{line} in {lock}");
    }
    assert_eq!(test.ok(["install", "--frozen", "--offline"]), "");
}

#[test]
fn without_a_version_the_newest_tag_is_taken_or_else_the_default_branch() {
    let test = PackageTest::new();
    let repo = test.empty_repo("kit");
    repo.write("skills/a/SKILL.md", skill("a", "text"))
        .commit("one");
    let added = test.json(["add", &source(&repo), "--yes"]);
    assert_eq!(added[0]["ref"], "main");
    repo.tag("v1.9.0");
    repo.write("x.txt", "x").commit("two");
    repo.annotated_tag("v1.10.0", "release");
    let tagged = repo.git(["rev-parse", "v1.10.0^{commit}"]);
    repo.write("x.txt", "y").commit("three");
    repo.tag("v2.0.0-rc.1");
    let other = test.json(["add", &source(&repo), "--as", "other", "--yes"]);
    assert_eq!(other[0]["ref"], "v1.10.0");
    assert_eq!(other[0]["commit"], tagged);
}

#[test]
fn branches_tags_commits_and_folders_can_be_asked_for() {
    let test = PackageTest::new();
    let repo = test.repo("kit");
    let first = repo.git(["rev-parse", "v1.0.0"]);
    repo.branch("next/try");
    repo.write("deep/er/b/SKILL.md", skill("b", "text"));
    let second = repo.commit("second");
    let server = GitServer::start(&test.repos());
    let url = server.url("kit");
    for (number, (reference, commit)) in [
        ("next/try", &second),
        ("v1.0.0", &first),
        ("main", &first),
        (&*first, &first),
        (&*second, &second),
    ]
    .into_iter()
    .enumerate()
    {
        let name = format!("kit{number}");
        let spec = format!("{url}#{reference}");
        let added = test.json(["add", &spec, "--as", &name, "--yes"]);
        assert_eq!(added[0]["ref"], *reference);
        assert_eq!(added[0]["commit"], **commit, "{reference}");
    }
}

#[test]
fn only_the_folder_that_is_asked_for_is_in_the_package() {
    let test = PackageTest::new();
    let repo = test.repo("kit");
    repo.write("docs/long.md", "no prompt");
    repo.write("skills/doc/SKILL.md", skill("doc", "text"));
    repo.commit("more");
    test.env.configure(&format!(
        "[[libraries]]\nsource = \"{}\"\npath = \"skills/doc\"\nref = \"main\"\n",
        source(&repo)
    ));
    let installed = test.json(["install"]);
    assert_eq!(installed[0]["files"], 1);
    assert!(test.package().join("SKILL.md").is_file());
    let server = GitServer::start(&test.repos());
    test.env.configure(&format!(
        "[[libraries]]\nname = \"doc\"\nsource = \"git+{}\"\npath = \"skills\"\nref = \"main\"\n",
        server.url("kit")
    ));
    assert_eq!(test.json(["install"])[0]["files"], 2);
    test.env.configure(&format!(
        "[[libraries]]\nname = \"doc\"\nsource = \"git+{}\"\npath = \"nothing\"\nref = \"main\"\n",
        server.url("kit")
    ));
    let said = test.refused(["install"]);
    assert!(said.contains("has no folder `nothing` at "), "{said}");
}

#[test]
fn http_on_this_machine_git_daemon_and_old_servers_work() {
    let test = PackageTest::new();
    let repo = test.repo("kit");
    repo.annotated_tag("v1.0.1", "release");
    let server = GitServer::start(&test.repos());
    test.ok(["add", &server.url("kit"), "--as", "over_http", "--yes"]);
    server.old_server();
    test.ok(["add", &server.url("kit"), "--as", "old_http", "--yes"]);
    if let Some(daemon) = GitDaemon::start(&test.repos()) {
        let url = daemon.url("kit.git");
        test.ok(["add", &url, "--as", "daemon", "--yes"]);
    }
    // All of them have the same files, which are kept once.
    assert_eq!(test.packages().len(), 2);
}

#[test]
fn ssh_is_called_as_the_user_calls_it() {
    let test = PackageTest::new();
    test.repo("kit");
    let Some(server) = SshServer::start(&test.repos()) else {
        println!("passed over: there is no sshd");
        return;
    };
    let url = server.url("kit.git");
    let add = |name: &str| test.command(["add", &url, "--as", name, "--yes"]);
    let mut command = add("by_variable");
    command.env("GIT_SSH_COMMAND", server.command());
    let output = test.env.outcome(&mut command);
    assert_eq!(output.code, 0, "{output}");
    test.git_config(&format!("[core]\nsshCommand = {}\n", server.command()));
    let output = test.env.outcome(&mut add("by_configuration"));
    assert_eq!(output.code, 0, "{output}");
    test.git_config("");
    let program = test.env.root().join("my ssh");
    super::write_program(&program, &format!("exec {} \"$@\"\n", server.command()));
    let mut command = add("by_program");
    command.env("GIT_SSH", &program);
    let output = test.env.outcome(&mut command);
    assert_eq!(output.code, 0, "{output}");
}

#[test]
fn a_version_after_an_at_sign_is_explained() {
    let test = PackageTest::new();
    let said = test.refused(["add", "obra/superpowers@v5"]);
    insta::assert_snapshot!(said, @"error: `obra/superpowers@v5` has an `@`: write `#` before a branch, tag or commit, as in `obra/superpowers#v5`");
}

#[test]
fn what_is_no_source_is_explained() {
    let test = PackageTest::new();
    for (text, expected) in [
        ("ext::sh -c x", "there is nothing at "),
        ("ftp://host/x.git", "is no source"),
        (
            "http://example.com/x.git",
            "is not encrypted: use https or ssh",
        ),
        ("git://example.com/x", "is not encrypted: use https or ssh"),
        (
            "https://user:secret@example.com/x.git",
            "has a password or token in it",
        ),
        ("owner/repo#-x", "`-x` is no branch, tag or commit"),
        ("owner/repo#a..b", "`a..b` is no branch, tag or commit"),
        ("file:///tmp/x", "is no source"),
        ("ssh://-oProxyCommand=x/y", "is no source"),
    ] {
        let said = test.refused(["add", text, "--yes"]);
        assert!(said.contains(expected), "{text}: {said}");
        assert!(!said.contains("secret"), "{said}");
    }
}

#[test]
fn folders_are_served_in_place() {
    let test = PackageTest::new();
    let folder = test.env.work().join("team/prompts");
    fs::create_dir_all(folder.join("pdf")).unwrap();
    fs::write(folder.join("pdf/SKILL.md"), skill("pdf", "text")).unwrap();
    test.ok(["add", "./team/prompts", "--name", "one"]);
    test.ok(["add", folder.to_str().unwrap(), "--name", "one"]);
    // `library add` tries a folder first; `add` takes it for a repository on GitHub.
    test.ok(["library", "add", "team/prompts", "--name", "one"]);
    assert_eq!(test.prompts(), ["one:pdf"]);
    assert!(!test.lock_path().exists());
    assert_eq!(test.packages(), [""; 0]);
}

#[test]
fn only_picks_by_name_and_as_names_the_library() {
    let test = PackageTest::new();
    let repo = test.empty_repo("many");
    for name in ["pdf", "docx", "debug-one", "debug-two", "other"] {
        repo.write(&format!("skills/{name}/SKILL.md"), skill(name, "text"));
    }
    repo.commit("all");
    let from = source(&repo);
    test.ok([
        "add", &from, "--only", "pdf,docx", "--only", "debug*", "--as", "office", "--yes",
    ]);
    let expected = [
        "office:debug-one",
        "office:debug-two",
        "office:docx",
        "office:pdf",
    ];
    assert_eq!(test.prompts(), expected);
    let why = test.json(["why", "office"]);
    assert_eq!(why["package"]["left_out"], json!(["other"]));
    let said = test.refused(["add", &from, "--only", "xls", "--as", "x", "--yes"]);
    assert!(said.contains("is called `xls`"), "{said}");
    assert!(said.contains("`other`"), "{said}");
}

#[test]
fn in_a_repository_with_a_twig_folder_it_is_added_there() {
    let test = PackageTest::new();
    let repo = test.repo("kit");
    let work = test.env.work();
    fs::create_dir_all(work.join(".git")).unwrap();
    fs::create_dir_all(work.join(".twig")).unwrap();
    test.ok(["add", &source(&repo), "--yes"]);
    assert!(work.join(".twig/twig.lock").is_file());
    let config = fs::read_to_string(work.join(".twig/config.toml")).unwrap();
    assert!(config.contains("source = "), "{config}");
    assert!(!test.lock_path().exists());
    let other = test.repo("other");
    test.ok(["add", &source(&other), "--as", "mine", "--global", "--yes"]);
    assert!(test.lock().contains("name = \"mine\""));
    let prompts = test.prompts();
    assert!(prompts.contains(&"mine:pdf".to_owned()), "{prompts:?}");
    assert!(prompts.contains(&"kit:pdf".to_owned()), "{prompts:?}");
}

#[test]
fn nothing_is_added_without_an_answer() {
    let test = PackageTest::new();
    let repo = test.repo("kit");
    let output = test.run(["add", &source(&repo)]);
    assert_eq!(output.code, 1, "{output}");
    let expected = "error: `kit` was not added: this is not a terminal, so you cannot be asked to \
                    confirm it\nhint: use --yes to add everything in it, and --only to pick by name";
    assert!(output.stderr.contains(expected), "{output}");
    assert!(!test.config_path().exists());
    assert!(!test.lock_path().exists());
    let tried = test.json(["add", &source(&repo), "--dry-run"]);
    assert_eq!(tried[0]["added"], false);
    assert!(!test.config_path().exists());
}

#[test]
fn adding_twice_changes_nothing_and_another_source_is_refused() {
    let test = PackageTest::new();
    let (one, two) = (test.repo("kit"), test.repo("kit2"));
    test.ok(["add", &source(&one), "--yes"]);
    let before = test.state();
    let said = test.says(["add", &source(&one), "--yes"]);
    assert!(said.contains("`kit` was added before, and nothing changed"));
    assert_eq!(test.state(), before);
    let said = test.refused(["add", &source(&two), "--as", "kit", "--yes"]);
    assert!(said.contains("a package `kit` from "), "{said}");
    assert!(said.contains("choose another name with --as"), "{said}");
}

#[test]
fn several_sources_are_added_all_or_none() {
    let test = PackageTest::new();
    let (one, two) = (test.repo("one"), test.repo("two"));
    let nothing = format!("{}#nothing", source(&two));
    test.refused_packages(["add", &source(&one), &nothing, "--yes"]);
    test.ok(["add", &source(&one), &source(&two), "--yes"]);
    assert_eq!(test.prompts(), ["one:pdf", "two:pdf"]);
}

impl PackageTest {
    /// Fails, and changes neither the configuration nor the lock.
    fn refused_packages<'a>(&self, args: impl IntoIterator<Item = &'a str>) {
        let output = self.run(args);
        assert_eq!(output.code, 1, "{output}");
        assert!(!self.config_path().exists());
        assert!(!self.lock_path().exists());
    }
}

#[test]
fn a_repository_without_prompts_is_refused() {
    let test = PackageTest::new();
    let repo = test.empty_repo("code");
    let said = test.refused(["add", &source(&repo), "--yes"]);
    assert!(said.contains("has no branch and no tag: it is empty"));
    repo.write("src/main.c", "int main;\n").commit("code");
    let output = test.run(["add", &source(&repo), "--yes"]);
    assert!(
        output.stderr.contains("has no prompts and no skills"),
        "{output}"
    );
    assert!(!test.lock_path().exists());
}

#[test]
fn variables_of_a_hook_do_not_mislead_git() {
    let test = PackageTest::new();
    let repo = test.repo("kit");
    let mut command = test.command(["add", &source(&repo), "--yes"]);
    for name in [
        "GIT_DIR",
        "GIT_WORK_TREE",
        "GIT_INDEX_FILE",
        "GIT_OBJECT_DIRECTORY",
        "GIT_COMMON_DIR",
        "GIT_NAMESPACE",
    ] {
        command.env(name, "/dev/null/nothing");
    }
    let output = test.env.outcome(&mut command);
    assert_eq!(output.code, 0, "{output}");
}

#[test]
fn packages_with_the_same_files_are_served_each_with_its_own_choice() {
    let test = PackageTest::new();
    let repo = test.repo("kit");
    repo.write("skills/doc/SKILL.md", skill("doc", "Write the text."));
    repo.commit("doc");
    repo.tag("v1.1.0");
    let from = source(&repo);
    test.ok(["add", &from, "--only", "pdf", "--yes"]);
    test.ok(["add", &from, "--only", "doc", "--as", "again", "--yes"]);
    assert_eq!(test.prompts(), ["again:doc", "kit:pdf"]);
    let shown = test.ok(["render", "again:doc"]);
    assert!(shown.contains("Write the text."), "{shown}");
    // One folder of files, which stays as long as one of them needs it.
    test.ok(["remove", "kit"]);
    assert_eq!(test.json(["gc"])["kept"], 1);
    assert_eq!(test.prompts(), ["again:doc"]);
}

#[test]
fn gc_leaves_what_another_command_is_adding() {
    let test = PackageTest::new();
    let repo = test.repo("kit");
    let lock = test.env.home().join(".local/share/twig/packages.lock");
    test.ok(["add", &source(&repo), "--yes"]);
    test.ok(["remove", "kit"]);
    // As a command holds it from its first fetch until its lock names the package.
    let held = fs::File::open(&lock).unwrap();
    held.lock_shared().unwrap();
    insta::assert_snapshot!(test.refused(["gc"]), @"
    error: nothing was removed, because another command of Twig is fetching packages
    hint: run `twig gc` again when that command has ended
    ");
    assert_eq!(
        test.json(["gc", "--dry-run"])["removed"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
    drop(held);
    assert_eq!(test.json(["gc"])["removed"].as_array().unwrap().len(), 1);
}

/// Nothing is checked out, so an old git is no reason to refuse.
#[test]
fn an_old_git_gets_a_warning_and_not_a_refusal() {
    let test = PackageTest::new();
    let repo = test.repo("kit");
    let folder = test.env.root().join("old");
    let path = twig_testkit::search_path();
    let script = format!(
        "[ \"$1\" = version ] && echo git version 2.30.2 && exit\nPATH='{}' exec git \"$@\"\n",
        path.display()
    );
    write_program(&folder.join("git"), &script);
    let mut old = folder.into_os_string();
    old.push(":");
    old.push(&path);
    let source = source(&repo);
    let mut command = test.command(["add", &source, "--yes"]);
    let output = test.env.outcome(command.env("PATH", old));
    assert_eq!(output.code, 0, "{output}");
    assert!(
        output
            .stderr
            .starts_with("warning: git 2.30.2 has known security defects"),
        "{output}"
    );
}
