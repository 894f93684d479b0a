//! When a refresh is due, and what it asks for.

use super::*;

fn names(request: &MetadataRequest) -> Vec<&str> {
    let topics = request.topics.as_ref().unwrap().iter();
    topics.map(|topic| topic.name.as_deref().unwrap()).collect()
}

#[test]
fn cl_060_a_refresh_is_due_when_asked_for_or_by_age() {
    let mut fixture = Fixture::knowing(&[topic("a", &[(0, 1)])]);
    assert_eq!(fixture.due_in(), ms(300_000));
    fixture.now += ms(1_000);
    assert_eq!(fixture.due_in(), ms(299_000));
    fixture.metadata.request_update();
    assert_eq!(fixture.due_in(), ms(0));
    fixture.metadata.failed(fixture.now);
    let backoff = fixture.due_in();
    assert!(backoff >= ms(80) && backoff <= ms(120), "{backoff:?}");
    fixture.now += ms(400_000);
    assert_eq!(fixture.due_in(), ms(0), "by age and after the backoff");
    fixture.metadata.failed(fixture.now);
    assert!(
        fixture.due_in() >= ms(160),
        "by age, but not in the backoff"
    );
}

#[test]
fn cl_061_failed_refreshes_back_off_twice_as_long_each_time() {
    let mut fixture = Fixture::new();
    for middle in [100, 200, 400, 800, 1_000, 1_000] {
        fixture.metadata.failed(fixture.now);
        fixture.metadata.request_update();
        let wait = fixture.due_in();
        let (low, high) = (middle * 4 / 5, (middle * 6 / 5).min(1_000));
        assert!(wait >= ms(low) && wait <= ms(high), "{wait:?}, {middle}");
        fixture.now += wait;
        assert_eq!(fixture.due_in(), ms(0));
    }
    fixture.full(&[]);
    fixture.metadata.request_update();
    assert_eq!(fixture.due_in(), ms(0), "a success ends it");
    fixture.metadata.failed(fixture.now);
    assert!(fixture.due_in() <= ms(120), "and starts it anew");
}

#[test]
fn cl_062_a_new_topic_is_asked_for_at_once_and_a_tracked_one_only_noted() {
    let mut fixture = Fixture::knowing(&[topic("a", &[(0, 1)])]);
    fixture.metadata.failed(fixture.now);
    assert!(fixture.metadata.add_topic("b", fixture.now));
    assert_eq!(fixture.due_in(), ms(0), "in spite of the backoff");
    fixture.answer(&[topic("b", &[(0, 1)])]);
    let due = fixture.due_in();
    fixture.now += ms(10);
    assert!(!fixture.metadata.add_topic("a", fixture.now));
    assert_eq!(fixture.due_in() + ms(10), due);
    assert!(!fixture.metadata.add_topics(["a", "b"], fixture.now));
    assert!(fixture.metadata.add_topics(["a", "c"], fixture.now));
}

#[test]
fn cl_067_only_new_topics_are_asked_for_unless_all_are_due() {
    let mut fixture = Fixture::knowing(&[topic("a", &[(0, 1)])]);
    fixture.metadata.add_topic("c", fixture.now);
    fixture.metadata.add_topic("b", fixture.now);
    let request = fixture.answer(&[topic("b", &[(1, 1)]), topic("c", &[(2, 1)])]);
    assert_eq!(names(&request), ["b", "c"]);
    assert_eq!(fixture.topics(), ["a", "b", "c"]);
    assert_eq!(
        fixture.due_in(),
        ms(300_000),
        "the age counts from the full one"
    );

    fixture.metadata.add_topic("d", fixture.now);
    fixture.metadata.request_update();
    let (request, _) = fixture.metadata.next_request(fixture.now);
    assert_eq!(names(&request), ["a", "b", "c", "d"]);
    let all = ["a", "b", "c", "d"].map(|name| topic(name, &[(0, 1)]));
    fixture.answer(&all);
    assert!(!fixture.metadata.update_requested(), "one serves both");

    fixture.metadata.add_topic("e", fixture.now);
    fixture.now += ms(300_000);
    let (request, _) = fixture.metadata.next_request(fixture.now);
    assert_eq!(
        names(&request),
        ["a", "b", "c", "d", "e"],
        "the age has passed"
    );
}

/// Covers CL-067: a topic that is added while the answer is on its way.
#[test]
fn a_topic_added_meanwhile_is_asked_for_next() {
    let fixture = Fixture::knowing(&[topic("a", &[(0, 1)])]);
    fixture.metadata.add_topic("b", fixture.now);
    let (_, asked) = fixture.metadata.next_request(fixture.now);
    fixture.metadata.add_topic("c", fixture.now);
    let answer = response(brokers(3), &[topic("b", &[(0, 1)])]);
    fixture
        .metadata
        .apply(&answer, 12, asked, fixture.now)
        .unwrap();
    assert_eq!(fixture.due_in(), ms(0));
    let (request, _) = fixture.metadata.next_request(fixture.now);
    assert_eq!(names(&request), ["c"]);
}

/// Covers CL-067.
#[test]
fn what_was_asked_for_meanwhile_and_has_come_is_not_asked_for_again() {
    let fixture = Fixture::knowing(&[topic("a", &[(0, 1)])]);
    fixture.metadata.add_topic("b", fixture.now);
    let (_, asked) = fixture.metadata.next_request(fixture.now);
    fixture.metadata.request_update_for("b");
    let answer = response(brokers(3), &[topic("b", &[(0, 1)])]);
    fixture
        .metadata
        .apply(&answer, 12, asked, fixture.now)
        .unwrap();
    assert!(!fixture.metadata.update_requested());
}

#[test]
fn cl_068_topics_are_named_and_may_be_created() {
    let fixture = Fixture::new();
    let (request, _) = fixture.metadata.next_request(fixture.now);
    assert_eq!(request.topics, Some(Vec::new()), "none, not all");
    assert!(request.allow_auto_topic_creation);
    let fixture = Fixture::with(ClientConfig {
        allow_auto_topic_creation: false,
        ..ClientConfig::default()
    });
    let (request, _) = fixture.metadata.next_request(fixture.now);
    assert!(!request.allow_auto_topic_creation);
}

#[test]
fn cl_069_an_idle_topic_is_dropped_but_not_while_it_waits_for_its_first_metadata() {
    let mut fixture = Fixture::knowing(&[topic("idle", &[(0, 1)]), topic("used", &[(0, 1)])]);
    fixture.metadata.add_topic("new", fixture.now);
    fixture.now += ms(299_999);
    let cluster = fixture.metadata.cluster();
    cluster.topic("used").unwrap().touch(fixture.now);
    fixture.now += ms(1);
    let both = [topic("idle", &[(0, 1)]), topic("used", &[(0, 1)])];
    fixture.full(&both);
    assert_eq!(fixture.topics(), ["used"]);
    let mut tracked = fixture.metadata.tracked_topics();
    tracked.sort();
    assert_eq!(tracked, ["new", "used"].map(Arc::from));
    assert_eq!(fixture.epoch("idle", 0), None);
    // Added again, it is new again.
    assert!(fixture.metadata.add_topic("idle", fixture.now));
}

/// Covers CL-064: what an answer says of topics and partitions.
#[test]
fn cl_064_errors_in_an_answer_ask_for_a_refresh() {
    for code in [
        ErrorCode::LEADER_NOT_AVAILABLE,
        ErrorCode::UNKNOWN_TOPIC_OR_PARTITION,
    ] {
        let fixture = Fixture::knowing(&[failed_topic("a", code)]);
        assert!(fixture.metadata.update_requested(), "{code:?}");
    }
    let mut leaderless = topic("a", &[(0, 1), (-1, 1)]);
    leaderless.partitions[1].error_code = ErrorCode::LEADER_NOT_AVAILABLE;
    let fixture = Fixture::knowing(&[leaderless]);
    assert!(fixture.metadata.update_requested());
    let fixture = Fixture::knowing(&[failed_topic("a", ErrorCode::INVALID_TOPIC_EXCEPTION)]);
    assert!(!fixture.metadata.update_requested());
}

/// Covers CL-060: a topic that stays without a leader is not asked for without a pause.
#[test]
fn answers_that_bring_nothing_new_back_off_as_failures_do() {
    let mut fixture = Fixture::knowing(&[failed_topic("a", ErrorCode::LEADER_NOT_AVAILABLE)]);
    let mut waits = Vec::new();
    for _ in 0..6 {
        let wait = fixture.due_in();
        waits.push(wait);
        fixture.now += wait;
        fixture.answer(&[failed_topic("a", ErrorCode::LEADER_NOT_AVAILABLE)]);
    }
    assert!(waits[1] >= ms(80) && waits[5] >= ms(800), "{waits:?}");
    fixture.now += fixture.due_in();
    fixture.answer(&[topic("a", &[(0, 1)])]);
    fixture.metadata.request_update();
    assert_eq!(fixture.due_in(), ms(0), "there was news");
}

#[test]
fn an_update_for_a_topic_asks_for_no_more_than_needed() {
    let fixture = Fixture::knowing(&[topic("a", &[(0, 1)])]);
    fixture.metadata.add_topic("b", fixture.now);
    fixture.metadata.failed(fixture.now);
    let due = fixture.due_in();
    assert!(due >= ms(80));
    assert_eq!(fixture.metadata.request_update_for("b"), 1);
    assert_eq!(fixture.due_in(), due, "asking again ends no backoff");
    let (request, _) = fixture.metadata.next_request(fixture.now);
    assert_eq!(names(&request), ["b"]);
    fixture.metadata.request_update_for("a");
    let (request, _) = fixture.metadata.next_request(fixture.now);
    assert_eq!(names(&request), ["a", "b"]);
}
