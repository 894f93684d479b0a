//! How an entry of the Raft log is written: the value of the only record of its batch.
//!
//! | bytes | what |
//! |---|---|
//! | 1 | layout of what follows: 1 |
//! | 1 | kind: 0 nothing, 1 change, 2 membership |
//! | unsigned varint | the node that led when the entry was made |
//! | the rest | see [`Change`] and [`put_membership`] |
//!
//! The record's key is an [`EntryKey`]; the first entries of old logs have none.

use std::collections::{BTreeMap, BTreeSet};

use bytes::{Buf, Bytes};
use klamm_primitives::{BrokerId, LeaderEpoch, Offset, varint};
use openraft::{BasicNode, CommittedLeaderId, EntryPayload};
use thiserror::Error;

use super::change::{Change, ChangeError};
use super::{Entry, LogId, Membership};

const LAYOUT: u8 = 1;
const NOTHING: u8 = 0;
const CHANGE: u8 = 1;
const MEMBERSHIP: u8 = 2;

/// Bytes of the log, of `quorum-state` or of a snapshot are not what they should be.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub(crate) enum EntryError {
    /// It ends too early, or a number in it is none.
    #[error("it ends too early, or a number in it is none")]
    Damaged,
    /// It is laid out in a way that is not known.
    #[error("layout {layout} is not known, only {LAYOUT} is")]
    UnknownLayout {
        /// The layout.
        layout: u8,
    },
    /// It is of a kind that is not known.
    #[error("kind {kind} is not known")]
    UnknownKind {
        /// The kind.
        kind: u8,
    },
    /// Its term is not the one that its batch has.
    #[error("term {found} in the batch of term {batch}")]
    OtherTerm {
        /// What the key says.
        found: u64,
        /// The leader epoch of the batch.
        batch: LeaderEpoch,
    },
    /// A node's number, a term or an index is out of its range.
    #[error("{value} is out of the range of its field")]
    OutOfRange {
        /// The number.
        value: i64,
    },
    /// The records cannot be read.
    #[error(transparent)]
    Change(#[from] ChangeError),
}

/// The key of an entry's record: what is to be known of it under the batch's checksum, which the
/// header's own leader epoch is not.
///
/// | bytes | what |
/// |---|---|
/// | 8 | the first offset that was not durable when the entry was written, big-endian |
/// | 8 | the entry's term, big-endian |
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct EntryKey {
    pub(super) durable: Offset,
    pub(super) term: u64,
}

impl EntryKey {
    const LEN: usize = 16;

    pub(super) fn encode(self) -> [u8; Self::LEN] {
        let mut bytes = [0; Self::LEN];
        bytes[..8].copy_from_slice(&self.durable.get().to_be_bytes());
        bytes[8..].copy_from_slice(&self.term.to_be_bytes());
        bytes
    }

    /// Whether it is of the term that the batch's header has for leader epoch.
    pub(super) fn is_of(self, leader_epoch: LeaderEpoch) -> bool {
        i64::try_from(self.term) == Ok(leader_epoch.get().into())
    }

    /// `None` where it is none.
    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        let (durable, term) = bytes.split_first_chunk()?;
        Some(Self {
            durable: Offset::new(i64::from_be_bytes(*durable)),
            term: u64::from_be_bytes(term.try_into().ok()?),
        })
    }
}

/// The value of the entry's record.
pub(super) fn encode(entry: &Entry) -> Vec<u8> {
    let mut bytes = vec![LAYOUT];
    let kind = match &entry.payload {
        EntryPayload::Blank => NOTHING,
        EntryPayload::Normal(_) => CHANGE,
        EntryPayload::Membership(_) => MEMBERSHIP,
    };
    bytes.push(kind);
    put_node(entry.log_id.leader_id.node_id, &mut bytes);
    match &entry.payload {
        EntryPayload::Blank => {}
        EntryPayload::Normal(change) => bytes.extend_from_slice(change.encoded()),
        EntryPayload::Membership(membership) => put_membership(membership, &mut bytes),
    }
    bytes
}

/// Reads an entry out of its record.
pub(super) fn decode(
    offset: Offset,
    leader_epoch: LeaderEpoch,
    mut value: Bytes,
) -> Result<Entry, EntryError> {
    let layout = take_byte(&mut value)?;
    if layout != LAYOUT {
        return Err(EntryError::UnknownLayout { layout });
    }
    let kind = take_byte(&mut value)?;
    let node = take_node(&mut value)?;
    let log_id = log_id(leader_epoch.get().into(), node, offset.get())?;
    let payload = match kind {
        NOTHING => EntryPayload::Blank,
        CHANGE => EntryPayload::Normal(Change::decode(value)?),
        MEMBERSHIP => EntryPayload::Membership(take_membership(&mut value)?),
        kind => return Err(EntryError::UnknownKind { kind }),
    };
    Ok(Entry { log_id, payload })
}

/// Puts a log id together out of numbers that were read.
pub(super) fn log_id(term: i64, node: BrokerId, index: i64) -> Result<LogId, EntryError> {
    let unsigned = |value: i64| u64::try_from(value).map_err(|_| EntryError::OutOfRange { value });
    let leader = CommittedLeaderId::new(unsigned(term)?, node);
    Ok(LogId::new(leader, unsigned(index)?))
}

/// Writes a membership:
///
/// | bytes | what |
/// |---|---|
/// | unsigned varint | how many sets of voters: one, or two while voters change |
/// | for each | an unsigned varint, how many voters; each an unsigned varint |
/// | unsigned varint | how many nodes |
/// | for each | its number, the length of its address and the address |
pub(super) fn put_membership(membership: &Membership, bytes: &mut Vec<u8>) {
    let configs = membership.get_joint_config();
    put_count(configs.len(), bytes);
    for voters in configs {
        put_count(voters.len(), bytes);
        for voter in voters {
            put_node(*voter, bytes);
        }
    }
    put_count(membership.nodes().count(), bytes);
    for (id, node) in membership.nodes() {
        put_node(*id, bytes);
        put_count(node.addr.len(), bytes);
        bytes.extend_from_slice(node.addr.as_bytes());
    }
}

/// Reads what [`put_membership`] wrote.
pub(super) fn take_membership(bytes: &mut Bytes) -> Result<Membership, EntryError> {
    let mut configs = Vec::new();
    for _ in 0..take_count(bytes)? {
        let mut voters = BTreeSet::new();
        for _ in 0..take_count(bytes)? {
            voters.insert(take_node(bytes)?);
        }
        configs.push(voters);
    }
    let mut nodes = BTreeMap::new();
    for _ in 0..take_count(bytes)? {
        let id = take_node(bytes)?;
        let len = take_count(bytes)?;
        let address = bytes.split_to(len);
        let address = std::str::from_utf8(&address).map_err(|_| EntryError::Damaged)?;
        nodes.insert(id, BasicNode::new(address));
    }
    Ok(Membership::new(configs, nodes))
}

fn put_node(node: BrokerId, bytes: &mut Vec<u8>) {
    varint::append_u32(node.get().cast_unsigned(), bytes);
}

fn take_node(bytes: &mut Bytes) -> Result<BrokerId, EntryError> {
    let number = take_u32(bytes)?;
    let id = i32::try_from(number).map_err(|_| EntryError::OutOfRange {
        value: number.into(),
    })?;
    Ok(BrokerId::new(id))
}

fn put_count(count: usize, bytes: &mut Vec<u8>) {
    varint::append_u64(count as u64, bytes);
}

/// A count of things of at least one byte each, so no more than bytes are left.
fn take_count(bytes: &mut Bytes) -> Result<usize, EntryError> {
    let (count, len) = varint::read_u64(bytes).map_err(|_| EntryError::Damaged)?;
    bytes.advance(len);
    let count = usize::try_from(count).ok();
    let count = count.filter(|count| *count <= bytes.len());
    count.ok_or(EntryError::Damaged)
}

fn take_u32(bytes: &mut Bytes) -> Result<u32, EntryError> {
    let (number, len) = varint::read_u32(bytes).map_err(|_| EntryError::Damaged)?;
    bytes.advance(len);
    Ok(number)
}

fn take_byte(bytes: &mut Bytes) -> Result<u8, EntryError> {
    if bytes.is_empty() {
        return Err(EntryError::Damaged);
    }
    Ok(bytes.get_u8())
}
