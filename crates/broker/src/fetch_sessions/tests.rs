//! Sessions of fetches: how they begin, go on, are evicted and refused.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use klamm_io::Clock as _;
use klamm_io::sim::SimClock;
use klamm_primitives::{BrokerId, LeaderEpoch, Offset, PartitionIndex, TopicId};
use klamm_wire::Records;
use klamm_wire::messages::fetch::{
    FetchPartition, FetchableTopicResponse, ForgottenTopic, PartitionData,
};

use super::*;

const BY_NAME: Manner = Manner {
    uses_ids: false,
    is_follower: false,
};

/// No id and the same id come up on the way.
fn counted() -> u128 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    u128::from(NEXT.fetch_add(1, Ordering::Relaxed) / 2)
}

fn topic(name: &'static str, partitions: &[(i32, i64)]) -> FetchTopic {
    let partition = |(index, offset): &(i32, i64)| FetchPartition {
        partition: PartitionIndex::new(*index),
        fetch_offset: Offset::new(*offset),
        ..FetchPartition::default()
    };
    FetchTopic {
        topic: name.into(),
        topic_id: id_of(name),
        partitions: partitions.iter().map(partition).collect(),
        ..FetchTopic::default()
    }
}

fn id_of(name: &str) -> TopicId {
    TopicId::from_u128(u128::from(name.as_bytes()[0]))
}

fn request(id: i32, epoch: i32, topics: Vec<FetchTopic>) -> FetchRequest {
    FetchRequest {
        session_id: id,
        session_epoch: epoch,
        topics,
        ..FetchRequest::default()
    }
}

/// What a request asks for: topic, partition, offset.
fn wanted(request: &FetchRequest) -> Vec<(String, i32, i64)> {
    let topics = request.topics.iter();
    let wanted = topics.flat_map(|topic| {
        let partitions = topic.partitions.iter();
        partitions.map(|it| {
            let name = topic.topic.to_string();
            (name, it.partition.get(), it.fetch_offset.get())
        })
    });
    wanted.collect()
}

fn data(index: i32, high_watermark: i64, records: &'static [u8]) -> PartitionData {
    PartitionData {
        partition_index: PartitionIndex::new(index),
        high_watermark: Offset::new(high_watermark),
        log_start_offset: Offset::ZERO,
        records: Some(Records::Here(records.into())),
        ..PartitionData::default()
    }
}

fn answer(topics: Vec<(&'static str, Vec<PartitionData>)>) -> FetchResponse {
    let topic = |(name, partitions): (&'static str, _)| FetchableTopicResponse {
        topic: name.into(),
        topic_id: id_of(name),
        partitions,
        ..FetchableTopicResponse::default()
    };
    FetchResponse {
        responses: topics.into_iter().map(topic).collect(),
        ..FetchResponse::default()
    }
}

/// The partitions that an answer tells of.
fn told(answer: &FetchResponse) -> Vec<(String, i32)> {
    let topics = answer.responses.iter();
    let told = topics.flat_map(|topic| {
        let partitions = topic.partitions.iter();
        partitions.map(|it| (topic.topic.to_string(), it.partition_index.get()))
    });
    told.collect()
}

fn at(topic: &str, index: i32) -> (String, i32) {
    (topic.to_owned(), index)
}

struct Bed {
    sessions: FetchSessions,
    now: Instant,
}

impl Bed {
    fn new(slots: usize) -> Self {
        Self {
            sessions: FetchSessions::new(slots, counted),
            now: SimClock::new().now(),
        }
    }

    fn pass(&mut self, seconds: u64) {
        self.now += Duration::from_secs(seconds);
    }

    /// Begins a session for some partitions of `t`, which have nothing to read; returns its id.
    fn create(&self, partitions: i32, is_follower: bool) -> i32 {
        let asked: Vec<_> = (0..partitions).map(|index| (index, 0)).collect();
        let manner = Manner {
            is_follower,
            ..BY_NAME
        };
        let mut request = request(0, 0, vec![topic("t", &asked)]);
        let used = self.sessions.begin(&mut request, manner, self.now);
        let mut all = answer(vec![(
            "t",
            (0..partitions).map(|it| data(it, 0, b"")).collect(),
        )]);
        self.sessions
            .finish(used.unwrap_or(SessionUse::None), &mut all, self.now);
        assert_eq!(told(&all).len(), usize::try_from(partitions).unwrap());
        all.session_id
    }

    /// One more fetch of a session: what it asks for in all, and what of an answer it is told.
    fn fetch(
        &self,
        mut request: FetchRequest,
        mut all: FetchResponse,
    ) -> (Vec<(String, i32, i64)>, FetchResponse) {
        let used = self.sessions.begin(&mut request, BY_NAME, self.now);
        let used = used.unwrap_or_else(|code| panic!("{code}"));
        self.sessions.finish(used, &mut all, self.now);
        (wanted(&request), all)
    }

    fn refused(&self, mut request: FetchRequest, manner: Manner) -> Option<ErrorCode> {
        self.sessions.begin(&mut request, manner, self.now).err()
    }
}

/// Covers AP-032, AP-033, AP-034.
#[test]
fn a_full_fetch_begins_a_session_or_ends_one() {
    let bed = Bed::new(10);
    let all = || answer(vec![("t", vec![data(0, 0, b"")])]);
    let asked = || vec![topic("t", &[(0, 0)])];
    let (wanted, without) = bed.fetch(request(0, -1, asked()), all());
    assert_eq!((wanted.len(), told(&without).len()), (1, 1));
    assert_eq!((without.session_id, bed.sessions.len()), (0, 0));

    let first = bed.create(1, false);
    assert!(first > 0);
    let (_, second) = bed.fetch(request(first, 0, asked()), all());
    assert!(second.session_id > 0);
    assert_eq!(told(&second), [at("t", 0)]);
    assert_eq!(bed.sessions.len(), 1);
    let (_, closed) = bed.fetch(request(second.session_id, -1, asked()), all());
    assert_eq!((closed.session_id, told(&closed).len()), (0, 1));
    assert_eq!(bed.sessions.len(), 0);
}

#[test]
fn ap_035_a_later_fetch_names_what_has_changed_and_the_rest_keeps_its_settings() {
    let bed = Bed::new(10);
    let id = bed.create(3, false);
    let nothing = || answer(Vec::new());
    let (wanted, _) = bed.fetch(request(id, 1, Vec::new()), nothing());
    let t = |index, offset| ("t".to_owned(), index, offset);
    assert_eq!(wanted, [t(0, 0), t(1, 0), t(2, 0)]);
    let mut changes = request(id, 2, vec![topic("t", &[(1, 7)]), topic("u", &[(0, 5)])]);
    changes.forgotten_topics_data = vec![ForgottenTopic {
        topic: "t".into(),
        partitions: vec![PartitionIndex::new(0), PartitionIndex::new(9)],
        ..ForgottenTopic::default()
    }];
    let expected = [t(1, 7), t(2, 0), ("u".to_owned(), 0, 5)];
    assert_eq!(bed.fetch(changes, nothing()).0, expected);
    assert_eq!(bed.fetch(request(id, 3, Vec::new()), nothing()).0, expected);
}

/// As in Apache Kafka: what is named as changed and as forgotten is forgotten.
#[test]
fn what_is_changed_and_forgotten_at_once_is_forgotten() {
    let bed = Bed::new(10);
    let id = bed.create(2, false);
    let mut both = request(id, 1, vec![topic("t", &[(0, 7), (2, 7)])]);
    both.forgotten_topics_data = vec![ForgottenTopic {
        topic: "t".into(),
        partitions: vec![PartitionIndex::new(0), PartitionIndex::new(2)],
        ..ForgottenTopic::default()
    }];
    let (wanted, _) = bed.fetch(both, answer(Vec::new()));
    assert_eq!(wanted, [("t".to_owned(), 1, 0)]);
}

/// The partitions of a session need not exist, so that nothing else bounds them.
#[test]
fn a_session_of_too_many_partitions_is_none() {
    let bed = Bed::new(10);
    let most = i32::try_from(PARTITIONS_MAX).unwrap();
    assert_eq!(bed.create(most + 1, false), 0);
    let full = bed.create(most, false);
    assert!(full > 0);
    // What it has already counts once.
    let changes = request(full, 1, vec![topic("t", &[(0, 7), (1, 7)])]);
    let (_, answered) = bed.fetch(changes, answer(Vec::new()));
    assert_eq!(answered.session_id, full);
    assert_eq!(bed.sessions.len(), 1);
    let more = request(full, 2, vec![topic("u", &[(0, 0)])]);
    let quiet = || answer(vec![("u", vec![data(0, 0, b"")])]);
    let (wanted, answered) = bed.fetch(more, quiet());
    assert_eq!(wanted.len(), PARTITIONS_MAX + 1, "all that it fetches");
    assert_eq!((answered.session_id, told(&answered).len()), (0, 1));
    assert_eq!(bed.sessions.len(), 0);
    let gone = bed.refused(request(full, 3, Vec::new()), BY_NAME);
    assert_eq!(gone, Some(ErrorCode::FETCH_SESSION_ID_NOT_FOUND));
}

#[test]
fn ap_036_only_news_are_told() {
    let bed = Bed::new(10);
    let id = bed.create(2, false);
    let mut epoch = 0;
    let mut tell = |first: PartitionData| {
        epoch += 1;
        let all = answer(vec![("t", vec![first, data(1, 0, b"")])]);
        let (_, answer) = bed.fetch(request(id, epoch, Vec::new()), all);
        assert_eq!(answer.session_id, id);
        assert!(answer.error_code.is_none());
        told(&answer)
    };
    let news = [at("t", 0)];
    assert_eq!(tell(data(0, 0, b"")), []);
    assert_eq!(tell(data(0, 1, b"")), news, "the high watermark");
    assert_eq!(tell(data(0, 1, b"")), []);
    assert_eq!(tell(data(0, 1, b"records")), news);
    assert_eq!(
        tell(data(0, 1, b"records")),
        news,
        "records are always news"
    );
    let cut = || PartitionData {
        log_start_offset: Offset::new(1),
        ..data(0, 1, b"")
    };
    assert_eq!(tell(cut()), news, "the log start offset");
    assert_eq!(tell(cut()), []);
    let failed = || PartitionData {
        error_code: ErrorCode::NOT_LEADER_OR_FOLLOWER,
        ..cut()
    };
    assert_eq!(tell(failed()), news);
    assert_eq!(tell(failed()), news, "an error is told each time");
    assert_eq!(tell(cut()), news, "and its end, although nothing has moved");
    assert_eq!(tell(cut()), []);
    let mut nearer = cut();
    nearer.preferred_read_replica = BrokerId::new(3);
    assert_eq!(tell(nearer), news);
    let mut diverges = cut();
    diverges.diverging_epoch.epoch = LeaderEpoch::new(4);
    assert_eq!(tell(diverges), news);
}

/// Whoever had records comes last the next time, so that a full answer starves nobody.
#[test]
fn partitions_with_records_go_to_the_end() {
    let bed = Bed::new(10);
    let id = bed.create(3, false);
    let all = answer(vec![(
        "t",
        vec![data(0, 1, b"records"), data(1, 1, b""), data(2, 0, b"")],
    )]);
    let (_, answer) = bed.fetch(request(id, 1, Vec::new()), all);
    assert_eq!(told(&answer), [at("t", 0), at("t", 1)]);
    let (wanted, _) = bed.fetch(
        request(id, 2, Vec::new()),
        crate::fetch_sessions::tests::answer(Vec::new()),
    );
    let order: Vec<_> = wanted.iter().map(|it| it.1).collect();
    assert_eq!(order, [1, 2, 0]);
}

#[test]
fn ap_037_numbers_rise_by_one_and_come_round_to_one() {
    let bed = Bed::new(10);
    let id = bed.create(1, false);
    let refused = |epoch| bed.refused(request(id, epoch, Vec::new()), BY_NAME);
    let wrong = Some(ErrorCode::INVALID_FETCH_SESSION_EPOCH);
    assert_eq!(refused(2), wrong);
    assert_eq!(refused(1), None);
    assert_eq!(refused(1), wrong, "the same again");
    assert_eq!(refused(2), None);
    let not_found = bed.refused(request(id + 1, 1, Vec::new()), BY_NAME);
    assert_eq!(not_found, Some(ErrorCode::FETCH_SESSION_ID_NOT_FOUND));
    let none = bed.refused(request(0, 1, Vec::new()), BY_NAME);
    assert_eq!(none, Some(ErrorCode::FETCH_SESSION_ID_NOT_FOUND));

    assert_eq!(session::next_epoch(i32::MAX - 1), i32::MAX);
    assert_eq!(session::next_epoch(i32::MAX), 1);
}

/// Two fetches of a session at a time: the first cannot be told what it was to be told.
#[test]
fn an_answer_that_was_overtaken_is_refused() {
    let bed = Bed::new(10);
    let id = bed.create(1, false);
    let mut first = request(id, 1, Vec::new());
    let used = bed
        .sessions
        .begin(&mut first, BY_NAME, bed.now)
        .unwrap_or(SessionUse::None);
    bed.fetch(request(id, 2, Vec::new()), answer(Vec::new()));
    let mut all = answer(vec![("t", vec![data(0, 1, b"records")])]);
    bed.sessions.finish(used, &mut all, bed.now);
    assert_eq!(all.error_code, ErrorCode::INVALID_FETCH_SESSION_EPOCH);
    assert_eq!((all.session_id, told(&all).len()), (id, 0));
}

#[test]
fn ap_038_without_partitions_a_session_is_closed() {
    let bed = Bed::new(10);
    let id = bed.create(1, false);
    let mut forget = request(id, 1, Vec::new());
    forget.forgotten_topics_data = vec![ForgottenTopic {
        topic: "t".into(),
        partitions: vec![PartitionIndex::new(0)],
        ..ForgottenTopic::default()
    }];
    let (wanted, answer) = bed.fetch(forget, answer(Vec::new()));
    assert_eq!((wanted.len(), answer.session_id), (0, 0));
    assert_eq!(bed.sessions.len(), 0);
}

#[test]
fn ap_039_a_session_goes_for_another_when_it_is_unused_or_worth_less() {
    let mut bed = Bed::new(2);
    let small = bed.create(1, false);
    let large = bed.create(5, false);
    assert_eq!(
        bed.create(9, false),
        0,
        "both are young, so it is done without"
    );
    let follower = bed.create(1, true);
    assert!(follower > 0, "brokers go first, and the smaller one leaves");
    let fetch = |bed: &Bed, id, epoch| bed.refused(request(id, epoch, Vec::new()), BY_NAME);
    let not_found = Some(ErrorCode::FETCH_SESSION_ID_NOT_FOUND);
    assert_eq!(fetch(&bed, small, 1), not_found);
    // After its time one may go for one that is worth more, even if it is in use.
    bed.pass(121);
    assert_eq!(fetch(&bed, large, 1), None);
    assert_eq!(fetch(&bed, follower, 1), None);
    assert_eq!(bed.create(5, false), 0, "no larger than the least one");
    let larger = bed.create(6, false);
    assert!(larger > 0);
    assert_eq!(fetch(&bed, large, 2), not_found);
    // One that nobody uses goes for any other.
    bed.pass(120);
    assert_eq!(fetch(&bed, larger, 1), None);
    bed.pass(1);
    assert!(bed.create(1, false) > 0);
    assert_eq!(fetch(&bed, follower, 2), not_found);
    assert_eq!(bed.sessions.len(), 2);
    assert_eq!(Bed::new(0).create(1, false), 0, "no slots, no sessions");
}

#[test]
fn ap_040_a_session_goes_on_naming_topics_as_it_began() {
    let bed = Bed::new(10);
    let by_id = Manner {
        uses_ids: true,
        ..BY_NAME
    };
    let id = bed.create(1, false);
    let wrong = bed.refused(request(id, 1, Vec::new()), by_id);
    assert_eq!(wrong, Some(ErrorCode::FETCH_SESSION_TOPIC_ID_ERROR));
    assert_eq!(bed.refused(request(id, 1, Vec::new()), BY_NAME), None);
}

/// A session by ids keeps what it is asked for, whether the topic is known or not: whoever reads
/// looks it up each time.
#[test]
fn ap_041_a_topic_that_becomes_known_later_is_served_from_then_on() {
    let bed = Bed::new(10);
    let by_id = Manner {
        uses_ids: true,
        ..BY_NAME
    };
    let mut first = request(0, 0, vec![topic("t", &[(0, 0)])]);
    let used = bed
        .sessions
        .begin(&mut first, by_id, bed.now)
        .unwrap_or(SessionUse::None);
    let unknown = || PartitionData {
        error_code: ErrorCode::UNKNOWN_TOPIC_ID,
        ..data(0, -1, b"")
    };
    let mut all = answer(vec![("t", vec![unknown()])]);
    bed.sessions.finish(used, &mut all, bed.now);
    let mut next = request(all.session_id, 1, Vec::new());
    let used = bed
        .sessions
        .begin(&mut next, by_id, bed.now)
        .unwrap_or(SessionUse::None);
    assert_eq!(next.topics[0].topic_id, id_of("t"));
    let mut all = answer(vec![("t", vec![data(0, 0, b"")])]);
    bed.sessions.finish(used, &mut all, bed.now);
    assert_eq!(told(&all), [at("t", 0)]);
}
