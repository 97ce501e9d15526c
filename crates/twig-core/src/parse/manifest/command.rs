//! `command`: a program of the library that makes a prompt's messages.

use super::fields::ManifestFields;
use super::{Manifest, UnavailablePrompt};
use crate::body::FileRole;
use crate::model::{Content, Function, MessageSource, OutputForm, Role};
use crate::name::RelativePath;
use crate::parse::toml::{TomlItem, TomlValue};
use crate::problem::ProblemCode;

/// The maximum number of words in a command.
const WORDS: usize = 64;

/// How a program of the system is started.
const OWN_SCRIPT: &str = "name a script of the library, as in command = [\"./bin/NAME\"]; the script can start any program of the system";

/// What to write instead of `["python3", "bin/x.py"]` or `["git", "log"]`.
fn help_with_interpreter(program: &RelativePath, arguments: &[Box<str>]) -> Option<String> {
    let name = program.as_str();
    if name.contains(['/', '.']) {
        return None;
    }
    let first = arguments.first().map(|first| &**first);
    let is_script = |word: &&str| word.contains('/') || word.contains('.');
    Some(match first.filter(is_script) {
        Some(script) => {
            let script = script.strip_prefix("./").unwrap_or(script);
            format!(
                "start {script} with the line `#!/usr/bin/env {name}`, make it executable, and write command = [\"./{script}\"]"
            )
        }
        None => OWN_SCRIPT.to_owned(),
    })
}

/// Fields that only a prompt with a `command` has.
const FOR_COMMANDS: [&str; 4] = ["environment", "network", "output", "read"];

impl Manifest<'_> {
    pub(super) fn command(
        &mut self,
        item: &TomlItem<'_>,
        fields: &mut ManifestFields<'_, '_>,
    ) -> Result<MessageSource, UnavailablePrompt> {
        const EXPECTED: &str = "an array of strings such as [\"./bin/standup\"]";
        let TomlValue::List(words) = &item.value else {
            let refusal = self.wrong_type("command", EXPECTED, item);
            self.help(OWN_SCRIPT.to_owned());
            return Err(refusal);
        };
        let output = self.output(fields)?;
        let grants = Box::new(self.grants(fields)?);
        let Some((first, rest)) = words.split_first() else {
            let message = "`command` is empty; its first word is a file of the library";
            return Err(self.error(
                ProblemCode::BadCommand,
                item.span.clone(),
                message.to_owned(),
            ));
        };
        if words.len() > WORDS {
            let message = format!("`command` has {} words; the limit is {WORDS}", words.len());
            return Err(self.error(ProblemCode::BadCommand, item.span.clone(), message));
        }
        let program = self.path_field("command", first)?;
        let mut arguments: Vec<Box<str>> = Vec::with_capacity(rest.len());
        for word in rest {
            match &word.value {
                TomlValue::Text(text) if text.contains('\0') => {
                    let message = "a word of `command` has a NUL character".to_owned();
                    return Err(self.error(ProblemCode::BadCommand, word.span.clone(), message));
                }
                TomlValue::Text(text) => arguments.push(text.as_ref().into()),
                _ => return Err(self.wrong_type("command", EXPECTED, word)),
            }
        }
        if let Err(error) = self.files.look_program(&program) {
            let shown = self.folder.shown_path_of(&program);
            let problem = error.problem(FileRole::Program, self.path, &shown);
            let message = problem.message.clone();
            self.problems.add_found(problem, first.span.clone());
            if let Some(help) = help_with_interpreter(&program, &arguments) {
                self.help(help);
            }
            return Err(message.into());
        }
        Ok(MessageSource {
            role: Role::User,
            content: Content::Function(Function::Command {
                program,
                arguments,
                grants,
                output,
            }),
        })
    }

    /// `output = "text"`: what the program prints is one user message.
    fn output(
        &mut self,
        fields: &mut ManifestFields<'_, '_>,
    ) -> Result<OutputForm, UnavailablePrompt> {
        match fields.take("output") {
            None => Ok(OutputForm::default()),
            Some(item) => match &item.value {
                TomlValue::Text(text) if text == "json" => Ok(OutputForm::Json),
                TomlValue::Text(text) if text == "text" => Ok(OutputForm::Text),
                TomlValue::Text(_) => {
                    let message = "`output` is \"text\" or \"json\"".to_owned();
                    Err(self.error(ProblemCode::WrongType, item.span.clone(), message))
                }
                _ => Err(self.wrong_type("output", "\"text\" or \"json\"", item)),
            },
        }
    }

    /// Reports fields that say something only about a program.
    pub(super) fn only_for_commands(&mut self, fields: &mut ManifestFields<'_, '_>) {
        for key in FOR_COMMANDS {
            if let Some(item) = fields.take(key) {
                let message = format!("`{key}` is ignored: the prompt has no `command`");
                self.warning(ProblemCode::UnknownField, item.span.clone(), message);
            }
        }
    }
}
