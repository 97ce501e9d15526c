//! `[hub]` in the configuration.

/// Whether there is a hub, and what it says of itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct HubSettings {
    /// Whether there is one.
    pub(crate) is_on: bool,
    /// Its name for people.
    pub(crate) title: Option<String>,
    /// What it is for.
    pub(crate) description: Option<String>,
    /// The address that others know it by, without a `/` at its end.
    pub(crate) url: Option<String>,
}

impl HubSettings {
    /// The address of the hub for a client that reached it under this host.
    pub(super) fn base(&self, host: &str) -> String {
        self.url.clone().unwrap_or_else(|| format!("http://{host}"))
    }

    pub(super) fn title(&self) -> &str {
        self.title.as_deref().unwrap_or("Twig")
    }

    pub(super) fn description(&self) -> &str {
        let own = self.description.as_deref();
        own.unwrap_or("Prompts, skills and documents")
    }
}

/// Reads an address such as `https://hub.example.com`; a path would be one of a proxy.
pub(crate) fn parse_hub_url(text: &str) -> Option<String> {
    let url = text.trim_end_matches('/');
    let host = url
        .strip_prefix("https://")
        .or_else(|| url.strip_prefix("http://"))?;
    let is_good = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | ':' | '[' | ']');
    let is_host = !host.is_empty() && host.len() <= 255 && host.chars().all(is_good);
    is_host.then(|| url.to_owned())
}

/// The domain or address in such an address, without a port.
pub(super) fn domain(base: &str) -> &str {
    let host = base.split_once("://").map_or(base, |(_, host)| host);
    match host.rfind(']') {
        Some(end) => &host[..=end],
        None => host.split(':').next().unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_a_scheme_and_a_host() {
        for (text, url) in [
            ("https://hub.example.com", "https://hub.example.com"),
            ("https://hub.example.com/", "https://hub.example.com"),
            ("http://127.0.0.1:7373", "http://127.0.0.1:7373"),
            ("http://[::1]:7373", "http://[::1]:7373"),
        ] {
            assert_eq!(parse_hub_url(text).as_deref(), Some(url));
        }
        for text in [
            "",
            "hub.example.com",
            "https://",
            "https://a/b",
            "ftp://a",
            "https://a b",
        ] {
            assert_eq!(parse_hub_url(text), None, "{text}");
        }
    }

    #[test]
    fn domains_have_no_port() {
        assert_eq!(domain("https://hub.example.com:8443"), "hub.example.com");
        assert_eq!(domain("http://[::1]:7373"), "[::1]");
    }
}
