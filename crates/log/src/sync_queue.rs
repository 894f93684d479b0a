//! [`SyncQueue`]: the partitions of one directory that wait for a sync.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use klamm_io::Disk;
use parking_lot::{Condvar, Mutex};

use crate::partition_log::PartitionLog;

/// The partitions of one directory that wait for a sync, each once: it never holds more than
/// there are.
pub(crate) struct SyncQueue<D: Disk> {
    /// Held for a push or a swap of lists; nothing else is locked under it.
    state: Mutex<State<D>>,
    wake: Condvar,
}

struct State<D: Disk> {
    waiting: Vec<Arc<PartitionLog<D>>>,
    is_closed: bool,
}

impl<D: Disk> SyncQueue<D> {
    pub(crate) fn new() -> Self {
        let state = State {
            waiting: Vec::new(),
            is_closed: false,
        };
        Self {
            state: Mutex::new(state),
            wake: Condvar::new(),
        }
    }

    /// Adds a partition, unless it waits already or the queue is closed.
    pub(crate) fn push(&self, log: &Arc<PartitionLog<D>>) {
        let mut state = self.state.lock();
        // The flag is read and written under the lock alone, which orders it.
        if state.is_closed || log.is_queued_for_sync.load(Ordering::Relaxed) {
            return;
        }
        log.is_queued_for_sync.store(true, Ordering::Relaxed);
        state.waiting.push(log.clone());
        if state.waiting.len() == 1 {
            self.wake.notify_one();
        }
    }

    /// Moves all that wait into `round`, which must be empty. From here on they can be asked for
    /// again, and whoever does so is in the round after.
    pub(crate) fn take(&self, round: &mut Vec<Arc<PartitionLog<D>>>) {
        Self::take_from(&mut self.state.lock(), round);
    }

    /// As [`SyncQueue::take`], but waits until there are some. Says whether there were: if not,
    /// the queue is closed.
    pub(crate) fn wait(&self, round: &mut Vec<Arc<PartitionLog<D>>>) -> bool {
        let mut state = self.state.lock();
        while state.waiting.is_empty() {
            if state.is_closed {
                return false;
            }
            self.wake.wait(&mut state);
        }
        Self::take_from(&mut state, round);
        true
    }

    fn take_from(state: &mut State<D>, round: &mut Vec<Arc<PartitionLog<D>>>) {
        debug_assert!(round.is_empty(), "the round before was done");
        std::mem::swap(&mut state.waiting, round);
        for log in round {
            log.is_queued_for_sync.store(false, Ordering::Relaxed);
        }
    }

    /// Takes no more. What waits can still be taken.
    pub(crate) fn close(&self) {
        self.state.lock().is_closed = true;
        self.wake.notify_all();
    }

    /// Forgets what waits, and takes no more.
    pub(crate) fn abandon(&self) {
        self.close();
        self.state.lock().waiting.clear();
    }

    /// How many wait.
    pub(crate) fn len(&self) -> usize {
        self.state.lock().waiting.len()
    }
}
