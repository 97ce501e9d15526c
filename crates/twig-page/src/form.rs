//! The fields for the arguments of a prompt.

use maud::{Markup, html};
use twig_core::Argument;

use crate::visible::label;

/// Up to so many choices are radio buttons, more of them a list.
const BUTTONS: usize = 5;

/// The form, one field for each argument.
pub(crate) fn form(arguments: &[Argument], is_completed: impl Fn(&str) -> bool) -> Markup {
    html! {
        form #arguments.fields autocomplete="off" novalidate {
            @if arguments.is_empty() {
                p.faint { "This prompt takes no arguments." }
            }
            @for (at, argument) in arguments.iter().enumerate() {
                (field(at, argument, is_completed(&argument.name)))
            }
        }
    }
}

fn field(at: usize, argument: &Argument, is_completed: bool) -> Markup {
    let id = format!("argument-{at}");
    let about = format!("{id}-about");
    let is_buttons = (1..=BUTTONS).contains(&argument.choices.len());
    let default = argument.default.as_deref();
    let help = html! {
        @if argument.description.is_some() || !rules(argument).is_empty() {
            p.help id=(about) {
                @if let Some(description) = &argument.description { (label(description)) }
                @if !rules(argument).is_empty() {
                    span.rules { (label(&rules(argument))) }
                }
            }
        }
    };
    let name = html! {
        span.mono { (argument.name) }
        @if argument.required { span.required { "required" } }
    };
    if is_buttons {
        return html! {
            fieldset.field data-argument=(argument.name) {
                legend { (name) }
                (help)
                div.choices {
                    @for (choice_at, choice) in argument.choices.iter().enumerate() {
                        label.choice {
                            input type="radio" name=(argument.name) value=(choice)
                                id=(format!("{id}-{choice_at}"))
                                data-default[default == Some(&**choice)];
                            span { (label(choice)) }
                        }
                    }
                    button.quiet.unset type="button" hidden {
                        @if default.is_some() { "use the default" } @else { "choose none" }
                    }
                }
            }
        };
    }
    html! {
        div.field data-argument=(argument.name) {
            label for=(id) { (name) }
            (help)
            @if is_completed {
                input id=(id) name=(argument.name) aria-describedby=(about) list=(format!("{id}-values"))
                    spellcheck="false" placeholder=[default] data-completed;
                datalist id=(format!("{id}-values")) {}
            } @else if argument.choices.is_empty() {
                textarea id=(id) name=(argument.name) rows="1" aria-describedby=(about)
                    spellcheck="false" placeholder=[default] {}
            } @else {
                select id=(id) name=(argument.name) aria-describedby=(about) {
                    option value="" {
                        @if let Some(default) = default { (default) " (default)" } @else { "–" }
                    }
                    @for choice in &argument.choices {
                        option value=(choice) { (choice) }
                    }
                }
            }
        }
    }
}

/// What a value has to keep to, in words.
fn rules(argument: &Argument) -> String {
    let mut rules = Vec::new();
    if let Some(limit) = argument.max_length {
        rules.push(format!("at most {limit} characters"));
    }
    if let Some(pattern) = &argument.pattern {
        rules.push(format!("matches {}", pattern.as_str()));
    }
    if let Some(default) = argument.default.as_deref().filter(|it| !it.is_empty()) {
        rules.push(format!(
            "default {}",
            twig_core::problem::shorten(default, 60)
        ));
    }
    rules.join(" · ")
}
