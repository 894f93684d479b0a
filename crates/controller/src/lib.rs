//! Cluster metadata: its records, the image of them, the quorum that agrees on them, and the
//! controller that decides what is written next.
//!
//! Everything that a cluster knows about itself (brokers, topics, partitions and their leaders,
//! settings, producer ids) is a log of records. A [`Quorum`] agrees on that log; every node
//! follows it into a [`MetadataImage`], which is immutable and shared, and from which every
//! request is served. On the leader of the quorum a [`Controller`] decides: each request is a
//! pure function from image, request and time to records and an answer.
//!
//! The crate knows nothing of what partitions hold, no message and no socket.
//!
//! Read first: [`MetadataImage`], then [`Quorum`], then [`ControllerHandle`].

mod image;

mod quorum;

mod core;
mod error;
mod options;
mod partition_change;
mod placement;
mod sessions;

mod deciders;
mod fencing;

mod controller;
mod handle;

#[cfg(any(test, feature = "testing"))]
pub mod testing;
#[cfg(test)]
mod tests;

pub use controller::Controller;
pub use deciders::{
    AllocateProducerIds, AlterConfigError, AlterConfigs, AlterPartition, AlterPartitionError,
    AlteredPartition, AssignmentError, ConfigChange, ConfigOperation, CreatePartitions,
    CreatePartitionsError, CreateTopicError, CreateTopics, CreatedTopic, DeleteTopicError,
    DeleteTopics, DeletedTopic, ElectLeaderError, ElectLeaders, ElectionKind, GivenSettings,
    Heartbeat, HeartbeatAnswer, HeartbeatError, InvalidTopicName, IsrChange, IsrMember,
    ManualAssignment, NewPartitions, NewTopic, PartitionRefused, ProducerIdBlock, ProducerIdsError,
    ReassignError, ReassignPartitions, RegisterBroker, RegisterBrokerError, ReplaceConfigs,
    RunningReassignment, StaleBrokerEpoch, TopicSelector, UnregisterBroker, UnregisterBrokerError,
};
pub use error::ControllerError;
pub use handle::ControllerHandle;
pub use image::{
    ApplyError, BrokerImage, ConfigResource, DELETED_TOPICS_MAX, Endpoint, FeatureRange,
    ImageChanges, MetadataImage, PartitionDifference, PartitionImage, Recovery, Settings,
    TopicChange, TopicImage, directory_id,
};
pub use options::{ControllerOptions, InvalidSetting, SettingRules};
pub use quorum::{
    OpenQuorumError, ProposeError, Quorum, RaftOptions, RaftQuorum, SimCluster, SimQuorum,
    cluster_of,
};

/// The examples of the README are tests, too.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
