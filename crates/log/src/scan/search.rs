//! Looking for good batches where a file does not go on as it should.
//!
//! What a crash leaves at the end of a file is a batch that was not wholly written, and nothing good
//! behind it but what the disk happened to write first. Good batches behind a bad one may also mean
//! that the bad one was good once.

use std::ops::Range;

use klamm_io::{DiskError, DiskFile};
use klamm_primitives::Offset;
use klamm_records::{BatchHeader, HEADER_LEN};
use tracing::warn;

use super::{CRC_CHUNK_LEN, Scan, ScanError, Scanned, read_head};

/// Where in a batch the byte stands that tells its format.
const MAGIC_AT: usize = 16;

/// How often all bytes that are left of a file may be put under checksums, and how many more. Those of
/// good batches are once. What looks like the head of a batch costs what it claims to be long, and whoever
/// writes records may fill them with heads.
const CHECKED_TIMES: u64 = 4;
const CHECKED_BYTES_MIN: u64 = 4 << 20;

/// Good batches that were found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Found {
    /// How many. None is certain where the search was given up before one was found.
    pub(crate) batches: u64,
    /// The first offset of the first one; unknown if there is none.
    pub(crate) first_offset: Offset,
    /// The last offset of the last one; unknown if there is none.
    pub(crate) last_offset: Offset,
    /// Whether any begins in the range that was durable, or may do so where nobody has looked.
    pub(crate) any_durable: bool,
    /// Whether every byte was looked at. Otherwise there may be more of them.
    pub(crate) is_all: bool,
}

impl Found {
    const NONE: Self = Self {
        batches: 0,
        first_offset: Offset::UNKNOWN,
        last_offset: Offset::UNKNOWN,
        any_durable: false,
        is_all: true,
    };

    fn note(&mut self, batch: &Scanned, wanted: &Wanted) {
        if self.batches == 0 {
            self.first_offset = batch.base_offset;
        }
        self.batches += 1;
        self.last_offset = batch.last_offset;
        self.any_durable |= wanted.durable.contains(&batch.base_offset);
    }
}

/// What is looked for.
pub(crate) struct Wanted {
    /// Where a batch begins that counts.
    pub(crate) offsets: Range<Offset>,
    /// Where one begins that was durable.
    pub(crate) durable: Range<Offset>,
}

/// Why a search ended before the end.
enum Halt {
    Disk(DiskError),
    /// More bytes would be put under checksums than may be.
    TooMuchToCheck,
}

impl From<DiskError> for Halt {
    fn from(error: DiskError) -> Self {
        Self::Disk(error)
    }
}

/// How many bytes may still be put under checksums.
struct Budget {
    bytes_left: u64,
}

impl Budget {
    fn take(&mut self, bytes: u32) -> Result<(), Halt> {
        let left = self.bytes_left.checked_sub(u64::from(bytes));
        self.bytes_left = left.ok_or(Halt::TooMuchToCheck)?;
        Ok(())
    }
}

/// The part of the file that heads are looked for in. It is read once, however many batches are found
/// in it.
struct Window {
    bytes: Vec<u8>,
    position: u32,
}

impl Window {
    /// The bytes from this position on, enough for a header. `left` are so many up to the end.
    fn read<F: DiskFile>(
        &mut self,
        file: &F,
        position: u32,
        left: usize,
    ) -> Result<&[u8], DiskError> {
        let start = position.checked_sub(self.position).map(|it| it as usize);
        let held = start.filter(|start| start + HEADER_LEN <= self.bytes.len());
        let Some(start) = held else {
            // To a multiple of the chunk's length, where a page ends, too: the rest of one that was read in
            // part counts as written.
            let mut len = CRC_CHUNK_LEN - position as usize % CRC_CHUNK_LEN;
            if len < HEADER_LEN {
                len += CRC_CHUNK_LEN;
            }
            self.bytes.resize(len.min(left), 0);
            self.position = position;
            file.read_exact_at(&mut self.bytes, u64::from(position))?;
            return Ok(&self.bytes);
        };
        Ok(&self.bytes[start..])
    }
}

impl<F: DiskFile> Scan<F> {
    /// The good batches at or behind this position, whatever lies between. Looks at every byte that
    /// is in none, unless too much looks like a batch and is none: where the search is given up, a good
    /// one counts as found, for nobody knows.
    pub(crate) fn find_good(
        &mut self,
        position: u32,
        wanted: &Wanted,
    ) -> Result<Option<Found>, DiskError> {
        let left = u64::from(self.end.saturating_sub(position));
        let mut budget = Budget {
            bytes_left: left * CHECKED_TIMES + CHECKED_BYTES_MIN,
        };
        let mut found = Found::NONE;
        match self.search(position, wanted, &mut budget, &mut found) {
            Ok(()) => Ok((found.batches > 0).then_some(found)),
            Err(Halt::Disk(error)) => Err(error),
            Err(Halt::TooMuchToCheck) => {
                warn!(path = %self.file.path().display(), position, left,
                    "too much looks like batches to check all of it, good ones are taken to be there");
                found.is_all = false;
                found.any_durable |= !wanted.durable.is_empty();
                Ok(Some(found))
            }
        }
    }

    fn search(
        &mut self,
        mut position: u32,
        wanted: &Wanted,
        budget: &mut Budget,
        found: &mut Found,
    ) -> Result<(), Halt> {
        let mut window = Window {
            bytes: Vec::new(),
            position,
        };
        let offsets = &wanted.offsets;
        while let Some(first) = self.find_next_good(position, offsets, &mut window, budget)? {
            found.note(&first, wanted);
            self.go_back_to(first.end());
            // They mostly follow one another.
            while let Some(next) = self.next_good(offsets, budget)? {
                found.note(&next, wanted);
            }
            position = self.position();
        }
        Ok(())
    }

    /// The first good batch that begins at this position or behind it.
    fn find_next_good(
        &mut self,
        mut position: u32,
        offsets: &Range<Offset>,
        window: &mut Window,
        budget: &mut Budget,
    ) -> Result<Option<Scanned>, Halt> {
        while self.end.saturating_sub(position) as usize >= HEADER_LEN {
            let left = (self.end - position) as usize;
            let chunk = window.read(&self.file, position, left)?;
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
                    && self.is_good(&batch, budget)?
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
    fn next_good(
        &mut self,
        offsets: &Range<Offset>,
        budget: &mut Budget,
    ) -> Result<Option<Scanned>, Halt> {
        let from = self.position();
        let next = match self.next() {
            Ok(next) => next,
            Err(ScanError::Disk(error)) => return Err(error.into()),
            Err(ScanError::Damaged { .. }) => None,
        };
        if let Some(batch) = next
            && offsets.contains(&batch.base_offset)
            && self.is_good(&batch, budget)?
        {
            return Ok(Some(batch));
        }
        self.go_back_to(from);
        Ok(None)
    }

    fn is_good(&mut self, batch: &Scanned, budget: &mut Budget) -> Result<bool, Halt> {
        budget.take(batch.size)?;
        match self.check_crc(batch) {
            Ok(()) => Ok(true),
            Err(ScanError::Disk(error)) => Err(error.into()),
            Err(ScanError::Damaged { .. }) => Ok(false),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use klamm_io::sim::SimDisk;
    use klamm_io::{Disk as _, OpenMode};
    use klamm_records::{BatchOptions, Codecs, RecordBatchBuilder};

    use super::*;

    const OFFSETS: Range<Offset> = Offset::ZERO..Offset::new(1 << 20);

    fn batch() -> Vec<u8> {
        let mut builder = RecordBatchBuilder::new(BatchOptions::default(), Vec::new());
        builder.append(0, None, Some(b"value"), &[]).unwrap();
        builder.close(&mut Codecs::default()).unwrap();
        builder.into_bytes().unwrap().to_vec()
    }

    /// What is found among these bytes, and how many were read for it.
    fn find(bytes: &[u8], durable: Range<Offset>) -> (Option<Found>, u64) {
        let disk = SimDisk::new(0);
        let file = disk.open(Path::new("log"), OpenMode::CreateNew).unwrap();
        file.write_all_at(bytes, 0).unwrap();
        let mut scan = Scan::new(file, 0, u32::try_from(bytes.len()).unwrap());
        let offsets = OFFSETS;
        let found = scan.find_good(0, &Wanted { offsets, durable }).unwrap();
        (found, disk.bytes_read())
    }

    /// A window of the file is not read again for each of the batches in it.
    #[test]
    fn what_is_read_does_not_grow_with_the_gaps_between_good_batches() {
        let count = 20_000;
        let bytes = [&batch()[..], &[0]].concat().repeat(count);
        let (found, read) = find(&bytes, Offset::ZERO..Offset::ZERO);
        let found = found.unwrap();
        assert_eq!((found.batches, found.is_all), (count as u64, true));
        let len = bytes.len() as u64;
        assert!(read < 4 * len, "{read} bytes of {len}");
    }

    /// Covers C089: where heads are false and long nobody looks at all of it, and nobody says that nothing
    /// is there.
    #[test]
    fn a_search_that_is_given_up_has_found_what_may_be_there() {
        let good = batch();
        let mut head = good[..HEADER_LEN].to_vec();
        head[8..12].copy_from_slice(&(1_i32 << 20).to_be_bytes());
        let bytes = [&good[..], &head.repeat(4 << 20 >> 5)].concat();
        let nothing = Offset::ZERO..Offset::ZERO;
        let beyond = Offset::new(5)..Offset::new(6);
        for (bytes, batches, first_offset) in [
            (&bytes[..], 1, Offset::ZERO),
            (&bytes[good.len()..], 0, Offset::UNKNOWN),
        ] {
            for durable in [&nothing, &beyond] {
                let (found, read) = find(bytes, durable.clone());
                let expected = Found {
                    batches,
                    first_offset,
                    last_offset: first_offset,
                    any_durable: !durable.is_empty(),
                    is_all: false,
                };
                assert_eq!(found, Some(expected));
                let len = bytes.len() as u64;
                assert!(read < 6 * len + (4 << 20), "{read} bytes of {len}");
            }
        }
    }
}
