//! Masks the foreign content in lines of a client's file (tokens, paths, addresses), and the secrets
//! in an entry of ours.

/// A line as it may be shown. The lines of our entry (`own`) stay; of the rest, only brackets,
/// commas and the names of objects and lists do.
pub(super) fn masked(line: &str, own: &[&str]) -> String {
    if own.contains(&line.trim()) {
        return without_secrets(line);
    }
    // Our entry may share its first or last line with other content, or be all on one line.
    for part in [own.first(), own.last()].into_iter().flatten() {
        if let Some((before, after)) = line.split_once(part)
            && !part.is_empty()
        {
            let part = without_secrets(part);
            return format!("{}{part}{}", mask(before), mask(after));
        }
    }
    mask(line)
}

/// Words in the names of values that nobody else should read.
const SECRET: [&str; 6] = ["auth", "cookie", "key", "password", "secret", "token"];

/// An entry as it may be shown: without the values of keys such as `Authorization`. A value that
/// only names a variable of the environment stays.
pub(crate) fn without_secrets(entry: &str) -> String {
    let mut shown = String::with_capacity(entry.len());
    let mut rest = entry;
    while let Some(at) = rest.find([':', '=']) {
        let (key, value) = rest.split_at(at + 1);
        shown.push_str(key);
        let blank = value.len() - value.trim_start_matches([' ', '\t']).len();
        shown.push_str(&value[..blank]);
        rest = &value[blank..];
        let key = key[..at].trim_end().trim_end_matches(['"', '\'']);
        let start = key.rfind(|c: char| !c.is_alphanumeric() && !matches!(c, '-' | '_'));
        let key = key[start.map_or(0, |at| at + 1)..].to_ascii_lowercase();
        // `bearer_token_env_var` has the name of a variable.
        let is_secret = SECRET.iter().any(|word| key.contains(word)) && !key.contains("env");
        if !is_secret {
            continue;
        }
        let quote = rest.chars().next().filter(|c| matches!(c, '"' | '\''));
        let inner = &rest[quote.map_or(0, char::len_utf8)..];
        let end = match quote {
            Some(quote) => inner.find(quote),
            None => inner.find([',', '}', '\n']),
        };
        let (value, after) = inner.split_at(end.unwrap_or(inner.len()));
        let is_variable = value.contains('$') || value.contains("{env:");
        shown.extend(quote);
        shown.push_str(match value {
            "" => "",
            value if is_variable => value,
            _ => "…",
        });
        rest = after;
    }
    shown.push_str(rest);
    shown
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
    use super::{masked, without_secrets};

    #[test]
    fn an_entry_is_shown_without_its_secrets() {
        for (entry, shown) in [
            (
                r#""twig": { "url": "http://a:7/mcp", "headers": { "Authorization": "Bearer sk-1", "X": "y" } }"#,
                r#""twig": { "url": "http://a:7/mcp", "headers": { "Authorization": "…", "X": "y" } }"#,
            ),
            (
                "bearer_token_env_var = 'TWIG'\nhttp_headers = { Authorization = \"Bearer ${TWIG}\" }",
                "bearer_token_env_var = 'TWIG'\nhttp_headers = { Authorization = \"Bearer ${TWIG}\" }",
            ),
            (
                "envs:\n  API_KEY: sk-1\n  A: b\n",
                "envs:\n  API_KEY: …\n  A: b\n",
            ),
            ("command = \"twig\"", "command = \"twig\""),
            ("token: \"no end", "token: \"…"),
            ("a=", "a="),
        ] {
            assert_eq!(without_secrets(entry), shown);
        }
    }

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
