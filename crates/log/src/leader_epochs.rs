//! [`LeaderEpochs`]: which leader epoch began at which offset, and the file that keeps it.
//!
//! ```text
//! 0                  version of `leader-epoch-checkpoint`
//! 2                  number of entries
//! 0 0                leader epoch, its first offset
//! 3 1207
//! ```
//!
//! By this list a follower finds where its log and its leader's part ways (KIP-101, KIP-279).
//! Both columns rise.

use std::fmt::Write as _;
use std::path::Path;

use klamm_io::{Disk, DiskError};
use klamm_primitives::{LeaderEpoch, Offset};

use crate::small_file::{self, SmallFileError};

const FILE_NAME: &str = "leader-epoch-checkpoint";

/// A leader epoch and the first offset that its leader gave out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct EpochStart {
    /// The leader epoch.
    pub epoch: LeaderEpoch,
    /// The log end offset when its leader took over.
    pub start_offset: Offset,
}

/// Where a leader epoch ended, as a follower wants to know it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct EpochEnd {
    /// The greatest known epoch at or below the one asked for.
    pub epoch: LeaderEpoch,
    /// One past the last offset of that epoch.
    pub end_offset: Offset,
}

/// The leader epochs of one log, oldest first. Pure: whoever changes it writes it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct LeaderEpochs(Vec<EpochStart>);

impl LeaderEpochs {
    /// Notes that `epoch` begins at `start_offset`. Says whether that changed anything, and the
    /// list must be written before the append goes on.
    ///
    /// Entries that contradict the new one, by an epoch or an offset that is not below its own,
    /// are dropped. The latest epoch again at the same or a later offset is no news, and numbers
    /// below 0, which old batches have, name no epoch.
    pub(crate) fn assign(&mut self, epoch: LeaderEpoch, start_offset: Offset) -> bool {
        if epoch < LeaderEpoch::new(0) || start_offset < Offset::ZERO {
            return false;
        }
        if let Some(latest) = self.latest()
            && latest.epoch == epoch
            && latest.start_offset <= start_offset
        {
            return false;
        }
        while let Some(latest) = self.latest()
            && (latest.epoch >= epoch || latest.start_offset >= start_offset)
        {
            self.0.pop();
        }
        self.0.push(EpochStart {
            epoch,
            start_offset,
        });
        true
    }

    /// The first entry.
    pub(crate) fn earliest(&self) -> Option<EpochStart> {
        self.0.first().copied()
    }

    /// The last entry.
    pub(crate) fn latest(&self) -> Option<EpochStart> {
        self.0.last().copied()
    }

    /// All entries, oldest first.
    pub(crate) fn entries(&self) -> &[EpochStart] {
        &self.0
    }

    /// The epoch in which the record at `offset` was appended.
    pub(crate) fn epoch_for(&self, offset: Offset) -> Option<LeaderEpoch> {
        let after = self.0.partition_point(|it| it.start_offset <= offset);
        Some(self.0[after.checked_sub(1)?].epoch)
    }

    /// The greatest known epoch below this one.
    pub(crate) fn previous(&self, epoch: LeaderEpoch) -> Option<EpochStart> {
        let at = self.0.partition_point(|it| it.epoch < epoch);
        Some(self.0[at.checked_sub(1)?])
    }

    /// The smallest known epoch above this one.
    pub(crate) fn next(&self, epoch: LeaderEpoch) -> Option<EpochStart> {
        let at = self.0.partition_point(|it| it.epoch <= epoch);
        self.0.get(at).copied()
    }

    /// Where `epoch` ended: the log end offset for the latest, otherwise where the next one
    /// began. `None` for an epoch above the latest, below 0, or if none is known.
    pub(crate) fn end_of(&self, epoch: LeaderEpoch, log_end_offset: Offset) -> Option<EpochEnd> {
        if epoch < LeaderEpoch::new(0) {
            return None;
        }
        if self.latest()?.epoch == epoch {
            return Some(EpochEnd {
                epoch,
                end_offset: log_end_offset,
            });
        }
        let after = self.0.partition_point(|it| it.epoch <= epoch);
        let next = self.0.get(after)?;
        // An epoch before the first known one ended where that began, if it was ever here.
        let known = after.checked_sub(1).map_or(epoch, |at| self.0[at].epoch);
        Some(EpochEnd {
            epoch: known,
            end_offset: next.start_offset,
        })
    }

    /// Drops the entries that begin at or behind `end`: the log was cut there. Nothing for an
    /// offset below 0. Says whether any went.
    pub(crate) fn truncate_from_end(&mut self, end: Offset) -> bool {
        if end < Offset::ZERO {
            return false;
        }
        let kept = self.0.partition_point(|it| it.start_offset < end);
        let changed = kept < self.0.len();
        self.0.truncate(kept);
        changed
    }

    /// Drops the entries that lie wholly before `start`, and lets the one that holds it begin
    /// there: the log starts there now. Says whether anything changed.
    pub(crate) fn truncate_from_start(&mut self, start: Offset) -> bool {
        let after = self.0.partition_point(|it| it.start_offset <= start);
        let Some(holds_it) = after.checked_sub(1) else {
            return false;
        };
        if holds_it == 0 && self.0[0].start_offset == start {
            return false;
        }
        self.0.drain(..holds_it);
        self.0[0].start_offset = start;
        true
    }

    /// Drops all entries. Says whether there were any.
    pub(crate) fn clear(&mut self) -> bool {
        let changed = !self.0.is_empty();
        self.0.clear();
        changed
    }

    /// Reads the list of a partition's directory; empty where there is no file.
    ///
    /// # Errors
    /// [`SmallFileError::Damaged`] for another version, a count that does not match, or entries
    /// that are none or do not rise; [`SmallFileError::Disk`].
    pub(crate) fn read<D: Disk>(disk: &D, directory: &Path) -> Result<Self, SmallFileError> {
        let path = directory.join(FILE_NAME);
        let Some(text) = small_file::read(disk, &path)? else {
            return Ok(Self::default());
        };
        let entries = small_file::checkpoint_entries(&path, &text, parse_entry)?;
        let rises = |pair: &[EpochStart]| {
            pair[0].epoch < pair[1].epoch && pair[0].start_offset < pair[1].start_offset
        };
        if entries.windows(2).all(rises) {
            Ok(Self(entries))
        } else {
            Err(small_file::damaged(&path, "its entries do not rise"))
        }
    }

    /// Replaces the list of a partition's directory, durably.
    pub(crate) fn write<D: Disk>(&self, disk: &D, directory: &Path) -> Result<(), DiskError> {
        let mut text = format!("0\n{}\n", self.0.len());
        for EpochStart {
            epoch,
            start_offset,
        } in &self.0
        {
            writeln!(text, "{epoch} {start_offset}").expect("a string takes any text");
        }
        small_file::replace(disk, &directory.join(FILE_NAME), &text)
    }
}

fn parse_entry(fields: &[&str]) -> Option<EpochStart> {
    let &[epoch, start_offset] = fields else {
        return None;
    };
    let epoch = epoch.parse().ok().filter(|&it: &i32| it >= 0)?;
    let start_offset = start_offset.parse().ok().filter(|&it: &i64| it >= 0)?;
    Some(EpochStart {
        epoch: LeaderEpoch::new(epoch),
        start_offset: Offset::new(start_offset),
    })
}

#[cfg(test)]
mod tests {
    use klamm_io::RealDisk;

    use super::*;

    fn epoch(epoch: i32) -> LeaderEpoch {
        LeaderEpoch::new(epoch)
    }

    fn epochs(entries: &[(i32, i64)]) -> LeaderEpochs {
        let mut epochs = LeaderEpochs::default();
        for &(number, offset) in entries {
            assert!(epochs.assign(epoch(number), Offset::new(offset)));
        }
        epochs
    }

    fn entries(epochs: &LeaderEpochs) -> Vec<(i32, i64)> {
        let plain = |it: &EpochStart| (it.epoch.get(), it.start_offset.get());
        epochs.entries().iter().map(plain).collect()
    }

    /// Covers LG-167, LG-009.
    #[test]
    fn the_list_is_written_and_read_in_kafkas_form() {
        let directory = tempfile::tempdir().unwrap();
        let read = || LeaderEpochs::read(&RealDisk, directory.path());
        assert_eq!(read().unwrap(), LeaderEpochs::default());
        let list = epochs(&[(0, 0), (3, 1207)]);
        list.write(&RealDisk, directory.path()).unwrap();
        let path = directory.path().join("leader-epoch-checkpoint");
        assert_eq!(
            std::fs::read_to_string(&path).unwrap(),
            "0\n2\n0 0\n3 1207\n"
        );
        assert_eq!(read().unwrap(), list);
        for text in [
            "1\n0\n",
            "0\n1\n",
            "0\n1\n-1 0\n",
            "0\n2\n3 5\n3 6\n",
            "0\n2\n3 5\n4 5\n",
        ] {
            std::fs::write(&path, text).unwrap();
            assert!(read().is_err(), "{text:?}");
        }
    }

    #[test]
    fn lg_168_only_news_is_assigned() {
        let mut list = epochs(&[(2, 6)]);
        assert!(!list.assign(epoch(2), Offset::new(6)));
        assert!(!list.assign(epoch(2), Offset::new(9)));
        assert!(list.assign(epoch(4), Offset::new(9)));
        assert_eq!(entries(&list), [(2, 6), (4, 9)]);
    }

    #[test]
    fn lg_169_entries_that_contradict_go() {
        let mut list = epochs(&[(2, 6)]);
        assert!(list.assign(epoch(3), Offset::new(5)));
        assert_eq!(entries(&list), [(3, 5)]);

        let mut list = epochs(&[(1, 0), (2, 6), (3, 10), (5, 20)]);
        assert!(list.assign(epoch(3), Offset::new(8)));
        assert_eq!(entries(&list), [(1, 0), (2, 6), (3, 8)]);
        assert!(
            list.assign(epoch(2), Offset::new(7)),
            "an epoch that went back"
        );
        assert_eq!(entries(&list), [(1, 0), (2, 7)]);
    }

    #[test]
    fn lg_170_where_an_epoch_ended() {
        let list = epochs(&[(2, 5), (3, 10), (7, 20)]);
        let end = |number| {
            let end = list.end_of(epoch(number), Offset::new(42))?;
            Some((end.epoch.get(), end.end_offset.get()))
        };
        assert_eq!(end(7), Some((7, 42)));
        assert_eq!(end(3), Some((3, 20)));
        assert_eq!(end(5), Some((3, 20)), "the greatest known below");
        assert_eq!(end(0), Some((0, 5)), "before the first known");
        assert_eq!(end(8), None);
        assert_eq!(end(-1), None);
        assert_eq!(LeaderEpochs::default().end_of(epoch(0), Offset::ZERO), None);
    }

    #[test]
    fn lg_171_truncation_from_the_end() {
        let full = [(2, 6), (3, 8), (4, 11)];
        for (end, kept) in [(12, 3), (11, 2), (9, 2), (8, 1), (6, 0), (0, 0), (-1, 3)] {
            let mut list = epochs(&full);
            assert_eq!(list.truncate_from_end(Offset::new(end)), kept < 3);
            assert_eq!(entries(&list), full[..kept]);
        }
    }

    /// Covers LG-091, LG-126.
    #[test]
    fn truncation_from_the_start() {
        let full = [(2, 6), (3, 8), (4, 11)];
        for (start, kept) in [
            (5, &[(2, 6), (3, 8), (4, 11)][..]),
            (6, &[(2, 6), (3, 8), (4, 11)]),
            (7, &[(2, 7), (3, 8), (4, 11)]),
            (8, &[(3, 8), (4, 11)]),
            (10, &[(3, 10), (4, 11)]),
            (99, &[(4, 99)]),
        ] {
            let mut list = epochs(&full);
            assert_eq!(list.truncate_from_start(Offset::new(start)), kept != full);
            assert_eq!(entries(&list), kept);
        }
        assert!(!LeaderEpochs::default().truncate_from_start(Offset::new(1)));
    }

    #[test]
    fn lg_172_the_epoch_of_an_offset() {
        let list = epochs(&[(2, 5), (3, 10)]);
        let at = |offset| list.epoch_for(Offset::new(offset)).map(LeaderEpoch::get);
        assert_eq!(
            [at(4), at(5), at(9), at(10), at(99)],
            [None, Some(2), Some(2), Some(3), Some(3)]
        );
    }

    #[test]
    fn lg_173_negative_numbers_are_not_assigned() {
        let mut list = LeaderEpochs::default();
        assert!(!list.assign(LeaderEpoch::NONE, Offset::ZERO));
        assert!(!list.assign(epoch(0), Offset::new(-1)));
        assert_eq!(entries(&list), []);
    }

    #[test]
    fn lg_176_neighbours_of_an_epoch() {
        let list = epochs(&[(2, 5), (4, 10), (6, 15)]);
        let previous = |number| list.previous(epoch(number)).map(|it| it.epoch.get());
        let next = |number| list.next(epoch(number)).map(|it| it.epoch.get());
        assert_eq!(
            [previous(2), previous(3), previous(4), previous(9)],
            [None, Some(2), Some(2), Some(6)]
        );
        assert_eq!(
            [next(1), next(4), next(5), next(6)],
            [Some(2), Some(6), Some(6), None]
        );
    }
}
