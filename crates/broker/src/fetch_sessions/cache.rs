//! [`Cache`]: which sessions there are, and which one goes for another.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::session::Session;

/// A session that was not used for longer may go for any other; one that is older has had its
/// time.
const STAY: Duration = Duration::from_mins(2);

/// Which sessions there are, no more than it has slots. (AP-039)
///
/// Looking for one that can go walks over all of them. That happens when a session is begun and no
/// slot is free.
#[derive(Debug)]
pub(super) struct Cache {
    slots: usize,
    sessions: HashMap<i32, Kept>,
}

#[derive(Debug)]
struct Kept {
    session: Arc<Mutex<Session>>,
    worth: Worth,
    created: Instant,
    last_used: Instant,
}

/// How much is saved by keeping a session: a follower's more than a consumer's, then one of more
/// partitions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Worth {
    pub(super) is_follower: bool,
    pub(super) partitions: usize,
}

impl Cache {
    pub(super) fn new(slots: usize) -> Self {
        Self {
            slots,
            sessions: HashMap::new(),
        }
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.sessions.len()
    }

    pub(super) fn find(&self, id: i32) -> Option<Arc<Mutex<Session>>> {
        self.sessions.get(&id).map(|it| Arc::clone(&it.session))
    }

    pub(super) fn remove(&mut self, id: i32) {
        self.sessions.remove(&id);
    }

    /// Takes note that a session was used, with so many partitions.
    pub(super) fn used(&mut self, id: i32, partitions: usize, now: Instant) {
        if let Some(kept) = self.sessions.get_mut(&id) {
            kept.last_used = now;
            kept.worth.partitions = partitions;
        }
    }

    pub(super) fn add(&mut self, id: i32, session: Session, worth: Worth, now: Instant) {
        let kept = Kept {
            session: Arc::new(Mutex::new(session)),
            worth,
            created: now,
            last_used: now,
        };
        self.sessions.insert(id, kept);
    }

    /// Makes room for a session of this worth, if need be by letting another one go; false if none
    /// may go for it.
    pub(super) fn make_room(&mut self, worth: Worth, now: Instant) -> bool {
        if self.sessions.len() < self.slots {
            return true;
        }
        let leaves = self.unused(now).or_else(|| self.worth_less(worth, now));
        leaves.is_some_and(|id| self.sessions.remove(&id).is_some())
    }

    /// The one that was not used for the longest time, if that was too long.
    fn unused(&self, now: Instant) -> Option<i32> {
        let (id, oldest) = self.sessions.iter().min_by_key(|(_, it)| it.last_used)?;
        (now.saturating_duration_since(oldest.last_used) > STAY).then_some(*id)
    }

    /// The least worth of those that may go, if it is worth less. A consumer's may go for a
    /// follower's at any time, else only one that has had its time.
    fn worth_less(&self, worth: Worth, now: Instant) -> Option<i32> {
        let may_go = |it: &Kept| {
            let is_old = now.saturating_duration_since(it.created) > STAY;
            is_old || worth.is_follower && !it.worth.is_follower
        };
        let candidates = self.sessions.iter().filter(|(_, it)| may_go(it));
        let (id, least) = candidates.min_by_key(|(id, it)| (it.worth, **id))?;
        (least.worth < worth).then_some(*id)
    }
}
