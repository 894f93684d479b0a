//! `ProducerSnapshot`: the producers that a partition knows, as its `.snapshot` files keep them.
//!
//! An int16 version stands in front; 1 is the only one. The checksum is CRC-32C over all that
//! follows it to the end of the file, so it starts at byte 6: encode with 0, compute, patch.

use crate::prelude::*;

/// The state of a partition's producers up to, and not including, the offset in the file's name.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(data, versions = 1..=1)]
pub struct ProducerSnapshot {
    /// CRC-32C of the file from byte 6 on.
    #[wire(versions = 1..=1)]
    pub crc: u32,
    /// One entry for each producer.
    #[wire(versions = 1..=1)]
    pub producer_entries: Vec<ProducerEntry>,
}

/// What a partition knows of one producer, in [`ProducerSnapshot`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct ProducerEntry {
    /// The producer.
    #[wire(versions = 1..=1)]
    pub producer_id: ProducerId,
    /// Its latest epoch.
    #[wire(versions = 1..=1)]
    pub epoch: ProducerEpoch,
    /// The sequence number of its last record; -1 when only a marker is known of the epoch.
    #[wire(versions = 1..=1)]
    pub last_sequence: i32,
    /// The offset of its last record.
    #[wire(versions = 1..=1)]
    pub last_offset: Offset,
    /// Last minus first offset of its last batch.
    #[wire(versions = 1..=1)]
    pub offset_delta: i32,
    /// The largest timestamp of its last batch, in milliseconds since 1970.
    #[wire(versions = 1..=1)]
    pub timestamp: i64,
    /// The coordinator epoch of its last transaction marker; -1 when there was none.
    #[wire(versions = 1..=1)]
    pub coordinator_epoch: i32,
    /// The first offset of its open transaction; -1 when none is open.
    #[wire(versions = 1..=1)]
    pub current_txn_first_offset: Offset,
}
