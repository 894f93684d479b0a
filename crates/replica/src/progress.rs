//! [`Progress`]: what a leader knows of one follower.

use std::time::{Duration, Instant};

use klamm_log::Place;
use klamm_primitives::{BrokerEpoch, Offset};

/// How far a follower has come, from the fetches that it sends. (RE-046)
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Progress {
    /// What it asks for next, so all below it has. [`Offset::UNKNOWN`] before its first fetch.
    pub(crate) log_end: Offset,
    /// Where that offset is in the leader's log, to spare readers the search.
    place: Option<Place>,
    /// Its own log start offset.
    pub(crate) log_start: Offset,
    /// By which incarnation it fetched last.
    pub(crate) broker_epoch: BrokerEpoch,
    /// When it last had everything; `None` is never, since the leader was elected.
    caught_up_at: Option<Instant>,
    /// The last fetch, and where the leader's log ended then.
    last_fetch: Option<(Instant, Offset)>,
}

/// What one fetch tells.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fetched {
    /// The fetch offset, and where it is.
    pub(crate) place: Place,
    /// The follower's log start offset, if it says.
    pub(crate) log_start: Option<Offset>,
    /// The follower's epoch, if it says.
    pub(crate) broker_epoch: Option<BrokerEpoch>,
    /// Where the leader's log ends.
    pub(crate) leader_end: Offset,
}

impl Progress {
    /// Of a replica that has not fetched, and was in no ISR.
    pub(crate) const UNKNOWN: Self = Self {
        log_end: Offset::UNKNOWN,
        place: None,
        log_start: Offset::UNKNOWN,
        broker_epoch: BrokerEpoch::NONE,
        caught_up_at: None,
        last_fetch: None,
    };

    /// At the election of a leader. A member of the ISR counts as caught up from that moment on,
    /// any other as never. (RE-047)
    pub(crate) fn at_election(in_sync: bool, now: Instant) -> Self {
        Self {
            caught_up_at: in_sync.then_some(now),
            ..Self::UNKNOWN
        }
    }

    /// The same leader was elected again: what is known stays known. (RE-050)
    #[must_use]
    pub(crate) fn at_reelection(self, in_sync: bool, now: Instant) -> Self {
        Self {
            caught_up_at: if in_sync {
                Some(now)
            } else {
                self.caught_up_at
            },
            last_fetch: None,
            ..self
        }
    }

    /// The follower has fetched. It has caught up now if it has everything; and it had at its
    /// last fetch if it has by now what there was then, so that one which keeps up with a busy
    /// leader counts as caught up although there is always something new. (RE-046, RE-048)
    pub(crate) fn fetched(&mut self, fetched: &Fetched, now: Instant) {
        let offset = fetched.place.offset;
        if offset >= fetched.leader_end {
            self.caught_up_at = self.caught_up_at.max(Some(now));
        } else if let Some((at, leader_end)) = self.last_fetch
            && offset >= leader_end
        {
            self.caught_up_at = self.caught_up_at.max(Some(at));
        }
        self.log_end = offset;
        self.place = Some(fetched.place);
        self.log_start = fetched.log_start.unwrap_or(self.log_start);
        self.broker_epoch = fetched.broker_epoch.unwrap_or(self.broker_epoch);
        self.last_fetch = Some((now, fetched.leader_end));
    }

    /// Whether it has everything, or had within `lag_max`. (RE-052)
    pub(crate) fn is_caught_up(&self, leader_end: Offset, lag_max: Duration, now: Instant) -> bool {
        self.log_end == leader_end
            || self
                .caught_up_at
                .is_some_and(|at| now.saturating_duration_since(at) <= lag_max)
    }

    /// Where its log end is in the leader's log, if that is known.
    pub(crate) fn place(&self) -> Option<Place> {
        self.place.filter(|place| place.offset == self.log_end)
    }

    /// When it last had everything.
    pub(crate) fn caught_up_at(&self) -> Option<Instant> {
        self.caught_up_at
    }
}

#[cfg(test)]
mod tests {
    use klamm_io::Clock as _;
    use klamm_io::sim::SimClock;

    use super::*;

    const LAG_MAX: Duration = Duration::from_secs(30);

    fn fetch(offset: i64, leader_end: i64) -> Fetched {
        Fetched {
            place: Place {
                offset: Offset::new(offset),
                segment_base: Offset::ZERO,
                position: 0,
            },
            log_start: Some(Offset::new(2)),
            broker_epoch: Some(BrokerEpoch::new(9)),
            leader_end: Offset::new(leader_end),
        }
    }

    fn secs(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn re_046_a_fetch_tells_log_end_and_log_start() {
        let begin = SimClock::new().now();
        let mut progress = Progress::at_election(true, begin);
        assert_eq!(progress.log_end, Offset::UNKNOWN);
        assert_eq!(progress.log_start, Offset::UNKNOWN);
        assert_eq!(progress.broker_epoch, BrokerEpoch::NONE);
        progress.fetched(&fetch(5, 10), begin + secs(1));
        assert_eq!(progress.log_end, Offset::new(5));
        assert_eq!(progress.log_start, Offset::new(2));
        assert_eq!(progress.broker_epoch, BrokerEpoch::new(9));
        assert_eq!(progress.place(), Some(fetch(5, 10).place));
    }

    /// Covers RE-047, RE-054.
    #[test]
    fn members_count_as_caught_up_from_the_election_on_and_others_never() {
        let begin = SimClock::new().now();
        let end = Offset::new(10);
        let member = Progress::at_election(true, begin);
        assert!(member.is_caught_up(end, LAG_MAX, begin + LAG_MAX));
        assert!(!member.is_caught_up(end, LAG_MAX, begin + LAG_MAX + Duration::from_millis(1)));
        let other = Progress::at_election(false, begin);
        assert!(!other.is_caught_up(end, LAG_MAX, begin));
    }

    #[test]
    fn re_048_it_has_caught_up_when_it_asks_for_the_leaders_end() {
        let begin = SimClock::new().now();
        let mut progress = Progress::at_election(false, begin);
        progress.fetched(&fetch(9, 10), begin + secs(1));
        assert_eq!(progress.caught_up_at(), None);
        progress.fetched(&fetch(10, 10), begin + secs(2));
        assert_eq!(progress.caught_up_at(), Some(begin + secs(2)));
    }

    #[test]
    fn one_that_keeps_up_with_a_busy_leader_had_everything_at_its_last_fetch() {
        let begin = SimClock::new().now();
        let mut progress = Progress::at_election(false, begin);
        progress.fetched(&fetch(5, 10), begin + secs(1));
        progress.fetched(&fetch(10, 15), begin + secs(2));
        assert_eq!(progress.caught_up_at(), Some(begin + secs(1)));
        progress.fetched(&fetch(14, 20), begin + secs(3));
        assert_eq!(progress.caught_up_at(), Some(begin + secs(1)));
    }

    #[test]
    fn re_050_a_leader_elected_again_keeps_positions_and_greets_members_alone() {
        let begin = SimClock::new().now();
        let mut progress = Progress::at_election(false, begin);
        progress.fetched(&fetch(10, 10), begin + secs(1));
        let member = progress.at_reelection(true, begin + secs(5));
        assert_eq!(member.log_end, Offset::new(10));
        assert_eq!(member.caught_up_at(), Some(begin + secs(5)));
        let other = progress.at_reelection(false, begin + secs(5));
        assert_eq!(other.log_end, Offset::new(10));
        assert_eq!(other.caught_up_at(), Some(begin + secs(1)));
    }

    #[test]
    fn fetches_before_an_election_say_nothing_of_the_time_after_it() {
        let begin = SimClock::new().now();
        let mut progress = Progress::at_election(false, begin);
        progress.fetched(&fetch(5, 10), begin + secs(1));
        let mut progress = progress.at_reelection(false, begin + secs(2));
        progress.fetched(&fetch(10, 15), begin + secs(3));
        assert_eq!(progress.caught_up_at(), None);
    }
}
