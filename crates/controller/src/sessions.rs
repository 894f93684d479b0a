//! [`Sessions`]: when each broker was last heard of. (CO-022 to CO-024, CO-033)

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use klamm_primitives::{BrokerId, Offset};

/// The sessions of the brokers. They live on the active controller alone and are not in the log:
/// who becomes active gives every unfenced broker a new one.
#[derive(Debug)]
pub(crate) struct Sessions {
    timeout: Duration,
    brokers: BTreeMap<BrokerId, Session>,
    /// The running ones, stalest first.
    running: BTreeSet<(Instant, BrokerId)>,
}

#[derive(Debug, Clone, Copy)]
struct Session {
    last_contact: Instant,
    /// A fenced broker has no session to lose.
    is_running: bool,
    /// Whether the broker itself was heard of, or only given the session.
    was_heard: bool,
    metadata_offset: Offset,
    /// The offset that all others must have seen before the broker may stop, once it is in
    /// controlled shutdown.
    shutdown_offset: Option<Offset>,
}

impl Sessions {
    pub(crate) fn new(timeout: Duration) -> Self {
        Self {
            timeout,
            brokers: BTreeMap::new(),
            running: BTreeSet::new(),
        }
    }

    /// Forgets everything, and gives the unfenced brokers a session from now on.
    pub(crate) fn restart(&mut self, unfenced: impl Iterator<Item = BrokerId>, now: Instant) {
        self.brokers.clear();
        self.running.clear();
        for broker in unfenced {
            self.put(broker, now, true, Offset::UNKNOWN);
        }
    }

    /// The broker was heard of; its session runs if it is not fenced.
    pub(crate) fn touch(
        &mut self,
        broker: BrokerId,
        now: Instant,
        is_fenced: bool,
        metadata_offset: Offset,
    ) {
        self.put(broker, now, !is_fenced, metadata_offset);
        if let Some(session) = self.brokers.get_mut(&broker) {
            session.was_heard = true;
        }
    }

    fn put(&mut self, broker: BrokerId, now: Instant, is_running: bool, metadata_offset: Offset) {
        let former = self.brokers.get(&broker).copied();
        if let Some(former) = former {
            self.running.remove(&(former.last_contact, broker));
        }
        if is_running {
            self.running.insert((now, broker));
        }
        let session = Session {
            last_contact: now,
            is_running,
            was_heard: former.is_some_and(|it| it.was_heard),
            metadata_offset,
            shutdown_offset: former.and_then(|it| it.shutdown_offset),
        };
        self.brokers.insert(broker, session);
    }

    /// The broker was fenced: its session ends.
    pub(crate) fn fence(&mut self, broker: BrokerId) {
        if let Some(session) = self.brokers.get_mut(&broker) {
            session.is_running = false;
            self.running.remove(&(session.last_contact, broker));
        }
    }

    /// The broker is gone, or begins anew.
    pub(crate) fn forget(&mut self, broker: BrokerId) {
        self.fence(broker);
        self.brokers.remove(&broker);
    }

    /// Whether the broker itself was heard of within its session. A session that was only given
    /// does not count: its broker may have died with the former controller.
    pub(crate) fn is_alive(&self, broker: BrokerId, now: Instant) -> bool {
        self.brokers.get(&broker).is_some_and(|session| {
            session.is_running && session.was_heard && now < session.last_contact + self.timeout
        })
    }

    /// The broker whose session ran out first.
    pub(crate) fn stalest(&self, now: Instant) -> Option<BrokerId> {
        let (last_contact, broker) = self.running.first()?;
        (*last_contact + self.timeout <= now).then_some(*broker)
    }

    /// When the next session runs out.
    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        let (last_contact, _) = self.running.first()?;
        Some(*last_contact + self.timeout)
    }

    /// The smallest metadata offset among running sessions of brokers that are `active`; `None`
    /// if there are none. (CO-033)
    pub(crate) fn lowest_active_offset(&self, active: impl Fn(BrokerId) -> bool) -> Option<Offset> {
        let running = self.brokers.iter().filter(|(_, it)| it.is_running);
        let offsets = running.filter(|(id, _)| active(**id));
        offsets.map(|(_, session)| session.metadata_offset).min()
    }

    /// The offset that others must have seen before a broker in controlled shutdown may stop:
    /// `now_at` when it is asked for the first time.
    pub(crate) fn shutdown_offset(&mut self, broker: BrokerId, now_at: Offset) -> Offset {
        let session = self.brokers.get_mut(&broker);
        session.map_or(now_at, |it| *it.shutdown_offset.get_or_insert(now_at))
    }
}
