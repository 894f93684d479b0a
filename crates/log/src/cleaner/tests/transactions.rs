//! Transactions, their markers and their producers in a log that is cleaned.

use std::time::Duration;

use klamm_primitives::Offset;
use klamm_records::{ControlType, Outcome};

use super::fixture::{Fixture, compacted, owned, path, producer, read};
use crate::config::LogConfig;
use crate::read::Isolation;

fn config() -> LogConfig {
    LogConfig {
        tombstone_retention: Duration::from_millis(100),
        ..compacted()
    }
}

fn put(it: &mut Fixture, producer_id: i64, sequence: i32, key: &str, value: &str) {
    let records = [(Some(key), Some(value))];
    it.put_of(producer(producer_id, sequence), true, &records);
}

/// Covers LG-208: of aborted transactions nothing stays, and their records hide none.
#[test]
fn records_of_aborted_transactions_go_and_their_markers_follow() {
    let mut it = Fixture::new(config());
    put(&mut it, 7, 0, "a", "committed");
    it.end(7, Outcome::Commit);
    put(&mut it, 7, 1, "a", "aborted");
    put(&mut it, 8, 0, "b", "committed");
    it.end(7, Outcome::Abort);
    it.end(8, Outcome::Commit);
    // Newer batches of both, so that none of the above is kept for the producers' sake.
    put(&mut it, 7, 2, "x", "1");
    put(&mut it, 8, 1, "y", "1");
    it.end(7, Outcome::Commit);
    it.end(8, Outcome::Commit);
    it.roll();
    it.put(&[("z", "1")]);
    it.roll();

    let controls = |it: &Fixture| {
        let headers = it.headers();
        let controls = headers.iter().filter(|it| it.attributes.is_control());
        controls.map(|it| it.base_offset.get()).collect::<Vec<_>>()
    };
    let kept = owned(&[
        (0, "a", "committed"),
        (3, "b", "committed"),
        (6, "x", "1"),
        (7, "y", "1"),
        (10, "z", "1"),
    ]);
    it.now_ms = 10_000;
    it.clean();
    assert_eq!(it.records(), kept);
    assert_eq!(
        controls(&it),
        [1, 4, 5, 8, 9],
        "whoever reads may have seen records"
    );
    let aborted = |it: &Fixture| {
        read(&it.log.reader(), 0, Isolation::Committed)
            .aborted
            .unwrap()
    };
    assert_eq!(aborted(&it).len(), 1);
    it.check();

    // Now nothing is left of the aborted one: its marker waits as a tombstone does.
    it.now_ms = 20_000;
    it.clean();
    assert_eq!(controls(&it), [1, 4, 5, 8, 9]);
    let waits = it
        .headers()
        .iter()
        .find(|it| it.base_offset.get() == 4)
        .unwrap()
        .delete_horizon_ms();
    assert_eq!(waits, Some(20_100));
    assert_eq!(aborted(&it), []);
    it.check();
    it.now_ms = 20_099;
    it.clean();
    assert_eq!(controls(&it), [1, 4, 5, 8, 9]);
    it.now_ms = 20_100;
    it.clean();
    assert_eq!(
        controls(&it),
        [1, 5, 8, 9],
        "commits have their records still"
    );
    assert_eq!(it.records(), kept);
    it.check();
}

/// Covers LG-208: C053, what producers are known by stays.
#[test]
fn the_last_batch_of_a_producer_stays_as_a_header() {
    let mut it = Fixture::new(config());
    put(&mut it, 7, 0, "a", "1");
    put(&mut it, 7, 1, "a", "2");
    it.end(7, Outcome::Abort);
    it.put_of(producer(9, 5), false, &[(Some("b"), Some("1"))]);
    it.put(&[("a", "3"), ("b", "2")]);
    it.roll();
    for round in 1..6 {
        it.now_ms = round * 10_000;
        it.clean();
        let headers = it.headers();
        let empty = headers.iter().filter(|it| it.record_count == 0);
        let empty: Vec<_> = empty
            .map(|it| (it.base_offset.get(), it.last_sequence().get()))
            .collect();
        assert_eq!(empty, [(1, 1), (3, 5)], "round {round}");
        assert_eq!(it.records(), owned(&[(4, "a", "3"), (5, "b", "2")]));
    }
    // After a restart without a snapshot to go by they are known as before.
    for name in it.names() {
        if name.ends_with(".snapshot") {
            let path = path(&name);
            klamm_io::Disk::remove_file(&it.disk, &path).unwrap();
        }
    }
    it.reopen(false);
    assert_eq!(it.log.producer_count(), 2);
    it.put_of(producer(9, 6), false, &[(Some("b"), Some("3"))]);
}

#[test]
fn lg_209_an_open_transaction_bounds_what_is_cleaned() {
    let mut it = Fixture::new(config());
    it.put(&[("a", "1"), ("a", "2")]);
    it.roll();
    put(&mut it, 7, 0, "a", "3");
    it.put(&[("a", "4")]);
    it.roll();
    it.put(&[("a", "5")]);
    it.roll();
    assert_eq!(it.log.last_stable_offset(), Offset::new(2));
    assert_eq!(it.clean(), Offset::new(2));
    assert_eq!(it.records().len(), 4);
    it.end(7, Outcome::Commit);
    it.roll();
    assert_eq!(it.clean(), Offset::new(6));
    // The producer's last batch stays, as a header.
    assert_eq!(it.records(), owned(&[(4, "a", "5")]));
}

#[test]
fn lg_218_a_record_with_the_key_of_a_marker_is_a_record() {
    let mut it = Fixture::new(config());
    let key = ControlType::Abort.key();
    let key = std::str::from_utf8(&key).unwrap();
    it.put_of(producer(7, 0), true, &[(Some("a"), Some("1"))]);
    it.put_of(
        producer(7, 1),
        true,
        &[(Some(key), Some("1")), (Some(key), Some("2"))],
    );
    it.end(7, Outcome::Commit);
    it.put(&[("a", "2")]);
    it.roll();
    it.put(&[("z", "1")]);
    it.roll();
    it.clean();
    assert_eq!(
        it.records(),
        owned(&[(2, key, "2"), (4, "a", "2"), (5, "z", "1")])
    );
}

/// Covers LG-215, LG-164.
#[test]
fn the_transaction_index_of_a_cleaned_segment_is_what_recovery_makes_of_it() {
    let mut it = Fixture::new(config());
    for round in 0..4 {
        put(&mut it, 7, round, "a", "1");
        it.end(
            7,
            if round % 2 == 0 {
                Outcome::Abort
            } else {
                Outcome::Commit
            },
        );
    }
    it.roll();
    it.put(&[("z", "1")]);
    it.clean();
    it.check();
    assert!(
        it.names()
            .contains(&"00000000000000000000.txnindex".to_owned())
    );
    let reader = it.log.reader();
    let read = read(&reader, 0, Isolation::Committed);
    let aborted: Vec<_> = read
        .aborted
        .unwrap()
        .iter()
        .map(|it| it.last_offset.get())
        .collect();
    assert_eq!(aborted, [1, 5]);
}

/// Covers LG-213: records and the list of aborted transactions are of the same segments.
#[test]
fn who_reads_while_segments_are_swapped_sees_no_aborted_record() {
    use std::sync::atomic::{AtomicBool, Ordering};

    for _ in 0..40 {
        let mut it = Fixture::new(config());
        for round in 0..6 {
            put(&mut it, 7, round, "a", "aborted");
            it.put(&[("b", "1")]);
            it.roll();
            it.end(7, Outcome::Abort);
            it.roll();
        }
        let reader = it.log.reader();
        let is_done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let readers: Vec<_> = (0..2)
                .map(|_| {
                    let (reader, is_done) = (reader.clone(), &is_done);
                    scope.spawn(move || {
                        let mut rounds = 0;
                        while !is_done.load(Ordering::Relaxed) || rounds == 0 {
                            read_committed(&reader);
                            rounds += 1;
                        }
                    })
                })
                .collect();
            for pass in 1..4 {
                it.now_ms = pass * 10_000;
                it.clean();
            }
            is_done.store(true, Ordering::Relaxed);
            for reader in readers {
                reader.join().unwrap();
            }
        });
    }
}

/// Reads everything as a consumer of committed transactions does, who drops what the list of
/// aborted ones tells of.
fn read_committed(reader: &crate::LogReader<klamm_io::sim::SimDisk>) {
    let end = reader.offsets().last_stable.get();
    let mut next = 0;
    while next < end {
        let read = read(reader, next, Isolation::Committed);
        let aborted = read.aborted.unwrap();
        let range = read.range.unwrap();
        let bytes = range.read();
        for batch in klamm_records::RecordBatches::new(bytes.unwrap()) {
            let batch = batch.unwrap();
            let header = batch.header();
            let is_data = !header.attributes.is_control() && header.record_count > 0;
            if header.producer_id.get() == 7 && is_data {
                let is_told = aborted
                    .iter()
                    .any(|it| (it.first_offset..it.last_offset).contains(&header.base_offset));
                assert!(is_told, "offset {} of {aborted:?}", header.base_offset);
            }
            next = header.next_offset().get();
        }
    }
}
