//! [`TopicSettings`]: what a topic's settings mean to its partitions.

use klamm_log::LogConfig;
use klamm_records::ValidationRules;

/// The settings of one topic, as its partitions go by them.
#[derive(Debug, Clone, PartialEq)]
pub struct TopicSettings {
    /// The log's.
    pub log: LogConfig,
    /// What batches must be like. Whether zstd is allowed is the request's to say.
    pub rules: ValidationRules,
    /// `min.insync.replicas`.
    pub min_in_sync_replicas: usize,
}

impl Default for TopicSettings {
    /// Apache Kafka's defaults.
    fn default() -> Self {
        Self {
            log: LogConfig::default(),
            rules: ValidationRules::default(),
            min_in_sync_replicas: 1,
        }
    }
}
