//! A client's task and a cluster on a simulated network, and time that passes by itself.

use std::future::Future;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use klamm_client::{
    Answer, BootstrapAddress, ClientConfig, ClientTask, Cluster, Guest, NetworkClient, NodeId,
    Requests, RequestsGuest,
};
use klamm_fake_broker::{ClusterOptions, FakeCluster, Place};
use klamm_io::Clock;
use klamm_io::sim::{SimClock, SimHost, SimNet};

pub(crate) const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

pub(crate) const NODE: NodeId = NodeId::new(0);

/// Lets every task run until it waits.
pub(crate) async fn settle() {
    for _ in 0..30 {
        tokio::task::yield_now().await;
    }
}

/// A simulated network with a client's host and one for each node, named `broker0` and so on.
pub(crate) struct World {
    pub(crate) clock: SimClock,
    pub(crate) net: SimNet,
    pub(crate) client: SimHost,
    pub(crate) cluster: FakeCluster<SimHost, SimClock>,
}

impl World {
    pub(crate) fn new(node_count: u8) -> Self {
        Self::with(node_count, ClusterOptions::default())
    }

    pub(crate) fn with(node_count: u8, options: ClusterOptions) -> Self {
        let clock = SimClock::new();
        let net = SimNet::new(clock.clone());
        let places = (0..node_count).map(|id| {
            let ip = Self::ip(id);
            net.set_name(&format!("broker{id}"), &[ip]);
            Place {
                net: net.host(ip),
                address: (ip, 9092).into(),
                host: Some(format!("broker{id}")),
            }
        });
        let cluster = FakeCluster::start(clock.clone(), places.collect(), options).unwrap();
        Self {
            client: net.host(IpAddr::from([10, 0, 1, 1])),
            clock,
            net,
            cluster,
        }
    }

    pub(crate) fn ip(id: u8) -> IpAddr {
        IpAddr::from([10, 0, 0, id + 1])
    }

    pub(crate) fn config() -> ClientConfig {
        ClientConfig {
            bootstrap: BootstrapAddress::parse_list("broker0:9092").unwrap(),
            client_id: "tester".into(),
            ..ClientConfig::default()
        }
    }

    pub(crate) fn spawn<G: Guest>(&self, config: ClientConfig, guest: G) -> ClientTask<G> {
        ClientTask::spawn(self.client.clone(), self.clock.clone(), config, 1, guest)
    }

    /// A client and a handle for requests.
    pub(crate) fn requests(
        &self,
        config: ClientConfig,
    ) -> (Requests, ClientTask<RequestsGuest<()>>) {
        let (requests, guest) = Requests::beside(());
        (requests, self.spawn(config, guest))
    }

    /// Runs a future while time passes: when nothing else can run, the clock goes on to the next
    /// deadline.
    pub(crate) async fn run<T>(&self, future: impl Future<Output = T>) -> T {
        tokio::pin!(future);
        loop {
            tokio::select! {
                biased;
                done = &mut future => return done,
                () = settle() => {}
            }
            match self.clock.next_deadline() {
                Some(deadline) => self
                    .clock
                    .advance_to(deadline.min(self.clock.now() + ms(100))),
                None => self.clock.advance(ms(1)),
            }
        }
    }

    /// Waits until the client knows the cluster.
    pub(crate) async fn known<G>(&self, task: &ClientTask<G>) -> Arc<Cluster>
    where
        G: Guest,
    {
        let metadata = task.handle().metadata();
        self.run(metadata.newer_than(0)).await.unwrap()
    }
}

/// A guest made of two functions.
pub(crate) struct Acting<T, A> {
    pub(crate) turn: T,
    pub(crate) answered: A,
}

impl<T, A> Guest for Acting<T, A>
where
    T: FnMut(Instant, &mut NetworkClient) -> Option<Instant> + Send + 'static,
    A: FnMut(Instant, Answer, &mut NetworkClient) + Send + 'static,
{
    fn turn(&mut self, now: Instant, client: &mut NetworkClient) -> Option<Instant> {
        (self.turn)(now, client)
    }

    fn answered(&mut self, now: Instant, answer: Answer, client: &mut NetworkClient) {
        (self.answered)(now, answer, client);
    }
}

/// Shorter words for what a test asks of its clock.
pub(crate) trait Time {
    fn time(&self) -> Instant;

    fn sleep_for(&self, time: Duration) -> impl Future<Output = ()> + Send + 'static;
}

impl Time for SimClock {
    fn time(&self) -> Instant {
        self.now()
    }

    fn sleep_for(&self, time: Duration) -> impl Future<Output = ()> + Send + 'static {
        self.sleep_until(Some(self.now() + time))
    }
}

/// Numbers as node ids.
pub(crate) trait IntoNode {
    fn into_node(self) -> NodeId;
}

impl IntoNode for i32 {
    fn into_node(self) -> NodeId {
        NodeId::new(self)
    }
}
