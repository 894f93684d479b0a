//! `DescribeCluster` (key 60).
//!
//! v1 can ask for controllers instead of brokers, v2 for brokers that are fenced, too. A listener
//! of the broker tells of brokers, one of the controller of controllers: this node.

use std::sync::Arc;

use klamm_controller::{BrokerImage, Endpoint, MetadataImage};
use klamm_io::{Clock, Disk};
use klamm_primitives::BrokerId;
use klamm_wire::messages::describe_cluster::{
    DescribeClusterBroker, DescribeClusterRequest, DescribeClusterResponse,
};
use klamm_wire::{ErrorCode, Listener};

use super::operations;
use crate::call::Call;
use crate::node::{Node, reachable};

const BROKERS: i8 = 1;
const CONTROLLERS: i8 = 2;

pub(super) fn handle<D: Disk, C: Clock>(node: &Arc<Node<D, C>>, call: Call<D::File>) {
    let Some((call, request)) = call.decode::<DescribeClusterRequest>() else {
        return;
    };
    let asked_of = match call.request.context.offer.listener {
        Listener::Broker => BROKERS,
        Listener::Controller => CONTROLLERS,
    };
    let error_code = match request.endpoint_type {
        kind if kind == asked_of => ErrorCode::NONE,
        BROKERS | CONTROLLERS => ErrorCode::MISMATCHED_ENDPOINT_TYPE,
        _ => ErrorCode::UNSUPPORTED_ENDPOINT_TYPE,
    };
    if !error_code.is_none() {
        let error_message = error_code.meaning().map(Into::into);
        call.answer(&DescribeClusterResponse {
            error_code,
            error_message,
            endpoint_type: asked_of,
            ..DescribeClusterResponse::default()
        });
        return;
    }
    let image = node.image();
    let brokers = if asked_of == BROKERS {
        brokers(&image, call.listener(), request.include_fenced_brokers)
    } else {
        controllers(node, call.request.context.id.local)
    };
    let controller_id = Some(node.id()).filter(|id| brokers.iter().any(|it| it.broker_id == *id));
    call.answer(&DescribeClusterResponse {
        endpoint_type: asked_of,
        cluster_id: (&**image.cluster_id()).into(),
        controller_id: controller_id.unwrap_or(BrokerId::NONE),
        brokers,
        cluster_authorized_operations: if request.include_cluster_authorized_operations {
            operations::ON_CLUSTER
        } else {
            operations::NOT_ASKED
        },
        ..DescribeClusterResponse::default()
    });
}

fn brokers(image: &MetadataImage, listener: &str, with_fenced: bool) -> Vec<DescribeClusterBroker> {
    let told = |broker: &Arc<BrokerImage>| {
        let endpoint = match reachable(broker, listener) {
            None if with_fenced => broker.endpoint(listener),
            endpoint => endpoint,
        };
        endpoint.map(|endpoint| describe(broker, endpoint))
    };
    image.brokers().filter_map(told).collect()
}

fn describe(broker: &BrokerImage, endpoint: &Endpoint) -> DescribeClusterBroker {
    DescribeClusterBroker {
        broker_id: broker.id,
        host: (&*endpoint.host).into(),
        port: endpoint.port.into(),
        rack: broker.rack.as_deref().map(Into::into),
        is_fenced: broker.is_fenced,
        ..DescribeClusterBroker::default()
    }
}

/// The one controller, where the client has found it.
fn controllers<D: Disk, C: Clock>(
    node: &Node<D, C>,
    at: std::net::SocketAddr,
) -> Vec<DescribeClusterBroker> {
    vec![DescribeClusterBroker {
        broker_id: node.id(),
        host: at.ip().to_string().into(),
        port: at.port().into(),
        ..DescribeClusterBroker::default()
    }]
}
