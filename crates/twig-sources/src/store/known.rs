//! A project as it was last read, brought up to date by what was written since: one more prompt is
//! one more row, however many there are.

use twig_core::store::{Item, ItemKind, StoreName};

use super::fault::Fault;
use super::rows;
use super::seal::{self, ProjectRow, toggle};
use super::sql::Sql;

/// More changes than this are not looked at one by one.
const MOST: usize = 256;

/// What was read, and when.
#[derive(Debug)]
pub(super) struct Known {
    /// The file's revision then.
    pub(super) rev: u64,
    pub(super) project: ProjectRow,
    /// Prompts first, then resources, each sorted by name.
    pub(super) items: Vec<Item>,
}

impl Known {
    /// Reads a project, or what changed of it.
    pub(super) fn read(
        before: Option<Self>,
        sql: &Sql<'_>,
        rev: u64,
        project: ProjectRow,
    ) -> Result<Self, Fault> {
        let before = before.filter(|before| before.project.id == project.id && before.rev <= rev);
        let caught_up = match before {
            Some(before) => before.catch_up(sql, &project)?,
            None => None,
        };
        let items = match caught_up {
            Some(items) => items,
            None => rows::items(sql, &project, false)?,
        };
        Ok(Self {
            rev,
            project,
            items,
        })
    }

    /// The items as they are now; `None` where all have to be read to know.
    fn catch_up(mut self, sql: &Sql<'_>, now: &ProjectRow) -> Result<Option<Vec<Item>>, Fault> {
        let changed = rows::changed(sql, now, self.rev, MOST)?;
        let Some(changed) = changed else {
            return Ok(None);
        };
        let mut state = self.project.state;
        for (kind, name) in changed {
            let at = self.items.binary_search_by(|item| order(item, kind, &name));
            if let Ok(at) = at {
                let old = self.items.remove(at);
                toggle(&mut state, &seal::of_version(kind, &name, &old.head));
            }
            let Some(row) = rows::item(sql, now, kind, &name)? else {
                return Ok(None);
            };
            let head = rows::head(sql, kind, &name, &row)?;
            if rows::is_deletion(&head) {
                continue;
            }
            toggle(&mut state, &seal::of_version(kind, &name, &head));
            let at = at.unwrap_or_else(|at| at);
            self.items.insert(at, Item { kind, name, head });
        }
        let prompts = self
            .items
            .partition_point(|item| item.kind == ItemKind::Prompt);
        let counts = [prompts, self.items.len() - prompts].map(|count| count as u64);
        // Where it does not fit, reading all of it says what is wrong.
        let fits = state == now.state && counts == [now.prompts, now.resources];
        Ok(fits.then_some(self.items))
    }
}

fn order(item: &Item, kind: ItemKind, name: &StoreName) -> std::cmp::Ordering {
    (item.kind, &item.name).cmp(&(kind, name))
}
