//! `snapshot`: an image as records, and the point of the log that it stands for.
//!
//! | bytes | what |
//! |---|---|
//! | 8 | `KLAMMSNP` |
//! | 4 | CRC-32C of all that follows, big-endian |
//! | 1 | layout of what follows: 1 |
//! | 8, 4, 8 | term, node and index of the last entry in it, big-endian |
//! | 1 | whether an entry has set the membership |
//! | 8, 4, 8 | term, node and index of that entry; zeros where there is none |
//! | … | the membership, as in an entry |
//! | the rest | the records, as in an entry |

use std::path::Path;
use std::sync::Arc;

use bytes::{Buf, BufMut, Bytes};
use klamm_io::{Disk, DiskError, DiskErrorKind, read_whole, replace_whole};
use klamm_primitives::BrokerId;
use klamm_records::crc32c;
use thiserror::Error;

use super::change::Change;
use super::entry::{self, EntryError, put_membership, take_membership};
use super::{LogId, SnapshotMeta, StoredMembership, offset_of};
use crate::image::{ApplyError, MetadataImage};

const FILE_NAME: &str = "snapshot";
const MAGIC: &[u8; 8] = b"KLAMMSNP";
const LAYOUT: u8 = 1;
const LOG_ID_LEN: usize = 8 + 4 + 8;

/// What stands before the checksum's bytes.
const HEAD_LEN: usize = MAGIC.len() + 4;

/// The largest that is read: a gigabyte is some ten million partitions.
const LEN_MAX: usize = 1 << 30;

/// An image, and the point of the log that it stands for.
#[derive(Debug, Clone)]
pub(super) struct Snapshot {
    pub(super) last: LogId,
    pub(super) membership: StoredMembership,
    pub(super) image: Arc<MetadataImage>,
}

/// A snapshot cannot be read or written.
#[derive(Debug, Error)]
pub(crate) enum SnapshotError {
    /// The disk refused.
    #[error(transparent)]
    Disk(#[from] DiskError),
    /// It is no snapshot, or its checksum is wrong.
    #[error("it is no snapshot, or its checksum is wrong")]
    Damaged,
    /// Something in it cannot be read.
    #[error(transparent)]
    Entry(#[from] EntryError),
    /// Its records do not fit one another.
    #[error(transparent)]
    Apply(#[from] ApplyError),
    /// A record cannot be written.
    #[error(transparent)]
    Encode(#[from] klamm_wire::EncodeError),
    /// The runtime stopped before it was written.
    #[error("the runtime stopped before it was written")]
    Stopped,
}

impl Snapshot {
    /// The bytes of the file.
    pub(super) fn encode(&self) -> Result<Bytes, SnapshotError> {
        let records = Change::new(self.image.to_records())?;
        let mut bytes = Vec::with_capacity(records.size() + 256);
        bytes.extend_from_slice(MAGIC);
        bytes.put_u32(0);
        bytes.push(LAYOUT);
        put_log_id(&self.last, &mut bytes);
        let set_by = self.membership.log_id();
        bytes.push(u8::from(set_by.is_some()));
        put_log_id(&set_by.unwrap_or_default(), &mut bytes);
        put_membership(self.membership.membership(), &mut bytes);
        bytes.extend_from_slice(records.encoded());
        let crc = crc32c(&bytes[HEAD_LEN..]);
        bytes[MAGIC.len()..HEAD_LEN].copy_from_slice(&crc.to_be_bytes());
        Ok(bytes.into())
    }

    /// Reads the bytes of the file.
    pub(super) fn decode(bytes: &Bytes, cluster_id: &Arc<str>) -> Result<Self, SnapshotError> {
        if bytes.len() < HEAD_LEN + 1 + 2 * LOG_ID_LEN + 1 || !bytes.starts_with(MAGIC) {
            return Err(SnapshotError::Damaged);
        }
        let mut rest = bytes.slice(MAGIC.len()..);
        if rest.get_u32() != crc32c(&rest) {
            return Err(SnapshotError::Damaged);
        }
        let layout = rest.get_u8();
        if layout != LAYOUT {
            return Err(EntryError::UnknownLayout { layout }.into());
        }
        let last = take_log_id(&mut rest)?;
        let was_set = rest.get_u8() != 0;
        let set_by = take_log_id(&mut rest)?;
        let membership = take_membership(&mut rest)?;
        let records = Change::decode(rest).map_err(EntryError::from)?;
        let offset = offset_of(last.index);
        let image = MetadataImage::from_records(cluster_id.clone(), records.records(), offset)?;
        Ok(Self {
            last,
            membership: StoredMembership::new(was_set.then_some(set_by), membership),
            image: Arc::new(image),
        })
    }

    /// What openraft wants to know of it.
    pub(super) fn meta(&self) -> SnapshotMeta {
        SnapshotMeta {
            last_log_id: Some(self.last),
            last_membership: self.membership.clone(),
            snapshot_id: self.last.to_string(),
        }
    }
}

/// The bytes of the file; `None` where there is none. Blocks.
pub(super) fn read<D: Disk>(disk: &D, directory: &Path) -> Result<Option<Bytes>, DiskError> {
    match read_whole(disk, &directory.join(FILE_NAME), LEN_MAX) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == DiskErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Puts these bytes in the place of the file, durably. Blocks.
pub(super) fn write<D: Disk>(disk: &D, directory: &Path, bytes: &[u8]) -> Result<(), DiskError> {
    replace_whole(disk, &directory.join(FILE_NAME), bytes)
}

fn put_log_id(id: &LogId, bytes: &mut Vec<u8>) {
    bytes.put_u64(id.leader_id.term);
    bytes.put_i32(id.leader_id.node_id.get());
    bytes.put_u64(id.index);
}

/// The caller has looked that there is enough.
fn take_log_id(bytes: &mut Bytes) -> Result<LogId, EntryError> {
    let (term, node, index) = (bytes.get_i64(), bytes.get_i32(), bytes.get_i64());
    entry::log_id(term, BrokerId::new(node), index)
}
