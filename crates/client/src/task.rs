//! [`ClientTask`]: the loop that owns the sockets.

mod alarm;
mod connection;
mod outbound;
mod ready_set;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use klamm_io::{Clock, Net};
use klamm_wire::Encoded;
use tracing::error;

use self::alarm::Alarm;
use self::connection::Connection;
use self::ready_set::ReadySet;
use crate::cluster::Cluster;
use crate::config::ClientConfig;
use crate::guest::Guest;
use crate::metadata::Metadata;
use crate::network_client::{Action, ConnectionId, Event, NetworkClient};
use crate::trouble::{Loss, LossKind};

/// The task that owns the sockets, a [`NetworkClient`] and a [`Guest`]. Dropping it lets the task
/// run on; see [`ClientHandle::close`].
#[derive(Debug)]
pub struct ClientTask<G> {
    handle: ClientHandle,
    join: tokio::task::JoinHandle<G>,
}

/// Reaches a client's task from anywhere; a clone reaches the same.
#[derive(Debug, Clone)]
pub struct ClientHandle {
    metadata: Metadata,
    ready: ReadySet,
    closing: Arc<AtomicBool>,
}

impl ClientHandle {
    /// Makes the task take a turn soon. Calls that come before it does are one; so this may be
    /// called for every record.
    pub fn wake(&self) {
        self.ready.want_turn();
    }

    /// The newest snapshot of the cluster.
    pub fn cluster(&self) -> Arc<Cluster> {
        self.metadata.cluster()
    }

    /// What is known of the cluster. What asks for a refresh takes effect with [`Self::wake`].
    pub const fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    /// Ends the task at its next turn: connections are closed, and requests in flight are
    /// answered with [`Failure::Closed`](crate::Failure::Closed).
    pub fn close(&self) {
        self.closing.store(true, Ordering::Release);
        self.wake();
    }
}

impl<G: Guest> ClientTask<G> {
    /// Starts the task, on the runtime in which this is called. Nothing is connected yet, and
    /// nothing checked: see [`ClientConfig::check`] and [`resolvable`](crate::resolvable).
    /// `seed` is for jitter and choice: see [`NetworkClient::new`].
    pub fn spawn<N: Net, C: Clock>(
        net: N,
        clock: C,
        config: ClientConfig,
        seed: u64,
        mut guest: G,
    ) -> Self {
        let client = NetworkClient::new(config, seed, clock.now());
        let handle = ClientHandle {
            metadata: client.metadata().clone(),
            ready: ReadySet::default(),
            closing: Arc::default(),
        };
        guest.started(&handle);
        let shell = Shell {
            net,
            client,
            guest,
            ready: handle.ready.clone(),
            closing: handle.closing.clone(),
            connections: HashMap::new(),
            events: Vec::new(),
            actions: Vec::new(),
            next_turn: None,
        };
        let join = tokio::spawn(shell.run(clock));
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

    /// [Closes](ClientHandle::close) and [joins](Self::join).
    ///
    /// # Panics
    /// If the guest did.
    pub async fn close(self) -> G {
        self.handle.close();
        self.join().await
    }
}

/// What the task owns.
struct Shell<N: Net, G> {
    net: N,
    client: NetworkClient,
    guest: G,
    ready: ReadySet,
    closing: Arc<AtomicBool>,
    connections: HashMap<ConnectionId, Connection<N>>,
    events: Vec<Event>,
    actions: Vec<Action>,
    /// When the guest wants its turn.
    next_turn: Option<Instant>,
}

impl<N: Net, G: Guest> Shell<N, G> {
    async fn run<C: Clock>(mut self, clock: C) -> G {
        let mut ready = Vec::new();
        let mut alarm = Alarm::new(clock.clone());
        loop {
            let now = clock.now();
            if self.closing.load(Ordering::Acquire) && !self.client.is_closed() {
                self.client.close(now);
            }
            self.turn(now);
            if self.client.is_closed() {
                self.guest.turn(now, &mut self.client);
                return self.guest;
            }
            // A write that was done at once is an event, and does not wait.
            if self.events.is_empty() {
                let deadline = self.client.next_deadline(now);
                let deadline = [deadline, self.next_turn].into_iter().flatten().min();
                self.ready.wait(&mut ready, alarm.at(deadline)).await;
            } else {
                self.ready.take(&mut ready);
            }
            // Lets others run, and the sockets work on: what they may do without is bounded.
            tokio::task::coop::consume_budget().await;
            for connection in ready.drain(..) {
                self.poll(connection);
            }
        }
    }

    /// The events go in, what comes out is done, and the guest has its turn.
    fn turn(&mut self, now: Instant) {
        self.events.sort_by_key(Event::stage);
        let mut events = std::mem::take(&mut self.events);
        for event in events.drain(..) {
            self.client.handle(now, event, &mut self.actions);
        }
        self.events = events;
        self.tick(now);
        self.next_turn = self.guest.turn(now, &mut self.client);
        self.tick(now);
    }

    fn tick(&mut self, now: Instant) {
        self.client.handle(now, Event::Tick, &mut self.actions);
        // What the guest does when it is answered leads to more.
        while !self.actions.is_empty() {
            let mut actions = std::mem::take(&mut self.actions);
            for action in actions.drain(..) {
                self.perform(now, action);
            }
            self.actions = actions;
            self.client.handle(now, Event::Tick, &mut self.actions);
        }
    }

    fn perform(&mut self, now: Instant, action: Action) {
        match action {
            Action::Resolve {
                connection,
                host,
                port,
            } => {
                let net = self.net.clone();
                let resolving = Box::pin(async move { net.resolve(&host, port).await });
                self.connection(connection).resolve(resolving);
                self.poll(connection);
            }
            Action::Connect {
                connection,
                address,
                ..
            } => {
                let (net, options) = (self.net.clone(), self.client.config().socket);
                let connecting = Box::pin(async move { net.connect(address, options).await });
                self.connection(connection).connect(connecting);
                self.poll(connection);
            }
            Action::Write { connection, frame } => self.write(connection, frame),
            Action::Close(connection) => {
                self.connections.remove(&connection);
            }
            Action::Answer(answer) => self.guest.answered(now, answer, &mut self.client),
        }
    }

    fn write(&mut self, id: ConnectionId, frame: Encoded) {
        // One that is gone has left the event that says so.
        let Some(connection) = self.connections.get_mut(&id) else {
            return;
        };
        match connection.write(frame) {
            Ok(()) => self.poll(id),
            Err(refused) => {
                error!(connection = %id, %refused, "closing the connection");
                self.connections.remove(&id);
                let loss = Loss::new(LossKind::Broken, refused.to_string());
                self.events.push(Event::Disconnected(id, loss));
            }
        }
    }

    fn connection(&mut self, id: ConnectionId) -> &mut Connection<N> {
        let frame_bytes_max = self.client.config().response_bytes_max;
        let ready = &self.ready;
        self.connections
            .entry(id)
            .or_insert_with(|| Connection::new(id, ready.waker(id), frame_bytes_max))
    }

    /// Lets a connection go on; forgets it if it has ended.
    fn poll(&mut self, id: ConnectionId) {
        let Some(connection) = self.connections.get_mut(&id) else {
            return;
        };
        let moved = connection.poll(&mut self.events);
        if moved.has_ended {
            self.connections.remove(&id);
        }
        self.client.transferred(id, moved.sent, moved.received);
    }
}
