//! Files of other clients: what a start with thousands of them costs beside reading them, how much
//! memory they take beside what they say of themselves, and how soon a change is told.
//!
//! `cargo bench -p twig --bench formats`. Real files are taken from `../shared/corpus` beside the
//! repository where it is there, and written by the benchmark itself elsewhere.

#![allow(
    clippy::cast_precision_loss,
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a benchmark prints figures, and what fails ends it"
)]

#[path = "support/line.rs"]
mod line;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use serde_json::json;
use twig_testkit::TestEnv;

use self::line::{Line, median, request};

/// The argument that turns this benchmark into the floor.
const FLOOR: &str = "--floor";

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if let [mode, folder] = &args[..]
        && mode == FLOOR
    {
        let mut bytes = 0;
        walk(Path::new(folder), &mut |path| {
            bytes += fs::read(path).expect("a file").len();
        });
        assert!(bytes > 0, "nothing was read");
        return;
    }
    let is_measured = args.iter().any(|arg| arg == "--bench");
    let (rounds, wanted) = if is_measured { (15, 5_000) } else { (1, 40) };
    let env = TestEnv::new(env!("CARGO_BIN_EXE_twig"));
    let collection = Collection::make(&env.work().join("collection"), wanted);
    start(&env, &collection, rounds);
    memory(&env, &collection);
    change(&env, &collection, rounds);
}

/// Projects with files for several clients in each.
struct Collection {
    root: PathBuf,
    projects: Vec<PathBuf>,
    files: usize,
    bytes: usize,
    /// Bytes of front matter and of paths.
    said: usize,
}

impl Collection {
    fn make(root: &Path, wanted: usize) -> Self {
        let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus");
        let mut made = Self {
            root: root.to_owned(),
            projects: Vec::new(),
            files: 0,
            bytes: 0,
            said: 0,
        };
        while made.files < wanted {
            let project = root.join(format!("p{}", made.projects.len()));
            if corpus.is_dir() && wanted > 1_000 {
                made.copy(&corpus, &project, wanted);
            } else {
                made.write(&project);
            }
            made.projects.push(project);
        }
        made
    }

    /// The files of a corpus that are read in place, laid out as one project.
    fn copy(&mut self, corpus: &Path, project: &Path, wanted: usize) {
        for (from, to) in [
            ("claude-commands/.claude/commands", ".claude/commands"),
            ("copilot/.github/prompts", ".github/prompts"),
            ("cursor-commands/.cursor/commands", ".cursor/commands"),
            ("fabric/data/patterns", "data/patterns"),
            ("gemini/.gemini/commands", ".gemini/commands"),
            ("skills/.agents/skills", ".agents/skills"),
        ] {
            let from = corpus.join(from);
            walk(&from, &mut |path| {
                if self.files < wanted {
                    let below = path.strip_prefix(&from).expect("beneath");
                    let text = fs::read(path).expect("a file");
                    self.add(&project.join(to).join(below), &text);
                }
            });
        }
    }

    fn write(&mut self, project: &Path) {
        let body = "What to do, step by step, and why it matters. ".repeat(120);
        for at in 0..10 {
            let front =
                format!("---\ndescription: Does thing {at}\nargument-hint: [x] | [y]\n---\n");
            let command = format!("{front}\n# Thing\n\n{body} $ARGUMENTS\n");
            self.add(
                &project.join(format!(".claude/commands/c{at}.md")),
                command.as_bytes(),
            );
            let skill = format!("---\nname: s{at}\ndescription: Knows thing {at}\n---\n{body}\n");
            self.add(
                &project.join(format!(".agents/skills/s{at}/SKILL.md")),
                skill.as_bytes(),
            );
            let pattern = format!("# IDENTITY and PURPOSE\n\n{body}\n");
            self.add(
                &project.join(format!("data/patterns/f{at}/system.md")),
                pattern.as_bytes(),
            );
            let prompt =
                format!("---\ndescription: 'Makes thing {at}'\n---\n{body} ${{input:x:y}}\n");
            self.add(
                &project.join(format!(".github/prompts/g{at}.prompt.md")),
                prompt.as_bytes(),
            );
        }
    }

    fn add(&mut self, path: &Path, text: &[u8]) {
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder of our own");
        fs::write(path, text).expect("a folder of our own");
        self.files += 1;
        self.bytes += text.len();
        let text = String::from_utf8_lossy(text);
        let front = text
            .strip_prefix("---\n")
            .and_then(|rest| rest.find("\n---"));
        let below = path.strip_prefix(&self.root).expect("beneath");
        self.said += front.unwrap_or_default() + below.as_os_str().len();
    }

    fn serve(&self, env: &TestEnv) -> Command {
        let mut command = env.command(["serve"]);
        for project in &self.projects {
            command.arg("--library").arg(project);
        }
        command
    }
}

/// From the start to the first list, beside a program that reads every file.
fn start(env: &TestEnv, collection: &Collection, rounds: usize) {
    let this = std::env::current_exe().expect("a program");
    let mut times = [Vec::new(), Vec::new()];
    let mut listed = 0;
    for _ in 0..rounds {
        let begin = Instant::now();
        let status = Command::new(&this)
            .arg(FLOOR)
            .arg(&collection.root)
            .status();
        assert!(status.expect("it starts").success(), "the floor failed");
        times[0].push(begin.elapsed().as_secs_f64() * 1e3);
        let begin = Instant::now();
        let mut server = first_list(&mut collection.serve(env));
        times[1].push(begin.elapsed().as_secs_f64() * 1e3);
        listed = count(&mut server);
    }
    let [floor, twig] = times.map(median);
    println!(
        "start: {twig:.1} ms with {} files of {} MB ({listed} prompts), reading them {floor:.1} ms, {:.2} ×",
        collection.files,
        collection.bytes / 1_000_000,
        twig / floor
    );
}

fn memory(env: &TestEnv, collection: &Collection) {
    let empty = first_list(&mut env.command(["serve"])).memory_kib();
    let full = first_list(&mut collection.serve(env)).memory_kib();
    let said = collection.said as f64 / 1024.0;
    let more = full.saturating_sub(empty) as f64;
    println!(
        "memory: {more:.0} KiB more than the {empty} of an empty server; front matter and names {said:.0} KiB, {:.1} ×",
        more / said
    );
}

/// From a save to the announcement.
fn change(env: &TestEnv, collection: &Collection, rounds: usize) {
    let mut server = first_list(&mut collection.serve(env));
    let note = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    server.tell(&format!("{note}\n"));
    let path = collection.projects[0].join(".claude/commands/bench.md");
    let times = (0..rounds).map(|round| {
        let text = format!("---\ndescription: As of {round}\n---\nHello.\n");
        let begin = Instant::now();
        fs::write(&path, text).expect("a folder of our own");
        let line = server.hear();
        assert!(line.contains("prompts/list_changed"), "{line}");
        begin.elapsed().as_secs_f64() * 1e3
    });
    println!("save to announcement: {:.1} ms", median(times.collect()));
}

fn first_list(command: &mut Command) -> Line {
    let mut server = Line::start(command);
    let client = json!({"name": "b", "version": "0"});
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client});
    server.ask(&request("initialize", &params));
    server.ask(&request("prompts/list", &json!({})));
    server
}

fn count(server: &mut Line) -> usize {
    let mut count = 0;
    let mut params = json!({});
    loop {
        let answer = server.ask(&request("prompts/list", &params));
        let answer: serde_json::Value = serde_json::from_str(answer).expect("JSON");
        count += answer["result"]["prompts"]
            .as_array()
            .expect("a list")
            .len();
        match answer["result"]["nextCursor"].as_str() {
            Some(cursor) => params = json!({"cursor": cursor}),
            None => return count,
        }
    }
}

fn walk(folder: &Path, visit: &mut dyn FnMut(&Path)) {
    let mut entries: Vec<_> = fs::read_dir(folder)
        .expect("a folder")
        .map(|entry| entry.expect("an entry").path())
        .collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            walk(&path, visit);
        } else {
            visit(&path);
        }
    }
}
