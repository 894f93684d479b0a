//! Records of the metadata log `__cluster_metadata` and its snapshots, and of tiered storage's
//! `__remote_log_metadata`.
//!
//! They have no key. The value is a frame:
//!
//! | bytes | what |
//! |---|---|
//! | unsigned varint | version of the frame: 1 |
//! | unsigned varint | record type |
//! | unsigned varint | version of the record |
//! | the rest | the record's struct |
//!
//! [`ClusterMetadataRecord`] and [`RemoteLogMetadataRecord`] read and write whatever stands in the
//! one log or the other; [`encode`] and [`decode`] are for a caller who knows the type. Both logs
//! count their types from 0, so the log must be known. Control records of these logs are no such
//! frames: see [`crate::data`].

mod frame;
mod record;

pub mod access_control_entry;
pub mod broker_registration_change;
pub mod client_quota;
pub mod config;
pub mod delegation_token;
pub mod feature_level;
pub mod no_op;
pub mod partition;
pub mod producer_ids;
pub mod register_broker;
pub mod register_controller;
pub mod remote_log_segment;
pub mod remote_partition_delete;
pub mod topic;
pub mod transaction;
pub mod user_scram_credential;
pub mod zk_migration_state;

pub use frame::{FrameError, decode, encode};
pub use record::{ClusterMetadataRecord, RemoteLogMetadataRecord};
