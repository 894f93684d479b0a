//! Sequences, by the calls that the sender makes.

use super::*;

fn partition() -> TopicPartition {
    TopicPartition::new("t", 0.into())
}

fn identity(producer_epoch: i16) -> Identity {
    Identity {
        producer_id: ProducerId::new(9),
        producer_epoch: ProducerEpoch::new(producer_epoch),
    }
}

fn with_id() -> Idempotence {
    let mut ids = Idempotence::new();
    ids.set_identity(identity(0));
    ids
}

/// The sequence of a new batch of so many records.
fn next(ids: &mut Idempotence, record_count: u32) -> i32 {
    ids.stamp(&partition(), record_count)
        .unwrap()
        .base_sequence
        .get()
}

fn stamp(producer_epoch: i16, base: i32) -> ProducerStamp {
    identity(producer_epoch).at(base.into())
}

fn ack(ids: &mut Idempotence, producer_epoch: i16, base: i32, offset: i64) {
    ids.acked(
        &partition(),
        stamp(producer_epoch, base),
        false,
        offset.into(),
    );
}

fn out_of_order(ids: &mut Idempotence, base: i32) -> bool {
    ids.may_retry(SequenceError {
        partition: &partition(),
        stamp: stamp(0, base),
        is_restamped: false,
        code: ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER,
        log_start_offset: Offset::UNKNOWN,
    })
}

#[test]
fn sequences_are_compared_across_their_end() {
    let is_before = |a: i32, b: i32| Sequence::new(a).is_before(b.into());
    assert!(is_before(0, 1) && !is_before(1, 0) && !is_before(1, 1));
    assert!(is_before(i32::MAX, 0) && is_before(i32::MAX - 5, 7));
    assert!(!is_before(0, i32::MAX));
}

/// Covers C067.
#[test]
fn sequences_go_on_at_0_past_the_largest() {
    let mut ids = with_id();
    next(&mut ids, 1);
    ack(&mut ids, 0, 0, 0);
    ids.partitions.get_mut(&partition()).unwrap().next = Sequence::new(i32::MAX - 1);
    assert_eq!(next(&mut ids, 3), i32::MAX - 1);
    assert_eq!(next(&mut ids, 5), 1);
    ack(&mut ids, 0, i32::MAX - 1, 10);
    let numbering = &ids.partitions[&partition()];
    assert_eq!(numbering.last_acked, Some(Sequence::ZERO));
    assert!(numbering.is_next(1.into()));
}

#[test]
fn pr_110_what_is_acknowledged_only_grows() {
    let mut ids = with_id();
    for _ in 0..3 {
        next(&mut ids, 10);
    }
    ack(&mut ids, 0, 20, 120);
    ack(&mut ids, 0, 0, 100);
    let numbering = &ids.partitions[&partition()];
    assert_eq!(numbering.last_acked, Some(29.into()));
    assert_eq!(numbering.last_acked_offset, Some(129.into()));
}

#[test]
fn pr_105_a_batch_that_is_not_next_is_retried_without_another_epoch() {
    let mut ids = with_id();
    next(&mut ids, 10);
    let second = next(&mut ids, 10);
    assert!(out_of_order(&mut ids, second));
    assert!(ids.begin_turn().is_empty());
    // It waits for the one before.
    assert!(!ids.may_take(&partition(), Some(stamp(0, second))));
    ack(&mut ids, 0, 0, 0);
    assert!(ids.may_take(&partition(), Some(stamp(0, second))));
}

#[test]
fn pr_106_the_very_next_batch_out_of_order_is_a_gap() {
    let mut ids = with_id();
    next(&mut ids, 10);
    next(&mut ids, 5);
    assert!(out_of_order(&mut ids, 0));
    let [renumbered] = &ids.begin_turn()[..] else {
        panic!("one partition begins anew");
    };
    assert_eq!(renumbered.stamp(0.into()), Some(stamp(1, 0)));
    assert_eq!(renumbered.stamp(10.into()), Some(stamp(1, 10)));
    assert_eq!(next(&mut ids, 1), 15);
}

#[test]
fn pr_109_nothing_new_goes_while_a_batch_is_unclear() {
    let mut ids = with_id();
    next(&mut ids, 10);
    next(&mut ids, 10);
    ids.given_up(&partition(), 0.into());
    ids.begin_turn();
    assert!(!ids.may_take(&partition(), None));
    // The numbers add up: what came behind was written, so the unclear one was, too.
    ack(&mut ids, 0, 10, 10);
    assert!(ids.begin_turn().is_empty());
    assert_eq!(next(&mut ids, 1), 20);
    // They do not.
    ids.given_up(&partition(), 20.into());
    assert_eq!(ids.begin_turn().len(), 1);
    assert_eq!(ids.stamp(&partition(), 1), Some(stamp(1, 0)));
}

/// A broker that has nothing of a producer takes any sequence for its first.
#[test]
fn until_the_first_batch_is_written_batches_go_one_by_one() {
    let mut ids = with_id();
    assert!(ids.may_take(&partition(), None));
    next(&mut ids, 10);
    assert!(!ids.may_take(&partition(), None));
    ack(&mut ids, 0, 0, 0);
    for base in 0..5 {
        assert!(ids.may_take(&partition(), None));
        assert_eq!(next(&mut ids, 10), 10 + base * 10);
    }
    assert!(
        !ids.may_take(&partition(), None),
        "five is what a broker remembers"
    );
}

#[test]
fn pr_113_after_the_end_nothing_changes() {
    let mut ids = with_id();
    next(&mut ids, 10);
    ids.set_fatal();
    ids.refused(&partition(), 0.into());
    ids.given_up(&partition(), 0.into());
    assert!(ids.begin_turn().is_empty());
    assert_eq!(ids.identity, identity(0));
    assert_eq!(ids.partitions[&partition()].in_flight.len(), 1);
    assert!(!ids.may_take(&partition(), None));
}

#[test]
fn batches_before_a_gap_keep_their_marks() {
    let mut ids = with_id();
    for _ in 0..3 {
        next(&mut ids, 10);
    }
    ids.refused(&partition(), 10.into());
    assert!(
        ids.begin_turn().is_empty(),
        "the first may have been written"
    );
    assert!(ids.may_take(&partition(), Some(stamp(0, 0))));
    assert!(!ids.may_take(&partition(), None));
    ack(&mut ids, 0, 0, 0);
    let renumbered = ids.begin_turn();
    assert_eq!(renumbered[0].stamps, [(20.into(), stamp(1, 0))]);
}
