//! [`ControllerOptions`]: what the controller goes by, and [`SettingRules`], which it asks.

use std::sync::Arc;
use std::time::Duration;

use thiserror::Error;

use crate::image::{ConfigResource, Settings};

/// The settings of the controller. Each is named with Kafka's name and default.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ControllerOptions {
    /// `num.partitions` (1): for topics that are created without a number of partitions.
    pub partition_count: i32,
    /// `default.replication.factor` (1): likewise.
    pub replication_factor: i16,
    /// `delete.topic.enable` (true).
    pub may_delete_topics: bool,
    /// `unclean.leader.election.enable` (false), where a topic has no value of its own and there
    /// is no dynamic one.
    pub unclean_election: bool,
    /// `unclean.leader.election.interval.ms` (5 minutes): how often leaderless partitions are
    /// looked at.
    pub unclean_election_interval: Duration,
    /// `leader.imbalance.check.interval.seconds` (300); `None` where `auto.leader.rebalance.enable`
    /// is false.
    pub balance_interval: Option<Duration>,
    /// `broker.session.timeout.ms` (9 000).
    pub session_timeout: Duration,
    /// `metadata.max.idle.interval.ms` (500); `None` for 0: no no-op records are written. A quorum
    /// of one has nobody who might lag behind, and no use for them.
    pub idle_interval: Option<Duration>,
    /// The seed of all that is left to chance: ids of topics, and where placement begins.
    pub seed: u64,
}

impl Default for ControllerOptions {
    fn default() -> Self {
        Self {
            partition_count: 1,
            replication_factor: 1,
            may_delete_topics: true,
            unclean_election: false,
            unclean_election_interval: Duration::from_mins(5),
            balance_interval: Some(Duration::from_mins(5)),
            session_timeout: Duration::from_secs(9),
            idle_interval: Some(Duration::from_millis(500)),
            seed: 0,
        }
    }
}

/// Which settings there are. The controller knows none but `unclean.leader.election.enable`; the
/// broker, which acts on them, tells it the rest.
pub trait SettingRules: Send + Sync + 'static {
    /// Looks at everything that would be set for a resource after a change.
    ///
    /// # Errors
    /// [`InvalidSetting`] for a name that is unknown there, a value out of range, and values that
    /// contradict each other.
    fn check(&self, resource: &ConfigResource, settings: &Settings) -> Result<(), InvalidSetting>;

    /// Whether the values of a setting are lists, which can be appended to and subtracted from.
    fn is_list(&self, resource: &ConfigResource, name: &str) -> bool;

    /// What a list is where nothing is set, which appending and subtracting begin with; `None` for
    /// an empty one.
    fn default_value(&self, resource: &ConfigResource, name: &str) -> Option<Arc<str>>;
}

/// A setting is refused.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("invalid setting {name}: {reason}")]
pub struct InvalidSetting {
    /// Its name. The value is left out: it may be a secret.
    pub name: Arc<str>,
    /// What is wrong, in words for the person who set it.
    pub reason: String,
}

/// The setting that the controller itself goes by.
pub(crate) const UNCLEAN_ELECTION: &str = "unclean.leader.election.enable";
