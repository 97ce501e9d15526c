//! `twig bench`: measures how well a search answers questions whose answers are known.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::{Args, Subcommand};
use serde::{Deserialize, Deserializer, Serialize};
use twig_core::Catalog;
use twig_core::search::{Hit, Query, SearchScope, SearchTarget};
use twig_sources::{SearchIndex, gather_files};

use super::check::counted;
use super::opened_catalog::{OpenedCatalog, SourceArgs};
use crate::command_error::CommandError;
use crate::ui::{Ui, one_line};

#[derive(Debug, Subcommand)]
pub(crate) enum BenchCommand {
    /// Search for the questions of evals, and print how often the expected skill is found
    Search(SearchBenchArgs),
}

#[derive(Debug, Args)]
pub(crate) struct SearchBenchArgs {
    /// The folder with the evals: its JSON files with `eval` in their path
    #[arg(long, value_name = "FOLDER")]
    evals: PathBuf,

    /// Print each question whose skill is not among the first five results
    #[arg(long)]
    misses: bool,

    #[command(flatten)]
    sources: SourceArgs,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Results of a question, as many as the tool `search` returns.
const LIMIT: usize = 10;
/// Results among which the expected skill has to be.
const FIRST: usize = 5;
/// The maximum number of questions.
const QUESTIONS: usize = 100_000;

/// A file of evals, in either of the public shapes.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum EvalFile {
    OfSkill {
        skill_name: Option<String>,
        evals: Vec<EvalCase>,
    },
    List(Vec<EvalCase>),
}

#[derive(Debug, Deserialize)]
struct EvalCase {
    prompt: Option<String>,
    question: Option<String>,
    #[serde(default)]
    expected_skill: ExpectedSkill,
}

#[derive(Debug, Default)]
enum ExpectedSkill {
    /// The one that the whole file is about.
    #[default]
    OfFile,
    /// None: another one, or no skill at all, should answer.
    Other,
    Named(String),
}

impl<'de> Deserialize<'de> for ExpectedSkill {
    fn deserialize<D: Deserializer<'de>>(value: D) -> Result<Self, D::Error> {
        let name: Option<String> = Option::deserialize(value)?;
        Ok(name.map_or(Self::Other, Self::Named))
    }
}

/// A question, and the skill that answers it.
#[derive(Debug)]
struct EvalQuestion {
    text: String,
    skill: String,
}

/// What a folder of evals holds.
#[derive(Debug, Default)]
struct Evals {
    questions: Vec<EvalQuestion>,
    /// Questions that no skill answers.
    without_skill: usize,
}

/// How well the search answers, as scripts see it; this shape is stable.
#[derive(Debug, Default, Serialize)]
struct SearchScore {
    /// Questions that were asked.
    questions: usize,
    /// Questions that no skill answers; they were not asked.
    without_skill: usize,
    /// Questions whose skill is not in the catalog; they were not asked.
    unknown_skill: usize,
    /// Questions whose skill was the first result.
    hit_at_1: usize,
    /// The same among the first five.
    hit_at_5: usize,
    /// Questions without a result.
    empty: usize,
    /// The first search, which creates the index.
    first_ms: f64,
    /// Of the other searches.
    median_ms: f64,
    slowest_ms: f64,
}

pub(super) fn run(what: &BenchCommand, ui: &mut Ui) -> Result<ExitCode, CommandError> {
    let BenchCommand::Search(options) = what;
    let evals = read(&options.evals, ui)?;
    let opened = OpenedCatalog::open_with_store(&options.sources, ui)?;
    let catalog = opened.live.snapshot();
    opened.report_unread(&catalog, ui);
    let skills = names(&catalog);
    let mut index = SearchIndex::new(opened.config.limits.clone());
    let mut score = SearchScore {
        without_skill: evals.without_skill,
        ..SearchScore::default()
    };
    let mut times = Vec::new();
    let mut search = |text: &str| {
        let query = Query {
            text: text.to_owned(),
            scope: SearchScope::All,
            limit: LIMIT,
            enough: LIMIT,
        };
        let started = Instant::now();
        let hits = index.search(&catalog, &opened.live, &query);
        hits.map(|hits| (hits, started.elapsed()))
            .map_err(CommandError::fixable)
    };
    let progress = ui.progress("searching");
    let (_, first) = search("first")?;
    let mut misses = Vec::new();
    for question in &evals.questions {
        let Some(expected) = skills.get(&key(&question.skill)) else {
            score.unknown_skill += 1;
            continue;
        };
        let (hits, took) = search(&question.text)?;
        times.push(took);
        score.questions += 1;
        score.empty += usize::from(hits.is_empty());
        let mut hits = hits.iter().take(FIRST).map(name);
        let place = hits.position(|name| expected.contains(name));
        score.hit_at_1 += usize::from(place == Some(0));
        score.hit_at_5 += usize::from(place.is_some());
        if place.is_none() {
            misses.push(question);
        }
    }
    drop(progress);
    if score.questions == 0 {
        let message = "no question is about a skill or prompt that is here";
        let error = CommandError::fixable(message);
        return Err(error.hint("name the folder of the skills with `--library PATH`"));
    }
    times.sort_unstable();
    score.first_ms = milliseconds(first);
    score.median_ms = milliseconds(times[times.len() / 2]);
    score.slowest_ms = times.last().copied().map(milliseconds).unwrap_or_default();
    if options.json {
        ui.json(&score)?;
        return Ok(ExitCode::SUCCESS);
    }
    if options.misses {
        let misses = misses.iter();
        let rows = misses.map(|miss| vec![miss.skill.clone(), one_line(&miss.text)]);
        ui.table(&rows.collect::<Vec<_>>())?;
    }
    report(&score, ui)
}

fn report(score: &SearchScore, ui: &mut Ui) -> Result<ExitCode, CommandError> {
    let share = |count: usize| {
        let percent = 100.0 * ratio(count, score.questions);
        format!("{percent:.1} % ({count})")
    };
    let time = |ms: f64| format!("{ms:.1} ms");
    let row = |name: &str, value: String| vec![name.to_owned(), value];
    ui.table(&[
        row("questions", score.questions.to_string()),
        row("hit@1", share(score.hit_at_1)),
        row("hit@5", share(score.hit_at_5)),
        row("empty", score.empty.to_string()),
        row("first search", time(score.first_ms)),
        row("median", time(score.median_ms)),
        row("slowest", time(score.slowest_ms)),
    ])?;
    let left = [
        (score.without_skill, "expects no skill", "expect no skill"),
        (
            score.unknown_skill,
            "is about a skill that is not here",
            "are about skills that are not here",
        ),
    ];
    for (count, one, many) in left.into_iter().filter(|(count, ..)| *count > 0) {
        let what = counted(count, "question", "questions");
        let why = if count == 1 { one } else { many };
        ui.say(format!("{what} left out: {count} {why}"));
    }
    Ok(ExitCode::SUCCESS)
}

/// Reads the evals below a folder.
fn read(folder: &Path, ui: &mut Ui) -> Result<Evals, CommandError> {
    let shown = folder.display();
    let has_eval = |path: &str| path.to_ascii_lowercase().contains("eval");
    let is_evals = has_eval(&folder.to_string_lossy());
    let is_wanted = |path: &str| {
        let is_json = Path::new(path).extension().is_some_and(|end| end == "json");
        is_json && (is_evals || has_eval(path))
    };
    let gathered = gather_files(folder, is_wanted)
        .map_err(|error| CommandError::fixable(format!("{shown}: {error}")))?;
    for (path, why) in &gathered.unread {
        ui.say(format!("`{path}` is ignored: {why}"));
    }
    let mut evals = Evals::default();
    for file in &gathered.files {
        // Other JSON files lie around.
        let Ok(read) = serde_json::from_str(&file.text) else {
            continue;
        };
        evals.add(read);
    }
    if evals.questions.len() > QUESTIONS {
        let message = format!("{shown} has more than {QUESTIONS} questions");
        return Err(CommandError::fixable(message).hint("name a smaller folder"));
    }
    if evals.questions.is_empty() {
        let message = format!("{shown} has no evals with questions about skills");
        return Err(CommandError::fixable(message).hint(
            "a file holds `{\"skill_name\": …, \"evals\": [{\"prompt\": …}]}` or `[{\"question\": …, \"expected_skill\": …}]`",
        ));
    }
    Ok(evals)
}

impl Evals {
    fn add(&mut self, file: EvalFile) {
        let (skill_name, cases) = match file {
            EvalFile::OfSkill { skill_name, evals } => (skill_name, evals),
            EvalFile::List(cases) => (None, cases),
        };
        for case in cases {
            let Some(text) = case.question.or(case.prompt) else {
                continue;
            };
            match case.expected_skill {
                ExpectedSkill::Named(skill) => self.questions.push(EvalQuestion { text, skill }),
                ExpectedSkill::Other => self.without_skill += 1,
                ExpectedSkill::OfFile => {
                    let skill = skill_name.clone();
                    let question = skill.map(|skill| EvalQuestion { text, skill });
                    self.questions.extend(question);
                }
            }
        }
    }
}

/// The full names of the prompts of each name.
fn names(catalog: &Catalog) -> HashMap<String, HashSet<&str>> {
    let mut names: HashMap<String, HashSet<&str>> = HashMap::new();
    for found in catalog.prompts(0) {
        let full = &*found.prompt.full_name;
        for name in [found.prompt.name.as_str(), full] {
            names.entry(key(name)).or_default().insert(full);
        }
    }
    names
}

/// A name as evals and libraries may both write it.
fn key(name: &str) -> String {
    let letter = |c: char| {
        if c.is_alphanumeric() { c } else { '-' }
    };
    name.to_lowercase().chars().map(letter).collect()
}

/// The name of what was found; the URI of a document is the name of no prompt.
fn name(hit: &Hit) -> &str {
    match &hit.target {
        SearchTarget::Prompt(name) | SearchTarget::Skill(name) => name,
        SearchTarget::Document { uri, .. } => uri,
    }
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

#[allow(clippy::cast_precision_loss, reason = "counts are small")]
fn ratio(part: usize, whole: usize) -> f64 {
    part as f64 / whole as f64
}
