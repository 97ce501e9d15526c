//! Places of failures, undeclared variables, and the lists that suggestions come from.

use proptest::prelude::*;

use super::failure::{FILTERS, FUNCTIONS, TESTS};
use super::*;
use crate::template::scan::{Sort, scan};

fn failure(source: &str, values: &[(&str, Option<&str>)]) -> EngineError {
    let engine = Engine::computed(&[("t", source)], Links::new());
    let values = TemplateValues::new(values.iter().copied());
    engine
        .and_then(|engine| engine.render("t", &values, TextRoom::new(1 << 20)))
        .expect_err("it fails")
}

/// The text that a failure points at.
fn pointed_at(source: &str) -> String {
    let failure = failure(source, &[("x", Some("text"))]);
    let range = failure.range.expect("a range");
    assert_eq!(failure.template, "t");
    source[range].to_owned()
}

#[test]
fn failures_point_at_their_cause() {
    assert_eq!(pointed_at("a {{ x }}{{ nope }}"), "nope");
    assert_eq!(pointed_at("{{ x|default(nope)|upper ~ nope }}"), "nope");
    assert_eq!(pointed_at("{{ x.nope }}"), "x.nope");
    assert_eq!(pointed_at("{% if x == 'a' or nope %}{% endif %}"), "nope");
    assert_eq!(pointed_at("é\n{% for a in nope %}{% endfor %}"), "nope");
    assert_eq!(pointed_at("{% if x and\n  nope %}{% endif %}"), "nope");
    assert_eq!(pointed_at("{{ x|uper }}"), "uper");
    assert_eq!(pointed_at("{% fro x %}"), "fro");
    assert_eq!(pointed_at("{{ x + 1 }}"), "x + 1");
}

#[test]
fn the_undefined_variable_is_named() {
    let found = failure("{{ x }}\n{{ nope }}", &[("x", None)]);
    assert_eq!(found.undefined.as_deref(), Some("nope"));
    assert_eq!(found.message, "undefined variable 'nope'");
    assert_eq!(found.line, Some(2));
    let found = failure("{{ 'tick` is undefined' + 1 }}", &[]);
    assert_eq!(found.undefined, None);
}

#[test]
fn a_plain_engine_knows_nothing_else() {
    for source in [
        "{{ x|replace('a', 'b') }}",
        "{{ range(9) }}",
        "{{ x is odd }}",
        "{{ x|indent }}",
    ] {
        let engine = Engine::plain(&[("t", source)], Links::new()).expect("it compiles");
        let outcome = engine.render(
            "t",
            &TemplateValues::new([("x", Some("a"))]),
            TextRoom::new(100),
        );
        assert!(
            outcome.expect_err(source).message.starts_with("unknown "),
            "{source}"
        );
    }
}

#[test]
fn a_plain_engine_knows_all_that_plain_templates_use() {
    use crate::template::scan::{PLAIN_FILTERS, PLAIN_TESTS};
    for name in PLAIN_FILTERS {
        let source = format!("{{{{ x|{name} }}}}");
        assert_eq!(scan(&source).map(|found| found.sort), Ok(Sort::Plain));
        let engine = Engine::plain(&[("t", &source)], Links::new()).expect("it compiles");
        assert!(
            engine
                .render(
                    "t",
                    &TemplateValues::new([("x", Some("a"))]),
                    TextRoom::new(100)
                )
                .is_ok()
        );
    }
    for name in PLAIN_TESTS {
        let source = format!("{{{{ x is {name} }}}}");
        assert_eq!(scan(&source).map(|found| found.sort), Ok(Sort::Plain));
        let engine = Engine::plain(&[("t", &source)], Links::new()).expect("it compiles");
        assert!(
            engine
                .render(
                    "t",
                    &TemplateValues::new([("x", Some("a"))]),
                    TextRoom::new(100)
                )
                .is_ok()
        );
    }
}

#[test]
fn suggestions_are_things_that_exist() {
    let is_known = |what: &str, name: &str| {
        let source = format!("{{{{ '{name}' is {what} }}}}");
        let engine = Engine::computed(&[("t", &source)], Links::new()).expect("it compiles");
        engine.render("t", &TemplateValues::default(), TextRoom::new(100)) == Ok("True".to_owned())
    };
    for name in FILTERS {
        assert!(is_known("filter", name), "{name}");
    }
    for name in TESTS {
        assert!(is_known("test", name), "{name}");
    }
    for name in FUNCTIONS {
        let engine = Engine::computed(&[], Links::new()).expect("it builds");
        assert!(
            engine
                .environment
                .globals()
                .any(|(global, _)| global == name)
        );
    }
}

fn undeclared(sources: &[(&str, &str)]) -> Vec<String> {
    let engine = Engine::computed(sources, Links::new()).expect("it compiles");
    let text_of = |name: &str| {
        sources
            .iter()
            .find(|(own, _)| *own == name)
            .expect("there")
            .1
    };
    engine
        .undeclared()
        .into_iter()
        .map(|found| {
            assert_eq!(&text_of(&found.template)[found.range.clone()], found.name);
            format!("{}:{}@{}", found.template, found.name, found.range.start)
        })
        .collect()
}

#[test]
fn undeclared_variables_are_found_with_their_place() {
    let source = "x {{ b }} {{ a|upper }} {% if c.a == d(e=1)[f] %}{% endif %}{{ a }}";
    assert_eq!(
        undeclared(&[("t", source)]),
        ["t:b@5", "t:a@13", "t:c@30", "t:d@37", "t:f@44"]
    );
}

#[test]
fn what_cannot_fail_is_not_undeclared() {
    let source = "{{ a|default('') }}{{ a|d }}{% if b is defined %}{{ b }}{% endif %}\
        {% if c is not defined %}{% endif %}{{ range(3) }}{{ dict(a=1) }}{% set e = 1 %}{{ e }}\
        {% for f in [1] %}{{ f }}{{ loop.index }}{% endfor %}{% macro m(g) %}{{ g }}{% endmacro %}\
        {{ m(1) }}{% raw %}{{ h }}{% endraw %}{# {{ i }} #}{{ self.j() }}";
    assert_eq!(undeclared(&[("t", source)]), Vec::<String>::new());
    assert_eq!(
        undeclared(&[("t", "{{ a|default('') }}{{ a }}")]),
        ["t:a@22"]
    );
}

#[test]
fn what_another_template_sets_is_not_undeclared() {
    let main = "{% set a = 1 %}{% for b, c in x %}{% endfor %}{% with d = 1 %}{% endwith %}\
        {% import 'm' as e %}{% from 'm' import f as g %}{% macro h() %}{% endmacro %}{{ n }}";
    let part = "{{ a }}{{ b }}{{ c }}{{ d }}{{ e }}{{ g }}{{ h }}{{ x }}";
    assert_eq!(
        undeclared(&[("main", main), ("part", part)]),
        ["main:x@30", "main:n@156", "part:x@52"]
    );
}

/// Templates of blocks that are all reached, binding and reading a few names.
fn reached() -> impl Strategy<Value = String> {
    let name = || prop::sample::select(vec!["k", "q", "p"]);
    let leaf = prop_oneof![
        3 => name().prop_map(|n| format!("{{{{ {n} }}}}")),
        1 => name().prop_map(|n| format!("{{% set {n} = 1 %}}")),
        1 => Just("text".to_owned()),
    ];
    leaf.prop_recursive(4, 24, 4, move |inner| {
        let body = prop::collection::vec(inner, 0..4).prop_map(|parts| parts.concat());
        let around = prop::sample::select(vec![
            ("{% for NAME in [1] %}", "{% endfor %}"),
            (
                "{% for a in [1] if a %}",
                "{% else %}{{ never }}{% endfor %}",
            ),
            ("{% for NAME in [] %}{% else %}", "{% endfor %}"),
            ("{% with NAME = 1 %}", "{% endwith %}"),
            ("{% if true %}", "{% endif %}"),
            ("{% if false %}{% elif true %}", "{% endif %}"),
            ("{% filter upper %}", "{% endfilter %}"),
            ("{% autoescape false %}", "{% endautoescape %}"),
            ("{% set NAME %}", "{% endset %}"),
            ("{% block NAME %}", "{% endblock %}"),
            ("", ""),
        ]);
        (around, name(), body).prop_map(|((open, close), name, body)| {
            format!("{}{body}{close}", open.replace("NAME", name))
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(5_000))]

    /// `check` points first at the place where a render would stop; and nowhere else.
    #[test]
    fn the_first_undeclared_variable_is_where_a_render_stops(source in reached()) {
        let Ok(engine) = Engine::computed(&[("t", &source)], Links::new()) else {
            return Ok(());
        };
        let rendered = engine.render("t", &TemplateValues::default(), TextRoom::new(1 << 20));
        let stopped = rendered.err().and_then(|failure| failure.range);
        let found = engine.undeclared().into_iter().find(|found| found.name != "never");
        prop_assert_eq!(found.map(|found| found.range), stopped);
    }
}

proptest! {
    #[test]
    fn escaped_output_is_the_text_as_json_has_it(
        parts in prop::collection::vec(
            prop_oneof![
                "[a-zé\n\t\"\\\\\u{1}]{1,40}",
                prop::sample::select(vec![
                    "{{ x }}",
                    "{{- y -}}",
                    "{{ 'a\"b\nc' }}",
                    "{{ x|upper }}",
                    "{{ none }}{{ 1.5 }}",
                    "{% if y %}\"y\"\n{% else %}\\no{% endif %}",
                    "{%- include 'other' %}",
                    "{% raw %}{{ \"raw\" }}\n{% endraw %}",
                ])
                .prop_map(str::to_owned),
            ],
            0..8,
        ),
        x in any::<String>(),
        y in prop::option::of("[a\n\"]{0,3}"),
    ) {
        let main = parts.concat();
        let sources = [("main", &*main), ("other", "\"{{ x }}\"\n")];
        let engine = Engine::plain(&sources, Links::new()).expect("it compiles");
        let values = TemplateValues::new([("x", Some(&*x)), ("y", y.as_deref())]);
        let room = TextRoom::new(1 << 20);
        let text = engine.render("main", &values, room).expect("it renders");
        let json = serde_json::to_string(&text).expect("text");
        for source in [EscapedText::new(&main), None] {
            let (escaped, length) = engine
                .render_escaped("main", source.as_ref(), &values, room)
                .expect("it renders");
            prop_assert_eq!(length, text.len());
            prop_assert_eq!(&*String::from_utf8(escaped).expect("text"), &json[1..json.len() - 1]);
        }
        let short = TextRoom::new(text.len().saturating_sub(1));
        prop_assert_eq!(
            engine.render_escaped("main", None, &values, short).is_err(),
            !text.is_empty()
        );
    }
}
