//! Fetches that wait for data.

use klamm_io::DiskOperation;
use klamm_replica::{FetchError, FetchPartition, Fetcher, NotServed};

use crate::support::{
    Bed, Done, Placed, batch, brokers, epoch, fetched, follower, from_follower, idempotent, millis,
    offset, offsets_in, partition, patient, records, secs, sized, tickets, wanted,
};

/// A consumer waits at the end under ticket 1.
fn waits(bed: &Bed, min_bytes: u32, partitions: Vec<FetchPartition>) {
    let (at_once, done) = bed.fetch(patient(Fetcher::Consumer, min_bytes, partitions), 1);
    assert!(at_once.is_none() && done.is_empty());
}

fn found(done: Vec<Done>) -> Vec<Vec<i64>> {
    let (ticket, results) = fetched(done);
    assert_eq!(ticket, 1);
    let offsets = results.iter().map(|it| offsets_in(it.as_ref().unwrap()));
    offsets.collect()
}

/// Covers C109, B3.2.
#[test]
fn c109_one_record_wakes_whoever_waits_for_its_partition_and_nobody_else() {
    let bed = Bed::new();
    bed.place("a-0", &Placed::on(&[1]));
    bed.place("b-0", &Placed::on(&[1]));
    for ticket in 0..500 {
        let name = if ticket % 2 == 0 { "a-0" } else { "b-0" };
        let request = patient(Fetcher::Consumer, 1, vec![wanted(name, 0)]);
        assert!(bed.fetch(request, ticket).0.is_none());
    }
    let woken = tickets(&bed.fill("a-0", 1));
    assert_eq!(woken, (0..500).step_by(2).collect::<Vec<_>>());
    assert_eq!(bed.manager.waiting().fetches, 250);
}

#[test]
fn re_071_the_high_watermark_wakes_consumers_and_the_log_end_followers() {
    let bed = Bed::new();
    bed.place("a-0", &Placed::on(&[1, 2, 3]));
    waits(&bed, 1, vec![wanted("a-0", 0)]);
    let request = patient(follower(2), 1, vec![from_follower("a-0", 0)]);
    assert!(bed.fetch(request, 2).0.is_none());
    let (at_once, done) = bed.produce(-1, &[("a-0", records(1))], 3);
    assert!(at_once.is_none());
    assert_eq!(tickets(&done), [2]);
    assert!(bed.follow("a-0", 2, 1).is_empty());
    let mut woken = tickets(&bed.follow("a-0", 3, 1));
    woken.sort_unstable();
    assert_eq!(woken, [1, 3]);
}

/// Covers PU-053, PU-059, RE-014.
#[test]
fn re_014_a_change_of_the_leader_or_of_its_epoch_answers_at_once() {
    let bed = Bed::new();
    bed.place("a-0", &Placed::on(&[1, 2]));
    bed.place("b-0", &Placed::on(&[1]));
    waits(&bed, 1, vec![wanted("a-0", 0), wanted("b-0", 0)]);
    let (_, done) = bed.place("a-0", &Placed::on(&[2, 1]).in_epoch(2));
    let (_, results) = fetched(done);
    assert!(matches!(
        results[0],
        Err(FetchError::NotServed(NotServed::NotLeader))
    ));
    assert!(results[1].is_ok());

    waits(&bed, 1, vec![wanted("b-0", 0)]);
    let (_, done) = bed.place("b-0", &Placed::on(&[1]).in_epoch(2));
    assert!(done.is_empty(), "the same leader, and nothing has come");
}

#[test]
fn pu_052_it_waits_under_each_of_its_partitions_and_for_no_longer_than_it_asked_to() {
    let bed = Bed::new();
    bed.place("a-0", &Placed::on(&[1]));
    bed.place("b-0", &Placed::on(&[1]));
    for (at, name) in [(0, "a-0"), (1, "b-0")] {
        waits(&bed, 1, vec![wanted("a-0", at), wanted("b-0", 0)]);
        assert_eq!(tickets(&bed.fill(name, 1)), [1]);
    }
    waits(&bed, 1, vec![wanted("a-0", 1), wanted("b-0", 1)]);
    assert!(bed.pass(millis(9_999)).is_empty());
    assert_eq!(found(bed.pass(millis(1))), [[0_i64; 0], [0; 0]]);
}

#[test]
fn pu_053_whatever_makes_a_partition_unfit_answers_at_once() {
    let is = |expected: NotServed, done: Vec<Done>| {
        let (_, results) = fetched(done);
        match results[0] {
            Err(FetchError::NotServed(error)) => assert_eq!(error, expected),
            ref other => panic!("{other:?}"),
        }
    };
    let bed = Bed::new();
    bed.place("a-0", &Placed::on(&[1]));
    waits(&bed, 1, vec![wanted("a-0", 0)]);
    is(NotServed::UnknownPartition, bed.delete_topic("a").1);

    bed.place("b-0", &Placed::on(&[1, 2]));
    waits(&bed, 1, vec![wanted("b-0", 0)]);
    let moved = bed.place("b-0", &Placed::on(&[2, 3]).in_epoch(2)).1;
    is(NotServed::UnknownPartition, moved);

    bed.place("c-0", &Placed::on(&[1]));
    waits(&bed, 1, vec![wanted("c-0", 0)]);
    let log = bed.logs.get(&partition("c-0")).unwrap();
    bed.logs
        .report_failure(&log, std::io::Error::other("it burns"));
    is(NotServed::Offline, bed.take_events());

    let bed = Bed::new();
    bed.place("d-0", &Placed::on(&[1]));
    let with_epoch = FetchPartition {
        current_leader_epoch: Some(epoch(1)),
        ..wanted("d-0", 0)
    };
    waits(&bed, 1, vec![with_epoch]);
    let (_, done) = bed.place("d-0", &Placed::on(&[1]).in_epoch(2));
    let fenced = NotServed::FencedLeaderEpoch {
        requested: epoch(1),
        current: epoch(2),
    };
    is(fenced, done);
}

#[test]
fn pu_054_one_whose_offset_was_cut_off_is_answered_at_once() {
    let bed = Bed::new();
    bed.place("a-0", &Placed::on(&[1, 2]));
    bed.fill("a-0", 3);
    let request = patient(follower(2), 1, vec![from_follower("a-0", 3)]);
    assert!(bed.fetch(request, 1).0.is_none());
    // A leader's log is cut only by what is outside of this crate; the next event finds it out.
    bed.logs
        .get(&partition("a-0"))
        .unwrap()
        .lock()
        .truncate_to(offset(1), bed.now().unix_ms)
        .unwrap();
    let (_, results) = fetched(bed.fill("a-0", 1));
    assert!(matches!(
        results[0],
        Err(FetchError::OffsetOutOfRange { .. })
    ));

    bed.place("b-0", &Placed::on(&[1, 2]));
    bed.fill("b-0", 3);
    bed.follow("b-0", 2, 2);
    waits(&bed, 1, vec![wanted("b-0", 2)]);
    let log = bed.logs.get(&partition("b-0")).unwrap();
    log.lock().set_high_watermark(offset(1));
    let (_, done) = bed.place("b-0", &Placed::on(&[1, 2]).in_epoch(9));
    assert_eq!(found(done), [[0_i64; 0]]);
}

#[test]
fn pu_055_one_whose_offset_is_in_an_older_segment_is_answered_at_once() {
    let bed = Bed::new();
    bed.set("a", |it| it.log.segment_bytes = 2000);
    bed.place("a-0", &Placed::on(&[1]));
    bed.append_one(1, "a-0", sized(1200)).unwrap();
    waits(&bed, 1 << 20, vec![wanted("a-0", 0)]);
    let (_, done) = bed.produce(1, &[("a-0", sized(1200))], 0);
    assert_eq!(found(done), [[0]], "so far as the segment goes");
}

#[test]
fn pu_056_bytes_add_up_over_partitions_each_within_its_own_limit() {
    let bed = Bed::new();
    let one = u32::try_from(sized(1000).len()).unwrap();
    for name in ["a-0", "b-0"] {
        bed.place(name, &Placed::on(&[1]));
    }
    let limited = FetchPartition {
        max_bytes: 2 * one,
        ..wanted("a-0", 0)
    };
    waits(&bed, 3 * one, vec![limited, wanted("b-0", 0)]);
    for _ in 0..4 {
        let (_, done) = bed.produce(1, &[("a-0", sized(1000))], 0);
        assert!(done.is_empty(), "no more than its limit counts");
    }
    let (_, done) = bed.produce(1, &[("b-0", sized(1000))], 0);
    assert_eq!(found(done), [vec![0, 1], vec![0]]);
}

#[test]
fn counting_what_has_come_reads_nothing() {
    let bed = Bed::new();
    bed.place("a-0", &Placed::on(&[1]));
    waits(&bed, 1 << 20, vec![wanted("a-0", 0)]);
    let reads = |bed: &Bed| bed.disk.calls(DiskOperation::Read);
    let before = reads(&bed);
    assert!(bed.fill("a-0", 100).is_empty());
    assert_eq!(reads(&bed), before);
}

#[test]
fn pu_057_what_is_visible_depends_on_who_asks() {
    let bed = Bed::new();
    bed.place("a-0", &Placed::on(&[1, 2]));
    let ask = |fetcher, ticket| {
        let request = patient(fetcher, 1, vec![from_follower("a-0", 0)]);
        assert!(bed.fetch(request, ticket).0.is_none());
    };
    ask(Fetcher::CommittedConsumer, 1);
    ask(Fetcher::Consumer, 2);
    ask(follower(2), 3);
    let options = klamm_records::BatchOptions {
        transactional: true,
        ..idempotent(7, 0)
    };
    let open = batch(&options, 1, b"value");
    let (_, done) = bed.produce(1, &[("a-0", open)], 0);
    assert_eq!(tickets(&done), [3]);
    assert_eq!(tickets(&bed.follow("a-0", 2, 1)), [2]);
    assert_eq!(bed.manager.waiting().fetches, 1);
}

#[test]
fn pu_058_a_follower_whose_log_parts_from_the_leaders_is_told_so() {
    let bed = Bed::new();
    bed.place("a-0", &Placed::on(&[1, 2]).in_epoch(1));
    bed.fill("a-0", 3);
    let agrees = FetchPartition {
        last_fetched_epoch: Some(epoch(1)),
        ..from_follower("a-0", 3)
    };
    let request = patient(follower(2), 1, vec![agrees]);
    assert!(bed.fetch(request, 1).0.is_none());
    let log = bed.logs.get(&partition("a-0")).unwrap();
    log.lock()
        .truncate_to(offset(2), bed.now().unix_ms)
        .unwrap();
    let (_, done) = bed.place("a-0", &Placed::on(&[1, 2]).in_epoch(2));
    let (_, results) = fetched(done);
    let diverging = results[0].as_ref().unwrap().diverging.unwrap();
    assert_eq!(
        (diverging.epoch, diverging.end_offset),
        (epoch(1), offset(2))
    );
}

#[test]
fn pu_059_the_log_is_read_afresh_when_the_time_is_up() {
    let bed = Bed::new();
    bed.place("a-0", &Placed::on(&[1]));
    bed.fill("a-0", 1);
    waits(&bed, 1 << 20, vec![wanted("a-0", 0)]);
    let expires = bed.instant() + secs(10);
    let next = bed.manager.next_deadline();
    assert!(next.is_some_and(|next| next <= expires));
    bed.fill("a-0", 2);
    assert!(bed.pass(millis(9_999)).is_empty());
    assert_eq!(found(bed.pass(millis(1))), [[0, 1, 2]]);
    assert_eq!(bed.manager.next_deadline(), None);
}

#[test]
fn pu_060_the_read_at_the_end_moves_no_follower() {
    let bed = Bed::new();
    bed.place("a-0", &Placed::on(&[1, 2]));
    let request = patient(follower(2), 1, vec![from_follower("a-0", 0)]);
    let begin = bed.instant();
    assert!(bed.fetch(request, 1).0.is_none());
    bed.clock.advance(secs(5));
    assert_eq!(tickets(&bed.fill("a-0", 1)), [1]);
    let klamm_replica::PartitionRole::Leader { followers, .. } = bed.status("a-0").role else {
        panic!("it leads");
    };
    assert_eq!(followers[0].log_end_offset, offset(0));
    assert_eq!(followers[0].caught_up_at, Some(begin));
    assert_eq!(bed.isr("a-0"), brokers(&[1, 2]));
}

#[test]
fn one_beyond_the_mark_waits_for_it_without_being_answered_again_and_again() {
    let bed = Bed::new();
    bed.place("a-0", &Placed::on(&[1, 2]));
    bed.fill("a-0", 5);
    bed.follow("a-0", 2, 1);
    waits(&bed, 1, vec![wanted("a-0", 4)]);
    for reached in [2, 3, 4] {
        assert!(bed.follow("a-0", 2, reached).is_empty());
    }
    assert_eq!(found(bed.follow("a-0", 2, 5)), [[4]]);
}
