//! Opening what was left: by a clean stop, by a kill, by other hands.

use klamm_io::sim::{Crash, SimDisk};
use klamm_io::{Disk, DiskFile, DiskOperation, OpenMode};
use klamm_log::{
    BatchFault, Isolation, LogConfig, OpenError, OpenOptions, Opening, ScanError, SegmentError,
    TimeTarget,
};
use klamm_records::{Codecs, Outcome};
use proptest::prelude::*;

use crate::support::{
    Batch, Bed, NOW_MS, WHOLE, all, batches, content, epoch, log_file, offset, open, open_clean,
    read_offsets, small,
};

fn unclean(recovery_point: i64) -> OpenOptions {
    OpenOptions {
        recovery_point: offset(recovery_point),
        ..OpenOptions::new(false, NOW_MS)
    }
}

#[test]
fn lg_113_a_missing_directory_becomes_an_empty_log_at_the_log_start() {
    for was_clean in [true, false] {
        let disk = SimDisk::new(0);
        let options = OpenOptions {
            log_start: offset(500),
            ..OpenOptions::new(was_clean, NOW_MS)
        };
        let (log, _) = open(&disk, small(), &options).unwrap();
        assert_eq!(log.log_end_offset(), offset(500));
        assert_eq!(log.log_start_offset(), offset(500));
        let bed = Bed { disk, log };
        assert_eq!(bed.segments(), [500]);
    }
}

#[test]
fn lg_114_after_a_clean_stop_nothing_is_scanned() {
    let mut bed = Bed::new(LogConfig {
        segment_bytes: 20_000,
        ..small()
    });
    for i in 0..1000 {
        bed.append(&Batch::of(1).by(i % 7, 0, i32::try_from(i / 7).unwrap()));
    }
    bed.commit_all();
    assert!(bed.segments().len() > 3);
    let (files, size) = (bed.files().len(), bed.log.size());
    let bed = bed.reopen();
    // A look at every name, and at the last segment's begin and end.
    assert!(bed.disk.calls(DiskOperation::Read) < 20);
    assert!(bed.disk.calls(DiskOperation::Metadata) < 2 * files as u64 + 20);
    assert_eq!(bed.log.log_end_offset(), offset(1000));
    assert_eq!(bed.log.high_watermark(), offset(1000));
    assert_eq!(bed.log.recovery_point(), offset(1000));
    assert_eq!((bed.log.size(), bed.log.producer_count()), (size, 7));
    assert_eq!(bed.offsets_from(0), all(0..1000));
}

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

/// Covers LG-118, C089.
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

#[test]
fn lg_120_an_index_without_its_log_is_removed() {
    let mut bed = Bed::new(small());
    bed.fill(3);
    bed.log.close().unwrap();
    for extension in ["index", "timeindex", "txnindex"] {
        bed.overwrite(&format!("{:020}.{extension}", 99), &[0; 24]);
    }
    let bed = Bed::on(bed.disk, small());
    assert!(bed.files().iter().all(|name| !name.contains("99")));
    assert_eq!(bed.offsets_from(0), [0, 1, 2]);
}

#[test]
fn lg_121_a_missing_time_index_counts_as_empty() {
    let mut bed = Bed::new(small());
    bed.fill(20);
    bed.log.close().unwrap();
    bed.disk
        .remove_file(&Bed::path("00000000000000000000.timeindex"))
        .unwrap();
    let bed = Bed::on(bed.disk, small());
    let target = TimeTarget::AtOrAfter(NOW_MS);
    let found = bed
        .log
        .reader()
        .offset_for_timestamp(target, &mut Codecs::default());
    assert_eq!(found.unwrap().unwrap().offset, offset(0));
    assert!(bed.content("00000000000000000000.timeindex").is_empty());
    let (bed, _) = bed.kill();
    bed.log.reader();
    let mut bed = bed;
    bed.log.close().unwrap();
    assert!(!bed.content("00000000000000000000.timeindex").is_empty());
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

#[test]
fn lg_123_an_empty_last_segment_gives_its_base() {
    let mut bed = Bed::new(small());
    bed.fill(5);
    bed.log.roll(offset(0), NOW_MS).unwrap();
    let bed = bed.reopen();
    assert_eq!(bed.log.log_end_offset(), offset(5));
    let (bed, _) = bed.kill();
    assert_eq!(bed.log.log_end_offset(), offset(5));
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
fn lg_125_files_that_wait_to_be_removed_are() {
    let mut bed = Bed::new(small());
    bed.fill(30);
    bed.commit_all();
    bed.log.raise_log_start(offset(20)).unwrap();
    let retired = bed.log.delete_old_segments(NOW_MS).unwrap();
    assert!(!retired.is_empty());
    assert!(bed.files().iter().any(|name| name.ends_with(".deleted")));
    let bed = bed.reopen();
    assert!(!bed.files().iter().any(|name| name.ends_with(".deleted")));
    retired.remove().unwrap();
    assert_eq!(bed.log.log_start_offset(), offset(20));
}

#[test]
fn lg_126_epochs_of_records_that_are_not_there_are_dropped() {
    let mut bed = Bed::new(small());
    bed.append_in(1, &Batch::of(2));
    bed.append_in(2, &Batch::of(2));
    bed.append_in(3, &Batch::of(2));
    bed.log.begin_epoch(epoch(4)).unwrap();
    bed.commit_all();
    bed.log.raise_log_start(offset(3)).unwrap();
    let bed = bed.reopen();
    let epochs: Vec<_> = bed.log.epochs().iter().map(|it| it.epoch).collect();
    assert_eq!(epochs, [epoch(2), epoch(3)]);
    assert_eq!(bed.content("leader-epoch-checkpoint"), b"0\n2\n2 3\n3 4\n");
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

#[test]
fn lg_127_closing_leaves_a_snapshot_and_files_without_slack() {
    let mut bed = Bed::new(LogConfig {
        preallocate: true,
        ..small()
    });
    bed.append(&Batch::of(1).by(1, 0, 0));
    bed.fill(8);
    bed.log.close().unwrap();
    let calls = bed.disk.calls(DiskOperation::Write);
    bed.log.close().unwrap();
    assert_eq!(bed.disk.calls(DiskOperation::Write), calls);
    assert_eq!(bed.snapshots(), [9]);
    assert_eq!(bed.content(&log_file(0)).len() as u64, bed.log.size());
    assert_eq!(
        bed.content("00000000000000000000.index").len(),
        8 * bed.offset_index(0).len()
    );
    assert!(
        bed.log
            .append(&[Batch::of(1).produced()], epoch(0), NOW_MS)
            .is_err()
    );
    // All of it is durable.
    let disk = bed.disk.crash(Crash::PowerLossLosingAll);
    assert!(
        disk.list("/data".as_ref()).is_err(),
        "the directory's own name is its maker's care"
    );
    assert_eq!(bed.offsets_from(0), all(0..9));
}

#[test]
fn lg_128_opening_changes_nothing_by_itself() {
    let mut bed = Bed::new(small());
    for i in 0..30 {
        bed.append(&Batch::of(1).by(1, 0, i));
    }
    let all = |bed: &Bed| -> Vec<_> {
        let names = bed.files();
        names
            .iter()
            .map(|name| (name.clone(), bed.content(name)))
            .collect()
    };
    let (bed, _) = bed.kill();
    let mut bed = bed;
    bed.log.close().unwrap();
    let first = all(&bed);
    for was_clean in [true, false, true, false] {
        let (mut log, opening) =
            open(&bed.disk, small(), &OpenOptions::new(was_clean, NOW_MS)).unwrap();
        assert_eq!((opening.cut, opening.segments_removed.len()), (None, 0));
        log.close().unwrap();
        assert_eq!(all(&bed), first);
    }
}

/// A message of magic 0 or 1 without key.
fn legacy(magic: u8, offset: i64, value: &[u8]) -> Vec<u8> {
    let mut body = vec![magic, 0];
    if magic == 1 {
        body.extend(NOW_MS.to_be_bytes());
    }
    body.extend((-1i32).to_be_bytes());
    body.extend(i32::try_from(value.len()).unwrap().to_be_bytes());
    body.extend(value);
    let crc = crc32(&body);
    let mut message = offset.to_be_bytes().to_vec();
    message.extend(i32::try_from(4 + body.len()).unwrap().to_be_bytes());
    message.extend(crc.to_be_bytes());
    message.extend(body);
    message
}

fn crc32(bytes: &[u8]) -> u32 {
    let mut crc = u32::MAX;
    for byte in bytes {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = if crc & 1 == 1 {
                (crc >> 1) ^ 0xedb8_8320
            } else {
                crc >> 1
            };
        }
    }
    !crc
}

#[test]
fn lg_130_messages_of_old_brokers_are_read_through() {
    let old: Vec<_> = (0..6)
        .map(|i| legacy(u8::from(i >= 3), i, format!("old {i}").as_bytes()))
        .collect();
    let new = Batch::of(2).at_offset(6).build().into_bytes();
    let whole = [old.concat(), new.to_vec()].concat();
    for was_clean in [true, false] {
        let bed = Bed::new(small());
        bed.overwrite(&log_file(0), &whole);
        let options = OpenOptions::new(was_clean, NOW_MS);
        let (log, opening) = open(&bed.disk, small(), &options).unwrap();
        assert_eq!(opening.cut, None);
        assert_eq!(log.log_end_offset(), offset(8));
        let read = |from| {
            let read = log.reader().read(offset(from), WHOLE, Isolation::LogEnd);
            read.unwrap().range.unwrap().read().unwrap()
        };
        assert_eq!(read(0), whole);
        assert_eq!(read(4), whole[old[..4].concat().len()..]);
        assert_eq!(read(6), new);
    }
    // Torn, one goes as any other batch.
    let bed = Bed::new(small());
    let mut torn = old.concat();
    *torn.last_mut().unwrap() ^= 1;
    bed.overwrite(&log_file(0), &torn);
    let (log, opening) = open(&bed.disk, small(), &unclean(0)).unwrap();
    assert_eq!(opening.cut.unwrap().bytes as usize, old[5].len());
    assert_eq!(log.log_end_offset(), offset(5));
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
fn a_segment_behind_a_hole_is_removed_unless_the_log_is_compacted() {
    use klamm_log::CleanupPolicy;
    let mut bed = Bed::new(small());
    bed.fill(45);
    assert_eq!(bed.segments(), [0, 13, 26, 39]);
    // The end of a segment was lost, along the border of two batches.
    let segment = bed.content(&log_file(13));
    bed.overwrite(&log_file(13), &segment[..segment.len() / 13 * 12]);
    let open = |config: LogConfig, point| {
        let disk = bed.disk.crash(Crash::Kill);
        open(&disk, config, &unclean(point)).unwrap()
    };
    let (log, opening) = open(small(), 0);
    assert_eq!(read_offsets(&log.reader(), 0), all(0..25));
    let removed = [39, 26].map(|base| Bed::path(&log_file(base)));
    assert_eq!(opening.segments_removed, removed);
    for (policy, point) in [(CleanupPolicy::COMPACT, 0), (CleanupPolicy::DELETE, 45)] {
        let config = LogConfig {
            cleanup_policy: policy,
            ..small()
        };
        let (log, opening) = open(config, point);
        assert_eq!(log.log_end_offset(), offset(45));
        assert!(opening.segments_removed.is_empty());
    }
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

/// Covers LG-089, LG-198, C094.
#[test]
fn checkpoints_are_clamped_to_what_is_there() {
    let mut bed = Bed::new(small());
    bed.fill(30);
    for (high_watermark, log_start, expected) in [
        (0, 0, (0, 0)),
        (20, 5, (20, 5)),
        (1, 5, (5, 5)),
        (1 << 62, 0, (30, 0)),
        (-1, -1, (0, 0)),
    ] {
        for was_clean in [true, false] {
            let disk = bed.disk.crash(Crash::Kill);
            let options = OpenOptions {
                high_watermark: offset(high_watermark),
                log_start: offset(log_start),
                recovery_point: offset(high_watermark),
                ..OpenOptions::new(was_clean, NOW_MS)
            };
            let (log, _) = open(&disk, small(), &options).unwrap();
            let found = (log.high_watermark().get(), log.log_start_offset().get());
            assert_eq!(found, expected);
            assert!(log.recovery_point() <= offset(30));
        }
    }
}

#[test]
fn a_log_that_ends_before_its_start_begins_anew_there() {
    let mut bed = Bed::new(small());
    bed.append(&Batch::of(30).by(1, 0, 0));
    for was_clean in [true, false] {
        let disk = bed.disk.crash(Crash::Kill);
        let options = OpenOptions {
            log_start: offset(50),
            ..OpenOptions::new(was_clean, NOW_MS)
        };
        let (log, _) = open(&disk, small(), &options).unwrap();
        let bed = Bed { disk, log };
        assert_eq!(bed.segments(), [50]);
        assert_eq!(bed.log.log_end_offset(), offset(50));
        assert_eq!(bed.log.producer_count(), 0);
    }
}

#[test]
fn files_of_others_are_left_alone_and_too_large_ones_refused() {
    let mut bed = Bed::new(small());
    bed.fill(3);
    for name in ["notes.txt", "42.log", "00000000000000000000.log.bak"] {
        bed.overwrite(name, b"mine");
    }
    let bed = bed.kill().0.reopen();
    assert_eq!(bed.content("notes.txt"), b"mine");
    assert_eq!(bed.content("42.log"), b"mine");
    let file = bed
        .disk
        .open(&Bed::path(&log_file(3)), OpenMode::CreateNew)
        .unwrap();
    file.set_len(1 << 31).unwrap();
    match open_clean(&bed.disk, small()) {
        Err(OpenError::TooLarge { path, len }) => {
            assert_eq!((path, len), (Bed::path(&log_file(3)), 1 << 31));
        }
        other => panic!("{:?}", other.map(|it| it.1)),
    }
}

#[test]
fn a_list_of_epochs_that_makes_no_sense_is_an_error_with_its_path() {
    let mut bed = Bed::new(small());
    bed.fill(3);
    bed.log.close().unwrap();
    bed.overwrite("leader-epoch-checkpoint", b"rubbish");
    let error = open_clean(&bed.disk, small()).map(|it| it.1).unwrap_err();
    assert!(
        error.to_string().contains("leader-epoch-checkpoint"),
        "{error}"
    );
    assert_eq!(content(&bed.disk, "leader-epoch-checkpoint"), b"rubbish");
}

/// Covers C091: a disk that refuses is no damaged index, and a log that was closed well is not
/// recovered for it.
#[test]
fn a_disk_that_refuses_while_opening_is_told_as_that() {
    use klamm_io::DiskErrorKind;
    use klamm_io::sim::Fault;
    let mut bed = Bed::new(small());
    bed.fill(40);
    bed.log.close().unwrap();
    for passed in 0.. {
        let disk = bed.disk.crash(Crash::Kill);
        disk.inject(
            Fault::on(DiskOperation::Read)
                .after(passed)
                .failing_with(DiskErrorKind::NoMemory),
        );
        match open_clean(&disk, small()) {
            Ok((_, opening)) => {
                assert_eq!(opening, Opening::default());
                assert!(passed > 3);
                break;
            }
            Err(error) => assert!(error.to_string().contains("cannot read"), "{error}"),
        }
        assert_eq!(disk.calls(DiskOperation::SetLen), 0);
        assert_eq!(disk.calls(DiskOperation::RemoveFile), 0);
    }
}
