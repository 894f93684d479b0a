//! [`Settings`]: what a broker is told at its start.
//!
//! Names and meanings are Apache Kafka's. A value comes from a file, from the environment or from
//! the command line, in that order, and the last one holds. What is wrong is told with the place
//! where it was given; what has no effect is a warning.
//!
//! Where nothing sets roles or listeners, the broker is one for the machine that it runs on: node
//! 1, reached at 127.0.0.1:9092 and from nowhere else, with its data in `./klamm-data`.

pub mod catalogue;
mod checks;
mod concern;
mod connections;
mod definition;
mod error;
mod kind;
mod listeners;
mod properties;
mod resolution;
mod sources;
pub mod topics;
mod unread;
mod values;

use std::path::{Path, PathBuf};
use std::time::Duration;

use klamm_log::CompactionOptions;
use klamm_primitives::BrokerId;

pub use self::concern::{Concern, Warning};
pub use self::connections::ConnectionSettings;
pub use self::definition::{Change, Definition};
pub use self::error::SettingsError;
pub use self::kind::{Expected, Kind, Value, Width};
pub use self::listeners::{Address, Bound, Listeners};
pub use self::properties::{BadEscape, Property};
pub use self::sources::{Given, Origin};
pub use self::topics::{TopicDefaults, TopicSetting, TopicSettingError};
pub use self::values::{Entry, Values};

/// What takes the place of Apache Kafka's defaults where nothing sets roles or listeners.
const ONE_MACHINE: [(&str, &str); 3] = [
    ("node.id", "1"),
    ("listeners", "PLAINTEXT://127.0.0.1:9092"),
    ("log.dirs", "klamm-data"),
];

/// What a broker is told at its start.
#[derive(Debug, Clone)]
pub struct Settings {
    /// `node.id`.
    pub node_id: BrokerId,
    /// `broker.rack`.
    pub rack: Option<String>,
    /// Where it listens.
    pub listeners: Listeners,
    /// What its connections may do.
    pub connections: ConnectionSettings,
    /// `num.io.threads`.
    pub handler_threads: usize,
    /// `num.network.threads`.
    pub network_threads: usize,
    /// What requests may do.
    pub requests: RequestSettings,
    /// Where its logs are and how they are kept.
    pub logs: LogSettings,
    /// How replicas are kept together.
    pub replication: ReplicationSettings,
    /// The settings of topics that set none.
    pub topics: TopicDefaults,
    values: Values,
}

/// What requests may do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestSettings {
    /// `auto.create.topics.enable`.
    pub may_create_topics: bool,
    /// `num.partitions`.
    pub partitions_default: i32,
    /// `default.replication.factor`.
    pub replication_factor_default: i16,
    /// `delete.topic.enable`.
    pub may_delete_topics: bool,
    /// `fetch.max.bytes`.
    pub fetch_bytes_max: u32,
    /// `max.incremental.fetch.session.cache.slots`.
    pub fetch_sessions_max: usize,
}

/// Where logs are and how they are kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogSettings {
    /// `log.dirs`, else `log.dir`; at least one.
    pub directories: Vec<PathBuf>,
    /// `metadata.log.dir`, else the first of the log directories.
    pub metadata_directory: PathBuf,
    /// `num.recovery.threads.per.data.dir`.
    pub recovery_threads_per_directory: usize,
    /// `log.retention.check.interval.ms`.
    pub retention_check_interval: Duration,
    /// `log.flush.scheduler.interval.ms`; `None` is never.
    pub flush_check_interval: Option<Duration>,
    /// `log.flush.offset.checkpoint.interval.ms`.
    pub recovery_point_interval: Duration,
    /// `log.flush.start.offset.checkpoint.interval.ms`.
    pub log_start_interval: Duration,
    /// `log.cleaner.enable` and the settings of its threads; `None` if logs are not compacted.
    pub compaction: Option<CompactionOptions>,
    /// `metadata.log.max.record.bytes.between.snapshots`.
    pub metadata_snapshot_bytes: u64,
    /// `metadata.log.max.snapshot.interval.ms`; `None` is not by time.
    pub metadata_snapshot_interval: Option<Duration>,
}

/// How replicas are kept together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplicationSettings {
    /// `replica.lag.time.max.ms`.
    pub lag_max: Duration,
    /// `replica.high.watermark.checkpoint.interval.ms`.
    pub high_watermark_interval: Duration,
    /// `broker.heartbeat.interval.ms`.
    pub heartbeat_interval: Duration,
    /// `broker.session.timeout.ms`.
    pub session_timeout: Duration,
    /// `leader.imbalance.check.interval.seconds`; `None` without `auto.leader.rebalance.enable`.
    pub balance_interval: Option<Duration>,
    /// `unclean.leader.election.interval.ms`.
    pub unclean_election_interval: Duration,
}

impl Settings {
    /// Reads all sources: a file, the environment's variables, and assignments `name=value` of the
    /// command line. Says also what was given and has no effect.
    ///
    /// # Errors
    /// [`SettingsError`], the first that is found.
    pub fn load(
        file: Option<&Path>,
        variables: impl IntoIterator<Item = (String, String)>,
        assignments: &[String],
    ) -> Result<(Self, Vec<Warning>), SettingsError> {
        let mut given = match file {
            Some(path) => sources::from_file(path)?,
            None => Vec::new(),
        };
        let variables: Vec<_> = variables.into_iter().collect();
        let unread = unread::unread(variables.iter().map(|(name, _)| name.as_str()));
        given.extend(sources::from_environment(variables));
        for assignment in assignments {
            given.push(sources::from_assignment(assignment)?);
        }
        let (settings, mut warnings) = Self::from_given(given)?;
        warnings.extend(unread);
        Ok((settings, warnings))
    }

    /// Makes settings of what was given, the weightiest last.
    ///
    /// # Errors
    /// [`SettingsError`], the first that is found.
    pub fn from_given(given: Vec<Given>) -> Result<(Self, Vec<Warning>), SettingsError> {
        let (mut values, mut warnings) = Values::resolve(given)?;
        values.join_names("node.id", "broker.id")?;
        if !values.is_given("process.roles") && !values.is_given("listeners") {
            for (name, text) in ONE_MACHINE {
                // One of the two names of the directories is enough.
                if name != "log.dirs" || !values.is_given("log.dir") {
                    values.set_default(name, text);
                }
            }
        }
        let settings = Self::read(values)?;
        warnings.extend(settings.values.concerns());
        Ok((settings, warnings))
    }

    fn read(values: Values) -> Result<Self, SettingsError> {
        checks::check(&values.unnoted())?;
        for name in checks::HONOURED {
            values.honour(name);
        }
        let node_id = values.number("node.id").ok_or(SettingsError::Missing {
            name: "node.id",
            why: "as process.roles or listeners are: 1, say, for the only broker",
        })?;
        Ok(Self {
            node_id: BrokerId::new(i32::try_from(node_id).expect("a range within the type's")),
            rack: values.text("broker.rack").map(str::to_owned),
            listeners: Listeners::read(&values)?,
            connections: ConnectionSettings::read(&values)?,
            handler_threads: values.whole("num.io.threads"),
            network_threads: values.whole("num.network.threads"),
            requests: RequestSettings::read(&values)?,
            logs: LogSettings::read(&values)?,
            replication: ReplicationSettings::read(&values),
            topics: TopicDefaults::new(&values)?,
            values,
        })
    }

    /// All settings as they were given, for who asks.
    pub fn values(&self) -> &Values {
        &self.values
    }
}

impl RequestSettings {
    fn read(values: &Values) -> Result<Self, SettingsError> {
        const FACTOR: &str = "default.replication.factor";
        let factor = values.number(FACTOR).and_then(|it| i16::try_from(it).ok());
        if factor.is_some_and(|it| it > 1) {
            values.note(FACTOR, Concern::TooManyReplicas);
        }
        Ok(Self {
            may_create_topics: values.bool("auto.create.topics.enable"),
            partitions_default: values.whole("num.partitions"),
            replication_factor_default: factor
                .filter(|it| *it >= 1 || *it == -1)
                .ok_or_else(|| values.invalid(FACTOR, "1 to 32767"))?,
            may_delete_topics: values.bool("delete.topic.enable"),
            fetch_bytes_max: values.whole("fetch.max.bytes"),
            fetch_sessions_max: values.whole("max.incremental.fetch.session.cache.slots"),
        })
    }
}

impl LogSettings {
    fn read(values: &Values) -> Result<Self, SettingsError> {
        let one = values.paths("log.dir");
        let several = values.paths("log.dirs");
        if several.is_empty() && values.is_given("log.dirs") {
            return Err(values.invalid("log.dirs", "at least one directory"));
        }
        let directories = if several.is_empty() { one } else { several };
        let Some(first) = directories.first() else {
            return Err(values.invalid("log.dir", "at least one directory"));
        };
        let metadata_directory = match values.text("metadata.log.dir") {
            Some(path) => PathBuf::from(path),
            None => first.clone(),
        };
        Ok(Self {
            metadata_directory,
            directories,
            recovery_threads_per_directory: values.whole("num.recovery.threads.per.data.dir"),
            retention_check_interval: values.interval("log.retention.check.interval.ms"),
            flush_check_interval: values.interval_unless_endless("log.flush.scheduler.interval.ms"),
            recovery_point_interval: values.interval("log.flush.offset.checkpoint.interval.ms"),
            log_start_interval: values.interval("log.flush.start.offset.checkpoint.interval.ms"),
            compaction: compaction(values),
            metadata_snapshot_bytes: values
                .whole("metadata.log.max.record.bytes.between.snapshots"),
            metadata_snapshot_interval: Some(
                values.millis("metadata.log.max.snapshot.interval.ms"),
            )
            .filter(|it| !it.is_zero()),
        })
    }
}

/// Without threads nothing is compacted either.
fn compaction(values: &Values) -> Option<CompactionOptions> {
    let threads = values.whole("log.cleaner.threads");
    let key_bytes = values.number("log.cleaner.dedupe.buffer.size").unwrap_or(0);
    let filled = values.double("log.cleaner.io.buffer.load.factor");
    let backoff = values.interval("log.cleaner.backoff.ms");
    let is_enabled = values.bool("log.cleaner.enable") && threads > 0;
    is_enabled.then(|| CompactionOptions {
        threads,
        key_bytes: part_of(key_bytes, filled),
        backoff,
    })
}

/// So great a part of a number of bytes; what is below nothing is nothing, and no part is greater
/// than the whole.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "a size of memory, of which a few bytes do not count"
)]
fn part_of(bytes: i64, part: f64) -> usize {
    (bytes.max(0) as f64 * part.clamp(0.0, 1.0)) as usize
}

impl ReplicationSettings {
    fn read(values: &Values) -> Self {
        let session_timeout = values.millis("broker.session.timeout.ms");
        let heartbeat_interval = values.interval("broker.heartbeat.interval.ms");
        if heartbeat_interval * 2 > session_timeout {
            values.note("broker.heartbeat.interval.ms", Concern::HardlyBeats);
        }
        Self {
            lag_max: values.millis("replica.lag.time.max.ms"),
            high_watermark_interval: values
                .interval("replica.high.watermark.checkpoint.interval.ms"),
            heartbeat_interval,
            session_timeout,
            balance_interval: values.bool("auto.leader.rebalance.enable").then(|| {
                Duration::from_secs(values.whole("leader.imbalance.check.interval.seconds"))
            }),
            unclean_election_interval: values.interval("unclean.leader.election.interval.ms"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(assignments: &[&str]) -> Result<(Settings, Vec<Warning>), SettingsError> {
        let assignments: Vec<_> = assignments.iter().map(ToString::to_string).collect();
        Settings::load(None, [], &assignments)
    }

    #[test]
    fn without_arguments_it_is_a_broker_for_one_machine() {
        let (settings, warnings) = load(&[]).unwrap();
        assert_eq!(warnings, []);
        assert_eq!(settings.node_id.get(), 1);
        let [listener] = &settings.listeners.bound[..] else {
            panic!("one listener");
        };
        assert_eq!(listener.address.to_string(), "PLAINTEXT://127.0.0.1:9092");
        assert_eq!(settings.logs.directories, [PathBuf::from("klamm-data")]);
        assert_eq!(
            settings.logs.metadata_directory,
            PathBuf::from("klamm-data")
        );
        assert!(settings.requests.may_create_topics);
        assert_eq!(settings.requests.partitions_default, 1);
        assert_eq!(settings.requests.fetch_bytes_max, 57_671_680);
        assert_eq!(settings.connections.request_bytes_max, 104_857_600);
        assert_eq!(settings.connections.requests_per_connection, 5);
        assert_eq!(settings.handler_threads, 8);
        assert_eq!(settings.network_threads, 3);
    }

    /// Zero and less are within Apache Kafka's ranges of these, and must not keep a processor busy.
    #[test]
    fn what_is_done_from_time_to_time_has_a_shortest_interval() {
        let given = [
            "broker.heartbeat.interval.ms=0",
            "log.flush.scheduler.interval.ms=-1",
            "log.flush.offset.checkpoint.interval.ms=0",
            "log.flush.start.offset.checkpoint.interval.ms=0",
            "replica.high.watermark.checkpoint.interval.ms=-9223372036854775808",
            "log.cleaner.backoff.ms=0",
        ];
        let (settings, warnings) = load(&given).unwrap();
        let shortest = Duration::from_millis(10);
        assert_eq!(settings.replication.heartbeat_interval, shortest);
        assert_eq!(settings.replication.high_watermark_interval, shortest);
        assert_eq!(settings.logs.flush_check_interval, Some(shortest));
        assert_eq!(settings.logs.recovery_point_interval, shortest);
        assert_eq!(settings.logs.log_start_interval, shortest);
        assert_eq!(settings.logs.compaction.unwrap().backoff, shortest);
        assert_eq!(warnings.len(), given.len());
        assert!(warnings.iter().all(|it| it.reason == Concern::TooOften));
        assert_eq!(load(&[]).unwrap().0.logs.flush_check_interval, None);
    }

    #[test]
    fn more_threads_than_a_machine_can_have_stop_the_start() {
        for name in [
            "num.network.threads",
            "num.io.threads",
            "num.recovery.threads.per.data.dir",
            "log.cleaner.threads",
        ] {
            assert!(load(&[&format!("{name}=1024")]).is_ok());
            let error = load(&[&format!("{name}=1025")]).unwrap_err().to_string();
            assert!(error.contains(name) && error.contains("1024"), "{error}");
        }
    }

    #[test]
    fn an_empty_list_of_directories_is_not_taken_for_another_one() {
        let error = load(&["log.dirs="]).unwrap_err().to_string();
        assert_eq!(
            error,
            "--set: log.dirs is \"\", expected at least one directory"
        );
    }

    #[test]
    fn what_this_cluster_of_one_cannot_do_as_asked_is_said() {
        let concerns = |given: &[&str]| -> Vec<_> {
            let warnings = load(given).unwrap().1.into_iter();
            warnings.map(|it| (it.name, it.reason)).collect()
        };
        let factor = "default.replication.factor";
        assert_eq!(
            concerns(&["default.replication.factor=3"]),
            [(factor.to_owned(), Concern::TooManyReplicas)]
        );
        assert_eq!(concerns(&["default.replication.factor=1"]), []);
        let heartbeat = "broker.heartbeat.interval.ms";
        assert_eq!(
            concerns(&["broker.heartbeat.interval.ms=4501"]),
            [(heartbeat.to_owned(), Concern::HardlyBeats)]
        );
    }

    /// A setting that is only held against others has no effect.
    #[test]
    fn being_checked_is_not_being_used() {
        let given = [
            "replica.fetch.wait.max.ms=400",
            "process.roles=",
            "node.id=1",
        ];
        let warnings = load(&given).unwrap().1;
        let names: Vec<_> = warnings.iter().map(|it| it.name.as_str()).collect();
        assert_eq!(names, ["replica.fetch.wait.max.ms"]);
    }

    #[test]
    fn compaction_has_its_threads_and_memory_or_is_off() {
        let compaction = |given: &[&str]| load(given).unwrap().0.logs.compaction;
        let all = compaction(&[]).unwrap();
        assert_eq!((all.threads, all.key_bytes), (1, 120_795_955));
        let given = ["log.cleaner.threads=2", "log.cleaner.backoff.ms=19"];
        let two = compaction(&given).unwrap();
        assert_eq!((two.threads, two.backoff), (2, Duration::from_millis(19)));
        assert_eq!(compaction(&["log.cleaner.enable=false"]), None);
        assert_eq!(compaction(&["log.cleaner.threads=0"]), None);
    }

    #[test]
    fn single_settings_change_that_and_roles_or_listeners_end_it() {
        let given = ["num.partitions=3", "node.id=7", "log.dir=/data/a"];
        let (settings, _) = load(&given).unwrap();
        assert_eq!(settings.node_id.get(), 7);
        assert_eq!(settings.requests.partitions_default, 3);
        assert_eq!(settings.logs.directories, [PathBuf::from("/data/a")]);
        assert_eq!(settings.listeners.bound[0].address.host, "127.0.0.1");

        for ends in [
            "process.roles=broker,controller",
            "listeners=PLAINTEXT://localhost:1",
        ] {
            let error = load(&[ends]).unwrap_err().to_string();
            assert!(error.starts_with("node.id must be given"), "{error}");
            let (settings, _) = load(&[ends, "node.id=2"]).unwrap();
            assert_eq!(
                settings.logs.directories,
                [PathBuf::from("/tmp/kafka-logs")]
            );
        }
    }

    #[test]
    fn broker_id_is_another_name_for_node_id() {
        let listeners = "listeners=PLAINTEXT://localhost:1";
        for given in [&["broker.id=7", listeners][..], &["broker.id=7"]] {
            let (settings, warnings) = load(given).unwrap();
            assert_eq!(settings.node_id.get(), 7);
            assert_eq!(warnings, []);
        }
        assert_eq!(
            load(&["broker.id=7", "node.id=7"]).unwrap().0.node_id.get(),
            7
        );
        let error = load(&["broker.id=7", "node.id=8"]).unwrap_err().to_string();
        assert_eq!(
            error,
            "--set: broker.id is 7 and node.id is 8: they are one setting"
        );
        let voter = "controller.quorum.voters=7@localhost:9093";
        assert!(load(&["broker.id=7", voter, listeners]).is_ok());
    }

    #[test]
    fn a_file_is_outweighed_by_the_environment_and_both_by_the_command_line() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("server.properties");
        std::fs::write(&path, "num.partitions=2\nnum.io.threads=2\nbroker.rack=a\n").unwrap();
        let variables = [("KLAMM_NUM_IO_THREADS", "3"), ("KLAMM_BROKER_RACK", "b")];
        let variables = variables.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let assignments = ["broker.rack=c".to_owned()];
        let (settings, _) = Settings::load(Some(&path), variables, &assignments).unwrap();
        assert_eq!(settings.requests.partitions_default, 2);
        assert_eq!(settings.handler_threads, 3);
        assert_eq!(settings.rack.as_deref(), Some("c"));
    }

    /// The file that comes with Apache Kafka 4 for a node of both roles, by its settings.
    #[test]
    fn a_server_properties_of_apache_kafka_works_as_it_is() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("server.properties");
        let text = "\
            process.roles=broker,controller\n\
            node.id=1\n\
            controller.quorum.bootstrap.servers=localhost:9093\n\
            listeners=PLAINTEXT://:9092,CONTROLLER://:9093\n\
            inter.broker.listener.name=PLAINTEXT\n\
            advertised.listeners=PLAINTEXT://localhost:9092,CONTROLLER://localhost:9093\n\
            controller.listener.names=CONTROLLER\n\
            listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SSL:SSL,\
            SASL_PLAINTEXT:SASL_PLAINTEXT,SASL_SSL:SASL_SSL\n\
            num.network.threads=3\n\
            num.io.threads=8\n\
            socket.send.buffer.bytes=102400\n\
            socket.receive.buffer.bytes=102400\n\
            socket.request.max.bytes=104857600\n\
            log.dirs=/tmp/kraft-combined-logs\n\
            num.partitions=1\n\
            num.recovery.threads.per.data.dir=1\n\
            offsets.topic.replication.factor=1\n\
            transaction.state.log.replication.factor=1\n\
            transaction.state.log.min.isr=1\n\
            log.retention.hours=168\n\
            log.segment.bytes=1073741824\n\
            log.retention.check.interval.ms=300000\n";
        std::fs::write(&path, text).unwrap();
        let (settings, warnings) = Settings::load(Some(&path), [], &[]).unwrap();
        assert_eq!(settings.listeners.bound.len(), 2);
        assert!(
            warnings.iter().all(|it| it.reason == Concern::NotUsed),
            "{warnings:?}"
        );
    }
}
