//! The admin listener: probes and metrics.

use rustix::process::Signal;
use serde_json::json;

use super::Served;
use super::client::{Caller, Response, list};

/// Asks the admin listener on a new connection, as a kubelet does.
pub(super) fn ask(port: u16, request: &str) -> Response {
    let mut caller = Caller::new(port);
    caller.raw(format!(
        "{request} HTTP/1.1\r\nhost: 10.0.0.7:{port}\r\n\r\n"
    ));
    if request.starts_with("HEAD") {
        caller.head()
    } else {
        caller.response()
    }
}

fn metrics(port: u16) -> String {
    let response = ask(port, "GET /metrics");
    assert_eq!(response.status, 200);
    let kind = response.header("content-type");
    assert_eq!(kind, Some("text/plain; version=0.0.4; charset=utf-8"));
    String::from_utf8(response.body).expect("text")
}

/// The value of a time series.
#[track_caller]
fn value(metrics: &str, series: &str) -> u64 {
    let mut lines = metrics.lines();
    let value = lines.find_map(|line| line.strip_prefix(series)?.strip_prefix(' '));
    let value = value.unwrap_or_else(|| panic!("{series}: {metrics}"));
    value.parse().expect("a number")
}

#[test]
fn probes_are_answered_and_nothing_else() {
    let mut served = Served::with(&["--admin", ":0"], &[("TWIG_TOKEN", "secret")]);
    let port = served.admin_port();
    for path in ["/livez", "/readyz", "/metrics"] {
        assert_eq!(ask(port, &format!("GET {path}")).status, 200, "{path}");
        assert_eq!(ask(port, &format!("GET {path}?x=1")).status, 200, "{path}");
        assert_eq!(ask(port, &format!("HEAD {path}")).status, 200, "{path}");
        let refused = ask(port, &format!("DELETE {path}"));
        assert_eq!(refused.status, 405, "{path}");
        assert_eq!(refused.header("allow"), Some("GET, HEAD"));
    }
    assert_eq!(ask(port, "GET /livez").body, b"ok\n");
    let ready = ask(port, "GET /readyz");
    assert_eq!(ready.json(), json!({"ready": true, "reasons": []}));
    for path in ["/", "/mcp", "/healthz", "/livez/", "//livez", "/Metrics"] {
        assert_eq!(ask(port, &format!("GET {path}")).status, 404, "{path}");
    }
    assert_eq!(ask(port, "POST /mcp").status, 404);
    // Nor are these on the port of the clients.
    let mut caller = served.caller();
    caller.raw(format!(
        "GET /metrics HTTP/1.1\r\nhost: localhost:{}\r\n\r\n",
        served.port
    ));
    assert_eq!(caller.response().status, 404);
}

#[test]
fn a_connection_can_be_kept_and_its_head_is_bounded() {
    let mut served = Served::with(&["--admin", "127.0.0.1:0"], &[]);
    let port = served.admin_port();
    let mut caller = Caller::new(port);
    for _ in 0..3 {
        caller.raw("GET /livez HTTP/1.1\r\nhost: x\r\n\r\n");
        assert_eq!(caller.response().status, 200);
    }
    let mut greedy = Caller::new(port);
    let long = "a".repeat(20_000);
    greedy.raw(format!(
        "GET /livez HTTP/1.1\r\nhost: x\r\nx: {long}\r\n\r\n"
    ));
    assert_eq!(greedy.head().status, 431);
    // Silent connections make room for others.
    let silent: Vec<Caller> = (0..100).map(|_| Caller::new(port)).collect();
    assert_eq!(ask(port, "GET /livez").status, 200);
    drop(silent);
    served.is_well();
}

#[test]
fn requests_are_counted_by_method_and_error() {
    let mut served = Served::with(&["--admin", ":0"], &[]);
    let port = served.admin_port();
    let before = metrics(port);
    assert!(
        !before.contains("mcp_server_operation_duration_seconds_bucket"),
        "{before}"
    );
    let mut caller = served.caller();
    for _ in 0..3 {
        assert_eq!(list(&mut caller, &[]).status, 200);
    }
    caller.modern("prompts/get", json!({"name": "lib:missing"}));
    let computed = caller.modern("prompts/get", json!({"name": "lib:count"}));
    assert!(computed.json().get("result").is_some());
    let failed = json!({"name": "expand_prompt", "arguments": {"prompt": "lib:missing"}});
    assert_eq!(
        caller.modern("tools/call", failed).json()["result"]["isError"],
        true
    );
    assert_eq!(caller.modern("secret/method", json!({})).status, 404);
    assert_eq!(
        list(&mut served.caller(), &[("host", "evil.example")]).status,
        403
    );
    caller.send("PUT", &[], b"");
    let json = [("content-type", "application/json")];
    assert_eq!(caller.send("POST", &json, b"{").status, 400);
    let session = served.caller().initialize();
    let mut stream = served.caller();
    stream.listen();
    let text = metrics(port);
    let count = |labels: &str| {
        value(
            &text,
            &format!("mcp_server_operation_duration_seconds_count{{mcp_method_name={labels}}}"),
        )
    };
    assert_eq!(count("\"prompts/list\""), 3);
    assert_eq!(count("\"prompts/get\""), 1);
    assert_eq!(count("\"prompts/get\",error_type=\"-32602\""), 1);
    assert_eq!(count("\"_OTHER\",error_type=\"-32601\""), 1);
    assert_eq!(count("\"tools/call\",error_type=\"tool_error\""), 1);
    assert_eq!(count("\"initialize\""), 1);
    assert_eq!(count("\"subscriptions/listen\""), 1);
    let last = "mcp_server_operation_duration_seconds_bucket{mcp_method_name=\"prompts/list\",le=\"+Inf\"}";
    assert_eq!(value(&text, last), 3);
    assert_eq!(value(&text, "twig_refusals_total{reason=\"host\"}"), 1);
    assert_eq!(value(&text, "twig_refusals_total{reason=\"method\"}"), 1);
    assert_eq!(value(&text, "twig_refusals_total{reason=\"message\"}"), 1);
    assert_eq!(value(&text, "twig_refusals_total{reason=\"token\"}"), 0);
    assert_eq!(value(&text, "twig_sessions_open"), 1);
    assert_eq!(value(&text, "twig_streams_open"), 1);
    assert!(value(&text, "twig_connections_open") >= 2);
    assert_eq!(value(&text, "twig_jobs_waiting{kind=\"render\"}"), 0);
    assert_eq!(value(&text, "twig_catalog_prompts"), 3);
    assert_eq!(value(&text, "twig_catalog_libraries"), 1);
    assert!(value(&text, "process_start_time_seconds") > 1_700_000_000);
    // Nothing that a client or a library chose becomes a label.
    for word in ["secret/method", "missing", "lib:", "evil", &session] {
        assert!(!text.contains(word), "{word}: {text}");
    }
    drop(stream);
    served
        .caller()
        .send("DELETE", &[("mcp-session-id", &session)], b"");
    crate::wait_until("nothing is open", || {
        let text = metrics(port);
        value(&text, "twig_sessions_open") + value(&text, "twig_streams_open") == 0
    });
}

/// The format, as the parser of Prometheus wants it: every sample belongs to the family above it.
#[test]
fn the_text_is_well_formed() {
    let mut served = Served::with(&["--admin", ":0"], &[]);
    let port = served.admin_port();
    served.is_well();
    let text = metrics(port);
    let mut family = "";
    let mut buckets = 0;
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("# TYPE ") {
            family = rest.split(' ').next().expect("a name");
            continue;
        }
        if line.starts_with("# HELP ") {
            continue;
        }
        let (series, value) = line.rsplit_once(' ').expect("a sample");
        assert!(series.starts_with(family), "{line}");
        assert!(value.parse::<f64>().is_ok(), "{line}");
        let labels = series.find('{').map(|at| &series[at..]);
        assert!(labels.is_none_or(|it| it.ends_with('}') && it.matches('"').count() % 2 == 0));
        if series.contains("_bucket{") {
            buckets += 1;
        }
    }
    assert_eq!(buckets, 17);
    assert!(text.ends_with('\n'));
}

#[test]
fn an_admin_listener_that_others_can_reach_is_logged() {
    let mut served = Served::with(&["--admin", "0.0.0.0:0"], &[]);
    assert!(
        served
            .before
            .contains("answers everyone who can reach it, without a token"),
        "{}",
        served.before
    );
    served.signal(Signal::TERM);
    assert_eq!(served.ended().0.code(), Some(0));
    // The address of clients still needs a token.
    let refused = served
        .env
        .run(["serve", "--http", "0.0.0.0:0", "--admin", "0.0.0.0:0"]);
    assert_eq!(refused.code, 1, "{refused}");
}
