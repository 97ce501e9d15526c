//! What `check` reports: all that a render would refuse, where it is, and nothing else.

use std::sync::Arc;

use twig_core::check::check;
use twig_core::model::LibraryAbout;
use twig_core::template::Templates;
use twig_core::{
    BodyError, Catalog, Content, Dialect, Library, LibraryKind, LibraryName, LibraryOrigin, Limits,
    MessageSource, ProblemCode, Prompt, PromptName, RelativePath, Role,
};
use twig_core::{Latest, World};
use twig_testkit::{MemoryFiles, assert_linear};

use crate::template::{Case, read_fixture};

/// What is reported of a template with an argument `x`, without its path.
fn problems(template: &str) -> Vec<String> {
    let case = Case::new(
        &format!("{template}{{# {{{{ x }}}} #}}"),
        &[("x", Some("1"))],
    );
    let problems = case.problems().into_iter();
    problems
        .filter(|problem| !problem.contains("[unused-argument]"))
        .map(|problem| problem.replace("lib/prompts/main.md:", ""))
        .collect()
}

#[test]
fn an_unknown_filter_is_found_where_it_is_written() {
    let expected = "1:8: error[unknown-filter]: unknown filter `uper`; did you mean `upper`?";
    assert_eq!(problems("{{ x | uper }}"), [expected]);
    for (source, expected) in [
        ("{% filter uper %}a{% endfilter %}", "1:11: uper"),
        ("{% filter upper|uper %}a{% endfilter %}", "1:17: uper"),
        ("{% set a | uper %}b{% endset %}{{ a }}", "1:12: uper"),
        ("{% if false %}{{ x|nosuch }}{% endif %}", "1:20: nosuch"),
        (
            "{{ [x|upper, x|first_of(x|uper)] }}",
            "1:16: first_of|1:27: uper",
        ),
        ("{{ x|a . b }}", "1:6: a.b"),
        ("{{ x|uper }}{{ x|uper }}", "1:6: uper"),
        (
            "{% for a in x|uper if a|lwr %}{% endfor %}",
            "1:15: uper|1:25: lwr",
        ),
        ("{% macro m(a=x|uper) %}{% endmacro %}", "1:16: uper"),
        ("{% with a=x|uper %}{% endwith %}", "1:13: uper"),
    ] {
        let found: Vec<String> = problems(source)
            .iter()
            .map(|problem| problem.replace("error[unknown-filter]: unknown filter ", ""))
            .map(|problem| problem.replace('`', ""))
            .map(|problem| problem.split(';').next().unwrap_or_default().to_owned())
            .collect();
        assert_eq!(found.join("|"), expected, "{source}");
    }
}

#[test]
fn an_unknown_test_is_found_where_it_is_written() {
    let expected = "1:9: error[unknown-test]: unknown test `definde`; did you mean `defined`?";
    assert_eq!(problems("{{ x is definde }}"), [expected]);
    let expected = "1:16: error[unknown-test]: unknown test `nosuchtest`";
    assert_eq!(
        problems("{% if x is not nosuchtest(1) %}{% endif %}"),
        [expected]
    );
}

#[test]
fn names_of_filters_and_tests_in_arguments_are_looked_up() {
    for (source, expected) in [
        (
            "{{ x|map('uper')|list }}",
            "1:11: error[unknown-filter]: unknown filter `uper`",
        ),
        (
            "{{ x|select('od')|list }}",
            "1:14: error[unknown-test]: unknown test `od`",
        ),
        (
            "{{ x|reject(\"od\", 1)|list }}",
            "1:14: error[unknown-test]: unknown test `od`",
        ),
        (
            "{{ x|selectattr('a', 'od') }}",
            "1:23: error[unknown-test]: unknown test `od`",
        ),
    ] {
        let found = problems(source);
        assert!(
            found.len() == 1 && found[0].starts_with(expected),
            "{source}: {found:?}"
        );
    }
    for source in [
        "{{ x|map(attribute='uper')|map('replace', 'a', 'b')|map(x)|map('up' ~ 'per')|list }}",
        "{{ x|select|select('>', 1)|selectattr('nosuch')|selectattr('a.b', '==', 1)|list }}",
        "{{ x|replace('uper', 'od')|map('\\x75pper')|list }}",
    ] {
        assert_eq!(problems(source), Vec::<String>::new(), "{source}");
    }
}

#[test]
fn blocks_see_what_their_template_sets_later() {
    let child = "{% extends 'base' %}{% block a %}{{ v }}{{ w() }}{% endblock %}{% set v = 1 %}\
        {% macro w() %}2{% endmacro %}";
    let case = Case::new(child, &[]).with(
        "lib:prompts/base.md",
        Ok("<{% block a %}{% endblock %}{{ v }}>"),
    );
    assert_eq!(case.text(), "<121>");
    assert_eq!(case.problems(), Vec::<String>::new());
}

#[test]
fn an_unknown_function_is_no_variable() {
    let expected = "1:4: error[unknown-function]: unknown function `rnage`; did you mean `range`?";
    assert_eq!(problems("{{ rnage(3) }}"), [expected]);
    let expected = "1:4: error[unknown-function]: unknown function `nofunc`; \
        define it with `{% macro %}`, or import it";
    assert_eq!(problems("{{ nofunc() }}"), [expected]);
    for source in [
        "{% do nofunc() %}",
        "{% call nofunc() %}{% endcall %}",
        "{{ x ~ lipsum(1) }}",
    ] {
        let found = problems(source);
        assert!(
            found.len() == 1 && found[0].contains("unknown-function"),
            "{found:?}"
        );
    }
    let method = problems("{{ nofunc.go() }}");
    assert!(method[0].contains("error[unknown-variable]"), "{method:?}");
}

#[test]
fn what_exists_is_not_reported() {
    for source in [
        "{% for a in [1] recursive %}{{ loop([1]) if false }}{{ loop.cycle(1, 2) }}{% endfor %}",
        "{% macro m(a, b=a) %}{{ caller() }}{{ b }}{% endmacro %}{% call m(1) %}c{% endcall %}",
        "{% macro m() %}{{ caller(1) }}{% endmacro %}{% call(y, z=2) m() %}{{ y }}{{ z }}{% endcall %}",
        "{% macro a() %}{{ b() }}{{ late }}{% endmacro %}{% macro b() %}{% endmacro %}\
         {% set late = 1 %}{{ a() }}",
        "{% block q %}{% endblock %}{{ self.q() }}",
        "{% set ns = namespace(n=0) %}{% for i in range(3) %}{% set ns.n = ns.n + i %}{% endfor %}\
         {{ ns.n }}{{ dict(k=1).k }}",
        "{% if x %}{% set y = 1 %}{% else %}{% set y = 2 %}{% endif %}{{ y }}",
        "{% set f = range %}{{ f(2) }}",
        "{{ x is defined and x is not none and x is eq 1 or x is in [1] or x is divisibleby 3 }}",
        "{{ x is string }}{{ x is equalto 1 }}{{ x is not sameas none }}{{ 'upper' is filter }}",
        "{{ x|default('a')|d('b')|tojson|e|items if x not in ['a'] else x|map('upper')|list }}",
        "{% set (a, b), c = [[1, 2], 3] %}{{ a }}{{ b }}{{ c }}",
        "{% with a = 1, (b, c) = [1, 2], d = a %}{{ a }}{{ b }}{{ c }}{{ d }}{% endwith %}",
        "{% for k, v in {'a': 1}|items if v > 0 %}{{ k }}{{ v }}{% else %}{{ x }}{% endfor %}",
        "{{ x.is.filter|upper }}{{ {'is': 1}['is'] }}{{ x[1:2] }}",
        "{% raw %}{{ x|uper }}{% endraw %}{# {{ x|uper }} #}",
        "{{ '|uper is nosuch' }}",
        "{% if f is defined %}{{ f() }}{% endif %}",
    ] {
        assert_eq!(problems(source), Vec::<String>::new(), "{source}");
    }
}

#[test]
fn an_unknown_variable_is_shown_where_nothing_binds_it() {
    for (source, place) in [
        ("{% for k in [1] %}{{k}}{% endfor %}{{ k }}", "1:39"),
        (
            "{% for k in [1] if k %}{{k}}{% else %}{{ k }}{% endfor %}",
            "1:42",
        ),
        ("{% for k in k %}{{k}}{% endfor %}", "1:13"),
        ("{% with q=1 %}{{q}}{% endwith %}{{ q }}", "1:36"),
        ("{% with q=q %}{{q}}{% endwith %}", "1:11"),
        ("{% macro m(p) %}{{p}}{% endmacro %}{{ p }}", "1:39"),
        ("{{ s }}{% set s = 1 %}{{ s }}", "1:4"),
        (
            "{% for a in [1] %}{% set s = a %}{{s}}{% endfor %}{{ s }}",
            "1:54",
        ),
        (
            "{% block b %}{% set s = 1 %}{{s}}{% endblock %}{{ s }}",
            "1:51",
        ),
        (
            "{% for k in [1] %}{% if k %}{% for k in [2] %}{{k}}{% endfor %}{{k}}{% endif %}\
          {% endfor %}{{ k }}",
            "1:95",
        ),
        ("{{ nope[1:] }}", "1:4"),
        ("{{ dict(nope=1) }}{{ x.nope }}{{ x ~ nope }}", "1:38"),
    ] {
        let found = problems(source);
        assert_eq!(found.len(), 1, "{source}: {found:?}");
        let expected = format!("{place}: error[unknown-variable]");
        assert!(found[0].starts_with(&expected), "{source}: {found:?}");
    }
}

#[test]
fn an_argument_that_is_only_sliced_is_used() {
    let case = Case::new("{{ x[1:] }}", &[("x", Some("ab"))]);
    assert_eq!(case.problems(), Vec::<String>::new());
}

#[test]
fn a_variable_of_an_included_file_names_the_prompt_that_includes_it() {
    let case = Case::new("{% include 'part' %}", &[]).with("lib:prompts/part.md", Ok("{{ z }}"));
    assert_eq!(
        case.problems(),
        [
            "lib/prompts/part.md:1:4: error[unknown-variable]: `z` is used but not declared by \
          `lib:main`, which includes this file; declare it in [[prompts.main.arguments]] of that \
          library's twig.toml"
        ]
    );
    let case = Case::new(
        "{{ q }}{% if z is defined %}{% include 'part' %}{% endif %}",
        &[],
    )
    .with("lib:prompts/part.md", Ok("{{ z }}"));
    assert_eq!(
        case.problems(),
        [
            "lib/prompts/main.md:1:4: error[unknown-variable]: `q` is used but not declared; \
          declare it in [[prompts.main.arguments]]"
        ]
    );
}

#[test]
fn a_mistake_in_an_included_file_is_reported_once() {
    let library = library(&["one", "two.x"], "{% include 'part.md' %}");
    let found = report(library, "{{ 1|uper }}{{ z }}");
    assert_eq!(
        found,
        [
            "/lib/part.md:1:6: error[unknown-filter]: unknown filter `uper`; did you mean `upper`?",
            "/lib/part.md:1:16: error[unknown-variable]: `z` is used but not declared by `lib:one`, \
             which includes this file; declare it in [[prompts.one.arguments]] of that library's \
             twig.toml",
            "/lib/part.md:1:16: error[unknown-variable]: `z` is used but not declared by \
             `lib:two.x`, which includes this file; declare it in [[prompts.\"two.x\".arguments]] \
             of that library's twig.toml",
        ]
    );
}

#[test]
fn thousands_of_prompts_are_checked_in_linear_time() {
    let prompts = |count: usize| {
        let names: Vec<String> = (0..count).map(|at| format!("p{at:05}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        (count, library(&names, "{% include 'part.md' %}{{ nope }}"))
    };
    assert_linear("prompts", 1_000, prompts, |(count, library)| {
        let found = report(library.clone(), "{{ 1|uper }}{{ z }}");
        assert_eq!(found.len(), 2 * count + 1);
    });
}

/// Whatever renders is not reported.
#[test]
fn fixtures_that_render_have_no_errors() {
    insta::glob!("../fixtures/templates", "*.txt", |path| {
        let fixture = std::fs::read_to_string(path).expect("the fixture can be read");
        let case = read_fixture(&fixture);
        let errors: Vec<String> = case.problems();
        let errors: Vec<_> = errors.iter().filter(|e| e.contains(": error[")).collect();
        if case.render().1.is_ok() {
            assert!(errors.is_empty(), "{}: {errors:?}", path.display());
        }
    });
}

/// What fails for its names alone is reported, and what is reported fails or is not reached.
#[test]
fn names_that_fail_a_render_are_reported() {
    for name in [
        "unknown_filter",
        "unknown_function",
        "unknown_test",
        "undeclared",
        "undeclared_iterated",
    ] {
        let path = format!(
            "{}/tests/fixtures/templates/err_{name}.txt",
            env!("CARGO_MANIFEST_DIR")
        );
        let fixture = std::fs::read_to_string(path).expect("the fixture can be read");
        let errors = read_fixture(&fixture).problems();
        assert!(
            errors.iter().any(|e| e.contains("error[un")),
            "{name}: {errors:?}"
        );
    }
}

/// A library of prompts that all have one text.
fn library(names: &[&str], text: &str) -> (Library, String) {
    let prompts = names.iter().map(|name| Prompt {
        name: PromptName::parse(name).expect("a name"),
        full_name: format!("lib:{name}").into(),
        title: None,
        description: None,
        arguments: Vec::new().into(),
        messages: vec![MessageSource {
            role: Role::User,
            content: Content::File(RelativePath::parse(&format!("{name}.md")).expect("a path")),
        }],
        dialect: Dialect::Jinja,
        unavailable: None,
        written: None,
    });
    let library = Library {
        name: LibraryName::from_folder("lib").expect("a name"),
        kind: LibraryKind::Twig,
        origin: LibraryOrigin::Folder,
        root: "/lib".into(),
        shown_root: "~/lib".into(),
        about: LibraryAbout::default(),
        prompts: prompts.map(Arc::new).collect(),
        old_names: std::collections::BTreeMap::new(),
        skills: Vec::new(),
        documents: Vec::new(),
        templates: Vec::new(),
        problems: Vec::new(),
        state: 0,
        documents_beside: None,
        function_sources: Vec::new(),
        package: None,
        listing: twig_core::ListingRules::default(),
        loaded_by: Vec::new(),
        labelled: Vec::new(),
        shell_lines: twig_core::model::ShellLines::default(),
        workspace: None,
    };
    (library, text.to_owned())
}

/// The text of every prompt, and that of `part.md`.
fn two_texts(text: String, part: &str) -> MemoryFiles {
    let mut files = MemoryFiles::with_others(move |path| match path {
        path if path.starts_with("prompts/") => Err(BodyError::NotFound),
        _ => Ok(text.clone().into_bytes()),
    });
    files.insert("part.md", part);
    files
}

fn report((library, text): (Library, String), part: &str) -> Vec<String> {
    let world = World {
        catalog: &Latest::from(Catalog::build([Arc::new(library)])),
        bodies: &two_texts(text, part),
        templates: &Templates::new(Limits::default()),
    };
    let problems = check(world).into_iter();
    problems.map(|problem| problem.to_string()).collect()
}

#[test]
fn every_code_is_described_and_nothing_else() {
    let page = include_str!("../../../../docs/problems.md");
    let described = page.lines().filter_map(|line| line.strip_prefix("| `"));
    let described: Vec<&str> = described.filter_map(|it| it.split('`').next()).collect();
    let codes: Vec<&str> = ProblemCode::ALL.iter().map(|code| code.as_str()).collect();
    assert_eq!(described, codes);
    assert!(codes.is_sorted());
}
