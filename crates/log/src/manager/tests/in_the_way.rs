//! Directories, links and pipes where files should be: somebody has put them there, and the disk is
//! well.

use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::Command;

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

/// What stands where a file should.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum What {
    Directory,
    /// A link to itself.
    Loop,
    /// A link into a directory that is not there.
    LinkToNowhere,
    /// A link to a device that takes everything and gives nothing.
    LinkToNull,
    Pipe,
    Socket,
}

impl What {
    fn put<D: Disk>(self, disk: &D, path: &Path) {
        match self {
            Self::Directory => disk.create_dir_all(path).unwrap(),
            Self::Loop => symlink(path.file_name().unwrap(), path).unwrap(),
            Self::LinkToNowhere => symlink("nowhere/at-all", path).unwrap(),
            Self::LinkToNull => symlink("/dev/null", path).unwrap(),
            Self::Pipe => {
                let made = Command::new("mkfifo").arg(path).status().unwrap();
                assert!(made.success());
            }
            Self::Socket => drop(UnixListener::bind(path).unwrap()),
        }
    }

    /// Whether what is found there is as good as a file that is missing, or empty.
    fn is_as_good_as_none(self) -> bool {
        matches!(self, Self::LinkToNowhere | Self::LinkToNull)
    }
}

fn check<D: Disk>(disk: &D, directory: &str, name: &str, what: What, was_clean: bool) {
    let case = format!("{what:?} as {name}, clean: {was_clean}");
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
    what.put(disk, &path);

    let opened = bench.try_open(disk).unwrap();
    assert!(opened.offline.is_empty(), "{case}: {:?}", opened.offline);
    let manager = opened.manager;
    if let Some(log) = manager.get(&bad) {
        let appended = log.lock().append(&[batch()], EPOCH, BEGIN_MS);
        if let Err(error) = appended {
            assert!(!error.takes_directory_offline(), "{case}: {error}");
        }
        log.request_sync();
        manager.sync_requested();
    } else {
        let (partition, error) = &opened.unopened[0];
        let told = error.to_string();
        assert_eq!(*partition, bad);
        assert!(told.contains("bad-0"), "{case}: {told}");
        if what == What::Directory {
            assert!(told.contains(path.to_str().unwrap()), "{case}: {told}");
        }
    }
    let is_needed = ["partition.metadata", "leader-epoch-checkpoint"].contains(&name)
        || name == FILES[3] && what == What::Directory;
    assert!(
        !is_needed || what.is_as_good_as_none() || manager.get(&bad).is_none(),
        "{case}"
    );
    append(&manager.get(&good).unwrap(), 1);
    manager.run_due(bench.after(bench.options.retention_check_interval));
    manager.stop(epoch(2));
    let events = bench.take_events();
    let is_offline = |it: &Seen| matches!(it, Seen::Offline(..));
    assert!(!events.iter().any(is_offline), "{case}: {events:?}");
    let opened = bench.try_open(disk).unwrap();
    assert!(opened.offline.is_empty(), "{case}: {:?}", opened.offline);
    assert!(opened.manager.get(&good).is_some(), "{case}");
}

/// Covers LG-193: what is wrong with a partition costs no other one.
#[test]
fn a_directory_in_the_place_of_a_file_costs_its_partition_alone() {
    for name in FILES {
        for was_clean in [true, false] {
            check(&SimDisk::new(1), "/logs", name, What::Directory, was_clean);
            let directory = tempfile::tempdir().unwrap();
            let path = directory.path().join("logs");
            let path = path.to_str().unwrap();
            check(&RealDisk, path, name, What::Directory, was_clean);
        }
    }
}

/// Covers LG-193: and so is a link, a pipe, a socket or a device.
#[test]
fn a_link_or_a_pipe_in_the_place_of_a_file_costs_its_partition_alone() {
    for name in FILES {
        for what in [
            What::Loop,
            What::LinkToNowhere,
            What::LinkToNull,
            What::Pipe,
            What::Socket,
        ] {
            for was_clean in [true, false] {
                let directory = tempfile::tempdir().unwrap();
                let path = directory.path().join("logs");
                check(&RealDisk, path.to_str().unwrap(), name, what, was_clean);
            }
        }
    }
}
