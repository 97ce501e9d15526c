//! What holds for every template, well formed or not.

use proptest::prelude::*;

use super::*;

/// Pieces that make strings which look like templates.
fn template_like() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("{{".to_owned()),
        Just("}}".to_owned()),
        Just("{%".to_owned()),
        Just("%}".to_owned()),
        Just("{#".to_owned()),
        Just("#}".to_owned()),
        Just("{%- raw -%}".to_owned()),
        Just("{% endraw %}".to_owned()),
        Just("{% if x %}".to_owned()),
        Just("{% elif x %}".to_owned()),
        Just("{% endif %}".to_owned()),
        Just("{% for a in x %}".to_owned()),
        Just("{% endfor %}".to_owned()),
        Just("include ".to_owned()),
        Just("'a'".to_owned()),
        Just("\"".to_owned()),
        Just("\\".to_owned()),
        Just("1.e5".to_owned()),
        Just("0x_f".to_owned()),
        Just("x".to_owned()),
        Just("not ".to_owned()),
        Just("|upper".to_owned()),
        Just(" is defined".to_owned()),
        Just("(".to_owned()),
        Just(")".to_owned()),
        Just("[".to_owned()),
        Just("]".to_owned()),
        Just("{".to_owned()),
        Just("}".to_owned()),
        Just("-".to_owned()),
        Just("~".to_owned()),
        Just("==".to_owned()),
        Just(",".to_owned()),
        Just("é".to_owned()),
        Just("\r\n".to_owned()),
        Just(" ".to_owned()),
        Just(".".to_owned()),
        "\\PC{0,3}",
    ];
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

/// Expressions that parse, with literals that are easy to cut wrongly.
fn expression() -> impl Strategy<Value = String> {
    let atom = prop::sample::select(vec![
        "x",
        "a",
        "'}}'",
        "\"%}\"",
        "'\\'}}'",
        "'{#'",
        "1",
        "1.5",
        "0x1f",
        "1_0",
        "1e3",
        "x.1.0",
        "x.e",
        "none",
        "true",
        "[x, 1]",
        "{'k': x}",
        "(x, a)",
        "x[0]",
        "x[1:]",
        "f(x, k=1)",
        "''",
    ]);
    atom.prop_map(str::to_owned)
        .prop_recursive(4, 24, 3, |inner| {
            let operator = prop::sample::select(vec![
                " and ", " or ", "==", " != ", "<", ">=", "+", "-", "*", "/", "//", "%", "**", "~",
                " in ", " not in ",
            ]);
            let suffix = prop::sample::select(vec![
                "|upper",
                "|default('}}')",
                "|length",
                " is defined",
                " is not none",
                " is string",
                "|e",
                ".y",
                "['%}']",
                "()",
                "|trim|lower",
            ]);
            let prefix = prop::sample::select(vec!["not ", "-", ""]);
            prop_oneof![
                (inner.clone(), operator, inner.clone()).prop_map(|(a, o, b)| format!("{a}{o}{b}")),
                (prefix, inner.clone(), suffix).prop_map(|(p, a, s)| format!("{p}({a}){s}")),
                (inner.clone(), inner.clone(), inner)
                    .prop_map(|(a, b, c)| format!("({a} if {b} else {c})")),
            ]
        })
}

/// Templates of such expressions.
fn template() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        "[a-z{} %#\n]{0,6}",
        Just("{# }} {% {{ #}".to_owned()),
        Just("{%- raw +%}{{ hidden }}{% endif %}{%+ endraw -%}".to_owned()),
        expression().prop_map(|e| format!("{{{{ {e} }}}}")),
        expression().prop_map(|e| format!("{{{{-{e}-}}}}")),
        (expression(), expression())
            .prop_map(|(a, b)| format!("{{%- if {a} %}}y{{% elif {b}+%}}n{{% endif -%}}")),
        expression().prop_map(|e| format!("{{% for i in {e} %}}{{{{ i }}}}{{% endfor %}}")),
        expression().prop_map(|e| format!("{{% set z = {e} %}}")),
        Just("{% set w|upper %}{{ deep }}{% endset %}".to_owned()),
    ];
    prop::collection::vec(part, 0..6).prop_map(|parts| parts.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    /// Whatever is called plain compiles in the engine that knows no more than plain things, and
    /// renders to no more than its source and values allow.
    #[test]
    fn any_text_scans_and_compiles(source in prop_oneof![template(), template_like(), "\\PC{0,60}"]) {
        let Ok(found) = scan(&source) else { return Ok(()) };
        let values = TemplateValues::new([("x", Some("some ŉ value")), ("a", None)]);
        let compiled = Engine::computed(&[("t", &source)], Links::new());
        let Ok(computed) = compiled else { return Ok(()) };
        // The scan sees every name that the compiled template uses.
        let names: Vec<_> = Tokens::new(&source).map(|token| token.kind).collect();
        for name in computed.names("t") {
            prop_assert!(names.contains(&TokenKind::Name(&name)), "{}", name);
        }
        if found.sort == Sort::Plain {
            let plain = Engine::plain(&[("t", &source)], Links::new()).expect("it compiles");
            let text = plain.render("t", &values, TextRoom::new(1 << 20));
            prop_assert_eq!(&text, &computed.render("t", &values, TextRoom::new(1 << 20)));
            if let Ok(text) = text {
                prop_assert!(text.len() <= source.len() * 64);
            }
            for reference in &found.references {
                prop_assert!(!reference.names.is_empty());
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    /// The names that are read here are those that minijinja sees.
    #[test]
    fn names_are_read_as_the_parser_reads_them(source in template()) {
        let Ok(_) = scan(&source) else { return Ok(()) };
        let compiled = Engine::computed(&[("t", &source)], Links::new());
        let Ok(engine) = compiled else { return Ok(()) };
        let used = engine.used();
        for name in engine.names("t") {
            prop_assert!(used.contains(&name), "{}", name);
        }
        for name in used {
            // minijinja does not look at what is sliced.
            prop_assert!(name == "x" || engine.names("t").contains(&name), "{}", name);
        }
        prop_assert_eq!(engine.unknown(), vec![]);
    }
}
