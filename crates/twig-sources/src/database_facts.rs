//! What a database is, and what the acknowledgement of a write means there.

/// What a database says about itself.
#[allow(
    clippy::struct_excessive_bools,
    reason = "each is a setting of its own"
)]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DatabaseFacts {
    /// The version of the server, such as `15.18`.
    pub server: String,
    /// The version of the tables.
    pub tables: u32,
    /// The version of the tables that this Twig makes.
    pub newest_tables: u32,
    /// True if it is a standby: it accepts no writes.
    pub is_standby: bool,
    /// True if it is no standby and accepts no writes nevertheless.
    pub is_read_only: bool,
    /// How many standbys that commits wait for are connected; `None` if the role may not see them.
    pub connected_standbys: Option<u64>,
    /// `synchronous_standby_names`; empty if a commit waits for no standby.
    pub synchronous_standby_names: String,
    /// `synchronous_commit` of a write.
    pub synchronous_commit: String,
    /// `fsync`.
    pub fsync: bool,
    /// `full_page_writes`.
    pub full_page_writes: bool,
    /// `data_checksums`.
    pub data_checksums: bool,
    /// Whether notifications of other connections arrive.
    pub notifies: bool,
    /// True if there is another address to listen at.
    pub listens_elsewhere: bool,
    /// Why the database cannot be listened to, in the middle of a sentence.
    pub unheard: Option<String>,
}

/// What a write that was acknowledged survives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// Not even a crash of the database's machine.
    Nothing,
    /// A crash of the database, not the loss of its disk.
    Crash,
    /// The loss of the primary, too.
    LostPrimary,
}

impl DatabaseFacts {
    /// True if each commit waits for a standby and none is connected.
    pub fn lacks_standby(&self) -> bool {
        !self.is_standby
            && !self.synchronous_standby_names.trim().is_empty()
            && self.connected_standbys == Some(0)
    }

    /// What a write that was acknowledged survives.
    pub fn durability(&self) -> Durability {
        if !self.fsync || !self.full_page_writes {
            Durability::Nothing
        } else if self.synchronous_standby_names.trim().is_empty() {
            Durability::Crash
        } else {
            Durability::LostPrimary
        }
    }
}

impl Durability {
    /// The sentence about it.
    pub fn sentence(self) -> &'static str {
        match self {
            Self::Nothing => {
                "an acknowledged write may be lost, or the database damaged, when its machine crashes"
            }
            Self::Crash => {
                "an acknowledged write survives a crash of the database, not the loss of its disk or \
                 the promotion of a standby that lags behind"
            }
            Self::LostPrimary => {
                "an acknowledged write survives a crash of the database and the loss of the primary"
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_setting_counts() {
        let facts = |standbys: &str, fsync, full_page_writes| DatabaseFacts {
            server: "15".to_owned(),
            tables: 2,
            newest_tables: 2,
            is_standby: false,
            is_read_only: false,
            connected_standbys: None,
            synchronous_standby_names: standbys.to_owned(),
            synchronous_commit: "on".to_owned(),
            fsync,
            full_page_writes,
            data_checksums: true,
            notifies: true,
            listens_elsewhere: false,
            unheard: None,
        };
        for (standbys, fsync, full_page_writes, expected) in [
            ("", true, true, Durability::Crash),
            (" ", true, true, Durability::Crash),
            ("ANY 1 (*)", true, true, Durability::LostPrimary),
            ("ANY 1 (*)", false, true, Durability::Nothing),
            ("", true, false, Durability::Nothing),
        ] {
            let found = facts(standbys, fsync, full_page_writes).durability();
            assert_eq!(found, expected, "{standbys} {fsync} {full_page_writes}");
        }
    }
}
