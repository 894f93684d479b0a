//! [`StateMachine`]: from committed entries to images, and to snapshots.

use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;
use klamm_io::Disk;
use openraft::storage::RaftStateMachine;
use openraft::{EntryPayload, RaftSnapshotBuilder};
use parking_lot::Mutex;
use tokio::sync::watch;

use super::snapshot::{self, Snapshot, SnapshotError};
use super::{
    Entry, LogId, SnapshotMeta, StorageError, StorageIoError, StoredMembership, Types, offset_of,
};
use crate::image::{ApplyError, MetadataImage};

/// What the committed entries have made. A clone, for a snapshot, stays as it is.
#[derive(Debug, Clone)]
pub(super) struct Applied {
    pub(super) last: Option<LogId>,
    pub(super) membership: StoredMembership,
    pub(super) image: Arc<MetadataImage>,
}

impl Applied {
    /// Nothing yet.
    pub(super) fn new(cluster_id: Arc<str>) -> Self {
        Self {
            last: None,
            membership: StoredMembership::default(),
            image: Arc::new(MetadataImage::new(cluster_id)),
        }
    }

    /// Adds an entry.
    pub(super) fn apply(&mut self, entry: &Entry) -> Result<(), ApplyError> {
        let offset = offset_of(entry.log_id.index);
        let records = match &entry.payload {
            EntryPayload::Normal(change) => change.records(),
            EntryPayload::Blank => &[],
            EntryPayload::Membership(membership) => {
                let set_by = Some(entry.log_id);
                self.membership = StoredMembership::new(set_by, membership.clone());
                &[]
            }
        };
        self.image = Arc::new(self.image.apply(records, offset)?);
        self.last = Some(entry.log_id);
        Ok(())
    }
}

impl From<Snapshot> for Applied {
    fn from(snapshot: Snapshot) -> Self {
        Self {
            last: Some(snapshot.last),
            membership: snapshot.membership,
            image: snapshot.image,
        }
    }
}

/// Owned by openraft's task for it; others see the images that it sends, and what it shows.
pub(super) struct StateMachine<D: Disk> {
    disk: D,
    directory: PathBuf,
    applied: Applied,
    shown: Arc<Shown>,
    images: watch::Sender<Arc<MetadataImage>>,
}

/// What whoever takes snapshots shares with the state machine. Each lock is held for a copy.
pub(super) struct Shown {
    applied: Mutex<Applied>,
    /// A snapshot that is on disk, and that openraft is to be told of.
    written: Mutex<Option<openraft::Snapshot<Types>>>,
}

impl Shown {
    /// What has been applied up to now.
    pub(super) fn applied(&self) -> Applied {
        self.applied.lock().clone()
    }
}

impl<D: Disk> StateMachine<D> {
    pub(super) fn new(disk: D, directory: PathBuf, applied: Applied) -> Self {
        Self {
            disk,
            directory,
            images: watch::Sender::new(applied.image.clone()),
            shown: Arc::new(Shown {
                applied: Mutex::new(applied.clone()),
                written: Mutex::new(None),
            }),
            applied,
        }
    }

    pub(super) fn shown(&self) -> Arc<Shown> {
        Arc::clone(&self.shown)
    }

    fn show(&self) {
        *self.shown.applied.lock() = self.applied.clone();
        self.images.send_replace(self.applied.image.clone());
    }

    /// The newest image, and each later one.
    pub(super) fn images(&self) -> watch::Receiver<Arc<MetadataImage>> {
        self.images.subscribe()
    }
}

impl<D: Disk> RaftStateMachine<Types> for StateMachine<D> {
    type SnapshotBuilder = SnapshotBuilder<D>;

    async fn applied_state(&mut self) -> Result<(Option<LogId>, StoredMembership), StorageError> {
        Ok((self.applied.last, self.applied.membership.clone()))
    }

    async fn apply<I>(&mut self, entries: I) -> Result<Vec<()>, StorageError>
    where
        I: IntoIterator<Item = Entry> + Send,
        I::IntoIter: Send,
    {
        let mut answers = Vec::new();
        for entry in entries {
            let applied = self.applied.apply(&entry);
            // A node that cannot follow the log must not go on as if it had. (CO-006)
            applied.map_err(|error| StorageIoError::apply(entry.log_id, &error))?;
            answers.push(());
        }
        self.show();
        Ok(answers)
    }

    async fn get_snapshot_builder(&mut self) -> SnapshotBuilder<D> {
        SnapshotBuilder {
            disk: self.disk.clone(),
            directory: self.directory.clone(),
            shown: self.shown.clone(),
        }
    }

    async fn begin_receiving_snapshot(&mut self) -> Result<Box<Bytes>, StorageError> {
        Ok(Box::new(Bytes::new()))
    }

    async fn install_snapshot(
        &mut self,
        meta: &SnapshotMeta,
        bytes: Box<Bytes>,
    ) -> Result<(), StorageError> {
        let refused =
            |error: SnapshotError| StorageIoError::write_snapshot(Some(meta.signature()), &error);
        let cluster_id = self.applied.image.cluster_id();
        let snapshot = Snapshot::decode(&bytes, cluster_id).map_err(refused)?;
        let (disk, directory) = (self.disk.clone(), self.directory.clone());
        write_blocking(disk, directory, *bytes)
            .await
            .map_err(refused)?;
        self.applied = snapshot.into();
        self.show();
        Ok(())
    }

    async fn get_current_snapshot(
        &mut self,
    ) -> Result<Option<openraft::Snapshot<Types>>, StorageError> {
        let refused = |error: SnapshotError| StorageIoError::read_snapshot(None, &error);
        let read = snapshot::read(&self.disk, &self.directory);
        let Some(bytes) = read.map_err(|error| refused(error.into()))? else {
            return Ok(None);
        };
        let cluster_id = self.applied.image.cluster_id();
        let snapshot = Snapshot::decode(&bytes, cluster_id).map_err(refused)?;
        Ok(Some(openraft::Snapshot {
            meta: snapshot.meta(),
            snapshot: Box::new(bytes),
        }))
    }
}

/// Hands openraft the snapshot that was written last.
///
/// openraft takes an error here for the end of the node. So nothing is written here that could as
/// well be written before, where a full disk only means that there is no snapshot.
pub(super) struct SnapshotBuilder<D: Disk> {
    disk: D,
    directory: PathBuf,
    shown: Arc<Shown>,
}

impl<D: Disk> RaftSnapshotBuilder<Types> for SnapshotBuilder<D> {
    async fn build_snapshot(&mut self) -> Result<openraft::Snapshot<Types>, StorageError> {
        let written = self.shown.written.lock().take();
        if let Some(written) = written {
            return Ok(written);
        }
        let (disk, directory) = (self.disk.clone(), self.directory.clone());
        let written = write_shown(disk, directory, &self.shown).await;
        written.map_err(|error| StorageIoError::write_snapshot(None, &error).into())
    }
}

/// Writes a snapshot of what has been applied up to now, while the state machine goes on, and
/// keeps it for openraft to ask for.
pub(super) async fn prepare_snapshot<D: Disk>(
    disk: D,
    directory: PathBuf,
    shown: &Shown,
) -> Result<(), SnapshotError> {
    let written = write_shown(disk, directory, shown).await?;
    *shown.written.lock() = Some(written);
    Ok(())
}

async fn write_shown<D: Disk>(
    disk: D,
    directory: PathBuf,
    shown: &Shown,
) -> Result<openraft::Snapshot<Types>, SnapshotError> {
    let applied = shown.applied();
    let snapshot = Snapshot {
        // Nobody asks for one before something was applied.
        last: applied.last.unwrap_or_default(),
        membership: applied.membership,
        image: applied.image,
    };
    let meta = snapshot.meta();
    let bytes = snapshot.encode()?;
    write_blocking(disk, directory, bytes.clone()).await?;
    Ok(openraft::Snapshot {
        meta,
        snapshot: Box::new(bytes),
    })
}

async fn write_blocking<D: Disk>(
    disk: D,
    directory: PathBuf,
    bytes: Bytes,
) -> Result<(), SnapshotError> {
    let write = move || snapshot::write(&disk, &directory, &bytes);
    match tokio::task::spawn_blocking(write).await {
        Ok(written) => Ok(written?),
        Err(_) => Err(SnapshotError::Stopped),
    }
}
