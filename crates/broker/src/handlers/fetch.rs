//! Fetch (key 1).
//!
//! v5 tells the log start offset, v7 has sessions, v9 fences by leader epoch, v11 knows racks, v12
//! tells where logs part ways, v13 names topics by id, v15 moves the follower's id, v16 tells where
//! the leader has gone.
//!
//! Within a session (see [`crate::fetch_sessions`]) all partitions are read that it has, and what is
//! no news is left out of the answer. Differs from Apache Kafka: nowhere known.

mod response;

use std::sync::Arc;
use std::time::Duration;

use klamm_controller::{ConfigResource, MetadataImage};
use klamm_io::{Clock, Disk, DiskFile};
use klamm_network::{ListenerName, Parked, Peer};
use klamm_primitives::{BrokerEpoch, BrokerId, LeaderEpoch, Offset};
use klamm_replica::{FetchOutcome, FetchPartition, FetchRequest, Fetcher, PartitionFetched};
use klamm_wire::ErrorCode;
use klamm_wire::messages::fetch as wire;

use self::response::{Answer, response};
use super::Ticket;
use crate::call::{Call, ParkedCall};
use crate::fetch_sessions::{Manner, SessionUse};
use crate::layout::{Layout, Named};
use crate::node::Node;
use crate::settings::topics;

/// The first version that names topics by their ids.
const IDS_SINCE: i16 = 13;

/// The first version in which the follower stands in a struct of its own.
const REPLICA_STATE_SINCE: i16 = 15;

/// The first version whose clients can read zstd.
const ZSTD_SINCE: i16 = 10;

/// A request that waits until there is enough to read.
pub(crate) struct Waiting<F> {
    call: ParkedCall<F>,
    layout: Layout,
    listener: ListenerName,
    session: SessionUse,
}

impl<F: DiskFile> Waiting<F> {
    /// Answers with what was found in the partitions that were passed on.
    pub(crate) fn answer<D: Disk<File = F>, C: Clock>(
        self,
        node: &Node<D, C>,
        results: Vec<PartitionFetched<F>>,
    ) {
        let version = self.call.head.version;
        let (image, listener) = (node.image(), self.listener.as_str());
        let answer = response(&self.layout, results, &image, listener, version);
        let Answer { message, files } = within_session(node, self.session, answer);
        self.call.answer_with_files(&message, files);
    }
}

impl<F> Waiting<F> {
    /// The number of the connection that it came by.
    pub(crate) fn connection_index(&self) -> Option<u64> {
        self.call.connection_index()
    }

    /// Whether whoever asked is still there.
    pub(crate) fn peer(&self) -> Peer {
        self.call.peer()
    }
}

pub(super) fn handle<D: Disk, C: Clock>(node: &Arc<Node<D, C>>, call: Call<D::File>) {
    let version = call.version();
    let Some((call, mut request)) = call.decode::<wire::FetchRequest>() else {
        return;
    };
    let fetcher = fetcher(&request, version);
    let now = node.clock.now();
    let manner = Manner {
        uses_ids: version >= IDS_SINCE,
        is_follower: matches!(fetcher, Fetcher::Follower { .. }),
    };
    let session = match node.fetch_sessions.begin(&mut request, manner, now) {
        Ok(session) => session,
        Err(error_code) => {
            call.answer(&wire::FetchResponse {
                error_code,
                ..wire::FetchResponse::default()
            });
            return;
        }
    };
    let image = node.image();
    let (layout, partitions) = lay_out(node, &image, &request, version);
    let bytes_max = match fetcher {
        Fetcher::Follower { .. } => limit(request.max_bytes),
        Fetcher::Consumer | Fetcher::CommittedConsumer => {
            limit(request.max_bytes).min(node.settings.requests.fetch_bytes_max)
        }
    };
    let wait_ms = u64::try_from(request.max_wait_ms).unwrap_or(0);
    let fetch = FetchRequest {
        fetcher,
        // What is refused already should be known at once. (RE-078)
        max_wait: if layout.has_refused() {
            Duration::ZERO
        } else {
            Duration::from_millis(wait_ms)
        },
        min_bytes: limit(request.min_bytes).min(bytes_max),
        max_bytes: bytes_max,
        partitions,
    };
    let (outcome, then) = node.replicas.fetch(fetch, now);
    match outcome {
        FetchOutcome::Done(results) => {
            let answer = response(&layout, results, &image, call.listener(), version);
            let Answer { message, files } = within_session(node, session, answer);
            call.answer_with_files(&message, files);
        }
        FetchOutcome::Waits(wait) => {
            let waiting = Waiting {
                listener: call.request.context.listener.clone(),
                call: call.park(Parked::Other),
                layout,
                session,
            };
            let mut finished = Vec::new();
            node.replicas
                .wait_fetch(wait, Ticket::Fetch(waiting), &mut finished);
            node.settle(finished);
        }
    }
    node.follow_up(then);
}

/// Leaves of an answer what its fetcher does not know yet.
fn within_session<D: Disk, C: Clock>(
    node: &Node<D, C>,
    session: SessionUse,
    mut answer: Answer<D::File>,
) -> Answer<D::File> {
    node.fetch_sessions
        .finish(session, &mut answer.message, node.clock.now());
    if answer.message.responses.is_empty() {
        answer.files.clear();
    }
    answer
}

/// Who fetches, and so how far is read.
fn fetcher(request: &wire::FetchRequest, version: i16) -> Fetcher {
    let (broker, epoch) = if version >= REPLICA_STATE_SINCE {
        let state = &request.replica_state;
        (state.replica_id, state.replica_epoch)
    } else {
        (request.replica_id, BrokerEpoch::NONE)
    };
    if broker >= BrokerId::new(0) {
        Fetcher::Follower {
            broker,
            broker_epoch: Some(epoch).filter(|it| *it != BrokerEpoch::NONE),
        }
    } else if request.isolation_level == 1 {
        Fetcher::CommittedConsumer
    } else {
        Fetcher::Consumer
    }
}

/// Notes all partitions, and passes those on that can be read.
fn lay_out<D: Disk, C: Clock>(
    node: &Node<D, C>,
    image: &MetadataImage,
    request: &wire::FetchRequest,
    version: i16,
) -> (Layout, Vec<FetchPartition>) {
    let count = request.topics.iter().map(|it| it.partitions.len()).sum();
    let mut layout = Layout::with_capacity(request.topics.len());
    let mut passed_on = Vec::with_capacity(count);
    for topic in &request.topics {
        let named = Named::by_version(version, IDS_SINCE, &topic.topic, topic.topic_id);
        let mut open = layout.topic(image, named, topic.partitions.len());
        for asked in &topic.partitions {
            let Some(partition) = open.partition(asked.partition) else {
                continue;
            };
            if version < ZSTD_SINCE && stores_zstd(node, image, &partition.topic) {
                open.refuse(ErrorCode::UNSUPPORTED_COMPRESSION_TYPE);
                continue;
            }
            passed_on.push(FetchPartition {
                partition,
                topic_id: (version >= IDS_SINCE).then_some(topic.topic_id),
                fetch_offset: asked.fetch_offset,
                log_start_offset: Some(asked.log_start_offset).filter(|it| *it >= Offset::ZERO),
                max_bytes: limit(asked.partition_max_bytes),
                current_leader_epoch: known(asked.current_leader_epoch),
                last_fetched_epoch: known(asked.last_fetched_epoch),
            });
        }
    }
    (layout, passed_on)
}

/// Whether a topic is set to be stored in zstd, which older clients cannot read.
fn stores_zstd<D: Disk, C: Clock>(node: &Node<D, C>, image: &MetadataImage, topic: &str) -> bool {
    const SETTING: &str = "compression.type";
    let resource = ConfigResource::Topic(topic.into());
    match image.setting(&resource, SETTING) {
        Some(own) => &**own == "zstd",
        None => topics::find(SETTING).is_some_and(|it| node.settings.topics.text(it) == "zstd"),
    }
}

fn known(epoch: LeaderEpoch) -> Option<LeaderEpoch> {
    Some(epoch).filter(|it| *it != LeaderEpoch::NONE)
}

/// A size of the request; below 0 it counts as 0.
fn limit(size: i32) -> u32 {
    u32::try_from(size).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_follower_is_found_where_its_version_has_it() {
        let old = wire::FetchRequest {
            replica_id: BrokerId::new(2),
            ..wire::FetchRequest::default()
        };
        let broker = BrokerId::new(2);
        let broker_epoch = None;
        let follower = Fetcher::Follower {
            broker,
            broker_epoch,
        };
        assert_eq!(fetcher(&old, 14), follower);
        let new = wire::FetchRequest {
            replica_state: wire::ReplicaState {
                replica_id: broker,
                replica_epoch: BrokerEpoch::new(9),
                ..wire::ReplicaState::default()
            },
            ..wire::FetchRequest::default()
        };
        let broker_epoch = Some(BrokerEpoch::new(9));
        let follower = Fetcher::Follower {
            broker,
            broker_epoch,
        };
        assert_eq!(fetcher(&new, 15), follower);
    }

    #[test]
    fn ap_024_a_consumer_says_how_far_it_wants_to_see() {
        let request = |isolation_level| wire::FetchRequest {
            isolation_level,
            ..wire::FetchRequest::default()
        };
        for version in [4, 14, 15, 18] {
            assert_eq!(fetcher(&request(0), version), Fetcher::Consumer);
            assert_eq!(fetcher(&request(1), version), Fetcher::CommittedConsumer);
        }
    }
}
