//! A manager that a test can crash and open again.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use klamm_io::sim::{SimClock, SimDisk};
use klamm_io::{Clock as _, Disk, DiskErrorKind, DiskFile as _, OpenMode};
use klamm_primitives::{BrokerEpoch, BrokerId, LeaderEpoch, PartitionIndex, TopicPartition};
use klamm_records::{
    BatchOptions, Codecs, ProducerStamp, RecordBatchBuilder, ValidBatch, ValidationRules, validate,
};
use parking_lot::Mutex;

use crate::config::LogConfig;
use crate::directory::Owner;
use crate::log_event::LogEvent;
use crate::manager::{LogManager, ManagerOptions, Now, Opened, StartError, Wiring};
use crate::partition_log::PartitionLog;

/// Unix time at the beginning of each test.
pub(super) const BEGIN_MS: i64 = 1_700_000_000_000;

/// The leader epoch of all appends.
pub(super) const EPOCH: LeaderEpoch = LeaderEpoch::new(0);

pub(super) fn partition(topic: &str, index: i32) -> TopicPartition {
    TopicPartition::new(topic, PartitionIndex::new(index))
}

pub(super) fn owner() -> Owner {
    Owner {
        cluster_id: "a-cluster".to_owned(),
        node_id: BrokerId::new(1),
    }
}

/// An event, in a form that can be compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Seen {
    Synced(TopicPartition, i64),
    LogFailed(TopicPartition),
    Offline(PathBuf, Vec<TopicPartition>),
}

impl<D: Disk> From<LogEvent<D>> for Seen {
    fn from(event: LogEvent<D>) -> Self {
        match event {
            LogEvent::Synced { log, offset } => Self::Synced(log.partition().clone(), offset.get()),
            LogEvent::LogFailed { log } => Self::LogFailed(log.partition().clone()),
            LogEvent::DirectoryOffline(offline) => {
                let mut partitions = offline.partitions;
                partitions.sort();
                Self::Offline(offline.path, partitions)
            }
        }
    }
}

/// How a test opens its managers.
pub(super) struct Bench {
    pub(super) options: ManagerOptions,
    pub(super) config: LogConfig,
    pub(super) events: Arc<Mutex<Vec<Seen>>>,
    begin: Instant,
}

impl Bench {
    /// Managers of these directories.
    pub(super) fn of(directories: &[&str]) -> Self {
        let directories = directories.iter().map(PathBuf::from).collect();
        Self {
            options: ManagerOptions::new(owner(), directories),
            config: LogConfig::default(),
            events: Arc::default(),
            begin: SimClock::new().now(),
        }
    }

    /// So long after the beginning.
    pub(super) fn after(&self, passed: Duration) -> Now {
        Now {
            instant: self.begin + passed,
            unix_ms: BEGIN_MS + i64::try_from(passed.as_millis()).unwrap(),
        }
    }

    pub(super) fn now(&self) -> Now {
        self.after(Duration::ZERO)
    }

    pub(super) fn wiring<D: Disk>(&self) -> Wiring<D> {
        let events = self.events.clone();
        let mut state = 7_u128;
        Wiring {
            random: Box::new(move || {
                state = state.wrapping_mul(0xda94_2042_e4dd_58b5_da94_2042_e4dd_58b5) + 1;
                state
            }),
            events: Box::new(move |event| events.lock().push(event.into())),
        }
    }

    pub(super) fn try_open<D: Disk>(&self, disk: &D) -> Result<Opened<D>, StartError> {
        let config_of = |_: &TopicPartition| self.config.clone();
        let options = self.options.clone();
        LogManager::open(
            disk,
            options,
            self.wiring(),
            &config_of,
            &|_| {},
            self.now(),
        )
    }

    /// Opens a manager; everything must be well.
    pub(super) fn open<D: Disk>(&self, disk: &D) -> LogManager<D> {
        let opened = self.try_open(disk).unwrap();
        assert!(opened.unopened.is_empty(), "{:?}", opened.unopened);
        assert!(opened.offline.is_empty(), "{:?}", opened.offline);
        opened.manager
    }

    pub(super) fn create<D: Disk>(
        &self,
        manager: &LogManager<D>,
        partition: &TopicPartition,
    ) -> Arc<PartitionLog<D>> {
        let created = manager.create(partition, None, &self.config, BEGIN_MS);
        created.unwrap()
    }

    /// The events since the last call.
    pub(super) fn take_events(&self) -> Vec<Seen> {
        std::mem::take(&mut *self.events.lock())
    }
}

/// A batch of one record.
pub(super) fn batch() -> ValidBatch {
    batch_by(ProducerStamp::default(), &[b'x'; 100])
}

pub(super) fn batch_by(producer: ProducerStamp, value: &[u8]) -> ValidBatch {
    let options = BatchOptions {
        producer,
        ..BatchOptions::default()
    };
    let mut codecs = Codecs::default();
    let mut builder = RecordBatchBuilder::new(options, Vec::new());
    builder.append(BEGIN_MS, None, Some(value), &[]).unwrap();
    builder.close(&mut codecs).unwrap();
    let bytes: Bytes = builder.into_bytes().unwrap();
    validate(bytes, &ValidationRules::default(), BEGIN_MS, &mut codecs).unwrap()
}

/// Appends so many batches of one record each.
pub(super) fn append<D: Disk>(log: &PartitionLog<D>, count: usize) {
    for _ in 0..count {
        let mut log = log.lock();
        log.append(&[batch()], EPOCH, BEGIN_MS).unwrap();
    }
}

pub(super) fn exists(disk: &SimDisk, path: impl AsRef<Path>) -> bool {
    match disk.metadata(path.as_ref()) {
        Ok(_) => true,
        Err(error) if error.kind() == DiskErrorKind::NotFound => false,
        Err(error) => panic!("{error}"),
    }
}

/// The names in a directory.
pub(super) fn names(disk: &SimDisk, path: &str) -> Vec<String> {
    let entries = disk.list(Path::new(path)).unwrap();
    let names = entries.into_iter().map(|it| it.name.into_string().unwrap());
    names.collect()
}

pub(super) fn epoch(number: i64) -> BrokerEpoch {
    BrokerEpoch::new(number)
}

pub(super) fn write<D: Disk>(disk: &D, path: &str, text: &str) {
    let file = disk.open(Path::new(path), OpenMode::CreateOrTruncate);
    file.unwrap().write_all_at(text.as_bytes(), 0).unwrap();
}

pub(super) fn content<D: Disk>(disk: &D, path: &str) -> Vec<u8> {
    let file = disk.open(Path::new(path), OpenMode::Read).unwrap();
    let len = usize::try_from(file.metadata().unwrap().len).unwrap();
    file.read_bytes_at(0, len).unwrap().to_vec()
}
