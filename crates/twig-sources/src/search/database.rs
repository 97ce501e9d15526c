//! The index itself: a private SQLite database with one FTS5 table, gone when it is closed.

use rusqlite::{Connection, Result, Statement, params};

/// A temporary file that SQLite creates and removes itself.
pub(super) const ON_DISK: &str = "";
/// Nothing on disk at all.
pub(super) const IN_MEMORY: &str = ":memory:";

/// Rows of documents start here; rows of prompts have lower numbers.
pub(super) const DOCUMENTS: i64 = 1 << 32;

/// Only this process opens the database, and it is not needed after a crash, so it needs neither
/// locks nor a journal. The table keeps words only: snippets come from the files.
///
/// `prefix` makes prefix searches of up to three letters twenty times as fast: two letters are looked
/// up among those of three. Each further length costs time in the first search.
const SCHEMA: &str = "
    PRAGMA journal_mode = OFF;
    PRAGMA synchronous = OFF;
    PRAGMA cache_size = -1024;
    CREATE VIRTUAL TABLE rows USING fts5(
        name, title, description, text, parts,
        content = '', contentless_delete = 1,
        tokenize = \"unicode61 remove_diacritics 2 categories 'L* N* Co Mn Mc'\",
        prefix = '1 3'
    );
    INSERT INTO rows(rows, rank) VALUES('crisismerge', 128);
";

/// While many rows are written: words are collected in a little more memory before they are sorted
/// and written, and what was written is not merged meanwhile. That takes two thirds of the time for
/// ten thousand texts, and a search asks fifty parts nearly as fast as one.
const MANY_ROWS: &str = "
    INSERT INTO rows(rows, rank) VALUES('hashsize', 1310720);
    INSERT INTO rows(rows, rank) VALUES('automerge', 0);
";

/// While few rows are written: parts are merged little by little.
const FEW_ROWS: &str = "
    INSERT INTO rows(rows, rank) VALUES('hashsize', 1048576);
    INSERT INTO rows(rows, rank) VALUES('automerge', 16);
";

/// The weights of the columns where every word is found. They are far apart because the formula
/// flattens them: one word in a name must count more than any number of words in a text.
const ALL_WORDS: &str = "bm25(10000000, 100000, 1000, 1, 1)";
/// The same where some words are found: many words of a description outweigh one of a name.
const SOME_WORDS: &str = "bm25(10, 10, 5, 1, 1)";

/// The indexed text of one prompt or document.
#[derive(Debug, Default)]
pub(super) struct IndexRow {
    pub(super) name: String,
    pub(super) title: String,
    pub(super) description: String,
    pub(super) text: String,
    /// Words that are found but never shown.
    pub(super) parts: String,
}

/// The columns that a query searches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Columns {
    Name,
    Title,
    Description,
    All,
}

/// A row that was found; the lower its rank, the better.
#[derive(Debug, Clone, Copy)]
pub(super) struct FoundRow {
    pub(super) row: i64,
    pub(super) rank: f64,
}

/// A database and its one table.
#[derive(Debug)]
pub(super) struct Database {
    connection: Connection,
}

impl Database {
    pub(super) fn open(place: &str) -> Result<Self> {
        let connection = Connection::open(place)?;
        connection.execute_batch(SCHEMA)?;
        connection.execute_batch(FEW_ROWS)?;
        Ok(Self { connection })
    }

    /// Starts a transaction that writes many rows.
    pub(super) fn filler(&self) -> Result<IndexWriter<'_>> {
        self.connection.execute_batch(MANY_ROWS)?;
        self.writer()
    }

    /// Starts a transaction that [`IndexWriter::commit`] ends. It cannot be rolled back: if
    /// something fails before the commit, the whole database must be dropped.
    pub(super) fn writer(&self) -> Result<IndexWriter<'_>> {
        self.connection.execute_batch("BEGIN")?;
        Ok(IndexWriter {
            connection: &self.connection,
            insert: self.connection.prepare(
                "INSERT INTO rows(rowid, name, title, description, text, parts)
                 VALUES(?1, ?2, ?3, ?4, ?5, ?6)",
            )?,
            remove: self
                .connection
                .prepare("DELETE FROM rows WHERE rowid = ?1")?,
        })
    }

    /// The first rows that have all words, at most this many.
    pub(super) fn find(
        &self,
        expression: &str,
        columns: Columns,
        range: (i64, i64),
        most: usize,
    ) -> Result<Vec<FoundRow>> {
        let columns = match columns {
            Columns::All => None,
            Columns::Name => Some("name"),
            Columns::Title => Some("name title"),
            Columns::Description => Some("name title description"),
        };
        let filtered = columns.map(|columns| format!("{{{columns}}} : ({expression})"));
        let expression = filtered.as_deref().unwrap_or(expression);
        self.ask(expression, ALL_WORDS, "", range, most)
    }

    /// The best rows that have some words, at most this many.
    pub(super) fn find_some(
        &self,
        expression: &str,
        range: (i64, i64),
        most: usize,
    ) -> Result<Vec<FoundRow>> {
        self.ask(expression, SOME_WORDS, "ORDER BY rank", range, most)
    }

    fn ask(
        &self,
        expression: &str,
        weights: &str,
        order: &str,
        range: (i64, i64),
        most: usize,
    ) -> Result<Vec<FoundRow>> {
        let mut statement = self.connection.prepare(&format!(
            "SELECT rowid, rank FROM rows
             WHERE rows MATCH ?1 AND rank MATCH ?2 AND rowid >= ?3 AND rowid < ?4
             {order} LIMIT ?5"
        ))?;
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        let values = params![expression, weights, range.0, range.1, most];
        let found = statement.query_map(values, |row| {
            Ok(FoundRow {
                row: row.get(0)?,
                rank: row.get(1)?,
            })
        })?;
        found.collect()
    }

    #[cfg(test)]
    pub(super) fn limit_pages(&self, pages: u32) {
        let sql = format!("PRAGMA max_page_count = {pages}");
        self.connection.query_row(&sql, [], |_| Ok(())).unwrap();
    }
}

/// Writes many rows fast.
pub(super) struct IndexWriter<'d> {
    connection: &'d Connection,
    insert: Statement<'d>,
    remove: Statement<'d>,
}

impl IndexWriter<'_> {
    pub(super) fn insert(&mut self, at: i64, row: &IndexRow) -> Result<()> {
        self.insert.execute(params![
            at,
            row.name,
            row.title,
            row.description,
            row.text,
            row.parts
        ])?;
        Ok(())
    }

    pub(super) fn remove(&mut self, at: i64) -> Result<()> {
        self.remove.execute([at])?;
        Ok(())
    }

    pub(super) fn commit(self) -> Result<()> {
        self.connection.execute_batch("COMMIT")
    }

    /// The same after many rows.
    pub(super) fn end_filling(self) -> Result<()> {
        let connection = self.connection;
        self.commit()?;
        connection.execute_batch(FEW_ROWS)
    }
}
