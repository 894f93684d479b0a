//! Several partitions with a manager, several writers, and syncs in groups.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use klamm_io::{Clock, RealDisk, SystemClock};
use klamm_log::{
    ClaimError, Durability, LogConfig, LogEvent, LogManager, ManagerOptions, Now, Owner,
    StartError, Wiring,
};
use klamm_primitives::{
    BrokerEpoch, BrokerId, LeaderEpoch, Offset, PartitionIndex, TopicPartition,
};
use parking_lot::{Condvar, Mutex};

use crate::batches::{NOW_MS, batch};
use crate::history::{Histories, send_again};
use crate::life::{Orders, live};
use crate::power_cut::strike;
use crate::random::Random;
use crate::writer::say;

pub(crate) const ROLE: &str = "manager";

const PARTITIONS: i32 = 3;
/// More than partitions, so that some share one.
const WRITERS: i64 = 5;

/// A lock that is held for longer is somebody's.
const PATIENCE: Duration = Duration::from_secs(10);

fn partition(index: i32) -> TopicPartition {
    TopicPartition::new("t", PartitionIndex::new(index))
}

/// Small segments, so that a life sees some of them.
fn config() -> LogConfig {
    LogConfig {
        segment_bytes: 16 << 10,
        index_bytes: 1 << 10,
        index_interval_bytes: 512,
        ..LogConfig::default()
    }
}

fn open(
    directory: &Path,
    events: impl Fn(LogEvent<RealDisk>) + Send + Sync + 'static,
) -> LogManager<RealDisk> {
    let owner = Owner {
        cluster_id: "a-cluster".to_owned(),
        node_id: BrokerId::new(1),
    };
    let now = Now {
        instant: SystemClock.now(),
        unix_ms: NOW_MS,
    };
    let options = ManagerOptions {
        // Fewer than partitions, so that files are closed while others are written to and synced.
        open_files_max: Some(2),
        ..ManagerOptions::new(owner, vec![directory.to_owned()])
    };
    let events = Arc::new(events);
    let opened = loop {
        let events = events.clone();
        let wiring = Wiring {
            random: Box::new(|| 4),
            events: Box::new(move |event| events(event)),
        };
        let options = options.clone();
        match LogManager::open(&RealDisk, options, wiring, &|_| config(), &|_| {}, now) {
            // Another test of this process is just starting a program: until it has become that, the
            // new process has all files of this one, and a lock that was let go since.
            Err(StartError::Claim(ClaimError::InUse { .. }))
                if SystemClock.now() < now.instant + PATIENCE =>
            {
                thread::yield_now();
            }
            opened => break opened.unwrap(),
        }
    };
    assert!(opened.unopened.is_empty(), "{:?}", opened.unopened);
    opened.manager
}

/// Up to where partitions are durable, for those who wait for it.
#[derive(Default)]
struct Durable {
    offsets: Mutex<HashMap<TopicPartition, Offset>>,
    moved: Condvar,
}

impl Durable {
    fn note(&self, partition: &TopicPartition, offset: Offset) {
        say(&format!("durable {partition} {offset}"));
        self.offsets.lock().insert(partition.clone(), offset);
        self.moved.notify_all();
    }

    fn wait_for(&self, partition: &TopicPartition, last_offset: Offset) {
        let mut offsets = self.offsets.lock();
        while offsets.get(partition).is_none_or(|it| *it <= last_offset) {
            self.moved.wait(&mut offsets);
        }
    }
}

/// Writes until somebody ends the process.
pub(crate) fn write(directory: &Path, seed: u64) {
    let durable = Arc::new(Durable::default());
    let synced = durable.clone();
    let manager = open(directory, move |event| match event {
        LogEvent::Synced { log, offset } => synced.note(log.partition(), offset),
        LogEvent::LogFailed { log } => panic!("{} has failed", log.partition()),
        LogEvent::DirectoryOffline(offline) => panic!("{}", offline.reason),
    });
    let manager = Arc::new(manager);
    let _durability = Durability::start(manager.clone(), 4).unwrap();
    thread::scope(|scope| {
        for writer in 0..WRITERS {
            let (manager, durable) = (&manager, &durable);
            scope.spawn(move || write_one(manager, durable, seed, writer));
        }
    });
}

fn write_one(manager: &LogManager<RealDisk>, durable: &Durable, seed: u64, writer: i64) {
    let index = i32::try_from(writer).unwrap() % PARTITIONS;
    let partition = partition(index);
    let log = manager.create(&partition, None, &config(), NOW_MS).unwrap();
    let mut random = Random(seed.wrapping_add(writer.unsigned_abs()));
    // Another producer in each life.
    let producer = random.next().cast_signed() >> 1 & i64::MAX;
    let mut sequence = 0;
    loop {
        let records = 1 + random.below::<usize>(4);
        let id = format!("{producer}-{sequence}");
        let batch = batch((producer, sequence), &id, records, random.below(1500));
        let epoch = LeaderEpoch::new(0);
        let appended = log.lock().append(&[batch], epoch, NOW_MS).unwrap();
        assert!(!appended.is_duplicate);
        sequence += i32::try_from(records).unwrap();
        // Some are never acknowledged, so that there is something to lose.
        if random.below::<u8>(3) > 0 {
            log.request_sync();
            durable.wait_for(&partition, appended.last_offset);
            let first = appended.first_offset;
            say(&format!("acked {partition} {first} {id}"));
        }
        if random.below::<u8>(20) == 0 {
            manager.checkpoint_all();
        }
    }
}

/// What the file of recovery points says of a partition: it may know of a sync that nobody was
/// told of any more.
fn checkpointed(directory: &Path, partition: &TopicPartition) -> Offset {
    let path = directory.join("recovery-point-offset-checkpoint");
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let topic = format!("{} {} ", partition.topic, partition.partition);
    let offset = text.lines().find_map(|it| it.strip_prefix(&topic));
    Offset::new(offset.map_or(0, |it| it.parse().unwrap()))
}

/// The lives of one directory. Returns how many batches were acknowledged.
pub(crate) fn live_and_die(random: &mut Random, lives: u64) -> usize {
    let directory = tempfile::tempdir().unwrap();
    let path = &directory.path().join("logs");
    let mut histories = Histories::default();
    for _ in 0..lives {
        let orders = Orders {
            role: ROLE,
            directory: path,
            recovery_point: 0,
        };
        for said in live(&orders, random) {
            histories.note(&said);
        }
        // Killed before it had begun, it has left what was stopped well: all of that is synced.
        let is_clean = path.join(".kafka_cleanshutdown").exists();
        for index in (0..PARTITIONS).filter(|_| !is_clean) {
            let partition = partition(index);
            let history = histories.of(&partition.to_string());
            history.durable = history.durable.max(checkpointed(path, &partition));
            strike(&path.join(partition.to_string()), history.durable, random);
        }

        let manager = open(path, |_| ());
        let stops = random.below::<u8>(3) == 0;
        for index in 0..PARTITIONS {
            let history = histories.of(&partition(index).to_string());
            let Some(log) = manager.get(&partition(index)) else {
                assert_eq!(history.durable, Offset::ZERO, "it was there");
                continue;
            };
            let held = history.check(log.reader());
            send_again(&mut log.lock(), &held);
            if stops {
                history.durable = log.reader().offsets().log_end;
            }
        }
        // Otherwise the next life finds a log that was opened and not closed.
        if stops {
            assert!(manager.stop(BrokerEpoch::NONE).unclean.is_empty());
        }
    }
    histories.acknowledged_count()
}
