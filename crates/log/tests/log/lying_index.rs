//! Indexes that went bad after a clean stop, when nobody reads the segments through: no record may
//! be passed over for that.

use klamm_io::sim::{Crash, Fault};
use klamm_io::{Disk as _, DiskOperation};
use klamm_log::{Isolation, LogConfig, OpenOptions, ReadError, ReadLimit, TimeTarget};
use klamm_records::{Codecs, Outcome};

use crate::support::{
    Batch, Bed, NOW_MS, WHOLE, all, keep_directory, log_file, offset, open, unclean,
};

const INDEX: &str = "00000000000000000000.index";
const TIME_INDEX: &str = "00000000000000000000.timeindex";

/// One segment with an entry for nearly each of its 40 batches, closed well.
fn filled() -> Bed {
    let mut bed = Bed::new(LogConfig {
        segment_bytes: 1 << 20,
        index_bytes: 4096,
        index_interval_bytes: 100,
        ..LogConfig::default()
    });
    for at in 0..40 {
        bed.append(&Batch::at(&[1000 + at, 1000 + at]).sized(150));
    }
    bed.commit_all();
    bed.reopen()
}

/// Reads from each offset, one by one; the first batch must be the one with that offset.
fn assert_all_found(bed: &Bed) {
    for from in 0..80 {
        let read = bed
            .log
            .reader()
            .read(offset(from), WHOLE, Isolation::LogEnd);
        let found = crate::support::offsets_of(&crate::support::batches(&read.unwrap()));
        assert_eq!(found, all(from / 2 * 2..80), "from {from}");
    }
}

fn put(bytes: &mut [u8], entry: usize, (relative, position): (u32, u32)) {
    let entry = &mut bytes[entry * 8..][..8];
    entry[..4].copy_from_slice(&relative.to_be_bytes());
    entry[4..].copy_from_slice(&position.to_be_bytes());
}

#[test]
fn an_entry_that_leads_too_far_hides_nothing() {
    let entries = filled().offset_index(0);
    assert!(entries.len() > 30, "{entries:?}");
    let batch_len = entries[1].1 - entries[0].1;
    for entry in [0, 5, 20, entries.len() - 2] {
        let (relative, position) = entries[entry];
        let lies = [
            // A later batch; a place within a batch; an offset that comes earlier.
            (relative, position + 2 * batch_len),
            (relative, position + 7),
            (relative, entries[entries.len() - 1].1 + 1),
            (relative - 1, position),
        ];
        for lie in lies {
            let mut bed = filled();
            let mut bytes = bed.content(INDEX);
            put(&mut bytes, entry, lie);
            bed.overwrite(INDEX, &bytes);
            assert_all_found(&bed);
            if lie.0 == relative {
                assert_ne!(bed.content(INDEX), bytes, "it was made anew");
            }
            // It is appended to as ever, and right when it is opened again.
            bed.append(&Batch::at(&[2000, 2000]).sized(150));
            bed.log.truncate_to(offset(80), 0).unwrap();
            let bed = bed.reopen();
            assert_all_found(&bed);
        }
    }
}

#[test]
fn every_byte_of_an_index_may_go_bad() {
    let bed = filled();
    let good = bed.content(INDEX);
    for at in 0..good.len() {
        let bed = filled();
        let mut bytes = good.clone();
        bytes[at] ^= 1 << (at % 8);
        bed.overwrite(INDEX, &bytes);
        // What is found by a look-up that opens the index, and by one that has it open.
        for from in [0, 9, 40, 79] {
            let read = bed
                .log
                .reader()
                .read(offset(from), WHOLE, Isolation::LogEnd);
            let found = crate::support::offsets_of(&crate::support::batches(&read.unwrap()));
            assert_eq!(found, all(from / 2 * 2..80), "byte {at} from {from}");
        }
    }
}

#[test]
fn a_time_index_that_lies_hides_nothing() {
    let good = filled().content(TIME_INDEX);
    let entries = good.len() / 12;
    for (entry, relative) in [(5, 40_u32), (20, 79), (entries - 1, 3), (3, 1)] {
        let bed = filled();
        let mut bytes = good.clone();
        bytes[entry * 12 + 8..][..4].copy_from_slice(&relative.to_be_bytes());
        bed.overwrite(TIME_INDEX, &bytes);
        for at in 0..40 {
            let target = TimeTarget::AtOrAfter(1000 + at);
            let found = bed
                .log
                .reader()
                .offset_for_timestamp(target, &mut Codecs::default());
            let found = found.unwrap().unwrap();
            assert_eq!(found.offset, offset(2 * at), "entry {entry} to {relative}");
        }
    }
}

/// Covers LG-156: an entry with too small an offset behind what is read hides no aborted transaction.
#[test]
fn an_entry_that_comes_too_early_hides_no_abort() {
    let mut bed = Bed::new(LogConfig {
        segment_bytes: 1 << 20,
        index_bytes: 4096,
        index_interval_bytes: 100,
        ..LogConfig::default()
    });
    for _ in 0..10 {
        bed.append(&Batch::of(1).sized(150));
    }
    bed.append(&Batch::of(1).by(1, 0, 0).transactional().sized(150));
    for _ in 0..10 {
        bed.append(&Batch::of(1).sized(150));
    }
    bed.append_marker((1, 0), Outcome::Abort);
    bed.commit_all();
    let bed = bed.reopen();
    let aborted = |bed: &Bed, batches: u32| {
        let batch_len = u32::try_from(bed.log.size()).unwrap() / 22;
        let limit = ReadLimit {
            bytes_max: batches * batch_len,
            whole_first_batch: true,
        };
        let read = bed
            .log
            .reader()
            .read(offset(0), limit, Isolation::Committed);
        read.unwrap().aborted.unwrap().len()
    };
    assert_eq!((aborted(&bed, 4), aborted(&bed, 14)), (0, 1));
    let entries = bed.offset_index(0);
    let good = bed.content(INDEX);
    for (at, (_, position)) in entries.iter().enumerate() {
        let mut bytes = good.clone();
        put(&mut bytes, at, (1, *position));
        bed.overwrite(INDEX, &bytes);
        let disk = bed.disk.crash(Crash::Kill);
        let options = OpenOptions {
            high_watermark: offset(22),
            ..OpenOptions::new(true, NOW_MS)
        };
        let (log, _) = open(&disk, bed.log.config().clone(), &options).unwrap();
        let bed = Bed { disk, log };
        assert_eq!(aborted(&bed, 14), 1, "entry {at}");
    }
}

/// A transaction index waits for its sync, also while the offset index beside it goes bad and cannot
/// be made anew.
#[test]
fn a_transaction_index_is_synced_although_the_others_could_not_be_made_anew() {
    for is_opened_again in [false, true] {
        let config = LogConfig {
            segment_bytes: 1 << 20,
            index_bytes: 4096,
            index_interval_bytes: 100,
            ..LogConfig::default()
        };
        let mut bed = Bed::new(config.clone());
        bed.append(&Batch::of(1).by(1, 0, 0).transactional());
        bed.append_marker((1, 0), Outcome::Abort);
        for at in 0..40 {
            bed.append(&Batch::at(&[1000 + at, 1000 + at]).sized(150));
        }
        bed.commit_all();
        bed.log.roll(offset(82), NOW_MS).unwrap();
        let mut bytes = bed.content(INDEX);
        for entry in 0..bytes.len() / 8 {
            let relative = u32::try_from(entry).unwrap() + 1;
            put(&mut bytes, entry, (relative, 7 * relative));
        }
        bed.overwrite(INDEX, &bytes);
        bed.disk.inject(Fault::on(DiskOperation::RemoveFile));
        let read = |bed: &Bed, from| {
            let reader = bed.log.reader();
            reader.read(offset(from), WHOLE, Isolation::Committed)
        };
        assert!(read(&bed, 60).is_err(), "the index could not be made anew");
        if is_opened_again {
            assert!(read(&bed, 60).is_ok());
        }
        bed.log.flush().unwrap();
        keep_directory(&bed.disk);
        let disk = bed.disk.crash(Crash::PowerLossLosingAll);
        let (log, _) = open(&disk, config, &unclean(82)).unwrap();
        let mut bed = Bed { disk, log };
        bed.commit_all();
        let aborted = read(&bed, 0).unwrap().aborted.unwrap();
        assert_eq!(aborted.len(), 1, "opened again: {is_opened_again}");
    }
}

/// A batch that is damaged itself is an error each time, and the index is not made anew each time.
#[test]
fn damage_of_the_log_is_not_taken_for_a_lie_of_the_index() {
    let bed = filled();
    let (_, position) = bed.offset_index(0)[10];
    let mut bytes = bed.content(&log_file(0));
    // The batch's length.
    bytes[position as usize + 8..][..4].copy_from_slice(&[0xff; 4]);
    bed.overwrite(&log_file(0), &bytes);
    let damaged = bed.offset_index(0)[10].0;
    for _ in 0..3 {
        let from = offset(i64::from(damaged));
        let read = bed.log.reader().read(from, WHOLE, Isolation::LogEnd);
        assert!(matches!(read, Err(ReadError::Segment(_))), "{read:?}");
    }
    let read = |from| {
        let read = bed
            .log
            .reader()
            .read(offset(from), WHOLE, Isolation::LogEnd);
        read.unwrap().start.position
    };
    assert_eq!(read(0), 0);
    let removed = bed.disk.calls(klamm_io::DiskOperation::RemoveFile);
    assert!(
        bed.log
            .reader()
            .read(offset(70), WHOLE, Isolation::LogEnd)
            .is_err()
    );
    assert_eq!(bed.disk.calls(klamm_io::DiskOperation::RemoveFile), removed);
    assert!(bed.disk.metadata(&Bed::path(INDEX)).is_ok());
}
