//! Any text in any format of another tool ends in prompts that can be kept, or in a reason.
#![no_main]

mod deep;

use libfuzzer_sys::fuzz_target;
use twig_clients::import::{ImportFormat, SourceFile, ImportRequest, read};
use twig_core::parse::read_toml;
use twig_core::{Limits, PromptName};

fuzz_target!(|bytes: &[u8]| {
    let Some((first, rest)) = bytes.split_first() else { return };
    let Some(text) = deep::text(rest) else { return };
    let text = &*text;
    let format = ImportFormat::ALL[usize::from(*first) % ImportFormat::ALL.len()];
    let path = match format {
        ImportFormat::PromptsChat => "a.csv",
        ImportFormat::Langfuse => "a.json",
        ImportFormat::Prompty => "a.prompty",
        ImportFormat::Dotprompt | ImportFormat::Continue => "a.prompt",
        ImportFormat::CursorRules => "a.mdc",
        ImportFormat::GoTemplates => "a.tmpl",
        _ => "a/prompt.yaml",
    };
    let file = SourceFile { path: path.to_owned(), text: text.to_owned() };
    let wish = ImportRequest { format: Some(format), all_rules: true };
    let found = read(&[file], wish, &Limits::default());
    assert!(found.others.is_empty());
    for item in &found.items {
        match &item.prompt {
            Err(why) => assert!(!why.is_empty()),
            Ok(prompt) => {
                let name = PromptName::parse(&prompt.name).expect("a name");
                assert!(prompt.name.len() <= 64 && !prompt.files().is_empty());
                assert!(read_toml(&prompt.table(&name)).is_ok());
            }
        }
    }
});
