//! The form of keys and roles, and the file that has them where there is no database: changed by
//! commands under a lock, and followed by servers.

use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use twig_core::access::{
    AccessError, AccessKey, AccessPlace, AccessRecord, AccessRole, Grantee, OldSecret, RoleGrant,
};
use twig_core::audit::{AuditEntry, ChainDigest};
use twig_core::store::{Timestamp, hex, read_hex};

use crate::access_store_error::AccessStoreError;
use crate::locked_file::{LockError, LockedFile, read_file};
use crate::stamp::SeenStamp;
use crate::write_file::NewFile;

/// The form of the file; a later one is refused.
const FORM: u32 = 1;

/// The file beside the record that says that there was one: a server whose record was lost must not
/// answer everybody.
pub fn access_marker(path: &Path) -> PathBuf {
    path.with_extension("expected")
}

/// Whether keys were made, also if their file is gone.
pub(crate) fn is_expected(path: &Path) -> bool {
    access_marker(path).symlink_metadata().is_ok()
}

/// Leaves the mark that keys were made, beside their file.
fn expect(path: &Path, file: &LockedFile) -> Result<(), LockError> {
    let marker = access_marker(path);
    let name = marker.file_name().filter(|_| !is_expected(path));
    let text = b"Keys were made for this server; it does not answer without them.\n";
    Ok(name.map_or(Ok(()), |name| file.copy_beside(name, text))?)
}

/// Reads the keys and roles; a missing file has none. One that cannot be parsed is an error, and then
/// nobody is let in.
pub fn read_access(path: &Path) -> io::Result<AccessRecord> {
    let bytes = read_file(path)?;
    bytes
        .as_deref()
        .map_or(Ok(AccessRecord::default()), from_bytes)
}

/// Reads the keys and roles; an error if keys were made and their file is gone.
pub(crate) fn read_whole(path: &Path) -> Result<AccessRecord, AccessStoreError> {
    let record = read_access(path).map_err(AccessStoreError::Unreadable)?;
    if !record.asks_for_keys() && is_expected(path) {
        return Err(AccessStoreError::Lost);
    }
    Ok(record)
}

/// Reads the record, changes it and writes it, while no other command does the same.
pub(crate) fn change_access<R>(
    path: &Path,
    change: impl FnOnce(&mut AccessRecord) -> Result<R, AccessError>,
) -> Result<R, AccessStoreError> {
    let file = LockedFile::open(path)?;
    let before = file.read().map_err(LockError::from)?;
    let read = before.as_deref();
    let read = read.map_or(Ok(AccessRecord::default()), from_bytes);
    let mut record = read.map_err(LockError::from)?;
    let result = change(&mut record)?;
    let bytes = to_bytes(&record).map_err(LockError::from)?;
    if before.is_none() && is_expected(path) {
        return Err(AccessStoreError::Lost);
    }
    if before.as_deref() != Some(&*bytes) {
        expect(path, &file)?;
        let written = file.replace(before.as_deref(), &bytes, NewFile::PRIVATE);
        written.map_err(LockError::from)?;
    }
    Ok(result)
}

/// The file, as a server last read it.
#[derive(Debug)]
pub(crate) struct FollowedAccessFile {
    path: PathBuf,
    seen: SeenStamp,
}

impl FollowedAccessFile {
    /// Follows a file, which need not exist, and reads it.
    pub(crate) fn new(path: &Path) -> Result<(Self, AccessRecord), AccessStoreError> {
        let seen = SeenStamp::at(path);
        let record = read_whole(path)?;
        let path = path.to_owned();
        Ok((Self { path, seen }, record))
    }

    /// The file.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The record, if the file changed since it was last read; an error if it cannot be read now.
    pub(crate) fn look(&mut self) -> Option<io::Result<AccessRecord>> {
        let now = SeenStamp::at(&self.path);
        if self.seen.holds(&now) {
            return None;
        }
        let read = read_access(&self.path);
        // What could not be read is tried again.
        self.seen = match read {
            Ok(_) => now,
            Err(_) => SeenStamp::never(),
        };
        Some(read)
    }
}

/// The record as the file has it.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct AccessFileForm {
    form: u32,
    keys: Vec<KeyForm>,
    roles: Vec<RoleForm>,
    changes: Vec<ChangeForm>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct KeyForm {
    id: String,
    name: String,
    sha256: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    old: Option<OldSecretForm>,
    created: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    expires: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    revoked: Option<i64>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct OldSecretForm {
    id: String,
    sha256: String,
    until: i64,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RoleForm {
    who: String,
    role: String,
    #[serde(rename = "where")]
    place: String,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ChangeForm {
    number: u64,
    at: i64,
    action: String,
    what: String,
    sha256: String,
}

pub(crate) fn to_bytes(record: &AccessRecord) -> io::Result<Vec<u8>> {
    let keys = record.keys.iter().map(|key| KeyForm {
        id: key.id.to_string(),
        name: key.name.to_string(),
        sha256: hex(&key.digest),
        old: key.old.as_ref().map(|old| OldSecretForm {
            id: old.id.to_string(),
            sha256: hex(&old.digest),
            until: old.until.0,
        }),
        created: key.created.0,
        expires: key.expires.map(|at| at.0),
        revoked: key.revoked.map(|at| at.0),
    });
    let roles = record.grants.iter().map(|grant| RoleForm {
        who: grant.who.to_string(),
        role: grant.role.as_str().to_owned(),
        place: grant.place.as_text(),
    });
    let changes = record.changes.iter().map(|(entry, digest)| ChangeForm {
        number: entry.number,
        at: entry.at.0,
        action: entry.action.to_string(),
        what: entry.what.to_string(),
        sha256: digest.to_string(),
    });
    let form = AccessFileForm {
        form: FORM,
        keys: keys.collect(),
        roles: roles.collect(),
        changes: changes.collect(),
    };
    let mut bytes = serde_json::to_vec_pretty(&form).map_err(io::Error::from)?;
    bytes.push(b'\n');
    Ok(bytes)
}

pub(crate) fn from_bytes(bytes: &[u8]) -> io::Result<AccessRecord> {
    #[derive(Deserialize)]
    struct OnlyForm {
        form: u32,
    }
    let wrong = |what: &str| io::Error::other(format!("it is not a list of keys: {what}"));
    let only: OnlyForm =
        serde_json::from_slice(bytes).map_err(|error| wrong(&error.to_string()))?;
    if only.form > FORM {
        return Err(io::Error::other(
            "a newer version of Twig has written it: update this one",
        ));
    }
    let read: AccessFileForm =
        serde_json::from_slice(bytes).map_err(|error| wrong(&error.to_string()))?;
    let digest = |text: &str| read_hex(text).ok_or_else(|| wrong("a digest is not SHA-256"));
    let mut record = AccessRecord::default();
    for key in read.keys {
        let old = key.old.map(|old| {
            Ok::<_, io::Error>(OldSecret {
                digest: digest(&old.sha256)?,
                id: old.id.into(),
                until: Timestamp(old.until),
            })
        });
        record.keys.push(AccessKey {
            digest: digest(&key.sha256)?,
            old: old.transpose()?,
            id: key.id.into(),
            name: key.name.into(),
            created: Timestamp(key.created),
            expires: key.expires.map(Timestamp),
            revoked: key.revoked.map(Timestamp),
        });
    }
    for role in read.roles {
        record.grants.push(RoleGrant {
            who: Grantee::parse(&role.who).map_err(|error| wrong(&error.to_string()))?,
            role: AccessRole::parse(&role.role).ok_or_else(|| wrong("an unknown role"))?,
            place: AccessPlace::parse(&role.place).map_err(|error| wrong(&error.to_string()))?,
        });
    }
    for change in read.changes {
        let entry = AuditEntry {
            number: change.number,
            at: Timestamp(change.at),
            actor: None,
            client: None,
            action: change.action.into(),
            what: change.what.into(),
        };
        let digest = ChainDigest::from_bytes(digest(&change.sha256)?);
        record.changes.push((entry, digest));
    }
    Ok(record)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use twig_core::access::RANDOM_BYTES;

    use super::*;

    #[test]
    fn a_record_is_read_as_it_was_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("twig/access.json");
        let at = Timestamp(1_000);
        let key = change_access(&path, |record| {
            let place = AccessPlace::parse("acme").unwrap();
            let until = Some(Timestamp(9_000));
            record.create_key(
                "anna",
                AccessRole::Writer,
                place,
                until,
                &[1; RANDOM_BYTES],
                at,
            )
        });
        let key = key.unwrap();
        change_access(&path, |record| {
            record.rotate_key("anna", Some(Timestamp(5_000)), None, &[2; RANDOM_BYTES], at)
        })
        .unwrap();
        let record = read_access(&path).unwrap();
        assert_eq!(record.keys[0].old.as_ref().unwrap().digest, key.digest());
        assert!(record.verify().is_ok());
        assert_eq!(from_bytes(&to_bytes(&record).unwrap()).unwrap(), record);
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(!text.contains(&key.reveal()[16..]), "no secret is stored");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = std::fs::metadata(&path).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
    }

    #[test]
    fn a_refused_change_writes_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("access.json");
        let refused = change_access(&path, |record| record.revoke_key("anna", Timestamp(0)));
        assert!(matches!(refused, Err(AccessStoreError::Refused(_))));
        assert!(!path.exists() && !access_marker(&path).exists());
    }

    #[test]
    fn a_lost_file_is_not_an_empty_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("access.json");
        let create = |name: &str| {
            change_access(&path, |record| {
                let everywhere = AccessPlace::Everywhere;
                let role = AccessRole::Reader;
                record.create_key(
                    name,
                    role,
                    everywhere,
                    None,
                    &[1; RANDOM_BYTES],
                    Timestamp(0),
                )
            })
        };
        assert!(FollowedAccessFile::new(&path).is_ok());
        create("anna").unwrap();
        assert!(FollowedAccessFile::new(&path).is_ok());
        std::fs::remove_file(&path).unwrap();
        assert!(FollowedAccessFile::new(&path).is_err());
        assert!(matches!(create("ben"), Err(AccessStoreError::Lost)));
        std::fs::remove_file(access_marker(&path)).unwrap();
        assert!(FollowedAccessFile::new(&path).is_ok());
    }

    #[test]
    fn a_newer_file_is_refused() {
        let error = from_bytes(br#"{"form": 2, "people": []}"#).unwrap_err();
        assert!(error.to_string().contains("newer version"), "{error}");
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes: Vec<u8>) {
            let _ = from_bytes(&bytes);
        }
    }
}
