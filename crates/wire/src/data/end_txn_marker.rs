//! `EndTxnMarker`: the value of the control record that ends a transaction in a partition.
//!
//! An int16 version stands in front of it, alone among the values of control records. A version
//! above 0 is read as 0. The record's key says whether the transaction commits or aborts.

use crate::prelude::*;

/// The end of a transaction.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(data, versions = 0..=0)]
pub struct EndTxnMarker {
    /// The epoch in which the transaction coordinator led its partition of
    /// `__transaction_state`; a marker with a lower one than was seen before is fenced.
    pub coordinator_epoch: i32,
}
