//! The bodies port for threads that also serve connections: work that may wait for a disk moves to
//! a thread on which no connection waits.
//!
//! Moving costs more than ten microseconds, up to a fifth of a whole request, so it happens only
//! where a wait is likely. Reading a file is one case: it is rare, since templates are cached, and
//! it waits for a save in progress. Any access to another machine's disk is the other. Checking a
//! file on a local disk is answered from memory in about a microsecond, and stays on its thread.

use std::collections::HashMap;
use std::panic::resume_unwind;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::thread;
use std::time::Duration;

use tokio::task::block_in_place;
use twig_core::{
    Blob, Bodies, Body, BodyError, Library, Prompt, RelativePath, Stamp, StoredVersion,
};
use twig_sources::is_network;

use super::heavy_work::{HeavyTurn, HeavyWork};
use super::peers::HttpPeer;
use super::request_jobs::lane;

pub(super) struct HttpBodies {
    /// Whether a library's folder is on a network file system, by its path.
    far: RwLock<HashMap<Box<str>, bool>>,
    heavy: HeavyWork,
    /// Prompts with images or audio: each takes many megabytes until it is sent.
    media: HeavyWork,
}

/// The same port, for one request. Its turn for images and audio ends when this is dropped.
pub(super) struct RequestFiles<'s> {
    shared: &'s HttpBodies,
    files: &'s dyn Bodies,
    peer: Option<&'s Arc<HttpPeer>>,
    turn: Mutex<Option<HeavyTurn<'s>>>,
}

impl HttpBodies {
    /// Work that waits longer than this for its turn is refused.
    pub(super) fn new(wait: Duration) -> Self {
        Self {
            far: RwLock::default(),
            heavy: HeavyWork::new(wait),
            media: HeavyWork::new(wait),
        }
    }

    /// The port for one request, over the files that its caller may read.
    pub(super) fn for_request<'s>(
        &'s self,
        files: &'s dyn Bodies,
        peer: Option<&'s Arc<HttpPeer>>,
    ) -> RequestFiles<'s> {
        RequestFiles {
            shared: self,
            files,
            peer,
            turn: Mutex::default(),
        }
    }

    fn is_far(&self, root: &str) -> bool {
        let known = self.far.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(is_far) = known.get(root) {
            return *is_far;
        }
        drop(known);
        let is_far = block_in_place(|| is_network(Path::new(root)));
        let mut known = self.far.write().unwrap_or_else(PoisonError::into_inner);
        known.insert(root.into(), is_far);
        is_far
    }
}

impl<'s> RequestFiles<'s> {
    /// Runs work in its turn, which lasts until the result is dropped; `None` if there was no turn.
    fn in_turn(
        &self,
        queue: &'s HeavyWork,
        prompt: &str,
        work: &mut (dyn FnMut() + Send),
    ) -> Option<HeavyTurn<'s>> {
        block_in_place(|| {
            let turn = queue.enter(lane(self.peer, None, Some(prompt)))?;
            on_own_thread(work);
            Some(turn)
        })
    }
}

impl Bodies for RequestFiles<'_> {
    fn read(&self, library: &Library, path: &RelativePath) -> Result<Body, BodyError> {
        block_in_place(|| self.files.read(library, path))
    }

    fn bytes(
        &self,
        library: &Library,
        path: &RelativePath,
        limit: usize,
    ) -> Result<Blob, BodyError> {
        block_in_place(|| self.files.bytes(library, path, limit))
    }

    fn stamp(&self, library: &Library, path: &RelativePath) -> Result<Stamp, BodyError> {
        if library.stored().is_none() && self.shared.is_far(&library.root) {
            return block_in_place(|| self.files.stamp(library, path));
        }
        self.files.stamp(library, path)
    }

    fn stored(&self, version: &StoredVersion) -> Result<Vec<u8>, BodyError> {
        block_in_place(|| self.files.stored(version))
    }

    fn is_current(&self, library: &Library, prompt: &Prompt) -> bool {
        if library.stored().is_none() && self.shared.is_far(&library.root) {
            return block_in_place(|| self.files.is_current(library, prompt));
        }
        self.files.is_current(library, prompt)
    }

    fn renew(&self, library: &Library) {
        block_in_place(|| self.files.renew(library));
    }

    fn with_media(&self, prompt: &str, work: &mut (dyn FnMut() + Send)) -> bool {
        let turn = self.in_turn(&self.shared.media, prompt, work);
        let has_turn = turn.is_some();
        *self.turn.lock().unwrap_or_else(PoisonError::into_inner) = turn;
        has_turn
    }

    fn aside(&self, prompt: &str, work: &mut (dyn FnMut() + Send)) -> bool {
        self.in_turn(&self.shared.heavy, prompt, work).is_some()
    }
}

/// Runs work on a new thread. A thread of the runtime would keep the memory that it once used; the
/// memory of a thread that has ended is reused.
fn on_own_thread(work: &mut (dyn FnMut() + Send)) {
    let done = thread::scope(|scope| {
        let thread = thread::Builder::new().name("twig-aside".to_owned());
        let spawned = thread.spawn_scoped(scope, &mut *work);
        spawned.map(thread::ScopedJoinHandle::join)
    });
    match done {
        Ok(Ok(())) => {}
        Ok(Err(panic)) => resume_unwind(panic),
        // No thread could be started.
        Err(_) => work(),
    }
}
