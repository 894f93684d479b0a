//! What idle partitions cost: how long a start takes after a clean stop, how much memory and how
//! many descriptors each partition holds afterwards, and how long the stop takes.
//!
//! `cargo run --release -p klamm-log --example idle_partitions -- 10000`

use std::error::Error;
use std::path::Path;
use std::time::Duration;

use klamm_io::{Clock, RealDisk, SystemClock};
use klamm_log::{LogConfig, LogManager, ManagerOptions, Now, Owner, Wiring};
use klamm_primitives::{BrokerEpoch, BrokerId, LeaderEpoch, PartitionIndex, TopicPartition};
use klamm_records::{BatchOptions, Codecs, RecordBatchBuilder, ValidationRules, validate};

fn now() -> Now {
    Now {
        instant: SystemClock.now(),
        unix_ms: SystemClock.unix_ms(),
    }
}

fn open(path: &Path) -> Result<LogManager<RealDisk>, Box<dyn Error>> {
    let owner = Owner {
        cluster_id: "example".to_owned(),
        node_id: BrokerId::new(1),
    };
    let wiring = Wiring {
        random: Box::new(|| 4),
        events: Box::new(|_| ()),
    };
    let options = ManagerOptions::new(owner, vec![path.to_owned()]);
    let config_of = |_: &_| LogConfig::default();
    Ok(LogManager::open(&RealDisk, options, wiring, &config_of, &|_| {}, now())?.manager)
}

/// Makes so many partitions of some 64 KiB each: one by a manager, the others as copies of it.
fn fill(path: &Path, count: usize) -> Result<(), Box<dyn Error>> {
    let manager = open(path)?;
    let name = TopicPartition::new("t", PartitionIndex::new(0));
    let log = manager.create(&name, None, &LogConfig::default(), now().unix_ms)?;
    let mut codecs = Codecs::default();
    for _ in 0..64 {
        let mut builder = RecordBatchBuilder::new(BatchOptions::default(), Vec::new());
        builder.append(now().unix_ms, None, Some(&[b'x'; 950]), &[])?;
        builder.close(&mut codecs)?;
        let (bytes, rules) = (builder.into_bytes()?, ValidationRules::default());
        let batch = validate(bytes, &rules, now().unix_ms, &mut codecs)?;
        let epoch = LeaderEpoch::new(0);
        log.lock().append(&[batch], epoch, now().unix_ms)?;
    }
    manager.stop(BrokerEpoch::NONE);
    for index in 1..count {
        let copy = path.join(format!("t-{index}"));
        std::fs::create_dir(&copy)?;
        for entry in std::fs::read_dir(path.join("t-0"))? {
            let entry = entry?;
            std::fs::copy(entry.path(), copy.join(entry.file_name()))?;
        }
    }
    Ok(())
}

/// Memory of this process that is in use, in bytes.
fn memory() -> Result<u64, Box<dyn Error>> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|it| it.strip_prefix("VmRSS:"));
    let kib = line.and_then(|it| it.split_whitespace().next());
    Ok(kib.ok_or("no such line")?.parse::<u64>()? << 10)
}

/// Processor time that this process has taken: what a start costs however busy the machine is.
fn processor_time() -> Result<Duration, Box<dyn Error>> {
    /// Linux counts in hundredths of a second.
    const TICK: Duration = Duration::from_millis(10);
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    // Behind the name, which is in parentheses: state, ten numbers, then user and system time.
    let (_, behind_name) = stat.rsplit_once(')').ok_or("no name")?;
    let fields = behind_name.split_whitespace().skip(11).take(2);
    let ticks: Vec<u32> = fields.map(str::parse).collect::<Result<_, _>>()?;
    Ok(TICK * ticks.iter().sum())
}

fn main() -> Result<(), Box<dyn Error>> {
    let count = std::env::args().nth(1);
    let count = count.map_or(Ok(100), |it| it.parse())?;
    let directory = tempfile::tempdir()?;
    fill(directory.path(), count)?;

    let (memory_before, processor_before) = (memory()?, processor_time()?);
    let begin = SystemClock.now();
    let manager = open(directory.path())?;
    let opened = SystemClock.now();
    let (memory_after, processor_after) = (memory()?, processor_time()?);
    let descriptors = std::fs::read_dir("/proc/self/fd")?.count();
    assert_eq!(manager.len(), count);
    let stopping = SystemClock.now();
    manager.stop(BrokerEpoch::NONE);
    let stopped = SystemClock.now();

    println!("{count} partitions, after a clean stop");
    let processor = processor_after.saturating_sub(processor_before);
    println!(
        "start: {:?}, {processor:?} of the processors",
        opened - begin
    );
    let each = memory_after.saturating_sub(memory_before) / count as u64;
    println!("memory: {each} bytes each");
    println!("descriptors: {descriptors} in all");
    println!("stop: {:?}", stopped - stopping);
    Ok(())
}
