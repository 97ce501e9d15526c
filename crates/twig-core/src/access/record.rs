//! All keys and roles of a server, and every change of them.

use std::collections::BTreeMap;

use super::access_error::AccessError;
use super::key_text::KeyText;
use super::place::{AccessPlace, Grantee};
use super::rights::{AccessRights, Principal};
use super::verbs::AccessRole;
use crate::audit::{AuditEntry, ChainBreak, ChainDigest, verify};
use crate::store::Timestamp;

/// The most keys, also revoked ones, and the most roles.
const MOST: usize = 10_000;
/// A clock may be this much behind, in milliseconds, before a key that expired is refused.
const LENIENCE: i64 = 60_000;

/// All keys and roles of a server, and every change of them, oldest first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AccessRecord {
    /// Every key that was ever made.
    pub keys: Vec<AccessKey>,
    /// Who has which role where.
    pub grants: Vec<RoleGrant>,
    /// What was changed, by whom and when.
    pub changes: Vec<AccessChange>,
}

/// A key, without its secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccessKey {
    /// The part of the key that names it.
    pub id: Box<str>,
    /// The person who has it.
    pub name: Box<str>,
    /// SHA-256 of the whole key.
    pub digest: [u8; 32],
    /// The key before the last rotation, while it still works.
    pub old: Option<OldSecret>,
    /// When it was made.
    pub created: Timestamp,
    /// When it stops to work.
    pub expires: Option<Timestamp>,
    /// When it was revoked.
    pub revoked: Option<Timestamp>,
}

/// A key that was replaced and works for a while.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OldSecret {
    /// The part of the key that names it.
    pub id: Box<str>,
    /// SHA-256 of the whole key.
    pub digest: [u8; 32],
    /// When it stops to work.
    pub until: Timestamp,
}

/// Whether a key works.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyState {
    /// It does.
    Valid,
    /// Its time is over.
    Expired,
    /// It was revoked.
    Revoked,
}

impl KeyState {
    /// The word for it in lists.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Valid => "valid",
            Self::Expired => "expired",
            Self::Revoked => "revoked",
        }
    }
}

/// A role of somebody in a place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoleGrant {
    /// Who has it.
    pub who: Grantee,
    /// Which one.
    pub role: AccessRole,
    /// Where.
    pub place: AccessPlace,
}

/// A change of keys or roles, and its place in the chain of all of them.
pub type AccessChange = (AuditEntry, ChainDigest);

/// The name of the log of these changes.
const LOG: &str = "access";

impl AccessKey {
    /// Whether it works.
    pub fn state(&self, now: Timestamp) -> KeyState {
        if self.revoked.is_some() {
            KeyState::Revoked
        } else if self.expires.is_some_and(|until| is_over(until, now)) {
            KeyState::Expired
        } else {
            KeyState::Valid
        }
    }

    /// The digests that are accepted, each with the id in front of its secret and the time until
    /// which it is.
    pub fn accepted(
        &self,
        now: Timestamp,
    ) -> impl Iterator<Item = (&str, &[u8; 32], Option<Timestamp>)> {
        let is_valid = self.state(now) == KeyState::Valid;
        let lenient = |until: Timestamp| Timestamp(until.0.saturating_add(LENIENCE));
        let own = self.expires.map(lenient);
        let old = self.old.as_ref().filter(|old| !is_over(old.until, now));
        let old = old.map(|old| {
            let until = lenient(old.until);
            let until = own.filter(|own| own.0 < until.0).unwrap_or(until);
            (&*old.id, &old.digest, Some(until))
        });
        let all = [Some((&*self.id, &self.digest, own)), old];
        all.into_iter().flatten().filter(move |_| is_valid)
    }
}

fn is_over(until: Timestamp, now: Timestamp) -> bool {
    now.0 > until.0.saturating_add(LENIENCE)
}

impl AccessRecord {
    /// Takes over the keys and roles of another record, with its log. Roles that were given here before
    /// stay.
    pub fn take_over(&mut self, other: Self, at: Timestamp) -> Result<(), AccessError> {
        if self.asks_for_keys() {
            return Err(AccessError::HasKeys);
        }
        let own = std::mem::replace(self, other);
        for grant in own.grants {
            match self.add_grant(grant, at) {
                Ok(()) | Err(AccessError::GrantExists { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Makes a key for a person who has none, with a first role.
    pub fn create_key(
        &mut self,
        name: &str,
        role: AccessRole,
        place: AccessPlace,
        expires: Option<Timestamp>,
        random: &[u8],
        at: Timestamp,
    ) -> Result<KeyText, AccessError> {
        let who = Grantee::person(name)?;
        if self.working(name).is_some() {
            return Err(AccessError::KeyExists(name.into()));
        }
        check_room(self.keys.len(), "keys")?;
        check_room(self.grants.len(), "roles")?;
        let key = KeyText::from_random(random).ok_or(AccessError::NoRandomness)?;
        self.keys.push(AccessKey {
            id: key.id().into(),
            name: name.into(),
            digest: key.digest(),
            old: None,
            created: at,
            expires,
            revoked: None,
        });
        let until = expires.map_or_else(String::new, |until| format!(", until {until}"));
        let what = format!("{name} ({}): {} {place}{until}", key.id(), role.as_str());
        self.grants.push(RoleGrant { who, role, place });
        self.note(at, "key.create", what);
        Ok(key)
    }

    /// Replaces the secret of a key; the old one works until then. A key that has expired needs a
    /// new time.
    pub fn rotate_key(
        &mut self,
        name: &str,
        old_until: Option<Timestamp>,
        expires: Option<Timestamp>,
        random: &[u8],
        at: Timestamp,
    ) -> Result<KeyText, AccessError> {
        let no_key = || AccessError::NoKey(name.into());
        let found = self.working_mut(name).ok_or_else(no_key)?;
        if expires.is_none() && found.state(at) == KeyState::Expired {
            return Err(AccessError::Expired(name.into()));
        }
        found.expires = expires.or(found.expires);
        let key = KeyText::from_random(random).ok_or(AccessError::NoRandomness)?;
        let before = std::mem::replace(&mut found.id, key.id().into());
        let digest = std::mem::replace(&mut found.digest, key.digest());
        found.old = old_until.map(|until| OldSecret {
            id: before.clone(),
            digest,
            until,
        });
        let grace = old_until.map_or_else(String::new, |until| {
            format!(", the old one works until {until}")
        });
        let what = format!("{name} ({before} → {}){grace}", key.id());
        self.note(at, "key.rotate", what);
        Ok(key)
    }

    /// Revokes a key, and takes away the roles of its person.
    pub fn revoke_key(&mut self, name: &str, at: Timestamp) -> Result<(), AccessError> {
        let no_key = || AccessError::NoKey(name.into());
        let found = self.working_mut(name).ok_or_else(no_key)?;
        found.revoked = Some(at);
        found.old = None;
        let what = format!("{name} ({})", found.id);
        let is_theirs =
            |grant: &RoleGrant| matches!(&grant.who, Grantee::Person(it) if **it == *name);
        self.grants.retain(|grant| !is_theirs(grant));
        self.note(at, "key.revoke", what);
        Ok(())
    }

    /// Gives a role.
    pub fn add_grant(&mut self, grant: RoleGrant, at: Timestamp) -> Result<(), AccessError> {
        if let Grantee::Person(name) = &grant.who
            && self.working(name).is_none()
        {
            return Err(AccessError::NoKey(name.clone()));
        }
        let (who, role, place) = words(&grant);
        if self.grants.contains(&grant) {
            return Err(AccessError::GrantExists { who, role, place });
        }
        check_room(self.grants.len(), "roles")?;
        self.grants.push(grant);
        self.note(at, "grant.add", format!("{who}: {role} {place}"));
        Ok(())
    }

    /// Takes a role away.
    pub fn remove_grant(&mut self, grant: &RoleGrant, at: Timestamp) -> Result<(), AccessError> {
        let (who, role, place) = words(grant);
        let Some(found) = self.grants.iter().position(|known| known == grant) else {
            return Err(AccessError::NoGrant { who, role, place });
        };
        self.grants.remove(found);
        self.note(at, "grant.remove", format!("{who}: {role} {place}"));
        Ok(())
    }

    /// Takes away the roles in a place that does not exist any more, and in what was in it. Returns how
    /// many there were.
    pub fn forget_place(&mut self, place: &AccessPlace, at: Timestamp) -> usize {
        let (kept, gone): (Vec<RoleGrant>, Vec<RoleGrant>) = std::mem::take(&mut self.grants)
            .into_iter()
            .partition(|grant| !grant.place.is_within(place));
        self.grants = kept;
        for grant in &gone {
            let (who, role, place) = words(grant);
            self.note(
                at,
                "grant.remove",
                format!("{who}: {role} {place}, which was deleted"),
            );
        }
        gone.len()
    }

    /// Moves the roles in a project that was renamed. Returns how many there were.
    pub fn move_place(&mut self, from: &AccessPlace, to: &AccessPlace, at: Timestamp) -> usize {
        let mut moved = Vec::new();
        for grant in self.grants.iter_mut().filter(|grant| grant.place == *from) {
            grant.place = to.clone();
            moved.push(words(grant));
        }
        for (who, role, place) in &moved {
            self.note(
                at,
                "grant.move",
                format!("{who}: {role} {place}, renamed from {from}"),
            );
        }
        moved.len()
    }

    /// Whether every request needs a key: once there was one, for good.
    pub fn asks_for_keys(&self) -> bool {
        !self.keys.is_empty()
    }

    /// The people who have keys that were not revoked.
    pub fn principals(&self) -> impl Iterator<Item = (&AccessKey, Principal)> {
        let mut everyone = AccessRights::default();
        let mut own: BTreeMap<&str, Vec<&RoleGrant>> = BTreeMap::new();
        for grant in &self.grants {
            match &grant.who {
                Grantee::Person(name) => own.entry(name).or_default().push(grant),
                Grantee::Everyone => everyone.add(&grant.place, grant.role.verbs()),
                Grantee::Group(_) => {}
            }
        }
        let keys = self.keys.iter().filter(|key| key.revoked.is_none());
        keys.map(move |key| {
            let mut rights = everyone.clone();
            for grant in own.get(&*key.name).into_iter().flatten() {
                rights.add(&grant.place, grant.role.verbs());
            }
            let principal = Principal {
                // A person who gets another key after a revocation is another one.
                id: format!("key:{}:{}", key.name, key.created.0).into(),
                name: key.name.clone(),
                rights,
            };
            (key, principal)
        })
    }

    /// The key of a person that was not revoked.
    pub fn working(&self, name: &str) -> Option<&AccessKey> {
        let mut keys = self.keys.iter();
        keys.find(|key| *key.name == *name && key.revoked.is_none())
    }

    fn working_mut(&mut self, name: &str) -> Option<&mut AccessKey> {
        let mut keys = self.keys.iter_mut();
        keys.find(|key| *key.name == *name && key.revoked.is_none())
    }

    fn note(&mut self, at: Timestamp, action: &str, what: String) {
        let last = self.changes.last();
        let entry = AuditEntry {
            number: last.map_or(1, |(entry, _)| entry.number + 1),
            at,
            // Keys and roles are changed on the server's machine only.
            actor: None,
            client: None,
            action: action.into(),
            what: what.into(),
        };
        let previous = last.map_or_else(|| ChainDigest::start(LOG), |(_, digest)| *digest);
        let digest = previous.next(&entry);
        self.changes.push((entry, digest));
    }

    /// Checks the log: the digest of the last change, or where it was altered.
    pub fn verify(&self) -> Result<ChainDigest, ChainBreak> {
        verify(ChainDigest::start(LOG), self.changes.iter().cloned())
    }
}

fn words(grant: &RoleGrant) -> (Box<str>, &'static str, Box<str>) {
    let RoleGrant { who, role, place } = grant;
    (
        who.to_string().into(),
        role.as_str(),
        place.to_string().into(),
    )
}

fn check_room(count: usize, what: &'static str) -> Result<(), AccessError> {
    if count < MOST {
        return Ok(());
    }
    Err(AccessError::TooMany(MOST, what))
}

#[cfg(test)]
mod tests {
    use super::super::key_text::RANDOM_BYTES;
    use super::super::verbs::Verbs;
    use super::*;
    use crate::store::{Noun, StoreName};

    const NOW: Timestamp = Timestamp(1_000_000);

    fn later(seconds: i64) -> Timestamp {
        Timestamp(NOW.0 + 1_000 * seconds)
    }

    fn record() -> (AccessRecord, KeyText) {
        let mut record = AccessRecord::default();
        let place = AccessPlace::parse("acme/garden").unwrap();
        let expires = Some(later(3_600));
        let key = record
            .create_key(
                "anna",
                AccessRole::Writer,
                place,
                expires,
                &[3; RANDOM_BYTES],
                NOW,
            )
            .unwrap();
        (record, key)
    }

    fn accepts(record: &AccessRecord, key: &KeyText, now: Timestamp) -> bool {
        let mut all = record.keys.iter().flat_map(|it| it.accepted(now));
        all.any(|(id, digest, _)| id == key.id() && *digest == key.digest())
    }

    #[test]
    fn a_key_works_until_it_expires_or_is_revoked() {
        let (mut record, key) = record();
        assert!(accepts(&record, &key, NOW));
        assert!(accepts(&record, &key, later(3_660)), "clocks differ");
        assert!(!accepts(&record, &key, later(3_661)));
        record.revoke_key("anna", NOW).unwrap();
        assert!(!accepts(&record, &key, NOW));
        assert!(record.grants.is_empty());
        assert!(record.asks_for_keys(), "the door stays closed");
        let again = record.revoke_key("anna", NOW);
        assert_eq!(again, Err(AccessError::NoKey("anna".into())));
    }

    #[test]
    fn keys_are_taken_over_where_there_are_none() {
        let (other, key) = record();
        let everyone = RoleGrant {
            who: Grantee::Everyone,
            role: AccessRole::Reader,
            place: AccessPlace::Everywhere,
        };
        let mut record = AccessRecord::default();
        record.add_grant(everyone.clone(), NOW).unwrap();
        record.take_over(other.clone(), NOW).unwrap();
        assert!(accepts(&record, &key, NOW));
        assert_eq!(record.grants.len(), 2);
        assert!(record.grants.contains(&everyone) && record.verify().is_ok());
        let before = record.clone();
        assert_eq!(record.take_over(other, NOW), Err(AccessError::HasKeys));
        assert_eq!(record, before);
    }

    #[test]
    fn a_rotated_key_works_beside_the_new_one_for_a_while() {
        let (mut record, old) = record();
        let grace = Some(later(60));
        let new = record.rotate_key("anna", grace, None, &[4; RANDOM_BYTES], NOW);
        let new = new.unwrap();
        assert!(accepts(&record, &old, NOW) && accepts(&record, &new, NOW));
        assert!(!accepts(&record, &old, later(121)));
        assert!(accepts(&record, &new, later(121)));
        let last = record.rotate_key("anna", None, None, &[5; RANDOM_BYTES], NOW);
        assert!(accepts(&record, &last.unwrap(), NOW));
        assert!(!accepts(&record, &old, NOW) && !accepts(&record, &new, NOW));
    }

    #[test]
    fn an_expired_key_is_replaced_with_a_new_time_only() {
        let (mut record, _) = record();
        let rotate = |record: &mut AccessRecord, expires| {
            record.rotate_key("anna", None, expires, &[4; RANDOM_BYTES], later(7_200))
        };
        let refused = rotate(&mut record, None);
        assert_eq!(refused, Err(AccessError::Expired("anna".into())));
        let key = rotate(&mut record, Some(later(9_000))).unwrap();
        assert!(accepts(&record, &key, later(7_200)));
    }

    #[test]
    fn roles_follow_a_renamed_project_and_end_with_a_deleted_one() {
        let (mut record, _) = record();
        let place = |text| AccessPlace::parse(text).unwrap();
        let (old, new) = (place("acme/garden"), place("acme/orchard"));
        assert_eq!(record.move_place(&old, &new, NOW), 1);
        assert_eq!(record.grants[0].place, new);
        assert_eq!(record.forget_place(&old, NOW), 0);
        assert_eq!(record.forget_place(&place("acme"), NOW), 1);
        assert!(record.grants.is_empty() && record.verify().is_ok());
    }

    #[test]
    fn rights_are_the_union_of_all_roles() {
        let (mut record, _) = record();
        let grant = |who: &str, role, place| RoleGrant {
            who: Grantee::parse(who).unwrap(),
            role,
            place: AccessPlace::parse(place).unwrap(),
        };
        let add = |record: &mut AccessRecord, grant| record.add_grant(grant, NOW);
        add(&mut record, grant("everyone", AccessRole::Reader, "acme")).unwrap();
        add(&mut record, grant("anna", AccessRole::Run, "")).unwrap();
        let unknown = add(&mut record, grant("bob", AccessRole::Reader, ""));
        assert_eq!(unknown, Err(AccessError::NoKey("bob".into())));
        let twice = add(&mut record, grant("anna", AccessRole::Run, ""));
        assert_eq!(
            twice.unwrap_err().to_string(),
            "`anna` is run everywhere already"
        );
        let rights = record.principals().next().unwrap().1.rights;
        let name = |text| StoreName::parse(Noun::Project, text).unwrap();
        let on = |project| rights.on_project(&name("acme"), &name(project));
        assert_eq!(on("garden").words(), "read, write, run");
        assert_eq!(on("other").words(), "read, run");
        assert!(!rights.on_workspace(&name("lab")).has(Verbs::READ));
    }

    #[test]
    fn a_changed_entry_breaks_the_chain_where_it_is() {
        let (mut record, _) = record();
        record
            .rotate_key("anna", None, None, &[4; RANDOM_BYTES], NOW)
            .unwrap();
        record.revoke_key("anna", NOW).unwrap();
        assert!(record.verify().is_ok());
        record.changes[1].0.what = "somebody".into();
        assert_eq!(record.verify(), Err(ChainBreak::Changed(2)));
        record.changes.remove(1);
        assert_eq!(record.verify(), Err(ChainBreak::Missing(2)));
    }
}
