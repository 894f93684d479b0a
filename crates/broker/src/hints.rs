//! [`Hints`]: what is told once of what clients ask for in vain.
//!
//! The answer is the client's and says nothing to whoever runs the broker, and clients ask again and
//! again. So the first one is told of in the log, with what to do.

use std::sync::atomic::{AtomicBool, Ordering};

use klamm_controller::CreateTopicError;
use tracing::warn;

/// What was told already.
#[derive(Debug, Default)]
pub(crate) struct Hints {
    groups: Once,
    transactions: Once,
    replication_factor: Once,
}

#[derive(Debug, Default)]
struct Once(AtomicBool);

impl Once {
    /// Whether this is the first call.
    fn is_news(&self) -> bool {
        !self.0.swap(true, Ordering::Relaxed)
    }
}

impl Hints {
    /// Somebody looks for the coordinator of a consumer group.
    pub(crate) fn group_is_asked_for(&self) {
        if self.groups.is_news() {
            warn!(
                "a client asks for a consumer group, which this broker has not: \
                 its consumers must be given their partitions and keep their offsets"
            );
        }
    }

    /// Somebody looks for the coordinator of a transactional id.
    pub(crate) fn transaction_is_asked_for(&self) {
        if self.transactions.is_news() {
            warn!(
                "a client asks for transactions, which this broker has not: \
                 its producers must do without a transactional.id"
            );
        }
    }

    /// A topic was not made that was to have as many replicas as `default.replication.factor` says.
    pub(crate) fn topic_is_refused(&self, topic: &str, error: &CreateTopicError) {
        if let CreateTopicError::InvalidReplicationFactor { factor, usable } = error
            && self.replication_factor.is_news()
        {
            warn!(
                topic,
                default.replication.factor = factor,
                brokers = usable,
                "topic not made, there are fewer brokers than replicas: \
                 set default.replication.factor to no more than the brokers, \
                 or create it with a number of replicas"
            );
        }
    }
}
