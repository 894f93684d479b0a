//! Waiting for a topic's metadata. (P2.1)

use std::sync::Arc;
use std::time::Instant;

use klamm_client::{Cluster, MetadataError, Topic, TopicError};
use klamm_primitives::PartitionIndex;

use crate::error::{Failure, Obstacle, SendError};
use crate::lifecycle::Phase;
use crate::producer::Shared;

/// What is known of a topic, for one record.
enum Known {
    /// Enough.
    Topic(Arc<Topic>),
    /// It is there, with fewer partitions than the record's needs.
    TooFew(u32),
    /// No cluster allows its name.
    Invalid,
    Nothing,
}

fn known(cluster: &Cluster, name: &Arc<str>, partition: Option<PartitionIndex>) -> Known {
    if let Some(topic) = enough(cluster, name, partition) {
        return Known::Topic(Arc::clone(topic));
    }
    match cluster.topic(name) {
        Some(topic) if !topic.partitions().is_empty() => {
            Known::TooFew(u32::try_from(topic.partitions().len()).unwrap_or(u32::MAX))
        }
        _ if cluster.invalid_topics().contains(name) => Known::Invalid,
        _ => Known::Nothing,
    }
}

/// What is known of a topic, if it is enough for a record of that partition.
#[inline]
pub(super) fn enough<'a>(
    cluster: &'a Cluster,
    name: &str,
    partition: Option<PartitionIndex>,
) -> Option<&'a Arc<Topic>> {
    let topic = cluster.topic(name)?;
    let needed = partition.map_or(0, |index| usize::try_from(index.get()).unwrap_or(0));
    (needed < topic.partitions().len()).then_some(topic)
}

impl<K, V> Shared<K, V> {
    /// Waits until a topic is known, with the partition if one is given. Each answer without it
    /// leads to one more request, until the deadline.
    pub(super) async fn await_topic(
        &self,
        name: &Arc<str>,
        partition: Option<PartitionIndex>,
        deadline: Instant,
    ) -> Result<Result<Arc<Topic>, Failure>, SendError> {
        let start = self.time.now();
        let found = self.await_known(name, partition, start, deadline).await;
        let wait = self.time.now().saturating_duration_since(start);
        self.metrics.waited_for_metadata(wait);
        found
    }

    async fn await_known(
        &self,
        name: &Arc<str>,
        partition: Option<PartitionIndex>,
        start: Instant,
        deadline: Instant,
    ) -> Result<Result<Arc<Topic>, Failure>, SendError> {
        let metadata = self.client.metadata();
        loop {
            let cluster = metadata.look();
            let state = known(&cluster, name, partition);
            let cause = cluster.topic_error(name);
            let nobody_answered = cluster.is_bootstrap();
            drop(cluster);
            match &state {
                Known::Topic(topic) => {
                    topic.touch(self.time.now());
                    return Ok(Ok(Arc::clone(topic)));
                }
                Known::Invalid => return Ok(Err(Failure::InvalidTopic)),
                Known::TooFew(_) | Known::Nothing => {}
            }
            let now = self.time.now();
            if now >= deadline {
                let waited = now.saturating_duration_since(start);
                return Ok(Err(match state {
                    Known::TooFew(count) => Failure::PartitionMissing { count, waited },
                    _ => Failure::TopicMissing {
                        waited,
                        cause,
                        last: metadata
                            .last_trouble()
                            .map(Obstacle::Connection)
                            .or_else(|| nobody_answered.then_some(Obstacle::Silence)),
                    },
                }));
            }
            metadata.add_topic(name, now);
            let version = metadata.request_update_for(name);
            self.client.wake();
            tokio::select! {
                biased;
                () = self.lifecycle.reached(Phase::Closing) => {
                    return Err(SendError::ClosedDuringSend);
                }
                news = metadata.newer_than(version) => match news {
                    Ok(_) => {}
                    Err(MetadataError::Closed) => return Err(SendError::ClosedDuringSend),
                    Err(_) => return Ok(Err(Failure::UnsupportedVersion("Metadata"))),
                },
                () = self.time.sleep_until(deadline) => {}
            }
            match metadata.take_error_for(name) {
                Some(MetadataError::Topic(TopicError::Unauthorized { .. })) => {
                    return Ok(Err(Failure::TopicUnauthorized));
                }
                Some(MetadataError::Topic(TopicError::Invalid { .. })) => {
                    return Ok(Err(Failure::InvalidTopic));
                }
                _ => {}
            }
        }
    }
}
