//! Cluster metadata: its records, the image of them, and the quorum that agrees on them.
//!
//! Everything that a cluster knows about itself (brokers, topics, partitions and their leaders,
//! settings, producer ids) is a log of records. A [`Quorum`] agrees on that log; every node
//! follows it into a [`MetadataImage`], which is immutable and shared, and from which every
//! request is served. On the leader of the quorum a controller decides what is written next.
//!
//! The crate knows nothing of what partitions hold, and no socket.
//!
//! Read first: [`MetadataImage`], then [`Quorum`].

mod image;

mod quorum;

pub use image::{
    ApplyError, BrokerImage, ConfigResource, Endpoint, FeatureRange, ImageChanges, MetadataImage,
    PartitionDifference, PartitionImage, Recovery, SecurityProtocol, Settings, TopicChange,
    TopicImage, directory_id,
};
pub use quorum::{ProposeError, Quorum};
