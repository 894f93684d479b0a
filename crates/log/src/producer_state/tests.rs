//! Tests of the producers' state as a whole.

use klamm_primitives::{ProducerEpoch, Sequence};

use super::append::Marker;
use super::transactions::Completed;
use super::*;

const DAY_MS: i64 = 86_400_000;

fn id(id: i64) -> ProducerId {
    ProducerId::new(id)
}

fn batch(producer: i64, epoch: i16, sequence: i32, offset: i64, count: i32) -> Batch {
    let base_sequence = Sequence::new(sequence);
    Batch {
        producer_id: id(producer),
        producer_epoch: ProducerEpoch::new(epoch),
        base_sequence,
        last_sequence: base_sequence.advance(count - 1),
        base_offset: Offset::new(offset),
        last_offset: Offset::new(offset + i64::from(count) - 1),
        timestamp_ms: 1000,
        is_transactional: false,
    }
}

fn transactional(producer: i64, epoch: i16, sequence: i32, offset: i64) -> Batch {
    Batch {
        is_transactional: true,
        ..batch(producer, epoch, sequence, offset, 1)
    }
}

fn marker(producer: i64, epoch: i16, coordinator_epoch: i32, offset: i64, aborts: bool) -> Marker {
    Marker {
        producer_id: id(producer),
        producer_epoch: ProducerEpoch::new(epoch),
        coordinator_epoch,
        offset: Offset::new(offset),
        timestamp_ms: 1000,
        aborts,
    }
}

/// Appends one batch, as a log would.
fn write(
    states: &mut ProducerStates,
    origin: Origin,
    batch: Batch,
) -> Result<(), ProducerStateError> {
    let mut append = states.append(origin);
    append.data(&batch)?;
    let appended = append.finish();
    states.apply(appended, batch.last_offset + 1);
    Ok(())
}

fn mark(
    states: &mut ProducerStates,
    origin: Origin,
    it: Marker,
) -> Result<Vec<Completed>, ProducerStateError> {
    let mut append = states.append(origin);
    append.marker(&it)?;
    let appended = append.finish();
    let completed = appended.completed.clone();
    states.apply(appended, it.offset + 1);
    Ok(completed)
}

fn last_sequence(states: &ProducerStates, producer: i64) -> i32 {
    states.get(id(producer)).unwrap().last_sequence().get()
}

/// Covers LG-133, LG-135.
#[test]
fn a_gap_in_the_sequences_is_refused_and_changes_nothing() {
    let mut states = ProducerStates::default();
    write(&mut states, Origin::Client, batch(1, 0, 0, 0, 10)).unwrap();
    assert_eq!(last_sequence(&states, 1), 9);
    for sequence in [11, 9, 0] {
        let refused = write(&mut states, Origin::Client, batch(1, 0, sequence, 10, 1));
        let Err(ProducerStateError::OutOfOrderSequence { facts, .. }) = refused else {
            panic!("{refused:?}");
        };
        assert_eq!((facts.found.get(), facts.last.get()), (sequence, 9));
    }
    assert_eq!(last_sequence(&states, 1), 9);
    assert_eq!(states.end_offset(), Offset::new(10));
    write(&mut states, Origin::Client, batch(1, 0, 10, 10, 1)).unwrap();
}

/// Covers C067.
#[test]
fn sequences_wrap_to_zero() {
    let mut states = ProducerStates::default();
    write(
        &mut states,
        Origin::Client,
        batch(1, 0, i32::MAX - 9, 0, 10),
    )
    .unwrap();
    write(&mut states, Origin::Client, batch(1, 0, 0, 10, 10)).unwrap();
    let across = batch(1, 0, i32::MAX - 4, 0, 10);
    assert_eq!(across.last_sequence, Sequence::new(4));
    let mut states = ProducerStates::default();
    write(&mut states, Origin::Client, across).unwrap();
    let written = states.get(id(1)).unwrap().last_batch().unwrap();
    assert_eq!(written.first_sequence(), Sequence::new(i32::MAX - 4));
    write(&mut states, Origin::Client, batch(1, 0, 5, 10, 1)).unwrap();
}

#[test]
fn lg_134_an_older_producer_epoch_is_refused_but_for_replication() {
    let mut states = ProducerStates::default();
    write(&mut states, Origin::Client, batch(1, 5, 0, 0, 1)).unwrap();
    let refused = write(&mut states, Origin::Client, batch(1, 4, 0, 1, 1));
    assert!(matches!(
        refused,
        Err(ProducerStateError::InvalidProducerEpoch { .. })
    ));
    let refused = mark(&mut states, Origin::Coordinator, marker(1, 4, 0, 1, true));
    assert!(matches!(
        refused,
        Err(ProducerStateError::InvalidProducerEpoch { .. })
    ));
    write(&mut states, Origin::Replication, batch(1, 4, 7, 1, 1)).unwrap();
}

#[test]
fn a_new_producer_epoch_begins_with_sequence_0() {
    let mut states = ProducerStates::default();
    write(&mut states, Origin::Client, batch(1, 0, 0, 0, 3)).unwrap();
    assert!(write(&mut states, Origin::Client, batch(1, 1, 3, 3, 1)).is_err());
    write(&mut states, Origin::Client, batch(1, 1, 0, 3, 1)).unwrap();
    assert_eq!(
        states.get(id(1)).map(Entry::epoch),
        Some(ProducerEpoch::new(1))
    );
}

#[test]
fn lg_132_five_batches_are_remembered() {
    let mut states = ProducerStates::default();
    for sequence in 0..6 {
        write(
            &mut states,
            Origin::Client,
            batch(1, 0, sequence, 10 + i64::from(sequence), 1),
        )
        .unwrap();
    }
    let append = states.append(Origin::Client);
    for sequence in 1..6 {
        let known = append.duplicate_of(&batch(1, 0, sequence, 99, 1)).unwrap();
        assert_eq!(known.first_offset(), Offset::new(10 + i64::from(sequence)));
    }
    assert_eq!(
        append.duplicate_of(&batch(1, 0, 0, 99, 1)),
        None,
        "the sixth last"
    );
    assert_eq!(
        append.duplicate_of(&batch(1, 1, 5, 99, 1)),
        None,
        "another epoch"
    );
    assert_eq!(
        append.duplicate_of(&batch(1, 0, 5, 99, 2)),
        None,
        "another length"
    );
    assert_eq!(
        append.duplicate_of(&batch(2, 0, 5, 99, 1)),
        None,
        "another producer"
    );
}

#[test]
fn lg_136_sequences_are_not_judged_for_the_brokers_own_appends() {
    let mut states = ProducerStates::default();
    for offset in 0..3 {
        write(&mut states, Origin::Coordinator, batch(1, 0, 0, offset, 1)).unwrap();
    }
}

#[test]
fn lg_137_a_failing_batch_leaves_all_producers_as_they_were() {
    let mut states = ProducerStates::default();
    write(&mut states, Origin::Client, batch(1, 0, 0, 0, 1)).unwrap();
    let mut append = states.append(Origin::Client);
    append.data(&batch(1, 0, 1, 1, 1)).unwrap();
    append.data(&batch(2, 0, 0, 2, 1)).unwrap();
    assert!(append.data(&batch(1, 0, 9, 3, 1)).is_err());
    drop(append);
    assert_eq!(last_sequence(&states, 1), 0);
    assert_eq!(states.get(id(2)), None);
}

/// Covers LG-138, LG-046.
#[test]
fn several_batches_of_one_producer_are_noted_in_order() {
    let mut states = ProducerStates::default();
    let mut append = states.append(Origin::Replication);
    for sequence in [4, 5, 9] {
        append
            .data(&batch(1, 0, sequence, i64::from(sequence), 1))
            .unwrap();
    }
    append.data(&batch(2, 3, 7, 10, 1)).unwrap();
    let appended = append.finish();
    states.apply(appended, Offset::new(11));
    assert_eq!(last_sequence(&states, 1), 9);
    assert_eq!(last_sequence(&states, 2), 7);
}

/// Covers LG-139, LG-140, C065.
#[test]
fn an_idle_producer_is_forgotten_unless_its_transaction_is_open() {
    let mut states = ProducerStates::default();
    write(&mut states, Origin::Client, batch(1, 0, 0, 0, 1)).unwrap();
    write(&mut states, Origin::Client, transactional(2, 0, 0, 1)).unwrap();
    assert_eq!(states.expire(1000 + DAY_MS - 1, DAY_MS), 0);
    assert_eq!(states.expire(1000 + DAY_MS, DAY_MS), 1);
    assert_eq!((states.get(id(1)), states.len()), (None, 1));
    write(&mut states, Origin::Client, batch(1, 0, 17, 2, 1)).unwrap();
}

#[test]
fn lg_141_a_producers_time_is_that_of_its_batch_or_marker() {
    let mut states = ProducerStates::default();
    let last = |states: &ProducerStates| states.get(id(1)).unwrap().last_timestamp_ms();
    let at = |timestamp_ms, it: Batch| Batch { timestamp_ms, ..it };
    write(
        &mut states,
        Origin::Client,
        at(70, transactional(1, 0, 0, 0)),
    )
    .unwrap();
    assert_eq!(last(&states), 70);
    let timestamp_ms = 90;
    let it = Marker {
        timestamp_ms,
        ..marker(1, 0, 0, 1, false)
    };
    mark(&mut states, Origin::Coordinator, it).unwrap();
    assert_eq!(last(&states), 90);
}

/// Covers LG-152, LG-153.
#[test]
fn a_transaction_holds_readers_up_until_the_high_watermark_has_passed_its_marker() {
    let mut states = ProducerStates::default();
    let unstable = |states: &ProducerStates| states.transactions().first_unstable_offset();
    write(&mut states, Origin::Client, transactional(1, 0, 0, 5)).unwrap();
    write(&mut states, Origin::Client, transactional(1, 0, 1, 6)).unwrap();
    write(&mut states, Origin::Client, transactional(2, 0, 0, 7)).unwrap();
    assert_eq!(unstable(&states), Some(Offset::new(5)));

    let completed = mark(&mut states, Origin::Coordinator, marker(1, 0, 0, 8, false)).unwrap();
    assert_eq!(completed.len(), 1);
    assert_eq!(completed[0].first_offset, Offset::new(5));
    assert!(!completed[0].aborted);
    states.high_watermark_moved(Offset::new(8));
    assert_eq!(
        unstable(&states),
        Some(Offset::new(5)),
        "the marker is at 8"
    );
    states.high_watermark_moved(Offset::new(9));
    assert_eq!(unstable(&states), Some(Offset::new(7)));
}

/// Covers LG-155, LG-159.
#[test]
fn the_last_stable_offset_beside_an_aborted_transaction() {
    let mut states = ProducerStates::default();
    write(&mut states, Origin::Client, transactional(1, 0, 0, 5)).unwrap();
    write(&mut states, Origin::Client, transactional(2, 0, 0, 6)).unwrap();
    let mut append = states.append(Origin::Coordinator);
    append.marker(&marker(1, 0, 0, 7, true)).unwrap();
    let appended = append.finish();
    let [completed] = appended.completed[..] else {
        panic!()
    };
    assert!(completed.aborted);
    let stable = states.transactions().last_stable_offset_at(&completed);
    assert_eq!(stable, Offset::new(6), "the other one is open");
    states.apply(appended, Offset::new(8));

    let mut append = states.append(Origin::Coordinator);
    append.marker(&marker(2, 0, 0, 8, true)).unwrap();
    let [completed] = append.finish().completed[..] else {
        panic!()
    };
    let stable = states.transactions().last_stable_offset_at(&completed);
    assert_eq!(stable, Offset::new(9));
}

/// Covers C055.
#[test]
fn a_marker_without_records_completes_nothing() {
    let mut states = ProducerStates::default();
    let completed = mark(&mut states, Origin::Coordinator, marker(1, 0, 0, 0, true)).unwrap();
    assert_eq!(completed, []);
    assert_eq!(last_sequence(&states, 1), -1);
    assert!(write(&mut states, Origin::Client, batch(1, 0, 3, 1, 1)).is_err());
    write(&mut states, Origin::Client, batch(1, 0, 0, 1, 1)).unwrap();
}

#[test]
fn a_record_outside_of_the_open_transaction_is_refused() {
    let mut states = ProducerStates::default();
    write(&mut states, Origin::Client, transactional(1, 0, 0, 0)).unwrap();
    let refused = write(&mut states, Origin::Client, batch(1, 0, 1, 1, 1));
    let producer_id = id(1);
    assert_eq!(
        refused,
        Err(ProducerStateError::NotInTransaction { producer_id })
    );
}

#[test]
fn lg_160_a_marker_of_a_higher_epoch_raises_the_known_one() {
    let mut states = ProducerStates::default();
    write(&mut states, Origin::Client, transactional(1, 3, 0, 0)).unwrap();
    mark(&mut states, Origin::Coordinator, marker(1, 3, 0, 1, false)).unwrap();
    assert_eq!(
        last_sequence(&states, 1),
        0,
        "an equal one keeps the batches"
    );
    mark(&mut states, Origin::Coordinator, marker(1, 4, 0, 2, true)).unwrap();
    assert_eq!(
        states.get(id(1)).map(Entry::epoch),
        Some(ProducerEpoch::new(4))
    );
    assert_eq!(last_sequence(&states, 1), -1);
}

#[test]
fn lg_161_a_lower_coordinator_epoch_is_noted_from_replication_alone() {
    let mut states = ProducerStates::default();
    mark(&mut states, Origin::Coordinator, marker(1, 0, 9, 0, true)).unwrap();
    let refused = mark(&mut states, Origin::Coordinator, marker(1, 0, 8, 1, true));
    let fenced = ProducerStateError::CoordinatorFenced { found: 8, known: 9 };
    assert_eq!(refused, Err(fenced));
    mark(&mut states, Origin::Replication, marker(1, 0, 8, 1, true)).unwrap();
    assert_eq!(states.get(id(1)).unwrap().coordinator_epoch(), 8);
}

/// Covers LG-144: the last of a producer's entries is its last batch, which is the one that counts
/// where only one is looked for.
#[test]
fn a_snapshot_brings_back_the_batches_that_may_be_sent_once_more() {
    let mut states = ProducerStates::default();
    let sent: Vec<_> = (0..7).map(|n| batch(1, 2, n, i64::from(n), 1)).collect();
    for batch in &sent {
        write(&mut states, Origin::Client, *batch).unwrap();
    }
    write(&mut states, Origin::Client, batch(2, 0, 0, 7, 1)).unwrap();
    let kept = states.to_snapshot();
    let ends: Vec<_> = kept
        .iter()
        .map(|it| (it.producer_id, it.last_sequence.get()))
        .collect();
    let expected = [2, 3, 4, 5, 6].map(|sequence| (id(1), sequence));
    assert_eq!(ends[..5], expected);
    assert_eq!(ends[5..], [(id(2), 0)]);
    let back = ProducerStates::from_snapshot(&kept, states.end_offset(), 1000, DAY_MS);
    assert_eq!(back.to_snapshot(), kept);
    for known in [&states, &back] {
        let written = |n| {
            let sequence = Sequence::new(n);
            let entry = known.get(id(1)).unwrap();
            entry.written(sequence, sequence).map(|it| it.last_offset)
        };
        assert_eq!((written(1), written(2)), (None, Some(Offset::new(2))));
        assert_eq!(written(6), Some(Offset::new(6)));
    }
}

/// Covers LG-150, LG-162, B4.4.
#[test]
fn a_snapshot_brings_back_sequences_epochs_and_open_transactions() {
    let mut states = ProducerStates::default();
    write(&mut states, Origin::Client, batch(1, 2, 0, 0, 4)).unwrap();
    write(&mut states, Origin::Client, transactional(2, 0, 0, 4)).unwrap();
    write(&mut states, Origin::Client, batch(3, 0, 0, 5, 1)).unwrap();
    let kept = states.to_snapshot();
    let now_ms = 1000 + DAY_MS - 1;
    let mut back = ProducerStates::from_snapshot(&kept, states.end_offset(), now_ms, DAY_MS);
    assert_eq!(back.to_snapshot(), kept);
    assert_eq!(back.end_offset(), Offset::new(6));
    assert_eq!(
        back.transactions().first_unstable_offset(),
        Some(Offset::new(4))
    );
    assert!(write(&mut back, Origin::Client, batch(1, 2, 5, 6, 1)).is_err());
    write(&mut back, Origin::Client, batch(1, 2, 4, 6, 1)).unwrap();

    let later = ProducerStates::from_snapshot(&kept, states.end_offset(), now_ms + 1, DAY_MS);
    let left: Vec<_> = later
        .to_snapshot()
        .iter()
        .map(|it| it.producer_id)
        .collect();
    assert_eq!(left, [id(2)], "the others have expired");
}
