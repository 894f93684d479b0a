//! The indexes of a segment, entry by entry, beside the batches that they speak of.
//!
//! Batches and entries both rise, so one walk through each is enough: an entry waits for its
//! batch, and one that a batch has passed by points nowhere.

use std::path::PathBuf;

use klamm_io::{Disk, DiskError, DiskFile};
use klamm_primitives::{Offset, ProducerId};

use super::Report;
use super::batches::{Seen, SegmentCheck};
use super::problem::{Fault, Problem};
use crate::entry_stream::{EntryStream, i32_at, i64_at};
use crate::names::FileContent;

/// The three indexes of a segment.
pub(super) struct IndexChecks<F> {
    offset: Option<IndexCheck<F, 8>>,
    time: Option<IndexCheck<F, 12>>,
    transaction: Option<IndexCheck<F, 34>>,
}

impl<F: DiskFile> IndexChecks<F> {
    /// Opens those that are there.
    pub(super) fn open<D: Disk<File = F>>(
        segment: &SegmentCheck<'_, D>,
        report: &mut Report,
    ) -> Result<Self, DiskError> {
        Ok(Self {
            offset: IndexCheck::open(segment, FileContent::OffsetIndex, report)?,
            time: IndexCheck::open(segment, FileContent::TimeIndex, report)?,
            transaction: IndexCheck::open(segment, FileContent::TransactionIndex, report)?,
        })
    }

    /// Compares a batch with the entries that speak of it.
    pub(super) fn batch(&mut self, seen: &Seen<'_>, report: &mut Report) -> Result<(), DiskError> {
        if let Some(index) = &mut self.offset {
            index.offsets_up_to(seen, report)?;
        }
        if let Some(index) = &mut self.time {
            index.times_up_to(seen, report)?;
        }
        if let Some(index) = &mut self.transaction {
            index.markers_up_to(seen, report)?;
        }
        Ok(())
    }

    /// No batch is left: so have no entries to be.
    pub(super) fn end(&mut self, report: &mut Report) -> Result<(), DiskError> {
        if let Some(index) = &mut self.offset {
            while let Some(entry) = index.take(report)? {
                index.tell(&entry, no_batch_at(&entry), report);
            }
        }
        if let Some(index) = &mut self.time {
            while let Some(entry) = index.take(report)? {
                index.tell(&entry, Fault::NoBatchEnds, report);
            }
        }
        if let Some(index) = &mut self.transaction {
            while let Some(entry) = index.take(report)? {
                index.tell(&entry, no_marker(&entry), report);
            }
        }
        Ok(())
    }
}

/// An entry and what it says.
struct Entry<const N: usize> {
    position: u64,
    bytes: [u8; N],
    /// The offset that it is about.
    offset: Offset,
}

/// A walk through one index.
struct IndexCheck<F, const N: usize> {
    path: PathBuf,
    content: FileContent,
    base_offset: Offset,
    stream: EntryStream<F, N>,
    /// Read, and not compared yet.
    waiting: Option<Entry<N>>,
    /// What the entry before said, by which the next one must be greater.
    former: Option<i64>,
    has_ended: bool,
}

impl<F: DiskFile, const N: usize> IndexCheck<F, N> {
    fn open<D: Disk<File = F>>(
        segment: &SegmentCheck<'_, D>,
        content: FileContent,
        report: &mut Report,
    ) -> Result<Option<Self>, DiskError> {
        let path = segment.path(content);
        let Some(stream) = EntryStream::open(segment.disk, &path)? else {
            return Ok(None);
        };
        let count = stream.odd_bytes();
        if count > 0 {
            report.add(Problem::of_file(path.clone(), Fault::OddLength { count }));
        }
        Ok(Some(Self {
            path,
            content,
            base_offset: segment.base_offset,
            stream,
            waiting: None,
            former: None,
            has_ended: false,
        }))
    }

    /// The entry that waits, or the next one of the file.
    fn take(&mut self, report: &mut Report) -> Result<Option<Entry<N>>, DiskError> {
        if let Some(entry) = self.waiting.take() {
            return Ok(Some(entry));
        }
        while !self.has_ended {
            let Some((position, bytes)) = self.stream.next()? else {
                self.has_ended = true;
                break;
            };
            let entry = self.read(position, bytes);
            let is_first = position == 0;
            // Kept at full size while it was appended to, an index ends with zeros: they are no
            // entries.
            let says_nothing = bytes == [0; N] || (!is_first && entry.offset == self.base_offset);
            let is_unused = says_nothing && self.content != FileContent::TransactionIndex;
            if is_unused {
                self.has_ended = true;
                self.check_unused(bytes, position, report)?;
                break;
            }
            let rank = self.rank(&entry);
            let rises = self.former.is_none_or(|former| former < rank);
            self.former = Some(rank);
            if self.content == FileContent::TransactionIndex {
                let version = i16::from_be_bytes([bytes[0], bytes[1]]);
                if version != 0 {
                    self.tell(&entry, Fault::TransactionVersion(version), report);
                }
            }
            if rises {
                return Ok(Some(entry));
            }
            self.tell(&entry, Fault::NotRising, report);
        }
        Ok(None)
    }

    /// What must rise from entry to entry: timestamps in the time index, offsets elsewhere.
    fn rank(&self, entry: &Entry<N>) -> i64 {
        match self.content {
            FileContent::TimeIndex => i64_at(&entry.bytes, 0),
            _ => entry.offset.get(),
        }
    }

    fn read(&self, position: u64, bytes: [u8; N]) -> Entry<N> {
        let relative = |at| {
            let base = self.base_offset.get();
            Offset::new(base.saturating_add(i64::from(i32_at(&bytes, at))))
        };
        let offset = match self.content {
            FileContent::OffsetIndex => relative(0),
            FileContent::TimeIndex => relative(8),
            _ => Offset::new(i64_at(&bytes, 18)),
        };
        Entry {
            position,
            bytes,
            offset,
        }
    }

    /// Whether the rest is zeros, as it should be.
    fn check_unused(
        &mut self,
        first: [u8; N],
        position: u64,
        report: &mut Report,
    ) -> Result<(), DiskError> {
        let mut at = (first != [0; N]).then_some(position);
        while let Some((position, bytes)) = self.stream.next()? {
            if bytes != [0; N] {
                at = at.or(Some(position));
                break;
            }
        }
        if let Some(position) = at {
            report.add(Problem {
                path: self.path.clone(),
                position: Some(position),
                offset: None,
                fault: Fault::BehindZeros,
            });
        }
        Ok(())
    }

    fn tell(&self, entry: &Entry<N>, fault: Fault, report: &mut Report) {
        report.add(Problem {
            path: self.path.clone(),
            position: Some(entry.position),
            offset: Some(entry.offset),
            fault,
        });
    }
}

impl<F: DiskFile> IndexCheck<F, 8> {
    fn offsets_up_to(&mut self, seen: &Seen<'_>, report: &mut Report) -> Result<(), DiskError> {
        let batch = seen.scanned;
        while let Some(entry) = self.take(report)? {
            let position = i64::from(i32_at(&entry.bytes, 4));
            if position > i64::from(batch.position) {
                self.waiting = Some(entry);
                break;
            }
            if position < i64::from(batch.position) {
                self.tell(&entry, no_batch_at(&entry), report);
            } else if entry.offset != batch.last_offset {
                let fault = Fault::OtherLastOffset {
                    position: u64::from(batch.position),
                    last: batch.last_offset,
                };
                self.tell(&entry, fault, report);
            }
        }
        Ok(())
    }
}

impl<F: DiskFile> IndexCheck<F, 12> {
    fn times_up_to(&mut self, seen: &Seen<'_>, report: &mut Report) -> Result<(), DiskError> {
        let batch = seen.scanned;
        while let Some(entry) = self.take(report)? {
            if entry.offset > batch.last_offset {
                self.waiting = Some(entry);
                break;
            }
            let timestamp_ms = i64_at(&entry.bytes, 0);
            if entry.offset < batch.last_offset {
                self.tell(&entry, Fault::NoBatchEnds, report);
            } else if timestamp_ms != batch.max_timestamp_ms {
                let fault = Fault::OtherTimestamp {
                    entry: timestamp_ms,
                    batch: batch.max_timestamp_ms,
                };
                self.tell(&entry, fault, report);
            }
        }
        Ok(())
    }
}

impl<F: DiskFile> IndexCheck<F, 34> {
    fn markers_up_to(&mut self, seen: &Seen<'_>, report: &mut Report) -> Result<(), DiskError> {
        let batch = seen.scanned;
        while let Some(entry) = self.take(report)? {
            if entry.offset > batch.last_offset {
                self.waiting = Some(entry);
                break;
            }
            let producer_id = batch.header.map(|it| it.producer_id.get());
            let is_marker = entry.offset == batch.last_offset
                && seen.aborts
                && producer_id == Some(i64_at(&entry.bytes, 2));
            if !is_marker {
                self.tell(&entry, no_marker(&entry), report);
            }
        }
        Ok(())
    }
}

fn no_batch_at(entry: &Entry<8>) -> Fault {
    Fault::NoBatchAt {
        position: u64::from(i32_at(&entry.bytes, 4).cast_unsigned()),
    }
}

fn no_marker(entry: &Entry<34>) -> Fault {
    Fault::NoMarker(ProducerId::new(i64_at(&entry.bytes, 2)))
}
