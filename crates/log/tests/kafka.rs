//! Directories that Apache Kafka wrote: opened, read, checked, and gone on with.
//!
//! The files are in `tests/fixtures/kafka-4.1`; what is in them stands there.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use klamm_io::{Clock, RealDisk, SystemClock};
use klamm_log::{
    CleanupPolicy, Depth, Isolation, LogConfig, LogManager, ManagerOptions, Now, Opened, Owner,
    PartitionLog, ReadLimit, Wiring, check,
};
use klamm_primitives::{BrokerEpoch, BrokerId, LeaderEpoch, Offset, TopicPartition};
use klamm_records::{
    BatchOptions, Codec, Codecs, RecordBatch, RecordBatchBuilder, RecordBatches, ValidationRules,
    validate,
};
use tempfile::TempDir;

const BEGIN_MS: i64 = 1_700_000_000_000;

/// A copy of a fixture, so that the original stays as it is.
struct Copy {
    directory: TempDir,
    /// `node.id` and `cluster.id` of its `meta.properties`.
    owner: Owner,
}

impl Copy {
    fn of(name: &str) -> Self {
        let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/kafka-4.1");
        let directory = tempfile::tempdir().unwrap();
        copy(&from.join(name), directory.path());
        let properties = fs::read_to_string(directory.path().join("meta.properties")).unwrap();
        let value = |key: &str| {
            let mut lines = properties.lines();
            lines.find_map(|line| line.strip_prefix(key)).unwrap()
        };
        let owner = Owner {
            cluster_id: value("cluster.id=").to_owned(),
            node_id: BrokerId::new(value("node.id=").parse().unwrap()),
        };
        Self { directory, owner }
    }

    fn path(&self, partition: &str) -> PathBuf {
        self.directory.path().join(partition)
    }

    fn open(&self) -> Opened<RealDisk> {
        let wiring = Wiring {
            random: Box::new(|| 4),
            events: Box::new(|_| ()),
        };
        let options =
            ManagerOptions::new(self.owner.clone(), vec![self.directory.path().to_owned()]);
        let opened = LogManager::open(&RealDisk, options, wiring, &config_of, &|_| {}, now());
        opened.unwrap()
    }

    /// The content of all files of batches.
    fn batches(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let directories = fs::read_dir(self.directory.path()).unwrap();
        let directories = directories.map(|it| it.unwrap().path());
        let files = directories.filter(|it| it.is_dir()).flat_map(|it| {
            let entries = fs::read_dir(it).unwrap();
            entries.map(|entry| entry.unwrap().path())
        });
        let logs = files.filter(|it| it.extension().is_some_and(|it| it == "log"));
        logs.map(|it| (it.clone(), fs::read(it).unwrap())).collect()
    }
}

fn now() -> Now {
    Now {
        instant: SystemClock.now(),
        unix_ms: BEGIN_MS,
    }
}

/// As the topics were made.
fn config_of(partition: &TopicPartition) -> LogConfig {
    let compacts = ["compacted", "__transaction_state"].contains(&&*partition.topic);
    LogConfig {
        segment_age_max: Duration::from_secs(1),
        index_bytes: 1024,
        index_interval_bytes: 512,
        retention_age: None,
        cleanup_policy: if compacts {
            CleanupPolicy::COMPACT
        } else {
            CleanupPolicy::DELETE
        },
        ..LogConfig::default()
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

fn log(opened: &Opened<RealDisk>, name: &str) -> Arc<PartitionLog<RealDisk>> {
    let name: TopicPartition = name.parse().unwrap();
    let log = opened.manager.get(&name).expect("it was opened");
    // A broker alone is the whole set of replicas in sync.
    let mut locked = log.lock();
    let end = locked.log_end_offset();
    locked.set_high_watermark(end);
    drop(locked);
    log
}

const WHOLE: ReadLimit = ReadLimit {
    bytes_max: u32::MAX,
    whole_first_batch: true,
};

fn batches(log: &PartitionLog<RealDisk>) -> Vec<RecordBatch> {
    let reader = log.reader();
    let mut next = reader.offsets().log_start;
    let mut batches: Vec<RecordBatch> = Vec::new();
    while let Some(range) = reader.read(next, WHOLE, Isolation::LogEnd).unwrap().range {
        let bytes = range.read().unwrap();
        batches.extend(RecordBatches::new(bytes).map(Result::unwrap));
        next = batches
            .last()
            .expect("it was not empty")
            .header()
            .next_offset();
    }
    batches
}

/// Offset, key and value of each record that is no marker.
type Texts = Vec<(i64, Option<String>, Option<String>)>;

fn records(log: &PartitionLog<RealDisk>) -> Texts {
    let text = |bytes: Option<&[u8]>| bytes.map(|it| String::from_utf8(it.to_vec()).unwrap());
    let mut codecs = Codecs::default();
    let mut found = Vec::new();
    for batch in batches(log) {
        batch.check_crc().unwrap();
        if batch.header().attributes.is_control() {
            continue;
        }
        let mut records = batch.read(&mut codecs).unwrap();
        while let Some(record) = records.next().unwrap() {
            found.push((record.offset.get(), text(record.key), text(record.value)));
        }
    }
    found
}

fn check_plain(log: &PartitionLog<RealDisk>, count: i64) {
    let expected: Texts = (0..count)
        .map(|n| (n, Some(format!("key-{n}")), Some(format!("value-{n}"))))
        .collect();
    assert_eq!(records(log), expected);
    let segments = usize::try_from(count).unwrap().div_ceil(30);
    assert!(log.lock().segment_count() >= segments);
    // Each by its offset and by its time.
    for n in (0..count).step_by(7) {
        let read = log.reader().read(Offset::new(n), WHOLE, Isolation::LogEnd);
        let range = read.unwrap().range.unwrap();
        let bytes = range.read().unwrap();
        let first = RecordBatches::new(bytes).next().unwrap().unwrap();
        let offsets = first.header().base_offset.get()..=first.header().last_offset().get();
        assert!(offsets.contains(&n), "{n} in {offsets:?}");
    }
}

fn check_codecs(log: &PartitionLog<RealDisk>, lives: usize) {
    let mut seen = BTreeMap::new();
    for batch in batches(log) {
        let codec = batch.header().attributes.codec().unwrap();
        *seen.entry(format!("{codec:?}")).or_insert(0) += batch.header().record_count;
    }
    let all = [
        Codec::None,
        Codec::Gzip,
        Codec::Snappy,
        Codec::Lz4,
        Codec::Zstd,
    ];
    let lives = i32::try_from(lives).unwrap();
    let expected = all.map(|codec| (format!("{codec:?}"), 20 * lives));
    assert_eq!(seen, expected.into());
    for (index, (_, key, value)) in records(log).iter().enumerate() {
        let within = index % 20;
        assert_eq!(key.is_none(), within % 3 == 0);
        assert_eq!(value.is_none(), within % 5 == 0);
    }
}

/// The newest value of each key is that of its last round, whatever else is still there.
fn check_compacted(log: &PartitionLog<RealDisk>, rounds: usize) {
    let records = records(log);
    assert!(records.len() < 5 * rounds, "the broker has compacted it");
    let mut newest = BTreeMap::new();
    for (_, key, value) in records {
        newest.insert(key.unwrap(), value);
    }
    let last = Some(format!("round-{}", rounds - 1));
    for key in 0..4 {
        assert_eq!(newest[&format!("key-{key}")], last);
    }
    assert_eq!(newest.get("key-4").cloned().flatten(), None);
}

/// Of each life three transactions are committed, two aborted, and one is left open; that of the
/// first life is aborted in the second.
fn check_transactions(log: &PartitionLog<RealDisk>, lives: usize) {
    let records = records(log);
    let firsts: Vec<_> = records.chunks(5).map(|chunk| chunk[0].0).collect();
    assert_eq!(firsts.len(), lives * 6);
    let offsets = log.reader().offsets();
    assert_eq!(Some(&offsets.last_stable.get()), firsts.last());
    // Those that are aborted are told to whoever reads before the open one.
    let read = log.reader().read(Offset::ZERO, WHOLE, Isolation::Committed);
    let mut aborted = Vec::new();
    let mut read = read.unwrap();
    while let Some(range) = read.range {
        aborted.extend(read.aborted.unwrap().iter().map(|it| it.first_offset.get()));
        let bytes = range.read().unwrap();
        let last = RecordBatches::new(bytes).map_while(Result::ok).last();
        let next = last.unwrap().header().next_offset();
        read = log
            .reader()
            .read(next, WHOLE, Isolation::Committed)
            .unwrap();
    }
    aborted.dedup();
    let is_aborted = |index: &usize| index % 2 == 1 && index + 1 < firsts.len();
    let expected: Vec<_> = (0..firsts.len())
        .filter(is_aborted)
        .map(|it| firsts[it])
        .collect();
    assert_eq!(aborted, expected);
}

/// Nothing is wrong with any partition. `Depth::Records` reads all that is there.
fn check_files(copy: &Copy, opened: &Opened<RealDisk>) {
    for log in opened.manager.all() {
        let path = copy.path(&log.partition().to_string());
        let report = check(&RealDisk, &path, Depth::Records).unwrap();
        assert!(
            report.problems.is_empty(),
            "{}: {:?}",
            path.display(),
            report.problems
        );
    }
}

/// Covers LG-001, LG-008, LG-009, LG-143, LG-167, LG-191, B4.1.
#[test]
fn lg_114_a_directory_that_kafka_closed_opens_without_reading_it_through() {
    let copy = Copy::of("stopped");
    let before = copy.batches();
    let opened = copy.open();
    assert!(opened.recovered.is_empty() && opened.unopened.is_empty());
    assert_eq!(opened.manager.len(), 5);
    check_files(&copy, &opened);

    check_plain(&log(&opened, "plain-0"), 200);
    check_codecs(&log(&opened, "codecs-0"), 1);
    check_compacted(&log(&opened, "compacted-0"), 20);
    check_transactions(&log(&opened, "transactions-0"), 1);
    for log in opened.manager.all() {
        assert!(log.topic_id().is_some());
    }
    // Nothing of it was changed, and closed again it opens again.
    assert!(opened.manager.stop(BrokerEpoch::NONE).unclean.is_empty());
    assert_eq!(copy.batches(), before);
    assert!(copy.open().recovered.is_empty());
}

/// Covers LG-116, LG-125, LG-154, LG-162.
#[test]
fn lg_115_a_directory_whose_kafka_was_killed_is_recovered_whole() {
    let copy = Copy::of("killed");
    let before = copy.batches();
    let opened = copy.open();
    assert!(opened.unopened.is_empty());
    assert_eq!(opened.recovered.len(), 5);
    for (partition, opening) in &opened.recovered {
        assert_eq!(opening.cut, None, "{partition}");
        assert!(opening.segments_removed.is_empty(), "{partition}");
    }
    check_files(&copy, &opened);
    check_plain(&log(&opened, "plain-0"), 250);
    check_codecs(&log(&opened, "codecs-0"), 2);
    check_compacted(&log(&opened, "compacted-0"), 40);
    check_transactions(&log(&opened, "transactions-0"), 2);
    let after = copy.batches();
    assert_eq!(after, before, "every batch is as Kafka wrote it");
    let epochs = log(&opened, "plain-0").lock().epochs();
    let starts: Vec<_> = epochs.iter().map(|it| it.start_offset.get()).collect();
    assert_eq!(starts, [0, 200], "a leader epoch each life");
}

/// The transaction indexes that Kafka wrote are those that recovery makes of the same batches.
#[test]
fn lg_164_recovery_makes_the_transaction_indexes_that_kafka_made() {
    let copy = Copy::of("killed");
    let indexes = |copy: &Copy| -> BTreeMap<PathBuf, Vec<u8>> {
        let entries = fs::read_dir(copy.path("transactions-0")).unwrap();
        let paths = entries.map(|it| it.unwrap().path());
        let indexes = paths.filter(|it| it.extension().is_some_and(|it| it == "txnindex"));
        indexes
            .map(|it| (it.clone(), fs::read(it).unwrap()))
            .collect()
    };
    let kafkas = indexes(&copy);
    // Two a life, and the one that the first life left open. How many segments they are in depends
    // on how fast the broker was.
    let entries: usize = kafkas.values().map(|it| it.len() / 34).sum();
    assert_eq!(entries, 5);
    fs::remove_file(copy.path("recovery-point-offset-checkpoint")).unwrap();
    let opened = copy.open();
    assert_eq!(opened.recovered.len(), 5);
    assert_eq!(indexes(&copy), kafkas);
}

#[test]
fn appends_go_on_where_kafka_left_off() {
    let copy = Copy::of("stopped");
    let opened = copy.open();
    let log = log(&opened, "plain-0");
    let mut codecs = Codecs::default();
    for n in 200..260_i64 {
        let (key, value) = (format!("key-{n}"), format!("value-{n}"));
        let mut builder = RecordBatchBuilder::new(BatchOptions::default(), Vec::new());
        let now_ms = BEGIN_MS + n * 40;
        builder
            .append(now_ms, Some(key.as_bytes()), Some(value.as_bytes()), &[])
            .unwrap();
        builder.close(&mut codecs).unwrap();
        let (bytes, rules) = (builder.into_bytes().unwrap(), ValidationRules::default());
        let batch = validate(bytes, &rules, now_ms, &mut codecs).unwrap();
        let appended = log.lock().append(&[batch], LeaderEpoch::new(9), now_ms);
        assert_eq!(appended.unwrap().first_offset, Offset::new(n));
    }
    check_plain(&log, 260);
    assert!(opened.manager.stop(BrokerEpoch::NONE).unclean.is_empty());
    let report = check(&RealDisk, &copy.path("plain-0"), Depth::Records).unwrap();
    assert!(report.is_good(), "{:?}", report.problems);
}
