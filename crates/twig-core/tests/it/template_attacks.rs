//! Templates that mean harm, and what comes of them.

use twig_core::{BodyError, Limits, RenderError};

use crate::template::Case;

/// Attempts at what a template must not reach, from the lists that scanners use.
const INJECTIONS: [&str; 42] = [
    "{{ ''.__class__ }}",
    "{{ ''.__class__.__mro__[1].__subclasses__() }}",
    "{{ x.__class__ }}",
    "{{ x.__init__.__globals__ }}",
    "{{ x['__class__'] }}",
    "{{ x|attr('__class__') }}",
    "{{ ''|attr('\\x5f\\x5fclass\\x5f\\x5f') }}",
    "{{ ()|attr('__class__')|attr('__base__') }}",
    "{{ self }}",
    "{{ self.__init__ }}",
    "{{ self._TemplateReference__context }}",
    "{{ cycler.__init__.__globals__.os.popen('id').read() }}",
    "{{ joiner.__init__ }}",
    "{{ namespace.__init__ }}",
    "{{ lipsum.__globals__['os'].popen('id').read() }}",
    "{{ lipsum(5) }}",
    "{{ env }}",
    "{{ env('HOME') }}",
    "{{ environ['HOME'] }}",
    "{{ config }}",
    "{{ config.items() }}",
    "{{ request.application.__globals__ }}",
    "{{ get_flashed_messages.__globals__ }}",
    "{{ url_for.__globals__ }}",
    "{{ open('/etc/passwd').read() }}",
    "{{ __import__('os').system('id') }}",
    "{{ exec('id') }}",
    "{{ eval('1') }}",
    "{{ debug() }}",
    "{{ dict.__class__ }}",
    "{{ range.__class__ }}",
    "{{ loop }}",
    "{{ super() }}",
    "{{ caller() }}",
    "{% include '/etc/passwd' %}",
    "{% include '../../../etc/passwd' %}",
    "{% include 'C:\\\\windows\\\\win.ini' %}",
    "{% include 'file:///etc/passwd' %}",
    "{% include x %}",
    "{% import '/etc/passwd' as p %}",
    "{% extends '/proc/self/environ' %}",
    "${7*7} #{7*7} <%= 7*7 %> {7*7} @(7*7) *{7*7} ~{7*7}",
];

#[test]
fn injections_fail_with_a_line_or_are_text() {
    let mut shown = Vec::new();
    for source in INJECTIONS {
        let (_, outcome) = Case::new(source, &[("x", Some("value"))]).render();
        let outcome = match outcome {
            Ok(text) => {
                assert_eq!(text, source, "only text may come out");
                "is text".to_owned()
            }
            Err(error) => error.to_string(),
        };
        assert!(
            outcome == "is text" || outcome.contains("line 1"),
            "{source}: {outcome}"
        );
        assert!(!outcome.contains("/secret/"), "{source}: {outcome}");
        shown.push(format!("{source}\n  {outcome}"));
    }
    insta::assert_snapshot!(shown.join("\n"));
}

#[test]
fn a_file_outside_the_library_is_refused_without_its_path() {
    let outside =
        Case::new("{% include 'link.md' %}", &[]).with("lib:link.md", Err(BodyError::Outside));
    assert_eq!(
        outside.error(),
        "Prompt content file ~/lib/link.md points outside the library's folder"
    );
    let other = Case::new("{% include 'other:secret.md' %}", &[])
        .with("lib:secret.md", Ok("of this library"));
    assert_eq!(
        other.error(),
        "Error rendering prompt template at line 1: included template `other:secret.md` not found"
    );
}

#[test]
fn output_stops_at_its_limit() {
    let limit = Limits::default().rendered;
    let value = "x".repeat(Limits::default().argument_value);
    let prints = Case::new(
        &"{{ x }}".repeat(limit / value.len()),
        &[("x", Some(&value))],
    );
    assert_eq!(prints.text().len(), limit);
    for source in [
        "{{x}}".repeat(26_000),
        "{% set a = 1 %}".to_owned() + &"{{x}}".repeat(20_000),
    ] {
        let case = Case::new(&source, &[("x", Some(&value))]);
        assert_eq!(
            case.render().1,
            Err(RenderError::Limit(format!(
                "the rendered prompt exceeds the limit of {limit} bytes"
            )))
        );
    }
}

#[test]
fn steps_stop_at_their_limit() {
    let loops = "{% for a in range(1000) %}{% for b in range(1000) %}{% endfor %}{% endfor %}";
    let steps = "the template needs too many steps; the limit is 200000";
    assert_eq!(Case::new(loops, &[]).error(), steps);
    let part = "{% if x %}{% endif %}".repeat(5_000);
    let plain = Case::new(&"{% include 'part' %}".repeat(40), &[("x", Some("a"))])
        .with("lib:prompts/part.md", Ok(&part));
    let (how, outcome) = plain.render();
    assert_eq!(how, "refused");
    assert_eq!(outcome, Err(RenderError::Limit(steps.to_owned())));
}

#[test]
fn recursion_stops_on_a_small_stack() {
    let work = || {
        for source in [
            "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
            "{% macro m() %}{{ m() }}{{ m() }}{% endmacro %}{{ m() }}",
            "{% for a in [1] recursive %}{{ loop([1]) }}{% endfor %}",
        ] {
            let error = Case::new(source, &[]).error();
            let expected = "the template nests calls too deeply; the limit is 500 frames";
            assert_eq!(error, expected, "{source}");
        }
    };
    std::thread::Builder::new()
        .stack_size(2 * 1024 * 1024)
        .spawn(work)
        .expect("a thread starts")
        .join()
        .expect("no panic");
}

/// The costliest plain template there is: every operation it may have, on the longest value.
#[test]
fn the_worst_plain_template_is_refused() {
    let value = "ŉǰΐ ".repeat(Limits::default().argument_value / 7);
    let values = [("x", Some(value.as_str()))];
    let few = "{% if x|title == 'a' %}{% endif %}".repeat(16);
    assert_eq!(
        Case::new(&few, &values).render(),
        ("plain", Ok(String::new()))
    );
    let many = "{% if x|upper|lower|title|capitalize == 'a' %}{% endif %}".repeat(51);
    let (_, outcome) = Case::new(&many, &values).render();
    assert_eq!(
        outcome,
        Err(RenderError::Limit(
            "the template's filters work on too much text; the limit is 4194304 bytes".to_owned()
        ))
    );
}

#[test]
fn a_constant_past_its_limit_is_a_limit_that_is_named() {
    let (how, outcome) = Case::new("{{ 'x' * 99999999 }}", &[]).render();
    assert_eq!(how, "refused");
    assert_eq!(
        outcome,
        Err(RenderError::Limit(
            "repeated constants in the template exceed the limit of 65536 bytes".to_owned()
        ))
    );
    // Other limits of the scan are about how a template is written.
    let (_, outcome) = Case::new(&format!("{{{{ {}x }}}}", "(".repeat(100)), &[]).render();
    assert!(
        matches!(&outcome, Err(RenderError::Template { sentence, .. }) if sentence.contains("32")),
        "{outcome:?}"
    );
}
