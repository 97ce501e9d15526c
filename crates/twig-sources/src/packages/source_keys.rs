//! The keys that the user pinned, each for the sources that match a pattern.
//!
//! Only `twig verify --trust-key` writes the record, and it is never in a folder of packages: a key
//! that comes with a package proves nothing about it.

use std::fs;
use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};
use twig_core::catalog::is_match;
use twig_packages::{PackageSource, PinnedKey};

use crate::locked_file::{LockError, LockedFile};
use crate::write_file::NewFile;

/// How addresses of repositories on GitHub start, in lower case.
const GITHUB: [&str; 4] = [
    "https://github.com/",
    "https://www.github.com/",
    "ssh://git@github.com/",
    "git@github.com:",
];

/// Pinned keys, sorted by pattern and fingerprint.
#[derive(Debug, Clone, Default)]
pub struct SourceKeys {
    keys: Vec<SourceKey>,
}

/// A pinned key and what it is for.
#[derive(Debug, Clone)]
pub struct SourceKey {
    /// The sources: `owner/repo` with `*` for any characters, or the text of a source.
    pub pattern: String,
    /// The key.
    pub key: PinnedKey,
}

/// The record as a file has it.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct KeyRecord {
    #[serde(default)]
    keys: Vec<RecordedKey>,
}

/// One key of the record.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RecordedKey {
    #[serde(rename = "for")]
    pattern: String,
    pem: String,
}

impl SourceKeys {
    /// Reads the record. A missing file counts as empty; one that cannot be parsed is an error.
    pub fn read(path: &Path) -> io::Result<Self> {
        match fs::read(path) {
            Ok(bytes) => Self::parse(&bytes),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(error),
        }
    }

    /// Reads the record, changes it and writes it, while no other command does the same.
    pub fn change<R>(path: &Path, change: impl FnOnce(&mut Self) -> R) -> Result<R, LockError> {
        let file = LockedFile::open(path)?;
        let before = file.read()?;
        let mut keys = before.as_deref().map_or(Ok(Self::default()), Self::parse)?;
        let result = change(&mut keys);
        let bytes = keys.to_bytes()?;
        if before.as_deref() != Some(&*bytes) && (before.is_some() || !keys.keys.is_empty()) {
            file.replace(before.as_deref(), &bytes, NewFile::PRIVATE)?;
        }
        Ok(result)
    }

    fn parse(bytes: &[u8]) -> io::Result<Self> {
        let record: KeyRecord = serde_json::from_slice(bytes).map_err(io::Error::from)?;
        let keys = record.keys.into_iter().map(|recorded| {
            let key = PinnedKey::from_pem(recorded.pem.as_bytes()).map_err(io::Error::other)?;
            let pattern = recorded.pattern;
            Ok(SourceKey { pattern, key })
        });
        Ok(Self {
            keys: keys.collect::<io::Result<_>>()?,
        })
    }

    fn to_bytes(&self) -> io::Result<Vec<u8>> {
        let keys = self.keys.iter().map(|it| RecordedKey {
            pattern: it.pattern.clone(),
            pem: it.key.to_pem(),
        });
        let record = KeyRecord {
            keys: keys.collect(),
        };
        let mut bytes = serde_json::to_vec_pretty(&record).map_err(io::Error::from)?;
        bytes.push(b'\n');
        Ok(bytes)
    }

    /// All pinned keys.
    pub fn keys(&self) -> &[SourceKey] {
        &self.keys
    }

    /// The keys that are pinned for a source.
    pub fn for_source(&self, source: &PackageSource) -> Vec<PinnedKey> {
        let names = names(source);
        let fits = |pattern: &str| {
            let pattern = pattern.to_ascii_lowercase();
            names.iter().any(|name| is_match(&pattern, name))
        };
        let keys = self.keys.iter().filter(|it| fits(&it.pattern));
        keys.map(|it| it.key.clone()).collect()
    }

    /// Pins a key; returns false if it was pinned for this pattern before.
    pub fn pin(&mut self, pattern: &str, key: PinnedKey) -> bool {
        let fingerprint = key.fingerprint();
        let is_it =
            |it: &&mut SourceKey| it.pattern == pattern && it.key.fingerprint() == fingerprint;
        if let Some(there) = self.keys.iter_mut().find(is_it) {
            let is_new = there.key.to_pem() != key.to_pem();
            there.key = key;
            return is_new;
        }
        let pattern = pattern.to_owned();
        self.keys.push(SourceKey { pattern, key });
        self.keys
            .sort_by_cached_key(|it| (it.pattern.clone(), it.key.fingerprint()));
        true
    }

    /// Removes a key, whatever it was pinned for; returns what that was.
    pub fn forget(&mut self, fingerprint: &str) -> Vec<String> {
        let is_it = |it: &SourceKey| it.key.fingerprint() == fingerprint;
        let gone = self.keys.iter().filter(|it| is_it(it));
        let gone = gone.map(|it| it.pattern.clone()).collect();
        self.keys.retain(|it| !is_it(it));
        gone
    }
}

/// What a source is called, in lower case: a repository on GitHub has the same names however its
/// address is written, and hosts do not tell cases apart.
fn names(source: &PackageSource) -> Vec<String> {
    let mut names = vec![source.to_string()];
    match source {
        PackageSource::GitHub { owner, repo } => names.push(format!("{owner}/{repo}")),
        PackageSource::Git { url } => names.push(url.clone()),
        PackageSource::Index { .. } => {}
    }
    for name in &mut names {
        name.make_ascii_lowercase();
    }
    let on_github = names.iter().find_map(|name| {
        let starts = GITHUB.iter();
        let place = starts
            .into_iter()
            .find_map(|start| name.strip_prefix(start))?;
        let place = place.trim_end_matches('/');
        Some(place.strip_suffix(".git").unwrap_or(place).to_owned())
    });
    if let Some(place) = on_github {
        names.push(format!("github:{place}"));
        names.push(place);
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "-----BEGIN PUBLIC KEY-----
MHYwEAYHKoZIzj0CAQYFK4EEACIDYgAEcfEVpEDvPfnwXhs6fyiOe6Xm4RimO8kq
KWT+sqcCQEQNNKt/+k8hCBONqzFplWZqRR+lntTHbRwOYGduU73YgRb/icN6+NKH
kdfqXm16sm02nxN+ke8iam9ENkP6EedW
-----END PUBLIC KEY-----
";

    fn keys(pattern: &str) -> SourceKeys {
        let mut keys = SourceKeys::default();
        let key = PinnedKey::from_pem(KEY.as_bytes()).unwrap();
        assert!(keys.pin(pattern, key));
        keys
    }

    #[test]
    fn a_pattern_fits_a_source_however_it_is_written() {
        let fits = |pattern: &str, source: &str| {
            let source = PackageSource::parse(source).unwrap();
            !keys(pattern).for_source(&source).is_empty()
        };
        for source in [
            "github:NVIDIA/skills",
            "nvidia/skills",
            "git+https://github.com/NVIDIA/skills.git",
            "git+https://github.com/nvidia/skills/",
            "git@github.com:NVIDIA/skills.git",
            "ssh://git@github.com/NVIDIA/skills",
        ] {
            for pattern in ["NVIDIA/*", "nvidia/skills", "github:NVIDIA/skills", "*"] {
                assert!(fits(pattern, source), "{pattern} {source}");
            }
            for pattern in ["NVIDIA", "NVIDIA/", "NVIDIA/skill", "x/*", ""] {
                assert!(!fits(pattern, source), "{pattern} {source}");
            }
        }
        let elsewhere = "git+https://git.example.com/NVIDIA/skills.git";
        assert!(!fits("NVIDIA/*", elsewhere));
        assert!(fits("git+https://git.example.com/nvidia/*", elsewhere));
        assert!(fits("https://git.example.com/*", elsewhere));
        assert!(fits("https://hub.example.com", "https://hub.example.com"));
    }

    #[test]
    fn the_record_is_private_and_forgets() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("keys.json");
        assert!(SourceKeys::read(&path).unwrap().keys().is_empty());
        let key = PinnedKey::from_pem(KEY.as_bytes()).unwrap();
        let pin = |pattern: &str| {
            SourceKeys::change(&path, |keys| keys.pin(pattern, key.clone())).unwrap()
        };
        assert!(pin("b/*"));
        assert!(!pin("b/*"));
        assert!(pin("a/*"));
        let read = SourceKeys::read(&path).unwrap();
        let patterns: Vec<_> = read.keys().iter().map(|it| &*it.pattern).collect();
        assert_eq!(patterns, ["a/*", "b/*"]);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = fs::metadata(&path).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
        let gone = SourceKeys::change(&path, |keys| keys.forget(&key.fingerprint())).unwrap();
        assert_eq!(gone, ["a/*", "b/*"]);
        assert!(SourceKeys::read(&path).unwrap().keys().is_empty());
        fs::write(&path, "{\"keys\": [{\"for\": \"*\", \"pem\": \"x\"}]}").unwrap();
        assert!(SourceKeys::read(&path).is_err());
    }
}
