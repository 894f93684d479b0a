//! [`FetchSessions`]: who fetches the same partitions again and again, and need not name them each
//! time. (KIP-227, B3.4)
//!
//! A fetcher that asks for a session is given one with its first answer. From then on it names only
//! what has changed, and is told only of partitions that have news. Each request of a session has
//! the number that follows the last one, so that both sides notice when one was lost.
//!
//! A fetch without a session passes by here without a lock or a copy.

mod cache;
mod session;

use std::sync::Arc;
use std::time::Instant;

use klamm_wire::ErrorCode;
use klamm_wire::messages::fetch::{FetchRequest, FetchResponse, FetchTopic};
use parking_lot::Mutex;

use self::cache::{Cache, Worth};
use self::session::Session;

/// The number of a fetch that begins a session.
const INITIAL_EPOCH: i32 = 0;

/// The number of a fetch that has no session, or ends its own.
const FINAL_EPOCH: i32 = -1;

/// The session id of a fetch without a session.
const NO_SESSION: i32 = 0;

/// The most partitions that a session has, whether they exist or not: some tens of megabytes.
/// Whoever fetches more names them all each time.
const PARTITIONS_MAX: usize = 100_000;

/// The fetch sessions of a broker, no more than there are slots for
/// (`max.incremental.fetch.session.cache.slots`).
pub(crate) struct FetchSessions {
    random: fn() -> u128,
    /// Held to find, add or remove a session. The lock of a session is never taken under it.
    cache: Mutex<Cache>,
}

/// What a fetch has to do with sessions.
pub(crate) enum SessionUse {
    /// Nothing.
    None,
    /// It wants one, for these partitions, once they have been read.
    New(Wanted),
    /// It is the latest of one.
    Within(Within),
}

/// A session that is wanted.
pub(crate) struct Wanted {
    topics: Vec<FetchTopic>,
    uses_ids: bool,
    is_follower: bool,
}

/// A session that is used.
pub(crate) struct Within {
    id: i32,
    /// The number that the next fetch will have, if none comes in between.
    next_epoch: i32,
    session: Arc<Mutex<Session>>,
}

/// How a request names topics, and who sends it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Manner {
    /// By ids, as from v13 on.
    pub(crate) uses_ids: bool,
    /// Another broker, to keep its replicas up to date.
    pub(crate) is_follower: bool,
}

impl FetchSessions {
    /// No sessions, and room for so many.
    pub(crate) fn new(slots: usize, random: fn() -> u128) -> Self {
        Self {
            random,
            cache: Mutex::new(Cache::new(slots)),
        }
    }

    /// Finds the session that a request belongs to, and puts its partitions into the request in
    /// the place of those that it names as changed.
    ///
    /// # Errors
    /// `FETCH_SESSION_ID_NOT_FOUND`, `INVALID_FETCH_SESSION_EPOCH` and
    /// `FETCH_SESSION_TOPIC_ID_ERROR`, to be answered for the request as a whole. The fetcher
    /// begins a new session then.
    pub(crate) fn begin(
        &self,
        request: &mut FetchRequest,
        manner: Manner,
        now: Instant,
    ) -> Result<SessionUse, ErrorCode> {
        let (id, epoch) = (request.session_id, request.session_epoch);
        if epoch == INITIAL_EPOCH || epoch == FINAL_EPOCH {
            if id != NO_SESSION {
                self.cache.lock().remove(id);
            }
            let is_too_large = || count(&request.topics) > PARTITIONS_MAX;
            return Ok(if epoch == FINAL_EPOCH || is_too_large() {
                SessionUse::None
            } else {
                SessionUse::New(Wanted::of(&request.topics, manner))
            });
        }
        let session = self.cache.lock().find(id);
        let session = session.ok_or(ErrorCode::FETCH_SESSION_ID_NOT_FOUND)?;
        let (next_epoch, len) = {
            let mut session = session.lock();
            session.check(epoch, manner.uses_ids)?;
            session.put(&request.topics);
            session.forget(&request.forgotten_topics_data);
            request.topics = session.topics();
            (session.advance_epoch(), session.len())
        };
        if len == 0 || len > PARTITIONS_MAX {
            // Answered in full, and by that the fetcher learns that it has no session any more.
            self.cache.lock().remove(id);
            return Ok(SessionUse::None);
        }
        self.cache.lock().used(id, len, now);
        Ok(SessionUse::Within(Within {
            id,
            next_epoch,
            session,
        }))
    }

    /// Makes of a whole answer what the fetcher is to be told of it. An answer that has no
    /// partitions any more has no records either.
    pub(crate) fn finish(&self, used: SessionUse, answer: &mut FetchResponse, now: Instant) {
        match used {
            SessionUse::None => {}
            SessionUse::New(wanted) => answer.session_id = self.create(&wanted, answer, now),
            SessionUse::Within(within) => within.keep_news(answer),
        }
    }

    /// The id of a new session, or of none if there is no room.
    fn create(&self, wanted: &Wanted, answer: &FetchResponse, now: Instant) -> i32 {
        let mut session = Session::new(wanted.uses_ids);
        session.put(&wanted.topics);
        session.note(answer);
        let worth = Worth {
            is_follower: wanted.is_follower,
            partitions: session.len(),
        };
        let mut cache = self.cache.lock();
        if worth.partitions == 0 || !cache.make_room(worth, now) {
            return NO_SESSION;
        }
        loop {
            // Positive, and no other's.
            let id = i32::try_from((self.random)() & 0x7fff_ffff).expect("31 bits are left");
            if id != NO_SESSION && cache.find(id).is_none() {
                cache.add(id, session, worth, now);
                return id;
            }
        }
    }

    /// How many sessions there are.
    #[cfg(test)]
    fn len(&self) -> usize {
        self.cache.lock().len()
    }
}

/// How many partitions are named.
fn count(topics: &[FetchTopic]) -> usize {
    topics.iter().map(|topic| topic.partitions.len()).sum()
}

impl Wanted {
    fn of(topics: &[FetchTopic], manner: Manner) -> Self {
        Self {
            topics: session::detached(topics),
            uses_ids: manner.uses_ids,
            is_follower: manner.is_follower,
        }
    }
}

impl Within {
    fn keep_news(self, answer: &mut FetchResponse) {
        answer.session_id = self.id;
        let mut session = self.session.lock();
        if session.epoch() == self.next_epoch {
            session.keep_news(answer);
        } else {
            // A later fetch has come meanwhile, which must not happen: what this one would be told
            // would be missing there.
            answer.error_code = ErrorCode::INVALID_FETCH_SESSION_EPOCH;
            answer.responses.clear();
        }
    }
}

#[cfg(test)]
mod tests;
