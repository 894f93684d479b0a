//! [`SyncQueue`]: the partitions of one directory that wait for a sync.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use klamm_io::Disk;
use klamm_primitives::TopicPartition;
use parking_lot::{Condvar, Mutex};

use crate::partition_log::PartitionLog;

/// The partitions of one directory that wait for a sync, each once: it never holds more than
/// there are. One that is asked for while it is being synced waits again after that, so that no
/// log is synced twice at a time; for the system tells a failure to one of two only.
pub(crate) struct SyncQueue<D: Disk> {
    /// Held for a push or a pop; nothing else is locked under it but a log's turn.
    state: Mutex<State<D>>,
    wake: Condvar,
}

struct State<D: Disk> {
    waiting: VecDeque<Arc<PartitionLog<D>>>,
    /// Those whose sync could not be done for want of something, until it is asked for again.
    put_off: HashMap<TopicPartition, Arc<PartitionLog<D>>>,
    admission: Admission,
    /// Threads that wait for something to do.
    idle_threads: usize,
}

/// A log to sync, and whether others wait while no thread is free for them.
pub(crate) struct Turn<D: Disk> {
    pub(crate) log: Arc<PartitionLog<D>>,
    pub(crate) needs_help: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Admission {
    Open,
    /// Nothing new is taken; what was asked for is still done.
    Closed,
    /// Nothing is done any more.
    Abandoned,
}

/// Where a log stands with its queue. Changed under the queue's lock alone.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum SyncTurn {
    #[default]
    Idle,
    Waiting,
    Syncing,
    /// Being synced, and asked for again meanwhile.
    SyncingAndAsked,
}

impl<D: Disk> SyncQueue<D> {
    pub(crate) fn new() -> Self {
        let state = State {
            waiting: VecDeque::new(),
            put_off: HashMap::new(),
            admission: Admission::Open,
            idle_threads: 0,
        };
        Self {
            state: Mutex::new(state),
            wake: Condvar::new(),
        }
    }

    /// Adds a partition, unless it waits already or the queue is closed.
    pub(crate) fn push(&self, log: &Arc<PartitionLog<D>>) {
        let mut state = self.state.lock();
        if state.admission != Admission::Open {
            return;
        }
        let mut turn = log.sync_turn.lock();
        match *turn {
            SyncTurn::Idle => {
                *turn = SyncTurn::Waiting;
                state.waiting.push_back(log.clone());
                self.wake.notify_one();
            }
            SyncTurn::Syncing => *turn = SyncTurn::SyncingAndAsked,
            SyncTurn::Waiting | SyncTurn::SyncingAndAsked => {}
        }
    }

    /// The one that waits longest, to be synced now and then given to [`SyncQueue::done`].
    pub(crate) fn pop(&self) -> Option<Arc<PartitionLog<D>>> {
        self.state.lock().pop()
    }

    /// As [`SyncQueue::pop`], but waits until there is one; `None` if the queue is closed.
    pub(crate) fn wait(&self) -> Option<Turn<D>> {
        let mut state = self.state.lock();
        while state.waiting.is_empty() {
            if state.admission != Admission::Open {
                return None;
            }
            state.idle_threads += 1;
            self.wake.wait(&mut state);
            state.idle_threads -= 1;
        }
        let log = state.pop()?;
        let needs_help = state.idle_threads < state.waiting.len();
        Some(Turn { log, needs_help })
    }

    /// A log has been synced; if it was asked for meanwhile, it waits again.
    pub(crate) fn done(&self, log: &Arc<PartitionLog<D>>) {
        let mut state = self.state.lock();
        let mut turn = log.sync_turn.lock();
        let is_asked_for = *turn == SyncTurn::SyncingAndAsked;
        *turn = SyncTurn::Idle;
        if is_asked_for && state.admission != Admission::Abandoned {
            *turn = SyncTurn::Waiting;
            state.waiting.push_back(log.clone());
            self.wake.notify_one();
        }
    }

    /// Keeps a log whose sync could not be done now. Not to wait in the queue: a thread that found
    /// no descriptor would find none again at once.
    pub(crate) fn put_off(&self, log: &Arc<PartitionLog<D>>) {
        let mut state = self.state.lock();
        if state.admission != Admission::Abandoned {
            state.put_off.insert(log.partition().clone(), log.clone());
        }
    }

    /// Adds those that were put off.
    pub(crate) fn push_put_off(&self) {
        let put_off = std::mem::take(&mut self.state.lock().put_off);
        for log in put_off.values() {
            self.push(log);
        }
    }

    /// Takes no more. What waits can still be popped.
    pub(crate) fn close(&self) {
        let mut state = self.state.lock();
        if state.admission == Admission::Open {
            state.admission = Admission::Closed;
        }
        self.wake.notify_all();
    }

    /// Forgets what waits, and takes no more.
    pub(crate) fn abandon(&self) {
        let mut state = self.state.lock();
        state.admission = Admission::Abandoned;
        state.waiting.clear();
        state.put_off.clear();
        self.wake.notify_all();
    }

    /// How many wait, those that were put off among them.
    pub(crate) fn len(&self) -> usize {
        let state = self.state.lock();
        state.waiting.len() + state.put_off.len()
    }
}

impl<D: Disk> State<D> {
    fn pop(&mut self) -> Option<Arc<PartitionLog<D>>> {
        let log = self.waiting.pop_front()?;
        // Somebody else has asked for it before those that were put off are asked for again.
        self.put_off.remove(log.partition());
        *log.sync_turn.lock() = SyncTurn::Syncing;
        Some(log)
    }
}
