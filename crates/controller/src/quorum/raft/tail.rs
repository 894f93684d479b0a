//! Where the log breaks off, and whether what is behind that may be cut.
//!
//! A crash in the middle of a write leaves a torn end, which nobody has relied on. Damage to what
//! was synced looks the same by itself. Two things tell it apart: the [`durable_point`], and each
//! entry's own word on what was durable before it was written, which a later entry gives even where
//! the power took the point.
//!
//! [`durable_point`]: super::durable_point

use std::path::{Path, PathBuf};

use bytes::Bytes;
use klamm_io::{Disk, DiskError, DiskFile, FileKind, OpenMode, read_whole};
use klamm_primitives::Offset;
use klamm_records::{BatchHeader, BatchPrefix, Codecs, HEADER_LEN, RecordBatch};
use thiserror::Error;
use tracing::warn;

use super::entry::EntryKey;

/// More than a segment can have.
const SEGMENT_LEN_MAX: usize = 1 << 31;

/// Digits of a segment's base offset in its file's name.
const NAME_DIGITS: usize = 20;

/// Where in a batch its magic stands.
const MAGIC_AT: usize = 16;

/// Entries that the log should have are damaged or missing. Nothing was changed.
#[derive(Debug, Error)]
pub(super) enum TailError {
    /// The disk refused.
    #[error(transparent)]
    Disk(#[from] DiskError),
    /// The log breaks off before entries that were durable.
    #[error("byte {position}: {reason}, and the entry at {offset} was durable")]
    Broken {
        /// The segment.
        path: PathBuf,
        /// Where in it, in bytes.
        position: usize,
        /// The entry that should stand there.
        offset: Offset,
        /// What stands there instead.
        reason: String,
    },
    /// The segments with the first entries are missing.
    #[error("the log goes on from {log_start}, and its first segment begins at {base}")]
    Headless {
        /// The first segment that is there.
        path: PathBuf,
        /// Where it begins.
        base: Offset,
        /// Where it should begin, or before.
        log_start: Offset,
    },
    /// The log ends before it should.
    #[error("it ends at {end}, and was durable up to {durable}")]
    Short {
        /// Where it ends.
        end: Offset,
        /// Up to where it should go.
        durable: Offset,
    },
}

/// A torn end: what stands in this segment from here on, and in those behind it, was never durable.
#[derive(Debug)]
pub(super) struct Torn {
    /// The segment.
    path: PathBuf,
    /// Where the last whole entry ends, in bytes.
    position: usize,
    /// What is wrong with what stands there.
    reason: String,
}

impl Torn {
    /// Cuts the segment. Those behind it are not the next ones then, and go with its opening.
    pub(super) fn cut<D: Disk>(&self, disk: &D) -> Result<(), DiskError> {
        let (path, position, reason) = (self.path.display(), self.position, &self.reason);
        warn!(%path, position, reason, "cutting an unfinished entry off the metadata log");
        let file = disk.open(&self.path, OpenMode::ReadWrite)?;
        file.set_len(position as u64)?;
        file.sync_data()
    }
}

/// Reads all entries, up to where the log breaks off, and looks whether that is a torn end. Reads
/// each segment into memory. `durable` is the point as far as it is known.
pub(super) fn check<D: Disk>(
    disk: &D,
    directory: &Path,
    log_start: Offset,
    durable: Offset,
) -> Result<Option<Torn>, TailError> {
    let mut segments = segments(disk, directory)?;
    // Those before the log start are on their way out, one after the other.
    let first = segments.iter().rposition(|(base, _)| *base <= log_start);
    if first.is_none() && !segments.is_empty() {
        let (base, path) = segments.swap_remove(0);
        return Err(TailError::Headless {
            path,
            base,
            log_start,
        });
    }
    let mut segments = segments.drain(first.unwrap_or(0)..);
    let mut end = log_start;
    let mut is_first = true;
    while let Some((base, path)) = segments.next() {
        let bytes = read_whole(disk, &path, SEGMENT_LEN_MAX)?;
        let mut position = 0;
        let reason = if is_first || base == end {
            end = base;
            walk(&bytes, &mut position, &mut end)
        } else {
            Some(format!(
                "a segment begins at {base} where {end} should follow"
            ))
        };
        is_first = false;
        let Some(reason) = reason else { continue };
        let mut was_durable = end < durable || vouches(&bytes, position, end);
        for (_, later) in segments.by_ref() {
            was_durable |= vouches(&read_whole(disk, &later, SEGMENT_LEN_MAX)?, 0, end);
        }
        if was_durable {
            return Err(TailError::Broken {
                path,
                position,
                offset: end,
                reason,
            });
        }
        return Ok(Some(Torn {
            path,
            position,
            reason,
        }));
    }
    if end < durable && log_start < durable {
        return Err(TailError::Short { end, durable });
    }
    Ok(None)
}

/// The segments with their base offsets, oldest first.
fn segments<D: Disk>(disk: &D, directory: &Path) -> Result<Vec<(Offset, PathBuf)>, DiskError> {
    let mut segments = Vec::new();
    for entry in disk.list(directory)? {
        let name = entry.name.to_str().and_then(|it| it.strip_suffix(".log"));
        let digits = name.filter(|it| it.len() == NAME_DIGITS && entry.kind == FileKind::File);
        if let Some(base) = digits.and_then(|it| it.parse().ok()) {
            segments.push((Offset::new(base), directory.join(&entry.name)));
        }
    }
    segments.sort_unstable();
    Ok(segments)
}

/// Passes over whole and good entries. Says what is wrong with the first that is not.
fn walk(bytes: &Bytes, position: &mut usize, end: &mut Offset) -> Option<String> {
    let mut codecs = Codecs::default();
    while *position < bytes.len() {
        let batch = match batch_at(bytes, *position) {
            Ok(batch) => batch,
            Err(reason) => return Some(reason),
        };
        if let Some(key) = key_of(&batch, &mut codecs)
            && !key.is_of(batch.header().leader_epoch)
        {
            return Some(format!(
                "an entry of term {} in a batch of leader epoch {}",
                key.term,
                batch.header().leader_epoch
            ));
        }
        let (first, last) = (batch.header().base_offset, batch.header().last_offset());
        if first != *end || last != first {
            return Some(format!(
                "offsets {first} to {last} where {end} should follow"
            ));
        }
        *end = last + 1;
        *position += batch.size();
    }
    None
}

fn batch_at(bytes: &Bytes, position: usize) -> Result<RecordBatch, String> {
    let rest = &bytes[position..];
    let prefix = BatchPrefix::peek(rest).map_err(|error| error.to_string())?;
    let size = prefix.map(|it| it.size).filter(|size| *size <= rest.len());
    let size = size.ok_or_else(|| format!("{} bytes are no whole batch", rest.len()))?;
    let batch = RecordBatch::parse(bytes.slice(position..position + size));
    let batch = batch.map_err(|error| error.to_string())?;
    batch.check_crc().map_err(|error| error.to_string())?;
    Ok(batch)
}

/// Whether a good entry stands anywhere behind this position that was written when `offset` was
/// durable already. Looks at every byte.
fn vouches(bytes: &Bytes, position: usize, offset: Offset) -> bool {
    let mut codecs = Codecs::default();
    let heads = bytes.windows(HEADER_LEN).enumerate().skip(position);
    let mut candidates = heads.filter(|(_, head)| {
        head[MAGIC_AT] == 2 && BatchHeader::read(head).is_ok_and(|it| it.base_offset > offset)
    });
    candidates.any(|(at, _)| {
        let batch = batch_at(bytes, at).ok();
        let key = batch.and_then(|batch| key_of(&batch, &mut codecs));
        key.is_some_and(|key| key.durable > offset)
    })
}

fn key_of(batch: &RecordBatch, codecs: &mut Codecs) -> Option<EntryKey> {
    let mut records = batch.read(codecs).ok()?;
    let record = records.next().ok().flatten()?;
    EntryKey::decode(record.key?)
}
