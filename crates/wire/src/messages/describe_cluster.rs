//! `DescribeCluster` (key 60): the cluster's id, its nodes and what the caller may do to it.
//!
//! Flexible from the start. v1 can ask for the controllers instead of the brokers (KIP-919), v2
//! for fenced brokers too (KIP-1073).

use crate::prelude::*;

/// Asks for the nodes of a cluster; answered by any node.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(request(60), versions = 0..=2, flexible = 0.., listeners(broker, controller))]
pub struct DescribeClusterRequest {
    /// Whether to report the operations that the caller may perform on the cluster.
    pub include_cluster_authorized_operations: bool,
    /// 1 lists brokers, 2 lists controllers. It must fit the node that is asked, else
    /// `MISMATCHED_ENDPOINT_TYPE`; other numbers are `UNSUPPORTED_ENDPOINT_TYPE`.
    #[wire(versions = 1.., default = 1)]
    pub endpoint_type: i8,
    /// Whether to list brokers that are registered but kept from serving.
    #[wire(versions = 2..)]
    pub include_fenced_brokers: bool,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// Answers [`DescribeClusterRequest`].
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(response(60), versions = 0..=2, flexible = 0..)]
pub struct DescribeClusterResponse {
    /// Milliseconds for which the client should hold back; 0 when no quota is exceeded.
    pub throttle_time_ms: i32,
    /// Why nothing is reported, such as `MISMATCHED_ENDPOINT_TYPE`.
    pub error_code: ErrorCode,
    /// Text for people on what went wrong; `None` when nothing did.
    #[wire(nullable = .., default = None)]
    pub error_message: Option<ByteString>,
    /// What `brokers` lists: 1 brokers, 2 controllers.
    #[wire(versions = 1.., default = 1)]
    pub endpoint_type: i8,
    /// The cluster's id.
    pub cluster_id: ByteString,
    /// Where clients should send what is for the controller; -1 when unknown. A broker names some
    /// live broker, which passes requests on; a controller names the active controller.
    #[wire(default = -1)]
    pub controller_id: BrokerId,
    /// The nodes.
    pub brokers: Vec<DescribeClusterBroker>,
    /// The operations that the caller may perform on the cluster, bit n for operation n;
    /// `i32::MIN` when they were not asked for.
    #[wire(default = i32::MIN)]
    pub cluster_authorized_operations: i32,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// One node, in [`DescribeClusterResponse`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct DescribeClusterBroker {
    /// The node's id.
    pub broker_id: BrokerId,
    /// Its host name or address, on the listener that the request came through.
    pub host: ByteString,
    /// Its TCP port.
    pub port: i32,
    /// The rack or zone that it stands in; `None` when not told.
    #[wire(nullable = .., default = None)]
    pub rack: Option<ByteString>,
    /// Whether the controller keeps it from serving; always `false` unless fenced brokers were
    /// asked for.
    #[wire(versions = 2..)]
    pub is_fenced: bool,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}
