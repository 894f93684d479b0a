//! [`Housekeeping`]: the thread that does what is due.

use std::io;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use klamm_io::{Clock, Disk};

use crate::manager::{LogManager, Now};
use crate::stop_signal::StopSignal;

/// The thread that calls [`LogManager::run_due`] in time. Its owner must
/// [stop](Housekeeping::stop) it; dropped without, it goes on.
#[must_use = "its thread is to be awaited"]
pub struct Housekeeping {
    stop: Arc<StopSignal>,
    thread: JoinHandle<()>,
}

impl Housekeeping {
    /// Starts the thread. It asks `clock` for the time and waits by the machine's, so a simulated
    /// clock calls [`LogManager::run_due`] itself instead.
    ///
    /// # Errors
    /// If the thread cannot be had.
    pub fn start<D: Disk, C: Clock>(manager: Arc<LogManager<D>>, clock: C) -> io::Result<Self> {
        let stop = Arc::new(StopSignal::default());
        let until = stop.clone();
        let builder = thread::Builder::new().name("klamm-log-keep".to_owned());
        let thread = builder.spawn(move || work(&manager, &clock, &until))?;
        Ok(Self { stop, thread })
    }

    /// Ends the thread, and returns when it has ended: at once if it waits, otherwise after what
    /// it is doing.
    pub fn stop(self) {
        self.stop.ask();
        if let Err(panic) = self.thread.join() {
            std::panic::resume_unwind(panic);
        }
    }
}

fn work<D: Disk>(manager: &LogManager<D>, clock: &impl Clock, stop: &StopSignal) {
    loop {
        let now = clock.now();
        let wait = manager.next_deadline().saturating_duration_since(now);
        if stop.wait_for(wait) {
            return;
        }
        manager.run_due(Now {
            instant: clock.now(),
            unix_ms: clock.unix_ms(),
        });
    }
}
