//! What the broker does with requests: an API a file.
//!
//! A handler takes a request and answers it, or lets it wait with the replicas (produce, fetch) or
//! for the controller. Handlers block on the disk and nowhere else, also those that run on a thread of the network's.

mod api_versions;
mod create_topics;
mod delete_records;
mod delete_topics;
mod describe_cluster;
mod describe_configs;
mod failure;
mod fetch;
mod find_coordinator;
mod init_producer_id;
mod list_offsets;
mod metadata;
mod offset_for_leader_epoch;
mod operations;
mod produce;

use std::sync::Arc;

use klamm_io::{Clock, Disk};
use klamm_network::{Handler, Peer, Received, Request, Response};
use klamm_replica::Patience;
use klamm_wire::{ApiKey, ApiSet};
use tracing::{error, trace_span};

use crate::call::Call;
use crate::node::Node;

/// The APIs that there are handlers for.
pub(crate) const SERVED: ApiSet = ApiSet::of(&[
    ApiKey::Produce,
    ApiKey::Fetch,
    ApiKey::ListOffsets,
    ApiKey::Metadata,
    ApiKey::FindCoordinator,
    ApiKey::ApiVersions,
    ApiKey::CreateTopics,
    ApiKey::DeleteTopics,
    ApiKey::DeleteRecords,
    ApiKey::InitProducerId,
    ApiKey::OffsetForLeaderEpoch,
    ApiKey::DescribeConfigs,
    ApiKey::DescribeCluster,
]);

/// Those of them that a listener of the controller has, too.
pub(crate) const SERVED_BY_CONTROLLER: ApiSet = ApiSet::of(&[
    ApiKey::ApiVersions,
    ApiKey::CreateTopics,
    ApiKey::DeleteTopics,
    ApiKey::DescribeConfigs,
    ApiKey::DescribeCluster,
]);

/// What a request that waits with the replicas leaves with them.
pub(crate) enum Ticket<F> {
    Produce(produce::Waiting<F>),
    Fetch(fetch::Waiting<F>),
    DeleteRecords(delete_records::Waiting<F>),
}

impl<F> klamm_replica::Ticket for Ticket<F> {
    fn reader(&self) -> Option<u64> {
        match self {
            Self::Fetch(waiting) => waiting.connection_index(),
            Self::Produce(_) | Self::DeleteRecords(_) => None,
        }
    }

    fn patience(&self) -> Patience {
        match self {
            Self::Fetch(waiting) => match waiting.peer() {
                Peer::Open => Patience::Left,
                Peer::SendsNoMore => Patience::Over,
                Peer::Gone => Patience::Gone,
            },
            // What was written is not undone by who asked for it having gone.
            Self::Produce(_) | Self::DeleteRecords(_) => Patience::Left,
        }
    }
}

/// The largest produce request that counts as quick: its records are checked and copied in less
/// time than two changes of threads take.
const QUICK_BYTES: usize = 16 * 1024;

/// Gives each request to the handler of its API.
pub(crate) struct Handlers<D: Disk, C> {
    pub(crate) node: Arc<Node<D, C>>,
}

impl<D: Disk, C: Clock> Handler<D::File> for Handlers<D, C> {
    fn handle(&self, received: Received<D::File>) {
        let request = &received.request;
        let key = request.frame.key;
        let _span = trace_span!(
            "request",
            %key,
            version = request.frame.version(),
            client_id = request.client_id(),
            size = request.size,
            connection = %request.context.id,
        )
        .entered();
        let (node, call) = (&self.node, Call::new(received));
        match key {
            ApiKey::Produce => produce::handle(node, call),
            ApiKey::Fetch => fetch::handle(node, call),
            ApiKey::ListOffsets => list_offsets::handle(node, call),
            ApiKey::Metadata => metadata::handle(node, call),
            ApiKey::FindCoordinator => find_coordinator::handle(node, call),
            ApiKey::ApiVersions => api_versions::handle(node, call),
            ApiKey::CreateTopics => create_topics::handle(node, call),
            ApiKey::DeleteTopics => delete_topics::handle(node, call),
            ApiKey::DeleteRecords => delete_records::handle(node, call),
            ApiKey::InitProducerId => init_producer_id::handle(node, call),
            ApiKey::OffsetForLeaderEpoch => offset_for_leader_epoch::handle(node, call),
            ApiKey::DescribeConfigs => describe_configs::handle(node, call),
            ApiKey::DescribeCluster => describe_cluster::handle(node, call),
            // The offer of each listener keeps the others out.
            _ => {
                error!(%key, "request without a handler, its connection is closed");
                call.close();
            }
        }
    }

    fn after_panic(&self, request: &Request) -> Option<Response<D::File>> {
        failure::answer(request)
    }

    /// Those of which clients send many, and that mostly read or write what is in memory or in the
    /// page cache.
    ///
    /// A fetch of old records may wait for the disk, where a segment is to be opened or its index
    /// read; nothing is known of that before the request is decoded. It holds up the connections of
    /// that thread while it waits, and the network then gives all requests to the handlers' threads
    /// for a while, so that this happens seldom.
    fn is_quick(&self, request: &Request) -> bool {
        match request.frame.key {
            ApiKey::Produce => request.size <= QUICK_BYTES,
            ApiKey::Fetch | ApiKey::ApiVersions => true,
            _ => false,
        }
    }
}
