//! Commands and files that a client would put into its own prompt files.

use twig_core::LibraryKind;
use twig_core::shell_lines::shell_lines;
use twig_testkit::assert_linear;

fn commands(text: &str) -> Vec<&str> {
    let found = shell_lines(LibraryKind::Skills, text);
    found.into_iter().map(|line| line.text).collect()
}

#[test]
fn a_command_ends_at_its_mark_and_within_its_line() {
    assert_eq!(commands("a !`git status` b !`ls`"), ["git status", "ls"]);
    assert_eq!(commands("!`open\nnext` !`whole`"), ["whole"]);
    assert_eq!(commands("!`` !`a` x!`b` !`c"), ["a"]);
}

#[test]
fn many_marks_in_one_line_take_linear_time() {
    for part in ["!`", "!``", "x!`a` ", "!`a` "] {
        let line = |count| part.repeat(count);
        assert_linear(part, 20_000, line, |text| drop(commands(text)));
    }
}
