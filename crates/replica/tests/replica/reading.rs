//! What a fetch finds, and how limits are used up.

use klamm_primitives::{ProducerEpoch, ProducerId};
use klamm_records::{BatchOptions, EndMarker, Outcome};
use klamm_replica::{
    AppendEntry, AppendRequest, FetchError, FetchPartition, FetchRequest, Fetcher, NotServed,
    Origin,
};

use crate::support::{
    Bed, Placed, append_request, appended, batch, epoch, fetch_request, fetched, follower,
    from_follower, idempotent, offset, offsets_in, partition, patient, records, sized, wanted,
};

fn marker(producer: i64, outcome: Outcome) -> AppendRequest {
    let marker = EndMarker {
        outcome,
        coordinator_epoch: 0,
    };
    let by = (ProducerId::new(producer), ProducerEpoch::new(0));
    let batch = marker.batch(offset(0), epoch(0), by, 1).unwrap();
    AppendRequest {
        origin: Origin::Coordinator,
        entries: vec![AppendEntry {
            partition: partition("a-0"),
            topic_id: None,
            records: batch.into_bytes(),
        }],
        ..append_request(1, &[])
    }
}

fn transactional(producer: i64, sequence: i32) -> BatchOptions {
    BatchOptions {
        transactional: true,
        ..idempotent(producer, sequence)
    }
}

/// Covers B3.1.
#[test]
fn re_076_each_reader_sees_up_to_its_bound() {
    let bed = Bed::new();
    bed.place("a-0", &Placed::on(&[1, 2]));
    bed.fill("a-0", 2);
    bed.append_one(1, "a-0", batch(&transactional(7, 0), 1, b"value"))
        .unwrap();
    bed.fill("a-0", 3);
    bed.follow("a-0", 2, 4);
    let seen =
        |fetcher, wanted: FetchPartition| offsets_in(&bed.fetch_one(fetcher, wanted).unwrap());
    assert_eq!(seen(follower(2), from_follower("a-0", 4)), [4, 5]);
    assert_eq!(seen(Fetcher::Consumer, wanted("a-0", 0)), [0, 1, 2, 3]);
    assert_eq!(seen(Fetcher::CommittedConsumer, wanted("a-0", 0)), [0, 1]);
    for at in [4, 5, 6] {
        assert_eq!(bed.read("a-0", at), [0_i64; 0]);
    }
}

#[test]
fn re_077_committed_reads_carry_the_last_stable_offset_and_what_was_aborted() {
    let bed = Bed::new();
    bed.place("a-0", &Placed::on(&[1]));
    bed.fill("a-0", 1);
    let read = |from| {
        let found = bed.fetch_one(Fetcher::CommittedConsumer, wanted("a-0", from));
        let found = found.unwrap();
        let aborted = found.aborted.clone().expect("it is there, if empty");
        let aborted: Vec<_> = aborted
            .iter()
            .map(|it| (it.producer_id.get(), it.first_offset.get()))
            .collect();
        (found.last_stable_offset.get(), aborted, offsets_in(&found))
    };
    assert_eq!(read(0), (1, vec![], vec![0]));
    bed.append_one(1, "a-0", batch(&transactional(7, 0), 2, b"value"))
        .unwrap();
    assert_eq!(read(1), (1, vec![], vec![]));

    // One waits until the transaction is over.
    let request = patient(Fetcher::CommittedConsumer, 1, vec![wanted("a-0", 1)]);
    assert!(bed.fetch(request, 5).0.is_none());
    assert!(bed.fill("a-0", 1).is_empty());
    let (results, done) = bed.produce_request(&marker(7, Outcome::Abort), 0);
    assert!(appended(&results.unwrap()[0]).is_ok());
    let (ticket, mut results) = fetched(done);
    let found = results.remove(0).unwrap();
    assert_eq!(ticket, 5);
    assert_eq!(found.last_stable_offset, offset(5));
    let aborted = found.aborted.unwrap();
    assert_eq!(aborted.len(), 1);
    assert_eq!(aborted[0].producer_id, ProducerId::new(7));
    assert_eq!(aborted[0].first_offset, offset(1));

    assert!(
        bed.fetch_one(Fetcher::Consumer, wanted("a-0", 0))
            .unwrap()
            .aborted
            .is_none()
    );
}

#[test]
fn re_078_what_is_answered_at_once() {
    let bed = Bed::new();
    bed.place("a-0", &Placed::on(&[1, 2]).isr(&[1]));
    bed.place("b-0", &Placed::on(&[1]));
    bed.place("c-0", &Placed::on(&[2, 1]));
    bed.fill("b-0", 1);
    let consumer = Fetcher::Consumer;
    let at_once = |request: FetchRequest| bed.fetch(request, 0).0.is_some();
    let empty = || wanted("a-0", 0);
    assert!(
        at_once(fetch_request(consumer, vec![empty()])),
        "no wait is asked for"
    );
    assert!(
        at_once(patient(consumer, 1, vec![])),
        "nothing is asked for"
    );
    assert!(
        at_once(patient(consumer, 0, vec![empty()])),
        "no byte is enough"
    );
    assert!(
        at_once(patient(consumer, 1, vec![empty(), wanted("b-0", 0)])),
        "enough bytes"
    );
    assert!(
        at_once(patient(consumer, 1, vec![empty(), wanted("c-0", 0)])),
        "an error"
    );
    assert!(
        at_once(patient(consumer, 1, vec![wanted("a-0", 9)])),
        "out of range"
    );
    let diverging = FetchPartition {
        last_fetched_epoch: Some(epoch(1)),
        ..from_follower("a-0", 3)
    };
    assert!(
        at_once(patient(follower(2), 1, vec![diverging])),
        "a divergence"
    );
    assert!(!at_once(patient(consumer, 1, vec![empty()])));
    assert!(!at_once(patient(
        consumer,
        1 << 16,
        vec![empty(), wanted("b-0", 0)]
    )));
}

#[test]
fn re_079_the_total_is_used_up_in_the_given_order() {
    let bed = Bed::new();
    let names = ["a-0", "b-0", "c-0"];
    for name in names {
        bed.place(name, &Placed::on(&[1]));
        for _ in 0..3 {
            bed.append_one(1, name, sized(1000)).unwrap();
        }
    }
    let one = sized(1000).len();
    let len = |max_bytes: usize, order: [&str; 3]| {
        let partitions = order.iter().map(|name| wanted(name, 0)).collect();
        let request = FetchRequest {
            max_bytes: u32::try_from(max_bytes).unwrap(),
            ..fetch_request(Fetcher::Consumer, partitions)
        };
        let results = bed.fetch(request, 0).0.unwrap();
        let len = |it: &klamm_replica::PartitionFetched<_>| {
            it.result
                .as_ref()
                .unwrap()
                .records
                .as_ref()
                .map_or(0, |range| range.len)
        };
        let asked: Vec<_> = order.iter().map(|name| partition(name)).collect();
        let names: Vec<_> = results.iter().map(|it| it.partition.clone()).collect();
        assert_eq!(names, asked);
        results.iter().map(len).collect::<Vec<_>>()
    };
    assert_eq!(len(9 * one, names), [3 * one, 3 * one, 3 * one]);
    assert_eq!(len(4 * one, names), [3 * one, one, 0]);
    assert_eq!(len(4 * one, ["c-0", "a-0", "b-0"]), [3 * one, one, 0]);
    assert_eq!(len(one, names), [one, 0, 0]);
    // Not even a part of a batch.
    assert_eq!(len(3 * one + one / 2, names), [3 * one, 0, 0]);
}

/// Covers B3.3, C107.
#[test]
fn c107_the_first_batch_comes_whole_however_small_the_limits_are() {
    let bed = Bed::new();
    bed.place("empty-0", &Placed::on(&[1]));
    bed.place("a-0", &Placed::on(&[1]));
    bed.place("b-0", &Placed::on(&[1]));
    for name in ["a-0", "b-0"] {
        bed.append_one(1, name, sized(500_000)).unwrap();
        bed.append_one(1, name, sized(100)).unwrap();
    }
    let of = |name: &str| FetchPartition {
        max_bytes: 1,
        ..wanted(name, 0)
    };
    for max_bytes in [1, 1 << 20] {
        let partitions = vec![of("empty-0"), of("a-0"), of("b-0")];
        let request = FetchRequest {
            max_bytes,
            ..fetch_request(Fetcher::Consumer, partitions)
        };
        let results = bed.fetch(request, 0).0.unwrap();
        let found = |index: usize| offsets_in(results[index].result.as_ref().unwrap());
        assert_eq!(found(0), [0_i64; 0]);
        assert_eq!(found(1), [0]);
        assert_eq!(found(2), [0_i64; 0]);
    }
}

#[test]
fn re_080_an_error_does_not_hide_the_data_of_others() {
    let bed = Bed::new();
    bed.place("a-0", &Placed::on(&[1]));
    bed.place("b-0", &Placed::on(&[1]));
    bed.fill("a-0", 1);
    bed.fill("b-0", 1);
    let partitions = vec![
        wanted("a-0", 0),
        wanted("nowhere-0", 0),
        wanted("b-0", 9),
        wanted("b-0", 0),
    ];
    let results = bed.fetch(fetch_request(Fetcher::Consumer, partitions), 0).0;
    let results = results.unwrap();
    assert_eq!(offsets_in(results[0].result.as_ref().unwrap()), [0]);
    assert!(matches!(
        results[1].result,
        Err(FetchError::NotServed(NotServed::UnknownPartition))
    ));
    assert!(matches!(
        results[2].result,
        Err(FetchError::OffsetOutOfRange { .. })
    ));
    assert_eq!(offsets_in(results[3].result.as_ref().unwrap()), [0]);
}

#[test]
fn re_081_another_topic_id_is_refused_and_none_is_not_looked_at() {
    let bed = Bed::new();
    bed.place("a-0", &Placed::on(&[1]));
    let fetch = |topic_id| {
        let wanted = FetchPartition {
            topic_id,
            ..wanted("a-0", 0)
        };
        bed.fetch_one(Fetcher::Consumer, wanted)
    };
    assert!(fetch(Some(bed.topic_id("a"))).is_ok());
    assert!(fetch(None).is_ok());
    assert!(fetch(Some(klamm_primitives::Uuid::ZERO)).is_ok());
    let other = fetch(Some(klamm_primitives::Uuid::from_u128(5)));
    assert!(matches!(
        other,
        Err(FetchError::NotServed(NotServed::InconsistentTopicId))
    ));
}

#[test]
fn a_batch_is_found_by_an_offset_within_it() {
    let bed = Bed::new();
    bed.place("a-0", &Placed::on(&[1]));
    bed.append_one(1, "a-0", records(5)).unwrap();
    assert_eq!(bed.read("a-0", 3), [0, 1, 2, 3, 4]);
}
