//! [`FakeCluster`]: brokers for the tests of this crate, as a function from request frames to
//! answers, so that the sender's tests run in one thread by a clock of their own. It keeps what it
//! is sent and checks sequences as real brokers do.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::time::Duration;

use bytes::Bytes;
use klamm_primitives::{
    LeaderEpoch, Offset, ProducerEpoch, ProducerId, Sequence, TopicId, TopicPartition,
};
use klamm_records::{BatchHeader, Codecs, RecordBatch};
use klamm_wire::header::CorrelationId;
use klamm_wire::messages::api_versions::{ApiVersion, ApiVersionsRequest, ApiVersionsResponse};
use klamm_wire::messages::init_producer_id::{InitProducerIdRequest, InitProducerIdResponse};
use klamm_wire::messages::metadata::{
    MetadataRequest, MetadataResponse, MetadataResponseBroker, MetadataResponsePartition,
    MetadataResponseTopic,
};
use klamm_wire::messages::produce::{
    LeaderIdAndEpoch, NodeEndpoint, PartitionProduceResponse, ProduceRequest, ProduceResponse,
    TopicProduceResponse,
};
use klamm_wire::{
    ApiKey, ApiSet, ErrorCode, Listener, Offer, RequestFrame, Response, Versions, encode_response,
};

/// What happens to a produce request.
#[derive(Debug, Clone)]
pub(crate) enum Fate {
    /// It is answered by what the brokers' logs say.
    Fair,
    /// Nothing is written; the whole request gets this code.
    Code(ErrorCode),
    /// As by code, for the batch of one partition; the others are written.
    CodeFor(TopicPartition, ErrorCode),
    /// It is written, and answered with this code all the same.
    WrittenButCode(ErrorCode),
    /// The connection is closed without an answer; it is written before, or not.
    Close { written: bool },
    /// No answer ever comes; it is written, or not.
    Silence { written: bool },
    /// The answer takes so long.
    Slow(Duration),
    /// As by the code, with words and guilty records.
    Refused(ErrorCode, Vec<(i32, &'static str)>),
    /// Not the leader any more: the answer names who is.
    Moved { leader: i32, leader_epoch: i32 },
    /// The log begins at this offset now, and the producer is forgotten.
    Forgotten { log_start_offset: i64 },
    /// It is fair, and the broker gave the records this time.
    StampedAt(i64),
}

/// What a broker does with a frame.
#[derive(Debug)]
pub(crate) enum Reply {
    Frame(Bytes, Duration),
    Close,
    Nothing,
}

/// A partition as its leader knows it.
#[derive(Debug, Default)]
pub(crate) struct FakePartition {
    pub(crate) leader: Option<i32>,
    pub(crate) leader_epoch: i32,
    /// Values by offset.
    pub(crate) log: Vec<Bytes>,
    producers: HashMap<i64, FakeProducer>,
    /// Batches larger than this are refused.
    pub(crate) batch_size_max: Option<usize>,
}

#[derive(Debug, Default)]
struct FakeProducer {
    epoch: i16,
    next: i32,
    /// Base sequence, count and base offset of the last five.
    batches: VecDeque<(i32, i32, i64)>,
}

/// A batch that a broker was sent.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    pub(crate) node: i32,
    pub(crate) version: i16,
    pub(crate) acks: i16,
    pub(crate) timeout_ms: i32,
    pub(crate) partition: TopicPartition,
    pub(crate) header: BatchHeader,
    pub(crate) values: Vec<Bytes>,
}

/// Brokers with the ids from 1 on; their hosts are `broker-ID`.
pub(crate) struct FakeCluster {
    pub(crate) brokers: i32,
    /// Where brokers are to be found that have another address than `broker-ID:9092`.
    pub(crate) addresses: HashMap<i32, (String, u16)>,
    pub(crate) topics: BTreeMap<String, Vec<FakePartition>>,
    pub(crate) topic_errors: HashMap<String, ErrorCode>,
    /// What happens to the next produce requests; those behind are fair.
    pub(crate) fates: VecDeque<Fate>,
    /// What the next requests for a producer id get.
    pub(crate) id_codes: VecDeque<ErrorCode>,
    pub(crate) next_producer_id: i64,
    /// The epoch that the next producer id comes with.
    pub(crate) producer_epoch: i16,
    pub(crate) produce_versions: Versions,
    pub(crate) has_topic_ids: bool,
    pub(crate) seen: Vec<Seen>,
    pub(crate) produce_requests: usize,
    pub(crate) metadata_requests: usize,
    pub(crate) id_requests: usize,
    pub(crate) throttle_time_ms: i32,
    /// How long answers to produce requests take that say nothing else.
    pub(crate) delay: Duration,
}

impl FakeCluster {
    pub(crate) fn new(brokers: i32) -> Self {
        Self {
            brokers,
            addresses: HashMap::new(),
            topics: BTreeMap::new(),
            topic_errors: HashMap::new(),
            fates: VecDeque::new(),
            id_codes: VecDeque::new(),
            next_producer_id: 1000,
            producer_epoch: 0,
            produce_versions: Versions::new(3, 13),
            has_topic_ids: true,
            seen: Vec::new(),
            produce_requests: 0,
            metadata_requests: 0,
            id_requests: 0,
            throttle_time_ms: 0,
            delay: Duration::ZERO,
        }
    }

    /// Makes a topic whose partitions are led by the brokers in turn.
    pub(crate) fn add_topic(&mut self, name: &str, partitions: i32) {
        let partition = |index: i32| FakePartition {
            leader: Some(1 + index % self.brokers),
            ..FakePartition::default()
        };
        let partitions = (0..partitions).map(partition).collect();
        self.topics.insert(name.to_owned(), partitions);
    }

    pub(crate) fn partition(&mut self, topic: &str, index: usize) -> &mut FakePartition {
        &mut self.topics.get_mut(topic).expect("the test made it")[index]
    }

    /// Another broker leads a partition.
    pub(crate) fn move_leader(&mut self, topic: &str, index: usize, leader: Option<i32>) {
        let partition = self.partition(topic, index);
        partition.leader = leader;
        partition.leader_epoch += 1;
    }

    fn topic_id(&self, name: &str) -> TopicId {
        if !self.has_topic_ids {
            return TopicId::ZERO;
        }
        let at = self.topics.keys().position(|known| known == name);
        at.map_or(TopicId::ZERO, |at| TopicId::from_u128(0xabc0 + at as u128))
    }

    fn topic_name(&self, id: TopicId) -> Option<String> {
        self.topics
            .keys()
            .find(|name| self.topic_id(name) == id)
            .cloned()
    }

    /// What a broker answers to a frame.
    pub(crate) fn answer(&mut self, node: i32, frame: Bytes) -> Reply {
        let offer = Offer {
            listener: Listener::Broker,
            unstable: false,
            telemetry: false,
            apis: ApiSet::ALL,
        };
        let request = RequestFrame::parse(frame, &offer).expect("a request that brokers serve");
        let (id, version) = (request.header.correlation_id, request.version());
        match request.key {
            ApiKey::ApiVersions => {
                let _: ApiVersionsRequest = request.decode().expect("whole");
                let mut api_keys = offer.api_versions();
                for entry in &mut api_keys {
                    if entry.api_key == ApiKey::Produce.number() {
                        *entry = ApiVersion::new(ApiKey::Produce, self.produce_versions);
                    }
                }
                let response = ApiVersionsResponse {
                    api_keys,
                    ..ApiVersionsResponse::default()
                };
                reply(id, &response, version)
            }
            ApiKey::Metadata => {
                self.metadata_requests += 1;
                let response = self.metadata(&request.decode().expect("whole"));
                reply(id, &response, version)
            }
            ApiKey::InitProducerId => {
                self.id_requests += 1;
                let asked: InitProducerIdRequest = request.decode().expect("whole");
                assert_eq!(asked.transactional_id, None);
                assert_eq!(asked.transaction_timeout_ms, i32::MAX);
                let error_code = self.id_codes.pop_front().unwrap_or_default();
                let mut response = InitProducerIdResponse {
                    error_code,
                    ..InitProducerIdResponse::default()
                };
                if error_code.is_none() {
                    response.producer_id = ProducerId::new(self.next_producer_id);
                    response.producer_epoch = ProducerEpoch::new(self.producer_epoch);
                    self.next_producer_id += 1;
                    self.producer_epoch = 0;
                }
                reply(id, &response, version)
            }
            ApiKey::Produce => {
                let request: ProduceRequest = request.decode().expect("whole");
                self.produce(node, id, version, &request)
            }
            key => panic!("{key} is not what a producer asks"),
        }
    }

    fn metadata(&self, request: &MetadataRequest) -> MetadataResponse {
        let brokers = (1..=self.brokers).map(|id| {
            let address = self.addresses.get(&id).cloned();
            let (host, port) = address.unwrap_or_else(|| (format!("broker-{id}"), 9092));
            MetadataResponseBroker {
                node_id: id.into(),
                host: host.into(),
                port: port.into(),
                ..MetadataResponseBroker::default()
            }
        });
        let asked: Vec<String> = match &request.topics {
            Some(topics) => topics
                .iter()
                .filter_map(|topic| topic.name.clone())
                .map(|name| name.to_string())
                .collect(),
            None => panic!("a producer never asks for all topics"),
        };
        let topics = asked.iter().map(|name| {
            let error = self.topic_errors.get(name).copied();
            let partitions = self.topics.get(name);
            let error_code = match (error, partitions) {
                (Some(code), _) => code,
                (None, Some(_)) => ErrorCode::NONE,
                (None, None) => ErrorCode::UNKNOWN_TOPIC_OR_PARTITION,
            };
            let partitions = partitions.filter(|_| error_code.is_none());
            MetadataResponseTopic {
                error_code,
                name: Some(name.as_str().into()),
                topic_id: self.topic_id(name),
                partitions: partitions.map_or_else(Vec::new, |partitions| {
                    (0..)
                        .zip(partitions)
                        .map(|(index, partition)| metadata_of(index, partition))
                        .collect()
                }),
                ..MetadataResponseTopic::default()
            }
        });
        MetadataResponse {
            brokers: brokers.collect(),
            topics: topics.collect(),
            ..MetadataResponse::default()
        }
    }

    fn produce(
        &mut self,
        node: i32,
        id: CorrelationId,
        version: i16,
        request: &ProduceRequest,
    ) -> Reply {
        let fate = self.fates.pop_front().unwrap_or(Fate::Fair);
        self.produce_requests += 1;
        assert_eq!(request.transactional_id, None);
        let mut response = ProduceResponse {
            throttle_time_ms: self.throttle_time_ms,
            ..ProduceResponse::default()
        };
        if let Fate::Moved { leader, .. } = fate {
            response.node_endpoints.push(NodeEndpoint {
                node_id: leader.into(),
                host: format!("broker-{leader}").into(),
                port: 9092,
                ..NodeEndpoint::default()
            });
        }
        for topic in &request.topic_data {
            let name = match version {
                13.. => self
                    .topic_name(topic.topic_id)
                    .expect("an id that was told"),
                _ => topic.name.to_string(),
            };
            let mut answers = Vec::new();
            for data in &topic.partition_data {
                let partition = TopicPartition::new(name.as_str(), data.index);
                let bytes = data.records.as_ref().and_then(|records| records.bytes());
                let bytes = bytes.expect("records").clone();
                let size = bytes.len();
                let batch = RecordBatch::parse(bytes).expect("one whole batch");
                batch.check_crc().expect("a true checksum");
                let mut values = Vec::new();
                let mut codecs = Codecs::default();
                let mut records = batch.read(&mut codecs).expect("records");
                while let Some(record) = records.next().expect("whole records") {
                    values.push(Bytes::copy_from_slice(record.value.unwrap_or_default()));
                }
                let seen = Seen {
                    node,
                    version,
                    acks: request.acks,
                    timeout_ms: request.timeout_ms,
                    partition,
                    header: *batch.header(),
                    values,
                };
                let mut answer = self.judge(&fate, &seen, size);
                answer.index = data.index;
                answers.push(answer);
                self.seen.push(seen);
            }
            // Answers need not be in the order of the request.
            answers.reverse();
            response.responses.push(TopicProduceResponse {
                name: topic.name.clone(),
                topic_id: topic.topic_id,
                partition_responses: answers,
                ..TopicProduceResponse::default()
            });
        }
        response.responses.reverse();
        match fate {
            Fate::Close { .. } => Reply::Close,
            Fate::Silence { .. } => Reply::Nothing,
            _ if request.acks == 0 => Reply::Nothing,
            fate => {
                let delay = match fate {
                    Fate::Slow(delay) => delay,
                    _ => self.delay,
                };
                match reply(id, &response, version) {
                    Reply::Frame(frame, _) => Reply::Frame(frame, delay),
                    other => other,
                }
            }
        }
    }

    fn judge(&mut self, fate: &Fate, seen: &Seen, size: usize) -> PartitionProduceResponse {
        let index = usize::try_from(seen.partition.partition.get()).expect("from 0");
        let name = &*seen.partition.topic;
        let mut answer = PartitionProduceResponse::default();
        let written_at = self.partition(name, index).has(seen);
        match (fate, written_at) {
            // What was written once is not found wrong when it comes again.
            (Fate::Code(code), Some(base_offset)) if !code.is_retriable() => {
                answer.base_offset = Offset::new(base_offset);
                return answer;
            }
            _ => {}
        }
        match fate {
            Fate::Code(code) => answer.error_code = *code,
            Fate::CodeFor(partition, code) if *partition == seen.partition => {
                answer.error_code = *code;
            }
            Fate::Close { written: false } | Fate::Silence { written: false } => {}
            Fate::WrittenButCode(code) => {
                let appended = self.partition(name, index).append(seen, size);
                answer.error_code = appended.err().unwrap_or(*code);
            }
            Fate::Refused(code, records) => {
                answer.error_code = *code;
                answer.error_message = Some("the batch was refused".into());
                for (batch_index, message) in records {
                    answer.record_errors.push(
                        klamm_wire::messages::produce::BatchIndexAndErrorMessage {
                            batch_index: *batch_index,
                            batch_index_error_message: Some((*message).into()),
                            ..Default::default()
                        },
                    );
                }
            }
            Fate::Moved {
                leader,
                leader_epoch,
            } => {
                let partition = self.partition(name, index);
                partition.leader = Some(*leader);
                partition.leader_epoch = *leader_epoch;
                answer.error_code = ErrorCode::NOT_LEADER_OR_FOLLOWER;
                answer.current_leader = LeaderIdAndEpoch {
                    leader_id: (*leader).into(),
                    leader_epoch: LeaderEpoch::new(*leader_epoch),
                    ..LeaderIdAndEpoch::default()
                };
            }
            Fate::Forgotten { log_start_offset } => {
                self.partition(name, index).producers.clear();
                answer.error_code = ErrorCode::UNKNOWN_PRODUCER_ID;
                answer.log_start_offset = Offset::new(*log_start_offset);
            }
            _ => {
                let partition = self.partition(name, index);
                if partition.leader == Some(seen.node) {
                    match partition.append(seen, size) {
                        Ok(base_offset) => answer.base_offset = Offset::new(base_offset),
                        Err(code) => answer.error_code = code,
                    }
                } else {
                    answer.error_code = ErrorCode::NOT_LEADER_OR_FOLLOWER;
                }
                if let Fate::StampedAt(at_ms) = fate {
                    answer.log_append_time_ms = *at_ms;
                }
            }
        }
        answer
    }
}

impl FakePartition {
    /// The base offset of a batch that was written before.
    fn has(&self, seen: &Seen) -> Option<i64> {
        let header = &seen.header;
        let producer = self.producers.get(&header.producer_id.get())?;
        let (base, count) = (header.base_sequence.get(), header.record_count);
        let is_it = |batch: &&(i32, i32, i64)| (batch.0, batch.1) == (base, count);
        let batch = producer.batches.iter().find(is_it)?;
        (header.producer_epoch.get() == producer.epoch).then_some(batch.2)
    }

    /// Appends a batch if its sequence is the next, as a real log does.
    fn append(&mut self, seen: &Seen, size: usize) -> Result<i64, ErrorCode> {
        if self.batch_size_max.is_some_and(|most| size > most) {
            return Err(ErrorCode::MESSAGE_TOO_LARGE);
        }
        let base_offset = i64::try_from(self.log.len()).expect("a short log");
        let header = &seen.header;
        let count = header.record_count;
        if header.producer_id.get() >= 0 {
            let known = self.producers.contains_key(&header.producer_id.get());
            let producer = self.producers.entry(header.producer_id.get()).or_default();
            let (epoch, base) = (header.producer_epoch.get(), header.base_sequence.get());
            if known && epoch < producer.epoch {
                return Err(ErrorCode::INVALID_PRODUCER_EPOCH);
            }
            if known && epoch > producer.epoch {
                if base != 0 {
                    return Err(ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER);
                }
                producer.batches.clear();
                producer.next = 0;
            }
            let again = producer
                .batches
                .iter()
                .find(|(first, records, _)| (*first, *records) == (base, count));
            if let Some((.., base_offset)) = again {
                return Ok(*base_offset);
            }
            // A producer that is not known begins with any sequence, as brokers allow.
            if known && base != producer.next {
                return Err(ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER);
            }
            producer.epoch = epoch;
            producer.next = Sequence::new(base).advance(count).get();
            producer.batches.push_back((base, count, base_offset));
            if producer.batches.len() > 5 {
                producer.batches.pop_front();
            }
        }
        self.log.extend(seen.values.iter().cloned());
        Ok(base_offset)
    }
}

fn metadata_of(index: i32, partition: &FakePartition) -> MetadataResponsePartition {
    MetadataResponsePartition {
        error_code: match partition.leader {
            Some(_) => ErrorCode::NONE,
            None => ErrorCode::LEADER_NOT_AVAILABLE,
        },
        partition_index: index.into(),
        leader_id: partition.leader.unwrap_or(-1).into(),
        leader_epoch: LeaderEpoch::new(partition.leader_epoch),
        ..MetadataResponsePartition::default()
    }
}

fn reply<R: Response>(id: CorrelationId, response: &R, version: i16) -> Reply {
    let frame = encode_response(id, response, version).expect("a response that can be said");
    let frame = frame.into_bytes().expect("no gaps");
    // The size in front is the network's.
    Reply::Frame(frame.slice(4..), Duration::ZERO)
}
