//! The connected peers: how many, from where, and which one is closed for the next.
//!
//! A peer is known once one of its requests was accepted: with the token or, on a server without a
//! token, by being answered. When the server is full, it closes the oldest connection of an unknown
//! peer that is waiting for more of its own bytes, then the oldest connection of a known peer
//! between two requests. So a client cannot keep others out by holding connections open.

use std::collections::{BTreeMap, HashMap};
use std::net::{IpAddr, Ipv6Addr};
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout};

use super::metrics::MethodLabel;

/// How long a closed connection may take to disappear.
const GONE_WITHIN: Duration = Duration::from_millis(100);

/// Not known; waiting for the next request or the rest of it.
const WAITING: u8 = 0;
/// Not known; its request is being answered.
const ANSWERED: u8 = 1;
/// A request was accepted, and may still be being answered.
const KNOWN: u8 = 2;
/// A request was accepted before; waiting for the next one.
const IDLE: u8 = 3;
/// Closed to make room for another connection.
const CLOSED: u8 = 4;

/// No request with a known method is being answered.
const NO_METHOD: u8 = u8::MAX;

/// All connected peers.
pub(super) struct Peers {
    slots: Arc<Semaphore>,
    /// The maximum number of connections from one network.
    share: usize,
    table: Mutex<PeerTable>,
}

#[derive(Default)]
struct PeerTable {
    next: u64,
    /// Oldest first.
    all: BTreeMap<u64, Arc<HttpPeer>>,
    networks: HashMap<Network, usize>,
}

/// The other end of one connection.
pub(super) struct HttpPeer {
    number: u64,
    since: Instant,
    /// `None` for this machine, whose programs all share one address.
    network: Option<Network>,
    state: AtomicU8,
    /// The method of the request that is being answered, for the metrics.
    method: AtomicU8,
    close: Notify,
}

/// An address; for IPv6, the half that one customer gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Network(IpAddr);

/// An admitted peer; dropping this frees its place.
pub(super) struct Admitted {
    peers: Arc<Peers>,
    pub(super) peer: Arc<HttpPeer>,
    _slot: OwnedSemaphorePermit,
}

impl Peers {
    /// Room for `room` connections, of which one network may have `share`.
    pub(super) fn new(room: usize, share: usize) -> Arc<Self> {
        Arc::new(Self {
            slots: Arc::new(Semaphore::new(room)),
            share,
            table: Mutex::default(),
        })
    }

    /// Admits a connection, closing another one if the server is full; `None` if every other one is
    /// in use.
    pub(super) async fn admit(self: &Arc<Self>, address: IpAddr) -> Option<Admitted> {
        let network = Network::new(address);
        let mut has_closed = false;
        if let Some(network) = network {
            let mut table = self.table();
            let count = table.networks.get(&network).copied().unwrap_or_default();
            if count >= self.share {
                has_closed = table.close_oldest(|peer| peer.network == Some(network));
                if !has_closed {
                    return None;
                }
            }
        }
        let slot = if let Ok(slot) = Arc::clone(&self.slots).try_acquire_owned() {
            slot
        } else {
            if !has_closed && !self.table().close_oldest(|_| true) {
                return None;
            }
            // Its file must be closed before another one is opened.
            let slot = timeout(GONE_WITHIN, Arc::clone(&self.slots).acquire_owned()).await;
            slot.ok()?.ok()?
        };
        let mut table = self.table();
        let peer = Arc::new(HttpPeer::new(table.next, network));
        table.next += 1;
        table.all.insert(peer.number, Arc::clone(&peer));
        if let Some(network) = network {
            *table.networks.entry(network).or_default() += 1;
        }
        drop(table);
        Some(Admitted {
            peers: Arc::clone(self),
            peer,
            _slot: slot,
        })
    }

    /// How many are connected.
    pub(super) fn count(&self) -> usize {
        self.table().all.len()
    }

    fn table(&self) -> MutexGuard<'_, PeerTable> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PeerTable {
    /// Closes the oldest selected connection.
    fn close_oldest(&mut self, is_meant: impl Fn(&HttpPeer) -> bool) -> bool {
        let meant = || self.all.values().filter(|peer| is_meant(peer));
        let unknown = meant().find(|peer| peer.make_room(WAITING));
        let peer = unknown.or_else(|| meant().find(|peer| peer.make_room(IDLE)));
        let Some(peer) = peer.map(Arc::clone) else {
            return false;
        };
        self.forget(&peer);
        true
    }

    fn forget(&mut self, peer: &HttpPeer) {
        self.all.remove(&peer.number);
        if let Some(network) = peer.network
            && let Some(count) = self.networks.get_mut(&network)
        {
            *count -= 1;
            if *count == 0 {
                self.networks.remove(&network);
            }
        }
    }
}

impl Drop for Admitted {
    fn drop(&mut self) {
        let mut table = self.peers.table();
        // A peer that was closed to make room is already forgotten.
        if self.peer.state.swap(CLOSED, Ordering::Relaxed) != CLOSED {
            table.forget(&self.peer);
        }
    }
}

impl HttpPeer {
    pub(super) fn new(number: u64, network: Option<Network>) -> Self {
        Self {
            number,
            since: Instant::now(),
            network,
            state: AtomicU8::new(WAITING),
            method: AtomicU8::new(NO_METHOD),
            close: Notify::new(),
        }
    }

    /// Names the method of the request that is being answered. A connection has one at a time.
    pub(super) fn name_method(&self, method: MethodLabel) {
        self.method.store(method.number(), Ordering::Relaxed);
    }

    /// The method of the request that was answered, if it had one.
    pub(super) fn take_method(&self) -> Option<MethodLabel> {
        let number = self.method.swap(NO_METHOD, Ordering::Relaxed);
        (number != NO_METHOD).then(|| MethodLabel::from_number(number))
    }

    /// The unique number of this connection.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// Where it connects from; `None` is this machine.
    pub(super) fn network(&self) -> Option<Network> {
        self.network
    }

    /// When it connected.
    pub(super) fn since(&self) -> Instant {
        self.since
    }

    /// Whether one of its requests was accepted.
    pub(super) fn is_known(&self) -> bool {
        matches!(self.state.load(Ordering::Relaxed), KNOWN | IDLE)
    }

    /// Marks the peer as known: one of its requests was accepted.
    pub(super) fn know(&self) {
        if !self.is_known() {
            self.change(WAITING, KNOWN);
            self.change(ANSWERED, KNOWN);
        }
    }

    /// Records that the head of a request arrived: a known peer is no longer idle.
    pub(super) fn ask(&self) {
        self.change(IDLE, KNOWN);
    }

    /// Records that a whole request arrived and is being answered.
    pub(super) fn answer(&self) {
        self.change(WAITING, ANSWERED);
    }

    /// Records that the peer is waiting for the next request.
    pub(super) fn wait(&self) {
        self.change(ANSWERED, WAITING);
        self.change(KNOWN, IDLE);
    }

    /// Waits until the connection must close to make room for another.
    pub(super) async fn closed(&self) {
        self.close.notified().await;
    }

    fn make_room(&self, from: u8) -> bool {
        let makes_room = self.change(from, CLOSED);
        if makes_room {
            self.close.notify_one();
        }
        makes_room
    }

    fn change(&self, from: u8, to: u8) -> bool {
        let state = &self.state;
        let changed = state.compare_exchange(from, to, Ordering::Relaxed, Ordering::Relaxed);
        changed.is_ok()
    }
}

impl Network {
    /// The network of an address; `None` for this machine.
    pub(super) fn new(address: IpAddr) -> Option<Self> {
        let address = address.to_canonical();
        if address.is_loopback() {
            return None;
        }
        Some(Self(match address {
            IpAddr::V4(_) => address,
            IpAddr::V6(address) => {
                let [a, b, c, d, ..] = address.segments();
                Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0).into()
            }
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block_on(test: impl Future<Output = ()>) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(test);
    }

    /// A connection that ends as soon as it must make room.
    async fn connect(peers: &Arc<Peers>, address: &str) -> Option<Arc<HttpPeer>> {
        let admitted = peers.admit(address.parse().unwrap()).await?;
        // A connection that had to make room is gone by then.
        tokio::task::yield_now().await;
        let peer = Arc::clone(&admitted.peer);
        tokio::spawn(async move {
            admitted.peer.closed().await;
            drop(admitted);
        });
        Some(peer)
    }

    fn is_closed(peer: &HttpPeer) -> bool {
        peer.state.load(Ordering::Relaxed) == CLOSED
    }

    #[test]
    fn the_oldest_that_is_not_known_and_waits_makes_room() {
        block_on(async {
            let peers = Peers::new(3, 3);
            let known = connect(&peers, "127.0.0.1").await.unwrap();
            let answered = connect(&peers, "127.0.0.1").await.unwrap();
            let waiting = connect(&peers, "127.0.0.1").await.unwrap();
            known.know();
            answered.answer();
            let next = connect(&peers, "127.0.0.1").await.unwrap();
            assert!(is_closed(&waiting));
            next.know();
            assert!(connect(&peers, "127.0.0.1").await.is_none());
            answered.wait();
            let last = connect(&peers, "127.0.0.1").await.unwrap();
            assert!(is_closed(&answered));
            assert!(known.is_known() && next.is_known());
            // Of the known peers, one between two requests makes room; one with a request does not.
            last.know();
            next.wait();
            known.wait();
            known.ask();
            assert!(connect(&peers, "127.0.0.1").await.is_some());
            assert!(is_closed(&next) && known.is_known() && last.is_known());
        });
    }

    #[test]
    fn one_network_has_a_share_and_this_machine_has_all() {
        block_on(async {
            let peers = Peers::new(8, 2);
            for _ in 0..2 {
                connect(&peers, "192.0.2.1").await.unwrap().know();
                connect(&peers, "2001:db8::1").await.unwrap().know();
            }
            for taken in ["192.0.2.1", "::ffff:192.0.2.1", "2001:db8::2"] {
                assert!(connect(&peers, taken).await.is_none(), "{taken}");
            }
            // An unknown peer makes room within its own share.
            let other = connect(&peers, "192.0.2.2").await.unwrap();
            connect(&peers, "192.0.2.2").await.unwrap().know();
            connect(&peers, "192.0.2.2").await.unwrap().know();
            assert!(is_closed(&other));
            for loopback in ["127.0.0.1", "::1"] {
                connect(&peers, loopback).await.unwrap().know();
            }
            assert!(connect(&peers, "::1").await.is_none());
        });
    }

    #[test]
    fn who_leaves_gives_its_place_back() {
        block_on(async {
            let peers = Peers::new(1, 1);
            for _ in 0..3 {
                let admitted = peers.admit("192.0.2.1".parse().unwrap()).await.unwrap();
                admitted.peer.know();
            }
            let table = peers.table();
            assert!(table.all.is_empty() && table.networks.is_empty());
        });
    }
}
