//! Producers and transactions across appends, restarts and reads.

use std::time::Duration;

use klamm_io::DiskOperation;
use klamm_io::sim::{Crash, Fault};
use klamm_log::{AbortedTransaction, AppendError, Isolation, LogConfig, OpenOptions, ReadLimit};
use klamm_primitives::ProducerId;
use klamm_records::{Outcome, ValidBatch};

use crate::support::{Batch, Bed, NOW_MS, WHOLE, batches, epoch, marker_at, offset, open, small};

fn aborted(producer: i64, first: i64, last: i64, stable: i64) -> AbortedTransaction {
    AbortedTransaction {
        producer_id: ProducerId::new(producer),
        first_offset: offset(first),
        last_offset: offset(last),
        last_stable_offset: offset(stable),
    }
}

fn aborted_from(bed: &Bed, from: i64, bytes_max: u32) -> Vec<AbortedTransaction> {
    let limit = ReadLimit { bytes_max, ..WHOLE };
    let read = bed
        .log
        .reader()
        .read(offset(from), limit, Isolation::Committed);
    read.unwrap().aborted.unwrap()
}

/// Covers LG-152, LG-153, LG-154, LG-156, LG-159.
#[test]
fn interleaved_transactions_are_told_apart() {
    let mut bed = Bed::new(small());
    bed.append(&Batch::of(1).by(1, 0, 0).transactional());
    bed.append(&Batch::of(1).by(2, 0, 0).transactional());
    bed.append(&Batch::of(1).by(1, 0, 1).transactional());
    bed.commit_all();
    assert_eq!(bed.log.last_stable_offset(), offset(0));
    assert!(aborted_from(&bed, 0, u32::MAX).is_empty());
    bed.append_marker((1, 0), Outcome::Abort);
    // Not decided for readers before the high watermark has passed the marker.
    assert_eq!(bed.log.last_stable_offset(), offset(0));
    bed.commit_all();
    assert_eq!(bed.log.last_stable_offset(), offset(1));
    assert_eq!(aborted_from(&bed, 0, u32::MAX), [aborted(1, 0, 3, 1)]);
    bed.append_marker((2, 0), Outcome::Commit);
    bed.commit_all();
    assert_eq!(bed.log.last_stable_offset(), offset(5));
    assert_eq!(aborted_from(&bed, 4, u32::MAX), []);
    assert_eq!(aborted_from(&bed, 3, u32::MAX), [aborted(1, 0, 3, 1)]);
    let index = bed.content("00000000000000000000.txnindex");
    assert_eq!(index.len(), 34);
    // A marker without a transaction before it moves nothing.
    bed.append_marker((2, 0), Outcome::Abort);
    bed.append_marker((9, 0), Outcome::Abort);
    bed.commit_all();
    assert_eq!(bed.log.last_stable_offset(), offset(7));
    assert_eq!(bed.content("00000000000000000000.txnindex"), index);
}

/// Covers LG-156, C055.
#[test]
fn every_read_lists_the_aborted_transactions_that_it_needs() {
    let mut bed = Bed::new(small());
    let mut expected = Vec::new();
    let mut sequences = [0; 4];
    let mut first = [None; 4];
    for step in 0..120usize {
        let producer = step * 7 % 11 % 4;
        let id = i64::try_from(producer).unwrap();
        if step % 3 == 2 {
            let outcome = if step % 2 == 0 {
                Outcome::Abort
            } else {
                Outcome::Commit
            };
            let at = bed.append_marker((id, 0), outcome).first_offset;
            if let Some(from) = first[producer].take()
                && outcome == Outcome::Abort
            {
                expected.push((id, from, at));
            }
        } else {
            let batch = Batch::of(1 + step % 2).by(id, 0, sequences[producer]);
            sequences[producer] += 1 + i32::try_from(step % 2).unwrap();
            let at = bed.append(&batch.transactional()).first_offset;
            first[producer].get_or_insert(at);
        }
    }
    // The rest is ended so that all of it is stable.
    for id in 0..4 {
        bed.append_marker((id, 0), Outcome::Commit);
    }
    bed.commit_all();
    assert!(bed.segments().len() > 5 && expected.len() > 8);
    let check = |bed: &Bed| {
        let end = bed.log.log_end_offset().get();
        for from in 0..end {
            for bytes in [1, 300, 700, u32::MAX] {
                let limit = ReadLimit {
                    bytes_max: bytes,
                    ..WHOLE
                };
                let read = bed
                    .log
                    .reader()
                    .read(offset(from), limit, Isolation::Committed)
                    .unwrap();
                let range = read.range.as_ref().unwrap();
                // The last batch may be cut.
                let bytes = klamm_records::RecordBatches::new(range.read().unwrap());
                let to = bytes
                    .map_while(Result::ok)
                    .last()
                    .unwrap()
                    .header()
                    .next_offset();
                let listed = read.aborted.unwrap();
                let needed = expected
                    .iter()
                    .filter(|(_, first, last)| *last >= offset(from) && *first < to);
                for (id, first, last) in needed {
                    assert!(
                        listed.iter().any(|it| (
                            it.producer_id.get(),
                            it.first_offset,
                            it.last_offset
                        ) == (*id, *first, *last)),
                        "reading {from}, {first} to {last} is missing"
                    );
                }
                assert!(listed.iter().all(|it| it.last_offset >= offset(from)));
            }
        }
    };
    check(&bed);
    let bed = bed.reopen();
    check(&bed);
    let indexes = |bed: &Bed| -> Vec<_> {
        let names = bed
            .files()
            .into_iter()
            .filter(|it| it.ends_with(".txnindex"));
        names.map(|name| (bed.content(&name), name)).collect()
    };
    let before = indexes(&bed);
    let (bed, _) = bed.kill();
    check(&bed);
    assert_eq!(indexes(&bed), before);
}

/// Covers LG-164.
#[test]
fn a_followers_set_leaves_the_entries_that_single_batches_do() {
    let data = |id, sequence, at| {
        Batch::of(1)
            .by(id, 0, sequence)
            .transactional()
            .at_offset(at)
    };
    let set: Vec<_> = [
        data(1, 0, 0).replicated(),
        data(2, 0, 1).replicated(),
        ValidBatch::replicated(marker_at(2, (1, 0), 0, Outcome::Abort)).unwrap(),
        data(1, 1, 3).replicated(),
        ValidBatch::replicated(marker_at(4, (2, 0), 0, Outcome::Abort)).unwrap(),
        data(2, 1, 5).replicated(),
        ValidBatch::replicated(marker_at(6, (1, 0), 0, Outcome::Abort)).unwrap(),
    ]
    .into();
    let config = LogConfig {
        segment_bytes: 5000,
        ..small()
    };
    let mut together = Bed::new(config.clone());
    together.log.append_as_follower(&set, NOW_MS).unwrap();
    let mut apart = Bed::new(config);
    for batch in set {
        apart.log.append_as_follower(&[batch], NOW_MS).unwrap();
    }
    let index = "00000000000000000000.txnindex";
    assert_eq!(together.content(index), apart.content(index));
    together.commit_all();
    assert_eq!(together.log.last_stable_offset(), offset(5));
    assert_eq!(
        aborted_from(&together, 0, u32::MAX),
        [
            aborted(1, 0, 2, 1),
            aborted(2, 1, 4, 3),
            aborted(1, 3, 6, 5)
        ]
    );
    let before = together.content(index);
    assert_eq!(together.kill().0.content(index), before);
}

/// Covers LG-150, LG-162.
#[test]
fn producers_and_open_transactions_survive_a_stop_and_a_kill() {
    let mut bed = Bed::new(small());
    for sequence in 0..20 {
        bed.append(&Batch::of(1).by(1, 3, sequence));
    }
    bed.append(&Batch::of(1).by(2, 0, 0).transactional());
    bed.fill(20);
    bed.commit_all();
    assert_eq!(bed.log.last_stable_offset(), offset(20));
    let check = |bed: &mut Bed, sequence| {
        assert_eq!(bed.log.last_stable_offset(), offset(20));
        assert_eq!(bed.log.producer_count(), 2);
        let gap = Batch::of(1).by(1, 3, sequence + 1).produced();
        assert!(bed.log.append(&[gap], epoch(0), NOW_MS).is_err());
        let again = bed.append(&Batch::of(1).by(1, 3, sequence - 1));
        assert!(again.is_duplicate);
        bed.append(&Batch::of(1).by(1, 3, sequence));
        bed.commit_all();
    };
    let mut bed = bed.reopen();
    check(&mut bed, 20);
    let (mut bed, _) = bed.kill();
    check(&mut bed, 21);
    let mut bed = bed.reopen().kill().0.reopen();
    check(&mut bed, 22);
    bed.append_marker((2, 0), Outcome::Abort);
    bed.commit_all();
    assert_eq!(bed.log.last_stable_offset(), bed.log.log_end_offset());
}

/// Covers LG-142: damaged snapshots are passed over and the records read instead.
#[test]
fn a_damaged_snapshot_costs_time_alone() {
    let mut bed = Bed::new(small());
    for sequence in 0..40 {
        bed.append(&Batch::of(1).by(1, 0, sequence));
    }
    bed.log.close().unwrap();
    assert!(bed.snapshots().len() > 3);
    for count in 1..=bed.snapshots().len() {
        for damage in [&b""[..], b"rubbish", &[0; 56]] {
            for was_clean in [true, false] {
                let disk = bed.disk.crash(Crash::Kill);
                let torn = Bed {
                    log: open(
                        &klamm_io::sim::SimDisk::new(0),
                        small(),
                        &OpenOptions::new(true, 0),
                    )
                    .unwrap()
                    .0,
                    disk,
                };
                for at in torn.snapshots().into_iter().rev().take(count) {
                    torn.overwrite(&format!("{at:020}.snapshot"), damage);
                }
                let options = OpenOptions {
                    recovery_point: offset(40),
                    ..OpenOptions::new(was_clean, NOW_MS)
                };
                let (log, _) = open(&torn.disk, small(), &options).unwrap();
                let mut torn = Bed { log, ..torn };
                assert!(torn.append(&Batch::of(1).by(1, 0, 39)).is_duplicate);
                torn.append(&Batch::of(1).by(1, 0, 40));
            }
        }
    }
}

/// Covers LG-139, LG-140.
#[test]
fn an_idle_producer_is_forgotten_unless_its_transaction_is_open() {
    let mut bed = Bed::new(LogConfig {
        producer_id_expiration: Duration::from_secs(1),
        ..small()
    });
    bed.append(&Batch::of(1).by(1, 0, 0));
    bed.append(&Batch::of(1).by(2, 0, 0).transactional());
    assert_eq!(bed.log.expire_producers(NOW_MS + 999), 0);
    assert_eq!(bed.log.expire_producers(NOW_MS + 1000), 1);
    assert_eq!(bed.log.producer_count(), 1);
    // Any sequence will do from an unknown one.
    bed.append(&Batch::of(1).by(1, 0, 77));
}

/// Covers LG-049, LG-163.
#[test]
fn without_its_transaction_index_the_log_end_moves_and_the_stable_offset_does_not() {
    let mut bed = Bed::new(small());
    bed.append(&Batch::of(1).by(1, 0, 0).transactional());
    bed.commit_all();
    bed.disk.inject(
        Fault::on(DiskOperation::Write)
            .where_path(|path| path.extension().is_some_and(|it| it == "txnindex")),
    );
    let marker = crate::support::marker((1, 0), Outcome::Abort);
    let failed = bed.log.append_own(&[marker], epoch(0), NOW_MS);
    assert!(matches!(failed, Err(AppendError::Failed(_))));
    assert!(bed.log.is_failed());
    assert_eq!(bed.log.log_end_offset(), offset(2));
    assert_eq!(bed.log.last_stable_offset(), offset(0));
    let (mut bed, _) = bed.kill();
    bed.commit_all();
    assert_eq!(bed.log.last_stable_offset(), offset(2));
    assert_eq!(aborted_from(&bed, 0, u32::MAX), [aborted(1, 0, 1, 2)]);
}

/// Covers LG-166.
#[test]
fn a_control_batch_without_records_changes_nothing() {
    let mut bed = Bed::new(small());
    bed.append(&Batch::of(1).by(1, 0, 0).transactional());
    let emptied = emptied_control(1);
    let batch = ValidBatch::replicated(emptied).unwrap();
    bed.log.append_as_follower(&[batch], NOW_MS).unwrap();
    bed.commit_all();
    assert_eq!(bed.log.log_end_offset(), offset(2));
    assert_eq!(bed.log.last_stable_offset(), offset(0));
    let (bed, opening) = bed.kill();
    assert_eq!(
        (opening.cut, bed.log.last_stable_offset()),
        (None, offset(0))
    );
}

/// A marker's batch of which compaction has left the header.
fn emptied_control(at: i64) -> klamm_records::RecordBatch {
    let whole = marker_at(at, (1, 0), 0, Outcome::Commit).into_bytes();
    let mut bytes = whole[..61].to_vec();
    bytes[8..12].copy_from_slice(&49i32.to_be_bytes());
    bytes[57..61].copy_from_slice(&0i32.to_be_bytes());
    let crc = klamm_records::crc32c(&bytes[21..]);
    bytes[17..21].copy_from_slice(&crc.to_be_bytes());
    klamm_records::RecordBatch::parse(bytes.into()).unwrap()
}

#[test]
fn a_read_of_committed_records_ends_at_the_first_open_transaction() {
    let mut bed = Bed::new(small());
    bed.fill(20);
    bed.append(&Batch::of(1).by(1, 0, 0).transactional());
    bed.fill(20);
    bed.commit_all();
    let mut seen = 0;
    while let Some(last) = {
        let read = bed
            .log
            .reader()
            .read(offset(seen), WHOLE, Isolation::Committed)
            .unwrap();
        batches(&read)
            .last()
            .map(|it| it.header().next_offset().get())
    } {
        seen = last;
    }
    assert_eq!(seen, 20);
}
