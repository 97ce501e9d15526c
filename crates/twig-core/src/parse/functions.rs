//! `prompts.json`: prompts whose messages the bash functions of `prompts.bash` print.
//!
//! A mistake in one prompt makes that prompt unavailable and does not affect the others.

use std::collections::BTreeSet;
use std::fmt;

use super::TOLD;
use super::library::LibraryRoot;
use super::located::{At, LocatedError, LocatedMembers};
use crate::argument::Argument;
use crate::body::{BodyError, FileRole};
use crate::depth;
use crate::hidden::{self, TextPlace};
use crate::limits::Limits;
use crate::model::{Content, Dialect, Function, MessageSource, Prompt, Role};
use crate::name::{NAME_LIMIT, PromptName, RelativePath};
use crate::problem::{Problem, ProblemCode, Severity};
use crate::suggest;

/// The list of prompts, which identifies such a library.
pub const LIST: &str = "prompts.json";
/// The script with their functions.
pub const SCRIPT: &str = "prompts.bash";

/// The files of such a library, as a source read them.
#[derive(Debug)]
pub struct FunctionFiles<'f> {
    /// The text of `prompts.json`.
    pub list: &'f str,
    /// The text of `prompts.bash`.
    pub script: Result<&'f str, &'f BodyError>,
    /// The prefix of its functions' names.
    pub prefix: &'f str,
}

/// Reads prompts from the list.
pub(super) struct FunctionListReader<'r> {
    pub(super) folder: &'r LibraryRoot,
    /// The path of `prompts.json`, for problems.
    pub(super) path: String,
    pub(super) files: &'r FunctionFiles<'r>,
    pub(super) limits: &'r Limits,
    pub(super) problems: Vec<Problem>,
    /// How many of them are unknown fields; counted separately, so that these hide no error.
    pub(super) unknown_fields: usize,
}

impl FunctionListReader<'_> {
    /// Reads the whole list; an error if none of it can be read.
    pub(super) fn read(&mut self, script: &RelativePath) -> Result<Vec<Prompt>, Box<Problem>> {
        let list = self.files.list;
        let wrong = |at: usize, why: &dyn fmt::Display| {
            let message = format!("{LIST} is not valid JSON: {why}");
            let (code, severity) = (ProblemCode::ManifestSyntax, Severity::Error);
            Box::new(Problem::at(
                code,
                severity,
                &self.path,
                list,
                at..at + 1,
                message,
            ))
        };
        depth::json(list).map_err(|error| wrong(error.at, &error))?;
        let value = serde_json::from_str(list).map_err(|error| {
            let before = list.split_inclusive('\n');
            let before = before.take(error.line().saturating_sub(1));
            let at = before.map(str::len).sum::<usize>() + error.column().saturating_sub(1);
            wrong(at, &error)
        })?;
        let root = At::root(&value);
        let entries = match root.object() {
            Ok(members) => {
                self.unknown(&members, &["prompts"]);
                members.need("prompts").and_then(|prompts| prompts.list())
            }
            Err(_) if root.value.is_array() => root.list(),
            Err(_) => Err(root.expected("a list of prompts, or an object with `prompts`")),
        };
        let entries =
            entries.map_err(|mistake| Box::new(self.problem(ProblemCode::WrongType, mistake)))?;
        if let Err(error) = self.files.script {
            let path = self.folder.path_of(SCRIPT);
            let shown = self.folder.shown_path_of(SCRIPT);
            let problem = error.problem(FileRole::Functions, &path, &shown);
            self.problems.push(problem);
        }
        let mut names = BTreeSet::new();
        let mut prompts = Vec::with_capacity(entries.len());
        for entry in &entries {
            match self.named(entry, script) {
                Ok(prompt) if names.insert(prompt.name.clone()) => prompts.push(prompt),
                Ok(prompt) => {
                    let path = entry.path_or(LIST);
                    let mistake = format!("`{path}` has the name `{}` again", prompt.name);
                    self.error(ProblemCode::DuplicatePrompt, mistake);
                }
                Err(mistake) => self.error(ProblemCode::BadName, mistake),
            }
        }
        prompts.sort_by(|one, two| one.name.cmp(&two.name));
        Ok(prompts)
    }

    /// A prompt, if it has a name.
    fn named(&mut self, entry: &At<'_>, script: &RelativePath) -> Result<Prompt, LocatedError> {
        let members = entry.object()?;
        let at = members.need("name")?;
        let name = PromptName::parse(at.text()?)
            .map_err(|error| format!("`{}` {error}", at.path_or("name")))?;
        let mut prompt = Prompt {
            full_name: name.as_str().into(),
            name,
            title: None,
            description: None,
            arguments: Vec::new().into(),
            messages: Vec::new(),
            dialect: Dialect::Function,
            unavailable: None,
            written: None,
        };
        if let Err(mistake) = self.fill(&mut prompt, &members, script) {
            let refusal = mistake.as_str().into();
            self.error(ProblemCode::BadPrompt, mistake);
            prompt.unavailable = Some(refusal);
        } else if let Err(error) = self.files.script {
            let sentence = format!(
                "Prompt `{}` needs its script: {SCRIPT} {error}",
                prompt.name
            );
            prompt.unavailable = Some(sentence.into());
        }
        Ok(prompt)
    }

    fn fill(
        &mut self,
        prompt: &mut Prompt,
        members: &LocatedMembers<'_>,
        script: &RelativePath,
    ) -> Result<(), LocatedError> {
        self.unknown(members, &["name", "title", "description", "arguments"]);
        prompt.title = members.maybe_text("title")?.map(Into::into);
        prompt.description = members.maybe_text("description")?.map(Into::into);
        if let Some(arguments) = members.maybe("arguments") {
            prompt.arguments = self.arguments(&arguments)?.into();
        }
        let function = self.function(&prompt.name)?;
        if let Ok(text) = self.files.script
            && !text.contains(&function)
        {
            let message = format!("{SCRIPT} does not have the function `{function}`");
            let path = self.folder.path_of(SCRIPT);
            let problem = Problem::of_file(
                ProblemCode::MissingFunction,
                Severity::Warning,
                &path,
                message,
            );
            let help = format!("write `{function}() {{ … }}`");
            self.problems.push(problem.with_help(help));
        }
        prompt.messages.push(MessageSource {
            role: Role::User,
            content: Content::Function(Function::Bash {
                script: script.clone(),
                function: function.into(),
            }),
        });
        Ok(())
    }

    /// The bash function of a prompt: in POSIX mode, bash names have no `-`.
    fn function(&self, name: &PromptName) -> Result<String, LocatedError> {
        let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
        if !name.as_str().chars().all(fits) {
            return Err(format!(
                "prompt `{name}` has no function: its name may only have letters a to z, digits, `_` and `-`"
            ));
        }
        Ok(format!(
            "{}{}",
            self.files.prefix,
            name.as_str().replace('-', "_")
        ))
    }

    fn arguments(&mut self, at: &At<'_>) -> Result<Vec<Argument>, LocatedError> {
        let entries = at.list()?;
        if entries.len() > self.limits.arguments {
            let path = at.path_or("arguments");
            let (count, limit) = (entries.len(), self.limits.arguments);
            return Err(format!(
                "`{path}` has {count} entries; the limit is {limit}"
            ));
        }
        let mut arguments: Vec<Argument> = Vec::with_capacity(entries.len());
        for entry in &entries {
            let members = entry.object()?;
            self.unknown(&members, &["name", "title", "description", "required"]);
            let name = members.need("name")?;
            let text = name.text()?;
            if text.is_empty() || text.len() > NAME_LIMIT || text.contains(char::is_control) {
                return Err(name.expected("one line of 1 to 128 bytes"));
            }
            if let Some(found) = hidden::find(text, TextPlace::Label) {
                return Err(format!("`{}` {found}", name.path_or("name")));
            }
            if arguments.iter().any(|known| *known.name == *text) {
                return Err(format!("`{}` is declared twice", name.path_or("name")));
            }
            let required = match members.maybe("required") {
                None => false,
                Some(at) => at
                    .value
                    .as_bool()
                    .ok_or_else(|| at.expected("true or false"))?,
            };
            arguments.push(Argument {
                name: text.into(),
                description: members.maybe_text("description")?.map(Into::into),
                required,
                ..Argument::default()
            });
        }
        Ok(arguments)
    }

    /// Reports unknown members: most likely they are misspelt.
    fn unknown(&mut self, members: &LocatedMembers<'_>, known: &[&str]) {
        for path in members.others(known) {
            if self.unknown_fields >= TOLD {
                return;
            }
            self.unknown_fields += 1;
            let key = path.rsplit('.').next().unwrap_or_default();
            let help = suggest::did_you_mean(key, known.iter().copied());
            let message = format!("unknown field `{path}` is ignored");
            let problem = Problem::of_file(
                ProblemCode::UnknownField,
                Severity::Warning,
                &self.path,
                message,
            );
            self.problems.push(Problem { help, ..problem });
        }
    }

    fn error(&mut self, code: ProblemCode, mistake: LocatedError) {
        let problem = self.problem(code, mistake);
        self.problems.push(problem);
    }

    fn problem(&self, code: ProblemCode, mistake: LocatedError) -> Problem {
        Problem::of_file(code, Severity::Error, &self.path, mistake)
    }
}
