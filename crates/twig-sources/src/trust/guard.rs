//! Between a library and the catalog: withholds prompts that would run a program until the library
//! is trusted.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use twig_core::problem::shell_word;
use twig_core::state_hash::StateHash;
use twig_core::{Library, Problem, ProblemCode, Severity};

use super::survey::Surveyor;
use super::{Trust, TrustVerdict};

/// Maximum number of folders that are watched for one library; the others are checked every few
/// seconds.
const WATCHED: usize = 256;
/// Maximum number of changed files that a message names.
const NAMED: usize = 3;

/// The state of one library's programs.
#[derive(Debug, Default)]
pub(crate) struct Guard {
    surveyor: Surveyor,
    /// The library as it was read, its verdict, and the part of it that is served.
    last: Option<(Arc<Library>, TrustVerdict, Arc<Library>)>,
}

impl Guard {
    /// The part of a library with programs that may be served; the same allocation if nothing
    /// changed.
    pub(crate) fn pass(
        &mut self,
        library: &Arc<Library>,
        trust: &Trust,
        data: Option<&Path>,
    ) -> Arc<Library> {
        let root = Path::new(&*library.root);
        let verdict = match self.surveyor.examine(root) {
            Ok(survey) => trust.library_verdict(library, &survey, data),
            Err(why) => TrustVerdict::Unreadable(why),
        };
        if let Some((last, said, shown)) = &self.last
            && Arc::ptr_eq(last, library)
            && *said == verdict
        {
            return Arc::clone(shown);
        }
        let shown = match &verdict {
            TrustVerdict::Trusted => Arc::clone(library),
            verdict => Arc::new(withhold(library, verdict)),
        };
        self.last = Some((Arc::clone(library), verdict, Arc::clone(&shown)));
        shown
    }

    /// The folders in which a change may end the trust.
    pub(crate) fn watched(&self) -> &[PathBuf] {
        let folders = &self.surveyor.folders;
        &folders[..folders.len().min(WATCHED)]
    }
}

fn list(names: &[String]) -> String {
    let mut list = names[..names.len().min(NAMED)].join(", ");
    if names.len() > NAMED {
        list.push_str(", …");
    }
    list
}

fn withhold(library: &Library, verdict: &TrustVerdict) -> Library {
    let mut shown = library.clone();
    let name = &library.name;
    let why = match verdict {
        TrustVerdict::Changed(files) => {
            format!(
                "library `{name}` changed since it was trusted ({})",
                list(files)
            )
        }
        TrustVerdict::Asks(grants) => {
            format!(
                "library `{name}` asks for more than it was granted ({})",
                list(grants)
            )
        }
        TrustVerdict::NotOwn(why) => {
            format!("library `{name}` cannot be trusted as yours any more: {why}")
        }
        TrustVerdict::Unreadable(why) => format!("library `{name}` cannot be trusted: {why}"),
        _ => format!("library `{name}` is not trusted"),
    };
    // By its path, quoted for a shell: not every library can be found by its name.
    let place = match shell_word(&library.shown_root) {
        plain if plain == *library.shown_root => plain,
        _ => shell_word(&library.root),
    };
    let trust = format!("look at it, then run `twig library trust {place}`");
    let mut count = 0;
    for prompt in &mut shown.prompts {
        if let Some(function) = prompt.function()
            && prompt.unavailable.is_none()
        {
            let program = function.file();
            let sentence = format!(
                "Prompt `{}` runs {program}, and {why}: {trust}",
                prompt.full_name
            );
            Arc::make_mut(prompt).unavailable = Some(sentence.into());
            count += 1;
        }
    }
    if count > 0 {
        let prompts = match count {
            1 => "a prompt that runs a program is".to_owned(),
            count => format!("{count} prompts that run programs are"),
        };
        let message = format!("{prompts} not served: {why}");
        let help = format!("look at {place}, then run `twig library trust {place}`");
        let problem = Problem::of_file(
            ProblemCode::Untrusted,
            Severity::Warning,
            &library.root,
            message,
        );
        shown.problems.push(problem.with_help(help));
    }
    // The list differs from the trusted one, so its pages differ, too.
    let mut hash = StateHash::default();
    hash.part(&library.state.to_le_bytes());
    hash.part(b"withheld");
    shown.state = hash.end();
    shown
}

#[cfg(test)]
mod tests {
    use std::fs;

    use twig_core::parse::library::MANIFEST;
    use twig_core::{LibraryKind, LibraryName};

    use super::*;
    use crate::candidate::Candidate;
    use crate::library_folder::LibraryFolder;
    use crate::trust::survey;

    fn manifest(word: &str) -> String {
        format!("[prompts.run]\ncommand = [\"./run\", \"{word}\"]\n")
    }

    fn read(root: &Path) -> Arc<Library> {
        let mut candidate = Candidate::new(root.to_path_buf(), LibraryKind::Twig);
        candidate.name = LibraryName::from_folder("lib");
        LibraryFolder::read(&candidate).unwrap()
    }

    #[cfg(unix)]
    #[test]
    fn a_library_read_from_other_files_than_the_trusted_ones_is_withheld() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        fs::write(root.join("run"), "#!/bin/sh\n").unwrap();
        fs::set_permissions(root.join("run"), fs::Permissions::from_mode(0o755)).unwrap();
        fs::write(root.join(MANIFEST), manifest("good")).unwrap();
        let mut trust = Trust::default();
        trust.trust(root, survey(root).unwrap()).unwrap();
        let good = read(root);
        assert_eq!(good.function_sources.len(), 1);
        assert!(Arc::ptr_eq(
            &Guard::default().pass(&good, &trust, None),
            &good
        ));
        fs::write(root.join(MANIFEST), manifest("evil")).unwrap();
        let evil = read(root);
        // Changed back before the next check.
        fs::write(root.join(MANIFEST), manifest("good")).unwrap();
        let shown = Guard::default().pass(&evil, &trust, None);
        let why = shown.prompts[0].unavailable.as_deref().unwrap_or_default();
        assert!(
            why.contains("changed since it was trusted (twig.toml)"),
            "{why}"
        );
        // A byte order mark in front of the same text is another file, and both can be trusted.
        let marked = format!("\u{feff}{}", manifest("good"));
        fs::write(root.join(MANIFEST), marked).unwrap();
        let marked = read(root);
        assert!(!Arc::ptr_eq(
            &Guard::default().pass(&marked, &trust, None),
            &marked
        ));
        trust.trust(root, survey(root).unwrap()).unwrap();
        assert!(Arc::ptr_eq(
            &Guard::default().pass(&marked, &trust, None),
            &marked
        ));
        // A library without known source files is never trusted.
        let mut unknown = Library::clone(&marked);
        unknown.function_sources.clear();
        let shown = Guard::default().pass(&Arc::new(unknown), &trust, None);
        assert!(shown.prompts[0].unavailable.is_some());
    }
}
