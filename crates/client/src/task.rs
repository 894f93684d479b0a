//! [`ClientTask`]: the loop that owns the sockets.

use std::sync::Arc;

use klamm_io::{Clock, Net};

use crate::cluster::Cluster;
use crate::config::ClientConfig;
use crate::guest::Guest;
use crate::metadata::Metadata;

/// The task that owns the sockets, a [`NetworkClient`](crate::NetworkClient) and a [`Guest`].
/// Dropping it lets the task run on; see [`ClientHandle::close`].
#[derive(Debug)]
pub struct ClientTask<G> {
    handle: ClientHandle,
    join: tokio::task::JoinHandle<G>,
}

/// Reaches a client's task from anywhere; a clone reaches the same.
#[derive(Debug, Clone)]
pub struct ClientHandle {
    metadata: Metadata,
}

impl ClientHandle {
    /// Makes the task take a turn soon. Calls that come before it does are one; so this may be
    /// called for every record.
    pub fn wake(&self) {}

    /// The newest snapshot of the cluster.
    pub fn cluster(&self) -> Arc<Cluster> {
        self.metadata.cluster()
    }

    /// What is known of the cluster. What asks for a refresh takes effect with [`Self::wake`].
    pub const fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    /// Ends the task at its next turn: connections are closed, requests in flight fail.
    pub fn close(&self) {}
}

impl<G: Guest> ClientTask<G> {
    /// Starts the task, on the runtime in which this is called. Nothing is connected yet.
    /// `seed` is for jitter and choice: see [`NetworkClient::new`](crate::NetworkClient::new).
    pub fn spawn<N: Net, C: Clock>(
        net: N,
        clock: C,
        config: ClientConfig,
        seed: u64,
        guest: G,
    ) -> Self {
        let metadata = Metadata::new(&config, seed, clock.now());
        let handle = ClientHandle { metadata };
        let join = tokio::spawn(async move {
            drop(net);
            guest
        });
        Self { handle, join }
    }

    /// A way to reach it.
    pub const fn handle(&self) -> &ClientHandle {
        &self.handle
    }

    /// Waits for the end of the task, and gives the guest back.
    ///
    /// # Panics
    /// If the guest did.
    pub async fn join(self) -> G {
        self.join.await.expect("the guest does not panic")
    }
}
