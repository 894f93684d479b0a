//! [`RealDisk`]: the operating system's file systems.

mod open;

use std::fs::{self, File};
use std::io::{self, IoSlice};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::FileExt;
use std::path::{self, Component, Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use bytes::Bytes;
use rustix::buffer::spare_capacity;
use rustix::fs::{Advice, FallocateFlags, FlockOperation, SeekFrom};
use rustix::io::Errno;

use self::open::open;
use crate::clock::unix_ms_of;
use crate::disk::{Allocated, Disk, DiskFile, Entry, FileKind, Metadata, OpenMode, Space};
use crate::disk_error::{DiskError, DiskOperation};

/// The operating system's file systems; a relative path starts at the current directory.
#[derive(Debug, Clone, Copy, Default)]
pub struct RealDisk;

/// An open file of [`RealDisk`].
#[derive(Debug, Clone)]
pub struct RealFile(Arc<Opened>);

#[derive(Debug)]
struct Opened {
    file: File,
    path: Box<Path>,
    for_writing: bool,
}

/// A lock held through [`RealDisk`].
#[derive(Debug)]
pub struct RealLock {
    /// The locks belong to the open file and go with it.
    _file: File,
}

impl Disk for RealDisk {
    type File = RealFile;
    type Lock = RealLock;

    fn open(&self, path: &Path, mode: OpenMode) -> Result<RealFile, DiskError> {
        let file = open(path, mode).map_err(failed(DiskOperation::Open, path))?;
        Ok(RealFile(Arc::new(Opened {
            file,
            path: path.into(),
            for_writing: mode != OpenMode::Read,
        })))
    }

    fn metadata(&self, path: &Path) -> Result<Metadata, DiskError> {
        fs::metadata(path)
            .and_then(|metadata| read_metadata(&metadata))
            .map_err(failed(DiskOperation::Metadata, path))
    }

    fn create_dir_all(&self, path: &Path) -> Result<(), DiskError> {
        fs::create_dir_all(path).map_err(failed(DiskOperation::CreateDir, path))
    }

    fn list(&self, path: &Path) -> Result<Vec<Entry>, DiskError> {
        let list = || {
            let mut entries = Vec::new();
            for entry in fs::read_dir(path)? {
                let entry = entry?;
                let kind = match entry.file_type()? {
                    link if link.is_symlink() => {
                        // A link that leads nowhere is still a name in the directory.
                        fs::metadata(entry.path())
                            .map_or(FileKind::Other, |it| kind_of(it.file_type()))
                    }
                    plain => kind_of(plain),
                };
                entries.push(Entry {
                    name: entry.file_name(),
                    kind,
                });
            }
            entries.sort_unstable_by(|a, b| a.name.cmp(&b.name));
            Ok(entries)
        };
        list().map_err(failed(DiskOperation::List, path))
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<(), DiskError> {
        fs::rename(from, to).map_err(|source| {
            DiskError::new(DiskOperation::Rename, from, source).with_destination(to)
        })
    }

    fn remove_file(&self, path: &Path) -> Result<(), DiskError> {
        fs::remove_file(path).map_err(failed(DiskOperation::RemoveFile, path))
    }

    fn remove_dir(&self, path: &Path) -> Result<(), DiskError> {
        fs::remove_dir(path).map_err(failed(DiskOperation::RemoveDir, path))
    }

    fn sync_dir(&self, path: &Path) -> Result<(), DiskError> {
        let sync = || {
            let directory = File::open(path)?;
            if !directory.metadata()?.is_dir() {
                return Err(Errno::NOTDIR.into());
            }
            directory.sync_all()
        };
        sync().map_err(failed(DiskOperation::SyncDir, path))
    }

    /// Takes two locks: `flock`, which also tells holders within this process apart, and a POSIX
    /// record lock on the whole file, which is what a Java process would take and see.
    ///
    /// The record lock has the well-known flaw that it goes when the process closes *any*
    /// descriptor of the file: a second attempt within this process fails as it should, and from
    /// then on `flock` alone guards.
    fn try_lock(&self, path: &Path) -> Result<RealLock, DiskError> {
        let lock = || {
            let file = open(path, OpenMode::OpenOrCreate)?;
            file.try_lock()?;
            match rustix::fs::fcntl_lock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => Ok(RealLock { _file: file }),
                // Both mean that somebody else has it.
                Err(Errno::AGAIN | Errno::ACCESS) => Err(Errno::AGAIN.into()),
                Err(errno) => Err(errno.into()),
            }
        };
        lock().map_err(failed(DiskOperation::Lock, path))
    }

    fn resolve(&self, path: &Path) -> Result<PathBuf, DiskError> {
        let resolve = || {
            let path = path::absolute(path)?;
            for ancestor in path.ancestors() {
                match fs::canonicalize(ancestor) {
                    Ok(mut found) => {
                        let rest = path.strip_prefix(ancestor);
                        let rest = rest.expect("a path begins with its ancestors");
                        // Where nothing is, there are no links either.
                        for component in rest.components() {
                            match component {
                                Component::ParentDir => _ = found.pop(),
                                part => found.push(part),
                            }
                        }
                        return Ok(found);
                    }
                    Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                    Err(error) => return Err(error),
                }
            }
            Ok(path)
        };
        resolve().map_err(failed(DiskOperation::Metadata, path))
    }

    fn space(&self, path: &Path) -> Result<Space, DiskError> {
        let stat = rustix::fs::statvfs(path)
            .map_err(|errno| DiskError::new(DiskOperation::Space, path, errno.into()))?;
        Ok(Space {
            total_bytes: stat.f_blocks.saturating_mul(stat.f_frsize),
            available_bytes: stat.f_bavail.saturating_mul(stat.f_frsize),
        })
    }
}

impl RealFile {
    fn file(&self) -> &File {
        &self.0.file
    }

    fn failed(&self, operation: DiskOperation) -> impl FnOnce(io::Error) -> DiskError {
        failed(operation, &self.0.path)
    }
}

impl DiskFile for RealFile {
    fn path(&self) -> &Path {
        &self.0.path
    }

    fn read_at(&self, buffer: &mut [u8], position: u64) -> Result<usize, DiskError> {
        let mut read = 0;
        while read < buffer.len() {
            match self
                .file()
                .read_at(&mut buffer[read..], position + read as u64)
            {
                Ok(0) => break,
                Ok(count) => read += count,
                Err(source) if source.kind() == io::ErrorKind::Interrupted => {}
                Err(source) => return Err(self.failed(DiskOperation::Read)(source)),
            }
        }
        Ok(read)
    }

    /// Moves the cursor of the open file, which nobody reads by.
    fn next_written(&self, position: u64) -> Result<Option<u64>, DiskError> {
        // What was reserved counts as written once it is in the page cache, and reading ahead puts it
        // there. Where nobody takes the advice, more is read than must be.
        _ = rustix::fs::fadvise(self.file(), 0, None, Advice::Random);
        match rustix::fs::seek(self.file(), SeekFrom::Data(position)) {
            Ok(found) => Ok(Some(found)),
            Err(Errno::NXIO) => Ok(None),
            Err(Errno::INVAL | Errno::OPNOTSUPP) => Ok(Some(position)),
            Err(errno) => Err(self.failed(DiskOperation::Read)(errno.into())),
        }
    }

    fn write_all_at(&self, bytes: &[u8], position: u64) -> Result<(), DiskError> {
        self.file()
            .write_all_at(bytes, position)
            .map_err(self.failed(DiskOperation::Write))
    }

    fn write_all_vectored_at(
        &self,
        pieces: &[IoSlice<'_>],
        position: u64,
    ) -> Result<(), DiskError> {
        write_all_vectored(
            pieces,
            position,
            |pieces, position| loop {
                match rustix::io::pwritev(self.file(), pieces, position) {
                    Err(Errno::INTR) => {}
                    written => return Ok(written?),
                }
            },
            |bytes, position| self.file().write_all_at(bytes, position),
        )
        .map_err(self.failed(DiskOperation::Write))
    }

    fn metadata(&self) -> Result<Metadata, DiskError> {
        self.file()
            .metadata()
            .and_then(|metadata| read_metadata(&metadata))
            .map_err(self.failed(DiskOperation::Metadata))
    }

    fn set_len(&self, len: u64) -> Result<(), DiskError> {
        if !self.0.for_writing {
            // The operating system would call it an invalid argument.
            return Err(self.failed(DiskOperation::SetLen)(Errno::BADF.into()));
        }
        self.file()
            .set_len(len)
            .map_err(self.failed(DiskOperation::SetLen))
    }

    fn allocate(&self, len: u64) -> Result<Allocated, DiskError> {
        if len == 0 {
            // The system call refuses an empty range.
            return Ok(Allocated::Reserved);
        }
        let extend = || {
            if self.file().metadata()?.len() < len {
                self.file().set_len(len)?;
            }
            Ok(Allocated::Extended)
        };
        loop {
            match rustix::fs::fallocate(self.file(), FallocateFlags::empty(), 0, len) {
                Ok(()) => return Ok(Allocated::Reserved),
                Err(Errno::INTR) => {}
                Err(Errno::OPNOTSUPP | Errno::NOSYS) => {
                    return extend().map_err(self.failed(DiskOperation::Allocate));
                }
                Err(errno) => return Err(self.failed(DiskOperation::Allocate)(errno.into())),
            }
        }
    }

    fn sync_data(&self) -> Result<(), DiskError> {
        self.file()
            .sync_data()
            .map_err(self.failed(DiskOperation::Sync))
    }

    fn sync_all(&self) -> Result<(), DiskError> {
        self.file()
            .sync_all()
            .map_err(self.failed(DiskOperation::Sync))
    }

    fn set_modified_ms(&self, unix_ms: i64) -> Result<(), DiskError> {
        let distance = Duration::from_millis(unix_ms.unsigned_abs());
        let time = if unix_ms < 0 {
            UNIX_EPOCH.checked_sub(distance)
        } else {
            UNIX_EPOCH.checked_add(distance)
        };
        time.ok_or_else(|| io::ErrorKind::InvalidInput.into())
            .and_then(|time| self.file().set_modified(time))
            .map_err(self.failed(DiskOperation::SetModified))
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        Some(self.file().as_fd())
    }

    fn read_bytes_at(&self, position: u64, len: usize) -> Result<Bytes, DiskError> {
        // Read into memory that nobody has cleared first.
        let mut bytes = Vec::with_capacity(len);
        while bytes.len() < len {
            let from = position + bytes.len() as u64;
            match rustix::io::pread(self.file(), spare_capacity(&mut bytes), from) {
                Ok(0) => break,
                Ok(_) | Err(Errno::INTR) => {}
                Err(errno) => return Err(self.failed(DiskOperation::Read)(errno.into())),
            }
        }
        // The allocator may have given more than was asked for.
        bytes.truncate(len);
        Ok(Bytes::from(bytes))
    }
}

fn failed(operation: DiskOperation, path: &Path) -> impl FnOnce(io::Error) -> DiskError {
    move |source| DiskError::new(operation, path, source)
}

fn kind_of(file_type: fs::FileType) -> FileKind {
    if file_type.is_file() {
        FileKind::File
    } else if file_type.is_dir() {
        FileKind::Directory
    } else {
        FileKind::Other
    }
}

fn read_metadata(metadata: &fs::Metadata) -> io::Result<Metadata> {
    Ok(Metadata {
        kind: kind_of(metadata.file_type()),
        len: metadata.len(),
        modified_ms: unix_ms_of(metadata.modified()?),
    })
}

/// Writes all pieces, whatever each call of `write` takes: a call may stop anywhere and may look
/// at the first pieces only (the operating system takes 1024 at most). A piece that was written
/// in part is finished by `write_rest`, so that the pieces need not be copied to be cut.
fn write_all_vectored(
    mut pieces: &[IoSlice<'_>],
    mut position: u64,
    mut write: impl FnMut(&[IoSlice<'_>], u64) -> io::Result<usize>,
    mut write_rest: impl FnMut(&[u8], u64) -> io::Result<()>,
) -> io::Result<()> {
    loop {
        while pieces.first().is_some_and(|piece| piece.is_empty()) {
            pieces = &pieces[1..];
        }
        if pieces.is_empty() {
            return Ok(());
        }
        let mut written = write(pieces, position)?;
        if written == 0 {
            return Err(io::ErrorKind::WriteZero.into());
        }
        position += written as u64;
        while let Some((piece, later)) = pieces.split_first() {
            if written < piece.len() {
                if written > 0 {
                    let rest = &piece[written..];
                    write_rest(rest, position)?;
                    position += rest.len() as u64;
                    pieces = later;
                }
                break;
            }
            written -= piece.len();
            pieces = later;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader};
    use std::process::{Command, Stdio};

    use proptest::prelude::*;

    use super::*;
    use crate::DiskErrorKind;
    use crate::testing::check_disk;

    #[test]
    fn conforms() {
        let root = tempfile::tempdir().unwrap();
        check_disk(&RealDisk, root.path());
    }

    /// Set in the process that [`a_killed_process_leaves_its_lock`] starts.
    const LOCK_TO_HOLD: &str = "KLAMM_IO_TEST_LOCK_TO_HOLD";

    #[test]
    fn a_killed_process_leaves_its_lock() {
        if let Some(path) = std::env::var_os(LOCK_TO_HOLD) {
            let _lock = RealDisk.try_lock(Path::new(&path)).unwrap();
            println!("\nheld");
            loop {
                std::thread::park();
            }
        }
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join(".lock");
        let mut holder = Command::new(std::env::current_exe().unwrap())
            .args([
                "--exact",
                "real_disk::tests::a_killed_process_leaves_its_lock",
            ])
            .arg("--nocapture")
            .env(LOCK_TO_HOLD, &path)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(holder.stdout.take().unwrap()).lines();
        assert!(lines.any(|line| line.unwrap() == "held"));

        let refused = RealDisk.try_lock(&path).unwrap_err();
        assert_eq!(refused.kind(), DiskErrorKind::Locked);
        // The record lock alone, as a Java process would ask for it.
        let file = File::options().write(true).open(&path).unwrap();
        let record_lock = FlockOperation::NonBlockingLockExclusive;
        let refused = rustix::fs::fcntl_lock(&file, record_lock).unwrap_err();
        assert!(matches!(refused, Errno::AGAIN | Errno::ACCESS));

        holder.kill().unwrap();
        holder.wait().unwrap();
        RealDisk.try_lock(&path).unwrap();
    }

    #[test]
    fn a_full_device_is_told_from_a_failed_one() {
        let full = RealDisk
            .open(Path::new("/dev/full"), OpenMode::ReadWrite)
            .unwrap();
        let error = full.write_all_at(b"x", 0).unwrap_err();
        assert_eq!(error.kind(), DiskErrorKind::Full);
        assert_eq!(
            error.to_string(),
            "cannot write `/dev/full`",
            "the cause is in the source"
        );
        assert_eq!(error.io_error().raw_os_error(), Some(28));
        let pieces = [IoSlice::new(b"x")];
        let error = full.write_all_vectored_at(&pieces, 0).unwrap_err();
        assert_eq!(error.kind(), DiskErrorKind::Full);
    }

    #[test]
    fn a_link_counts_as_what_it_leads_to() {
        let root = tempfile::tempdir().unwrap();
        let [directory, link, dangling] = ["d", "link", "dangling"].map(|it| root.path().join(it));
        fs::create_dir(&directory).unwrap();
        std::os::unix::fs::symlink(&directory, &link).unwrap();
        std::os::unix::fs::symlink(root.path().join("missing"), &dangling).unwrap();
        let kinds: Vec<FileKind> = RealDisk
            .list(root.path())
            .unwrap()
            .into_iter()
            .map(|entry| entry.kind)
            .collect();
        let expected = [FileKind::Directory, FileKind::Other, FileKind::Directory];
        assert_eq!(kinds, expected);
    }

    #[test]
    fn a_directory_has_one_name_however_it_is_reached() {
        let root = tempfile::tempdir().unwrap();
        let path = |name: &str| root.path().join(name);
        fs::create_dir_all(path("d/below")).unwrap();
        std::os::unix::fs::symlink("d", path("link")).unwrap();
        let resolve = |name: &str| RealDisk.resolve(&path(name)).unwrap();
        for (one, other) in [
            ("d", "link"),
            ("d", "d/below/.."),
            ("d/new/x", "link/./new/x"),
            ("d/new", "link/new/../new"),
        ] {
            assert_eq!(resolve(one), resolve(other));
        }
        assert_ne!(resolve("d"), resolve("d/below"));
        assert_ne!(resolve("new"), resolve("newer"));
        let here = RealDisk.resolve(Path::new("src")).unwrap();
        assert!(here.is_absolute());
        assert_eq!(here, RealDisk.resolve(Path::new("./src")).unwrap());
    }

    proptest! {
        /// Whatever part of the pieces each call takes, all bytes arrive where they belong.
        #[test]
        fn partial_vectored_writes_are_finished(
            pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..6), 0..12),
            takes in prop::collection::vec(1usize..9, 1..40),
            position in 0u64..5,
        ) {
            let slices: Vec<IoSlice<'_>> = pieces.iter().map(|it| IoSlice::new(it)).collect();
            let written = std::cell::RefCell::new(Vec::new());
            let put = |byte: &u8| written.borrow_mut().push(*byte);
            let expect_at = |at: u64| assert_eq!(at, position + written.borrow().len() as u64);
            let mut takes = takes.iter().cycle();
            write_all_vectored(
                &slices,
                position,
                |slices, at| {
                    expect_at(at);
                    let all = slices.iter().flat_map(|it| it.iter());
                    let take = *takes.next().unwrap();
                    let before = written.borrow().len();
                    all.take(take).for_each(put);
                    Ok(written.borrow().len() - before)
                },
                |rest, at| {
                    expect_at(at);
                    rest.iter().for_each(put);
                    Ok(())
                },
            )
            .unwrap();
            prop_assert_eq!(written.into_inner(), pieces.concat());
        }
    }

    #[test]
    fn a_device_that_takes_nothing_is_an_error() {
        let slices = [IoSlice::new(b"abc")];
        let nothing = |_: &[IoSlice<'_>], _| Ok(0);
        let error = write_all_vectored(&slices, 0, nothing, |_, _| Ok(())).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::WriteZero);
    }
}
