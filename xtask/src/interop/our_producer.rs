//! `klamm-producer verify` against a broker that is stopped and killed in mid stream, read back by
//! kcat.
//!
//! The program prints a JSON line for each acknowledgement. What is held against the log differs by
//! acks: `all` is exactly once and in order whatever happens to the broker; with `1` nothing that
//! was acknowledged is lost, but a request without an answer is sent again and may be there twice;
//! with `0` nobody knows what a broker that goes away had not read, so it stays. A topic of each codec
//! takes all three, `all` first: it is the one that survives that the topic is only being made.

use std::collections::HashSet;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;

use super::kafka::Kafka;
use super::kafka_broker::KafkaBroker;
use super::{Outcome, Surroundings};
use crate::command;
use crate::running_broker::{BrokerSetup, RunningBroker};

const CODECS: [&str; 5] = ["none", "gzip", "snappy", "lz4", "zstd"];

/// What each topic is sent under each acks level; a million in all.
const RECORDS: u64 = 66_667;

/// Records a second to each topic: slow enough for the broker to go away in the middle.
const RATE: u64 = 10_000;

const PARTITIONS: i32 = 3;

/// Apache Kafka's settings for it.
const THEIR_SETTINGS: [&str; 2] = ["num.partitions=3", "log.index.size.max.bytes=10485760"];

/// What a broker goes through while records come.
#[derive(Clone, Copy)]
enum Blow {
    /// It is asked to stop, and started again.
    Stop,
    /// It is killed, and started again.
    Kill,
}

/// One acks level, and what happens to the broker under it.
struct Round {
    acks: &'static str,
    blows: &'static [Blow],
}

const ROUNDS: [Round; 3] = [
    Round {
        acks: "-1",
        blows: &[Blow::Kill, Blow::Stop],
    },
    Round {
        acks: "1",
        blows: &[Blow::Stop],
    },
    Round {
        acks: "0",
        blows: &[],
    },
];

/// A broker that can be started again on what it wrote.
enum Broker<'a> {
    Ours(BrokerSetup),
    Theirs(KafkaBroker<'a>),
}

impl Broker<'_> {
    fn address(&self) -> String {
        match self {
            Self::Ours(setup) => setup.address().to_string(),
            Self::Theirs(broker) => broker.address().to_string(),
        }
    }

    fn start(&self) -> Result<RunningBroker> {
        match self {
            Self::Ours(setup) => setup.start(),
            Self::Theirs(broker) => broker.start(),
        }
    }
}

/// A million records to Apache Kafka's broker, through every codec and acks level.
pub(super) fn to_their_broker(surroundings: &Surroundings) -> Result<Outcome> {
    let Some(kafka) = surroundings.programs.kafka()? else {
        return Ok(Outcome::Skipped(Kafka::MISSING.to_owned()));
    };
    let directory = surroundings.scratch.join("to-their-broker");
    let data = directory.join("data");
    fs::create_dir_all(&data)?;
    let broker = KafkaBroker::new(&kafka, &directory, &data, &THEIR_SETTINGS)?;
    check(surroundings, &directory, &Broker::Theirs(broker))
}

/// A million records to our broker, through every codec and acks level.
pub(super) fn to_our_broker(surroundings: &Surroundings) -> Result<Outcome> {
    let directory = surroundings.scratch.join("to-our-broker");
    fs::create_dir_all(&directory)?;
    let settings = [format!("num.partitions={PARTITIONS}")];
    let settings = settings.each_ref().map(String::as_str);
    let data = directory.join("data");
    let setup = BrokerSetup::new(&surroundings.broker, &data, &settings)?;
    check(surroundings, &directory, &Broker::Ours(setup))
}

fn check(surroundings: &Surroundings, directory: &Path, broker: &Broker<'_>) -> Result<Outcome> {
    if surroundings.programs.kcat().is_none() {
        return Ok(Outcome::Skipped("kcat cannot be had".to_owned()));
    }
    let producer = producer(surroundings)?;
    let mut running = broker.start()?;
    for (number, round) in ROUNDS.iter().enumerate() {
        let producers = Producers::start(&producer, directory, &broker.address(), number)?;
        for blow in round.blows {
            let third = RECORDS / RATE / 3;
            wait(Duration::from_secs(third.max(1)));
            match blow {
                Blow::Stop => drop(running.end()?),
                Blow::Kill => running.kill()?,
            }
            println!("the broker is gone, and started again");
            running = broker.start()?;
        }
        producers.finish()?;
    }
    // What is read back has been through a restart.
    running.end()?;
    let running = broker.start()?;
    for codec in CODECS {
        let mut kcat = surroundings.programs.kcat().context("kcat is gone")?;
        kcat.args(["-b", &broker.address()]);
        let log = read_back(kcat, codec, directory)?;
        for (number, round) in ROUNDS.iter().enumerate() {
            let name = told_name(codec, round.acks);
            let told = told_of(&directory.join(&name))?;
            let of_round = log.iter().filter(|it| it.value.0 == number);
            let log: Vec<Stored> = of_round.copied().collect();
            judge(round, &told, &log).with_context(|| name.clone())?;
            println!("{name}: {} told of, {} in the log", told.len(), log.len());
        }
    }
    running.end()?;
    Ok(Outcome::Passed)
}

/// Our program, built if need be.
fn producer(surroundings: &Surroundings) -> Result<PathBuf> {
    if let Some(program) = &surroundings.producer {
        return Ok(program.clone());
    }
    let workspace = &surroundings.workspace;
    let build = ["build", "--release", "--bin", "klamm-producer"];
    command::run(&mut command::cargo(workspace.root(), build))?;
    Ok(workspace.target_directory().join("release/klamm-producer"))
}

/// A producer for each codec, all at the same time.
struct Producers(Vec<(&'static str, Child)>);

impl Producers {
    fn start(program: &Path, directory: &Path, address: &str, round: usize) -> Result<Self> {
        let acks = ROUNDS[round].acks;
        let mut producers = Vec::new();
        for codec in CODECS {
            let name = told_name(codec, acks);
            let settings = directory.join(format!("{name}.properties"));
            let lines = format!("compression.type={codec}\nretries=2147483647\n");
            fs::write(&settings, lines)?;
            let mut verify = Command::new(program);
            verify
                .args(["verify", "--bootstrap-server", address, "--topic", codec])
                .args(["--acks", acks, "--max-messages", &RECORDS.to_string()])
                .args(["--throughput", &RATE.to_string()])
                .args(["--value-prefix", &round.to_string()])
                .arg("--producer.config")
                .arg(settings)
                .stdout(File::create(directory.join(&name))?);
            println!("$ klamm-producer verify --topic {codec} --acks {acks}");
            let child = verify.spawn().context("cannot start the producer")?;
            producers.push((codec, child));
        }
        Ok(Self(producers))
    }

    fn finish(self) -> Result<()> {
        let mut ended = Vec::new();
        for (codec, mut child) in self.0 {
            ended.push((codec, child.wait().context("cannot wait for the producer")?));
        }
        match ended.into_iter().find(|(_, status)| !status.success()) {
            Some((codec, status)) => bail!("the producer of {codec} ended with {status}"),
            None => Ok(()),
        }
    }
}

/// Where it is kept what a producer told.
fn told_name(codec: &str, acks: &str) -> String {
    format!("{codec}, acks {acks}")
}

/// The number of a round, and the record's in it, as `--value-prefix` has them.
type Value = (usize, u64);

/// A record as the producer told of it, or as it is in the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Stored {
    partition: i32,
    offset: i64,
    value: Value,
}

fn value_of(text: &str) -> Result<Value> {
    let (round, number) = text.split_once('.').context("not a value of ours")?;
    Ok((round.parse()?, number.parse()?))
}

/// What of a line of `klamm-producer verify` counts here.
#[derive(Deserialize)]
struct Line {
    name: String,
    value: Option<String>,
    #[serde(default)]
    partition: i32,
    #[serde(default)]
    offset: i64,
}

/// Reads what the producer told; anything but acknowledgements of all records is an error.
fn told_of(path: &Path) -> Result<Vec<Stored>> {
    let mut told = Vec::new();
    for text in fs::read_to_string(path)?.lines() {
        let line: Line = serde_json::from_str(text).with_context(|| text.to_owned())?;
        match (line.name.as_str(), line.value) {
            ("producer_send_success", Some(value)) => told.push(Stored {
                partition: line.partition,
                offset: line.offset,
                value: value_of(&value).with_context(|| text.to_owned())?,
            }),
            ("producer_send_error", _) => bail!("the producer failed: {text}"),
            _ => {}
        }
    }
    ensure!(
        told.len() as u64 == RECORDS,
        "{} records were told of",
        told.len()
    );
    Ok(told)
}

/// Reads a topic to its end, by partition and offset.
fn read_back(mut kcat: Command, topic: &str, directory: &Path) -> Result<Vec<Stored>> {
    let read = directory.join("read");
    kcat.args(["-C", "-q", "-e", "-o", "beginning", "-t", topic]);
    kcat.args(["-f", r"%p %o %s\n"]);
    kcat.stdout(Stdio::from(File::create(&read)?));
    command::run(&mut kcat)?;
    let mut log = Vec::new();
    for line in fs::read_to_string(&read)?.lines() {
        let mut words = line.split(' ');
        let mut next = || words.next().with_context(|| format!("kcat said `{line}`"));
        log.push(Stored {
            partition: next()?.parse()?,
            offset: next()?.parse()?,
            value: value_of(next()?)?,
        });
    }
    log.sort_unstable();
    Ok(log)
}

/// Holds what was told against the log, which is sorted.
fn judge(round: &Round, told: &[Stored], log: &[Stored]) -> Result<()> {
    let is_told = round.acks != "0";
    for record in told.iter().filter(|_| is_told) {
        ensure!(
            log.binary_search(record).is_ok(),
            "{record:?} was acknowledged, and is not there"
        );
    }
    let values: HashSet<Value> = log.iter().map(|it| it.value).collect();
    for record in told {
        ensure!(
            values.contains(&record.value),
            "{record:?} is not in the log"
        );
    }
    if round.acks == "1" {
        return Ok(());
    }
    ensure!(
        values.len() == log.len(),
        "{} records, of which {} are different",
        log.len(),
        values.len()
    );
    for pair in log.windows(2) {
        ensure!(
            pair[0].partition != pair[1].partition || pair[0].value < pair[1].value,
            "{:?} comes after {:?}",
            pair[1],
            pair[0]
        );
    }
    Ok(())
}

/// Lets the producers produce. Which moment it is does not matter, so nothing is waited for.
#[expect(
    clippy::disallowed_methods,
    reason = "the blow is to come at any moment"
)]
fn wait(time: Duration) {
    thread::sleep(time);
}

#[cfg(test)]
mod tests {
    use super::{Round, Stored, judge};

    /// Partition, offset and number.
    type Row = (i32, i64, u64);

    fn stored((partition, offset, number): Row) -> Stored {
        Stored {
            partition,
            offset,
            value: (0, number),
        }
    }

    fn is_sound(acks: &'static str, log: &[Row]) -> bool {
        let told = [(0, 0, 0), (0, 1, 1), (1, 0, 2)].map(stored);
        let log: Vec<Stored> = log.iter().copied().map(stored).collect();
        judge(&Round { acks, blows: &[] }, &told, &log).is_ok()
    }

    #[test]
    fn what_is_lost_doubled_moved_or_out_of_order_is_found() {
        let sound = [(0, 0, 0), (0, 1, 1), (1, 0, 2)];
        assert!(["-1", "1", "0"].iter().all(|acks| is_sound(acks, &sound)));
        assert!(!is_sound("-1", &sound[..2]), "lost");
        let doubled = [(0, 0, 0), (0, 1, 1), (0, 2, 1), (1, 0, 2)];
        assert!(!is_sound("-1", &doubled) && !is_sound("0", &doubled));
        assert!(is_sound("1", &doubled), "as without idempotence");
        let swapped = [(0, 0, 1), (0, 1, 0), (1, 0, 2)];
        assert!(!is_sound("1", &swapped), "not where it was told");
        assert!(!is_sound("0", &swapped), "out of order");
    }
}
