//! [`Reserve`]: room on the disk, and a file descriptor, that are kept for what must be written
//! when there are no others.
//!
//! openraft takes an entry that cannot be written for the end of the node. So a change that might
//! find no room is refused before openraft sees it; and what strikes all the same, because somebody
//! else has taken the room in between, or because it is a record that must not wait, is written
//! into room that a file beside the log gives back: `reserve`, whose bytes mean nothing.
//!
//! It is given back a little at a time: whoever else waits for room takes what is free first, and
//! gets no more than that. Once there is room again the file is made whole.
//!
//! Where the name leads to something that is no such file, or the process may not write it, there is
//! no reserve. Changes are let in all the same as long as there is as much room as it would keep.

use std::fmt::Display;
use std::mem;
use std::path::{Path, PathBuf};

use fastrand::Rng;
use klamm_io::{Allocated, Disk, DiskError, DiskErrorKind, DiskFile, FileKind, OpenMode};
use klamm_log::DiskFailure as _;
use tracing::{info, warn};

const FILE_NAME: &str = "reserve";

/// Bytes of the whole reserve: some restarts of a broker with ten thousand partitions.
pub(super) const RESERVE_LEN: u64 = 1 << 20;

/// What is given back at once, at least: some blocks of any file system.
const STEP: u64 = 16 << 10;

/// What a change takes beside its own bytes, at most: the batch around it, a new segment, what is
/// known of it. The last part of the reserve, which no change is let into: it is for the records of
/// Raft itself.
const OVERHEAD: u64 = 64 << 10;

/// Bytes that are written at once where a file system cannot reserve.
const PIECE_LEN: usize = 64 << 10;

/// The file, and how much of it is left. Its owner holds the lock of the directory.
pub(super) struct Reserve<D: Disk> {
    disk: D,
    path: PathBuf,
    /// Open as long as its descriptor is not needed for something else.
    file: Option<D::File>,
    /// Bytes that it keeps from others.
    held: u64,
    /// Something that will not pass by itself keeps it from being made; it was told what.
    is_unusable: bool,
}

impl<D: Disk> Reserve<D> {
    /// Makes it, or takes over what is left of it. Without room there is less of it, or none.
    pub(super) fn open(disk: D, directory: &Path) -> Self {
        let mut reserve = Self {
            disk,
            path: directory.join(FILE_NAME),
            file: None,
            held: 0,
            is_unusable: false,
        };
        if let Some(file) = reserve.opened() {
            let len = file.metadata().map_or(0, |it| it.len);
            // Its length says nothing: a file that was copied has it without the room. Where that is
            // there this changes nothing.
            let is_there = take_room(file, 0, len.min(RESERVE_LEN)).is_ok();
            reserve.held = if is_there { len } else { 0 };
        }
        reserve.refill();
        reserve
    }

    /// Whether nothing of it is in use.
    pub(super) fn is_whole(&self) -> bool {
        self.file.is_some() && self.held == RESERVE_LEN
    }

    /// Makes it whole, if it can be. Blocks.
    pub(super) fn refill(&mut self) {
        if self.is_whole() {
            return;
        }
        let held = self.held.min(RESERVE_LEN);
        let Some(file) = self.opened() else {
            return;
        };
        let taken = take_room(file, held, RESERVE_LEN);
        let len = if taken.is_ok() { RESERVE_LEN } else { held };
        // What there was of it is its still; a part of the rest, or a length beyond, is not.
        let is_cut = file.metadata().is_ok_and(|it| it.len == len) || file.set_len(len).is_ok();
        self.held = if is_cut { len } else { 0 };
        match taken {
            Err(error) if !error.may_pass() => self.cannot_be_used(&error),
            Err(_) => {}
            Ok(()) => {
                if mem::take(&mut self.is_unusable) {
                    info!(path = %self.path.display(), "the metadata log has its reserve again");
                }
            }
        }
    }

    /// Whether a change of this size finds its room, from what is free or, where it may have it,
    /// from the reserve.
    pub(super) fn has_room_for(&self, size: usize, may_use_it: bool) -> bool {
        let directory = self.path.parent().unwrap_or(&self.path);
        // Where it is not known, it shows when it is written.
        let free = self.disk.space(directory);
        let free = free.map_or(u64::MAX, |space| space.available_bytes);
        let wanted = size as u64 + OVERHEAD;
        if may_use_it {
            wanted <= free.saturating_add(self.held)
        } else if self.is_unusable {
            wanted + RESERVE_LEN <= free
        } else {
            self.is_whole() && wanted <= free
        }
    }

    /// Gives back what the lack of which this error tells, so that the same may be tried again.
    /// False where it can do nothing about it, or has nothing left.
    pub(super) fn relieve(&mut self, error: &DiskError, size: usize) -> bool {
        match error.kind() {
            DiskErrorKind::Full => self.give_room(size as u64),
            DiskErrorKind::TooManyFiles => self.file.take().is_some(),
            _ => false,
        }
    }

    fn give_room(&mut self, size: u64) -> bool {
        let left = self.held.saturating_sub(size.max(STEP));
        let gives = |file: &D::File| file.set_len(left).is_ok();
        let has_given = self.held > 0 && self.opened().is_some_and(gives);
        if !has_given {
            return false;
        }
        self.held = left;
        true
    }

    fn opened(&mut self) -> Option<&D::File> {
        if self.file.is_none() {
            match self.disk.open(&self.path, OpenMode::OpenOrCreate) {
                // Of a pipe or a device nothing can be reserved.
                Ok(file) if file.metadata().is_ok_and(|it| it.kind != FileKind::File) => {
                    self.cannot_be_used(&"it is no file");
                }
                Ok(file) => self.file = Some(file),
                Err(error) if error.may_pass() => {}
                Err(error) => self.cannot_be_used(&error),
            }
        }
        self.file.as_ref()
    }

    /// Tells it once.
    fn cannot_be_used(&mut self, why: &dyn Display) {
        self.file = None;
        self.held = 0;
        if mem::replace(&mut self.is_unusable, true) {
            return;
        }
        warn!(
            path = %self.path.display(), %why,
            "the metadata log cannot keep its reserve there and refuses changes unless {RESERVE_LEN} \
             bytes more are free; remove what has the name, or give the broker the right to write it"
        );
    }
}

/// Takes room for the file's bytes from one position to another. Where the file system cannot reserve
/// it, bytes are written. Zeros would do on most, such as ext4 and XFS; some store them as nothing, so
/// these are bytes that none makes less of.
fn take_room<F: DiskFile>(file: &F, from: u64, to: u64) -> Result<(), DiskError> {
    if file.allocate(to)? == Allocated::Reserved {
        return Ok(());
    }
    let mut piece = vec![0; PIECE_LEN];
    let mut rng = Rng::with_seed(from);
    for position in (from..to).step_by(PIECE_LEN) {
        rng.fill(&mut piece);
        let len = usize::try_from(to - position).unwrap_or(PIECE_LEN);
        file.write_all_at(&piece[..len.min(PIECE_LEN)], position)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use klamm_io::sim::{Fault, SimDisk};
    use klamm_io::{DiskOperation, RealDisk};

    use super::*;

    const DIRECTORY: &str = "/data";

    fn reserve(disk: &SimDisk) -> Reserve<SimDisk> {
        disk.create_dir_all(Path::new(DIRECTORY)).unwrap();
        Reserve::open(disk.clone(), Path::new(DIRECTORY))
    }

    fn free(disk: &SimDisk) -> u64 {
        disk.space(Path::new(DIRECTORY)).unwrap().available_bytes
    }

    fn error(kind: DiskErrorKind) -> DiskError {
        let disk = SimDisk::new(0);
        disk.inject(Fault::on(DiskOperation::Open).failing_with(kind));
        disk.open(Path::new("/x"), OpenMode::CreateNew)
            .err()
            .unwrap()
    }

    #[test]
    fn it_keeps_its_room_from_others_and_gives_it_back_bit_by_bit() {
        let disk = SimDisk::new(0);
        disk.set_capacity(Some(RESERVE_LEN + (200 << 10)));
        let mut reserve = reserve(&disk);
        assert_eq!(free(&disk), 200 << 10);
        assert!(reserve.has_room_for(100 << 10, false));
        assert!(!reserve.has_room_for(200 << 10, false), "not out of itself");
        assert!(reserve.has_room_for(1 << 20, true));
        assert!(!reserve.has_room_for(2 << 20, true));

        let full = error(DiskErrorKind::Full);
        assert!(reserve.relieve(&full, 100));
        assert_eq!(free(&disk), (200 << 10) + STEP);
        assert!(reserve.relieve(&full, 1 << 19));
        assert_eq!(free(&disk), (200 << 10) + STEP + (1 << 19));
        // Taken by somebody else.
        let other = disk.open(Path::new("/data/other"), OpenMode::CreateNew);
        let other = other.unwrap();
        other.allocate(free(&disk)).unwrap();
        assert!(!reserve.has_room_for(1, false));
        assert!(reserve.has_room_for(1, true));
        let mut steps = 0;
        while reserve.relieve(&full, 1) {
            steps += 1;
        }
        assert_eq!(steps, (RESERVE_LEN - STEP - (1 << 19)).div_ceil(STEP));
        other
            .allocate(free(&disk) + other.metadata().unwrap().len)
            .unwrap();
        assert!(!reserve.has_room_for(1, true));

        // It is whole again once there is room.
        reserve.refill();
        assert!(!reserve.is_whole());
        other.set_len(0).unwrap();
        reserve.refill();
        assert!(reserve.has_room_for(1, false));
        assert_eq!(free(&disk), 200 << 10);
    }

    #[test]
    fn a_part_of_it_is_taken_over_and_counts() {
        let disk = SimDisk::new(0);
        disk.set_capacity(Some(RESERVE_LEN));
        let mut first = reserve(&disk);
        assert!(first.relieve(&error(DiskErrorKind::Full), 1 << 19));
        let other = disk.open(Path::new("/data/other"), OpenMode::CreateNew);
        other.unwrap().allocate(free(&disk)).unwrap();
        drop(first);
        let second = reserve(&disk);
        assert_eq!(second.held, 1 << 19);
        assert!(!second.has_room_for(1, false));
        assert!(second.has_room_for(1 << 18, true));
    }

    #[test]
    fn a_copy_that_has_its_length_and_no_room_is_no_reserve() {
        for (room, is_whole) in [(RESERVE_LEN, true), (RESERVE_LEN / 2, false)] {
            let disk = SimDisk::new(0);
            disk.create_dir_all(Path::new(DIRECTORY)).unwrap();
            let path = Path::new(DIRECTORY).join(FILE_NAME);
            let copy = disk.open(&path, OpenMode::CreateNew).unwrap();
            copy.set_len(RESERVE_LEN).unwrap();
            disk.set_capacity(Some(room));
            let reserve = Reserve::open(disk.clone(), Path::new(DIRECTORY));
            assert_eq!(reserve.is_whole(), is_whole);
            assert_eq!(reserve.held + free(&disk), room);
        }
    }

    /// Where nothing can be reserved it consists of bytes.
    #[test]
    fn a_file_system_that_cannot_reserve_keeps_its_room_all_the_same() {
        let disk = SimDisk::new(0).without_reserving();
        disk.set_capacity(Some(RESERVE_LEN + (200 << 10)));
        let mut first = reserve(&disk);
        assert!(first.is_whole());
        assert_eq!(free(&disk), 200 << 10);
        assert!(first.relieve(&error(DiskErrorKind::Full), 1 << 19));
        assert_eq!(free(&disk), (200 << 10) + (1 << 19));
        first.refill();
        assert!(first.is_whole());
        assert_eq!(free(&disk), 200 << 10);
        drop(first);
        // A copy that has its length alone gets the bytes when it is opened.
        let path = Path::new(DIRECTORY).join(FILE_NAME);
        let copy = disk.open(&path, OpenMode::CreateOrTruncate).unwrap();
        copy.set_len(RESERVE_LEN).unwrap();
        let mut second = reserve(&disk);
        assert_eq!(free(&disk), 200 << 10);
        // There is not enough for all of it.
        assert!(second.relieve(&error(DiskErrorKind::Full), 1 << 19));
        let other = disk.open(Path::new("/data/other"), OpenMode::CreateNew);
        other.unwrap().write_all_at(&vec![1; 300 << 10], 0).unwrap();
        second.refill();
        assert!(!second.is_whole());
        assert_eq!(second.held, RESERVE_LEN - (1 << 19));
        assert_eq!(free(&disk), (200 << 10) + (1 << 19) - (300 << 10));
    }

    /// Whatever is in its place costs room, and nothing else.
    #[test]
    fn where_it_cannot_be_kept_as_much_room_must_be_free() {
        let path = Path::new(DIRECTORY).join(FILE_NAME);
        for obstacle in [
            None,
            Some(DiskOperation::Open),
            Some(DiskOperation::Allocate),
        ] {
            let disk = SimDisk::new(0);
            disk.set_capacity(Some(RESERVE_LEN + (200 << 10)));
            match obstacle {
                None => disk.create_dir_all(&path).unwrap(),
                Some(operation) => {
                    let fault = Fault::on(operation).under(&path);
                    disk.inject(fault.failing_with(DiskErrorKind::Denied).always());
                }
            }
            let mut reserve = reserve(&disk);
            assert!(!reserve.is_whole());
            assert!(reserve.has_room_for(100 << 10, false));
            assert!(!reserve.has_room_for(200 << 10, false));
            assert!(reserve.has_room_for(1 << 20, true));
            let full = error(DiskErrorKind::Full);
            assert!(!reserve.relieve(&full, 1), "there is nothing to give");
            // It is made once that is mended.
            disk.clear_faults();
            _ = disk.remove_dir(&path);
            reserve.refill();
            assert!(reserve.is_whole() && !reserve.is_unusable);
            assert_eq!(free(&disk), 200 << 10);
        }
    }

    /// A pipe is opened like a file.
    #[test]
    fn a_pipe_in_its_place_is_no_reserve() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(FILE_NAME);
        let made = std::process::Command::new("mkfifo").arg(&path).status();
        assert!(made.unwrap().success());
        let mut reserve = Reserve::open(RealDisk, directory.path());
        assert!(reserve.is_unusable && reserve.has_room_for(1, false));
        std::fs::remove_file(&path).unwrap();
        reserve.refill();
        assert!(reserve.is_whole());
    }

    #[test]
    fn its_descriptor_is_given_once_and_had_again_later() {
        let disk = SimDisk::new(0);
        let mut reserve = reserve(&disk);
        let none_left = error(DiskErrorKind::TooManyFiles);
        assert!(reserve.relieve(&none_left, 0));
        assert!(!reserve.relieve(&none_left, 0), "it has but one");
        disk.inject(Fault::on(DiskOperation::Open).failing_with(DiskErrorKind::TooManyFiles));
        reserve.refill();
        assert!(!reserve.has_room_for(1, false));
        reserve.refill();
        assert!(reserve.has_room_for(1, false));
        assert!(reserve.relieve(&none_left, 0));
        assert!(!reserve.relieve(&error(DiskErrorKind::Failed), 0));
    }
}
