//! Request ids: echoed byte for byte, so they are kept as they were written.

use std::borrow::Cow;

use memchr::memchr;

/// True if a JSON token may be an id: a string, or a whole number of any size.
pub(crate) fn is_id(token: &str) -> bool {
    if token.starts_with('"') {
        // Half of a surrogate pair passes the JSON reader but is not text: it could not be echoed.
        return !token.contains('\\') || decode(token).is_some();
    }
    let digits = token.strip_prefix('-').unwrap_or(token);
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// True if two tokens are the same id: strings may be escaped differently.
pub(crate) fn is_same(one: &str, two: &str) -> bool {
    if one == two {
        return true;
    }
    let is_escaped = one.contains('\\') || two.contains('\\');
    is_escaped && matches!((decode(one), decode(two)), (Some(a), Some(b)) if a == b)
}

/// The text of a JSON string, borrowed if nothing in it is escaped.
pub(crate) fn decode(token: &str) -> Option<Cow<'_, str>> {
    let inner = token.strip_prefix('"')?.strip_suffix('"')?;
    if memchr(b'\\', inner.as_bytes()).is_some() {
        return serde_json::from_str::<String>(token).ok().map(Cow::Owned);
    }
    Some(Cow::Borrowed(inner))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_and_strings_are_ids() {
        for token in [
            "0",
            "-1",
            "123456789012345678901234567890",
            "\"\"",
            "\"a\\n\"",
        ] {
            assert!(is_id(token), "{token}");
        }
        for token in ["1.0", "1e3", "null", "true", "{}", "[]", "\"\\ud800\"", "-"] {
            assert!(!is_id(token), "{token}");
        }
    }

    #[test]
    fn escapes_do_not_make_another_id() {
        assert!(is_same("\"a/b\"", "\"a\\/b\""));
        assert!(!is_same("1", "\"1\""));
        assert!(!is_same("\"\\ud800\"", "\"\\udbff\""));
    }
}
