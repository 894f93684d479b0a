//! [`Refresh`]: when metadata is to be asked for again.

use std::time::{Duration, Instant};

use crate::backoff::{Backoff, FOREVER};
use crate::config::ClientConfig;

/// What a request on its way asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Asked {
    /// How many refreshes for new topics had been asked for when it was made.
    pub(super) partial_requests: u64,
    /// Whether it names new topics only.
    pub(super) is_partial: bool,
}

/// When a refresh is due: when asked for or by age, but not before the backoff is over.
#[derive(Debug)]
pub(super) struct Refresh {
    max_age: Duration,
    backoff: Backoff,
    random: fastrand::Rng,
    full_requested: bool,
    partial_requested: bool,
    partial_requests: u64,
    /// When the last full answer becomes too old; at first that is at once.
    expires_at: Instant,
    /// When the backoff is over, if there is one.
    not_before: Option<Instant>,
    /// Failures in a row.
    failures: u32,
    /// Answers in a row that brought nothing new. Without a backoff for these, too, a topic that
    /// stays without a leader would be asked for without a pause.
    repeats: u32,
}

impl Refresh {
    pub(super) fn new(config: &ClientConfig, seed: u64, now: Instant) -> Self {
        Self {
            max_age: config.metadata_max_age.min(FOREVER),
            backoff: Backoff::new(config.retry_backoff, config.retry_backoff_max),
            random: fastrand::Rng::with_seed(seed),
            full_requested: true,
            partial_requested: false,
            partial_requests: 0,
            expires_at: now,
            not_before: None,
            failures: 0,
            repeats: 0,
        }
    }

    /// Wants a full refresh.
    pub(super) fn request_full(&mut self) {
        self.full_requested = true;
    }

    /// Wants the new topics.
    pub(super) fn request_partial(&mut self) {
        self.partial_requested = true;
        self.partial_requests += 1;
    }

    /// There is a topic that was never asked for: it is wanted at once.
    pub(super) fn topic_added(&mut self) {
        self.request_partial();
        self.end_backoff();
    }

    /// Wants a full refresh, at once.
    pub(super) fn restart(&mut self) {
        self.full_requested = true;
        self.end_backoff();
    }

    fn end_backoff(&mut self) {
        (self.failures, self.repeats) = (0, 0);
        self.not_before = None;
    }

    pub(super) const fn is_requested(&self) -> bool {
        self.full_requested || self.partial_requested
    }

    /// When a refresh is due; `now` or earlier means at once.
    pub(super) fn due_at(&self, now: Instant) -> Instant {
        let wanted = if self.is_requested() {
            now
        } else {
            self.expires_at
        };
        self.not_before.map_or(wanted, |end| wanted.max(end))
    }

    /// What a request made now asks for.
    pub(super) fn ask(&self, now: Instant) -> Asked {
        let full = self.full_requested || now >= self.expires_at;
        Asked {
            partial_requests: self.partial_requests,
            is_partial: self.partial_requested && !full,
        }
    }

    /// An answer came. `news`: it said something that was not known; `some_wait`: there are topics
    /// that no answer has named yet.
    pub(super) fn succeeded(&mut self, asked: Asked, news: bool, some_wait: bool, now: Instant) {
        self.failures = 0;
        self.repeats = if news {
            0
        } else {
            self.repeats.saturating_add(1)
        };
        self.not_before = match self.repeats {
            0 => None,
            repeats => Some(now + self.backoff.after(repeats - 1, &mut self.random)),
        };
        self.partial_requested = some_wait;
        if !asked.is_partial {
            self.full_requested = false;
            self.expires_at = now + self.max_age;
        }
        // Topics that were added while the answer was on its way do not wait.
        if some_wait && self.partial_requests > asked.partial_requests {
            self.not_before = None;
        }
    }

    /// No answer came.
    pub(super) fn failed(&mut self, now: Instant) {
        self.not_before = Some(now + self.backoff.after(self.failures, &mut self.random));
        self.failures = self.failures.saturating_add(1);
    }
}
