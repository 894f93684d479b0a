//! [`TopicSettings`]: what a topic's settings mean to its partitions.

use std::time::Duration;

use klamm_controller::MetadataImage;
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

impl TopicSettings {
    /// Whether records are acknowledged only once they are synced: `flush.messages` is 1, or
    /// `flush.ms` is 0. (B4.5)
    pub(crate) fn syncs_before_acknowledgement(&self) -> bool {
        self.log.flush_records == Some(1) || self.log.flush_age == Some(Duration::ZERO)
    }
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

/// Tells the settings of topics: the broker, which knows the defaults and the names.
pub trait TopicSettingsSource: Send + Sync {
    /// The settings of a topic by this image. Called where partitions are made and where the
    /// topic's settings have changed; must not block.
    fn settings_of(&self, image: &MetadataImage, topic: &str) -> TopicSettings;
}
