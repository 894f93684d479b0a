//! [`FakeCluster`]: the model of a cluster behind sockets.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use klamm_io::{Clock, ListenOptions, Listener, Net, NetError};
use klamm_primitives::BrokerId;
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::watch;

use crate::model::{ClusterModel, ClusterOptions};
use crate::node::accept;

/// Where a node listens.
#[derive(Debug, Clone)]
pub struct Place<N> {
    /// Its way to the network.
    pub net: N,
    /// The address; port 0 takes any.
    pub address: SocketAddr,
    /// The host that clients are told, if not the address.
    pub host: Option<String>,
}

impl<N> Place<N> {
    /// A node that clients find by its address.
    pub const fn new(net: N, address: SocketAddr) -> Self {
        Self {
            net,
            address,
            host: None,
        }
    }
}

/// A cluster of scripted brokers, with ids from 0 on, that listen at one address each. What they
/// know and answer is a [`ClusterModel`]. A clone is the same. Its tasks run on the runtime in which
/// it was started; they end with [`FakeCluster::stop`], or when the last clone is dropped.
#[derive(Debug)]
pub struct FakeCluster<N: Net, C: Clock> {
    shared: Arc<Shared>,
    clock: C,
    places: Arc<Vec<Place<N>>>,
    /// Of the nodes that are up.
    lives: Arc<Mutex<HashMap<BrokerId, watch::Sender<bool>>>>,
}

/// What the tasks of all nodes share.
#[derive(Debug)]
pub(crate) struct Shared {
    /// Held for one request.
    pub(crate) model: Mutex<ClusterModel>,
    pub(crate) connections: AtomicU64,
    pub(crate) open_connections: AtomicU64,
}

impl<N: Net, C: Clock> Clone for FakeCluster<N, C> {
    fn clone(&self) -> Self {
        Self {
            shared: self.shared.clone(),
            clock: self.clock.clone(),
            places: self.places.clone(),
            lives: self.lives.clone(),
        }
    }
}

impl<N: Net, C: Clock> FakeCluster<N, C> {
    /// Starts a node at each place.
    ///
    /// # Errors
    /// If one cannot listen.
    pub fn start(
        clock: C,
        places: Vec<Place<N>>,
        options: ClusterOptions,
    ) -> Result<Self, NetError> {
        let mut cluster = Self {
            shared: Arc::new(Shared {
                model: Mutex::new(ClusterModel::new(options)),
                connections: AtomicU64::new(0),
                open_connections: AtomicU64::new(0),
            }),
            clock,
            places: Arc::default(),
            lives: Arc::default(),
        };
        let mut bound = Vec::with_capacity(places.len());
        for (id, mut place) in (0..).map(BrokerId::new).zip(places) {
            let listener = place.net.bind(place.address, ListenOptions::default())?;
            place.address = listener.local_address();
            let host = place.host.clone();
            let host = host.unwrap_or_else(|| place.address.ip().to_string());
            cluster.model().add_node(id, host, place.address.port());
            cluster.run(id, listener);
            bound.push(place);
        }
        cluster.places = Arc::new(bound);
        Ok(cluster)
    }

    fn run(&self, node: BrokerId, listener: N::Listener) {
        let (life, alive) = watch::channel(true);
        self.lives.lock().insert(node, life);
        let (shared, clock) = (self.shared.clone(), self.clock.clone());
        tokio::spawn(accept::<N, C>(listener, node, shared, clock, alive));
    }

    /// What the nodes know. While it is held they answer nobody, so it is not held across an
    /// await.
    pub fn model(&self) -> MutexGuard<'_, ClusterModel> {
        self.shared.model.lock()
    }

    /// Where a node listens.
    ///
    /// # Panics
    /// If there is no such node.
    pub fn address(&self, node: impl Into<BrokerId>) -> SocketAddr {
        self.place(node.into()).address
    }

    fn place(&self, node: BrokerId) -> &Place<N> {
        let at = usize::try_from(node.get()).ok();
        let place = at.and_then(|at| self.places.get(at));
        place.expect("the node exists")
    }

    /// All addresses, as `bootstrap.servers` has them.
    pub fn bootstrap(&self) -> String {
        let places = self.places.iter();
        let addresses: Vec<String> = places.map(|place| place.address.to_string()).collect();
        addresses.join(",")
    }

    /// A node goes down: it listens no more, and its connections are closed. What it leads stays
    /// without a leader until it is moved.
    ///
    /// # Panics
    /// If there is no such node.
    pub fn stop_node(&self, node: impl Into<BrokerId>) {
        let node = node.into();
        self.model().set_up(node, false);
        if let Some(life) = self.lives.lock().remove(&node) {
            life.send_replace(false);
        }
    }

    /// A node comes back, at the same address.
    ///
    /// # Errors
    /// If it cannot listen there.
    ///
    /// # Panics
    /// If there is no such node.
    pub fn start_node(&self, node: impl Into<BrokerId>) -> Result<(), NetError> {
        let node = node.into();
        let place = self.place(node);
        let listener = place.net.bind(place.address, ListenOptions::default())?;
        self.model().set_up(node, true);
        self.run(node, listener);
        Ok(())
    }

    /// Closes all connections of a node, which goes on to listen.
    ///
    /// # Errors
    /// If it cannot listen again.
    ///
    /// # Panics
    /// If there is no such node.
    pub async fn cut_connections(&self, node: impl Into<BrokerId>) -> Result<(), NetError> {
        let node = node.into();
        self.stop_node(node);
        // The task that listens has to let go of the address first.
        let mut tries = 0;
        loop {
            tokio::task::yield_now().await;
            match self.start_node(node) {
                Err(_) if tries < 1_000 => tries += 1,
                started => return started,
            }
        }
    }

    /// Ends all nodes.
    pub fn stop(&self) {
        for (_, life) in self.lives.lock().drain() {
            life.send_replace(false);
        }
    }

    /// Connections that are open.
    pub fn open_connections(&self) -> u64 {
        self.shared.open_connections.load(Ordering::Relaxed)
    }

    /// Connections that were ever accepted.
    pub fn connections(&self) -> u64 {
        self.shared.connections.load(Ordering::Relaxed)
    }
}
