//! Messages for clients that may be on another machine: they name a library and a path inside it,
//! never its folder.

use std::borrow::Cow;

use crate::model::Library;

/// A message with the name of each library in place of its folder.
pub fn without_folders<'l>(
    libraries: impl IntoIterator<Item = &'l Library>,
    sentence: &str,
) -> String {
    let mut folders: Vec<(Cow<'l, str>, &str)> = Vec::new();
    for library in libraries {
        // A project of a store has no folder.
        if library.stored().is_none() {
            let name = library.name.as_str();
            folders.extend([&library.root, &library.shown_root].map(|it| (Cow::from(&**it), name)));
            // Documents beside a project's own folder have their path in the project.
            let beside = library.documents_beside.as_ref();
            if let Some((beside, path)) = beside.and_then(|it| Some((it, it.in_project()?))) {
                let paths = [library.path_of(beside), library.shown_path_of(beside)];
                folders.extend(paths.map(|it| (Cow::from(it), path)));
            }
        }
    }
    // A folder inside another library's folder comes first.
    folders.sort_by_key(|(folder, _)| std::cmp::Reverse(folder.len()));
    let mut sentence = sentence.to_owned();
    for (folder, name) in folders {
        if !folder.is_empty() && sentence.contains(&*folder) {
            sentence = replace(&sentence, &folder, name);
        }
    }
    sentence
}

/// Replaces a folder wherever it is a whole path, or the beginning of one.
fn replace(sentence: &str, folder: &str, name: &str) -> String {
    let mut replaced = String::with_capacity(sentence.len());
    let mut rest = sentence;
    while let Some((before, after)) = rest.split_once(folder) {
        replaced.push_str(before);
        let goes_on = |next: char| next.is_alphanumeric() || matches!(next, '_' | '-');
        // `/` and `~` alone occur in many texts that are no paths.
        let is_folder = match folder.len() {
            1 => after.starts_with('/'),
            _ => !after.starts_with(goes_on),
        };
        replaced.push_str(if is_folder { name } else { folder });
        rest = after;
    }
    replaced.push_str(rest);
    replaced
}

#[cfg(test)]
mod tests {
    use super::replace;

    #[test]
    fn only_whole_folders_are_replaced() {
        for (sentence, folder, expected) in [
            ("not found: /a/lib/x.md", "/a/lib", "not found: L/x.md"),
            ("'/a/lib', /a/library/x", "/a/lib", "'L', /a/library/x"),
            (
                "run `twig library trust ~/lib`",
                "~/lib",
                "run `twig library trust L`",
            ),
            ("~/x and ~ 5", "~", "L/x and ~ 5"),
            ("//x and 1/2", "/", "L/x and 1/2"),
        ] {
            assert_eq!(replace(sentence, folder, "L"), expected);
        }
    }
}
