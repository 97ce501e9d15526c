//! `twig library trust` and `distrust`: shows what a library would run with which rights, asks,
//! and records exactly that.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io;
use std::path::Path;
use std::process::ExitCode;

use clap::Args;
use serde::Serialize;
use twig_core::{Function, Grants, Library, Problem, ProblemCode, Prompt};
use twig_sources::{
    CodeFiles, TrustVerdict, TrustedTexts, asked_grants, covers, examine, expanded,
    function_sources, program, real_path, were_read_from, why_not_own,
};

use super::{change, find, read_record};
use crate::command_error::CommandError;
use crate::commands::question;
use crate::function::granted;
use crate::places::Places;
use crate::text_diff;
use crate::ui::Ui;

/// The most lines of changes that are shown.
const CHANGED_LINES: usize = 400;

/// Where people and systems keep keys and passwords, from the home folder.
const SECRETS: [&str; 15] = [
    "/etc/shadow",
    "/etc/ssh",
    "/etc/ssl/private",
    ".ssh",
    ".gnupg",
    ".aws",
    ".azure",
    ".kube",
    ".docker",
    ".netrc",
    ".git-credentials",
    ".password-store",
    ".config/gh",
    ".config/gcloud",
    ".local/share/keyrings",
];

/// Trusting a library.
#[derive(Debug, Args)]
pub(crate) struct TrustArgs {
    /// The library's name, or its folder
    #[arg(value_name = "NAME|PATH")]
    library: String,
    /// Keep the trust when you edit its files: only in the data folder, and only while no other
    /// user can change them
    #[arg(long)]
    mine: bool,
    /// Trust it without asking
    #[arg(short, long)]
    yes: bool,
    /// Print JSON
    #[arg(long, requires = "yes")]
    json: bool,
}

/// Whether a library is trusted now, as scripts see it; this shape is stable.
#[derive(Debug, Serialize)]
struct TrustReport<'r> {
    name: &'r str,
    path: &'r str,
    trusted: bool,
    /// True if edits keep the trust.
    own: bool,
    /// Whether that is new.
    changed: bool,
    /// The prompts that may run a program now.
    functions: Vec<TrustedFunction<'r>>,
    /// The trusted files and their digests.
    files: CodeFiles,
}

/// A prompt that runs a program, as scripts see it.
#[derive(Debug, Serialize)]
struct TrustedFunction<'r> {
    prompt: &'r str,
    command: String,
    /// What it may do beyond reading its library, in words.
    grants: Vec<String>,
}

pub(super) fn run(options: &TrustArgs, ui: &mut Ui) -> Result<ExitCode, CommandError> {
    let TrustArgs {
        mine, yes, json, ..
    } = *options;
    let (places, library) = find(&options.library)?;
    let (path, record) = read_record(&places)?;
    let (root, name) = (Path::new(&*library.root), &library.name);
    let untrustable =
        |why: String| CommandError::fixable(format!("library `{name}` cannot be trusted: {why}"));
    let survey = examine(root).map_err(untrustable)?;
    if !library.runs_functions() {
        let is_syntax = |problem: &&Problem| problem.code == ProblemCode::ManifestSyntax;
        if let Some(problem) = library.problems.iter().find(is_syntax) {
            let what = format!("library `{name}` cannot be trusted");
            let shown = places.shown(Path::new(&*problem.path));
            return Err(CommandError::mistake(&what, &shown, problem));
        }
        return Err(CommandError::fixable(format!(
            "library `{name}` has no prompt that runs a program: there is nothing to trust"
        )));
    }
    // The prompts listed below must come from these files; otherwise the user would trust something
    // else.
    if let Err(changed) = were_read_from(&function_sources(&library), &survey.files) {
        let message = format!(
            "library `{name}` changed while it was read ({})",
            changed.join(", ")
        );
        return Err(CommandError::fixable(message).hint("run the command again"));
    }
    for (prompt, function) in functions(&library) {
        granted::check(function.grants(), &places)
            .map_err(|why| untrustable(format!("prompt `{}`: {why}", prompt.full_name)))?;
    }
    let data = places.data.as_deref();
    let not_own = why_not_own(root, data, &survey);
    if let (true, Some(why)) = (mine, &not_own) {
        let message = format!("library `{name}` cannot be trusted as yours: {why}");
        let hint = "without --mine it is trusted as it is now";
        return Err(CommandError::fixable(message).hint(hint));
    }
    let was_own = record.is_own(root);
    let is_own = mine || (was_own && not_own.is_none());
    let asked = asked_grants(&library, places.home.as_deref());
    let verdict = record.library_verdict(&library, &survey, data);
    if verdict == TrustVerdict::Trusted
        && covers(&record.granted(root), &asked)
        && was_own == is_own
    {
        ui.say(if is_own {
            format!("library `{name}` is trusted as yours: edits keep the trust")
        } else {
            format!("library `{name}` is trusted as it is")
        });
        let trusted = Some((is_own, survey.files));
        return print(&library, &places, trusted, false, json, ui);
    }
    let texts = TrustedTexts::beside(&path);
    // JSON has the same, once it is trusted.
    if !json {
        describe(&library, &survey.files, record.files(root), &places, ui)?;
        if let Some(before) = record.files(root) {
            show_changes(root, before, &survey.files, &texts, ui)?;
        }
    }
    ui.flush()?;
    if !yes && !ask(&library, is_own, ui)? {
        ui.say("nothing was trusted");
        return Ok(ExitCode::FAILURE);
    }
    let trusted = survey.files.clone();
    // Record what was shown, even if it has changed since.
    change(&places, &path, |record| {
        record.trust(root, survey.files)?;
        record.grant(root, asked);
        if is_own {
            record.keep_as_own(root);
        }
        let kept = record.files(root).map(|files| texts.keep(root, files));
        note(kept.transpose());
        note(texts.keep_only(record.all_files()));
        Ok(())
    })?;
    ui.say(if is_own {
        format!(
            "library `{name}` is trusted as yours: edits keep the trust, unless they ask for more"
        )
    } else {
        format!("library `{name}` is trusted until one of these files changes")
    });
    let trusted = Some((is_own, trusted));
    print(&library, &places, trusted, true, json, ui)
}

/// Prints for scripts what is trusted now, and whether that is new.
fn print(
    library: &Library,
    places: &Places,
    trusted: Option<(bool, CodeFiles)>,
    changed: bool,
    json: bool,
    ui: &mut Ui,
) -> Result<ExitCode, CommandError> {
    if json {
        let functions = functions(library).filter(|_| trusted.is_some());
        let functions = functions.map(|(prompt, function)| TrustedFunction {
            prompt: &prompt.full_name,
            command: started(function),
            grants: in_words(function.grants(), places),
        });
        ui.json(&TrustReport {
            functions: functions.collect(),
            name: library.name.as_str(),
            path: &library.root,
            trusted: trusted.is_some(),
            own: trusted.as_ref().is_some_and(|(is_own, _)| *is_own),
            changed,
            files: trusted.map(|(_, files)| files).unwrap_or_default(),
        })?;
    }
    Ok(ExitCode::SUCCESS)
}

pub(super) fn end(named: &str, json: bool, ui: &mut Ui) -> Result<ExitCode, CommandError> {
    let (places, library) = find(named)?;
    let (path, record) = read_record(&places)?;
    let root = Path::new(&*library.root);
    if record.files(root).is_none() {
        ui.say(format!("library `{}` was not trusted", library.name));
        return print(&library, &places, None, false, json, ui);
    }
    change(&places, &path, |record| {
        record.forget(root);
        note(TrustedTexts::beside(&path).keep_only(record.all_files()));
        Ok(())
    })?;
    ui.say(format!(
        "library `{}` is not trusted any more",
        library.name
    ));
    print(&library, &places, None, true, json, ui)
}

/// Without copies the next question shows less, and nothing else is missing.
fn note<T>(kept: io::Result<T>) {
    if let Err(error) = kept {
        tracing::warn!("the trusted texts are not kept for the next question: {error}");
    }
}

/// The prompts of a library that run a program.
fn functions(library: &Library) -> impl Iterator<Item = (&Prompt, &Function)> {
    let prompts = library.prompts.iter();
    prompts.filter_map(|prompt| Some((&**prompt, prompt.function()?)))
}

/// The command of a prompt, with the author's arguments: they are trusted along with the program.
fn started(function: &Function) -> String {
    let mut line = function.file().to_string();
    if let Function::Command { arguments, .. } = function {
        for argument in arguments {
            // Quoted, so that one argument does not look like two.
            let _ = write!(line, " {argument:?}");
        }
    }
    line
}

/// What a function may do beyond reading its library, in words.
fn in_words(grants: &Grants, places: &Places) -> Vec<String> {
    let mut words = Vec::new();
    if grants.repository {
        words.push("may read the repository in which it is called: all files, committed or not, its history and its settings".to_owned());
        words.push(
            "runs programs that these settings name, if it runs git there, with the same rights"
                .to_owned(),
        );
    }
    for path in &grants.paths {
        let real = expanded(path, places.home.as_deref()).unwrap_or_default();
        let (is_there, written) = (real.exists(), real.clone());
        let real = real_path(&real);
        let mut line = format!("may read {path} and everything in it");
        if real.is_file() {
            line = format!("may read {path}");
        }
        if real != written {
            let _ = write!(line, ", which is {}", real.display());
        }
        if !is_there {
            line.push_str(", which is not there now");
        }
        let mut secrets = SECRETS
            .iter()
            .filter_map(|path| Some(places.home.as_ref()?.join(path)))
            .map(|secret| secret.canonicalize().unwrap_or(secret));
        if secrets.any(|secret| secret.starts_with(&real) || real.starts_with(secret)) {
            line.push_str(": keys and passwords are kept there");
        }
        words.push(line);
    }
    if !grants.environment.is_empty() {
        words.push(format!(
            "gets from your environment: {}",
            grants.environment.join(", ")
        ));
    }
    if grants.network {
        words.push(
            "may reach any host: on the internet, in your network and on this machine".to_owned(),
        );
        words.push("can therefore send all that it reads or gets to any host".to_owned());
    }
    words
}

fn describe(
    library: &Library,
    files: &CodeFiles,
    before: Option<&CodeFiles>,
    places: &Places,
    ui: &mut Ui,
) -> Result<(), CommandError> {
    ui.line(format!(
        "library `{}` in {}",
        library.name, library.shown_root
    ))?;
    ui.line("\nprompts that run a program")?;
    let widths = functions(library).map(|(prompt, _)| prompt.full_name.chars().count());
    let width = widths.max().unwrap_or_default();
    for (prompt, function) in functions(library) {
        let name = format!("{:width$}", prompt.full_name);
        ui.line(format!("  {name}  {}", started(function)))?;
        for line in in_words(function.grants(), places) {
            ui.facts("    ", &[vec![line]])?;
        }
    }
    ui.line("\nEach of them gets its arguments, this library and the path of the folder in which it is called.")?;
    ui.line("\nfiles that would be trusted")?;
    let rows: Vec<Vec<String>> = files
        .iter()
        .map(|(path, digest)| {
            let news = match before.map(|before| before.get(path)) {
                Some(None) => "new",
                Some(Some(known)) if known != digest => "changed",
                _ => "",
            };
            vec![path.clone(), digest.clone(), news.to_owned()]
        })
        .collect();
    ui.facts("  ", &rows)?;
    let gone = before.into_iter().flatten();
    for (path, _) in gone.filter(|(path, _)| !files.contains_key(*path)) {
        ui.line(format!("  {path}  is gone"))?;
    }
    Ok(())
}

/// What changed in the texts of a library since it was trusted.
fn show_changes(
    root: &Path,
    before: &CodeFiles,
    files: &CodeFiles,
    texts: &TrustedTexts,
    ui: &mut Ui,
) -> Result<(), CommandError> {
    let paths: BTreeSet<&String> = before.keys().chain(files.keys()).collect();
    let mut changes = String::new();
    for path in paths {
        let (old, new) = (before.get(path), files.get(path));
        if old == new {
            continue;
        }
        // A text that is not known is not compared with nothing.
        let Some(old) = old.map_or(Some(String::new()), |digest| texts.get(digest)) else {
            continue;
        };
        let now = new.map_or(Some(String::new()), |digest| {
            let (bytes, now) = program(root, path).ok()?;
            String::from_utf8(bytes).ok().filter(|_| now == *digest)
        });
        if let Some(now) = now {
            let names = (format!("{path} (trusted)"), format!("{path} (now)"));
            changes.push_str(&text_diff::unified((&names.0, &old), (&names.1, &now)));
        }
    }
    if changes.is_empty() {
        return Ok(());
    }
    ui.line("\nchanges since it was trusted")?;
    for line in changes.lines().take(CHANGED_LINES) {
        ui.line(format!("  {line}"))?;
    }
    let more = changes.lines().count().saturating_sub(CHANGED_LINES);
    if more > 0 {
        ui.line(format!("  … and {more} more lines: look at the files"))?;
    }
    Ok(())
}

fn ask(library: &Library, is_own: bool, ui: &mut Ui) -> Result<bool, CommandError> {
    let name = &library.name;
    let unanswered = || {
        let message =
            format!("this is not a terminal, so you cannot be asked to trust library `{name}`");
        CommandError::fixable(message).hint("use --yes once you have looked at it")
    };
    let question = if is_own {
        format!("\nlet library `{name}` run these programs as you, also after each edit?")
    } else {
        format!("\nlet library `{name}` run these programs as you?")
    };
    question::ask(&question, unanswered, ui)
}
