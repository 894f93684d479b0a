//! The settings of topics: the table, and what a topic's own values and the broker's defaults
//! come to.

use std::borrow::Borrow;
use std::collections::BTreeMap;
use std::time::Duration;

use klamm_log::{CleanupPolicy, ConfigError, LogConfig};
use klamm_records::{
    GzipLevel, Levels, Lz4Level, TimestampType, TopicCompression, ValidationRules, ZstdLevel,
};
use klamm_replica::TopicSettings;
use thiserror::Error;
use tracing::warn;

use super::definition::{Change, Definition};
use super::error::SettingsError;
use super::kind::{Kind, Value, any_long, int, int_within, long};
use super::values::Values;

const SHARE: Kind = Kind::Double { min: 0.0, max: 1.0 };
const MAX_LONG: &str = "9223372036854775807";
const POLICIES: &[&str] = &["delete", "compact"];
const CODECS: &[&str] = &["producer", "uncompressed", "gzip", "snappy", "lz4", "zstd"];
const TIMES: &[&str] = &["CreateTime", "LogAppendTime"];

/// One setting of topics.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TopicSetting {
    /// Its name.
    pub name: &'static str,
    /// The broker's setting that gives its default; some have none.
    pub broker_name: Option<&'static str>,
    /// What its text may be.
    pub kind: Kind,
    /// The text that it has when none is given.
    pub default: &'static str,
    /// What it does, for people.
    pub meaning: &'static str,
}

const fn row(
    name: &'static str,
    broker_name: &'static str,
    kind: Kind,
    default: &'static str,
    meaning: &'static str,
) -> TopicSetting {
    TopicSetting {
        name,
        broker_name: if broker_name.is_empty() {
            None
        } else {
            Some(broker_name)
        },
        kind,
        default,
        meaning,
    }
}

/// All settings of topics.
#[rustfmt::skip] // A row a line, as a table is read.
pub const TOPIC_SETTINGS: &[TopicSetting] = &[
    row("cleanup.policy", "log.cleanup.policy", Kind::Words(POLICIES), "delete", "what happens to old records"),
    row("retention.ms", "log.retention.ms", long(-1), "604800000", "how long records are kept; -1: for ever"),
    row("retention.bytes", "log.retention.bytes", any_long(), "-1", "how large a partition may become; -1: without bound"),
    row("segment.bytes", "log.segment.bytes", int(1 << 20), "1073741824", "the size of a segment"),
    row("segment.ms", "log.roll.ms", long(1), "604800000", "the age at which a segment is closed"),
    row("segment.jitter.ms", "log.roll.jitter.ms", long(0), "0", "a random part of so much is taken off it"),
    row("segment.index.bytes", "log.index.size.max.bytes", int(4), "10485760", "room of each index of a segment"),
    row("index.interval.bytes", "log.index.interval.bytes", int(0), "4096", "bytes between two entries of an index"),
    row("max.message.bytes", "message.max.bytes", int(0), "1048588", "the largest batch, compressed"),
    row("min.insync.replicas", "min.insync.replicas", int(1), "1", "replicas that must be in sync for acks=all"),
    row("unclean.leader.election.enable", "unclean.leader.election.enable", Kind::Bool, "false", "whether a replica that lacks records may lead when no other can"),
    row("compression.type", "compression.type", Kind::Choice(CODECS), "producer", "how batches are stored"),
    row("compression.gzip.level", "compression.gzip.level", int_within(-1, 9), "-1", "the level for gzip; -1: its default"),
    row("compression.lz4.level", "compression.lz4.level", int_within(1, 17), "9", "the level for lz4"),
    row("compression.zstd.level", "compression.zstd.level", int_within(-131_072, 22), "3", "the level for zstd"),
    row("message.timestamp.type", "log.message.timestamp.type", Kind::Choice(TIMES), "CreateTime", "whose time records carry"),
    row("message.timestamp.before.max.ms", "log.message.timestamp.before.max.ms", long(0), MAX_LONG, "how far a producer's time may lie behind"),
    row("message.timestamp.after.max.ms", "log.message.timestamp.after.max.ms", long(0), "3600000", "how far a producer's time may lie ahead"),
    row("flush.messages", "log.flush.interval.messages", long(1), MAX_LONG, "so many records may be unsynced; 1: each is synced before it is acknowledged"),
    row("flush.ms", "log.flush.interval.ms", long(0), MAX_LONG, "records may be unsynced for so long"),
    row("file.delete.delay.ms", "log.segment.delete.delay.ms", long(0), "60000", "how long deleted files are kept under another name"),
    row("delete.retention.ms", "log.cleaner.delete.retention.ms", long(0), "86400000", "how long tombstones are kept"),
    row("min.compaction.lag.ms", "log.cleaner.min.compaction.lag.ms", long(0), "0", "younger records are not compacted"),
    row("max.compaction.lag.ms", "log.cleaner.max.compaction.lag.ms", long(1), MAX_LONG, "older records are compacted in any case"),
    row("min.cleanable.dirty.ratio", "log.cleaner.min.cleanable.ratio", SHARE, "0.5", "the share of a log that calls for compaction"),
    row("preallocate", "log.preallocate", Kind::Bool, "false", "whether a segment takes its whole size at once"),
    row("leader.replication.throttled.replicas", "", Kind::List, "", "replicas whose leaders are throttled, as partition:broker, or *"),
    row("follower.replication.throttled.replicas", "", Kind::List, "", "replicas that are throttled themselves, in the same form"),
];

/// Those whose default may also be given in minutes or hours, so that their own form is not set.
const OTHER_FORMS: [(&str, &[(&str, i64)]); 3] = [
    (
        "log.retention.ms",
        &[
            ("log.retention.minutes", 60_000),
            ("log.retention.hours", 3_600_000),
        ],
    ),
    ("log.roll.ms", &[("log.roll.hours", 3_600_000)]),
    (
        "log.roll.jitter.ms",
        &[("log.roll.jitter.hours", 3_600_000)],
    ),
];

impl TopicSetting {
    /// The broker's setting that gives the default.
    pub(super) fn broker_default(&self) -> Option<Definition> {
        let name = self.broker_name?;
        let has_other_forms = OTHER_FORMS.iter().any(|it| it.0 == name);
        Some(Definition {
            name,
            kind: self.kind,
            default: (!has_other_forms).then_some(self.default),
            change: Change::Broker,
            is_guard: false,
            meaning: self.meaning,
        })
    }
}

/// The topic setting of this name.
pub fn find(name: &str) -> Option<&'static TopicSetting> {
    TOPIC_SETTINGS.iter().find(|it| it.name == name)
}

/// A topic cannot have this setting. `INVALID_CONFIG`.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum TopicSettingError {
    /// There is none of this name.
    #[error("there is no topic setting {name}")]
    Unknown {
        /// The name.
        name: String,
    },
    /// The value is of another kind, out of range, or contradicts another one.
    #[error("{name} is {value:?}, expected {expected}")]
    Invalid {
        /// The setting.
        name: String,
        /// The value.
        value: String,
        /// What it may be.
        expected: String,
    },
}

impl From<ConfigError> for TopicSettingError {
    fn from(error: ConfigError) -> Self {
        Self::Invalid {
            name: error.name.to_owned(),
            value: error.value,
            expected: error.expected.to_owned(),
        }
    }
}

/// The settings of a topic that sets none, and what its own make of them.
#[derive(Debug, Clone, PartialEq)]
pub struct TopicDefaults {
    values: BTreeMap<&'static str, Value>,
    /// As text, for who asks.
    texts: BTreeMap<&'static str, String>,
    producer_id_expiration: Duration,
}

impl TopicDefaults {
    /// The defaults that a broker's settings give.
    ///
    /// # Errors
    /// [`SettingsError::Invalid`] for a retention of 0, and for what [`LogConfig::check`] refuses.
    pub(super) fn new(values: &Values) -> Result<Self, SettingsError> {
        let mut defaults = Self {
            values: BTreeMap::new(),
            texts: BTreeMap::new(),
            producer_id_expiration: values.millis("producer.id.expiration.ms"),
        };
        for setting in TOPIC_SETTINGS {
            let text = match setting.broker_name {
                None => setting.default.to_owned(),
                Some(name) => broker_text(values, name)?,
            };
            let value = setting.kind.parse(&text);
            let value = value.expect("the broker's setting has been checked");
            defaults.values.insert(setting.name, value);
            defaults.texts.insert(setting.name, text);
        }
        match defaults.settle(&defaults.values) {
            Ok(_) => Ok(defaults),
            Err(error) => Err(named_as_the_brokers(values, error)),
        }
    }

    /// The default of a setting, as text.
    ///
    /// # Panics
    /// If topics have no such setting.
    pub fn text(&self, setting: &TopicSetting) -> &str {
        &self.texts[setting.name]
    }

    /// The settings of a topic with these of its own.
    ///
    /// # Errors
    /// [`TopicSettingError`], for the first that cannot be.
    pub fn with<N, V>(
        &self,
        own: impl IntoIterator<Item = (N, V)>,
    ) -> Result<TopicSettings, TopicSettingError>
    where
        N: Borrow<str>,
        V: Borrow<str>,
    {
        let mut values = self.values.clone();
        for (name, text) in own {
            let (setting, value) = read(name.borrow(), text.borrow())?;
            values.insert(setting.name, value);
        }
        self.settle(&values)
    }

    /// The settings of a topic that exists. What it should not have been given is reported and
    /// left out: a bad setting must not keep its records from being served.
    pub fn with_what_fits<N, V>(
        &self,
        topic: &str,
        own: impl IntoIterator<Item = (N, V)>,
    ) -> TopicSettings
    where
        N: Borrow<str>,
        V: Borrow<str>,
    {
        let mut values = self.values.clone();
        for (name, text) in own {
            match read(name.borrow(), text.borrow()) {
                Ok((setting, value)) => {
                    values.insert(setting.name, value);
                }
                Err(error) => {
                    warn!(
                        topic,
                        error = &error as &dyn std::error::Error,
                        "topic setting left out"
                    );
                }
            }
        }
        self.settle(&values).unwrap_or_else(|error| {
            warn!(
                topic,
                error = &error as &dyn std::error::Error,
                "topic settings do not fit together, taking the defaults"
            );
            let defaults = self.settle(&self.values);
            defaults.unwrap_or_else(|_| unreachable!("the defaults have been checked"))
        })
    }

    /// Makes of single values what partitions go by.
    fn settle(
        &self,
        values: &BTreeMap<&'static str, Value>,
    ) -> Result<TopicSettings, TopicSettingError> {
        let these = These(values);
        let log = LogConfig {
            segment_bytes: these.whole("segment.bytes"),
            segment_age_max: these.millis("segment.ms"),
            segment_jitter: these.millis("segment.jitter.ms"),
            index_bytes: these.whole("segment.index.bytes"),
            index_interval_bytes: these.whole("index.interval.bytes"),
            batch_bytes_max: these.whole("max.message.bytes"),
            preallocate: these.bool("preallocate"),
            flush_records: these.limit("flush.messages"),
            flush_age: these.limit("flush.ms").map(Duration::from_millis),
            cleanup_policy: CleanupPolicy::parse(&these.list("cleanup.policy").join(","))?,
            retention_bytes: these.limit("retention.bytes"),
            retention_age: these.limit("retention.ms").map(Duration::from_millis),
            file_delete_delay: these.millis("file.delete.delay.ms"),
            tombstone_retention: these.millis("delete.retention.ms"),
            compaction_lag_min: these.millis("min.compaction.lag.ms"),
            compaction_lag_max: these
                .limit("max.compaction.lag.ms")
                .map(Duration::from_millis),
            dirty_ratio_min: these.double("min.cleanable.dirty.ratio"),
            producer_id_expiration: self.producer_id_expiration,
            keeps_producer_snapshots: true,
            keeps_leader_epochs: true,
        };
        log.check()?;
        let rules = ValidationRules {
            compression: these.compression()?,
            timestamp_type: match these.text("message.timestamp.type") {
                "LogAppendTime" => TimestampType::LogAppend,
                _ => TimestampType::Create,
            },
            timestamp_before_max_ms: these.number("message.timestamp.before.max.ms"),
            timestamp_after_max_ms: these.number("message.timestamp.after.max.ms"),
            key_required: log.cleanup_policy.compact,
            batch_size_max: these.whole("max.message.bytes"),
            ..ValidationRules::default()
        };
        Ok(TopicSettings {
            log,
            rules,
            min_in_sync_replicas: these.whole("min.insync.replicas"),
        })
    }
}

fn read(name: &str, text: &str) -> Result<(&'static TopicSetting, Value), TopicSettingError> {
    let Some(setting) = find(name) else {
        return Err(TopicSettingError::Unknown {
            name: name.to_owned(),
        });
    };
    match setting.kind.parse(text) {
        Ok(value) => Ok((setting, value)),
        Err(expected) => Err(TopicSettingError::Invalid {
            name: name.to_owned(),
            value: text.to_owned(),
            expected: expected.to_string(),
        }),
    }
}

/// The text of a broker's setting, if need be out of one of its coarser forms.
fn broker_text(values: &Values, name: &'static str) -> Result<String, SettingsError> {
    let forms = OTHER_FORMS.iter().find(|it| it.0 == name);
    let Some((_, coarser)) = forms else {
        let entry = values.entry(name);
        let text = entry.text.clone();
        return Ok(text.expect("a setting with a default"));
    };
    let own = [(name, 1)];
    // All are looked at, so that a coarser one beside a finer one is not taken for a mistake.
    let mut found = None;
    for (form, unit) in own.iter().chain(*coarser) {
        if let Some(number) = values.number(form)
            && found.is_none()
        {
            found = Some((*form, number, *unit));
        }
    }
    let (form, number, unit) = found.expect("the coarsest form has a default");
    if name == "log.retention.ms" && (number == 0 || number < -1) {
        return Err(values.invalid(form, "1 or more, or -1 for ever"));
    }
    let ms = if number < 0 {
        -1
    } else {
        number.saturating_mul(unit)
    };
    Ok(ms.to_string())
}

fn named_as_the_brokers(values: &Values, error: TopicSettingError) -> SettingsError {
    let (name, expected) = match error {
        TopicSettingError::Unknown { name } => (name, "a topic setting".to_owned()),
        TopicSettingError::Invalid { name, expected, .. } => (name, expected),
    };
    let setting = find(&name).and_then(|it| it.broker_name);
    values.invalid(setting.unwrap_or("log.cleanup.policy"), expected)
}

/// The values of a topic, all there and each of its kind.
struct These<'a>(&'a BTreeMap<&'static str, Value>);

impl These<'_> {
    fn number(&self, name: &str) -> i64 {
        match &self.0[name] {
            Value::Number(number) => *number,
            other => unreachable!("{name} is a number, not {other:?}"),
        }
    }

    fn whole<T: TryFrom<i64>>(&self, name: &str) -> T {
        let fitting = T::try_from(self.number(name)).ok();
        fitting.expect("a range within the type's")
    }

    /// No limit is a negative number, or the greatest one.
    fn limit(&self, name: &str) -> Option<u64> {
        let number = Some(self.number(name)).filter(|it| *it < i64::MAX)?;
        u64::try_from(number).ok()
    }

    fn millis(&self, name: &str) -> Duration {
        Duration::from_millis(self.whole(name))
    }

    fn bool(&self, name: &str) -> bool {
        self.0[name] == Value::Bool(true)
    }

    fn double(&self, name: &str) -> f64 {
        match &self.0[name] {
            Value::Double(number) => *number,
            other => unreachable!("{name} is a fraction, not {other:?}"),
        }
    }

    fn text(&self, name: &str) -> &str {
        match &self.0[name] {
            Value::Text(text) => text,
            other => unreachable!("{name} is a text, not {other:?}"),
        }
    }

    fn list(&self, name: &str) -> &[String] {
        match &self.0[name] {
            Value::List(list) => list,
            other => unreachable!("{name} is a list, not {other:?}"),
        }
    }

    fn compression(&self) -> Result<TopicCompression, TopicSettingError> {
        let invalid =
            |name: &str, value: &dyn ToString, why: &dyn ToString| TopicSettingError::Invalid {
                name: name.to_owned(),
                value: value.to_string(),
                expected: why.to_string(),
            };
        let level = |name: &str| self.whole::<i32>(name);
        let (gzip, lz4, zstd) = (
            level("compression.gzip.level"),
            level("compression.lz4.level"),
            level("compression.zstd.level"),
        );
        let levels = Levels {
            gzip: GzipLevel::new(gzip)
                .map_err(|_| invalid("compression.gzip.level", &gzip, &"1 to 9, or -1"))?,
            lz4: Lz4Level::new(lz4)
                .map_err(|_| invalid("compression.lz4.level", &lz4, &"1 to 17"))?,
            zstd: ZstdLevel::new(zstd)
                .map_err(|_| invalid("compression.zstd.level", &zstd, &"-131072 to 22"))?,
        };
        let name = self.text("compression.type");
        TopicCompression::from_name(name, &levels)
            .map_err(|error| invalid("compression.type", &name, &error))
    }
}

#[cfg(test)]
mod tests {
    use super::super::sources::from_assignment;
    use super::*;

    fn defaults(assignments: &[&str]) -> Result<TopicDefaults, SettingsError> {
        let given = assignments.iter().map(|it| from_assignment(it).unwrap());
        TopicDefaults::new(&Values::resolve(given.collect())?.0)
    }

    fn topic(assignments: &[&str], own: &[(&str, &str)]) -> TopicSettings {
        let own = own.iter().copied();
        defaults(assignments).unwrap().with(own).unwrap()
    }

    #[test]
    fn without_settings_all_is_as_apache_kafka_has_it() {
        let settings = topic(&[], &[]);
        assert_eq!(settings, TopicSettings::default());
    }

    #[test]
    fn a_topics_own_value_outweighs_the_brokers() {
        let broker = ["log.segment.bytes=2097152", "min.insync.replicas=2"];
        let settings = topic(&broker, &[("segment.bytes", "1048576")]);
        assert_eq!(settings.log.segment_bytes, 1 << 20);
        assert_eq!(settings.min_in_sync_replicas, 2);
        assert_eq!(topic(&broker, &[]).log.segment_bytes, 2 << 20);
    }

    #[test]
    fn finer_forms_outweigh_coarser_ones() {
        let retention = |given: &[&str]| topic(given, &[]).log.retention_age;
        let hours = |hours| Some(Duration::from_hours(hours));
        assert_eq!(retention(&["log.retention.hours=2"]), hours(2));
        let both = ["log.retention.minutes=60", "log.retention.hours=2"];
        assert_eq!(retention(&both), hours(1));
        let all = ["log.retention.ms=1", "log.retention.minutes=60"];
        assert_eq!(retention(&all), Some(Duration::from_millis(1)));
        assert_eq!(retention(&["log.retention.hours=-1"]), None);
        assert_eq!(retention(&["log.retention.ms=-1"]), None);
        let rolls = topic(&["log.roll.hours=3", "log.roll.jitter.hours=1"], &[]).log;
        assert_eq!(rolls.segment_age_max, Duration::from_hours(3));
        assert_eq!(rolls.segment_jitter, Duration::from_hours(1));
    }

    #[test]
    fn a_retention_of_0_is_refused_in_each_form() {
        for name in [
            "log.retention.ms",
            "log.retention.minutes",
            "log.retention.hours",
        ] {
            let error = defaults(&[&format!("{name}=0")]).unwrap_err().to_string();
            assert!(error.contains(name), "{error}");
        }
        // A topic may have it: all its closed segments go.
        assert_eq!(
            topic(&[], &[("retention.ms", "0")]).log.retention_age,
            Some(Duration::ZERO)
        );
    }

    #[test]
    fn what_a_topic_cannot_have_is_refused_by_name() {
        let defaults = defaults(&[]).unwrap();
        let refused = |own: &[(&str, &str)]| defaults.with(own.iter().copied()).unwrap_err();
        assert_eq!(
            refused(&[("segment.byte", "1")]).to_string(),
            "there is no topic setting segment.byte"
        );
        assert_eq!(
            refused(&[("segment.bytes", "1")]).to_string(),
            "segment.bytes is \"1\", expected a whole number from 1048576 to 2147483647"
        );
        for (name, value) in [
            ("cleanup.policy", ""),
            ("cleanup.policy", "compress"),
            ("compression.type", "brotli"),
            ("compression.gzip.level", "0"),
            ("message.timestamp.type", "Never"),
            ("min.insync.replicas", "0"),
            ("min.cleanable.dirty.ratio", "2"),
            ("flush.messages", "0"),
            ("preallocate", "maybe"),
        ] {
            let shown = refused(&[(name, value)]).to_string();
            assert!(shown.starts_with(name), "{shown}");
        }
        let lags = [
            ("min.compaction.lag.ms", "9"),
            ("max.compaction.lag.ms", "8"),
        ];
        assert!(refused(&lags).to_string().contains("max.compaction.lag.ms"));
    }

    #[test]
    fn what_an_existing_topic_should_not_have_is_left_out() {
        let defaults = defaults(&[]).unwrap();
        let own = [("segment.bytes", "1"), ("flush.messages", "1"), ("x", "y")];
        let settings = defaults.with_what_fits("t", own);
        assert_eq!(settings.log.flush_records, Some(1));
        assert_eq!(settings.log.segment_bytes, 1 << 30);
        let lags = [
            ("min.compaction.lag.ms", "9"),
            ("max.compaction.lag.ms", "8"),
        ];
        assert_eq!(defaults.with_what_fits("t", lags), TopicSettings::default());
    }

    #[test]
    fn a_default_that_contradicts_another_is_named_as_the_broker_has_it() {
        let given = [
            "log.cleaner.min.compaction.lag.ms=9",
            "log.cleaner.max.compaction.lag.ms=8",
        ];
        let error = defaults(&given).unwrap_err().to_string();
        assert!(
            error.starts_with("--set: log.cleaner.max.compaction.lag.ms"),
            "{error}"
        );
    }

    #[test]
    fn values_reach_what_partitions_go_by() {
        let own = [
            ("cleanup.policy", "compact, delete"),
            ("compression.type", "zstd"),
            ("compression.zstd.level", "7"),
            ("message.timestamp.type", "LogAppendTime"),
            ("message.timestamp.after.max.ms", "5"),
            ("max.message.bytes", "1000"),
            ("flush.ms", "20"),
            ("retention.bytes", "123"),
        ];
        let TopicSettings { log, rules, .. } = topic(&[], &own);
        assert!(log.cleanup_policy.compact && log.cleanup_policy.delete);
        assert!(rules.key_required);
        assert_eq!(
            rules
                .compression
                .target(klamm_records::Codec::None)
                .codec()
                .name(),
            "zstd"
        );
        assert_eq!(rules.timestamp_type, TimestampType::LogAppend);
        assert_eq!(rules.timestamp_after_max_ms, 5);
        assert_eq!((rules.batch_size_max, log.batch_bytes_max), (1000, 1000));
        assert_eq!(log.flush_age, Some(Duration::from_millis(20)));
        assert_eq!(log.retention_bytes, Some(123));
    }
}
