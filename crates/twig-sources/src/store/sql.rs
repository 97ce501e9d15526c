//! Prepared statements, cached per connection.

use std::cell::RefCell;

use rusqlite::{Connection, Params, Row, Statement};

use super::sqlite_error::SqliteError;

/// A connection with its cached statements.
pub(super) struct Sql<'c> {
    connection: &'c Connection,
    prepared: RefCell<Vec<(&'static str, Statement<'c>)>>,
}

impl<'c> Sql<'c> {
    pub(super) fn new(connection: &'c Connection) -> Self {
        Self {
            connection,
            prepared: RefCell::default(),
        }
    }

    /// Runs a statement without result rows; returns how many rows it changed.
    pub(super) fn run(
        &self,
        sql: &'static str,
        parameters: impl Params,
    ) -> Result<usize, SqliteError> {
        self.with(sql, |statement| Ok(statement.execute(parameters)?))
    }

    /// The first result row of a statement.
    pub(super) fn first<T>(
        &self,
        sql: &'static str,
        parameters: impl Params,
        read: impl FnOnce(&Row<'_>) -> Result<T, SqliteError>,
    ) -> Result<Option<T>, SqliteError> {
        self.with(sql, |statement| {
            statement.query(parameters)?.next()?.map(read).transpose()
        })
    }

    /// Every result row of a statement.
    pub(super) fn each(
        &self,
        sql: &'static str,
        parameters: impl Params,
        mut read: impl FnMut(&Row<'_>) -> Result<(), SqliteError>,
    ) -> Result<(), SqliteError> {
        self.with(sql, |statement| {
            let mut rows = statement.query(parameters)?;
            while let Some(row) = rows.next()? {
                read(row)?;
            }
            Ok(())
        })
    }

    fn with<T>(
        &self,
        sql: &'static str,
        work: impl FnOnce(&mut Statement<'c>) -> Result<T, SqliteError>,
    ) -> Result<T, SqliteError> {
        // Taken out while in use: one statement may be requested while another returns rows.
        let kept = {
            let mut prepared = self.prepared.borrow_mut();
            let at = prepared.iter().position(|(text, _)| *text == sql);
            at.map(|at| prepared.swap_remove(at).1)
        };
        let mut statement = match kept {
            Some(statement) => statement,
            None => self.connection.prepare(sql)?,
        };
        let outcome = work(&mut statement);
        self.prepared.borrow_mut().push((sql, statement));
        outcome
    }
}
