//! Signatures: what verifies, what does not, and how that is said.

mod signer;

use std::sync::LazyLock;

use base64::prelude::{BASE64_STANDARD, Engine as _};
use proptest::prelude::*;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use twig_packages::signature::ChainTrouble;
use twig_packages::{PinnedKey, SignatureError, SignatureVerifier, SignedFiles, VerifiedSignature};

use self::signer::{
    CA, END, ISSUES, LAST_CA, NAMES, SERVER, SIGNS, START, TestSigner, pem, signed_bytes, statement,
};

const FILES: &[(&str, &[u8])] = &[
    ("SKILL.md", b"# Review\n"),
    ("scripts/check.py", b"print(1)\n"),
];

fn signer() -> TestSigner {
    TestSigner::new("Skills 1", 1)
}

fn middle() -> TestSigner {
    TestSigner::new("Skills Issuer", 2)
}

fn root() -> TestSigner {
    TestSigner::new("Root", 3)
}

/// Signer, issuer and root.
static CHAIN: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
    vec![
        signer().certificate(&middle(), &[SIGNS]),
        middle().certificate(&root(), &[LAST_CA, ISSUES]),
        root().certificate(&root(), &[CA, ISSUES]),
    ]
});

static BUNDLE: LazyLock<Value> = LazyLock::new(|| signer().bundle(FILES, &CHAIN));

fn verify_at(
    bundle: &Value,
    keys: &[PinnedKey],
    files: &[(&str, &[u8])],
    now: Option<u64>,
) -> Result<VerifiedSignature, SignatureError> {
    let signed = SignedFiles::parse(bundle.to_string().as_bytes())?;
    let files = files.iter();
    let digests = files.map(|(path, bytes)| (*path, Sha256::digest(bytes).into()));
    signed.verify(keys, digests, now)
}

fn verify(bundle: &Value, keys: &[PinnedKey]) -> Result<VerifiedSignature, SignatureError> {
    verify_at(bundle, keys, FILES, None)
}

/// The sentence of the error.
fn refused(bundle: &Value, keys: &[PinnedKey]) -> String {
    verify(bundle, keys).unwrap_err().to_string()
}

/// The sentence for a bundle with the value at this place replaced.
fn with(bundle: &Value, place: &str, value: Value) -> Value {
    let mut bundle = bundle.clone();
    *bundle.pointer_mut(place).unwrap() = value;
    bundle
}

/// The sentence for a statement that is signed and has another value at this place.
fn signed_with(place: &str, value: Value) -> String {
    let statement = with(&statement(FILES), place, value);
    refused(
        &signer().bundle_of(&statement, &CHAIN),
        &[signer().pinned()],
    )
}

fn trouble(result: Result<VerifiedSignature, SignatureError>) -> (String, ChainTrouble) {
    match result {
        Err(SignatureError::Chain { subject, trouble }) => (subject, trouble),
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_signer_or_any_issuer_can_be_pinned() {
    let pinned_certificate = PinnedKey::from_pem(&CHAIN[2]).unwrap();
    assert_eq!(pinned_certificate.subject(), Some("CN=Root"));
    let pins = [
        (signer().pinned(), None),
        (middle().pinned(), Some("CN=Skills 1")),
        (root().pinned(), Some("CN=Skills 1")),
        (pinned_certificate, Some("CN=Skills 1")),
        (
            PinnedKey::from_pem(pem("CERTIFICATE", &CHAIN[0]).as_bytes()).unwrap(),
            Some("CN=Skills 1"),
        ),
    ];
    for (pin, subject) in pins {
        let verified = verify(&BUNDLE, std::slice::from_ref(&pin)).unwrap();
        assert_eq!(verified.pinned_key, pin.fingerprint());
        assert_eq!(verified.signing_key, signer().pinned().fingerprint());
        assert_eq!(verified.subject.as_deref(), subject);
        assert_eq!(
            (&*verified.name, verified.files, verified.ignored.len()),
            ("review", 2, 0)
        );
    }
}

#[test]
fn a_pinned_key_is_written_and_read_again() {
    for pin in [signer().pinned(), PinnedKey::from_pem(&CHAIN[2]).unwrap()] {
        let again = PinnedKey::from_pem(pin.to_pem().as_bytes()).unwrap();
        assert_eq!(again.fingerprint(), pin.fingerprint());
        assert_eq!(again.subject(), pin.subject());
    }
    let key = signer().public_key();
    assert_eq!(signer().pinned().to_pem(), pem("PUBLIC KEY", &key));
}

#[test]
fn a_pinned_root_need_not_be_in_the_bundle_and_the_order_is_free() {
    let keys = [PinnedKey::from_pem(&CHAIN[2]).unwrap()];
    let [leaf, middle, root] = &**CHAIN else {
        panic!()
    };
    for certificates in [
        vec![leaf.clone(), middle.clone()],
        vec![leaf.clone(), root.clone(), middle.clone()],
    ] {
        verify(&signer().bundle(FILES, &certificates), &keys).unwrap();
    }
    let without_middle = signer().bundle(FILES, &[leaf.clone(), root.clone()]);
    let (subject, why) = trouble(verify(&without_middle, &keys));
    assert_eq!((&*subject, why), ("CN=Skills 1", ChainTrouble::NotIssued));
}

#[test]
fn one_verifier_answers_like_a_new_one_for_each_signature() {
    let keys = [root().pinned()];
    let mut verifier = SignatureVerifier::new(&keys, None);
    let stranger = TestSigner::new("Stranger", 9);
    let own = stranger.certificate(&stranger, &[SIGNS]);
    let mut forged = CHAIN.clone();
    forged[1] = middle().certificate(&stranger, &[CA]);
    let bundles = [
        BUNDLE.clone(),
        stranger.bundle(FILES, &[own]),
        stranger.bundle(FILES, &CHAIN),
        signer().bundle(&FILES[..1], &CHAIN),
        signer().bundle(FILES, &forged),
    ];
    for bundle in bundles.iter().chain(&bundles) {
        let signed = SignedFiles::parse(bundle.to_string().as_bytes()).unwrap();
        let files = FILES.iter();
        let digests = files.map(|(path, bytes)| (*path, Sha256::digest(bytes).into()));
        assert_eq!(verifier.verify(&signed, digests), verify(bundle, &keys));
    }
    assert!(verify(&bundles[0], &keys).is_ok());
    assert!(
        bundles[1..]
            .iter()
            .all(|bundle| verify(bundle, &keys).is_err())
    );
}

#[test]
fn a_single_certificate_or_a_bare_key_will_do() {
    let mut single = BUNDLE.clone();
    single["verificationMaterial"] =
        json!({ "certificate": { "rawBytes": BASE64_STANDARD.encode(&CHAIN[0]) } });
    verify(&single, &[middle().pinned()]).unwrap();
    let mut bare = BUNDLE.clone();
    bare["verificationMaterial"] = json!({ "publicKey": { "hint": "4711" }, "tlogEntries": [] });
    let verified = verify(&bare, &[root().pinned(), signer().pinned()]).unwrap();
    assert_eq!(verified.pinned_key, signer().pinned().fingerprint());
    insta::assert_snapshot!(
        refused(&bare, &[root().pinned()]),
        @"no pinned key made this signature; the signer calls the key `4711`: ask the publisher for it, then pin it"
    );
}

#[test]
fn curve_p256_will_do() {
    use p256::ecdsa::signature::Signer as _;
    let key = p256::ecdsa::SigningKey::from_slice(&[9; 32]).unwrap();
    let payload = serde_json::to_vec(&statement(FILES)).unwrap();
    let signature: p256::ecdsa::Signature = key.sign(&signed_bytes(&payload));
    let mut bare = BUNDLE.clone();
    bare["verificationMaterial"] = json!({ "publicKey": { "hint": "" } });
    bare["dsseEnvelope"]["signatures"][0]["sig"] =
        BASE64_STANDARD.encode(signature.to_der().as_bytes()).into();
    let mut info = vec![
        0x30, 0x59, 0x30, 0x13, 6, 7, 0x2a, 0x86, 0x48, 0xce, 0x3d, 2, 1, 6, 8, 0x2a, 0x86, 0x48,
        0xce, 0x3d, 3, 1, 7, 3, 0x42, 0,
    ];
    info.extend_from_slice(key.verifying_key().to_sec1_point(false).as_bytes());
    let pinned = PinnedKey::from_pem(&info).unwrap();
    verify(&bare, &[pinned]).unwrap();
}

#[test]
fn a_key_in_the_bundle_is_not_trusted_for_being_there() {
    insta::assert_snapshot!(refused(&BUNDLE, &[]), @"it is signed with key `sha256:75b1822c26e794b40af2379a36a60b4b7f1728032033c4c4f512db90684332e7`, which is not pinned; its certificate names `CN=Skills 1`, but anybody can write that: compare the fingerprint with the publisher's, then pin the key");
    let stranger = TestSigner::new("Stranger", 9).pinned();
    let error = verify(&BUNDLE, &[stranger]).unwrap_err();
    let expected = SignatureError::UnknownKey {
        fingerprint: signer().pinned().fingerprint(),
        subject: "CN=Skills 1".to_owned(),
    };
    assert_eq!(error, expected);
}

#[test]
fn files_that_differ_are_named() {
    let check = |files: &[(&str, &[u8])]| {
        let result = verify_at(&BUNDLE, &[root().pinned()], files, None);
        result.unwrap_err().to_string()
    };
    insta::assert_snapshot!(
        check(&[("SKILL.md", b"# Revieu\n"), FILES[1]]),
        @"the files are not what was signed (changed: `SKILL.md`)"
    );
    insta::assert_snapshot!(check(&[FILES[0]]), @"the files are not what was signed (missing: `scripts/check.py`)");
    insta::assert_snapshot!(check(&[FILES[0], FILES[1], ("scripts/\u{1b}new.py", b"")]), @r#"the files are not what was signed (not signed: `scripts/\u{1b}new.py`)"#);
    let many: Vec<String> = (0..9).map(|at| format!("{at}.md")).collect();
    let many: Vec<(&str, &[u8])> = many.iter().map(|path| (&**path, &b""[..])).collect();
    insta::assert_snapshot!(check(&many), @"the files are not what was signed (missing: `SKILL.md`, `scripts/check.py`; not signed: `0.md`, `1.md`, `2.md`, `3.md`, `4.md` and 4 more)");
}

#[test]
fn excluded_files_and_the_signature_itself_are_no_difference() {
    let mut files = FILES.to_vec();
    files.extend([
        ("skill.oms.sig", &b"{}"[..]),
        (".gitattributes", b""),
        ("drafts/a/b.md", b""),
    ]);
    let verified = verify_at(&BUNDLE, &[root().pinned()], &files, None).unwrap();
    assert_eq!(verified.ignored, [".gitattributes", "drafts/a/b.md"]);
    for path in ["sub/skill.oms.sig", "sub/.gitattributes", "drafts.md", "."] {
        files.truncate(2);
        files.push((path, b""));
        let result = verify_at(&BUNDLE, &[root().pinned()], &files, None);
        let Err(SignatureError::Files(comparison)) = result else {
            panic!("{path}: {result:?}")
        };
        assert_eq!(comparison.unsigned, [path]);
    }
}

#[test]
fn issuers_are_held_to_their_certificates() {
    let check = |certificates: &[Vec<u8>]| {
        let bundle = signer().bundle(FILES, certificates);
        trouble(verify(&bundle, &[root().pinned()]))
    };
    let leaf = || CHAIN[0].clone();
    let issuer = |extensions: &[_]| middle().certificate(&root(), extensions);
    let not_an_issuer = ("CN=Skills Issuer".to_owned(), ChainTrouble::NotAnIssuer);
    assert_eq!(check(&[leaf(), issuer(&[])]), not_an_issuer);
    assert_eq!(check(&[leaf(), issuer(&[SIGNS])]), not_an_issuer);
    assert_eq!(check(&[leaf(), issuer(&[CA, SIGNS])]), not_an_issuer);
    let (_, why) = check(&[leaf(), issuer(&[CA, NAMES])]);
    assert_eq!(why, ChainTrouble::CriticalExtension("2.5.29.30".to_owned()));
    let (_, why) = check(&[leaf(), issuer(&[CA, CA])]);
    assert_eq!(why, ChainTrouble::Extensions);
    let late = middle().certificate_of(&root(), &[CA], "20260601000000Z");
    assert_eq!(check(&[leaf(), late]).1, ChainTrouble::IssuedTooEarlyOrLate);
    let second = TestSigner::new("Second", 4);
    let too_long = [
        signer().certificate(&second, &[SIGNS]),
        second.certificate(&middle(), &[CA, ISSUES]),
        issuer(&[LAST_CA]),
    ];
    assert_eq!(check(&too_long).1, ChainTrouble::PathTooLong);
    for extensions in [&[ISSUES][..], &[SIGNS, SERVER]] {
        let leaf = signer().certificate(&root(), extensions);
        assert_eq!(check(&[leaf]).1, ChainTrouble::NotForSigning);
    }
    // A certificate that was pinned and is none of an issuer issues nothing.
    let pinned = PinnedKey::from_pem(&issuer(&[SIGNS])).unwrap();
    let (subject, why) = trouble(verify(&BUNDLE, &[pinned]));
    assert_eq!((subject, why), not_an_issuer);
}

#[test]
fn certificates_expire_only_where_the_time_is_known() {
    let keys = [PinnedKey::from_pem(&CHAIN[2]).unwrap()];
    let check = |now| verify_at(&BUNDLE, &keys, FILES, Some(now));
    check(START).unwrap();
    check(END).unwrap();
    insta::assert_snapshot!(check(START - 1).unwrap_err(), @"the certificate of `CN=Skills 1` is valid only from 2026-01-01T00:00:00Z: check the clock of this machine");
    insta::assert_snapshot!(check(END + 1).unwrap_err(), @"the certificate of `CN=Skills 1` expired at 2027-01-01T00:00:00Z: ask the publisher for a new signature");
    verify_at(&BUNDLE, &keys, FILES, None).unwrap();
    let signers = [PinnedKey::from_pem(&CHAIN[0]).unwrap()];
    let expired = verify_at(&BUNDLE, &signers, FILES, Some(END + 1));
    assert!(matches!(expired, Err(SignatureError::Expired { .. })));
    // A key without a certificate does not expire.
    verify_at(&BUNDLE, &[signer().pinned()], FILES, Some(END + 1)).unwrap();
}

#[test]
fn what_is_wrong_with_a_bundle_is_said() {
    let keys = [root().pinned()];
    let envelope = "/dsseEnvelope/payloadType";
    let sig = "/dsseEnvelope/signatures/0/sig";
    let log = "/verificationMaterial/tlogEntries";
    let certificates = "/verificationMaterial/x509CertificateChain/certificates";
    let other = BASE64_STANDARD.encode(signer().sign(b"something else"));
    let big = BASE64_STANDARD.encode(vec![0; 20_000]);
    let certificate = json!({ "rawBytes": "" });
    let cases = [
        (envelope, json!("text/plain\u{1b}[2J")),
        (
            "/mediaType",
            json!("application/vnd.dev.sigstore.bundle.v0.9+json"),
        ),
        ("/dsseEnvelope/payload", json!("e30=")),
        ("/dsseEnvelope/payload", json!("{}")),
        ("/dsseEnvelope", json!(1)),
        ("/dsseEnvelope/signatures", json!([])),
        (sig, json!("a")),
        (sig, json!("")),
        (sig, json!(other)),
        (log, json!([{}])),
        (certificates, json!([])),
        (certificates, json!([certificate])),
        (certificates, json!([{ "rawBytes": big }])),
        (certificates, json!(vec![certificate.clone(); 9])),
    ];
    let said: Vec<String> = cases
        .into_iter()
        .map(|(place, value)| refused(&with(&BUNDLE, place, value), &keys))
        .collect();
    insta::assert_snapshot!(said.join("\n"));
}

#[test]
fn what_is_wrong_with_a_statement_is_said() {
    let resource =
        |name: &str| json!({ "name": name, "digest": "00".repeat(32), "algorithm": "sha256" });
    let twice = json!([resource("a"), resource("a")]);
    let mut all = Sha256::new();
    all.update([0; 64]);
    let mut statement = statement(FILES);
    statement["predicate"]["resources"] = twice;
    statement["subject"][0]["digest"]["sha256"] = twig_packages::tree::hex(&all.finalize()).into();
    let twice = signer().bundle_of(&statement, &CHAIN);
    let said = [
        signed_with("/_type", json!("x")),
        signed_with(
            "/predicateType",
            json!("https://model_signing/Digests/v0.1"),
        ),
        signed_with("/predicate/serialization/method", json!("shards")),
        signed_with("/predicate/serialization/hash_type", json!("blake3")),
        signed_with("/predicate/resources/0/algorithm", json!("blake3")),
        signed_with("/predicate/resources/0/digest", json!("00")),
        signed_with("/predicate/resources/0/digest", json!("00".repeat(32))),
        signed_with("/predicate/resources", json!([])),
        signed_with("/subject", json!([])),
        signed_with("/subject/0/digest/sha256", json!("x")),
        refused(&twice, &[signer().pinned()]),
    ];
    insta::assert_snapshot!(said.join("\n"));
}

#[test]
fn what_cannot_be_pinned_is_said() {
    let rsa = [
        0x30, 0x1a, 0x30, 0x0d, 6, 9, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 1, 5, 0, 3, 9, 0,
        0x30, 6, 2, 1, 35, 2, 1, 3,
    ];
    let certificate = pem("CERTIFICATE", &CHAIN[0]);
    let cases = [
        b"".to_vec(),
        b"hello".to_vec(),
        vec![0; 70_000],
        pem("EC PRIVATE KEY", b"x").into_bytes(),
        pem("X509 CRL", b"x").into_bytes(),
        pem("CERTIFICATE", b"x").into_bytes(),
        pem("CERTIFICATE", &vec![0; 20_000]).into_bytes(),
        certificate.repeat(2).into_bytes(),
        certificate.replace("END", "ENDE").into_bytes(),
        certificate.replace("\nMI", "\n!!").into_bytes(),
        rsa.to_vec(),
    ];
    let said: Vec<String> = cases
        .iter()
        .map(|bytes| PinnedKey::from_pem(bytes).unwrap_err().to_string())
        .collect();
    insta::assert_snapshot!(said.join("\n"));
    let with_text = format!(
        "Subject: CN=Skills 1\r\n\r\n{}",
        certificate.replace('\n', "\r\n")
    );
    let pinned = PinnedKey::from_pem(with_text.as_bytes()).unwrap();
    assert_eq!(pinned.fingerprint(), signer().pinned().fingerprint());
}

#[test]
fn huge_inputs_are_refused() {
    let said = |bytes: &[u8]| SignedFiles::parse(bytes).unwrap_err().to_string();
    insta::assert_snapshot!(said(&vec![b' '; 4 * 1024 * 1024 + 1]), @"the signature has 4194305 bytes, and the limit is 4194304");
    let deep = SignedFiles::parse("[".repeat(100_000).as_bytes());
    assert!(matches!(deep, Err(SignatureError::TooDeep { .. })));
    let names: Vec<String> = (0..20_001).map(|at| at.to_string()).collect();
    let list = |count: usize| {
        let files: Vec<(&str, &[u8])> = names[..count]
            .iter()
            .map(|name| (&**name, &b""[..]))
            .collect();
        signer().bundle(&files, &[]).to_string().replace(
            "\"x509CertificateChain\":{\"certificates\":[]}",
            "\"publicKey\":{}",
        )
    };
    assert_eq!(
        SignedFiles::parse(list(20_000).as_bytes())
            .unwrap()
            .files()
            .count(),
        20_000
    );
    insta::assert_snapshot!(said(list(20_001).as_bytes()), @"the signature has 20001 files, and the limit is 20000");
}

/// Base64 of a field with one bit of the decoded bytes changed.
fn flip(bundle: &Value, place: &str, bit: usize) -> Value {
    let text = bundle.pointer(place).and_then(Value::as_str).unwrap();
    let mut bytes = BASE64_STANDARD.decode(text).unwrap();
    let bit = bit % (bytes.len() * 8);
    bytes[bit / 8] ^= 1 << (bit % 8);
    with(bundle, place, BASE64_STANDARD.encode(bytes).into())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn one_changed_bit_never_verifies(
        bit in any::<usize>(),
        place in proptest::sample::select(vec![
            "/dsseEnvelope/payload",
            "/dsseEnvelope/signatures/0/sig",
            "/verificationMaterial/x509CertificateChain/certificates/0/rawBytes",
            "/verificationMaterial/x509CertificateChain/certificates/1/rawBytes",
        ]),
    ) {
        let changed = flip(&BUNDLE, place, bit);
        prop_assert!(verify(&changed, &[root().pinned()]).is_err());
    }

    /// The bundle's copy of the root says nothing that counts: with any bit changed, the signature
    /// is refused, or the answer is the same.
    #[test]
    fn one_changed_bit_of_the_root_changes_no_answer(bit in any::<usize>()) {
        let place = "/verificationMaterial/x509CertificateChain/certificates/2/rawBytes";
        let keys = [root().pinned()];
        if let Ok(verified) = verify(&flip(&BUNDLE, place, bit), &keys) {
            prop_assert_eq!(verified, verify(&BUNDLE, &keys).unwrap());
        }
    }

    #[test]
    fn changed_text_never_panics(at in any::<usize>(), byte in any::<u8>()) {
        let mut text = BUNDLE.to_string().into_bytes();
        let at = at % text.len();
        text[at] = byte;
        if let Ok(signed) = SignedFiles::parse(&text) {
            prop_assert!(signed.verify(&[], [], None).is_err());
        }
    }

    #[test]
    fn any_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        prop_assert!(SignedFiles::parse(&bytes).is_err());
        prop_assert!(PinnedKey::from_pem(&bytes).is_err());
        let _ = PinnedKey::from_pem(pem("CERTIFICATE", &bytes).as_bytes());
        let certificate = json!([{ "rawBytes": BASE64_STANDARD.encode(&bytes) }]);
        let place = "/verificationMaterial/x509CertificateChain/certificates";
        prop_assert!(verify(&with(&BUNDLE, place, certificate), &[root().pinned()]).is_err());
        let payload = json!(BASE64_STANDARD.encode(&bytes));
        prop_assert!(verify(&with(&BUNDLE, "/dsseEnvelope/payload", payload), &[]).is_err());
    }
}
