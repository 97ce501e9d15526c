//! A change to one place of a file, as a unified diff.

/// Lines shown around a change.
const AROUND: usize = 3;

/// The lines of the diff. `None` is a file that is not there.
pub(crate) fn diff(path: &str, before: Option<&str>, after: Option<&str>) -> Vec<String> {
    let old = lines(before.unwrap_or_default());
    let new = lines(after.unwrap_or_default());
    let same = |pairs: &mut dyn Iterator<Item = (&&str, &&str)>| -> usize {
        pairs.take_while(|(old, new)| old == new).count()
    };
    let start = same(&mut old.iter().zip(&new));
    let left = old.len().min(new.len()) - start;
    let end = same(&mut old.iter().rev().zip(new.iter().rev())).min(left);
    let from = start.saturating_sub(AROUND);
    let until = |all: &[&str]| (all.len() - end + AROUND).min(all.len());
    let name = |text: Option<&str>| text.map_or("/dev/null", |_| path).to_owned();
    let mut shown = vec![
        format!("--- {}", name(before)),
        format!("+++ {}", name(after)),
        format!(
            "@@ -{} +{} @@",
            span(from, until(&old)),
            span(from, until(&new))
        ),
    ];
    let mut show = |sign: char, lines: &[&str]| {
        for line in lines {
            let text = line.trim_end_matches('\n').trim_end_matches('\r');
            shown.push(format!("{sign}{text}"));
            if !line.ends_with('\n') {
                shown.push("\\ No newline at end of file".to_owned());
            }
        }
    };
    show(' ', &old[from..start]);
    show('-', &old[start..old.len() - end]);
    show('+', &new[start..new.len() - end]);
    show(' ', &old[old.len() - end..until(&old)]);
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
    use super::diff;

    fn check(before: Option<&str>, after: Option<&str>, expected: &[&str]) {
        assert_eq!(diff("f", before, after), expected);
    }

    #[test]
    fn a_change_is_shown_with_three_lines_around_it() {
        check(
            Some("1\n2\n3\n4\n5\n6\n7\n8\n9\n"),
            Some("1\n2\n3\n4\nfive\n6\n7\n8\n9\n"),
            &[
                "--- f",
                "+++ f",
                "@@ -2,7 +2,7 @@",
                " 2",
                " 3",
                " 4",
                "-5",
                "+five",
                " 6",
                " 7",
                " 8",
            ],
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
