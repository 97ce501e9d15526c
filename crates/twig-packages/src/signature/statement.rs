//! The signed statement: an in-toto statement with the digests of files.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use sha2::{Digest as _, Sha256};

use crate::signature::bundle::{read_json, unsupported};
use crate::signature::error::{SignatureError, printable};
use crate::tree::parse_hex;

/// The most files in a list, and the most paths to ignore.
const RESOURCES: usize = 20_000;

const STATEMENT_TYPE: &str = "https://in-toto.io/Statement/v1";
const PREDICATE_TYPE: &str = "https://model_signing/signature/v1.0";
const METHOD: &str = "files";
const SHA256: &str = "sha256";

/// The list of files in a statement.
#[derive(Debug, Clone)]
pub(super) struct SignedStatement {
    name: String,
    files: BTreeMap<String, [u8; 32]>,
    ignored_paths: BTreeSet<String>,
}

#[derive(Deserialize)]
#[serde(expecting = "an object")]
struct StatementJson {
    #[serde(rename = "_type")]
    kind: String,
    subject: Vec<SubjectJson>,
    #[serde(rename = "predicateType")]
    predicate_type: String,
    predicate: PredicateJson,
}

#[derive(Deserialize)]
#[serde(expecting = "an object")]
struct SubjectJson {
    #[serde(default)]
    name: String,
    digest: DigestJson,
}

#[derive(Deserialize)]
#[serde(expecting = "an object")]
struct DigestJson {
    sha256: String,
}

#[derive(Deserialize)]
#[serde(expecting = "an object")]
struct PredicateJson {
    serialization: SerializationJson,
    resources: Vec<ResourceJson>,
}

#[derive(Deserialize)]
#[serde(expecting = "an object")]
struct SerializationJson {
    method: String,
    hash_type: Option<String>,
    #[serde(default)]
    ignore_paths: Vec<String>,
}

#[derive(Deserialize)]
#[serde(expecting = "an object")]
struct ResourceJson {
    name: String,
    digest: String,
    algorithm: String,
}

impl SignedStatement {
    /// Reads a statement and checks that its parts agree.
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, SignatureError> {
        let statement: StatementJson = read_json("the signed statement", bytes)?;
        expect("_type", &statement.kind, STATEMENT_TYPE)?;
        expect("predicateType", &statement.predicate_type, PREDICATE_TYPE)?;
        let PredicateJson {
            serialization,
            resources,
        } = statement.predicate;
        expect("serialization.method", &serialization.method, METHOD)?;
        if let Some(hash) = &serialization.hash_type {
            expect("serialization.hash_type", hash, SHA256)?;
        }
        check_count("files", resources.len())?;
        check_count("paths to ignore", serialization.ignore_paths.len())?;
        let [subject] = &*statement.subject else {
            return Err(SignatureError::SubjectCount {
                count: statement.subject.len(),
            });
        };
        let list = read_list(resources)?;
        if read_digest(&subject.name, &subject.digest.sha256)? != digest_over(&list) {
            return Err(SignatureError::SubjectDigest);
        }
        let ignored = serialization.ignore_paths.iter();
        Ok(Self {
            name: printable(&subject.name),
            files: by_path(list)?,
            ignored_paths: ignored.map(|path| plain_path(path).to_owned()).collect(),
        })
    }

    /// What the signer called the folder, fit for a message.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn files(&self) -> &BTreeMap<String, [u8; 32]> {
        &self.files
    }

    /// Files and folders that the signer excluded, from the top of the folder.
    pub(super) fn ignored_paths(&self) -> &BTreeSet<String> {
        &self.ignored_paths
    }
}

fn expect(field: &'static str, found: &str, known: &'static str) -> Result<(), SignatureError> {
    if found == known {
        return Ok(());
    }
    Err(unsupported(field, found, known))
}

fn check_count(what: &'static str, count: usize) -> Result<(), SignatureError> {
    if count <= RESOURCES {
        return Ok(());
    }
    Err(SignatureError::TooMany {
        what,
        count,
        limit: RESOURCES,
    })
}

/// The files in the order of the list.
fn read_list(resources: Vec<ResourceJson>) -> Result<Vec<(String, [u8; 32])>, SignatureError> {
    let read = |resource: ResourceJson| {
        expect("resources.algorithm", &resource.algorithm, SHA256)?;
        let digest = read_digest(&resource.name, &resource.digest)?;
        Ok((resource.name, digest))
    };
    resources.into_iter().map(read).collect()
}

/// The digest over all digests of a list.
fn digest_over(list: &[(String, [u8; 32])]) -> [u8; 32] {
    let mut all = Sha256::new();
    for (_, digest) in list {
        all.update(digest);
    }
    all.finalize().into()
}

fn by_path(list: Vec<(String, [u8; 32])>) -> Result<BTreeMap<String, [u8; 32]>, SignatureError> {
    let mut files = BTreeMap::new();
    for (name, digest) in list {
        if files.contains_key(&name) {
            let name = printable(&name);
            return Err(SignatureError::Twice { name });
        }
        files.insert(name, digest);
    }
    Ok(files)
}

fn read_digest(name: &str, text: &str) -> Result<[u8; 32], SignatureError> {
    parse_hex(text).ok_or_else(|| SignatureError::Digest {
        name: printable(name),
    })
}

/// A path as the other paths are written.
fn plain_path(path: &str) -> &str {
    let path = path.strip_prefix("./").unwrap_or(path);
    path.trim_end_matches('/')
}
