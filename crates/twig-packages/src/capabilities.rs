//! What the files of a package can make an agent do: programs it names in shell code, hosts, tools
//! it may use without asking, scripts, hidden characters, and files that people cannot read.
//!
//! It is an inventory for people who decide about an update, not a judgement: text that is meant to
//! deceive can always be written in a way that no list shows.

mod binary;
mod hosts;
mod markdown;
mod shell;

use std::collections::BTreeMap;

use twig_core::Limits;
use twig_core::front_matter::{FrontMatterValue, read_block, split};
use twig_core::hidden::{self, TextPlace};

/// Names that one list keeps. A package has at most as many files.
const MOST: usize = 20_000;

/// Characters of a tool that are kept.
const LONGEST_TOOL: usize = 200;

/// Endings of files that some program runs.
const SCRIPTS: [&str; 28] = [
    "bash", "bat", "bats", "cjs", "cmd", "command", "exe", "fish", "go", "jar", "js", "jsx", "ksh",
    "lua", "mjs", "mts", "php", "pl", "ps1", "psm1", "py", "pyw", "r", "rb", "sh", "ts", "tsx",
    "zsh",
];

/// Endings of scripts whose lines are shell commands.
const SHELL_SCRIPTS: [&str; 8] = ["bash", "bats", "cmd", "command", "fish", "ksh", "sh", "zsh"];

/// Endings of Markdown.
const MARKDOWN: [&str; 4] = ["markdown", "md", "mdc", "mdx"];

/// One kind of thing that a package can do or bring.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum CapabilityKind {
    /// Programs that shell code names.
    Programs,
    /// Hosts in URLs.
    Hosts,
    /// Tools in `allowed-tools`, as written.
    Tools,
    /// Paths of files that can be run.
    Scripts,
    /// Kinds of hidden characters, such as `a tag character`.
    HiddenCharacters,
    /// Paths of files that are not text.
    BinaryFiles,
    /// Paths of text files that are neither Markdown nor scripts.
    OtherFiles,
    /// Paths of files whose content was not available.
    UnreadFiles,
}

impl CapabilityKind {
    /// All kinds, the most serious first.
    pub const ALL: [Self; 8] = [
        Self::Programs,
        Self::Hosts,
        Self::Tools,
        Self::Scripts,
        Self::HiddenCharacters,
        Self::BinaryFiles,
        Self::OtherFiles,
        Self::UnreadFiles,
    ];

    /// Its name as a key in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Programs => "programs",
            Self::Hosts => "hosts",
            Self::Tools => "allowed_tools",
            Self::Scripts => "scripts",
            Self::HiddenCharacters => "hidden_characters",
            Self::BinaryFiles => "binary_files",
            Self::OtherFiles => "other_files",
            Self::UnreadFiles => "unread_files",
        }
    }

    /// True if the names in the list are paths of files.
    pub fn is_files(self) -> bool {
        match self {
            Self::Programs | Self::Hosts | Self::Tools | Self::HiddenCharacters => false,
            Self::Scripts | Self::BinaryFiles | Self::OtherFiles | Self::UnreadFiles => true,
        }
    }
}

/// Where something was seen first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CapabilityPlace {
    /// The path of the file.
    pub path: String,
    /// The line, from 1; `None` if the file as a whole is meant.
    pub line: Option<u32>,
    /// More about it: what a file that is not text contains, as far as its first bytes say.
    pub detail: Option<&'static str>,
}

/// The names of one kind, sorted, each with the place where it was seen first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CapabilityList {
    found: BTreeMap<String, CapabilityPlace>,
    unlisted: usize,
}

impl CapabilityList {
    /// The names in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &CapabilityPlace)> {
        self.found.iter().map(|(name, place)| (&**name, place))
    }

    /// The number of names in the list.
    pub fn len(&self) -> usize {
        self.found.len()
    }

    /// True if nothing was seen.
    pub fn is_empty(&self) -> bool {
        self.found.is_empty() && self.unlisted == 0
    }

    /// True if a name is in the list.
    pub fn contains(&self, name: &str) -> bool {
        self.found.contains_key(name)
    }

    /// How often something was seen that is not listed, because the list is full.
    pub fn unlisted(&self) -> usize {
        self.unlisted
    }

    fn insert(&mut self, name: &str, path: &str, line: Option<u32>, detail: Option<&'static str>) {
        if self.found.contains_key(name) {
            return;
        }
        if self.found.len() >= MOST {
            self.unlisted += 1;
            return;
        }
        let place = CapabilityPlace {
            path: path.to_owned(),
            line,
            detail,
        };
        self.found.insert(name.to_owned(), place);
    }

    /// The names that another list does not have.
    fn beyond(&self, other: &Self) -> Self {
        let found = self.iter().filter(|(name, _)| !other.contains(name));
        Self {
            found: found
                .map(|(name, place)| (name.to_owned(), place.clone()))
                .collect(),
            unlisted: self.unlisted,
        }
    }

    /// Keeps as many names, those first that people should not miss.
    fn shorten(&mut self, most: usize) {
        let excess = self.found.len().saturating_sub(most);
        let common = self.found.keys().rev().filter(|name| !is_notable(name));
        let mut dropped: Vec<String> = common.take(excess).cloned().collect();
        let rest = self.found.keys().rev().filter(|name| is_notable(name));
        dropped.extend(rest.take(excess - dropped.len()).cloned());
        for name in dropped {
            self.found.remove(&name);
        }
        self.unlisted += excess;
    }
}

/// What the files of a package can make an agent do.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PackageCapabilities {
    lists: [CapabilityList; CapabilityKind::ALL.len()],
}

impl PackageCapabilities {
    /// Reads files: the path, whether it can be executed, and the bytes of each.
    pub fn from_files<'f>(files: impl IntoIterator<Item = (&'f str, bool, &'f [u8])>) -> Self {
        let mut capabilities = Self::default();
        for (path, is_executable, bytes) in files {
            capabilities.add_file(path, is_executable, bytes);
        }
        capabilities
    }

    /// Adds what one file can do.
    pub fn add_file(&mut self, path: &str, is_executable: bool, bytes: &[u8]) {
        let ending = ending(path);
        let has = |endings: &[&str]| endings.contains(&&*ending);
        let is_script = is_executable || has(&SCRIPTS) || bytes.starts_with(b"#!");
        if is_script {
            self.insert(CapabilityKind::Scripts, path, path, None);
        }
        let Some(text) = as_text(bytes) else {
            let kind = binary::kind(path, bytes);
            let list = &mut self.lists[CapabilityKind::BinaryFiles as usize];
            list.insert(path, path, None, Some(kind));
            return;
        };
        self.add_hosts(path, text);
        self.add_hidden(path, text);
        if has(&MARKDOWN) {
            self.add_tools(path, text);
        } else if !is_script {
            self.insert(CapabilityKind::OtherFiles, path, path, None);
        }
        let mut programs = |name: &str, line: u32| {
            self.insert(CapabilityKind::Programs, name, path, Some(line));
        };
        // A program without a first line that names another is run by a shell.
        let is_bare = is_executable && ending.is_empty() && !text.starts_with("#!");
        if has(&SHELL_SCRIPTS) || names_shell(text) || is_bare {
            shell::programs(text, 1, &mut programs);
        } else if !has(&SCRIPTS) {
            markdown::programs(text, &mut programs);
        }
    }

    /// Adds a file whose content is not available.
    pub fn add_unread(&mut self, path: &str) {
        self.insert(CapabilityKind::UnreadFiles, path, path, None);
    }

    /// The list of one kind.
    pub fn list(&self, kind: CapabilityKind) -> &CapabilityList {
        &self.lists[kind as usize]
    }

    /// All lists that are not empty, the most serious first.
    pub fn lists(&self) -> impl Iterator<Item = (CapabilityKind, &CapabilityList)> {
        let lists = CapabilityKind::ALL.into_iter();
        let lists = lists.map(|kind| (kind, self.list(kind)));
        lists.filter(|(_, list)| !list.is_empty())
    }

    /// True if nothing was seen.
    pub fn is_empty(&self) -> bool {
        self.lists().next().is_none()
    }

    /// What these can do and others cannot: the names that are not in the other lists.
    #[must_use]
    pub fn beyond(&self, other: &Self) -> Self {
        let mut beyond = Self::default();
        for kind in CapabilityKind::ALL {
            beyond.lists[kind as usize] = self.list(kind).beyond(other.list(kind));
        }
        beyond
    }

    /// The same with at most as many names in each list; the others are counted.
    #[must_use]
    pub fn shortened(mut self, most: usize) -> Self {
        for list in &mut self.lists {
            list.shorten(most);
        }
        self
    }

    /// Removes names from the list of a kind.
    pub(crate) fn retain(&mut self, kind: CapabilityKind, mut is_kept: impl FnMut(&str) -> bool) {
        let list = &mut self.lists[kind as usize];
        list.found.retain(|name, _| is_kept(name));
    }

    fn insert(&mut self, kind: CapabilityKind, name: &str, path: &str, line: Option<u32>) {
        self.lists[kind as usize].insert(name, path, line, None);
    }

    fn add_hosts(&mut self, path: &str, text: &str) {
        hosts::hosts(text, &mut |host, line| {
            self.insert(CapabilityKind::Hosts, host, path, Some(line));
        });
    }

    /// At most one hidden character of each line counts.
    fn add_hidden(&mut self, path: &str, text: &str) {
        let (mut at, mut line) = (0, 0);
        while let Some(hidden) = hidden::find(&text[at..], TextPlace::Body) {
            let kind = CapabilityKind::HiddenCharacters;
            self.insert(kind, hidden.kind(), path, Some(line + hidden.line));
            let rest = &text[at + hidden.offset..];
            let Some(end) = rest.find('\n') else { break };
            at += hidden.offset + end + 1;
            line += hidden.line;
        }
    }

    fn add_tools(&mut self, path: &str, text: &str) {
        let Some(front) = split(text).front else {
            return;
        };
        let lead = count_lines(&text[..front.start]);
        let front = &text[front];
        let fields = read_block(front, &Limits::default()).fields;
        for key in ["allowed-tools", "allowed_tools", "allowedTools"] {
            let Some(value) = fields.get(key) else {
                continue;
            };
            let mut lines = front.lines().zip(lead + 1..);
            let line = lines.find(|(line, _)| line.trim_start().starts_with(key));
            let line = line.map(|(_, line)| line);
            for tool in tools(value) {
                let tool = tool.chars().filter(|c| !c.is_control());
                let tool: String = tool.take(LONGEST_TOOL).collect();
                self.insert(CapabilityKind::Tools, &tool, path, line);
            }
        }
    }
}

/// Programs that people should not miss in a long list: they get rights, reach other machines,
/// delete, or run code from elsewhere.
pub(crate) fn is_notable(name: &str) -> bool {
    const NOTABLE: [&str; 30] = [
        "Bash",
        "aws",
        "bash",
        "chmod",
        "chown",
        "crontab",
        "curl",
        "dd",
        "docker",
        "doas",
        "eval",
        "gcloud",
        "gpg",
        "kill",
        "kubectl",
        "launchctl",
        "nc",
        "ncat",
        "npx",
        "osascript",
        "rm",
        "scp",
        "security",
        "sh",
        "ssh",
        "su",
        "sudo",
        "systemctl",
        "uvx",
        "wget",
    ];
    NOTABLE.contains(&name)
}

/// The text of a file; `None` if it has a NUL byte or is not UTF-8.
pub(crate) fn as_text(bytes: &[u8]) -> Option<&str> {
    if bytes.contains(&0) {
        return None;
    }
    std::str::from_utf8(bytes).ok()
}

/// The number of line ends in a text.
fn count_lines(text: &str) -> u32 {
    let ends = text.bytes().filter(|byte| *byte == b'\n').count();
    u32::try_from(ends).unwrap_or(u32::MAX - 1)
}

/// The ending of a file name in lower case; empty if there is none.
fn ending(path: &str) -> String {
    let name = path.rsplit('/').next().unwrap_or_default();
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
    ending.to_ascii_lowercase()
}

/// True if the first line of a script names a shell.
fn names_shell(text: &str) -> bool {
    let Some(line) = text.lines().next().and_then(|line| line.strip_prefix("#!")) else {
        return false;
    };
    let mut words = line.split([' ', '\t', '/']);
    words.any(|word| shell::SHELLS.contains(&word))
}

/// The tools of a list, or of a text that separates them by commas or whitespace; those in
/// parentheses belong to the tool.
fn tools(value: &FrontMatterValue) -> Vec<String> {
    let items = value.items();
    if !items.is_empty() {
        let tools = items.iter().map(FrontMatterValue::to_text);
        let tools = tools.map(|tool| tool.trim().to_owned());
        return tools.filter(|tool| !tool.is_empty()).collect();
    }
    let text = value.to_text();
    let mut depth = 0_usize;
    let tools = text.split(|c: char| {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0 && (c == ',' || c.is_whitespace())
    });
    let tools = tools.filter(|tool| !tool.is_empty());
    tools.map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tools_keep_what_is_in_parentheses() {
        let split = |text: &str| tools(&FrontMatterValue::Text(text.into()));
        assert_eq!(
            split("Bash(git add:*), Read,Write  Edit"),
            ["Bash(git add:*)", "Read", "Write", "Edit"]
        );
        assert_eq!(split("Bash(a"), ["Bash(a"]);
        assert!(split(" , ").is_empty());
    }

    #[test]
    fn a_list_that_is_shortened_keeps_what_people_should_not_miss() {
        let mut list = CapabilityList::default();
        for name in ["a", "b", "c", "sudo", "curl"] {
            list.insert(name, "x.md", None, None);
        }
        list.shorten(3);
        let names: Vec<&str> = list.iter().map(|(name, _)| name).collect();
        assert_eq!((names, list.unlisted()), (vec!["a", "curl", "sudo"], 2));
        list.shorten(1);
        let names: Vec<&str> = list.iter().map(|(name, _)| name).collect();
        assert_eq!((names, list.unlisted()), (vec!["curl"], 4));
    }

    #[test]
    fn a_full_list_counts_the_rest() {
        let urls = (0..MOST + 5).map(|at| format!("https://h{at}.example"));
        let text = urls.collect::<Vec<_>>().join("\n");
        let seen = PackageCapabilities::from_files([("a.md", false, text.as_bytes())]);
        let hosts = seen.list(CapabilityKind::Hosts);
        assert_eq!((hosts.len(), hosts.unlisted()), (MOST, 5));
    }
}
