//! Front matter of files for other tools, including two delimiters that only they use: `+++` lines,
//! and a preamble without an opening line.

use twig_core::front_matter::{FrontMatterError, FrontMatterFields, read_block, split};
use twig_core::limits::Limits;

/// A file split in two.
#[derive(Debug, Default, PartialEq)]
pub(super) struct SplitFile<'t> {
    /// The fields of the front matter, in order.
    pub(super) fields: FrontMatterFields,
    /// True if there is front matter.
    pub(super) is_there: bool,
    /// The rest of the file.
    pub(super) body: &'t str,
    /// Parts that could not be read as intended, one sentence each.
    pub(super) repairs: Vec<String>,
}

/// Splits a file into front matter and body and parses the first.
pub(super) fn split_and_read<'t>(text: &'t str, limits: &Limits) -> SplitFile<'t> {
    let cut = split(text);
    // Comments before front matter are not part of the text.
    let is_comment = |line: &str| line.trim().is_empty() || line.starts_with('#');
    let repairs = cut.repairs.into_iter();
    let repairs = repairs.filter(|repair| !text[repair.at.clone()].lines().all(is_comment));
    let repairs: Vec<String> = repairs.map(|repair| repair.message).collect();
    if let Some(at) = cut.front {
        return of_parts(&text[at], cut.body, repairs, limits);
    }
    let before = cut.body.split_inclusive('\n');
    let before = before.take_while(|line| is_comment(line));
    let opening: usize = before.map(str::len).sum();
    let after = cut.body[opening..].split_inclusive('\n').next();
    let after = after.filter(|line| line.trim_end() == "+++");
    let block = after.and_then(|line| until_fence(&cut.body[opening + line.len()..], "+++"));
    match block {
        Some((front, body)) => of_parts(front, body, repairs, limits),
        None => SplitFile {
            body: cut.body,
            repairs,
            ..SplitFile::default()
        },
    }
}

/// The same for a file whose front matter has no opening line.
pub(super) fn split_preamble<'t>(text: &'t str, limits: &Limits) -> Option<SplitFile<'t>> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let first = text.lines().find(|line| !line.trim().is_empty())?;
    let (key, _) = first.split_once(':')?;
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if key.is_empty() || !key.chars().all(is_word) {
        return None;
    }
    let (front, body) = until_fence(text, "---")?;
    Some(of_parts(front, body, Vec::new(), limits))
}

fn until_fence<'t>(text: &'t str, fence: &str) -> Option<(&'t str, &'t str)> {
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        if line.trim_end() == fence {
            return Some((&text[..at], &text[at + line.len()..]));
        }
        at += line.len();
    }
    None
}

fn of_parts<'t>(
    front: &str,
    body: &'t str,
    mut repairs: Vec<String>,
    limits: &Limits,
) -> SplitFile<'t> {
    let block = read_block(front, limits);
    repairs.extend(block.trouble.and_then(|trouble| match trouble {
        FrontMatterError::TooLong => Some(format!(
            "its front matter has more than {} bytes and is ignored",
            limits.front_matter
        )),
        FrontMatterError::NotYaml { is_harmless, .. } => {
            let message = "its front matter is not valid YAML and is read line by line";
            (!is_harmless).then(|| message.to_owned())
        }
        FrontMatterError::Arguments(..) => {
            Some("its `arguments` are not valid YAML and are ignored".to_owned())
        }
    }));
    SplitFile {
        fields: block.fields,
        is_there: true,
        body,
        repairs,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> SplitFile<'_> {
        split_and_read(text, &Limits::default())
    }

    #[test]
    fn what_is_no_yaml_is_told_and_comments_before_it_are_not() {
        let front = read("---\ndescription: A \"b\"\nglobs: **/*\nalwaysApply: false\n---\nBody\n");
        assert_eq!(front.body, "Body\n");
        assert_eq!(front.fields.text("globs"), Some("**/*"));
        assert_eq!(front.fields.text("description"), Some("A \"b\""));
        let told = "its front matter is not valid YAML and is read line by line";
        assert_eq!(front.repairs, [told]);
        let front = read("# Licence\n\n---\r\nname: 'x'\r\n---\r\nBody");
        assert_eq!(front.fields.text("name"), Some("x"));
        assert_eq!((front.body, front.repairs), ("Body", Vec::new()));
        let front = read("# Licence\n---\ninput: {\n  schema: {name: string}\n}\n---\nBody");
        assert!(front.is_there && front.fields.get("input").is_some());
        let headings = "# Title\n---\nNote: some\ntext\n---\nBody";
        assert_eq!(read(headings).body, headings);
    }

    #[test]
    fn a_file_without_a_whole_block_is_body() {
        for text in [
            "",
            "Body",
            "---\nname: x\n",
            "text\n---\nname: x\n---\n",
            "+++\nname: x\n---\n",
        ] {
            let front = read(text);
            assert_eq!((front.body, front.is_there), (text, false), "{text}");
            assert_eq!(front.repairs.is_empty(), !text.starts_with("---"));
        }
        assert_eq!(read("\u{feff}Body").body, "Body");
    }

    #[test]
    fn front_matter_between_plus_signs_is_read_too() {
        let front = read("\u{feff}# Licence\n\n+++\r\nname: 'x'\r\n+++\r\nBody");
        assert_eq!(front.fields.text("name"), Some("x"));
        assert_eq!((front.body, front.is_there), ("Body", true));
    }

    #[test]
    fn a_preamble_needs_no_opening_line() {
        let limits = Limits::default();
        let front = split_preamble("name: X\ndescription: Y\n---\nBody\n---\n", &limits).unwrap();
        assert_eq!(front.fields.text("name"), Some("X"));
        assert_eq!(front.body, "Body\n---\n");
        assert!(split_preamble("Some text\n---\nmore", &limits).is_none());
        assert!(split_preamble("name: x", &limits).is_none());
    }
}
