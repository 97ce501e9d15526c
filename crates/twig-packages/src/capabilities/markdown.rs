//! The shell code in prompts: fenced blocks, and what clients run before a model sees the text.
//!
//! Clients differ in which of these they run. What any of them runs counts.

use super::shell;

/// Words after a fence that say that its lines are commands.
const SHELLS: [&str; 16] = [
    "!",
    "bash",
    "bat",
    "batch",
    "cmd",
    "console",
    "fish",
    "ksh",
    "powershell",
    "ps1",
    "pwsh",
    "sh",
    "shell",
    "shellsession",
    "terminal",
    "zsh",
];

/// Words that say that a block has commands and their output.
const SESSIONS: [&str; 3] = ["console", "shellsession", "terminal"];

/// Signs before a command in a terminal.
const PROMPTS: [&str; 4] = ["$ ", "% ", "> ", "PS>"];

/// Finds the programs that a text has an agent or a client run, each with its line.
pub(super) fn programs(text: &str, found: &mut dyn FnMut(&str, u32)) {
    fenced(text, found);
    ticked(text, found);
    braced(text, found);
}

/// A block of code that is open.
struct OpenFence {
    sign: u8,
    length: usize,
    /// The line after the fence.
    line: u32,
    is_shell: bool,
    is_session: bool,
    code: String,
}

impl OpenFence {
    /// The fence that a line opens.
    fn parse(line: &str, number: u32) -> Option<Self> {
        let (sign, length) = fence(line)?;
        let info = line[length..].trim();
        if sign == b'`' && info.contains('`') {
            return None;
        }
        let word = info.trim_start_matches(['{', '.', ' ']);
        let ends = |c: char| c.is_whitespace() || matches!(c, '}' | ',' | '{' | ':');
        let word = word.split(ends).next().unwrap_or_default();
        let word = word.to_ascii_lowercase();
        Some(Self {
            sign,
            length,
            line: number.saturating_add(1),
            is_shell: SHELLS.contains(&&*word) || word.starts_with('!'),
            is_session: SESSIONS.contains(&&*word),
            code: String::new(),
        })
    }

    fn is_closed_by(&self, line: &str) -> bool {
        fence(line).is_some_and(|(sign, length)| {
            sign == self.sign && length >= self.length && line[length..].trim().is_empty()
        })
    }

    fn programs(&self, found: &mut dyn FnMut(&str, u32)) {
        if !self.is_shell {
            return;
        }
        let typed = if self.is_session {
            typed_lines(&self.code)
        } else {
            None
        };
        shell::programs(typed.as_deref().unwrap_or(&self.code), self.line, found);
    }
}

/// The sign and length of a fence at the start of a line.
fn fence(line: &str) -> Option<(u8, usize)> {
    let sign = *line
        .as_bytes()
        .first()
        .filter(|it| matches!(it, b'`' | b'~'))?;
    let length = line.bytes().take_while(|byte| *byte == sign).count();
    (length >= 3).then_some((sign, length))
}

fn fenced(text: &str, found: &mut dyn FnMut(&str, u32)) {
    let mut open: Option<OpenFence> = None;
    for (line, number) in text.lines().zip(1_u32..) {
        // Blocks in lists and quotations are indented or have a sign before them.
        let bare = line.trim_start_matches([' ', '\t', '>']);
        match &mut open {
            Some(fence) if fence.is_closed_by(bare) => {
                fence.programs(found);
                open = None;
            }
            Some(fence) if fence.is_shell => {
                fence.code.push_str(line);
                fence.code.push('\n');
            }
            Some(_) => {}
            None => {
                let bare = bare.trim_start_matches(['-', '*', '+', ' ']);
                open = OpenFence::parse(bare, number);
            }
        }
    }
    if let Some(fence) = open {
        fence.programs(found);
    }
}

/// The lines with a prompt sign, and those that continue them; the others are empty. `None` if no
/// line has a sign.
fn typed_lines(code: &str) -> Option<String> {
    let mut typed = String::with_capacity(code.len());
    let (mut has_prompt, mut continues) = (false, false);
    for line in code.lines() {
        let bare = line.trim_start();
        let sign = PROMPTS.iter().find(|sign| bare.starts_with(**sign));
        if let Some(sign) = sign {
            has_prompt = true;
            typed.push_str(&bare[sign.len()..]);
        } else if continues {
            typed.push_str(line);
        }
        continues = (sign.is_some() || continues) && line.ends_with('\\');
        typed.push('\n');
    }
    has_prompt.then_some(typed)
}

/// `` !`command` ``
fn ticked(text: &str, found: &mut dyn FnMut(&str, u32)) {
    for (line, number) in text.lines().zip(1_u32..) {
        let mut rest = line;
        while let Some((_, inner)) = rest.split_once("!`") {
            let Some((command, after)) = inner.split_once('`') else {
                break;
            };
            shell::programs(command, number, found);
            rest = after;
        }
    }
}

/// `!{command}`; braces inside are balanced. A command whose brace does not close ends with its
/// line.
fn braced(text: &str, found: &mut dyn FnMut(&str, u32)) {
    let (mut at, mut line, mut counted) = (0, 1_u32, 0);
    let (mut has_open, mut line_end) = (false, 0);
    while let Some(start) = text[at..].find("!{").map(|start| at + start) {
        let inner = start + 2;
        line = line.saturating_add(super::count_lines(&text[counted..inner]));
        counted = inner;
        if line_end < inner {
            let end = text[inner..].find('\n');
            line_end = end.map_or(text.len(), |end| inner + end);
        }
        // After one that never closes, the others are searched in their lines only: this stays
        // linear.
        let most = if has_open { line_end } else { text.len() };
        let end = closing_brace(&text.as_bytes()[inner..most]).map(|end| inner + end);
        has_open |= end.is_none();
        let end = end.unwrap_or(line_end);
        shell::programs(&text[inner..end], line, found);
        at = end;
    }
}

fn closing_brace(bytes: &[u8]) -> Option<usize> {
    let mut depth = 1_usize;
    bytes.iter().position(|byte| {
        match byte {
            b'{' => depth += 1,
            b'}' => depth -= 1,
            _ => {}
        }
        depth == 0
    })
}
