//! Folders made of text, and a catalog that follows them.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant, SystemTime};

use tempfile::TempDir;
use twig_core::{Bodies, Body, BodyError, Library, Problem, RelativePath};
use twig_sources::{CatalogWatch, LiveCatalog, Settings, Watching};

/// Long enough for any machine; nothing waits for it unless something is wrong.
pub(crate) const LONG: Duration = Duration::from_secs(20);

/// A folder of its own with a data folder in it.
pub(crate) struct Tree {
    dir: TempDir,
}

impl Tree {
    pub(crate) fn new() -> Self {
        let tree = Self {
            dir: tempfile::tempdir().unwrap(),
        };
        fs::create_dir(tree.path("data")).unwrap();
        tree
    }

    /// A tree whose data folder has one library `lib` with these prompts.
    pub(crate) fn with(prompts: &[&str]) -> Self {
        let tree = Self::new();
        tree.library("data/lib", prompts);
        tree
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.dir.path().join(path)
    }

    pub(crate) fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(crate) fn library(&self, folder: &str, prompts: &[&str]) {
        for prompt in prompts {
            self.write(&format!("{folder}/prompts/{prompt}.md"), body(prompt));
        }
        self.write(&format!("{folder}/twig.toml"), manifest(prompts));
    }

    pub(crate) fn settings(&self) -> Settings {
        Settings {
            data: Some(self.path("data")),
            home: Some(self.dir.path().to_path_buf()),
            ..Settings::default()
        }
    }

    pub(crate) fn load(&self) -> LiveCatalog {
        LiveCatalog::load(self.settings())
    }

    pub(crate) fn follow(&self) -> Following {
        Following::start(self.settings())
    }

    pub(crate) fn poll(&self) -> Following {
        Following::start(Settings {
            watching: Watching::Poll,
            ..self.settings()
        })
    }
}

pub(crate) fn manifest(prompts: &[&str]) -> String {
    let mut text = String::new();
    for prompt in prompts {
        writeln!(text, "[prompts.{prompt}]\ndescription = \"Does {prompt}\"").unwrap();
    }
    text
}

pub(crate) fn body(prompt: &str) -> String {
    format!("This is {prompt}.\n")
}

/// A catalog that follows the disk, and word of each change of its list.
pub(crate) struct Following {
    pub(crate) live: Arc<LiveCatalog>,
    changes: Receiver<()>,
    _watch: CatalogWatch,
}

impl Following {
    pub(crate) fn start(settings: Settings) -> Self {
        Self::with(settings, |live, sender| {
            live.watch(move || {
                let _ = sender.send(());
            })
        })
    }

    /// The same, with word of each change of a text.
    pub(crate) fn start_with_texts(settings: Settings) -> Self {
        Self::with(settings, |live, sender| {
            live.watch_texts(move || {
                let _ = sender.send(());
            })
        })
    }

    fn with(
        settings: Settings,
        watch: impl FnOnce(&Arc<LiveCatalog>, Sender<()>) -> CatalogWatch,
    ) -> Self {
        let live = Arc::new(LiveCatalog::load(settings));
        let (sender, changes) = channel();
        let watch = watch(&live, sender);
        let following = Self {
            live,
            changes,
            _watch: watch,
        };
        // The first look of the thread is its second scan: from then on events are heard.
        following.wait_for_scans(2);
        following
    }

    pub(crate) fn wait_for_scans(&self, count: u64) {
        let started = Instant::now();
        while self.live.scans() < count {
            assert!(started.elapsed() < LONG, "no scan came");
            std::thread::yield_now();
        }
    }

    /// Waits for an announcement after which something holds; says how long it took.
    pub(crate) fn until(&self, what: &str, holds: impl Fn(&LiveCatalog) -> bool) -> Duration {
        let started = Instant::now();
        while !holds(&self.live) {
            let left = LONG.saturating_sub(started.elapsed());
            let change = self.changes.recv_timeout(left);
            let listed = || names(&self.live);
            assert!(
                change.is_ok(),
                "{what}: never came; listed are {:?}",
                listed()
            );
        }
        started.elapsed()
    }

    pub(crate) fn until_named(&self, expected: &[&str]) -> Duration {
        self.until(&format!("{expected:?}"), |live| names(live) == expected)
    }

    /// Whether nothing is announced for a while.
    pub(crate) fn is_silent_for(&self, time: Duration) -> bool {
        self.changes.recv_timeout(time).is_err()
    }

    /// Announcements that came and were not waited for.
    pub(crate) fn drain(&self) -> usize {
        self.changes.try_iter().count()
    }
}

/// The full names of all prompts that are listed.
pub(crate) fn names(live: &LiveCatalog) -> Vec<String> {
    let catalog = live.snapshot();
    let names = catalog
        .prompts(0)
        .map(|found| found.prompt.full_name.to_string());
    names.collect()
}

/// The description of a prompt.
pub(crate) fn description(live: &LiveCatalog, name: &str) -> Option<String> {
    let catalog = live.snapshot();
    let found = catalog
        .prompts(0)
        .find(|found| *found.prompt.full_name == *name);
    found.and_then(|found| found.prompt.description.as_deref().map(str::to_owned))
}

pub(crate) fn library(live: &LiveCatalog, name: &str) -> Arc<Library> {
    Arc::clone(live.snapshot().library(name).unwrap())
}

pub(crate) fn relative(path: &str) -> RelativePath {
    RelativePath::parse(path).unwrap()
}

/// Reads a file of the library `lib`.
pub(crate) fn read(live: &LiveCatalog, path: &str) -> Result<Body, BodyError> {
    live.read(&library(live, "lib"), &relative(path))
}

pub(crate) fn text(live: &LiveCatalog, path: &str) -> Result<String, BodyError> {
    read(live, path).map(|body| body.text)
}

/// Every problem, of places and of libraries.
pub(crate) fn problems(live: &LiveCatalog) -> Vec<Problem> {
    let mut problems = live.problems();
    problems.extend(live.snapshot().problems().cloned());
    problems
}

pub(crate) fn codes(live: &LiveCatalog) -> Vec<&'static str> {
    problems(live)
        .iter()
        .map(|problem| problem.code.as_str())
        .collect()
}

/// Makes a file look as if it had been written long ago.
pub(crate) fn age(path: &Path) {
    let file = fs::File::options().append(true).open(path).unwrap();
    let hour = Duration::from_secs(3600);
    file.set_modified(SystemTime::now() - hour).unwrap();
}
