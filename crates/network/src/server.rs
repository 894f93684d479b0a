//! [`Server`]: all listeners of a process, from opening to the end.

use std::convert::Infallible;
use std::error::Error;
use std::future::{Future, poll_fn};
use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::Poll;
use std::time::Duration;

use hashbrown::HashMap;
use klamm_io::{Clock, DiskFile, Listener as _, Net, NetError};
use klamm_wire::SecurityProtocol;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::acceptor::Acceptor;
use crate::complaints::Complaints;
use crate::config::{ConnectionLimits, ListenerConfig, ServerConfig};
use crate::connection::Common;
use crate::context::ListenerName;
use crate::file_buffers::FileBuffers;
use crate::handler::Handler;
use crate::inline::Inline;
use crate::mailbox::Now;
use crate::members::Members;
use crate::observer::Observer;
use crate::quotas::{ConnectionQuotas, ResolvedLimits};
use crate::request_channel::RequestChannel;
use crate::request_memory::RequestMemory;
use crate::slots::Slots;
use crate::start_error::StartError;

/// What a listener waits for before it takes connections. An error fails the start of the server.
pub type MayStart = Pin<Box<dyn Future<Output = Result<(), Box<dyn Error + Send + Sync>>> + Send>>;

/// Listens, accepts, reads requests and writes responses.
///
/// `N` is the way to the network, `C` the clock, `F` the kind of file that responses are sent
/// from. It has one task a listener and one a connection, all spawned on the runtime that
/// [`Server::start`] is called in; how many threads drive them (`num.network.threads`) is up to
/// that runtime. Dropped without [`Server::stop`], it stops without waiting for the tasks.
pub struct Server<N: Net, C, F> {
    net: N,
    clock: C,
    common: Arc<Common<F>>,
    slots: Arc<Slots>,
    members: Arc<Members<F>>,
    observer: Arc<dyn Observer>,
    listeners: Vec<Listening<N>>,
    limits: ConnectionLimits,
    is_started: bool,
    /// Every connection's task has a clone of it; gone once the server stops.
    alive: Option<mpsc::Sender<Infallible>>,
    /// Ends when all of them are dropped.
    ended: mpsc::Receiver<Infallible>,
}

/// The runtime looks at sockets before any timer fires, and so knows after this time what has come to
/// them; but only at so many of those that have news, see [`SOCKETS_PER_TURN`].
const SETTLING: Duration = Duration::from_millis(10);

/// How many sockets' news the runtime takes in before a timer fires: tokio takes 1 024 events at a
/// time, in the order in which they came, and a few are not of connections.
const SOCKETS_PER_TURN: usize = 1_000;

/// A timer of tokio's takes as long as this at least.
const TURN: Duration = Duration::from_millis(1);

/// A listener on its way.
struct Listening<N: Net> {
    config: ListenerConfig,
    address: Option<SocketAddr>,
    /// From binding to starting.
    bound: Option<N::Listener>,
    acceptor: Option<JoinHandle<()>>,
}

impl<N: Net, C: Clock, F: DiskFile> Server<N, C, F> {
    /// Checks the configuration, binds the listeners that have port 0 (NE-034), and sees whether
    /// the others could be bound now, so that nothing else is begun in vain. To be called within a
    /// runtime.
    ///
    /// # Errors
    /// [`StartError::NoListener`], [`StartError::SameName`], [`StartError::Security`],
    /// [`StartError::Bind`]. Nothing stays open.
    pub fn open(
        net: N,
        clock: C,
        config: ServerConfig,
        observer: Arc<dyn Observer>,
    ) -> Result<Self, StartError> {
        let ServerConfig {
            listeners,
            request_bytes_max,
            queued_requests_max,
            queued_request_bytes_max,
            requests_per_connection,
            idle_max,
            limits,
        } = config;
        check(&listeners)?;
        let slots = Slots::new(ConnectionQuotas::new(&listeners));
        let mut listening = Vec::with_capacity(listeners.len());
        for config in listeners {
            let mut listener = Listening {
                config,
                address: None,
                bound: None,
                acceptor: None,
            };
            if listener.config.address.port() == 0 {
                listener.bind(&net)?;
            } else {
                let free = net.check_free(listener.config.address);
                free.map_err(|source| listener.bind_error(source))?;
            }
            listening.push(listener);
        }
        let (alive, ended) = mpsc::channel(1);
        Ok(Self {
            net,
            clock,
            common: Arc::new(Common {
                channel: RequestChannel::new(queued_requests_max),
                inline: OnceLock::new(),
                memory: queued_request_bytes_max.map(RequestMemory::new),
                buffers: FileBuffers::default(),
                frame_buffers: Arc::default(),
                complaints: Complaints::default(),
                request_bytes_max,
                requests_per_connection,
                idle_max,
            }),
            slots,
            members: Members::new(),
            observer,
            listeners: listening,
            limits,
            is_started: false,
            alive: Some(alive),
            ended,
        })
    }

    /// Where handlers take requests from.
    pub fn channel(&self) -> &RequestChannel<F> {
        &self.common.channel
    }

    /// Has quick requests handled on the threads that read them, as long as they are quick
    /// ([`Handler::is_quick`]). The first handler that is told counts. Without one, all requests
    /// go to the channel.
    pub fn handle_quick_requests(&self, handler: Arc<dyn Handler<F>>) {
        self.common.inline.get_or_init(|| Inline::new(handler));
    }

    /// The address of a listener, with the port that was given for port 0; `None` if there is no
    /// such listener, or if it is not bound yet.
    pub fn address(&self, listener: &str) -> Option<SocketAddr> {
        self.listeners[self.position(listener)?].address
    }

    /// Starts every listener: binds those with a fixed port (NE-035), and accepts.
    ///
    /// # Errors
    /// [`StartError::Override`], [`StartError::Bind`], [`StartError::StartedBefore`]. No listener
    /// is left open.
    pub async fn start(&mut self) -> Result<(), StartError> {
        self.start_when(Vec::new()).await
    }

    /// As [`Self::start`], but the listeners that are named here wait each for a future of their
    /// own (NE-036); the others start at once. Returns when all have started.
    ///
    /// # Errors
    /// As [`Self::start`], and [`StartError::MayNotStart`] with the cause of the first future that
    /// failed. No listener is left open.
    pub async fn start_when(
        &mut self,
        gates: Vec<(ListenerName, MayStart)>,
    ) -> Result<(), StartError> {
        if std::mem::replace(&mut self.is_started, true) {
            return Err(StartError::StartedBefore);
        }
        let started = self.try_start(gates).await;
        if started.is_err() {
            self.stop_listening().await;
            self.members.stop();
        }
        started
    }

    async fn try_start(&mut self, gates: Vec<(ListenerName, MayStart)>) -> Result<(), StartError> {
        let limits = std::mem::take(&mut self.limits);
        self.set_limits(limits).await?;
        let mut gates: Vec<_> = gates
            .into_iter()
            .filter_map(|(name, gate)| Some((self.position(name.as_str())?, gate)))
            .collect();
        for index in 0..self.listeners.len() {
            if gates.iter().all(|(gated, _)| *gated != index) {
                self.start_listener(index)?;
            }
        }
        while !gates.is_empty() {
            let (index, opened) = first_of(&mut gates).await;
            match opened {
                Ok(()) => self.start_listener(index)?,
                Err(source) => {
                    return Err(StartError::MayNotStart {
                        listener: self.listeners[index].config.name.clone(),
                        source,
                    });
                }
            }
        }
        Ok(())
    }

    fn start_listener(&mut self, index: usize) -> Result<(), StartError> {
        let alive = self.alive.clone().ok_or(StartError::StartedBefore)?;
        let listener = &mut self.listeners[index];
        listener.bind(&self.net)?;
        let clock = self.clock.clone();
        let now: Now = Arc::new(move || clock.now());
        let acceptor = Acceptor {
            clock: self.clock.clone(),
            index,
            config: listener.config.clone(),
            common: Arc::clone(&self.common),
            slots: Arc::clone(&self.slots),
            members: Arc::clone(&self.members),
            observer: Arc::clone(&self.observer),
            now,
            alive,
        };
        if let Some(bound) = listener.bound.take() {
            listener.acceptor = Some(tokio::spawn(acceptor.run::<N>(bound)));
        }
        Ok(())
    }

    /// Replaces the limits over all listeners. What is open stays open; acceptors that wait look
    /// again at once.
    ///
    /// # Errors
    /// [`StartError::Override`]: the limits are as they were.
    pub async fn set_limits(&self, limits: ConnectionLimits) -> Result<(), StartError> {
        let mut max_per_ip_overrides = HashMap::new();
        for (host, max) in limits.max_connections_per_ip_overrides {
            match self.net.resolve(&host, 0).await {
                Ok(addresses) => {
                    let addresses = addresses.iter().map(|address| address.ip().to_canonical());
                    max_per_ip_overrides.extend(addresses.map(|address| (address, max)));
                }
                Err(source) => return Err(StartError::Override { host, source }),
            }
        }
        self.slots.set_limits(ResolvedLimits {
            max: limits.max_connections,
            max_per_ip: limits.max_connections_per_ip,
            max_per_ip_overrides,
            rate: limits.max_connection_creation_rate,
            rate_per_ip: limits.connection_creation_rate_per_ip,
            rate_per_ip_overrides: limits
                .connection_creation_rate_per_ip_overrides
                .into_iter()
                .map(|(address, rate)| (address.to_canonical(), rate))
                .collect(),
        });
        Ok(())
    }

    /// Replaces the limits of one listener, likewise; `None` if there is no such listener.
    pub fn set_listener_limits(
        &self,
        listener: &str,
        max_connections: u32,
        max_connection_creation_rate: Option<NonZeroU32>,
    ) -> Option<()> {
        let (index, rate) = (self.position(listener)?, max_connection_creation_rate);
        self.slots
            .set_listener_limits(index, max_connections, rate)
            .ok()
    }

    /// Live connections of a listener; `None` if there is no such listener.
    pub fn connections(&self, listener: &str) -> Option<u32> {
        self.slots.count(self.position(listener)?).ok()
    }

    /// Closes every listener, and every connection as soon as all that its peer has sent by now is
    /// answered; waits for that, at most for so long. Handlers must go on meanwhile, and whoever
    /// lets requests wait is [told](Observer::input_ended) that they are not to wait any more.
    ///
    /// A connection ends when nothing is found in its socket, or when some megabytes have been read
    /// since the stop began: more than a socket holds, unless the system was told to let it. What is
    /// sent meanwhile may be answered, too. Its last answers have half a second to reach the peer.
    /// Returns how many connections were not done; to be followed by [`Self::stop`].
    pub async fn finish(&mut self, time_max: Duration) -> usize {
        let began = self.clock.now();
        self.stop_listening().await;
        self.let_settle().await;
        self.members.finish();
        let time_is_up = self.clock.sleep_until(Some(began + time_max));
        self.alive = None;
        tokio::select! {
            () = all_ended(&mut self.ended) => {}
            () = time_is_up => {}
        }
        self.members.unanswered()
    }

    /// Waits until the runtime knows what has come to each socket.
    async fn let_settle(&self) {
        let mut wait = SETTLING;
        for _ in 0..self.members.len().div_ceil(SOCKETS_PER_TURN) {
            let later = self.clock.now() + wait;
            self.clock.sleep_until(Some(later)).await;
            wait = TURN;
        }
    }

    /// Closes every listener and every connection, and waits until their tasks have ended.
    /// Requests that wait in the channel, or are with handlers, stay there; their answers go
    /// nowhere, unless there was time to [finish](Self::finish) them. (NE-057)
    pub async fn stop(mut self) {
        self.stop_listening().await;
        self.members.stop();
        self.alive = None;
        all_ended(&mut self.ended).await;
    }

    async fn stop_listening(&mut self) {
        for listener in &mut self.listeners {
            listener.bound = None;
            if let Some(acceptor) = listener.acceptor.take() {
                acceptor.abort();
                // It has been told to end; how it did does not matter.
                _ = acceptor.await;
            }
        }
    }

    fn position(&self, listener: &str) -> Option<usize> {
        let named = |listening: &Listening<N>| listening.config.name.as_str() == listener;
        self.listeners.iter().position(named)
    }
}

impl<N: Net> Listening<N> {
    /// Binds it, unless it is bound.
    fn bind(&mut self, net: &N) -> Result<(), StartError> {
        if self.bound.is_none() {
            let bound = net.bind(self.config.address, self.config.options);
            let bound = bound.map_err(|source| self.bind_error(source))?;
            self.address = Some(bound.local_address());
            self.bound = Some(bound);
        }
        Ok(())
    }

    fn bind_error(&self, source: NetError) -> StartError {
        StartError::Bind {
            listener: self.config.name.clone(),
            source,
        }
    }
}

impl<N: Net, C, F> Drop for Server<N, C, F> {
    fn drop(&mut self) {
        for listener in &self.listeners {
            if let Some(acceptor) = &listener.acceptor {
                acceptor.abort();
            }
        }
        self.members.stop();
    }
}

/// Waits for the last task that has the other end. Nothing is ever sent.
async fn all_ended(ended: &mut mpsc::Receiver<Infallible>) {
    while ended.recv().await.is_some() {}
}

/// Waits for the first future to end, and takes it out.
async fn first_of(
    gates: &mut Vec<(usize, MayStart)>,
) -> (usize, Result<(), Box<dyn Error + Send + Sync>>) {
    poll_fn(|context| {
        for at in 0..gates.len() {
            let (index, gate) = &mut gates[at];
            if let Poll::Ready(opened) = gate.as_mut().poll(context) {
                let index = *index;
                drop(gates.swap_remove(at));
                return Poll::Ready((index, opened));
            }
        }
        Poll::Pending
    })
    .await
}

fn check(listeners: &[ListenerConfig]) -> Result<(), StartError> {
    if listeners.is_empty() {
        return Err(StartError::NoListener);
    }
    for (index, listener) in listeners.iter().enumerate() {
        let name = &listener.name;
        if listeners[..index].iter().any(|other| other.name == *name) {
            return Err(StartError::SameName { name: name.clone() });
        }
        if listener.security != SecurityProtocol::Plaintext {
            return Err(StartError::Security {
                listener: name.clone(),
                security: listener.security,
            });
        }
    }
    Ok(())
}
