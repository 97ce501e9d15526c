//! The Sigstore bundle around a signed statement: JSON with base64 in it.

use base64::prelude::{BASE64_STANDARD, Engine as _};
use serde::Deserialize;
use serde::de::IgnoredAny;
use twig_core::depth;

use crate::signature::certificate::SignerCertificate;
use crate::signature::error::{SignatureError, printable};

/// The largest bundle that is read.
const BUNDLE_BYTES: usize = 4 * 1024 * 1024;

/// The most certificates in a bundle.
const CERTIFICATES: usize = 8;

/// The two ways to write version 0.3.
const MEDIA_TYPES: [&str; 2] = [
    "application/vnd.dev.sigstore.bundle.v0.3+json",
    "application/vnd.dev.sigstore.bundle+json;version=0.3",
];

const PAYLOAD_TYPE: &str = "application/vnd.in-toto+json";

/// What a bundle holds, decoded.
#[derive(Debug)]
pub(super) struct SignedEnvelope {
    pub(super) material: SignerMaterial,
    pub(super) payload: Vec<u8>,
    pub(super) signature: Vec<u8>,
}

/// What a bundle says about the key that signed it.
#[derive(Debug, Clone)]
pub(super) enum SignerMaterial {
    /// At least one certificate, the signer's first.
    Chain(Vec<SignerCertificate>),
    /// No more than a name for the key.
    KeyHint(String),
}

impl SignerMaterial {
    pub(super) fn chain(&self) -> &[SignerCertificate] {
        match self {
            Self::Chain(chain) => chain,
            Self::KeyHint(_) => &[],
        }
    }
}

impl SignedEnvelope {
    /// The bytes that the signature is over: DSSE's "pre-authentication encoding".
    pub(super) fn signed_bytes(&self) -> Vec<u8> {
        let (type_length, length) = (PAYLOAD_TYPE.len(), self.payload.len());
        let mut bytes = format!("DSSEv1 {type_length} {PAYLOAD_TYPE} {length} ").into_bytes();
        bytes.extend_from_slice(&self.payload);
        bytes
    }
}

#[derive(Deserialize)]
#[serde(expecting = "an object", rename_all = "camelCase")]
struct BundleJson {
    media_type: String,
    verification_material: MaterialJson,
    dsse_envelope: EnvelopeJson,
}

#[derive(Deserialize)]
#[serde(expecting = "an object", rename_all = "camelCase")]
struct MaterialJson {
    x509_certificate_chain: Option<ChainJson>,
    certificate: Option<CertificateJson>,
    public_key: Option<KeyJson>,
    tlog_entries: Option<Vec<IgnoredAny>>,
}

#[derive(Deserialize)]
#[serde(expecting = "an object")]
struct ChainJson {
    certificates: Vec<CertificateJson>,
}

#[derive(Deserialize)]
#[serde(expecting = "an object", rename_all = "camelCase")]
struct CertificateJson {
    raw_bytes: String,
}

#[derive(Deserialize)]
#[serde(expecting = "an object")]
struct KeyJson {
    hint: Option<String>,
}

#[derive(Deserialize)]
#[serde(expecting = "an object", rename_all = "camelCase")]
struct EnvelopeJson {
    payload: String,
    payload_type: String,
    signatures: Vec<SignatureJson>,
}

#[derive(Deserialize)]
#[serde(expecting = "an object")]
struct SignatureJson {
    sig: String,
}

/// Reads a bundle.
pub(super) fn read_bundle(bytes: &[u8]) -> Result<SignedEnvelope, SignatureError> {
    if bytes.len() > BUNDLE_BYTES {
        return Err(SignatureError::TooLarge {
            size: bytes.len(),
            limit: BUNDLE_BYTES,
        });
    }
    let bundle: BundleJson = read_json("the bundle", bytes)?;
    if !MEDIA_TYPES.contains(&&*bundle.media_type) {
        return Err(unsupported("mediaType", &bundle.media_type, MEDIA_TYPES[0]));
    }
    let envelope = bundle.dsse_envelope;
    if envelope.payload_type != PAYLOAD_TYPE {
        return Err(unsupported(
            "payloadType",
            &envelope.payload_type,
            PAYLOAD_TYPE,
        ));
    }
    let [signature] = &*envelope.signatures else {
        return Err(SignatureError::SignatureCount {
            count: envelope.signatures.len(),
        });
    };
    Ok(SignedEnvelope {
        material: read_material(bundle.verification_material)?,
        payload: decode("dsseEnvelope.payload", &envelope.payload)?,
        signature: decode("dsseEnvelope.signatures.sig", &signature.sig)?,
    })
}

/// Reads JSON that is not deeper than other JSON may be.
pub(super) fn read_json<'j, T: Deserialize<'j>>(
    place: &'static str,
    bytes: &'j [u8],
) -> Result<T, SignatureError> {
    depth::json(bytes).map_err(|source| SignatureError::TooDeep { place, source })?;
    serde_json::from_slice(bytes).map_err(|error| SignatureError::Json {
        place,
        reason: printable(&error.to_string()),
    })
}

/// Refuses a value that is not the one that is known.
pub(super) fn unsupported(field: &'static str, found: &str, known: &'static str) -> SignatureError {
    SignatureError::Unsupported {
        field,
        found: printable(found),
        known,
    }
}

fn read_material(material: MaterialJson) -> Result<SignerMaterial, SignatureError> {
    if material
        .tlog_entries
        .is_some_and(|entries| !entries.is_empty())
    {
        return Err(SignatureError::TransparencyLog);
    }
    let chain = material
        .x509_certificate_chain
        .map(|chain| chain.certificates);
    let single = material.certificate.map(|certificate| vec![certificate]);
    match (chain.or(single), material.public_key) {
        (Some(chain), _) if !chain.is_empty() => read_chain(&chain).map(SignerMaterial::Chain),
        (_, Some(key)) => {
            let hint = key.hint.unwrap_or_default();
            Ok(SignerMaterial::KeyHint(printable(&hint)))
        }
        _ => Err(SignatureError::NoKey),
    }
}

fn read_chain(chain: &[CertificateJson]) -> Result<Vec<SignerCertificate>, SignatureError> {
    if chain.len() > CERTIFICATES {
        return Err(SignatureError::TooMany {
            what: "certificates",
            count: chain.len(),
            limit: CERTIFICATES,
        });
    }
    let read = |(at, certificate): (usize, &CertificateJson)| {
        let der = decode("rawBytes", &certificate.raw_bytes)?;
        SignerCertificate::from_der(&der).map_err(|trouble| SignatureError::Certificate {
            number: at + 1,
            reason: trouble.to_string(),
        })
    };
    chain.iter().enumerate().map(read).collect()
}

fn decode(field: &'static str, text: &str) -> Result<Vec<u8>, SignatureError> {
    let decoded = BASE64_STANDARD.decode(text);
    decoded.map_err(|_| SignatureError::Base64 { field })
}
