//! [`Scan`]: walks through the batches of a segment's file by their headers.
//!
//! Reads some 4 KiB at a time and only where headers are: the records of large batches are
//! passed over unread. Batches of magic 0 and 1, which logs of old brokers hold, are told by
//! offset and size.

mod search;

use std::path::PathBuf;

use bytes::Bytes;
use klamm_io::{DiskError, DiskFile};
use klamm_primitives::Offset;
use klamm_records::{
    BatchError, BatchHeader, BatchPrefix, HEADER_LEN, NO_TIMESTAMP, PREFIX_LEN, RecordBatch,
    RecordsError, crc32c_append,
};
use thiserror::Error;

pub(crate) use self::search::{Found, Wanted};
use crate::indexer::Indexed;
use crate::leap::Contradiction;

/// Bytes that are read at once.
const CHUNK_LEN: usize = 4096;

/// Bytes that are read at once to compute a checksum.
const CRC_CHUNK_LEN: usize = 256 << 10;

/// What is compared with at once, much faster than byte by byte.
static ZEROS: [u8; CRC_CHUNK_LEN] = [0; CRC_CHUNK_LEN];

/// Where in a batch the bytes under the checksum begin.
const CRC_FROM: u32 = 21;

/// A batch in a file, as far as its header tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Scanned {
    /// Where it begins, in bytes.
    pub(crate) position: u32,
    /// Its whole size in bytes.
    pub(crate) size: u32,
    /// The offset of its first record, or below.
    pub(crate) base_offset: Offset,
    /// The offset of its last record.
    pub(crate) last_offset: Offset,
    /// Its largest timestamp, or [`NO_TIMESTAMP`].
    pub(crate) max_timestamp_ms: i64,
    /// The whole header; `None` for magic 0 and 1.
    pub(crate) header: Option<BatchHeader>,
}

/// Checksums of magic 0 and 1: where they stand, and where the bytes under them begin.
const LEGACY_CRC_AT: u32 = 12;
const LEGACY_CRC_FROM: u32 = 16;

impl Scanned {
    /// Where the next batch begins.
    pub(crate) fn end(&self) -> u32 {
        self.position + self.size
    }

    /// As an index wants to know it.
    pub(crate) fn indexed(&self) -> Indexed {
        Indexed {
            position: self.position,
            size: self.size,
            last_offset: self.last_offset,
            max_timestamp_ms: self.max_timestamp_ms,
        }
    }
}

/// A segment's file does not hold a batch where it should.
#[derive(Debug, Error)]
pub enum ScanError {
    /// The disk refused.
    #[error(transparent)]
    Disk(#[from] DiskError),
    /// What stands there is no batch.
    #[error("{path}, byte {position}: {reason}", path = path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Where the batch should begin, in bytes.
        position: u32,
        /// What is wrong with it.
        #[source]
        reason: BatchFault,
    },
}

/// What is wrong with a batch in a segment's file.
#[derive(Debug, Error)]
pub enum BatchFault {
    /// Its header or checksum.
    #[error(transparent)]
    Batch(#[from] BatchError),
    /// Its records.
    #[error(transparent)]
    Records(#[from] RecordsError),
    /// It is longer than the file.
    #[error("a batch of {size} bytes where {left} are left")]
    PastEnd {
        /// Its size.
        size: usize,
        /// Bytes up to the end of the file.
        left: u32,
    },
    /// Too few bytes for a header.
    #[error("{left} bytes are no batch")]
    Tail {
        /// Bytes up to the end of the file.
        left: u32,
    },
    /// Its offsets do not lie behind those of the batch before it, or below the segment's base.
    #[error("offsets {base} to {last} where {expected} or more should follow")]
    NotRising {
        /// Its first offset.
        base: Offset,
        /// Its last offset.
        last: Offset,
        /// The least offset that may stand here.
        expected: Offset,
    },
    /// Its offsets lie behind those that should follow, and something knows better.
    #[error("offsets {base} to {last} where {expected} should follow: {contradiction}")]
    Leaps {
        /// Its first offset.
        base: Offset,
        /// Its last offset.
        last: Offset,
        /// The least offset that may stand here.
        expected: Offset,
        /// What contradicts it.
        contradiction: Contradiction,
    },
    /// Its offsets are too far from the segment's base offset for 32 bits.
    #[error("offsets {first} to {last} are out of reach of base offset {base}")]
    OutOfReach {
        /// Its first offset.
        first: Offset,
        /// Its last offset.
        last: Offset,
        /// The segment's base offset.
        base: Offset,
    },
}

/// A walk through the batches between two positions of a file.
pub(crate) struct Scan<F> {
    file: F,
    position: u32,
    end: u32,
    chunk: Vec<u8>,
    /// Where the chunk begins in the file.
    chunk_position: u32,
    /// Where parts of batches are read to.
    crc_chunk: Vec<u8>,
}

impl<F: DiskFile> Scan<F> {
    /// Begins at a batch's position; nothing at or behind `end` is read.
    pub(crate) fn new(file: F, position: u32, end: u32) -> Self {
        Self {
            file,
            position,
            end,
            chunk: Vec::new(),
            chunk_position: 0,
            crc_chunk: Vec::new(),
        }
    }

    /// Where the next batch begins.
    pub(crate) fn position(&self) -> u32 {
        self.position
    }

    /// Goes on from a position where a batch begins. What was read there last is not read again.
    pub(crate) fn go_back_to(&mut self, position: u32) {
        self.position = position;
    }

    /// The next batch; `None` at the end.
    pub(crate) fn next(&mut self) -> Result<Option<Scanned>, ScanError> {
        let left = self.end.saturating_sub(self.position);
        if left == 0 {
            return Ok(None);
        }
        let position = self.position;
        let scanned = self
            .head()?
            .and_then(|head| read_head(head, position, left));
        match scanned {
            Ok(scanned) => {
                self.position = scanned.end();
                Ok(Some(scanned))
            }
            Err(reason) => Err(self.damaged(position, reason)),
        }
    }

    /// The first batch that reaches to `offset`: whose last offset is not below it.
    pub(crate) fn find(&mut self, offset: Offset) -> Result<Option<Scanned>, ScanError> {
        while let Some(scanned) = self.next()? {
            if scanned.last_offset >= offset {
                return Ok(Some(scanned));
            }
        }
        Ok(None)
    }

    /// Compares a batch's checksum with its bytes, a part at a time: a length that lies makes
    /// nobody take memory.
    pub(crate) fn check_crc(&mut self, batch: &Scanned) -> Result<(), ScanError> {
        let (stored, computed) = if let Some(header) = &batch.header {
            (header.crc, self.crc(batch, CRC_FROM, crc32c_append)?)
        } else {
            let mut stored = [0; 4];
            let at = u64::from(batch.position + LEGACY_CRC_AT);
            self.file.read_exact_at(&mut stored, at)?;
            let computed = self.crc(batch, LEGACY_CRC_FROM, crc32_append)?;
            (u32::from_be_bytes(stored), computed)
        };
        if stored == computed {
            return Ok(());
        }
        let reason = BatchError::Crc { stored, computed };
        Err(self.damaged(batch.position, reason.into()))
    }

    /// The checksum of a batch's bytes from this one on.
    fn crc(
        &mut self,
        batch: &Scanned,
        from: u32,
        append: impl Fn(u32, &[u8]) -> u32,
    ) -> Result<u32, DiskError> {
        let mut position = batch.position + from;
        self.crc_chunk.resize(CRC_CHUNK_LEN, 0);
        let mut crc = 0;
        while position < batch.end() {
            let left = (batch.end() - position) as usize;
            let part = &mut self.crc_chunk[..CRC_CHUNK_LEN.min(left)];
            self.file.read_exact_at(part, u64::from(position))?;
            crc = append(crc, part);
            position += u32::try_from(part.len()).expect("a chunk is small");
        }
        Ok(crc)
    }

    /// Whether nothing but zeros stands where a header should: space that was reserved or
    /// extended, and never written.
    pub(crate) fn is_blank_at(&self, position: u32) -> Result<bool, DiskError> {
        let left = self.end.saturating_sub(position) as usize;
        let mut head = [0; HEADER_LEN];
        let head = &mut head[..HEADER_LEN.min(left)];
        self.file.read_exact_at(head, u64::from(position))?;
        Ok(head.iter().all(|&byte| byte == 0))
    }

    /// Whether nothing but zeros stands from here to the end. Reads no further than the first byte
    /// that is none, a chunk at a time, and not at all what was never written: of a segment that was
    /// reserved that is nearly all.
    pub(crate) fn is_blank_from(&mut self, mut position: u32) -> Result<bool, DiskError> {
        self.crc_chunk.resize(CRC_CHUNK_LEN, 0);
        while position < self.end {
            position = self.next_written(position)?;
            let left = self.end.saturating_sub(position) as usize;
            // To a multiple of the chunk's length, where a page ends, too: the rest of one that was read in
            // part counts as written.
            let to_border = CRC_CHUNK_LEN - position as usize % CRC_CHUNK_LEN;
            let part = &mut self.crc_chunk[..to_border.min(left)];
            self.file.read_exact_at(part, u64::from(position))?;
            if *part != ZEROS[..part.len()] {
                return Ok(false);
            }
            position += u32::try_from(part.len()).expect("a chunk is small");
        }
        Ok(true)
    }

    /// The next position that may hold something else than a zero, by what the file system knows.
    fn next_written(&self, position: u32) -> Result<u32, DiskError> {
        let found = self.file.next_written(u64::from(position))?;
        let within = found.and_then(|it| u32::try_from(it).ok());
        Ok(within.map_or(self.end, |it| it.min(self.end)))
    }

    /// Reads a whole batch into memory, checksum not compared. `None` for magic 0 and 1.
    pub(crate) fn read(&self, batch: &Scanned) -> Result<Option<RecordBatch>, ScanError> {
        if batch.header.is_none() {
            return Ok(None);
        }
        let mut bytes = vec![0; batch.size as usize];
        self.file
            .read_exact_at(&mut bytes, u64::from(batch.position))?;
        match RecordBatch::parse(Bytes::from(bytes)) {
            Ok(read) => Ok(Some(read)),
            Err(error) => Err(self.damaged(batch.position, error.into())),
        }
    }

    /// The error for a batch at this position.
    pub(crate) fn damaged(&self, position: u32, reason: BatchFault) -> ScanError {
        ScanError::Damaged {
            path: self.file.path().to_owned(),
            position,
            reason,
        }
    }

    /// The bytes of a header at the position, as far as the file has them.
    fn head(&mut self) -> Result<Result<&[u8], BatchFault>, DiskError> {
        let left = self.end - self.position;
        let wanted = HEADER_LEN.min(left as usize);
        let held = self
            .position
            .checked_sub(self.chunk_position)
            .filter(|&start| start as usize + wanted <= self.chunk.len());
        let start = if let Some(start) = held {
            start as usize
        } else {
            self.chunk.resize(CHUNK_LEN.min(left as usize), 0);
            let read = self
                .file
                .read_at(&mut self.chunk, u64::from(self.position))?;
            self.chunk.truncate(read);
            self.chunk_position = self.position;
            0
        };
        let head = &self.chunk[start..];
        if head.len() < PREFIX_LEN {
            return Ok(Err(BatchFault::Tail { left }));
        }
        Ok(Ok(head))
    }
}

/// Reads a batch's header, or what there is of a header of magic 0 or 1.
fn read_head(head: &[u8], position: u32, left: u32) -> Result<Scanned, BatchFault> {
    let prefix = BatchPrefix::peek(head)?.ok_or(BatchFault::Tail { left })?;
    let size = u32::try_from(prefix.size)
        .ok()
        .filter(|&size| size <= left)
        .ok_or(BatchFault::PastEnd {
            size: prefix.size,
            left,
        })?;
    let scanned = if prefix.magic < 2 {
        read_legacy(head, position, size, prefix.magic)
    } else {
        let header = BatchHeader::read(head)?;
        Scanned {
            position,
            size,
            base_offset: header.base_offset,
            last_offset: header.last_offset(),
            max_timestamp_ms: header.max_timestamp_ms,
            header: Some(header),
        }
    };
    // One past the last offset must be one too.
    let (base, last) = (scanned.base_offset, scanned.last_offset);
    if base < Offset::ZERO || last < base || last == Offset::new(i64::MAX) {
        let expected = Offset::ZERO;
        return Err(BatchFault::NotRising {
            base,
            last,
            expected,
        });
    }
    Ok(scanned)
}

/// A message of magic 0 or 1: its offset is that of its last record, and in magic 1 a timestamp
/// stands behind the attributes.
fn read_legacy(head: &[u8], position: u32, size: u32, magic: u8) -> Scanned {
    let number = |at: usize| {
        let bytes = head.get(at..at + 8)?;
        Some(i64::from_be_bytes(bytes.try_into().ok()?))
    };
    let offset = Offset::new(number(0).unwrap_or(-1));
    let timestamp = if magic == 1 { number(18) } else { None };
    Scanned {
        position,
        size,
        base_offset: offset,
        last_offset: offset,
        max_timestamp_ms: timestamp.unwrap_or(NO_TIMESTAMP),
        header: None,
    }
}

/// The checksum of magic 0 and 1, that of Ethernet and zip. Bit by bit: few such batches are left,
/// and they are only read through after a crash.
fn crc32_append(crc: u32, bytes: &[u8]) -> u32 {
    const POLYNOMIAL: u32 = 0xedb8_8320;
    !bytes.iter().fold(!crc, |crc, &byte| {
        (0..8).fold(crc ^ u32::from(byte), |crc, _| {
            (crc >> 1) ^ (POLYNOMIAL * (crc & 1))
        })
    })
}

#[cfg(test)]
mod tests {
    use klamm_io::{Disk as _, OpenMode, RealDisk};
    use klamm_records::{BatchOptions, Codecs, RecordBatchBuilder};

    use super::*;

    /// A batch may begin in what was never written: its offset is 0, and so are the first bytes of its
    /// length.
    #[test]
    fn what_was_never_written_is_passed_over_and_nothing_else() {
        let root = tempfile::tempdir().unwrap();
        let file = RealDisk
            .open(&root.path().join("log"), OpenMode::CreateNew)
            .unwrap();
        let len = 1_u32 << 30;
        file.set_len(u64::from(len)).unwrap();
        let mut builder = RecordBatchBuilder::new(BatchOptions::default(), Vec::new());
        builder.append(0, None, Some(b"value"), &[]).unwrap();
        builder.close(&mut Codecs::default()).unwrap();
        let batch = builder.into_bytes().unwrap();
        let zeros = batch.iter().take_while(|it| **it == 0).count();
        let wanted = Wanted {
            offsets: Offset::ZERO..Offset::new(10),
            durable: Offset::ZERO..Offset::ZERO,
        };
        let scan = || Scan::new(file.clone(), 0, len);
        assert!(scan().is_blank_from(0).unwrap());
        assert_eq!(scan().find_good(0, &wanted).unwrap(), None);
        // Its first bytes are in a block of zeros that nobody writes.
        let at = (len / 2) - u32::try_from(zeros).unwrap();
        let written = &batch[zeros..];
        file.write_all_at(written, u64::from(len / 2)).unwrap();
        assert!(!scan().is_blank_from(0).unwrap());
        let found = scan().find_good(0, &wanted).unwrap().unwrap();
        assert_eq!((found.batches, found.first_offset), (1, Offset::ZERO));
        assert!(scan().is_blank_from(len / 2 + 4096).unwrap());
        assert_eq!(scan().find_good(at + 1, &wanted).unwrap(), None);
    }

    #[test]
    fn the_checksum_of_old_batches_is_that_of_zip() {
        assert_eq!(crc32_append(0, b"123456789"), 0xcbf4_3926);
        assert_eq!(
            crc32_append(crc32_append(0, b"1234"), b"56789"),
            0xcbf4_3926
        );
    }
}
