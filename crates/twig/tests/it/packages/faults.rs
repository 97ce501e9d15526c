//! Faults and bad input: each gets one clear sentence, leaves what was there, and executes nothing.

use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::process::Stdio;

use twig_testkit::{GitDaemon, GitRepo, GitServer, RawEntry, SshServer};

use super::{PackageTest, edit, is_soak, skill, source, write_program};

/// A server of one repository, and the sentence with which adding it fails.
struct FaultyPackage {
    test: PackageTest,
    server: GitServer,
}

impl FaultyPackage {
    fn new() -> Self {
        let test = PackageTest::new();
        test.repo("kit");
        let kept = test.repo("kept");
        test.ok(["add", &source(&kept), "--yes"]);
        let server = GitServer::start(&test.repos());
        Self { test, server }
    }

    fn configure(&self, limits: &str) {
        let path = self.test.config_path();
        let config = fs::read_to_string(&path).expect("the test's own folder is writable");
        fs::write(path, format!("{limits}\n{config}")).expect("the test's own folder is writable");
    }

    /// The sentence, without the address.
    #[track_caller]
    fn sentence(&self) -> String {
        self.sentence_of(&self.server.url("kit"))
    }

    #[track_caller]
    fn sentence_of(&self, from: &str) -> String {
        let said = self.test.refused(["add", from, "--yes"]);
        assert_eq!(self.test.prompts(), ["kept:pdf"]);
        let first = said.lines().next().unwrap_or_default();
        first.replace(&self.server.base(), "[server]")
    }
}

#[test]
fn a_host_that_is_not_there() {
    let fault = FaultyPackage::new();
    insta::assert_snapshot!(fault.sentence_of("https://no.such.host.invalid/x.git"), @"error: git+https://no.such.host.invalid/x.git: the host was not found; check the address and the network");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let sentence = fault.sentence_of(&format!("http://{address}/x.git"));
    assert!(
        sentence.contains("/x.git: the host does not answer ("),
        "{sentence}"
    );
}

#[test]
fn a_repository_that_is_not_there() {
    let fault = FaultyPackage::new();
    insta::assert_snapshot!(fault.sentence_of(&fault.server.url("nothing")), @"error: git+[server]/nothing.git: there is no such repository");
    fault.server.not_found();
    insta::assert_snapshot!(fault.sentence(), @"error: git+[server]/kit.git: there is no such repository");
    insta::assert_snapshot!(fault.sentence_of("git+file:///no/such/folder"), @"error: git+file:///no/such/folder: there is no such repository");
    if let Some(daemon) = GitDaemon::start(&fault.test.repos()) {
        let sentence = fault.sentence_of(&daemon.url("nothing"));
        assert!(
            sentence.ends_with(": there is no such repository"),
            "{sentence}"
        );
    }
}

#[test]
fn a_branch_tag_or_commit_that_is_not_there() {
    let fault = FaultyPackage::new();
    let url = fault.server.url("kit");
    insta::assert_snapshot!(fault.sentence_of(&format!("{url}#v9")), @"error: git+[server]/kit.git has no branch, tag or commit `v9`");
    let said = fault
        .test
        .refused(["add", &format!("{url}#v1.0.1"), "--yes"]);
    assert!(said.contains("hint: did you mean `v1.0.0`?"), "{said}");
    let said = fault
        .test
        .refused(["add", &format!("{url}#abcdef1"), "--yes"]);
    assert!(
        said.contains("hint: write a commit with all its 40 digits"),
        "{said}"
    );
    let nothing = "1234567890".repeat(4);
    let sentence = fault.sentence_of(&format!("{url}#{nothing}"));
    assert!(
        sentence.contains(&format!("has no branch, tag or commit `{nothing}`")),
        "{sentence}"
    );
}

#[test]
fn a_password_is_asked_of_git_and_never_of_a_person() {
    let fault = FaultyPackage::new();
    fault.server.require_basic_auth("me", "secret");
    insta::assert_snapshot!(fault.sentence(), @"error: git+[server]/kit.git: there is no such repository, or git has no login for it (nothing is asked for while packages are fetched)");
    let trap = fault.test.trap("askpass");
    let url = fault.server.url("kit");
    for name in ["GIT_ASKPASS", "SSH_ASKPASS"] {
        let mut command = fault.test.command(["add", &url, "--yes"]);
        fault.test.refused_by(command.env(name, &trap));
    }
    let helper = fault.test.env.root().join("helper");
    write_program(&helper, "echo username=me\necho password=secret\n");
    let config = format!("[credential]\nhelper = {}\n", helper.display());
    fault.test.git_config(&config);
    fault.test.ok(["add", &url, "--yes"]);
    assert!(!fault.test.lock().contains("secret"));
}

#[test]
fn keys_of_hosts_and_users() {
    let fault = FaultyPackage::new();
    let Some(server) = SshServer::start(&fault.test.repos()) else {
        println!("passed over: there is no sshd");
        return;
    };
    fault
        .test
        .git_config(&format!("[core]\nsshCommand = {}\n", server.command()));
    let url = server.url("kit.git");
    let address = server.address().to_string();
    let root = fault.test.env.root().display().to_string();
    let sentence = || {
        let sentence = fault.sentence_of(&url);
        sentence
            .replace(&address, "[server]")
            .replace(&root, "[root]")
    };
    server.refuse_keys();
    insta::assert_snapshot!(sentence(), @"error: git+ssh://[server][root]/repos/kit.git: there is no such repository, or git has no login for it (nothing is asked for while packages are fetched)");
    server.change_host_key();
    insta::assert_snapshot!(sentence(), @"error: git+ssh://[server][root]/repos/kit.git: the key of this host was changed, so it may not be the host that you know");
    server.forget_host_key();
    insta::assert_snapshot!(sentence(), @"error: git+ssh://[server][root]/repos/kit.git: ssh does not know the key of this host");
}

#[test]
fn a_stalled_fetch_is_ended_with_all_its_programs() {
    let fault = FaultyPackage::new();
    let repo = fault.test.repo("large");
    repo.write("noise.bin", noise(200_000)).commit("large");
    repo.tag("v2.0.0");
    fault.configure("[packages]\nstall_millis = 400\n");
    fault.server.stall_after(0);
    insta::assert_snapshot!(fault.sentence(), @"error: git+[server]/kit.git: nothing was received for 400 milliseconds, so the fetch was ended");
    fault.server.stall_after(20_000);
    insta::assert_snapshot!(fault.sentence_of(&fault.server.url("large")), @"error: git+[server]/large.git: nothing was received for 400 milliseconds, so the fetch was ended");
    let is_there = || {
        let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
        let lines = processes.filter_map(|it| fs::read(it.path().join("cmdline")).ok());
        let lines: Vec<String> = lines
            .map(|it| String::from_utf8_lossy(&it).into_owned())
            .collect();
        lines.iter().any(|line| line.contains(&fault.server.base()))
    };
    // They were killed, which takes a moment.
    while is_there() {
        std::thread::yield_now();
    }
}

#[test]
fn a_fetch_that_never_ends() {
    let fault = FaultyPackage::new();
    fault.server.endless();
    fault.configure("[packages]\nstall_millis = 400\n");
    insta::assert_snapshot!(fault.sentence(), @"error: git+[server]/kit.git: nothing was received for 400 milliseconds, so the fetch was ended");
    let path = fault.test.config_path();
    let config = fs::read_to_string(&path).unwrap();
    fs::write(path, config.replace("stall_millis", "fetch_millis")).unwrap();
    insta::assert_snapshot!(fault.sentence(), @"error: git+[server]/kit.git: the fetch took longer than 400 milliseconds and was ended");
}

#[test]
fn garbage_and_answers_that_are_cut_off() {
    let fault = FaultyPackage::new();
    let repo = fault.test.repo("large");
    repo.write("noise.bin", noise(100_000)).commit("large");
    repo.tag("v2.0.0");
    let large = fault.server.url("large");
    let expected = "the answer is not that of a git server, or was cut off (";
    fault.server.garbage();
    assert!(fault.sentence().contains(expected), "{}", fault.sentence());
    for bytes in [0, 300, 20_000] {
        fault.server.cut_after(bytes);
        let sentence = fault.sentence_of(&large);
        // git takes a head without a body for an old server without branches.
        let is_cut = sentence.contains("it is empty, or its answer was cut off");
        assert!(is_cut || sentence.contains(expected), "{bytes}: {sentence}");
        fault.server.garbage_after(bytes);
        let sentence = fault.sentence_of(&large);
        assert!(sentence.contains(expected), "{bytes}: {sentence}");
    }
}

#[test]
fn a_package_has_a_largest_size() {
    let fault = FaultyPackage::new();
    fault.configure("[packages]\nbytes = 100000\nfiles = 20\n");
    let repo = fault.test.repo("noise");
    repo.write("noise.bin", noise(300_000)).commit("noise");
    repo.tag("v2.0.0");
    let url = fault.server.url("noise");
    insta::assert_snapshot!(fault.sentence_of(&url), @"error: git+[server]/noise.git is larger than a package may be (100000 bytes)");
    assert!(
        fault
            .sentence_of(&source(&repo))
            .contains("is larger than a package may be")
    );
    // A few bytes on the way, and many on the disk.
    let repo = fault.test.repo("zeros");
    repo.large_blob("skills/pdf/zeros.bin", 8_000_000);
    repo.commit("zeros");
    repo.tag("v2.0.0");
    let zeros = fault.server.url("zeros");
    assert!(
        fault
            .sentence_of(&zeros)
            .contains("is larger than a package may be")
    );
    fault.configure(&format!(
        "[[libraries]]\nname = \"z\"\nsource = \"git+{zeros}\"\npath = \"skills/pdf\"\n"
    ));
    let said = fault.test.refused(["install"]);
    assert!(
        said.contains("is larger than a package may be (100000 bytes)"),
        "{said}"
    );
    assert!(
        said.contains("or raise the limit under [packages] in config.toml"),
        "{said}"
    );
}

#[test]
fn a_package_has_a_largest_number_of_files() {
    let fault = FaultyPackage::new();
    fault.configure("[packages]\nfiles = 20\n");
    let repo = fault.test.repo("many");
    repo.many_files(30).commit("many");
    repo.tag("v2.0.0");
    insta::assert_snapshot!(fault.sentence_of(&fault.server.url("many")), @"error: git+[server]/many.git has more files than a package may have (20)");
}

#[test]
fn real_sizes_are_refused() {
    if !is_soak() {
        return;
    }
    let fault = FaultyPackage::new();
    for (name, expected) in [
        ("noise", "larger than a package may be (256 MiB)"),
        ("zeros", "larger than a package may be (256 MiB)"),
        ("many", "more files than a package may have (20000)"),
    ] {
        let repo = fault.test.repo(name);
        match name {
            "noise" => drop(
                (0..10)
                    .map(|n| repo.write(&format!("{n}.bin"), noise(30 << 20)))
                    .count(),
            ),
            "zeros" => drop(repo.large_blob("zeros.bin", 2 << 30)),
            _ => drop(repo.many_files(100_000)),
        }
        repo.commit("large");
        repo.tag("v2.0.0");
        let sentence = fault.sentence_of(&fault.server.url(name));
        assert!(sentence.contains(expected), "{sentence}");
    }
}

#[test]
fn a_tree_that_leads_out_is_refused() {
    let fault = FaultyPackage::new();
    let file = |name: &str| RawEntry::file(name, "x");
    for (number, entry) in [
        RawEntry::folder("..", [file("evil.md")]),
        RawEntry::folder("skills", [RawEntry::folder("..", [file("evil.md")])]),
        RawEntry::folder(".git", [RawEntry::folder("hooks", [file("post-checkout")])]),
        RawEntry::folder(".GIT", [file("config")]),
        RawEntry::folder("git~1", [file("config")]),
        RawEntry::folder(".git.", [file("config")]),
        file("../../evil.md"),
        file("/tmp/evil.md"),
        file("."),
    ]
    .into_iter()
    .enumerate()
    {
        let repo = fault.test.empty_repo(&format!("hostile{number}"));
        let whole = RawEntry::file("SKILL.md", skill("x", "text"));
        repo.raw_tree(&[entry, whole]);
        let sentence = fault.sentence_of(&source(&repo));
        let expected = "its name leads out of the package or into git's own folder";
        assert!(sentence.contains(expected), "{number}: {sentence}");
    }
}

#[test]
fn two_entries_of_one_name_are_refused() {
    let fault = FaultyPackage::new();
    let skill = || RawEntry::file("SKILL.md", skill("x", "text"));
    let folder = RawEntry::folder("SKILL.md", [RawEntry::file("a.md", "x")]);
    for (number, entries) in [
        [skill(), RawEntry::file("SKILL.md", "evil")],
        [skill(), folder],
    ]
    .into_iter()
    .enumerate()
    {
        let repo = fault.test.empty_repo(&format!("twice{number}"));
        repo.raw_tree(&entries);
        let sentence = fault.sentence_of(&source(&repo));
        assert!(
            sentence.contains("there are two of that name"),
            "{sentence}"
        );
    }
}

#[test]
fn files_that_cannot_be_kept_are_named_and_the_others_served() {
    let test = PackageTest::new();
    fs::write(test.env.root().join("secret.md"), "secret").unwrap();
    let repo = test.repo("kit");
    let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 5\n";
    repo.symlink("skills/pdf/out.md", "../../../../../secret.md")
        .symlink("skills/pdf/etc.md", "/etc/passwd")
        .symlink("skills/pdf/loop.md", "loop.md")
        .symlink("skills/pdf/gone.md", "nothing.md")
        .symlink("skills/pdf/same.md", "SKILL.md")
        .write("skills/pdf/Guide.md", "one")
        .write("skills/pdf/guide.md", "two")
        .write("skills/pdf/aux.md", "device")
        .write("skills/pdf/a:b.md", "stream")
        .write("skills/pdf/model.bin", pointer)
        .write("skills/pdf/run.sh", "true\n")
        .executable("skills/pdf/run.sh");
    repo.commit("more");
    repo.git(["update-ref", "refs/heads/keep", "main"]);
    repo.tag("v1.1.0");
    let added = test.json(["add", &source(&repo), "--yes"]);
    let left_out = added[0]["left_out"].as_array().unwrap().iter();
    let lines = left_out.map(|it| format!("{}: {}", it["path"], it["why"]).replace('"', ""));
    insta::assert_snapshot!(lines.collect::<Vec<_>>().join("\n"), @"
    skills/pdf/a:b.md: Windows cannot hold a file of that name
    skills/pdf/aux.md: Windows cannot hold a file of that name
    skills/pdf/etc.md: it is a symlink out of the package, or to another one without end
    skills/pdf/gone.md: it is a symlink to a file that is not there
    skills/pdf/guide.md: it differs from `skills/pdf/Guide.md` only in the case of letters
    skills/pdf/loop.md: it is a symlink out of the package, or to another one without end
    skills/pdf/model.bin: its content is in Git LFS, which is not fetched
    skills/pdf/out.md: it is a symlink out of the package, or to another one without end
    ");
    let package = test.package().join("skills/pdf");
    let mut names: Vec<String> = fs::read_dir(&package)
        .unwrap()
        .map(|it| it.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names, ["Guide.md", "SKILL.md", "run.sh", "same.md"]);
    let same = fs::read(package.join("same.md")).unwrap();
    assert_eq!(same, fs::read(package.join("SKILL.md")).unwrap());
    assert!(
        !package
            .join("same.md")
            .symlink_metadata()
            .unwrap()
            .is_symlink()
    );
}

#[test]
fn strange_names_and_submodules_are_left_out() {
    let test = PackageTest::new();
    let repo = test.empty_repo("kit");
    let entries = [
        RawEntry::folder("pdf", [RawEntry::file("SKILL.md", skill("pdf", "text"))]),
        RawEntry::file(b"\xff\xfe.md", "x"),
        RawEntry::file("back\\slash.md", "x"),
        RawEntry::file("line\nbreak.md", "x"),
        RawEntry::file("\u{1b}[31mred.md", "x"),
        RawEntry::gitlink("other", &"12".repeat(20)),
        RawEntry::file(
            ".gitmodules",
            "[submodule \"other\"]\npath = other\nurl = -u./evil\n",
        ),
    ];
    repo.raw_tree(&entries);
    let output = test.run(["add", &source(&repo), "--yes"]);
    assert_eq!(output.code, 0, "{output}");
    for expected in [
        "its name has a control character or a backslash, or is not UTF-8",
        "left out: other: it is a submodule, which is not fetched",
    ] {
        assert!(output.stderr.contains(expected), "{output}");
    }
    assert!(!output.stderr.contains('\u{1b}'), "{output}");
    assert!(!output.stderr.contains("line\nbreak"), "{output}");
    assert_eq!(test.prompts(), ["kit:pdf"]);
}

#[test]
fn files_have_exactly_the_bytes_that_were_committed() {
    let test = PackageTest::new();
    let trap = test.trap("filter");
    test.git_config(&format!(
        "[core]\nautocrlf = true\neol = crlf\n[filter \"evil\"]\nsmudge = {0}\nclean = {0}\n\
         process = {0}\nrequired = true\n[diff]\nexternal = {0}\n[core]\npager = {0}\n",
        trap.display()
    ));
    let repo = test.repo("kit");
    let attributes = "* text eol=crlf ident filter=evil working-tree-encoding=UTF-16 export-subst\n\
                      secret.md export-ignore\n";
    let files = [
        ("skills/pdf/unix.md", "a\nb\n$Id$ $Format:%H$\n"),
        ("skills/pdf/dos.md", "a\r\nb\r\n"),
        ("skills/pdf/mixed.md", "a\r\nb\nc"),
        ("skills/pdf/secret.md", "s"),
        (".gitattributes", attributes),
    ];
    for (path, text) in files {
        repo.write(path, text);
    }
    repo.commit("more");
    repo.tag("v1.1.0");
    test.ok(["add", &source(&repo), "--yes"]);
    for (path, text) in files {
        assert_eq!(fs::read_to_string(test.package().join(path)).unwrap(), text);
    }
    assert!(!test.was_executed());
}

#[test]
fn nothing_of_the_configuration_or_the_repository_is_executed() {
    let test = PackageTest::new();
    let trap = test.trap("trap");
    let hooks = test.env.root().join("template/hooks");
    for name in [
        "post-checkout",
        "reference-transaction",
        "post-merge",
        "fsmonitor-watchman",
    ] {
        fs::create_dir_all(&hooks).unwrap();
        fs::copy(&trap, hooks.join(name)).unwrap();
    }
    let config = format!(
        "[init]\ntemplateDir = {}\n[core]\nhooksPath = {}\nfsmonitor = {trap}\nalternateRefsCommand = {trap}\naskPass = {trap}\n\
         [alias]\nfetch = !{trap}\nls-remote = !{trap}\n[gc]\nauto = 1\n",
        hooks.parent().unwrap().display(),
        hooks.display(),
        trap = trap.display(),
    );
    test.git_config(&config);
    // A folder that somebody else prepared, with a work tree.
    let repo = test.repo("kit");
    let hostile = test.env.root().join("hostile");
    fs::create_dir_all(&hostile).unwrap();
    let folder = hostile.join(".git");
    fs::rename(repo.folder(), &folder).unwrap();
    let own = fs::read_to_string(folder.join("config")).unwrap();
    fs::write(
        folder.join("config"),
        format!(
            "{own}{config}[uploadpack]\npackObjectsHook = {trap}\n[core]\nsshCommand = {trap}\n",
            trap = trap.display()
        ),
    )
    .unwrap();
    for entry in fs::read_dir(&hooks).unwrap() {
        let entry = entry.unwrap();
        fs::create_dir_all(folder.join("hooks")).unwrap();
        fs::copy(entry.path(), folder.join("hooks").join(entry.file_name())).unwrap();
    }
    let from = format!("git+file://{}", hostile.display());
    test.ok(["add", &from, "--as", "kit", "--yes"]);
    test.ok(["outdated"]);
    assert!(!test.was_executed());
    assert_eq!(test.prompts(), ["kit:pdf"]);
    // The same from inside of it.
    let mut command = test.command(["add", &from, "--as", "again", "--yes"]);
    let output = test.env.outcome(command.current_dir(&hostile));
    assert_eq!(output.code, 0, "{output}");
    assert!(!test.was_executed());
}

#[test]
fn no_configuration_brings_back_a_protocol_that_runs_programs() {
    let fault = FaultyPackage::new();
    let trap = fault.test.trap("trap");
    let base = fault.server.base();
    fault.test.git_config(&format!(
        "[protocol]\nallow = always\n[protocol \"ext\"]\nallow = always\n[protocol \"file\"]\nallow = always\n\
         [url \"ext::{} \"]\ninsteadOf = {base}/\n",
        trap.display()
    ));
    let said = fault
        .test
        .refused(["add", &fault.server.url("kit"), "--yes"]);
    assert!(said.contains("transport 'ext' not allowed"), "{said}");
}

#[test]
fn files_of_another_repository_can_be_borrowed() {
    let test = PackageTest::new();
    let whole = test.repo("whole");
    let repo = test.empty_repo("borrowed");
    let alternates = format!("{}/objects\n", whole.folder().display());
    fs::write(repo.folder().join("objects/info/alternates"), alternates).unwrap();
    let commit = whole.git(["rev-parse", "main"]);
    repo.git(["update-ref", "refs/heads/main", &commit]);
    test.ok(["add", &source(&repo), "--yes"]);
    fs::remove_dir_all(whole.folder()).unwrap();
    assert_eq!(test.prompts(), ["borrowed:pdf"]);
}

#[test]
fn without_git_the_error_says_so() {
    let test = PackageTest::new();
    let mut command = test.env.command(["add", "owner/repo", "--yes"]);
    let said = test.refused_by(command.env("PATH", test.env.root()));
    insta::assert_snapshot!(said, @"
    error: git is not installed, and packages from repositories are fetched with it
    hint: install git, or add a folder
    ");
}

#[test]
fn a_full_disk_leaves_what_was_there() {
    let fault = FaultyPackage::new();
    let large = fault.test.repo("large");
    large.write("noise.bin", noise(3_000_000)).commit("large");
    large.tag("v2.0.0");
    // Few bytes for git, and many for Twig.
    let zeros = fault.test.repo("zeros");
    zeros.large_blob("zeros.bin", 3_000_000).commit("zeros");
    zeros.tag("v2.0.0");
    let mut command = std::process::Command::new("sh");
    let twig = fault.test.command(["add", &source(&zeros), "--yes"]);
    command
        .args(["-c", "trap '' XFSZ; ulimit -f 1024; exec \"$@\"", "sh"])
        .arg(twig.get_program())
        .args(twig.get_args())
        .env_clear()
        .current_dir(fault.test.env.work());
    for (name, value) in twig.get_envs() {
        command.env(name, value.unwrap_or_default());
    }
    // As many writes fail as on a full disk: no file can be larger than 512 KiB.
    let said = fault.test.refused_by(&mut command);
    let expected = "error: `zeros.bin` cannot be written: File too large";
    assert!(said.starts_with(expected), "{said}");
    assert_eq!(fault.test.prompts(), ["kept:pdf"]);
    for repo in [&large, &zeros] {
        if !on_small_disk(&fault, repo) {
            println!("passed over: no disk of its own can be mounted here");
        }
    }
}

/// The same on a real disk of 1 MiB, where the system lets us have one.
fn on_small_disk(fault: &FaultyPackage, repo: &GitRepo) -> bool {
    let disk = fault.test.env.root().join("disk");
    fs::create_dir_all(&disk).expect("the test's own folder is writable");
    let run = |arguments: &[&str]| {
        let mut command = std::process::Command::new(arguments[0]);
        let command = command.args(&arguments[1..]).arg(&disk);
        let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status();
        status.is_ok_and(|status| status.success())
    };
    if !run(&["mount", "-t", "tmpfs", "-o", "size=1m", "none"]) {
        return false;
    }
    let mut command = fault.test.command(["add", &source(repo), "--yes"]);
    command.env("XDG_DATA_HOME", &disk);
    let output = fault.test.env.outcome(&mut command);
    let left = fs::read_dir(disk.join("twig/packages")).map_or(0, Iterator::count);
    run(&["umount"]);
    assert_eq!(output.code, 1, "{output}");
    let said = output.stderr.to_lowercase();
    assert!(
        said.contains("no space left on device") || said.contains("no storage space"),
        "{output}"
    );
    assert_eq!(left, 0);
    true
}

#[test]
fn a_changed_file_is_never_served_and_repair_fetches_it_again() {
    let test = PackageTest::new();
    let repo = test.repo("kit");
    repo.write("skills/doc/SKILL.md", skill("doc", "The text."));
    repo.commit("doc");
    repo.tag("v1.1.0");
    test.ok(["add", &source(&repo), "--yes"]);
    let folder = test.package();
    let path = folder.join("skills/pdf/SKILL.md");
    let good = fs::read(&path).unwrap();
    edit(&path, skill("pdf", "Evil text.").as_bytes());
    edit(&folder.join("skills/pdf/extra.md"), b"more");
    let shown = test.run(["render", "kit:pdf"]);
    assert_ne!(shown.code, 0, "{shown}");
    assert!(!shown.stdout.contains("Evil"), "{shown}");
    let checked = test.run(["check"]);
    assert!(checked.stdout.contains("package-changed"), "{checked}");
    assert_eq!(test.run(["render", "kit:doc"]).code, 0);
    let said = test.refused(["install", "--repair", "--offline"]);
    assert!(
        said.contains("the package `kit` was changed, and only its source has its files"),
        "{said}"
    );
    test.ok(["install", "--repair"]);
    assert_eq!(fs::read(&path).unwrap(), good);
    assert_eq!(test.run(["render", "kit:pdf"]).code, 0);
    // A list of files that was changed, and files that are gone.
    let list = folder.with_extension("files");
    edit(&list, b"nonsense");
    assert_ne!(test.run(["render", "kit:pdf"]).code, 0);
    test.ok(["install", "--repair"]);
    assert_eq!(test.run(["render", "kit:pdf"]).code, 0);
    fs::remove_file(&list).unwrap();
    edit(&path, b"half");
    test.ok(["install"]);
    assert_eq!(fs::read(&path).unwrap(), good);
}

/// As after a power failure: the list reached the disk, and some of the files did not.
#[test]
fn files_that_never_reached_the_disk_are_not_served_and_fetched_again() {
    let test = PackageTest::new();
    let repo = test.repo("kit");
    repo.write("skills/doc/SKILL.md", skill("doc", "The text."));
    repo.commit("doc");
    repo.tag("v1.1.0");
    test.ok(["add", &source(&repo), "--yes"]);
    let path = test.package().join("skills/pdf/SKILL.md");
    let good = fs::read(&path).unwrap();
    let half = &good[..good.len() / 2];
    for torn in [&b""[..], half] {
        edit(&path, torn);
        assert_ne!(test.run(["render", "kit:pdf"]).code, 0);
        assert_eq!(test.run(["render", "kit:doc"]).code, 0);
        let said = test.refused(["install", "--offline"]);
        assert!(said.contains("`kit` was changed"), "{said}");
        assert_eq!(test.json(["install"])[0]["state"], "fetched");
        assert_eq!(fs::read(&path).unwrap(), good);
    }
    assert_eq!(test.json(["install"])[0]["state"], "unchanged");
}

#[test]
fn a_repair_that_fails_keeps_what_is_good() {
    let test = PackageTest::new();
    let repo = test.repo("kit");
    repo.write("skills/doc/SKILL.md", skill("doc", "The text."));
    repo.commit("doc");
    repo.tag("v1.1.0");
    test.ok(["add", &source(&repo), "--yes"]);
    edit(&test.package().join("skills/pdf/SKILL.md"), b"---\n");
    fs::rename(repo.folder(), test.env.root().join("gone")).unwrap();
    let said = test.refused(["install", "--repair"]);
    assert!(said.contains("there is no such repository"), "{said}");
    assert_eq!(test.run(["render", "kit:doc"]).code, 0);
}

/// Bytes that cannot be compressed.
fn noise(length: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let bytes = std::iter::repeat_with(move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()
    });
    bytes.flatten().take(length).collect()
}

/// Kills commands at any point; afterwards everything is whole or can be made whole.
#[test]
fn commands_that_are_killed_leave_no_half_package() {
    let rounds = if is_soak() { 102 } else { 10 };
    let test = PackageTest::new();
    let repo = test.repo("kit");
    for number in 0..40 {
        let name = format!("s{number}");
        repo.write(&format!("skills/{name}/SKILL.md"), skill(&name, "one"));
    }
    repo.commit("many");
    repo.tag("v1.1.0");
    let server = GitServer::start(&test.repos());
    let url = server.url("kit");
    for round in 0..rounds {
        repo.write("skills/s0/SKILL.md", skill("s0", &format!("round {round}")));
        repo.commit("next");
        repo.tag(&format!("v2.{round}.0"));
        let args: &[&str] = match round % 3 {
            _ if !test.config_path().exists() => &["add", &url, "--yes"],
            0 => &["add", &url, "--as", "kit", "--yes"],
            1 => &["install"],
            _ => &["update", "--yes"],
        };
        match round % 3 {
            0 => {
                let _ = fs::remove_file(test.config_path());
            }
            1 => remove_packages(&test.store()),
            _ => {}
        }
        kill_at_a_point(&test, args, &server, round);
        let healed = test.run(["install"]);
        assert_eq!(healed.code, 0, "{round} {args:?}: {healed}");
        if test.config_path().exists() {
            assert_eq!(test.prompts().len(), 41, "{round} {args:?}");
        }
        assert_eq!(
            test.ok(["install", "--repair", "--offline"]),
            "",
            "{round} {args:?}"
        );
    }
}

/// Kills a command as soon as it has come to a point that the round chooses, and a little later.
fn kill_at_a_point(test: &PackageTest, args: &[&str], server: &GitServer, round: usize) {
    let (requests, before) = (server.request_count(), test.state());
    let is_at = |point: usize| match point {
        0..=3 => server.request_count() > requests + point,
        4 => test
            .packages()
            .iter()
            .any(|name| name.starts_with(".new-fetch-")),
        5 => test
            .packages()
            .iter()
            .any(|name| name.starts_with(".new-") && !name.contains("fetch")),
        6 => test
            .packages()
            .iter()
            .any(|name| !before.packages.contains(name) && name.contains(".files")),
        7 => test
            .packages()
            .iter()
            .any(|name| !before.packages.contains(name) && name.len() == 64),
        8 => test.state().lock != before.lock,
        _ => test.state().config != before.config,
    };
    let mut command = test.command(args.iter().copied());
    let mut child = command
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the command starts");
    let mut later = (round / 10) * 50;
    while child.try_wait().expect("the command starts").is_none()
        && (later > 0 || !is_at(round % 10))
    {
        if later > 0 && is_at(round % 10) {
            later -= 1;
        }
        std::thread::yield_now();
    }
    let _ = child.kill();
    child.wait().expect("the command starts");
}

fn remove_packages(store: &Path) {
    for entry in fs::read_dir(store).into_iter().flatten().flatten() {
        if entry.path().is_dir() {
            let aside = tempfile::tempdir_in(store.with_file_name(""))
                .expect("the test's own folder is writable");
            fs::rename(entry.path(), aside.path().join("old"))
                .expect("the test's own folder is writable");
        }
    }
}

#[test]
fn ten_installs_at_once_end_with_one_whole_package() {
    let test = PackageTest::new();
    let (one, two) = (test.repo("one"), test.repo("two"));
    two.write("more.md", "x").commit("more");
    test.env.configure(&format!(
        "[[libraries]]\nsource = \"{}\"\n[[libraries]]\nsource = \"{}\"\nref = \"main\"\n",
        source(&one),
        source(&two)
    ));
    let start = || {
        let mut command = test.command(["install"]);
        command
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    };
    let children: Vec<_> = (0..10).map(|_| start()).collect();
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
    assert_eq!(test.prompts(), ["one:pdf", "two:pdf"]);
    assert_eq!(test.packages().len(), 4, "{:?}", test.packages());
    assert_eq!(test.ok(["install", "--repair", "--offline"]), "");
}
