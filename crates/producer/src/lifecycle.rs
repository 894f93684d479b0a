//! [`Lifecycle`]: whether the producer is open, closing, or failed, as all its sides see it.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::watch;

use crate::error::Failure;

/// How far a producer is on its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Phase {
    /// Records are taken.
    Open,
    /// No records are taken any more; what is there is sent.
    Closing,
    /// What is there fails.
    Forced,
    /// Nothing is left.
    Ended,
}

/// Shared by the producer's handles and its sender.
#[derive(Debug)]
pub(crate) struct Lifecycle {
    phase: watch::Sender<Phase>,
    /// Whether the phase is [`Phase::Open`], for whoever asks for each record: the channel takes
    /// a lock.
    open: AtomicBool,
    fatal: OnceLock<Failure>,
}

impl Lifecycle {
    pub(crate) fn new() -> Self {
        Self {
            phase: watch::Sender::new(Phase::Open),
            open: AtomicBool::new(true),
            fatal: OnceLock::new(),
        }
    }

    pub(crate) fn phase(&self) -> Phase {
        *self.phase.borrow()
    }

    /// Whether records are taken.
    #[inline]
    pub(crate) fn is_open(&self) -> bool {
        self.open.load(Ordering::Acquire)
    }

    /// Goes on to a phase; never back.
    pub(crate) fn advance(&self, phase: Phase) {
        if phase > Phase::Open {
            self.open.store(false, Ordering::Release);
        }
        self.phase.send_if_modified(|current| {
            let is_later = phase > *current;
            if is_later {
                *current = phase;
            }
            is_later
        });
    }

    /// Waits until the producer is at a phase or beyond. May be dropped.
    pub(crate) async fn reached(&self, phase: Phase) {
        let mut phases = self.phase.subscribe();
        // The sender of the phases is here, so that it does not end before.
        let _ = phases.wait_for(|current| *current >= phase).await;
    }

    /// The reason for which the producer can only be closed.
    pub(crate) fn fatal(&self) -> Option<&Failure> {
        self.fatal.get()
    }

    /// Fails for good. The first reason counts.
    pub(crate) fn fail(&self, failure: Failure) {
        let _ = self.fatal.set(failure);
    }
}
