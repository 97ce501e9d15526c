//! Signatures of skills: `skill.oms.sig`, the format of `OpenSSF` Model Signing.
//!
//! The file is a Sigstore bundle with a signed list of files and their digests. It proves something
//! only together with a key that the user pinned: keys and certificates in the bundle are whatever
//! its author put there. A signature that verifies says who signed the files and that they are
//! unchanged, never that they are safe.
//!
//! Nothing here knows the time. A caller that has a clock passes `now`, and only then expired
//! certificates are refused. Transparency logs are not checked, so bundles that rely on one are
//! refused, too.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use crate::signature::bundle::{SignerMaterial, read_bundle};
use crate::signature::certificate::{CertificateTrouble, SignatureKey, SignerCertificate};
use crate::signature::statement::SignedStatement;
use crate::signature::trust::{Trusted, trust};

pub use crate::signature::error::{ChainTrouble, SignatureError};

mod bundle;
mod certificate;
mod error;
mod pem;
mod statement;
mod trust;

/// The name of a signature in the folder of its skill.
pub const SIGNATURE_FILE: &str = "skill.oms.sig";

/// The largest file that [`PinnedKey::from_pem`] reads.
const KEY_FILE_BYTES: usize = 64 * 1024;

/// Paths of each kind that the text of a comparison names.
const NAMED: usize = 5;

/// A key that the user trusts, or a certificate whose key the user trusts.
#[derive(Debug, Clone)]
pub struct PinnedKey {
    key: SignatureKey,
    /// Where a certificate was pinned.
    certificate: Option<SignerCertificate>,
}

impl PinnedKey {
    /// Reads a certificate or a public key, as PEM or DER.
    pub fn from_pem(bytes: &[u8]) -> Result<Self, SignatureError> {
        let wrong = |reason: String| SignatureError::KeyFile { reason };
        if bytes.len() > KEY_FILE_BYTES {
            return Err(wrong(format!("it is larger than {KEY_FILE_BYTES} bytes")));
        }
        let block = pem::read(bytes).map_err(|trouble| wrong(trouble.to_string()))?;
        let der = block.as_deref().unwrap_or(bytes);
        let (key, certificate) = match SignerCertificate::from_der(der) {
            Ok(certificate) => (Some(certificate.key().clone()), Some(certificate)),
            Err(CertificateTrouble::Unreadable) => (SignatureKey::from_der(der), None),
            Err(trouble @ CertificateTrouble::TooLarge) => return Err(wrong(trouble.to_string())),
        };
        let neither = || wrong("it holds neither a certificate nor a public key".to_owned());
        let key = key.ok_or_else(neither)?;
        if !key.is_supported() {
            let fingerprint = key.fingerprint();
            return Err(SignatureError::KeyKind { fingerprint });
        }
        Ok(Self { key, certificate })
    }

    /// `sha256:` and the SHA-256 of the key's DER (`SubjectPublicKeyInfo`), in hexadecimal.
    pub fn fingerprint(&self) -> String {
        self.key.fingerprint()
    }

    /// The certificate or the key as PEM, which [`PinnedKey::from_pem`] reads.
    pub fn to_pem(&self) -> String {
        match &self.certificate {
            Some(certificate) => pem::write("CERTIFICATE", certificate.der()),
            None => pem::write("PUBLIC KEY", self.key.der()),
        }
    }

    /// The name in the certificate, if a certificate was pinned.
    pub fn subject(&self) -> Option<&str> {
        self.certificate.as_ref().map(SignerCertificate::subject)
    }
}

/// A signature that was read, and the files that it names. Nothing about it is verified yet.
#[derive(Debug, Clone)]
pub struct SignedFiles {
    material: SignerMaterial,
    /// The bytes that were signed, with their type in front.
    signed: Vec<u8>,
    signature: Vec<u8>,
    statement: SignedStatement,
}

/// A signature that was verified with a pinned key, over files that are as they were signed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerifiedSignature {
    /// The fingerprint of the pinned key: the signer's own, or that of an issuer.
    pub pinned_key: String,
    /// The fingerprint of the key that made the signature.
    pub signing_key: String,
    /// The name in the signer's certificate, where the pinned key vouches for it.
    pub subject: Option<String>,
    /// What the signer called the folder.
    pub name: String,
    /// How many files are signed.
    pub files: usize,
    /// Files that are there and that the signer excluded from the signature, sorted.
    pub ignored: Vec<String>,
}

/// How a folder differs from what was signed. All paths are sorted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SignatureComparison {
    /// Files whose bytes differ.
    pub changed: Vec<String>,
    /// Files that were signed and are not there.
    pub missing: Vec<String>,
    /// Files that are there and were not signed.
    pub unsigned: Vec<String>,
    /// Files that the signer excluded. They are no difference.
    pub ignored: Vec<String>,
}

impl SignedFiles {
    /// Reads a bundle. Its size, depth and counts are bounded.
    pub fn parse(bundle: &[u8]) -> Result<Self, SignatureError> {
        let envelope = read_bundle(bundle)?;
        let statement = SignedStatement::parse(&envelope.payload)?;
        Ok(Self {
            signed: envelope.signed_bytes(),
            material: envelope.material,
            signature: envelope.signature,
            statement,
        })
    }

    /// What the signer called the folder.
    pub fn name(&self) -> &str {
        self.statement.name()
    }

    /// The paths and digests that were signed, sorted by path.
    pub fn files(&self) -> impl Iterator<Item = (&str, &[u8; 32])> {
        let files = self.statement.files().iter();
        files.map(|(path, digest)| (&**path, digest))
    }

    /// Subject and key fingerprint of each certificate in the bundle, the signer's first.
    pub fn certificates(&self) -> impl Iterator<Item = (&str, String)> {
        let chain = self.material.chain().iter();
        chain.map(|one| (one.subject(), one.key().fingerprint()))
    }

    /// Compares a folder with the list; the signer does not matter.
    ///
    /// `files` are all files of the folder with their SHA-256, by path from the folder, with `/`.
    pub fn compare<'f>(
        &self,
        files: impl IntoIterator<Item = (&'f str, [u8; 32])>,
    ) -> SignatureComparison {
        let found: BTreeMap<&str, [u8; 32]> = files.into_iter().collect();
        let signed = self.statement.files();
        let mut comparison = SignatureComparison::default();
        for (path, digest) in signed {
            match found.get(&**path) {
                Some(found) if found == digest => {}
                Some(_) => comparison.changed.push(path.clone()),
                None => comparison.missing.push(path.clone()),
            }
        }
        let others = found.keys().filter(|path| !signed.contains_key(**path));
        for path in others.filter(|path| **path != SIGNATURE_FILE) {
            let list = if is_below(path, self.statement.ignored_paths()) {
                &mut comparison.ignored
            } else {
                &mut comparison.unsigned
            };
            list.push((*path).to_owned());
        }
        comparison
    }

    /// Verifies the signature with the pinned keys, and the files against the list.
    ///
    /// A pinned key is the signer's own, or that of an issuer; then every certificate from the
    /// signer's up to the pinned one is checked. `now` is the time in seconds since 1970; without
    /// it, expired certificates are accepted. `files` are those of [`SignedFiles::compare`].
    pub fn verify<'f>(
        &self,
        keys: &[PinnedKey],
        files: impl IntoIterator<Item = (&'f str, [u8; 32])>,
        now: Option<u64>,
    ) -> Result<VerifiedSignature, SignatureError> {
        SignatureVerifier::new(keys, now).verify(self, files)
    }
}

/// Verifies many signatures with the same keys. Certificates that several of them share are checked
/// once, which takes most of the time.
#[derive(Debug)]
pub struct SignatureVerifier<'k> {
    keys: &'k [PinnedKey],
    now: Option<u64>,
    /// By the digest over the certificates of a bundle.
    chains: BTreeMap<[u8; 32], Result<Trusted, SignatureError>>,
}

impl<'k> SignatureVerifier<'k> {
    /// A verifier for these keys and this time, as in [`SignedFiles::verify`].
    pub fn new(keys: &'k [PinnedKey], now: Option<u64>) -> Self {
        Self {
            keys,
            now,
            chains: BTreeMap::new(),
        }
    }

    /// Does what [`SignedFiles::verify`] does.
    pub fn verify<'f>(
        &mut self,
        signed: &SignedFiles,
        files: impl IntoIterator<Item = (&'f str, [u8; 32])>,
    ) -> Result<VerifiedSignature, SignatureError> {
        let trusted = match &signed.material {
            SignerMaterial::Chain(chain) => self.verify_chain(signed, chain)?,
            SignerMaterial::KeyHint(hint) => self.verify_key(signed, hint)?,
        };
        let comparison = signed.compare(files);
        if !comparison.is_same() {
            return Err(SignatureError::Files(Box::new(comparison)));
        }
        Ok(VerifiedSignature {
            pinned_key: trusted.pinned_key,
            signing_key: trusted.signing_key,
            subject: trusted.subject,
            name: signed.statement.name().to_owned(),
            files: signed.statement.files().len(),
            ignored: comparison.ignored,
        })
    }

    fn verify_chain(
        &mut self,
        signed: &SignedFiles,
        chain: &[SignerCertificate],
    ) -> Result<Trusted, SignatureError> {
        let key = chain.first().ok_or(SignatureError::NoKey)?.key();
        if !key.is_supported() {
            let fingerprint = key.fingerprint();
            return Err(SignatureError::KeyKind { fingerprint });
        }
        if !key.has_signed(&signed.signed, &signed.signature) {
            let fingerprint = key.fingerprint();
            return Err(SignatureError::Mismatch { fingerprint });
        }
        let trusted = self
            .chains
            .entry(certificate::digest_over(chain))
            .or_insert_with(|| trust(chain, self.keys, self.now));
        trusted.clone()
    }

    /// The bundle names no certificate, so only the pinned keys themselves can have made it.
    fn verify_key(&self, signed: &SignedFiles, hint: &str) -> Result<Trusted, SignatureError> {
        let has_signed = |pinned: &&PinnedKey| {
            let key = &pinned.key;
            key.has_signed(&signed.signed, &signed.signature)
        };
        match self.keys.iter().find(has_signed) {
            Some(pinned) => Trusted::directly(pinned, self.now),
            None => Err(SignatureError::UnknownHint {
                hint: hint.to_owned(),
            }),
        }
    }
}

impl SignatureComparison {
    /// True if all signed files are there, unchanged, and no others.
    pub fn is_same(&self) -> bool {
        self.changed.is_empty() && self.missing.is_empty() && self.unsigned.is_empty()
    }
}

/// The differences in one line: `changed: …; missing: …; not signed: …`.
impl fmt::Display for SignatureComparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kinds = [
            ("changed", &self.changed),
            ("missing", &self.missing),
            ("not signed", &self.unsigned),
        ];
        let mut between = "";
        for (kind, paths) in kinds.into_iter().filter(|(_, paths)| !paths.is_empty()) {
            write!(f, "{between}{kind}: ")?;
            between = "; ";
            let named: Vec<String> = paths.iter().take(NAMED).map(|path| quote(path)).collect();
            f.write_str(&named.join(", "))?;
            if paths.len() > NAMED {
                write!(f, " and {} more", paths.len() - NAMED)?;
            }
        }
        Ok(())
    }
}

fn quote(path: &str) -> String {
    format!("`{}`", error::printable(path))
}

/// True if the set has the path or a folder above it.
fn is_below(path: &str, folders: &BTreeSet<String>) -> bool {
    let ends = path.match_indices('/').map(|(at, _)| at);
    ends.chain([path.len()])
        .any(|end| folders.contains(&path[..end]))
}
