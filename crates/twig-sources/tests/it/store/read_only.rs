//! Files and folders that cannot be written.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

use super::child;
use super::support::*;

const NOBODY: u32 = 65_534;

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

/// A home that somebody without rights owns, and this program where they can start it.
struct Poor {
    home: Home,
    _place: tempfile::TempDir,
    program: PathBuf,
}

impl Poor {
    fn new() -> Self {
        let home = Home::with_project();
        prompt(&home.open(), "a", text("text")).unwrap();
        let place = tempfile::tempdir().unwrap();
        set_mode(place.path(), 0o755);
        let program = place.path().join("it");
        fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
        for folder in home.workspaces.folder().ancestors().take(3) {
            set_mode(folder, 0o755);
            Self::give(folder);
        }
        for file in home.files() {
            Self::give(&home.file(&file));
        }
        Self {
            home,
            _place: place,
            program,
        }
    }

    fn give(path: &Path) {
        if is_root() {
            chown(path, Some(NOBODY), Some(NOBODY)).unwrap();
        }
    }

    /// Has somebody without rights do something.
    fn does(&self, task: &str) {
        let mut command = child::command(&self.program, self.home.workspaces.folder(), task);
        if is_root() {
            command.uid(NOBODY).gid(NOBODY);
        }
        // A child of another test may still have the file that was copied open for writing.
        let started = loop {
            match command.spawn() {
                Err(error) if error.kind() == ErrorKind::ExecutableFileBusy => thread::yield_now(),
                started => break started.unwrap(),
            }
        };
        child::finish(started);
    }
}

impl Drop for Poor {
    fn drop(&mut self) {
        set_mode(self.home.workspaces.folder(), 0o700);
    }
}

#[test]
fn a_folder_that_cannot_be_written_is_read() {
    let poor = Poor::new();
    poor.does("read text");
    for has_lock in [true, false] {
        if !has_lock {
            fs::remove_file(poor.home.file("default.lock")).unwrap();
        }
        set_mode(poor.home.workspaces.folder(), 0o555);
        let before = poor.home.files();
        poor.does("read text");
        poor.does("refuse cannot be written");
        assert_eq!(poor.home.files(), before);
        set_mode(poor.home.workspaces.folder(), 0o755);
    }
    poor.does("read text");
}

#[test]
fn a_file_that_cannot_be_written_is_read() {
    let poor = Poor::new();
    set_mode(&poor.home.file("default.db"), 0o444);
    poor.does("read text");
    poor.does("refuse cannot be written: permission denied; make it and its folder writable");
    set_mode(&poor.home.file("default.db"), 0);
    poor.does("refuse cannot be read");
    poor.does("refuse-read cannot be read");
}

#[test]
fn a_log_that_nobody_can_read_back_is_not_passed_over() {
    let poor = Poor::new();
    // As after a crash, with a write that is in the log only.
    let store = poor.home.open();
    prompt(&store, "late", text("late")).unwrap();
    let crashed = ["default.db", "default.db-wal"].map(|file| {
        let bytes = fs::read(poor.home.file(file)).unwrap();
        (file, bytes)
    });
    drop(store);
    for (file, bytes) in crashed {
        fs::write(poor.home.file(file), bytes).unwrap();
        Poor::give(&poor.home.file(file));
    }
    set_mode(poor.home.workspaces.folder(), 0o555);
    poor.does("refuse-read The last changes of workspace 'default' are in the log");
}

#[test]
fn a_mount_for_reading_only_is_read() {
    // Only root may mount; the tests above cover the rest.
    if !is_root() {
        return;
    }
    let poor = Poor::new();
    let folder = poor.home.workspaces.folder();
    let mount = |arguments: &[&str]| {
        let mut command = Command::new("mount");
        command.args(arguments).arg(folder);
        command.output().is_ok_and(|output| output.status.success())
    };
    let shown = folder.to_str().unwrap();
    if !mount(&["--bind", shown]) {
        return;
    }
    let is_read_only = mount(&["-o", "remount,bind,ro"]);
    if is_read_only {
        let child = child::start(folder, "read text");
        let output = child.wait_with_output().unwrap();
        let sentence =
            "refuse cannot be written: read-only file system; make it and its folder writable";
        let refused = child::start(folder, sentence);
        let refused = refused.wait_with_output().unwrap();
        Command::new("umount").arg(folder).status().unwrap();
        assert!(output.status.success(), "{output:?}");
        assert!(refused.status.success(), "{refused:?}");
    } else {
        Command::new("umount").arg(folder).status().unwrap();
    }
}
