//! Whole directories that are right, and such that were damaged in one place.

use std::path::{Path, PathBuf};

use klamm_io::sim::SimDisk;
use klamm_io::{Disk as _, DiskFile as _, OpenMode};
use klamm_primitives::{LeaderEpoch, Offset, ProducerEpoch, ProducerId};
use klamm_records::{
    BatchOptions, Codecs, EndMarker, Outcome, ProducerStamp, RecordBatch, RecordBatchBuilder,
    ValidationRules, validate_own,
};
use proptest::prelude::*;

use super::*;
use crate::config::{CleanupPolicy, LogConfig};
use crate::log::Log;
use crate::open::OpenOptions;

const DIRECTORY: &str = "/t-0";
const FIRST: &str = "00000000000000000000";
const SECOND: &str = "00000000000000000022";

fn open(disk: &SimDisk, was_clean: bool) -> Log<SimDisk> {
    let config = LogConfig {
        index_interval_bytes: 100,
        index_bytes: 1200,
        ..LogConfig::default()
    };
    let options = OpenOptions::new(was_clean, 0);
    Log::open(disk.clone(), DIRECTORY.into(), config, &options)
        .unwrap()
        .0
}

/// Two segments with all kinds of files: 0 to 21, the last one an abort's marker, and 22 to 31.
fn filled() -> (SimDisk, Log<SimDisk>) {
    let disk = SimDisk::new(1);
    let mut log = open(&disk, true);
    let mut codecs = Codecs::default();
    let producer = ProducerStamp {
        producer_id: ProducerId::new(7),
        producer_epoch: ProducerEpoch::new(0),
        base_sequence: 0.into(),
    };
    let mut append = |log: &mut Log<SimDisk>, batch: RecordBatch| {
        let rules = ValidationRules::default();
        let valid = validate_own(batch, &rules, 0, &mut codecs).unwrap();
        log.append_own(&[valid], LeaderEpoch::new(0), 0).unwrap();
    };
    let batch = |timestamp_ms: i64, producer: ProducerStamp| {
        let options = BatchOptions {
            producer,
            transactional: producer != ProducerStamp::NONE,
            ..BatchOptions::default()
        };
        let mut builder = RecordBatchBuilder::new(options, Vec::new());
        for _ in 0..2 {
            builder
                .append(timestamp_ms, Some(b"key"), Some(&[7; 60]), &[])
                .unwrap();
        }
        builder.close(&mut Codecs::default()).unwrap();
        RecordBatch::parse(builder.into_bytes().unwrap()).unwrap()
    };
    append(&mut log, batch(100, producer));
    for timestamp_ms in 0..9 {
        append(&mut log, batch(101 + timestamp_ms, ProducerStamp::NONE));
    }
    append(&mut log, batch(50, ProducerStamp::NONE));
    let marker = EndMarker {
        outcome: Outcome::Abort,
        coordinator_epoch: 0,
    };
    // Two records less than a whole batch: 22 is the next offset.
    let producer = (producer.producer_id, producer.producer_epoch);
    log.roll(Offset::new(22), 0).unwrap();
    append(
        &mut log,
        marker
            .batch(Offset::ZERO, LeaderEpoch::new(0), producer, 110)
            .unwrap(),
    );
    for timestamp_ms in 0..5 {
        append(&mut log, batch(201 + timestamp_ms, ProducerStamp::NONE));
    }
    (disk, log)
}

fn path(name: &str) -> PathBuf {
    Path::new(DIRECTORY).join(name)
}

fn look(disk: &SimDisk) -> Report {
    let report = check(disk, Path::new(DIRECTORY), Depth::Records).unwrap();
    // With less to look at there is less to be found, never more.
    let shallow = check(disk, Path::new(DIRECTORY), Depth::Batches).unwrap();
    assert!(shallow.problems.len() <= report.problems.len());
    assert_eq!(shallow.would_cut, report.would_cut);
    report
}

fn write(disk: &SimDisk, name: &str, position: u64, bytes: &[u8]) {
    let file = disk.open(&path(name), OpenMode::OpenOrCreate).unwrap();
    file.write_all_at(bytes, position).unwrap();
}

fn len(disk: &SimDisk, name: &str) -> u64 {
    disk.metadata(&path(name)).unwrap().len
}

/// The one problem that a change makes.
fn problem(change: impl FnOnce(&SimDisk)) -> Problem {
    let (disk, mut log) = filled();
    log.close().unwrap();
    change(&disk);
    let report = look(&disk);
    let [problem] = &report.problems[..] else {
        panic!("{:?}", report.problems);
    };
    problem.clone()
}

#[test]
fn a_good_directory_is_told_to_be_one_and_is_not_written_to() {
    let (disk, mut log) = filled();
    log.close().unwrap();
    let writes = disk.calls(klamm_io::DiskOperation::Write);
    let report = look(&disk);
    assert!(report.is_good(), "{:?}", report.problems);
    assert_eq!(report.would_cut, None);
    assert_eq!(report.segments.len(), 2);
    let second = &report.segments[1];
    assert_eq!((second.batches, second.records), (6, 11));
    assert_eq!(second.first_offset, Some(Offset::new(22)));
    assert_eq!(second.last_offset, Some(Offset::new(32)));
    assert_eq!(second.max_timestamp_ms, Some(205));
    assert_eq!(disk.calls(klamm_io::DiskOperation::Write), writes);
}

#[test]
fn lg_227_an_offset_index_entry_must_name_its_batchs_last_offset() {
    let index = format!("{FIRST}.index");
    let wrong = problem(|disk| write(disk, &index, 3, &[2]));
    assert_eq!((&wrong.path, wrong.position), (&path(&index), Some(0)));
    assert_eq!(wrong.offset, Some(Offset::new(2)));
    assert!(
        matches!(wrong.fault, Fault::OtherLastOffset { .. }),
        "{wrong}"
    );
    let astray = problem(|disk| write(disk, &index, 7, &[1]));
    assert!(matches!(astray.fault, Fault::NoBatchAt { .. }), "{astray}");
    assert_eq!(astray.position, Some(0));
}

#[test]
fn lg_228_a_time_index_entry_must_have_its_batchs_largest_timestamp() {
    let index = format!("{FIRST}.timeindex");
    let other = problem(|disk| write(disk, &index, 7, &[1]));
    assert!(
        matches!(other.fault, Fault::OtherTimestamp { entry: 1, .. }),
        "{other}"
    );
    let nowhere = problem(|disk| {
        // One less than the last offset of its batch.
        let (file, mut byte) = (disk.open(&path(&index), OpenMode::ReadWrite).unwrap(), [0]);
        file.read_exact_at(&mut byte, 11).unwrap();
        file.write_all_at(&[byte[0] - 1], 11).unwrap();
    });
    assert_eq!(nowhere.fault, Fault::NoBatchEnds);
    let falling = problem(|disk| {
        // The second entry again as the third: it does not rise.
        let file = disk.open(&path(&index), OpenMode::ReadWrite).unwrap();
        let second = file.read_bytes_at(12, 12).unwrap();
        file.write_all_at(&second, 24).unwrap();
    });
    assert_eq!(
        (falling.fault, falling.position),
        (Fault::NotRising, Some(24))
    );
}

#[test]
fn lg_229_a_tail_of_zeros_is_unused_space() {
    // Not closed: the indexes of the segment that is appended to have their full size.
    let (disk, mut log) = filled();
    log.flush().unwrap();
    let segment = log.active.segment.clone();
    segment.sync_all().unwrap();
    assert_eq!(len(&disk, &format!("{SECOND}.index")), 1200);
    assert!(look(&disk).is_good());

    let behind = problem(|disk| {
        let index = format!("{FIRST}.index");
        let len = len(disk, &index);
        write(disk, &index, len + 80, &[0, 0, 0, 1, 0, 0, 0, 1]);
    });
    assert_eq!(behind.fault, Fault::BehindZeros);
}

#[test]
fn lg_230_bytes_behind_the_last_whole_batch_are_counted() {
    let (disk, mut log) = filled();
    log.close().unwrap();
    let name = format!("{FIRST}.log");
    let end = len(&disk, &name);
    write(&disk, &name, end, &[1; 40]);
    let report = look(&disk);
    let faults: Vec<_> = report.problems.iter().map(|it| &it.fault).collect();
    assert!(matches!(faults[0], Fault::Batch(_)), "{faults:?}");
    assert_eq!(faults[1], &Fault::BytesBehind { count: 40 });
    assert_eq!(report.problems[1].position, Some(end));
    let cut = report.would_cut.unwrap();
    assert_eq!((u64::from(cut.position), cut.bytes), (end, 40));
    assert!(report.would_remove.is_empty(), "the next one begins there");

    // With the last batch damaged, too, it does not.
    write(&disk, &name, end - 1, &[0xff]);
    let report = look(&disk);
    assert_eq!(report.would_remove, [path(&format!("{SECOND}.log"))]);
}

#[test]
fn lg_230_offsets_within_a_batch_must_follow_one_another() {
    let wrong = problem(|disk| {
        // The offset delta of the second record, and the checksum with it.
        let file = disk
            .open(&path(&format!("{FIRST}.log")), OpenMode::ReadWrite)
            .unwrap();
        let bytes = file.read_bytes_at(0, 4096).unwrap();
        let size = 12 + u32::from_be_bytes(bytes[8..12].try_into().unwrap()) as usize;
        let mut batch = bytes[..size].to_vec();
        let record_len = (size - 61) / 2;
        batch[61 + record_len + 4] = 6;
        let crc = klamm_records::crc32c(&batch[21..]);
        batch[17..21].copy_from_slice(&crc.to_be_bytes());
        file.write_all_at(&batch, 0).unwrap();
    });
    let (found, expected) = (Offset::new(3), Offset::new(1));
    assert_eq!(wrong.fault, Fault::RecordOffset { found, expected });
}

#[test]
fn lg_231_an_index_needs_its_log_and_whole_entries() {
    let alone = problem(|disk| write(disk, "00000000000000000099.index", 0, &[0; 8]));
    assert_eq!(alone.fault, Fault::NoLog);
    for (extension, entry_len) in [("index", 8), ("timeindex", 12), ("txnindex", 34)] {
        let name = format!("{SECOND}.{extension}");
        let odd = problem(|disk| {
            let len = len(disk, &name);
            assert_eq!(len % entry_len, 0);
            write(disk, &name, len, &[0; 3]);
        });
        assert_eq!(
            (&odd.path, odd.fault),
            (&path(&name), Fault::OddLength { count: 3 })
        );
    }
}

#[test]
fn lg_232_a_damaged_snapshot_is_told() {
    let wrong = problem(|disk| write(disk, &format!("{SECOND}.snapshot"), 12, &[0xff]));
    assert!(matches!(wrong.fault, Fault::Snapshot(_)), "{wrong}");
}

#[test]
fn a_transaction_index_entry_must_name_its_producers_marker() {
    let name = format!("{SECOND}.txnindex");
    let wrong = problem(|disk| write(disk, &name, 9, &[8]));
    assert_eq!(wrong.fault, Fault::NoMarker(ProducerId::new(8)));
    let version = problem(|disk| write(disk, &name, 1, &[1]));
    assert_eq!(version.fault, Fault::TransactionVersion(1));
}

#[test]
fn leader_epochs_are_compared_with_their_list() {
    let wrong = problem(|disk| {
        let list = path("leader-epoch-checkpoint");
        let file = disk.open(&list, OpenMode::CreateOrTruncate).unwrap();
        file.write_all_at(b"0\n2\n0 0\n5 31\n", 0).unwrap();
    });
    assert!(matches!(wrong.fault, Fault::EpochDiffers { .. }), "{wrong}");
    assert_eq!(wrong.offset, Some(Offset::new(31)));
    let damaged = problem(|disk| write(disk, "leader-epoch-checkpoint", 0, b"x"));
    assert!(matches!(damaged.fault, Fault::SmallFile(_)));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Covers LG-227, LG-230: what is told to be cut is what a repair cuts, and afterwards all is
    /// well.
    #[test]
    fn a_repair_cuts_what_the_check_has_told(
        position in 0_u64..3400,
        flip in 1_u8..,
        second in any::<bool>(),
    ) {
        let (disk, mut log) = filled();
        log.close().unwrap();
        let name = format!("{}.log", if second { SECOND } else { FIRST });
        let position = position % len(&disk, &name);
        let file = disk.open(&path(&name), OpenMode::ReadWrite).unwrap();
        let mut byte = [0];
        file.read_exact_at(&mut byte, position).unwrap();
        file.write_all_at(&[byte[0] ^ flip], position).unwrap();
        let told = look(&disk);
        // A repair takes a batch with far too large an offset for the second half of an overlong
        // segment and moves it: what is cut is then told of another file.
        let is_out_of_reach = |it: &Problem| match &it.fault {
            Fault::Batch(text) => text.contains("out of reach"),
            _ => false,
        };
        prop_assume!(!told.problems.iter().any(is_out_of_reach));
        let options = OpenOptions::new(false, 0);
        // As a repair opens it, which does not know the topic's settings.
        let config = LogConfig {
            cleanup_policy: CleanupPolicy::COMPACT,
            ..LogConfig::default()
        };
        let (mut log, opening) = Log::open(disk.clone(), DIRECTORY.into(), config, &options).unwrap();
        let as_cut = opening.cut.map(|it| (it.path, it.position, it.bytes));
        prop_assert_eq!(told.would_cut.map(|it| (it.path, it.position, it.bytes)), as_cut);
        prop_assert_eq!(told.would_remove, opening.segments_removed);
        log.close().unwrap();
        // A leader epoch lies outside the checksum: recovery has no way to tell a false one.
        let left = look(&disk).problems;
        let left: Vec<_> = left
            .into_iter()
            .filter(|it| !matches!(it.fault, Fault::EpochFalls { .. } | Fault::EpochDiffers { .. }))
            .collect();
        prop_assert_eq!(left, []);
    }

    /// Covers LG-231: no file is too strange to be looked at.
    #[test]
    fn files_of_garbage_are_looked_at_to_their_end(
        bytes in prop::collection::vec(any::<u8>(), 0..600),
        extension in prop::sample::select(vec![
            "log", "index", "timeindex", "txnindex", "snapshot", "log.swap",
        ]),
    ) {
        let (disk, mut log) = filled();
        log.close().unwrap();
        let name = format!("{FIRST}.{extension}");
        let file = disk.open(&path(&name), OpenMode::CreateOrTruncate).unwrap();
        file.write_all_at(&bytes, 0).unwrap();
        look(&disk);
        let mut out = Vec::new();
        _ = crate::dump(&disk, &path(&name), Depth::Records, &mut out);
    }
}
