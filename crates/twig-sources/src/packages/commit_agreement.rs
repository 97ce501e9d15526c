//! What replicas agree on about the packages that they follow: which commit all of them serve.

use sha2::{Digest as _, Sha256};
use twig_core::store::StoreError;
use twig_packages::LockedLibrary;
use twig_packages::tree::hex;

use super::follow_record::FollowProblem;
use super::wanted::WantedPackage;

/// Where replicas agree on the commits of followed packages. One of them at a time asks a source, as
/// long as its lease lasts; all of them serve what it finds good.
pub trait CommitAgreement: Send + Sync {
    /// What is agreed about each of these, in their order.
    fn read(&self, wanted: &[WantedPackage]) -> Result<Vec<AgreedState>, StoreError>;

    /// Takes the lease on asking a source; false if another replica has it, or the state is not the
    /// one that was read any more.
    fn lease(&self, wanted: &WantedPackage, read: &AgreedState) -> Result<bool, StoreError>;

    /// Takes it for longer; false if it is lost.
    fn renew(&self, wanted: &WantedPackage) -> Result<bool, StoreError>;

    /// Writes what was found and ends the lease; false if it was lost before, and nothing is written.
    fn finish(&self, wanted: &WantedPackage, outcome: &LookOutcome) -> Result<bool, StoreError>;

    /// Has the sources of these asked before their time.
    fn hint(&self, wanted: &[WantedPackage]) -> Result<(), StoreError>;
}

/// What is agreed about a package.
#[derive(Debug, Clone, Default)]
pub struct AgreedState {
    /// What all replicas serve.
    pub locked: Option<LockedLibrary>,
    /// The commit that is refused, and why.
    pub refused: Option<(String, FollowProblem)>,
    /// When the source was last asked, in milliseconds since 1970 on the database's clock; 0 if never.
    pub looked_at: i64,
    /// How long ago that is, in milliseconds.
    pub age: i64,
    /// The number of hints, and of those that were followed.
    pub hints: i64,
    /// The number of hints that were followed.
    pub seen_hints: i64,
}

/// What a look at a source found.
#[derive(Debug, Clone)]
pub enum LookOutcome {
    /// The commit that is served is the newest.
    Same,
    /// A newer commit is good.
    Taken(LockedLibrary),
    /// The newest commit is not taken.
    Refused {
        /// The commit.
        commit: String,
        /// Why.
        problem: FollowProblem,
    },
    /// The source could not be asked: another replica may succeed.
    Failed,
}

impl AgreedState {
    /// Whether the source is to be asked now. All replicas get the same answer.
    pub fn is_due(&self, wanted: &WantedPackage, every_millis: u64) -> bool {
        if self.hints != self.seen_hints {
            return true;
        }
        // Some sources a little earlier than others, so that they are not all asked together.
        let digest = Sha256::digest(format!("{} {}", agreement_key(wanted), self.looked_at));
        let spread = u64::from(u16::from_be_bytes([digest[0], digest[1]])) % 401;
        let pause = every_millis.saturating_mul(800 + spread) / 1_000;
        u64::try_from(self.age).is_ok_and(|age| age >= pause)
    }
}

/// What a package is known by in the database: its source, reference and folder.
pub(crate) fn agreement_key(wanted: &WantedPackage) -> String {
    let parts = [
        wanted.source.to_string(),
        wanted.reference.clone().unwrap_or_default(),
        wanted
            .path
            .as_ref()
            .map_or(String::new(), |it| it.as_str().to_owned()),
    ];
    hex(&Sha256::digest(parts.join("\n")))
}
