//! Libraries that the user trusts as their own: edits keep the trust, because no other user can
//! make them.

use std::path::Path;

use super::survey::LibrarySurvey;
use crate::platform::{mode, this_user, user};

/// The largest `.git/config` that is read.
const GIT_CONFIG: u64 = 1024 * 1024;

/// Why a library cannot be trusted as the user's own, whatever changes in it.
///
/// It must be in the data folder, with files and folders that only this user can change, and not
/// be a checkout that fetches from elsewhere.
pub fn why_not_own(root: &Path, data: Option<&Path>, survey: &LibrarySurvey) -> Option<String> {
    let data = data.and_then(|data| data.canonicalize().ok());
    let root = root.canonicalize().ok();
    let (Some(data), Some(root)) = (data, root) else {
        return Some("it is not in the data folder".to_owned());
    };
    if !root.starts_with(&data) || root == data {
        return Some("it is not in the data folder".to_owned());
    }
    let within = root
        .ancestors()
        .take_while(|folder| folder.starts_with(&data));
    for folder in within {
        if let Some(why) = fetches(folder) {
            return Some(why);
        }
    }
    if let Some(why) = &survey.shared {
        return Some(why.clone());
    }
    let above = root.ancestors().enumerate().skip(1);
    let mut above = above.map(|(level, folder)| (level, folder.symlink_metadata().ok()));
    above.find_map(|(level, found)| {
        // Without its path, which clients on other machines would learn.
        let shown = match level {
            1 => "the folder above it".to_owned(),
            level => format!("the folder {level} levels above it"),
        };
        match found {
            Some(found) => shared_above(&found).map(|why| format!("{shown} {why}")),
            None => Some(format!("{shown} cannot be read")),
        }
    })
}

/// Why what is in this folder may come from others.
fn fetches(folder: &Path) -> Option<String> {
    let name = folder.file_name().unwrap_or_default().display();
    let is_there = |name: &str| folder.join(name).symlink_metadata().is_ok();
    if [".hg", ".svn"].into_iter().any(is_there) {
        return Some(format!(
            "`{name}` is a checkout, so others can change what it has"
        ));
    }
    let git = folder.join(".git");
    let found = git.symlink_metadata().ok()?;
    if !found.is_dir() || git.join("commondir").symlink_metadata().is_ok() {
        return Some(format!("`{name}` is part of another git repository"));
    }
    let has_remote = ["config", "config.worktree"]
        .iter()
        .any(|file| may_name_remote(&git.join(file)));
    // Where git kept remotes before it had a section for them, and still finds them.
    let has_old_remote = ["remotes", "branches"].iter().any(|old| {
        let entries = git.join(old).read_dir();
        entries.is_ok_and(|mut entries| entries.next().is_some())
    });
    (has_remote || has_old_remote).then(|| {
        format!("`{name}` is a git repository with a remote, so others can change what it has")
    })
}

/// True if a file of git's configuration names a remote, includes a file that could, or cannot be
/// read.
///
/// A remote is a section, or a key of a branch; both have the word in their name, which git reads
/// in upper and lower case and anywhere in a line. A value that has it is a mistake on the safe
/// side.
fn may_name_remote(path: &Path) -> bool {
    use std::io::Read;
    let file = match std::fs::metadata(path) {
        Ok(found) if found.is_file() => std::fs::File::open(path),
        Ok(_) => return true,
        Err(error) => return error.kind() != std::io::ErrorKind::NotFound,
    };
    let mut config = Vec::new();
    let read = file.and_then(|file| file.take(GIT_CONFIG + 1).read_to_end(&mut config));
    if read.is_err() || config.len() as u64 > GIT_CONFIG {
        return true;
    }
    let config = String::from_utf8_lossy(&config).to_ascii_lowercase();
    let mut lines = config.lines().map(str::trim_start);
    lines.any(|line| {
        let is_comment = line.starts_with(['#', ';']);
        !is_comment && (line.contains("remote") || line.contains("[include"))
    })
}

/// Why others can replace what is in a folder above the library.
fn shared_above(found: &std::fs::Metadata) -> Option<&'static str> {
    const STICKY: u32 = 0o1000;
    let mode = mode(found).filter(|_| user(found) == Some(0));
    if mode.is_some_and(|mode| mode & STICKY != 0) {
        return None;
    }
    match shared(found) {
        Some(_) if mode.is_some_and(|mode| mode & 0o022 == 0) => None,
        why => why,
    }
}

/// Why another user can change a file or folder.
pub(super) fn shared(found: &std::fs::Metadata) -> Option<&'static str> {
    let Some(mode) = mode(found) else {
        return Some("may be changed by other users");
    };
    if user(found) != this_user() {
        Some("belongs to another user")
    } else if mode & 0o022 != 0 {
        Some("can be changed by other users (`chmod go-w` ends that)")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn why(config: &str) -> Option<String> {
        let folder = tempfile::tempdir().unwrap();
        let library = folder.path().join("lib");
        fs::create_dir_all(library.join(".git")).unwrap();
        fs::write(library.join(".git/config"), config).unwrap();
        fetches(&library)
    }

    #[test]
    fn every_way_to_name_a_remote_is_found() {
        for config in [
            "[remote \"origin\"]\n\turl = https://example.org/x\n",
            "[REMOTE \"a ] b\"]\nurl = x\n",
            "[remote]\n\tpushDefault = origin\n",
            "[remote.origin]\nurl = x\n",
            "[core] bare = false\n[core] [remote \"x\"] url = y\n",
            "[core][remote \"x\"]\n",
            "\u{feff}[remote \"x\"]\nurl = y\n",
            // A branch needs no section for the remote that it follows.
            "[branch \"main\"]\n\tremote = https://example.org/x\n\tmerge = refs/heads/main\n",
            "[branch \"main\"] pushRemote = y\n",
            "[include]\n\tpath = ../elsewhere\n",
            "[core] [includeIf \"gitdir:~/x/\"]\npath = y\n",
            &format!("[core]\n{}", "# long\n".repeat(200_000)),
        ] {
            let why = why(config).unwrap_or_else(|| panic!("{config}"));
            assert_eq!(
                why,
                "`lib` is a git repository with a remote, so others can change what it has"
            );
        }
    }

    #[test]
    fn a_repository_of_ones_own_has_no_remote() {
        let plain = "[core]\n\trepositoryformatversion = 0\n\tbare = false\n[user]\n\tname = A\n";
        assert_eq!(why(plain), None);
        assert_eq!(why(""), None);
        assert_eq!(
            why(&format!("{plain}# [remote \"x\"]\n  ; [include]\n")),
            None
        );
        let described = "[branch \"main\"]\n\tdescription = mine\n";
        assert_eq!(why(described), None);
    }

    #[test]
    fn other_places_of_a_remote_are_found() {
        let folder = tempfile::tempdir().unwrap();
        let git = folder.path().join(".git");
        // As `git init` makes it.
        fs::create_dir_all(git.join("branches")).unwrap();
        assert_eq!(fetches(folder.path()), None);
        for file in ["branches/x", "remotes/x", "config.worktree", "commondir"] {
            let path = git.join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, "[remote \"x\"]\nurl = y\n").unwrap();
            assert!(fetches(folder.path()).is_some(), "{file}");
            fs::remove_file(&path).unwrap();
        }
        assert_eq!(fetches(folder.path()), None);
        // What cannot be read may name one.
        fs::create_dir(git.join("config")).unwrap();
        assert!(fetches(folder.path()).is_some());
    }
}
