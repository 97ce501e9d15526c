//! The hosts of `http://` and `https://` URLs in any text.

use super::count_lines;

/// Bytes of a URL that are searched for the end of its host.
const LONGEST_AUTHORITY: usize = 1024;

/// Characters of a host that are kept.
const LONGEST_HOST: usize = 253;

/// Finds the hosts in a text, each with its line.
pub(super) fn hosts(text: &str, found: &mut dyn FnMut(&str, u32)) {
    let (mut line, mut counted) = (1_u32, 0);
    for (at, _) in text.match_indices(':') {
        let rest = &text[at + 1..];
        // JSON may have a backslash before each slash.
        let rest = rest
            .strip_prefix("//")
            .or_else(|| rest.strip_prefix(r"\/\/"));
        let Some(rest) = rest.filter(|_| is_web(&text.as_bytes()[..at])) else {
            continue;
        };
        line = line.saturating_add(count_lines(&text[counted..at]));
        counted = at;
        if let Some(host) = host(rest) {
            found(&host, line);
        }
    }
}

/// True if `http` or `https` ends here.
fn is_web(before: &[u8]) -> bool {
    let before = before
        .strip_suffix(b"s")
        .or_else(|| before.strip_suffix(b"S"))
        .unwrap_or(before);
    let start = before.len().saturating_sub(4);
    before[start..].eq_ignore_ascii_case(b"http")
}

/// The host at the start of what follows `://`, in lower case, without user and port.
fn host(rest: &str) -> Option<String> {
    let mut most = rest.len().min(LONGEST_AUTHORITY);
    while !rest.is_char_boundary(most) {
        most -= 1;
    }
    let ends = |c: char| {
        c.is_whitespace() || c.is_control() || matches!(c, '/' | '?' | '#' | '\\' | '"' | '<' | '>')
    };
    let authority = rest[..most].split(ends).next().unwrap_or_default();
    let authority = authority.split('`').next().unwrap_or_default();
    // What is before the last `@` is a user, however much it looks like a host.
    let host = authority.rsplit('@').next().unwrap_or_default();
    let host = match host.strip_prefix('[').and_then(|it| it.split_once(']')) {
        Some((address, _)) if is_address(address) => &host[..address.len() + 2],
        _ => {
            let is_part = |c: char| {
                c.is_alphanumeric() || matches!(c, '.' | '-' | '_' | '$' | '{' | '}' | '%')
            };
            let end = host.find(|c| !is_part(c)).unwrap_or(host.len());
            host[..end].trim_end_matches(['.', '-', '_'])
        }
    };
    let host: String = host.chars().take(LONGEST_HOST).collect();
    let host = host.to_lowercase();
    host.chars().any(char::is_alphanumeric).then_some(host)
}

/// Digits and colons of an IPv6 address.
fn is_address(text: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_hexdigit() || matches!(byte, b':' | b'.');
    text.contains(':') && text.bytes().all(is_part)
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_host_has_no_user_and_no_port() {
        let text = "See https://Example.COM:8080/x, (http://a.b.) and\n\
            <https://github.com@evil.example/y> or https://u:p,q@host.example?z\n\
            [x](https://docs.example), **https://bold.example**\n\
            `https://tick.example` http://[::1]:80/ https:/// ftp://no.example xhttps\n\
            {\"url\": \"https:\\/\\/json.example\\/x\"}\n\
            HTTPS://{tenant}.example \"https://$HOST/x\" https://bücher.example https://\u{1b}[0m";
        let mut found = Vec::new();
        super::hosts(text, &mut |host, line| found.push(format!("{line} {host}")));
        insta::assert_snapshot!(found.join("\n"));
    }
}
