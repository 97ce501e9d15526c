//! Whether a pinned key stands behind a signer: it is the signer's own, or it issued the signer's
//! certificate, directly or through other certificates of the bundle.

use crate::signature::PinnedKey;
use crate::signature::certificate::SignerCertificate;
use crate::signature::error::{ChainTrouble, SignatureError};

/// Who signed, and which pinned key says so.
#[derive(Debug, Clone)]
pub(super) struct Trusted {
    pub(super) pinned_key: String,
    pub(super) signing_key: String,
    /// From a certificate that was pinned or that the pinned key issued, never from one that only
    /// lies in the bundle.
    pub(super) subject: Option<String>,
}

impl Trusted {
    /// The pinned key is the signer's own. A pinned certificate has to be valid now; what the
    /// bundle's certificate for the same key says does not matter.
    pub(super) fn directly(pinned: &PinnedKey, now: Option<u64>) -> Result<Self, SignatureError> {
        if let Some(certificate) = &pinned.certificate {
            certificate.check_time(now)?;
        }
        Ok(Self {
            pinned_key: pinned.fingerprint(),
            signing_key: pinned.fingerprint(),
            subject: pinned.subject().map(str::to_owned),
        })
    }
}

/// Finds the pinned key behind the first certificate of a chain, whose order is otherwise free.
pub(super) fn trust(
    chain: &[SignerCertificate],
    keys: &[PinnedKey],
    now: Option<u64>,
) -> Result<Trusted, SignatureError> {
    let signer = chain.first().ok_or(SignatureError::NoKey)?;
    let own = keys.iter().find(|pinned| pinned.key.is_same(signer.key()));
    if let Some(own) = own {
        return Trusted::directly(own, now);
    }
    let mut path = vec![signer];
    let mut current = signer;
    loop {
        if let Some(pinned) = keys.iter().find(|pinned| has_issued(pinned, current)) {
            check_path(signer, &path, pinned, now)?;
            return Ok(Trusted {
                pinned_key: pinned.fingerprint(),
                signing_key: signer.key().fingerprint(),
                subject: Some(signer.subject().to_owned()),
            });
        }
        let issuer = chain.iter().find(|issuer| {
            let is_used = path.iter().any(|used| std::ptr::eq(*used, *issuer));
            !is_used && current.names_issuer(issuer) && current.is_signed_by(issuer.key())
        });
        match issuer {
            Some(issuer) => path.push(issuer),
            None => return Err(not_trusted(chain, signer, keys)),
        }
        current = path[path.len() - 1];
    }
}

fn has_issued(pinned: &PinnedKey, certificate: &SignerCertificate) -> bool {
    let issuer = pinned.certificate.as_ref();
    issuer.is_none_or(|issuer| certificate.names_issuer(issuer))
        && certificate.is_signed_by(&pinned.key)
}

/// Checks the certificates from the signer's up, and the pinned one.
fn check_path(
    signer: &SignerCertificate,
    path: &[&SignerCertificate],
    pinned: &PinnedKey,
    now: Option<u64>,
) -> Result<(), SignatureError> {
    signer.check_signer()?;
    signer.check_time(now)?;
    for (below, issuer) in path.iter().skip(1).enumerate() {
        issuer.check_issuer(below)?;
        issuer.check_valid_for(signer)?;
        issuer.check_time(now)?;
    }
    if let Some(certificate) = &pinned.certificate {
        certificate.check_issuer(path.len() - 1)?;
        certificate.check_time(now)?;
    }
    Ok(())
}

fn not_trusted(
    chain: &[SignerCertificate],
    signer: &SignerCertificate,
    keys: &[PinnedKey],
) -> SignatureError {
    let is_pinned =
        |one: &SignerCertificate| keys.iter().any(|pinned| pinned.key.is_same(one.key()));
    if chain.iter().any(is_pinned) {
        return signer.trouble(ChainTrouble::NotIssued);
    }
    SignatureError::UnknownKey {
        fingerprint: signer.key().fingerprint(),
        subject: signer.subject().to_owned(),
    }
}
