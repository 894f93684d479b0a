//! Partitions that are opened and recovered after the start, while others are served.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

use klamm_io::sim::{Crash, Fault, SimDisk};
use klamm_io::{Disk, DiskError, DiskErrorKind, DiskOperation, Entry, Metadata, OpenMode, Space};
use klamm_primitives::{Offset, TopicPartition, Uuid};
use parking_lot::Mutex;

use super::support::*;
use crate::manager::{CreateError, DeleteError, LogManager, NewPartition};

/// No test waits longer for what does not come.
const PATIENCE: Duration = Duration::from_secs(20);

/// A disk on which opening a file may be held up.
#[derive(Clone)]
struct Gated {
    disk: SimDisk,
    before_open: Arc<dyn Fn(&Path) + Send + Sync>,
}

impl Disk for Gated {
    type File = <SimDisk as Disk>::File;
    type Lock = <SimDisk as Disk>::Lock;

    fn open(&self, path: &Path, mode: OpenMode) -> Result<Self::File, DiskError> {
        (self.before_open)(path);
        self.disk.open(path, mode)
    }

    fn metadata(&self, path: &Path) -> Result<Metadata, DiskError> {
        self.disk.metadata(path)
    }

    fn create_dir_all(&self, path: &Path) -> Result<(), DiskError> {
        self.disk.create_dir_all(path)
    }

    fn list(&self, path: &Path) -> Result<Vec<Entry>, DiskError> {
        self.disk.list(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<(), DiskError> {
        self.disk.rename(from, to)
    }

    fn remove_file(&self, path: &Path) -> Result<(), DiskError> {
        self.disk.remove_file(path)
    }

    fn remove_dir(&self, path: &Path) -> Result<(), DiskError> {
        self.disk.remove_dir(path)
    }

    fn sync_dir(&self, path: &Path) -> Result<(), DiskError> {
        self.disk.sync_dir(path)
    }

    fn try_lock(&self, path: &Path) -> Result<Self::Lock, DiskError> {
        self.disk.try_lock(path)
    }

    fn resolve(&self, path: &Path) -> Result<PathBuf, DiskError> {
        self.disk.resolve(path)
    }

    fn space(&self, path: &Path) -> Result<Space, DiskError> {
        self.disk.space(path)
    }
}

/// A manager with a partition of several segments that could not be opened at the start for want of
/// room, and that can be now. Its recovery stops where it opens the third segment, until it may go on.
struct Late {
    bench: Bench,
    disk: SimDisk,
    manager: LogManager<Gated>,
    name: TopicPartition,
    reached: Mutex<Receiver<()>>,
    go_on: SyncSender<()>,
    /// How many segments were opened.
    opened: Arc<AtomicUsize>,
    /// How often nobody let it go on.
    waited_in_vain: Arc<AtomicUsize>,
}

/// Records of the partition.
const COUNT: usize = 20;

fn late() -> Late {
    let disk = SimDisk::new(1);
    let mut bench = Bench::of(&["/logs"]);
    bench.config.segment_bytes = 700;
    let name = partition("late", 0);
    let manager = bench.open(&disk);
    let created = manager.create(&name, Some(Uuid::ONE), &bench.config, BEGIN_MS);
    let log = created.unwrap();
    append(&log, COUNT);
    assert!(log.lock().segment_count() > 4);
    drop((log, manager));

    let (reach, reached) = sync_channel(1);
    let (go_on, may_go_on) = sync_channel(1);
    let may_go_on = Mutex::new(may_go_on);
    let (opened, waited_in_vain) = (Arc::<AtomicUsize>::default(), Arc::<AtomicUsize>::default());
    let counts = (opened.clone(), waited_in_vain.clone());
    let gate = move |path: &Path| {
        let is_late = path.starts_with("/logs/late-0");
        if !is_late || path.extension().is_none_or(|it| it != "log") {
            return;
        }
        // The first is that of the start, which fails.
        if counts.0.fetch_add(1, Ordering::Relaxed) == 3 {
            reach.send(()).unwrap();
            if may_go_on.lock().recv_timeout(PATIENCE).is_err() {
                counts.1.fetch_add(1, Ordering::Relaxed);
            }
        }
    };
    let full = Fault::on(DiskOperation::Open).under("/logs/late-0");
    disk.inject(
        full.where_path(|it| it.extension().is_some_and(|it| it == "log"))
            .failing_with(DiskErrorKind::Full)
            .always(),
    );
    let gated = Gated {
        disk: disk.clone(),
        before_open: Arc::new(gate),
    };
    let found = bench.try_open(&gated).unwrap();
    assert_eq!(found.unopened.len(), 1);
    disk.clear_faults();
    assert_eq!(opened.load(Ordering::Relaxed), 1);
    Late {
        bench,
        disk,
        manager: found.manager,
        name,
        reached: Mutex::new(reached),
        go_on,
        opened,
        waited_in_vain,
    }
}

impl Late {
    fn create(&self, name: &TopicPartition) -> Result<Offset, CreateError> {
        let created = self
            .manager
            .create(name, None, &self.bench.config, BEGIN_MS);
        created.map(|log| log.reader().offsets().log_end)
    }
}

#[test]
fn what_waits_to_be_opened_is_opened_without_being_made_elsewhere() {
    let late = late();
    late.go_on.send(()).unwrap();
    let open = |name: &TopicPartition| {
        let new = NewPartition {
            partition: name,
            topic_id: None,
            config: &late.bench.config,
        };
        late.manager.open_waiting(&new, BEGIN_MS)
    };
    let other = partition("other", 0);
    assert!(open(&other).is_none() && late.manager.get(&other).is_none());
    assert!(late.manager.is_to_be_opened(&late.name));
    let end = Offset::new(i64::try_from(COUNT).unwrap());
    let log = open(&late.name).unwrap().unwrap();
    assert_eq!(log.reader().offsets().log_end, end);
    assert!(!late.manager.is_to_be_opened(&late.name));
    assert!(open(&late.name).is_none(), "it is open");
}

#[test]
fn nobody_waits_for_a_late_recovery_but_who_asks_for_that_partition() {
    let late = late();
    let end = Offset::new(i64::try_from(COUNT).unwrap());
    thread::scope(|scope| {
        let asking = [(); 2].map(|()| scope.spawn(|| late.create(&late.name)));
        late.reached.lock().recv().unwrap();
        let other = partition("other", 0);
        assert_eq!(late.create(&other).unwrap(), Offset::ZERO);
        late.manager
            .run_due(late.bench.after(Duration::from_mins(2)));
        let now = late.bench.now().instant;
        late.manager.delete(&other, now).unwrap();
        assert!(late.manager.is_unavailable(&late.name));
        late.go_on.send(()).unwrap();
        for asking in asking {
            assert_eq!(asking.join().unwrap().unwrap(), end);
        }
    });
    assert_eq!(late.waited_in_vain.load(Ordering::Relaxed), 0);
    assert!(!late.manager.is_unavailable(&late.name));
    append(&late.manager.get(&late.name).unwrap(), 1);
    assert!(late.manager.stop(epoch(1)).unclean.is_empty());
}

/// Its name may be another topic's right after that, and no recovery writes there by the same paths.
#[test]
fn a_partition_that_is_being_recovered_late_is_deleted_once_that_has_ended() {
    let late = late();
    thread::scope(|scope| {
        let asking = scope.spawn(|| late.create(&late.name));
        late.reached.lock().recv().unwrap();
        let (tell, told) = sync_channel(1);
        let late = &late;
        let deleting = scope.spawn(move || {
            let now = late.bench.now().instant;
            let delete = |id| {
                let is_gone = |it| it == Some(id);
                late.manager.delete_unserved(&late.name, is_gone, now)
            };
            let other = Uuid::from_u128(7);
            assert_eq!(delete(other), Err(DeleteError::Offline));
            assert_eq!(delete(Uuid::ONE), Ok(()));
            let config = &late.bench.config;
            let made = late
                .manager
                .create(&late.name, Some(other), config, BEGIN_MS);
            let log = made.unwrap();
            append(&log, 3);
            tell.send(()).unwrap();
        });
        // It does not come before the recovery goes on.
        assert!(told.recv_timeout(Duration::from_millis(200)).is_err());
        late.go_on.send(()).unwrap();
        deleting.join().unwrap();
        let refused = asking.join().unwrap();
        assert!(
            matches!(refused, Err(CreateError::Unavailable { .. })),
            "{refused:?}"
        );
    });
    assert_eq!(
        late.opened.load(Ordering::Relaxed),
        4 + 2,
        "made, written to"
    );
    let manager = late.bench.open(&late.disk.crash(Crash::Kill));
    let log = manager.get(&late.name).unwrap();
    assert_eq!(log.reader().offsets().log_end, Offset::new(3));
}

#[test]
fn a_stop_waits_for_no_more_than_a_segment_of_a_late_recovery() {
    let late = late();
    thread::scope(|scope| {
        let asking = scope.spawn(|| late.create(&late.name));
        late.reached.lock().recv().unwrap();
        let stopping = scope.spawn(|| late.manager.stop(epoch(1)));
        while !late.manager.late.are_to_end() {
            thread::yield_now();
        }
        late.go_on.send(()).unwrap();
        let refused = asking.join().unwrap();
        assert!(
            matches!(refused, Err(CreateError::NoDirectory)),
            "{refused:?}"
        );
        let stopped = stopping.join().unwrap();
        assert_eq!(stopped.unclean, [Path::new("/logs")]);
    });
    assert_eq!(late.opened.load(Ordering::Relaxed), 4, "it was the last");
    let again = late.create(&late.name);
    assert!(matches!(again, Err(CreateError::NoDirectory)), "{again:?}");

    // Where it was left is as good a place to begin as any.
    let log = late.bench.open(&late.disk).get(&late.name).unwrap();
    let end = Offset::new(i64::try_from(COUNT).unwrap());
    assert_eq!(log.reader().offsets().log_end, end);
}

/// Whoever has to await the thread that recovers, before it can stop the logs, need not await more of
/// it than a segment.
#[test]
fn late_recoveries_can_be_ended_before_the_logs_are_stopped() {
    let late = late();
    thread::scope(|scope| {
        let asking = scope.spawn(|| late.create(&late.name));
        late.reached.lock().recv().unwrap();
        late.manager.end_late_openings();
        late.go_on.send(()).unwrap();
        let refused = asking.join().unwrap();
        assert!(
            matches!(refused, Err(CreateError::NoDirectory)),
            "{refused:?}"
        );
    });
    assert_eq!(late.opened.load(Ordering::Relaxed), 4, "it was the last");
    assert!(late.manager.is_unavailable(&late.name));
    // What is open goes on until the stop.
    let other = partition("other", 0);
    assert_eq!(late.create(&other).unwrap(), Offset::ZERO);
    append(&late.manager.get(&other).unwrap(), 1);
    assert_eq!(late.manager.stop(epoch(1)).unclean, [Path::new("/logs")]);
}
