//! Appending to and fetching from a partition through the manager, against the same by the log
//! alone; and what it costs to look for requests that wait where none does.
//!
//! Estimate for what the manager adds to an append: a look at the map and one hash of the name, a
//! lock for reading, two short lists, and two looks at tables without an entry: well below a
//! microsecond, beside the check of the records and the system call that both make.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use klamm_controller::MetadataImage;
use klamm_io::{Clock as _, RealDisk, SystemClock};
use klamm_log::{
    Isolation, LogConfig, LogManager, ManagerOptions, Now, Owner, PartitionLog, ReadLimit, Wiring,
};
use klamm_primitives::{BrokerId, LeaderEpoch, Offset, PartitionIndex, TopicPartition, Uuid};
use klamm_records::{
    BatchOptions, Codecs, HEADER_LEN, RecordBatchBuilder, ValidationRules, validate,
};
use klamm_replica::{
    AppendEntry, AppendOutcome, AppendRequest, FetchOutcome, FetchPartition, FetchRequest, Fetcher,
    IsrProposal, IsrProposer, Origin, ReplicaManager, ReplicaOptions, ReplicaWiring, Ticket,
    TopicSettings, TopicSettingsSource,
};
use klamm_wire::metadata::partition::PartitionRecord;
use klamm_wire::metadata::topic::TopicRecord;
use tempfile::TempDir;

/// Bytes after which the log begins anew, so that it does not fill the disk.
const ROUND_BYTES: u64 = 256 << 20;

const SIZES: [usize; 3] = [1 << 10, 16 << 10, 64 << 10];

struct Defaults;

impl TopicSettingsSource for Defaults {
    fn settings_of(&self, _: &MetadataImage, _: &str) -> TopicSettings {
        TopicSettings::default()
    }
}

struct Nobody;

impl IsrProposer for Nobody {
    fn propose(&self, _: IsrProposal) {}
}

/// Nobody waits here.
struct Waiter;

impl Ticket for Waiter {}

struct Bed {
    manager: ReplicaManager<RealDisk, Waiter>,
    log: Arc<PartitionLog<RealDisk>>,
    name: TopicPartition,
    now: Now,
}

impl Bed {
    fn in_directory(directory: &Path) -> Self {
        let now = Now {
            instant: SystemClock.now(),
            unix_ms: SystemClock.unix_ms(),
        };
        let broker = BrokerId::new(1);
        let owner = Owner {
            cluster_id: "bench".to_owned(),
            node_id: broker,
        };
        let options = ManagerOptions::new(owner, vec![directory.to_owned()]);
        let wiring = Wiring {
            random: Box::new(|| 4),
            events: Box::new(|_| {}),
        };
        let config = |_: &TopicPartition| LogConfig::default();
        let logs = LogManager::open(&RealDisk, options, wiring, &config, &|_| {}, now);
        let logs = Arc::new(logs.expect("the directory is ours").manager);
        let empty = Arc::new(MetadataImage::new("bench"));
        let wiring = ReplicaWiring {
            logs: Arc::clone(&logs),
            settings: Box::new(Defaults),
            proposer: Box::new(Nobody),
        };
        let options = ReplicaOptions::new(broker);
        let manager = ReplicaManager::new(&options, wiring, Arc::clone(&empty), now.instant);
        let topic = TopicRecord {
            name: "clicks".into(),
            topic_id: Uuid::ONE,
            ..TopicRecord::default()
        };
        let placed = PartitionRecord {
            partition_id: PartitionIndex::new(0),
            topic_id: Uuid::ONE,
            replicas: vec![broker],
            isr: vec![broker],
            leader: broker,
            leader_epoch: LeaderEpoch::new(0),
            ..PartitionRecord::default()
        };
        let image = empty.apply(&[topic.into(), placed.into()], Offset::ZERO);
        let image = Arc::new(image.expect("the records fit"));
        let (_, then) = manager.apply(&image, now);
        manager.follow_up(then, &mut Vec::new());
        let name = TopicPartition::new("clicks", PartitionIndex::new(0));
        let log = logs.get(&name).expect("it was placed here");
        Self {
            manager,
            log,
            name,
            now,
        }
    }

    fn begin_anew_if_large(&self) {
        if self.log.size() >= ROUND_BYTES {
            let mut log = self.log.lock();
            log.truncate_fully_and_start_at(Offset::ZERO, None, self.now.unix_ms)
                .expect("the disk works");
        }
    }

    fn append(&self, records: &Bytes, codecs: &mut Codecs) {
        let request = AppendRequest {
            acks: -1,
            timeout: Duration::from_secs(30),
            origin: Origin::Client,
            zstd_allowed: true,
            entries: vec![AppendEntry {
                partition: self.name.clone(),
                topic_id: None,
                records: records.clone(),
            }],
        };
        let (outcome, then) = self.manager.append(request, codecs, self.now);
        match outcome {
            AppendOutcome::Done(results) => assert!(results[0].result.is_ok()),
            AppendOutcome::Waits(_) => unreachable!("there is one replica"),
        }
        self.manager.follow_up(then, &mut Vec::new());
    }

    fn fetch(&self, from: Offset, max_bytes: u32) -> usize {
        let request = FetchRequest {
            fetcher: Fetcher::Consumer,
            max_wait: Duration::from_millis(500),
            min_bytes: 1,
            max_bytes,
            partitions: vec![FetchPartition {
                partition: self.name.clone(),
                topic_id: Some(Uuid::ONE),
                fetch_offset: from,
                log_start_offset: None,
                max_bytes,
                current_leader_epoch: Some(LeaderEpoch::new(0)),
                last_fetched_epoch: None,
            }],
        };
        let (outcome, then) = self.manager.fetch(request, self.now.instant);
        self.manager.follow_up(then, &mut Vec::new());
        match outcome {
            FetchOutcome::Done(results) => {
                let found = results[0].result.as_ref().expect("it is led here");
                found.records.as_ref().map_or(0, |range| range.len)
            }
            FetchOutcome::Waits(_) => unreachable!("there is something to read"),
        }
    }
}

/// A batch of records of 100 bytes, of about this size.
fn batch(size: usize, now: Now) -> Bytes {
    let mut builder = RecordBatchBuilder::new(BatchOptions::default(), Vec::new());
    let value = vec![b'x'; 92];
    for _ in 0..(size - HEADER_LEN) / 100 {
        builder
            .append(now.unix_ms, None, Some(&value), &[])
            .expect("it fits");
    }
    builder
        .close(&mut Codecs::default())
        .expect("nothing is compressed");
    builder.into_bytes().expect("it was closed")
}

fn append(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("append");
    for size in SIZES {
        group.throughput(Throughput::Bytes(size as u64));
        group.bench_function(BenchmarkId::new("klamm", size), |bencher| {
            let directory = TempDir::new().expect("there is room");
            let bed = Bed::in_directory(directory.path());
            let records = batch(size, bed.now);
            let mut codecs = Codecs::default();
            bencher.iter(|| {
                bed.begin_anew_if_large();
                bed.append(&records, &mut codecs);
            });
        });
        group.bench_function(BenchmarkId::new("log", size), |bencher| {
            let directory = TempDir::new().expect("there is room");
            let bed = Bed::in_directory(directory.path());
            let records = batch(size, bed.now);
            let rules = ValidationRules::default();
            let mut codecs = Codecs::default();
            bencher.iter(|| {
                bed.begin_anew_if_large();
                let valid = validate(records.clone(), &rules, bed.now.unix_ms, &mut codecs);
                let valid = valid.expect("it is valid");
                let mut log = bed.log.lock();
                let appended = log.append(&[valid], LeaderEpoch::new(0), bed.now.unix_ms);
                let end = appended.expect("there is room").log_end;
                log.raise_high_watermark(end.offset, Some(end))
                    .expect("it is the log end");
            });
        });
    }
    group.finish();
}

fn fetch(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("fetch");
    for size in SIZES {
        let directory = TempDir::new().expect("there is room");
        let bed = Bed::in_directory(directory.path());
        let records = batch(16 << 10, bed.now);
        let mut codecs = Codecs::default();
        for _ in 0..256 {
            bed.append(&records, &mut codecs);
        }
        let end = bed.log.reader().offsets().log_end.get();
        let max_bytes = u32::try_from(size).expect("the sizes are small");
        // Each from another place, as many readers do.
        let froms = |at: &mut i64| {
            *at = (*at + 7919) % (end - 1000);
            Offset::new(*at)
        };
        group.throughput(Throughput::Bytes(size as u64));
        group.bench_function(BenchmarkId::new("klamm", size), |bencher| {
            let mut at = 0;
            bencher.iter(|| bed.fetch(froms(&mut at), max_bytes));
        });
        group.bench_function(BenchmarkId::new("log", size), |bencher| {
            let mut at = 0;
            let limit = ReadLimit {
                bytes_max: max_bytes,
                whole_first_batch: true,
            };
            bencher.iter(|| {
                let reader = bed.log.reader();
                let read = reader.read(froms(&mut at), limit, Isolation::HighWatermark);
                read.expect("the disk works").range.map(|range| range.len)
            });
        });
    }
    group.finish();
}

criterion_group!(benches, append, fetch);
criterion_main!(benches);
