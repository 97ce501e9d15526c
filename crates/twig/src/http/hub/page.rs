//! From a path to the page of the hub that it means.

use twig_packages::skills_index::is_skill_name;

/// A page of the hub.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum HubPage {
    /// The index of skills, version 0.2.
    Index,
    /// The index of skills, version 0.1.
    OldIndex,
    /// A file of a skill.
    File {
        skill: String,
        path: String,
    },
    /// The archive of a skill.
    Archive(String),
    Marketplace,
    /// The archive of a plugin.
    Plugin(String),
    Catalog,
    ServerCard,
}

impl HubPage {
    /// Reads the path of a request.
    pub(super) fn parse(path: &str) -> Option<Self> {
        match path {
            "/.well-known/agent-skills/index.json" => return Some(Self::Index),
            "/.well-known/skills/index.json" => return Some(Self::OldIndex),
            "/.well-known/ai-catalog.json" => return Some(Self::Catalog),
            "/.well-known/mcp/server-card.json" | "/mcp/server-card" => {
                return Some(Self::ServerCard);
            }
            "/.claude-plugin/marketplace.json" => return Some(Self::Marketplace),
            _ => {}
        }
        let named = |name: &str| is_skill_name(name).then(|| name.to_owned());
        if let Some(plugin) = path.strip_prefix("/.claude-plugin/plugins/") {
            return named(plugin.strip_suffix(".zip")?).map(Self::Plugin);
        }
        if let Some(old) = path.strip_prefix("/.well-known/skills/") {
            return Self::file(old);
        }
        let path = path.strip_prefix("/.well-known/agent-skills/")?;
        match path.strip_suffix(".zip") {
            Some(skill) if !skill.contains('/') => named(skill).map(Self::Archive),
            _ => Self::file(path),
        }
    }

    fn file(path: &str) -> Option<Self> {
        let (skill, path) = path.split_once('/')?;
        let path = decoded(path)?;
        is_skill_name(skill).then(|| Self::File {
            skill: skill.to_owned(),
            path,
        })
    }

    /// True if it names every skill.
    pub(super) fn is_list(&self) -> bool {
        match self {
            Self::Index | Self::OldIndex | Self::Marketplace | Self::Catalog => true,
            Self::File { .. } | Self::Archive(_) | Self::Plugin(_) | Self::ServerCard => false,
        }
    }
}

/// A part of an address with its `%` and two digits as the bytes that they stand for.
fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let mut digit = || char::from(rest.next()?).to_digit(16);
        let code = digit()? * 16 + digit()?;
        bytes.push(u8::try_from(code).ok()?);
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_decoded_once() {
        let file = |path: &str| match HubPage::parse(path) {
            Some(HubPage::File { skill, path }) => Some(format!("{skill} {path}")),
            _ => None,
        };
        let at = |path: &str| file(&format!("/.well-known/agent-skills/{path}"));
        assert_eq!(
            at("tides/a%20b/%C3%A4.md").as_deref(),
            Some("tides a b/\u{e4}.md")
        );
        assert_eq!(at("tides/%252e").as_deref(), Some("tides %2e"));
        // No file of a skill has such a path, so it is not found.
        assert_eq!(at("tides/../x").as_deref(), Some("tides ../x"));
        for bad in [
            "tides",
            "Tides/a",
            "tides/%",
            "tides/%4",
            "tides/%zz",
            "tides/%ff",
            "/a",
        ] {
            assert_eq!(at(bad), None, "{bad}");
        }
        let old = file("/.well-known/skills/tides/SKILL.md");
        assert_eq!(old.as_deref(), Some("tides SKILL.md"));
    }

    #[test]
    fn archives_have_a_name() {
        let at = |path: &str| HubPage::parse(&format!("/.well-known/agent-skills/{path}"));
        assert_eq!(at("tides.zip"), Some(HubPage::Archive("tides".to_owned())));
        assert_eq!(
            at("../tides.zip").and_then(|page| page.is_list().then_some(page)),
            None
        );
        assert_eq!(at("a b.zip"), None);
    }
}
