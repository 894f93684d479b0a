//! [`Pipeline`]: the accumulator from append to drain, without a network, for benches.

use std::sync::Arc;
use std::time::Instant;

use klamm_client::NodeId;
use klamm_primitives::{Offset, TopicPartition};
use klamm_records::Codecs;

use crate::accumulator::{
    Attempt, Backlog, Leader, Leaders, Listener, Place, Readiness, RecordAccumulator, Rules,
};
use crate::batch::Draft;
use crate::buffer_pool::BufferPool;
use crate::completion::Outcome;
use crate::config::ProducerConfig;
use crate::delivery::Delivery;
use crate::interceptor::Interceptors;

const NODE: NodeId = NodeId::new(1);

struct OneNode;

impl Leaders for OneNode {
    fn leader(&self, _: &TopicPartition) -> Option<Leader> {
        Some(Leader {
            node: NODE,
            epoch: None,
        })
    }
}

/// Appends on any thread.
#[derive(Clone)]
pub struct Pipeline {
    accumulator: Arc<RecordAccumulator>,
    topic: Arc<str>,
}

/// Drains on one.
pub struct Drain {
    accumulator: Arc<RecordAccumulator>,
    backlog: Backlog,
    found: Readiness,
    codecs: Codecs,
    request_size_max: usize,
}

impl Pipeline {
    /// Both ends of an accumulator.
    pub fn new(config: &ProducerConfig) -> (Self, Drain) {
        let pool = BufferPool::new(config.batching.buffer_memory, config.batching.batch_size);
        let rules = Rules::of(config);
        let accumulator = Arc::new(RecordAccumulator::new(rules, Arc::new(pool), 1));
        let drain = Drain {
            accumulator: Arc::clone(&accumulator),
            backlog: Backlog::new(Arc::clone(&accumulator)),
            found: Readiness::default(),
            codecs: Codecs::default(),
            request_size_max: config.batching.max_request_size,
        };
        let topic = "bench".into();
        (Self { accumulator, topic }, drain)
    }

    /// Appends a record without a key, as a call of send does once it knows the partition; `None`
    /// while there is no memory.
    pub fn append(&self, partition: i32, value: &[u8], now: Instant) -> Option<Delivery> {
        let topic = self.accumulator.topic(&self.topic);
        let queue = self.accumulator.queue(&topic, partition.into());
        let place = Place {
            topic: &topic,
            queue: &queue,
            sticky: None,
        };
        let draft = Draft::new(None, Some(value), &[], 1_700_000_000_000);
        let mut listener = Listener::new(false, None);
        let mut attempt = place.try_append(&draft, &mut listener);
        if let Attempt::NeedsBatch = attempt {
            let size = self.accumulator.new_batch_size(&draft);
            let mut memory = self.accumulator.pool().try_take(size).ok()??;
            let buffer = memory.buffer().ok()?;
            let memory = (memory, buffer);
            attempt = self
                .accumulator
                .append_to_new(place, &draft, &mut listener, memory, now);
        }
        match attempt {
            Attempt::Appended(_) => Some(listener.into_delivery()),
            Attempt::NeedsBatch | Attempt::Moved | Attempt::Closed => None,
        }
    }
}

impl Drain {
    /// Takes out what a sender would send now, request by request, and acknowledges it. Returns
    /// how many records these were.
    pub fn drain(&mut self, now: Instant) -> u64 {
        let nobody = Interceptors::<(), ()>(Vec::new());
        let mut records = 0;
        loop {
            self.backlog.look(now, &OneNode, false, &mut self.found);
            let size_max = self.request_size_max;
            let codecs = &mut self.codecs;
            let drained = if self.found.nodes.is_empty() {
                Vec::new()
            } else {
                let rules = &mut ();
                self.backlog
                    .drain(NODE, now, size_max, false, rules, codecs)
            };
            if drained.is_empty() {
                return records;
            }
            for drained in drained {
                // The network lets go of its share before the answer comes.
                drop(drained.sealed);
                let mut batch = drained.batch;
                records += u64::from(batch.record_count());
                let outcome = Outcome::Written {
                    base_offset: Offset::ZERO,
                    append_time_ms: -1,
                };
                batch.settle(outcome, &nobody);
                self.accumulator.incomplete().remove(batch.completion());
                batch.release();
            }
        }
    }
}
