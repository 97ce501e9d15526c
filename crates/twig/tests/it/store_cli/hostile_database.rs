//! Programs that answer as a PostgreSQL server would not: a command fails with a sentence, in time.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;

use twig_testkit::TestEnv;

use crate::TWIG;

/// A message of the protocol: its kind, its length, its body.
fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(body.len() + 4).expect("a short message");
    [&[kind][..], &length.to_be_bytes(), body].concat()
}

/// A message whose length is not the one of its body.
fn lying(kind: u8, length: u32, body: &[u8]) -> Vec<u8> {
    [&[kind][..], &length.to_be_bytes(), body].concat()
}

/// What a server says to a client that it lets in.
fn welcome() -> Vec<u8> {
    let is_in = message(b'R', &0_u32.to_be_bytes());
    let key = message(b'K', &[0; 8]);
    [is_in, key, message(b'Z', b"I")].concat()
}

/// The beginning of an answer to a statement: it has three columns with numbers.
fn columns() -> Vec<u8> {
    let mut body = 3_u16.to_be_bytes().to_vec();
    for name in ["schema", "min_reader", "min_writer"] {
        body.extend_from_slice(name.as_bytes());
        // No table, an `int4` of four bytes, as text.
        body.extend_from_slice(&[0, 0, 0, 0, 0, 0, 0]);
        body.extend_from_slice(&23_u32.to_be_bytes());
        body.extend_from_slice(&[0, 4, 0xff, 0xff, 0xff, 0xff, 0, 0]);
    }
    let parsed = [message(b'1', b""), message(b'2', b"")].concat();
    [parsed, message(b'T', &body)].concat()
}

/// An answer with one row of this body.
fn row(body: &[u8]) -> Vec<u8> {
    let end = [message(b'C', b"SELECT 1\0"), message(b'Z', b"I")].concat();
    [columns(), message(b'D', body), end].concat()
}

/// Answers every client: first when it comes, then whatever it says.
fn serve(first: Vec<u8>, then: Vec<u8>) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    thread::spawn(move || {
        for client in listener.incoming() {
            let (first, then) = (first.clone(), then.clone());
            thread::spawn(move || answer(client.expect("a client"), &first, &then));
        }
    });
    port
}

fn answer(mut client: TcpStream, first: &[u8], then: &[u8]) {
    let mut buffer = [0; 4096];
    let mut next = first;
    while let Ok(1..) = client.read(&mut buffer) {
        let said = String::from_utf8_lossy(&buffer);
        // The first message of an exchange for a password has a random part that comes back.
        let nonce = said.split(",r=").nth(1);
        let nonce = nonce.map_or("", |rest| rest.split('\0').next().unwrap_or(""));
        let text = String::from_utf8_lossy(next);
        let filled = if text.contains("NONCE") {
            let body = text[9..].replace("NONCE", nonce);
            let code = 11_u32.to_be_bytes();
            message(b'R', &[&code, body.as_bytes()].concat())
        } else {
            next.to_vec()
        };
        if client.write_all(&filled).is_err() {
            return;
        }
        next = then;
    }
}

/// What a program says: first when a client comes, then whenever it says something.
struct HostileDatabase {
    what: &'static str,
    first: Vec<u8>,
    then: Vec<u8>,
}

/// Those that lie before the client is let in.
fn at_the_door() -> Vec<HostileDatabase> {
    let password = [&10_u32.to_be_bytes()[..], b"SCRAM-SHA-256\0\0"].concat();
    // The form of a message that is filled in above.
    let rounds = |count: &str| {
        let text = format!("r=NONCEx,s=c2FsdA==,i={count}");
        lying(b'R', 0, &[&[0; 4][..], text.as_bytes()].concat())
    };
    let cases = vec![
        (
            "not the protocol",
            (b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec(), vec![0]),
        ),
        ("a length of zero", (lying(b'R', 0, b""), vec![0])),
        ("a length of three", (lying(b'R', 3, b""), vec![0])),
        (
            "a length of 2 GiB",
            (lying(b'R', 0x7fff_ffff, b""), vec![0]),
        ),
        (
            "a negative length",
            (lying(b'R', 0xffff_ffff, b""), vec![0]),
        ),
        (
            "an unknown way to log in",
            (message(b'R', &99_u32.to_be_bytes()), vec![0]),
        ),
        (
            "a way to log in without a code",
            (message(b'R', b""), vec![0]),
        ),
        (
            "no mechanisms",
            (message(b'R', &10_u32.to_be_bytes()), vec![0]),
        ),
        (
            "a mechanism without an end",
            (
                message(b'R', &[&10_u32.to_be_bytes()[..], b"SCRAM"].concat()),
                vec![0],
            ),
        ),
        (
            "endless work for a password",
            (message(b'R', &password), rounds("4294967295")),
        ),
        (
            "a lot of work for a password",
            (message(b'R', &password), rounds("2147483647")),
        ),
        (
            "no work for a password",
            (message(b'R', &password), rounds("0")),
        ),
        ("an error without an end", (message(b'E', b"Sbad"), vec![0])),
        ("an error without fields", (message(b'E', b"\0"), vec![0])),
    ];
    let cases = cases.into_iter();
    let cases = cases.map(|(what, (first, then))| HostileDatabase { what, first, then });
    cases.collect()
}

/// Those that lie in their answers.
fn in_answers() -> Vec<HostileDatabase> {
    let short = |columns: i16| columns.to_be_bytes().to_vec();
    let value = |length: i32, bytes: &[u8]| {
        [&3_u16.to_be_bytes()[..], &length.to_be_bytes(), bytes].concat()
    };
    let cases = vec![
        ("a row of 32767 columns", row(&short(32_767))),
        ("a row of -1 columns", row(&short(-1))),
        ("a row of no columns", row(&short(0))),
        ("a row that is empty", row(b"")),
        ("a value of 2 GiB", row(&value(i32::MAX, b"1"))),
        ("a value of a negative length", row(&value(-2, b"1"))),
        ("a value that is cut", row(&value(4, b"1"))),
        (
            "values that are too short",
            row(&[0, 3, 0, 0, 0, 1, 1, 0, 0, 0, 1, 1, 0, 0, 0, 1, 1]),
        ),
        (
            "columns without an end",
            [
                message(b'1', b""),
                message(b'2', b""),
                message(b'T', b"\xff\xff"),
            ]
            .concat(),
        ),
        (
            "a count that is none",
            [
                columns(),
                message(b'C', b"SELECT 99999999999999999999999\0"),
                message(b'Z', b"I"),
            ]
            .concat(),
        ),
        (
            "an end without an end",
            [columns(), message(b'C', b"SELECT")].concat(),
        ),
        ("a setting without an end", message(b'S', b"x")),
        ("a notification that is cut", message(b'A', b"\0")),
        ("an unknown message", message(0xff, b"")),
        ("nothing that was asked for", message(b'Z', b"I").repeat(50)),
        ("a copy instead of rows", message(b'G', &[0, 0, 0])),
        ("silence", Vec::new()),
    ];
    let first = welcome();
    let cases = cases.into_iter().map(|(what, then)| HostileDatabase {
        what,
        first: first.clone(),
        then,
    });
    cases.collect()
}

#[test]
fn databases_that_lie_are_refused_with_a_sentence() {
    let cases = at_the_door().into_iter().chain(in_answers());
    for HostileDatabase { what, first, then } in cases {
        let port = serve(first, then);
        let env = TestEnv::in_memory(TWIG);
        let mut command = env.command(["project", "list"]);
        let url = format!("postgres://keeper:secret@127.0.0.1:{port}/d?sslmode=disable");
        command.env("TWIG_STORE_URL", url);
        command.env("TWIG_LIMITS_STORE_MILLIS", "1000");
        let output = env.outcome(&mut command);
        assert_eq!(output.code, 1, "{what}: {output}");
        let said = output.stderr;
        assert_eq!(said.matches("error: ").count(), 1, "{what}: {said}");
        assert!(
            !said.contains("panicked") && !said.contains("secret"),
            "{what}: {said}"
        );
        println!("{what}: {said}");
    }
}
