//! `twig verify`: compares the files of packages with their lists, and verifies their signatures with
//! the keys that the user pinned. Nothing is read from the network.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use serde::Serialize;
use twig_packages::{LockedLibrary, PackageSource, PinnedKey, SignatureError};
use twig_sources::{
    ChangedFile, CheckedPackage, LockError, PackageError, PackageSignatures, PackageStore,
    SkillSignature, SourceKeys,
};

use super::package_row::PackageRow;
use super::scope::selected;
use super::{pinned_keys, seconds_now, store, version_of};
use crate::command_error::{CommandError, ErrorKind, not_locked, reason};
use crate::commands::check::counted;
use crate::places::Places;
use crate::ui::Ui;

/// The most lines about one package that are printed.
const LINES: usize = 60;

/// The largest file with a key.
const KEY_FILE: u64 = 64 * 1024;

/// The fewest digits of a fingerprint that name a key.
const FEWEST_DIGITS: usize = 8;

// Files against their lists, signatures against keys.
#[derive(Debug, Args)]
pub(crate) struct VerifyArgs {
    /// The packages; all of them without names
    #[arg(value_name = "NAME")]
    names: Vec<String>,

    /// Pin the key or certificate in this file, which you got from the publisher and not from the
    /// package: what comes from sources that match --for has to be signed with it
    #[arg(
        long,
        value_name = "FILE",
        requires = "pattern",
        conflicts_with = "names"
    )]
    trust_key: Option<PathBuf>,

    /// The sources of --trust-key, such as `NVIDIA/*`; `*` stands for any characters
    #[arg(
        long = "for",
        id = "pattern",
        value_name = "PATTERN",
        requires = "trust_key"
    )]
    pattern: Option<String>,

    /// List the pinned keys
    #[arg(long, conflicts_with_all = ["names", "trust_key"])]
    keys: bool,

    /// Remove a pinned key, by its fingerprint or the first digits of it
    #[arg(long, value_name = "FINGERPRINT", conflicts_with_all = ["names", "trust_key", "keys"])]
    distrust_key: Option<String>,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// One package as scripts see it; this shape is stable.
#[derive(Debug, Serialize)]
struct VerifiedPackage {
    #[serde(flatten)]
    package: PackageRow,
    #[serde(skip_serializing_if = "Option::is_none")]
    tree: Option<String>,
    files: usize,
    /// The files that differ from the list.
    changed: Vec<ChangedFileRow>,
    /// Whether a key is pinned for its source.
    pinned: bool,
    signatures: Vec<SignatureRow>,
    /// Skills without a signature, if a key is pinned.
    unsigned: Vec<String>,
    /// Why it could not be verified.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    /// False if anything differs.
    unchanged: bool,
}

/// A file that differs from the list, as scripts see it.
#[derive(Debug, Serialize)]
struct ChangedFileRow {
    path: String,
    /// `changed`, `missing`, `added`, `unreadable` or `mode`.
    difference: &'static str,
}

/// A signature, as scripts see it.
#[derive(Debug, Serialize)]
struct SignatureRow {
    path: String,
    /// `verified`, `not pinned`, or `failed`.
    state: &'static str,
    /// The fingerprint of the key that made it.
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<String>,
    /// The fingerprint of the pinned key that vouches for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pinned_key: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    subject: Option<String>,
    /// What is wrong with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<String>,
}

/// A pinned key as scripts see it; this shape is stable.
#[derive(Debug, Serialize)]
struct PinnedKeyRow {
    fingerprint: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    subject: Option<String>,
    #[serde(rename = "for")]
    pattern: String,
}

pub(crate) fn run(options: &VerifyArgs, ui: &mut Ui) -> Result<ExitCode, CommandError> {
    let places = Places::from_environment();
    if let (Some(file), Some(pattern)) = (&options.trust_key, &options.pattern) {
        pin(&places, file, pattern, ui)?;
    } else if let Some(fingerprint) = &options.distrust_key {
        forget(&places, fingerprint, ui)?;
    } else if !options.keys {
        return verify(options, &places, ui);
    }
    // What was changed is said; scripts get the keys as they are now.
    let is_change = options.trust_key.is_some() || options.distrust_key.is_some();
    list_keys(&places, options.json, is_change, ui)
}

fn verify(options: &VerifyArgs, places: &Places, ui: &mut Ui) -> Result<ExitCode, CommandError> {
    let store = store(places)?;
    let keys = pinned_keys(places)?;
    let packages = selected(places, &options.names)?;
    let mut rows = Vec::new();
    {
        let progress = ui.counted_progress("verifying packages", packages.len());
        for (scope, package) in packages {
            let lock = scope.read_lock(places)?;
            let name = &package.wanted.name;
            let locked = lock.library(name).filter(|it| package.wanted.is_of(it));
            rows.push(match locked {
                Some(locked) => Verification::of(&store, locked, &keys),
                None => Verification {
                    row: VerifiedPackage {
                        error: Some("it is not in the lock: run `twig install`".to_owned()),
                        ..VerifiedPackage::new(PackageRow::unlocked(
                            name.as_str(),
                            &package.wanted.source,
                        ))
                    },
                    version: String::new(),
                    lines: Vec::new(),
                    hint: None,
                },
            });
            progress.step();
        }
    }
    let is_unchanged = rows.iter().all(|it| it.row.unchanged);
    if options.json {
        let rows: Vec<&VerifiedPackage> = rows.iter().map(|it| &it.row).collect();
        ui.json(&rows)?;
    } else {
        print(&rows, ui)?;
    }
    let code = u8::from(!is_unchanged);
    Ok(ExitCode::from(code))
}

fn print(rows: &[Verification], ui: &mut Ui) -> Result<(), CommandError> {
    for it in rows {
        ui.line(it.summary())?;
        for line in it.lines.iter().take(LINES) {
            ui.line(format!("  {line}"))?;
        }
        if it.lines.len() > LINES {
            ui.line(format!("  … and {} more", it.lines.len() - LINES))?;
        }
    }
    if rows.is_empty() {
        ui.say("there are no packages: `twig add owner/repo` adds one");
    }
    if rows.iter().any(|it| !it.row.changed.is_empty()) {
        ui.say("hint: `twig install --repair` fetches packages again that were changed");
    }
    let mut hints: Vec<&String> = rows.iter().filter_map(|it| it.hint.as_ref()).collect();
    hints.sort();
    hints.dedup();
    for hint in hints {
        ui.say(format!("hint: {hint}"));
    }
    Ok(())
}

/// What is known about one package.
struct Verification {
    row: VerifiedPackage,
    version: String,
    /// What is to be said below its first line.
    lines: Vec<String>,
    /// How to pin the key that signed it.
    hint: Option<String>,
}

impl VerifiedPackage {
    fn new(package: PackageRow) -> Self {
        Self {
            package,
            tree: None,
            files: 0,
            changed: Vec::new(),
            pinned: false,
            signatures: Vec::new(),
            unsigned: Vec::new(),
            error: None,
            unchanged: false,
        }
    }
}

impl Verification {
    fn of(store: &PackageStore, locked: &LockedLibrary, keys: &SourceKeys) -> Self {
        let row = VerifiedPackage {
            tree: Some(locked.tree.to_string()),
            ..VerifiedPackage::new(PackageRow::of(locked))
        };
        let mut verification = Self {
            row,
            version: version_of(locked),
            lines: Vec::new(),
            hint: None,
        };
        match store.check_signed(locked.tree) {
            Ok(checked) => verification.add(locked, &checked, &keys.for_source(&locked.source)),
            Err(error) => {
                let hint = match error {
                    PackageError::BadList { .. } => ": run `twig install --repair`",
                    _ => ": run `twig install`",
                };
                verification.row.error = Some(format!("{error}{hint}"));
            }
        }
        verification
    }

    fn add(&mut self, locked: &LockedLibrary, checked: &CheckedPackage, keys: &[PinnedKey]) {
        let row = &mut self.row;
        row.files = checked.files.files().len();
        row.pinned = !keys.is_empty();
        for ChangedFile { path, difference } in &checked.changed {
            let difference = difference.as_str();
            self.lines.push(format!("{difference:<10}  {path}"));
            row.changed.push(ChangedFileRow {
                path: path.clone(),
                difference,
            });
        }
        let signatures =
            PackageSignatures::check(&checked.files, &checked.signatures, keys, seconds_now());
        for signature in &signatures.found {
            row.signatures
                .push(signature_row(signature, &checked.changed, row.pinned));
        }
        if row.pinned {
            row.unsigned.clone_from(&signatures.unsigned);
        }
        row.unchanged = row.changed.is_empty()
            && row.unsigned.is_empty()
            && row.signatures.iter().all(|it| it.state != "failed");
        if row.pinned && signatures.found.is_empty() {
            row.unchanged = false;
            let message = "a key is pinned for its source, and nothing in it is signed";
            row.error = Some(message.to_owned());
        }
        self.add_signature_lines(locked, &signatures);
    }

    fn add_signature_lines(&mut self, locked: &LockedLibrary, signatures: &PackageSignatures) {
        let row = &self.row;
        let mut unknown: BTreeMap<(&str, &str), usize> = BTreeMap::new();
        for signature in &row.signatures {
            let path = &signature.path;
            match (signature.state, &signature.why) {
                ("failed", Some(why)) => self.lines.push(format!("error: {path}: {why}")),
                ("not pinned", why) => {
                    let subject = signature.subject.as_deref().unwrap_or_default();
                    if let Some(key) = &signature.key {
                        *unknown.entry((key, subject)).or_default() += 1;
                    }
                    let why = why.iter();
                    self.lines
                        .extend(why.map(|why| format!("note: {path}: {why}")));
                }
                _ => {}
            }
        }
        for path in &row.unsigned {
            let line = format!("error: {path} is not signed, and a key is pinned for its source");
            self.lines.push(line);
        }
        for ((key, subject), count) in unknown {
            let skills = counted(count, "skill is", "skills are");
            let subject = match subject {
                "" => String::new(),
                subject => format!(" (its certificate names `{subject}`)"),
            };
            self.lines.push(format!(
                "{skills} signed by {key}{subject}, which is not pinned for this source"
            ));
            self.hint = Some(format!(
                "get the key from the publisher, compare its fingerprint, and pin it: `twig verify --trust-key FILE --for '{}'`",
                pattern_for(&locked.source)
            ));
        }
        let has_verified = row.signatures.iter().any(|it| it.state == "verified");
        if has_verified && signatures.uncovered > 0 {
            let files = counted(signatures.uncovered, "file is", "files are");
            self.lines.push(format!("{files} in no signed folder"));
        }
        if let Some(key) = locked.signed_by.as_ref().filter(|_| !row.pinned) {
            self.lines.push(format!(
                "the lock says that it was signed by {key}, which is not pinned on this machine"
            ));
        }
    }

    /// The first line: what is unchanged, and who signed it. It never says that anything is safe.
    fn summary(&self) -> String {
        let row = &self.row;
        let start = format!("{}  {}", row.package.name, self.version);
        let start = start.trim_end();
        if let Some(error) = row.error.as_ref().filter(|_| row.files == 0) {
            return format!("{start}  {error}");
        }
        let mut parts = vec![match row.changed.len() {
            0 => format!("{} unchanged", counted(row.files, "file", "files")),
            changed => format!("{} differ from the list", counted(changed, "file", "files")),
        }];
        let mut signed: BTreeMap<&str, usize> = BTreeMap::new();
        for signature in row.signatures.iter().filter(|it| it.state == "verified") {
            let key = signature.pinned_key.as_deref().unwrap_or_default();
            *signed.entry(key).or_default() += 1;
        }
        parts.extend(signed.iter().map(|(key, count)| {
            let skills = counted(*count, "skill", "skills");
            format!("{skills} signed by {key} and unchanged")
        }));
        parts.extend(row.error.clone());
        format!("{start}  {}", parts.join("; "))
    }
}

fn signature_row(
    signature: &SkillSignature,
    changed: &[ChangedFile],
    is_pinned: bool,
) -> SignatureRow {
    let folder = signature
        .path
        .rfind('/')
        .map_or("", |at| &signature.path[..=at]);
    let mut row = SignatureRow {
        path: signature.path.clone(),
        state: "failed",
        key: None,
        pinned_key: None,
        subject: None,
        why: None,
    };
    let mut below = changed.iter().filter(|it| it.path.starts_with(folder));
    match &signature.verdict {
        Ok(verified) => {
            row.key = Some(verified.signing_key.clone());
            row.pinned_key = Some(verified.pinned_key.clone());
            row.subject.clone_from(&verified.subject);
            // The list of the package is as it was signed, and the files are not.
            match below.next() {
                Some(file) => row.why = Some(format!("`{}` differs from the list", file.path)),
                None => row.state = "verified",
            }
        }
        Err(error) => {
            if let SignatureError::UnknownKey {
                fingerprint,
                subject,
            } = error
            {
                row.key = Some(fingerprint.clone());
                row.subject = Some(subject.clone());
            }
            let is_unknown = row.key.is_some();
            row.why = Some(error.to_string());
            if !is_pinned {
                row.state = "not pinned";
                let differs = signature.comparison.as_ref().filter(|it| !it.is_same());
                if is_unknown {
                    row.why = differs.map(|it| format!("it does not match its files: {it}"));
                }
            }
        }
    }
    row
}

/// The pattern that a person would pin a key for.
fn pattern_for(source: &PackageSource) -> String {
    match source {
        PackageSource::GitHub { owner, .. } => format!("{owner}/*"),
        source => source.to_string(),
    }
}

/// Pins the key in a file for the sources that match a pattern.
fn pin(places: &Places, file: &Path, pattern: &str, ui: &mut Ui) -> Result<(), CommandError> {
    let is_pattern = !pattern.is_empty()
        && pattern.len() <= 2_048
        && !pattern.contains(|c: char| c.is_control() || c.is_whitespace());
    if !is_pattern || !pattern.contains(['/', '*', ':']) {
        let message = format!("`{pattern}` matches no source");
        let error = CommandError::new(ErrorKind::Usage, message);
        return Err(error.hint("write it as `owner/repo`, `owner/*` or the address of a source"));
    }
    let shown = places.shown(file);
    let refused = |why: String| CommandError::fixable(format!("{shown} was not pinned: {why}"));
    // The publisher of a package could put any key in it.
    let path = file.canonicalize().unwrap_or_else(|_| file.to_owned());
    let packages = places
        .packages
        .as_ref()
        .and_then(|it| it.canonicalize().ok());
    if packages.is_some_and(|packages| path.starts_with(packages)) {
        let error = refused("a key that comes with a package proves nothing about it".to_owned());
        return Err(error.hint("get it from the publisher in another way"));
    }
    let mut bytes = Vec::new();
    let read =
        std::fs::File::open(file).and_then(|file| file.take(KEY_FILE + 1).read_to_end(&mut bytes));
    read.map_err(|error| refused(reason(&error)))?;
    let key = PinnedKey::from_pem(&bytes).map_err(|error| refused(error.to_string()))?;
    let (fingerprint, subject) = (key.fingerprint(), key.subject().map(ToOwned::to_owned));
    let is_new = change(places, |keys| keys.pin(pattern, key))?;
    let named = subject.map_or_else(String::new, |it| format!(" (`{it}`)"));
    ui.say(if is_new {
        format!("what comes from {pattern} has to be signed by {fingerprint}{named} from now on")
    } else {
        format!("{fingerprint}{named} was pinned for {pattern} before, and nothing changed")
    });
    Ok(())
}

/// Removes a pinned key.
fn forget(places: &Places, text: &str, ui: &mut Ui) -> Result<(), CommandError> {
    let digits = text.strip_prefix("sha256:").unwrap_or(text).to_lowercase();
    let keys = pinned_keys(places)?;
    let mut known: Vec<String> = keys.keys().iter().map(|it| it.key.fingerprint()).collect();
    known.sort();
    known.dedup();
    let is_it = |it: &&String| {
        let all = it.strip_prefix("sha256:").unwrap_or(it);
        all.starts_with(&*digits) && digits.len() >= FEWEST_DIGITS
    };
    let found: Vec<&String> = known.iter().filter(is_it).collect();
    let [fingerprint] = &*found else {
        let why = match found.len() {
            0 => "is pinned",
            _ => "is meant, since several start with this",
        };
        let error = CommandError::fixable(format!("no key `{text}` {why}"));
        return Err(error.hint("`twig verify --keys` lists the pinned keys"));
    };
    let gone = change(places, |keys| keys.forget(fingerprint))?;
    ui.say(format!(
        "{fingerprint} is not pinned any more for {}",
        gone.join(", ")
    ));
    Ok(())
}

fn change<R>(
    places: &Places,
    change: impl FnOnce(&mut SourceKeys) -> R,
) -> Result<R, CommandError> {
    let Some(path) = places.keys() else {
        let error = CommandError::fixable("there is no place for pinned keys");
        return Err(error.hint("set HOME or XDG_DATA_HOME to an absolute path"));
    };
    let shown = places.shown(&path);
    SourceKeys::change(&path, change).map_err(|error| match error {
        LockError::Io(error) => {
            CommandError::fixable(format!("{shown} was not changed: {}", reason(&error)))
        }
        error => not_locked(&shown, &error),
    })
}

fn list_keys(
    places: &Places,
    is_json: bool,
    is_change: bool,
    ui: &mut Ui,
) -> Result<ExitCode, CommandError> {
    let keys = pinned_keys(places)?;
    let rows = keys.keys().iter().map(|it| PinnedKeyRow {
        fingerprint: it.key.fingerprint(),
        subject: it.key.subject().map(ToOwned::to_owned),
        pattern: it.pattern.clone(),
    });
    let rows: Vec<PinnedKeyRow> = rows.collect();
    if is_json {
        ui.json(&rows)?;
    } else if !is_change {
        let cells = rows.iter().map(|row| {
            let subject = row.subject.clone().unwrap_or_default();
            vec![row.pattern.clone(), row.fingerprint.clone(), subject]
        });
        ui.table(&cells.collect::<Vec<_>>())?;
        if rows.is_empty() {
            ui.say("no keys are pinned: `twig verify --trust-key FILE --for 'owner/*'` pins one");
        }
    }
    Ok(ExitCode::SUCCESS)
}
