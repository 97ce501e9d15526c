//! The difference of two texts, as a unified diff.

use std::time::Duration;

use similar::TextDiff;

/// How long the shortest difference is looked for; a longer one is still right.
const LONGEST: Duration = Duration::from_millis(500);

/// The unified diff of two texts under these names, with three lines around each change; empty if
/// they are equal.
pub(crate) fn unified(before: (&str, &str), after: (&str, &str)) -> String {
    let ((old_name, old), (new_name, new)) = (before, after);
    let diff = TextDiff::configure().timeout(LONGEST).diff_lines(old, new);
    let mut unified = diff.unified_diff();
    unified.header(old_name, new_name).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_differs_is_shown() {
        let lines: Vec<String> = (1..=20).map(|at| format!("line {at}\n")).collect();
        let old = lines.concat();
        let new = old
            .replace("line 10\n", "line ten\n")
            .replace("line 20\n", "line 20");
        let diff = unified(("a", &old), ("b", &new));
        insta::assert_snapshot!(diff, @r"
        --- a
        +++ b
        @@ -7,7 +7,7 @@
         line 7
         line 8
         line 9
        -line 10
        +line ten
         line 11
         line 12
         line 13
        @@ -17,4 +17,4 @@
         line 17
         line 18
         line 19
        -line 20
        +line 20
        \ No newline at end of file
        ");
        assert_eq!(unified(("a", &old), ("b", &old)), "");
    }
}
