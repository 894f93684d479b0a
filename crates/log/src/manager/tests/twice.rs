//! Partitions of which a start finds two directories, and how it comes that there are any.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use klamm_io::sim::{Crash, Fault, SimDisk};
use klamm_io::{Disk, DiskErrorKind, DiskFile, DiskOperation, OpenMode};
use klamm_primitives::{Offset, TopicPartition, Uuid};

use super::support::*;
use crate::manager::{CreateError, LogManager, NewPartition, StartError};
use crate::offset_checkpoint::Checkpoint;
use crate::partition_log::PartitionLog;
use crate::partition_metadata;

fn named(count: i32) -> Vec<TopicPartition> {
    (0..count).map(|index| partition("t", index)).collect()
}

/// One by itself, or several at once.
fn make(
    bench: &Bench,
    manager: &LogManager<SimDisk>,
    partitions: &[TopicPartition],
) -> Vec<Result<Arc<PartitionLog<SimDisk>>, CreateError>> {
    let id = Some(Uuid::ONE);
    if let [partition] = partitions {
        return vec![manager.create(partition, id, &bench.config, BEGIN_MS)];
    }
    let new = partitions.iter().map(|partition| NewPartition {
        partition,
        topic_id: id,
        config: &bench.config,
    });
    let new: Vec<_> = new.collect();
    manager.create_many(&new, BEGIN_MS)
}

/// They can be made, and what is flushed into them outlasts the loss of power.
fn assert_kept(
    bench: &Bench,
    disk: &SimDisk,
    manager: LogManager<SimDisk>,
    partitions: &[TopicPartition],
) {
    for made in make(bench, &manager, partitions) {
        let log = made.unwrap();
        assert_eq!(log.topic_id(), Some(Uuid::ONE));
        append(&log, 2);
        log.lock().flush().unwrap();
    }
    assert!(bench.take_events().is_empty());
    drop(manager);
    let manager = bench.open(&disk.crash(Crash::PowerLossLosingAll));
    assert_eq!(manager.len(), partitions.len());
    for log in manager.all() {
        assert_eq!(log.reader().offsets().log_end, Offset::new(2));
    }
}

/// In `/a` no partition is opened for want of room, and its name is not taken back.
fn fail_in_a(disk: &SimDisk, name_fails_with: DiskErrorKind) {
    let in_a = |it: &Path| it.starts_with("/a") && it.extension().is_some_and(|it| it == "log");
    let no_log = Fault::on(DiskOperation::Open).where_path(in_a);
    disk.inject(no_log.failing_with(DiskErrorKind::Full).always());
    let has_name =
        |it: &Path| it.starts_with("/a") && it.file_name().is_some_and(|it| it.len() == 3);
    let keeps_name = Fault::on(DiskOperation::Rename).where_path(has_name);
    disk.inject(keeps_name.failing_with(name_fails_with).always());
}

/// Without room for the other name a partition is there although it was not made; it is made nowhere
/// else before the next call that would make it has taken its name back.
#[test]
fn a_name_that_finds_no_room_to_be_taken_back_is_taken_back_by_the_next_call() {
    for count in [1, 6] {
        let disk = SimDisk::new(1);
        let bench = Bench::of(&["/a", "/b"]);
        let manager = bench.open(&disk);
        let partitions = named(count);
        fail_in_a(&disk, DiskErrorKind::Full);
        for _ in 0..2 {
            let mut refused = 0;
            for made in make(&bench, &manager, &partitions) {
                match made {
                    Ok(log) => assert_eq!(log.log_directory(), Path::new("/b")),
                    Err(CreateError::Shortage(_)) => refused += 1,
                    Err(error) => panic!("{error}"),
                }
            }
            assert_eq!(refused, (count + 1) / 2);
        }
        disk.clear_faults();
        assert_kept(&bench, &disk, manager, &partitions);
    }
}

/// Neither its name nor that it was taken back may be durable, and no later sync tells. What was
/// flushed into a partition of such a name would go with it.
#[test]
fn nothing_is_written_under_a_name_that_may_not_be_durable() {
    for count in [1, 6] {
        for wanting in [DiskErrorKind::Full, DiskErrorKind::TooManyFiles] {
            let disk = SimDisk::new(1);
            let bench = Bench::of(&["/a"]);
            let manager = bench.open(&disk);
            let partitions = named(count);
            let refuse = |name_is_kept: bool| {
                let no_sync =
                    Fault::on(DiskOperation::SyncDir).where_path(|it| it == Path::new("/a"));
                disk.inject(no_sync.failing_with(wanting).always());
                if name_is_kept {
                    let has_name = |it: &Path| it.file_name().is_some_and(|it| it.len() == 3);
                    let keeps_name = Fault::on(DiskOperation::Rename).where_path(has_name);
                    disk.inject(keeps_name.failing_with(wanting).always());
                }
                for made in make(&bench, &manager, &partitions) {
                    assert!(matches!(made, Err(CreateError::Shortage(_))));
                }
                disk.clear_faults();
            };
            refuse(true);
            assert!(exists(&disk, "/a/t-0"), "its name was not taken back");
            refuse(false);
            assert_kept(&bench, &disk, manager, &partitions);
        }
    }
}

/// A disk that fails altogether may keep the name; the partition is made elsewhere, and the next start
/// knows which of the two is in use.
#[test]
fn a_name_that_a_failing_disk_keeps_does_not_stop_the_next_start() {
    for count in [1, 6] {
        for appended in [0, 3] {
            let disk = SimDisk::new(1);
            let bench = Bench::of(&["/a", "/b"]);
            let manager = bench.open(&disk);
            let partitions = named(count);
            fail_in_a(&disk, DiskErrorKind::Failed);
            for made in make(&bench, &manager, &partitions) {
                let log = made.unwrap();
                assert_eq!(log.log_directory(), Path::new("/b"));
                append(&log, appended);
            }
            let offline = Seen::Offline(PathBuf::from("/a"), Vec::new());
            assert_eq!(bench.take_events(), [offline]);
            assert!(exists(&disk, "/a/t-0"), "its name was not taken back");
            drop(manager);

            let disk = disk.crash(Crash::Kill);
            let manager = bench.open(&disk);
            assert_eq!(manager.len(), partitions.len());
            let end = Offset::new(i64::try_from(appended).unwrap());
            for log in manager.all() {
                assert_eq!(log.reader().offsets().log_end, end);
                if appended > 0 {
                    assert_eq!(log.log_directory(), Path::new("/b"));
                }
            }
            manager.run_due(bench.after(bench.options.file_delete_delay));
            let both = [names(&disk, "/a"), names(&disk, "/b")].concat();
            let left = both.iter().filter(|it| it.starts_with("t-"));
            assert_eq!(left.count(), partitions.len(), "{both:?}");
            assert!(manager.stop(epoch(1)).unclean.is_empty());
        }
    }
}

fn write(disk: &SimDisk, path: &str, text: &str) {
    let file = disk.open(Path::new(path), OpenMode::CreateOrTruncate);
    file.unwrap().write_all_at(text.as_bytes(), 0).unwrap();
}

/// Two directories of a partition that were both written to are for a person to tell apart, and so
/// are those of two topics.
#[test]
fn lg_013_a_partition_in_two_directories_stops_the_start() {
    let log_file = "00000000000000000000.log";
    for case in 0..4 {
        let disk = SimDisk::new(1);
        let bench = Bench::of(&["/a", "/b"]);
        bench.open(&disk).stop(epoch(5));
        for path in ["/a/clicks-3", "/b/clicks-3"] {
            disk.create_dir_all(Path::new(path)).unwrap();
        }
        match case {
            0 => {
                write(&disk, &format!("/a/clicks-3/{log_file}"), "x");
                write(&disk, &format!("/b/clicks-3/{log_file}"), "y");
            }
            1 => {
                // All its records were old, and went.
                write(&disk, "/a/clicks-3/00000000000000000042.log", "");
                write(&disk, "/b/clicks-3/leader-epoch-checkpoint", "0\n0\n");
            }
            2 => partition_metadata::write(&disk, Path::new("/a/clicks-3"), Uuid::ONE).unwrap(),
            _ => {
                let point = [(partition("clicks", 3), Offset::new(7))].into();
                for path in ["/a", "/b"] {
                    let checkpoint = Checkpoint::RecoveryPoint;
                    checkpoint.write(&disk, Path::new(path), &point).unwrap();
                }
            }
        }
        let refused = bench.try_open(&disk).err().expect("there are two");
        let StartError::Twice { first, second } = refused else {
            panic!("{refused}");
        };
        assert_eq!(first, PathBuf::from("/a/clicks-3"));
        assert_eq!(second, PathBuf::from("/b/clicks-3"));
        // Nothing was touched, and the stop before was a clean one.
        for file in names(&disk, "/b/clicks-3") {
            let path = Path::new("/b/clicks-3").join(file);
            disk.remove_file(&path).unwrap();
        }
        disk.remove_dir(Path::new("/b/clicks-3")).unwrap();
        if case > 1 {
            assert_eq!(bench.try_open(&disk).unwrap().broker_epoch, epoch(5));
        }
    }
}

/// Of three directories, two may be left out, and never the one with the records.
#[test]
fn of_three_directories_the_one_that_was_written_to_is_used() {
    for used in ["/a", "/b", "/c"] {
        let disk = SimDisk::new(1);
        let bench = Bench::of(&["/a", "/b", "/c"]);
        drop(bench.open(&disk));
        let alone = Bench::of(&[used]).open(&disk);
        append(&bench.create(&alone, &partition("t", 0)), 4);
        drop(alone);
        for path in ["/a/t-0", "/b/t-0", "/c/t-0"] {
            disk.create_dir_all(Path::new(path)).unwrap();
        }
        let manager = bench.open(&disk);
        let log = manager.get(&partition("t", 0)).unwrap();
        assert_eq!(log.log_directory(), Path::new(used));
        assert_eq!(log.reader().offsets().log_end, Offset::new(4));
    }
}

/// Covers LG-193: a topic that was deleted while its directory was offline does not keep the name, and
/// the next start knows which of the two is the new one's.
#[test]
fn a_topic_that_was_deleted_while_its_directory_was_offline_gives_its_name_up() {
    let (old, new) = (Uuid::from_u128(8), Uuid::from_u128(9));
    for is_online_at_next_start in [true, false] {
        let disk = SimDisk::new(1);
        let mut bench = Bench::of(&["/a", "/b"]);
        let manager = bench.open(&disk);
        let name = partition("t", 0);
        let make = |manager: &LogManager<SimDisk>, id| {
            manager.create(&name, Some(id), &bench.config, BEGIN_MS)
        };
        let log = make(&manager, old).unwrap();
        append(&log, 3);
        assert_eq!(log.log_directory(), Path::new("/a"));
        manager.report_failure(&log, std::io::Error::other("a test"));
        assert!(matches!(
            make(&manager, new),
            Err(CreateError::Unavailable { .. })
        ));
        assert!(!manager.forget_offline(&name, |id| id != old));
        assert!(manager.is_unavailable(&name));
        assert!(manager.forget_offline(&name, |id| id == old));
        let log = make(&manager, new).unwrap();
        assert_eq!(log.log_directory(), Path::new("/b"));
        append(&log, 1);
        assert!(!manager.forget_offline(&name, |_| true), "it is in use");
        drop(manager);

        let disk = disk.crash(Crash::Kill);
        let refused = bench.try_open(&disk).err().expect("there are two");
        assert!(matches!(refused, StartError::Twice { .. }), "{refused}");
        bench.options.deleted_topics = [old].into();
        if !is_online_at_next_start {
            disk.inject(Fault::on(DiskOperation::List).under("/a").always());
            drop(bench.try_open(&disk).unwrap());
            disk.clear_faults();
        }
        let manager = bench.open(&disk);
        let log = manager.get(&name).unwrap();
        assert_eq!(log.topic_id(), Some(new));
        assert_eq!(log.reader().offsets().log_end, Offset::new(1));
        let deleted = names(&disk, "/a").into_iter();
        let deleted: Vec<_> = deleted.filter(|it| it.starts_with("t-")).collect();
        assert_eq!(deleted.len(), 1, "{deleted:?}");
        assert!(deleted[0].ends_with("-delete"), "{deleted:?}");
        let kept = format!("/a/{}/00000000000000000000.log", deleted[0]);
        assert!(exists(&disk, &kept), "it has its delay like any other");
        manager.run_due(bench.after(bench.options.file_delete_delay));
        assert!(!exists(&disk, &kept));
    }
}
