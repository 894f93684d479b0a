//! Opening a file by its path, and what may stand there instead of one: links that lead nowhere,
//! directories, pipes, devices.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use rustix::fs::OFlags;
use rustix::io::Errno;

use crate::disk::OpenMode;

/// Opens a file for reading, and for writing where the mode says so. What stands there and is no file is
/// an error that says so, or a file that the first call on it refuses: nobody is waited for.
pub(super) fn open(path: &Path, mode: OpenMode) -> io::Result<File> {
    let mut options = File::options();
    options.read(true).write(mode != OpenMode::Read);
    // Means nothing to a file; a pipe that somebody has put in its place would be waited for.
    options.custom_flags(OFlags::NONBLOCK.bits().cast_signed());
    match mode {
        OpenMode::Read | OpenMode::ReadWrite => {}
        OpenMode::OpenOrCreate => {
            options.create(true);
        }
        OpenMode::CreateNew => {
            options.create_new(true);
        }
        OpenMode::CreateOrTruncate => {
            options.create(true).truncate(true);
        }
    }
    let file = options.open(path).map_err(|error| {
        let makes_file = !matches!(mode, OpenMode::Read | OpenMode::ReadWrite);
        match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::AlreadyExists
                if makes_file && is_dangling(path) =>
            {
                Errno::LOOP.into()
            }
            _ => error,
        }
    })?;
    if mode == OpenMode::Read && file.metadata()?.is_dir() {
        // For writing the operating system refuses by itself.
        return Err(Errno::ISDIR.into());
    }
    Ok(file)
}

/// Whether a link stands there that leads nowhere. To make a file is then refused as if its directory
/// were missing, or as if a file were there.
fn is_dangling(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|it| it.is_symlink()) && fs::metadata(path).is_err()
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;
    use crate::{Disk as _, DiskErrorKind, DiskFile as _, FileKind, RealDisk};

    /// Nobody writes to it, and nobody is waited for.
    #[test]
    fn a_pipe_in_the_place_of_a_file_reads_as_ended() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("pipe");
        let made = Command::new("mkfifo").arg(&path).status().unwrap();
        assert!(made.success());
        let pipe = RealDisk.open(&path, OpenMode::Read).unwrap();
        assert_eq!(pipe.metadata().unwrap().kind, FileKind::Other);
        assert!(pipe.read_exact_at(&mut [0; 1], 0).is_err());
    }

    /// It says of none of them that the disk has failed.
    #[test]
    fn what_is_no_file_is_told_from_a_disk_that_fails() {
        let root = tempfile::tempdir().unwrap();
        let path = |name: &str| root.path().join(name);
        let link = |name: &str, to: &Path| std::os::unix::fs::symlink(to, path(name)).unwrap();
        link("loop", Path::new("loop"));
        link("nowhere", &path("missing/file"));
        link("null", Path::new("/dev/null"));
        let made = Command::new("mkfifo").arg(path("pipe")).status().unwrap();
        assert!(made.success());
        let _socket = std::os::unix::net::UnixListener::bind(path("socket")).unwrap();
        for name in ["loop", "nowhere", "null", "pipe", "socket"] {
            let replaced = || {
                let file = RealDisk.open(&path(name), OpenMode::CreateOrTruncate)?;
                file.write_all_at(b"x", 0)?;
                file.sync_data()
            };
            assert_eq!(replaced().unwrap_err().kind(), DiskErrorKind::NotAFile);
        }
        for name in ["loop", "socket"] {
            let refused = RealDisk.open(&path(name), OpenMode::Read).unwrap_err();
            assert_eq!(refused.kind(), DiskErrorKind::NotAFile);
        }
        let refused = RealDisk.open(&path("nowhere"), OpenMode::CreateNew);
        assert_eq!(refused.unwrap_err().kind(), DiskErrorKind::NotAFile);
        let pipe = RealDisk.open(&path("pipe"), OpenMode::ReadWrite).unwrap();
        assert_eq!(
            pipe.read_bytes_at(0, 1).unwrap_err().kind(),
            DiskErrorKind::NotAFile
        );
        assert_eq!(pipe.set_len(1).unwrap_err().kind(), DiskErrorKind::NotAFile);
        assert_eq!(
            pipe.allocate(1).unwrap_err().kind(),
            DiskErrorKind::NotAFile
        );
        let null = RealDisk.open(&path("null"), OpenMode::ReadWrite).unwrap();
        assert_eq!(
            null.allocate(1).unwrap_err().kind(),
            DiskErrorKind::NotAFile
        );
        // A name that is not there is no such thing.
        let missing = RealDisk.open(&path("missing/file"), OpenMode::CreateNew);
        assert_eq!(missing.unwrap_err().kind(), DiskErrorKind::NotFound);
        let looped = RealDisk.list(&path("loop")).unwrap_err();
        assert_eq!(looped.kind(), DiskErrorKind::NotAFile);
    }
}
