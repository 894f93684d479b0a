//! [`World`]: a sender, a client and a cluster in one thread.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use klamm_client::{Action, ConnectionId, Event, Guest, Loss, LossKind, NetworkClient};
use klamm_fake_broker::{ClusterModel, ClusterOptions, Fault};
use klamm_io::Clock;
use klamm_io::sim::SimClock;
use klamm_primitives::{BrokerId, TopicPartition};
use klamm_wire::ApiKey;

use crate::accumulator::{Attempt, Listener, Place, RecordAccumulator, Rules};
use crate::batch::{Callback, Draft};
use crate::buffer_pool::BufferPool;
use crate::config::{ProducerConfig, ProducerConfigBuilder};
use crate::delivery::Delivery;
use crate::error::{DeliveryError, Failure};
use crate::interceptor::{Acknowledged, Interceptors};
use crate::lifecycle::Lifecycle;
use crate::metrics::{Metrics, PoolLevels};
use crate::record::RecordMetadata;
use crate::sender::{Sender, SenderShared};

/// More turns than this at one instant is a loop that never waits.
const TURNS_AT_ONCE_MAX: usize = 2_000;

/// The bytes in front of a frame.
const FRAME_SIZE_LEN: usize = 4;

/// A connection that is open.
struct Link {
    node: BrokerId,
    number: u64,
    /// When its last answer comes: none overtakes another.
    answered_at: Instant,
}

pub(super) struct World {
    pub(super) now: Instant,
    pub(super) start: Instant,
    pub(super) cluster: ClusterModel,
    pub(super) client: NetworkClient,
    pub(super) sender: Sender,
    pub(super) accumulator: Arc<RecordAccumulator>,
    pub(super) lifecycle: Arc<Lifecycle>,
    pub(super) metrics: Arc<Metrics>,
    /// By time, then by the order of their coming about.
    events: BTreeMap<(Instant, u64), Event>,
    event_count: u64,
    links: HashMap<ConnectionId, Link>,
    next_turn: Option<Instant>,
    /// Brokers that nobody can connect to.
    pub(super) down: Vec<i32>,
    pub(super) turns: usize,
}

/// Brokers with the ids from 1 on, at `broker-ID`, and a topic `t`.
pub(super) fn cluster(brokers: i32, partitions: usize) -> ClusterModel {
    let mut cluster = ClusterModel::new(ClusterOptions {
        auto_create_partitions: None,
        reverse_answers: true,
        ..ClusterOptions::default()
    });
    for id in 1..=brokers {
        cluster.add_node(id, format!("broker-{id}"), 9092);
    }
    cluster.create_topic("t", partitions);
    cluster
}

/// A configuration with a server.
pub(super) fn config() -> ProducerConfigBuilder {
    ProducerConfig::builder()
        .bootstrap_servers("broker-1:9092")
        .unwrap()
        .linger(Duration::ZERO)
}

/// One that is not idempotent.
pub(super) fn plain() -> ProducerConfigBuilder {
    config().idempotence(false)
}

impl World {
    pub(super) fn new(config: ProducerConfigBuilder, cluster: ClusterModel) -> Self {
        Self::seeded(config, cluster, 7)
    }

    pub(super) fn seeded(config: ProducerConfigBuilder, cluster: ClusterModel, seed: u64) -> Self {
        let config = config.build().unwrap();
        let now = SimClock::new().now();
        let pool = BufferPool::new(config.batching.buffer_memory, config.batching.batch_size);
        let rules = Rules::of(&config);
        let accumulator = Arc::new(RecordAccumulator::new(rules, Arc::new(pool), seed));
        let lifecycle = Arc::new(Lifecycle::new());
        let metrics = Arc::new(Metrics::new(&config.metrics, now));
        let shared = SenderShared {
            lifecycle: Arc::clone(&lifecycle),
            interceptors: Arc::new(Interceptors::<(), ()>(Vec::new())) as Arc<dyn Acknowledged>,
            metrics: Arc::clone(&metrics),
        };
        let queues = Arc::clone(&accumulator);
        let client = NetworkClient::new(config.client.clone(), seed, now);
        client.metadata().add_topics(["t"], now);
        Self {
            now,
            start: now,
            cluster,
            client,
            sender: Sender::new(&config, queues, shared, seed, now),
            accumulator,
            lifecycle,
            metrics,
            events: BTreeMap::new(),
            event_count: 0,
            links: HashMap::new(),
            next_turn: Some(now),
            down: Vec::new(),
            turns: 0,
        }
    }

    /// As [`warmed`](Self::warmed), in a cluster of that size.
    pub(super) fn warm(config: ProducerConfigBuilder, brokers: i32, partitions: usize) -> Self {
        Self::warmed(config, cluster(brokers, partitions))
    }

    /// As [`new`](Self::new), with everything known and connected that a first record needs.
    pub(super) fn warmed(config: ProducerConfigBuilder, cluster: ClusterModel) -> Self {
        let partitions = cluster.partitions();
        let mut world = Self::new(config, cluster);
        let warm: Vec<_> = partitions
            .iter()
            .map(|partition| world.send(partition.partition.get(), "warm"))
            .collect();
        let flushing = world.accumulator.begin_flush();
        world.run(Duration::from_secs(1));
        drop(flushing);
        for delivery in warm {
            delivery.outcome().unwrap().unwrap();
        }
        world.cluster.forget_seen();
        world
    }

    /// Each of these occurs to one of the next produce requests.
    pub(super) fn faults(&mut self, faults: impl IntoIterator<Item = Fault>) {
        self.cluster.line_up(ApiKey::Produce, faults);
    }

    pub(super) fn send(&mut self, partition: i32, value: &str) -> Delivery {
        self.send_to("t", partition, value, None)
    }

    pub(super) fn send_noted(
        &mut self,
        partition: i32,
        value: &str,
        callback: impl FnOnce(Result<RecordMetadata, DeliveryError>) + Send + 'static,
    ) -> Delivery {
        let callback: Callback = Box::new(callback);
        self.send_to("t", partition, value, Some(callback))
    }

    /// Appends a record as a call of send does, and lets the sender have a look.
    pub(super) fn send_to(
        &mut self,
        topic: &str,
        partition: i32,
        value: &str,
        callback: Option<Callback>,
    ) -> Delivery {
        let delivery = self.append(topic, partition, value, callback);
        self.settle();
        delivery
    }

    /// Appends a record, of which the sender learns when it looks next.
    pub(super) fn append(
        &mut self,
        topic: &str,
        partition: i32,
        value: &str,
        callback: Option<Callback>,
    ) -> Delivery {
        let name: Arc<str> = topic.into();
        let queues = self.accumulator.topic(&name);
        let queue = self.accumulator.queue(&queues, partition.into());
        let place = Place {
            topic: &queues,
            queue: &queue,
            sticky: None,
        };
        let draft = Draft::new(None, Some(value.as_bytes()), &[], 1_700_000_000_000);
        let mut listener = Listener::new(false, callback);
        let mut attempt = place.try_append(&draft, &mut listener);
        if let Attempt::NeedsBatch = attempt {
            let size = self.accumulator.new_batch_size(&draft);
            let memory = self.accumulator.pool().try_take(size).unwrap();
            let mut memory = memory.expect("the pool is large enough for the test");
            let buffer = memory.buffer().unwrap();
            let memory = (memory, buffer);
            let now = self.now;
            attempt = self
                .accumulator
                .append_to_new(place, &draft, &mut listener, memory, now);
        }
        match attempt {
            Attempt::Appended(appended) => {
                if appended.wake {
                    self.next_turn = Some(self.now);
                }
                listener.into_delivery()
            }
            _ => panic!("the accumulator is open and the partition is given"),
        }
    }

    fn happens(&mut self, at: Instant, event: Event) {
        self.event_count += 1;
        self.events.insert((at, self.event_count), event);
    }

    /// Does all that is due now.
    pub(super) fn settle(&mut self) {
        let mut actions = Vec::new();
        for _ in 0..TURNS_AT_ONCE_MAX {
            let mut busy = false;
            while let Some(entry) = self.events.first_entry()
                && entry.key().0 <= self.now
            {
                busy = true;
                let event = entry.remove();
                self.client.handle(self.now, event, &mut actions);
            }
            self.act(&mut actions);
            self.turns += 1;
            self.next_turn = self.sender.turn(self.now, &mut self.client);
            self.client.handle(self.now, Event::Tick, &mut actions);
            busy |= !actions.is_empty();
            self.act(&mut actions);
            if !busy {
                return;
            }
        }
        panic!("the sender never waits");
    }

    fn act(&mut self, actions: &mut Vec<Action>) {
        for action in std::mem::take(actions) {
            match action {
                Action::Resolve {
                    connection, host, ..
                } => {
                    let id: u8 = host.strip_prefix("broker-").unwrap().parse().unwrap();
                    let address = ([127, 0, 0, id], 9092).into();
                    self.happens(self.now, Event::Resolved(connection, vec![address]));
                }
                Action::Connect {
                    connection, host, ..
                } => {
                    let id: i32 = host.strip_prefix("broker-").unwrap().parse().unwrap();
                    if self.down.contains(&id) {
                        let refused = Event::Disconnected(
                            connection,
                            Loss::new(LossKind::Refused, "refused"),
                        );
                        self.happens(self.now, refused);
                    } else {
                        let link = Link {
                            node: id.into(),
                            number: self.event_count,
                            answered_at: self.now,
                        };
                        self.links.insert(connection, link);
                        self.happens(self.now, Event::Connected(connection));
                    }
                }
                Action::Write { connection, frame } => {
                    self.happens(self.now, Event::Written(connection));
                    self.deliver(connection, &frame.into_bytes().unwrap());
                }
                Action::Close(connection) => {
                    self.links.remove(&connection);
                }
                Action::Answer(answer) => {
                    self.sender.answered(self.now, answer, &mut self.client);
                }
            }
        }
    }

    /// Takes a request to its broker, and lets happen what that does.
    fn deliver(&mut self, connection: ConnectionId, request: &Bytes) {
        let link = self.links.get_mut(&connection).unwrap();
        let frame = request.slice(FRAME_SIZE_LEN..);
        let reply = self.cluster.serve(link.node, link.number, frame);
        let mut at = self.now + reply.delay;
        // The client's core sees whole frames.
        if let Some((size, frame)) = reply.bytes.split_first_chunk::<FRAME_SIZE_LEN>()
            && u32::from_be_bytes(*size) as usize == frame.len()
        {
            at = at.max(link.answered_at);
            link.answered_at = at;
            let frame = reply.bytes.slice(FRAME_SIZE_LEN..);
            self.happens(at, Event::Received(connection, frame));
        }
        if reply.closes {
            let closed = Event::Disconnected(connection, Loss::new(LossKind::Broken, "closed"));
            self.happens(at, closed);
        }
    }

    /// Closes all connections to a broker, from its side.
    pub(super) fn cut(&mut self, node: i32) {
        let links: Vec<_> = self
            .links
            .iter()
            .filter(|(_, link)| link.node.get() == node)
            .map(|(id, _)| *id)
            .collect();
        for connection in links {
            self.happens(
                self.now,
                Event::Disconnected(connection, Loss::new(LossKind::Broken, "cut")),
            );
        }
        self.settle();
    }

    /// Lets so much time pass.
    pub(super) fn run(&mut self, time: Duration) {
        let end = self.now + time;
        let mut at_once = 0;
        loop {
            self.settle();
            let event = self.events.first_key_value().map(|(key, _)| key.0);
            let deadline = self.client.next_deadline(self.now);
            let next = [event, self.next_turn, deadline]
                .into_iter()
                .flatten()
                .min();
            match next {
                Some(next) if next <= end => {
                    at_once = if next > self.now { 0 } else { at_once + 1 };
                    assert!(at_once < TURNS_AT_ONCE_MAX, "time stands still");
                    self.now = self.now.max(next);
                }
                _ => break,
            }
        }
        self.now = end;
        self.settle();
    }

    pub(super) fn run_ms(&mut self, ms: u64) {
        self.run(Duration::from_millis(ms));
    }

    pub(super) fn log(&self, index: i32) -> Vec<String> {
        let records = self.cluster.records(&partition(index)).into_iter();
        let values = records.map(|record| record.value.unwrap().to_vec());
        values
            .map(|value| String::from_utf8(value).unwrap())
            .filter(|value| value != "warm")
            .collect()
    }

    /// No memory is missing, and no batch is left. Says so for a world that is at rest.
    pub(super) fn assert_at_rest(&self) {
        let pool = self.accumulator.pool();
        assert_eq!(pool.available(), pool.total(), "memory is missing");
        assert_eq!(
            self.accumulator.incomplete().all().len(),
            0,
            "a batch is left"
        );
        assert!(self.sender.in_flight.is_empty(), "a request is left");
        assert!(self.sender.backlog.is_empty(), "a queue has something");
    }

    pub(super) fn metric(&self, name: &str) -> f64 {
        let levels = PoolLevels {
            total: 0,
            available: 0,
            waiting: 0,
        };
        let read = self.metrics.read(levels, self.now);
        read.iter()
            .find(|metric| metric.name == name)
            .unwrap()
            .value
    }
}

/// The outcome of a record that has one.
pub(super) fn outcome(delivery: &Delivery) -> Result<RecordMetadata, Failure> {
    let outcome = delivery.outcome().expect("the outcome is known");
    outcome.map_err(|error| error.failure)
}

pub(super) fn offset(delivery: &Delivery) -> i64 {
    outcome(delivery).expect("it was written").offset.get()
}

pub(super) fn partition(index: i32) -> TopicPartition {
    TopicPartition::new("t", index.into())
}
