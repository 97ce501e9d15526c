//! Any bytes are a signature or an error in one line; only the pinned key and the signed files pass.
#![no_main]

use libfuzzer_sys::fuzz_target;
use twig_packages::{PinnedKey, SignatureError, SignedFiles};

/// The issuer of the certificates in the seeds.
const ISSUER: &[u8] = include_bytes!("../corpus/signature/issuer.pem");

/// What is written to a terminal is one line of a bounded length.
fn check_sentence(error: &SignatureError) {
    let sentence = error.to_string();
    assert!(!sentence.is_empty() && sentence.len() < 40_000);
    assert!(!sentence.chars().any(char::is_control), "{sentence:?}");
}

fuzz_target!(|bytes: &[u8]| {
    match PinnedKey::from_pem(bytes) {
        Ok(key) => assert_eq!(key.fingerprint().len(), "sha256:".len() + 64),
        Err(error) => check_sentence(&error),
    }
    let signed = match SignedFiles::parse(bytes) {
        Ok(signed) => signed,
        Err(error) => return check_sentence(&error),
    };
    let files: Vec<(String, [u8; 32])> =
        signed.files().map(|(path, digest)| (path.to_owned(), *digest)).collect();
    let list = || files.iter().map(|(path, digest)| (&**path, *digest));
    assert!(signed.compare(list()).is_same());
    check_sentence(&signed.verify(&[], list(), None).expect_err("no key is pinned"));
    let keys = [PinnedKey::from_pem(ISSUER).expect("a certificate")];
    match signed.verify(&keys, list(), Some(1_770_000_000)) {
        Ok(verified) => {
            assert_eq!(verified.pinned_key, keys[0].fingerprint());
            let more = list().chain([("\u{1b}added", [0; 32])]);
            check_sentence(&signed.verify(&keys, more, None).expect_err("a file was added"));
        }
        Err(error) => check_sentence(&error),
    }
});
