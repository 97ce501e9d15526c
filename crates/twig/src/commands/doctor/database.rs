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
    #[serde(skip)]
    unheard: Option<String>,
    /// What a write that was acknowledged survives: `nothing`, `crash` or `lost_primary`.
    survives: &'static str,
    /// The sentence about that; `None` while no write is acknowledged.
    #[serde(skip)]
    durability: Option<&'static str>,
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
        let problem = if facts.is_standby {
            Some(standby.to_owned())
        } else if facts.is_read_only {
            let read_only = "it is read-only, so every write is refused: turn \
                `default_transaction_read_only` off in the database, or for the role";
            Some(read_only.to_owned())
        } else if facts.lacks_standby() {
            Some(format!(
                "commits wait for `synchronous_standby_names` (`{}`), and no standby of that name is \
                 connected: writes will wait, and be refused",
                facts.synchronous_standby_names
            ))
        } else if facts.tables < facts.newest_tables {
            Some(old.to_owned())
        } else {
            None
        };
        let unheard = unheard(&facts);
        let is_acknowledged = !facts.lacks_standby();
        let sentence = is_acknowledged.then(|| durability.sentence());
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
            unheard,
            survives: match durability {
                Durability::Nothing => "nothing",
                Durability::Crash => "crash",
                Durability::LostPrimary => "lost_primary",
            },
            durability: sentence,
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

/// Why notifications do not arrive, and what to do about it; `None` if they do.
fn unheard(facts: &DatabaseFacts) -> Option<String> {
    if facts.notifies {
        return None;
    }
    let polling = "servers look for each other's writes once a second";
    Some(match (&facts.unheard, facts.listens_elsewhere) {
        (Some(why), true) => format!(
            "the database at `listen_url` cannot be listened to ({why}), so {polling}; correct \
             `listen_url` in [store]"
        ),
        (None, true) => format!(
            "`listen_url` delivers none, so {polling}; set it in [store] to the address of the \
             database itself"
        ),
        (Some(why), false) => {
            format!("the database cannot be listened to ({why}), so {polling}")
        }
        (None, false) => format!("{polling}; behind a pooler, set `listen_url` in [store]"),
    })
}

impl fmt::Display for DatabaseRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "  {}", self.address)?;
        if let Some(facts) = &self.facts {
            let FactsRow { server, tables, .. } = facts;
            writeln!(f, "  PostgreSQL {server}, tables of version {tables}")?;
            if let Some(durability) = facts.durability {
                writeln!(f, "  {durability}")?;
            }
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
            match &facts.unheard {
                None => writeln!(
                    f,
                    "  notifications arrive: servers see each other's writes at once"
                )?,
                Some(why) => writeln!(f, "  notifications do not arrive: {why}")?,
            }
        }
        if let Some(problem) = &self.problem {
            writeln!(f, "  problem: {problem}")?;
        }
        Ok(())
    }
}
