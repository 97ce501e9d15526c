//! Loading a data folder, looking again, and taking in one changed library.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

use divan::Bencher;
use tempfile::TempDir;
use twig_sources::{LiveCatalog, Settings};

fn main() {
    divan::main();
}

/// Libraries of a hundred prompts each.
fn data(libraries: usize) -> std::io::Result<TempDir> {
    let folder = tempfile::tempdir()?;
    for library in 0..libraries {
        let root = folder.path().join(format!("lib{library:03}"));
        fs::create_dir_all(root.join("prompts"))?;
        for prompt in 0..100 {
            fs::write(
                root.join(format!("prompts/p{prompt}.md")),
                "Hello {{ name }}.\n",
            )?;
        }
        fs::write(root.join("twig.toml"), manifest("what it is for"))?;
    }
    Ok(folder)
}

fn manifest(description: &str) -> String {
    let prompt = |at| {
        format!(
            "[prompts.p{at}]\ndescription = \"{description}\"\n\n[[prompts.p{at}.arguments]]\nname = \"name\"\n\n"
        )
    };
    (0..100).map(prompt).collect::<Vec<_>>().concat()
}

fn live(data: &Path) -> LiveCatalog {
    LiveCatalog::load(Settings {
        data: Some(data.to_owned()),
        ..Settings::default()
    })
}

#[divan::bench(args = [10, 100])]
fn load(bencher: Bencher<'_, '_>, libraries: usize) {
    let Ok(folder) = data(libraries) else { return };
    bencher.bench(|| live(folder.path()));
}

#[divan::bench(args = [10, 100])]
fn look_again_at_nothing_new(bencher: Bencher<'_, '_>, libraries: usize) {
    let Ok(folder) = data(libraries) else { return };
    let live = live(folder.path());
    bencher.bench(|| live.refresh());
}

#[divan::bench(args = [10, 100])]
fn take_in_one_changed_library(bencher: Bencher<'_, '_>, libraries: usize) {
    let Ok(folder) = data(libraries) else { return };
    let live = live(folder.path());
    let rounds = AtomicU32::new(0);
    bencher
        .with_inputs(|| {
            let round = rounds.fetch_add(1, Ordering::Relaxed);
            fs::write(
                folder.path().join("lib000/twig.toml"),
                manifest(&format!("round {round}")),
            )
        })
        .bench_values(|_| live.refresh());
}

/// One library with documents of 5 KiB each, in twenty folders.
fn documents(count: usize) -> std::io::Result<TempDir> {
    let folder = tempfile::tempdir()?;
    let root = folder.path().join("lib");
    for at in 0..count {
        let category = root.join(format!("docs/c{}", at % 20));
        fs::create_dir_all(&category)?;
        fs::write(category.join(format!("{at}.md")), document(&at.to_string()))?;
    }
    fs::write(root.join("twig.toml"), "[library]\n")?;
    Ok(folder)
}

fn document(title: &str) -> String {
    format!("# Title {title}\n\n{}", "text ".repeat(1000))
}

#[divan::bench(args = [100, 1_000, 5_000])]
fn load_documents(bencher: Bencher<'_, '_>, count: usize) {
    let Ok(folder) = documents(count) else { return };
    bencher.bench(|| live(folder.path()));
}

#[divan::bench(args = [100, 1_000, 5_000])]
fn look_again_at_documents(bencher: Bencher<'_, '_>, count: usize) {
    let Ok(folder) = documents(count) else { return };
    let live = live(folder.path());
    bencher.bench(|| live.refresh());
}

#[divan::bench(args = [100, 1_000, 5_000])]
fn take_in_one_of_many_documents(bencher: Bencher<'_, '_>, count: usize) {
    let Ok(folder) = documents(count) else { return };
    let live = live(folder.path());
    let rounds = AtomicU32::new(0);
    bencher
        .with_inputs(|| {
            let round = rounds.fetch_add(1, Ordering::Relaxed);
            let path = folder.path().join("lib/docs/c0/0.md");
            fs::write(&path, document(&format!("round {round}")))?;
            let hour = std::time::Duration::from_secs(3600);
            let file = fs::File::options().append(true).open(&path)?;
            file.set_modified(std::time::SystemTime::now() - hour)
        })
        .bench_values(|_| live.refresh());
}
