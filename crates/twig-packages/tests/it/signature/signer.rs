//! Signers for tests: keys, certificates and bundles, made byte by byte so that each can be wrong.

use base64::prelude::{BASE64_STANDARD, Engine as _};
use p384::ecdsa::SigningKey;
use p384::ecdsa::signature::Signer as _;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use twig_packages::PinnedKey;

pub(crate) const START: u64 = 1_767_225_600; // 2026-01-01
pub(crate) const END: u64 = 1_798_761_600; // 2027-01-01

const ECDSA_SHA384: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x03];
const EC_PUBLIC_KEY: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01];
const P384: &[u8] = &[0x2b, 0x81, 0x04, 0x00, 0x22];
const COMMON_NAME: &[u8] = &[0x55, 0x04, 0x03];

/// Basic constraints of an issuer.
pub(crate) const CA: Extension = Extension(&[0x55, 0x1d, 0x13], &[0x30, 3, 1, 1, 0xff]);
/// The same with no issuers below it.
pub(crate) const LAST_CA: Extension =
    Extension(&[0x55, 0x1d, 0x13], &[0x30, 6, 1, 1, 0xff, 2, 1, 0]);
/// Key usage: digital signature.
pub(crate) const SIGNS: Extension = Extension(&[0x55, 0x1d, 0x0f], &[3, 2, 7, 0x80]);
/// Key usage: certificates and revocations.
pub(crate) const ISSUES: Extension = Extension(&[0x55, 0x1d, 0x0f], &[3, 2, 1, 6]);
/// Extended key usage: a web server.
pub(crate) const SERVER: Extension = Extension(
    &[0x55, 0x1d, 0x25],
    &[0x30, 10, 6, 8, 0x2b, 6, 1, 5, 5, 7, 3, 1],
);
/// Name constraints, which Twig does not check.
pub(crate) const NAMES: Extension = Extension(&[0x55, 0x1d, 0x1e], &[0x30, 0]);

/// An object identifier and its value; all are critical.
#[derive(Clone, Copy)]
pub(crate) struct Extension(&'static [u8], &'static [u8]);

/// Somebody with a key.
#[derive(Clone)]
pub(crate) struct TestSigner {
    pub(crate) name: &'static str,
    pub(crate) key: SigningKey,
}

impl TestSigner {
    pub(crate) fn new(name: &'static str, seed: u8) -> Self {
        let key = SigningKey::from_slice(&[seed; 48]).unwrap();
        Self { name, key }
    }

    /// `SubjectPublicKeyInfo`
    pub(crate) fn public_key(&self) -> Vec<u8> {
        let point = self.key.verifying_key().to_sec1_point(false);
        let algorithm = sequence(&[tlv(6, EC_PUBLIC_KEY), tlv(6, P384)]);
        sequence(&[algorithm, bits(point.as_bytes())])
    }

    pub(crate) fn pinned(&self) -> PinnedKey {
        PinnedKey::from_pem(pem("PUBLIC KEY", &self.public_key()).as_bytes()).unwrap()
    }

    pub(crate) fn sign(&self, bytes: &[u8]) -> Vec<u8> {
        let signature: p384::ecdsa::Signature = self.key.sign(bytes);
        signature.to_der().as_bytes().to_vec()
    }

    /// A certificate for this signer by an issuer, or by itself.
    pub(crate) fn certificate(&self, issuer: &Self, extensions: &[Extension]) -> Vec<u8> {
        self.certificate_of(issuer, extensions, "20260101000000Z")
    }

    pub(crate) fn certificate_of(
        &self,
        issuer: &Self,
        extensions: &[Extension],
        start: &str,
    ) -> Vec<u8> {
        let extension =
            |one: &Extension| sequence(&[tlv(6, one.0), tlv(1, &[0xff]), tlv(4, one.1)]);
        let extensions: Vec<Vec<u8>> = extensions.iter().map(extension).collect();
        let algorithm = sequence(&[tlv(6, ECDSA_SHA384)]);
        let validity = [tlv(24, start.as_bytes()), tlv(24, b"20270101000000Z")];
        let tbs = sequence(&[
            tlv(0xa0, &tlv(2, &[2])),
            tlv(2, &[7]),
            algorithm.clone(),
            name(issuer.name),
            sequence(&validity),
            name(self.name),
            self.public_key(),
            tlv(0xa3, &sequence(&extensions)),
        ]);
        let signature = bits(&issuer.sign(&tbs));
        sequence(&[tbs, algorithm, signature])
    }

    /// A bundle over files with these certificates.
    pub(crate) fn bundle(&self, files: &[(&str, &[u8])], certificates: &[Vec<u8>]) -> Value {
        self.bundle_of(&statement(files), certificates)
    }

    pub(crate) fn bundle_of(&self, statement: &Value, certificates: &[Vec<u8>]) -> Value {
        let payload = serde_json::to_vec(statement).unwrap();
        let signature = self.sign(&signed_bytes(&payload));
        let raw = |der: &Vec<u8>| json!({ "rawBytes": BASE64_STANDARD.encode(der) });
        let certificates: Vec<Value> = certificates.iter().map(raw).collect();
        json!({
            "mediaType": "application/vnd.dev.sigstore.bundle.v0.3+json",
            "verificationMaterial": {
                "x509CertificateChain": { "certificates": certificates },
                "tlogEntries": [],
            },
            "dsseEnvelope": {
                "payload": BASE64_STANDARD.encode(payload),
                "payloadType": "application/vnd.in-toto+json",
                "signatures": [{ "sig": BASE64_STANDARD.encode(signature), "keyid": "" }],
            },
        })
    }
}

/// The statement about files.
pub(crate) fn statement(files: &[(&str, &[u8])]) -> Value {
    let mut all = Sha256::new();
    let mut resources = Vec::new();
    for (path, bytes) in files {
        let digest = Sha256::digest(bytes);
        all.update(digest);
        let digest = twig_packages::tree::hex(&digest);
        resources.push(json!({ "name": path, "digest": digest, "algorithm": "sha256" }));
    }
    json!({
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{
            "name": "review",
            "digest": { "sha256": twig_packages::tree::hex(&all.finalize()) },
        }],
        "predicateType": "https://model_signing/signature/v1.0",
        "predicate": {
            "serialization": {
                "method": "files",
                "hash_type": "sha256",
                "allow_symlinks": false,
                "ignore_paths": [".git", ".gitattributes", "./drafts/"],
            },
            "resources": resources,
        },
    })
}

pub(crate) fn signed_bytes(payload: &[u8]) -> Vec<u8> {
    let start = format!("DSSEv1 28 application/vnd.in-toto+json {} ", payload.len());
    [start.as_bytes(), payload].concat()
}

pub(crate) fn pem(label: &str, der: &[u8]) -> String {
    let digits = BASE64_STANDARD.encode(der);
    let lines: Vec<&str> = digits
        .as_bytes()
        .chunks(64)
        .map(|line| std::str::from_utf8(line).unwrap())
        .collect();
    format!(
        "-----BEGIN {label}-----\n{}\n-----END {label}-----\n",
        lines.join("\n")
    )
}

fn name(common: &str) -> Vec<u8> {
    let attribute = sequence(&[tlv(6, COMMON_NAME), tlv(12, common.as_bytes())]);
    sequence(&[tlv(0x31, &attribute)])
}

fn bits(bytes: &[u8]) -> Vec<u8> {
    tlv(3, &[&[0], bytes].concat())
}

fn sequence(parts: &[Vec<u8>]) -> Vec<u8> {
    tlv(0x30, &parts.concat())
}

/// Tag, length and value.
fn tlv(tag: u8, value: &[u8]) -> Vec<u8> {
    let length = u16::try_from(value.len()).unwrap().to_be_bytes();
    let mut bytes = vec![tag];
    match length {
        [0, short @ 0..=0x7f] => bytes.push(short),
        [0, long] => bytes.extend([0x81, long]),
        long => bytes.extend([&[0x82], &long[..]].concat()),
    }
    bytes.extend_from_slice(value);
    bytes
}
