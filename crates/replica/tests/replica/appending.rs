//! What an append answers.

use bytes::Bytes;
use klamm_primitives::Offset;
use klamm_records::{TimestampType, ValidationError};
use klamm_replica::{AppendError, NotServed, Origin};

use crate::support::{
    Bed, Placed, append_request, appended, batch, idempotent, min_isr, offset, partition, produced,
    records, sized,
};

fn two() -> Bed {
    let bed = Bed::new();
    bed.set("a", min_isr(2));
    bed.place("a-0", &Placed::on(&[1, 2]));
    bed.place("b-0", &Placed::on(&[1]));
    bed
}

#[test]
fn re_031_other_acks_are_refused_for_each_partition_and_nothing_is_written() {
    let bed = two();
    for acks in [2, -2, i16::MIN, i16::MAX] {
        let (results, _) = bed.produce(acks, &[("a-0", records(1)), ("b-0", records(1))], 0);
        let results = results.unwrap();
        assert_eq!(results.len(), 2);
        for it in &results {
            let refused = appended(it);
            assert!(
                matches!(refused, Err(AppendError::InvalidRequiredAcks { acks: it }) if it == acks)
            );
        }
    }
    assert_eq!(bed.offsets("a-0").log_end, Offset::ZERO);
    assert_eq!(bed.offsets("b-0").log_end, Offset::ZERO);
}

/// Covers B2.3.
#[test]
fn re_032_the_answer_has_first_and_last_offset_log_start_and_append_time() {
    let bed = Bed::new();
    bed.place("a-0", &Placed::on(&[1]));
    let first = bed.append_one(1, "a-0", records(1)).unwrap();
    let next = bed.append_one(1, "a-0", records(2)).unwrap();
    assert_eq!(
        (first.first_offset, first.last_offset),
        (offset(0), offset(0))
    );
    assert_eq!(
        (next.first_offset, next.last_offset),
        (offset(1), offset(2))
    );
    assert_eq!(next.log_append_time_ms, None);
    bed.delete_records(&[("a-0", Some(2))], 0);
    assert_eq!(
        bed.append_one(1, "a-0", records(1))
            .unwrap()
            .log_start_offset,
        offset(2)
    );

    bed.set("b", |it| it.rules.timestamp_type = TimestampType::LogAppend);
    bed.place("b-0", &Placed::on(&[1]));
    let dated = bed.append_one(1, "b-0", records(1)).unwrap();
    assert_eq!(dated.log_append_time_ms, Some(bed.now().unix_ms));
}

/// Covers B5.3.
#[test]
fn re_033_too_few_in_sync_refuse_acks_all_and_write_nothing() {
    let bed = two();
    bed.place("a-0", &Placed::on(&[1, 2]).isr(&[1]));
    let refused = bed.append_one(-1, "a-0", records(1));
    assert!(matches!(
        refused,
        Err(AppendError::NotEnoughReplicas {
            in_sync: 1,
            min_in_sync: 2
        })
    ));
    assert_eq!(bed.offsets("a-0").log_end, Offset::ZERO);
    for acks in [0, 1] {
        assert!(bed.append_one(acks, "a-0", records(1)).is_ok());
    }
}

#[test]
fn re_034_no_more_are_needed_than_are_assigned() {
    let bed = Bed::new();
    bed.set("a", min_isr(3));
    bed.place("a-0", &Placed::on(&[1]));
    assert!(bed.append_one(-1, "a-0", records(1)).is_ok());
    bed.place("a-1", &Placed::on(&[1, 2]).isr(&[1]));
    let refused = bed.append_one(-1, "a-1", records(1));
    assert!(matches!(
        refused,
        Err(AppendError::NotEnoughReplicas {
            in_sync: 1,
            min_in_sync: 2
        })
    ));
}

#[test]
fn re_035_with_the_leader_alone_in_sync_the_high_watermark_moves_at_once() {
    let bed = Bed::new();
    bed.place("a-0", &Placed::on(&[1]));
    bed.place("a-1", &Placed::on(&[1, 2]).isr(&[1]));
    for (partition, expected) in [("a-0", 1), ("a-1", 1)] {
        assert!(bed.append_one(1, partition, records(1)).is_ok());
        assert_eq!(bed.high_watermark(partition), expected);
    }
    bed.place("a-2", &Placed::on(&[1, 2]));
    assert!(bed.append_one(1, "a-2", records(1)).is_ok());
    assert_eq!(bed.high_watermark("a-2"), 0);
}

#[test]
fn re_036_acks_all_waits_if_anything_was_appended_and_not_if_nothing_was() {
    let bed = two();
    let good = ("a-0", records(1));
    let bad = ("c-0", records(1));
    let (at_once, done) = bed.produce(-1, &[good, bad.clone()], 1);
    assert!(at_once.is_none() && done.is_empty());
    let (at_once, _) = bed.produce(-1, &[bad], 2);
    let results = at_once.unwrap();
    assert!(matches!(
        appended(&results[0]),
        Err(AppendError::NotServed(NotServed::UnknownPartition))
    ));
    let (ticket, results) = produced(bed.follow("a-0", 2, 1));
    assert_eq!(
        (ticket, results[0].is_ok(), results[1].is_err()),
        (1, true, true)
    );
}

#[test]
fn re_037_acks_0_and_1_answer_right_after_the_leaders_append() {
    let bed = two();
    for acks in [0, 1] {
        let (at_once, _) = bed.produce(acks, &[("a-0", records(1))], 0);
        assert!(appended(&at_once.unwrap()[0]).is_ok());
    }
    assert_eq!(bed.high_watermark("a-0"), 0);
    assert_eq!(bed.offsets("a-0").log_end, offset(2));
}

/// Covers RE-038.
#[test]
fn one_partition_that_fails_does_not_hold_up_the_others() {
    let bed = two();
    let mut broken = records(1).to_vec();
    *broken.last_mut().unwrap() ^= 1;
    let entries = [
        ("b-0", records(1)),
        ("a-0", Bytes::from(broken)),
        ("nowhere-0", records(1)),
        ("a-0", Bytes::new()),
        ("b-0", sized(2 << 20)),
        ("b-0", records(2)),
    ];
    let (results, _) = bed.produce(1, &entries, 0);
    let results = results.unwrap();
    let names: Vec<_> = results.iter().map(|it| it.partition.clone()).collect();
    let asked: Vec<_> = entries.iter().map(|it| partition(it.0)).collect();
    assert_eq!(names, asked);
    assert_eq!(appended(&results[0]).unwrap().first_offset, offset(0));
    let invalid = |index: usize| match appended(&results[index]) {
        Err(AppendError::Invalid(error)) => error,
        other => panic!("{other:?}"),
    };
    assert!(matches!(*invalid(1), ValidationError::Batch(_)));
    assert!(matches!(*invalid(3), ValidationError::NoBatch));
    assert!(matches!(*invalid(4), ValidationError::Batch(_)));
    assert_eq!(appended(&results[5]).unwrap().first_offset, offset(1));
}

#[test]
fn re_039_internal_topics_are_closed_to_clients() {
    let bed = Bed::new();
    bed.place("__consumer_offsets-0", &Placed::on(&[1]));
    let mut request = append_request(1, &[("__consumer_offsets-0", records(1))]);
    let (results, _) = bed.produce_request(&request, 0);
    assert!(matches!(
        appended(&results.unwrap()[0]),
        Err(AppendError::InternalTopic)
    ));
    request.origin = Origin::Coordinator;
    let (results, _) = bed.produce_request(&request, 0);
    assert!(appended(&results.unwrap()[0]).is_ok());
}

#[test]
fn a_batch_sent_again_is_told_by_the_offsets_that_it_has() {
    let bed = Bed::new();
    bed.place("a-0", &Placed::on(&[1]));
    let once = batch(&idempotent(7, 0), 2, b"value");
    let first = bed.append_one(-1, "a-0", once.clone()).unwrap();
    bed.fill("a-0", 3);
    let again = bed.append_one(-1, "a-0", once).unwrap();
    assert_eq!(again, first);
    assert_eq!(bed.offsets("a-0").log_end, offset(5));
    let gap = bed.append_one(-1, "a-0", batch(&idempotent(7, 5), 1, b"value"));
    assert!(matches!(gap, Err(AppendError::Log(_))));
}

#[test]
fn appends_go_where_the_leader_epoch_is_written_into_them() {
    let bed = Bed::new();
    bed.place("a-0", &Placed::on(&[1]).in_epoch(6));
    bed.fill("a-0", 1);
    let found = bed.fetch_one(
        klamm_replica::Fetcher::Consumer,
        crate::support::wanted("a-0", 0),
    );
    let bytes = found.unwrap().records.unwrap().read().unwrap();
    let batch = klamm_records::RecordBatch::parse(bytes).unwrap();
    assert_eq!(batch.header().leader_epoch.get(), 6);
}
