//! [`Complaints`]: how often the log may tell of what peers do wrong.

use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// The time over which complaints are counted.
const WINDOW: Duration = Duration::from_secs(1);

/// Complaints that are told within it; a peer that comes back at once with the same mistake would
/// fill the disk otherwise.
const TOLD_MAX: u32 = 10;

/// Counts complaints about all peers of a server.
#[derive(Debug, Default)]
pub(crate) struct Complaints {
    /// Held for a count only; nothing is logged under it.
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    window_began: Option<Instant>,
    told: u32,
    held_back: u64,
}

impl Complaints {
    /// Whether to tell of one more; if so, how many were not told of since the last.
    pub(crate) fn may_tell(&self, now: Instant) -> Option<u64> {
        let mut state = self.state.lock();
        let is_new = |began| now.saturating_duration_since(began) >= WINDOW;
        if state.window_began.is_none_or(is_new) {
            (state.window_began, state.told) = (Some(now), 0);
        }
        if state.told == TOLD_MAX {
            state.held_back += 1;
            return None;
        }
        state.told += 1;
        Some(std::mem::take(&mut state.held_back))
    }
}

#[cfg(test)]
mod tests {
    use klamm_io::Clock as _;
    use klamm_io::sim::SimClock;

    use super::*;

    /// Covers C029.
    #[test]
    fn what_is_held_back_is_counted_and_told_of_later() {
        let complaints = Complaints::default();
        let now = SimClock::new().now();
        let told = (0..1_000).filter(|_| complaints.may_tell(now).is_some());
        assert_eq!(told.count(), 10);
        assert_eq!(complaints.may_tell(now + WINDOW), Some(990));
        assert_eq!(complaints.may_tell(now + WINDOW), Some(0));
    }
}
