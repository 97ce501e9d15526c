//! The programs that shell code names: the first word of every command, however it is quoted, piped
//! or nested.
//!
//! It reads the shape of the Bourne shell in one pass, without recursion. Other shells are read the
//! same way, which is enough for the names of programs.

use std::collections::BTreeSet;

use super::is_notable;

/// Shells, whose quoted arguments are code again.
pub(super) const SHELLS: [&str; 8] = ["bash", "dash", "eval", "fish", "ksh", "sh", "ssh", "zsh"];

/// What a shell does by itself and what says nothing about a package.
const BUILTINS: [&str; 39] = [
    ".", ":", "[", "[[", "alias", "bg", "break", "builtin", "cd", "command", "continue", "declare",
    "echo", "exec", "exit", "export", "false", "fg", "getopts", "jobs", "let", "local", "popd",
    "printf", "pushd", "pwd", "read", "readonly", "return", "set", "shift", "shopt", "test",
    "trap", "true", "typeset", "umask", "unset", "wait",
];

/// Programs and words whose arguments are another command.
const WRAPPERS: [&str; 14] = [
    "builtin", "command", "doas", "env", "exec", "ionice", "nice", "nohup", "setsid", "stdbuf",
    "sudo", "time", "timeout", "xargs",
];

/// Words after which a command follows.
const BEFORE_COMMANDS: [&str; 14] = [
    "!", "$", "%", "do", "done", "elif", "else", "esac", "fi", "if", "then", "until", "while", "{",
];

/// Words after which no command follows before the next separator.
const BEFORE_WORDS: [&str; 4] = ["case", "for", "in", "select"];

/// Options of wrappers that take the next word as their value.
const WITH_VALUE: [&str; 11] = [
    "-C", "-I", "-L", "-P", "-d", "-g", "-h", "-k", "-n", "-s", "-u",
];

/// Characters of a name that are kept.
const LONGEST: usize = 64;

/// Substitutions in substitutions, at most; deeper ones are text.
const DEEPEST: usize = 64;

/// How often code that is an argument of a shell is read again.
const REREADS: u8 = 3;

/// Finds the programs in shell code whose first line has this number.
pub(super) fn programs(code: &str, line: u32, found: &mut dyn FnMut(&str, u32)) {
    let mut texts = vec![(code.to_owned(), line, 0)];
    while let Some((text, line, rereads)) = texts.pop() {
        let mut scan = ShellScan::new(&text, line);
        scan.run();
        let ShellScan {
            found: names,
            functions,
            inner,
            ..
        } = scan;
        for (name, line) in names {
            // A function could have the name of a program to hide it.
            if !functions.contains(&name) || is_notable(&name) {
                found(&name, line);
            }
        }
        if rereads < REREADS {
            texts.extend(
                inner
                    .into_iter()
                    .map(|(text, line)| (text, line, rereads + 1)),
            );
        }
    }
}

/// What the next word is.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
enum ShellWord {
    /// The name of a program.
    #[default]
    Program,
    /// The name of a program, after a wrapper and its options.
    Wrapped,
    /// The name of a function that is written here.
    Function,
    Argument,
}

/// Whether a word has double or single quotes.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
enum WordQuotes {
    #[default]
    Without,
    /// The next character is between double quotes.
    Open,
    Closed,
}

/// The command that is being read.
#[derive(Default)]
struct ShellCommand {
    next: ShellWord,
    /// The word that is being read; it may be empty.
    word: Option<String>,
    word_line: u32,
    quotes: WordQuotes,
    /// True if the next word is a file to read or write, or the value of an option.
    skips_word: bool,
    /// True if the program is a shell.
    is_shell: bool,
}

/// Why a command is inside another one.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ShellNest {
    /// `$(…)`, `<(…)`
    Substitution,
    /// `(…)`
    Group,
    /// `name=(…)`
    Array,
    Backtick,
}

struct ShellScan<'t> {
    text: &'t str,
    at: usize,
    line: u32,
    now: ShellCommand,
    around: Vec<(ShellNest, ShellCommand)>,
    /// The last quotation mark of each kind: one that does not close is a character like others.
    last_single: usize,
    last_double: usize,
    last_backtick: usize,
    /// The line that ends the text after this line.
    heredoc: Option<String>,
    /// The line that ended the last one.
    heredoc_end: String,
    /// False after one that has no end: searching again and again would not be linear.
    has_heredocs: bool,
    /// Arguments of shells, which are code.
    inner: Vec<(String, u32)>,
    /// Functions that the code has itself.
    functions: BTreeSet<String>,
    found: Vec<(String, u32)>,
}

impl<'t> ShellScan<'t> {
    fn new(text: &'t str, line: u32) -> Self {
        Self {
            text,
            at: 0,
            line,
            now: ShellCommand::default(),
            around: Vec::new(),
            last_single: text.rfind('\'').unwrap_or_default(),
            last_double: text.rfind('"').unwrap_or_default(),
            last_backtick: text.rfind('`').unwrap_or_default(),
            heredoc: None,
            heredoc_end: String::new(),
            has_heredocs: true,
            inner: Vec::new(),
            functions: BTreeSet::new(),
            found: Vec::new(),
        }
    }

    fn run(&mut self) {
        while let Some(c) = self.text[self.at..].chars().next() {
            let start = self.at;
            self.at += c.len_utf8();
            if self.now.quotes == WordQuotes::Open {
                self.quoted_character(c, start);
            } else {
                self.bare_character(c, start);
            }
        }
        self.end_word();
        // Commands around one that does not close have been read up to there.
        while let Some((_, around)) = self.around.pop() {
            self.now = around;
            self.end_word();
        }
    }

    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    /// A character between double quotes.
    fn quoted_character(&mut self, c: char, start: usize) {
        match c {
            '"' => self.now.quotes = WordQuotes::Closed,
            '\\' => self.escaped(),
            '`' => self.backtick(start),
            '$' if self.rest().starts_with('(') => self.open(ShellNest::Substitution),
            c => {
                if c == '\n' {
                    self.line = self.line.saturating_add(1);
                }
                self.push(c);
            }
        }
    }

    fn bare_character(&mut self, c: char, start: usize) {
        match c {
            '\\' => self.escaped(),
            '\'' if start < self.last_single => self.single_quotes(),
            '"' if start < self.last_double => {
                self.word();
                self.now.quotes = WordQuotes::Open;
            }
            '`' => self.backtick(start),
            '$' if self.rest().starts_with('(') => self.open(ShellNest::Substitution),
            '<' | '>' => self.redirection(c, start),
            '(' => self.parenthesis(),
            ')' => self.close_parenthesis(),
            '#' if self.now.word.is_none() => {
                let rest = self.rest();
                self.at += rest.find('\n').unwrap_or(rest.len());
            }
            '&' if self.rest().starts_with('>') => self.end_word(),
            '\n' => {
                self.separator();
                self.line = self.line.saturating_add(1);
                self.skip_heredoc();
            }
            ';' | '|' | '&' => self.separator(),
            c if c.is_whitespace() => self.end_word(),
            c => self.push(c),
        }
    }

    /// The word that is being read, or a new one.
    fn word(&mut self) -> &mut String {
        if self.now.word.is_none() {
            self.now.word_line = self.line;
        }
        self.now.word.get_or_insert_default()
    }

    fn push(&mut self, c: char) {
        self.word().push(c);
    }

    fn escaped(&mut self) {
        match self.rest().chars().next() {
            Some('\n') => {
                self.at += 1;
                self.line = self.line.saturating_add(1);
            }
            Some('\r') if self.rest().starts_with("\r\n") => {
                self.at += 2;
                self.line = self.line.saturating_add(1);
            }
            Some(c) => {
                self.at += c.len_utf8();
                self.push(c);
            }
            None => {}
        }
    }

    fn single_quotes(&mut self) {
        let rest = self.rest();
        let inside = rest.split('\'').next().unwrap_or_default();
        self.word().push_str(inside);
        self.now.quotes = WordQuotes::Closed;
        self.line = self.line.saturating_add(super::count_lines(inside));
        self.at += (inside.len() + 1).min(rest.len());
    }

    fn backtick(&mut self, start: usize) {
        let is_close = matches!(self.around.last(), Some((ShellNest::Backtick, _)));
        if is_close && self.now.quotes != WordQuotes::Open {
            self.close();
        } else if start < self.last_backtick && !is_close {
            self.enter(ShellNest::Backtick);
        }
    }

    /// Opens `$(` or `<(`; its parenthesis is the next character.
    fn open(&mut self, nest: ShellNest) {
        self.at += 1;
        self.enter(nest);
    }

    fn enter(&mut self, nest: ShellNest) {
        if self.around.len() >= DEEPEST {
            self.push('(');
            return;
        }
        let mut inner = ShellCommand::default();
        if nest == ShellNest::Array {
            inner.next = ShellWord::Argument;
        }
        let around = std::mem::replace(&mut self.now, inner);
        self.around.push((nest, around));
    }

    fn close(&mut self) {
        self.end_word();
        let Some((nest, around)) = self.around.pop() else {
            return;
        };
        self.now = around;
        match nest {
            // What it puts in is not known, so this word is no name.
            ShellNest::Substitution | ShellNest::Backtick => self.push('('),
            ShellNest::Group => self.now.next = ShellWord::Argument,
            ShellNest::Array => {}
        }
    }

    fn parenthesis(&mut self) {
        let is_program = self.now.next != ShellWord::Argument;
        let word = self.now.word.as_deref();
        if is_program && word.is_some() && self.rest().starts_with(')') {
            // `name()` is where a function is written.
            self.at += 1;
            let command = std::mem::take(&mut self.now);
            self.functions.extend(command.word);
        } else if word.is_some_and(|word| word.ends_with('=')) {
            self.enter(ShellNest::Array);
        } else {
            self.end_word();
            self.enter(ShellNest::Group);
        }
    }

    fn close_parenthesis(&mut self) {
        match self.around.last() {
            Some((ShellNest::Backtick, _)) | None => {
                // `pattern)` of `case`.
                self.now = ShellCommand::default();
            }
            Some(_) => self.close(),
        }
    }

    fn redirection(&mut self, sign: char, start: usize) {
        let rest = self.rest();
        if rest.starts_with('(') {
            return self.open(ShellNest::Substitution);
        }
        let is_line_start = start == 0 || self.text[..start].ends_with('\n');
        if sign == '>' && is_line_start && rest.starts_with([' ', '\t']) {
            // A prompt sign, or a quotation.
            return;
        }
        // The number of a stream.
        let is_number = |word: &mut String| word.bytes().all(|byte| byte.is_ascii_digit());
        self.now.word.take_if(is_number);
        self.end_word();
        if sign == '<' && rest.starts_with('<') && !rest.starts_with("<<") {
            self.at += 1;
            return self.begin_heredoc();
        }
        let signs = rest
            .bytes()
            .take_while(|it| matches!(it, b'<' | b'>' | b'&' | b'|'));
        self.at += signs.count();
        self.now.skips_word = true;
    }

    fn begin_heredoc(&mut self) {
        let rest = self.rest();
        let bare = rest.trim_start_matches('-').trim_start_matches([' ', '\t']);
        let quoted = bare.trim_start_matches(['\'', '"', '\\']);
        let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
        let end = quoted.find(|c| !is_part(c)).unwrap_or(quoted.len());
        let name = &quoted[..end];
        if !name.starts_with(|c: char| c.is_alphabetic() || c == '_') {
            return;
        }
        let after = quoted[end..].trim_start_matches(['\'', '"']);
        self.at = self.text.len() - after.len();
        name.clone_into(&mut self.heredoc_end);
        // What a shell reads is code.
        if !self.now.is_shell {
            self.heredoc = Some(name.to_owned());
        }
    }

    /// Leaves the text out that a command of the last line reads.
    fn skip_heredoc(&mut self) {
        let Some(name) = self.heredoc.take().filter(|_| self.has_heredocs) else {
            return;
        };
        let (mut at, mut lines) = (self.at, 0_u32);
        for line in self.rest().split_inclusive('\n') {
            at += line.len();
            lines = lines.saturating_add(1);
            if line.trim() == name {
                self.at = at;
                self.line = self.line.saturating_add(lines);
                return;
            }
        }
        self.has_heredocs = false;
    }

    fn separator(&mut self) {
        self.end_word();
        let is_array = matches!(self.around.last(), Some((ShellNest::Array, _)));
        if !is_array {
            self.now = ShellCommand::default();
        }
    }

    fn end_word(&mut self) {
        let Some(word) = self.now.word.take() else {
            return;
        };
        let is_quoted = std::mem::take(&mut self.now.quotes) != WordQuotes::Without;
        if std::mem::take(&mut self.now.skips_word) {
            return;
        }
        match self.now.next {
            ShellWord::Argument if is_quoted && self.now.is_shell => {
                self.inner.push((word, self.now.word_line));
            }
            ShellWord::Argument => {}
            ShellWord::Function => {
                self.functions.insert(word);
                self.now.next = ShellWord::Program;
            }
            ShellWord::Wrapped if is_option(&word) => {
                self.now.skips_word = WITH_VALUE.contains(&&*word);
            }
            _ => self.program(&word, is_quoted),
        }
    }

    fn program(&mut self, word: &str, is_quoted: bool) {
        let is_ignored = BEFORE_COMMANDS.contains(&word) || matches!(word, "}" | "PS>");
        if (!is_quoted && is_ignored) || is_assignment(word) {
            return;
        }
        self.now.next = ShellWord::Argument;
        if !is_quoted && word == "function" {
            self.now.next = ShellWord::Function;
            return;
        }
        if !is_quoted && BEFORE_WORDS.contains(&word) || word == self.heredoc_end {
            return;
        }
        let Some(name) = program_name(word) else {
            return;
        };
        self.now.is_shell = SHELLS.contains(&&*name);
        if WRAPPERS.contains(&&*name) {
            self.now.next = ShellWord::Wrapped;
        }
        if !BUILTINS.contains(&&*name) {
            self.found.push((name, self.now.word_line));
        }
    }
}

/// An option of a wrapper, or a number such as the seconds of `timeout`.
fn is_option(word: &str) -> bool {
    word.starts_with('-') || word.starts_with(|c: char| c.is_ascii_digit())
}

/// `NAME=value`
fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        let name = name.trim_end_matches('+');
        let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '[' | ']' | '$' | ':');
        !name.is_empty() && name.chars().all(is_part)
    })
}

/// The name of a program: `curl` for `/usr/bin/curl`; other paths as they are. `None` if no program
/// has such a name.
fn program_name(word: &str) -> Option<String> {
    let name = match word.rsplit_once('/') {
        Some((folder, name)) if folder.starts_with('/') && folder.ends_with("bin") => name,
        _ => word,
    };
    let is_part = |c: char| {
        c.is_alphanumeric()
            || matches!(c, '.' | '_' | '+' | '-' | '/' | '~' | '$' | '{' | '}' | '@')
    };
    let starts = |c: char| c.is_alphabetic() || matches!(c, '.' | '/' | '~' | '$' | '_');
    let is_name = matches!(name, "." | ":" | "[" | "[[")
        || name.starts_with(starts)
            && name.chars().all(is_part)
            && name.chars().any(char::is_alphabetic);
    is_name.then(|| name.chars().take(LONGEST).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(code: &str) -> String {
        let mut names = Vec::new();
        programs(code, 1, &mut |name, line| {
            names.push(format!("{name}:{line}"));
        });
        names.join(" ")
    }

    #[test]
    fn the_first_word_of_every_command_is_a_program() {
        let cases = [
            "curl -s https://x | sh && git add . ; ls & make",
            "/usr/bin/curl x; ./scripts/run.sh; ~/bin/x; /opt/tool/run",
            "$ npm install\n> git status\n# rm x\n% ls",
            "sudo -u root curl x\nenv A=1 B=2 python3 x.py\nxargs -n 1 rm\ntimeout 5s wget x",
            "A=1 B=$(date +%s) node x\nC=`whoami`\nD=(a b\nc)\nE=\"$(hostname -f | cut -c1)\" go",
            "c\\url x; c''url x; \"wget\" y; 'rm' z",
            "if grep -q a b; then\n  jq .\nelse exit 1; fi\nfor f in *.md; do cat \"$f\"; done",
            "case $1 in\n  start) systemctl start;;\nesac\nrun() { tar x; }\nrun\nfunction go { zip y; }\ngo\ncurl() { nc; }\ncurl",
            "cat <<EOF > file\ncurl x\nEOF\ndocker ps",
            "bash <<'EOF'\ncurl x\nEOF\nssh host \"sudo reboot\"",
            "bash -c 'curl x | sh -c \"wget y\"'\neval \"nc -l\"",
            "python3 - <<'PY'\nimport os\nPY\necho done",
            "cat <<NEVER\ngit x\nmake",
            "awk '{ print $1 }\nEND { exit }' file | sort",
            "echo it's\ngit push",
            "ls 2>&1 >out <in &>/dev/null; diff <(sort a) <(uniq b)",
            "curl \\\n  -H 'x: y' \\\n  https://x\nrsync",
            "$CMD x; \"$HOME/x\" y; ((i++)); [ -f a ] && [[ b ]] || mkdir c",
            "{\n  \"name\": \"x\",\n  \"a\": [1]\n}",
            "<your command> | less",
            "`which gcc` -v; \"a `id` b\"",
        ];
        let shown: Vec<String> = cases
            .iter()
            .map(|code| format!("{}\n    → {}", code.replace('\n', "\n  "), names(code)))
            .collect();
        insta::assert_snapshot!(shown.join("\n"));
    }

    #[test]
    fn long_names_are_cut_and_deep_ones_end() {
        assert_eq!(names(&"a".repeat(100)).len(), LONGEST + 2);
        assert_eq!(names(&"$(".repeat(100_000)), "");
        assert_eq!(names(&format!("{}curl", "$(".repeat(20))), "curl:1");
    }
}
