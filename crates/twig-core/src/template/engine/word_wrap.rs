//! Wraps a line at its words, as Python's `textwrap` does.

/// Where a line may be broken besides at whitespace.
#[derive(Debug, Clone, Copy)]
pub(super) struct Breaks {
    /// Inside words that are longer than a line.
    pub(super) long_words: bool,
    /// After hyphens.
    pub(super) hyphens: bool,
}

/// The lines that a line becomes, each at most `width` characters if it can be broken.
pub(super) fn wrap(line: &str, width: usize, breaks: Breaks) -> Vec<String> {
    let mut chunks = chunks(line, breaks.hyphens);
    // The next one is at the end, so that a part of it can be put back.
    chunks.reverse();
    let mut lines: Vec<String> = Vec::new();
    while let Some(next) = chunks.last() {
        if is_blank(next) && !lines.is_empty() {
            chunks.pop();
            continue;
        }
        let mut current: Vec<Vec<char>> = Vec::new();
        let mut length = 0;
        while let Some(chunk) = chunks.pop_if(|chunk| length + chunk.len() <= width) {
            length += chunk.len();
            current.push(chunk);
        }
        if let Some(long) = chunks.last_mut().filter(|chunk| chunk.len() > width) {
            if breaks.long_words {
                let at = break_in(long, width - length, breaks.hyphens);
                let rest = long.split_off(at);
                current.push(std::mem::replace(long, rest));
            } else if current.is_empty() {
                current.extend(chunks.pop());
            }
        }
        current.pop_if(|chunk| is_blank(chunk));
        if !current.is_empty() {
            lines.push(current.concat().into_iter().collect());
        }
    }
    lines
}

/// Where a word that is longer than a line is broken: after a hyphen if one is in reach.
fn break_in(word: &[char], room: usize, hyphens: bool) -> usize {
    if hyphens && word.len() > room {
        let hyphen = word[..room].iter().rposition(|one| *one == '-');
        if let Some(at) = hyphen.filter(|at| word[..*at].iter().any(|one| *one != '-')) {
            return at + 1;
        }
    }
    room
}

fn is_blank(chunk: &[char]) -> bool {
    chunk.iter().all(|one| one.is_whitespace())
}

/// Python's whitespace for wrapping: others, such as a no-break space, belong to words.
fn is_space(character: char) -> bool {
    matches!(character, '\t' | '\n' | '\x0b' | '\x0c' | '\r' | ' ')
}

/// The pieces that are never broken: whitespace, dashes between words, and words or their parts.
fn chunks(line: &str, hyphens: bool) -> Vec<Vec<char>> {
    let text: Vec<char> = line.chars().collect();
    let mut chunks = Vec::new();
    let mut at = 0;
    while at < text.len() {
        let start = at;
        let end = if is_space(text[at]) {
            run(&text, at, is_space)
        } else if !hyphens {
            run(&text, at, |one| !is_space(one))
        } else if let Some(end) = dash(&text, at) {
            end
        } else {
            word(&text, at)
        };
        at = end;
        chunks.push(text[start..end].to_vec());
    }
    chunks
}

fn run(text: &[char], start: usize, is_part: impl Fn(char) -> bool) -> usize {
    let length = text[start..]
        .iter()
        .take_while(|one| is_part(**one))
        .count();
    start + length
}

fn is_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

fn is_letter(character: char) -> bool {
    is_word(character) && !character.is_numeric()
}

/// Whether a dash may follow the character before a place.
fn dash_may_follow(text: &[char], at: usize) -> bool {
    let before = at.checked_sub(1).map(|before| text[before]);
    before.is_some_and(|one| is_word(one) || "!\"'&.,?".contains(one))
}

/// The end of two or more hyphens between words, if they begin here.
fn dash(text: &[char], at: usize) -> Option<usize> {
    let end = run(text, at, |one| one == '-');
    let joins = end - at >= 2
        && dash_may_follow(text, at)
        && text.get(end).is_some_and(|one| is_word(*one));
    joins.then_some(end)
}

/// The end of a word, or of its part before or after a hyphen.
fn word(text: &[char], start: usize) -> usize {
    let letter = |at: Option<usize>| {
        let one = at.and_then(|at| text.get(at));
        one.is_some_and(|one| is_letter(*one))
    };
    let is = |at: Option<usize>, wanted: char| at.and_then(|at| text.get(at)) == Some(&wanted);
    let mut at = start + 1;
    loop {
        // At least one character belongs to the word, and `at` is behind it.
        if at >= text.len() || is_space(text[at]) {
            return at;
        }
        if text[at] == '-' {
            let (one, two, three) = (at.checked_sub(1), at.checked_sub(2), at.checked_sub(3));
            let follows =
                (letter(one) && letter(two)) || (letter(one) && is(two, '-') && letter(three));
            let next = Some(at + 1);
            let precedes = letter(next)
                && (letter(Some(at + 2)) || (is(Some(at + 2), '-') && letter(Some(at + 3))));
            if follows && precedes {
                return at + 1;
            }
        }
        if dash(text, at).is_some() {
            return at;
        }
        at += 1;
    }
}
