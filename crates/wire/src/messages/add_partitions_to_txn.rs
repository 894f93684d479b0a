//! `AddPartitionsToTxn` (key 24): partitions become part of a transaction before anything is
//! written to them; answered by the transaction's coordinator.
//!
//! Producers speak v3 and below, one transaction in flat fields: v2 may answer `PRODUCER_FENCED`,
//! v3 is flexible. Brokers speak v4 and above among themselves, several transactions in one list:
//! a partition's leader checks, or with clients of the second transaction protocol adds, what a
//! producer writes (KIP-890). v5 may answer `TRANSACTION_ABORTABLE`.

use crate::form::{FormError, only};
use crate::prelude::*;

/// Adds partitions to transactions, or asks whether they have been added.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(request(24), versions = 0..=5, flexible = 3.., listeners(broker))]
pub struct AddPartitionsToTxnRequest {
    /// The transactions, from v4 on.
    #[wire(versions = 4..)]
    pub transactions: Vec<AddPartitionsToTxnTransaction>,
    /// The one transactional id, up to v3.
    #[wire(versions = ..=3)]
    pub v3_and_below_transactional_id: ByteString,
    /// The producer id that the transactional id has, up to v3.
    #[wire(versions = ..=3)]
    pub v3_and_below_producer_id: ProducerId,
    /// The producer's epoch, up to v3.
    #[wire(versions = ..=3)]
    pub v3_and_below_producer_epoch: ProducerEpoch,
    /// The partitions to add, up to v3.
    #[wire(versions = ..=3)]
    pub v3_and_below_topics: Vec<AddPartitionsToTxnTopic>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// One transaction, in [`AddPartitionsToTxnRequest`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct AddPartitionsToTxnTransaction {
    /// The transactional id.
    #[wire(versions = 4..)]
    pub transactional_id: ByteString,
    /// The producer id that the transactional id has.
    #[wire(versions = 4..)]
    pub producer_id: ProducerId,
    /// The producer's epoch.
    #[wire(versions = 4..)]
    pub producer_epoch: ProducerEpoch,
    /// Whether only to check that the partitions belong to the ongoing transaction, adding none.
    #[wire(versions = 4..)]
    pub verify_only: bool,
    /// The partitions to add or to check.
    #[wire(versions = 4..)]
    pub topics: Vec<AddPartitionsToTxnTopic>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// One topic, in [`AddPartitionsToTxnRequest`] or [`AddPartitionsToTxnTransaction`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct AddPartitionsToTxnTopic {
    /// The topic's name.
    pub name: ByteString,
    /// The partitions.
    pub partitions: Vec<PartitionIndex>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// Answers [`AddPartitionsToTxnRequest`].
///
/// All partitions of a transaction are added or none: if some cannot be, the others are answered
/// `OPERATION_NOT_ATTEMPTED`.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(response(24), versions = 0..=5, flexible = 3..)]
pub struct AddPartitionsToTxnResponse {
    /// Milliseconds for which the client should hold back; 0 when no quota was exceeded.
    pub throttle_time_ms: i32,
    /// Why the whole request was refused, from v4 on; 0 when it was not.
    #[wire(versions = 4.., ignorable)]
    pub error_code: ErrorCode,
    /// One entry for each transaction of the request, from v4 on.
    #[wire(versions = 4..)]
    pub results_by_transaction: Vec<AddPartitionsToTxnResult>,
    /// The one transaction's outcome, up to v3.
    #[wire(versions = ..=3)]
    pub results_by_topic_v3_and_below: Vec<AddPartitionsToTxnTopicResult>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// One transaction's outcome, in [`AddPartitionsToTxnResponse`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct AddPartitionsToTxnResult {
    /// The transactional id.
    #[wire(versions = 4..)]
    pub transactional_id: ByteString,
    /// One entry for each topic of the request.
    #[wire(versions = 4..)]
    pub topic_results: Vec<AddPartitionsToTxnTopicResult>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// One topic's outcome, in [`AddPartitionsToTxnResponse`] or [`AddPartitionsToTxnResult`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct AddPartitionsToTxnTopicResult {
    /// The topic's name.
    pub name: ByteString,
    /// One entry for each partition of the request.
    pub results_by_partition: Vec<AddPartitionsToTxnPartitionResult>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// One partition's outcome, in [`AddPartitionsToTxnTopicResult`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct AddPartitionsToTxnPartitionResult {
    /// The partition.
    pub partition_index: PartitionIndex,
    /// Why the partition is not part of the transaction; 0 when it is.
    pub partition_error_code: ErrorCode,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// The first version that takes several transactions.
const LIST_SINCE: i16 = 4;

impl AddPartitionsToTxnRequest {
    /// Puts a request that lists its `transactions` into the form of `version`.
    ///
    /// # Errors
    /// [`FormError::Count`] unless below v4 there is exactly one transaction;
    /// [`FormError::Field`] if below v4 it asks only to verify.
    pub fn for_version(self, version: i16) -> Result<Self, FormError> {
        if version >= LIST_SINCE {
            return Ok(self);
        }
        let only = only("transactions", self.transactions, version)?;
        if only.verify_only {
            let field = "verify_only";
            return Err(FormError::Field { field, version });
        }
        Ok(Self {
            transactions: Vec::new(),
            v3_and_below_transactional_id: only.transactional_id,
            v3_and_below_producer_id: only.producer_id,
            v3_and_below_producer_epoch: only.producer_epoch,
            v3_and_below_topics: only.topics,
            unknown_tags: self.unknown_tags,
        })
    }

    /// Makes a request that came in `version` list its one or more `transactions`.
    #[must_use]
    pub fn from_version(self, version: i16) -> Self {
        if version >= LIST_SINCE {
            return self;
        }
        Self {
            transactions: vec![AddPartitionsToTxnTransaction {
                transactional_id: self.v3_and_below_transactional_id,
                producer_id: self.v3_and_below_producer_id,
                producer_epoch: self.v3_and_below_producer_epoch,
                verify_only: false,
                topics: self.v3_and_below_topics,
                unknown_tags: UnknownTags::new(),
            }],
            unknown_tags: self.unknown_tags,
            ..Self::default()
        }
    }
}

impl AddPartitionsToTxnResponse {
    /// Puts a response that lists its `results_by_transaction` into the form of `version`.
    ///
    /// # Errors
    /// [`FormError::Count`] unless below v4 there is exactly one transaction.
    pub fn for_version(mut self, version: i16) -> Result<Self, FormError> {
        if version < LIST_SINCE {
            let only = only("transactions", self.results_by_transaction, version)?;
            self.results_by_topic_v3_and_below = only.topic_results;
            self.results_by_transaction = Vec::new();
        }
        Ok(self)
    }

    /// Makes a response that came in `version` list its `results_by_transaction`;
    /// `transactional_id` is that of the request, should the version have room for one only.
    #[must_use]
    pub fn from_version(mut self, version: i16, transactional_id: &ByteString) -> Self {
        if version < LIST_SINCE {
            self.results_by_transaction = vec![AddPartitionsToTxnResult {
                transactional_id: transactional_id.clone(),
                topic_results: std::mem::take(&mut self.results_by_topic_v3_and_below),
                unknown_tags: UnknownTags::new(),
            }];
        }
        self
    }
}
