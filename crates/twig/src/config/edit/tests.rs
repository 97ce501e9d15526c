//! Everything in the file that is not ours stays, byte for byte.

use std::fs;

use twig_clients::clients::formats;

use super::*;

fn places(folder: &Path) -> Places {
    Places {
        cache: None,
        replaced: None,
        home: Some(folder.join("home")),
        config: Some(folder.join("config.toml")),
        data: None,
        data_is_named: false,
        projects: Vec::new(),
        made_folders: None,
        packages: None,
        lock: None,
        trust: None,
        workspaces: None,
        function_prefix: None,
    }
}

fn entry(path: &str) -> LibraryEntry {
    LibraryEntry {
        path: path.to_owned(),
        kind: None,
        name: None,
        repository: None,
        shell_lines: None,
    }
}

/// Adds a folder to a text and removes it again; returns the text in between.
fn there_and_back(text: &str) -> String {
    let dir = tempfile::tempdir().unwrap();
    let places = places(dir.path());
    fs::write(dir.path().join("config.toml"), text).unwrap();
    let count = ConfigFile::open(&places).unwrap().check(&places).unwrap();
    let mut file = ConfigFile::open(&places).unwrap();
    file.add(&places, &entry("~/new")).unwrap();
    file.save(&places).unwrap();
    let added = fs::read_to_string(dir.path().join("config.toml")).unwrap();
    let mut file = ConfigFile::open(&places).unwrap();
    file.remove(&places, count.libraries.len()).unwrap();
    file.save(&places).unwrap();
    let removed = fs::read_to_string(dir.path().join("config.toml")).unwrap();
    assert_eq!(removed, text);
    added
}

#[test]
fn comments_order_and_line_ends_stay() {
    for text in [
        "",
        "# mine\nseparator = \"-\" # dash\n",
        "# mine\r\nseparator = \"-\"\r\n",
        "[limits]\npage  =  10\n\n# about libraries\n[[libraries]]\n# the first\npath = '/a' # here\n\n# the end\n",
        "libraries = [ { path = \"/a\" } ]\n\n[limits]\npage = 5\n",
        "libraries = []\n",
        "[[libraries]]\npath = '/a'\n\n[http]\nsessions = 3 # few\n",
    ] {
        let added = there_and_back(text);
        assert!(added.contains("path = \"~/new\""), "{added}");
    }
}

#[test]
fn an_entry_in_the_middle_goes_and_the_comments_stay() {
    let dir = tempfile::tempdir().unwrap();
    let places = places(dir.path());
    let text = "# top\n\n# one\n[[libraries]]\npath = '/a'\n\n# two\n[[libraries]]\npath = '/b'\nkind = \"claude\" # why\n\n# three\n[[libraries]]\npath = '/c'\n";
    fs::write(dir.path().join("config.toml"), text).unwrap();
    let mut file = ConfigFile::open(&places).unwrap();
    file.remove(&places, 1).unwrap();
    assert_eq!(
        file.text,
        "# top\n\n# one\n[[libraries]]\npath = '/a'\n\n# two\n\n# three\n[[libraries]]\npath = '/c'\n"
    );
}

#[test]
fn a_table_of_a_list_goes_with_its_comma_alone() {
    let dir = tempfile::tempdir().unwrap();
    let places = places(dir.path());
    let long = "libraries = [\n  # one\n  { path = '/a' }, # a, first\n  # two\n  { path = '/b' }\n  # before the comma\n  , # why\n  # three\n  { path = '/c' },\n  # end\n]\n";
    let short = "libraries = [ { path = '/a' }, { path = '/b' } ] # all\n";
    let bare = "libraries = [\r\n  { path = '/a' }, # first\r\n  # last\r\n  { path = '/b' } # second\r\n]\r\n";
    for (text, at, left) in [
        (long, 0, long.replace("{ path = '/a' }, # a", "# a")),
        (
            long,
            1,
            long.replace("  { path = '/b' }\n", "")
                .replace("  , # why", "   # why"),
        ),
        (long, 2, long.replace("  { path = '/c' },\n", "")),
        (
            short,
            0,
            "libraries = [ { path = '/b' } ] # all\n".to_owned(),
        ),
        (
            short,
            1,
            "libraries = [ { path = '/a' } ] # all\n".to_owned(),
        ),
        (bare, 0, bare.replace("{ path = '/a' }, # f", "# f")),
        (
            bare,
            1,
            bare.replace("}, # f", "} # f")
                .replace("{ path = '/b' } # s", "# s"),
        ),
        (
            "libraries = [{ path = '/a' },]\n",
            0,
            "libraries = []\n".to_owned(),
        ),
    ] {
        fs::write(dir.path().join("config.toml"), text).unwrap();
        let mut file = ConfigFile::open(&places).unwrap();
        let before = file.check(&places).unwrap().libraries.len();
        file.remove(&places, at).unwrap();
        assert_eq!(file.text, left, "{at} of {text}");
        let after = file.check(&places).unwrap().libraries.len();
        assert_eq!(after + 1, before);
    }
}

#[test]
fn what_is_written_can_be_read() {
    let dir = tempfile::tempdir().unwrap();
    let places = places(dir.path());
    let mut file = ConfigFile::open(&places).unwrap();
    let odd = LibraryEntry {
        path: "/a \"b\"\\c'\t\u{fc}".to_owned(),
        kind: Some(formats::CLAUDE.kind()),
        name: Some("mine".to_owned()),
        repository: None,
        shell_lines: None,
    };
    file.add(&places, &odd).unwrap();
    let config = file.check(&places).unwrap();
    assert_eq!(config.libraries[0].path, Path::new(&odd.path));
    assert_eq!(config.libraries[0].kind, Some(formats::CLAUDE.kind()));
    assert_eq!(config.libraries[0].name.as_ref().unwrap().as_str(), "mine");
}

#[cfg(unix)]
#[test]
fn a_link_and_the_permissions_stay() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let dir = tempfile::tempdir().unwrap();
    let places = places(dir.path());
    let real = dir.path().join("dotfiles.toml");
    fs::write(&real, "# mine\n").unwrap();
    fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).unwrap();
    symlink("dotfiles.toml", dir.path().join("config.toml")).unwrap();
    let mut file = ConfigFile::open(&places).unwrap();
    file.add(&places, &entry("/a")).unwrap();
    file.save(&places).unwrap();
    assert!(dir.path().join("config.toml").is_symlink());
    assert_eq!(
        fs::read_to_string(&real).unwrap(),
        "# mine\n\n[[libraries]]\npath = \"/a\"\n"
    );
    let mode = fs::metadata(&real).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o640);
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2);
}

#[test]
fn a_file_that_changed_meanwhile_is_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let places = places(dir.path());
    let mut file = ConfigFile::open(&places).unwrap();
    file.add(&places, &entry("/a")).unwrap();
    fs::write(dir.path().join("config.toml"), "separator = \"-\"\n").unwrap();
    assert!(
        file.save(&places)
            .unwrap_err()
            .message
            .contains("changed meanwhile")
    );
}

#[cfg(unix)]
#[test]
fn a_folder_that_cannot_be_synced_is_no_error() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().unwrap();
    let places = places(dir.path());
    // Files can be created and found there, but the folder itself cannot be opened.
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o300)).unwrap();
    if fs::read_dir(dir.path()).is_ok() {
        println!("skipped: this user may read everywhere");
        return;
    }
    let mut file = ConfigFile::open(&places).unwrap();
    file.add(&places, &entry("/a")).unwrap();
    file.save(&places).unwrap();
    assert!(dir.path().join("config.toml").exists());
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o700)).unwrap();
}
