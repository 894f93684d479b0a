//! [`Metadata`]: what a client knows of the cluster, and which topics it wants to know.
//!
//! The network client asks brokers and fills it in; anybody else may read the snapshot, add
//! topics and wait for news.

mod apply;
mod refresh;
mod state;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;

use arc_swap::ArcSwap;
use klamm_primitives::{LeaderEpoch, TopicPartition};
use klamm_wire::messages::metadata::{MetadataRequest, MetadataResponse};
use parking_lot::Mutex;
use thiserror::Error;
use tokio::sync::watch;

use self::state::State;
use crate::answer::Failure;
use crate::bootstrap::BootstrapAddress;
use crate::cluster::Cluster;
use crate::config::ClientConfig;
use crate::node::{Node, NodeId};
use crate::trouble::Trouble;

pub(crate) use self::refresh::Asked;

/// What a client knows of the cluster. A clone is the same.
///
/// The snapshot is read without a lock. The rest is behind one that is held for the length of a
/// call, by callers and by the client's task, and under which nothing else is called. What asks
/// for an update takes effect at the client's next turn: see
/// [`ClientHandle::wake`](crate::ClientHandle::wake).
#[derive(Debug, Clone)]
pub struct Metadata {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    cluster: ArcSwap<Cluster>,
    /// How many snapshots took another's place. Written after each.
    replaced: AtomicU32,
    news: watch::Sender<News>,
}

/// What those who wait look at.
#[derive(Debug, Clone, Copy, Default)]
struct News {
    version: u64,
    /// Counts the fatal errors.
    fatal: u64,
    closed: bool,
}

/// Why metadata cannot be had, or not applied.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum MetadataError {
    /// The client was closed.
    #[error("the client is closed")]
    Closed,
    /// What the last answer said of a topic.
    #[error(transparent)]
    Topic(#[from] TopicError),
    /// Asking failed in a way that asking again will not mend: authentication, or a node that
    /// takes no usable version.
    #[error("metadata cannot be had")]
    Fatal(#[from] Failure),
}

/// What is wrong with a topic.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum TopicError {
    /// No topic can have this name.
    #[error("`{topic}` is not a legal topic name")]
    Invalid {
        /// The topic.
        topic: Arc<str>,
    },
    /// This client may not see the topic.
    #[error("not authorized to access topic `{topic}`")]
    Unauthorized {
        /// The topic.
        topic: Arc<str>,
    },
}

impl TopicError {
    /// The topic.
    pub const fn topic(&self) -> &Arc<str> {
        match self {
            Self::Invalid { topic } | Self::Unauthorized { topic } => topic,
        }
    }
}

/// A leader that was learned of outside metadata, as from the answer to a produce request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeaderChange {
    /// The partition.
    pub partition: TopicPartition,
    /// Its leader; a negative id says that none is known.
    pub leader: NodeId,
    /// The leader's epoch; a negative one says that it is not known.
    pub leader_epoch: LeaderEpoch,
}

impl Metadata {
    /// Knows the addresses of the bootstrap list, and wants a full refresh at once. `seed` is for
    /// the jitter of the backoff.
    pub fn new(config: &ClientConfig, seed: u64, now: Instant) -> Self {
        let mut state = State::new(config, seed, now);
        state.bootstrap(&config.bootstrap);
        Self {
            shared: Arc::new(Shared {
                cluster: ArcSwap::new(state.cluster()),
                replaced: AtomicU32::new(0),
                news: watch::Sender::new(News::default()),
                state: Mutex::new(state),
            }),
        }
    }

    /// The newest snapshot.
    pub fn cluster(&self) -> Arc<Cluster> {
        self.shared.cluster.load_full()
    }

    /// The newest snapshot, for a short look: cheaper than [`Self::cluster`] where many threads
    /// look. Not to be held across an await.
    pub fn look(&self) -> arc_swap::Guard<Arc<Cluster>> {
        self.shared.cluster.load()
    }

    /// A number that is another one as soon as there is another snapshot, and comes again after
    /// four billion of them only: what was seen in a snapshot holds while the number stays that it
    /// had before. Costs next to nothing to ask.
    pub fn snapshot_number(&self) -> u32 {
        self.shared.replaced.load(Ordering::Acquire)
    }

    /// Tracks a topic. If it is new, a refresh that asks for it is due at once; else its use is
    /// noted. Returns whether it is new.
    pub fn add_topic(&self, topic: &str, now: Instant) -> bool {
        self.shared.state.lock().add_topic(topic, now)
    }

    /// Tracks several topics; returns whether any is new.
    pub fn add_topics<'a>(&self, topics: impl IntoIterator<Item = &'a str>, now: Instant) -> bool {
        let mut state = self.shared.state.lock();
        let mut any = false;
        for topic in topics {
            any |= state.add_topic(topic, now);
        }
        any
    }

    /// The topics that are tracked, in no order.
    pub fn tracked_topics(&self) -> Vec<Arc<str>> {
        self.shared.state.lock().topics.keys().cloned().collect()
    }

    /// Asks for a full refresh, which comes when the backoff allows it. Returns the version that
    /// an answer will exceed.
    pub fn request_update(&self) -> u64 {
        self.shared.state.lock().request_update()
    }

    /// As [`Self::request_update`]; if the topic has not been asked for yet, only new topics are.
    pub fn request_update_for(&self, topic: &str) -> u64 {
        self.shared.state.lock().request_update_for(topic)
    }

    /// Whether a refresh was asked for and has not come.
    pub fn update_requested(&self) -> bool {
        self.shared.state.lock().update_requested()
    }

    /// Waits for a snapshot with a version above `version`. The future may be dropped.
    ///
    /// # Errors
    /// [`MetadataError::Closed`]; [`MetadataError::Fatal`] if asking fails so while this waits.
    /// The time limit is the caller's. (P2.1)
    pub async fn newer_than(&self, version: u64) -> Result<Arc<Cluster>, MetadataError> {
        let mut news = self.shared.news.subscribe();
        let before = *news.borrow_and_update();
        let is_news =
            |news: &News| news.version > version || news.closed || news.fatal > before.fatal;
        // The sender lives as long as `self`.
        let seen = news.wait_for(is_news).await.map(|news| *news);
        let seen = seen.map_err(|_| MetadataError::Closed)?;
        if seen.version > version {
            return Ok(self.cluster());
        }
        let fatal = self.shared.state.lock().fatal.clone();
        match fatal {
            Some(failure) if !seen.closed => Err(failure.into()),
            _ => Err(MetadataError::Closed),
        }
    }

    /// The error of the last answer or attempt, once: a fatal one, else of a topic whose name is
    /// invalid, else of one that this client may not see. All are cleared.
    pub fn take_error(&self) -> Option<MetadataError> {
        self.shared.state.lock().take_error(None)
    }

    /// As [`Self::take_error`], but of the topics only this one counts. All are cleared.
    pub fn take_error_for(&self, topic: &str) -> Option<MetadataError> {
        self.shared.state.lock().take_error(Some(topic))
    }

    /// What last went wrong with a connection since there was an answer: who waits for metadata in
    /// vain can say why.
    pub fn last_trouble(&self) -> Option<Arc<Trouble>> {
        self.shared.state.lock().trouble.clone()
    }

    /// The highest leader epoch that was seen of a partition.
    pub fn last_seen_epoch(&self, partition: &TopicPartition) -> Option<LeaderEpoch> {
        self.shared.state.lock().last_seen_epoch(partition)
    }

    /// A leader epoch was seen elsewhere. If it is above the one that is known, it is remembered
    /// and a refresh asked for; returns whether that is so. If none is known, nothing happens.
    ///
    /// # Panics
    /// If the epoch is negative.
    pub fn learn_epoch(&self, partition: &TopicPartition, leader_epoch: LeaderEpoch) -> bool {
        assert!(
            leader_epoch.get() >= 0,
            "negative leader epoch {leader_epoch}"
        );
        let mut state = self.shared.state.lock();
        state.learn_epoch(partition, leader_epoch)
    }

    /// Leaders that a broker named outside metadata, with the addresses it gave. A change counts
    /// if it is complete, newer than what is known, of a known partition, and the address of the
    /// leader is known. Returns the partitions that changed. The version stays.
    pub fn learn_leaders(&self, changes: &[LeaderChange], nodes: &[Node]) -> Vec<TopicPartition> {
        let mut state = self.shared.state.lock();
        let changed = state.learn_leaders(changes, nodes);
        self.publish(&state);
        changed
    }

    /// Ends it: whoever waits fails, and no answer is taken any more.
    pub fn close(&self) {
        self.shared.state.lock().closed = true;
        self.shared.news.send_modify(|news| news.closed = true);
    }

    /// Whether it was closed.
    pub fn is_closed(&self) -> bool {
        self.shared.state.lock().closed
    }

    /// When a refresh is due; `now` or earlier if it is.
    pub(crate) fn due_at(&self, now: Instant) -> Instant {
        self.shared.state.lock().due_at(now)
    }

    /// The request for what is wanted now.
    pub(crate) fn next_request(&self, now: Instant) -> (MetadataRequest, Asked) {
        self.shared.state.lock().next_request(now)
    }

    /// Takes an answer in.
    ///
    /// # Errors
    /// [`MetadataError::Closed`].
    pub(crate) fn apply(
        &self,
        response: &MetadataResponse,
        response_version: i16,
        asked: Asked,
        now: Instant,
    ) -> Result<(), MetadataError> {
        let mut state = self.shared.state.lock();
        state.apply(response, response_version, asked, now)?;
        self.publish(&state);
        let version = state.cluster().version();
        self.shared.news.send_modify(|news| news.version = version);
        Ok(())
    }

    /// Notes that a refresh failed.
    pub(crate) fn failed(&self, now: Instant) {
        self.shared.state.lock().failed(now);
    }

    /// Tells those who wait why there will be no refresh.
    pub(crate) fn failed_fatally(&self, failure: Failure) {
        self.shared.state.lock().fatal = Some(failure);
        self.shared.news.send_modify(|news| news.fatal += 1);
    }

    /// Notes why a connection was lost or not made.
    pub(crate) fn note_trouble(&self, trouble: Arc<Trouble>) {
        self.shared.state.lock().trouble = Some(trouble);
    }

    /// Forgets all nodes for those of the bootstrap list.
    pub(crate) fn rebootstrap(&self, bootstrap: &[BootstrapAddress]) {
        let mut state = self.shared.state.lock();
        state.bootstrap(bootstrap);
        self.publish(&state);
    }

    fn publish(&self, state: &State) {
        let cluster = state.cluster();
        if !Arc::ptr_eq(&cluster, &self.shared.cluster.load()) {
            self.shared.cluster.store(cluster);
            self.shared.replaced.fetch_add(1, Ordering::Release);
        }
    }
}
