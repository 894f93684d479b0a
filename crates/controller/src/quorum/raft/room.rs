//! [`Room`]: whether the metadata log finds room on its disk, and what is done in the [`Reserve`] where
//! it finds none after all.

use std::path::PathBuf;

use klamm_io::{Disk, DiskError};
use klamm_log::{AppendError, FlushError, Log};
use klamm_primitives::LeaderEpoch;
use klamm_records::ValidBatch;
use parking_lot::Mutex;
use tracing::{info, warn};

use super::reserve::Reserve;

/// The room for a log.
///
/// Its lock is held for a look, or a call to the disk that syncs nothing; nothing else is locked
/// under it.
pub(super) struct Room<D: Disk> {
    /// That of the log, for people.
    directory: PathBuf,
    state: Mutex<State<D>>,
}

struct State<D: Disk> {
    reserve: Reserve<D>,
    /// Whether it was told that there is none.
    is_short: bool,
}

impl<D: Disk> Room<D> {
    pub(super) fn new(directory: PathBuf, reserve: Reserve<D>) -> Self {
        let is_short = false;
        Self {
            directory,
            state: Mutex::new(State { reserve, is_short }),
        }
    }

    /// Whether a change of this size finds its room; where it may have it, in the reserve. `None` if
    /// that takes a look that blocks.
    pub(super) fn has_room_for(&self, size: usize, may_use_reserve: bool) -> Option<bool> {
        let mut state = self.state.lock();
        let is_whole = state.reserve.is_whole();
        is_whole.then(|| self.look(&mut state, size, may_use_reserve))
    }

    /// The same after an attempt to make the reserve whole. Blocks.
    pub(super) fn has_room_now_for(&self, size: usize, may_use_reserve: bool) -> bool {
        let mut state = self.state.lock();
        state.reserve.refill();
        self.look(&mut state, size, may_use_reserve)
    }

    fn look(&self, state: &mut State<D>, size: usize, may_use_reserve: bool) -> bool {
        let has_room = state.reserve.has_room_for(size, may_use_reserve);
        let directory = self.directory.display();
        if !has_room && !state.is_short {
            warn!(%directory, size, "no room for the metadata log, refusing changes");
            state.is_short = true;
        } else if has_room && !may_use_reserve && state.is_short {
            info!(%directory, "there is room for the metadata log again");
            state.is_short = false;
        }
        has_room
    }

    /// Appends a batch, into the room of the reserve if need be.
    pub(super) fn append(
        &self,
        log: &mut Log<D>,
        batch: ValidBatch,
        term: LeaderEpoch,
        now_ms: i64,
    ) -> Result<(), AppendError> {
        let (size, batch) = (batch.size(), [batch]);
        loop {
            match log.append_own(&batch, term, now_ms) {
                Ok(_) => return Ok(()),
                Err(AppendError::NotWritten(error)) if self.is_relieved(&error, size) => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Syncs the log. One that has not failed by an error has not tried to sync.
    pub(super) fn flush(&self, log: &mut Log<D>) -> Result<(), FlushError> {
        loop {
            match log.flush() {
                Ok(()) => return Ok(()),
                Err(FlushError::Disk(error)) if !log.is_failed() && self.is_relieved(&error, 0) => {
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Has something done that changes nothing where it fails, in the room of the reserve if need
    /// be.
    pub(super) fn with_reserve<T>(
        &self,
        work: impl Fn() -> Result<T, DiskError>,
    ) -> Result<T, DiskError> {
        loop {
            match work() {
                Err(error) if self.is_relieved(&error, 0) => {}
                done => return done,
            }
        }
    }

    /// Whether the same may be tried again, with what the reserve has given back for it.
    fn is_relieved(&self, error: &DiskError, size: usize) -> bool {
        self.state.lock().reserve.relieve(error, size)
    }
}
