//! The files of a package: their paths, modes and digests, and the one digest over all of them.

use std::collections::BTreeMap;
use std::fmt;
use std::fmt::Write as _;

use sha2::{Digest as _, Sha256};

/// The first line of a list of files.
const HEADER: &str = "twig package files 1";

/// Folders in folders, at most.
const DEEPEST: usize = 32;

/// Names of devices on Windows, with any ending.
const DEVICES: [&str; 4] = ["aux", "con", "nul", "prn"];

/// The digest over all files of a package: SHA-256.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TreeDigest([u8; 32]);

impl TreeDigest {
    /// Reads `sha256:` and 64 hexadecimal digits.
    pub fn parse(text: &str) -> Option<Self> {
        parse_hex(text.strip_prefix("sha256:")?).map(Self)
    }

    /// The name of its folder: the digits alone.
    pub fn folder(&self) -> String {
        hex(&self.0)
    }
}

impl fmt::Display for TreeDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sha256:{}", hex(&self.0))
    }
}

/// Whether a file can be executed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FileMode {
    /// `644`
    Plain,
    /// `755`
    Executable,
}

impl FileMode {
    /// The mode as git and `chmod` write it.
    pub fn bits(self) -> u32 {
        match self {
            Self::Plain => 0o644,
            Self::Executable => 0o755,
        }
    }

    /// True for `755`.
    pub fn is_executable(self) -> bool {
        self == Self::Executable
    }
}

/// One file of a package.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackageFile {
    /// Its path from the package's folder, with `/`.
    pub path: String,
    /// Whether it can be executed.
    pub mode: FileMode,
    /// Its size in bytes.
    pub size: u64,
    /// SHA-256 of its bytes.
    pub digest: [u8; 32],
}

/// All files of a package, sorted by the bytes of their paths.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PackageTree {
    files: Vec<PackageFile>,
}

impl PackageTree {
    /// The files in order.
    pub fn new(mut files: Vec<PackageFile>) -> Self {
        files.sort_by(|one, two| one.path.as_bytes().cmp(two.path.as_bytes()));
        Self { files }
    }

    /// The files, sorted.
    pub fn files(&self) -> &[PackageFile] {
        &self.files
    }

    /// The file with this path.
    pub fn file(&self, path: &str) -> Option<&PackageFile> {
        let found = self
            .files
            .binary_search_by(|file| file.path.as_bytes().cmp(path.as_bytes()));
        found.ok().map(|at| &self.files[at])
    }

    /// The bytes of all files together.
    pub fn size(&self) -> u64 {
        self.files.iter().map(|file| file.size).sum()
    }

    /// The digest over path length, path, mode, size and content digest of every file. Numbers are
    /// eight bytes each, the highest first.
    pub fn digest(&self) -> TreeDigest {
        let mut digest = Sha256::new();
        for file in &self.files {
            digest.update((file.path.len() as u64).to_be_bytes());
            digest.update(file.path.as_bytes());
            digest.update(u64::from(file.mode.bits()).to_be_bytes());
            digest.update(file.size.to_be_bytes());
            digest.update(file.digest);
        }
        TreeDigest(digest.finalize().into())
    }

    /// The list as it is kept beside the files: a line for each, `MODE SHA-256 SIZE PATH`.
    pub fn to_text(&self) -> String {
        let mut text = format!("{HEADER}\n");
        for file in &self.files {
            let (mode, digest) = (file.mode.bits(), hex(&file.digest));
            let _ = writeln!(text, "{mode:o} {digest} {} {}", file.size, file.path);
        }
        text
    }

    /// Reads [`PackageTree::to_text`]; `None` if it is anything else.
    pub fn parse(text: &str) -> Option<Self> {
        let lines = text.strip_prefix(HEADER)?.strip_prefix('\n')?;
        let lines = match lines {
            "" => None,
            lines => Some(lines.strip_suffix('\n')?.split('\n')),
        };
        let files: Option<Vec<PackageFile>> = lines.into_iter().flatten().map(parse_line).collect();
        let files = files?;
        let is_sorted = files.is_sorted_by(|one, two| one.path.as_bytes() < two.path.as_bytes());
        is_sorted.then_some(Self { files })
    }
}

fn parse_line(line: &str) -> Option<PackageFile> {
    let mut parts = line.splitn(4, ' ');
    let mode = match parts.next()? {
        "644" => FileMode::Plain,
        "755" => FileMode::Executable,
        _ => return None,
    };
    let digest = parse_hex(parts.next()?)?;
    let size = parts.next()?;
    let size = size
        .parse()
        .ok()
        .filter(|it: &u64| it.to_string() == size)?;
    let path = parts.next().filter(|path| path_trouble(path).is_none())?;
    Some(PackageFile {
        path: path.to_owned(),
        mode,
        size,
        digest,
    })
}

/// Why a file of a repository is left out of its package, or makes the package be refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PathTrouble {
    /// `..`, `.git`, an absolute path: nothing but an attack has such names.
    #[error("its name leads out of the package or into git's own folder")]
    Hostile,
    /// Two entries of one name: each reader would take another one.
    #[error("there are two of that name")]
    Twice,
    /// Control characters, backslashes, or not UTF-8.
    #[error("its name has a control character or a backslash, or is not UTF-8")]
    Characters,
    /// More folders than any system needs.
    #[error("it is in more than 32 folders, or its path is longer than 1024 bytes")]
    Deep,
    /// `aux.md`, `a:b.md`, `a.`.
    #[error("Windows cannot hold a file of that name")]
    Windows,
}

impl PathTrouble {
    /// True if the whole package is refused, not only the file.
    pub fn is_attack(self) -> bool {
        matches!(self, Self::Hostile | Self::Twice)
    }
}

/// What is wrong with the path of a file in a package.
pub fn path_trouble(path: &str) -> Option<PathTrouble> {
    if path.is_empty() || path.starts_with('/') {
        return Some(PathTrouble::Hostile);
    }
    let is_hostile = |part: &str| {
        let folded = part.to_ascii_lowercase();
        let git = folded.trim_end_matches(['.', ' ']);
        matches!(part, "" | "." | "..") || matches!(git, ".git" | "git~1")
    };
    if path.split('/').any(is_hostile) {
        return Some(PathTrouble::Hostile);
    }
    if path.chars().any(|c| c.is_control() || c == '\\') {
        return Some(PathTrouble::Characters);
    }
    if path.len() > 1024 || path.split('/').count() > DEEPEST {
        return Some(PathTrouble::Deep);
    }
    path.split('/')
        .any(is_bad_on_windows)
        .then_some(PathTrouble::Windows)
}

fn is_bad_on_windows(part: &str) -> bool {
    let stem = part.split('.').next().unwrap_or_default();
    let stem = stem.trim_end().to_ascii_lowercase();
    let is_numbered = |front: &str| {
        let rest = stem.strip_prefix(front);
        rest.is_some_and(|rest| matches!(rest.as_bytes(), [b'1'..=b'9']))
    };
    DEVICES.contains(&&*stem)
        || is_numbered("com")
        || is_numbered("lpt")
        || part.ends_with(['.', ' '])
        || part.contains(['<', '>', ':', '"', '|', '?', '*'])
}

/// Paths that are the same where the case of letters does not count, except the first of each, with
/// that first one. A folder and a file count, too: `Docs/a.md` and `docs`.
pub fn case_twins<'p>(paths: impl IntoIterator<Item = &'p str>) -> Vec<(&'p str, &'p str)> {
    let mut seen: BTreeMap<String, &'p str> = BTreeMap::new();
    let mut twins = Vec::new();
    for path in paths {
        let ends = path.match_indices('/').map(|(at, _)| at);
        let twin = ends.chain([path.len()]).find_map(|end| {
            let part = &path[..end];
            let first = *seen.entry(part.to_lowercase()).or_insert(part);
            (first != part).then_some(first)
        });
        twins.extend(twin.map(|first| (path, first)));
    }
    twins
}

/// Bytes in hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// Reads 64 lower-case hexadecimal digits.
pub fn parse_hex(text: &str) -> Option<[u8; 32]> {
    let is_hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    if text.len() != 64 || !text.bytes().all(is_hex) {
        return None;
    }
    let mut bytes = [0; 32];
    for (at, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&text[at * 2..at * 2 + 2], 16).ok()?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_no_package_may_have() {
        let hostile = [
            "../x",
            "a/../x",
            ".git/config",
            "a/.GIT/hooks/x",
            "/x",
            "a//b",
            ".git ./x",
        ];
        for path in hostile {
            assert_eq!(path_trouble(path), Some(PathTrouble::Hostile), "{path}");
        }
        for path in [
            "aux.md", "a/COM1", "lpt9.txt", "a.", "b /c", "a:b", "what?.md",
        ] {
            assert_eq!(path_trouble(path), Some(PathTrouble::Windows), "{path}");
        }
        for path in ["a\\b", "a\nb", "a\u{1b}b"] {
            assert_eq!(path_trouble(path), Some(PathTrouble::Characters), "{path}");
        }
        for path in [
            "skills/pdf/SKILL.md",
            ".claude/x.md",
            ".gitignore",
            "com10.md",
            "con_.md",
            "über.md",
        ] {
            assert_eq!(path_trouble(path), None, "{path}");
        }
        assert_eq!(path_trouble("a/".repeat(32).trim_end_matches('/')), None);
        assert_eq!(
            path_trouble(&format!("{}b", "a/".repeat(32))),
            Some(PathTrouble::Deep)
        );
    }

    #[test]
    fn twins_are_found_in_folders_too() {
        let paths = ["A.md", "Docs/x.md", "a.md", "docs/y.md", "other.md"];
        let twins = case_twins(paths);
        assert_eq!(twins, [("a.md", "A.md"), ("docs/y.md", "Docs")]);
    }
}
