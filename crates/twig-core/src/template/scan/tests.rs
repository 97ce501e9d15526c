//! What the scan finds, refuses and classifies.

use super::measure::{BLOCKS, BRACKETS, BRANCHES, OPERATORS};
use super::*;
use crate::template::engine::{Engine, Links, TextRoom, misordered};
use crate::template::values::TemplateValues;

mod properties;

fn sort(source: &str) -> Sort {
    scan(source).expect(source).sort
}

fn code(source: &str) -> &'static str {
    scan(source).expect_err(source).code.as_str()
}

/// A quarter of what a worker thread has, so that the limits leave a wide margin.
const STACK: usize = 512 * 1024;

/// Parses, compiles, renders and drops on a stack as small as a worker thread's.
fn compile_on_small_stack(source: String) -> Result<(), String> {
    let work = move || match Engine::computed(&[("t", &source)], Links::new()) {
        Ok(engine) => {
            let _ = engine.render(
                "t",
                &TemplateValues::new([("a", Some("a"))]),
                TextRoom::new(1 << 20),
            );
            let _ = engine.undeclared();
            let _ = misordered(&[("t", &source)]);
            Ok(())
        }
        Err(failure) => Err(failure.message),
    };
    std::thread::Builder::new()
        .stack_size(STACK)
        .spawn(work)
        .expect("a thread starts")
        .join()
        .expect("no panic")
}

#[test]
fn plain_is_what_prints_and_branches() {
    for source in [
        "",
        "text { with } braces {",
        "{{ x }}",
        "{{- x -}} {%- if x -%} a {%+ endif +%}",
        "{# {{ x.y }} {% for %} #}",
        "{% raw %}{{ x.y() }}{% for %}{% endraw %}",
        "{%- raw -%}{% endif %}{%- endraw -%}",
        "{{ 'a }} b' }}{{ \"%} \\\" }}\" }}",
        "{{ x|upper }} {{ x | trim | lower | title | capitalize }}",
        "{{ x|default('a') }} {{ x|d(\"a\", true) }} {{ x|d(y|upper) }}",
        "{{ x|default('a', boolean=true) }}",
        "{% if x is defined and not (y is none or z) %}a{% elif x == 'b' %}b{% else %}c{% endif %}",
        "{% if x|length > 10 and 1.5 <= y %}a{% endif %}",
        "{{ 'a' if x else 'b' }}",
        "{{ x is not defined }} {{ true }} {{ none }}",
        "{% include 'a' %}{% include ['a', \"b\"] ignore missing %}",
    ] {
        assert_eq!(sort(source), Sort::Plain, "{source}");
    }
}

#[test]
fn everything_else_is_computed() {
    for source in [
        "{{ x.y }}",
        "{{ x[0] }}",
        "{{ x() }}",
        "{{ (x)() }}",
        "{{ 'a'() }}",
        "{{ x ~ x }}",
        "{{ x + x }}",
        "{{ x * 2 }}",
        "{{ -1 }}",
        "{{ [x] }}",
        "{{ {'a': x} }}",
        "{{ () }}",
        "{{ (x, x) }}",
        "{{ x in y }}",
        "{{ x not in y }}",
        "{{ x|replace('a', 'b') }}",
        "{{ x|trim('a') }}",
        "{{ x|upper|lower|upper|lower|upper }}",
        "{{ (x)=1 }}",
        "{{ x is divisibleby 3 }}",
        "{{ x is defined y }}",
        "{{ x is string(y) }}",
        "{{ x|dotted.name }}",
        "{% for a in x %}{% endfor %}",
        "{% set a = 1 %}",
        "{% macro a() %}{% endmacro %}",
        "{% extends 'a' %}",
        "{% import 'a' as a %}",
        "{% from 'a' import b %}",
        "{% block a %}{% endblock %}",
        "{% filter upper %}{% endfilter %}",
        "{% autoescape true %}{% endautoescape %}",
        "{% with a = 1 %}{% endwith %}",
        "{% call a() %}{% endcall %}",
        "{% do a() %}",
    ] {
        assert_eq!(sort(source), Sort::Computed, "{source}");
    }
}

#[test]
fn bombs_are_computed_or_refused() {
    for source in [
        "{% set x = 'xxxxxxxxxx' %}{% for i in range(99) %}{% set x = x ~ x %}{% endfor %}{{ x }}",
        "{{ x|replace('', 'xxxxxxxxxxxxxxxx') }}",
        "{{ x|indent(99999999) }}",
        "{{ x|slice(99999999)|list }}",
        "{{ x|batch(99999999, 'x')|list }}",
        "{{ '%999999999d'|format(1) }}",
        "{{ x|tojson }}",
        "{{ range(99999)|list|tojson }}",
        "{% for a in range(99999) %}{% for b in range(99999) %}x{% endfor %}{% endfor %}",
        "{% macro a() %}{{ a() }}{{ a() }}{% endmacro %}{{ a() }}",
        "{% for a in [1] recursive %}{{ loop([1]) }}{% endfor %}",
        "{% set a = [1, 1] %}{% set b = [a, a] %}{{ b }}{{ b ~ '' }}",
        "{% extends 't' %}",
    ] {
        assert_eq!(sort(source), Sort::Computed, "{source}");
    }
}

#[test]
fn constants_that_the_compiler_would_multiply_are_refused() {
    let long = format!("{{{{ {} }}}}", ["'x' * 99999999"; 20].join(" ~ "));
    for source in [
        long.as_str(),
        "{{ 99999999 * 'x' }}",
        "{{ ('x') * (9999 * 9999) }}",
        "{{ 'x' * 999 * 999 }}",
        "{{ 'x' * 9 ** 9 }}",
        "{{ 'x' * (1 / 0.00000001) }}",
        "{{ (1, 2) * 99999999 }}",
        "{{ [1] * 99999999 ~ 1 }}",
        "{% set a = 'x' * 99999999 %}",
        "{% if 'x' * 0xFFFFFFF %}{% endif %}",
    ] {
        assert_eq!(code(source), "constant-too-large", "{source}");
    }
    let many = "{{ 'x' * 20000 }}".repeat(4);
    assert_eq!(code(&many), "constant-too-large");
    for source in [
        "{{ '-' * 40 }}",
        "{{ 60 * 60 * 24 }}",
        "{{ x * 99999999 }}",
        "{{ 'x' * n }}",
        "{{ (price * 1.2)|round(2) ~ ' EUR' }}",
    ] {
        assert_eq!(sort(source), Sort::Computed, "{source}");
    }
}

#[test]
fn references_are_found() {
    let source = r#"{% include "a" %}{% include ['b', "c",] ignore missing with context %}
{%- extends 'd' -%}{% import "e" as e %}{% from "f" "g" import h %}{% include "\x61\"" %}"#;
    let found = scan(source).expect("it scans").references;
    let shown: Vec<String> = found
        .iter()
        .map(|reference| {
            let names: Vec<&str> = reference.names.iter().map(|(name, _)| &**name).collect();
            let at: Vec<&str> = reference
                .names
                .iter()
                .map(|(_, at)| &source[at.clone()])
                .collect();
            format!(
                "{:?} {names:?} {at:?} {}",
                reference.how, reference.ignore_missing
            )
        })
        .collect();
    insta::assert_snapshot!(shown.join("\n"), @r#"
    Include ["a"] ["\"a\""] false
    Include ["b", "c"] ["'b'", "\"c\""] true
    Extends ["d"] ["'d'"] false
    Import ["e"] ["\"e\""] false
    Import ["fg"] ["\"f\" \"g\""] false
    Include ["a\""] ["\"\\x61\\\"\""] false
    "#);
}

#[test]
fn values_cannot_choose_files() {
    for source in [
        "{% include x %}",
        "{% include 'a' ~ x %}",
        "{% include 'a' if x else 'b' %}",
        "{% include ['a', x] %}",
        "{% include 'a'|upper %}",
        "{% include ('a')[0] %}",
        "{% include [] %}",
        "{% extends x %}",
        "{% extends ['a'] %}",
        "{% import x as y %}",
        "{% from x import y %}",
    ] {
        assert_eq!(code(source), "dynamic-include", "{source}");
    }
    let fault = scan("{% include name %}").expect_err("a variable");
    assert_eq!(fault.message, "`include` needs a quoted name here");
    assert_eq!(fault.range, 11..15);
}

#[test]
fn what_the_parser_refuses_is_left_to_it() {
    for source in [
        "{% include %}",
        "{% include 'a' b %}",
        "{{ x",
        "{% if",
        "{{ 'x }}",
        "{# x",
        "{% raw %} x",
        "{{ ) }} {{ x }}",
        "{{ x ! }}",
        "{% endif %}{% endif %}",
        "{% %}",
        "{{ }}",
        "{{ '\\",
    ] {
        assert!(scan(source).is_ok(), "{source}");
    }
}

/// The chains that are known to overflow the stack, with this many links.
fn chains(links: usize) -> Vec<(&'static str, String)> {
    let print = |text: String| format!("{{{{ {text} }}}}");
    vec![
        ("-", print(format!("{}1", "-".repeat(links)))),
        ("not", print(format!("{}a", "not ".repeat(links)))),
        ("+", print(format!("{}1", "1+".repeat(links)))),
        ("~", print(format!("{}a", "a~".repeat(links)))),
        ("and", print(format!("{}a", "a and ".repeat(links)))),
        ("%", print(format!("{}a", "a%".repeat(links)))),
        ("<", print(format!("{}a", "1<".repeat(links)))),
        ("**", print(format!("{}1", "1**".repeat(links)))),
        ("|e", print(format!("a{}", "|e".repeat(links)))),
        (".a", print(format!("a{}", ".a".repeat(links)))),
        ("[0]", print(format!("a{}", "[0]".repeat(links)))),
        ("()", print(format!("a{}", "()".repeat(links)))),
        ("is", print(format!("a{}", " is odd".repeat(links)))),
        (
            "if else",
            print(format!("{}a", "a if a else ".repeat(links / 2)) + &" if a".repeat(links % 2)),
        ),
    ]
}

fn elif(links: usize) -> String {
    format!("{{% if a %}}{}{{% endif %}}", "{% elif a %}x".repeat(links))
}

#[test]
fn chains_up_to_the_limit_fit_a_small_stack() {
    for (name, source) in chains(OPERATORS) {
        assert!(scan(&source).is_ok(), "{name}");
        assert_eq!(compile_on_small_stack(source), Ok(()), "{name}");
    }
    assert!(scan(&elif(BRANCHES)).is_ok());
    assert_eq!(compile_on_small_stack(elif(BRANCHES)), Ok(()));
}

#[test]
fn chains_past_the_limit_are_refused() {
    for links in [OPERATORS + 1, OPERATORS * 2, 40_000] {
        for (name, source) in chains(links) {
            assert_eq!(code(&source), "expression-too-long", "{name}");
        }
    }
    assert_eq!(code(&elif(BRANCHES + 1)), "too-many-branches");
    assert_eq!(code(&elif(9_000)), "too-many-branches");
}

#[test]
fn nesting_up_to_the_limit_fits_a_small_stack() {
    let open = "{% if a %}".repeat(BLOCKS - 1) + "{% if a %}" + &"{% elif a %}".repeat(BRANCHES);
    let nots = "not ".repeat(OPERATORS - BRACKETS);
    let deepest = format!(
        "{{{{ {}{nots}a{} }}}}",
        "(".repeat(BRACKETS),
        ")".repeat(BRACKETS)
    );
    let source = open + &deepest + &"{% endif %}".repeat(BLOCKS);
    assert!(scan(&source).is_ok());
    assert_eq!(compile_on_small_stack(source), Ok(()));
    for (left, right) in [
        ("(", ")"),
        ("[", "]"),
        ("a(", ")"),
        ("{1:", "}"),
        ("a[", "]"),
    ] {
        let nest =
            |depth: usize| format!("{{{{ {}1{} }}}}", left.repeat(depth), right.repeat(depth));
        assert_eq!(compile_on_small_stack(nest(BRACKETS)), Ok(()), "{left}");
        assert_eq!(code(&nest(BRACKETS + 1)), "nesting-too-deep", "{left}");
    }
    for (left, right) in [
        ("{% if a %}", "{% endif %}"),
        ("{% for b in a %}", "{% endfor %}"),
        ("{% with b = 1 %}", "{% endwith %}"),
        ("{% set b %}", "{% endset %}"),
        ("{% filter upper %}", "{% endfilter %}"),
    ] {
        let nest = |depth: usize| left.repeat(depth) + &right.repeat(depth);
        assert!(scan(&nest(BLOCKS)).is_ok(), "{left}");
        assert_eq!(compile_on_small_stack(nest(BLOCKS)), Ok(()), "{left}");
        assert_eq!(code(&nest(BLOCKS + 1)), "nesting-too-deep", "{left}");
    }
}

#[test]
fn branches_of_nested_blocks_are_counted_together() {
    let one = "{% if a %}".to_owned() + &"{% elif a %}".repeat(BRANCHES);
    let source = one.repeat(BLOCKS) + &"{% endif %}".repeat(BLOCKS);
    assert_eq!(code(&source), "nesting-too-deep");
    let beside = (one + "{% endif %}").repeat(BLOCKS * 2);
    assert!(scan(&beside).is_ok());
}

#[test]
fn long_lists_and_many_arguments_are_fine() {
    let list = vec!["-1"; 3_000].join(", ");
    assert!(scan(&format!("{{% set a = [{list}] %}}")).is_ok());
    assert!(
        scan(&format!(
            "{{% set a = {{{}}} %}}",
            vec!["'a': -1"; 3_000].join(", ")
        ))
        .is_ok()
    );
}

#[test]
fn operations_are_counted() {
    let found =
        scan("{{ x|upper|lower }}{% if x == 'a' and y is defined %}{% endif %}").expect("ok");
    assert_eq!(found.operations, 4);
}
