//! Prompt functions: programs that print a prompt. Other crates run them; this module defines their
//! input and checks their output.

mod output;

use std::sync::Arc;

use serde_json::Value;

use self::output::read_text;
pub use self::output::{Finished, read_output};
use crate::catalog::PromptRef;
use crate::limits::Limits;
use crate::model::{Function, Library};
use crate::render_error::RenderError;

/// A program to be run for one request.
#[derive(Debug, Clone, PartialEq)]
pub struct FunctionCall {
    /// The prompt's full name.
    pub prompt: Box<str>,
    /// The prompt's own name.
    pub name: Box<str>,
    /// The library that the program belongs to, whose folder it works in.
    pub library: Arc<Library>,
    /// What to run.
    pub function: Function,
    /// Its standard input: one line of JSON, `{"name": …, "arguments": {…}}`.
    pub input: String,
    /// How long it may take.
    pub millis: u64,
    /// How many bytes it may print.
    pub output: usize,
}

/// The result of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FunctionOutcome {
    /// It succeeded and printed this.
    Printed(Vec<u8>),
    /// It succeeded, and what it printed is the text of the prompt.
    PrintedText(Vec<u8>),
    /// It failed; the text follows "The function of prompt `…` ".
    Failed(String),
    /// It was not run at all: a whole sentence.
    Refused(String),
}

impl FunctionCall {
    pub(crate) fn new<'a>(
        found: PromptRef<'_>,
        function: &Function,
        arguments: impl Iterator<Item = (&'a str, &'a str)>,
        limits: &Limits,
    ) -> Self {
        // In the author's order, which a map of values would lose.
        let pairs: Vec<String> = arguments
            .map(|(name, value)| format!("{}:{}", Value::from(name), Value::from(value)))
            .collect();
        let name = Value::from(found.prompt.name.as_str());
        let arguments = pairs.join(",");
        Self {
            prompt: found.prompt.full_name.clone(),
            name: found.prompt.name.as_str().into(),
            library: Arc::clone(found.library),
            function: function.clone(),
            input: format!("{{\"name\":{name},\"arguments\":{{{arguments}}}}}\n"),
            millis: limits.function_millis,
            output: limits.function_output,
        }
    }
}

/// Shorter values are ordinary words, and are not hidden.
const SHORT: usize = 4;

impl FunctionCall {
    /// The output of a program for logs and errors, without the values of the arguments: those are
    /// private.
    pub fn without_values(&self, said: &str) -> String {
        let told: Value = serde_json::from_str(&self.input).unwrap_or_default();
        let arguments = told["arguments"].as_object();
        let values = arguments
            .into_iter()
            .flat_map(|arguments| arguments.values());
        let values = values.filter_map(Value::as_str);
        let mut values: Vec<&str> = values.filter(|value| value.len() >= SHORT).collect();
        // Longest first, as one may be part of another.
        values.sort_by_key(|value| std::cmp::Reverse(value.len()));
        let mut said = said.to_owned();
        for value in values {
            // Both as it is, and as JSON writes it.
            let written = Value::from(value).to_string();
            let written = written.get(1..written.len() - 1).unwrap_or_default();
            said = said.replace(value, "…").replace(written, "…");
        }
        said
    }
}

/// Turns the result of a call into messages, or into an error that says what went wrong.
pub fn finish(prompt: &str, outcome: FunctionOutcome) -> Result<Finished, RenderError> {
    let failed =
        |what: String| RenderError::Function(format!("The function of prompt `{prompt}` {what}"));
    let misprinted = |what: String| RenderError::FunctionOutput {
        prompt: prompt.into(),
        what,
    };
    match outcome {
        FunctionOutcome::Printed(bytes) => read_output(&bytes).map_err(misprinted),
        FunctionOutcome::PrintedText(bytes) => read_text(bytes).map_err(misprinted),
        FunctionOutcome::Failed(what) => Err(failed(what)),
        FunctionOutcome::Refused(sentence) => Err(RenderError::Function(sentence)),
    }
}
