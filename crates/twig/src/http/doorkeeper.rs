//! Who sent a request: anybody on this machine, somebody with the token, or the person with a key.
//!
//! Keys are in a file that commands change, and a server looks at it several times a second; or they are
//! in a database that notifies servers. Once there was a key, every request needs one, also if the file
//! or the row is gone.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, Weak};
use std::time::{Duration, Instant};

use axum::http::{HeaderMap, header};
use subtle::ConstantTimeEq;
use tokio::task::block_in_place;
use twig_core::access::{AccessRecord, AccessRights, KeyMistake, KeyText, Principal};
use twig_core::store::Timestamp;
use twig_mcp::http::HttpRefusal;
use twig_sources::{FollowedAccess, ViewScope, now};

use super::allowance::{Allowance, AllowanceLimits};
use super::bearer_token::BearerToken;
use super::greeting::AskedCredentials;
use super::headers::one;
use super::views::HttpView;
use crate::command_error::reason;

/// How long the end of a session waits for a slow database.
const ENDS_WAIT: Duration = Duration::from_secs(2);

/// Checks credentials.
pub(super) struct Doorkeeper {
    token: Option<BearerToken>,
    people: RwLock<Arc<People>>,
    followed: Mutex<Option<FollowedAccess>>,
    limits: AllowanceLimits,
    /// Whether the keys cannot be read, which was logged.
    is_broken: AtomicBool,
}

/// Everyone who has a key.
#[derive(Default)]
struct People {
    /// Whether every request needs a key or the token.
    asks: bool,
    by_key: HashMap<Box<str>, Arc<Person>>,
}

/// Somebody with a key that works.
pub(super) struct Person {
    key: Box<str>,
    digest: [u8; 32],
    /// When the key stops to work.
    until: Option<Timestamp>,
    principal: Principal,
    name: Arc<str>,
    pub(super) allowance: Arc<Allowance>,
    /// What this person used last.
    view: Mutex<Option<(ViewScope, Weak<HttpView>)>>,
}

/// Somebody who was let in.
#[derive(Clone)]
pub(super) enum Admission {
    /// Anybody on this machine: nothing is asked for.
    Local,
    /// Somebody with the token.
    Token,
    /// The user whose server this is, at its page.
    #[cfg_attr(
        not(feature = "page"),
        expect(dead_code, reason = "only the page has it")
    )]
    Owner,
    /// A person.
    Person(Arc<Person>),
}

impl Admission {
    /// Identifies the caller, also after a restart.
    pub(super) fn id(&self) -> &str {
        match self {
            Self::Local => "local",
            Self::Token => "token",
            Self::Owner => "owner",
            Self::Person(person) => &person.principal.id,
        }
    }

    /// The person, if it is a known one.
    pub(super) fn person(&self) -> Option<&Person> {
        match self {
            Self::Person(person) => Some(person),
            _ => None,
        }
    }

    /// What the caller may do; `None` if that is everything.
    pub(super) fn rights(&self) -> Option<&AccessRights> {
        self.person().map(|person| &person.principal.rights)
    }
}

impl Person {
    /// The name of the person.
    pub(super) fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// The id of the key, and the digest of it.
    #[cfg(feature = "page")]
    pub(super) fn key(&self) -> (&str, &[u8; 32]) {
        (&self.key, &self.digest)
    }

    /// The view that was last used in this scope, if it is still kept.
    pub(super) fn last_view(&self, scope: &ViewScope) -> Option<Arc<HttpView>> {
        let view = lock(&self.view);
        let (known, view) = view.as_ref()?;
        (known == scope).then(|| view.upgrade()).flatten()
    }

    pub(super) fn keep_view(&self, scope: &ViewScope, view: &Arc<HttpView>) {
        *lock(&self.view) = Some((scope.clone(), Arc::downgrade(view)));
    }

    fn is_over(&self, now: Timestamp) -> bool {
        self.until.is_some_and(|until| now.0 > until.0)
    }
}

impl Doorkeeper {
    pub(super) fn new(
        token: Option<BearerToken>,
        access: Option<(FollowedAccess, AccessRecord)>,
        limits: AllowanceLimits,
    ) -> Self {
        let (followed, record) = access.unzip();
        let record = record.unwrap_or_default();
        let people = People::new(&record, &People::default(), &limits);
        Self {
            token,
            people: RwLock::new(Arc::new(people)),
            followed: Mutex::new(followed),
            limits,
            is_broken: AtomicBool::new(false),
        }
    }

    /// What requests are asked for.
    pub(super) fn asked(&self) -> AskedCredentials {
        let people = self.people();
        let mut ids: Vec<&str> = people.by_key.values().map(|it| &*it.principal.id).collect();
        ids.sort_unstable();
        ids.dedup();
        AskedCredentials {
            has_token: self.token.is_some(),
            keys: people.asks.then_some(ids.len()),
        }
    }

    /// Whether requests need a key.
    pub(super) fn asks_for_keys(&self) -> bool {
        self.people().asks
    }

    /// Whether requests need a key or the token.
    pub(super) fn asks(&self) -> bool {
        self.token.is_some() || self.asks_for_keys()
    }

    /// Finds out who sent a request.
    pub(super) fn admit(&self, headers: &HeaderMap) -> Result<Admission, HttpRefusal> {
        let people = self.people();
        if self.token.is_none() && !people.asks {
            return Ok(Admission::Local);
        }
        let shown = one(headers, header::AUTHORIZATION);
        let shown = shown.and_then(|value| value.split_once(' '));
        let shown = shown.filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
        let Some((_, shown)) = shown else {
            return Err(HttpRefusal::Token);
        };
        self.admit_secret(shown.trim()).ok_or(HttpRefusal::Token)
    }

    /// Finds out whose key or token this is.
    pub(super) fn admit_secret(&self, shown: &str) -> Option<Admission> {
        if let Some(person) = self.people().find(shown) {
            return Some(Admission::Person(person));
        }
        match &self.token {
            Some(token) if token.is(shown.as_bytes()) => return Some(Admission::Token),
            _ => {}
        }
        // It may have been made a moment ago.
        let is_key = KeyText::parse(shown).is_ok();
        if is_key {
            block_in_place(|| {
                self.ask();
                self.refresh()
            });
        }
        // Another request may have looked at the same time.
        self.people().find(shown).map(Admission::Person)
    }

    /// The person with the key of this id, if it still has this digest.
    #[cfg(feature = "page")]
    pub(super) fn holder_of(&self, id: &str, digest: &[u8; 32]) -> Option<Admission> {
        let people = self.people();
        let found = people.by_key.get(id)?;
        let is_same = found.digest == *digest && !found.is_over(now());
        is_same.then(|| Admission::Person(Arc::clone(found)))
    }

    /// Whether this is the digest of the token.
    #[cfg(feature = "page")]
    pub(super) fn has_token(&self, digest: &[u8; 32]) -> bool {
        let token = self.token.as_ref();
        token.is_some_and(|token| bool::from(token.digest()[..].ct_eq(&digest[..])))
    }

    /// Whether a refused credential is a key with a typing error, which is no guess.
    pub(super) fn is_mistyped(headers: &HeaderMap) -> bool {
        let shown = one(headers, header::AUTHORIZATION);
        let shown = shown.and_then(|value| value.split_once(' '));
        shown.is_some_and(|(_, shown)| KeyText::parse(shown.trim()) == Err(KeyMistake::Checksum))
    }

    /// The same caller as of now; `None` if the credential is not accepted any more.
    pub(super) fn readmit(&self, before: &Admission) -> Option<Admission> {
        match before {
            Admission::Token => Some(Admission::Token),
            Admission::Owner => Some(Admission::Owner),
            Admission::Local => (!self.asks()).then_some(Admission::Local),
            Admission::Person(person) => {
                let people = self.people();
                let found = people.by_key.get(&person.key)?;
                let is_same = found.digest == person.digest && !found.is_over(now());
                is_same.then(|| Admission::Person(Arc::clone(found)))
            }
        }
    }

    /// Waits a moment for the database to be asked, if keys are there. Other requests do not wait.
    pub(super) fn ask(&self) {
        let asker = lock(&self.followed)
            .as_ref()
            .and_then(FollowedAccess::asker);
        if let Some(asker) = asker {
            asker.ask();
        }
    }

    /// Looks at the keys, and at the time. Returns whether anybody may do more or less than before.
    pub(super) fn refresh(&self) -> bool {
        let Some(followed) = &mut *lock(&self.followed) else {
            return false;
        };
        let holder = followed.holder();
        let looked = followed.look();
        let before = self.people();
        let next = match looked {
            None => {
                let at = now();
                let is_over = |person: &Arc<Person>| person.is_over(at);
                if !before.by_key.values().any(is_over) {
                    return false;
                }
                let by_key = before.by_key.iter().filter(|(_, person)| !is_over(person));
                let by_key = by_key.map(|(key, person)| (key.clone(), Arc::clone(person)));
                People {
                    asks: before.asks,
                    by_key: by_key.collect(),
                }
            }
            Some(Ok(record)) => {
                self.is_broken.store(false, Ordering::Relaxed);
                let place = followed.shown();
                if before.asks && !record.asks_for_keys() {
                    tracing::error!(
                        "{place} with all keys is gone: nobody is let in with a key until it is back"
                    );
                }
                if followed.holder() != holder {
                    tracing::info!("keys and roles are those of {place} from now on");
                }
                let next = People::new(&record, &before, &self.limits);
                People {
                    asks: next.asks || before.asks,
                    ..next
                }
            }
            Some(Err(error)) => {
                if !self.is_broken.swap(true, Ordering::Relaxed) {
                    let (place, why) = (followed.shown(), reason(&error));
                    tracing::error!(
                        "{place} cannot be read, so keys and roles stay as they were: {why}"
                    );
                }
                return false;
            }
        };
        *self.people.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(next);
        true
    }

    /// Waits until the sessions that were ended here are written where other servers read them, or
    /// cannot be. Returns whether there is such a place.
    pub(super) fn share_ends(&self) -> bool {
        let sessions = lock(&self.followed)
            .as_ref()
            .and_then(FollowedAccess::sessions);
        let Some(sessions) = sessions else {
            return false;
        };
        let begun = Instant::now();
        while sessions.is_writing() && begun.elapsed() < ENDS_WAIT {
            block_in_place(|| self.ask());
        }
        true
    }

    fn people(&self) -> Arc<People> {
        let people = self.people.read();
        Arc::clone(&people.unwrap_or_else(PoisonError::into_inner))
    }
}

impl People {
    fn new(record: &AccessRecord, before: &Self, limits: &AllowanceLimits) -> Self {
        let at = now();
        let mut by_key = HashMap::new();
        let known = before.by_key.values();
        let known: HashMap<&str, &Arc<Person>> = known
            .map(|person| (&*person.principal.id, person))
            .collect();
        for (key, principal) in record.principals() {
            let known = known.get(&*principal.id);
            let allowance = known.map(|it| Arc::clone(&it.allowance));
            let allowance = allowance.unwrap_or_else(|| Arc::new(Allowance::new(limits)));
            for (id, digest, until) in key.accepted(at) {
                let person = Person {
                    key: id.into(),
                    digest: *digest,
                    until,
                    name: Arc::from(&*principal.name),
                    principal: principal.clone(),
                    allowance: Arc::clone(&allowance),
                    view: Mutex::default(),
                };
                by_key.insert(id.into(), Arc::new(person));
            }
        }
        Self {
            asks: record.asks_for_keys(),
            by_key,
        }
    }

    /// The person with this key. What is no key at all takes as long as a wrong one.
    fn find(&self, shown: &str) -> Option<Arc<Person>> {
        let key = KeyText::parse(shown);
        let digest = KeyText::digest_of(shown);
        let found = key.ok().and_then(|key| self.by_key.get(key.id()));
        let wanted = found.map_or(&[0; 32], |person| &person.digest);
        let is_right = bool::from(wanted[..].ct_eq(&digest[..]));
        found
            .filter(|person| is_right && !person.is_over(now()))
            .cloned()
    }
}

/// The data behind these locks is consistent at every moment.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
