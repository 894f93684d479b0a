//! [`Sender`]: what goes out, in which request, and what is made of the answers. A guest of the
//! client's task. (P5, P7)

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use fastrand::Rng;
use klamm_client::{Answer, Cluster, Guest, NetworkClient, RequestId};
use klamm_records::{Codec, Codecs};
use klamm_wire::ApiKey;

use crate::accumulator::{Backlog, Readiness, RecordAccumulator};
use crate::backoff::Backoff;
use crate::config::{Acks, ProducerConfig};
use crate::error::Failure;
use crate::idempotence::{Idempotence, Renumbered};
use crate::interceptor::Acknowledged;
use crate::lifecycle::{Lifecycle, Phase};
use crate::metrics::Metrics;

mod answers;
mod in_flight;
mod latency;
mod outcome;
mod producer_id;
mod requests;
#[cfg(test)]
mod tests;

use in_flight::InFlight;
use latency::NodeLatencies;
use producer_id::IdRequest;

/// What of the settings concerns sending.
#[derive(Debug, Clone)]
struct Rules {
    acks: Acks,
    retries: u32,
    backoff: Backoff,
    request_timeout: Duration,
    delivery_timeout: Duration,
    max_request_size: usize,
    /// A partition rests while a batch of it is in flight.
    mute: bool,
    codec: Codec,
}

impl Rules {
    fn of(config: &ProducerConfig) -> Self {
        Self {
            acks: config.delivery.acks,
            retries: config.delivery.retries,
            backoff: Backoff {
                first: config.client.retry_backoff,
                most: config.client.retry_backoff_max,
            },
            request_timeout: config.client.request_timeout,
            delivery_timeout: config.delivery.delivery_timeout,
            max_request_size: config.batching.max_request_size,
            mute: config.client.max_in_flight == 1,
            codec: config.batching.compression.codec(),
        }
    }
}

/// Sends what the accumulator holds. Owned by the client's task; decides with the time that it is
/// given.
pub(crate) struct Sender {
    rules: Rules,
    accumulator: Arc<RecordAccumulator>,
    backlog: Backlog,
    /// What the last look found; kept for its memory.
    readiness: Readiness,
    idempotence: Option<Idempotence>,
    id_request: IdRequest,
    in_flight: HashMap<RequestId, InFlight>,
    /// The snapshot that the backlog's leaders are of.
    cluster: Arc<Cluster>,
    latencies: NodeLatencies,
    codecs: Codecs,
    rng: Rng,
    /// The time of the last turn, for when there are no more.
    last_turn: Instant,
    shared: SenderShared,
}

/// What the sender shares with the producer's handles.
#[derive(Clone)]
pub(crate) struct SenderShared {
    pub(crate) lifecycle: Arc<Lifecycle>,
    pub(crate) interceptors: Arc<dyn Acknowledged>,
    pub(crate) metrics: Arc<Metrics>,
}

impl Sender {
    /// `seed` is for the jitter of backoffs.
    pub(crate) fn new(
        config: &ProducerConfig,
        accumulator: Arc<RecordAccumulator>,
        shared: SenderShared,
        seed: u64,
        now: Instant,
    ) -> Self {
        Self {
            rules: Rules::of(config),
            backlog: Backlog::new(Arc::clone(&accumulator)),
            accumulator,
            readiness: Readiness::default(),
            idempotence: config.delivery.idempotence.then(Idempotence::new),
            id_request: IdRequest::default(),
            in_flight: HashMap::new(),
            cluster: Arc::default(),
            latencies: NodeLatencies::new(config.partitioning.availability_timeout),
            codecs: Codecs::default(),
            rng: Rng::with_seed(seed),
            last_turn: now,
            shared,
        }
    }

    /// Sends what there is to send, until nothing more goes. Returns when to look again.
    fn send_ready(&mut self, now: Instant, client: &mut NetworkClient) -> Option<Instant> {
        let mut readiness = std::mem::take(&mut self.readiness);
        let mut leaders_changed = self.take_cluster(client);
        let mut next_turn;
        loop {
            self.backlog
                .look(now, &*self.cluster, leaders_changed, &mut readiness);
            leaders_changed = false;
            next_turn = readiness.next_check;
            for batch in readiness.expired.drain(..) {
                self.expire_queued(batch, now, client);
            }
            if !readiness.unknown_leaders.is_empty() {
                let topics = readiness.unknown_leaders.iter().map(|topic| &**topic);
                client.metadata().add_topics(topics, now);
                client.metadata().request_update();
            }
            let mut any_sent = false;
            for node in readiness.nodes.drain(..) {
                let is_ready = client.ready(node, now);
                self.latencies
                    .note(node, is_ready, now, &self.accumulator, &self.cluster);
                if is_ready {
                    any_sent |= self.send_to(node, now, client);
                } else if let Some(delay) = client.poll_delay(node, now) {
                    next_turn = earlier(next_turn, Some(now + delay));
                }
            }
            if !any_sent {
                break;
            }
        }
        self.readiness = readiness;
        next_turn
    }

    /// Takes the newest snapshot. Returns whether it is another one.
    fn take_cluster(&mut self, client: &NetworkClient) -> bool {
        let cluster = client.metadata().cluster();
        let changed = !Arc::ptr_eq(&cluster, &self.cluster);
        if cluster.version() != self.cluster.version() {
            self.shared.metrics.metadata_came(self.last_turn);
        }
        self.cluster = cluster;
        changed
    }

    /// Gives batches their new marks, those that are out included: they are written when the
    /// batch is sent again.
    fn renumber(&mut self, renumbered: Vec<Renumbered>) {
        for renumbered in renumbered {
            let stamp = |base| renumbered.stamp(base);
            self.backlog.restamp(&renumbered.partition, stamp);
            for in_flight in self.in_flight.values_mut() {
                in_flight.restamp(&renumbered.partition, stamp);
            }
        }
    }

    /// Fails all records that have no outcome. Batches that are out keep their memory until they
    /// are answered.
    fn fail_all(&mut self, now: Instant, failure: &Failure) {
        for mut batch in self.backlog.take_all() {
            self.fail_batch(now, &mut batch, failure.clone());
            batch.release();
        }
        let mut in_flight = std::mem::take(&mut self.in_flight);
        for batch in in_flight.values_mut().flat_map(InFlight::batches_mut) {
            self.fail_batch(now, batch, failure.clone());
        }
        self.in_flight = in_flight;
    }

    /// Goes into the state in which only closing is left. (PR-102)
    fn fail_for_good(&mut self, now: Instant, failure: Failure) {
        tracing::error!(%failure, "the producer cannot go on");
        self.shared.lifecycle.fail(failure.clone());
        if let Some(idempotence) = &mut self.idempotence {
            idempotence.set_fatal();
        }
        self.fail_all(now, &Failure::ProducerFailed(Arc::new(failure)));
    }
}

impl Guest for Sender {
    fn turn(&mut self, now: Instant, client: &mut NetworkClient) -> Option<Instant> {
        self.last_turn = now;
        self.shared.metrics.network(client.stats(), now);
        let phase = self.shared.lifecycle.phase();
        if phase >= Phase::Forced {
            self.fail_all(now, &Failure::Closed);
            client.close(now);
            return None;
        }
        if let Some(failure) = self.shared.lifecycle.fatal() {
            // Records that came in between the failure and the next call.
            let failure = Failure::ProducerFailed(Arc::new(failure.clone()));
            self.fail_all(now, &failure);
        }
        self.expire_in_flight(now, client);
        let mut next_turn = None;
        if self.shared.lifecycle.fatal().is_none() {
            next_turn = self.ask_producer_id(now, client);
            if let Some(idempotence) = &mut self.idempotence {
                let renumbered = idempotence.begin_turn();
                self.renumber(renumbered);
            }
            next_turn = earlier(next_turn, self.send_ready(now, client));
        }
        if phase == Phase::Closing && self.in_flight.is_empty() && self.backlog.is_empty() {
            client.close(now);
            return None;
        }
        earlier(next_turn, self.next_in_flight_expiry())
    }

    fn answered(&mut self, now: Instant, answer: Answer, client: &mut NetworkClient) {
        match answer.key {
            ApiKey::Produce => self.produce_answered(now, &answer, client),
            ApiKey::InitProducerId => self.producer_id_answered(now, &answer),
            key => tracing::warn!(%key, "an answer to a request that was never sent"),
        }
    }
}

/// Whatever ends the sender, no record is left without an outcome.
impl Drop for Sender {
    fn drop(&mut self) {
        self.accumulator.close();
        self.accumulator.pool().close();
        self.fail_all(self.last_turn, &Failure::Closed);
        for in_flight in std::mem::take(&mut self.in_flight).into_values() {
            in_flight
                .into_batches()
                .into_iter()
                .for_each(|batch| batch.release());
        }
        self.shared.lifecycle.advance(Phase::Ended);
    }
}

/// The earlier of two times, of which none may be.
fn earlier(one: Option<Instant>, other: Option<Instant>) -> Option<Instant> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}
