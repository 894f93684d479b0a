//! The leader epochs of a log that is opened: from their list, or from the batches if that is
//! damaged.

use klamm_io::Disk;
use tracing::warn;

use super::{OpenError, Opener, Segments};
use crate::disk_failure::DiskFailure as _;
use crate::leader_epochs::LeaderEpochs;
use crate::scan::{Scan, ScanError};
use crate::segment::SegmentError;
use crate::small_file::SmallFileError;

impl<D: Disk> Opener<D> {
    /// The leader epochs, as they are on disk, if that makes sense, and as they are to go on with. Every
    /// batch has its own, so a damaged list is made anew: it lacks epochs without a record, of which
    /// nobody asks. Where no list is kept, none is known but of what recovery reads.
    pub(super) fn epochs(
        &self,
        segments: &Segments<D>,
    ) -> Result<(Option<LeaderEpochs>, LeaderEpochs), OpenError> {
        if !self.config.keeps_leader_epochs {
            return Ok((None, LeaderEpochs::default()));
        }
        match LeaderEpochs::read(&self.disk, &self.directory) {
            Ok(read) => Ok((Some(read.clone()), read)),
            Err(error @ SmallFileError::Damaged { .. }) => {
                warn!(%error, "making the list of leader epochs anew from the batches");
                Ok((None, epochs_of(segments)?))
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Writes the leader epochs, unless they are on disk or no list is kept. Says whether there was
    /// room for it; they go to the disk with the next record otherwise.
    pub(super) fn write(
        &self,
        on_disk: Option<&LeaderEpochs>,
        epochs: &LeaderEpochs,
    ) -> Result<bool, OpenError> {
        if !self.config.keeps_leader_epochs || on_disk == Some(epochs) {
            return Ok(true);
        }
        match epochs.write(&self.disk, &self.directory) {
            Ok(()) => Ok(true),
            Err(error) if error.may_pass() => {
                warn!(%error, "the list of leader epochs is not written yet");
                Ok(false)
            }
            Err(error) => Err(error.into()),
        }
    }
}

/// The leader epochs of all batches, as far as they can be read.
fn epochs_of<D: Disk>(segments: &Segments<D>) -> Result<LeaderEpochs, SegmentError> {
    let mut epochs = LeaderEpochs::default();
    for segment in segments.values() {
        let file = segment.open_anew()?;
        let mut scan = Scan::new(file, 0, segment.size());
        loop {
            match scan.next() {
                Ok(Some(batch)) => {
                    let epoch = batch.header.map(|it| it.leader_epoch);
                    let latest = epochs.latest().map(|it| it.epoch);
                    if let Some(epoch) = epoch.filter(|it| latest.is_none_or(|latest| latest < *it))
                    {
                        epochs.assign(epoch, batch.base_offset);
                    }
                }
                Ok(None) | Err(ScanError::Damaged { .. }) => break,
                Err(error) => return Err(error.into()),
            }
        }
    }
    Ok(epochs)
}
