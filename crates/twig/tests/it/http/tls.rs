//! https: a certificate from files, and its rotation.

use std::fs;
use std::io::{self, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::sync::Arc;

use rcgen::{CertifiedKey, KeyPair, generate_simple_self_signed};
use rustls::pki_types::CertificateDer;
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use serde_json::{Value, json};
use twig_testkit::{MODERN, TestEnv};

use super::client::{ACCEPT, Caller, PATIENCE, modern};
use super::{LIBRARY, Served};
use crate::{env, wait_until};

/// A certificate for `localhost`.
fn certificate() -> CertifiedKey<KeyPair> {
    generate_simple_self_signed(["localhost".to_owned()]).expect("a certificate")
}

struct Files {
    cert: PathBuf,
    key: PathBuf,
}

impl Files {
    fn new(env: &TestEnv) -> Self {
        let (cert, key) = (env.root().join("cert.pem"), env.root().join("key.pem"));
        Self { cert, key }
    }

    /// Puts a pair in place, as `mv` does.
    fn put(&self, cert: &str, key: &str) {
        for (path, text) in [(&self.key, key), (&self.cert, cert)] {
            let new = path.with_extension("new");
            fs::write(&new, text).expect("a folder of the test");
            fs::rename(&new, path).expect("a folder of the test");
        }
    }

    fn put_pair(&self, pair: &CertifiedKey<KeyPair>) {
        self.put(&pair.cert.pem(), &pair.signing_key.serialize_pem());
    }

    fn args(&self) -> [String; 4] {
        let show = |path: &PathBuf| path.display().to_string();
        [
            "--tls-cert".into(),
            show(&self.cert),
            "--tls-key".into(),
            show(&self.key),
        ]
    }
}

fn served(config: &str) -> (Served, Files, CertifiedKey<KeyPair>) {
    let env = env(LIBRARY);
    env.configure(config);
    let (files, pair) = (Files::new(&env), certificate());
    files.put_pair(&pair);
    let mut command = env.command(["serve", "--http", ":0"]);
    command.args(files.args());
    (Served::start(env, command), files, pair)
}

/// A client that trusts one certificate.
fn connect(
    port: u16,
    trusted: &CertificateDer<'static>,
) -> StreamOwned<ClientConnection, TcpStream> {
    let mut roots = RootCertStore::empty();
    roots.add(trusted.clone()).expect("a certificate");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("the versions of the provider")
        .with_root_certificates(roots);
    let mut config = config.with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    let name = "localhost".try_into().expect("a name");
    let client = ClientConnection::new(Arc::new(config), name).expect("a client");
    let stream = TcpStream::connect(("127.0.0.1", port)).expect("the server listens");
    stream.set_read_timeout(Some(PATIENCE)).expect("a socket");
    StreamOwned::new(client, stream)
}

/// Lists the prompts over TLS; an error if the certificate is another one.
fn list(port: u16, trusted: &CertificateDer<'static>) -> io::Result<String> {
    ask(port, trusted, "prompts/list", json!({}))
}

fn ask(
    port: u16,
    trusted: &CertificateDer<'static>,
    method: &str,
    params: Value,
) -> io::Result<String> {
    let mut stream = connect(port, trusted);
    request(&mut stream, port, method, params)?;
    let mut answer = String::new();
    BufReader::new(&mut stream).read_to_string(&mut answer)?;
    assert_eq!(stream.conn.alpn_protocol(), Some(&b"http/1.1"[..]));
    Ok(answer)
}

fn request(stream: &mut impl Write, port: u16, method: &str, params: Value) -> io::Result<()> {
    let name = params["uri"].as_str().unwrap_or_default().to_owned();
    let body = modern(method, params).to_string();
    write!(
        stream,
        "POST /mcp HTTP/1.1\r\nhost: localhost:{port}\r\ncontent-type: application/json\r\naccept: {ACCEPT}\r\n\
         mcp-protocol-version: {MODERN}\r\nmcp-method: {method}\r\nmcp-name: {name}\r\nconnection: close\r\n\
         content-length: {}\r\n\r\n{body}",
        body.len()
    )?;
    stream.flush()
}

#[test]
fn prompts_are_served_over_https() {
    let (mut served, _, pair) = served("");
    let answer = list(served.port, pair.cert.der()).expect("an answer");
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert!(answer.contains("lib:hello"), "{answer}");
    assert!(list(served.port, certificate().cert.der()).is_err());
    // Pages of this server have its scheme.
    let mut stream = connect(served.port, pair.cert.der());
    let port = served.port;
    write!(stream, "OPTIONS /mcp HTTP/1.1\r\nhost: localhost:{port}\r\norigin: https://localhost:{port}\r\naccess-control-request-method: POST\r\nconnection: close\r\n\r\n").expect("a request");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert!(
        served
            .next_line()
            .starts_with("serving 3 prompts of 1 library")
    );
    let hint = served.next_line();
    let url = format!("--url https://127.0.0.1:{port}/mcp`");
    assert!(hint.ends_with(&url), "{hint}");
}

#[test]
fn a_client_that_does_not_finish_its_handshake_is_let_go() {
    let (served, _, pair) = served("[http]\nhead_millis = 200\nconnections = 2\n");
    assert!(Caller::new(served.port).is_closed(), "silence");
    let mut halting = Caller::new(served.port);
    // The begin of a record that never ends.
    halting.raw([0x16, 0x03, 0x01, 0x02, 0x00, 0x01]);
    assert!(halting.is_closed(), "a part of a handshake");
    let mut plain = Caller::new(served.port);
    plain.raw("GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n");
    assert!(!plain.rest().contains("200"), "without TLS");
    // Those that hold all places make room.
    let _silent: Vec<Caller> = (0..8).map(|_| Caller::new(served.port)).collect();
    assert!(list(served.port, pair.cert.der()).is_ok());
}

/// Long replies go through TLS whole, and one that nobody reads holds nothing for ever.
#[test]
fn a_long_document_is_read_whole_or_given_up() {
    let (mut served, _, pair) = served("[http]\nstall_millis = 300\nadmin = \":0\"\n");
    let admin = served.admin_port();
    let length = 12 << 20;
    served
        .env
        .write("lib/docs/long.txt", "0123456789abcdef".repeat(length / 16));
    wait_until("the document", || {
        let answer = ask(served.port, pair.cert.der(), "resources/list", json!({}));
        answer.is_ok_and(|answer| answer.contains("long.txt"))
    });
    let params = json!({"uri": "twig://lib/long.txt"});
    let answer = ask(
        served.port,
        pair.cert.der(),
        "resources/read",
        params.clone(),
    );
    assert!(answer.is_ok_and(|answer| answer.len() > length));
    let mut unread = connect(served.port, pair.cert.der());
    request(&mut unread, served.port, "resources/read", params).expect("a request");
    wait_until("the server gives up", || {
        let metrics = String::from_utf8(super::admin::ask(admin, "GET /metrics").body);
        metrics.is_ok_and(|text| text.contains("\ntwig_connections_open 0\n"))
    });
    let mut answer = Vec::new();
    assert!(unread.read_to_end(&mut answer).is_err() || answer.len() < length);
    assert!(list(served.port, pair.cert.der()).is_ok());
}

#[test]
fn a_new_certificate_is_used_and_a_broken_one_is_not() {
    let (mut served, files, first) = served("");
    assert!(list(served.port, first.cert.der()).is_ok());
    let second = certificate();
    files.put_pair(&second);
    wait_until("the second certificate", || {
        list(served.port, second.cert.der()).is_ok()
    });
    assert!(list(served.port, first.cert.der()).is_err());
    // Neither half a file nor the key of another one replaces it.
    files.put(&first.cert.pem(), &second.signing_key.serialize_pem());
    let mut line = String::new();
    while !line.contains("stays in use") {
        line = served.next_line();
    }
    assert!(line.contains("does not belong to the key"), "{line}");
    assert!(list(served.port, second.cert.der()).is_ok());
    files.put("-----BEGIN CERTIFICATE-----\n", "");
    let line = served.next_line();
    assert!(line.contains("stays in use"), "{line}");
    assert!(list(served.port, second.cert.der()).is_ok());
    files.put_pair(&first);
    wait_until("the first certificate", || {
        list(served.port, first.cert.der()).is_ok()
    });
}

#[test]
fn a_pair_that_cannot_be_used_is_refused_at_the_start() {
    let env = env(LIBRARY);
    let files = Files::new(&env);
    let (one, other) = (certificate(), certificate());
    let start = || {
        let mut command = env.command(["serve", "--http", ":0"]);
        env.outcome(command.args(files.args()))
    };
    let refused = || {
        let run = start();
        assert_eq!(run.code, 1, "{run}");
        run.stderr
    };
    insta::assert_snapshot!(refused(), @"error: could not read the certificate in [root]/cert.pem: there is no such file");
    files.put(&one.cert.pem(), "");
    insta::assert_snapshot!(refused(), @"error: [root]/key.pem contains no private key: it has to be PEM, with a line `-----BEGIN PRIVATE KEY-----`");
    files.put("", &one.signing_key.serialize_pem());
    insta::assert_snapshot!(refused(), @"error: [root]/cert.pem contains no certificate: it has to be PEM, with a line `-----BEGIN CERTIFICATE-----`");
    files.put(&one.cert.pem(), &other.signing_key.serialize_pem());
    insta::assert_snapshot!(refused(), @"error: the certificate in [root]/cert.pem does not belong to the key in [root]/key.pem");
    files.put(&"x".repeat(2_000_000), &one.signing_key.serialize_pem());
    insta::assert_snapshot!(refused(), @"error: could not read the certificate in [root]/cert.pem: it is longer than 1048576 bytes");
    files.put_pair(&one);
    let cert = files.cert.display().to_string();
    let run = env.run(["serve", "--http", ":0", "--tls-cert", &cert]);
    insta::assert_snapshot!(run, @"
    --- stderr
    error: a certificate alone is not enough for TLS
    hint: give the other file with `--tls-key FILE`
    --- exit 1
    ");
    let run = env.run(["serve", "--http", ":0", "--tls-key", &cert]);
    insta::assert_snapshot!(run, @"
    --- stderr
    error: a private key alone is not enough for TLS
    hint: give the other file with `--tls-cert FILE`
    --- exit 1
    ");
}
