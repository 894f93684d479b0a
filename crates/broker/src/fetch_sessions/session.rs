//! [`Session`]: the partitions that one fetcher fetches, and what it knows of each.

use std::collections::{BTreeMap, HashMap};

use bytestring::ByteString;

use klamm_primitives::{BrokerId, LeaderEpoch, Offset, PartitionIndex, TopicId};
use klamm_wire::ErrorCode;
use klamm_wire::messages::fetch::{
    FetchPartition, FetchResponse, FetchTopic, FetchableTopicResponse, ForgottenTopic,
    PartitionData,
};

use super::INITIAL_EPOCH;

/// The partitions that one fetcher fetches, in the order in which they are served, with what it
/// was told last.
#[derive(Debug)]
pub(super) struct Session {
    /// Whether it names topics by ids, for its whole life.
    uses_ids: bool,
    /// The number that its next fetch must have.
    epoch: i32,
    /// By their turn. One that had records goes to the end, so that all get theirs even if the
    /// first ones fill every answer.
    partitions: BTreeMap<u64, Cached>,
    turns: HashMap<(TopicKey, PartitionIndex), u64>,
    next_turn: u64,
}

/// How a session names a topic: by the one of the two that its fetcher uses.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum TopicKey {
    Name(ByteString),
    Id(TopicId),
}

#[derive(Debug)]
struct Cached {
    topic: TopicKey,
    wanted: FetchPartition,
    /// What the fetcher was told of it; unknown before it was told of anything, and after an
    /// error.
    high_watermark: Offset,
    log_start_offset: Offset,
}

impl Session {
    /// A session whose first fetch is being answered.
    pub(super) fn new(uses_ids: bool) -> Self {
        Self {
            uses_ids,
            epoch: next_epoch(INITIAL_EPOCH),
            partitions: BTreeMap::new(),
            turns: HashMap::new(),
            next_turn: 0,
        }
    }

    /// How many partitions it has.
    pub(super) fn len(&self) -> usize {
        self.partitions.len()
    }

    /// The number that its next fetch must have.
    pub(super) const fn epoch(&self) -> i32 {
        self.epoch
    }

    /// Whether a fetch of this number, that names topics in this way, is its next.
    ///
    /// # Errors
    /// `INVALID_FETCH_SESSION_EPOCH`, `FETCH_SESSION_TOPIC_ID_ERROR`.
    pub(super) fn check(&self, epoch: i32, uses_ids: bool) -> Result<(), ErrorCode> {
        if epoch != self.epoch {
            Err(ErrorCode::INVALID_FETCH_SESSION_EPOCH)
        } else if uses_ids != self.uses_ids {
            Err(ErrorCode::FETCH_SESSION_TOPIC_ID_ERROR)
        } else {
            Ok(())
        }
    }

    /// Takes the number of a fetch as used; returns the next one.
    pub(super) const fn advance_epoch(&mut self) -> i32 {
        self.epoch = next_epoch(self.epoch);
        self.epoch
    }

    /// Adds partitions at the end, or changes what is wanted of them.
    pub(super) fn put(&mut self, topics: &[FetchTopic]) {
        for topic in topics {
            let key = self.key(&topic.topic, topic.topic_id);
            for wanted in &topic.partitions {
                let place = (key.clone(), wanted.partition);
                if let Some(known) = self.turns.get(&place).copied() {
                    let known = self.partitions.get_mut(&known);
                    known.expect("its turn is known").wanted = without_tags(wanted);
                } else {
                    // What is kept for long must not hold on to the bytes of a request.
                    let topic = place.0.detached();
                    let cached = Cached {
                        topic: topic.clone(),
                        wanted: without_tags(wanted),
                        high_watermark: Offset::UNKNOWN,
                        log_start_offset: Offset::UNKNOWN,
                    };
                    let turn = self.take_turn();
                    self.turns.insert((topic, wanted.partition), turn);
                    self.partitions.insert(turn, cached);
                }
            }
        }
    }

    /// Takes partitions out.
    pub(super) fn forget(&mut self, topics: &[ForgottenTopic]) {
        for topic in topics {
            let key = self.key(&topic.topic, topic.topic_id);
            for partition in &topic.partitions {
                if let Some(turn) = self.turns.remove(&(key.clone(), *partition)) {
                    self.partitions.remove(&turn);
                }
            }
        }
    }

    /// All partitions, in their turn, as a request without a session would name them.
    pub(super) fn topics(&self) -> Vec<FetchTopic> {
        let mut topics: Vec<FetchTopic> = Vec::new();
        let mut last: Option<&TopicKey> = None;
        for cached in self.partitions.values() {
            if last != Some(&cached.topic) {
                last = Some(&cached.topic);
                topics.push(cached.topic.begin());
            }
            let topic = topics.last_mut().expect("one was just begun");
            topic.partitions.push(cached.wanted.clone());
        }
        topics
    }

    /// Notes what a whole answer tells.
    pub(super) fn note(&mut self, answer: &FetchResponse) {
        for topic in &answer.responses {
            let key = self.key(&topic.topic, topic.topic_id);
            for data in &topic.partitions {
                let place = (key.clone(), data.partition_index);
                if let Some(turn) = self.turns.get(&place) {
                    let cached = self.partitions.get_mut(turn);
                    cached.expect("its turn is known").note(data);
                }
            }
        }
    }

    /// Takes all out of an answer that is no news, and notes the rest. News is: records, an error,
    /// another high watermark or log start offset, another replica to read from, a divergence.
    /// (AP-036)
    pub(super) fn keep_news(&mut self, answer: &mut FetchResponse) {
        for topic in &mut answer.responses {
            let key = self.key(&topic.topic, topic.topic_id);
            topic.partitions.retain(|data| self.note_news(&key, data));
        }
        let has_news = |topic: &FetchableTopicResponse| !topic.partitions.is_empty();
        answer.responses.retain(has_news);
    }

    /// Whether an answer has news of a partition, which is noted then.
    fn note_news(&mut self, topic: &TopicKey, data: &PartitionData) -> bool {
        let place = (topic.clone(), data.partition_index);
        let Some(turn) = self.turns.get_mut(&place) else {
            // Forgotten since: whoever did so expects nothing.
            return false;
        };
        let cached = self.partitions.get_mut(turn).expect("its turn is known");
        if !cached.has_news(data) {
            return false;
        }
        cached.note(data);
        if has_records(data) {
            let cached = self.partitions.remove(turn).expect("it was just there");
            *turn = self.next_turn;
            self.next_turn += 1;
            self.partitions.insert(*turn, cached);
        }
        true
    }

    fn key(&self, name: &ByteString, id: TopicId) -> TopicKey {
        if self.uses_ids {
            TopicKey::Id(id)
        } else {
            TopicKey::Name(name.clone())
        }
    }

    const fn take_turn(&mut self) -> u64 {
        let turn = self.next_turn;
        self.next_turn += 1;
        turn
    }
}

impl TopicKey {
    fn detached(&self) -> Self {
        match self {
            Self::Name(name) => Self::Name(copied(name)),
            Self::Id(id) => Self::Id(*id),
        }
    }

    fn begin(&self) -> FetchTopic {
        match self {
            Self::Name(name) => FetchTopic {
                topic: name.clone(),
                ..FetchTopic::default()
            },
            Self::Id(id) => FetchTopic {
                topic_id: *id,
                ..FetchTopic::default()
            },
        }
    }
}

impl Cached {
    fn has_news(&self, data: &PartitionData) -> bool {
        has_records(data)
            || !data.error_code.is_none()
            || data.high_watermark != self.high_watermark
            || data.log_start_offset != self.log_start_offset
            || data.preferred_read_replica != BrokerId::new(-1)
            || data.diverging_epoch.epoch != LeaderEpoch::NONE
    }

    fn note(&mut self, data: &PartitionData) {
        self.log_start_offset = data.log_start_offset;
        // When an error goes away, that is news whatever the offsets are.
        self.high_watermark = if data.error_code.is_none() {
            data.high_watermark
        } else {
            Offset::UNKNOWN
        };
    }
}

/// The same topics, without holding on to the bytes that they were read from.
pub(super) fn detached(topics: &[FetchTopic]) -> Vec<FetchTopic> {
    let topic = |topic: &FetchTopic| FetchTopic {
        topic: copied(&topic.topic),
        topic_id: topic.topic_id,
        partitions: topic.partitions.iter().map(without_tags).collect(),
        ..FetchTopic::default()
    };
    topics.iter().map(topic).collect()
}

fn without_tags(wanted: &FetchPartition) -> FetchPartition {
    FetchPartition {
        partition: wanted.partition,
        current_leader_epoch: wanted.current_leader_epoch,
        fetch_offset: wanted.fetch_offset,
        last_fetched_epoch: wanted.last_fetched_epoch,
        log_start_offset: wanted.log_start_offset,
        partition_max_bytes: wanted.partition_max_bytes,
        replica_directory_id: wanted.replica_directory_id,
        high_watermark: wanted.high_watermark,
        ..FetchPartition::default()
    }
}

fn copied(name: &ByteString) -> ByteString {
    ByteString::from(String::from(&**name))
}

fn has_records(data: &PartitionData) -> bool {
    data.records.as_ref().is_some_and(|it| !it.is_empty())
}

/// After the greatest number comes 1: 0 and -1 mean something else. (AP-037)
pub(super) const fn next_epoch(epoch: i32) -> i32 {
    if epoch == i32::MAX { 1 } else { epoch + 1 }
}
