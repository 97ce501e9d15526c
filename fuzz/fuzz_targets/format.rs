//! Any text is a prompt of any kind: it has a name and a description, and its pieces are its text.
#![no_main]

mod deep;

use libfuzzer_sys::fuzz_target;
use twig_clients::format::{Options, library, read};
use twig_core::marks::{MarkedPiece, pieces};
use twig_core::parse::library::LibraryRoot;
use twig_core::spoken::bodies;
use twig_core::{Dialect, LibraryKind, LibraryName, Limits, RelativePath};

fuzz_target!(|bytes: &[u8]| {
    let Some((first, rest)) = bytes.split_first() else { return };
    let Some(text) = deep::text(rest) else { return };
    let text = &*text;
    let kinds: Vec<LibraryKind> = twig_clients::clients::kinds().filter(|kind| kind.is_format()).collect();
    let kind = kinds[usize::from(*first) % kinds.len()];
    let folder = LibraryRoot {
        name: LibraryName::from_folder("lib").expect("a name"),
        root: "/lib".into(),
        shown_root: "~/lib".into(),
        prefix: "lib:".into(),
    };
    let path = RelativePath::parse("a/SKILL.md").expect("a path");
    let limits = Limits::default();
    let reading = read(kind, &folder, &path, Ok(text), Options::default(), &limits);
    let library = library(&folder, kind, [(&path, &reading)], &[], &limits);
    assert!(!library.prompts.is_empty() || !library.problems.is_empty());
    for prompt in &library.prompts {
        assert!(prompt.description.as_ref().is_some_and(|it| !it.trim().is_empty()));
        let Dialect::Marks(marks) = prompt.dialect else { continue };
        for spoken in bodies(kind, text).into_iter().flatten() {
            let pieces = pieces(marks, &prompt.arguments, &spoken.text);
            let lengths = pieces.iter().map(|piece| match piece {
                MarkedPiece::Text(text) => text.len(),
                MarkedPiece::Argument { mark, .. } | MarkedPiece::All { mark } => mark.len(),
            });
            assert!(lengths.sum::<usize>() <= spoken.text.len());
        }
    }
});
