//! Connections on a free loopback port, each with a thread of its own.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

/// A listener; dropping it ends its connections and waits for their threads.
#[derive(Debug)]
pub(crate) struct LoopbackListener {
    address: SocketAddr,
    connections: Arc<Mutex<LoopbackConnections>>,
    acceptor: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct LoopbackConnections {
    open: BTreeMap<u64, TcpStream>,
    is_stopped: bool,
}

impl LoopbackListener {
    /// Listens, and calls the handler on a thread of its own for each connection.
    pub(crate) fn start(handle: impl Fn(&TcpStream) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free loopback port");
        let address = listener.local_addr().expect("a bound listener");
        let connections = Arc::new(Mutex::default());
        let shared = Arc::clone(&connections);
        let acceptor = thread::spawn(move || accept(&listener, &shared, &Arc::new(handle)));
        Self {
            address,
            connections,
            acceptor: Some(acceptor),
        }
    }

    /// Where it listens.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for LoopbackListener {
    fn drop(&mut self) {
        let mut connections = locked(&self.connections);
        connections.is_stopped = true;
        for stream in connections.open.values() {
            let _ = stream.shutdown(Shutdown::Both);
        }
        drop(connections);
        // Wakes the acceptor.
        let _ = TcpStream::connect(self.address);
        if let Some(acceptor) = self.acceptor.take() {
            let _ = acceptor.join();
        }
    }
}

fn accept<H: Fn(&TcpStream) + Send + Sync + 'static>(
    listener: &TcpListener,
    connections: &Arc<Mutex<LoopbackConnections>>,
    handle: &Arc<H>,
) {
    let mut threads = Vec::new();
    for (number, stream) in (0..).zip(listener.incoming()) {
        let mut shared = locked(connections);
        if shared.is_stopped {
            break;
        }
        let Ok(stream) = stream else { continue };
        let Ok(twin) = stream.try_clone() else {
            continue;
        };
        shared.open.insert(number, twin);
        drop(shared);
        let (connections, handle) = (Arc::clone(connections), Arc::clone(handle));
        threads.push(thread::spawn(move || {
            handle(&stream);
            // The connection closes with its last handle.
            drop(stream);
            locked(&connections).open.remove(&number);
        }));
    }
    for thread in threads {
        let _ = thread.join();
    }
}

/// Runs a program with a connection as its input and output, as inetd does.
pub(crate) fn run_on(stream: &TcpStream, mut command: Command) {
    let twin = || {
        stream
            .try_clone()
            .map(|stream| Stdio::from(OwnedFd::from(stream)))
    };
    let (Ok(input), Ok(output)) = (twin(), twin()) else {
        return;
    };
    let child = command
        .stdin(input)
        .stdout(output)
        .stderr(Stdio::null())
        .spawn();
    // It holds the connection open, too.
    drop(command);
    let _ = child.expect("the server's program starts").wait();
}

/// A lock that a failed test may have left poisoned.
pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
