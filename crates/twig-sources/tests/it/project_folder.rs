//! Projects as folders: there and back without a difference, or not at all.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;

use proptest::prelude::*;
use tempfile::TempDir;
use twig_core::Limits;
use twig_core::hidden::{self, TextPlace};
use twig_core::store::{
    Author, Change, Digest, GivenContent, ItemDraft, ItemKind, ItemWrite, LabelName, Noun,
    OnWritten, Patch, Project, Store, StoreError, StoreName, Summary, Version, VersionQuery, Write,
};
use twig_sources::{
    Access, SqliteStore, Workspaces, check_project, export_project, import_project,
};

fn name(text: &str) -> StoreName {
    StoreName::parse(Noun::Project, text).unwrap()
}

fn open(folder: &TempDir) -> SqliteStore {
    let workspaces = Workspaces::new(folder.path().join("workspaces"));
    let default = name("default");
    workspaces
        .open(&default, Access::Write, &Limits::default())
        .unwrap()
}

fn write(store: &dyn Store, write: Write) -> Result<(), StoreError> {
    let (told, outcome) = mpsc::channel();
    store.write(write, Box::new(move |written| told.send(written).unwrap()));
    outcome.recv().unwrap().map(drop)
}

/// What a project may hold: a name, a description, and content that fits its type.
#[derive(Debug, Clone)]
struct Any {
    kind: ItemKind,
    name: String,
    description: Option<String>,
    mime: Option<&'static str>,
    content: Vec<u8>,
}

fn any_item() -> impl Strategy<Value = Any> {
    let name = prop_oneof![
        "[A-Za-z0-9._-]{1,6}",
        "(?i)(con|nul|readme|a)(\\.(md|txt|png))?",
        "[a-zA-Z.]{100,255}",
    ];
    let name = name.prop_filter("a folder", |name| name != "." && name != "..");
    let text = prop_oneof![
        "[^\u{0}\u{1b}\u{9b}]{0,40}",
        Just("a\r\nb\n\r".to_owned()),
        Just("\u{feff}marked".to_owned()),
        Just(String::new()),
    ];
    let description = prop::option::of("[^\\p{Cc}]{0,30}|a\nb\t\"\\\\");
    let bytes = prop::collection::vec(any::<u8>(), 0..60);
    let mime = prop::sample::select(vec![
        None,
        Some("text/markdown"),
        Some("text/plain; charset=utf-8"),
        Some("application/json"),
        Some("image/png"),
        Some("application/octet-stream"),
        Some("application/x-unheard"),
    ]);
    (name, description, text, bytes, mime).prop_map(|(name, description, text, bytes, mime)| {
        let is_text = mime.is_none_or(twig_core::store::is_text_mime);
        // What hides something is refused, which others test.
        let description =
            description.filter(|text: &String| hidden::find(text, TextPlace::Label).is_none());
        let text = match hidden::find(&text, TextPlace::Body) {
            None => text,
            Some(found) => text[..found.offset].to_owned(),
        };
        Any {
            kind: mime.map_or(ItemKind::Prompt, |_| ItemKind::Resource),
            name,
            description,
            mime,
            content: if is_text { text.into_bytes() } else { bytes },
        }
    })
}

fn fill(store: &dyn Store, project: &str, items: &[Any]) {
    let project = name(project);
    let create = Write::CreateProject {
        name: project.clone(),
        author: Author::Person,
    };
    write(store, create).unwrap();
    let mut seen = BTreeSet::new();
    for (at, item) in items.iter().enumerate() {
        if !seen.insert((item.kind, &item.name)) {
            continue;
        }
        let draft = ItemDraft {
            content: GivenContent::Bytes(item.content.clone()),
            description: item.description.as_deref().map(Into::into),
            uri: item.mime.map(|_| format!("any:{at}").into()),
            mime: item.mime.map(Into::into),
        };
        let item = ItemWrite {
            project: project.clone(),
            kind: item.kind,
            name: name(&item.name),
            change: Change::Create(draft),
            expected: None,
            author: Author::Person,
        };
        write(store, Write::Item(Box::new(item))).unwrap();
    }
}

fn export(store: &dyn Store, project: &str, folder: &Path) {
    let project = store.project(&name(project)).unwrap().unwrap();
    export_project(store, &project, folder, false).unwrap();
}

fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut all = BTreeMap::new();
    for inner in ["", "prompts", "resources"] {
        let Ok(entries) = fs::read_dir(folder.join(inner)) else {
            continue;
        };
        for path in entries.flatten().map(|entry| entry.path()) {
            if path.is_file() {
                let shown = path.strip_prefix(folder).unwrap().display().to_string();
                all.insert(shown, fs::read(path).unwrap());
            }
        }
    }
    all
}

/// What a person would ask for of each prompt and resource.
fn held(store: &dyn Store, project: &str) -> Vec<(ItemKind, StoreName, Version, Vec<u8>)> {
    let project = store.project(&name(project)).unwrap().unwrap();
    let items = project.items.into_iter().map(|item| {
        let content = store.content(&item.head.content.digest).unwrap();
        let mut head = item.head;
        head.at.0 = 0;
        head.author = "anybody".into();
        (item.kind, item.name, head, content)
    });
    items.collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn every_project_comes_back_as_it_was(
        items in prop::collection::vec(any_item(), 0..12),
        later in prop::collection::vec(any_item(), 0..6),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let store = open(&folder);
        let (first, second) = (folder.path().join("first"), folder.path().join("second"));
        fill(&store, "p", &items);
        export(&store, "p", &first);
        let before = files(&first);
        export(&store, "p", &first);
        prop_assert_eq!(&files(&first), &before);

        let limits = Limits::default();
        let checked = check_project(&first, &limits).unwrap();
        let imported = import_project(&store, checked, Some(&name("q")), &Author::Person).unwrap();
        prop_assert_eq!(&imported.edited, &Vec::<String>::new());
        prop_assert_eq!(held(&store, "p"), held(&store, "q"));
        let rename = |from: &str, to: &str| {
            write(&store, Write::RenameProject { name: name(from), to: name(to), author: Author::Person, }).unwrap();
        };
        rename("p", "old");
        rename("q", "p");
        export(&store, "p", &second);
        prop_assert_eq!(&files(&second), &before);

        // Another project of that name over the first export leaves just what that one would.
        rename("p", "older");
        fill(&store, "p", &later);
        export(&store, "p", &first);
        let third = folder.path().join("third");
        export(&store, "p", &third);
        prop_assert_eq!(files(&first), files(&third));
    }
}

/// A store that refuses a write after some others.
#[derive(Debug)]
struct Failing {
    inner: SqliteStore,
    left: AtomicUsize,
}

impl Store for Failing {
    fn close(&self) {
        self.inner.close();
    }

    fn workspace(&self) -> &StoreName {
        self.inner.workspace()
    }
    fn revision(&self) -> Result<u64, StoreError> {
        self.inner.revision()
    }
    fn projects(&self) -> Result<Vec<Summary>, StoreError> {
        self.inner.projects()
    }
    fn project(&self, name: &StoreName) -> Result<Option<Project>, StoreError> {
        self.inner.project(name)
    }
    fn content(&self, digest: &Digest) -> Result<Vec<u8>, StoreError> {
        if self.left.fetch_sub(1, Ordering::Relaxed) == 1 {
            return Err(StoreError::DiskFull);
        }
        self.inner.content(digest)
    }
    fn history(
        &self,
        project: &StoreName,
        kind: ItemKind,
        name: &StoreName,
    ) -> Result<Vec<Version>, StoreError> {
        self.inner.history(project, kind, name)
    }
    fn versions(&self, query: &VersionQuery) -> Result<Vec<Version>, StoreError> {
        self.inner.versions(query)
    }
    fn labels(
        &self,
        project: &StoreName,
        kind: ItemKind,
        name: &StoreName,
    ) -> Result<Vec<(LabelName, u64)>, StoreError> {
        self.inner.labels(project, kind, name)
    }
    fn protected_labels(&self, project: &StoreName) -> Result<Vec<LabelName>, StoreError> {
        self.inner.protected_labels(project)
    }
    fn watch(&self, on_write: Box<dyn Fn() + Send + Sync>) -> Box<dyn Send> {
        self.inner.watch(on_write)
    }
    fn write(&self, write: Write, done: OnWritten) {
        let is_last = self.left.fetch_sub(1, Ordering::SeqCst) == 1;
        if is_last {
            done(Err(StoreError::DiskFull));
        } else {
            self.inner.write(write, done);
        }
    }
}

#[test]
fn an_import_that_fails_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder);
    let item = |name: String| Any {
        kind: ItemKind::Prompt,
        name,
        description: None,
        mime: None,
        content: b"x".to_vec(),
    };
    let items: Vec<Any> = (0..40).map(|at| item(format!("p{at}"))).collect();
    fill(&store, "p", &items);
    let exported = folder.path().join("exported");
    export(&store, "p", &exported);
    let limits = Limits::default();
    let mut store = Failing {
        inner: store,
        left: AtomicUsize::new(0),
    };
    // The project itself, the first item, one in the middle, the last, the name.
    for failing in [1, 2, 20, 41, 42] {
        store.left = AtomicUsize::new(failing);
        let checked = check_project(&exported, &limits).unwrap();
        let error = import_project(&store, checked, Some(&name("q")), &Author::Person).unwrap_err();
        assert!(error.to_string().contains("disk is full"), "{error}");
        let projects = store.projects().unwrap();
        let names: Vec<&str> = projects.iter().map(|p| p.name.as_str()).collect();
        assert_eq!(names, ["p"], "{failing}");
    }
    let checked = check_project(&exported, &limits).unwrap();
    let imported = import_project(&store, checked, Some(&name("q")), &Author::Person).unwrap();
    assert_eq!((imported.prompts, imported.resources), (40, 0));
}

#[test]
fn more_than_a_project_may_hold_is_refused_before_anything_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder);
    let item = |name: &str| Any {
        kind: ItemKind::Prompt,
        name: name.to_owned(),
        description: None,
        mime: None,
        content: Vec::new(),
    };
    fill(&store, "p", &[item("a"), item("b")]);
    let exported = folder.path().join("exported");
    export(&store, "p", &exported);
    let mut limits = Limits {
        project_items: 2,
        ..Limits::default()
    };
    check_project(&exported, &limits).unwrap();
    limits.project_items = 1;
    let error = check_project(&exported, &limits).unwrap_err();
    assert!(error.to_string().contains("which is the limit"), "{error}");
}

#[cfg(unix)]
#[test]
fn links_of_a_folder_are_not_followed() {
    use std::os::unix::fs::symlink;
    let told = |make: fn(&Path)| {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        std::fs::write(root.join(".env"), "KEY=secret").unwrap();
        let json = r#"{"format": 1, "name": "p", "resources": [],
            "prompts": [{"name": "a", "file": "prompts/a.md"}]}"#;
        std::fs::write(root.join("project.json"), json).unwrap();
        make(root);
        let limits = Limits::default();
        let checked = check_project(root, &limits);
        checked.map(drop).map_err(|error| error.to_string())
    };
    let sentence = |path: &str| {
        let what = "is a symlink, and symlinks are not imported: put the file itself there";
        Err(format!("{path} {what}"))
    };
    let file = told(|root| {
        std::fs::create_dir(root.join("prompts")).unwrap();
        symlink("../.env", root.join("prompts/a.md")).unwrap();
    });
    assert_eq!(file, sentence("prompts/a.md"));
    let way = told(|root| {
        std::fs::create_dir(root.join(".git")).unwrap();
        std::fs::write(root.join(".git/a.md"), "secret").unwrap();
        symlink(".git", root.join("prompts")).unwrap();
    });
    assert_eq!(way, sentence("prompts"));
    let manifest = told(|root| {
        std::fs::rename(root.join("project.json"), root.join("real")).unwrap();
        symlink("real", root.join("project.json")).unwrap();
    });
    assert_eq!(manifest, sentence("project.json"));
    let plain = told(|root| {
        std::fs::create_dir(root.join("prompts")).unwrap();
        std::fs::write(root.join("prompts/a.md"), "text").unwrap();
    });
    assert_eq!(plain, Ok(()));
}

#[test]
fn an_export_that_was_cut_off_is_taken_up_again() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder);
    let item = |name: &str| Any {
        kind: ItemKind::Prompt,
        name: name.to_owned(),
        description: None,
        mime: None,
        content: b"one".to_vec(),
    };
    let names = ["a", "b", "c"];
    fill(&store, "p", &names.map(item));
    let exported = folder.path().join("exported");
    let mut store = Failing {
        inner: store,
        left: AtomicUsize::new(0),
    };
    let project = |store: &Failing| store.project(&name("p")).unwrap().unwrap();
    // The first time, and whenever the project has moved on since.
    for round in ["one", "two", "three"] {
        if round != "one" {
            for prompt in names {
                update(&store.inner, prompt, round);
            }
        }
        store.left = AtomicUsize::new(2);
        export_project(&store, &project(&store), &exported, false).unwrap_err();
    }
    store.left = AtomicUsize::new(0);
    export_project(&store, &project(&store), &exported, false).unwrap();
    let there = files(&exported);
    for prompt in names {
        assert_eq!(there[&format!("prompts/{prompt}.md")], b"three");
    }
    std::fs::write(exported.join("prompts/a.md"), "edited").unwrap();
    update(&store.inner, "a", "four");
    let error = export_project(&store, &project(&store), &exported, false).unwrap_err();
    assert!(error.to_string().contains("prompts/a.md"), "{error}");
}

fn update(store: &dyn Store, prompt: &str, text: &str) {
    let change = Change::Update(Patch {
        content: Some(GivenContent::Text(text.to_owned())),
        ..Patch::default()
    });
    let item = ItemWrite {
        project: name("p"),
        kind: ItemKind::Prompt,
        name: name(prompt),
        change,
        expected: None,
        author: Author::Person,
    };
    write(store, Write::Item(Box::new(item))).unwrap();
}

#[test]
fn a_name_in_another_case_takes_the_place_of_the_old_one() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder);
    let item = |name: &str| Any {
        kind: ItemKind::Prompt,
        name: name.to_owned(),
        description: None,
        mime: None,
        content: b"one".to_vec(),
    };
    let exported = folder.path().join("exported");
    for (name, other) in [("Readme", "p1"), ("README", "p2")] {
        fill(&store, "p", &[item(name)]);
        export(&store, "p", &exported);
        let rename = Write::RenameProject {
            name: self::name("p"),
            to: self::name(other),
            author: Author::Person,
        };
        write(&store, rename).unwrap();
    }
    let there = files(&exported);
    let prompts: Vec<&str> = there.keys().map(String::as_str).collect();
    assert_eq!(
        prompts,
        [".gitattributes", "project.json", "prompts/README.md"]
    );
}
