//! Digests by which a row that changed, went missing or came back is noticed.

use sha2::{Digest as _, Sha256};
use twig_core::store::{Digest, ItemKind, Operation, StoreName, Timestamp, Version};

/// The digest of one version: all of it, and whose it is.
pub(super) fn of_version(kind: ItemKind, name: &StoreName, version: &Version) -> Digest {
    let restored_from = match version.operation {
        Operation::Restore { from } => Some(from),
        _ => None,
    };
    let mut hash = Parts::new("version");
    hash.text(kind.as_str());
    hash.text(name.as_str());
    hash.number(version.number);
    hash.text(version.operation.as_str());
    hash.maybe(
        restored_from
            .map(u64::to_le_bytes)
            .as_ref()
            .map(<[u8; 8]>::as_slice),
    );
    for text in [&version.description, &version.uri, &version.mime] {
        hash.maybe(text.as_deref().map(str::as_bytes));
    }
    hash.bytes(&version.content.digest);
    hash.number(version.content.size);
    hash.number(u64::from(version.content.is_text));
    hash.number(version.at.0.cast_unsigned());
    hash.text(&version.author);
    hash.end()
}

/// What a project's row says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ProjectRow {
    pub(super) id: [u8; 16],
    pub(super) name: StoreName,
    pub(super) created: Timestamp,
    pub(super) prompts: u64,
    pub(super) resources: u64,
    /// The digests of the last versions of all that is not deleted, toggled into one.
    pub(super) state: Digest,
    /// The same of all that is deleted.
    pub(super) buried: Digest,
    /// What its versions take. Only a limit depends on it, so it is not sealed, and a server of an
    /// earlier Twig that does not know it leaves the seal right.
    pub(super) history: u64,
}

impl ProjectRow {
    /// The digest of the row.
    pub(super) fn seal(&self) -> Digest {
        let mut hash = Parts::new("project");
        hash.bytes(&self.id);
        hash.text(self.name.as_str());
        hash.number(self.created.0.cast_unsigned());
        hash.number(self.prompts);
        hash.number(self.resources);
        hash.bytes(&self.state);
        hash.bytes(&self.buried);
        hash.end()
    }
}

/// Puts a digest into a set of them, or takes it out again.
pub(super) fn toggle(set: &mut Digest, one: &Digest) {
    for (set, one) in set.iter_mut().zip(one) {
        *set ^= one;
    }
}

/// A hash over parts, each with its length, so that no two lists of parts read the same.
struct Parts(Sha256);

impl Parts {
    fn new(what: &str) -> Self {
        let mut parts = Self(Sha256::new());
        parts.text(what);
        parts
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.0.update((bytes.len() as u64).to_le_bytes());
        self.0.update(bytes);
    }

    fn text(&mut self, text: &str) {
        self.bytes(text.as_bytes());
    }

    fn number(&mut self, number: u64) {
        self.bytes(&number.to_le_bytes());
    }

    fn maybe(&mut self, bytes: Option<&[u8]>) {
        match bytes {
            Some(bytes) => self.bytes(bytes),
            None => self.0.update(u64::MAX.to_le_bytes()),
        }
    }

    fn end(self) -> Digest {
        self.0.finalize().into()
    }
}

#[cfg(test)]
mod tests {
    use twig_core::store::{ContentInfo, Noun};

    use super::*;

    #[test]
    fn versions_that_differ_in_anything_have_different_digests() {
        let name = |text| StoreName::parse(Noun::Prompt, text).unwrap();
        let one = Version {
            number: 1,
            operation: Operation::Create,
            description: None,
            uri: None,
            mime: None,
            content: ContentInfo {
                digest: [0; 32],
                size: 0,
                is_text: true,
            },
            at: Timestamp(0),
            author: "a".into(),
        };
        let digest = |version: &Version| of_version(ItemKind::Prompt, &name("n"), version);
        let mut others: Vec<Version> = vec![one.clone(); 13];
        others[1].number = 2;
        others[2].operation = Operation::Restore { from: 1 };
        others[3].operation = Operation::Restore { from: 2 };
        others[4].description = Some("".into());
        others[5].description = Some("x".into());
        others[6].uri = Some("x".into());
        others[7].mime = Some("x".into());
        others[8].content.digest = [1; 32];
        others[9].content.size = 1;
        others[10].content.is_text = false;
        others[11].at = Timestamp(-1);
        others[12].author = "b".into();
        let mut digests: Vec<Digest> = others.iter().map(digest).collect();
        digests.push(of_version(ItemKind::Resource, &name("n"), &one));
        digests.push(of_version(ItemKind::Prompt, &name("m"), &one));
        let all = digests.len();
        digests.sort_unstable();
        digests.dedup();
        assert_eq!(digests.len(), all);
    }

    #[test]
    fn what_was_put_in_and_taken_out_leaves_nothing() {
        let mut set = Digest::default();
        for one in [[1; 32], [2; 32], [1; 32]] {
            toggle(&mut set, &one);
        }
        assert_eq!(set, [2; 32]);
    }
}
