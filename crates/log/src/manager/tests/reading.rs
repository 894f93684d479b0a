//! What is met while logs are read: a disk that fails, and damage.

use std::path::{Path, PathBuf};

use klamm_io::sim::{Fault, SimDisk};
use klamm_io::{Disk as _, DiskErrorKind, DiskFile as _, DiskOperation, OpenMode};
use klamm_primitives::Offset;

use super::support::*;
use crate::read::{Isolation, ReadError, ReadLimit};

const ALL: ReadLimit = ReadLimit {
    bytes_max: 1 << 20,
    whole_first_batch: true,
};

/// The records are read only when they are sent, by somebody who knows nothing of directories.
#[test]
fn a_disk_that_does_not_give_what_was_promised_takes_its_directory_offline() {
    let disk = SimDisk::new(1);
    let bench = Bench::of(&["/a", "/b"]);
    let manager = bench.open(&disk);
    let names = [partition("t", 0), partition("t", 1)];
    let logs = names.each_ref().map(|name| bench.create(&manager, name));
    let ranges = logs.each_ref().map(|log| {
        append(log, 3);
        let read = log.reader().read(Offset::ZERO, ALL, Isolation::LogEnd);
        read.unwrap().range.unwrap()
    });
    for kind in [DiskErrorKind::TooManyFiles, DiskErrorKind::NoMemory] {
        disk.inject(Fault::on(DiskOperation::Read).failing_with(kind).times(3));
        for _ in 0..3 {
            ranges[0].read().unwrap_err();
        }
    }
    assert_eq!(logs[0].directory().told_len(), 2, "each is told once");
    manager.run_due(bench.now());
    assert_eq!(bench.take_events(), [], "that is not the disk's fault");

    disk.inject(Fault::on(DiskOperation::Read).times(2));
    ranges[0].read().unwrap_err();
    ranges[0].read_front(&mut [0; 8]).unwrap_err();
    assert_eq!(bench.take_events(), [], "whoever reads is not held up");
    manager.run_due(bench.now());
    let offline = Seen::Offline(PathBuf::from("/a"), vec![names[0].clone()]);
    assert_eq!(bench.take_events(), [offline]);
    assert!(logs[0].lock().is_failed());
    ranges[1].read().unwrap();
    manager.run_due(bench.now());
    assert_eq!(bench.take_events(), []);
    let reason = manager.directories()[0].offline.clone().unwrap();
    let reason = reason.to_string();
    assert!(
        reason.contains("/a/t-0/00000000000000000000.log"),
        "{reason}"
    );
}

/// A file that is shorter than what was promised of it says nothing of the others.
#[test]
fn a_file_that_is_too_short_does_not_take_its_directory_offline() {
    let disk = SimDisk::new(1);
    let bench = Bench::of(&["/a"]);
    let manager = bench.open(&disk);
    let log = bench.create(&manager, &partition("t", 0));
    append(&log, 3);
    let read = log.reader().read(Offset::ZERO, ALL, Isolation::LogEnd);
    let path = Path::new("/a/t-0/00000000000000000000.log");
    let file = disk.open(path, OpenMode::ReadWrite).unwrap();
    file.set_len(100).unwrap();
    let error = read.unwrap().range.unwrap().read().unwrap_err();
    assert_eq!(error.kind(), DiskErrorKind::UnexpectedEnd);
    manager.run_due(bench.now());
    assert_eq!(bench.take_events(), []);
}

#[test]
fn damage_is_told_once_for_each_place() {
    let disk = SimDisk::new(1);
    let bench = Bench::of(&["/a"]);
    let manager = bench.open(&disk);
    let log = bench.create(&manager, &partition("t", 0));
    append(&log, 3);
    let read = |from| log.reader().read(Offset::new(from), ALL, Isolation::LogEnd);
    let second = read(1).unwrap().start.position;
    let path = Path::new("/a/t-0/00000000000000000000.log");
    let file = disk.open(path, OpenMode::ReadWrite).unwrap();
    file.write_all_at(&[0xff; 4], u64::from(second) + 8)
        .unwrap();
    let told = || log.reader().shared.damage.len();
    assert_eq!(told(), 0);
    for from in [1, 2, 1, 2] {
        assert!(matches!(read(from), Err(ReadError::Segment(_))));
    }
    assert_eq!(told(), 1);
    file.write_all_at(&[0xff; 4], 8).unwrap();
    for _ in 0..2 {
        assert!(matches!(read(0), Err(ReadError::Segment(_))));
    }
    assert_eq!(told(), 2);
    // Neither is want of descriptors damage.
    disk.inject(Fault::on(DiskOperation::Read).failing_with(DiskErrorKind::TooManyFiles));
    assert!(read(0).is_err());
    assert_eq!(told(), 2);
}
