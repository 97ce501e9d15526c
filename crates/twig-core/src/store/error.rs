//! Why a store could not do something, in sentences that read the same everywhere.

use std::path::{Path, PathBuf};

use super::label::LabelName;
use super::name::{ItemKind, NameProblem, Noun, StoreName};
use crate::problem::shorten;

/// The longest part of a caller's own text that a sentence repeats, in characters.
const QUOTED: usize = 200;

/// Why something was not done. After a failed write, nothing was written unless the sentence says
/// otherwise.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// An invalid name.
    #[error("{}", name_sentence(*.noun, .name, *.problem))]
    Name {
        /// What it should have named.
        noun: Noun,
        /// The name.
        name: Box<str>,
        /// What is wrong with it.
        problem: NameProblem,
    },
    /// An item of that name already exists.
    #[error("{} '{name}' already exists in project '{project}'", .kind.noun())]
    Exists {
        /// What.
        kind: ItemKind,
        /// Its name.
        name: StoreName,
        /// Where.
        project: StoreName,
    },
    /// No item of that name exists.
    #[error("{} '{name}' does not exist in project '{project}'", .kind.noun())]
    Missing {
        /// What.
        kind: ItemKind,
        /// Its name.
        name: StoreName,
        /// Where.
        project: StoreName,
        /// Similar names that exist, if the store searched for them.
        near: Vec<Box<str>>,
    },
    /// A restore without a version, of something that was not deleted.
    #[error("{} '{name}' in project '{project}' is not deleted: give the version to restore", .kind.noun())]
    NotDeleted {
        /// What.
        kind: ItemKind,
        /// Its name.
        name: StoreName,
        /// Where.
        project: StoreName,
    },
    /// A new name under which the versions of a deleted item are kept.
    #[error("{} '{name}' was deleted from project '{project}', and its versions are kept under that name: choose another name", .kind.noun())]
    NameKept {
        /// What.
        kind: ItemKind,
        /// The name.
        name: StoreName,
        /// Where.
        project: StoreName,
    },
    /// Another resource has that URI.
    #[error("URI '{}' is already used by resource '{by}' in project '{project}'", shorten(.uri, QUOTED))]
    UriTaken {
        /// The URI.
        uri: Box<str>,
        /// The resource that has it.
        by: StoreName,
        /// Where.
        project: StoreName,
    },
    /// A text that cannot be a URI.
    #[error("URI '{}' is not valid: {reason}", shorten(.uri, QUOTED))]
    BadUri {
        /// The text.
        uri: Box<str>,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// A text that cannot be a MIME type.
    #[error("MIME type '{}' is not valid: it has to look like text/markdown", shorten(.mime, QUOTED))]
    BadMime {
        /// The text.
        mime: Box<str>,
    },
    /// The writer has read another version than the last.
    #[error("{} '{name}' is at version {current}, not at the expected version {expected}: read it again, then repeat the change", .kind.noun())]
    Stale {
        /// What.
        kind: ItemKind,
        /// Its name.
        name: StoreName,
        /// The version that the writer has read.
        expected: u64,
        /// The last version.
        current: u64,
    },
    /// There is no such version.
    #[error("{} '{name}' has no version {version}{}; the last one is {last}", .kind.noun(), dropped(*.version, *.first))]
    NoVersion {
        /// What.
        kind: ItemKind,
        /// Its name.
        name: StoreName,
        /// The version that was asked for.
        version: u64,
        /// The first one that is kept.
        first: u64,
        /// The last one.
        last: u64,
    },
    /// A text that cannot be a label.
    #[error(
        "Label '{}' is not valid: it has to be 1 to 64 lower case letters, digits, - and _, with at least one letter",
        shorten(.label, QUOTED)
    )]
    BadLabel {
        /// The text.
        label: Box<str>,
    },
    /// There is no such label.
    #[error("{} '{name}' has no label '{label}'; {}", .kind.noun(), other_labels(.labels))]
    NoLabel {
        /// What.
        kind: ItemKind,
        /// Its name.
        name: StoreName,
        /// The label that was asked for.
        label: LabelName,
        /// The labels that it has.
        labels: Vec<LabelName>,
    },
    /// A label for a version that deleted the item.
    #[error("Version {version} of {} '{name}' is its deletion: give a version that has content", .kind.as_str())]
    LabelOfDeletion {
        /// What.
        kind: ItemKind,
        /// Its name.
        name: StoreName,
        /// The version.
        version: u64,
    },
    /// One label too many.
    #[error("{place} has {limit} labels, which is the limit: remove one first")]
    TooManyLabels {
        /// What has them, at the start of a sentence.
        place: Box<str>,
        /// How many it may have.
        limit: usize,
    },
    /// A label that the author may not move or remove.
    #[error(
        "Label '{label}' is protected in project '{project}': only an administrator moves or removes it"
    )]
    LabelProtected {
        /// The label.
        label: LabelName,
        /// Where.
        project: StoreName,
    },
    /// An update that changes nothing because nothing was given.
    #[error("Nothing to update: give {0}")]
    NothingGiven(&'static str),
    /// Content that should have been Base64.
    #[error("Content of type '{}' is binary and has to be valid base64: {reason}", shorten(.mime, QUOTED))]
    NotBase64 {
        /// The type.
        mime: Box<str>,
        /// Where it is invalid.
        reason: Box<str>,
    },
    /// Content that should have been text.
    #[error("Content of type '{}' has to be UTF-8 text, which ends at byte {offset}", shorten(.mime, QUOTED))]
    NotText {
        /// The type.
        mime: Box<str>,
        /// The first invalid byte.
        offset: usize,
    },
    /// A type that changes between text and binary, without new content.
    #[error("MIME type '{}' does not fit the content, which is {}: give the content too", shorten(.mime, QUOTED), if *.is_text { "text" } else { "binary" })]
    MimeOfOther {
        /// The new type.
        mime: Box<str>,
        /// What the content is.
        is_text: bool,
    },
    /// Text with characters that hide something; a whole sentence.
    #[error("{0}")]
    HiddenText(String),
    /// More bytes than allowed.
    #[error("{what} is {size} bytes long; the limit is {limit}")]
    TooLarge {
        /// What is too large.
        what: &'static str,
        /// Its size.
        size: usize,
        /// The limit.
        limit: usize,
    },
    /// One prompt or resource too many.
    #[error(
        "Project '{project}' has {limit} prompts and resources, which is the limit: delete some first"
    )]
    Full {
        /// Where.
        project: StoreName,
        /// How many it may have.
        limit: usize,
    },
    /// More bytes of versions than a project may have.
    #[error(
        "The versions of project '{project}' take {used} bytes and this change needs {needed} more; the limit is {limit}: \
         drop old versions with `twig workspace compact {workspace} --keep 10`"
    )]
    HistoryFull {
        /// Where.
        project: StoreName,
        /// The workspace that it is in.
        workspace: StoreName,
        /// The bytes that its versions take.
        used: u64,
        /// The bytes that one more would take.
        needed: u64,
        /// The bytes that they may take.
        limit: usize,
    },
    /// There is no such workspace, or no longer.
    #[error(
        "Workspace '{workspace}' does not exist: make it with `twig workspace create {workspace}`"
    )]
    NoWorkspace {
        /// Its name.
        workspace: StoreName,
    },
    /// There is no such project.
    #[error("Project '{project}' does not exist in workspace '{workspace}'")]
    NoProject {
        /// Its name.
        project: StoreName,
        /// The workspace that was searched.
        workspace: StoreName,
    },
    /// A project of that name already exists.
    #[error("Project '{project}' already exists in workspace '{workspace}'")]
    ProjectExists {
        /// Its name.
        project: StoreName,
        /// Where.
        workspace: StoreName,
    },
    /// Another process held the lock for too long.
    #[error("{}", busy_sentence(.workspace, *.seconds, *.is_write))]
    Busy {
        /// Which workspace.
        workspace: StoreName,
        /// How long the caller waited.
        seconds: u64,
        /// True for a write, false for a read.
        is_write: bool,
    },
    /// No space left.
    #[error("The disk is full, nothing was written: make room, then try again")]
    DiskFull,
    /// The file was removed or replaced since it was opened.
    #[error(
        "The file of workspace '{workspace}' was removed or replaced while it was open, so the change was not saved: try again"
    )]
    Moved {
        /// Which workspace.
        workspace: StoreName,
    },
    /// The workspace is open for reading only.
    #[error("Workspace '{workspace}' is open for reading only")]
    ReadOnly {
        /// Which workspace.
        workspace: StoreName,
    },
    /// The file is damaged.
    #[error("The file of workspace '{workspace}' is damaged ({what}); it was left as it is")]
    Damaged {
        /// Which workspace.
        workspace: StoreName,
        /// What is damaged.
        what: String,
        /// The file, for a person on its machine.
        path: PathBuf,
    },
    /// Rows of the database are damaged.
    #[error("The database of workspace '{workspace}' is damaged ({what}); it was left as it is: restore a backup{}", where_all_is(*.is_all))]
    DamagedRows {
        /// Which workspace.
        workspace: StoreName,
        /// What is damaged.
        what: String,
        /// True if that is all damage, as `twig store verify` finds it.
        is_all: bool,
    },
    /// The content of a version is not kept any more.
    #[error(
        "The content is no longer in workspace '{workspace}': its project was deleted, or this version was dropped"
    )]
    ContentGone {
        /// Which workspace.
        workspace: StoreName,
    },
    /// A file that cannot be used.
    #[error("{sentence}")]
    File {
        /// A whole sentence, without the path of the file.
        sentence: String,
        /// The file or folder, for a person on its machine.
        path: PathBuf,
    },
    /// The database of the workspace cannot be reached.
    #[error("{}", offline_sentence(.workspace, .reason, *.is_write))]
    Offline {
        /// Which workspace.
        workspace: StoreName,
        /// Why, in the middle of a sentence.
        reason: String,
        /// True for a write, false for a read.
        is_write: bool,
    },
    /// The database of all workspaces cannot be reached.
    #[error("The database of the store cannot be reached: {reason}")]
    NoDatabase {
        /// Why, in the middle of a sentence.
        reason: String,
    },
    /// The database did not say whether a write was made.
    #[error(
        "The connection to the database of workspace '{workspace}' was lost before it confirmed the change, which may have been written: read it again before you repeat the change"
    )]
    Unknown {
        /// Which workspace.
        workspace: StoreName,
    },
    /// A store that cannot be opened, or that failed in another way: a whole sentence.
    #[error("{0}")]
    Unavailable(String),
}

impl StoreError {
    /// True if the caller can fix it by asking for something else; otherwise the store is at fault.
    pub fn is_callers(&self) -> bool {
        !matches!(
            self,
            Self::Busy { .. }
                | Self::DiskFull
                | Self::Moved { .. }
                | Self::NoWorkspace { .. }
                | Self::Damaged { .. }
                | Self::DamagedRows { .. }
                | Self::ContentGone { .. }
                | Self::File { .. }
                | Self::Offline { .. }
                | Self::NoDatabase { .. }
                | Self::Unknown { .. }
                | Self::Unavailable(_)
        )
    }

    /// True if what was read differs from what was written.
    pub fn is_damage(&self) -> bool {
        matches!(self, Self::Damaged { .. } | Self::DamagedRows { .. })
    }

    /// The file that it is about. No sentence says where that is, since clients may be anywhere:
    /// it is for terminals and logs.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::Damaged { path, .. } | Self::File { path, .. } => Some(path),
            _ => None,
        }
    }
}

fn busy_sentence(workspace: &StoreName, seconds: u64, is_write: bool) -> String {
    if is_write {
        format!(
            "Another program has been writing to workspace '{workspace}' for {seconds} s, nothing was written: try again"
        )
    } else {
        format!(
            "Workspace '{workspace}' cannot be read: another program has had it locked for {seconds} s; try again"
        )
    }
}

fn offline_sentence(workspace: &StoreName, reason: &str, is_write: bool) -> String {
    if is_write {
        format!(
            "The database of workspace '{workspace}' cannot be reached ({reason}), nothing was written: try again when it is back"
        )
    } else {
        format!("The database of workspace '{workspace}' cannot be reached: {reason}")
    }
}

fn where_all_is(is_all: bool) -> &'static str {
    if is_all {
        ""
    } else {
        "; `twig store verify` lists what differs"
    }
}

/// The labels that there are.
pub fn other_labels(labels: &[impl std::fmt::Display]) -> String {
    match labels {
        [] => "it has no labels".to_owned(),
        labels => {
            let labels: Vec<String> = labels.iter().map(ToString::to_string).collect();
            format!("it has {}", labels.join(", "))
        }
    }
}

/// Why a version is not there that once was.
fn dropped(version: u64, first: u64) -> String {
    if (1..first).contains(&version) {
        format!(" any more (versions before {first} were dropped)")
    } else {
        String::new()
    }
}

fn name_sentence(noun: Noun, name: &str, problem: NameProblem) -> String {
    match problem {
        NameProblem::Empty => format!("{noun} name is empty"),
        NameProblem::TooLong => format!(
            "{noun} name is {} characters long; the limit is 255",
            name.len()
        ),
        NameProblem::Dots => format!("{noun} name '{name}' means a folder; choose another"),
        NameProblem::Characters => format!(
            "{noun} name '{}' contains invalid characters. Allowed: a-z, A-Z, 0-9, -, _, .",
            shorten(name, QUOTED)
        ),
    }
}
