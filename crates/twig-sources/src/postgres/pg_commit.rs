//! The second round trip of a batch: writes the rows that were planned, and commits.
//!
//! Every statement is sent before the first answer is awaited, so a function here must not wait
//! between two of them: the commit would come before the second one.

use futures_util::future::join_all;
use tokio::join;
use tokio_postgres::types::{ToSql, Type};
use twig_core::store::Operation;
use uuid::Uuid;

use super::loaded_rows::{MadeChange, MadeItem, MadeRows, MadeVersion};
use super::pg_client::PgClient;
use super::pg_fault::PgFault;
use super::pg_rows::signed;
use super::{PgValue, uuid_of};

/// Writes the rows and commits. Every result is checked: the commit of a
/// transaction that has failed succeeds and writes nothing.
pub(super) async fn commit(client: &PgClient, of: Uuid, made: &MadeRows) -> Result<(), PgFault> {
    write_rows(client, of, made, "COMMIT").await
}

/// Writes the rows, and last a statement that may end the transaction.
pub(super) async fn write_rows(
    client: &PgClient,
    of: Uuid,
    made: &MadeRows,
    last: &str,
) -> Result<(), PgFault> {
    let of = &of as &(dyn ToSql + Sync);
    let contents = add_contents(client, of, made);
    let project = write_project(client, of, made);
    let items = write_items(client, of, &made.items);
    let versions = add_versions(client, of, &made.versions);
    let labels = write_labels(client, of, made);
    let changes = add_changes(client, of, made);
    let projects = join_all(made.projects.values().map(|project| {
        let id = uuid_of(project.id);
        let numbers = [
            project.rev,
            project.prompts,
            project.resources,
            project.history,
        ]
        .map(signed);
        let chain = project.digest.map(|digest| digest.as_bytes().to_vec());
        async move {
            let [rev, prompts, resources, history] = &numbers;
            client
                .execute_typed(
                    "UPDATE twig.project SET name = $3, rev = $4, prompts = $5, resources = $6, \
                     history = $7, changed = $8, chain = $9 WHERE workspace = $1 AND id = $2",
                    &[
                        (of, Type::UUID),
                        (&id, Type::UUID),
                        (&project.name.as_str(), Type::TEXT),
                        (rev, Type::INT8),
                        (prompts, Type::INT8),
                        (resources, Type::INT8),
                        (history, Type::INT8),
                        (&project.changed.0, Type::INT8),
                        (&chain, Type::BYTEA),
                    ],
                )
                .await
        }
    }));
    let (contents, project, items, versions, labels, changes, projects, committed) = join!(
        biased;
        contents,
        project,
        items,
        versions,
        labels,
        changes,
        projects,
        client.batch_execute(last),
    );
    contents?;
    project?;
    items?;
    versions?;
    labels?;
    changes?;
    projects.into_iter().collect::<Result<Vec<u64>, _>>()?;
    Ok(committed?)
}

async fn add_contents(
    client: &PgClient,
    of: &(dyn ToSql + Sync),
    made: &MadeRows,
) -> Result<(), tokio_postgres::Error> {
    if made.contents.is_empty() {
        return Ok(());
    }
    let digests: Vec<&[u8]> = made
        .contents
        .iter()
        .map(|(digest, _)| &digest[..])
        .collect();
    let bytes: Vec<&[u8]> = made.contents.iter().map(|(_, bytes)| &bytes[..]).collect();
    let sql = "INSERT INTO twig.content (workspace, digest, bytes) \
        SELECT $1, * FROM unnest($2::bytea[], $3::bytea[]) ON CONFLICT DO NOTHING";
    let lists: [PgValue<'_>; 3] = [
        (of, Type::UUID),
        (&digests, Type::BYTEA_ARRAY),
        (&bytes, Type::BYTEA_ARRAY),
    ];
    client.execute_typed(sql, &lists).await?;
    Ok(())
}

/// Creates or deletes a project, or renames an item: never more than one of these in a batch.
async fn write_project(
    client: &PgClient,
    of: &(dyn ToSql + Sync),
    made: &MadeRows,
) -> Result<(), tokio_postgres::Error> {
    const GONE: &str = "WITH gone AS (DELETE FROM twig.version v USING twig.item i \
         WHERE v.workspace = $1 AND i.workspace = $1 AND i.project = $2 AND v.item = i.id \
         RETURNING v.content) \
        DELETE FROM twig.content c WHERE c.workspace = $1 \
         AND c.digest IN (SELECT content FROM gone) \
         AND NOT EXISTS (SELECT 1 FROM twig.version o WHERE o.workspace = $1 \
          AND o.content = c.digest AND o.item NOT IN \
           (SELECT id FROM twig.item WHERE workspace = $1 AND project = $2))";
    if let Some(project) = &made.created {
        let id = uuid_of(project.id);
        let sql = "INSERT INTO twig.project (workspace, id, name, created, rev, prompts, \
             resources, history, changed) VALUES ($1, $2, $3, $4, 0, 0, 0, 0, $4)";
        let values: [PgValue<'_>; 4] = [
            (of, Type::UUID),
            (&id, Type::UUID),
            (&project.name.as_str(), Type::TEXT),
            (&project.created.0, Type::INT8),
        ];
        client.execute_typed(sql, &values).await?;
    }
    if let Some(id) = made.deleted.map(uuid_of) {
        let key: [PgValue<'_>; 2] = [(of, Type::UUID), (&id, Type::UUID)];
        let statements = [
            GONE,
            "DELETE FROM twig.item WHERE workspace = $1 AND project = $2",
            "DELETE FROM twig.label WHERE workspace = $1 AND project = $2",
            "DELETE FROM twig.protected_label WHERE workspace = $1 AND project = $2",
            "DELETE FROM twig.project WHERE workspace = $1 AND id = $2",
        ];
        let [gone, items, labels, protected, project] =
            statements.map(|sql| client.execute_typed(sql, &key));
        let (gone, items, labels, protected, project) =
            join!(biased; gone, items, labels, protected, project);
        gone?;
        items?;
        labels?;
        protected?;
        project?;
    }
    if let Some((item, to)) = &made.renamed {
        let id = uuid_of(*item);
        let key: [PgValue<'_>; 2] = [(of, Type::UUID), (&id, Type::UUID)];
        let named: [PgValue<'_>; 3] = [
            (of, Type::UUID),
            (&id, Type::UUID),
            (&to.as_str(), Type::TEXT),
        ];
        let (renamed, removed) = join!(
            biased;
            client.execute_typed(
                "UPDATE twig.item SET name = $3 WHERE workspace = $1 AND id = $2",
                &named,
            ),
            client.execute_typed(
                "DELETE FROM twig.version WHERE workspace = $1 AND item = $2",
                &key,
            ),
        );
        renamed?;
        removed?;
    }
    Ok(())
}

async fn write_items(
    client: &PgClient,
    of: &(dyn ToSql + Sync),
    items: &[MadeItem],
) -> Result<(), tokio_postgres::Error> {
    const INSERT: &str = "INSERT INTO twig.item \
         (workspace, project, kind, name, id, head, deleted, uri, first) \
        SELECT $1, * FROM unnest($2::uuid[], $3::text[], $4::text[], $5::uuid[], $6::bigint[], \
         $7::boolean[], $8::text[], $9::bigint[])";
    const UPDATE: &str = "UPDATE twig.item i SET head = k.head, deleted = k.deleted, uri = k.uri \
        FROM unnest($2::uuid[], $3::text[], $4::text[], $5::uuid[], $6::bigint[], $7::boolean[], \
         $8::text[], $9::bigint[]) AS k (project, kind, name, id, head, deleted, uri, first) \
        CROSS JOIN LATERAL (SELECT ctid AS place FROM twig.item WHERE workspace = $1 \
         AND project = k.project AND kind = k.kind AND name = k.name AND id = k.id OFFSET 0) o \
        WHERE i.ctid = o.place";
    let (new, old): (Vec<&MadeItem>, Vec<&MadeItem>) = items.iter().partition(|item| item.is_new);
    let write = async |sql: &'static str, items: Vec<&MadeItem>| {
        if items.is_empty() {
            return Ok(());
        }
        let all = || items.iter();
        let projects: Vec<Uuid> = all().map(|it| uuid_of(it.project)).collect();
        let kinds: Vec<&str> = all().map(|it| it.kind.as_str()).collect();
        let names: Vec<&str> = all().map(|it| it.name.as_str()).collect();
        let ids: Vec<Uuid> = all().map(|it| uuid_of(it.id)).collect();
        let heads: Vec<i64> = all().map(|it| signed(it.head)).collect();
        let deleted: Vec<bool> = all().map(|it| it.is_deleted).collect();
        let uris: Vec<Option<&str>> = all().map(|it| it.uri.as_deref()).collect();
        let firsts: Vec<i64> = all().map(|it| signed(it.first)).collect();
        let lists: [PgValue<'_>; 9] = [
            (of, Type::UUID),
            (&projects, Type::UUID_ARRAY),
            (&kinds, Type::TEXT_ARRAY),
            (&names, Type::TEXT_ARRAY),
            (&ids, Type::UUID_ARRAY),
            (&heads, Type::INT8_ARRAY),
            (&deleted, Type::BOOL_ARRAY),
            (&uris, Type::TEXT_ARRAY),
            (&firsts, Type::INT8_ARRAY),
        ];
        client.execute_typed(sql, &lists).await?;
        Ok(())
    };
    let (inserted, updated) = join!(biased; write(INSERT, new), write(UPDATE, old));
    inserted?;
    updated
}

async fn add_versions(
    client: &PgClient,
    of: &(dyn ToSql + Sync),
    versions: &[MadeVersion],
) -> Result<(), tokio_postgres::Error> {
    if versions.is_empty() {
        return Ok(());
    }
    let all = || versions.iter().map(|made| &made.version);
    let items: Vec<Uuid> = versions.iter().map(|made| uuid_of(made.item)).collect();
    let numbers: Vec<i64> = all().map(|it| signed(it.number)).collect();
    let operations: Vec<&str> = all().map(|it| it.operation.as_str()).collect();
    let restored: Vec<Option<i64>> = all()
        .map(|it| match it.operation {
            Operation::Restore { from } => Some(signed(from)),
            _ => None,
        })
        .collect();
    let descriptions: Vec<Option<&str>> = all().map(|it| it.description.as_deref()).collect();
    let uris: Vec<Option<&str>> = all().map(|it| it.uri.as_deref()).collect();
    let mimes: Vec<Option<&str>> = all().map(|it| it.mime.as_deref()).collect();
    let contents: Vec<&[u8]> = all().map(|it| &it.content.digest[..]).collect();
    let sizes: Vec<i64> = all().map(|it| signed(it.content.size)).collect();
    let texts: Vec<bool> = all().map(|it| it.content.is_text).collect();
    let times: Vec<i64> = all().map(|it| it.at.0).collect();
    let authors: Vec<&str> = all().map(|it| &*it.author).collect();
    let digests: Vec<&[u8]> = versions.iter().map(|made| &made.digest[..]).collect();
    let sql = "INSERT INTO twig.version (workspace, item, number, operation, restored_from, \
         description, uri, mime, content, size, is_text, at, author, digest) \
        SELECT $1, * FROM unnest($2::uuid[], $3::bigint[], $4::text[], $5::bigint[], $6::text[], \
         $7::text[], $8::text[], $9::bytea[], $10::bigint[], $11::boolean[], $12::bigint[], \
         $13::text[], $14::bytea[])";
    let lists: [PgValue<'_>; 14] = [
        (of, Type::UUID),
        (&items, Type::UUID_ARRAY),
        (&numbers, Type::INT8_ARRAY),
        (&operations, Type::TEXT_ARRAY),
        (&restored, Type::INT8_ARRAY),
        (&descriptions, Type::TEXT_ARRAY),
        (&uris, Type::TEXT_ARRAY),
        (&mimes, Type::TEXT_ARRAY),
        (&contents, Type::BYTEA_ARRAY),
        (&sizes, Type::INT8_ARRAY),
        (&texts, Type::BOOL_ARRAY),
        (&times, Type::INT8_ARRAY),
        (&authors, Type::TEXT_ARRAY),
        (&digests, Type::BYTEA_ARRAY),
    ];
    client.execute_typed(sql, &lists).await?;
    Ok(())
}

async fn write_labels(
    client: &PgClient,
    of: &(dyn ToSql + Sync),
    made: &MadeRows,
) -> Result<(), tokio_postgres::Error> {
    let labels = made.labels.iter().map(|(item, label, version)| {
        let (project, id) = (uuid_of(item.project), uuid_of(item.id));
        let number = version.map(signed);
        async move {
            let values: [PgValue<'_>; 5] = [
                (of, Type::UUID),
                (&project, Type::UUID),
                (&id, Type::UUID),
                (&label.as_str(), Type::TEXT),
                (&number, Type::INT8),
            ];
            let sql = if number.is_some() {
                "INSERT INTO twig.label (workspace, project, item, label, number) \
                 VALUES ($1, $2, $3, $4, $5) ON CONFLICT (workspace, project, item, label) \
                 DO UPDATE SET number = excluded.number"
            } else {
                "DELETE FROM twig.label WHERE workspace = $1 AND project = $2 AND item = $3 \
                 AND label = $4 AND $5::bigint IS NULL"
            };
            client.execute_typed(sql, &values).await
        }
    });
    let protected = made.protected.iter().map(|(project, label, is_protected)| {
        let project = uuid_of(*project);
        async move {
            let values: [PgValue<'_>; 3] = [
                (of, Type::UUID),
                (&project, Type::UUID),
                (&label.as_str(), Type::TEXT),
            ];
            let sql = if *is_protected {
                "INSERT INTO twig.protected_label (workspace, project, label) VALUES ($1, $2, $3)"
            } else {
                "DELETE FROM twig.protected_label \
                 WHERE workspace = $1 AND project = $2 AND label = $3"
            };
            client.execute_typed(sql, &values).await
        }
    });
    let (labels, protected) = join!(biased; join_all(labels), join_all(protected));
    labels
        .into_iter()
        .chain(protected)
        .collect::<Result<Vec<u64>, _>>()?;
    Ok(())
}

async fn add_changes(
    client: &PgClient,
    of: &(dyn ToSql + Sync),
    made: &MadeRows,
) -> Result<(), tokio_postgres::Error> {
    if made.changes.is_empty() {
        return Ok(());
    }
    let all = || made.changes.iter();
    let numbers = |of: fn(&MadeChange) -> u64| -> Vec<i64> {
        all().map(|change| signed(of(change))).collect()
    };
    let projects: Vec<Uuid> = all().map(|it| uuid_of(it.project)).collect();
    let revs = numbers(|it| it.entry.number);
    let kinds: Vec<&str> = all().map(|it| &*it.kind).collect();
    let names: Vec<&str> = all().map(|it| &*it.name).collect();
    let versions = numbers(|it| it.version);
    let times: Vec<i64> = all().map(|it| it.entry.at.0).collect();
    let prompts = numbers(|it| it.after[0]);
    let resources = numbers(|it| it.after[1]);
    let histories = numbers(|it| it.after[2]);
    let actions: Vec<&str> = all().map(|it| &*it.entry.action).collect();
    let details: Vec<Option<&str>> = all().map(|it| it.detail.as_deref()).collect();
    let actors: Vec<Option<&str>> = all().map(|it| it.entry.actor.as_deref()).collect();
    let clients: Vec<Option<&str>> = all().map(|it| it.entry.client.as_deref()).collect();
    let digests: Vec<Option<&[u8]>> = all()
        .map(|it| it.digest.as_ref().map(|digest| &digest.as_bytes()[..]))
        .collect();
    let sql = "INSERT INTO twig.change (workspace, project, rev, kind, name, version, at, prompts, \
         resources, history, action, detail, actor, client, digest) \
        SELECT $1, * FROM unnest($2::uuid[], $3::bigint[], $4::text[], $5::text[], $6::bigint[], \
         $7::bigint[], $8::bigint[], $9::bigint[], $10::bigint[], $11::text[], $12::text[], \
         $13::text[], $14::text[], $15::bytea[])";
    let lists: [PgValue<'_>; 15] = [
        (of, Type::UUID),
        (&projects, Type::UUID_ARRAY),
        (&revs, Type::INT8_ARRAY),
        (&kinds, Type::TEXT_ARRAY),
        (&names, Type::TEXT_ARRAY),
        (&versions, Type::INT8_ARRAY),
        (&times, Type::INT8_ARRAY),
        (&prompts, Type::INT8_ARRAY),
        (&resources, Type::INT8_ARRAY),
        (&histories, Type::INT8_ARRAY),
        (&actions, Type::TEXT_ARRAY),
        (&details, Type::TEXT_ARRAY),
        (&actors, Type::TEXT_ARRAY),
        (&clients, Type::TEXT_ARRAY),
        (&digests, Type::BYTEA_ARRAY),
    ];
    client.execute_typed(sql, &lists).await?;
    Ok(())
}
