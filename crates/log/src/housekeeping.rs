//! [`Housekeeping`]: the thread that does what is due.

use std::io;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use klamm_io::{Clock, Disk};
use parking_lot::{Condvar, Mutex};

use crate::manager::{LogManager, Now};

/// The thread that calls [`LogManager::run_due`] in time. Its owner must
/// [stop](Housekeeping::stop) it; dropped without, it goes on.
#[must_use = "its thread is to be awaited"]
pub struct Housekeeping {
    stop: Arc<Stop>,
    thread: JoinHandle<()>,
}

#[derive(Default)]
struct Stop {
    /// Held for a look or a wait; nothing else is locked under it.
    is_asked_for: Mutex<bool>,
    wake: Condvar,
}

impl Housekeeping {
    /// Starts the thread. It asks `clock` for the time and waits by the machine's, so a simulated
    /// clock calls [`LogManager::run_due`] itself instead.
    ///
    /// # Errors
    /// If the thread cannot be had.
    pub fn start<D: Disk, C: Clock>(manager: Arc<LogManager<D>>, clock: C) -> io::Result<Self> {
        let stop = Arc::new(Stop::default());
        let until = stop.clone();
        let builder = thread::Builder::new().name("klamm-log-keep".to_owned());
        let thread = builder.spawn(move || work(&manager, &clock, &until))?;
        Ok(Self { stop, thread })
    }

    /// Ends the thread, and returns when it has ended: at once if it waits, otherwise after what
    /// it is doing.
    pub fn stop(self) {
        *self.stop.is_asked_for.lock() = true;
        self.stop.wake.notify_all();
        if let Err(panic) = self.thread.join() {
            std::panic::resume_unwind(panic);
        }
    }
}

fn work<D: Disk>(manager: &LogManager<D>, clock: &impl Clock, stop: &Stop) {
    let mut is_asked_for = stop.is_asked_for.lock();
    while !*is_asked_for {
        let now = clock.now();
        let wait = manager.next_deadline().saturating_duration_since(now);
        if !wait.is_zero() {
            stop.wake.wait_for(&mut is_asked_for, wait);
            continue;
        }
        drop(is_asked_for);
        manager.run_due(Now {
            instant: now,
            unix_ms: clock.unix_ms(),
        });
        is_asked_for = stop.is_asked_for.lock();
    }
}
