//! Drops old versions of a workspace, one project at a time, so that servers continue meanwhile. The
//! database frees the space of the rows itself.

use std::time::Duration;

use tokio::time::Instant;
use tokio_postgres::Row;
use tokio_postgres::types::Type;
use twig_core::plan::{ChangedItem, StoredProject, record};
use twig_core::store::{Author, Store as _, StoreError, StoreName, Timestamp};

use super::isolation::show;
use super::loaded_rows::LoadedRows;
use super::pg_batch::CLOCK;
use super::pg_client::PgClient;
use super::pg_commit::commit;
use super::pg_fault::PgFault;
use super::pg_queries::{find_project, read_all};
use super::pg_rows::{number, signed};
use super::{PgShared, PgStore, PgValue, lock_key, schema, uuid_of};
use crate::store::{Access, OldVersions};

/// How long dropping the versions of one project may take.
const LONGEST: Duration = Duration::from_secs(600);

/// The versions of a project: `v` of items `i`.
macro_rules! of_project {
    () => {
        " FROM twig.item i JOIN twig.version v ON v.workspace = i.workspace AND v.item = i.id \
         WHERE i.workspace = $1 AND i.project = $2"
    };
}

/// Those that are not among the last `$3` of their item and have no label.
macro_rules! old {
    () => {
        concat!(
            of_project!(),
            " AND v.number <= i.head - $3 AND NOT EXISTS (SELECT 1 FROM twig.label l \
             WHERE l.workspace = $1 AND l.project = $2 AND l.item = i.id AND l.number = v.number)"
        )
    };
}

/// The bytes of a version without its content: see `Version::cost`.
macro_rules! bytes {
    () => {
        "coalesce(sum(512 + coalesce(octet_length(v.description), 0) \
         + coalesce(octet_length(v.uri), 0) + coalesce(octet_length(v.mime), 0)), 0)::bigint"
    };
}

const COUNT: &str = concat!("SELECT count(*), ", bytes!(), old!());

/// The bytes of contents that nothing else uses.
const CONTENTS: &str = concat!(
    "WITH old AS (SELECT v.item, v.number, v.content, v.size",
    old!(),
    ") SELECT coalesce(sum(size), 0)::bigint FROM (SELECT DISTINCT content, size FROM old) gone \
      WHERE NOT EXISTS (SELECT 1 FROM twig.version o WHERE o.workspace = $1 \
       AND o.content = gone.content AND (o.item, o.number) NOT IN (SELECT item, number FROM old))"
);

const DROP: &str = concat!(
    "WITH old AS (SELECT v.item, v.number, v.content",
    old!(),
    "), dropped AS (DELETE FROM twig.version v USING old WHERE v.workspace = $1 \
       AND v.item = old.item AND v.number = old.number) \
      DELETE FROM twig.content c WHERE c.workspace = $1 AND c.digest IN (SELECT content FROM old) \
       AND NOT EXISTS (SELECT 1 FROM twig.version o WHERE o.workspace = $1 \
        AND o.content = c.digest AND (o.item, o.number) NOT IN (SELECT item, number FROM old))"
);

const FIRST: &str = "UPDATE twig.item SET first = head - $3 + 1 \
    WHERE workspace = $1 AND project = $2 AND head - $3 + 1 > first";

/// The bytes that the versions of a project take, each content once.
const HISTORY: &str = concat!(
    "SELECT (SELECT ",
    bytes!(),
    of_project!(),
    ") + (SELECT coalesce(sum(size), 0)::bigint FROM (SELECT DISTINCT v.content, v.size",
    of_project!(),
    ") contents)"
);

impl PgStore {
    /// Counts the versions older than the last `keep` ones of each prompt and resource, in one
    /// project or in all.
    pub fn count_old_versions(
        &self,
        project: Option<&StoreName>,
        keep: u64,
    ) -> Result<OldVersions, StoreError> {
        let mut all = OldVersions::default();
        for name in self.chosen(project)? {
            let counted = self.reader.read(&self.shared, &async |client: &PgClient| {
                let project = find_project(client, &self.shared, &name).await?;
                count(client, &self.shared, &project, keep).await
            });
            all.add(counted?);
        }
        Ok(all)
    }

    /// Drops the versions older than the last `keep` ones; `keep` is at least one.
    pub fn drop_old_versions(
        &self,
        project: Option<&StoreName>,
        keep: u64,
    ) -> Result<OldVersions, StoreError> {
        let shared = &self.shared;
        if self.access != Access::Write {
            let workspace = shared.workspace.clone();
            return Err(StoreError::ReadOnly { workspace });
        }
        let mut all = OldVersions::default();
        for name in self.chosen(project)? {
            let dropped = shared.database.wait(Instant::now() + LONGEST, async {
                let client = shared.connect_checked(true).await?;
                drop_of_project(&client, shared, &name, keep.max(1)).await
            });
            let described = |fault: PgFault| fault.describe(&shared.workspace, shared.millis, true);
            let dropped = dropped.map_err(described)?;
            all.add(dropped);
            shared.wrote();
        }
        Ok(all)
    }

    /// The project with that name, or all of them.
    fn chosen(&self, name: Option<&StoreName>) -> Result<Vec<StoreName>, StoreError> {
        let all = self.projects()?.into_iter().map(|project| project.name);
        let Some(name) = name else {
            return Ok(all.collect());
        };
        let found = all.filter(|known| known == name).collect::<Vec<_>>();
        if found.is_empty() {
            return Err(StoreError::NoProject {
                project: name.clone(),
                workspace: self.shared.workspace.clone(),
            });
        }
        Ok(found)
    }
}

async fn count(
    client: &PgClient,
    shared: &PgShared,
    project: &StoredProject,
    keep: u64,
) -> Result<OldVersions, PgFault> {
    let (of, keep) = (uuid_of(project.id), signed(keep));
    let values: [PgValue<'_>; 3] = [
        (&shared.id, Type::UUID),
        (&of, Type::UUID),
        (&keep, Type::INT8),
    ];
    let row = client.query_typed_one(COUNT, &values).await?;
    let (versions, rows) = (number(&row, 0)?, number(&row, 1)?);
    let contents = client.query_typed_one(CONTENTS, &values).await?;
    Ok(OldVersions {
        versions,
        bytes: rows + number(&contents, 0)?,
    })
}

/// One transaction, alone in its workspace: others could be about to use a content that is removed.
async fn drop_of_project(
    client: &PgClient,
    shared: &PgShared,
    name: &StoreName,
    keep: u64,
) -> Result<OldVersions, PgFault> {
    // It may have been deleted meanwhile; a damaged one stays as it is.
    if read_all(client, shared, name).await?.is_none() {
        return Ok(OldVersions::default());
    }
    let (show, key) = (show(shared.id), lock_key(shared.id));
    let millis = shared.millis.clamp(1, 600_000);
    client
        .batch_execute(&format!(
            "BEGIN; {show}; SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = {millis}; \
             SELECT pg_advisory_xact_lock({key})"
        ))
        .await?;
    let mut project = find_project(client, shared, name).await?;
    let old = count(client, shared, &project, keep).await?;
    if old.versions == 0 {
        client.batch_execute("ROLLBACK").await?;
        return Ok(old);
    }
    let (of, number_kept) = (uuid_of(project.id), signed(keep));
    let values: [PgValue<'_>; 3] = [
        (&shared.id, Type::UUID),
        (&of, Type::UUID),
        (&number_kept, Type::INT8),
    ];
    client.execute_typed(DROP, &values).await?;
    client.execute_typed(FIRST, &values).await?;
    let history = client.query_typed_one(HISTORY, &values[..2]).await?;
    project.history = number(&history, 0)?;
    let clock = client.query_typed(CLOCK, &values[..1]).await?;
    if let Some(row) = clock.first() {
        schema::check_row(row, 1)?;
    }
    let now = clock.first().map(time).transpose()?;
    let now = now.map_or(project.changed, |now| now.max(project.changed));
    let keep = keep.to_string();
    let changed = ChangedItem::project(name, "compact", Some(&keep));
    let mut rows = LoadedRows::default();
    record(&mut rows, &mut project, &changed, &Author::Person, now)?;
    commit(client, shared.id, &rows.made).await?;
    Ok(old)
}

fn time(row: &Row) -> Result<Timestamp, PgFault> {
    Ok(Timestamp(row.try_get(0)?))
}
