//! [`Chair`]: something that one thread at a time runs, and for which nobody waits.
//!
//! Its owner is a task, which is woken for what there is to do. Others run it meanwhile where it is
//! free. Who finds it taken leaves the rest to those who have it: the owner leaves a note, upon which
//! whoever lets go of it next wakes the owner; any other has the owner woken at once. So nothing that
//! is to be done stays undone, in whichever order their steps come.

use crate::sync::{AtomicBool, Mutex, Ordering, fence};

/// Something that one thread at a time runs.
pub(crate) struct Chair<T> {
    /// Held while it is run, and only ever tried, except to take it out in the end.
    seated: Mutex<Option<T>>,
    /// The owner has found it taken, and is to be woken.
    was_turned_away: AtomicBool,
}

impl<T> Chair<T> {
    pub(crate) fn new(seated: T) -> Self {
        Self {
            seated: Mutex::new(Some(seated)),
            was_turned_away: AtomicBool::new(false),
        }
    }

    /// For the owner: runs it, if nobody else does and it is there. Otherwise whoever runs it now
    /// finds, once it is free, that the owner [was turned away](Self::was_turned_away).
    pub(crate) fn run<R>(&self, mut act: impl FnMut(&mut T) -> R) -> Option<R> {
        // The second attempt is for somebody who was done before seeing the note.
        for _ in 0..2 {
            if let Some(ran) = self.try_run(&mut act) {
                return Some(ran);
            }
            self.was_turned_away.store(true, Ordering::Relaxed);
            // A try that fails orders nothing. Of this note and the lock that somebody lets go of,
            // one is seen by the other side.
            fence(Ordering::SeqCst);
        }
        None
    }

    /// For anybody else: runs it, if nobody else does and it is there. Where this is none the owner
    /// must be woken; and in any case if it was turned away, which is asked afterwards.
    pub(crate) fn try_run<R>(&self, act: impl FnOnce(&mut T) -> R) -> Option<R> {
        self.seated.try_lock()?.as_mut().map(act)
    }

    /// For who has tried to run it, once: whether the owner was turned away meanwhile, and is to be
    /// woken.
    pub(crate) fn was_turned_away(&self) -> bool {
        fence(Ordering::SeqCst);
        self.was_turned_away.swap(false, Ordering::Relaxed)
    }

    /// Takes it out, when whoever runs it is done.
    pub(crate) fn take(&self) -> Option<T> {
        self.seated.lock().take()
    }
}
