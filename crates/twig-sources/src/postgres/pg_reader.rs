//! The connections that read: one asks whether anything has changed, the other reads what has. The last
//! project and contents are cached: reading one new prompt reads one row, however many there are, and
//! what was read stays available while the database is away, or takes long to answer another caller.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::TryStreamExt as _;
use sha2::{Digest as _, Sha256};
use tokio::time::Instant;
use tokio_postgres::Row;
use tokio_postgres::types::Type;
use twig_core::audit::ChainDigest;
use twig_core::plan::{
    ChainWalk, ChangeQuery, CheckedChain, LastChange, RecordedChange, StoredProject,
};
use twig_core::store::{
    Digest, Item, ItemKind, LabelName, Project, StoreError, StoreName, Summary, Version,
    VersionQuery, hex,
};
use uuid::Uuid;

use super::database::{PgDatabase, PgLine};
use super::found_damage::FoundDamage;
use super::isolation::read_in;
use super::loaded_rows::{lost, outdated};
use super::pg_client::PgClient;
use super::pg_fault::PgFault;
use super::pg_queries::{
    CaughtUp, are_all, catch_up, find_item, find_project, labels_of, one_version, read_all,
};
use super::pg_rows::{
    ITEM_COLUMNS, change_columns, change_row, digest, item_columns, item_row, kind, label,
    maybe_digest, name, number, project_columns, project_row, signed, version_columns, version_row,
};
use super::{PgShared, PgValue, VerifiedRows, schema, uuid_of};

/// How long a request waits for the confirmation that nothing has changed.
const CONFIRM: Duration = Duration::from_millis(250);

/// Bytes of cached contents.
const CACHED: usize = 64 * 1024 * 1024;

/// How long a check of all rows may take.
const LONGEST_CHECK: Duration = Duration::from_secs(3_600);

/// The connections; callers of each take turns.
#[derive(Debug)]
pub(super) struct PgStoreReader {
    seen: Mutex<SeenState>,
    reading: Mutex<ReadingState>,
    contents: Mutex<ContentCache>,
}

/// What has changed, as far as is known. Nobody waits for it longer than a confirmation takes.
#[derive(Debug)]
struct SeenState {
    line: PgLine,
    /// Every project with its revision and chain, as last confirmed.
    seen: Option<Vec<SeenProject>>,
    /// When that was.
    confirmed: Option<Instant>,
    /// Counts the differences: the store's revision for callers in this process.
    revision: u64,
}

/// What was read. Locked before [`SeenState`] where both are.
#[derive(Debug)]
struct ReadingState {
    line: PgLine,
    /// The last project that was read, with its items: prompts first, then resources, each sorted by
    /// name.
    last: Option<(StoredProject, Vec<Item>)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct SeenProject {
    id: Uuid,
    name: String,
    rev: i64,
    chain: Option<Vec<u8>>,
}

/// Contents, the oldest first; they never change.
#[derive(Debug, Default)]
struct ContentCache {
    bytes: usize,
    order: VecDeque<Digest>,
    contents: HashMap<Digest, Vec<u8>>,
}

impl ContentCache {
    fn add(&mut self, digest: Digest, content: &[u8]) {
        if content.len() > CACHED / 4 || self.contents.contains_key(&digest) {
            return;
        }
        self.bytes += content.len();
        self.order.push_back(digest);
        self.contents.insert(digest, content.to_owned());
        while self.bytes > CACHED {
            let Some(oldest) = self.order.pop_front() else {
                return;
            };
            let removed = self.contents.remove(&oldest);
            self.bytes -= removed.map_or(0, |content| content.len());
        }
    }
}

impl PgStoreReader {
    pub(super) fn new(database: Arc<PgDatabase>) -> Self {
        Self {
            seen: Mutex::new(SeenState {
                line: PgLine::new(Arc::clone(&database)),
                seen: None,
                confirmed: None,
                revision: 0,
            }),
            reading: Mutex::new(ReadingState {
                line: PgLine::new(database),
                last: None,
            }),
            contents: Mutex::default(),
        }
    }

    fn seen(&self) -> MutexGuard<'_, SeenState> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The connection that reads, unless the other one has found the database away: then nobody waits.
    fn reading(&self, shared: &PgShared) -> Result<MutexGuard<'_, ReadingState>, StoreError> {
        let there = self.seen().line.check();
        there.map_err(|fault| shared.describe(fault))?;
        Ok(self.reading.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn contents(&self) -> MutexGuard<'_, ContentCache> {
        self.contents.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The revision, as of at most the freshness ago.
    pub(super) fn revision(&self, shared: &PgShared) -> Result<u64, StoreError> {
        let mut state = self.seen();
        let is_stale = shared.is_stale.swap(false, Ordering::AcqRel);
        let is_fresh = state
            .confirmed
            .is_some_and(|at| at.elapsed() < shared.freshness);
        if !is_stale && is_fresh {
            return Ok(state.revision);
        }
        let confirmed = state.confirm(shared);
        if confirmed.is_err() && is_stale {
            shared.is_stale.store(true, Ordering::Release);
        }
        confirmed.map_err(|fault| shared.describe(fault))
    }

    /// The revision as of now.
    pub(super) fn look(&self, shared: &PgShared) -> Result<u64, StoreError> {
        let looked = self.seen().confirm(shared);
        looked.map_err(|fault| shared.describe(fault))
    }

    pub(super) fn projects(&self, shared: &PgShared) -> Result<Vec<Summary>, StoreError> {
        let rows = self.read(shared, &async |client: &PgClient| {
            let sql = concat!(
                "SELECT ",
                project_columns!(),
                " FROM twig.project p WHERE p.workspace = $1 ORDER BY p.name"
            );
            let values: [PgValue<'_>; 1] = [(&shared.id, Type::UUID)];
            let rows = client.query_typed(sql, &values).await?;
            let rows: Result<Vec<_>, _> = rows.iter().map(project_row).collect();
            rows
        })?;
        Ok(rows.into_iter().map(StoredProject::summary).collect())
    }

    pub(super) fn project(
        &self,
        shared: &PgShared,
        name: &StoreName,
    ) -> Result<Option<Project>, StoreError> {
        {
            let mut seen = self.seen();
            if seen.seen.is_none() {
                let confirmed = seen.confirm(shared);
                confirmed.map_err(|fault| shared.describe(fault))?;
            }
        }
        let mut reading = self.reading(shared)?;
        let begun = self.seen().revision;
        let ReadingState { line, last } = &mut *reading;
        let known = last.take().filter(|(project, _)| project.name == *name);
        let until = until(shared);
        let mut read = None;
        if let Some((known, items)) = known {
            let outcome = line.run(until, &async |client: &PgClient| {
                catch_up(client, shared, &known).await
            });
            match outcome.map_err(|fault| shared.describe(fault))? {
                CaughtUp::Gone => return Ok(None),
                CaughtUp::Changed(project, changes) => {
                    let items = merge(items, changes);
                    read =
                        Some((project, items)).filter(|(project, items)| are_all(items, project));
                }
                // A counter that went back is reported when what was read is noted.
                CaughtUp::Replaced(rev) if rev >= known.rev => tracing::error!(
                    "the history of project {name} was replaced: change {} that was served is not \
                     in it, and it is at change {rev} now; the database was restored, or a \
                     standby without the last changes was promoted",
                    known.rev
                ),
                CaughtUp::Replaced(_) | CaughtUp::Unclear => {}
            }
        }
        if read.is_none() {
            let all = &async |client: &PgClient| read_all(client, shared, name).await;
            read = line
                .run(until, all)
                .map_err(|fault| shared.describe(fault))?;
        }
        let Some((project, items)) = read else {
            return Ok(None);
        };
        let revision = self.seen().serve(&project, begun);
        let found = Project {
            id: project.id,
            name: project.name.clone(),
            revision,
            items: items.clone(),
        };
        reading.last = Some((project, items));
        Ok(Some(found))
    }

    pub(super) fn content(
        &self,
        shared: &PgShared,
        digest: &Digest,
    ) -> Result<Vec<u8>, StoreError> {
        if let Some(content) = self.contents().contents.get(digest) {
            return Ok(content.clone());
        }
        let mut reading = self.reading(shared)?;
        let read = reading.line.run(until(shared), &async |client: &PgClient| {
            let sql = "SELECT bytes FROM twig.content WHERE workspace = $1 AND digest = $2";
            let wanted = &digest[..];
            let values: [PgValue<'_>; 2] = [(&shared.id, Type::UUID), (&wanted, Type::BYTEA)];
            let asked = async { Ok(client.query_typed(sql, &values).await?) };
            let rows = read_in(client, shared.id, asked).await?;
            let bytes = rows.first().map(|row| row.try_get::<_, Vec<u8>>(0));
            Ok(bytes.transpose()?)
        });
        let content = match read.map_err(|fault| shared.describe(fault))? {
            Some(bytes) if Sha256::digest(&bytes).as_slice() == digest => bytes,
            Some(_) => {
                let what = "a content differs from what was written".to_owned();
                return Err(shared.describe(PgFault::Damaged(what)));
            }
            None => {
                return Err(StoreError::ContentGone {
                    workspace: shared.workspace.clone(),
                });
            }
        };
        drop(reading);
        self.contents().add(*digest, &content);
        Ok(content)
    }

    pub(super) fn versions(
        &self,
        shared: &PgShared,
        query: &VersionQuery,
    ) -> Result<Vec<Version>, StoreError> {
        let (kind, name) = (query.kind, &query.name);
        self.read(shared, &async |client: &PgClient| {
            let item = find_item(client, shared, &query.project, kind, name).await?;
            if let Some(choice) = &query.only {
                return Ok(vec![
                    one_version(client, shared, (kind, name), &item, choice).await?,
                ]);
            }
            let sql = concat!(
                "SELECT ",
                version_columns!(),
                " FROM twig.version v WHERE v.workspace = $1 AND v.item = $2 AND v.number < $3 \
                 ORDER BY v.number DESC LIMIT $4"
            );
            let before = signed(query.before.unwrap_or(u64::MAX));
            let most = signed(query.most as u64);
            let of = uuid_of(item.id);
            let values: [PgValue<'_>; 4] = [
                (&shared.id, Type::UUID),
                (&of, Type::UUID),
                (&before, Type::INT8),
                (&most, Type::INT8),
            ];
            let rows = client.query_typed(sql, &values).await?;
            let versions = rows.iter().map(|row| version_row(kind, name, row, 0));
            let versions: Vec<Version> = versions.collect::<Result<_, _>>()?;
            let last = item
                .head
                .min(query.before.unwrap_or(u64::MAX).saturating_sub(1));
            let expected = (item.first..=last).rev().take(query.most);
            let kept = versions.iter().map(|version| version.number);
            if expected.eq(kept.take_while(|number| *number >= item.first)) {
                Ok(versions)
            } else {
                Err(lost(kind, name))
            }
        })
    }

    pub(super) fn labels(
        &self,
        shared: &PgShared,
        project: &StoreName,
        kind: ItemKind,
        name: &StoreName,
    ) -> Result<Vec<(LabelName, u64)>, StoreError> {
        self.read(shared, &async |client: &PgClient| {
            let item = find_item(client, shared, project, kind, name).await?;
            labels_of(client, shared, &item).await
        })
    }

    pub(super) fn protected_labels(
        &self,
        shared: &PgShared,
        project: &StoreName,
    ) -> Result<Vec<LabelName>, StoreError> {
        self.read(shared, &async |client: &PgClient| {
            let found = find_project(client, shared, project).await?;
            let of = uuid_of(found.id);
            let sql = "SELECT label FROM twig.protected_label \
                WHERE workspace = $1 AND project = $2 ORDER BY label";
            let values: [PgValue<'_>; 2] = [(&shared.id, Type::UUID), (&of, Type::UUID)];
            let rows = client.query_typed(sql, &values).await?;
            rows.iter().map(|row| label(row, 0)).collect()
        })
    }

    pub(super) fn changes(
        &self,
        shared: &PgShared,
        query: &ChangeQuery,
    ) -> Result<Vec<RecordedChange>, StoreError> {
        let mut found = Vec::new();
        for (id, (project, _)) in self.changed_projects(shared)? {
            let name = query.project.as_ref().map(StoreName::as_str);
            if name.is_some_and(|name| *project != *name) {
                continue;
            }
            let changes = self.changes_of(shared, id, &project)?;
            let is_wanted =
                |change: &RecordedChange| query.since.is_none_or(|since| change.entry.at >= since);
            found.extend(changes.into_iter().filter(is_wanted));
        }
        found.sort_by_key(|change| change.entry.at);
        Ok(found)
    }

    pub(super) fn check_changes(&self, shared: &PgShared) -> Result<Vec<CheckedChain>, StoreError> {
        let mut chains = Vec::new();
        for (id, (project, _)) in self.changed_projects(shared)? {
            chains.push(self.check_chain(shared, id, &project)?);
        }
        chains.sort_by(|one, two| one.project.cmp(&two.project));
        Ok(chains)
    }

    /// Compares the changes of a project with each other, and with what its row records.
    fn check_chain(
        &self,
        shared: &PgShared,
        project: Uuid,
        name: &str,
    ) -> Result<CheckedChain, StoreError> {
        self.read(shared, &async |client: &PgClient| {
            let sql = "SELECT rev, chain FROM twig.project WHERE workspace = $1 AND id = $2";
            let values: [PgValue<'_>; 2] = [(&shared.id, Type::UUID), (&project, Type::UUID)];
            let rows = client.query_typed(sql, &values).await?;
            let recorded = rows.first().map(|row| {
                Ok::<_, PgFault>(LastChange {
                    rev: number(row, 0)?,
                    digest: maybe_digest(row, 1)?.map(ChainDigest::from_bytes),
                })
            });
            let mut walk = ChainWalk::new(project.into_bytes(), name, recorded.transpose()?);
            for change in read_changes(client, shared, project, name).await? {
                walk.follow(&change);
            }
            Ok(walk.end())
        })
    }

    /// Every project that has changes, with its name and whether it was deleted.
    pub(super) fn changed_projects(
        &self,
        shared: &PgShared,
    ) -> Result<BTreeMap<Uuid, (String, bool)>, StoreError> {
        self.read(shared, &async |client: &PgClient| {
            let sql = "SELECT id, name, false FROM twig.project WHERE workspace = $1 \
                UNION ALL (SELECT DISTINCT ON (c.project) c.project, c.name, true \
                 FROM twig.change c WHERE c.workspace = $1 AND c.kind = 'project' \
                 AND NOT EXISTS (SELECT 1 FROM twig.project p \
                  WHERE p.workspace = $1 AND p.id = c.project) \
                 ORDER BY c.project, c.rev DESC)";
            let values: [PgValue<'_>; 1] = [(&shared.id, Type::UUID)];
            let rows = client.query_typed(sql, &values).await?;
            let projects = rows
                .iter()
                .map(|row| Ok((row.try_get(0)?, (row.try_get(1)?, row.try_get(2)?))));
            projects.collect()
        })
    }

    pub(super) fn changes_of(
        &self,
        shared: &PgShared,
        project: Uuid,
        name: &str,
    ) -> Result<Vec<RecordedChange>, StoreError> {
        self.read(shared, &async |client: &PgClient| {
            read_changes(client, shared, project, name).await
        })
    }

    /// Compares every version and every content with its digest, one at a time, and looks for those that
    /// are missing.
    pub(super) fn verify(&self, shared: &PgShared) -> Result<VerifiedRows, StoreError> {
        const VERSIONS: &str = concat!(
            "SELECT ",
            item_columns!(),
            ", ",
            version_columns!(),
            " FROM twig.version v LEFT JOIN twig.item i \
             ON i.workspace = v.workspace AND i.id = v.item WHERE v.workspace = $1"
        );
        // Versions before the first one may be kept, for their labels.
        const SHORTENED: &str = "SELECT i.kind, i.name FROM twig.item i WHERE i.workspace = $1 \
            AND i.head - i.first + 1 <> (SELECT count(*) FROM twig.version v \
             WHERE v.workspace = $1 AND v.item = i.id AND v.number BETWEEN i.first AND i.head) \
            ORDER BY i.project, i.kind, i.name";
        const OUTDATED: &str = "SELECT i.kind, i.name FROM twig.item i \
            JOIN twig.version v ON v.workspace = $1 AND v.item = i.id AND v.number = i.head \
            WHERE i.workspace = $1 AND (i.deleted <> (v.operation = 'delete') \
             OR (NOT i.deleted AND i.uri IS DISTINCT FROM v.uri)) \
            ORDER BY i.project, i.kind, i.name";
        const LACKING: &str = "SELECT count(*) FROM twig.version v WHERE v.workspace = $1 \
            AND NOT EXISTS (SELECT 1 FROM twig.content c \
             WHERE c.workspace = $1 AND c.digest = v.content)";
        let mut reading = self.reading(shared)?;
        let until = Instant::now() + LONGEST_CHECK;
        let check = async |client: &PgClient| {
            let mut verified = VerifiedRows::default();
            let mut damage = FoundDamage::default();
            let unlimited = "SET LOCAL statement_timeout = 0";
            client.batch_execute(unlimited).await?;
            let of = || [(shared.id, Type::UUID)];
            let rows = client.query_typed_raw(VERSIONS, of()).await?;
            let mut rows = std::pin::pin!(rows);
            while let Some(row) = rows.try_next().await? {
                damage.note(check_version(&row))?;
                verified.versions += 1;
            }
            let rows = client.query_typed_raw(SHORTENED, of()).await?;
            let mut rows = std::pin::pin!(rows);
            while let Some(row) = rows.try_next().await? {
                let item = item_name(&row);
                damage.note(item.and_then(|(kind, name)| Err(lost(kind, &name))))?;
            }
            let rows = client.query_typed_raw(OUTDATED, of()).await?;
            let mut rows = std::pin::pin!(rows);
            while let Some(row) = rows.try_next().await? {
                let item = item_name(&row);
                damage.note(item.and_then(|(kind, name)| Err(outdated(kind, &name))))?;
            }
            let sql = "SELECT digest, bytes FROM twig.content WHERE workspace = $1";
            let rows = client.query_typed_raw(sql, of()).await?;
            let mut rows = std::pin::pin!(rows);
            while let Some(row) = rows.try_next().await? {
                let bytes: &[u8] = row.try_get(1)?;
                let is_right = |named: &Digest| *named == Digest::from(Sha256::digest(bytes));
                damage.note(match digest(&row, 0) {
                    Ok(named) if is_right(&named) => Ok(()),
                    Ok(named) => Err(PgFault::Damaged(format!(
                        "content {}… differs from what was written",
                        &hex(&named)[..12]
                    ))),
                    Err(fault) => Err(fault),
                })?;
                verified.contents += 1;
            }
            let values: [PgValue<'_>; 1] = [(&shared.id, Type::UUID)];
            let lacking = client.query_typed_one(LACKING, &values).await?;
            match number(&lacking, 0)? {
                0 => {}
                1 => damage.note(Err(PgFault::Damaged("a content is missing".to_owned())))?,
                count => damage.note(Err(PgFault::Damaged(format!(
                    "{count} contents are missing"
                ))))?,
            }
            damage.end(&shared.workspace)?;
            Ok(verified)
        };
        let verified = reading.line.run(until, &async |client: &PgClient| {
            read_in(client, shared.id, check(client)).await
        });
        verified.map_err(|fault| shared.describe(fault))
    }

    pub(super) fn read<T>(
        &self,
        shared: &PgShared,
        call: &impl AsyncFn(&PgClient) -> Result<T, PgFault>,
    ) -> Result<T, StoreError> {
        let read = self
            .reading(shared)?
            .line
            .run(until(shared), &async |client: &PgClient| {
                read_in(client, shared.id, call(client)).await
            });
        read.map_err(|fault| shared.describe(fault))
    }
}

/// What a row with a kind and a name is of.
fn item_name(row: &Row) -> Result<(ItemKind, StoreName), PgFault> {
    let kind = kind(row, 0)?;
    Ok((kind, name(kind.noun(), row, 1)?))
}

/// Every change of a project, oldest first.
async fn read_changes(
    client: &PgClient,
    shared: &PgShared,
    project: Uuid,
    name: &str,
) -> Result<Vec<RecordedChange>, PgFault> {
    let sql = concat!(
        "SELECT ",
        change_columns!(),
        " FROM twig.change WHERE workspace = $1 AND project = $2 ORDER BY rev"
    );
    let values: [PgValue<'_>; 2] = [(&shared.id, Type::UUID), (&project, Type::UUID)];
    let rows = client.query_typed(sql, &values).await?;
    rows.iter().map(|row| change_row(name, row)).collect()
}

/// Compares a version with its digest: a row with the item that it is of, if that is there, and it.
fn check_version(row: &Row) -> Result<(), PgFault> {
    let item: Option<Uuid> = row.try_get(0)?;
    if item.is_none() {
        let number = number(row, ITEM_COLUMNS)?;
        let what = format!("version {number} belongs to no prompt or resource");
        return Err(PgFault::Damaged(what));
    }
    let (kind, name, _) = item_row(row)?;
    version_row(kind, &name, row, ITEM_COLUMNS).map(drop)
}

fn until(shared: &PgShared) -> Instant {
    Instant::now() + Duration::from_millis(shared.millis)
}

impl SeenState {
    /// Asks for the revision of every project; the store's revision grows if any differs.
    fn confirm(&mut self, shared: &PgShared) -> Result<u64, PgFault> {
        let patience = Duration::from_millis(shared.millis);
        // The first time there is nothing else to answer with.
        let patience = match self.seen {
            Some(_) => patience.min(CONFIRM),
            None => patience,
        };
        let begun = Instant::now();
        let rows = self
            .line
            .run(begun + patience, &async |client: &PgClient| {
                let sql = "SELECT p.id, p.name, p.rev, p.chain, m.schema, m.min_reader \
                     FROM twig.workspace w LEFT JOIN twig.meta m ON true \
                     LEFT JOIN twig.project p ON p.workspace = w.id WHERE w.id = $1 ORDER BY p.id";
                let values: [PgValue<'_>; 1] = [(&shared.id, Type::UUID)];
                let asked = async { Ok(client.query_typed(sql, &values).await?) };
                read_in(client, shared.id, asked).await
            })?;
        if rows.is_empty() {
            return Err(PgFault::Refused(StoreError::NoWorkspace {
                workspace: shared.workspace.clone(),
            }));
        }
        schema::check_row(&rows[0], 4)?;
        let mut seen = Vec::with_capacity(rows.len());
        for row in &rows {
            if let Some(id) = row.try_get(0)? {
                seen.push(SeenProject {
                    id,
                    name: row.try_get(1)?,
                    rev: row.try_get(2)?,
                    chain: row.try_get(3)?,
                });
            }
        }
        if self.seen.as_ref() != Some(&seen) {
            self.report_lost(&seen);
            self.seen = Some(seen);
            self.revision += 1;
        }
        self.confirmed = Some(begun);
        Ok(self.revision)
    }

    /// Notes what a project was read at, which may be newer than what was confirmed: the next
    /// confirmation compares with what is served. Returns the store's revision of what was read.
    fn serve(&mut self, project: &StoredProject, begun: u64) -> u64 {
        let read = SeenProject::of(project);
        let mut seen = self.seen.iter_mut().flatten();
        let Some(seen) = seen.find(|seen| seen.id == read.id && **seen != read) else {
            return self.revision;
        };
        // Something was confirmed meanwhile, which may be newer: the caller has to read again.
        if self.revision != begun {
            return begun;
        }
        seen.report_lost(&read);
        *seen = read;
        self.revision += 1;
        self.revision
    }

    fn report_lost(&self, now: &[SeenProject]) {
        for before in self.seen.iter().flatten() {
            if let Some(after) = now.iter().find(|after| after.id == before.id) {
                before.report_lost(after);
            }
        }
    }
}

impl SeenProject {
    fn of(project: &StoredProject) -> Self {
        Self {
            id: uuid_of(project.id),
            name: project.name.to_string(),
            rev: signed(project.rev),
            chain: project.digest.map(|digest| digest.as_bytes().to_vec()),
        }
    }

    /// Logs that the counter went back: the history was replaced.
    fn report_lost(&self, after: &Self) {
        if after.rev < self.rev {
            tracing::error!(
                "project {} went back from change {} to change {}: the database was restored, or a \
                 standby without the last changes was promoted",
                after.name,
                self.rev,
                after.rev
            );
        }
    }
}

fn merge(mut items: Vec<Item>, changes: Vec<(ItemKind, StoreName, Option<Item>)>) -> Vec<Item> {
    for (kind, name, item) in changes {
        let at = items.binary_search_by(|item| (item.kind, &item.name).cmp(&(kind, &name)));
        match (at, item) {
            (Ok(at), Some(item)) => items[at] = item,
            (Ok(at), None) => drop(items.remove(at)),
            (Err(at), Some(item)) => items.insert(at, item),
            (Err(_), None) => {}
        }
    }
    items
}
