//! Any text, any description, any values.

use proptest::prelude::*;
use twig_clients::clients::ExportFormat;
use twig_clients::export::marker_of;
use twig_core::front_matter;
use twig_core::{Dialect, Limits};

use super::{Shelf, prompt, verbatim};

/// Text with a liking for what means something somewhere.
fn text() -> impl Strategy<Value = String> {
    let parts = prop_oneof![
        any::<String>(),
        "[a-z \n]{0,8}",
        proptest::sample::select(vec![
            "---\n",
            "...\n",
            "'''",
            "\"\"\"",
            "```",
            "````",
            "!`",
            "!{",
            "@{",
            "{{args}}",
            "$1",
            "$ARGUMENTS",
            "${input:x}",
            "\\",
            "\r\n",
            "#",
            "-->",
            "<!--",
            ": ",
            "\u{feff}",
            "'",
            "`",
        ])
        .prop_map(str::to_owned),
    ];
    proptest::collection::vec(parts, 1..8).prop_map(|parts| parts.concat())
}

proptest! {
    #[test]
    fn every_file_is_an_export_that_holds(text in text(), description in text()) {
        let mut main = prompt("main", &[]);
        main.description = Some(description.into());
        let shelf = Shelf::default().with("lib", Dialect::Verbatim, main, &format!("x{text}"));
        for client in ExportFormat::ALL {
            for item in shelf.export(client).items {
                let marker = marker_of(client, &item.text, []);
                prop_assert!(marker.is_some_and(|marker| marker.is_intact), "{}", item.text);
            }
        }
    }

    #[test]
    fn descriptions_come_back(description in "[^ \n\r\t\u{85}\u{a0}].{0,60}") {
        prop_assume!(description.trim() == description);
        let mut main = prompt("main", &[]);
        main.description = Some(description.as_str().into());
        let shelf = Shelf::default().with("lib", Dialect::Verbatim, main, "text");
        for client in [ExportFormat::Claude, ExportFormat::Copilot, ExportFormat::Opencode, ExportFormat::Windsurf, ExportFormat::Skills] {
            let item = shelf.item(client);
            let front = front_matter::read(&item.text, &Limits::default());
            prop_assert_eq!(&front.repairs, &[]);
            prop_assert_eq!(front.fields.text("description"), Some(description.as_str()), "{}", item.text);
        }
        let table: toml::Table = toml::from_str(&shelf.item(ExportFormat::Gemini).text).expect("TOML");
        prop_assert_eq!(table["description"].as_str(), Some(description.as_str()));
    }

    #[test]
    fn skills_have_no_other_keys(text in text(), title in text()) {
        let mut main = prompt("main", &["x"]);
        main.title = Some(title.into());
        let shelf = Shelf::default().with("lib", Dialect::Verbatim, main, &format!("x{text}"));
        let known = ["name", "description", "license", "compatibility", "metadata", "allowed-tools"];
        for item in shelf.export(ExportFormat::Skills).items {
            let front = item.text.strip_prefix("---\n").expect("front matter");
            let front = &front[..front.find("\n---\n").expect("its end")];
            for line in front.lines().filter(|line| !line.starts_with(' ')) {
                let key = line.split(':').next().unwrap_or_default();
                prop_assert!(known.contains(&key), "{}", item.text);
            }
        }
    }

    #[test]
    fn toml_comes_back(text in text()) {
        let item = verbatim(&format!("x{text}")).item(ExportFormat::Gemini);
        let table: Result<toml::Table, _> = toml::from_str(&item.text);
        prop_assert!(table.is_ok(), "{}", item.text);
    }
}
