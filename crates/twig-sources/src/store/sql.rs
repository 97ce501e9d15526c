//! Statements, prepared once for as long as a connection is used.

use std::cell::RefCell;

use rusqlite::{Connection, Params, Row, Statement};

use super::sqlite_error::SqliteError;

/// A connection with the statements that were used so far.
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

    /// Runs a statement that gives no rows; says how many it changed.
    pub(super) fn run(
        &self,
        sql: &'static str,
        parameters: impl Params,
    ) -> Result<usize, SqliteError> {
        self.with(sql, |statement| Ok(statement.execute(parameters)?))
    }

    /// The first row of what a statement gives.
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

    /// Every row of what a statement gives.
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
        // Taken out while it is used: one statement may be asked for while another gives rows.
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
