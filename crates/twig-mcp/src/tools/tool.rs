//! A tool: its description for models, its schema, and its function.

use twig_core::store::ItemKind;

use super::expand::PromptForm;
use crate::json::{self, Object};

/// A tool.
#[derive(Debug)]
pub(super) struct Tool {
    pub(super) name: &'static str,
    /// A name for people.
    pub(super) title: &'static str,
    /// The description for models, with [`TRIGGER`] and [`TRIGGER_WORD`] in it.
    pub(super) description: &'static str,
    pub(super) parameters: &'static [Parameter],
    /// True if unknown arguments are refused.
    pub(super) is_strict: bool,
    /// The JSON Schema of its structured content; `None` if it has none.
    pub(super) output: Option<&'static str>,
    pub(super) does: Does,
}

/// Placeholder for the prefix that users write before a command.
pub(super) const TRIGGER: &str = "{trigger}";
/// Placeholder for the same as a word.
pub(super) const TRIGGER_WORD: &str = "{trigger word}";

/// What a tool does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Does {
    ListPrompts,
    ExpandPrompt(PromptForm),
    Search,
    Write(ItemKind, Verb),
    ReadResource,
    ListResources,
    GetPrompt,
    History,
    Restore,
    Label,
}

/// What a tool does to a prompt or resource of the project.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verb {
    Create,
    Update,
    Delete,
    Restore,
}

/// An argument of a tool.
#[derive(Debug)]
pub(super) struct Parameter {
    pub(super) name: &'static str,
    pub(super) description: &'static str,
    pub(super) takes: Takes,
    pub(super) is_required: bool,
}

/// The type of an argument.
#[derive(Debug, Clone, Copy)]
pub(super) enum Takes {
    Text,
    /// Text of at most this many characters.
    Line(usize),
    /// A whole number: minimum, maximum if there is one, and default.
    Number(u64, Option<u64>, Option<u64>),
    Choice(&'static [&'static str]),
}

impl Tool {
    /// True if it changes anything.
    pub(super) fn writes(&self) -> bool {
        self.verb().is_some() || self.does == Does::Label
    }

    /// True if there has to be a project that it reads or changes.
    pub(super) fn needs_project(&self) -> bool {
        !matches!(
            self.does,
            Does::ListPrompts | Does::ExpandPrompt(_) | Does::Search
        )
    }

    /// True if a server offers it that may write, or not, and that has a project, or not.
    pub(super) fn is_offered(&self, writes: bool, has_project: bool) -> bool {
        (has_project || !self.needs_project()) && (writes || !self.writes())
    }

    fn verb(&self) -> Option<Verb> {
        match self.does {
            Does::Write(_, verb) => Some(verb),
            Does::Restore => Some(Verb::Restore),
            _ => None,
        }
    }

    /// The sentence after its description if there are many prompts.
    fn with_many_prompts(&self) -> &'static str {
        match self.does {
            Does::ListPrompts => {
                " This server has more than 50 prompts: call search with the user's own words first, and list all prompts only if it finds none that fits."
            }
            Does::Search => {
                " This server has more than 50 prompts: call this tool first, before list_prompts."
            }
            _ => "",
        }
    }

    /// Hints for Claude Code, which otherwise loads no tool before a model searches for it, and
    /// saves long results to a file instead of showing them.
    fn hints(&self) -> Option<&'static str> {
        match self.does {
            Does::ExpandPrompt(PromptForm::Plain) => Some(
                r#"{"anthropic/alwaysLoad":true,"anthropic/searchHint":"use a saved prompt, command or skill of the user","anthropic/maxResultSizeChars":200000}"#,
            ),
            Does::ExpandPrompt(PromptForm::Json) => {
                Some(r#"{"anthropic/maxResultSizeChars":200000}"#)
            }
            Does::Search => Some(
                r#"{"anthropic/alwaysLoad":true,"anthropic/searchHint":"find a saved prompt, skill or document of the user by words"}"#,
            ),
            Does::ListPrompts => Some(
                r#"{"anthropic/searchHint":"list the saved prompts, commands and skills of the user"}"#,
            ),
            _ => None,
        }
    }

    /// Writes the members of an item of `tools/list`.
    pub(super) fn write(&self, trigger: &str, has_many_prompts: bool, item: &mut Object<'_>) {
        item.text("name", self.name);
        item.text("title", self.title);
        let mut description = self.description(trigger);
        if has_many_prompts {
            description.push_str(self.with_many_prompts());
        }
        item.text("description", &description);
        item.object("inputSchema", |schema| self.input(schema));
        if let Some(output) = self.output {
            item.raw("outputSchema", output);
        }
        item.object("annotations", |annotations| {
            let verb = self.verb();
            annotations.flag("readOnlyHint", !self.writes());
            let destroys = matches!(verb, Some(Verb::Update | Verb::Delete | Verb::Restore))
                || self.does == Does::Label;
            annotations.flag("destructiveHint", destroys);
            annotations.flag("idempotentHint", verb != Some(Verb::Create));
            annotations.flag("openWorldHint", false);
        });
        if let Some(hints) = self.hints() {
            item.raw("_meta", hints);
        }
    }

    fn description(&self, trigger: &str) -> String {
        let word = match trigger {
            ":" => "colon".to_owned(),
            other => format!("`{other}`"),
        };
        // Insert the trigger last: it is text, whatever it contains.
        let description = self.description.replace(TRIGGER_WORD, &word);
        description.replace(TRIGGER, trigger)
    }

    fn input(&self, schema: &mut Object<'_>) {
        schema.text("type", "object");
        schema.object("properties", |properties| {
            for parameter in self.parameters {
                properties.object(parameter.name, |property| parameter.write(property));
            }
        });
        let required = self.parameters.iter().filter(|it| it.is_required);
        let required: Vec<&str> = required.map(|it| it.name).collect();
        if !required.is_empty() {
            schema.texts("required", required);
        }
        if self.is_strict {
            schema.flag("additionalProperties", false);
        }
    }
}

impl Parameter {
    fn write(&self, property: &mut Object<'_>) {
        let kind = match self.takes {
            Takes::Number(..) => "integer",
            _ => "string",
        };
        property.text("type", kind);
        property.text("description", self.description);
        match self.takes {
            Takes::Text => {}
            Takes::Line(most) => property.number("maxLength", most as i128),
            Takes::Number(least, most, default) => {
                property.number("minimum", least);
                for (word, number) in [("maximum", most), ("default", default)] {
                    if let Some(number) = number {
                        property.number(word, number);
                    }
                }
            }
            Takes::Choice(choices) => property.list("enum", choices, |buffer, choice| {
                json::text(buffer, choice);
            }),
        }
    }
}
