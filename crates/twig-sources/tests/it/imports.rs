//! Prompts of other tools on their way into a library that somebody else writes to.

use std::fs;

use twig_clients::import::{ImportOutcome, ImportRequest, ImportedPrompt, SourceFile, read};
use twig_core::Limits;
use twig_sources::{ImportError, plan_library_locked};

fn catalogue(rows: &str) -> ImportOutcome {
    let file = SourceFile {
        path: "a.csv".to_owned(),
        text: format!("act,prompt\n{rows}"),
    };
    read(&[file], ImportRequest::default(), &Limits::default())
}

fn prompts(outcome: &ImportOutcome) -> Vec<&ImportedPrompt> {
    let items = outcome.items.iter();
    items.filter_map(|item| item.prompt.as_ref().ok()).collect()
}

#[test]
fn a_manifest_that_changed_since_it_was_read_stays() {
    let place = tempfile::tempdir().unwrap();
    let root = place.path().join("lib");
    let manifest = root.join("twig.toml");
    fs::create_dir(&root).unwrap();
    fs::write(&manifest, "# mine\n").unwrap();
    let found = catalogue("One,Text one\n");
    let limits = Limits::default();
    let plan = || plan_library_locked(&root, &prompts(&found), "", &limits).unwrap();
    for other in ["# mine, too\n", "# me\n", "# MINE\n"] {
        fs::write(&manifest, "# mine\n").unwrap();
        let plan = plan();
        fs::write(&manifest, other).unwrap();
        let error = plan.write(&|| {}).unwrap_err();
        assert_eq!(error, ImportError::Changed);
        assert!(
            error
                .to_string()
                .contains("changed meanwhile, run it again")
        );
        assert_eq!(fs::read_to_string(&manifest).unwrap(), other);
        assert!(!root.join("prompts").exists());
    }
    plan().write(&|| {}).unwrap();
    let text = fs::read_to_string(&manifest).unwrap();
    assert!(text.starts_with("# MINE\n\n[prompts.one]"), "{text}");
}
