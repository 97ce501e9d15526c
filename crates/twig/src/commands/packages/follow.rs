//! Follows packages: a thread of a server asks their sources for newer commits, fetches and checks
//! them, and has them served.
//!
//! A commit that cannot be fetched or fails the check is not taken: the last one stays.

use std::collections::BTreeMap;
use std::hash::{BuildHasher as _, RandomState};
use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use twig_core::store::StoreError;
use twig_core::{Latest, LibraryName, Problem, Severity};
use twig_packages::{LockedLibrary, PackageLock};
use twig_sources::{
    AgreedState, CommitAgreement, FetchStop, FollowProblem, FollowRecord, GitLogin, LiveCatalog,
    LookOutcome, PackageError, PackageFetcher, PackageStore, Remembered, ResolvedReference,
    WantedPackage,
};

use super::add::opened;
use super::resolve::{fetch, fetch_locked};
use super::scope::PackageScope;
use super::{fetcher, seconds_now, short, version_of};
use crate::command_error::{CommandError, reason};
use crate::commands::check::counted;
use crate::config::Config;
use crate::follow_signals::{FollowGauge, FollowSignals};
use crate::places::Places;

/// How many sources are asked at the same time.
const AT_ONCE: usize = 8;

/// The least time between two looks because of hints.
const HINT: Duration = Duration::from_secs(1);

/// How often a lease is renewed while a source is asked.
const RENEWED: Duration = Duration::from_secs(10);

/// How often to look whether the configuration has other packages, and what other replicas agreed on.
const LOOK: Duration = Duration::from_secs(1);

/// The longest pause after attempts that failed.
const LONGEST_PAUSE: Duration = Duration::from_secs(15 * 60);

/// How long a commit that was refused is not fetched again: the limits or the keys of this machine
/// may be other ones by then.
const REFUSED: Duration = Duration::from_secs(60 * 60);

/// The longest token file, in bytes.
const TOKEN_FILE: u64 = 16 * 1024;

/// The thread that follows packages; dropping it ends it.
pub(in crate::commands) struct FollowerThread {
    signals: Arc<FollowSignals>,
    stop: FetchStop,
    thread: Option<JoinHandle<()>>,
}

impl FollowerThread {
    /// Starts to follow what the configuration says, now and later.
    pub(in crate::commands) fn start(
        places: &Places,
        config: &Config,
        live: &Arc<LiveCatalog>,
        signals: &Arc<FollowSignals>,
    ) -> Result<Self, CommandError> {
        // Connects when the first package is followed.
        let agreement = config.store.place(places);
        let agreement = agreement.map(|place| place.and_then(|it| it.agreement()));
        let stop = FetchStop::default();
        let follower = PackageFollower {
            places: places.clone(),
            live: Arc::clone(live),
            signals: Arc::clone(signals),
            stop: stop.clone(),
            agreement: agreement?,
            publishing: Mutex::default(),
        };
        let thread = std::thread::Builder::new().name("follower".to_owned());
        Ok(Self {
            signals: Arc::clone(signals),
            stop,
            thread: Some(thread.spawn(move || follower.run())?),
        })
    }
}

impl Drop for FollowerThread {
    fn drop(&mut self) {
        self.stop.set();
        self.signals.end();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// What the thread works with.
struct PackageFollower {
    places: Places,
    live: Arc<LiveCatalog>,
    signals: Arc<FollowSignals>,
    stop: FetchStop,
    /// Where replicas agree, if there is a database.
    agreement: Option<Box<dyn CommitAgreement>>,
    /// Held while the files about followed packages are changed.
    publishing: Mutex<()>,
}

/// A package that is followed.
struct FollowedPackage {
    remembered: Remembered,
    wanted: WantedPackage,
    every: Duration,
    due: Instant,
    failures: u32,
    refused: Option<RefusedCommit>,
    /// What was written down last.
    noted: Option<(Option<u64>, Option<FollowProblem>)>,
    /// What the replicas agreed on, if it is served here.
    agreed: Option<LockedLibrary>,
    /// Whether the files on this machine were compared with their list since the start.
    is_checked: bool,
}

/// A commit that is not served, and until when it is not fetched again.
struct RefusedCommit {
    commit: String,
    problem: FollowProblem,
    until: Instant,
}

impl FollowedPackage {
    fn new(remembered: Remembered) -> Option<Self> {
        Some(Self {
            wanted: remembered.package.clone()?,
            every: remembered.followed.as_ref()?.every,
            remembered,
            due: Instant::now(),
            failures: 0,
            refused: None,
            noted: None,
            agreed: None,
            is_checked: false,
        })
    }

    /// The time until the next look: servers that start together do not ask together.
    fn pause(&self) -> Duration {
        let longest = LONGEST_PAUSE.max(self.every);
        let pause = self.every.saturating_mul(1 << self.failures.min(16));
        let spread = RandomState::new().hash_one(0) % 401;
        pause.min(longest) * (800 + u32::try_from(spread).unwrap_or(200)) / 1_000
    }

    /// Counts a failure, after which the next attempt comes later.
    fn fail(&mut self) {
        self.failures += 1;
        self.due = Instant::now() + self.pause();
    }

    /// Why a commit is refused, as long as it is not fetched again.
    fn refusal(&self, commit: &str) -> Option<&FollowProblem> {
        let refused = self.refused.as_ref()?;
        let is_it = refused.commit == commit && Instant::now() < refused.until;
        is_it.then_some(&refused.problem)
    }

    /// What the metrics say about it.
    fn gauge(&self, follower: &PackageFollower) -> Option<FollowGauge> {
        let lock = follower.places.followed_lock()?;
        let lock = twig_sources::read_lock(&lock).ok()?;
        let locked = lock.library(&self.wanted.name);
        let record = self.noted.as_ref()?;
        Some(FollowGauge {
            library: self.wanted.name.to_string(),
            commit: locked.and_then(|it| it.commit.clone()).unwrap_or_default(),
            looked_at: record.0,
            has_problem: record.1.is_some(),
        })
    }

    fn refuse(&mut self, commit: &str, problem: &FollowProblem) {
        if self.refusal(commit).is_none() {
            self.refused = Some(RefusedCommit {
                commit: commit.to_owned(),
                problem: problem.clone(),
                until: Instant::now() + REFUSED,
            });
        }
    }
}

impl PackageFollower {
    fn run(&self) {
        let mut packages: BTreeMap<LibraryName, FollowedPackage> = BTreeMap::new();
        let mut news = self.signals.wait(Duration::ZERO);
        let mut last_hint: Option<Instant> = None;
        while !news.is_end {
            // Hints that come together are one.
            let rest = last_hint.map_or(Duration::ZERO, |it| HINT.saturating_sub(it.elapsed()));
            if news.is_hint && !rest.is_zero() {
                self.signals.hint();
                news = self.signals.rest(rest);
                continue;
            }
            if news.is_hint {
                last_hint = Some(Instant::now());
            }
            self.take_over(&mut packages);
            let states = self.agreed(&mut packages, news.is_hint);
            let now = Instant::now();
            let due = packages.values_mut().zip(states);
            let due = due
                .filter(|(package, state)| news.is_hint || state.is_some() || package.due <= now);
            let due: Vec<Mutex<_>> = due.map(Mutex::new).collect();
            twig_sources::side_by_side(&due, AT_ONCE, |package| {
                let mut package = package.lock().unwrap_or_else(PoisonError::into_inner);
                let (package, state) = &mut *package;
                match state {
                    Some(state) => self.look_together(package, state, news.is_hint),
                    None => self.look_alone(package),
                }
            });
            drop(due);
            self.signals
                .show(packages.values().filter_map(|it| it.gauge(self)).collect());
            let next = packages.values().map(|it| it.due).min();
            let next = next.map_or(LOOK, |due| due.saturating_duration_since(Instant::now()));
            let is_alone = self.agreement.is_none();
            news = self
                .signals
                .wait(if is_alone { next.min(LOOK) } else { LOOK });
        }
    }

    /// Takes over what the configuration says now.
    fn take_over(&self, packages: &mut BTreeMap<LibraryName, FollowedPackage>) {
        let mut before = std::mem::take(packages);
        for remembered in self.live.followed() {
            let Some(new) = FollowedPackage::new(remembered) else {
                continue;
            };
            let known = before.remove(&new.wanted.name);
            let known = known.filter(|it| it.remembered == new.remembered);
            packages.insert(new.wanted.name.clone(), known.unwrap_or(new));
        }
        if !before.is_empty() {
            self.forget(packages);
        }
    }

    /// Removes what is known of packages that are not followed any more.
    fn forget(&self, packages: &BTreeMap<LibraryName, FollowedPackage>) {
        let Ok(scope) = PackageScope::followed(&self.places) else {
            return;
        };
        let _alone = self.alone();
        let changed = scope.change_lock(&self.places, None, |lock| {
            lock.retain(|it| packages.contains_key(&it.name));
        });
        if let Err(error) = changed {
            tracing::warn!("{}", error.message);
        }
        let _ = FollowRecord::retain(&scope.lock, |name| {
            packages.keys().any(|known| known.as_str() == name)
        });
    }

    /// What the replicas agreed on about each package; nothing without a database, or while it is
    /// away: then the last commits stay.
    fn agreed(
        &self,
        packages: &mut BTreeMap<LibraryName, FollowedPackage>,
        is_hint: bool,
    ) -> Vec<Option<AgreedState>> {
        let wanted: Vec<WantedPackage> = packages.values().map(|it| it.wanted.clone()).collect();
        let Some(agreement) = self.agreement.as_deref().filter(|_| !wanted.is_empty()) else {
            return vec![None; wanted.len()];
        };
        let hinted = if is_hint {
            agreement.hint(&wanted)
        } else {
            Ok(())
        };
        match hinted.and_then(|()| agreement.read(&wanted)) {
            Ok(states) => states.into_iter().map(Some).collect(),
            Err(error) => {
                for package in packages.values_mut() {
                    let error = CommandError::fixable(error.to_string());
                    self.note(package, None, Some(later(&package.wanted.name, error)));
                }
                Vec::new()
            }
        }
    }

    /// Looks at the source of a package once, and serves what it finds.
    fn look_alone(&self, package: &mut FollowedPackage) {
        let outcome = self.follow(package);
        // An end may be why it failed. What was taken is noted at the end, too.
        if self.stop.is_set() && outcome.is_err() {
            return;
        }
        match outcome {
            Ok(refusal) => {
                package.failures = 0;
                package.due = Instant::now() + package.pause();
                self.note(package, seconds_now(), refusal);
            }
            Err(problem) => {
                package.fail();
                self.note(package, None, Some(problem));
            }
        }
    }

    /// Brings a package to the commit that its reference names now; returns why that is refused, if it
    /// is.
    fn follow(
        &self,
        package: &mut FollowedPackage,
    ) -> Result<Option<FollowProblem>, FollowProblem> {
        let (fetcher, locked) = self.begin(package)?;
        match self.find(package, &fetcher, locked.as_ref())? {
            LookOutcome::Taken(next) => {
                self.publish(&fetcher.store, locked, &next)
                    .map_err(|error| later(&package.wanted.name, error))?;
                package.refused = None;
                Ok(None)
            }
            LookOutcome::Refused { commit, problem } => {
                package.refuse(&commit, &problem);
                Ok(Some(problem))
            }
            LookOutcome::Same | LookOutcome::Failed => {
                package.refused = None;
                Ok(None)
            }
        }
    }

    /// Serves what the replicas agreed on; asks the source if it is time and no other replica does.
    fn look_together(&self, package: &mut FollowedPackage, state: &AgreedState, is_hint: bool) {
        if !is_hint && Instant::now() < package.due {
            return;
        }
        let outcome = self.follow_agreed(package, state);
        // An end may be why it failed. What was taken is noted at the end, too.
        if self.stop.is_set() && outcome.is_err() {
            return;
        }
        let looked_at = u64::try_from(state.looked_at / 1_000)
            .ok()
            .filter(|it| *it > 0);
        match outcome {
            Ok(refusal) => {
                (package.failures, package.due) = (0, Instant::now());
                self.note(package, looked_at, refusal);
            }
            Err(problem) => {
                package.fail();
                self.note(package, looked_at, Some(problem));
            }
        }
    }

    fn follow_agreed(
        &self,
        package: &mut FollowedPackage,
        state: &AgreedState,
    ) -> Result<Option<FollowProblem>, FollowProblem> {
        let name = package.wanted.name.clone();
        if let Some((commit, problem)) = &state.refused {
            package.refuse(commit, problem);
        }
        let refusal = state.refused.as_ref().map(|(_, problem)| problem.clone());
        let every = u64::try_from(package.every.as_millis()).unwrap_or(u64::MAX);
        let is_due = state.is_due(&package.wanted, every);
        if !is_due && package.is_checked && package.agreed == state.locked {
            return Ok(refusal);
        }
        let (fetcher, locked) = self.begin(package)?;
        if let Some(agreed) = state
            .locked
            .as_ref()
            .filter(|it| locked.as_ref() != Some(*it))
        {
            fetch_locked(&fetcher, agreed, &|_| {}).map_err(|error| later(&name, error.into()))?;
            self.publish(&fetcher.store, locked, agreed)
                .map_err(|error| later(&name, error))?;
        }
        package.agreed.clone_from(&state.locked);
        let Some(agreement) = self.agreement.as_deref().filter(|_| is_due) else {
            return Ok(refusal);
        };
        let unwritten = |error: StoreError| later(&name, CommandError::fixable(error.to_string()));
        if !agreement.lease(&package.wanted, state).map_err(unwritten)? {
            return Ok(refusal);
        }
        let found = self.find_leased(agreement, package, &fetcher, state.locked.as_ref());
        let outcome = found.as_ref().unwrap_or(&LookOutcome::Failed);
        // Only what is written is served: the lease may have ended.
        let is_written = agreement
            .finish(&package.wanted, outcome)
            .map_err(unwritten)?;
        match found? {
            LookOutcome::Taken(next) if is_written => {
                self.publish(&fetcher.store, state.locked.clone(), &next)
                    .map_err(|error| later(&name, error))?;
                package.agreed = Some(next);
                Ok(None)
            }
            LookOutcome::Refused { commit, problem } => {
                package.refuse(&commit, &problem);
                Ok(Some(problem))
            }
            _ => Ok(None),
        }
    }

    /// Asks the source while the lease is kept.
    fn find_leased(
        &self,
        agreement: &dyn CommitAgreement,
        package: &FollowedPackage,
        fetcher: &PackageFetcher,
        served: Option<&LockedLibrary>,
    ) -> Result<LookOutcome, FollowProblem> {
        let (end, ended) = channel::<()>();
        std::thread::scope(|scope| {
            let renewing = std::thread::Builder::new().spawn_scoped(scope, move || {
                while ended.recv_timeout(RENEWED) == Err(RecvTimeoutError::Timeout) {
                    let _ = agreement.renew(&package.wanted);
                }
            });
            let found = self.find(package, fetcher, served);
            drop(end);
            drop(renewing);
            found
        })
    }

    /// What fetches a package, and the entry of the lock for it; its files are on this machine then.
    fn begin(
        &self,
        package: &mut FollowedPackage,
    ) -> Result<(PackageFetcher, Option<LockedLibrary>), FollowProblem> {
        let wanted = &package.wanted;
        let wrong = |error: CommandError| later(&wanted.name, error);
        let scope = PackageScope::followed(&self.places).map_err(wrong)?;
        let lock = scope.read_lock(&self.places).map_err(wrong)?;
        let locked = lock.library(&wanted.name).filter(|it| wanted.is_of(it));
        let fetcher = self.fetcher(package).map_err(wrong)?;
        let store = &fetcher.store;
        if let Some(locked) = locked {
            let is_here = store.has(locked.tree);
            if !is_here || !(package.is_checked || store.has_lengths(locked.tree)) {
                let done = fetch_locked(&fetcher, locked, &|_| {});
                done.map_err(|error| wrong(error.into()))?;
                self.live.refresh();
            }
        }
        let locked = locked.cloned();
        package.is_checked = true;
        Ok((fetcher, locked))
    }

    /// What fetches a package, with its token.
    fn fetcher(&self, package: &FollowedPackage) -> Result<PackageFetcher, CommandError> {
        let mut fetcher = fetcher(&self.places)?;
        fetcher.stop = self.stop.clone();
        let settings = package.remembered.followed.as_ref();
        if let Some(path) = settings.and_then(|it| it.token_file.as_deref()) {
            fetcher.environment.login = Some(login(&self.places, path)?);
        }
        Ok(fetcher)
    }

    /// Asks the source for the commit that the reference names; fetches and checks another one.
    fn find(
        &self,
        package: &FollowedPackage,
        fetcher: &PackageFetcher,
        served: Option<&LockedLibrary>,
    ) -> Result<LookOutcome, FollowProblem> {
        let wanted = &package.wanted;
        let name = &wanted.name;
        let references = fetcher.references(&wanted.source, &|_| {});
        let resolved =
            references.and_then(|it| it.resolve(&wanted.source, wanted.reference.as_deref()));
        let resolved = resolved.map_err(|error| later(name, error.into()))?;
        let commit = resolved.commit.clone();
        let is_same = |it: &LockedLibrary| {
            it.commit.as_ref() == Some(&commit)
                && it.reference.as_ref() == Some(&resolved.reference)
        };
        if served.is_some_and(is_same) {
            return Ok(LookOutcome::Same);
        }
        if let Some(problem) = package.refusal(&commit).cloned() {
            return Ok(LookOutcome::Refused { commit, problem });
        }
        let refused = |why: String, help: &str| {
            let problem = FollowProblem {
                is_refused: true,
                message: not_taken(name, &resolved, served, &why),
                help: help.to_owned(),
            };
            Ok(LookOutcome::Refused {
                commit: resolved.commit.clone(),
                problem,
            })
        };
        let next = match fetch(fetcher, wanted, &resolved, &|_| {}) {
            Ok(package) => package.locked,
            Err(error) if is_about_commit(&error) => {
                return refused(error.to_string(), "change the repository and push again");
            }
            Err(error) => return Err(later(name, error.into())),
        };
        let root = fetcher.store.root_of(next.tree);
        let wrong = check(&self.places, package, &next, &root);
        match wrong.map_err(|error| later(name, error))? {
            None => Ok(LookOutcome::Taken(next)),
            Some(why) => refused(
                why,
                "`twig check` in the repository shows every error: fix them and push again",
            ),
        }
    }

    /// Has a commit served: all its prompts switch at once.
    fn publish(
        &self,
        store: &PackageStore,
        served: Option<LockedLibrary>,
        next: &LockedLibrary,
    ) -> Result<(), CommandError> {
        let scope = PackageScope::followed(&self.places)?;
        let alone = self.alone();
        // Requests that began before the switch still read the files of the last commit.
        if let Some(served) = served {
            let mut before = store.versions_before(&scope.lock)?.unwrap_or_default();
            before.insert(served);
            store.remember_versions(&scope.lock, &before)?;
        }
        let nothing = PackageLock::default();
        scope.change_lock(&self.places, Some(&nothing), |lock| {
            lock.insert(next.clone());
        })?;
        store.remember_lock(&scope.lock)?;
        drop(alone);
        self.live.refresh();
        tracing::info!("the package `{}` is at {} now", next.name, version_of(next));
        Ok(())
    }

    /// Writes down what a look found out, if it is something else than before.
    fn note(
        &self,
        package: &mut FollowedPackage,
        looked_at: Option<u64>,
        problem: Option<FollowProblem>,
    ) {
        let note = (looked_at, problem);
        if package.noted.as_ref() == Some(&note) {
            return;
        }
        let Some(lock) = self.places.followed_lock() else {
            return;
        };
        let alone = self.alone();
        let changed = FollowRecord::change(&lock, &package.wanted, |state| {
            state.looked_at = note.0.or(state.looked_at);
            state.problem.clone_from(&note.1);
        });
        drop(alone);
        match changed {
            Ok(is_other) => {
                package.noted = Some(note);
                if is_other {
                    self.live.refresh();
                    self.live.log_problems();
                }
            }
            Err(error) => tracing::warn!("{} cannot be written: {error}", lock.display()),
        }
    }

    fn alone(&self) -> MutexGuard<'_, ()> {
        self.publishing
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// The first error of a package as `twig check` finds it, and how many there are; `None` if it can be
/// served.
fn check(
    places: &Places,
    package: &FollowedPackage,
    locked: &LockedLibrary,
    root: &Path,
) -> Result<Option<String>, CommandError> {
    let opened = opened(places, package.remembered.clone(), locked)?;
    let catalog = Latest::from(opened.live.snapshot());
    let problems = opened.problems(&catalog);
    let is_error =
        |it: &&Problem| it.severity == Severity::Error && Path::new(&*it.path).starts_with(root);
    let errors: Vec<&Problem> = problems.iter().filter(is_error).collect();
    if let Some(first) = errors.first() {
        let path = Path::new(&*first.path);
        let path = path.strip_prefix(root).unwrap_or(path).display();
        let line = first
            .line
            .map(|line| format!(":{line}"))
            .unwrap_or_default();
        let message = &first.message;
        return Ok(Some(match errors.len() {
            1 => format!("{path}{line}: {message}"),
            more => format!(
                "it has {}, the first at {path}{line}: {message}",
                counted(more, "error", "errors")
            ),
        }));
    }
    // Prompts that run programs count, too: they wait until the library is trusted.
    if catalog.libraries().iter().all(|it| it.prompts.is_empty()) {
        return Ok(Some("it has no prompts and no skills".to_owned()));
    }
    Ok(None)
}

/// The login in a file.
fn login(places: &Places, path: &Path) -> Result<GitLogin, CommandError> {
    use std::io::Read as _;

    let shown = places.shown(path);
    let mut text = String::new();
    let read = std::fs::File::open(path);
    let read = read.and_then(|file| file.take(TOKEN_FILE).read_to_string(&mut text));
    read.map_err(|error| {
        let why = reason(&error);
        CommandError::fixable(format!("the token file {shown} cannot be read: {why}"))
    })?;
    let login = GitLogin::parse(&text);
    login.map_err(|why| CommandError::fixable(format!("the token file {shown} {why}")))
}

/// True if another attempt would find the same: what is wrong is in the commit.
fn is_about_commit(error: &PackageError) -> bool {
    matches!(
        error,
        PackageError::TooLarge { .. }
            | PackageError::TooManyFiles { .. }
            | PackageError::Hostile { .. }
            | PackageError::NoFolder { .. }
            | PackageError::Signature { .. }
            | PackageError::Unsigned { .. }
    )
}

fn not_taken(
    name: &LibraryName,
    resolved: &ResolvedReference,
    served: Option<&LockedLibrary>,
    why: &str,
) -> String {
    let commit = short(&resolved.commit);
    let stays = served.and_then(|it| it.commit.as_deref());
    let stays = stays.map_or_else(
        || "so nothing of it is served".to_owned(),
        |stays| format!("and {} is still served", short(stays)),
    );
    format!("the commit {commit} of the package `{name}` was not taken, {stays}: {why}")
}

/// A failure that may go away.
fn later(name: &LibraryName, error: CommandError) -> FollowProblem {
    let mut hints = error.hints.into_iter();
    FollowProblem {
        is_refused: false,
        message: format!(
            "the package `{name}` could not be followed: {}",
            error.message
        ),
        help: hints.next().unwrap_or_else(|| {
            "the last commit is still served; the server tries again".to_owned()
        }),
    }
}
