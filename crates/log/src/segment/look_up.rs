//! Looking an offset up in a segment: by its index, which is believed as far as the batches bear
//! it out.
//!
//! After a clean stop no segment is read through, so an index that went bad on the disk is first
//! met here. An entry that led past the batch asked for would make records vanish without a word:
//! hence the batch that it leads to is held against it, which costs no read that the walk through
//! the batches would not do.

use klamm_io::{Disk, DiskFile};
use klamm_primitives::Offset;

use super::{Segment, SegmentError};
use crate::bounds::Place;
use crate::offset_index::OffsetPosition;
use crate::scan::{Scan, ScanError, Scanned};

impl<D: Disk> Segment<D> {
    /// The first batch that reaches to `offset`.
    pub(crate) fn find(&self, offset: Offset) -> Result<Option<Scanned>, SegmentError> {
        Ok(self.scan_near(offset)?.find(offset)?)
    }

    /// Where the segment would end without the batches that reach to `offset`.
    pub(crate) fn end_before(&self, offset: Offset) -> Result<Place, SegmentError> {
        // From a batch on that stays, if any does.
        let mut scan = self.scan_near(offset - 1)?;
        let mut end = Place {
            offset: self.base_offset,
            segment_base: self.base_offset,
            position: scan.position(),
        };
        while let Some(batch) = scan.next()? {
            if batch.last_offset >= offset {
                break;
            }
            end.offset = batch.last_offset + 1;
            end.position = batch.end();
        }
        Ok(end)
    }

    /// A walk that begins at or before the first batch that reaches to `offset`, as near to it as
    /// the index knows.
    pub(super) fn scan_near(&self, offset: Offset) -> Result<Scan<D::File>, SegmentError> {
        for _ in 0..2 {
            let entry = self.look_up(offset)?;
            let mut scan = self.scan(entry.position)?;
            if bears_out(&mut scan, &entry, offset)? {
                return Ok(scan);
            }
            if !self.make_index_anew(offset)? {
                break;
            }
        }
        Ok(self.scan(0)?)
    }

    /// Whether an entry of the offset index leads to a batch that does not reach behind its offset.
    pub(crate) fn bears_out(&self, entry: &OffsetPosition) -> Result<bool, SegmentError> {
        match self.scan(entry.position)?.next() {
            Ok(batch) => Ok(batch.is_some_and(|it| it.last_offset <= entry.offset)),
            Err(ScanError::Damaged { .. }) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    fn look_up(&self, offset: Offset) -> Result<OffsetPosition, SegmentError> {
        self.with_indexes(|it| it.offset.look_up(offset).map_err(SegmentError::from))
    }

    /// Makes the indexes anew because an entry lied. Once: what is damaged besides is the log's.
    /// Says whether to look again.
    fn make_index_anew(&self, offset: Offset) -> Result<bool, SegmentError> {
        let mut indexes = self.indexes.lock();
        let Some(open) = indexes.as_ref() else {
            return Ok(true);
        };
        // Was it cut meanwhile, it may be right by now.
        let entry = open.offset.look_up(offset)?;
        if bears_out(&mut self.scan(entry.position)?, &entry, offset)? {
            return Ok(true);
        }
        if self.marks.is_index_new.swap(true) {
            return Ok(false);
        }
        self.rebuild(&mut indexes, "an entry does not fit the log")?;
        Ok(true)
    }
}

/// Whether an entry leads to a batch that is its own, so that every batch before it ends before
/// `offset`. The walk begins there again.
///
/// The entry has the last offset of its batch. Those of older brokers have the last offset of
/// several batches that were appended at once, and the position of the first of them.
pub(super) fn bears_out<F: DiskFile>(
    scan: &mut Scan<F>,
    entry: &OffsetPosition,
    offset: Offset,
) -> Result<bool, SegmentError> {
    if entry.position == 0 {
        return Ok(true);
    }
    let first = match scan.next() {
        Ok(first) => first,
        Err(ScanError::Damaged { .. }) => None,
        Err(error) => return Err(error.into()),
    };
    scan.go_back_to(entry.position);
    Ok(first.is_some_and(|it| it.base_offset <= offset && it.last_offset <= entry.offset))
}
