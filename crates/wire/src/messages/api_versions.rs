//! ApiVersions (key 18): what a server speaks; the first request on a connection.
//!
//! v1 added the throttle time, at the end; v3 is flexible, names the client's software and tells
//! the cluster's features; v5 says which cluster and node the client means to talk to. A server
//! answers a version that it does not know in version 0 with `UNSUPPORTED_VERSION`, and the response
//! header has version 0 always.

use crate::prelude::*;

/// Asks which requests the server takes in which versions.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(request(18), versions = 0..=5, flexible = 3.., listeners(broker, controller))]
pub struct ApiVersionsRequest {
    /// The client library's name: letters, digits, inside also `-` and `.`.
    #[wire(versions = 3.., ignorable)]
    pub client_software_name: ByteString,
    /// The client library's version, of the same characters.
    #[wire(versions = 3.., ignorable)]
    pub client_software_version: ByteString,
    /// The cluster that the client means to talk to; null if it does not know yet.
    #[wire(versions = 5.., nullable = 5.., default = None, ignorable)]
    pub cluster_id: Option<ByteString>,
    /// The node that the client means to talk to; -1 if it does not know yet.
    #[wire(versions = 5.., default = -1, ignorable)]
    pub node_id: BrokerId,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// Answers [`ApiVersionsRequest`].
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(response(18), versions = 0..=5, flexible = 3..)]
pub struct ApiVersionsResponse {
    /// `UNSUPPORTED_VERSION` if the request's version is not known here; then only this API's own
    /// versions follow.
    pub error_code: ErrorCode,
    /// What the server takes.
    pub api_keys: Vec<ApiVersion>,
    /// Milliseconds for which the client should hold back.
    #[wire(versions = 1.., ignorable)]
    pub throttle_time_ms: i32,
    /// The features that the server could support.
    #[wire(versions = 3.., tag = 0, ignorable)]
    pub supported_features: Vec<SupportedFeatureKey>,
    /// Rises with each change of the finalized features; -1 if unknown.
    #[wire(versions = 3.., tag = 1, default = -1, ignorable)]
    pub finalized_features_epoch: i64,
    /// The features that the cluster has agreed on.
    #[wire(versions = 3.., tag = 2, ignorable)]
    pub finalized_features: Vec<FinalizedFeatureKey>,
    /// Whether the server could be moved off `ZooKeeper`; always false nowadays.
    #[wire(versions = 3.., tag = 3, ignorable)]
    pub zk_migration_ready: bool,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// The versions of one API, in [`ApiVersionsResponse`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct ApiVersion {
    /// The API's key.
    pub api_key: i16,
    /// The lowest version that the server takes.
    pub min_version: i16,
    /// The highest version that the server takes.
    pub max_version: i16,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// A feature that the server could support, in [`ApiVersionsResponse`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct SupportedFeatureKey {
    /// The feature's name.
    #[wire(versions = 3..)]
    pub name: ByteString,
    /// The lowest level.
    #[wire(versions = 3..)]
    pub min_version: i16,
    /// The highest level.
    #[wire(versions = 3..)]
    pub max_version: i16,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// A feature that the cluster has agreed on, in [`ApiVersionsResponse`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct FinalizedFeatureKey {
    /// The feature's name.
    #[wire(versions = 3..)]
    pub name: ByteString,
    /// The highest level that is in force.
    #[wire(versions = 3..)]
    pub max_version_level: i16,
    /// The lowest level that is in force.
    #[wire(versions = 3..)]
    pub min_version_level: i16,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}
