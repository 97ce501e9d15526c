//! Go templates of mcp-prompt-engine: fields are arguments, `_name.tmpl` files are partials.

mod expression;
mod tags;

use self::expression::{Dot, GoScope};
use self::tags::{GoToken, tokens};
use super::draft::ImportDraft;
use super::logic::{self, DEPTH, LogicStep, LogicValue, Test};
use super::turns::{Speaker, fold};
use super::{ImportBatch, ImportItem, SourceFile, stem, wished_name};

/// The endings of the files' names.
const ENDS: [&str; 3] = [".tmpl", ".gotmpl", ".tpl"];

/// Templates that one prompt may include, counting repetitions.
const INLINED: usize = 64;

/// Reads one file; partials are only included in others.
pub(super) fn read(batch: ImportBatch<'_>, file: &SourceFile) -> Vec<ImportItem> {
    let end = end_of(&file.path);
    if stem(&file.path, end).starts_with('_') {
        let why = "a partial: it is included in the prompts that use it";
        return vec![ImportItem::left(&file.path, why)];
    }
    let text = file.text.strip_prefix('\u{feff}').unwrap_or(&file.text);
    let wished = wished_name(&file.path, end);
    let mut draft = ImportDraft::new(&file.path, &wished, text, batch.limits);
    let steps = draft.check_length(batch.limits).and_then(|()| {
        let comment = tokens(text).into_iter().find_map(|token| match token {
            GoToken::Comment(text) => Some(text.trim().to_owned()),
            _ => None,
        });
        draft.description = comment;
        // A file may define a template of its own name: then that is its text.
        let own = tags::defined(text, stem(&file.path, end));
        let own = own.or_else(|| tags::defined(text, stem(&file.path, "")));
        let mut reader = GoTemplateReader {
            batch,
            file,
            changes: &mut draft.changes,
            inlined: 0,
        };
        reader.template(own.as_deref().unwrap_or(text), &GoScope::root(), 0)
    });
    let turns = steps.and_then(|steps| {
        let ImportDraft {
            arguments, changes, ..
        } = &mut draft;
        logic::write(&steps, Speaker::User, arguments, changes)
    });
    match turns {
        Ok(turns) => {
            draft.messages = fold(turns, &mut draft.changes);
            if draft.arguments.is_used("date") {
                let change = "`date` is not filled in with the day: it is an argument";
                draft.changes.push(change.to_owned());
                draft
                    .arguments
                    .describe("date", "The date, such as that of today");
            }
        }
        Err(why) => draft.keep_as_it_is(&why, batch.limits),
    }
    vec![draft.finish(batch.limits)]
}

/// The ending of this file's name.
pub(super) fn end_of(path: &str) -> &'static str {
    let found = ENDS.into_iter().find(|end| path.ends_with(end));
    found.unwrap_or_default()
}

struct GoTemplateReader<'r> {
    batch: ImportBatch<'r>,
    file: &'r SourceFile,
    changes: &'r mut Vec<String>,
    inlined: usize,
}

/// How a list of steps ended.
enum GoListEnd<'t> {
    Source,
    /// `{{end}}`
    Block,
    /// `{{else}}`, and what follows in its tag.
    Else(&'t str),
}

impl GoTemplateReader<'_> {
    fn template(
        &mut self,
        source: &str,
        scope: &GoScope,
        depth: usize,
    ) -> Result<Vec<LogicStep>, String> {
        let tokens = tokens(source);
        let mut at = 0;
        let mut scope = scope.clone();
        let (steps, end) = self.steps(&tokens, &mut at, &mut scope, depth)?;
        match end {
            GoListEnd::Source => Ok(steps),
            GoListEnd::Block => Err("an `{{end}}` has no matching start".to_owned()),
            GoListEnd::Else(_) => Err("an `{{else}}` is outside of a block".to_owned()),
        }
    }

    fn steps<'t>(
        &mut self,
        tokens: &[GoToken<'t>],
        at: &mut usize,
        scope: &mut GoScope,
        depth: usize,
    ) -> Result<(Vec<LogicStep>, GoListEnd<'t>), String> {
        if depth > DEPTH {
            return Err("its blocks nest too deep".to_owned());
        }
        let mut steps = Vec::new();
        while let Some(token) = tokens.get(*at) {
            *at += 1;
            let (inner, written) = match token {
                GoToken::Text(text) => {
                    steps.push(LogicStep::Text((*text).to_owned()));
                    continue;
                }
                GoToken::Comment(_) => continue,
                GoToken::Tag(inner, written) => (*inner, *written),
            };
            let (keyword, rest) = inner.split_once(char::is_whitespace).unwrap_or((inner, ""));
            match keyword {
                "end" => return Ok((steps, GoListEnd::Block)),
                "else" => return Ok((steps, GoListEnd::Else(rest.trim()))),
                "if" => steps.push(self.branch(rest, tokens, at, scope, depth)?),
                "with" => steps.push(self.with(rest, tokens, at, scope, depth)?),
                "range" => steps.push(self.range(rest, tokens, at, scope, depth)?),
                "define" => {
                    self.steps(tokens, at, &mut GoScope::root(), depth + 1)?;
                }
                "block" => {
                    let (_, dot) = scope.call(rest)?;
                    let mut inner = scope.with_dot(dot);
                    let (body, _) = self.steps(tokens, at, &mut inner, depth + 1)?;
                    steps.extend(body);
                }
                "template" => {
                    let (name, dot) = scope.call(rest)?;
                    steps.extend(self.inline(&name, scope, dot, depth)?);
                }
                "break" | "continue" => return Err(format!("`{keyword}` has no counterpart")),
                _ if scope.assign(inner)? => {}
                _ => {
                    let Some(value) = scope.operand(inner) else {
                        let change = format!("`{written}` has no counterpart and stays as it is");
                        self.changes.push(change);
                        steps.push(LogicStep::Text(written.to_owned()));
                        continue;
                    };
                    steps.push(LogicStep::Print(value, written.to_owned()));
                }
            }
        }
        Ok((steps, GoListEnd::Source))
    }

    fn branch(
        &mut self,
        condition: &str,
        tokens: &[GoToken<'_>],
        at: &mut usize,
        scope: &GoScope,
        depth: usize,
    ) -> Result<LogicStep, String> {
        let mut branches = Vec::new();
        let mut test = scope.test(condition)?;
        loop {
            let (body, end) = self.steps(tokens, at, &mut scope.clone(), depth + 1)?;
            branches.push((test, body));
            match end {
                GoListEnd::Block => return Ok(LogicStep::If(branches, Vec::new())),
                GoListEnd::Else("") => {
                    let (otherwise, end) = self.steps(tokens, at, &mut scope.clone(), depth + 1)?;
                    closed(&end)?;
                    return Ok(LogicStep::If(branches, otherwise));
                }
                GoListEnd::Else(rest) => match rest.strip_prefix("if ") {
                    Some(condition) => test = scope.test(condition)?,
                    None => return Err(format!("`else {rest}` has no counterpart")),
                },
                GoListEnd::Source => return Err("an `{{if}}` does not end".to_owned()),
            }
        }
    }

    fn with(
        &mut self,
        rest: &str,
        tokens: &[GoToken<'_>],
        at: &mut usize,
        scope: &GoScope,
        depth: usize,
    ) -> Result<LogicStep, String> {
        let (variable, rest) = expression::declared(rest);
        let value = scope.operand(rest);
        let value = value.ok_or_else(|| format!("`with {rest}` has no counterpart"))?;
        let mut inner = scope.with_dot(Dot::Value(value.clone()));
        if let Some(variable) = variable {
            inner.set(variable, value.clone());
        }
        let (body, end) = self.steps(tokens, at, &mut inner, depth + 1)?;
        let otherwise = self.otherwise(end, tokens, at, scope, depth)?;
        Ok(LogicStep::If(vec![(Test::Has(value), body)], otherwise))
    }

    fn range(
        &mut self,
        rest: &str,
        tokens: &[GoToken<'_>],
        at: &mut usize,
        scope: &GoScope,
        depth: usize,
    ) -> Result<LogicStep, String> {
        let (variables, rest) = expression::declared(rest);
        let list = scope.operand(rest);
        let list = list.ok_or_else(|| format!("`range {rest}` has no counterpart"))?;
        let level = scope.level + 1;
        let item = LogicValue::Item(level, Vec::new());
        let mut inner = scope.with_dot(Dot::Value(item.clone()));
        inner.level = level;
        match variables.map(|text| text.split(',').map(str::trim).collect::<Vec<_>>()) {
            None => {}
            Some(names) => match names.as_slice() {
                [name] => inner.set(name, item),
                [index, name] => {
                    inner.set(index, LogicValue::Loop("index0"));
                    inner.set(name, item);
                }
                _ => return Err("a loop has too many variables".to_owned()),
            },
        }
        let (body, end) = self.steps(tokens, at, &mut inner, depth + 1)?;
        let otherwise = self.otherwise(end, tokens, at, scope, depth)?;
        Ok(LogicStep::Each(list, body, otherwise))
    }

    fn otherwise(
        &mut self,
        end: GoListEnd<'_>,
        tokens: &[GoToken<'_>],
        at: &mut usize,
        scope: &GoScope,
        depth: usize,
    ) -> Result<Vec<LogicStep>, String> {
        match end {
            GoListEnd::Else("") => {
                let (steps, end) = self.steps(tokens, at, &mut scope.clone(), depth + 1)?;
                closed(&end)?;
                Ok(steps)
            }
            GoListEnd::Else(rest) => Err(format!("`else {rest}` has no counterpart")),
            end => closed(&end).map(|()| Vec::new()),
        }
    }

    /// The steps of an included template.
    fn inline(
        &mut self,
        name: &str,
        scope: &GoScope,
        dot: Dot,
        depth: usize,
    ) -> Result<Vec<LogicStep>, String> {
        let source = self
            .find(name)
            .ok_or_else(|| format!("the template `{name}` is not there"))?;
        self.inlined += 1;
        if self.inlined > INLINED {
            return Err(format!("it brings in more than {INLINED} templates"));
        }
        let limit = self.batch.limits.template_source;
        if source.len() > limit {
            return Err(format!("a template may have {limit} bytes"));
        }
        let mut inner = GoScope::of(dot);
        inner.level = scope.level;
        self.template(&source, &inner, depth + 1)
    }

    /// A template by its name: one that is defined, or a file beside this one.
    fn find(&self, name: &str) -> Option<String> {
        let folder = |path: &str| {
            path.rsplit_once('/')
                .map_or("", |(folder, _)| folder)
                .to_owned()
        };
        let home = folder(&self.file.path);
        let mut files = self.batch.files.iter();
        let is_near =
            |file: &&SourceFile| folder(&file.path) == home && !end_of(&file.path).is_empty();
        let near: Vec<&SourceFile> = files.by_ref().filter(is_near).collect();
        let defined = near.iter().find_map(|file| tags::defined(&file.text, name));
        defined.or_else(|| {
            let is_it = |file: &&&SourceFile| {
                stem(&file.path, end_of(&file.path)) == name || stem(&file.path, "") == name
            };
            let found = near.iter().find(is_it)?;
            let text = found.text.strip_prefix('\u{feff}').unwrap_or(&found.text);
            Some(text.to_owned())
        })
    }
}

fn closed(end: &GoListEnd<'_>) -> Result<(), String> {
    match end {
        GoListEnd::Block => Ok(()),
        _ => Err("a block does not end".to_owned()),
    }
}
