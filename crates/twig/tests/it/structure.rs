//! How the code is arranged: the top-level modules of a crate form no cycle, so that a reader of one
//! only ever has to look at those it builds on. No two types have one name, so that grep finds the one
//! that is meant.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

#[test]
fn top_level_modules_form_no_cycle() {
    let mut found = Vec::new();
    for (name, files) in crates() {
        let uses = module_uses(&files);
        assert!(!uses.is_empty(), "{name} has no modules");
        found.extend(cycles(&uses).into_iter().map(|cycle| (name.clone(), cycle)));
    }
    assert!(
        found.is_empty(),
        "move what two modules share into a file of its own: {found:?}"
    );
}

#[test]
fn every_type_has_a_name_of_its_own() {
    let mut places: BTreeMap<String, Vec<PathBuf>> = BTreeMap::new();
    for (name, files) in crates() {
        for (path, text) in served(&files) {
            for defined in types(&text) {
                let file = path.with_extension("rs");
                let place = Path::new(&name).join("src").join(file);
                places.entry(defined.to_owned()).or_default().push(place);
            }
        }
    }
    assert!(!places.is_empty(), "there are no types");
    places.retain(|_, places| places.len() > 1);
    assert!(
        places.is_empty(),
        "give one of each a name that says more: {places:#?}"
    );
}

/// Modules with calls of Unix. The twins of platform modules for other systems stand beside them;
/// functions have none, and the testkit is for tests.
const UNIX: [(&str, &str); 8] = [
    ("twig", "function/child"),
    ("twig", "function/group"),
    ("twig", "function/process"),
    ("twig", "function/sandbox"),
    ("twig", "function/task"),
    ("twig", "platform/unix"),
    ("twig-sources", "platform/unix"),
    ("twig-testkit", ""),
];

#[test]
fn only_platform_modules_use_unix() {
    let mut unused = BTreeSet::from(UNIX);
    let mut others = Vec::new();
    for (name, files) in crates() {
        for (path, text) in served(&files) {
            let Some(found) = unix_name(&text) else {
                continue;
            };
            let is_here = |(of, module): &(&str, &str)| *of == name && path.starts_with(module);
            match UNIX.iter().find(|allowed| is_here(allowed)) {
                Some(allowed) => drop(unused.remove(allowed)),
                None => others.push(format!("{name}/src/{}.rs: {found}", path.display())),
            }
        }
    }
    assert!(
        others.is_empty(),
        "move this to `platform/unix.rs`, and a twin to `platform/portable.rs`: {others:#?}"
    );
    assert!(unused.is_empty(), "nothing of Unix is left in {unused:?}");
}

#[test]
fn every_way_to_use_unix_is_seen() {
    let found = |text: &str| {
        let files = Files::from([(PathBuf::from("a"), tokens(text))]);
        let served = served(&files);
        served.values().find_map(|text| unix_name(text)).is_some()
    };
    for text in [
        "use std::os::unix::fs::MetadataExt;",
        "use std::os::fd::{AsFd, OwnedFd};",
        "use cap_std::fs::{FileTypeExt, OpenOptionsExt};",
        "use tokio::signal::unix::signal;",
        "fn f() { libc::getpid() }",
        "fn f() { ::rustix::process::getpid() }",
    ] {
        assert!(found(text), "{text}");
    }
    for text in [
        "#[cfg(unix)] fn f() {} // rustix::io",
        "#[cfg(test)] mod tests { use std::os::unix::fs::symlink; }",
        "fn f(rlimit: u64) -> Option<&'static str> { Some(\"libc::x\") }",
    ] {
        assert!(!found(text), "{text}");
    }
}

#[test]
fn every_way_to_define_a_type_is_seen() {
    let text =
        "pub struct One<T>(T); enum Two { A } trait Three { type Inner; } union Four { a: u8 }
        pub(crate) type Five = One<u8>; impl Three for Two { type Inner = u8; }
        fn f() { struct Six; a.union(b) } // struct Comment
        #[cfg(test)] mod tests { struct Seven; }
        #[cfg(all(test, unix))] mod more { struct Eight; }
        #[cfg(unix)] struct Nine;";
    let files = [("a", text), ("a/tests", text), ("a/tests/more", text)];
    let files = files.map(|(path, text)| (PathBuf::from(path), tokens(text)));
    let files = BTreeMap::from(files);
    let served = served(&files);
    let found: Vec<_> = served.values().flat_map(|text| types(text)).collect();
    assert_eq!(
        found,
        ["One", "Two", "Three", "Four", "Five", "Six", "Nine"]
    );
}

#[test]
fn every_way_to_name_a_module_is_seen() {
    let sources = [
        (
            "lib",
            "mod a; mod b; mod c; mod d; pub use c::{Third, Word};",
        ),
        ("a", "use crate::{b::Thing, c}; // crate::d::Comment"),
        ("b/inner", "fn f() { super::super::a::g(\"crate::d\") }"),
        (
            "c",
            "use crate::Word; #[cfg(test)] mod tests { use crate::a; }",
        ),
        (
            "d",
            "use crate::Third; fn f<'a>(_: char) { ('\"', super::b::g, r#\"\"crate::a\"#) }",
        ),
        ("d/tests", "use crate::a;"),
    ];
    let files = sources.map(|(path, text)| (PathBuf::from(path), tokens(text)));
    let mut files = BTreeMap::from(files);
    let parent = tokens("#[cfg(test)] mod tests;");
    files
        .entry("d".into())
        .and_modify(|text| text.extend(parent));
    let uses = module_uses(&files);
    let of = |module: &str| uses[module].iter().map(String::as_str).collect::<Vec<_>>();
    assert_eq!(of("a"), ["b", "c"]);
    assert_eq!(of("b"), ["a"]);
    assert_eq!(of("c"), [] as [&str; 0]);
    assert_eq!(of("d"), ["b", "c"]);
    let cycles: Vec<_> = cycles(&uses).into_iter().collect();
    assert_eq!(cycles, [["a", "b"]]);
}

/// Paths of modules, without `.rs`, and the tokens of each.
type Files = BTreeMap<PathBuf, Vec<String>>;

/// Which top-level modules each of them uses, itself left out.
type Uses = BTreeMap<String, BTreeSet<String>>;

/// The source files of every crate.
fn crates() -> Vec<(String, Files)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let entries = fs::read_dir(folder).expect("the crates").flatten();
    let mut crates: Vec<_> = entries
        .map(|entry| {
            let name = entry.file_name().into_string().expect("a package's name");
            (name, source_files(&entry.path().join("src")))
        })
        .collect();
    crates.sort();
    crates
}

fn source_files(src: &Path) -> Files {
    let mut files = Files::new();
    let mut folders = vec![src.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder of sources").flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = fs::read_to_string(&path).expect("a source file");
                let module = path.strip_prefix(src).expect("beneath src");
                files.insert(module.with_extension(""), tokens(&text));
            }
        }
    }
    files
}

/// Words, `::` and single characters; neither comments nor literals.
fn tokens(text: &str) -> Vec<String> {
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let raw = raw_string(rest);
        let length = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            rest.find("*/").map_or(rest.len(), |end| end + 2)
        } else if let Some(length) = raw {
            length
        } else if first == '"' {
            quoted(rest, '"')
        } else if first == '\'' && is_character(rest) {
            quoted(rest, '\'')
        } else {
            let word = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
            let length = match word {
                0 if rest.starts_with("::") => 2,
                0 => first.len_utf8(),
                word => word,
            };
            if !first.is_whitespace() {
                tokens.push(rest[..length].to_owned());
            }
            length
        };
        rest = &rest[length..];
    }
    tokens
}

/// The length of the raw string that the text begins with.
fn raw_string(text: &str) -> Option<usize> {
    let after = text.strip_prefix("br").or_else(|| text.strip_prefix('r'))?;
    let hashes = after.len() - after.trim_start_matches('#').len();
    let content = after[hashes..].strip_prefix('"')?;
    let end = format!("\"{}", "#".repeat(hashes));
    let before = text.len() - content.len();
    Some(
        content
            .find(&end)
            .map_or(text.len(), |at| before + at + end.len()),
    )
}

/// The length of the literal that the text begins with.
fn quoted(text: &str, quote: char) -> usize {
    let mut is_escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        if c == quote && !is_escaped {
            return at + 1;
        }
        is_escaped = c == '\\' && !is_escaped;
    }
    text.len()
}

/// True for `'x'`, false for the lifetime `'x`.
fn is_character(text: &str) -> bool {
    let mut inside = text.chars().skip(1);
    inside.next() == Some('\\') || inside.next() == Some('\'')
}

/// Takes out items that are there for tests only; gives the names of modules in files among them.
fn without_tests(tokens: &[String]) -> (Vec<&str>, Vec<&str>) {
    const MARKS: [&[&str]; 2] = [
        &["#", "[", "cfg", "(", "test", ")", "]"],
        &["#", "[", "cfg", "(", "all", "(", "test", ","],
    ];
    let mut rest: Vec<&str> = tokens.iter().map(String::as_str).collect();
    let mut modules = Vec::new();
    let is_mark = |rest: &[&str]| MARKS.iter().any(|mark| rest.starts_with(mark));
    while let Some(start) = (0..rest.len()).find(|at| is_mark(&rest[*at..])) {
        let mut depth = 0;
        let end = rest[start..].iter().position(|token| {
            match *token {
                "{" => depth += 1,
                "}" => depth -= 1,
                _ => {}
            }
            depth == 0 && matches!(*token, "}" | ";")
        });
        let item: Vec<&str> = rest.drain(start..=start + end.expect("an item")).collect();
        if let [.., "mod", name, ";"] = item[..] {
            modules.push(name);
        }
    }
    (rest, modules)
}

fn is_root(path: &Path) -> bool {
    matches!(path.to_str(), Some("lib" | "main"))
}

/// The modules that are not there for tests only, and their tokens without tests.
fn served(files: &Files) -> BTreeMap<&Path, Vec<&str>> {
    let mut tests = BTreeSet::new();
    let mut sources = BTreeMap::new();
    for (path, tokens) in files {
        let (text, modules) = without_tests(tokens);
        let parent = if is_root(path) { Path::new("") } else { path };
        tests.extend(modules.iter().map(|module| parent.join(module)));
        sources.insert(path.as_path(), text);
    }
    let is_test = |path: &Path| path.ends_with("tests") || tests.contains(path);
    sources.retain(|path, _| !path.ancestors().any(is_test));
    sources
}

/// The names of the types that a module defines, without those that belong to a trait.
fn types<'t>(text: &[&'t str]) -> Vec<&'t str> {
    let mut depth = 0;
    let mut types = Vec::new();
    for pair in text.windows(2) {
        match pair[0] {
            "{" => depth += 1,
            "}" => depth -= 1,
            _ => {}
        }
        let is_definition = match pair[0] {
            "struct" | "enum" | "trait" | "union" => true,
            "type" => depth == 0,
            _ => false,
        };
        if is_definition && pair[1].starts_with(char::is_alphabetic) {
            types.push(pair[1]);
        }
    }
    types
}

/// The first name in a module that only Unix has.
fn unix_name<'t>(text: &[&'t str]) -> Option<&'t str> {
    const CRATES: [&str; 7] = [
        "close_fds",
        "landlock",
        "libc",
        "rlimit",
        "rustix",
        "seccompiler",
        "signal_hook",
    ];
    const MODULES: [&str; 3] = ["fd", "linux", "unix"];
    const TRAITS: [&str; 8] = [
        "CommandExt",
        "DirBuilderExt",
        "ExitStatusExt",
        "FileTypeExt",
        "MetadataExt",
        "OpenOptionsExt",
        "OsStrExt",
        "PermissionsExt",
    ];
    let is_unix = |at: usize| {
        let before = at.checked_sub(2).map(|from| &text[from..at]);
        let is_path = text.get(at + 1) == Some(&"::");
        (CRATES.contains(&text[at]) && is_path)
            || TRAITS.contains(&text[at])
            || (MODULES.contains(&text[at]) && matches!(before, Some(["os" | "signal", "::"])))
    };
    (0..text.len()).find(|at| is_unix(*at)).map(|at| text[at])
}

fn module_uses(files: &Files) -> Uses {
    let sources = served(files);
    let top = |path: &Path| {
        let first = path.iter().next().and_then(|first| first.to_str());
        first.expect("a module's name").to_owned()
    };
    let modules = sources.keys().filter(|path| !is_root(path));
    let mut uses: Uses = modules.map(|path| (top(path), BTreeSet::new())).collect();
    let exports: BTreeMap<String, String> = sources
        .iter()
        .filter(|(path, _)| is_root(path))
        .flat_map(|(_, text)| exports(text))
        .collect();
    for (path, text) in sources.iter().filter(|(path, _)| !is_root(path)) {
        let own = top(path);
        for name in used_names(text, path.iter().count()) {
            let module = exports.get(name).map_or(name, String::as_str);
            if module != own && uses.contains_key(module) {
                uses.entry(own.clone())
                    .or_default()
                    .insert(module.to_owned());
            }
        }
    }
    uses
}

/// What the root exports, and from which module.
fn exports(text: &[&str]) -> Vec<(String, String)> {
    let statements = text.split(|token| *token == ";");
    let imports = statements.filter_map(|statement| {
        let start = statement.iter().rposition(|token| *token == "use")?;
        statement.get(start + 1..)
    });
    imports
        .flat_map(|path| {
            let module = path.first().copied().unwrap_or_default();
            let names = path.iter().skip(1);
            names.map(move |name| ((*name).to_owned(), module.to_owned()))
        })
        .collect()
}

/// The names that paths of a module at this depth look up in the crate's root.
fn used_names<'t>(text: &[&'t str], depth: usize) -> Vec<&'t str> {
    let mut names = Vec::new();
    for at in 0..text.len() {
        if at > 0 && text[at - 1] == "::" {
            continue;
        }
        let mut path = &text[at..];
        let mut up = 0;
        while let ["super", "::", rest @ ..] = path {
            (path, up) = (rest, up + 1);
        }
        if let ["crate", "::", rest @ ..] = path {
            (path, up) = (rest, depth);
        }
        if up < depth {
            continue;
        }
        if path.first() != Some(&"{") {
            names.extend(path.first());
            continue;
        }
        let mut level = 0;
        for pair in path.windows(2) {
            match pair[0] {
                "{" => level += 1,
                "}" => level -= 1,
                _ => {}
            }
            if level == 0 {
                break;
            }
            if level == 1 && matches!(pair[0], "{" | ",") {
                names.push(pair[1]);
            }
        }
    }
    names
}

/// The sets of modules that lead to each other.
fn cycles(uses: &Uses) -> BTreeSet<Vec<String>> {
    let reached = |from: &str| {
        let mut reached = BTreeSet::new();
        let mut open: Vec<&String> = uses[from].iter().collect();
        while let Some(module) = open.pop() {
            if reached.insert(module.clone()) {
                open.extend(&uses[module]);
            }
        }
        reached
    };
    let reached: Uses = uses
        .keys()
        .map(|from| (from.clone(), reached(from)))
        .collect();
    let in_cycles = reached.iter().filter(|(from, to)| to.contains(*from));
    in_cycles
        .map(|(from, to)| {
            let back = |other: &&String| reached[*other].contains(from);
            to.iter().filter(back).cloned().collect()
        })
        .collect()
}
