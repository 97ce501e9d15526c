//! The real binary, from the outside.
#![allow(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::format_collect,
    clippy::format_push_string,
    clippy::print_stdout,
    reason = "tests fail by panicking, their texts are short, and they say what they passed over"
)]

mod at_once;
mod authors;
mod beside;
mod bombs;
mod budget;
mod canaries;
mod cli;
mod command_clients;
mod completion;
mod connect;
mod contract;
mod definitions;
mod depth;
mod documents;
mod ending;
mod export;
mod flood;
mod follow;
mod formats;
mod functions;
mod gemini;
mod hidden;
mod hostile;
mod http;
mod import;
mod jinja;
mod live;
mod lsp;
mod markdown;
mod media;
mod names;
mod observed;
mod offered;
mod packages;
mod pick;
mod places;
mod project;
mod prompt_tools;
mod pty;
mod questions;
mod remember;
mod repository;
mod resources;
mod revisions;
mod saved;
mod schema;
mod screen;
mod scripts;
mod search;
mod shell_lines;
mod store;
mod store_cli;
mod structure;
mod terminal;
mod unread;
mod values;
mod vocabulary;

use std::fs;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::time::{Duration, Instant};

use twig_testkit::TestEnv;

/// The binary under test.
const TWIG: &str = env!("CARGO_BIN_EXE_twig");

/// A hermetic environment with these libraries.
fn env(fixture: &str) -> TestEnv {
    TestEnv::with(TWIG, fixture)
}

/// A server whose pipes the test holds itself.
fn piped(env: &TestEnv) -> (Child, ChildStdin, ChildStdout) {
    let mut child = env
        .command(["serve"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the server starts");
    let input = child.stdin.take().expect("piped");
    let output = child.stdout.take().expect("piped");
    (child, input, output)
}

/// A line of a process's status in KiB: `VmRSS` is its memory now, `VmHWM` the most it had.
fn memory_kib(pid: u32, line: &str) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status
        .lines()
        .find(|text| text.starts_with(line))
        .unwrap_or_default();
    line.split_whitespace()
        .nth(1)
        .and_then(|number| number.parse().ok())
        .unwrap_or_default()
}

/// Waits until something holds.
fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while !holds() {
        assert!(Instant::now() < deadline, "it never happens: {what}");
        std::thread::yield_now();
    }
}

/// The processes that a process has started and not yet waited for.
fn children(pid: u32) -> Vec<u32> {
    let processes = fs::read_dir("/proc")
        .expect("a system with /proc")
        .flatten();
    let child = processes.filter_map(|entry| {
        let number = entry.file_name().to_str()?.parse().ok()?;
        let stat = fs::read_to_string(entry.path().join("stat")).ok()?;
        let (_, fields) = stat.rsplit_once(')')?;
        let parent: u32 = fields.split_whitespace().nth(1)?.parse().ok()?;
        (parent == pid).then_some(number)
    });
    child.collect()
}

/// The library of the contract.
const CONTRACT: &str = r#"
//- My-Coding Lib/twig.toml
[prompts.code_review]
description = "Review code for quality and best practices"

[[prompts.code_review.arguments]]
name = "code_snippet"
description = "The code to review"
required = true

[[prompts.code_review.arguments]]
name = "language"
description = "Programming language (optional)"

[prompts.documentation]
description = "Generate documentation from code"

[[prompts.documentation.arguments]]
name = "function_code"
description = "Function source code"
required = true

[prompts.broken]
description = "Uses what it does not declare"

[prompts.gone]
description = "Has no file"
//- My-Coding Lib/prompts/code_review.md
Please review the following{% if language %} {{ language }}{% endif %} code:

```{{ language }}
{{ code_snippet }}
```
//- My-Coding Lib/prompts/documentation.md
Document this:

{{ function_code }}
//- My-Coding Lib/prompts/broken.md
one
two
three
four
{{ required_arg }}
"#;
