//! Structures that are coded like messages but are neither request nor response: what consumers
//! of a classic group tell one another, the values of control records, a forwarded principal,
//! and files of a log directory.
//!
//! Each says where its bytes are found and what stands in front of them; [`version_prefix`] is
//! for those with a version in front.

pub mod aborted_txn;
pub mod consumer_protocol;
pub mod control_record_type_schema;
pub mod default_principal_data;
pub mod end_txn_marker;
pub mod kraft_version_record;
pub mod leader_change_message;
pub mod producer_snapshot;
pub mod quorum_state_data;
pub mod snapshot_records;
pub mod version_prefix;
pub mod voters_record;
