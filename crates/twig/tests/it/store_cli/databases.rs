//! Databases that commands are refused by, and what `twig doctor` says about one. Skipped, with a line
//! that says so, where PostgreSQL is not installed.

use std::fs;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use serde_json::json;
use twig_testkit::{CommandOutput, PgServer, TestEnv};

use super::{done, refused};
use crate::TWIG;

fn at(url: &str) -> TestEnv {
    let env = TestEnv::in_memory(TWIG);
    let file = env.root().join("url");
    fs::write(&file, url).expect("a folder of ours");
    env.configure(&format!("[store]\nurl_file = \"{}\"\n", file.display()));
    env
}

/// Runs a command with the certificates of a file.
fn trusting(env: &TestEnv, authority: &std::path::Path, args: &[&str]) -> CommandOutput {
    let mut command = env.command(args.iter().copied());
    command.env("SSL_CERT_FILE", authority);
    let output = command.output().expect("the binary starts");
    CommandOutput {
        stdout: String::from_utf8(output.stdout).expect("text"),
        stderr: String::from_utf8(output.stderr).expect("text"),
        code: output.status.code().unwrap_or(-1),
    }
}

/// A certificate authority, and a certificate of it for `db.test` with its key.
fn certificates() -> (String, String, String) {
    let mut params = CertificateParams::new(Vec::new()).expect("no names");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate().expect("a key");
    let authority = CertifiedIssuer::self_signed(params, key).expect("a certificate");
    let key = KeyPair::generate().expect("a key");
    let names = CertificateParams::new(["db.test".to_owned()]).expect("a name");
    let signed = names.signed_by(&key, &authority).expect("a certificate");
    (authority.pem(), signed.pem(), key.serialize_pem())
}

#[test]
fn a_certificate_has_to_be_trusted_and_to_have_the_right_name() {
    let Some(server) = PgServer::start() else {
        return;
    };
    let (authority, certificate, key) = certificates();
    let address = server.offer_tls(&certificate, &key);
    let url = |host: &str, mode: &str| {
        format!("postgres://keeper@{host}/postgres?hostaddr={address}&sslmode={mode}")
    };
    let right = at(&url("db.test", "require"));
    let file = right.root().join("authority.pem");
    fs::write(&file, authority).expect("a folder of ours");
    let made = trusting(&right, &file, &["store", "migrate"]);
    assert_eq!(made.code, 0, "{made}");
    let made = trusting(&right, &file, &["project", "create", "p"]);
    assert_eq!(made.code, 0, "{made}");
    let encrypted = "SELECT bool_and(ssl) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) \
        WHERE client_addr IS NOT NULL";
    // No connection stays; the one of this very question is a socket.
    assert_eq!(server.sql("postgres", encrypted).trim(), "");
    let (other, ..) = certificates();
    let stranger = right.root().join("stranger.pem");
    fs::write(&stranger, other).expect("a folder of ours");
    for (env, authority, expected) in [
        (
            &right,
            &stranger,
            "(its certificate is signed by an authority that this system does not trust): name the \
             certificate of that authority in `SSL_CERT_FILE`",
        ),
        (
            &at(&url("other.test", "require")),
            &file,
            "not valid for name",
        ),
        // TLS is used where it is offered, and then it has to be right.
        (
            &at(&url("other.test", "prefer")),
            &file,
            "not valid for name",
        ),
    ] {
        for args in [
            &["project", "list"][..],
            &["serve", "-p", "p", "--http", ":0"],
        ] {
            let said = trusting(env, authority, args);
            assert_eq!(said.code, 1, "{said}");
            assert!(said.stderr.contains(expected), "{said}");
            assert!(
                said.stderr
                    .contains("The database of the store is not trusted"),
                "{said}"
            );
            assert!(!said.stderr.contains("--wait"), "{said}");
            assert!(!said.stderr.contains("panicked"), "{said}");
        }
    }
}

#[test]
fn tls_that_is_required_and_not_offered_is_refused() {
    let Some(server) = PgServer::start() else {
        return;
    };
    let (_, certificate, key) = certificates();
    let address = server.offer_tls(&certificate, &key);
    server.sql("postgres", "ALTER SYSTEM SET ssl = off");
    server.sql("postgres", "SELECT pg_reload_conf()");
    let url =
        |mode| format!("postgres://keeper@db.test/postgres?hostaddr={address}&sslmode={mode}");
    let said = refused(&at(&url("require")), &["store", "migrate"]);
    assert!(said.contains("server does not support TLS"), "{said}");
    done(&at(&url("prefer")), &["store", "migrate"]);
}

#[test]
fn doctor_says_what_an_acknowledgement_means() {
    let Some(server) = PgServer::start() else {
        return;
    };
    let env = at(&server.direct_url("postgres"));
    let said = env.run(["doctor"]);
    assert_eq!(said.code, 1, "{said}");
    assert!(said.stdout.contains("`twig store migrate`"), "{said}");
    done(&env, &["store", "migrate"]);
    let said = done(&env, &["doctor"]);
    let at = said.find("\ndatabase\n").expect("a part");
    let mut part = said[at..].trim_start().lines().skip(1);
    let folder = server.folder().display();
    let address = format!("  {folder}:5432, database `postgres`, role `keeper`");
    assert_eq!(part.next(), Some(&*address));
    let version = part.next().expect("the version");
    assert!(version.starts_with("  PostgreSQL 1") && version.ends_with("tables of version 4"));
    for expected in [
        "survives a crash of the database, not",
        "data checksums are off",
        "notifications arrive",
    ] {
        let line = part.next().expect("a line");
        assert!(line.contains(expected), "{said}");
    }
    server.sql("postgres", "ALTER SYSTEM SET fsync = off");
    server.sql("postgres", "SELECT pg_reload_conf()");
    let mut report = super::json(&env, &["doctor", "--json"])["database"].take();
    assert_eq!(report["address"].take(), address.trim_start());
    let version = report["server"].take();
    assert!(
        version.as_str().is_some_and(|it| it.starts_with('1')),
        "{version}"
    );
    let expected = json!({
        "address": null, "server": null, "tables": 4, "newest_tables": 4, "standby": false,
        "synchronous_standby_names": "", "synchronous_commit": "on", "fsync": false,
        "full_page_writes": true, "data_checksums": false, "notifies": true, "survives": "nothing",
    });
    assert_eq!(report, expected);
    let said = done(&env, &["doctor"]);
    assert!(said.contains("`fsync` is off"), "{said}");
    server.crash();
    let said = env.run(["doctor"]);
    assert_eq!(said.code, 1, "{said}");
    assert!(
        said.stdout
            .contains("problem: The database of the store cannot be reached"),
        "{said}"
    );
    assert!(said.stdout.contains("see database above"), "{said}");
    let report = env.run(["doctor", "--json"]);
    let report: serde_json::Value = serde_json::from_str(&report.stdout).expect("JSON");
    assert_eq!(
        report["database"].as_object().map(serde_json::Map::len),
        Some(2)
    );
}

#[test]
fn doctor_says_why_writes_are_refused_or_wait() {
    let Some(server) = PgServer::start() else {
        return;
    };
    let url = server.direct_url("postgres");
    let env = at(&url);
    done(&env, &["store", "migrate"]);
    let set = |setting: &str| {
        server.sql("postgres", &format!("ALTER SYSTEM {setting}"));
        server.sql("postgres", "SELECT pg_reload_conf()");
    };
    let problem = |expected: &str| {
        let said = env.run(["doctor"]);
        assert_eq!(said.code, 1, "{said}");
        let line = said.stdout.lines().find(|line| line.contains("problem: "));
        assert!(
            line.is_some_and(|line| line.contains(expected)),
            "{expected}: {said}"
        );
        said.stdout
    };
    set("SET default_transaction_read_only = on");
    problem("it is read-only, so every write is refused");
    set("RESET default_transaction_read_only");
    set("SET synchronous_standby_names = 'nobody'");
    let said = problem("no standby of that name is connected: writes will wait");
    assert!(!said.contains("the loss of the primary"), "{said}");
    assert!(said.contains("notifications arrive"), "{said}");
    set("RESET synchronous_standby_names");
    done(&env, &["doctor"]);
    let standby = server.standby(true);
    let said = done(&env, &["doctor"]);
    assert!(said.contains("the loss of the primary"), "{said}");
    let said = at(&standby.direct_url("postgres")).run(["doctor"]);
    assert!(
        said.code == 1 && said.stdout.contains("problem: it is a standby"),
        "{said}"
    );
}

#[test]
fn doctor_says_why_a_database_is_not_listened_to() {
    let Some(server) = PgServer::start() else {
        return;
    };
    let env = at(&server.direct_url("postgres"));
    done(&env, &["store", "migrate"]);
    let url = server
        .direct_url("postgres")
        .replace("user=keeper", "user=nobody");
    let mut command = env.command(["doctor"]);
    command.env("TWIG_STORE_LISTEN_URL", url);
    let said = env.outcome(&mut command);
    let expected =
        "the database at `listen_url` cannot be listened to (role \"nobody\" does not exist)";
    assert!(said.stdout.contains(expected), "{said}");
    assert!(said.stdout.contains("correct `listen_url`"), "{said}");
    assert!(!said.stdout.contains("set `listen_url`"), "{said}");
}

#[test]
fn each_of_several_hosts_is_told_with_its_error() {
    let Some(server) = PgServer::start() else {
        return;
    };
    let folder = server.folder().display().to_string().replace('/', "%2F");
    let at_both = |first: &str, user: &str| {
        at(&format!(
            "postgres://{first},{folder}/postgres?user={user}&sslmode=disable"
        ))
    };
    let list: &[&str] = &["project", "list"];
    let said = refused(&at_both("%2Fnonexistent", "nobody"), list);
    for expected in [
        "cannot be reached: host 1: No such file",
        "; host 2: role \"nobody\" does not exist",
    ] {
        assert!(said.contains(expected), "{expected}: {said}");
    }
    let said = refused(&at_both(&folder, "nobody"), list);
    assert!(
        said.contains("refuses this server (host 1: role \"nobody\""),
        "{said}"
    );
    let said = refused(&at_both("%2Fnonexistent", "keeper"), list);
    assert!(said.contains("no tables of Twig"), "{said}");
}

/// What a URL says and what comes of it: one line each, and never a password.
#[test]
fn urls_that_do_not_work_are_refused_with_what_to_do() {
    let Some(server) = PgServer::start() else {
        return;
    };
    let folder = server.folder().display();
    let odd = "p@ss:w/rd?#%é ";
    server.sql(
        "postgres",
        &format!("ALTER ROLE keeper PASSWORD '{odd}'; CREATE ROLE guarded LOGIN PASSWORD '{odd}'"),
    );
    let socket = |user: &str, more: &str| {
        let folder = folder.to_string().replace('/', "%2F");
        format!("postgres://{user}@{folder}/postgres?{more}")
    };
    for (url, expected) in [
        ("postgres://".to_owned(), "it names no host"),
        (
            "postgres://u:SEC/R@ET@h/d".to_owned(),
            "more than one @; it looks like",
        ),
        (
            "postgres://u:SECRET@h:x/d".to_owned(),
            "invalid value for option `port`",
        ),
        (
            socket("keeper", "sslmode=always"),
            "invalid value for option `sslmode`",
        ),
        (socket("keeper", "ssl=on"), "unknown option `ssl`"),
        (
            socket("guarded:SECRET", "sslmode=disable"),
            "password authentication failed for user \"guarded\"",
        ),
        (socket("guarded", "sslmode=disable"), "password missing"),
        (socket("nobody", ""), "role \"nobody\" does not exist"),
        (
            socket("keeper", "dbname=nothing"),
            "database \"nothing\" does not exist",
        ),
        (
            "postgres://keeper@127.0.0.1:1/d".to_owned(),
            "Connection refused",
        ),
        (
            "postgres:///d?host=/nonexistent&user=keeper".to_owned(),
            "No such file or directory",
        ),
    ] {
        let env = at(&url);
        for args in [
            &["project", "list"][..],
            &["store", "migrate"],
            &["key", "list"],
            &["serve", "-p", "p", "--http", ":0"],
        ] {
            let said = refused(&env, args);
            assert!(said.contains(expected), "{url}: {said}");
            assert!(!said.contains("SECRET"), "{url}: {said}");
            assert_eq!(said.matches("error: ").count(), 1, "{url}: {said}");
            assert!(!said.contains("WARN"), "{url}: {said}");
            // More attempts do not help where somebody answered.
            let is_refusal = ["failed for user", "does not exist"]
                .iter()
                .any(|it| expected.contains(it));
            if is_refusal {
                assert!(said.contains("refuses this server ("), "{url}: {said}");
                assert!(
                    said.contains("the people who run the database"),
                    "{url}: {said}"
                );
                assert!(!said.contains("--wait"), "{url}: {said}");
                assert!(!said.contains("when it is back"), "{url}: {said}");
            }
        }
    }
    let encoded: String = odd.bytes().map(|byte| format!("%{byte:02x}")).collect();
    for user in [format!("guarded:{encoded}"), "keeper".to_owned()] {
        // It has no rights, or no tables: it was let in.
        for mode in ["disable", "prefer"] {
            let said = refused(
                &at(&socket(&user, &format!("sslmode={mode}"))),
                &["project", "list"],
            );
            assert!(said.contains("no tables of Twig"), "{said}");
        }
    }
    // As of other programs: with a name that is checked, as it always is.
    for mode in ["verify-full", "verify-ca", "require"] {
        let said = refused(
            &at(&socket("keeper", &format!("sslmode={mode}"))),
            &["project", "list"],
        );
        assert!(said.contains("does not support TLS"), "{said}");
    }
    let env = TestEnv::in_memory(TWIG);
    let mut command = env.command(["project", "list"]);
    command.env("TWIG_STORE_URL", "");
    assert_eq!(env.outcome(&mut command).code, 0, "empty is none");
}

/// Tables of another program, and tables that somebody altered, are no database that is away.
#[test]
fn tables_that_are_not_as_twig_makes_them_are_named() {
    let Some(server) = PgServer::start() else {
        return;
    };
    let list: &[&str] = &["project", "list"];
    let migrate: &[&str] = &["store", "migrate"];
    for (number, (tables, args, expected)) in [
        ("CREATE TABLE twig.meta (x int)", list, "column \"schema\""),
        (
            "CREATE TABLE twig.meta (x int)",
            migrate,
            "column \"schema\"",
        ),
        (
            "CREATE TABLE twig.project (x int)",
            migrate,
            "relation \"project\" already exists",
        ),
    ]
    .into_iter()
    .enumerate()
    {
        let database = format!("other{number}");
        server.create(&database);
        let made = server.sql_of(
            &database,
            "keeper",
            &format!("CREATE SCHEMA twig; {tables}"),
        );
        made.expect("tables of another program");
        let said = refused(&at(&server.url(&database)), args);
        assert!(said.contains("not as Twig makes them"), "{said}");
        assert!(
            said.contains(expected) && said.contains("another database"),
            "{said}"
        );
    }
    let env = at(&server.url("postgres"));
    done(&env, migrate);
    done(&env, &["project", "create", "p"]);
    done(&env, &["prompt", "add", "a", "-c", "x"]);
    let show: &[&str] = &["prompt", "show", "a"];
    let add: &[&str] = &["prompt", "add", "b", "-c", "x"];
    for (alter, args, expected, repair) in [
        (
            "ALTER TABLE twig.label RENAME TO other",
            show,
            "relation \"twig.label\" does not exist",
            "ALTER TABLE twig.other RENAME TO label",
        ),
        (
            "ALTER TABLE twig.item RENAME uri TO other",
            add,
            "column \"uri\" of relation \"item\" does not exist), nothing was written",
            "ALTER TABLE twig.item RENAME other TO uri",
        ),
        (
            "ALTER TABLE twig.project ALTER rev TYPE text",
            list,
            "cannot convert",
            "ALTER TABLE twig.project ALTER rev TYPE bigint USING rev::bigint",
        ),
        (
            "CREATE TABLE kept AS TABLE twig.meta; DELETE FROM twig.meta",
            list,
            "table `twig.meta` has no row",
            "INSERT INTO twig.meta SELECT * FROM kept",
        ),
    ] {
        server.sql("postgres", alter);
        let said = refused(&env, args);
        assert!(said.contains("not as Twig makes them"), "{said}");
        assert!(
            said.contains(expected) && said.contains("restore a backup"),
            "{said}"
        );
        server.sql("postgres", repair);
        done(&env, show);
    }
}

/// A copy is made whole or not at all: one that was killed half-way is repeated, in both directions.
#[test]
fn a_copy_that_was_killed_is_repeated() {
    let Some(server) = PgServer::start() else {
        return;
    };
    let files = TestEnv::in_memory(TWIG);
    done(&files, &["project", "create", "p"]);
    for number in 0..5 {
        done(&files, &["prompt", "add", &format!("a{number}"), "-c", "x"]);
    }
    let url = server.url("postgres");
    let database = at(&url);
    done(&database, &["store", "migrate"]);
    // It stops where versions are written, after the contents.
    server.sql("postgres", "CREATE TABLE public.go ()");
    let lock = "BEGIN; LOCK TABLE twig.version IN ACCESS EXCLUSIVE MODE; \
        DO $$ BEGIN LOOP PERFORM 1 FROM public.go; EXIT WHEN FOUND OR clock_timestamp() - now() > '60 s'; \
         PERFORM pg_sleep(0.01); END LOOP; END $$; COMMIT";
    let waits = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'";
    let copy = ["store", "copy", "--to", &*url];
    std::thread::scope(|scope| {
        scope.spawn(|| server.sql("postgres", lock));
        let locked = "SELECT count(*) FROM pg_locks \
            WHERE relation = 'twig.version'::regclass AND mode = 'AccessExclusiveLock' AND granted";
        crate::wait_until("the table is locked", || {
            server.sql("postgres", locked).trim() == "1"
        });
        let mut half = files.command(copy).spawn().expect("the binary starts");
        crate::wait_until("the copy waits", || {
            server.sql("postgres", waits).trim() == "1"
        });
        half.kill().expect("a child");
        half.wait().expect("a child");
        server.sql("postgres", "INSERT INTO public.go DEFAULT VALUES");
    });
    let rows = "SELECT (SELECT count(*) FROM twig.content) + (SELECT count(*) FROM twig.item)";
    crate::wait_until("nothing is left of it", || {
        server.sql("postgres", rows).trim() == "0"
    });
    assert_eq!(
        done(&database, &["workspace", "list"]),
        "default  0 projects\n"
    );
    done(&files, &copy);
    let found = done(&database, &["prompt", "list"]);
    assert_eq!(found.lines().count(), 5);
    done(&database, &["store", "verify"]);
    // On the way back, a copy that was killed leaves an empty workspace, too.
    done(&files, &["workspace", "create", "back"]);
    let back = ["store", "copy", "--to", "files", "--name", "back"];
    let mut command = files.command(back);
    command.env("TWIG_STORE_URL", &url);
    let output = files.outcome(&mut command);
    assert_eq!(output.code, 0, "{output}");
    assert_eq!(
        done(&files, &["prompt", "list", "-w", "back"])
            .lines()
            .count(),
        5
    );
    // What is there is never mixed with a copy.
    let said = refused(&files, &copy);
    assert!(
        said.contains("'default' of the place to copy to is not empty"),
        "{said}"
    );
    assert!(said.contains("--name"), "{said}");
    let output = files.outcome(&mut command);
    assert_eq!(output.code, 1, "{output}");
}
