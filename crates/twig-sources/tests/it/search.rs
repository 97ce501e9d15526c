//! What searches find, in which order, and how they show it.

mod panics;
mod sentences;

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use proptest::prelude::*;
use twig_core::Limits;
use twig_core::search::{Hit, MatchedWords, Query, SearchScope, SearchTarget};
use twig_sources::{LiveCatalog, SearchIndex};
use twig_testkit::{cpu_time, figure};

use crate::support::{LONG, Tree, age};

/// A library, its files and an index of it.
struct Shelf {
    tree: Tree,
    live: LiveCatalog,
    index: SearchIndex,
}

impl Shelf {
    fn new(files: &[(&str, &str)]) -> Self {
        let tree = Tree::new();
        for (path, text) in files {
            tree.write(&format!("data/lib/{path}"), text);
        }
        let live = tree.load();
        Self {
            tree,
            live,
            index: SearchIndex::new(Limits::default()),
        }
    }

    fn hits(&mut self, text: &str) -> Vec<Hit> {
        self.ask(text, SearchScope::All, 20)
    }

    fn ask(&mut self, text: &str, scope: SearchScope, limit: usize) -> Vec<Hit> {
        let query = query(text, scope, limit);
        let catalog = self.live.snapshot();
        self.index.search(&catalog, &self.live, &query).unwrap()
    }

    /// What has all words.
    fn names(&mut self, text: &str) -> Vec<String> {
        self.matched(text, MatchedWords::All)
    }

    /// What has some words.
    fn some(&mut self, text: &str) -> Vec<String> {
        self.matched(text, MatchedWords::Some)
    }

    fn matched(&mut self, text: &str, matched: MatchedWords) -> Vec<String> {
        let hits = self.hits(text);
        let hits = hits.iter().filter(|hit| hit.matched == matched);
        hits.map(name).collect()
    }

    fn snippet(&mut self, text: &str) -> String {
        self.hits(text)[0].snippet.to_string()
    }

    fn write(&self, path: &str, text: &str) {
        self.tree.write(&format!("data/lib/{path}"), text);
    }
}

fn query(text: &str, scope: SearchScope, limit: usize) -> Query {
    Query {
        text: text.to_owned(),
        scope,
        limit,
        enough: limit,
    }
}

fn name(hit: &Hit) -> String {
    match &hit.target {
        SearchTarget::Prompt(name) | SearchTarget::Skill(name) => name.to_string(),
        SearchTarget::Document { uri, .. } => uri.to_string(),
    }
}

/// Prompts `lib:NAME`, each with a description and a text.
fn prompts(prompts: &[(&str, &str, &str)]) -> Shelf {
    let mut manifest = String::new();
    let mut files: Vec<(String, &str)> = Vec::new();
    for (name, description, text) in prompts {
        writeln!(manifest, "[prompts.{name}]").unwrap();
        if !description.is_empty() {
            writeln!(manifest, "description = {description:?}").unwrap();
        }
        files.push((format!("prompts/{name}.md"), text));
    }
    files.push(("twig.toml".to_owned(), &manifest));
    let files: Vec<(&str, &str)> = files.iter().map(|(p, t)| (p.as_str(), *t)).collect();
    Shelf::new(&files)
}

#[test]
fn beginnings_of_words_are_enough() {
    let mut shelf = prompts(&[
        ("code_review", "", "x"),
        ("codeReview", "", "x"),
        ("prose", "Code that wants a review", "x"),
        ("text", "", "Look at the code, then review it."),
        ("half", "", "only code"),
    ]);
    let expected = ["lib:codeReview", "lib:code_review", "lib:prose", "lib:text"];
    assert_eq!(shelf.names("cod rev"), expected);
    assert_eq!(shelf.names("REV cod"), expected);
    assert_eq!(shelf.names("lib:code_rev"), expected);
}

#[test]
fn the_middle_of_a_word_counts_in_names_and_titles_where_nothing_else_is_found() {
    let mut shelf = prompts(&[("code_review", "", "x"), ("other", "", "overview")]);
    assert_eq!(shelf.names("view"), ["lib:code_review"]);
    assert_eq!(shelf.names("overv"), ["lib:other"]);
    assert_eq!(shelf.names("verv"), [""; 0]);
}

#[test]
fn a_name_counts_more_than_a_title_a_description_and_a_text() {
    let text = "needle ".repeat(200);
    let long = "hay ".repeat(2_000);
    let mut shelf = Shelf::new(&[
        (
            "twig.toml",
            "[prompts.a]\n[prompts.b]\ndescription = \"needle\"\n[prompts.c]\ntitle = \"Needle\"\n[prompts.needle_d]\n",
        ),
        ("prompts/a.md", &text),
        ("prompts/b.md", &long),
        ("prompts/c.md", &long),
        ("prompts/needle_d.md", &long),
    ]);
    assert_eq!(
        shelf.names("needle"),
        ["lib:needle_d", "lib:c", "lib:b", "lib:a"]
    );
}

#[test]
fn a_whole_name_comes_first() {
    let mut shelf = prompts(&[
        ("review_review", "Review of the review", "review"),
        ("review", "", "nothing to see"),
        ("code_review", "code review", "code review"),
        ("code_review_of_code", "code review code", "code review"),
    ]);
    assert_eq!(shelf.names("review")[0], "lib:review");
    assert_eq!(shelf.names("Code Review")[0], "lib:code_review");
    assert_eq!(shelf.names("lib:code_review")[0], "lib:code_review");
    assert_eq!(shelf.names("codereview"), ["lib:code_review"]);
}

#[test]
fn equal_hits_are_sorted_by_name_however_they_came_in() {
    let mut shelf = prompts(&[("b", "same", "x"), ("d", "same", "x"), ("a", "same", "x")]);
    assert_eq!(shelf.names("same"), ["lib:a", "lib:b", "lib:d"]);
    let manifest = "[prompts.c]\ndescription = \"same\"\n[prompts.d]\ndescription = \"same\"\n[prompts.0]\ndescription = \"same\"\n[prompts.b]\ndescription = \"same\"\n";
    shelf.write("prompts/c.md", "x");
    shelf.write("prompts/0.md", "x");
    shelf.write("twig.toml", manifest);
    shelf.live.refresh();
    assert_eq!(shelf.names("same"), ["lib:0", "lib:b", "lib:c", "lib:d"]);
}

#[test]
fn case_and_diacritics_do_not_matter() {
    let mut shelf = prompts(&[
        ("a", "", "Résumé of the Größe"),
        ("b", "", "re\u{301}sume\u{301}"),
        ("c", "", "RESUME"),
    ]);
    for text in ["résumé", "resume", "RÉSUMÉ", "re\u{301}sume\u{301}", "resu"] {
        let mut found = shelf.names(text);
        found.sort();
        assert_eq!(found, ["lib:a", "lib:b", "lib:c"], "{text}");
    }
    assert_eq!(shelf.names("größe"), ["lib:a"]);
    assert_eq!(shelf.names("grosse"), [""; 0]);
}

#[test]
fn scripts_without_spaces_are_found_anywhere() {
    let mut shelf = prompts(&[
        ("han", "审查代码质量", "请用Rust编写代码。"),
        ("kana", "", "コードレビューをしてください"),
        ("thai", "", "กรุณาตรวจสอบโค้ดนี้"),
        ("khmer", "", "សូមពិនិត្យកូដនេះ"),
        ("lao", "", "ກະລຸນາກວດສອບລະຫັດ"),
        ("myanmar", "", "ကုဒ်ကိုစစ်ဆေးပါ"),
        ("hangul", "", "코드를 검토해 주세요"),
        ("compound", "", "한국어코드리뷰"),
        ("hindi", "", "कृपया हिन्दी में लिखें"),
        ("arabic", "", "راجِع الشِّفرة"),
    ]);
    for (text, name) in [
        ("代码", "han"),
        ("查代", "han"),
        ("rust编", "han"),
        ("代码 质量", "han"),
        ("レビュー", "kana"),
        ("ตรวจสอบ", "thai"),
        ("ពិនិត្យ", "khmer"),
        ("ກວດສອບ", "lao"),
        ("စစ်ဆေး", "myanmar"),
        ("검토", "hangul"),
        ("토해", "hangul"),
        ("코드리뷰", "compound"),
        ("국어 리뷰", "compound"),
        ("हिन्दी", "hindi"),
        ("हिन्", "hindi"),
        ("راجِع", "arabic"),
    ] {
        assert_eq!(shelf.names(text), [format!("lib:{name}")], "{text}");
    }
    // Both characters are there, but not side by side.
    assert_eq!(shelf.names("码代"), [""; 0]);
    assert_eq!(shelf.snippet("rust"), "请用Rust编写代码。");
}

#[test]
fn words_with_humps_are_found_whole_and_in_parts() {
    let mut shelf = prompts(&[
        ("a", "", "call getUserName() of HTTPServer"),
        ("b", "", "JavaScript"),
    ]);
    for text in ["user name", "getusername", "getUserN", "server", "httpserv"] {
        assert_eq!(shelf.names(text), ["lib:a"], "{text}");
    }
    for text in ["javascript", "JavaScript", "script"] {
        assert_eq!(shelf.names(text), ["lib:b"], "{text}");
    }
}

#[test]
fn the_language_of_the_index_is_data() {
    let mut shelf = prompts(&[("near", "", "name and or not near"), ("other", "", "x")]);
    for text in [
        "name:near",
        "\"near\"",
        "near*",
        "NEAR(name near)",
        "name AND near",
        "near OR",
        "near NOT",
        "^near",
        "{name} : near",
        "near'; DROP TABLE rows; --",
    ] {
        let found = shelf.names(text);
        let is_asked = text.contains("DROP");
        assert_eq!(found.is_empty(), is_asked, "{text}: {found:?}");
    }
    assert_eq!(shelf.names("near NOT name"), ["lib:near"], "all are words");
    for text in ["", " ", "\"", "*", "-", "()", "\0", "\u{e000}near"] {
        shelf.hits(text);
    }
}

#[test]
fn what_is_no_word_is_looked_for_as_it_stands() {
    let mut shelf = Shelf::new(&[
        (
            "twig.toml",
            "[prompts.a]\ntitle = \"Ship it 🚀\"\n[prompts.b]\n",
        ),
        ("prompts/a.md", "x"),
        ("prompts/b.md", "x"),
    ]);
    assert_eq!(shelf.names("🚀"), ["lib:a"]);
    assert_eq!(shelf.names("🚀 🌲"), [""; 0]);
    assert_eq!(shelf.names("  "), [""; 0]);
}

#[test]
fn documents_are_found_by_name_title_and_text() {
    let mut shelf = Shelf::new(&[
        ("twig.toml", "[prompts.zebra]\n"),
        ("prompts/zebra.md", "stripes"),
        (
            "docs/patterns/repository-pattern.md",
            "# Keeping things\n\nUse stripes.",
        ),
        ("docs/picture.png", "\u{0}stripes"),
    ]);
    let catalog = shelf.live.snapshot();
    let uris: Vec<&str> = catalog.documents(0).map(|d| &*d.document.uri).collect();
    let (text, picture) = (uris[0], uris[1]);
    assert!(picture.contains("picture"), "{uris:?}");
    assert_eq!(shelf.names("repo pat"), [text]);
    assert_eq!(shelf.names(text), [text]);
    assert_eq!(shelf.names("keeping"), [text]);
    assert_eq!(shelf.names("picture"), [picture]);
    assert_eq!(shelf.names("stripes").len(), 2, "not what is no text");
    let scoped = |shelf: &mut Shelf, scope| -> Vec<String> {
        shelf.ask("stripes", scope, 20).iter().map(name).collect()
    };
    assert_eq!(scoped(&mut shelf, SearchScope::Prompts), ["lib:zebra"]);
    assert_eq!(scoped(&mut shelf, SearchScope::Documents), [text]);
    assert_eq!(shelf.ask("stripes", SearchScope::All, 1).len(), 1);
    assert_eq!(shelf.ask("stripes", SearchScope::All, 0).len(), 0);
}

#[test]
fn texts_of_every_kind_are_searched() {
    let mut shelf = Shelf::new(&[
        (
            "twig.toml",
            "[[prompts.pair.messages]]\nrole = \"user\"\ntext = \"inline words\"\n[[prompts.pair.messages]]\nrole = \"assistant\"\nfile = \"prompts/second.md\"\n",
        ),
        ("prompts/second.md", "second file"),
    ]);
    shelf.tree.write(
        "data/defs/prompts/ask.json",
        r#"{"name": "ask", "description": "d", "arguments": [], "messages": [{"role": "user", "content": {"type": "text", "text": "braces {{resource:architecture://x}}"}}]}"#,
    );
    shelf.live.refresh();
    assert_eq!(shelf.names("inline second"), ["lib:pair"]);
    assert_eq!(shelf.names("braces"), ["ask"]);
}

#[test]
fn front_matter_of_markdown_is_no_text() {
    let tree = Tree::new();
    tree.write(
        "notes/research.md",
        "---\ndescription: Research a topic\nsecret: hidden\n---\nTopic: {{input}}\n",
    );
    let live = LiveCatalog::load(twig_sources::Settings {
        libraries: vec![tree.path("notes")],
        kind: Some(twig_core::LibraryKind::Markdown),
        ..tree.settings()
    });
    let mut index = SearchIndex::new(Limits::default());
    let mut count = |text: &str| {
        let query = query(text, SearchScope::All, 9);
        let hits = index.search(&live.snapshot(), &live, &query);
        hits.unwrap().len()
    };
    assert_eq!((count("topic"), count("hidden")), (1, 0));
}

#[test]
fn snippets_show_where_the_words_are() {
    let text = format!(
        "# Head\n\n{}\n\nThen the\nneedle is\there.\n\n{}",
        "Before. ".repeat(100),
        "After. ".repeat(100)
    );
    let mut shelf = prompts(&[
        ("a", "What it is for", &text),
        ("b", "", &text),
        ("c", "Has a pin in it", "no"),
    ]);
    for hit in shelf.hits("needle") {
        let snippet = &hit.snippet;
        assert!(snippet.contains("Then the needle is here."), "{snippet}");
        assert!(
            snippet.starts_with('…') && snippet.ends_with('…'),
            "{snippet}"
        );
        assert!(snippet.chars().count() <= 165, "{snippet}");
    }
    assert_eq!(shelf.snippet("lib:a"), "What it is for");
    assert_eq!(shelf.snippet("lib:b"), "Head");
    assert_eq!(shelf.snippet("pin"), "Has a pin in it");
    let hit = &shelf.hits("lib:a")[0];
    assert_eq!(hit.description.as_deref(), Some("What it is for"));
}

#[test]
fn what_changes_is_found_and_what_goes_is_not() {
    let mut shelf = prompts(&[
        ("a", "first", "x"),
        ("b", "second", "x"),
        ("c", "third", "x"),
    ]);
    assert_eq!(shelf.names("first"), ["lib:a"]);
    shelf.write(
        "twig.toml",
        "[prompts.b]\ndescription = \"other\"\n[prompts.c]\ndescription = \"third\"\n[prompts.d]\ndescription = \"fourth\"\n",
    );
    shelf.write("prompts/d.md", "x");
    shelf.live.refresh();
    assert_eq!(shelf.names("first"), [""; 0]);
    assert_eq!(shelf.names("second"), [""; 0]);
    assert_eq!(shelf.names("other"), ["lib:b"]);
    assert_eq!(shelf.names("third"), ["lib:c"]);
    assert_eq!(shelf.names("fourth"), ["lib:d"]);
    // A catalog that somebody still holds is answered from as well.
    let older = Arc::clone(&shelf.live.snapshot());
    shelf.write("twig.toml", "[prompts.c]\n");
    shelf.live.refresh();
    assert_eq!(shelf.names("other"), [""; 0]);
    let hits = shelf
        .index
        .search(&older, &shelf.live, &query("other", SearchScope::All, 9));
    assert_eq!(hits.unwrap().len(), 1);
}

#[test]
fn a_text_without_the_words_is_never_shown() {
    let mut shelf = prompts(&[("a", "", "needle one"), ("b", "", "needle two")]);
    assert_eq!(shelf.names("needle"), ["lib:a", "lib:b"]);
    shelf.write("prompts/a.md", "hay");
    assert_eq!(shelf.names("needle"), ["lib:b"], "no new catalog is needed");
    shelf.write("prompts/b.md", "another needle");
    assert_eq!(shelf.snippet("needle"), "another needle");
    age(&shelf.tree.path("data/lib/prompts/b.md"));
    assert_eq!(shelf.names("needle"), ["lib:b"]);
}

#[test]
fn a_word_that_a_file_got_is_found_in_the_next_round() {
    let mut shelf = prompts(&[("a", "", "hay"), ("b", "", "hay")]);
    assert_eq!(shelf.names("needle"), [""; 0]);
    shelf.write("prompts/a.md", "needle");
    let started = Instant::now();
    while shelf.names("needle") != ["lib:a"] {
        assert!(started.elapsed() < LONG, "never found");
        std::thread::yield_now();
    }
}

#[test]
fn only_so_much_of_a_text_is_searched() {
    let text = |at: usize| format!("{}needle", " ".repeat(at - "needle".len()));
    let (fits, is_cut) = (text(256 * 1024), text(256 * 1024 + 1));
    let mut shelf = Shelf::new(&[
        ("twig.toml", "[library]\n"),
        ("docs/fits.md", &fits),
        ("docs/cut.md", &is_cut),
    ]);
    let found = shelf.names("needle");
    assert_eq!(found.len(), 1);
    assert!(found[0].contains("fits"), "{found:?}");
    assert_eq!(shelf.names("cut").len(), 1);
}

#[test]
fn monsters_are_answered_at_once() {
    let words: Vec<String> = (0..250)
        .map(|at: u8| format!("{}ord{at}", char::from(b'a' + at % 26)))
        .collect();
    let text = words.join(" ");
    let names: Vec<String> = (0..300).map(|at| format!("prompt_{at}")).collect();
    let rows: Vec<(&str, &str, &str)> = names.iter().map(|n| (n.as_str(), "d", &*text)).collect();
    let mut shelf = prompts(&rows);
    shelf.hits("warm");
    let many: Vec<String> = (0..10_000).map(|at| format!("wörd{at}代码")).collect();
    for monster in [
        "a".repeat(100_000),
        "a ".repeat(50_000),
        "\"".repeat(100_000),
        "代".repeat(100_000),
        "\u{301}".repeat(100_000),
        "🚀".repeat(100_000),
        "w wo wor word ".repeat(10_000),
        "w p d r".to_owned(),
        many.join(" "),
        many.join("\u{200d}"),
    ] {
        let took = cpu_time(|| drop(shelf.hits(&monster)));
        figure(&format!("{monster:.20}"), took, Duration::from_millis(50));
    }
}

#[test]
fn a_word_that_stands_in_a_text_very_often_is_found_at_once() {
    let text = "a ".repeat(128 * 1024);
    let mut shelf = Shelf::new(&[("twig.toml", "[library]\n"), ("docs/often.md", &text)]);
    shelf.hits("warm");
    let took = cpu_time(|| assert_eq!(shelf.names("a").len(), 1));
    figure("a very frequent word", took, Duration::from_secs(1));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_a_query(texts in prop::collection::vec(".{0,60}", 8), signs in "[\"*:^(){}+\\- a-cN代é\\u{301}\\u{1f}\\u{e000}\\x00]{0,40}") {
        let mut shelf = prompts(&[("abc", "a b c", "代码 é"), ("near", "x", "y")]);
        for text in texts.iter().chain([&signs]) {
            let found = shelf.ask(text, SearchScope::All, 5);
            prop_assert!(found.len() <= 2);
        }
    }

    #[test]
    fn any_text_is_found_by_its_words(text in "[a-zA-Zà-öø-ÿα-ωа-яא-ת一-龥ぁ-んァ-ヶก-ฮ가-힣0-9 .,_-]{1,80}") {
        let mut shelf = prompts(&[("a", "", &text)]);
        let longest = text.split([' ', '.', ',', '_', '-']).max_by_key(|w| w.len());
        let longest = longest.filter(|word| word.contains(|c: char| c.is_alphanumeric()));
        if let Some(word) = longest {
            let hits = shelf.hits(word);
            prop_assert_eq!(hits.len(), 1, "{:?} in {:?}", word, text);
            prop_assert!(!hits[0].snippet.contains(|c: char| c.is_control()));
        }
    }
}
