//! The log of changes: what each change says, and the chain of a project.

use crate::audit::{AuditEntry, ChainBreak, ChainCheck, ChainDigest};
use crate::plan::{PlanRows, StoredProject};
use crate::store::{Author, StoreName, Timestamp};

/// What a write changed: a prompt, a resource or the project itself.
#[derive(Debug, Clone, Copy)]
pub struct ChangedItem<'w> {
    /// `project`, `prompt` or `resource`.
    pub kind: &'w str,
    /// Its name.
    pub name: &'w str,
    /// Its version; 0 for a project.
    pub version: u64,
    /// What was done.
    pub action: &'w str,
    /// A label, or a name or number that it was done with.
    pub detail: Option<&'w str>,
}

impl<'w> ChangedItem<'w> {
    /// A change of the project itself.
    pub fn project(name: &'w StoreName, action: &'w str, detail: Option<&'w str>) -> Self {
        Self {
            kind: "project",
            name: name.as_str(),
            version: 0,
            action,
            detail,
        }
    }

    /// The change as an entry of the project's log. `after` counts the prompts, the resources and
    /// the bytes of versions after it. Neither names nor labels have spaces.
    pub fn entry(
        &self,
        rev: u64,
        after: [u64; 3],
        (actor, client): (Option<Box<str>>, Option<Box<str>>),
        at: Timestamp,
    ) -> AuditEntry {
        let Self {
            kind,
            name,
            version,
            action,
            detail,
        } = self;
        let detail = detail.unwrap_or_default();
        let [prompts, resources, history] = after;
        let what = format!("{kind} {name} {version} {detail} {prompts} {resources} {history}");
        AuditEntry {
            number: rev,
            at,
            actor,
            client,
            action: (*action).into(),
            what: what.into(),
        }
    }
}

/// What the first change of a project follows in its chain.
pub fn chain_start(project: [u8; 16]) -> ChainDigest {
    ChainDigest::start(&format!("project {:032x}", u128::from_be_bytes(project)))
}

/// Records a change of a project. `project` describes its new contents; it gets the new revision.
pub fn record<R: PlanRows>(
    rows: &mut R,
    project: &mut StoredProject,
    changed: &ChangedItem<'_>,
    author: &Author,
    now: Timestamp,
) -> Result<(), R::Error> {
    project.rev += 1;
    project.changed = now;
    let after = [project.prompts, project.resources, project.history];
    let entry = changed.entry(project.rev, after, (author.actor(), author.client()), now);
    let before = project.digest.unwrap_or_else(|| chain_start(project.id));
    let digest = before.next(&entry);
    project.digest = Some(digest);
    rows.add_change(project, changed, &entry, digest)
}

/// Asks for some changes.
#[derive(Debug, Clone, Default)]
pub struct ChangeQuery {
    /// Those of the project with this name, and of deleted ones that had it.
    pub project: Option<StoreName>,
    /// Those made at this time or later.
    pub since: Option<Timestamp>,
}

/// A change of a project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedChange {
    /// The project's name; of a deleted one, the last.
    pub project: Box<str>,
    /// `project`, `prompt` or `resource`.
    pub kind: Box<str>,
    /// What was changed.
    pub name: Box<str>,
    /// Its version; 0 for a project.
    pub version: u64,
    /// A label, or a name or number that it was done with.
    pub detail: Option<Box<str>>,
    /// Number, time, actor, client and action.
    pub entry: AuditEntry,
    /// Its digest; `None` for a change from before the chain.
    pub digest: Option<ChainDigest>,
}

/// The chain of a project, checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckedChain {
    /// The project's name; of a deleted one, the last.
    pub project: Box<str>,
    /// True if it was deleted.
    pub is_deleted: bool,
    /// How many changes were checked.
    pub changes: u64,
    /// How many changes are from before the chain.
    pub unchained: u64,
    /// The digest of the last change that was checked.
    pub last: Option<ChainDigest>,
    /// Where the chain breaks.
    pub broken: Option<ChainBreak>,
}

/// The action of a change from before the chain.
pub const BEFORE_THE_CHAIN: &str = "unknown";

/// Checks the chain of a project, change by change.
#[derive(Debug)]
pub struct ChainWalk {
    chain: CheckedChain,
    check: ChainCheck,
    recorded: Option<LastChange>,
    last: u64,
    is_deletion_last: bool,
}

/// The last change of a project, as its row records it.
#[derive(Debug, Clone, Copy)]
pub struct LastChange {
    /// Its revision.
    pub rev: u64,
    /// Its digest; `None` for a change from before the chain.
    pub digest: Option<ChainDigest>,
}

impl ChainWalk {
    /// Starts before the first change. `recorded` is the change that has to be the last one; `None` if
    /// the project was deleted, whose last change is that.
    pub fn new(id: [u8; 16], project: &str, recorded: Option<LastChange>) -> Self {
        Self {
            chain: CheckedChain {
                project: project.into(),
                is_deleted: recorded.is_none(),
                changes: 0,
                unchained: 0,
                last: None,
                broken: None,
            },
            check: ChainCheck::new(chain_start(id)),
            recorded,
            last: 0,
            is_deletion_last: false,
        }
    }

    /// Checks the next change; nothing after the first break.
    pub fn follow(&mut self, change: &RecordedChange) {
        self.last = change.entry.number;
        self.is_deletion_last = &*change.kind == "project" && &*change.entry.action == "delete";
        let Self { chain, check, .. } = self;
        if chain.broken.is_some() {
            return;
        }
        let number = change.entry.number;
        // Only the migration wrote changes without a digest, and no word for what they did.
        let is_early = chain.changes == 0 && &*change.entry.action == BEFORE_THE_CHAIN;
        match change.digest {
            None if is_early => chain.unchained += 1,
            None => chain.broken = Some(ChainBreak::Changed(number)),
            Some(digest) => {
                // The first change of a project is its creation.
                if chain.changes + chain.unchained == 0 && number != 1 {
                    chain.broken = Some(ChainBreak::Missing(1));
                    return;
                }
                match check.follow(&change.entry, digest) {
                    Ok(()) => {
                        chain.changes += 1;
                        chain.last = Some(digest);
                    }
                    Err(broken) => chain.broken = Some(broken),
                }
            }
        }
    }

    /// What was found, after the last change.
    pub fn end(self) -> CheckedChain {
        let Self {
            mut chain,
            recorded,
            last,
            is_deletion_last,
            ..
        } = self;
        chain.broken = chain.broken.or(match recorded {
            None if is_deletion_last => None,
            None => Some(ChainBreak::Missing(last + 1)),
            Some(recorded) if last < recorded.rev => Some(ChainBreak::Missing(last + 1)),
            Some(recorded) if last > recorded.rev || chain.last != recorded.digest => {
                Some(ChainBreak::OtherEnd(last))
            }
            Some(_) => None,
        });
        chain
    }
}
