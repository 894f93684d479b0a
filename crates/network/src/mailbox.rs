//! [`Mailbox`]: what others have for a connection's task.

use std::sync::Arc;
use std::task::{Context, Waker};
use std::time::Instant;

use parking_lot::Mutex;

use crate::context::ConnectionContext;
use crate::observer::Observer;
use crate::pipeline::{Outcome, Turn};
use crate::responder::{Parked, Peer, Stages};
use crate::response::Response;

/// Tells the time; a clock whose type does not matter here.
pub(crate) type Now = Arc<dyn Fn() -> Instant + Send + Sync>;

/// What others have for the task of one connection, and how to wake it.
///
/// It needs no bound of its own: a request has at most two letters, and a connection few requests.
/// (NE-021, NE-022)
pub(crate) struct Mailbox<F> {
    context: Arc<ConnectionContext>,
    observer: Arc<dyn Observer>,
    now: Now,
    /// Held to add or take letters only; nobody is woken under it.
    state: Mutex<State<F>>,
}

struct State<F> {
    letters: Vec<Letter<F>>,
    /// Known since the task has run first.
    waker: Option<Waker>,
    /// Letters go nowhere once it is gone: the task has ended.
    peer: Peer,
}

/// News for a connection.
pub(crate) enum Letter<F> {
    /// The handler returned without an answer.
    Parked(Turn, Parked),
    /// The request has its answer.
    Settled(Turn, Settlement<F>),
    /// The server is about to stop: what has been sent is answered, and no more is taken.
    Finish,
    /// The server stops.
    Stop,
}

/// How a request ended, and its account so far.
pub(crate) struct Settlement<F> {
    pub(crate) outcome: Outcome<Response<F>>,
    pub(crate) stages: Stages,
}

impl<F> Mailbox<F> {
    pub(crate) const fn new(
        context: Arc<ConnectionContext>,
        observer: Arc<dyn Observer>,
        now: Now,
    ) -> Self {
        Self {
            context,
            observer,
            now,
            state: Mutex::new(State {
                letters: Vec::new(),
                waker: None,
                peer: Peer::Open,
            }),
        }
    }

    pub(crate) const fn context(&self) -> &Arc<ConnectionContext> {
        &self.context
    }

    pub(crate) fn now(&self) -> Instant {
        (self.now)()
    }

    pub(crate) fn observer(&self) -> &dyn Observer {
        &*self.observer
    }

    /// Adds a letter and wakes the task.
    pub(crate) fn post(&self, letter: Letter<F>) {
        if self.leave(letter)
            && let Some(waker) = self.waker()
        {
            waker.wake();
        }
    }

    /// Adds a letter, and leaves it to the caller to have it read; false if the connection has
    /// ended. Then the letter is thrown away, after the request's account has been closed.
    /// (NE-024, NE-051)
    pub(crate) fn leave(&self, letter: Letter<F>) -> bool {
        let undelivered = {
            let mut state = self.state.lock();
            if state.peer == Peer::Gone {
                letter
            } else {
                state.letters.push(letter);
                return true;
            }
        };
        if let Letter::Settled(_, settlement) = undelivered {
            self.complete_unsent(&settlement.stages);
        }
        false
    }

    /// Whether the peer is still there.
    pub(crate) fn peer(&self) -> Peer {
        self.state.lock().peer
    }

    /// Takes note that the peer sends no more.
    pub(crate) fn input_ended(&self) {
        let mut state = self.state.lock();
        if state.peer == Peer::Open {
            state.peer = Peer::SendsNoMore;
        }
    }

    /// How to wake the task, once it has run.
    pub(crate) fn waker(&self) -> Option<Waker> {
        self.state.lock().waker.clone()
    }

    /// Moves the letters to `letters`, which must be empty. From now on the waker of `context`
    /// wakes the task.
    pub(crate) fn take(&self, letters: &mut Vec<Letter<F>>, context: &Context<'_>) {
        let mut state = self.state.lock();
        std::mem::swap(&mut state.letters, letters);
        match &mut state.waker {
            Some(waker) => waker.clone_from(context.waker()),
            none => *none = Some(context.waker().clone()),
        }
    }

    /// No letter is taken any more; what was left undelivered comes back.
    pub(crate) fn close(&self) -> Vec<Letter<F>> {
        let mut state = self.state.lock();
        state.peer = Peer::Gone;
        state.waker = None;
        std::mem::take(&mut state.letters)
    }

    /// Closes the account of a request for which nothing is sent.
    pub(crate) fn complete_unsent(&self, stages: &Stages) {
        let now = self.now();
        let completed = stages.completed(0, now, now);
        self.observer.request_completed(&self.context, &completed);
    }
}
