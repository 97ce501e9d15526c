//! The configuration that a running server follows: read again when its file changes.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use twig_clients::format::Options;
use twig_core::{
    BodyError, LibraryKind, LibraryName, ListingSettings, Problem, ProblemCode, Severity,
};

use crate::packages::WantedPackage;
use crate::reader::{SavePatience, read_text};
use crate::stamp::SeenStamp;

/// The longest configuration, in bytes.
const LONGEST: usize = 1024 * 1024;

/// What of the configuration reaches a running server.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LiveSettings {
    /// Folders that the user added.
    pub remembered: Vec<Remembered>,
    /// The separator between a library's name and a prompt's.
    pub separator: String,
    /// Whether the prompts of the store are offered.
    pub serves_store: bool,
    /// What lists show.
    pub listing: ListingSettings,
}

/// A folder that the user added.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Remembered {
    /// The folder: a library, or a folder that contains libraries. Empty for a package.
    pub path: PathBuf,
    /// The package, if it is one: the lock says where its files are.
    pub package: Option<WantedPackage>,
    /// Its kind; detected by its layout if `None`.
    pub kind: Option<LibraryKind>,
    /// Its name, if not its own.
    pub name: Option<LibraryName>,
    /// How its files are read, as far as they do not say.
    pub options: Options,
    /// The repository in which alone it is served.
    pub repository: Option<PathBuf>,
    /// The workspace whose people alone may read it on a server with keys.
    pub workspace: Option<Box<str>>,
    /// How a server follows the package, if it does.
    pub followed: Option<FollowSettings>,
}

/// How a server follows a package.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FollowSettings {
    /// The time between two looks at the source.
    pub every: Duration,
    /// The file with the token for https.
    pub token_file: Option<PathBuf>,
}

/// A mistake in the configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigMistake {
    /// Its line, from 1.
    pub line: u32,
    /// What is wrong.
    pub message: String,
    /// A suggestion, if there is one.
    pub help: Option<String>,
}

/// Reads the text of a configuration.
type ParseConfig = dyn Fn(&str) -> Result<LiveSettings, ConfigMistake> + Send + Sync;

/// The file of the configuration, as it was last read.
#[derive(Clone)]
pub struct FollowedConfig {
    path: PathBuf,
    seen: SeenStamp,
    /// True if the last look found no file.
    was_missing: bool,
    parse: Arc<ParseConfig>,
    problem: Option<Problem>,
}

impl FollowedConfig {
    /// Follows a file, which need not exist. Must be made before the file is first read, so that no
    /// change is missed.
    pub fn new(
        path: &Path,
        parse: impl Fn(&str) -> Result<LiveSettings, ConfigMistake> + Send + Sync + 'static,
    ) -> Self {
        Self {
            path: path.to_path_buf(),
            seen: SeenStamp::at(path),
            was_missing: false,
            parse: Arc::new(parse),
            problem: None,
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Why the file could not be read, if it could not.
    pub(crate) fn problem(&self) -> Option<&Problem> {
        self.problem.as_ref()
    }

    /// The settings, if the file changed since it was last read and is valid.
    pub(crate) fn look(&mut self) -> Option<LiveSettings> {
        let now = SeenStamp::at(&self.path);
        if self.seen.holds(&now) {
            self.was_missing = false;
            return None;
        }
        // A save may replace the file: it is gone only if the next look does not find it either.
        let is_missing = self.path.symlink_metadata().is_err();
        if is_missing && !std::mem::replace(&mut self.was_missing, true) {
            return None;
        }
        self.was_missing = is_missing;
        let text = self.read();
        // What could not be read is tried again.
        self.seen = if text.is_ok() {
            now
        } else {
            SeenStamp::never()
        };
        match text.and_then(|text| (self.parse)(&text)) {
            Ok(settings) => {
                self.problem = None;
                Some(settings)
            }
            Err(mistake) => {
                let path = self.path.display().to_string();
                let (code, severity) = (ProblemCode::BadConfig, Severity::Error);
                let mut problem = Problem::of_file(code, severity, &path, mistake.message);
                problem.line = Some(mistake.line).filter(|line| *line > 0);
                let meanwhile = "the last good configuration stays in use";
                self.problem = Some(match mistake.help {
                    Some(help) => problem.with_help(format!("{help} Meanwhile {meanwhile}")),
                    None => problem.with_help(meanwhile),
                });
                None
            }
        }
    }

    /// The text of the file, never half a save; a missing file counts as empty. The user may have
    /// put a symlink there.
    fn read(&self) -> Result<String, ConfigMistake> {
        let path = match self.path.canonicalize() {
            Ok(path) => path,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(String::new()),
            Err(_) => self.path.clone(),
        };
        let folder = path.parent().unwrap_or(Path::new("/"));
        let file = path.file_name().and_then(std::ffi::OsStr::to_str);
        let read = read_text(
            folder,
            file.unwrap_or_default(),
            LONGEST,
            SavePatience::BODY,
        );
        match read {
            Ok(read) => Ok(read.text),
            Err(BodyError::NotFound) => Ok(String::new()),
            Err(error) => Err(ConfigMistake {
                line: 0,
                message: format!("the configuration cannot be read: it {error}"),
                help: None,
            }),
        }
    }
}

impl fmt::Debug for FollowedConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("FollowedConfig").field(&self.path).finish()
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// A file of which the whole text is the separator; `!` is a mistake.
    fn followed(folder: &Path) -> (PathBuf, FollowedConfig) {
        let path = folder.join("config.toml");
        fs::write(&path, "one").unwrap();
        let mut config = FollowedConfig::new(&path, |text| match text {
            "!" => Err(ConfigMistake {
                line: 1,
                message: "a mistake".to_owned(),
                help: None,
            }),
            text => Ok(LiveSettings {
                separator: text.to_owned(),
                ..LiveSettings::default()
            }),
        });
        // A file that was just written is read once more.
        let _ = config.look();
        (path, config)
    }

    fn separator(config: &mut FollowedConfig) -> Option<String> {
        config.look().map(|settings| settings.separator)
    }

    #[test]
    fn a_file_that_is_gone_for_a_moment_changes_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let (path, mut config) = followed(folder.path());
        fs::remove_file(&path).unwrap();
        assert_eq!(separator(&mut config), None);
        assert_eq!(config.problem(), None);
        fs::write(&path, "other").unwrap();
        assert_eq!(separator(&mut config).as_deref(), Some("other"));
        // The same when it was moved away and back.
        let aside = folder.path().join("aside");
        for _ in 0..2 {
            fs::rename(&path, &aside).unwrap();
            assert_eq!(separator(&mut config), None);
            fs::rename(&aside, &path).unwrap();
            assert_ne!(separator(&mut config).as_deref(), Some(""));
        }
        fs::remove_file(&path).unwrap();
        assert_eq!(separator(&mut config), None);
        assert_eq!(separator(&mut config).as_deref(), Some(""));
    }

    #[test]
    fn what_cannot_be_read_keeps_the_last_settings_and_is_tried_again() {
        let folder = tempfile::tempdir().unwrap();
        let (path, mut config) = followed(folder.path());
        let aside = folder.path().join("aside");
        fs::rename(&path, &aside).unwrap();
        fs::create_dir(&path).unwrap();
        for _ in 0..2 {
            assert_eq!(separator(&mut config), None);
            let problem = config.problem().expect("it cannot be read");
            assert_eq!(problem.code, ProblemCode::BadConfig);
            assert!(
                problem
                    .message
                    .starts_with("the configuration cannot be read: "),
                "{}",
                problem.message
            );
        }
        fs::remove_dir(&path).unwrap();
        fs::rename(&aside, &path).unwrap();
        // The very file from before, so that its stamp does not tell.
        assert_eq!(separator(&mut config).as_deref(), Some("one"));
        assert_eq!(config.problem(), None);
    }

    #[test]
    fn a_mistake_keeps_the_last_settings() {
        let folder = tempfile::tempdir().unwrap();
        let (path, mut config) = followed(folder.path());
        fs::write(&path, "!").unwrap();
        assert_eq!(separator(&mut config), None);
        let problem = config.problem().expect("a mistake");
        assert_eq!((&*problem.message, problem.line), ("a mistake", Some(1)));
        let help = problem.help.as_deref();
        assert_eq!(help, Some("the last good configuration stays in use"));
        fs::write(&path, "two").unwrap();
        assert_eq!(separator(&mut config).as_deref(), Some("two"));
        assert_eq!(config.problem(), None);
    }
}
