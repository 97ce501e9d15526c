//! Texts that nest deep, which a fuzzer would hardly write out: an input that begins with a byte no
//! text has is an opener, how often it stands there, and what follows.

use std::borrow::Cow;

/// What may stand in front, and what is repeated.
const OPENERS: [(&str, &str); 24] = [
    ("[", "a."),
    ("[[", "a."),
    ("", "a."),
    ("a = ", "["),
    ("a = ", "{ a = "),
    ("", "["),
    ("", "{\"a\":"),
    ("{\"prompts\": ", "[{\"x\": "),
    ("---\na: ", "["),
    ("---\na: ", "{a: "),
    ("---\na:\n ", "- "),
    ("---\n", "? "),
    ("{{ ", "("),
    ("{{ ", "not "),
    ("{{ ", "-"),
    ("{{ x", ".a"),
    ("{{ x", "|e"),
    ("", "{% if x %}"),
    ("", "{% for y in x %}"),
    ("", "{{#if x}}"),
    ("", "{{if .x}}"),
    ("{{if ", "(not "),
    ("", "{{resource:a://"),
    ("a://", "{b}/"),
];

/// No text is longer: the template engine counts the columns of a line in 16 bits, and a build that
/// checks sums, such as this one, would end where a release build shows another column.
const LONGEST: usize = 65_000;

/// The text that an input means; `None` where it is none.
pub fn text(bytes: &[u8]) -> Option<Cow<'_, str>> {
    let [0xff, opener, high, low, rest @ ..] = bytes else {
        return std::str::from_utf8(bytes).ok().map(Cow::Borrowed);
    };
    let (before, opener) = OPENERS[usize::from(*opener) % OPENERS.len()];
    let count = usize::from(u16::from_be_bytes([*high, *low]));
    let rest = std::str::from_utf8(rest).ok()?;
    let room = LONGEST.saturating_sub(before.len() + rest.len());
    let count = count.min(room / opener.len());
    Some(Cow::Owned(format!("{before}{}{rest}", opener.repeat(count))))
}
