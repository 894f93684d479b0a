//! Partitions come and go.

use std::path::{Path, PathBuf};
use std::time::Duration;

use klamm_io::sim::{Crash, Fault, SimDisk};
use klamm_io::{Disk, DiskErrorKind, DiskFile, DiskOperation, OpenMode};
use klamm_primitives::{BrokerEpoch, Offset, TopicPartition, Uuid};

use super::support::*;
use crate::log_event::DirectoryWork;
use crate::manager::{CreateError, DeleteError, LogManager, NewPartition};
use crate::offset_checkpoint::Checkpoint;
use crate::partition_metadata;

#[test]
fn lg_192_a_new_partition_goes_where_the_fewest_are() {
    let disk = SimDisk::new(1);
    let bench = Bench::of(&["/a", "/b", "/c"]);
    let manager = bench.open(&disk);
    let directory_of = |index| {
        let log = bench.create(&manager, &partition("t", index));
        log.log_directory().to_str().unwrap().to_owned()
    };
    let placed: Vec<_> = (0..6).map(directory_of).collect();
    assert_eq!(placed, ["/a", "/b", "/c", "/a", "/b", "/c"]);
    manager
        .delete(&partition("t", 1), bench.now().instant)
        .unwrap();
    assert_eq!(directory_of(6), "/b");
    manager.stop(BrokerEpoch::NONE);

    // What was counted is counted again at the start.
    let manager = bench.open(&disk);
    let counts = manager
        .directories()
        .into_iter()
        .map(|it| it.partition_count);
    assert_eq!(counts.collect::<Vec<_>>(), [2, 2, 2]);
}

#[test]
fn lg_192_a_directory_that_makes_no_partition_goes_offline_and_the_next_is_tried() {
    let disk = SimDisk::new(1);
    let bench = Bench::of(&["/a", "/b"]);
    let manager = bench.open(&disk);
    let here = [partition("t", 0), partition("t", 2)];
    let log = bench.create(&manager, &here[0]);
    bench.create(&manager, &partition("t", 1));
    disk.inject(Fault::on(DiskOperation::CreateDir).under("/a").always());
    let made = bench.create(&manager, &here[1]);
    assert_eq!(made.log_directory(), Path::new("/b"));
    let offline = Seen::Offline(PathBuf::from("/a"), vec![here[0].clone()]);
    assert_eq!(bench.take_events(), [offline]);

    assert!(
        manager.get(&here[0]).is_none(),
        "it went with its directory"
    );
    let appended = log.lock().append(&[batch()], EPOCH, BEGIN_MS);
    assert!(appended.is_err());
    append(&manager.get(&partition("t", 1)).unwrap(), 1);
    let again = manager
        .create(&here[0], None, &bench.config, BEGIN_MS)
        .err()
        .unwrap();
    assert!(matches!(again, CreateError::Unavailable { .. }), "{again}");
}

#[test]
fn a_full_disk_makes_no_partition_and_stays_online() {
    let disk = SimDisk::new(1);
    let bench = Bench::of(&["/a"]);
    let manager = bench.open(&disk);
    let log = bench.create(&manager, &partition("t", 0));
    append(&log, 1);
    for operation in [
        DiskOperation::CreateDir,
        DiskOperation::Write,
        DiskOperation::Open,
    ] {
        let fault = Fault::on(operation).failing_with(DiskErrorKind::Full);
        disk.inject(
            fault
                .where_path(|it| it.to_str().unwrap().contains("t-1"))
                .always(),
        );
        let id = Some(Uuid::ONE);
        let refused = manager.create(&partition("t", 1), id, &bench.config, BEGIN_MS);
        let refused = refused.err().unwrap();
        assert!(matches!(refused, CreateError::Shortage(_)), "{refused}");
        disk.clear_faults();
        let left: Vec<_> = names(&disk, "/a")
            .into_iter()
            .filter(|it| it.contains("t-1"))
            .collect();
        assert!(left.is_empty(), "{left:?}");
    }
    append(&log, 1);
    assert!(bench.take_events().is_empty());
    append(&bench.create(&manager, &partition("t", 1)), 1);
}

#[test]
fn lg_010_no_partition_is_ever_found_without_its_topic_id() {
    let bench = Bench::of(&["/logs"]);
    let id = Uuid::from_u128(0x1234_5678_9abc_def0);
    let name = partition("t", 0);
    let mut found = 0;
    for call in 0.. {
        let disk = SimDisk::new(call);
        let manager = bench.open(&disk);
        disk.inject(Fault::on_any().after(call).cutting_power());
        let made = manager.create(&name, Some(id), &bench.config, BEGIN_MS);
        let was_made = made.is_ok();
        if let Ok(log) = made {
            assert_eq!(log.topic_id(), Some(id));
        }
        for seed in 0..8 {
            let disk = disk.crash(Crash::PowerLoss { seed });
            let manager = bench.open(&disk);
            if let Some(log) = manager.get(&name) {
                assert_eq!(log.topic_id(), Some(id), "call {call}");
                found += 1;
            } else {
                assert!(!was_made, "call {call}");
            }
            // What was begun stands in nobody's way, and goes.
            bench.create(&manager, &name);
            manager.run_due(bench.after(bench.options.file_delete_delay));
            assert!(
                names(&disk, "/logs")
                    .iter()
                    .all(|it| !it.ends_with("-delete"))
            );
        }
        if was_made {
            break;
        }
    }
    assert!(found > 8);
}

#[test]
fn lg_010_another_topic_of_the_same_name_is_refused() {
    let disk = SimDisk::new(1);
    let bench = Bench::of(&["/logs"]);
    let manager = bench.open(&disk);
    let name = partition("t", 0);
    let (one, two) = (Uuid::from_u128(1 << 64), Uuid::from_u128(2 << 64));
    let create = |id| manager.create(&name, id, &bench.config, BEGIN_MS);
    let log = create(None).unwrap();
    assert_eq!(log.topic_id(), None);
    create(Some(one)).unwrap();
    assert_eq!(log.topic_id(), Some(one), "it had none yet");
    let path = Path::new("/logs/t-0");
    assert_eq!(partition_metadata::read(&disk, path).unwrap(), Some(one));
    let refused = create(Some(two)).err().unwrap();
    assert!(
        matches!(refused, CreateError::InconsistentTopicId { found, expected, .. } if (found, expected) == (one, two)),
    );
    let told = refused.to_string();
    for part in [
        "/logs/t-0/partition.metadata",
        &one.to_string(),
        &two.to_string(),
    ] {
        assert!(told.contains(part), "{told}");
    }
    assert!(create(None).is_ok());
}

#[test]
fn lg_185_a_deleted_partition_is_gone_at_once_and_its_files_later() {
    let disk = SimDisk::new(1);
    let bench = Bench::of(&["/logs"]);
    let manager = bench.open(&disk);
    let name = partition("t", 0);
    let old = bench.create(&manager, &name);
    append(&old, 5);
    manager.delete(&name, bench.now().instant).unwrap();
    assert!(manager.get(&name).is_none());
    assert!(!exists(&disk, "/logs/t-0"));
    let is_deleted = |it: &String| it.starts_with("t-0.") && it.ends_with("-delete");
    assert_eq!(
        names(&disk, "/logs")
            .iter()
            .filter(|it| is_deleted(it))
            .count(),
        1
    );
    assert_eq!(
        manager.delete(&name, bench.now().instant),
        Err(DeleteError::NotFound)
    );

    let new = bench.create(&manager, &name);
    append(&new, 1);
    assert_eq!(new.reader().offsets().log_end, Offset::new(1));
    assert_eq!(
        old.reader().offsets().log_end,
        Offset::new(5),
        "who has it reads on"
    );

    let delay = bench.config.file_delete_delay;
    manager.run_due(bench.after(delay.mul_f64(0.99)));
    assert_eq!(
        names(&disk, "/logs")
            .iter()
            .filter(|it| is_deleted(it))
            .count(),
        1
    );
    assert!(manager.next_deadline() <= bench.after(delay).instant);
    manager.run_due(bench.after(delay));
    assert_eq!(
        names(&disk, "/logs")
            .iter()
            .filter(|it| is_deleted(it))
            .count(),
        0
    );
    append(&new, 1);
}

#[test]
fn lg_186_a_directory_that_has_vanished_is_deleted_already() {
    let disk = SimDisk::new(1);
    let bench = Bench::of(&["/logs"]);
    let manager = bench.open(&disk);
    let name = partition("t", 0);
    bench.create(&manager, &name);
    for file in names(&disk, "/logs/t-0") {
        disk.remove_file(&Path::new("/logs/t-0").join(file))
            .unwrap();
    }
    disk.remove_dir(Path::new("/logs/t-0")).unwrap();
    assert_eq!(manager.delete(&name, bench.now().instant), Ok(()));
    assert!(bench.take_events().is_empty());
    bench.create(&manager, &name);
}

/// A full disk may have no room for a longer name; what is deleted goes once there is some, and keeps
/// its name from others until then.
#[test]
fn what_is_deleted_on_a_full_disk_loses_its_name_later() {
    for operation in [DiskOperation::Rename, DiskOperation::SyncDir] {
        let disk = SimDisk::new(1);
        let bench = Bench::of(&["/a", "/b"]);
        let manager = bench.open(&disk);
        let name = partition("t", 0);
        append(&bench.create(&manager, &name), 5);
        let full = Fault::on(operation).failing_with(DiskErrorKind::Full);
        disk.inject(full.always());
        assert_eq!(manager.delete(&name, bench.now().instant), Ok(()));
        assert!(bench.take_events().is_empty() && manager.get(&name).is_none());
        let again = manager.delete(&name, bench.now().instant);
        assert_eq!(again, Err(DeleteError::NotFound));
        let create = || manager.create(&name, None, &bench.config, BEGIN_MS);
        let after = |seconds: u64| bench.after(Duration::from_secs(seconds)).instant;
        for seconds in [5, 10] {
            assert!(matches!(create(), Err(CreateError::NameTaken { .. })));
            manager.remove_doomed(after(seconds));
        }
        disk.clear_faults();
        manager.remove_doomed(after(14));
        assert!(create().is_err(), "it is not due");
        manager.remove_doomed(after(15));
        assert!(!exists(&disk, "/a/t-0"));
        let log = create().unwrap();
        assert_eq!(log.reader().offsets().log_end, Offset::new(0));
        manager.remove_doomed(after(15) + bench.config.file_delete_delay);
        let left = |it: &String| it.ends_with("-delete");
        assert!(!names(&disk, "/a").iter().any(left));
        assert!(bench.take_events().is_empty());
    }
}

/// What could not be opened can be deleted all the same, if its topic's id says that it is meant;
/// whoever has its name next begins with nothing of it.
#[test]
fn a_partition_that_could_not_be_opened_is_deleted_by_its_topics_id() {
    let (old, new) = (Uuid::from_u128(1), Uuid::from_u128(2));
    for is_damaged in [false, true] {
        let disk = SimDisk::new(1);
        let bench = Bench::of(&["/logs"]);
        let name = partition("t", 0);
        let create = |manager: &LogManager<SimDisk>, id| {
            manager.create(&name, Some(id), &bench.config, BEGIN_MS)
        };
        let manager = bench.open(&disk);
        let log = create(&manager, old).unwrap();
        append(&log, 5);
        log.lock().set_high_watermark(Offset::new(4));
        log.lock().raise_log_start(Offset::new(2)).unwrap();
        log.lock().flush().unwrap();
        manager.checkpoint_all();
        drop((log, manager));
        let segment = Path::new("/logs/t-0/00000000000000000000.log");
        if is_damaged {
            // What was durable is not there.
            let file = disk.open(segment, OpenMode::ReadWrite).unwrap();
            file.set_len(0).unwrap();
        } else {
            let fault = Fault::on(DiskOperation::Open).where_path(move |it| it == segment);
            disk.inject(fault.failing_with(DiskErrorKind::TooManyFiles));
        }
        let manager = bench.try_open(&disk).unwrap().manager;
        assert!(manager.is_unavailable(&name));

        let is_of = |id| move |found: Option<Uuid>| found == Some(id);
        let delete = |id| manager.delete_unserved(&name, is_of(id), bench.now().instant);
        assert_eq!(delete(new), Err(DeleteError::Offline), "it is another's");
        // Its name stays with it for as long as there is no room for another one.
        disk.inject(Fault::on(DiskOperation::SyncDir).failing_with(DiskErrorKind::Full));
        assert_eq!(delete(old), Ok(()));
        assert_eq!(delete(old), Err(DeleteError::NotFound));
        assert!(matches!(
            create(&manager, new),
            Err(CreateError::NameTaken { .. })
        ));
        manager.remove_doomed(bench.after(Duration::from_secs(5)).instant);

        append(&create(&manager, new).unwrap(), 3);
        let left = |it: &String| it.ends_with("-delete");
        assert!(names(&disk, "/logs").iter().any(left));
        let delay = Duration::from_secs(5) + bench.config.file_delete_delay;
        manager.remove_doomed(bench.after(delay).instant);
        assert!(!names(&disk, "/logs").iter().any(left));
        manager.checkpoint_all();
        drop(manager);
        let offsets = bench.open(&disk).get(&name).unwrap().reader().offsets();
        assert_eq!(offsets.log_start, Offset::ZERO);
        assert_eq!(offsets.log_end, Offset::new(3));
    }
}

#[test]
fn lg_188_a_deletion_that_fails_takes_its_directory_offline_and_no_other() {
    let disk = SimDisk::new(1);
    let bench = Bench::of(&["/a", "/b"]);
    let manager = bench.open(&disk);
    for index in 0..4 {
        bench.create(&manager, &partition("t", index));
    }
    disk.inject(Fault::on(DiskOperation::Rename).under("/a/t-0"));
    let deleted = manager.delete(&partition("t", 0), bench.now().instant);
    assert_eq!(deleted, Err(DeleteError::Offline));
    let offline = Seen::Offline(PathBuf::from("/a"), vec![partition("t", 2)]);
    assert_eq!(bench.take_events(), [offline]);
    let deleted = manager.delete(&partition("t", 0), bench.now().instant);
    assert_eq!(
        deleted,
        Err(DeleteError::Offline),
        "it is still on the disk"
    );
    manager
        .delete(&partition("t", 1), bench.now().instant)
        .unwrap();
    append(&manager.get(&partition("t", 3)).unwrap(), 1);

    // The same for the removal of the files.
    disk.inject(Fault::on(DiskOperation::RemoveFile).under("/b"));
    manager.run_due(bench.after(bench.config.file_delete_delay));
    let offline = Seen::Offline(PathBuf::from("/b"), vec![partition("t", 3)]);
    assert_eq!(bench.take_events(), [offline]);
    assert!(manager.is_empty());
}

#[test]
fn a_partition_made_anew_has_none_of_the_offsets_of_the_one_before() {
    let bench = Bench::of(&["/logs"]);
    let name = partition("t", 0);
    for restart in [false, true] {
        let mut disk = SimDisk::new(1);
        let mut manager = bench.open(&disk);
        let log = bench.create(&manager, &name);
        append(&log, 10);
        {
            let mut log = log.lock();
            log.set_high_watermark(Offset::new(10));
            log.raise_log_start(Offset::new(6)).unwrap();
            log.flush().unwrap();
        }
        manager.checkpoint_all();
        let checkpoints = log.directory().checkpoints();
        checkpoints
            .set_cleaner_offset(&name, Offset::new(9))
            .unwrap();
        manager.delete(&name, bench.now().instant).unwrap();
        if restart {
            disk = disk.crash(Crash::Kill);
            manager = bench.open(&disk);
        }
        append(&bench.create(&manager, &name), 8);
        // No checkpoint is written before the crash.
        let disk = disk.crash(Crash::Kill);
        let cleaned = Checkpoint::Cleaner.read(&disk, Path::new("/logs")).unwrap();
        assert!(cleaned.is_empty());
        let offsets = bench.open(&disk).get(&name).unwrap().reader().offsets();
        assert_eq!(offsets.log_start, Offset::ZERO);
        assert_eq!(offsets.high_watermark, Offset::ZERO);
        assert_eq!(offsets.log_end, Offset::new(8));
    }
}

fn named(count: i32) -> Vec<TopicPartition> {
    (0..count).map(|index| partition("many", index)).collect()
}

fn new_partitions<'a>(bench: &'a Bench, partitions: &'a [TopicPartition]) -> Vec<NewPartition<'a>> {
    let new = partitions.iter().map(|partition| NewPartition {
        partition,
        topic_id: Some(Uuid::ONE),
        config: &bench.config,
    });
    new.collect()
}

#[test]
fn many_partitions_are_made_with_few_syncs_and_are_as_durable_as_one() {
    let disk = SimDisk::new(1);
    let bench = Bench::of(&["/a", "/b"]);
    let manager = bench.open(&disk);
    let partitions = named(301);
    bench.create(&manager, &partitions[7]);
    let before = disk.calls(DiskOperation::Sync) + disk.calls(DiskOperation::SyncDir);
    let made = manager.create_many(&new_partitions(&bench, &partitions), BEGIN_MS);
    let after = disk.calls(DiskOperation::Sync) + disk.calls(DiskOperation::SyncDir);
    for (partition, log) in partitions.iter().zip(made) {
        assert_eq!(log.unwrap().partition(), partition);
    }
    // Each file and its directory, the two log directories, and one that was there without an id.
    assert!(after - before <= 2 * 300 + 2 + 2, "{}", after - before);
    let counts = manager.directories().into_iter();
    let counts: Vec<_> = counts.map(|it| it.partition_count).collect();
    assert_eq!(counts, [151, 150]);
    append(&manager.get(&partitions[300]).unwrap(), 1);
    drop(manager);

    let manager = bench.open(&disk.crash(Crash::PowerLossLosingAll));
    for partition in &partitions {
        let log = manager.get(partition).unwrap();
        assert_eq!(log.topic_id(), Some(Uuid::ONE), "{partition}");
    }
}

#[test]
fn of_many_partitions_those_are_made_that_can_be() {
    let disk = SimDisk::new(1);
    let bench = Bench::of(&["/a"]);
    let manager = bench.open(&disk);
    let in_the_way = Path::new("/a/many-3/kept");
    disk.create_dir_all(in_the_way).unwrap();
    let partitions = named(20);
    let made = manager.create_many(&new_partitions(&bench, &partitions), BEGIN_MS);
    for (partition, made) in partitions.iter().zip(made) {
        if partition.partition.get() == 3 {
            let refused = made.err();
            assert!(
                matches!(refused, Some(CreateError::NameTaken { .. })),
                "{refused:?}"
            );
        } else {
            append(&made.unwrap(), 1);
        }
    }
    assert!(exists(&disk, in_the_way));
    assert_eq!(
        names(&disk, "/a")
            .iter()
            .filter(|it| it.ends_with("-delete"))
            .count(),
        0
    );
}

/// What a sync that failed has lost no later one would tell, so nothing is tried again there.
#[test]
fn a_sync_that_fails_while_many_partitions_are_made_takes_the_directory_offline() {
    for (operation, after) in [
        (DiskOperation::Sync, 0),
        (DiskOperation::Sync, 7),
        (DiskOperation::SyncDir, 0),
        (DiskOperation::SyncDir, 10),
    ] {
        let disk = SimDisk::new(1);
        let bench = Bench::of(&["/a", "/b"]);
        let manager = bench.open(&disk);
        disk.inject(Fault::on(operation).under("/a").after(after));
        let partitions = named(20);
        let made = manager.create_many(&new_partitions(&bench, &partitions), BEGIN_MS);
        for made in made {
            let made = made.unwrap();
            assert_eq!(made.log_directory(), Path::new("/b"));
            append(&made, 1);
        }
        let offline = Seen::Offline(PathBuf::from("/a"), Vec::new());
        assert_eq!(bench.take_events(), [offline], "{operation:?} {after}");
        let status = manager.directories().remove(0);
        assert_eq!(status.offline.unwrap().work, DirectoryWork::Creating);
        assert_eq!(status.partition_count, 0);
        let left = names(&disk, "/a");
        assert!(!left.iter().any(|it| it.starts_with("many")), "{left:?}");
    }
}

/// Whatever else fails on the way, they are tried again one by one.
#[test]
fn many_partitions_are_made_although_something_fails_once() {
    for (operation, after) in [
        (DiskOperation::CreateDir, 3),
        (DiskOperation::Write, 11),
        (DiskOperation::Sync, 5),
        (DiskOperation::SyncDir, 20),
        (DiskOperation::Rename, 9),
        (DiskOperation::Open, 30),
    ] {
        let disk = SimDisk::new(1);
        let bench = Bench::of(&["/a"]);
        let manager = bench.open(&disk);
        let full = Fault::on(operation).after(after);
        disk.inject(full.failing_with(DiskErrorKind::Full));
        let partitions = named(20);
        let made = manager.create_many(&new_partitions(&bench, &partitions), BEGIN_MS);
        for made in made {
            append(
                &made.unwrap_or_else(|error| panic!("{operation:?}: {error}")),
                1,
            );
        }
        let left = names(&disk, "/a")
            .into_iter()
            .filter(|it| it.ends_with("-delete"));
        assert_eq!(left.count(), 0, "{operation:?}");
    }
}

/// A name that was taken back stays so: with the partition made elsewhere the next start would find it
/// in two directories.
#[test]
fn a_partition_that_could_not_be_made_is_in_no_second_directory_after_a_power_cut() {
    for count in [1, 6] {
        let disk = SimDisk::new(1);
        let bench = Bench::of(&["/a", "/b"]);
        let manager = bench.open(&disk);
        let full = Fault::on(DiskOperation::Open)
            .where_path(|it| it.starts_with("/a") && it.extension().is_some_and(|it| it == "log"));
        disk.inject(full.failing_with(DiskErrorKind::Full).always());
        let partitions = named(count);
        let new = new_partitions(&bench, &partitions);
        let made = if count == 1 {
            vec![manager.create(new[0].partition, None, new[0].config, BEGIN_MS)]
        } else {
            manager.create_many(&new, BEGIN_MS)
        };
        for log in made {
            assert_eq!(log.unwrap().log_directory(), Path::new("/b"));
        }
        disk.clear_faults();
        let after = disk.crash(Crash::PowerLossLosingAll);
        assert_eq!(bench.open(&after).len(), partitions.len());
    }
}
