//! `twig why`: which library a prompt or skill comes from, at which version, and what it shadows.

use std::process::ExitCode;

use clap::Args;
use serde::Serialize;
use twig_core::{Library, Prompt};
use twig_sources::FollowRecord;

use crate::command_error::CommandError;
use crate::commands::opened_catalog::{OpenedCatalog, SourceArgs};
use crate::ui::Ui;

// Where a prompt comes from.
#[derive(Debug, Args)]
pub(crate) struct WhyArgs {
    /// A prompt, a skill or a library
    #[arg(value_name = "NAME")]
    name: String,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Where a prompt comes from, as scripts see it; this shape is stable.
#[derive(Debug, Serialize)]
struct PromptOrigin {
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt: Option<String>,
    library: String,
    kind: &'static str,
    path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    package: Option<PackageOrigin>,
    /// Prompts of the same name in other libraries, and libraries that are hidden by this one.
    others: Vec<String>,
}

/// The package of a library, as scripts see it; this shape is stable.
#[derive(Debug, Serialize)]
pub(crate) struct PackageOrigin {
    pub(crate) name: String,
    pub(crate) source: String,
    pub(crate) version: String,
    #[serde(rename = "ref", skip_serializing_if = "Option::is_none")]
    reference: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    commit: Option<String>,
    tree: String,
    /// When its source last answered the server that follows it, in seconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) looked_at: Option<u64>,
    /// Why the newest commit is not served.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) problem: Option<String>,
    /// What `only` leaves out of the library.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) left_out: Vec<String>,
}

impl PackageOrigin {
    /// The package of a library; `None` if it is in none.
    pub(crate) fn of(opened: &OpenedCatalog, library: &Library) -> Option<Self> {
        let package = library.package.as_ref()?;
        let followed = opened.live.followed().into_iter();
        let mut followed = followed.filter_map(|it| it.package);
        let wanted =
            followed.find(|it| it.name == package.name && it.source.to_string() == *package.source);
        let lock = opened.places.followed_lock();
        let state = wanted
            .zip(lock)
            .and_then(|(wanted, lock)| FollowRecord::read(&lock).state(&wanted).cloned());
        let looked_at = state.as_ref().and_then(|it| it.looked_at);
        Some(Self {
            looked_at,
            problem: state.and_then(|it| it.problem).map(|it| it.message),
            name: package.name.to_string(),
            source: package.source.to_string(),
            version: package.version(),
            reference: package.reference.as_deref().map(Into::into),
            commit: package.commit.as_deref().map(Into::into),
            tree: package.tree.to_string(),
            left_out: package.left_out.iter().map(ToString::to_string).collect(),
        })
    }
}

impl PackageOrigin {
    /// When its source was last looked at, for people; `None` if no server follows it.
    pub(crate) fn followed(&self) -> Option<String> {
        looked_at(self.looked_at?)
    }
}

/// How long ago a source was looked at.
pub(crate) fn looked_at(seconds: u64) -> Option<String> {
    let ago = super::seconds_now()?.saturating_sub(seconds);
    Some(format!("looked at {} ago", span(ago)))
}

/// A number of seconds for people.
fn span(seconds: u64) -> String {
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7_200 => format!("{} min", seconds / 60),
        7_200..172_800 => format!("{} h", seconds / 3_600),
        _ => format!("{} days", seconds / 86_400),
    }
}

pub(crate) fn run(options: &WhyArgs, ui: &mut Ui) -> Result<ExitCode, CommandError> {
    let opened = OpenedCatalog::open_with_store(&SourceArgs::default(), ui)?;
    let catalog = opened.live.snapshot();
    let (library, prompt): (&Library, Option<&Prompt>) =
        if let Some(library) = catalog.library(&options.name) {
            (library, None)
        } else {
            let found = opened.find(&catalog, &options.name)?;
            (found.library, Some(found.prompt))
        };
    let mut others = Vec::new();
    if let Some(prompt) = prompt {
        let same = catalog.prompts(0).filter(|other| {
            other.prompt.name == prompt.name && other.prompt.full_name != prompt.full_name
        });
        others.extend(same.map(|other| other.prompt.full_name.to_string()));
    }
    let hidden = catalog
        .shadowed()
        .iter()
        .filter(|it| it.name == library.name);
    others.extend(hidden.map(|it| format!("{} in {}", it.name, it.shown_root)));
    let file = prompt.and_then(|prompt| {
        let mut contents = prompt.messages.iter().map(|message| &message.content);
        contents.find_map(|content| content.file())
    });
    let path = match file {
        Some(file) => library.shown_path_of(file),
        None => library.shown_root.to_string(),
    };
    let package = PackageOrigin::of(&opened, library);
    let origin = PromptOrigin {
        prompt: prompt.map(|prompt| prompt.full_name.to_string()),
        library: library.name.to_string(),
        kind: library.kind.as_str(),
        path,
        package,
        others,
    };
    if options.json {
        ui.json(&origin)?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut facts = Vec::new();
    let mut fact = |name: &str, value: String| facts.push(vec![name.to_owned(), value]);
    if let Some(prompt) = &origin.prompt {
        fact("prompt", prompt.clone());
    }
    fact("library", format!("{} ({})", origin.library, origin.kind));
    match &origin.package {
        Some(package) => {
            fact("package", package.name.clone());
            fact("source", package.source.clone());
            fact("version", package.version.clone());
            fact("files", package.tree.clone());
            if let Some(followed) = package.followed() {
                fact("followed", followed);
            }
            if let Some(problem) = &package.problem {
                fact("problem", problem.clone());
            }
        }
        None => fact(
            "package",
            "none: its files are served where they are".to_owned(),
        ),
    }
    fact("file", origin.path.clone());
    for other in &origin.others {
        fact("also there", other.clone());
    }
    ui.facts("", &facts)?;
    Ok(ExitCode::SUCCESS)
}
