//! Runs a function of a trusted library with what it was granted.

use std::ffi::OsString;
use std::path::Path;

use twig_core::{FunctionCall, FunctionOutcome};
use twig_sources::Trust;

use super::Allowed;
use super::cause::SandboxCause;
use super::granted::{self, CalledFrom};
use super::process::{FunctionProcess, Stop};
use super::task::{ApprovedFiles, Task};
use crate::places;

/// The variable with the folder that a function is called from.
const WORKING_FOLDER: &str = "TWIG_WORKING_FOLDER";

/// For git in the repository: no configuration that the function cannot read, and no files of its
/// own.
const GIT: [(&str, &str); 4] = [
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("GIT_CONFIG_GLOBAL", "/dev/null"),
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_TERMINAL_PROMPT", "0"),
];

impl Allowed {
    /// Runs a function until it ends, reaches its time limit, or `stop` is called.
    ///
    /// Blocks: call it from a thread that has nothing else to do.
    pub(crate) fn run(&self, call: &FunctionCall, stop: &Stop) -> FunctionOutcome {
        let root = Path::new(&*call.library.root);
        let name = &call.library.name;
        let trust = self.places.as_ref().and_then(|places| {
            let trust = Trust::read(places.trust.as_deref()?).ok()?;
            Some((places, trust))
        });
        let approved = trust.and_then(|(places, trust)| {
            let files = trust.files(root)?.clone();
            let approved = if trust.is_own(root) {
                let data = places.data.as_ref().and_then(|data| data.to_str());
                ApprovedFiles::Own {
                    data: data.map(str::to_owned),
                }
            } else {
                ApprovedFiles::Trusted(files)
            };
            Some((places, trust.granted(root), approved))
        });
        let Some((places, recorded, approved)) = approved else {
            return FunctionOutcome::Refused(format!(
                "Prompt `{}` runs {}, and library `{name}` is not trusted: look at it, then run `twig library trust {name}`",
                call.prompt,
                call.function.file(),
            ));
        };
        let folder = places::working_folder().filter(|_| !self.is_remote);
        let from = match &folder {
            _ if self.is_remote => Some(CalledFrom::Http),
            Some(folder) => Some(CalledFrom::Folder(folder)),
            None => None,
        };
        let recorded = recorded.get(&*call.name).cloned().unwrap_or_default();
        let grants = call.function.grants();
        let granted = match granted::resolve(grants, &recorded, places, from) {
            Ok(granted) => granted,
            Err(why) => {
                // Paths of this machine are not for clients on others.
                let why = if self.is_remote && !grants.repository {
                    tracing::warn!(prompt = %call.prompt, "a function was not run: {why}");
                    "it cannot get a path that it asks for; the log of the server says why"
                        .to_owned()
                } else {
                    why
                };
                return FunctionOutcome::Refused(format!(
                    "Prompt `{}` was not run: {why}",
                    call.prompt
                ));
            }
        };
        let environment = self.environment_of(call, folder.as_deref());
        let task = Task::new(call, approved, granted, self.unsandboxed);
        let cause = SandboxCause {
            call,
            folder: folder.as_deref(),
            home: places.home.as_deref(),
        };
        match FunctionProcess::start(&task, &call.input, &environment, stop) {
            Ok(process) => process.finish(&cause, stop),
            Err(error) => FunctionOutcome::Failed(format!("could not be started: {error}")),
        }
    }

    /// The variables of one function besides `PATH` and `LANG`.
    fn environment_of(
        &self,
        call: &FunctionCall,
        folder: Option<&Path>,
    ) -> Vec<(OsString, OsString)> {
        let grants = call.function.grants();
        let granted = grants.environment.iter();
        let granted = granted.filter_map(|name| Some(((&**name).into(), places::variable(name)?)));
        let mut environment = self.environment.clone();
        environment.extend(granted);
        if grants.repository {
            environment.extend(GIT.map(|(name, value)| (name.into(), value.into())));
        }
        environment.extend(folder.map(|folder| (WORKING_FOLDER.into(), folder.into())));
        environment
    }
}
