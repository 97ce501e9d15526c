//! The marker: what counts as a change, and what is not taken for one.

use twig_clients::clients::ExportFormat;
use twig_clients::export::{bundled_of, marker_of};
use twig_core::Dialect;
use twig_core::Marks;

use super::{Shelf, prompt, verbatim};

fn is_intact(client: ExportFormat, text: &str) -> Option<bool> {
    marker_of(client, text, []).map(|marker| marker.is_intact)
}

#[test]
fn every_change_of_words_is_seen() {
    for client in ExportFormat::ALL {
        let text = verbatim("First line\nlast line").item(client).text;
        assert_eq!(is_intact(client, &text), Some(true), "{text}");
        for (from, to) in [
            ("First", "Second"),
            ("last line", "last"),
            ("lib:main", "lib:other"),
        ] {
            let edited = text.replacen(from, to, 1);
            assert_eq!(is_intact(client, &edited), Some(false), "{edited}");
        }
    }
}

#[test]
fn a_marker_that_something_was_written_around_is_of_a_changed_file() {
    for client in ExportFormat::ALL {
        let text = verbatim("First line\nlast line").item(client).text;
        let around = [
            format!("{text}More.\n"),
            format!("More.\n{text}"),
            format!("More.\n\n{text}\nAnd more.\n"),
        ];
        for text in around {
            let marker = marker_of(client, &text, []).unwrap_or_else(|| panic!("{text}"));
            assert_eq!(
                (marker.prompt, marker.is_intact),
                ("lib:main", false),
                "{text}"
            );
        }
        // It has to stand alone, and to be one.
        let line = text.lines().find(|line| line.contains("sha256:"));
        let line = line.unwrap_or_default().trim();
        assert_eq!(is_intact(client, &format!("Such as {line} here\n")), None);
        let short = line.replacen("sha256:", "sha256:0", 1);
        assert_eq!(is_intact(client, &format!("First\n{short}\nlast\n")), None);
    }
}

#[test]
fn line_ends_marks_and_last_lines_do_not_count() {
    for client in ExportFormat::ALL {
        let text = verbatim("First line\nlast line").item(client).text;
        let same = [
            text.replace('\n', "\r\n"),
            format!("\u{feff}{text}"),
            text.trim_end().to_owned(),
            format!("{text}\n\n"),
        ];
        for text in same {
            assert_eq!(
                is_intact(client, &text),
                Some(true),
                "{}: {text:?}",
                client.as_str()
            );
        }
    }
}

#[test]
fn blanks_at_the_end_of_a_line_are_somebodys() {
    for client in ExportFormat::ALL {
        let text = verbatim("First line\nlast line").item(client).text;
        for (from, to) in [
            ("First line", "First line  "),
            ("last line", "last line  "),
            ("First line", "First line\t"),
        ] {
            let edited = text.replacen(from, to, 1);
            assert_eq!(is_intact(client, &edited), Some(false), "{edited:?}");
        }
    }
}

#[test]
fn files_of_other_people_have_none() {
    let own = "<!-- twig:export sha256:00112233445566778899aabbccddeeff a:b -->";
    let texts = [
        String::new(),
        "---\ndescription: x\n---\nbody".to_owned(),
        format!("{own}\ntext behind it\n---\n"),
        format!("text\n{own}\ntext"),
        "text\n# twig:export sha256:00112233445566778899aabbccddeeff a:b\n".to_owned(),
        "---\n# twig:export sha256:\n---\n".to_owned(),
    ];
    for text in &texts {
        for client in ExportFormat::ALL {
            assert_ne!(is_intact(client, text), Some(true), "{text}");
        }
    }
}

#[test]
fn a_text_about_markers_is_no_marker() {
    let lines = "# twig:export sha256:00112233445566778899aabbccddeeff a:b\n\
        <!-- twig:export sha256:00112233445566778899aabbccddeeff a:b -->\n\
        \x20 twig-export: \"sha256:00112233445566778899aabbccddeeff a:b\"";
    for client in ExportFormat::ALL {
        let text = verbatim(lines).item(client).text;
        let marker = marker_of(client, &text, []).expect("a marker");
        assert!(marker.is_intact && marker.prompt == "lib:main", "{text}");
    }
}

#[test]
fn what_was_exported_is_not_exported_again() {
    let exported = verbatim("text").item(ExportFormat::Claude).text;
    let dialect = Dialect::Marks(Marks::None);
    let shelf = Shelf::default().with("claude", dialect, prompt("main", &[]), &exported);
    assert_eq!(
        shelf.why(ExportFormat::Cursor),
        "is itself an export of `lib:main`"
    );
}

#[test]
fn the_files_of_a_skill_count() {
    let text = verbatim("text").item(ExportFormat::Skills).text;
    let with = [("run.sh", [1; 32])];
    let marker = marker_of(ExportFormat::Skills, &text, with).expect("a marker");
    assert!(!marker.is_intact);
}

#[test]
fn the_files_of_a_skill_stay_in_its_folder() {
    let files = |list: &str| {
        let text = format!("---\nname: x\nmetadata:\n  twig-files: \"{list}\"\n---\nbody\n");
        let files = bundled_of(&text).into_iter();
        files.map(|file| file.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(
        files("a.md|b/c d.sh|e%7Cf%25"),
        ["a.md", "b/c d.sh", "e|f%"]
    );
    let out = [
        "../x",
        "/etc/passwd",
        "a/../../x",
        "~/x",
        "C:/x",
        "",
        "%5Cx",
    ];
    assert_eq!(files(&out.join("|")), [] as [&str; 0]);
    assert_eq!(
        bundled_of("no front matter\n  twig-files: \"a\"\n---\n"),
        []
    );
}
