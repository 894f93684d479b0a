//! Recovery after an unclean stop: what is read through, what is cut, what is trusted.

use klamm_io::sim::{Crash, Fault, SimDisk};
use klamm_io::{Disk, DiskErrorKind, DiskFile, DiskOperation, OpenMode};
use klamm_log::{
    BatchFault, Isolation, LogConfig, OpenError, OpenOptions, ScanError, SegmentError, TimeTarget,
};
use klamm_records::{Codecs, Outcome};
use proptest::prelude::*;

use crate::support::{
    Batch, Bed, NOW_MS, WHOLE, all, batches, keep_directory, log_file, offset, open, open_clean,
    read_offsets, small, unclean,
};

/// Covers LG-115, LG-092.
#[test]
fn segments_before_the_recovery_point_are_trusted() {
    let mut bed = Bed::new(small());
    bed.fill(60);
    assert_eq!(bed.segments(), [0, 13, 26, 39, 52]);
    for (point, recovered) in [(0, 5), (5, 5), (13, 5), (14, 4), (39, 3), (40, 2), (60, 1)] {
        let disk = bed.disk.crash(Crash::Kill);
        let (log, opening) = open(&disk, small(), &unclean(point)).unwrap();
        assert_eq!(opening.segments_recovered, recovered, "from {point}");
        assert_eq!((opening.cut, opening.segments_removed.len()), (None, 0));
        assert_eq!(log.log_end_offset(), offset(60));
        assert_eq!(log.recovery_point(), offset(point));
        assert_eq!(read_offsets(&log.reader(), 0), all(0..60));
    }
}

/// Covers LG-116, LG-119.
#[test]
fn damaged_and_missing_indexes_are_made_anew() {
    let mut bed = Bed::new(small());
    for i in 0..40 {
        bed.append(&Batch::at(&[NOW_MS + 3 * i, NOW_MS + 10 * i]));
    }
    bed.log.close().unwrap();
    let names: Vec<_> = bed.files();
    let index_of = |extension| move |name: &&String| name.ends_with(extension);
    let whole: Vec<_> = names.iter().map(|name| bed.content(name)).collect();
    for damage in 0..5 {
        for extension in [".index", ".timeindex"] {
            for was_clean in [true, false] {
                let disk = bed.disk.crash(Crash::Kill);
                for name in names.iter().filter(index_of(extension)) {
                    let path = Bed::path(name);
                    if damage == 0 {
                        disk.remove_file(&path).unwrap();
                        continue;
                    }
                    let file = disk.open(&path, OpenMode::ReadWrite).unwrap();
                    let len = file.metadata().unwrap().len;
                    match damage {
                        1 => file.set_len(0).unwrap(),
                        2 => file.set_len(len / 2 + 1).unwrap(),
                        // Garbage, and as if the process had been killed.
                        3 => file.write_all_at(&[0xab; 500], 0).unwrap(),
                        _ => file.set_len(len + 240).unwrap(),
                    }
                }
                let options = OpenOptions::new(was_clean, NOW_MS);
                let (log, opening) = open(&disk, small(), &options).unwrap();
                assert_eq!(opening.cut, None);
                let reader = log.reader();
                for from in 0..80 {
                    let read = reader.read(offset(from), WHOLE, Isolation::LogEnd).unwrap();
                    assert_eq!(batches(&read)[0].header().base_offset, offset(from / 2 * 2));
                }
                for i in 0..40 {
                    let target = TimeTarget::AtOrAfter(NOW_MS + 10 * i);
                    let found = reader.offset_for_timestamp(target, &mut Codecs::default());
                    let expected = (0..80).find(|record| {
                        let step = if record % 2 == 0 { 3 } else { 10 };
                        step * (record / 2) >= 10 * i
                    });
                    assert_eq!(found.unwrap().unwrap().offset, offset(expected.unwrap()));
                }
                if !was_clean {
                    // Recovery leaves what the log itself has written.
                    let mut bed = Bed { disk, log };
                    bed.log.close().unwrap();
                    for (name, whole) in names.iter().zip(&whole) {
                        assert_eq!(bed.content(name), *whole, "{name}");
                    }
                }
            }
        }
    }
}

/// Covers LG-030.
#[test]
fn zeros_behind_the_entries_of_an_index_are_no_entries_after_a_kill() {
    let mut bed = Bed::new(LogConfig {
        index_interval_bytes: 1,
        segment_bytes: 1 << 20,
        index_bytes: 8 << 10,
        ..small()
    });
    // More than wait in memory, so that the file is there at its full size.
    bed.fill(800);
    let full = bed.content("00000000000000000000.index");
    assert_eq!(full.len(), 8 << 10);
    assert!(full.ends_with(&[0; 1000]), "most of it was never written");
    let (bed, opening) = bed.kill();
    assert_eq!((opening.segments_recovered, &opening.cut), (1, &None));
    let entries = bed.offset_index(0);
    assert!(entries.is_sorted_by(|a, b| a < b), "{entries:?}");
    for from in (0..800).step_by(13) {
        assert_eq!(bed.offsets_from(from), all(from..800));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn lg_117_whatever_stands_behind_a_good_log_is_cut_off(
        garbage in prop::collection::vec(any::<u8>(), 1..1024),
        was_clean in any::<bool>(),
    ) {
        let mut bed = Bed::new(small());
        bed.fill(30);
        bed.log.close().unwrap();
        let good = bed.content(&log_file(26));
        bed.overwrite(&log_file(26), &[&good[..], &garbage].concat());
        let (log, opening) = open(&bed.disk, small(), &OpenOptions {
            recovery_point: offset(30),
            ..OpenOptions::new(was_clean, NOW_MS)
        }).unwrap();
        let cut = opening.cut.unwrap();
        prop_assert_eq!(cut.position as usize, good.len());
        prop_assert_eq!(cut.bytes as usize, garbage.len());
        prop_assert_eq!(cut.path, Bed::path(&log_file(26)));
        prop_assert_eq!(bed.content(&log_file(26)), good);
        prop_assert_eq!(read_offsets(&log.reader(), 0), all(0..30));
    }
}

/// Covers LG-118, C089, B4.3.
#[test]
fn a_torn_last_batch_goes_wherever_it_is_torn() {
    let mut bed = Bed::new(small());
    bed.append(&Batch::of(2));
    let good = bed.content(&log_file(0)).len();
    bed.append(&Batch::of(3));
    let whole = bed.content(&log_file(0));
    let check = |bytes: &[u8]| {
        let disk = bed.disk.crash(Crash::Kill);
        let bed = Bed {
            disk,
            log: open_clean(&SimDisk::new(0), small()).unwrap().0,
        };
        bed.overwrite(&log_file(0), bytes);
        let (log, opening) = open(&bed.disk, small(), &unclean(0)).unwrap();
        let cut = opening.cut.map_or(0, |cut| cut.bytes as usize);
        assert_eq!(cut, bytes.len() - good);
        let mut bed = Bed { log, ..bed };
        assert_eq!(bed.offsets_from(0), [0, 1]);
        assert_eq!(bed.append(&Batch::of(1)).first_offset, offset(2));
        assert_eq!(bed.offsets_from(0), [0, 1, 2]);
        let (bed, opening) = bed.kill();
        assert_eq!((opening.cut, bed.offsets_from(0)), (None, vec![0, 1, 2]));
    };
    for len in good..whole.len() {
        check(&whole[..len]);
    }
    // Each byte but those of the leader epoch, which no checksum covers and no reader needs.
    for at in (good..whole.len()).filter(|at| !(good + 12..good + 16).contains(at)) {
        let mut flipped = whole.clone();
        flipped[at] ^= 0x41;
        // A smaller base offset would not rise, a greater one is a gap: the checksum does not
        // cover it either.
        if at >= good + 8 {
            check(&flipped);
        }
    }
    check(&[&whole[..good], &[0; 4096]].concat());
}

/// Covers LG-122, LG-164.
#[test]
fn a_damaged_transaction_index_has_its_segment_recovered() {
    let mut bed = Bed::new(small());
    for i in 0..12 {
        let producer = i % 3;
        bed.append(
            &Batch::of(1)
                .by(producer, 0, i32::try_from(i / 3).unwrap())
                .transactional(),
        );
        if i % 2 == 1 {
            bed.append_marker((producer, 0), Outcome::Abort);
        }
    }
    bed.log.close().unwrap();
    let name = |base: i64| format!("{base:020}.txnindex");
    let segments = bed.segments();
    let whole: Vec<_> = segments
        .iter()
        .map(|base| bed.content(&name(*base)))
        .collect();
    assert!(
        whole.iter().filter(|it| !it.is_empty()).count() > 1,
        "{segments:?}"
    );
    for damaged in [vec![1; 35], vec![0; 34], vec![0xff; 68]] {
        for was_clean in [true, false] {
            let disk = bed.disk.crash(Crash::Kill);
            let bed = Bed {
                log: open_clean(&SimDisk::new(0), small()).unwrap().0,
                disk,
            };
            // The log start lies behind what zeros say.
            bed.overwrite(&name(segments[1]), &damaged);
            let options = OpenOptions {
                recovery_point: offset(18),
                ..OpenOptions::new(was_clean, NOW_MS)
            };
            let (log, opening) = open(&bed.disk, small(), &options).unwrap();
            assert!(opening.segments_recovered > 0);
            for (base, whole) in segments.iter().zip(&whole) {
                assert_eq!(bed.content(&name(*base)), *whole);
            }
            drop(log);
        }
    }
}

/// Covers LG-124.
#[test]
fn a_segment_whose_offsets_are_too_far_apart_is_split() {
    let far = i64::from(i32::MAX);
    let set = [
        Batch::of(2),
        Batch::of(2).at_offset(far - 1),
        Batch::of(2).at_offset(far + 1),
        Batch::of(2).at_offset(2 * far),
    ];
    let bytes: Vec<_> = set.iter().map(|it| it.build().into_bytes()).collect();
    let expected = [0, 1, far - 1, far, far + 1, far + 2, 2 * far, 2 * far + 1];
    let disk = SimDisk::new(3);
    let bed = Bed::on(disk, small());
    bed.overwrite(&log_file(0), &bytes.concat());
    bed.disk.sync_dir("/data/topic-0".as_ref()).unwrap();
    // At each call in turn the power goes.
    for passed in 0.. {
        let disk = bed.disk.crash(Crash::Kill);
        disk.inject(klamm_io::sim::Fault::on_any().after(passed).cutting_power());
        let opened = open(&disk, small(), &unclean(0));
        let done = opened.is_ok();
        let disk = disk.crash(Crash::Kill);
        let (log, _) = open(&disk, small(), &unclean(0)).unwrap();
        assert_eq!(
            read_offsets(&log.reader(), 0),
            expected,
            "power cut at {passed}"
        );
        let bed = Bed { disk, log };
        assert_eq!(bed.segments(), [0, far + 1]);
        let all = [bed.content(&log_file(0)), bed.content(&log_file(far + 1))].concat();
        assert_eq!(all, bytes.concat());
        if done {
            break;
        }
    }
}

#[test]
fn lg_116_recovery_makes_the_epochs_behind_the_recovery_point_anew() {
    let mut bed = Bed::new(small());
    for leader_epoch in [1, 1, 2, 2] {
        for _ in 0..7 {
            bed.append_in(leader_epoch, &Batch::of(1));
        }
    }
    bed.append_in(5, &Batch::of(1));
    assert_eq!(bed.segments(), [0, 13, 26]);
    let expected = b"0\n3\n1 0\n2 14\n5 28\n";
    assert_eq!(bed.content("leader-epoch-checkpoint"), expected);
    for list in [
        &expected[..],
        b"0\n1\n1 0\n",
        b"0\n4\n1 0\n2 14\n4 17\n9 20\n",
    ] {
        for point in [0, 14, 20, 27] {
            let disk = bed.disk.crash(Crash::Kill);
            let bed = Bed {
                log: open_clean(&SimDisk::new(0), small()).unwrap().0,
                disk,
            };
            if point == 0 || list == expected {
                bed.overwrite("leader-epoch-checkpoint", list);
            }
            let (log, _) = open(&bed.disk, small(), &unclean(point)).unwrap();
            assert_eq!(log.epochs().len(), 3);
            assert_eq!(bed.content("leader-epoch-checkpoint"), expected);
        }
    }
}

/// Covers C089: damage to what was durable is no torn tail.
#[test]
fn damage_below_the_recovery_point_is_left_to_those_who_can_mend_it() {
    let mut bed = Bed::new(small());
    bed.fill(10);
    let whole = bed.content(&log_file(0));
    let batch_len = whole.len() / 10;
    let with = |at: usize, point: i64| {
        let disk = bed.disk.crash(Crash::Kill);
        let bed = Bed {
            log: open_clean(&SimDisk::new(0), small()).unwrap().0,
            disk,
        };
        let mut flipped = whole.clone();
        flipped[at] ^= 0x40;
        bed.overwrite(&log_file(0), &flipped);
        (
            open(&bed.disk, small(), &unclean(point)),
            bed.content(&log_file(0)).len(),
        )
    };
    // A wrong checksum in the middle: the batches behind it are there still.
    let at = 4 * batch_len + batch_len - 1;
    let (opened, len) = with(at, 10);
    let (log, opening) = opened.unwrap();
    assert_eq!(
        (opening.cut, log.log_end_offset(), len),
        (None, offset(10), whole.len())
    );
    // The same where nothing was durable is cut.
    let (opened, len) = with(at, 0);
    assert_eq!(opened.unwrap().0.log_end_offset(), offset(4));
    assert_eq!(len, 4 * batch_len);
    let (opened, _) = with(at, 3);
    assert_eq!(opened.unwrap().0.log_end_offset(), offset(4));
    // A wrong length: nobody knows what is behind it, so nothing is touched.
    let (opened, len) = with(4 * batch_len + 9, 10);
    match opened {
        Err(OpenError::Segment(SegmentError::Scan(ScanError::Damaged {
            path,
            position,
            reason: BatchFault::PastEnd { .. },
        }))) => {
            assert_eq!(
                (path, position as usize),
                (Bed::path(&log_file(0)), 4 * batch_len)
            );
        }
        other => panic!("{:?}", other.map(|it| it.1)),
    }
    assert_eq!(len, whole.len());
}

#[test]
fn reserved_space_is_cut_off_without_a_word() {
    let config = LogConfig {
        preallocate: true,
        ..small()
    };
    let mut bed = Bed::new(config);
    bed.fill(20);
    assert_eq!(bed.content(&log_file(13)).len(), 1000);
    let (bed, opening) = bed.kill();
    assert_eq!((opening.cut, opening.segments_removed.len()), (None, 0));
    assert_eq!(
        bed.content(&log_file(13)).len() as u64 + 13 * (bed.log.size() / 20),
        bed.log.size()
    );
    assert_eq!(bed.offsets_from(0), all(0..20));

    // Also behind a segment that is done, if its end was not synced.
    let padded = [bed.content(&log_file(0)), vec![0; 90]].concat();
    bed.overwrite(&log_file(0), &padded);
    let (bed, opening) = bed.kill();
    assert_eq!((opening.cut, opening.segments_removed.len()), (None, 0));
    assert_eq!(bed.offsets_from(0), all(0..20));
}

/// Covers C050.
#[test]
fn a_checksum_that_happens_to_be_zero_marks_no_end() {
    let mut bed = Bed::new(small());
    bed.fill(1);
    let zero = (0..).map(|i: u64| Batch::of(1).value(&i.to_be_bytes()).build());
    // One in four thousand million: the search is over the records, so look for a short one.
    let found = zero
        .take(2000)
        .find(|it| it.header().crc.to_be_bytes()[0] == 0);
    bed.follow(&[]);
    let found = found.unwrap();
    bed.append(&Batch::of(1));
    let whole = [
        bed.content(&log_file(0)),
        {
            let mut bytes = found.into_bytes().to_vec();
            bytes[..8].copy_from_slice(&2i64.to_be_bytes());
            bytes
        },
        Batch::of(1).at_offset(3).build().into_bytes().to_vec(),
    ];
    bed.overwrite(&log_file(0), &whole.concat());
    let (bed, opening) = bed.kill();
    assert_eq!((opening.cut, bed.log.log_end_offset()), (None, offset(4)));
}

/// Indexes wait in memory, snapshots are not needed: nothing that recovery writes is.
#[test]
fn a_log_that_is_whole_is_recovered_on_a_full_disk() {
    for kind in [DiskErrorKind::Full, DiskErrorKind::TooManyFiles] {
        let mut bed = Bed::new(small());
        for i in 0..60 {
            bed.append(&Batch::of(1).by(1, 0, i));
        }
        let disk = bed.disk.crash(Crash::Kill);
        let operations = if kind == DiskErrorKind::Full {
            [DiskOperation::Write, DiskOperation::SetLen]
        } else {
            [DiskOperation::Write, DiskOperation::Write]
        };
        for operation in operations {
            disk.inject(Fault::on(operation).failing_with(kind).always());
        }
        let (mut log, opening) = open(&disk, small(), &unclean(0)).unwrap();
        assert_eq!(opening.segments_recovered, 5);
        assert_eq!(log.log_end_offset(), offset(60));
        for from in 0..60 {
            let read = log.reader().read(offset(from), WHOLE, Isolation::LogEnd);
            assert_eq!(
                batches(&read.unwrap())[0].header().base_offset,
                offset(from)
            );
        }
        assert!(log.close().is_err(), "it is not clean");
        disk.clear_faults();

        // There is room again: it goes on, and is closed well.
        let (log, _) = open(&disk, small(), &unclean(0)).unwrap();
        let mut bed = Bed { disk, log };
        bed.append(&Batch::of(1).by(1, 0, 60));
        assert_eq!(bed.reopen().offsets_from(0), all(0..61));
    }
}

/// Recovery has made the indexes, and nobody has synced them before: the next sync does.
#[test]
fn what_recovery_made_is_synced_with_the_next_records() {
    let mut bed = Bed::new(small());
    for i in 0..12 {
        bed.append(&Batch::of(1).by(1, 0, i).transactional());
        bed.append_marker((1, 0), Outcome::Abort);
    }
    let killed = bed.disk.crash(Crash::Kill);
    keep_directory(&killed);
    let (log, _) = open(&killed, small(), &unclean(0)).unwrap();
    let mut bed = Bed { disk: killed, log };
    let segments = bed.segments();
    let name = |base: i64| format!("{base:020}.txnindex");
    let made: Vec<_> = segments.iter().map(|it| bed.content(&name(*it))).collect();
    bed.append(&Batch::of(1));
    bed.log.flush().unwrap();
    let end = bed.log.log_end_offset();
    let after = bed.disk.crash(Crash::PowerLossLosingAll);
    let (log, opening) = open(&after, small(), &unclean(end.get())).unwrap();
    assert_eq!((opening.cut, log.log_end_offset()), (None, end));
    assert_eq!(opening.segments_recovered, 1);
    let bed = Bed { disk: after, log };
    for (base, made) in segments.iter().zip(&made).rev().skip(1) {
        assert!(!made.is_empty());
        assert_eq!(bed.content(&name(*base)), *made);
    }
}
