//! Masks the foreign content in lines of a client's file: tokens, paths, addresses.

/// A line as it may be shown. The lines of our entry (`own`) stay; of the rest, only brackets,
/// commas and the names of objects and lists do.
pub(super) fn masked(line: &str, own: &[&str]) -> String {
    if own.contains(&line.trim()) {
        return line.to_owned();
    }
    // Our entry may share its first or last line with other content, or be all on one line.
    for part in [own.first(), own.last()].into_iter().flatten() {
        if let Some((before, after)) = line.split_once(part)
            && !part.is_empty()
        {
            return format!("{}{part}{}", mask(before), mask(after));
        }
    }
    mask(line)
}

fn mask(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        if "{}[],:".contains(c) || c.is_whitespace() {
            shown.push(c);
            rest = &rest[c.len_utf8()..];
            continue;
        }
        let length = quoted(rest);
        let (word, after) = rest.split_at(length.unwrap_or_else(|| bare(rest)));
        if length.is_some() && holds_more(after) {
            shown.push_str(word);
        } else {
            // Several words become one.
            if shown.trim_end().ends_with('…') {
                shown.truncate(shown.trim_end().len());
            } else {
                shown.push('…');
            }
        }
        rest = after;
    }
    shown
}

/// The length of a quoted text, if one begins here.
fn quoted(text: &str) -> Option<usize> {
    let inner = text.strip_prefix('"')?;
    let mut is_escaped = false;
    let end = inner.find(|c| {
        let is_end = c == '"' && !is_escaped;
        is_escaped = c == '\\' && !is_escaped;
        is_end
    })?;
    Some(end + 2)
}

/// The length of anything else; a comment, or quotes that do not end, extend to the end of the
/// line.
fn bare(text: &str) -> usize {
    if text.starts_with(['"', '\'', '#', '/']) {
        return text.len();
    }
    let end = |c: char| "{}[],:\"'#/".contains(c) || c.is_whitespace();
    text.find(end).unwrap_or(text.len())
}

/// Whether a name is that of an object or a list.
fn holds_more(after: &str) -> bool {
    let value = after.trim_start().strip_prefix(':');
    value.is_some_and(|value| value.trim_start().starts_with(['{', '[']))
}

#[cfg(test)]
mod tests {
    use super::masked;

    #[test]
    fn only_our_own_words_are_shown() {
        let own = ["\"twig\": {", "\"command\": \"twig\"", "}"];
        for (line, shown) in [
            ("    \"command\": \"twig\"", "    \"command\": \"twig\""),
            ("  \"mcpServers\": {", "  \"mcpServers\": {"),
            ("  \"a\": {},", "  \"a\": {},"),
            ("  \"token\": \"secret\",", "  …: …,"),
            ("  \"port\": 80, // secret", "  …: …, …"),
            (
                "{\"s\": {\"gh\": {\"t\": \"a\\\"secret\"}, \"twig\": {",
                "{\"s\": {\"gh\": {…: …}, \"twig\": {",
            ),
            ("\"secret, with no end", "…"),
            ("token = \"secret\" # secret", "…"),
            ("'secret: {' = 1", "…"),
            ("Bearer secret words", "…"),
        ] {
            assert_eq!(masked(line, &own), shown);
        }
        let own = ["\"twig\": {\"command\": \"twig\"}"];
        assert_eq!(
            masked(
                "{\"s\": {\"t\": \"secret\", \"twig\": {\"command\": \"twig\"}}}",
                &own
            ),
            "{\"s\": {…: …, \"twig\": {\"command\": \"twig\"}}}"
        );
        assert_eq!(masked("\"t\": \"secret\"", &[]), "…: …");
    }
}
