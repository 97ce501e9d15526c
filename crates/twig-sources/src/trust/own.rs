//! Libraries that the user trusts as their own: edits keep the trust, because no other user can
//! make them.

use std::path::Path;

use super::survey::LibrarySurvey;

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
    use std::io::Read;
    let name = folder.file_name().unwrap_or_default().display();
    let is_there = |name: &str| folder.join(name).symlink_metadata().is_ok();
    if [".hg", ".svn"].into_iter().any(is_there) {
        return Some(format!(
            "`{name}` is a checkout, so others can change what it has"
        ));
    }
    let git = folder.join(".git");
    let found = git.symlink_metadata().ok()?;
    if !found.is_dir() {
        return Some(format!("`{name}` is part of another git repository"));
    }
    let mut config = Vec::new();
    let file = std::fs::File::open(git.join("config")).ok()?;
    let read = file.take(GIT_CONFIG).read_to_end(&mut config);
    let config = String::from_utf8_lossy(&config);
    let has = |line: &str| {
        let line = line.trim_start().to_ascii_lowercase();
        line.starts_with("[remote") || line.starts_with("[include")
    };
    (read.is_err() || config.lines().any(has)).then(|| {
        format!("`{name}` is a git repository with a remote, so others can change what it has")
    })
}

/// Why others can replace what is in a folder above the library.
#[cfg(unix)]
fn shared_above(found: &std::fs::Metadata) -> Option<&'static str> {
    use std::os::unix::fs::MetadataExt;
    const STICKY: u32 = 0o1000;
    if found.uid() == 0 && found.mode() & STICKY != 0 {
        return None;
    }
    match shared(found) {
        Some(_) if found.uid() == 0 && found.mode() & 0o022 == 0 => None,
        why => why,
    }
}

/// Why another user can change a file or folder.
#[cfg(unix)]
pub(super) fn shared(found: &std::fs::Metadata) -> Option<&'static str> {
    use std::os::unix::fs::MetadataExt;
    if found.uid() != rustix::process::geteuid().as_raw() {
        Some("belongs to another user")
    } else if found.mode() & 0o022 != 0 {
        Some("can be changed by other users (`chmod go-w` ends that)")
    } else {
        None
    }
}

#[cfg(not(unix))]
fn shared_above(_found: &std::fs::Metadata) -> Option<&'static str> {
    shared(_found)
}

#[cfg(not(unix))]
pub(super) fn shared(_found: &std::fs::Metadata) -> Option<&'static str> {
    Some("may be changed by other users")
}
