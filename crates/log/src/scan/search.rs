//! Looking for good batches where a file does not go on as it should.
//!
//! What a crash leaves at the end of a file is a batch that was not wholly written, and nothing good
//! behind it but what the disk happened to write first. Good batches behind a bad one may also mean
//! that the bad one was good once.

use std::ops::Range;

use klamm_io::{DiskError, DiskFile};
use klamm_primitives::Offset;
use klamm_records::{BatchHeader, HEADER_LEN};

use super::{CRC_CHUNK_LEN, Scan, ScanError, Scanned, read_head};

/// Where in a batch the byte stands that tells its format.
const MAGIC_AT: usize = 16;

/// Good batches that were found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Found {
    /// How many.
    pub(crate) batches: u64,
    /// The first offset of the first one.
    pub(crate) first_offset: Offset,
    /// The last offset of the last one.
    pub(crate) last_offset: Offset,
    /// Whether any begins in the range that was durable.
    pub(crate) any_durable: bool,
}

/// What is looked for.
pub(crate) struct Wanted {
    /// Where a batch begins that counts.
    pub(crate) offsets: Range<Offset>,
    /// Where one begins that was durable.
    pub(crate) durable: Range<Offset>,
}

impl<F: DiskFile> Scan<F> {
    /// The good batches at or behind this position, whatever lies between. Looks at every byte that
    /// is in none.
    pub(crate) fn find_good(
        &mut self,
        position: u32,
        wanted: &Wanted,
    ) -> Result<Option<Found>, DiskError> {
        let mut found = None;
        let mut position = position;
        while let Some(first) = self.find_next_good(position, &wanted.offsets)? {
            note(&mut found, &first, wanted);
            self.go_back_to(first.end());
            // They mostly follow one another.
            while let Some(next) = self.next_good(&wanted.offsets)? {
                note(&mut found, &next, wanted);
            }
            position = self.position();
        }
        Ok(found)
    }

    /// The first good batch that begins at this position or behind it.
    fn find_next_good(
        &mut self,
        mut position: u32,
        offsets: &Range<Offset>,
    ) -> Result<Option<Scanned>, DiskError> {
        let mut chunk = vec![0; CRC_CHUNK_LEN + HEADER_LEN];
        while self.end.saturating_sub(position) as usize >= HEADER_LEN {
            let left = (self.end - position) as usize;
            // To a multiple of the chunk's length, where a page ends, too: the rest of one that was read in
            // part counts as written.
            let mut chunk_len = CRC_CHUNK_LEN - position as usize % CRC_CHUNK_LEN;
            if chunk_len < HEADER_LEN {
                chunk_len += CRC_CHUNK_LEN;
            }
            let chunk = &mut chunk[..chunk_len.min(left)];
            self.file.read_exact_at(chunk, u64::from(position))?;
            for (head, at) in chunk.windows(HEADER_LEN).zip(position..) {
                if head[MAGIC_AT] != 2 {
                    continue;
                }
                let Ok(header) = BatchHeader::read(head) else {
                    continue;
                };
                if !offsets.contains(&header.base_offset) {
                    continue;
                }
                if let Ok(batch) = read_head(head, at, self.end - at)
                    && self.is_good(&batch)?
                {
                    return Ok(Some(batch));
                }
            }
            let overlap = HEADER_LEN - 1;
            let chunk_end = position + u32::try_from(chunk.len()).expect("a chunk is small");
            position = chunk_end - u32::try_from(overlap).expect("a header is small");
            // A header is not all zeros: none begins in front of what was never written, nor further in
            // front of what was.
            if chunk[chunk.len() - overlap..].iter().all(|&byte| byte == 0) {
                let written = self.next_written(chunk_end)?;
                if written > chunk_end {
                    position = written - u32::try_from(overlap).expect("a header is small");
                }
            }
        }
        Ok(None)
    }

    /// The batch where the walk is, if it is good. Otherwise the walk stays where it is.
    fn next_good(&mut self, offsets: &Range<Offset>) -> Result<Option<Scanned>, DiskError> {
        let from = self.position();
        let next = match self.next() {
            Ok(next) => next,
            Err(ScanError::Disk(error)) => return Err(error),
            Err(ScanError::Damaged { .. }) => None,
        };
        if let Some(batch) = next
            && offsets.contains(&batch.base_offset)
            && self.is_good(&batch)?
        {
            return Ok(Some(batch));
        }
        self.go_back_to(from);
        Ok(None)
    }

    fn is_good(&mut self, batch: &Scanned) -> Result<bool, DiskError> {
        match self.check_crc(batch) {
            Ok(()) => Ok(true),
            Err(ScanError::Disk(error)) => Err(error),
            Err(ScanError::Damaged { .. }) => Ok(false),
        }
    }
}

fn note(found: &mut Option<Found>, batch: &Scanned, wanted: &Wanted) {
    let found = found.get_or_insert(Found {
        batches: 0,
        first_offset: batch.base_offset,
        last_offset: batch.last_offset,
        any_durable: false,
    });
    found.batches += 1;
    found.last_offset = batch.last_offset;
    found.any_durable |= wanted.durable.contains(&batch.base_offset);
}
