//! Directories where files should be: somebody has put them there, and the disk is well.

use std::path::Path;

use klamm_io::sim::SimDisk;
use klamm_io::{Disk, RealDisk};
use klamm_primitives::Uuid;

use super::support::*;
use crate::disk_failure::DiskFailure as _;

const FILES: [&str; 8] = [
    "partition.metadata",
    "leader-epoch-checkpoint",
    "leader-epoch-checkpoint.tmp",
    "00000000000000000000.log",
    "00000000000000000000.index",
    "00000000000000000000.timeindex",
    "00000000000000000000.txnindex",
    "00000000000000000006.snapshot",
];

/// Covers LG-193: what is wrong with a partition costs no other one.
#[test]
fn a_directory_in_the_place_of_a_file_costs_its_partition_alone() {
    fn check<D: Disk>(disk: &D, directory: &str, name: &str, was_clean: bool) {
        let bench = Bench::of(&[directory]);
        let manager = bench.open(disk);
        let (good, bad) = (partition("good", 0), partition("bad", 0));
        for partition in [&good, &bad] {
            let created = manager.create(partition, Some(Uuid::ONE), &bench.config, BEGIN_MS);
            append(&created.unwrap(), 5);
        }
        if was_clean {
            manager.stop(epoch(1));
        } else {
            drop(manager);
        }
        let path = Path::new(directory).join("bad-0").join(name);
        _ = disk.remove_file(&path);
        disk.create_dir_all(&path).unwrap();

        let opened = bench.try_open(disk).unwrap();
        assert!(opened.offline.is_empty(), "{name}: {:?}", opened.offline);
        let manager = opened.manager;
        if let Some(log) = manager.get(&bad) {
            let appended = log.lock().append(&[batch()], EPOCH, BEGIN_MS);
            if let Err(error) = appended {
                assert!(!error.takes_directory_offline(), "{name}: {error}");
            }
            log.request_sync();
            manager.sync_requested();
        } else {
            let (partition, error) = &opened.unopened[0];
            let told = error.to_string();
            assert_eq!(*partition, bad);
            assert!(told.contains(path.to_str().unwrap()), "{name}: {told}");
        }
        let is_needed = ["partition.metadata", "leader-epoch-checkpoint", FILES[3]].contains(&name);
        assert!(!is_needed || manager.get(&bad).is_none(), "{name}");
        append(&manager.get(&good).unwrap(), 1);
        manager.run_due(bench.after(bench.options.retention_check_interval));
        manager.stop(epoch(2));
        assert!(
            !bench
                .take_events()
                .iter()
                .any(|it| matches!(it, Seen::Offline(..))),
            "{name}"
        );
        let opened = bench.try_open(disk).unwrap();
        assert!(opened.offline.is_empty() && opened.manager.get(&good).is_some());
    }
    for name in FILES {
        for was_clean in [true, false] {
            check(&SimDisk::new(1), "/logs", name, was_clean);
            let directory = tempfile::tempdir().unwrap();
            let path = directory.path().join("logs");
            check(&RealDisk, path.to_str().unwrap(), name, was_clean);
        }
    }
}
