//! Writes a log directory that has all that a log can have: several segments, each codec, leader
//! epochs, committed, aborted and open transactions, and a compacted partition. For those who want
//! to look at the files, with `klamm-log dump` or with Apache Kafka's own tool.
//!
//! `cargo run -p klamm-log --example every_feature -- DIRECTORY`

use std::error::Error;
use std::path::{Path, PathBuf};

use klamm_io::{Clock, RealDisk, SystemClock};
use klamm_log::{
    CleanupPolicy, LogConfig, LogManager, ManagerOptions, Now, Owner, PartitionLog, Wiring,
};
use klamm_primitives::{
    BrokerEpoch, BrokerId, LeaderEpoch, Offset, PartitionIndex, ProducerEpoch, ProducerId,
    Sequence, TopicPartition, Uuid,
};
use klamm_records::{
    BatchOptions, Codec, Codecs, EndMarker, Levels, Outcome, ProducerStamp, RecordBatch,
    RecordBatchBuilder, ValidationRules, validate_own,
};

type Outcomes = Result<(), Box<dyn Error>>;

const BEGIN_MS: i64 = 1_700_000_000_000;

/// Small segments, so that there are some.
fn config() -> LogConfig {
    LogConfig {
        segment_bytes: 4096,
        index_bytes: 1024,
        index_interval_bytes: 256,
        ..LogConfig::default()
    }
}

fn now() -> Now {
    Now {
        instant: SystemClock.now(),
        unix_ms: BEGIN_MS,
    }
}

fn open(path: &Path) -> Result<LogManager<RealDisk>, Box<dyn Error>> {
    let owner = Owner {
        cluster_id: "MkU3OEVBNTcwNTJENDM2Qk".to_owned(),
        node_id: BrokerId::new(1),
    };
    let mut ids = 0_u128;
    let wiring = Wiring {
        random: Box::new(move || {
            ids += 1;
            ids << 64 | 0x4000_8000
        }),
        events: Box::new(|_| ()),
    };
    let options = ManagerOptions::new(owner, vec![path.to_owned()]);
    Ok(LogManager::open(&RealDisk, options, wiring, &|_| config(), &|_| {}, now())?.manager)
}

/// One partition, and how many batches it has.
struct Writer<'a> {
    log: &'a PartitionLog<RealDisk>,
    leader_epoch: i32,
    batches: i64,
}

impl<'a> Writer<'a> {
    fn of(log: &'a PartitionLog<RealDisk>) -> Self {
        Self {
            log,
            leader_epoch: 0,
            batches: 0,
        }
    }

    fn now_ms(&self) -> i64 {
        BEGIN_MS + self.batches * 10
    }

    /// Appends one batch of records with these keys.
    fn put(&mut self, options: BatchOptions, keys: &[Option<&str>]) -> Outcomes {
        let mut builder = RecordBatchBuilder::new(options, Vec::new());
        for key in keys {
            let value = format!("batch {} {}", self.batches, "x".repeat(60));
            let key = key.map(str::as_bytes);
            builder.append(self.now_ms(), key, Some(value.as_bytes()), &[])?;
        }
        builder.close(&mut Codecs::default())?;
        self.append(RecordBatch::parse(builder.into_bytes()?)?)
    }

    fn append(&mut self, batch: RecordBatch) -> Outcomes {
        let (rules, now_ms) = (ValidationRules::default(), self.now_ms());
        let valid = validate_own(batch, &rules, now_ms, &mut Codecs::default())?;
        let mut log = self.log.lock();
        log.append_own(&[valid], LeaderEpoch::new(self.leader_epoch), now_ms)?;
        let end = log.log_end_offset();
        log.set_high_watermark(end);
        self.batches += 1;
        Ok(())
    }

    fn end(&mut self, producer_id: i64, outcome: Outcome) -> Outcomes {
        let marker = EndMarker {
            outcome,
            coordinator_epoch: 0,
        };
        let producer = (ProducerId::new(producer_id), ProducerEpoch::new(0));
        let epoch = LeaderEpoch::new(self.leader_epoch);
        self.append(marker.batch(Offset::ZERO, epoch, producer, self.now_ms())?)
    }
}

fn by(producer_id: i64, base_sequence: i32, transactional: bool) -> BatchOptions {
    BatchOptions {
        producer: ProducerStamp {
            producer_id: ProducerId::new(producer_id),
            producer_epoch: ProducerEpoch::new(0),
            base_sequence: Sequence::new(base_sequence),
        },
        transactional,
        ..BatchOptions::default()
    }
}

fn main() -> Outcomes {
    let scratch = tempfile::tempdir()?;
    let directory = std::env::args().nth(1);
    let directory = directory.map_or(scratch.path().join("logs"), PathBuf::from);
    let manager = open(&directory)?;
    let create = |topic: &str, config: &LogConfig| {
        let partition = TopicPartition::new(topic, PartitionIndex::new(0));
        let id = Uuid::from_random(topic.len() as u128 | 1 << 100);
        manager.create(&partition, Some(id), config, BEGIN_MS)
    };

    let log = create("plain", &config())?;
    let mut plain = Writer::of(&log);
    for batch in 0..60 {
        plain.leader_epoch = batch / 25;
        plain.put(by(7, batch * 3, false), &[None, Some("a"), Some("b")])?;
    }

    let log = create("codecs", &config())?;
    let mut codecs = Writer::of(&log);
    for codec in [
        Codec::None,
        Codec::Gzip,
        Codec::Snappy,
        Codec::Lz4,
        Codec::Zstd,
    ] {
        for _ in 0..10 {
            let options = BatchOptions {
                compression: codec.at(&Levels::default()),
                ..BatchOptions::default()
            };
            codecs.put(options, &[Some("a"), Some("b"), None])?;
        }
    }

    let log = create("transactions", &config())?;
    let mut transactions = Writer::of(&log);
    for round in 0..20 {
        // Two that overlap.
        let (first, second) = (100 + 2 * round, 101 + 2 * round);
        transactions.put(by(first, 0, true), &[Some("a"), None])?;
        transactions.put(by(second, 0, true), &[Some("b")])?;
        transactions.end(first, Outcome::Abort)?;
        transactions.end(second, Outcome::Commit)?;
    }
    transactions.put(by(999, 0, true), &[Some("open")])?;

    let compacted = LogConfig {
        cleanup_policy: CleanupPolicy::COMPACT,
        ..config()
    };
    let log = create("compacted", &compacted)?;
    let mut writer = Writer::of(&log);
    for _ in 0..60 {
        writer.put(BatchOptions::default(), &[Some("a"), Some("b"), Some("c")])?;
    }
    let cleaned = manager.compact_next(1 << 20, now(), &|| false);
    let counts = cleaned.ok_or("nothing was compacted")?.counts;
    assert!(counts.records_kept < counts.records_read);

    for log in manager.all() {
        let (segments, log) = (log.lock().segment_count(), log.partition());
        println!("{log}: {segments} segments");
    }
    let stopped = manager.stop(BrokerEpoch::NONE);
    assert!(stopped.unclean.is_empty());
    println!("written to {}", directory.display());
    Ok(())
}
