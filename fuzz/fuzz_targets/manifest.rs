//! Any text is a library or a problem; what is listed has a name that can be asked for.
#![no_main]

mod deep;

use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use twig_core::parse::functions::FunctionFiles;
use twig_core::parse::library::{Files, LibraryRoot, functions_library, twig_library};
use twig_core::{BodyError, Catalog, LibraryName, Limits, Lookup, RelativePath};

struct EveryFile;

impl Files for EveryFile {
    fn look(&self, path: &RelativePath) -> Result<(), BodyError> {
        let parts = path.as_str().split('/');
        assert!(!path.as_str().starts_with('/') && parts.clone().all(|part| part != ".." && !part.is_empty()));
        if path.as_str().contains('x') { Err(BodyError::NotFound) } else { Ok(()) }
    }
}

fuzz_target!(|bytes: &[u8]| {
    let Some(text) = deep::text(bytes) else { return };
    let text = &*text;
    let Some(name) = LibraryName::from_folder("lib") else { return };
    let folder = LibraryRoot { name, root: "/lib".into(), shown_root: "~/lib".into(), prefix: "lib:".into() };
    let files = FunctionFiles { list: text, script: Ok(""), prefix: "prompt_" };
    for library in [
        twig_library(&folder, text, &EveryFile, &Limits::default()),
        functions_library(&folder, &files, &Limits::default()),
    ] {
        for problem in &library.problems {
            assert!(!problem.message.is_empty() && problem.line.is_none_or(|line| line > 0));
        }
        let catalog = Catalog::build(vec![Arc::new(library)]);
        for found in catalog.prompts(0) {
            assert!(matches!(catalog.find(&found.prompt.full_name), Lookup::Found(_)));
        }
    }
});
