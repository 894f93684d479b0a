//! [`Compaction`]: the threads that compact.

use std::io;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use klamm_io::{Clock, Disk};

use crate::manager::{CompactionOutcome, LogManager, Now};
use crate::stop_signal::StopSignal;

/// How logs are compacted, under the names that brokers have for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CompactionOptions {
    /// `log.cleaner.threads`: so many logs are compacted at a time.
    pub threads: usize,
    /// `log.cleaner.dedupe.buffer.size`, and of that `log.cleaner.io.buffer.load.factor`: bytes
    /// for the keys of all passes that run, 24 a key. The threads share it, and a pass takes what
    /// it needs of its share.
    pub key_bytes: usize,
    /// `log.cleaner.backoff.ms`: how long a thread waits that has found nothing to do.
    pub backoff: Duration,
}

impl Default for CompactionOptions {
    /// Apache Kafka's defaults.
    fn default() -> Self {
        Self {
            threads: 1,
            key_bytes: (128 << 20) / 10 * 9,
            backoff: Duration::from_secs(15),
        }
    }
}

/// The threads that compact. Their owner must [stop](Compaction::stop) them; dropped without, they
/// go on.
#[must_use = "its threads are to be awaited"]
pub struct Compaction {
    stop: Arc<StopSignal>,
    threads: Vec<JoinHandle<()>>,
}

impl Compaction {
    /// Starts the threads. They ask `clock` for the time and wait by the machine's, so a simulated
    /// clock calls [`LogManager::compact_next`] itself instead.
    ///
    /// # Errors
    /// If a thread cannot be had; those that were started end.
    pub fn start<D: Disk, C: Clock + Clone>(
        manager: &Arc<LogManager<D>>,
        clock: &C,
        options: CompactionOptions,
    ) -> io::Result<Self> {
        let mut compaction = Self {
            stop: Arc::default(),
            threads: Vec::new(),
        };
        let count = options.threads.max(1);
        let key_bytes = options.key_bytes / count;
        for _ in 0..count {
            let builder = thread::Builder::new().name("klamm-log-compact".to_owned());
            let (manager, clock, stop) = (manager.clone(), clock.clone(), compaction.stop.clone());
            let backoff = options.backoff;
            match builder.spawn(move || work(&manager, &clock, &stop, key_bytes, backoff)) {
                Ok(thread) => compaction.threads.push(thread),
                Err(error) => {
                    compaction.stop();
                    return Err(error);
                }
            }
        }
        Ok(compaction)
    }

    /// Ends the threads, and returns when they have ended: those that wait at once, those that
    /// compact after the part they are at. What was not put in place is no loss.
    pub fn stop(self) {
        self.stop.ask();
        for thread in self.threads {
            if let Err(panic) = thread.join() {
                std::panic::resume_unwind(panic);
            }
        }
    }
}

fn work<D: Disk>(
    manager: &LogManager<D>,
    clock: &impl Clock,
    stop: &StopSignal,
    key_bytes: usize,
    backoff: Duration,
) {
    loop {
        let now = Now {
            instant: clock.now(),
            unix_ms: clock.unix_ms(),
        };
        let compacted = manager.compact_next(key_bytes, now, &|| stop.is_asked_for());
        let wait = match compacted.map(|it| it.outcome) {
            Some(CompactionOutcome::Done | CompactionOutcome::Stopped) => Duration::ZERO,
            // Of a failure that passes, such as a full disk, the next try is soon enough.
            Some(CompactionOutcome::Failed) => backoff,
            None => {
                manager.apply_retention_to_compacted(now);
                backoff
            }
        };
        if stop.wait_for(wait) {
            return;
        }
    }
}
