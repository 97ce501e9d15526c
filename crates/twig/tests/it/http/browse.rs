//! The page: what it answers without a key, to whom, and how one comes in.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use serde_json::{Value, json};

use super::client::{Caller, Response};
use super::{LIBRARY, Served};
use crate::env;

/// Every route of the page; the first of them hold no data.
const PUBLIC: [&str; 8] = [
    "/",
    "/p/lib:hello",
    "/p/lib:hello/history/1..2",
    "/d/x",
    "/s/lib:hello/SKILL.md",
    "/problems",
    "/sources",
    "/connect",
];
const DATA: [(&str, &str); 20] = [
    ("GET", "/page/list"),
    ("GET", "/page/prompt?name=lib:hello"),
    ("GET", "/page/document?uri=x"),
    ("GET", "/page/problems"),
    ("GET", "/page/sources"),
    ("GET", "/page/events"),
    ("GET", "/page/visitor"),
    ("GET", "/page/anything"),
    ("GET", "/page/history?name=lib:hello"),
    ("GET", "/page/connect"),
    ("GET", "/page/palette?q=hello"),
    ("GET", "/page/peek?name=lib:hello"),
    ("GET", "/page/skill?name=lib:hello&path=SKILL.md"),
    ("GET", "/page/media?uri=x"),
    ("POST", "/page/restore"),
    ("POST", "/page/complete"),
    ("POST", "/page/reach"),
    ("POST", "/page/updates"),
    ("POST", "/page/verify"),
    ("POST", "/page/render"),
];

pub(super) fn get(served: &Served, path: &str, headers: &[(&str, &str)]) -> Response {
    served.caller().at(path).send("GET", headers, b"")
}

pub(super) fn post(caller: Caller, path: &str, headers: &[(&str, &str)], body: &Value) -> Response {
    let headers = [headers, &[("content-type", "application/json")]].concat();
    let mut caller = caller.at(path);
    caller.send("POST", &headers, body.to_string().as_bytes())
}

/// A link of `twig page`, and the code in it.
fn link(served: &Served) -> (String, String) {
    let outcome = served.env.run(["page", "--no-open"]);
    assert_eq!(outcome.code, 0, "{outcome}");
    let (address, code) = outcome
        .stdout
        .trim()
        .split_once("/#enter=")
        .expect("a link");
    (address.to_owned(), code.to_owned())
}

/// A page key of the user whose server this is.
pub(super) fn key(served: &Served) -> String {
    let (_, code) = link(served);
    let answer = post(
        served.caller(),
        "/page/enter",
        &[],
        &json!({ "code": code }),
    );
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.json()["key"].as_str().expect("a key").to_owned()
}

#[test]
fn without_a_key_there_is_only_the_shell() {
    let served = Served::new();
    let shell = get(&served, "/", &[]);
    for path in PUBLIC {
        let answer = get(&served, path, &[]);
        assert_eq!((answer.status, &answer.body), (200, &shell.body), "{path}");
    }
    let text = String::from_utf8_lossy(&shell.body);
    assert!(!text.contains("hello") && !text.contains("Greet"), "{text}");
    for (at, (method, path)) in DATA.into_iter().enumerate() {
        // Each wrong key makes the next one wait, so all of them are tried at one address.
        let all = ["Bearer x", "Bearer ", "Basic x", ""];
        for &header in if at == 0 { &all[..] } else { &all[..1] } {
            let headers = [
                ("authorization", header),
                ("content-type", "application/json"),
            ];
            let answer = served.caller().at(path).send(method, &headers, b"{}");
            assert_eq!(answer.status, 401, "{method} {path} {header}");
            assert!(answer.header("set-cookie").is_none());
        }
    }
}

#[test]
fn every_answer_says_what_may_run() {
    let served = Served::new();
    let text = String::from_utf8(get(&served, "/", &[]).body).expect("text");
    let script = text
        .split("src=\"")
        .nth(1)
        .and_then(|it| it.split('"').next());
    let key = key(&served);
    let bearer = format!("Bearer {key}");
    for path in [
        "/",
        script.expect("a script"),
        "/page/list",
        "/page/none",
        "/page/assets/none",
    ] {
        let answer = get(&served, path, &[("authorization", &bearer)]);
        let policy = answer.header("content-security-policy").expect("a policy");
        assert!(policy.starts_with("default-src 'none'; script-src 'self';"));
        assert!(
            policy.contains("require-trusted-types-for 'script'") && !policy.contains("unsafe")
        );
        assert_eq!(
            answer.header("x-content-type-options"),
            Some("nosniff"),
            "{path}"
        );
        assert_eq!(answer.header("x-frame-options"), Some("DENY"));
        let kept = answer.header("cache-control").expect("a rule");
        assert_eq!(
            kept.contains("immutable"),
            Some(path) == script,
            "{path}: {kept}"
        );
    }
}

#[test]
fn other_hosts_and_sites_are_refused_on_every_route() {
    let served = Served::new();
    let bearer = format!("Bearer {}", key(&served));
    let own = format!("http://127.0.0.1:{}", served.port);
    let foreign: [&[(&str, &str)]; 7] = [
        &[("host", "evil.example")],
        &[("origin", "http://127.0.0.1:1")],
        &[("origin", "null")],
        &[("origin", "https://evil.example")],
        &[("sec-fetch-site", "cross-site")],
        &[("sec-fetch-site", "same-site")],
        &[
            ("sec-fetch-site", "same-origin"),
            ("origin", "http://localhost:1"),
        ],
    ];
    let public = PUBLIC.iter().map(|path| ("GET", *path));
    let routes = public.chain(DATA).chain([
        ("POST", "/page/enter"),
        ("GET", "/page/assets/page.js"),
        ("HEAD", "/"),
    ]);
    for (method, path) in routes {
        for headers in foreign {
            let headers = [headers, &[("authorization", &*bearer)]].concat();
            let mut caller = served.caller().at(path);
            caller.start(method, &headers, b"");
            // The answer to HEAD has no body to wait for.
            let status = if method == "HEAD" {
                status_of(&mut caller)
            } else {
                caller.response().status
            };
            assert_eq!(status, 403, "{method} {path} {headers:?}");
        }
    }
    for headers in [
        &[("origin", &*own), ("sec-fetch-site", "same-origin")][..],
        &[("sec-fetch-site", "none")],
        &[],
    ] {
        let headers = [headers, &[("authorization", &*bearer)]].concat();
        let answer = get(&served, "/page/list", &headers);
        assert_eq!(answer.status, 200, "{headers:?}");
        assert_eq!(answer.header("access-control-allow-origin"), None);
    }
    // A person may come from a link, to the shell alone, and not into a frame.
    let visit = |dest| {
        [
            ("sec-fetch-site", "cross-site"),
            ("sec-fetch-mode", "navigate"),
            ("sec-fetch-dest", dest),
        ]
    };
    assert_eq!(get(&served, "/", &visit("document")).status, 200);
    assert_eq!(get(&served, "/", &visit("iframe")).status, 403);
    assert_eq!(get(&served, "/page/list", &visit("document")).status, 403);
}

fn status_of(caller: &mut Caller) -> u16 {
    let mut line = String::new();
    caller.stream.read_line(&mut line).expect("a status");
    line.split(' ')
        .nth(1)
        .and_then(|it| it.parse().ok())
        .expect("a status")
}

#[test]
fn the_page_works_behind_a_proxy_that_speaks_https() {
    let served = Served::with(&["--allow-host", "prompts.example.com"], &[]);
    let headers = [
        ("host", "prompts.example.com"),
        ("origin", "https://prompts.example.com"),
    ];
    let (_, code) = link(&served);
    let answer = post(
        served.caller(),
        "/page/enter",
        &headers,
        &json!({ "code": code }),
    );
    assert_eq!(answer.status, 200, "{answer:?}");
}

#[test]
fn a_code_works_once_and_its_key_until_it_is_forgotten() {
    let served = Served::new();
    let (address, code) = link(&served);
    assert_eq!(address, format!("http://127.0.0.1:{}", served.port));
    let enter = || {
        post(
            served.caller(),
            "/page/enter",
            &[],
            &json!({ "code": code }),
        )
    };
    let first = enter();
    assert_eq!(first.status, 200);
    assert_eq!(enter().status, 401);
    let key = first.json()["key"].as_str().expect("a key").to_owned();
    let bearer = format!("Bearer {key}");
    let list = || get(&served, "/page/list", &[("authorization", &bearer)]);
    let listed = list();
    assert!(String::from_utf8_lossy(&listed.body).contains("Greet somebody"));
    let tag = listed.header("etag").expect("a tag");
    let known = [("authorization", &*bearer), ("if-none-match", tag)];
    assert_eq!(get(&served, "/page/list", &known).status, 304);
    // It opens the page and nothing else, and no file has it.
    let outcome = served.env.run(["page", "--forget"]);
    assert_eq!(outcome.stderr, "ended the access of 1 browser\n");
    assert_eq!(list().status, 401);
}

#[test]
fn a_prompt_is_rendered_as_the_command_does_and_values_are_marked() {
    let served = Served::new();
    let caller = || served.caller().with_key(&key(&served));
    let render = |name: &str, arguments: Value| {
        let body = json!({ "name": name, "arguments": arguments });
        post(caller(), "/page/render", &[], &body).json()
    };
    let done = render("lib:hello", json!({ "name": "<b>Ada" }));
    assert_eq!(done["text"], "Hello <b>Ada!\n");
    let html = done["html"].as_str().expect("HTML");
    let mark = "Hello <mark class=\"value\" title=\"name\">&lt;b&gt;Ada</mark>!";
    assert!(html.contains(mark), "{html}");
    assert_eq!(done["command"], "twig render lib:hello 'name=<b>Ada'");
    let missing = render("lib:hello", json!({}));
    assert_eq!(
        (&missing["missing"], &missing["text"]),
        (&json!(["name"]), &Value::Null)
    );
    assert!(
        missing["html"]
            .as_str()
            .expect("HTML")
            .contains("<span class=\"missing\">name</span>")
    );
    let computed = render("lib:count", json!({}));
    assert_eq!(computed["text"], "012\n");
}

#[test]
fn a_person_sees_what_they_may_read_and_no_paths() {
    let env = env(LIBRARY);
    let made = env.run(["key", "create", "ada", "--role", "reader"]);
    assert_eq!(made.code, 0, "{made}");
    let secret = made.stdout.trim().to_owned();
    let served = Served::from_env(env);
    let enter = |secret: &str| {
        post(
            served.caller(),
            "/page/enter",
            &[],
            &json!({ "secret": secret }),
        )
    };
    assert_eq!(enter("wrong").status, 401);
    let entered = enter(&secret);
    assert_eq!(entered.status, 200, "{entered:?}");
    assert_eq!(entered.json()["name"], "ada");
    let key = entered.json()["key"].as_str().expect("a key").to_owned();
    let bearer = format!("Bearer {key}");
    let read = |path: &str| {
        let answer = get(&served, path, &[("authorization", &bearer)]);
        (
            answer.status,
            String::from_utf8_lossy(&answer.body).into_owned(),
        )
    };
    let root = served.env.home().display().to_string();
    for path in [
        "/page/list",
        "/page/sources",
        "/page/problems",
        "/page/prompt?name=lib:hello",
    ] {
        let (status, text) = read(path);
        assert_eq!(status, 200, "{path}");
        assert!(
            !text.contains(&root) && !text.contains("~/"),
            "{path}: {text}"
        );
    }
    // A page key is no key of a client.
    let list = super::list(&mut served.caller().with_key(&key), &[]);
    assert_eq!(list.status, 401);
    let revoked = served.env.run(["key", "revoke", "ada"]);
    assert_eq!(revoked.code, 0, "{revoked}");
    crate::wait_until("the key is revoked", || read("/page/list").0 == 401);
}

#[test]
fn a_server_without_a_page_has_none_of_its_routes() {
    let served = Served::with(&["--no-page"], &[]);
    for path in ["/", "/problems", "/page/list"] {
        assert_eq!(get(&served, path, &[]).status, 404, "{path}");
    }
}

#[test]
fn the_command_starts_a_server_if_none_runs() {
    let env = env(LIBRARY);
    let mut command = env.command(["page", "--no-open"]);
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("it starts");
    let mut line = String::new();
    let mut out = BufReader::new(child.stdout.take().expect("piped"));
    out.read_line(&mut line).expect("a link");
    let (address, code) = line.trim().split_once("/#enter=").expect("a link");
    let port = address
        .rsplit(':')
        .next()
        .and_then(|port| port.parse().ok())
        .expect("a port");
    let answer = post(
        Caller::new(port),
        "/page/enter",
        &[],
        &json!({ "code": code }),
    );
    child.kill().expect("it runs");
    child.wait().expect("it ends");
    assert_eq!(answer.status, 200, "{answer:?}");
}
