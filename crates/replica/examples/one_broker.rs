//! A broker that is a cluster of one: a topic, a few records in, and the same records out of a
//! fetch that was waiting for them.
//!
//! `cargo run --example one_broker`

use std::error::Error;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use klamm_controller::MetadataImage;
use klamm_io::{Clock as _, Disk, RealDisk, SystemClock};
use klamm_log::{LogConfig, LogManager, ManagerOptions, Now, Owner, Wiring};
use klamm_primitives::{BrokerId, LeaderEpoch, Offset, PartitionIndex, TopicPartition, Uuid};
use klamm_records::{BatchOptions, Codecs, RecordBatchBuilder, RecordBatches};
use klamm_replica::{
    AppendEntry, AppendOutcome, AppendRequest, FetchOutcome, FetchPartition, FetchRequest, Fetcher,
    Finished, IsrProposal, IsrProposer, Origin, ReplicaManager, ReplicaOptions, ReplicaWiring,
    Ticket, TopicSettings, TopicSettingsSource,
};
use klamm_wire::metadata::partition::PartitionRecord;
use klamm_wire::metadata::topic::TopicRecord;

const BROKER: BrokerId = BrokerId::new(1);

/// All topics have the defaults.
struct Defaults;

impl TopicSettingsSource for Defaults {
    fn settings_of(&self, _: &MetadataImage, _: &str) -> TopicSettings {
        TopicSettings::default()
    }
}

/// With one replica there is nobody to let in.
struct Nobody;

impl IsrProposer for Nobody {
    fn propose(&self, proposal: IsrProposal) {
        unreachable!("{proposal:?}");
    }
}

/// Who waits. A server keeps the connection here.
struct Reader(&'static str);

impl Ticket for Reader {}

type Replicas = ReplicaManager<RealDisk, Reader>;
type AllFinished = Vec<Finished<<RealDisk as Disk>::File, Reader>>;

fn main() -> Result<(), Box<dyn Error>> {
    let now = Now {
        instant: SystemClock.now(),
        unix_ms: SystemClock.unix_ms(),
    };
    let directory = tempfile::tempdir()?;
    let empty = Arc::new(MetadataImage::new("an-example"));
    let replicas = open(directory.path(), &empty, now)?;
    let mut finished = Vec::new();

    place_clicks(&replicas, &empty, now, &mut finished)?;
    let clicks = TopicPartition::new("clicks", PartitionIndex::new(0));

    // A consumer waits for what is to come, and the ticket says who it is.
    let (outcome, then) = replicas.fetch(fetch_from(&clicks), now.instant);
    if let FetchOutcome::Waits(wait) = outcome {
        replicas.wait_fetch(wait, Reader("a consumer"), &mut finished);
    }
    replicas.follow_up(then, &mut finished);

    // A producer appends, and is answered before the consumer is looked after.
    let mut codecs = Codecs::default();
    let mut batch = RecordBatchBuilder::new(BatchOptions::default(), Vec::new());
    for value in ["one", "two", "three"] {
        batch.append(now.unix_ms, None, Some(value.as_bytes()), &[])?;
    }
    batch.close(&mut codecs)?;
    let append = AppendRequest {
        acks: -1,
        timeout: Duration::from_secs(30),
        origin: Origin::Client,
        zstd_allowed: true,
        entries: vec![AppendEntry {
            partition: clicks,
            topic_id: None,
            records: batch.into_bytes()?,
        }],
    };
    let (outcome, then) = replicas.append(append, &mut codecs, now);
    if let AppendOutcome::Done(results) = outcome {
        println!("appended: {:?}", results[0].result);
    }
    replicas.follow_up(then, &mut finished);
    print_records(finished, &mut codecs)
}

/// A manager over the logs of one directory, as broker 1.
fn open(
    directory: &Path,
    empty: &Arc<MetadataImage>,
    now: Now,
) -> Result<Replicas, Box<dyn Error>> {
    let owner = Owner {
        cluster_id: "an-example".to_owned(),
        node_id: BROKER,
    };
    let options = ManagerOptions::new(owner, vec![directory.to_owned()]);
    let wiring = Wiring {
        random: Box::new(|| 4),
        events: Box::new(|_| {}),
    };
    let config = |_: &TopicPartition| LogConfig::default();
    let logs = LogManager::open(&RealDisk, options, wiring, &config, &|_| {}, now)?.manager;
    let wiring = ReplicaWiring {
        logs: Arc::new(logs),
        settings: Box::new(Defaults),
        proposer: Box::new(Nobody),
    };
    let options = ReplicaOptions::new(BROKER);
    let empty = Arc::clone(empty);
    Ok(ReplicaManager::new(&options, wiring, empty, now.instant))
}

/// The controller places a topic here.
fn place_clicks(
    replicas: &Replicas,
    empty: &MetadataImage,
    now: Now,
    finished: &mut AllFinished,
) -> Result<(), Box<dyn Error>> {
    let topic = TopicRecord {
        name: "clicks".into(),
        topic_id: Uuid::ONE,
        ..TopicRecord::default()
    };
    let placed = PartitionRecord {
        partition_id: PartitionIndex::new(0),
        topic_id: Uuid::ONE,
        replicas: vec![BROKER],
        isr: vec![BROKER],
        leader: BROKER,
        leader_epoch: LeaderEpoch::new(0),
        ..PartitionRecord::default()
    };
    let image = empty.apply(&[topic.into(), placed.into()], Offset::ZERO)?;
    let (applied, then) = replicas.apply(&Arc::new(image), now);
    println!("led here: {:?}", applied.led);
    replicas.follow_up(then, finished);
    Ok(())
}

fn fetch_from(partition: &TopicPartition) -> FetchRequest {
    FetchRequest {
        fetcher: Fetcher::Consumer,
        max_wait: Duration::from_secs(10),
        min_bytes: 1,
        max_bytes: 1 << 20,
        partitions: vec![FetchPartition {
            partition: partition.clone(),
            topic_id: None,
            fetch_offset: Offset::ZERO,
            log_start_offset: None,
            max_bytes: 1 << 20,
            current_leader_epoch: None,
            last_fetched_epoch: None,
        }],
    }
}

/// A server would hand the ranges to sockets.
fn print_records(finished: AllFinished, codecs: &mut Codecs) -> Result<(), Box<dyn Error>> {
    for it in finished {
        let Finished::Fetched {
            ticket: Reader(who),
            results,
        } = it
        else {
            continue;
        };
        for found in results {
            let Some(range) = found.result?.records else {
                continue;
            };
            for batch in RecordBatches::new(range.read()?) {
                let batch = batch?;
                let mut records = batch.read(codecs)?;
                while let Some(record) = records.next()? {
                    let value = String::from_utf8_lossy(record.value.unwrap_or_default());
                    println!("{who} reads {value} at {}", record.offset);
                }
            }
        }
    }
    Ok(())
}
