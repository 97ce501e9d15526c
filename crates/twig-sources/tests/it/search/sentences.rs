//! What a sentence finds, and how skills with their files are found.

use twig_core::search::{MatchedWords, SearchScope, SearchTarget};

use super::{Shelf, name, prompts};

#[test]
fn a_sentence_finds_what_has_most_of_its_words() {
    let mut shelf = prompts(&[
        (
            "code_review",
            "Review a change for defects",
            "Look at the change.",
        ),
        ("poem", "Write a poem", "Rhyme about the sea."),
        ("changelog", "Write a changelog", "List what changed."),
        ("other", "", "A text about nothing."),
    ]);
    let question = "Can you please review my latest change before I merge it?";
    assert_eq!(shelf.names(question), [""; 0]);
    assert_eq!(shelf.some(question), ["lib:code_review", "lib:changelog"]);
    assert_eq!(
        shelf.some("write me a poem about the sea"),
        ["lib:poem", "lib:changelog"]
    );
    // Function words alone are no match.
    assert_eq!(
        shelf.some("can you do it for the review"),
        ["lib:code_review"]
    );
    assert_eq!(shelf.some("something about unicorns"), [""; 0]);
}

#[test]
fn what_has_all_words_comes_before_what_has_some() {
    let mut shelf = prompts(&[
        ("deploy", "deploy", "deploy"),
        ("notes", "", "how to deploy a service"),
        ("service", "service", "service"),
    ]);
    let hits = shelf.hits("deploy service");
    let found: Vec<(String, MatchedWords)> = hits.iter().map(|h| (name(h), h.matched)).collect();
    assert_eq!(
        found,
        [
            ("lib:notes".to_owned(), MatchedWords::All),
            ("lib:deploy".to_owned(), MatchedWords::Some),
            ("lib:service".to_owned(), MatchedWords::Some),
        ]
    );
    assert_eq!(shelf.ask("deploy service", SearchScope::All, 1).len(), 1);
    // A whole name is first, whatever follows.
    assert_eq!(name(&shelf.hits("service")[0]), "lib:service");
}

#[test]
fn another_form_of_a_word_is_found_too() {
    let mut shelf = prompts(&[
        ("refactor", "Tidy up code", "x"),
        ("other", "", "unrelated"),
    ]);
    for typed in ["refa", "refactor", "refactoring", "refactors"] {
        let sentence = format!("quickly {typed}");
        assert_eq!(shelf.some(&sentence), ["lib:refactor"], "{typed}");
    }
    // While it is typed, any beginning is enough.
    for typed in ["r", "ref", "refac"] {
        assert_eq!(shelf.names(typed), ["lib:refactor"], "{typed}");
    }
}

#[test]
fn a_sentence_without_spaces_finds_its_pairs_of_characters() {
    let mut shelf = prompts(&[("han", "审查代码质量", "x"), ("other", "写一首诗", "x")]);
    assert_eq!(shelf.some("请帮我审查这段代码"), ["lib:han"]);
    assert_eq!(shelf.some("写诗的人"), [""; 0]);
}

fn words(count: usize) -> String {
    let words: Vec<String> = (0..count).map(|at| format!("word{at}")).collect();
    words.join(" ")
}

#[test]
fn a_long_text_is_a_query_too() {
    let mut shelf = prompts(&[
        ("sail", "Trim the sails of a boat", "x"),
        ("other", "", "y"),
    ]);
    // Too many longer words.
    let text = words(60);
    assert_eq!(shelf.some(&format!("{text} sails")), [""; 0]);
    let text = words(30);
    assert_eq!(shelf.some(&format!("{text} boat sails")), ["lib:sail"]);
}

fn skills() -> Shelf {
    Shelf::new(&[
        (
            "skills/tides/SKILL.md",
            "---\nname: tides\ndescription: Predict tides for a harbour\n---\nUse the tables.\n",
        ),
        (
            "skills/tides/references/stations.md",
            "# Stations\n\nEach gauge reports every hour.\n",
        ),
        (
            "skills/tides/references/more.md",
            "# Notes\n\nA gauge is read in the morning.\n",
        ),
        (
            "skills/tides/evals/evals.json",
            "{\"skill_name\": \"tides\", \"evals\": [{\"prompt\": \"zanzibar\"}]}",
        ),
        ("skills/tides/skill.oms.sig", "zanzibar"),
        ("skills/tides/BENCHMARK.md", "zanzibar"),
        ("skills/tides/web/app.min.js", "zanzibar"),
        ("skills/tides/package-lock.json", "{\"zanzibar\": 1}"),
        (
            "skills/evals/SKILL.md",
            "---\nname: evals\ndescription: Write evaluations\n---\nWrite zebra questions.\n",
        ),
        ("skills/evals/how.md", "Ask a yak.\n"),
    ])
}

#[test]
fn a_skill_is_one_result_with_all_its_files() {
    let mut shelf = skills();
    assert_eq!(shelf.names("tides"), ["lib:tides"]);
    let hits = shelf.hits("gauge");
    assert_eq!(hits.len(), 1, "{hits:?}");
    assert_eq!(hits[0].target, SearchTarget::Skill("lib:tides".into()));
    assert_eq!(
        hits[0].description.as_deref(),
        Some("Predict tides for a harbour")
    );
    assert!(hits[0].snippet.contains("gauge"), "{hits:?}");
    // Words of the name and of a file, together.
    assert_eq!(shelf.names("tides gauge hour"), ["lib:tides"]);
    let scoped = |shelf: &mut Shelf, scope| -> Vec<String> {
        shelf.ask("gauge", scope, 20).iter().map(name).collect()
    };
    assert_eq!(scoped(&mut shelf, SearchScope::Prompts), ["lib:tides"]);
    let mut files = scoped(&mut shelf, SearchScope::Documents);
    files.sort();
    assert_eq!(
        files,
        [
            "skill://lib/skills/tides/references/more.md",
            "skill://lib/skills/tides/references/stations.md"
        ]
    );
}

#[test]
fn a_skills_own_words_count_more_than_those_of_its_files() {
    let mut shelf = Shelf::new(&[
        (
            "skills/charts/SKILL.md",
            "---\nname: charts\ndescription: Draw nautical charts\n---\nDraw.\n",
        ),
        ("skills/charts/api.md", "# API\n\nNothing.\n"),
        (
            "skills/api/SKILL.md",
            "---\nname: api\ndescription: Design an interface\n---\nDesign.\n",
        ),
        (
            "skills/knots/SKILL.md",
            "---\nname: knots\ndescription: Tie knots\n---\nTie.\n",
        ),
        (
            "skills/knots/charts.md",
            "# Nautical charts\n\nDraw charts, charts, charts.\n",
        ),
    ]);
    assert_eq!(shelf.names("charts")[0], "lib:charts");
    assert_eq!(shelf.names("api")[0], "lib:api");
    assert_eq!(
        shelf.some("how would I draw a nautical chart of charts"),
        ["lib:charts", "lib:knots"]
    );
}

#[test]
fn questions_signatures_and_generated_files_are_not_searched() {
    let mut shelf = skills();
    for scope in [
        SearchScope::All,
        SearchScope::Prompts,
        SearchScope::Documents,
    ] {
        assert_eq!(shelf.ask("zanzibar", scope, 20), [], "{scope:?}");
        assert_eq!(shelf.ask("oms", scope, 20), [], "{scope:?}");
    }
    // A skill may be called so.
    assert_eq!(shelf.names("zebra"), ["lib:evals"]);
    assert_eq!(shelf.names("yak"), ["lib:evals"]);
}

#[test]
fn a_changed_file_of_a_skill_is_read_again() {
    let mut shelf = skills();
    assert_eq!(shelf.names("gauge"), ["lib:tides"]);
    shelf.write("skills/tides/references/more.md", "Nothing.\n");
    shelf.write("skills/tides/references/stations.md", "A buoy.\n");
    assert_eq!(shelf.names("gauge"), [""; 0]);
    shelf.live.refresh();
    assert_eq!(shelf.names("buoy"), ["lib:tides"]);
}
