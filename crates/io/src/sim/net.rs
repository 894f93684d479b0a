//! [`SimNet`]: a network in memory, whose links can be slow, cut and broken.

mod stream;
#[cfg(test)]
mod tests;
mod wire;

use std::fmt;
use std::future::poll_fn;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::sync::Notify;

pub use self::stream::SimStream;
use self::wire::{ListenerId, Progress, Wire};
use super::SimClock;
use crate::Clock as _;
use crate::net::{ListenOptions, Listener, Net, SocketOptions};
use crate::net_error::{NetError, NetOperation};

/// A network of hosts, each with one address, all within one process.
///
/// A connection carries bytes in order, each way after the latency of the link, and keeps 64 KiB
/// a direction until the writer has to wait. A link that is cut holds everything back, the wish
/// to connect too, and neither side is told; after healing it arrives. Clones are the same
/// network.
///
/// ```
/// use klamm_io::{ListenOptions, Listener, Net, SocketOptions};
/// use klamm_io::sim::{SimClock, SimNet};
/// use tokio::io::{AsyncReadExt, AsyncWriteExt};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let net = SimNet::new(SimClock::new());
/// let [a, b] = ["10.0.0.1", "10.0.0.2"].map(|ip| net.host(ip.parse().unwrap()));
/// let mut listener = a.bind("10.0.0.1:9092".parse()?, ListenOptions::default())?;
/// let mut client = b.connect(listener.local_address(), SocketOptions::default()).await?;
/// let (mut server, _) = listener.accept().await?;
///
/// client.write_all(b"hello").await?;
/// net.reset(a.address(), b.address());
/// let mut received = Vec::new();
/// assert!(server.read_to_end(&mut received).await.is_err());
/// assert_eq!(received, b"hello");
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct SimNet {
    shared: Shared,
}

/// What the network, its hosts, listeners and streams have in common.
#[derive(Clone)]
struct Shared {
    /// Held for the length of a call; who is woken is woken after it.
    wire: Arc<Mutex<Wire>>,
    /// Told whenever a wish to connect may have become possible.
    changed: Arc<Notify>,
    clock: SimClock,
}

impl Shared {
    fn with<T>(&self, act: impl FnOnce(&mut Wire, Instant) -> T) -> T {
        let now = self.clock.now();
        let (outcome, woken) = {
            let mut wire = self.wire.lock();
            let outcome = act(&mut wire, now);
            (outcome, std::mem::take(&mut wire.woken))
        };
        for waker in woken {
            waker.wake();
        }
        outcome
    }

    /// As [`Shared::with`], for what may let connections come about.
    fn change<T>(&self, act: impl FnOnce(&mut Wire, Instant) -> T) -> T {
        let outcome = self.with(act);
        self.changed.notify_waiters();
        outcome
    }
}

impl SimNet {
    /// A network without latency, on which nothing goes wrong yet.
    pub fn new(clock: SimClock) -> Self {
        Self {
            shared: Shared {
                wire: Arc::new(Mutex::new(Wire::new())),
                changed: Arc::new(Notify::new()),
                clock,
            },
        }
    }

    /// The host that has this address: what runs on it gets this as its [`Net`].
    pub fn host(&self, address: IpAddr) -> SimHost {
        SimHost {
            shared: self.shared.clone(),
            address,
        }
    }

    /// Gives a name addresses, or takes it away with none.
    pub fn set_name(&self, name: &str, addresses: &[IpAddr]) {
        self.shared.with(|wire, _| {
            wire.names.insert(name.to_owned(), addresses.to_vec());
        });
    }

    /// The time that bytes take, one way, between any two hosts that were given none of their
    /// own; a host reaches itself at once.
    pub fn set_default_latency(&self, latency: Duration) {
        self.shared.with(|wire, _| wire.latency = latency);
    }

    /// The time that bytes take from `from` to `to`.
    pub fn set_latency(&self, from: IpAddr, to: IpAddr, latency: Duration) {
        self.shared
            .with(|wire, _| wire.set_latency(from, to, latency));
    }

    /// Lets each read and write move at most this many bytes, so that frames come in pieces.
    ///
    /// # Panics
    /// For 0.
    pub fn set_segment_bytes_max(&self, bytes: usize) {
        assert!(bytes > 0, "nothing would ever arrive");
        self.shared.with(|wire, _| wire.segment_bytes_max = bytes);
    }

    /// From now on nothing gets from `from` to `to`, and what is under way is held; the way back
    /// stays as it is. Neither side is told.
    pub fn cut_one_way(&self, from: IpAddr, to: IpAddr) {
        self.shared.with(|wire, now| wire.cut(from, to, now));
    }

    /// Cuts both ways between two hosts.
    pub fn cut(&self, a: IpAddr, b: IpAddr) {
        self.cut_one_way(a, b);
        self.cut_one_way(b, a);
    }

    /// Mends both ways between two hosts. What was held arrives after the latency.
    pub fn heal(&self, a: IpAddr, b: IpAddr) {
        self.shared.change(|wire, now| {
            wire.heal(a, b, now);
            wire.heal(b, a, now);
        });
    }

    /// Resets every connection between two hosts: writes fail from now on, and each side reads
    /// what had been sent to it, then an error.
    pub fn reset(&self, a: IpAddr, b: IpAddr) {
        self.shared.with(|wire, now| wire.reset_all(a, b, now));
    }

    /// Lets `count` more bytes go from `from` to `to`, by whatever connections, and resets the
    /// one that carries the last of them; once.
    pub fn reset_after_bytes(&self, from: IpAddr, to: IpAddr, count: usize) {
        self.shared
            .with(|wire, _| wire.reset_after_bytes(from, to, count));
    }

    /// A host loses its power: it listens no more, its streams fail, and its peers hear nothing
    /// at all.
    pub fn vanish(&self, host: IpAddr) {
        self.shared.change(|wire, now| wire.vanish(host, now));
    }

    /// A host that vanished is back, and knows nothing of its former connections: peers that
    /// have sent something on one, or do so later, find it reset.
    pub fn come_back(&self, host: IpAddr) {
        self.shared.change(|wire, now| wire.come_back(host, now));
    }
}

impl fmt::Debug for SimNet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SimNet").finish_non_exhaustive()
    }
}

/// A host of a [`SimNet`].
#[derive(Clone)]
pub struct SimHost {
    shared: Shared,
    address: IpAddr,
}

impl SimHost {
    /// Its address.
    pub const fn address(&self) -> IpAddr {
        self.address
    }

    /// Waits until nothing is held back between two hosts.
    async fn until_open(&self, from: IpAddr, to: IpAddr) {
        loop {
            let changed = self.shared.changed.notified();
            if !self.shared.with(|wire, _| wire.holds(from, to)) {
                return;
            }
            changed.await;
        }
    }

    /// Goes from one host to another, however long it takes.
    async fn travel(&self, from: IpAddr, to: IpAddr) {
        self.until_open(from, to).await;
        let latency = self.shared.with(|wire, _| wire.latency(from, to));
        let clock = &self.shared.clock;
        clock.sleep(Some(clock.now() + latency)).await;
        self.until_open(from, to).await;
    }
}

impl fmt::Debug for SimHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SimHost")
            .field("address", &self.address)
            .finish_non_exhaustive()
    }
}

impl Net for SimHost {
    type Stream = SimStream;
    type Listener = SimListener;

    /// The buffers of `options` are not simulated.
    fn bind(&self, address: SocketAddr, options: ListenOptions) -> Result<SimListener, NetError> {
        let host = self.address;
        let bound = (self.shared).change(|wire, _| wire.listen(host, address, options.backlog));
        match bound {
            Ok((id, local_address)) => Ok(SimListener {
                shared: self.shared.clone(),
                id,
                local_address,
            }),
            Err(source) => Err(NetError::new(
                NetOperation::Bind,
                address.to_string(),
                source,
            )),
        }
    }

    fn check_free(&self, address: SocketAddr) -> Result<(), NetError> {
        // Within this call nobody can come.
        self.bind(address, ListenOptions::default()).map(drop)
    }

    /// The buffers of the options are not simulated.
    async fn connect(&self, address: SocketAddr, _: SocketOptions) -> Result<SimStream, NetError> {
        let (here, there) = (self.address, address.ip());
        self.travel(here, there).await;
        let arrived = loop {
            let changed = self.shared.changed.notified();
            match self.shared.with(|wire, _| wire.arrive(here, address)) {
                Progress::Done(arrived) => break arrived,
                Progress::Wait(_) => changed.await,
            }
        };
        // Closes the connection if this future is dropped on the way back.
        let stream = arrived.map(|end| SimStream::new(self.shared.clone(), end));
        self.travel(there, here).await;
        stream.map_err(|source| NetError::new(NetOperation::Connect, address.to_string(), source))
    }

    async fn resolve(&self, host: &str, port: u16) -> Result<Vec<SocketAddr>, NetError> {
        let addresses = if let Ok(address) = host.parse() {
            vec![address]
        } else {
            let known = |wire: &mut Wire, _| wire.names.get(host).cloned();
            self.shared.with(known).unwrap_or_default()
        };
        if addresses.is_empty() {
            let source = std::io::ErrorKind::NotFound.into();
            return Err(NetError::new(NetOperation::Resolve, host, source));
        }
        let with_port = |address| SocketAddr::new(address, port);
        Ok(addresses.into_iter().map(with_port).collect())
    }
}

/// An address of a [`SimHost`] where connections arrive.
pub struct SimListener {
    shared: Shared,
    id: ListenerId,
    local_address: SocketAddr,
}

impl Listener for SimListener {
    type Stream = SimStream;

    fn local_address(&self) -> SocketAddr {
        self.local_address
    }

    async fn accept(&mut self) -> Result<(SimStream, SocketAddr), NetError> {
        let (id, address) = (self.id, self.local_address);
        let accepted = poll_fn(|context| {
            match (self.shared).with(|wire, _| wire.accept(id, address, context)) {
                Progress::Done(accepted) => Poll::Ready(accepted),
                Progress::Wait(_) => Poll::Pending,
            }
        })
        .await;
        // There is room in the queue again.
        self.shared.changed.notify_waiters();
        match accepted {
            Ok((end, peer)) => Ok((SimStream::new(self.shared.clone(), end), peer)),
            Err(source) => Err(NetError::new(
                NetOperation::Accept,
                address.to_string(),
                source,
            )),
        }
    }
}

impl Drop for SimListener {
    fn drop(&mut self) {
        let (id, address) = (self.id, self.local_address);
        (self.shared).change(|wire, now| wire.stop_listening(id, address, now));
    }
}

impl fmt::Debug for SimListener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SimListener")
            .field("local_address", &self.local_address)
            .finish_non_exhaustive()
    }
}
