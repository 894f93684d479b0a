//! SIGTERM and SIGINT: the first asks for a clean stop, a later one does not wait for it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use klamm_io::{Clock, SystemClock};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc;
use tracing::info;

use crate::arguments::LogFormat;
use crate::logging;

/// A signal so soon after the first says the same once more: shells, `timeout` and scripts send one
/// to a process and one to its group.
const SAME: Duration = Duration::from_secs(1);

/// What has been asked for by signals, since [`attend`].
pub(crate) struct Asked {
    has_started: Arc<AtomicBool>,
    first: mpsc::Receiver<&'static str>,
}

impl Asked {
    /// From now on a signal is left to whoever waits for it; before, it ended the process.
    pub(crate) fn has_started(&self) {
        self.has_started.store(true, Ordering::Release);
    }

    /// Waits for the first signal, and returns its name.
    pub(crate) async fn asked(&mut self) -> Option<&'static str> {
        self.first.recv().await
    }
}

/// Receives signals on a task of their own, as a start may block for long while it reads logs
/// through.
///
/// # Errors
/// Where signals cannot be received.
pub(crate) fn attend(log_format: LogFormat) -> Result<Asked> {
    let mut signals = Signals::new()?;
    let has_started = Arc::new(AtomicBool::new(false));
    let (ask, first) = mpsc::channel(1);
    let noted = Arc::clone(&has_started);
    tokio::spawn(async move {
        let name = signals.next().await;
        if !noted.load(Ordering::Acquire) {
            // What a start has done so far is found again by the next one.
            info!(signal = name, "stopped while starting");
            std::process::exit(0);
        }
        let asked_at = SystemClock.now();
        // It ends only with the process.
        _ = ask.send(name).await;
        let name = loop {
            let name = signals.next().await;
            if is_another(asked_at, SystemClock.now()) {
                break name;
            }
        };
        // Whoever asks again does not want to wait for a clean end.
        let why = format!(
            "{name} again while stopping, ending at once: the next start will read logs through"
        );
        logging::say_fatal(log_format, &why);
        std::process::exit(1);
    });
    Ok(Asked { has_started, first })
}

/// Whether a signal is more than the first one come twice.
fn is_another(first_at: Instant, now: Instant) -> bool {
    now.saturating_duration_since(first_at) >= SAME
}

/// The signals that ask a program to end.
struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    fn new() -> Result<Self> {
        let of = |kind| signal(kind).context("signals cannot be received");
        Ok(Self {
            terminate: of(SignalKind::terminate())?,
            interrupt: of(SignalKind::interrupt())?,
        })
    }

    /// Waits for the next one; returns its name.
    async fn next(&mut self) -> &'static str {
        tokio::select! {
            _ = self.terminate.recv() => "SIGTERM",
            _ = self.interrupt.recv() => "SIGINT",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_within_a_second_is_the_first_one_once_more() {
        let first = SystemClock.now();
        assert!(!is_another(first, first));
        assert!(!is_another(first, first + Duration::from_millis(999)));
        assert!(is_another(first, first + SAME));
    }
}
