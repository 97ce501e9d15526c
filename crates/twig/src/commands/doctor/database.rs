//! What `twig doctor` says about the database of the workspaces.

use std::fmt;

use serde::Serialize;
use twig_sources::{DatabaseFacts, Durability, StorePlace};

/// The database as scripts see it; this shape is stable.
#[derive(Debug, Serialize)]
pub(super) struct DatabaseRow {
    /// Where it is.
    address: String,
    #[serde(flatten)]
    facts: Option<FactsRow>,
    /// Why it cannot be used, or what servers do not do with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
}

#[allow(
    clippy::struct_excessive_bools,
    reason = "each is a setting of its own"
)]
#[derive(Debug, Serialize)]
struct FactsRow {
    server: String,
    tables: u32,
    newest_tables: u32,
    standby: bool,
    synchronous_standby_names: String,
    synchronous_commit: String,
    fsync: bool,
    full_page_writes: bool,
    data_checksums: bool,
    notifies: bool,
    /// What a write that was acknowledged survives: `nothing`, `crash` or `lost_primary`.
    survives: &'static str,
    #[serde(skip)]
    durability: Durability,
}

impl DatabaseRow {
    /// The database of the workspaces; `None` if they are files.
    pub(super) fn new(place: &StorePlace) -> Option<Self> {
        let address = place.address()?;
        match place.facts() {
            Ok(None) => None,
            Ok(Some(facts)) => Some(Self::of(address, facts)),
            Err(error) => Some(Self {
                address,
                facts: None,
                problem: Some(error.to_string()),
            }),
        }
    }

    fn of(address: String, facts: DatabaseFacts) -> Self {
        let durability = facts.durability();
        let standby =
            "it is a standby, so nothing can be written: name the primary in the store's URL";
        let old = "its tables are older than this Twig makes them: run `twig store migrate`";
        let problem = match (facts.is_standby, facts.tables < facts.newest_tables) {
            (true, _) => Some(standby.to_owned()),
            (false, true) => Some(old.to_owned()),
            (false, false) => None,
        };
        let facts = FactsRow {
            server: facts.server,
            tables: facts.tables,
            newest_tables: facts.newest_tables,
            standby: facts.is_standby,
            synchronous_standby_names: facts.synchronous_standby_names,
            synchronous_commit: facts.synchronous_commit,
            fsync: facts.fsync,
            full_page_writes: facts.full_page_writes,
            data_checksums: facts.data_checksums,
            notifies: facts.notifies,
            survives: match durability {
                Durability::Nothing => "nothing",
                Durability::Crash => "crash",
                Durability::LostPrimary => "lost_primary",
            },
            durability,
        };
        Self {
            address,
            facts: Some(facts),
            problem,
        }
    }

    /// True if servers cannot do all that they should with it.
    pub(super) fn is_broken(&self) -> bool {
        self.problem.is_some()
    }

    /// Whether it answered.
    pub(super) fn answers(&self) -> bool {
        self.facts.is_some()
    }
}

impl fmt::Display for DatabaseRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "  {}", self.address)?;
        if let Some(facts) = &self.facts {
            let FactsRow { server, tables, .. } = facts;
            writeln!(f, "  PostgreSQL {server}, tables of version {tables}")?;
            writeln!(f, "  {}", facts.durability.sentence())?;
            for (is_off, name) in [
                (!facts.fsync, "fsync"),
                (!facts.full_page_writes, "full_page_writes"),
            ] {
                if is_off {
                    writeln!(f, "  `{name}` is off: turn it on in the database")?;
                }
            }
            if !facts.synchronous_standby_names.is_empty() {
                let names = &facts.synchronous_standby_names;
                writeln!(f, "  a commit waits for standbys: {names}")?;
            }
            if !facts.data_checksums {
                writeln!(
                    f,
                    "  data checksums are off: `twig store verify` finds damage of the disk, the \
                     database does not"
                )?;
            }
            writeln!(
                f,
                "  {}",
                if facts.notifies {
                    "notifications arrive: servers see each other's writes at once"
                } else {
                    "notifications do not arrive: servers look for each other's writes once a \
                     second; behind a pooler, set `listen_url` in [store]"
                }
            )?;
        }
        if let Some(problem) = &self.problem {
            writeln!(f, "  problem: {problem}")?;
        }
        Ok(())
    }
}
