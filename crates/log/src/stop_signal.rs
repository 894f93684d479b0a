//! [`StopSignal`]: tells threads that they are to end, and wakes those that wait.

use std::time::Duration;

use parking_lot::{Condvar, Mutex};

/// Tells threads that they are to end. Once asked for, it stays so.
#[derive(Default)]
pub(crate) struct StopSignal {
    /// Held for a look or a wait; nothing else is locked under it.
    is_asked_for: Mutex<bool>,
    wake: Condvar,
}

impl StopSignal {
    /// Asks all to end.
    pub(crate) fn ask(&self) {
        *self.is_asked_for.lock() = true;
        self.wake.notify_all();
    }

    pub(crate) fn is_asked_for(&self) -> bool {
        *self.is_asked_for.lock()
    }

    /// Waits so long, or until all are asked to end. Says whether they are.
    pub(crate) fn wait_for(&self, duration: Duration) -> bool {
        let mut is_asked_for = self.is_asked_for.lock();
        if !*is_asked_for && !duration.is_zero() {
            self.wake.wait_for(&mut is_asked_for, duration);
        }
        *is_asked_for
    }
}
