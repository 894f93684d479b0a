//! `AbortedTxn`: an entry of a segment's transaction index (`.txnindex`).
//!
//! An int16 version stands in front of each entry, which makes 34 bytes of it. The index of a
//! segment holds the transactions whose abort marker lies in that segment.

use crate::prelude::*;

/// A transaction that was aborted, as a reader of committed records needs to know it.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(data, versions = 0..=0)]
pub struct AbortedTxn {
    /// The producer whose transaction it was.
    pub producer_id: ProducerId,
    /// The offset of the transaction's first record in this partition.
    pub first_offset: Offset,
    /// The offset of the abort marker.
    pub last_offset: Offset,
    /// The last stable offset when the marker was written. A search through the index can stop
    /// after the first entry whose last stable offset has reached the end of its range.
    pub last_stable_offset: Offset,
}
