//! Servers whose PostgreSQL is replaced: by a standby that lacks the last writes, or by a restored
//! dump. Skipped, with a line that says so, where it is not installed.

use std::process::Command;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::{Value, json};
use twig_testkit::{PgServer, TestClient, TestEnv, figure, rounds};

use super::postgres::configured_with;
use super::{done, json};

/// Long enough for a slow machine.
const LONG: Duration = Duration::from_secs(60);

/// Two servers of project `p` with their environments; both have listed its prompts.
fn two_servers(url: &str, settings: &str) -> [(TestEnv, TestClient); 2] {
    [(), ()].map(|()| {
        let env = configured_with(url, settings);
        let mut client = env.serve_with(["-p", "p"]);
        client.initialize();
        listed(&mut client);
        (env, client)
    })
}

fn listed(client: &mut TestClient) -> Vec<String> {
    let answer = client.request("prompts/list", json!({}));
    let prompts = answer["result"]["prompts"].as_array();
    let prompts = prompts.unwrap_or_else(|| panic!("{answer}"));
    let names = prompts.iter().map(|prompt| prompt["name"].as_str());
    names.map(|name| name.expect("a name").to_owned()).collect()
}

/// Waits until a server lists these prompts: its list may be as old as the freshness.
fn wait_for_list(client: &mut TestClient, expected: &[&str]) {
    let begun = Instant::now();
    while listed(client) != expected {
        assert!(begun.elapsed() < LONG, "never lists {expected:?}");
    }
}

/// The text of a prompt, as a client gets it.
fn text(client: &mut TestClient, name: &str) -> String {
    let answer = client.request("prompts/get", json!({"name": name}));
    let text = &answer["result"]["messages"][0]["content"]["text"];
    text.as_str()
        .unwrap_or_else(|| panic!("{answer}"))
        .trim()
        .to_owned()
}

/// Calls a tool that writes; the writes of these tests succeed.
fn call(client: &mut TestClient, tool: &str, name: &str, content: &str) {
    let arguments = json!({"name": name, "content": content});
    let called = client.request("tools/call", json!({"name": tool, "arguments": arguments}));
    assert_eq!(called["result"]["isError"], json!(false), "{called}");
}

/// A standby that lacks two changes is promoted, and gets as many new ones before the servers see it:
/// fewer than they know, as many, and more.
#[test]
fn nothing_that_a_promoted_standby_lacks_is_served() {
    let Some(mut primary) = PgServer::start() else {
        return;
    };
    for new in [0, 2, 5] {
        let standby = primary.standby(false);
        let of = format!("d{new}");
        primary.create(&of);
        let url = primary.url_with(&standby, &of);
        let commands = configured_with(&url, "");
        done(&commands, &["store", "migrate"]);
        done(&commands, &["project", "create", "p"]);
        done(&commands, &["prompt", "add", "kept", "-c", "first"]);
        primary.wait_for(&standby);
        standby.hold_back();
        let [(_one, mut one), (_two, mut two)] = two_servers(&url, "");
        call(&mut one, "update_prompt", "kept", "lost!");
        call(&mut one, "create_prompt", "lost", "lost!");
        for client in [&mut one, &mut two] {
            wait_for_list(client, &["kept", "lost"]);
            assert_eq!(text(client, "kept"), "lost!");
            client.signal(Signal::STOP);
        }
        primary.crash();
        standby.promote();
        for number in 0..new {
            let change = if number == 0 { "update" } else { "add" };
            let prompt = if number == 0 {
                "kept".to_owned()
            } else {
                format!("new{number}")
            };
            // As long as what was lost, so that no count differs.
            done(&commands, &["prompt", change, &prompt, "-c", "newer"]);
        }
        let kept = if new == 0 { "first" } else { "newer" };
        let mut expected = vec!["kept".to_owned()];
        expected.extend((1..new).map(|number| format!("new{number}")));
        for client in [&mut one, &mut two] {
            client.forget();
            client.signal(Signal::CONT);
        }
        let continued = Instant::now();
        for client in [&mut one, &mut two] {
            client.notification("notifications/prompts/list_changed");
            while listed(client) != expected {
                client.notification("notifications/prompts/list_changed");
            }
            assert_eq!(text(client, "kept"), kept);
        }
        println!("both dropped what is gone after {:?}", continued.elapsed());
        figure(
            "what is gone is served",
            continued.elapsed(),
            Duration::from_secs(1),
        );
        for client in [&mut one, &mut two] {
            // Both changes are named: the one that was served last, and the last one now.
            if new == 0 {
                client.wait_for_log("went back from change 4 to change 2");
            } else {
                client.wait_for_log("the history of project p was replaced: change 4 ");
                client.wait_for_log(&format!("it is at change {} now", 2 + new));
            }
        }
        call(&mut two, "create_prompt", "zz", "after");
        let expected: Vec<&str> = expected.iter().map(|name| &**name).chain(["zz"]).collect();
        wait_for_list(&mut one, &expected);
        assert_eq!(text(&mut one, "zz"), "after");
        assert!(done(&commands, &["audit", "verify"]).contains("intact"));
        primary = standby;
    }
}

/// With `freshness_millis = 0`, what one server has acknowledged is in the next answer of the other.
#[test]
fn strict_servers_answer_with_every_acknowledged_write() {
    let Some(server) = PgServer::start() else {
        return;
    };
    let url = server.url("postgres");
    let strict = "freshness_millis = 0";
    let commands = configured_with(&url, strict);
    done(&commands, &["store", "migrate"]);
    done(&commands, &["project", "create", "p"]);
    done(&commands, &["prompt", "add", "a", "-c", "0"]);
    let [(_one, mut one), (_two, mut two)] = two_servers(&url, strict);
    for number in 1..=rounds(200, 10_000) {
        let content = number.to_string();
        call(&mut one, "update_prompt", "a", &content);
        assert_eq!(text(&mut two, "a"), content);
    }
}

/// The clock of the database counts, not those of servers.
#[test]
fn versions_are_in_order_though_the_clocks_of_servers_differ() {
    let Some(server) = PgServer::start() else {
        return;
    };
    if Command::new("faketime").arg("--version").output().is_err() {
        println!("skipped: faketime is not installed here");
        return;
    }
    let url = server.url("postgres");
    let commands = configured_with(&url, "");
    done(&commands, &["store", "migrate"]);
    done(&commands, &["project", "create", "p"]);
    done(&commands, &["prompt", "add", "a", "-c", "0"]);
    let clock = || -> i64 {
        let sql = "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint";
        server
            .sql("postgres", sql)
            .trim()
            .parse()
            .expect("a number")
    };
    let mut servers = ["+1h", "-1h"].map(|off| {
        let env = configured_with(&url, "");
        let real = env.command(["serve", "-p", "p"]);
        let mut command = Command::new("faketime");
        command
            .args(["-f", off])
            .arg(real.get_program())
            .args(real.get_args());
        command.env_clear().envs(
            real.get_envs()
                .filter_map(|(name, value)| Some((name, value?))),
        );
        command.current_dir(env.work());
        let mut client = TestClient::start(command);
        client.initialize();
        (env, client)
    });
    let before = clock();
    for number in 1..=10 {
        let (_, client) = &mut servers[number % 2];
        call(client, "update_prompt", "a", &number.to_string());
    }
    let after = clock();
    for (_, client) in &mut servers {
        let begun = Instant::now();
        while text(client, "a") != "10" {
            assert!(begun.elapsed() < LONG, "an old version is served");
        }
    }
    let times = server.sql("postgres", "SELECT at FROM twig.version ORDER BY number");
    let times: Vec<i64> = times
        .lines()
        .map(|at| at.parse().expect("a number"))
        .collect();
    assert_eq!(times.len(), 11);
    assert!(times.is_sorted(), "{times:?}");
    assert!(
        times[1..].iter().all(|at| (before..=after).contains(at)),
        "{times:?}"
    );
}

#[test]
fn an_altered_change_is_named_with_its_project() {
    let Some(server) = PgServer::start() else {
        return;
    };
    let env = configured_with(&server.url("postgres"), "");
    done(&env, &["store", "migrate"]);
    for project in ["garden", "park"] {
        done(&env, &["project", "create", project]);
        done(
            &env,
            &["prompt", "add", "water", "-c", "one", "-p", project],
        );
        let update = ["prompt", "update", "water", "-c", "two", "-p", project];
        done(&env, &update);
    }
    let alter = |sql: &str| {
        let sql = format!("SET session_replication_role = replica; {sql}");
        server.sql("postgres", &sql);
    };
    let of_park = "project = (SELECT id FROM twig.project WHERE name = 'park') AND rev = 2";
    alter(&format!(
        "UPDATE twig.change SET actor = 'eve' WHERE {of_park}"
    ));
    let said = env.run(["audit", "verify"]);
    assert_eq!(said.code, 1, "{said}");
    let expected =
        "the log of project `park` in workspace `default` was changed: change 2 is not as";
    assert!(said.stderr.contains(expected), "{said}");
    let chains = env.run(["audit", "verify", "--json"]);
    let chains: Value = serde_json::from_str(&chains.stdout).expect("JSON");
    assert_eq!(
        (&chains[0]["broken_at"], &chains[1]["broken_at"]),
        (&Value::Null, &json!(2))
    );
    alter(&format!("DELETE FROM twig.change WHERE {of_park}"));
    let said = env.run(["audit", "verify"]);
    assert_eq!(said.code, 1, "{said}");
    let expected = "project `park` in workspace `default` was changed: change 2 is missing";
    assert!(said.stderr.contains(expected), "{said}");
    let said = env.run(["store", "verify"]);
    assert!(said.code == 1, "{said}");
    assert!(
        said.to_string()
            .contains("project 'park' change 2 is missing"),
        "{said}"
    );
    alter(
        "DELETE FROM twig.change c USING twig.project p \
         WHERE p.id = c.project AND p.name = 'garden' AND c.rev > 2",
    );
    let said = env.run(["audit", "verify"]);
    let expected = "project `garden` in workspace `default` was changed: change 3 is missing\n\
        hint: compare it with a backup: restore a dump into another database";
    assert!(said.code == 1 && said.stderr.contains(expected), "{said}");
    let said = env.run(["store", "verify"]);
    let expected = "in the log of project 'garden' change 3 is missing";
    assert!(said.code == 1 && said.stdout.contains(expected), "{said}");
    alter(
        "UPDATE twig.project SET rev = 2, chain = (SELECT digest FROM twig.change c \
         WHERE c.project = project.id AND c.rev = 2) WHERE name = 'garden'",
    );
    // Damaged versions do not hide the log.
    alter("UPDATE twig.version SET author = 'eve' WHERE number = 1");
    let said = env.run(["store", "verify"]);
    assert_eq!(said.code, 1, "{said}");
    for expected in [
        "version 1 of prompt 'water' differs from what was written; version 1 of prompt 'water'",
        "it was left as it is: restore a backup; in the log of project 'park' change 2 is missing",
    ] {
        assert!(said.stdout.contains(expected), "{expected}: {said}");
    }
    assert!(!said.stdout.contains("twig store verify"), "{said}");
}

/// The dump is restored into another cluster, whose database then takes the place of the old one.
#[test]
fn servers_go_on_with_a_restored_dump() {
    let (Some(server), Some(empty)) = (PgServer::start(), PgServer::start()) else {
        return;
    };
    server.sql("postgres", "CREATE ROLE dumper LOGIN BYPASSRLS");
    server.create("d");
    empty.create("d");
    let url = server.url_with(&empty, "d");
    let env = configured_with(&url, "");
    done(&env, &["store", "migrate", "--backup-role", "dumper"]);
    done(&env, &["project", "create", "p"]);
    done(&env, &["prompt", "add", "a", "-c", "kept"]);
    done(&env, &["prompt", "label", "a", "production"]);
    let file = server.folder().join("dump").display().to_string();
    let dump = server.client("pg_dump", "dumper", &["-Fc", "-f", &file, "d"]);
    dump.expect("a dump");
    let [(_one, mut one), (_two, mut two)] = two_servers(&url, "");
    call(&mut one, "create_prompt", "late", "after the dump");
    wait_for_list(&mut two, &["a", "late"]);
    let restore = [
        "--no-owner",
        "--no-acl",
        "--exit-on-error",
        "-d",
        "d",
        &*file,
    ];
    let restored = empty.client("pg_restore", "keeper", &restore);
    restored.expect("a restored dump");
    server.crash();
    let verified = json(&env, &["store", "verify", "--json"]);
    let expected = json!([{"workspace": "default", "versions": 1, "contents": 1, "changes": 3}]);
    assert_eq!(verified, expected);
    for client in [&mut one, &mut two] {
        wait_for_list(client, &["a"]);
        assert_eq!(text(client, "a"), "kept");
        client.wait_for_log("went back from change 4 to change 3");
    }
    call(&mut one, "create_prompt", "b", "new");
    wait_for_list(&mut two, &["a", "b"]);
    assert_eq!(text(&mut two, "b"), "new");
}
