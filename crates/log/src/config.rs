//! [`LogConfig`]: the settings of one log, under the names that topics have for them.

use std::time::Duration;

use thiserror::Error;

/// What happens to old records (`cleanup.policy`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct CleanupPolicy {
    /// They go by age and size.
    pub delete: bool,
    /// Of each key the newest one stays.
    pub compact: bool,
}

impl CleanupPolicy {
    /// Records go by age and size.
    pub const DELETE: Self = Self {
        delete: true,
        compact: false,
    };

    /// Of each key the newest record stays.
    pub const COMPACT: Self = Self {
        delete: false,
        compact: true,
    };

    /// Reads `delete`, `compact`, or both in a list, in any order and with spaces.
    ///
    /// # Errors
    /// [`ConfigError`] for anything else, and for an empty list.
    pub fn parse(text: &str) -> Result<Self, ConfigError> {
        let mut policy = Self {
            delete: false,
            compact: false,
        };
        for word in text.split(',') {
            match word.trim() {
                "delete" => policy.delete = true,
                "compact" => policy.compact = true,
                _ => {
                    return Err(ConfigError {
                        name: "cleanup.policy",
                        value: text.to_owned(),
                        expected: "a list of delete and compact",
                    });
                }
            }
        }
        Ok(policy)
    }
}

/// A setting has a value that it cannot have.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{name} is {value}, expected {expected}")]
pub struct ConfigError {
    /// The setting, by its topic name.
    pub name: &'static str,
    /// The value.
    pub value: String,
    /// What it may be.
    pub expected: &'static str,
}

/// The settings of one log. Sizes are bytes; `None` is "no limit" (-1, or the greatest number,
/// in Kafka's files).
#[derive(Debug, Clone, PartialEq)]
pub struct LogConfig {
    /// `segment.bytes`: a segment is not larger, unless one batch is.
    pub segment_bytes: u32,
    /// `segment.ms`: a new segment after so long.
    pub segment_age_max: Duration,
    /// `segment.jitter.ms`: a random part of so much is taken off that.
    pub segment_jitter: Duration,
    /// `segment.index.bytes`: room of each of a segment's two indexes.
    pub index_bytes: u32,
    /// `index.interval.bytes`: so much log lies between two index entries.
    pub index_interval_bytes: u32,
    /// `max.message.bytes`: the largest batch that a leader takes, after compression.
    pub batch_bytes_max: u32,
    /// `preallocate`: a segment's file takes its whole size at once.
    pub preallocate: bool,
    /// `flush.messages`: so many records may be unsynced; 1 asks for a sync before each
    /// acknowledgement.
    pub flush_records: Option<u64>,
    /// `flush.ms`: records may be unsynced for so long.
    pub flush_age: Option<Duration>,
    /// `cleanup.policy`.
    pub cleanup_policy: CleanupPolicy,
    /// `retention.bytes`: older segments go while the log is larger.
    pub retention_bytes: Option<u64>,
    /// `retention.ms`: segments go when their newest record is older.
    pub retention_age: Option<Duration>,
    /// `file.delete.delay.ms`: files wait so long between their renaming and their removal.
    pub file_delete_delay: Duration,
    /// `delete.retention.ms`: tombstones stay so long after compaction has seen them.
    pub tombstone_retention: Duration,
    /// `min.compaction.lag.ms`: younger records are not compacted.
    pub compaction_lag_min: Duration,
    /// `max.compaction.lag.ms`: older ones are, whatever the ratio.
    pub compaction_lag_max: Option<Duration>,
    /// `min.cleanable.dirty.ratio`: compaction waits until so great a part is dirty.
    pub dirty_ratio_min: f64,
    /// `producer.id.expiration.ms`: an idle producer is forgotten after so long.
    pub producer_id_expiration: Duration,
    /// Whether what is known of producers is written where segments begin and where the log is closed.
    /// A log without idempotent producers, written by one owner, needs none of those files and their
    /// syncs. No setting of Kafka's.
    pub keeps_producer_snapshots: bool,
    /// Whether the list of leader epochs is kept on disk. Each new epoch costs two syncs for it; who
    /// never asks which epoch began where need not have it. No setting of Kafka's.
    pub keeps_leader_epochs: bool,
}

impl Default for LogConfig {
    /// Apache Kafka's defaults.
    fn default() -> Self {
        const DAY: Duration = Duration::from_hours(24);
        Self {
            segment_bytes: 1 << 30,
            segment_age_max: 7 * DAY,
            segment_jitter: Duration::ZERO,
            index_bytes: 10 << 20,
            index_interval_bytes: 4096,
            batch_bytes_max: 1_048_588,
            preallocate: false,
            flush_records: None,
            flush_age: None,
            cleanup_policy: CleanupPolicy::DELETE,
            retention_bytes: None,
            retention_age: Some(7 * DAY),
            file_delete_delay: Duration::from_mins(1),
            tombstone_retention: DAY,
            compaction_lag_min: Duration::ZERO,
            compaction_lag_max: None,
            dirty_ratio_min: 0.5,
            producer_id_expiration: DAY,
            keeps_producer_snapshots: true,
            keeps_leader_epochs: true,
        }
    }
}

impl LogConfig {
    /// After so long a segment is done: with `compact`, also when its records have to be
    /// compacted, for the segment that is appended to never is.
    pub(crate) fn roll_age_max(&self) -> Duration {
        let lag_max = self
            .compaction_lag_max
            .filter(|_| self.cleanup_policy.compact);
        lag_max.map_or(self.segment_age_max, |it| it.min(self.segment_age_max))
    }

    /// Looks at the ranges, as Kafka has them since 4.0.
    ///
    /// # Errors
    /// The first setting that is out of its range.
    pub fn check(&self) -> Result<(), ConfigError> {
        let refuse = |name, value: &dyn ToString, expected| {
            Err(ConfigError {
                name,
                value: value.to_string(),
                expected,
            })
        };
        if !(1 << 20..=i32::MAX.unsigned_abs()).contains(&self.segment_bytes) {
            return refuse(
                "segment.bytes",
                &self.segment_bytes,
                "1048576 to 2147483647",
            );
        }
        if self.segment_age_max < Duration::from_millis(1) {
            let value = self.segment_age_max.as_millis();
            return refuse("segment.ms", &value, "1 or more");
        }
        if !(4..=i32::MAX.unsigned_abs()).contains(&self.index_bytes) {
            return refuse("segment.index.bytes", &self.index_bytes, "4 to 2147483647");
        }
        if self.flush_records == Some(0) {
            return refuse("flush.messages", &0, "1 or more");
        }
        if !(0.0..=1.0).contains(&self.dirty_ratio_min) {
            let value = self.dirty_ratio_min;
            return refuse("min.cleanable.dirty.ratio", &value, "0 to 1");
        }
        if let Some(lag_max) = self.compaction_lag_max
            && (lag_max < Duration::from_millis(1) || lag_max < self.compaction_lag_min)
        {
            let expected = "1 or more, and not below min.compaction.lag.ms";
            return refuse("max.compaction.lag.ms", &lag_max.as_millis(), expected);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lg_222_the_defaults_are_kafkas() {
        let config = LogConfig::default();
        assert_eq!(config.check(), Ok(()));
        assert_eq!(config.segment_bytes, 1_073_741_824);
        assert_eq!(config.segment_age_max.as_millis(), 604_800_000);
        assert_eq!(config.segment_jitter.as_millis(), 0);
        assert_eq!(config.index_bytes, 10_485_760);
        assert_eq!(config.index_interval_bytes, 4096);
        assert_eq!(config.batch_bytes_max, 1_048_588);
        assert_eq!(config.retention_age.unwrap().as_millis(), 604_800_000);
        assert_eq!(config.retention_bytes, None);
        assert_eq!(config.tombstone_retention.as_millis(), 86_400_000);
        assert_eq!(config.file_delete_delay.as_millis(), 60_000);
        assert_eq!(config.compaction_lag_min.as_millis(), 0);
        assert_eq!(config.compaction_lag_max, None);
        assert_eq!((config.flush_records, config.flush_age), (None, None));
        assert!(!config.preallocate);
        assert!((config.dirty_ratio_min - 0.5).abs() < f64::EPSILON);
    }

    #[test]
    fn lg_223_values_out_of_range_are_refused_by_name() {
        let refused = |change: fn(&mut LogConfig)| {
            let mut config = LogConfig::default();
            change(&mut config);
            config.check().unwrap_err().name
        };
        assert_eq!(
            refused(|it| it.segment_bytes = (1 << 20) - 1),
            "segment.bytes"
        );
        assert_eq!(refused(|it| it.segment_bytes = 1 << 31), "segment.bytes");
        assert_eq!(
            refused(|it| it.segment_age_max = Duration::ZERO),
            "segment.ms"
        );
        assert_eq!(refused(|it| it.index_bytes = 3), "segment.index.bytes");
        assert_eq!(refused(|it| it.flush_records = Some(0)), "flush.messages");
        let dirty = "min.cleanable.dirty.ratio";
        assert_eq!(refused(|it| it.dirty_ratio_min = 1.5), dirty);
        assert_eq!(refused(|it| it.dirty_ratio_min = -0.1), dirty);
        assert_eq!(refused(|it| it.dirty_ratio_min = f64::NAN), dirty);
        let lag = "max.compaction.lag.ms";
        assert_eq!(
            refused(|it| it.compaction_lag_max = Some(Duration::ZERO)),
            lag
        );
        let below = |it: &mut LogConfig| {
            it.compaction_lag_min = Duration::from_millis(9);
            it.compaction_lag_max = Some(Duration::from_millis(8));
        };
        assert_eq!(refused(below), lag);
    }

    #[test]
    fn lg_224_the_cleanup_policy_is_a_list_in_any_order() {
        let both = CleanupPolicy {
            delete: true,
            compact: true,
        };
        assert_eq!(CleanupPolicy::parse("delete"), Ok(CleanupPolicy::DELETE));
        assert_eq!(CleanupPolicy::parse("compact"), Ok(CleanupPolicy::COMPACT));
        assert_eq!(CleanupPolicy::parse(" compact , delete"), Ok(both));
        for text in ["", "delete,", "Delete", "compact;delete", "none"] {
            assert!(CleanupPolicy::parse(text).is_err(), "{text:?}");
        }
    }
}
