//! X.509 certificates and the keys in them: the one place that knows the crates for both.

use std::fmt::Write as _;
use std::ops::Range;

use p256::ecdsa::signature::hazmat::PrehashVerifier as _;
use sha2::{Digest as _, Sha256, Sha384, Sha512};
use x509_cert::Certificate;
use x509_cert::der::asn1::{AnyRef, ObjectIdentifier};
use x509_cert::der::{Decode as _, Encode as _, Reader as _, SliceReader};
use x509_cert::ext::pkix::{BasicConstraints, ExtendedKeyUsage, KeyUsage};
use x509_cert::spki::SubjectPublicKeyInfoOwned;
use x509_cert::time::Time;

use crate::signature::error::{ChainTrouble, SignatureError, printable};
use crate::tree::hex;

/// The largest certificate that is read. Real ones have about 700 bytes.
const CERTIFICATE_BYTES: usize = 16 * 1024;

const EC_PUBLIC_KEY: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.10045.2.1");
const CURVE_P256: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.10045.3.1.7");
const CURVE_P384: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.132.0.34");
const ECDSA_SHA256: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.10045.4.3.2");
const ECDSA_SHA384: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.10045.4.3.3");
const ECDSA_SHA512: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.10045.4.3.4");
const CODE_SIGNING: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.6.1.5.5.7.3.3");
const ANY_PURPOSE: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.29.37.0");

/// Critical extensions that are checked here, or that say nothing about whether a file may be
/// signed: key usage, other names of the subject, basic constraints, extended key usage.
const KNOWN_EXTENSIONS: [ObjectIdentifier; 4] = [
    ObjectIdentifier::new_unwrap("2.5.29.15"),
    ObjectIdentifier::new_unwrap("2.5.29.17"),
    ObjectIdentifier::new_unwrap("2.5.29.19"),
    ObjectIdentifier::new_unwrap("2.5.29.37"),
];

/// A public key, of any kind; only ECDSA with P-256 or P-384 can check signatures.
#[derive(Debug, Clone)]
pub(super) struct SignatureKey {
    /// `SubjectPublicKeyInfo`
    der: Vec<u8>,
    point: Option<CurvePoint>,
}

#[derive(Debug, Clone)]
enum CurvePoint {
    P256(p256::ecdsa::VerifyingKey),
    P384(p384::ecdsa::VerifyingKey),
}

impl SignatureKey {
    /// Reads a `SubjectPublicKeyInfo`.
    pub(super) fn from_der(der: &[u8]) -> Option<Self> {
        Self::new(&SubjectPublicKeyInfoOwned::from_der(der).ok()?)
    }

    fn new(info: &SubjectPublicKeyInfoOwned) -> Option<Self> {
        Some(Self {
            der: info.to_der().ok()?,
            point: read_point(info),
        })
    }

    pub(super) fn der(&self) -> &[u8] {
        &self.der
    }

    pub(super) fn fingerprint(&self) -> String {
        format!("sha256:{}", hex(&Sha256::digest(&self.der)))
    }

    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.der == other.der
    }

    pub(super) fn is_supported(&self) -> bool {
        self.point.is_some()
    }

    /// True if this key signed the bytes, with the hash that belongs to its curve.
    pub(super) fn has_signed(&self, bytes: &[u8], signature: &[u8]) -> bool {
        match self.point {
            Some(CurvePoint::P256(_)) => self.has_signed_hash(&Sha256::digest(bytes), signature),
            Some(CurvePoint::P384(_)) => self.has_signed_hash(&Sha384::digest(bytes), signature),
            None => false,
        }
    }

    fn has_signed_hash(&self, hash: &[u8], signature: &[u8]) -> bool {
        match &self.point {
            Some(CurvePoint::P256(key)) => p256::ecdsa::Signature::from_der(signature)
                .is_ok_and(|signature| key.verify_prehash(hash, &signature).is_ok()),
            Some(CurvePoint::P384(key)) => p384::ecdsa::Signature::from_der(signature)
                .is_ok_and(|signature| key.verify_prehash(hash, &signature).is_ok()),
            None => false,
        }
    }
}

fn read_point(info: &SubjectPublicKeyInfoOwned) -> Option<CurvePoint> {
    if info.algorithm.oid != EC_PUBLIC_KEY {
        return None;
    }
    let curve: ObjectIdentifier = info.algorithm.parameters.as_ref()?.decode_as().ok()?;
    let point = info.subject_public_key.as_bytes()?;
    match curve {
        CURVE_P256 => p256::ecdsa::VerifyingKey::from_sec1_bytes(point)
            .ok()
            .map(CurvePoint::P256),
        CURVE_P384 => p384::ecdsa::VerifyingKey::from_sec1_bytes(point)
            .ok()
            .map(CurvePoint::P384),
        _ => None,
    }
}

/// A certificate that could be read. Nothing about it is verified.
#[derive(Debug, Clone)]
pub(super) struct SignerCertificate {
    certificate: Certificate,
    der: Vec<u8>,
    /// The part of `der` that the issuer signed.
    signed: Range<usize>,
    key: SignatureKey,
    subject: String,
}

/// Why bytes are no certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum CertificateTrouble {
    #[error("it is larger than {CERTIFICATE_BYTES} bytes")]
    TooLarge,
    #[error("it is not an X.509 certificate in DER")]
    Unreadable,
}

impl SignerCertificate {
    pub(super) fn from_der(der: &[u8]) -> Result<Self, CertificateTrouble> {
        if der.len() > CERTIFICATE_BYTES {
            return Err(CertificateTrouble::TooLarge);
        }
        Self::read(der).ok_or(CertificateTrouble::Unreadable)
    }

    fn read(der: &[u8]) -> Option<Self> {
        let certificate = Certificate::from_der(der).ok()?;
        let content = AnyRef::from_der(der).ok()?.value();
        let signed = SliceReader::new(content).ok()?.tlv_bytes().ok()?.len();
        let start = der.len() - content.len();
        let tbs = certificate.tbs_certificate();
        let mut subject = String::new();
        // What cannot be shown is left out.
        let _ = write!(subject, "{}", tbs.subject());
        Some(Self {
            key: SignatureKey::new(tbs.subject_public_key_info())?,
            subject: printable(&subject),
            signed: start..start + signed,
            der: der.to_vec(),
            certificate,
        })
    }

    pub(super) fn der(&self) -> &[u8] {
        &self.der
    }

    pub(super) fn key(&self) -> &SignatureKey {
        &self.key
    }

    /// The name of its owner, fit for a message.
    pub(super) fn subject(&self) -> &str {
        &self.subject
    }

    /// True if it names the other one as its issuer.
    pub(super) fn names_issuer(&self, issuer: &Self) -> bool {
        let (own, other) = (
            self.certificate.tbs_certificate(),
            issuer.certificate.tbs_certificate(),
        );
        own.issuer() == other.subject()
    }

    /// True if the key signed this certificate.
    pub(super) fn is_signed_by(&self, key: &SignatureKey) -> bool {
        let algorithm = self.certificate.signature_algorithm();
        if algorithm != self.certificate.tbs_certificate().signature() {
            return false;
        }
        let Some(signature) = self.certificate.signature().as_bytes() else {
            return false;
        };
        let signed = &self.der[self.signed.clone()];
        match algorithm.oid {
            ECDSA_SHA256 => key.has_signed_hash(&Sha256::digest(signed), signature),
            ECDSA_SHA384 => key.has_signed_hash(&Sha384::digest(signed), signature),
            ECDSA_SHA512 => key.has_signed_hash(&Sha512::digest(signed), signature),
            _ => false,
        }
    }

    /// Checks that it may sign files.
    pub(super) fn check_signer(&self) -> Result<(), SignatureError> {
        self.check_critical()?;
        let tbs = self.certificate.tbs_certificate();
        let usage = self.extension(tbs.get_extension::<KeyUsage>())?;
        let purposes = self.extension(tbs.get_extension::<ExtendedKeyUsage>())?;
        let may_sign = usage.is_none_or(|usage| usage.digital_signature());
        let is_for_code = purposes.is_none_or(|purposes| {
            let mut purposes = purposes.0.iter();
            purposes.any(|purpose| [CODE_SIGNING, ANY_PURPOSE].contains(purpose))
        });
        if may_sign && is_for_code {
            return Ok(());
        }
        Err(self.trouble(ChainTrouble::NotForSigning))
    }

    /// Checks that it may issue certificates, with `below` issuers between it and the signer.
    pub(super) fn check_issuer(&self, below: usize) -> Result<(), SignatureError> {
        self.check_critical()?;
        let tbs = self.certificate.tbs_certificate();
        let constraints = self.extension(tbs.get_extension::<BasicConstraints>())?;
        let usage = self.extension(tbs.get_extension::<KeyUsage>())?;
        let Some(constraints) = constraints.filter(|constraints| constraints.ca) else {
            return Err(self.trouble(ChainTrouble::NotAnIssuer));
        };
        if usage.is_some_and(|usage| !usage.key_cert_sign()) {
            return Err(self.trouble(ChainTrouble::NotAnIssuer));
        }
        match constraints.path_len_constraint {
            Some(most) if below > usize::from(most) => Err(self.trouble(ChainTrouble::PathTooLong)),
            _ => Ok(()),
        }
    }

    /// Checks that it was valid when the validity of the signer's certificate began.
    pub(super) fn check_valid_for(&self, signer: &Self) -> Result<(), SignatureError> {
        let validity = self.certificate.tbs_certificate().validity();
        let issued = seconds(signer.certificate.tbs_certificate().validity().not_before);
        if (seconds(validity.not_before)..=seconds(validity.not_after)).contains(&issued) {
            return Ok(());
        }
        Err(signer.trouble(ChainTrouble::IssuedTooEarlyOrLate))
    }

    /// Checks the time, if it is known.
    pub(super) fn check_time(&self, now: Option<u64>) -> Result<(), SignatureError> {
        let validity = self.certificate.tbs_certificate().validity();
        let subject = || self.subject.clone();
        match now {
            Some(now) if now < seconds(validity.not_before) => Err(SignatureError::NotYetValid {
                subject: subject(),
                start: validity.not_before.to_date_time().to_string(),
            }),
            Some(now) if now > seconds(validity.not_after) => Err(SignatureError::Expired {
                subject: subject(),
                end: validity.not_after.to_date_time().to_string(),
            }),
            _ => Ok(()),
        }
    }

    pub(super) fn trouble(&self, trouble: ChainTrouble) -> SignatureError {
        SignatureError::Chain {
            subject: self.subject.clone(),
            trouble,
        }
    }

    fn check_critical(&self) -> Result<(), SignatureError> {
        let extensions = self.certificate.tbs_certificate().extensions();
        let unknown = extensions
            .into_iter()
            .flatten()
            .find(|one| one.critical && !KNOWN_EXTENSIONS.contains(&one.extn_id));
        match unknown {
            Some(one) => {
                Err(self.trouble(ChainTrouble::CriticalExtension(one.extn_id.to_string())))
            }
            None => Ok(()),
        }
    }

    fn extension<T>(
        &self,
        found: x509_cert::der::Result<Option<(bool, T)>>,
    ) -> Result<Option<T>, SignatureError> {
        match found {
            Ok(found) => Ok(found.map(|(_, value)| value)),
            Err(_) => Err(self.trouble(ChainTrouble::Extensions)),
        }
    }
}

/// A digest that no other list of certificates has.
pub(super) fn digest_over(chain: &[SignerCertificate]) -> [u8; 32] {
    let mut digest = Sha256::new();
    for certificate in chain {
        digest.update((certificate.der.len() as u64).to_be_bytes());
        digest.update(&certificate.der);
    }
    digest.finalize().into()
}

fn seconds(time: Time) -> u64 {
    time.to_unix_duration().as_secs()
}
