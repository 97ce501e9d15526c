//! Tables of an older and of a newer Twig. Skipped, with a line that says so, where PostgreSQL is not
//! installed.

use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use twig_testkit::{PgServer, TestClient, TestEnv};

use super::postgres::configured_with;
use super::{done, json};
use crate::wait_until;

/// The tables of the first version.
const FIRST: &str = include_str!("../../../../twig-sources/src/postgres/1.sql");

/// Long enough for a slow machine.
const LONG: Duration = Duration::from_secs(60);

fn migrate(env: &TestEnv) -> Child {
    let mut command = env.command(["store", "migrate", "--json"]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().expect("the binary starts")
}

/// Counts the connections that wait for a lock.
const WAITING: &str = "SELECT count(*) FROM pg_stat_activity \
    WHERE datname = 'd' AND wait_event_type = 'Lock'";

fn wait_for(server: &PgServer, database: &str, sql: &str, expected: &str) {
    let begun = Instant::now();
    while server.sql(database, sql).trim() != expected {
        assert!(begun.elapsed() < LONG, "never {expected}: {sql}");
    }
}

#[test]
fn twenty_migrate_old_tables_at_once_though_one_is_killed_half_way() {
    let Some(server) = PgServer::start() else {
        return;
    };
    if server.is_pooled() {
        // It keeps most of them waiting, where their locks are not counted.
        return;
    }
    server.create("d");
    let first = format!(
        "CREATE SCHEMA twig; {FIRST}; \
         INSERT INTO twig.meta (schema, min_reader, min_writer) VALUES (1, 1, 1)"
    );
    server.sql_of("d", "keeper", &first).expect("old tables");
    let url = server.url("d");
    let env = configured_with(&url, "");
    done(&env, &["project", "create", "p"]);
    done(&env, &["prompt", "add", "a", "-c", "old"]);
    server.sql("d", "CREATE TABLE public.go ()");
    // It reads a table that the migration changes, which therefore stops in the middle.
    let reader = "BEGIN; LOCK TABLE twig.change IN ACCESS SHARE MODE; \
        DO $$ BEGIN LOOP PERFORM 1 FROM public.go; EXIT WHEN FOUND OR clock_timestamp() - now() > '60 s'; \
         PERFORM pg_sleep(0.01); END LOOP; END $$; COMMIT";
    let read = "SELECT count(*) FROM pg_locks WHERE relation = 'twig.change'::regclass AND granted";
    let outcomes: Vec<_> = std::thread::scope(|scope| {
        scope.spawn(|| server.sql("d", reader));
        wait_for(&server, "d", read, "1");
        let mut killed = migrate(&env);
        wait_for(&server, "d", WAITING, "1");
        let others: Vec<Child> = (0..19).map(|_| migrate(&env)).collect();
        wait_for(&server, "d", WAITING, "20");
        killed.kill().expect("a child");
        killed.wait().expect("a child");
        server.sql("d", "INSERT INTO public.go DEFAULT VALUES");
        let ended = others.into_iter().map(Child::wait_with_output);
        ended.map(|output| output.expect("a child")).collect()
    });
    let mut made = 0;
    for output in outcomes {
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{said}");
        let migrated: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        made += u32::from(migrated["changed"] == json!(true) && migrated["from"] == json!(1));
    }
    assert_eq!(made, 1);
    let shown = done(&env, &["prompt", "show", "a"]);
    assert_eq!(shown, "old");
    let mut client = env.serve_with(["-p", "p"]);
    client.initialize();
    let called = client.request(
        "tools/call",
        json!({"name": "update_prompt", "arguments": {"name": "a", "content": "new"}}),
    );
    assert_eq!(called["result"]["isError"], json!(false), "{called}");
    done(&env, &["store", "verify"]);
}

/// A newer Twig has added columns, and lets this one read and write: servers that were started before
/// that and after it go on.
#[test]
fn tables_with_columns_of_a_newer_twig_are_read_and_written() {
    let Some(server) = PgServer::start() else {
        return;
    };
    let env = configured_with(&server.url("postgres"), "");
    done(&env, &["store", "migrate"]);
    done(&env, &["project", "create", "p"]);
    let mut before = env.serve_with(["-p", "p"]);
    before.initialize();
    let list = |client: &mut TestClient| client.request("prompts/list", json!({}));
    list(&mut before);
    let tables = server.sql(
        "postgres",
        "SELECT tablename FROM pg_tables WHERE schemaname = 'twig' ORDER BY 1",
    );
    for table in tables.lines() {
        let add = format!("ALTER TABLE twig.{table} ADD COLUMN newer text DEFAULT 'not known'");
        server.sql("postgres", &add);
    }
    server.sql("postgres", "UPDATE twig.meta SET schema = schema + 1");
    let mut after = env.serve_with(["-p", "p"]);
    after.initialize();
    for number in 0..5 {
        for (client, by) in [(&mut before, "before"), (&mut after, "after")] {
            let create = json!({
                "name": "create_prompt",
                "arguments": {"name": format!("{by}{number}"), "content": by},
            });
            let called = client.request("tools/call", create);
            assert_eq!(called["result"]["isError"], json!(false), "{called}");
        }
    }
    done(&env, &["prompt", "rename", "before0", "renamed"]);
    done(&env, &["prompt", "label", "renamed", "production"]);
    // A database that is slow to answer is not waited for long: then what was read last is listed.
    wait_until("both list the same", || {
        let listed = list(&mut before)["result"]["prompts"].clone();
        let names = listed.as_array().expect("a list").iter();
        let names: Vec<&str> = names.filter_map(|it| it["name"].as_str()).collect();
        names.len() == 10
            && names.contains(&"renamed")
            && list(&mut after)["result"]["prompts"] == listed
    });
    done(&env, &["audit", "verify"]);
    let verified = json(&env, &["store", "verify", "--json"]);
    assert_eq!(verified[0]["versions"], 10);
    // Copies do not lose it either.
    done(&env, &["store", "copy", "--to", "files", "--name", "copy"]);
}
