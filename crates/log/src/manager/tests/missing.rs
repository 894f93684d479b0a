//! Partitions whose directories somebody has removed.

use std::path::{Path, PathBuf};

use klamm_io::Disk as _;
use klamm_io::sim::SimDisk;
use klamm_primitives::Offset;

use super::support::*;
use crate::manager::MissingPartition;

fn remove(disk: &SimDisk, path: &str) {
    for name in names(disk, path) {
        disk.remove_file(&Path::new(path).join(name)).unwrap();
    }
    disk.remove_dir(Path::new(path)).unwrap();
}

/// One that has moved into another directory or waits to be removed is not missing, nor is one that
/// never had records or of which all are deleted.
#[test]
fn what_a_checkpoint_speaks_of_and_no_directory_has_is_missing() {
    let disk = SimDisk::new(1);
    let bench = Bench::of(&["/a", "/b"]);
    let long = "x".repeat(249);
    let topics = ["gone", "moved", "empty", "used-up", &long, "deleted"];
    let manager = bench.open(&disk);
    for topic in topics {
        let log = bench.create(&manager, &partition(topic, 0));
        if topic != "empty" {
            append(&log, 5);
        }
        log.lock()
            .set_high_watermark(log.reader().offsets().log_end);
        if topic == "used-up" {
            log.lock().raise_log_start(Offset::new(5)).unwrap();
        }
    }
    let directory = |topic: &str| {
        let log = manager.get(&partition(topic, 0)).unwrap();
        log.log_directory().to_owned()
    };
    let of = |topic: &str| format!("{}/{topic}-0", directory(topic).display());
    let [gone, moved, empty, used_up] = ["gone", "moved", "empty", "used-up"].map(of);
    let was_in = directory("gone");
    let other = |path: &str| if path.starts_with("/a") { "/b" } else { "/a" };
    let new = PathBuf::from(other(&moved)).join("moved-0");
    manager.stop(epoch(1));
    // As they stood with the topics, which are deleted only in the next run.
    let checkpoint = "recovery-point-offset-checkpoint";
    let former = ["/a", "/b"].map(|it| (it, content(&disk, &format!("{it}/{checkpoint}"))));
    let manager = bench.open(&disk);
    for topic in [&*long, "deleted"] {
        manager
            .delete(&partition(topic, 0), bench.now().instant)
            .unwrap();
    }
    manager.stop(epoch(2));
    for (directory, former) in former {
        let text = String::from_utf8(former).unwrap();
        write(&disk, &format!("{directory}/{checkpoint}"), &text);
    }
    for path in [&gone, &empty, &used_up] {
        remove(&disk, path);
    }
    disk.rename(Path::new(&moved), &new).unwrap();

    let opened = bench.try_open(&disk).unwrap();
    let missing = MissingPartition {
        partition: partition("gone", 0),
        directory: was_in,
        recovery_point: Offset::new(5),
    };
    assert_eq!(opened.missing, [missing]);
    opened.manager.stop(epoch(3));
    assert_eq!(
        bench.try_open(&disk).unwrap().missing,
        [],
        "it is told once"
    );
}
