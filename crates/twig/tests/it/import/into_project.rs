//! Into a project: texts as they were written.

use super::{CSV, counts, imported, with_file};

#[test]
fn texts_go_into_a_project_as_they_were_written() {
    let env = with_file("a.csv", CSV);
    assert_eq!(env.run(["project", "create", "garden"]).code, 0);
    let dry = imported(&env, &["a.csv", "-p", "garden", "--dry-run"]);
    assert_eq!(counts(&dry), [0, 3, 0, 1]);
    assert_eq!(env.run(["prompt", "list"]).stdout, "");
    insta::assert_snapshot!(env.run(["import", "a.csv", "--project", "garden"]), @"
    changed  life-coach         a.csv, row 1  its title is not kept: Life Coach
                                              its arguments stay in the text as they were written: name
    changed  life-coach-9f221a  a.csv, row 2  another prompt is called `life-coach`: this one is `life-coach-9f221a`
                                              its title is not kept: Life coach
    changed  nedvizhimost       a.csv, row 3  its title is not kept: Недвижимость
                                              its arguments stay in the text as they were written: big_city
    skipped  -                  a.csv, row 4  says the same as a.csv, row 1
    --- stderr
    project `garden`: 0 taken as they are, 3 taken with changes, 1 skipped
    note: 1 × is for models that generate images
    --- exit 0
    ");
    let shown = env.run(["prompt", "show", "life-coach"]);
    assert_eq!(
        shown.stdout, "Say hi to ${name:you}. {{ braces }}",
        "{shown}"
    );
    let again = imported(&env, &["a.csv", "-p", "garden"]);
    assert_eq!(counts(&again), [0, 0, 3, 1]);
    let outcome = env.run(["prompt", "update", "life-coach", "-c", "mine"]);
    assert_eq!(outcome.code, 0, "{outcome}");
    let again = imported(&env, &["a.csv", "-p", "garden"]);
    assert_eq!(counts(&again), [0, 0, 2, 2]);
}

#[test]
fn a_project_that_is_not_there_is_told() {
    let env = with_file("a.csv", CSV);
    assert_eq!(env.run(["project", "create", "garden"]).code, 0);
    let outcome = env.run(["import", "a.csv", "--project", "gardn"]);
    assert_eq!(outcome.code, 1);
    assert!(
        outcome.stderr.contains("did you mean `garden`"),
        "{outcome}"
    );
    let both = env.run(["import", "a.csv", "--project", "garden", "--into", "x"]);
    assert_eq!(both.code, 2, "{both}");
}

#[test]
fn what_a_project_refuses_is_told_and_the_rest_is_taken() {
    let env = with_file("a.csv", "act,prompt\nGood,Text\nBad,Te\u{1b}[31mxt\n");
    assert_eq!(env.run(["project", "create", "garden"]).code, 0);
    let report = imported(&env, &["a.csv", "-p", "garden"]);
    assert_eq!(counts(&report), [0, 1, 0, 1]);
    let why = report["items"][1]["why"].as_str().unwrap();
    assert!(why.contains("control character"), "{why}");
}
