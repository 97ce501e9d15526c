//! The git repository in which a function is called: the folders to read for it.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

/// The longest file that names a folder of git.
const POINTER: u64 = 4096;

/// The repository around a folder, as real paths: its own folder, and that of git if it is
/// elsewhere. `None` if there is none.
///
/// What a `.git` file names is read only if git's own files say the same, because it comes with
/// the repository and could name any folder.
pub(super) fn folders(folder: &Path) -> Option<Vec<PathBuf>> {
    let folder = folder.canonicalize().ok()?;
    let has_git = |folder: &&Path| folder.join(".git").symlink_metadata().is_ok();
    let root = folder.ancestors().find(has_git)?;
    let elsewhere = elsewhere(root);
    Some(
        [Some(root.to_owned()), elsewhere]
            .into_iter()
            .flatten()
            .collect(),
    )
}

/// The folder of git, if it is not in the repository and belongs to it.
fn elsewhere(root: &Path) -> Option<PathBuf> {
    let pointer = root.join(".git");
    if !pointer.symlink_metadata().ok()?.is_file() {
        return None;
    }
    let git = pointed(&pointer, "gitdir: ")?;
    let git = root.join(git).canonicalize().ok()?;
    // A worktree: git's folder for it names the worktree in turn.
    let named = pointed(&git.join("gitdir"), "");
    let named = named.and_then(|named| git.join(named).canonicalize().ok());
    if named.as_deref() == Some(&pointer) {
        let worktrees = git.parent()?;
        let is_worktree = worktrees
            .file_name()
            .is_some_and(|name| name == "worktrees");
        // The files of a repository could claim that the folder around it is git's.
        let own = worktrees.parent().filter(|own| {
            let is_git = own.join("HEAD").is_file() && own.join("objects").is_dir();
            is_worktree && is_git && !root.starts_with(own)
        });
        return own.map(Path::to_owned);
    }
    // A submodule: its folder is in that of a repository around it.
    let mut around = root.ancestors().skip(1);
    let is_module = around.any(|around| git.starts_with(around.join(".git/modules")));
    is_module.then_some(git)
}

/// The path in the one line of a file.
fn pointed(file: &Path, before: &str) -> Option<PathBuf> {
    let mut text = String::new();
    let file = fs::File::open(file).ok()?;
    file.take(POINTER).read_to_string(&mut text).ok()?;
    let path = text.strip_prefix(before)?.trim_end_matches(['\n', '\r']);
    (!path.is_empty() && !path.contains('\n')).then(|| PathBuf::from(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_repository_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("outer/.git")).unwrap();
        fs::create_dir_all(root.join("outer/inner/.git")).unwrap();
        fs::create_dir_all(root.join("outer/inner/src/deep")).unwrap();
        let found = folders(&root.join("outer/inner/src/deep"));
        assert_eq!(found, Some(vec![root.join("outer/inner")]));
        assert_eq!(folders(&root.join("outer")), Some(vec![root.join("outer")]));
        assert_eq!(folders(&root.join("nowhere")), None);
    }

    #[test]
    fn a_worktree_and_a_submodule_have_their_folder_of_git() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let git = root.join("main/.git/worktrees/side");
        fs::create_dir_all(&git).unwrap();
        fs::create_dir_all(root.join("main/.git/objects")).unwrap();
        fs::write(root.join("main/.git/HEAD"), "ref: refs/heads/main\n").unwrap();
        fs::create_dir_all(root.join("side")).unwrap();
        fs::write(
            git.join("gitdir"),
            format!("{}/side/.git\n", root.display()),
        )
        .unwrap();
        fs::write(
            root.join("side/.git"),
            format!("gitdir: {}\n", git.display()),
        )
        .unwrap();
        let found = folders(&root.join("side"));
        assert_eq!(found, Some(vec![root.join("side"), root.join("main/.git")]));
        let module = root.join("main/.git/modules/lib");
        fs::create_dir_all(&module).unwrap();
        fs::create_dir_all(root.join("main/lib")).unwrap();
        fs::write(root.join("main/lib/.git"), "gitdir: ../.git/modules/lib\n").unwrap();
        let found = folders(&root.join("main/lib"));
        assert_eq!(found, Some(vec![root.join("main/lib"), module]));
    }

    #[test]
    fn a_folder_called_worktrees_does_not_open_the_one_around_it() {
        let folder = tempfile::tempdir().unwrap();
        let around = folder.path().canonicalize().unwrap();
        let root = around.join("worktrees");
        fs::create_dir_all(root.join("y")).unwrap();
        fs::write(root.join(".git"), "gitdir: y\n").unwrap();
        fs::write(root.join("y/gitdir"), "../.git\n").unwrap();
        assert_eq!(folders(&root), Some(vec![root.clone()]));
        // Not even if the one around it looks like git's.
        fs::create_dir_all(around.join("objects")).unwrap();
        fs::write(around.join("HEAD"), "").unwrap();
        assert_eq!(folders(&root), Some(vec![root]));
    }

    #[test]
    fn a_repository_cannot_name_any_folder_as_gits() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let secret = root.join("home/.ssh");
        fs::create_dir_all(&secret).unwrap();
        fs::create_dir_all(root.join("evil/x/worktrees/y")).unwrap();
        let only = Some(vec![root.join("evil")]);
        let pointer = root.join("evil/.git");
        for named in ["../home/.ssh", "/etc", "x/worktrees/y", "", "a\nb"] {
            fs::write(&pointer, format!("gitdir: {named}\n")).unwrap();
            assert_eq!(folders(&root.join("evil")), only, "{named}");
        }
        // A folder of git that is in the repository may say what it likes.
        let inner = root.join("evil/x/worktrees/y");
        fs::write(inner.join("gitdir"), format!("{}\n", pointer.display())).unwrap();
        fs::write(inner.join("commondir"), format!("{}\n", secret.display())).unwrap();
        fs::write(&pointer, "gitdir: x/worktrees/y\n").unwrap();
        assert_eq!(folders(&root.join("evil")), only);
        fs::create_dir(root.join("evil/x/objects")).unwrap();
        fs::write(root.join("evil/x/HEAD"), "").unwrap();
        let found = folders(&root.join("evil"));
        assert_eq!(found, Some(vec![root.join("evil"), root.join("evil/x")]));
        fs::remove_file(&pointer).unwrap();
        std::os::unix::fs::symlink(&secret, &pointer).unwrap();
        assert_eq!(folders(&root.join("evil")), only);
    }
}
