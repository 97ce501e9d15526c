//! Where a package comes from: as people write it on the command line, and as files keep it.

use std::fmt;

use twig_core::LibraryName;
use twig_core::RelativePath;

/// The longest source, in bytes.
const LONGEST: usize = 2_048;

/// Hosts whose addresses are repositories even without `.git` at their end.
const GIT_HOSTS: [&str; 4] = ["gitlab.com", "codeberg.org", "bitbucket.org", "git.sr.ht"];

/// Names of repositories that say nothing without their owner's.
const GENERIC: [&str; 8] = [
    "skills",
    "prompts",
    "commands",
    "plugins",
    "agents",
    "agent-skills",
    "marketplace",
    "awesome-skills",
];

/// Where a package comes from. Its text is the one form that `config.toml` and the lock keep.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PackageSource {
    /// A repository on GitHub: `github:owner/repo`.
    GitHub {
        /// The owner of the repository.
        owner: String,
        /// Its name.
        repo: String,
    },
    /// Any other git repository, by the address that git gets: `git+https://…`, `git@host:path`.
    Git {
        /// The address.
        url: String,
    },
    /// A host with a well-known index of skills: `https://host`.
    Index {
        /// The address, without a `/` at its end.
        url: String,
    },
}

/// A source with the version and the folder that are wanted of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackageSpec {
    /// Where it comes from.
    pub source: PackageSource,
    /// A branch, tag or commit; the newest version if `None`.
    pub reference: Option<String>,
    /// The folder in the repository; all of it if `None`.
    pub path: Option<RelativePath>,
}

/// Why a text is no source.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SourceError {
    /// `owner/repo@x`: in other tools `@` is a version here, a skill there.
    #[error("`{text}` has an `@`: write `#` before a branch, tag or commit, as in `{suggestion}`")]
    At {
        /// The text.
        text: String,
        /// The same with `#`.
        suggestion: String,
    },
    /// A password or token in an address would end up in files.
    #[error(
        "the address of {host} has a password or token in it, which would be written to files: let git's credential helper keep it"
    )]
    Credentials {
        /// The host.
        host: String,
    },
    /// `http://` or `git://` to another machine.
    #[error("`{text}` is not encrypted: use https or ssh")]
    Unencrypted {
        /// The text.
        text: String,
    },
    /// Another scheme, such as `ftp://` or `ext::`.
    #[error(
        "`{text}` is no source: `owner/repo`, an address that starts with https://, ssh://, git@ or git+file://, or a folder that starts with ./, ../, / or ~"
    )]
    Unknown {
        /// The text.
        text: String,
    },
    /// A branch, tag or commit that git would not accept.
    #[error("`{text}` is no branch, tag or commit")]
    Reference {
        /// The text after `#`.
        text: String,
    },
    /// `https://host#v1`: what a host publishes has no versions.
    #[error("{host} is a host with an index of skills, which has no branches, tags or commits")]
    NoVersions {
        /// The host.
        host: String,
    },
    /// A folder that leads out of the repository.
    #[error("the folder `{text}` of the source {why}")]
    Path {
        /// The folder.
        text: String,
        /// Why it is refused.
        why: String,
    },
}

impl PackageSpec {
    /// True for a text that names a folder on this machine, by its first characters.
    pub fn is_folder(text: &str) -> bool {
        ["./", "../", "/", "~"]
            .iter()
            .any(|start| text.starts_with(start))
            || matches!(text, "." | "..")
    }

    /// Reads what a person wrote: `owner/repo[/path][#ref]`, or an address with `#ref`.
    pub fn parse(text: &str) -> Result<Self, SourceError> {
        let unknown = || SourceError::Unknown {
            text: text.to_owned(),
        };
        let is_plain = |c: char| !c.is_control() && !c.is_whitespace() && c != '\\';
        if text.is_empty()
            || text.len() > LONGEST
            || text.starts_with('-')
            || !text.chars().all(is_plain)
        {
            return Err(unknown());
        }
        let (place, reference) = match text.split_once('#') {
            Some((place, reference)) => (place, Some(checked_reference(reference)?)),
            None => (text, None),
        };
        let (source, path, reference_within) = read_place(place, text)?;
        if let (PackageSource::Index { url }, Some(_)) = (&source, &reference) {
            return Err(SourceError::NoVersions { host: url.clone() });
        }
        let path = match path.as_deref().filter(|path| !path.is_empty()) {
            Some(path) => Some(checked_path(path)?),
            None => None,
        };
        Ok(Self {
            source,
            reference: reference.or(reference_within),
            path,
        })
    }

    /// The text for `twig add`, which [`PackageSpec::parse`] reads; `None` for a folder of a
    /// repository whose address cannot name one.
    pub fn to_argument(&self) -> Option<String> {
        let mut text = match (&self.source, &self.path) {
            (PackageSource::GitHub { owner, repo }, None) => format!("{owner}/{repo}"),
            (PackageSource::GitHub { owner, repo }, Some(path)) => format!("{owner}/{repo}/{path}"),
            (source, None) => source.to_string(),
            (_, Some(_)) => return None,
        };
        if let Some(reference) = &self.reference {
            text.push('#');
            text.push_str(reference);
        }
        Some(text)
    }

    /// The name of its library, if the person gives none: the repository's, with its owner's where
    /// that says nothing alone.
    pub fn library_name(&self) -> Option<LibraryName> {
        let folder = self.path.as_ref().map(RelativePath::as_str);
        let folder = folder.and_then(|path| path.rsplit('/').next());
        let folder = folder.filter(|name| !GENERIC.contains(name));
        folder
            .and_then(LibraryName::from_folder)
            .or_else(|| self.source.library_name())
    }
}

impl PackageSource {
    /// Reads the form that files keep.
    pub fn parse(text: &str) -> Result<Self, SourceError> {
        let spec = PackageSpec::parse(text)?;
        if spec.reference.is_some() || spec.path.is_some() {
            return Err(SourceError::Unknown {
                text: text.to_owned(),
            });
        }
        Ok(spec.source)
    }

    /// The address that git gets; `None` for an index.
    pub fn git_url(&self) -> Option<String> {
        match self {
            Self::GitHub { owner, repo } => Some(format!("https://github.com/{owner}/{repo}.git")),
            Self::Git { url } => Some(url.clone()),
            Self::Index { .. } => None,
        }
    }

    /// True for a repository on this machine.
    pub fn is_local(&self) -> bool {
        matches!(self, Self::Git { url } if url.starts_with("file://"))
    }

    fn library_name(&self) -> Option<LibraryName> {
        let name = match self {
            Self::GitHub { owner, repo } => qualified(Some(owner), repo),
            Self::Git { url } => {
                let mut parts = url.trim_end_matches('/').rsplit(['/', ':']);
                let repo = parts.next().unwrap_or_default();
                let repo = repo.strip_suffix(".git").unwrap_or(repo);
                qualified(parts.next().filter(|it| !it.contains('@')), repo)
            }
            Self::Index { url } => {
                let host = url.split_once("://").map_or(url.as_str(), |(_, rest)| rest);
                host.split(['/', ':']).next().unwrap_or_default().to_owned()
            }
        };
        LibraryName::from_folder(&name)
    }
}

impl fmt::Display for PackageSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::GitHub { owner, repo } => write!(f, "github:{owner}/{repo}"),
            Self::Git { url } if url.contains("://") => write!(f, "git+{url}"),
            Self::Git { url } | Self::Index { url } => f.write_str(url),
        }
    }
}

fn qualified(owner: Option<&str>, repo: &str) -> String {
    match owner.filter(|owner| !owner.is_empty() && GENERIC.contains(&repo)) {
        Some(owner) => format!("{owner}_{repo}"),
        None => repo.to_owned(),
    }
}

/// The source, the folder in it and the version that an address names by itself.
type ReadPlace = (PackageSource, Option<String>, Option<String>);

fn read_place(place: &str, text: &str) -> Result<ReadPlace, SourceError> {
    let unknown = || SourceError::Unknown {
        text: text.to_owned(),
    };
    let git = |url: &str| {
        let source = PackageSource::Git {
            url: url.to_owned(),
        };
        Ok((source, None, None))
    };
    if let Some(rest) = place.strip_prefix("github:") {
        return short(rest, text);
    }
    let (is_git, address) = match place.strip_prefix("git+") {
        Some(address) => (true, address),
        None => (false, place),
    };
    let Some((scheme, rest)) = address.split_once("://") else {
        return if is_scp(address) {
            git(address)
        } else if is_git {
            Err(unknown())
        } else {
            short(place, text)
        };
    };
    let authority = rest.split('/').next().unwrap_or_default();
    let (user, host) = match authority.rsplit_once('@') {
        Some((user, host)) => (Some(user), host),
        None => (None, authority),
    };
    let is_secret = match scheme {
        "ssh" => user.is_some_and(|user| user.contains(':')),
        _ => user.is_some(),
    };
    if is_secret {
        return Err(SourceError::Credentials {
            host: host.to_owned(),
        });
    }
    let bare_host = host.split(':').next().unwrap_or_default();
    let is_loopback = matches!(bare_host, "localhost" | "127.0.0.1") || host.starts_with("[::1]");
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | ':' | '[' | ']');
    let has_host = !bare_host.is_empty() && !host.starts_with('-') && host.chars().all(is_name);
    match scheme {
        "file" if is_git && rest.starts_with('/') => git(address),
        _ if !has_host => Err(unknown()),
        "ssh" => git(address),
        "git" if is_loopback => git(address),
        "http" if is_loopback && (is_git || is_git_address(address)) => git(address),
        "http" if is_loopback => Ok((index(address), None, None)),
        "http" | "git" => Err(SourceError::Unencrypted {
            text: text.to_owned(),
        }),
        "https" if !is_git && matches!(host, "github.com" | "www.github.com") => {
            on_github(rest, text)
        }
        "https" if is_git || is_git_address(address) || GIT_HOSTS.contains(&host) => git(address),
        "https" => Ok((index(address), None, None)),
        _ => Err(unknown()),
    }
}

fn is_git_address(address: &str) -> bool {
    address.strip_suffix(".git").is_some()
}

fn index(address: &str) -> PackageSource {
    let url = address.split("/.well-known/").next().unwrap_or(address);
    PackageSource::Index {
        url: url.trim_end_matches('/').to_owned(),
    }
}

/// `git@host:path`, the form that people copy from a host's page.
fn is_scp(address: &str) -> bool {
    let Some((host, path)) = address.split_once(':') else {
        return false;
    };
    let Some((user, host)) = host.split_once('@') else {
        return false;
    };
    let is_word = |text: &str| {
        let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
        !text.is_empty() && !text.starts_with('-') && text.chars().all(is_name)
    };
    is_word(user) && is_word(host) && !path.is_empty() && !path.starts_with('-')
}

/// `owner/repo[/path]` on GitHub.
fn short(place: &str, text: &str) -> Result<ReadPlace, SourceError> {
    let unknown = || SourceError::Unknown {
        text: text.to_owned(),
    };
    let mut parts = place.splitn(3, '/');
    let (Some(owner), Some(repo)) = (parts.next(), parts.next()) else {
        return Err(unknown());
    };
    let path = parts.next().map(ToOwned::to_owned);
    if let Some((place, after)) = place.split_once('@')
        && !after.is_empty()
        && !owner.is_empty()
    {
        return Err(SourceError::At {
            text: text.to_owned(),
            suggestion: format!("{place}#{after}"),
        });
    }
    let repo = repo.strip_suffix(".git").unwrap_or(repo);
    if !is_github_name(owner) || !is_github_name(repo) {
        return Err(unknown());
    }
    let source = PackageSource::GitHub {
        owner: owner.to_owned(),
        repo: repo.to_owned(),
    };
    Ok((source, path, None))
}

fn is_github_name(name: &str) -> bool {
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    !name.is_empty()
        && name.len() <= 100
        && !name.starts_with(['-', '.'])
        && name.chars().all(is_name)
}

/// An address of GitHub's pages: `github.com/owner/repo[/tree/REF/path]`.
fn on_github(rest: &str, text: &str) -> Result<ReadPlace, SourceError> {
    let (_, place) = rest.split_once('/').unwrap_or((rest, ""));
    let place = place.trim_end_matches('/');
    let (source, path, _) = short(place, text)?;
    let Some(path) = path else {
        return Ok((source, None, None));
    };
    let mut parts = path.splitn(3, '/');
    match (parts.next(), parts.next()) {
        (Some("tree" | "blob"), Some(reference)) => Ok((
            source,
            parts.next().map(ToOwned::to_owned),
            Some(checked_reference(reference)?),
        )),
        _ => Err(SourceError::Unknown {
            text: text.to_owned(),
        }),
    }
}

/// Refuses what git would not accept as a name, or would take for an option.
fn checked_reference(text: &str) -> Result<String, SourceError> {
    let is_good = is_reference(text);
    is_good
        .then(|| text.to_owned())
        .ok_or_else(|| SourceError::Reference {
            text: text.to_owned(),
        })
}

/// True for a text that can be a branch, tag or commit.
pub fn is_reference(text: &str) -> bool {
    let is_bad =
        |c: char| c.is_control() || matches!(c, ' ' | '~' | '^' | ':' | '?' | '*' | '[' | '\\');
    !text.is_empty()
        && text.len() <= 256
        && !text.starts_with(['-', '/', '.'])
        && !text.ends_with(['/', '.'])
        && text.strip_suffix(".lock").is_none()
        && !["..", "@{", "//", "/."].iter().any(|it| text.contains(it))
        && !text.contains(is_bad)
}

/// True for a full commit id.
pub fn is_commit(text: &str) -> bool {
    let is_hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    matches!(text.len(), 40 | 64) && text.bytes().all(is_hex)
}

fn checked_path(text: &str) -> Result<RelativePath, SourceError> {
    let text = text.trim_matches('/');
    RelativePath::parse(text).map_err(|error| SourceError::Path {
        text: text.to_owned(),
        why: error.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> String {
        match PackageSpec::parse(text) {
            Ok(spec) => {
                let path = spec.path.as_ref().map(|it| it.as_str().to_owned());
                let name = spec.library_name().map(|it| it.to_string());
                let again = PackageSource::parse(&spec.source.to_string());
                assert_eq!(again.as_ref(), Ok(&spec.source), "{text}");
                let argument = spec.to_argument().unwrap();
                assert_eq!(PackageSpec::parse(&argument).as_ref(), Ok(&spec), "{text}");
                format!(
                    "{} ref={} path={} name={}",
                    spec.source,
                    spec.reference.unwrap_or_default(),
                    path.unwrap_or_default(),
                    name.unwrap_or_default()
                )
            }
            Err(error) => format!("error: {error}"),
        }
    }

    #[test]
    fn every_spelling_has_one_form_in_files() {
        let texts = [
            "obra/superpowers",
            "anthropics/skills/skills#v2",
            "anthropics/skills/document-skills/pdf",
            "github:obra/superpowers",
            "https://github.com/obra/superpowers",
            "https://github.com/obra/superpowers.git",
            "https://github.com/obra/superpowers/tree/main/skills",
            "https://git.example.com/team/prompts.git#main",
            "git+https://git.example.com/team/prompts",
            "https://gitlab.com/team/tools",
            "ssh://git@git.example.com/team/prompts.git",
            "git@git.example.com:team/prompts.git#v1.0",
            "git+file:///srv/prompts",
            "git+file:///srv/prompts#0123456789012345678901234567890123456789",
            "https://hub.example.com",
            "https://hub.example.com/.well-known/agent-skills/index.json",
            "http://127.0.0.1:8080/repo.git",
        ];
        insta::assert_snapshot!(
            texts
                .map(|text| format!("{text}\n    {}", read(text)))
                .join("\n")
        );
    }

    #[test]
    fn what_is_no_source_says_why() {
        let texts = [
            "",
            "superpowers",
            "obra/superpowers@v5",
            "obra/superpowers#",
            "obra/superpowers#--upload-pack=x",
            "obra/superpowers#a..b",
            "-oProxyCommand=x/y",
            "obra/superpowers/../x",
            "obra/super powers",
            "https://user:secret@git.example.com/x.git",
            "https://token@git.example.com/x.git",
            "ssh://-oProxyCommand=x/y",
            "git@-oProxyCommand=x:y",
            "ext::sh -c x",
            "ext::sh",
            "http://git.example.com/x.git",
            "git://git.example.com/x.git",
            "git+file://host/x",
            "file:///srv/prompts",
            "ftp://git.example.com/x.git",
            "https://github.com/obra/superpowers/issues/1",
        ];
        insta::assert_snapshot!(
            texts
                .map(|text| format!("{text}\n    {}", read(text)))
                .join("\n")
        );
    }
}
