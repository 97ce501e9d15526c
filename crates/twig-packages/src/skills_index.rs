//! The index of skills that a host publishes: `/.well-known/agent-skills/index.json` (0.2.0), and
//! `/.well-known/skills/index.json` (0.1), which lists the files of each skill.

mod writer;

use std::collections::BTreeSet;
use std::fmt;

use twig_core::front_matter::FrontMatterValue;

use crate::other_files::{json, shown, text_at};
use crate::tree::{parse_hex, path_trouble};

/// Where an index of version 0.2.0 is on its host.
pub const INDEX_PATH: &str = "/.well-known/agent-skills/index.json";

/// Where an index of version 0.1 is.
pub const OLD_INDEX_PATH: &str = "/.well-known/skills/index.json";

/// The longest index, in bytes.
pub const LONGEST_INDEX: usize = 1024 * 1024;

/// The most skills of an index.
pub const MOST_SKILLS: usize = 2_000;

/// The most files that one skill of an old index may list.
pub const MOST_OLD_FILES: usize = 512;

/// The longest address, in bytes.
const LONGEST_URL: usize = 2_048;

/// The content of an index.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SkillsIndex {
    /// The skills, in the order of the index.
    pub skills: Vec<IndexedSkill>,
    /// Entries that cannot be used: the name, and why.
    pub refused: Vec<(String, String)>,
}

/// One skill of an index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexedSkill {
    /// Its name: lower-case letters, digits and single hyphens.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// What its address leads to.
    pub kind: IndexedKind,
    /// Its address as it is written, relative to the index or absolute.
    pub url: String,
    /// SHA-256 of what its address leads to.
    pub digest: Option<[u8; 32]>,
}

/// What the address of a skill leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IndexedKind {
    /// A `SKILL.md`, which is all of the skill.
    SkillMd,
    /// A tar.gz or zip with `SKILL.md` at its root.
    Archive,
    /// A folder with these files.
    Files(Vec<String>),
}

/// Why a text is no index, or an address is not followed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SkillsIndexError {
    /// The text is not an index.
    #[error("the index of skills cannot be read: {reason}")]
    Wrong {
        /// What is wrong.
        reason: String,
    },
    /// A version that this program does not know.
    #[error("the index of skills has the schema `{schema}`, and Twig reads 0.1 and 0.2.0")]
    Schema {
        /// Its `$schema`.
        schema: String,
    },
    /// An address that is not followed.
    #[error("the address `{url}` is refused: {reason}")]
    Url {
        /// The address.
        url: String,
        /// Why.
        reason: &'static str,
    },
}

impl SkillsIndex {
    /// Reads the text of an index of either version.
    pub fn parse(text: &str) -> Result<Self, SkillsIndexError> {
        let wrong = |reason: &str| SkillsIndexError::Wrong {
            reason: reason.to_owned(),
        };
        let index = json(text, LONGEST_INDEX).map_err(|reason| wrong(&reason))?;
        if let Some(schema) = text_at(&index, "$schema")
            && !schema.contains("/0.2")
            && !schema.contains("/0.1")
        {
            let schema = shown(schema);
            return Err(SkillsIndexError::Schema { schema });
        }
        let Some(FrontMatterValue::List(items)) = index.get("skills") else {
            return Err(wrong("it has no list of `skills`"));
        };
        if items.len() > MOST_SKILLS {
            return Err(wrong("it has more than 2,000 skills"));
        }
        let mut read = Self::default();
        let mut names = BTreeSet::new();
        for item in items {
            let skill = read_skill(item).and_then(|skill| {
                let is_new = names.insert(skill.name.clone());
                is_new.then_some(skill).ok_or("it is there twice")
            });
            match skill {
                Ok(skill) => read.skills.push(skill),
                Err(reason) => {
                    let name = shown(text_at(item, "name").unwrap_or("a skill without a name"));
                    read.refused.push((name, reason.to_owned()));
                }
            }
        }
        Ok(read)
    }
}

impl IndexedSkill {
    /// The addresses of its files, each with the file's path in the skill; one for `SKILL.md` and
    /// for an archive, whose path is empty.
    pub fn urls(&self, index_url: &str) -> Result<Vec<(String, String)>, SkillsIndexError> {
        match &self.kind {
            IndexedKind::SkillMd => {
                let url = resolve_url(index_url, &self.url)?;
                Ok(vec![("SKILL.md".to_owned(), url)])
            }
            IndexedKind::Archive => Ok(vec![(String::new(), resolve_url(index_url, &self.url)?)]),
            IndexedKind::Files(files) => {
                let address = |file: &String| {
                    let url = format!("{}{}", self.url, encoded(file));
                    resolve_url(index_url, &url).map(|url| (file.clone(), url))
                };
                files.iter().map(address).collect()
            }
        }
    }
}

fn read_skill(item: &FrontMatterValue) -> Result<IndexedSkill, &'static str> {
    let name = text_at(item, "name").unwrap_or_default();
    if !is_skill_name(name) {
        return Err("its name has to be 1 to 64 lower-case letters, digits and single hyphens");
    }
    let digest = match item.get("digest") {
        None => None,
        Some(FrontMatterValue::Text(digest)) => {
            let digest = digest.strip_prefix("sha256:").and_then(parse_hex);
            Some(digest.ok_or("its digest is not `sha256:` and 64 digits")?)
        }
        Some(_) => return Err("its digest is no text"),
    };
    let kind = match (text_at(item, "type"), item.get("files")) {
        (Some("skill-md"), _) => IndexedKind::SkillMd,
        (Some("archive"), _) => IndexedKind::Archive,
        (Some(_), _) => return Err("its type is neither `skill-md` nor `archive`"),
        (None, Some(files)) => IndexedKind::Files(read_files(files)?),
        (None, None) => return Err("it has neither a type nor a list of files"),
    };
    let url = match (&kind, text_at(item, "url")) {
        (IndexedKind::Files(_), _) => format!("{name}/"),
        (_, Some(url)) => url.to_owned(),
        (_, None) => return Err("it has no address"),
    };
    Ok(IndexedSkill {
        name: name.to_owned(),
        description: text_at(item, "description").unwrap_or_default().to_owned(),
        kind,
        url,
        digest,
    })
}

fn read_files(files: &FrontMatterValue) -> Result<Vec<String>, &'static str> {
    let mut paths = BTreeSet::new();
    for file in files.items() {
        let FrontMatterValue::Text(path) = file else {
            return Err("its list of files holds something else than text");
        };
        if path_trouble(path).is_some() {
            return Err("a file of it has a name that no package may have");
        }
        if !paths.insert(path.to_string()) {
            return Err("a file of it is there twice");
        }
        if paths.len() > MOST_OLD_FILES {
            return Err("it has more than 512 files");
        }
    }
    if !paths.contains("SKILL.md") {
        return Err("there is no `SKILL.md` among its files");
    }
    Ok(paths.into_iter().collect())
}

/// True for a name by the rules of Agent Skills.
pub fn is_skill_name(name: &str) -> bool {
    let is_good = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (1..=64).contains(&name.len())
        && name.bytes().all(is_good)
        && !name.starts_with('-')
        && !name.ends_with('-')
        && !name.contains("--")
}

/// The absolute address that a text in an index means.
///
/// Only https is followed, and http to this machine if the index is there, too: an index must not
/// make this machine ask its own services or its neighbours in clear text.
pub fn resolve_url(index_url: &str, url: &str) -> Result<String, SkillsIndexError> {
    let (base, address) = resolved(index_url, url)?;
    if address.scheme != "https" && address.authority != base.authority {
        return Err(refused(url, "it leads to another host without https"));
    }
    Ok(address.to_string())
}

/// The absolute address that a host's redirect leads to.
///
/// Only https is followed, and http from this machine to this machine.
pub fn redirect_url(from: &str, location: &str) -> Result<String, SkillsIndexError> {
    let (base, address) = resolved(from, location)?;
    if address.scheme != "https" && base.scheme == "https" {
        return Err(refused(location, "it leads from https to http"));
    }
    Ok(address.to_string())
}

/// The address that a text is relative to, and the one that it means.
fn resolved(base: &str, url: &str) -> Result<(WebAddress, WebAddress), SkillsIndexError> {
    let refused = |reason| refused(url, reason);
    if url.is_empty() || url.len() > LONGEST_URL {
        return Err(refused("it is empty or longer than 2,048 bytes"));
    }
    let is_bad = |c: char| c.is_control() || c.is_whitespace() || c == '\\';
    if url.contains(is_bad) {
        return Err(refused(
            "it has whitespace, a control character or a backslash",
        ));
    }
    let url = url.split('#').next().unwrap_or_default();
    let base = WebAddress::parse(base).map_err(refused)?;
    let mut address = if let Some(rest) = url.strip_prefix("//") {
        WebAddress::parse(&format!("{}://{rest}", base.scheme)).map_err(refused)?
    } else if has_scheme(url) {
        WebAddress::parse(url).map_err(refused)?
    } else {
        let folder = base.path.split('?').next().unwrap_or_default();
        let folder = folder.rfind('/').map_or("/", |at| &folder[..=at]);
        let path = match url {
            path if path.starts_with('/') => path.to_owned(),
            path => format!("{folder}{path}"),
        };
        WebAddress {
            path,
            ..base.clone()
        }
    };
    address.path = without_dots(&address.path);
    Ok((base, address))
}

fn refused(url: &str, reason: &'static str) -> SkillsIndexError {
    SkillsIndexError::Url {
        url: shown(url),
        reason,
    }
}

/// An address on the web, in its parts.
#[derive(Debug, Clone)]
struct WebAddress {
    scheme: String,
    /// The host, and the port if there is one.
    authority: String,
    /// The path with its `/`, and the query.
    path: String,
}

impl WebAddress {
    fn parse(url: &str) -> Result<Self, &'static str> {
        let Some((scheme, rest)) = url.split_once("://") else {
            return Err("it is no address on the web");
        };
        let scheme = scheme.to_ascii_lowercase();
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(end);
        let authority = authority.to_ascii_lowercase();
        if authority.contains('@') {
            return Err("it has a user name or a password in it");
        }
        let is_name =
            |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | ':' | '[' | ']');
        if authority.starts_with([':', '-'])
            || authority.is_empty()
            || !authority.chars().all(is_name)
        {
            return Err("its host is no name");
        }
        match &*scheme {
            "https" => {}
            "http" if is_loopback(&authority) => {}
            "http" => return Err("it is not encrypted"),
            _ => return Err("only https is followed"),
        }
        let path = path.split('#').next().unwrap_or_default();
        let path = match path {
            path if path.starts_with('/') => path.to_owned(),
            path => format!("/{path}"),
        };
        Ok(Self {
            scheme,
            authority,
            path,
        })
    }
}

impl fmt::Display for WebAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}{}", self.scheme, self.authority, self.path)
    }
}

/// True if a text starts with a scheme, such as `https:` or `data:`.
fn has_scheme(url: &str) -> bool {
    let start = url.split(['/', '?']).next().unwrap_or_default();
    start.contains(':')
}

fn is_loopback(authority: &str) -> bool {
    let host = authority.split(':').next().unwrap_or_default();
    matches!(host, "localhost" | "127.0.0.1")
        || authority == "[::1]"
        || authority.starts_with("[::1]:")
}

/// A path with its `.` and `..` parts resolved; it never leaves the root.
fn without_dots(path: &str) -> String {
    let (path, query) = match path.find('?') {
        Some(at) => path.split_at(at),
        None => (path, ""),
    };
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/').skip(1) {
        match part {
            "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    let mut resolved = format!("/{}", parts.join("/"));
    if path.ends_with("/.") || path.ends_with("/..") {
        resolved.push('/');
    }
    resolved + query
}

/// The path of a file as a part of an address.
fn encoded(path: &str) -> String {
    use std::fmt::Write as _;
    let mut encoded = String::with_capacity(path.len());
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~' | b'/') {
            encoded.push(char::from(byte));
        } else {
            let _ = write!(encoded, "%{byte:02X}");
        }
    }
    encoded
}
