//! A change to one place of a file, as a unified diff of its lines alone.
//!
//! The rest of such a file may be private: no lines around the change are shown, and the other
//! content of a changed line is masked.

use super::mask::masked;

/// One side of a change.
#[derive(Debug, Clone, Copy)]
pub(super) struct Side<'s> {
    /// `None` for a missing file.
    pub(super) text: Option<&'s str>,
    /// Our entry, as written there.
    pub(super) own: &'s str,
}

/// The lines of the diff.
pub(super) fn diff(path: &str, before: Side<'_>, after: Side<'_>) -> Vec<String> {
    let old = lines(before.text.unwrap_or_default());
    let new = lines(after.text.unwrap_or_default());
    let same = |pairs: &mut dyn Iterator<Item = (&&str, &&str)>| -> usize {
        pairs.take_while(|(old, new)| old == new).count()
    };
    let start = same(&mut old.iter().zip(&new));
    let left = old.len().min(new.len()) - start;
    let end = same(&mut old.iter().rev().zip(new.iter().rev())).min(left);
    let name = |side: Side<'_>| side.text.map_or("/dev/null", |_| path).to_owned();
    let mut shown = vec![
        format!("--- {}", name(before)),
        format!("+++ {}", name(after)),
        format!(
            "@@ -{} +{} @@",
            span(start, old.len() - end),
            span(start, new.len() - end)
        ),
    ];
    let mut show = |sign: char, lines: &[&str], own: &str| {
        let own: Vec<&str> = own.lines().map(str::trim).collect();
        for line in lines {
            let text = line.trim_end_matches('\n').trim_end_matches('\r');
            shown.push(format!("{sign}{}", masked(text, &own)));
            if !line.ends_with('\n') {
                shown.push("\\ No newline at end of file".to_owned());
            }
        }
    };
    show('-', &old[start..old.len() - end], before.own);
    show('+', &new[start..new.len() - end], after.own);
    shown
}

fn lines(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

fn span(from: usize, until: usize) -> String {
    // A side without lines is numbered by the line before it.
    let first = if until > from { from + 1 } else { from };
    format!("{first},{}", until - from)
}

#[cfg(test)]
mod tests {
    use super::{Side, diff};

    fn check(before: Option<&str>, after: Option<&str>, expected: &[&str]) {
        let side = |text| Side {
            text,
            own: "4\n5\nfive\na\nb",
        };
        assert_eq!(diff("f", side(before), side(after)), expected);
    }

    #[test]
    fn a_change_is_shown_alone() {
        check(
            Some("1\n2\n3\n4\n5\n6\n7\n8\n9\n"),
            Some("1\n2\n3\n4\nfive\n6\n7\n8\n9\n"),
            &["--- f", "+++ f", "@@ -5,1 +5,1 @@", "-5", "+five"],
        );
        check(
            Some("1\n2\n"),
            Some("1\na\n2\n"),
            &["--- f", "+++ f", "@@ -1,0 +2,1 @@", "+a"],
        );
    }

    #[test]
    fn a_new_file_and_one_that_goes() {
        let made = ["--- /dev/null", "+++ f", "@@ -0,0 +1,1 @@", "+a"];
        check(None, Some("a\n"), &made);
        let gone = ["--- f", "+++ /dev/null", "@@ -1,1 +0,0 @@", "-a"];
        check(Some("a\n"), None, &gone);
    }

    #[test]
    fn a_missing_line_end_is_said() {
        check(
            Some("a"),
            Some("a\nb"),
            &[
                "--- f",
                "+++ f",
                "@@ -1,1 +1,2 @@",
                "-a",
                "\\ No newline at end of file",
                "+a",
                "+b",
                "\\ No newline at end of file",
            ],
        );
    }
}
