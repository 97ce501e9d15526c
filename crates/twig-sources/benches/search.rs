//! Searching ten thousand prompts and documents of 2 KB each: filling the index, asking it, and taking
//! in one change. What the index adds to resident memory is said first.

use std::fs;

use std::sync::atomic::{AtomicU32, Ordering};

use divan::Bencher;
use tempfile::TempDir;
use twig_core::Limits;
use twig_core::search::{Hit, Query, SearchScope};
use twig_sources::{LiveCatalog, SearchIndex, Settings};

fn main() {
    memory();
    divan::main();
}

/// Half of them prompts, half documents, in fifty libraries. Every text has the word `common`; the
/// others are as frequent as words are in any language.
fn data() -> std::io::Result<TempDir> {
    let folder = tempfile::tempdir()?;
    let mut words = Words(1);
    // Where `cargo test` runs it, just to show that it still works.
    let is_measured = std::env::args().any(|arg| arg == "--bench");
    for library in 0..if is_measured { 50 } else { 2 } {
        let root = folder.path().join(format!("lib{library:02}"));
        fs::create_dir_all(root.join("prompts"))?;
        fs::create_dir_all(root.join("docs"))?;
        for at in 0..100 {
            fs::write(root.join(format!("prompts/p{at}.md")), words.text())?;
            fs::write(root.join(format!("docs/d{at}.md")), words.text())?;
        }
        fs::write(root.join("twig.toml"), manifest("what it is for"))?;
    }
    Ok(folder)
}

fn manifest(description: &str) -> String {
    let prompt = |at| format!("[prompts.p{at}]\ndescription = \"{description} {at}\"\n\n");
    (0..100).map(prompt).collect::<Vec<_>>().concat()
}

/// What words are made of, so that many begin alike.
const PARTS: [&str; 30] = [
    "ka", "re", "to", "mi", "su", "ne", "lo", "vi", "da", "con", "pro", "in", "de", "un", "ex",
    "ab", "ter", "sta", "ge", "fu", "ho", "ju", "wa", "yo", "zi", "que", "ble", "ous", "ing",
    "per",
];

/// A row of numbers that only look random.
struct Words(u64);

impl Words {
    fn next(&mut self, below: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (self.0 >> 33) % below
    }

    fn text(&mut self) -> String {
        let mut text = "common ".to_owned();
        while text.len() < 2048 {
            // The second number makes small ones frequent.
            let most = self.next(20_000) + 1;
            let mut word = self.next(most) + 1;
            while word > 0 {
                text.push_str(PARTS[usize::try_from(word % 30).unwrap_or_default()]);
                word /= 30;
            }
            text.push(' ');
        }
        text
    }
}

struct Shelf {
    folder: TempDir,
    live: LiveCatalog,
    index: SearchIndex,
}

impl Shelf {
    fn new() -> Option<Self> {
        let folder = data().ok()?;
        let live = LiveCatalog::load(Settings {
            data: Some(folder.path().to_owned()),
            ..Settings::default()
        });
        Some(Self {
            folder,
            live,
            index: SearchIndex::new(Limits::default()),
        })
    }

    fn ask(&mut self, text: &str) -> Vec<Hit> {
        let query = Query {
            text: text.to_owned(),
            scope: SearchScope::All,
            limit: 20,
            enough: 20,
        };
        let catalog = self.live.snapshot();
        let hits = self.index.search(&catalog, &self.live, &query);
        hits.unwrap_or_default()
    }
}

/// Megabytes of this process that are in memory.
fn resident() -> f64 {
    let text = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let number = line.and_then(|line| line.split_whitespace().next()?.parse::<f64>().ok());
    number.unwrap_or_default() / 1024.0
}

#[allow(clippy::print_stderr, reason = "a figure for people")]
fn memory() {
    let Some(mut shelf) = Shelf::new() else {
        return;
    };
    let before = resident();
    let started = std::time::Instant::now();
    shelf.ask("common");
    let built = started.elapsed();
    let grown = resident() - before;
    for _ in 0..50 {
        shelf.ask("re co");
    }
    let after = resident() - before;
    eprintln!("filled in {built:?}: {grown:.1} MB more in memory, {after:.1} MB after searches");
}

#[divan::bench(sample_count = 5, sample_size = 1)]
fn fill(bencher: Bencher<'_, '_>) {
    let Some(mut shelf) = Shelf::new() else {
        return;
    };
    bencher.bench_local(|| {
        shelf.index = SearchIndex::new(Limits::default());
        shelf.ask("common")
    });
}

#[divan::bench(args = ["reprocon", "rep tok", "re co", "k", "common", "what for", "lib07:p42", "a c d e f g h i", "nowhere"])]
fn search(bencher: Bencher<'_, '_>, text: &str) {
    let Some(mut shelf) = Shelf::new() else {
        return;
    };
    shelf.ask("common");
    bencher.bench_local(|| shelf.ask(text));
}

#[divan::bench(sample_count = 50, sample_size = 1)]
fn search_after_one_change(bencher: Bencher<'_, '_>) {
    let Some(mut shelf) = Shelf::new() else {
        return;
    };
    shelf.ask("common");
    let rounds = AtomicU32::new(0);
    let manifest_path = shelf.folder.path().join("lib00/twig.toml");
    bencher.bench_local(|| {
        let round = rounds.fetch_add(1, Ordering::Relaxed);
        let text = manifest("what it is for").replacen("for 7", &format!("for round {round}"), 1);
        let written = fs::write(&manifest_path, text);
        shelf.live.refresh();
        (written.is_ok(), shelf.ask("round"))
    });
}
