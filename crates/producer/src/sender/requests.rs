//! One produce request per node, all its partitions together. (P5.7)

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use klamm_client::{NetworkClient, NodeId, SendOptions};
use klamm_primitives::TopicId;
use klamm_records::Codec;
use klamm_wire::messages::produce::{PartitionProduceData, ProduceRequest, TopicProduceData};
use klamm_wire::{Records, Versions};

use crate::accumulator::Drained;
use crate::batch::Boxed;
use crate::config::Acks;
use crate::error::Failure;
use crate::sender::Sender;
use crate::sender::in_flight::InFlight;

/// The versions of the request that are known here.
const ALL: Versions = Versions::new(3, 13);

/// From here on topics are named by their ids, so each has to have one. (C010)
const BY_ID: i16 = 13;

/// From here on batches may be compressed with zstd. (PR-071)
const WITH_ZSTD: i16 = 7;

impl Sender {
    /// Sends what there is for a node that is ready. Returns whether anything was.
    pub(super) fn send_to(
        &mut self,
        node: NodeId,
        now: Instant,
        client: &mut NetworkClient,
    ) -> bool {
        let drained = self.drain(node, now);
        let mut sealed = Vec::with_capacity(drained.len());
        for Drained {
            batch,
            sealed: bytes,
        } in drained
        {
            match bytes {
                Ok(bytes) => sealed.push((batch, bytes)),
                Err(error) => self.refuse(now, batch, Failure::Unbuildable(error)),
            }
        }
        if sealed.is_empty() {
            return false;
        }
        for (batch, bytes) in &sealed {
            let queued = batch.age(now);
            self.shared
                .metrics
                .batch_sent(batch, bytes.len(), queued, now);
        }
        let (request, topic_ids) = self.request(&sealed);
        let has_ids = topic_ids.iter().all(|(id, _)| !id.is_zero());
        let options = SendOptions {
            timeout: None,
            no_response: self.rules.acks == Acks::None,
            versions: Some(Versions {
                min: match self.rules.codec {
                    Codec::Zstd => WITH_ZSTD,
                    _ => ALL.min,
                },
                max: if has_ids { ALL.max } else { BY_ID - 1 },
            }),
        };
        let batches: Vec<Boxed> = sealed.into_iter().map(|(batch, _)| batch).collect();
        let sent = client.send(node, &request, options, now);
        drop(request);
        let Ok(id) = sent else {
            // The connection is on its way out: nothing was sent, and nothing is lost. (P5.9)
            for batch in batches {
                self.put_back_unsent(batch);
            }
            return false;
        };
        let records = batches
            .iter()
            .map(|batch| u64::from(batch.record_count()))
            .sum();
        self.shared.metrics.request_sent(records, now);
        self.in_flight.insert(id, InFlight::new(batches, topic_ids));
        true
    }

    fn drain(&mut self, node: NodeId, now: Instant) -> Vec<Drained> {
        let (size_max, mute) = (self.rules.max_request_size, self.rules.mute);
        let codecs = &mut self.codecs;
        match &mut self.idempotence {
            Some(rules) => self.backlog.drain(node, now, size_max, mute, rules, codecs),
            None => self
                .backlog
                .drain(node, now, size_max, mute, &mut (), codecs),
        }
    }

    /// A batch that was taken out and not sent after all keeps its place, its mark and its
    /// attempts.
    fn put_back_unsent(&mut self, batch: Boxed) {
        if self.rules.mute {
            self.backlog.unmute(batch.partition());
        }
        self.backlog.put_back(batch);
    }

    fn request(&self, sealed: &[(Boxed, Bytes)]) -> (ProduceRequest, Vec<(TopicId, Arc<str>)>) {
        let mut places: HashMap<&str, usize> = HashMap::new();
        let mut topic_data: Vec<TopicProduceData> = Vec::new();
        let mut topic_ids = Vec::new();
        for (batch, bytes) in sealed {
            let name = batch.partition();
            let place = *places.entry(&name.topic).or_insert_with(|| {
                let known = self.cluster.topic(&name.topic);
                let topic_id = known.map_or(TopicId::ZERO, |topic| topic.id());
                topic_ids.push((topic_id, Arc::clone(&name.topic)));
                topic_data.push(TopicProduceData {
                    name: (*name.topic).into(),
                    topic_id,
                    ..TopicProduceData::default()
                });
                topic_data.len() - 1
            });
            topic_data[place].partition_data.push(PartitionProduceData {
                index: name.partition,
                records: Some(Records::Here(bytes.clone())),
                ..PartitionProduceData::default()
            });
        }
        let timeout_ms = self.rules.request_timeout.as_millis();
        let request = ProduceRequest {
            transactional_id: None,
            acks: self.rules.acks.wire(),
            timeout_ms: i32::try_from(timeout_ms).unwrap_or(i32::MAX),
            topic_data,
            ..ProduceRequest::default()
        };
        (request, topic_ids)
    }
}
