//! `FindCoordinator` (key 10): which broker coordinates a group, a transactional id or a share
//! partition; any broker answers.
//!
//! v1 added the kind of key, the error message and the throttle time, v3 is flexible, v4 asks for
//! several keys at once (KIP-699), v5 may answer `TRANSACTION_ABORTABLE` (KIP-890), v6 knows share
//! partitions (KIP-932).
//!
//! The flat fields serve up to v3, the lists from v4 on.

use crate::form::{FormError, only};
use crate::prelude::*;

/// Asks for the coordinators of keys of one kind.
///
/// The broker creates the coordinators' internal topic if it is not there yet, and says
/// `COORDINATOR_NOT_AVAILABLE` meanwhile.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(request(10), versions = 0..=6, flexible = 3.., listeners(broker))]
pub struct FindCoordinatorRequest {
    /// The one key asked for, up to v3.
    #[wire(versions = ..=3)]
    pub key: ByteString,
    /// What the keys are: 0 group ids (all that v0 knows), 1 transactional ids, 2 share partitions,
    /// written `group-id:topic-id:partition-index`.
    #[wire(versions = 1..)]
    pub key_type: i8,
    /// The keys asked for, from v4 on.
    #[wire(versions = 4..)]
    pub coordinator_keys: Vec<ByteString>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// Answers [`FindCoordinatorRequest`].
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(response(10), versions = 0..=6, flexible = 3..)]
pub struct FindCoordinatorResponse {
    /// Milliseconds for which the client should hold back; 0 when no quota was exceeded.
    #[wire(versions = 1.., ignorable)]
    pub throttle_time_ms: i32,
    /// Why the one key has no coordinator, up to v3; 0 when it has.
    #[wire(versions = ..=3)]
    pub error_code: ErrorCode,
    /// The error in words; without an error it means nothing, and brokers differ in what they
    /// write.
    #[wire(versions = 1..=3, nullable = 1..=3, ignorable)]
    pub error_message: Option<ByteString>,
    /// The coordinating broker; -1 on error.
    #[wire(versions = ..=3)]
    pub node_id: BrokerId,
    /// Host of the coordinator, on the listener that the request came in by; empty on error.
    #[wire(versions = ..=3)]
    pub host: ByteString,
    /// Port of the coordinator; -1 on error.
    #[wire(versions = ..=3)]
    pub port: i32,
    /// One entry for each key asked for, from v4 on.
    #[wire(versions = 4..)]
    pub coordinators: Vec<Coordinator>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// One key's coordinator, in [`FindCoordinatorResponse`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct Coordinator {
    /// The key asked for.
    #[wire(versions = 4..)]
    pub key: ByteString,
    /// The coordinating broker; -1 on error.
    #[wire(versions = 4..)]
    pub node_id: BrokerId,
    /// Host of the coordinator, on the listener that the request came in by; empty on error.
    #[wire(versions = 4..)]
    pub host: ByteString,
    /// Port of the coordinator; -1 on error.
    #[wire(versions = 4..)]
    pub port: i32,
    /// Why the key has no coordinator; 0 when it has.
    #[wire(versions = 4..)]
    pub error_code: ErrorCode,
    /// The error in words; without an error it means nothing, and brokers differ in what they
    /// write.
    #[wire(versions = 4.., nullable = 4.., ignorable)]
    pub error_message: Option<ByteString>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// The first version that takes several keys.
const LIST_SINCE: i16 = 4;

impl FindCoordinatorRequest {
    /// Puts a request that lists its `coordinator_keys` into the form of `version`.
    ///
    /// # Errors
    /// [`FormError::Count`] unless below v4 there is exactly one key.
    pub fn for_version(mut self, version: i16) -> Result<Self, FormError> {
        if version < LIST_SINCE {
            self.key = only("keys", self.coordinator_keys, version)?;
            self.coordinator_keys = Vec::new();
        }
        Ok(self)
    }

    /// Makes a request that came in `version` list its one or more `coordinator_keys`.
    #[must_use]
    pub fn from_version(mut self, version: i16) -> Self {
        if version < LIST_SINCE {
            self.coordinator_keys = vec![std::mem::take(&mut self.key)];
        }
        self
    }
}

impl FindCoordinatorResponse {
    /// Puts a response that lists its `coordinators` into the form of `version`.
    ///
    /// # Errors
    /// [`FormError::Count`] unless below v4 there is exactly one coordinator.
    pub fn for_version(self, version: i16) -> Result<Self, FormError> {
        if version >= LIST_SINCE {
            return Ok(self);
        }
        let only = only("coordinators", self.coordinators, version)?;
        Ok(Self {
            error_code: only.error_code,
            error_message: only.error_message,
            node_id: only.node_id,
            host: only.host,
            port: only.port,
            coordinators: Vec::new(),
            ..self
        })
    }

    /// Makes a response that came in `version` list its `coordinators`; `key` is the one that was
    /// asked for, should the version have room for one only.
    #[must_use]
    pub fn from_version(self, version: i16, key: &ByteString) -> Self {
        if version >= LIST_SINCE {
            return self;
        }
        Self {
            throttle_time_ms: self.throttle_time_ms,
            coordinators: vec![Coordinator {
                key: key.clone(),
                node_id: self.node_id,
                host: self.host,
                port: self.port,
                error_code: self.error_code,
                error_message: self.error_message,
                unknown_tags: UnknownTags::new(),
            }],
            unknown_tags: self.unknown_tags,
            ..Self::default()
        }
    }
}
