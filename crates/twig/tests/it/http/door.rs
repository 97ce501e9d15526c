//! Which hosts a client may mean, and of which sites a page may ask.

use serde_json::json;
use twig_testkit::MODERN;

use super::Served;
use super::client::{ACCEPT, Response, list, modern};

/// Sends a list request to a target with these `Host` lines.
fn ask(served: &Served, target: &str, hosts: &[u8]) -> Response {
    let body = modern("prompts/list", json!({})).to_string();
    let head = format!("POST {target} HTTP/1.1\r\n");
    let rest = format!(
        "content-type: application/json\r\naccept: {ACCEPT}\r\nmcp-protocol-version: {MODERN}\r\n\
         mcp-method: prompts/list\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    let mut caller = served.caller();
    caller.raw([head.as_bytes(), hosts, rest.as_bytes()].concat());
    caller.response()
}

/// Refused, in words of the protocol and without a word about prompts.
#[track_caller]
fn is_refused(response: &Response, row: &str) {
    assert_eq!((response.status, response.code()), (403, -32600), "{row}");
    assert!(response.json().get("result").is_none(), "{row}");
    assert_eq!(
        response.header("access-control-allow-origin"),
        None,
        "{row}"
    );
}

#[test]
fn only_our_own_names_are_hosts() {
    let served = Served::new();
    let port = served.port;
    let host = |host: &str| format!("host: {host}\r\n");
    let ours = host(&format!("localhost:{port}"));
    for name in ["127.0.0.1", "localhost", "LocalHost", "[::1]"] {
        let name = format!("{name}:{port}");
        let response = ask(&served, "/mcp", host(&name).as_bytes());
        assert_eq!(response.status, 200, "{name}");
        let target = format!("http://{name}/mcp");
        assert_eq!(ask(&served, &target, ours.as_bytes()).status, 200, "{name}");
    }
    let other = port.wrapping_add(1);
    for name in [
        "evil.example".to_owned(),
        format!("evil.example:{port}"),
        format!("localhost.evil.example:{port}"),
        // Names of others that lead here.
        format!("127.0.0.1.nip.io:{port}"),
        format!("localhost:{other}"),
        "localhost".to_owned(),
        format!("localhost.:{port}"),
        format!("user@localhost:{port}"),
        format!("localhost:{port}@evil.example"),
        format!("localhost:{port}, evil.example"),
        format!("localhost:{port} evil.example"),
        // Ways to write our address that nobody uses who means well.
        format!("127.1:{port}"),
        format!("2130706433:{port}"),
        format!("0.0.0.0:{port}"),
        format!("[::ffff:127.0.0.1]:{port}"),
        "null".to_owned(),
        String::new(),
    ] {
        is_refused(&ask(&served, "/mcp", host(&name).as_bytes()), &name);
    }
    is_refused(&ask(&served, "/mcp", b""), "none");
    is_refused(&ask(&served, "/mcp", b"host: local\xffhost\r\n"), "no text");
    is_refused(&ask(&served, "/mcp", ours.repeat(2).as_bytes()), "twice");
    let both = format!("{ours}host: evil.example\r\n");
    is_refused(&ask(&served, "/mcp", both.as_bytes()), "two of them");
    for target in [
        "http://evil.example/mcp".to_owned(),
        format!("http://evil.example:{port}/mcp"),
        format!("http://user@localhost:{port}/mcp"),
        format!("http://localhost:{other}/mcp"),
    ] {
        is_refused(&ask(&served, &target, ours.as_bytes()), &target);
    }
    let target = format!("http://localhost:{port}/mcp");
    is_refused(
        &ask(&served, &target, host("evil.example").as_bytes()),
        "the other way",
    );
    // What is asked for makes no difference.
    for request in ["GET /nothing", "OPTIONS /mcp", "DELETE /mcp"] {
        let mut caller = served.caller();
        caller.raw(format!("{request} HTTP/1.1\r\nhost: evil.example\r\n\r\n"));
        is_refused(&caller.response(), request);
    }
    let mut caller = served.caller();
    caller.raw("GET /nothing HTTP/1.0\r\n\r\n");
    is_refused(&caller.response(), "HTTP/1.0");
}

/// Probes name the address of a pod, or nothing at all.
#[test]
fn health_is_told_to_everyone_but_pages_of_others() {
    let served = Served::new();
    let hosts = [
        "host: 10.1.2.3\r\n",
        "host: 10.1.2.3:7373\r\n",
        "host: [fd00::1]:1\r\n",
        "host: evil.example\r\n",
        "",
    ];
    for host in hosts {
        for method in ["GET", "HEAD"] {
            let mut caller = served.caller();
            let version = if host.is_empty() { "1.0" } else { "1.1" };
            caller.raw(format!("{method} /healthz HTTP/{version}\r\n{host}\r\n"));
            let head = caller.head();
            assert_eq!(head.status, 200, "{host}");
            assert_eq!(head.header("content-length"), Some("3"), "{host}");
        }
    }
    let mut caller = served.caller();
    caller
        .raw("GET /healthz HTTP/1.1\r\nhost: evil.example\r\norigin: http://evil.example\r\n\r\n");
    is_refused(&caller.response(), "a page");
}

#[test]
fn the_refusal_of_a_host_names_the_flag_and_is_logged_once() {
    let mut served = Served::new();
    for _ in 0..3 {
        let refused = ask(&served, "/mcp", b"host: Prompts.Example.com\r\n");
        is_refused(&refused, "another name");
        assert_eq!(
            refused.json()["error"]["message"],
            "The host `prompts.example.com` is not allowed: start the server with \
             `--allow-host prompts.example.com` to answer to it"
        );
    }
    for nobody in [&b""[..], b"host: a\r\nhost: b\r\n", b"host: a b\r\n"] {
        let refused = ask(&served, "/mcp", nobody);
        assert_eq!(
            refused.json()["error"]["message"],
            "The request must name one host, in a single `Host` header"
        );
    }
    for number in 0..100 {
        ask(
            &served,
            "/mcp",
            format!("host: h{number}.example\r\n").as_bytes(),
        );
    }
    served.signal(rustix::process::Signal::TERM);
    let (_, _, talk) = served.ended();
    let line = "refused a request to the host `prompts.example.com`: start the server with \
                `--allow-host prompts.example.com` to answer to it";
    assert_eq!(talk.matches(line).count(), 1, "{talk}");
    assert_eq!(talk.matches("refused a request").count(), 32, "{talk}");
}

#[test]
fn only_pages_of_ours_may_ask() {
    let served = Served::new();
    let port = served.port;
    for host in ["127.0.0.1", "localhost", "[::1]"] {
        let origin = format!("http://{host}:{port}");
        let response = list(&mut served.caller(), &[("origin", &origin)]);
        assert_eq!(response.status, 200, "{origin}");
        let allowed = response.header("access-control-allow-origin");
        assert_eq!(allowed, Some(&*origin));
    }
    let other = port.wrapping_add(1);
    for origin in [
        "null".to_owned(),
        "http://evil.example".to_owned(),
        format!("http://evil.example:{port}"),
        format!("http://localhost:{other}"),
        "http://localhost".to_owned(),
        format!("https://localhost:{port}"),
        format!("http://localhost:{port}.evil.example"),
        format!("http://localhost:{port}0"),
        format!("http://evil.example/http://localhost:{port}"),
        format!("http://localhost.evil.example:{port}"),
        format!("http://user@localhost:{port}"),
        format!("http://localhost:{port}/"),
        format!("http://localhost:{port} http://evil.example"),
        format!("localhost:{port}"),
        "file://".to_owned(),
        "*".to_owned(),
        String::new(),
    ] {
        refuses_pages_of(&served, &[("origin", &origin)]);
    }
    let ours = format!("http://localhost:{port}");
    refuses_pages_of(&served, &[("origin", &ours), ("origin", &ours)]);
    let both = [("origin", &*ours), ("origin", "http://evil.example")];
    refuses_pages_of(&served, &both);
}

fn refuses_pages_of(served: &Served, origin: &[(&str, &str)]) {
    let row = format!("{origin:?}");
    is_refused(&list(&mut served.caller(), origin), &row);
    let mut asked = origin.to_vec();
    asked.push(("access-control-request-method", "POST"));
    is_refused(&served.caller().send("OPTIONS", &asked, b""), &row);
    is_refused(&served.caller().send("GET", origin, b""), &row);
}

/// A page can send a form, or text, to any site without asking first.
#[test]
fn what_a_page_can_send_unasked_is_no_message() {
    let served = Served::new();
    let body = modern("prompts/list", json!({})).to_string();
    for kind in [
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "text/plain; application/json",
        "application/json-patch+json",
        "",
    ] {
        let headers = [
            ("content-type", kind),
            ("mcp-protocol-version", MODERN),
            ("mcp-method", "prompts/list"),
        ];
        let response = served.caller().send("POST", &headers, body.as_bytes());
        assert_eq!((response.status, response.code()), (415, -32600), "{kind}");
    }
}

#[test]
fn the_lists_can_be_made_longer() {
    let args = [
        "--allow-host",
        "Prompts.example.com",
        "--allow-origin",
        "HTTPS://App.example.com:443",
    ];
    let served = Served::with(&args, &[("TWIG_TOKEN", "secret")]);
    let headers = [
        ("host", "prompts.example.com"),
        ("origin", "https://app.example.com"),
        ("authorization", "Bearer secret"),
    ];
    assert_eq!(list(&mut served.caller(), &headers).status, 200);
    // A browser asks first, and shows no token then.
    let asked = [
        ("origin", "https://app.example.com"),
        ("access-control-request-method", "POST"),
        (
            "access-control-request-headers",
            "authorization, mcp-method",
        ),
    ];
    let preflight = served.caller().send("OPTIONS", &asked, b"");
    assert_eq!(preflight.status, 200);
    let allowed = preflight.header("access-control-allow-headers");
    assert!(allowed.is_some_and(|names| names.contains("mcp-method")));
}

#[test]
fn what_is_no_host_and_no_origin_is_not_taken() {
    let env = crate::env("");
    let refused = |flag: &str, value: &str| {
        let run = env.run(["serve", "--http", "127.0.0.1:0", flag, value]);
        assert_eq!(run.code, 2, "{value}: {run}");
        run.stderr
    };
    for host in [
        "",
        "*",
        "a b",
        "*.example.com",
        "https://example.com",
        "example.com/",
        "a@example.com",
        "example.com:",
        "example.com:0",
        "example.com:x",
        "[::1",
        "a..b",
        ".",
        "a,b",
        "\u{fc}.example",
    ] {
        let said = refused("--allow-host", host);
        assert!(
            said.contains("write a host such as prompts.example.com"),
            "{said}"
        );
    }
    for origin in [
        "",
        "*",
        "null",
        "example.com",
        "https://",
        "https://*.example.com",
        "https://a b",
        "https://example.com/",
        "ftp://example.com",
        "https://u@example.com",
    ] {
        let said = refused("--allow-origin", origin);
        assert!(
            said.contains("write an origin such as https://example.com"),
            "{said}"
        );
    }
    insta::assert_snapshot!(refused("--allow-host", "*"), @"
    error: invalid value '*' for '--allow-host <HOST>': write a host such as prompts.example.com or prompts.example.com:8080, once for each host

    For more information, try '--help'.
    ");
    insta::assert_snapshot!(refused("--allow-origin", "*"), @"
    error: invalid value '*' for '--allow-origin <ORIGIN>': write an origin such as https://example.com, without a path, once for each origin

    For more information, try '--help'.
    ");
}

#[test]
fn hosts_are_names_and_addresses_with_a_port_or_without() {
    let hosts = [
        "Prompts.Example.com",
        "a_b-c:8080",
        "192.0.2.1",
        "2001:db8::1",
        "[2001:db8::2]:81",
    ];
    let args: Vec<&str> = hosts
        .iter()
        .flat_map(|host| ["--allow-host", host])
        .collect();
    let served = Served::with(&args, &[]);
    for (host, status) in [
        ("prompts.example.com", 200),
        ("A_B-C:8080", 200),
        ("a_b-c", 403),
        ("192.0.2.1", 200),
        ("[2001:db8::1]", 200),
        ("[2001:db8::2]:81", 200),
        ("[2001:db8::2]", 403),
        ("", 403),
    ] {
        assert_eq!(
            list(&mut served.caller(), &[("host", host)]).status,
            status,
            "{host}"
        );
    }
}

/// T-HTTP-01
#[test]
fn by_default_only_this_machine_is_served() {
    let served = Served::new();
    // Where the system has more addresses of its own, the server is at none of the others.
    if cfg!(target_os = "linux") {
        let elsewhere = std::net::TcpStream::connect(("127.0.0.2", served.port));
        assert!(elsewhere.is_err());
    }
    // Without an address it is the same, whether the port is taken or not.
    let env = crate::env("");
    let mut child = env.command(["serve", "--http"]);
    let mut child = child
        .stderr(std::process::Stdio::piped())
        .spawn()
        .expect("the server starts");
    let mut said = String::new();
    let talk = child.stderr.take().expect("piped");
    let _ = std::io::BufRead::read_line(&mut std::io::BufReader::new(talk), &mut said);
    let _ = child.kill();
    let _ = child.wait();
    assert!(said.contains("127.0.0.1:7373"), "{said}");
}
