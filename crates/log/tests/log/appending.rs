//! Appending, as a leader and as a follower.

use klamm_io::DiskOperation;
use klamm_io::sim::Fault;
use klamm_log::{AppendError, EpochStart, Isolation, LogConfig, ProducerStateError};
use klamm_records::{BatchError, Codecs, Outcome, RecordBatch, ValidBatch};

use crate::support::{
    Batch, Bed, NOW_MS, epoch, keep_directory, log_file, marker_at, offset, read_all, small,
};

#[test]
fn lg_039_a_leader_gives_offsets_from_the_log_end_on() {
    let mut bed = Bed::new(small());
    let first = bed.append(&Batch::of(3));
    assert_eq!(
        (first.first_offset, first.last_offset),
        (offset(0), offset(2))
    );
    // A coordinator's batch may say any offset.
    let own = Batch::of(2).at_offset(77).own();
    let second = bed.log.append_own(&[own], epoch(4), NOW_MS).unwrap();
    assert_eq!(
        (second.first_offset, second.last_offset),
        (offset(3), offset(4))
    );
    assert_eq!(second.log_end, bed.log.log_end());
    assert_eq!(bed.log.log_end_offset(), offset(5));

    let read = read_all(&bed.log.reader(), 0, Isolation::LogEnd);
    assert_eq!(read[1].header().base_offset, offset(3));
    assert_eq!(read[1].header().leader_epoch, epoch(4));
}

#[test]
fn lg_040_no_batches_are_no_append() {
    let mut bed = Bed::new(small());
    bed.fill(2);
    let files = bed.files();
    let appended = bed.log.append(&[], epoch(9), NOW_MS).unwrap();
    assert_eq!(appended.first_offset, offset(2));
    assert_eq!(appended.last_offset, offset(1));
    assert_eq!(bed.log.log_end_offset(), offset(2));
    assert_eq!(bed.log.latest_epoch(), Some(epoch(0)));
    assert_eq!(bed.files(), files);
}

#[test]
fn lg_041_a_wrong_checksum_comes_no_further_than_to_validation() {
    let mut bytes = Batch::of(1).build().into_bytes().to_vec();
    *bytes.last_mut().unwrap() ^= 1;
    let batch = RecordBatch::parse(bytes.into()).unwrap();
    let refused = ValidBatch::replicated(batch).unwrap_err();
    assert!(matches!(refused, BatchError::Crc { .. }));
}

/// Covers LG-042, LG-047.
#[test]
fn a_leader_refuses_large_batches_and_a_follower_takes_them() {
    let mut bed = Bed::new(LogConfig {
        batch_bytes_max: 200,
        ..small()
    });
    let large = Batch::of(1).sized(300);
    let refused = bed.log.append(&[large.produced()], epoch(0), NOW_MS);
    assert!(matches!(
        refused,
        Err(AppendError::BatchTooLarge {
            size: 300..,
            size_max: 200
        })
    ));
    assert_eq!(bed.log.size(), 0);
    bed.follow(&[large]);
    assert_eq!(bed.offsets_from(0), [0]);
}

#[test]
fn lg_043_a_set_larger_than_a_segment_is_refused() {
    let mut bed = Bed::new(small());
    let set = [
        Batch::of(1).sized(500),
        Batch::of(1).sized(500).at_offset(1),
    ];
    let set: Vec<_> = set.iter().map(Batch::replicated).collect();
    let size = set.iter().map(|it| it.size() as u64).sum();
    let refused = |result| match result {
        Err(AppendError::SetTooLarge {
            size: found,
            size_max: 1000,
        }) => assert_eq!(found, size),
        other => panic!("{other:?}"),
    };
    refused(bed.log.append_as_follower(&set, NOW_MS));
    let set: Vec<_> = [0, 1].map(|_| Batch::of(1).sized(500).produced()).into();
    refused(bed.log.append(&set, epoch(0), NOW_MS));
    assert_eq!((bed.log.size(), bed.log.log_end_offset()), (0, offset(0)));
}

#[test]
fn lg_045_a_followers_offsets_must_rise_and_may_have_gaps() {
    let mut bed = Bed::new(small());
    bed.follow(&[Batch::of(2).at_offset(5), Batch::of(1).at_offset(100)]);
    assert_eq!(bed.offsets_from(0), [5, 6, 100]);
    assert_eq!(bed.log.log_end_offset(), offset(101));
    for set in [
        vec![Batch::of(1).at_offset(100)],
        vec![Batch::of(1).at_offset(102), Batch::of(1).at_offset(102)],
        vec![Batch::of(3).at_offset(102), Batch::of(1).at_offset(104)],
    ] {
        let set: Vec<_> = set.iter().map(Batch::replicated).collect();
        let refused = bed.log.append_as_follower(&set, NOW_MS);
        assert!(matches!(refused, Err(AppendError::NotRising { .. })));
    }
    assert_eq!(bed.log.log_end_offset(), offset(101));
    assert_eq!(bed.offsets_from(0), [5, 6, 100]);
}

/// Covers LG-045, LG-058.
#[test]
fn batches_too_far_apart_for_a_segment_are_refused_together_and_taken_alone() {
    let mut bed = Bed::new(small());
    let far = i64::from(i32::MAX);
    let set = [Batch::of(1), Batch::of(1).at_offset(far + 1)];
    let both: Vec<_> = set.iter().map(Batch::replicated).collect();
    let refused = bed.log.append_as_follower(&both, NOW_MS);
    assert!(matches!(refused, Err(AppendError::TooFarApart { .. })));
    assert!(!bed.follow(&set[..1]).has_rolled);
    assert!(bed.follow(&set[1..]).has_rolled);
    assert_eq!(bed.segments(), [0, 1]);
    // So far that the segment cannot begin at the log end.
    let last = Batch::of(1).at_offset(3 * far);
    assert!(bed.follow(&[last]).has_rolled);
    assert_eq!(bed.segments(), [0, 1, 3 * far]);
    assert_eq!(bed.offsets_from(0), [0, far + 1, 3 * far]);
    let bed = bed.reopen();
    assert_eq!(bed.offsets_from(0), [0, far + 1, 3 * far]);
    assert_eq!(bed.log.log_end_offset(), offset(3 * far + 1));
}

#[test]
fn an_empty_segment_out_of_reach_is_replaced_with_its_snapshot() {
    let mut bed = Bed::new(small());
    bed.fill(2);
    bed.log.roll(offset(0), NOW_MS).unwrap();
    assert_eq!((bed.segments(), bed.snapshots()), (vec![0, 2], vec![2]));
    let far = 5 + i64::from(i32::MAX);
    bed.follow(&[Batch::of(1).at_offset(far)]);
    assert_eq!((bed.segments(), bed.snapshots()), (vec![0, far], vec![far]));
    assert_eq!(bed.offsets_from(0), [0, 1, far]);
}

/// Covers LG-046, LG-048.
#[test]
fn a_follower_takes_several_producers_and_leader_epochs_at_once() {
    let mut bed = Bed::new(small());
    bed.follow(&[
        Batch::of(2).in_epoch(1).by(1, 0, 17),
        Batch::of(1).in_epoch(2).by(2, 5, 3).at_offset(2),
        Batch::of(1).in_epoch(2).by(1, 0, 99).at_offset(3),
    ]);
    assert_eq!(bed.offsets_from(0), [0, 1, 2, 3]);
    assert_eq!(bed.log.producer_count(), 2);
    let starts = [(1, 0), (2, 2)].map(|(of, start)| EpochStart {
        epoch: epoch(of),
        start_offset: offset(start),
    });
    assert_eq!(bed.log.epochs(), starts);
    assert_eq!(bed.content("leader-epoch-checkpoint"), b"0\n2\n1 0\n2 2\n");
    // The next sequence is known.
    bed.append(&Batch::of(1).by(1, 0, 100));
}

#[test]
fn lg_050_null_keys_and_values_stay_null() {
    use klamm_records::{BatchOptions, RecordBatchBuilder, ValidationRules, validate};
    let mut codecs = Codecs::default();
    let mut builder = RecordBatchBuilder::new(BatchOptions::default(), Vec::new());
    let records = [
        (None, None),
        (Some(&b""[..]), Some(&b""[..])),
        (Some(&b"k"[..]), None),
        (None, Some(&b"v"[..])),
    ];
    for (key, value) in records {
        builder.append(NOW_MS, key, value, &[]).unwrap();
    }
    builder.close(&mut codecs).unwrap();
    let bytes = builder.into_bytes().unwrap();
    let batch = validate(bytes, &ValidationRules::default(), NOW_MS, &mut codecs).unwrap();
    let mut bed = Bed::new(small());
    bed.log.append(&[batch], epoch(0), NOW_MS).unwrap();

    let read = read_all(&bed.log.reader(), 0, Isolation::LogEnd);
    let mut reader = read[0].read(&mut codecs).unwrap();
    for (key, value) in records {
        let record = reader.next().unwrap().unwrap();
        assert_eq!((record.key, record.value), (key, value));
    }
}

#[test]
fn lg_051_an_append_reports_what_it_did() {
    let mut bed = Bed::new(small());
    bed.fill(12);
    bed.log.set_high_watermark(offset(12));
    bed.log.raise_log_start(offset(2)).unwrap();
    let appended = bed.append(&Batch::at(&[NOW_MS - 5, NOW_MS + 7, NOW_MS]).sized(100));
    assert_eq!(appended.first_offset, offset(12));
    assert_eq!(appended.last_offset, offset(14));
    assert_eq!(appended.max_timestamp_ms, NOW_MS + 7);
    assert_eq!(appended.log_start_offset, offset(2));
    assert!(appended.has_rolled);
    assert!(!appended.is_duplicate);
    assert!(!appended.flush_is_due);
    assert_eq!(appended.log_end.segment_base, offset(12));

    let late = Batch::at(&[5]).with_log_append_time().produced();
    let appended = bed.log.append(&[late], epoch(0), NOW_MS + 90).unwrap();
    assert_eq!(appended.max_timestamp_ms, NOW_MS + 90);
}

/// Covers LG-052, C055.
#[test]
fn duplicates_are_told_as_their_first_append() {
    let mut bed = Bed::new(small());
    let batches = [0, 2, 4, 6, 8].map(|sequence| Batch::of(2).by(7, 0, sequence));
    let first: Vec<_> = batches.iter().map(|batch| bed.append(batch)).collect();
    let (log, index) = (bed.content(&log_file(0)), bed.log.log_end());
    for (batch, first) in batches.iter().zip(&first) {
        let again = bed.append(batch);
        assert!(again.is_duplicate && !first.is_duplicate);
        assert_eq!(again.first_offset, first.first_offset);
        assert_eq!(again.last_offset, first.last_offset);
        assert_eq!(again.log_end, bed.log.log_end());
    }
    assert_eq!(bed.content(&log_file(0)), log);
    assert_eq!(bed.log.log_end(), index);

    // All of them may have lost their answers to a stop.
    let mut bed = bed.reopen();
    for (batch, first) in batches.iter().zip(&first) {
        let again = bed.append(batch);
        assert!(again.is_duplicate);
        assert_eq!(again.first_offset, first.first_offset);
    }
    assert_eq!(bed.log.log_end(), index);
}

/// Covers LG-137, LG-133.
#[test]
fn a_set_of_which_one_batch_fails_changes_nothing() {
    let mut bed = Bed::new(small());
    bed.append(&Batch::of(1).by(1, 0, 0));
    let sets = [
        // A gap behind a good one.
        [Batch::of(1).by(1, 0, 1), Batch::of(1).by(1, 0, 3)],
        // One that was sent before: half of the set cannot be answered for.
        [Batch::of(1).by(1, 0, 1), Batch::of(1).by(1, 0, 0)],
    ];
    for set in sets {
        let set: Vec<_> = set.iter().map(Batch::produced).collect();
        let refused = bed.log.append(&set, epoch(3), NOW_MS).unwrap_err();
        assert!(matches!(
            refused,
            AppendError::Producer(ProducerStateError::OutOfOrderSequence { .. })
        ));
        assert_eq!(bed.log.log_end_offset(), offset(1));
        assert_eq!(bed.log.latest_epoch(), Some(epoch(0)));
    }
    bed.append(&Batch::of(1).by(1, 0, 1));
}

#[test]
fn lg_136_the_brokers_own_appends_are_not_judged_by_sequence() {
    let mut bed = Bed::new(small());
    for sequence in [0, 0, 9, 3] {
        let batch = Batch::of(1).by(3, 1, sequence).own();
        bed.log.append_own(&[batch], epoch(0), NOW_MS).unwrap();
    }
    assert_eq!(bed.log.log_end_offset(), offset(4));
}

#[test]
fn lg_053_records_without_a_time_do_not_move_the_largest_timestamp() {
    let mut bed = Bed::new(small());
    bed.append(&Batch::at(&[50]));
    bed.append(&Batch::at(&[-1, -1]));
    bed.append(&Batch::at(&[-1]).sized(200));
    bed.log.roll(offset(0), NOW_MS).unwrap();
    assert_eq!(bed.time_index(0), [(50, 0)]);
    assert_eq!(bed.offsets_from(0), [0, 1, 2, 3]);
}

#[test]
fn lg_054_the_append_that_makes_enough_unsynced_records_asks_for_a_sync() {
    let mut bed = Bed::new(LogConfig {
        flush_records: Some(5),
        ..small()
    });
    assert!(!bed.append(&Batch::of(4)).flush_is_due);
    assert!(bed.append(&Batch::of(1)).flush_is_due);
    bed.log.flush().unwrap();
    assert!(!bed.append(&Batch::of(4)).flush_is_due);
    assert!(bed.append(&Batch::of(3)).flush_is_due);
}

/// Covers LG-056.
#[test]
fn a_flush_from_before_a_cut_says_nothing_of_what_follows() {
    let mut bed = Bed::new(small());
    bed.fill(10);
    let flush = bed.log.begin_flush().unwrap().unwrap();
    flush.run().unwrap();
    bed.log.truncate_to(offset(5), 0).unwrap();
    bed.fill(5);
    bed.log.flushed(&flush);
    assert!(bed.log.recovery_point() <= offset(5));
}

/// Covers LG-055, LG-056.
#[test]
fn a_flush_makes_durable_what_was_there_when_it_was_taken_out() {
    use klamm_io::sim::{Crash, SimDisk};
    use klamm_io::{Disk, DiskOperation};
    let disk = SimDisk::new(1);
    disk.create_dir_all("/data/topic-0".as_ref()).unwrap();
    keep_directory(&disk);
    let mut bed = Bed::on(disk, small());
    bed.fill(30);
    assert_eq!(bed.log.unflushed_records(), 30);
    let flush = bed.log.begin_flush().unwrap().unwrap();
    bed.fill(5);
    assert_eq!(bed.log.recovery_point(), offset(0));
    flush.run().unwrap();
    bed.log.flushed(&flush);
    assert_eq!(bed.log.recovery_point(), offset(30));
    let later = bed.log.begin_flush().unwrap().unwrap();
    later.run().unwrap();
    bed.log.flushed(&later);
    assert_eq!(bed.log.recovery_point(), offset(35));
    bed.log.flushed(&flush);
    assert_eq!(bed.log.recovery_point(), offset(35), "never back");

    let after = bed.disk.crash(Crash::PowerLossLosingAll);
    let names = after.list("/data/topic-0".as_ref()).unwrap();
    assert_eq!(names.len(), bed.files().len());
    for base in [0, 13, 26] {
        let (cached, durable) = (bed.content(&log_file(base)), {
            crate::support::content(&after, &log_file(base))
        });
        let synced = if base == 26 {
            4 * cached.len() / 9
        } else {
            cached.len()
        };
        assert_eq!(durable[..synced], cached[..synced], "{base}");
    }

    // Everything is durable: nothing is left to do.
    bed.log.flush().unwrap();
    let syncs = bed.disk.calls(DiskOperation::Sync);
    bed.log.flush().unwrap();
    assert!(bed.log.begin_flush().unwrap().is_none());
    assert_eq!(bed.disk.calls(DiskOperation::Sync), syncs);
}

#[test]
fn lg_055_a_flush_of_a_deleted_directory_is_no_error() {
    use klamm_io::Disk;
    let mut bed = Bed::new(small());
    bed.fill(30);
    let flush = bed.log.begin_flush().unwrap().unwrap();
    for name in bed.files() {
        bed.disk.remove_file(&Bed::path(&name)).unwrap();
    }
    bed.disk.remove_dir("/data/topic-0".as_ref()).unwrap();
    flush.run().unwrap();
}

/// Covers LG-134, LG-160, LG-161.
#[test]
fn old_producer_and_coordinator_epochs_are_refused_by_a_leader_alone() {
    let mut bed = Bed::new(small());
    bed.append(&Batch::of(1).by(1, 5, 0).transactional());
    bed.append_marker((1, 6), Outcome::Abort);
    let old = Batch::of(1).by(1, 5, 1).produced();
    let refused = bed.log.append(&[old], epoch(0), NOW_MS);
    assert!(matches!(
        refused,
        Err(AppendError::Producer(
            ProducerStateError::InvalidProducerEpoch { .. }
        ))
    ));
    // The new epoch begins with sequence 0.
    bed.append(&Batch::of(1).by(1, 6, 0));

    let newer = marker_at(3, (1, 6), 9, Outcome::Commit);
    let older = marker_at(4, (1, 6), 8, Outcome::Commit);
    let both = [newer, older].map(|it| ValidBatch::replicated(it).unwrap());
    bed.log.append_as_follower(&both, NOW_MS).unwrap();
    assert_eq!(bed.log.log_end_offset(), offset(5));
}

/// Covers LG-174, LG-175, B4.4.
#[test]
fn a_leaders_epoch_is_on_disk_before_its_first_record() {
    let mut bed = Bed::new(small());
    bed.append_in(1, &Batch::of(2));
    // Epochs without records are not worth a write.
    bed.log.begin_epoch(epoch(3)).unwrap();
    bed.log.begin_epoch(epoch(4)).unwrap();
    assert_eq!(bed.log.latest_epoch(), Some(epoch(4)));
    assert_eq!(bed.content("leader-epoch-checkpoint"), b"0\n1\n1 0\n");
    let writes_records = |path: &std::path::Path| path.extension().is_some_and(|it| it == "log");
    let refused = Fault::on(DiskOperation::Write).where_path(writes_records);
    bed.disk.inject(refused);
    let batch = Batch::of(1).produced();
    assert!(bed.log.append(&[batch], epoch(4), NOW_MS).is_err());
    assert_eq!(bed.content("leader-epoch-checkpoint"), b"0\n2\n1 0\n4 2\n");
    bed.append_in(4, &Batch::of(1));
    bed.append_in(6, &Batch::of(1));
    assert_eq!(
        bed.content("leader-epoch-checkpoint"),
        b"0\n3\n1 0\n4 2\n6 3\n"
    );
    let end = |of| {
        bed.log
            .end_of_epoch(epoch(of))
            .map(|it| (it.epoch, it.end_offset))
    };
    assert_eq!(end(1), Some((epoch(1), offset(2))));
    assert_eq!(end(5), Some((epoch(4), offset(3))));
    assert_eq!(end(6), Some((epoch(6), offset(4))));
    assert_eq!(end(7), None);
}

/// Covers LG-177.
#[test]
fn a_follower_finds_where_it_diverged_by_asking_again() {
    // Epochs 1, 2 and 4 here; 1, 3 and 4 there: they part behind epoch 1.
    let mut follower = Bed::new(small());
    let mut leader = Bed::new(small());
    for (bed, epochs) in [(&mut follower, [1, 2, 2, 4]), (&mut leader, [1, 1, 3, 5])] {
        for leader_epoch in epochs {
            bed.append_in(leader_epoch, &Batch::of(1));
        }
    }
    let mut asked = follower.log.latest_epoch().unwrap();
    let mut rounds = 0;
    let cut_to = loop {
        rounds += 1;
        let theirs = leader.log.end_of_epoch(asked).unwrap();
        let ours = follower.log.end_of_epoch(theirs.epoch).unwrap();
        if ours.epoch == theirs.epoch {
            break ours.end_offset.min(theirs.end_offset);
        }
        asked = ours.epoch;
    };
    assert_eq!((cut_to, rounds), (offset(1), 2));
    follower.log.truncate_to(cut_to, NOW_MS).unwrap();
    let missing = read_all(&leader.log.reader(), 1, Isolation::LogEnd);
    let missing: Vec<_> = missing
        .into_iter()
        .map(|it| ValidBatch::replicated(it).unwrap())
        .collect();
    follower.log.append_as_follower(&missing, NOW_MS).unwrap();
    assert_eq!(follower.content(&log_file(0)), leader.content(&log_file(0)));
    assert_eq!(follower.log.epochs(), leader.log.epochs());
}

/// Covers LG-014, LG-015, LG-016, LG-018, LG-031, LG-032.
#[test]
fn index_entries_come_after_so_many_bytes_and_lead_near_every_offset() {
    let mut bed = Bed::new(LogConfig {
        segment_bytes: 1 << 20,
        index_interval_bytes: 150,
        ..small()
    });
    // The time goes back and forth.
    let sizes: Vec<_> = (0..100i64)
        .map(|i| {
            let batch = Batch::at(&[NOW_MS + 7 * (i % 13), NOW_MS + i]);
            let before = bed.log.size();
            bed.append(&batch);
            u32::try_from(bed.log.size() - before).unwrap()
        })
        .collect();
    bed.log.roll(offset(0), NOW_MS).unwrap();
    let (mut offsets, mut times) = (Vec::new(), Vec::new());
    let (mut position, mut since, mut largest) = (0, 0, (-1, 0));
    for (i, size) in (0..).zip(sizes) {
        let timestamp = NOW_MS + i64::from((7 * (i % 13)).max(i));
        if timestamp > largest.0 {
            largest = (timestamp, 2 * i + 1);
        }
        if since > 150 {
            offsets.push((2 * i + 1, position));
            if times
                .last()
                .is_none_or(|last: &(i64, u32)| last.0 < largest.0)
            {
                times.push(largest);
            }
            since = 0;
        }
        since += size;
        position += size;
    }
    if *times.last().unwrap() != largest {
        times.push(largest);
    }
    assert_eq!(bed.offset_index(0), offsets);
    assert_eq!(bed.time_index(0), times);
    for from in 0..200 {
        assert_eq!(
            bed.offsets_from(from).len(),
            usize::try_from(200 - from / 2 * 2).unwrap()
        );
    }
}
