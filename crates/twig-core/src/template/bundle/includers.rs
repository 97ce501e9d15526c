//! Which templates include the file of a prompt: they stop working when it is deleted or renamed.

use std::collections::BTreeSet;

use super::{PromptSources, gather::gather};
use crate::catalog::PromptRef;
use crate::model::{Content, Dialect};
use crate::parse::library::MANIFEST;
use crate::template::TemplateFiles;

/// The templates that include, extend or import the text of a prompt, as `library:path`, with the
/// line of a text in a manifest; the prompt's own do not count. Prompts that cannot be read name nothing.
pub fn includers(files: TemplateFiles<'_>, target: PromptRef<'_>) -> BTreeSet<String> {
    let mut own = BTreeSet::new();
    for message in &target.prompt.messages {
        if let Content::File(path) = &message.content {
            own.insert(format!("{}:{path}", target.library.name));
        }
    }
    let mut found = BTreeSet::new();
    for library in files.catalog.libraries() {
        for prompt in &library.prompts {
            if prompt.dialect != Dialect::Jinja || prompt.unavailable.is_some() {
                continue;
            }
            let mut sources = PromptSources::default();
            for message in &prompt.messages {
                if !matches!(message.content, Content::File(_) | Content::Text { .. }) {
                    continue;
                }
                let Ok(closure) = gather(files, library, &message.content, &mut sources) else {
                    continue;
                };
                let links = closure.links.into_iter();
                let including = links.filter(|(_, to)| own.contains(to));
                // A text of a manifest is named by its line.
                let line =
                    |from: String| from.replace(&format!("{MANIFEST}#"), &format!("{MANIFEST}:"));
                found.extend(including.map(|((from, _), _)| line(from)));
            }
        }
    }
    &found - &own
}
