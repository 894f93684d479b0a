//! [`SimFile`] and [`SimLock`]: what is held open on a [`SimDisk`].

use std::io::IoSlice;
use std::path::Path;
use std::sync::Arc;

use rustix::io::Errno;

use super::tree::NodeId;
use super::{LEN_MAX, SimDisk, State};
use crate::disk::{Allocated, DiskFile, Metadata, OpenMode};
use crate::disk_error::{DiskError, DiskOperation};

/// An open file of a [`SimDisk`].
#[derive(Debug, Clone)]
pub struct SimFile(Arc<Opened>);

#[derive(Debug)]
struct Opened {
    disk: SimDisk,
    node: NodeId,
    path: Box<Path>,
    for_writing: bool,
}

impl SimFile {
    pub(super) fn new(disk: SimDisk, node: NodeId, path: &Path, mode: OpenMode) -> Self {
        Self(Arc::new(Opened {
            disk,
            node,
            path: path.into(),
            for_writing: mode != OpenMode::Read,
        }))
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        let mut state = self.disk.state.lock();
        state.open_files -= 1;
        if let Ok(file) = state.tree.file_mut(self.node) {
            file.open_count -= 1;
        }
    }
}

impl SimFile {
    fn call<T>(
        &self,
        operation: DiskOperation,
        perform: impl FnOnce(&mut State, NodeId) -> Result<T, Errno>,
    ) -> Result<T, DiskError> {
        let node = self.0.node;
        let perform = |state: &mut State| perform(state, node);
        self.0.disk.call(operation, &self.0.path, perform)
    }

    fn for_writing(&self) -> Result<(), Errno> {
        if self.0.for_writing {
            Ok(())
        } else {
            Err(Errno::BADF)
        }
    }

    fn sync(&self, with_modified: bool) -> Result<(), DiskError> {
        let node = self.0.node;
        self.0.disk.call_that_leaves_marks(
            DiskOperation::Sync,
            &self.0.path,
            |state| {
                state.tree.file_mut(node)?.content.sync(with_modified);
                Ok(())
            },
            |state, errno, _| {
                if let Ok(file) = state.tree.file_mut(node) {
                    file.content.fail_sync(&mut state.random);
                }
                errno
            },
        )
    }
}

impl DiskFile for SimFile {
    fn path(&self) -> &Path {
        &self.0.path
    }

    fn read_at(&self, buffer: &mut [u8], position: u64) -> Result<usize, DiskError> {
        self.call(DiskOperation::Read, |state, node| {
            let read = state.tree.file(node)?.content.read(buffer, position);
            state.bytes_read += read as u64;
            Ok(read)
        })
    }

    fn write_all_at(&self, bytes: &[u8], position: u64) -> Result<(), DiskError> {
        self.write_all_vectored_at(&[IoSlice::new(bytes)], position)
    }

    fn write_all_vectored_at(
        &self,
        pieces: &[IoSlice<'_>],
        position: u64,
    ) -> Result<(), DiskError> {
        let node = self.0.node;
        self.0.disk.call_that_leaves_marks(
            DiskOperation::Write,
            &self.0.path,
            |state| {
                self.for_writing()?;
                state.write(node, pieces, position, usize::MAX)
            },
            |state, errno, bytes_before| {
                let written = self
                    .for_writing()
                    .and_then(|()| state.write(node, pieces, position, bytes_before));
                written.err().unwrap_or(errno)
            },
        )
    }

    fn metadata(&self) -> Result<Metadata, DiskError> {
        self.call(DiskOperation::Metadata, |state, node| state.metadata(node))
    }

    fn set_len(&self, len: u64) -> Result<(), DiskError> {
        self.call(DiskOperation::SetLen, |state, node| {
            self.for_writing()?;
            if len > LEN_MAX {
                return Err(Errno::INVAL);
            }
            state.change(node, |content, _| {
                content.set_len(len);
                Ok(())
            })
        })
    }

    fn allocate(&self, len: u64) -> Result<Allocated, DiskError> {
        self.call(DiskOperation::Allocate, |state, node| {
            self.for_writing()?;
            if len > LEN_MAX {
                return Err(Errno::FBIG);
            }
            let can_reserve = !state.cannot_reserve;
            state.change(node, |content, free| {
                if !can_reserve {
                    content.set_len(len.max(content.len()));
                    Ok(Allocated::Extended)
                } else if content.allocate(len, free) {
                    Ok(Allocated::Reserved)
                } else {
                    Err(Errno::NOSPC)
                }
            })
        })
    }

    fn sync_data(&self) -> Result<(), DiskError> {
        self.sync(false)
    }

    fn sync_all(&self) -> Result<(), DiskError> {
        self.sync(true)
    }

    fn set_modified_ms(&self, unix_ms: i64) -> Result<(), DiskError> {
        self.call(DiskOperation::SetModified, |state, node| {
            state.tree.file_mut(node)?.content.modified_ms = unix_ms;
            Ok(())
        })
    }
}

/// A lock held on a [`SimDisk`].
#[derive(Debug)]
pub struct SimLock {
    disk: SimDisk,
    node: NodeId,
}

impl SimLock {
    pub(super) const fn new(disk: SimDisk, node: NodeId) -> Self {
        Self { disk, node }
    }
}

impl Drop for SimLock {
    fn drop(&mut self) {
        self.disk.state.lock().locked.remove(&self.node);
    }
}
