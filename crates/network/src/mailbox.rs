//! [`Mailbox`]: what others have for a connection's task.

use std::sync::Arc;
use std::task::{Context, Waker};
use std::time::Instant;

use parking_lot::Mutex;

use crate::after_panic::AfterPanic;
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
    /// The requests that handlers had then, and that have not ended since.
    unsettled: Vec<Turn>,
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
    /// The handler has panicked, and so may have ended the request before.
    pub(crate) is_after_panic: bool,
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
                unsettled: Vec::new(),
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
        let (settlement, is_first) = {
            let mut state = self.state.lock();
            if state.peer != Peer::Gone {
                state.letters.push(letter);
                return true;
            }
            let Letter::Settled(turn, settlement) = letter else {
                return false;
            };
            (settlement, state.settle(turn))
        };
        self.settle_unsent(&settlement, is_first);
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

    /// No letter is taken any more; `unsettled` are the requests that handlers have, of which each
    /// has its account closed once, now or when it ends. Closed before, it stays as it is.
    pub(crate) fn close(&self, unsettled: Vec<Turn>) {
        let mut undelivered = Vec::new();
        {
            let mut state = self.state.lock();
            if state.peer == Peer::Gone {
                return;
            }
            state.peer = Peer::Gone;
            state.waker = None;
            state.unsettled = unsettled;
            for letter in std::mem::take(&mut state.letters) {
                if let Letter::Settled(turn, settlement) = letter {
                    undelivered.push((settlement, state.settle(turn)));
                }
            }
        }
        for (settlement, is_first) in undelivered {
            self.settle_unsent(&settlement, is_first);
        }
    }

    /// Closes the account of a request that ends when its connection has, if it does so only now.
    pub(crate) fn settle_unsent(&self, settlement: &Settlement<F>, is_first: bool) {
        let stages = &settlement.stages;
        if settlement.is_after_panic {
            AfterPanic::EndedBefore.log(&self.context, stages.key);
        }
        if is_first {
            self.complete_unsent(stages);
        }
    }

    /// Closes the account of a request for which nothing is sent.
    pub(crate) fn complete_unsent(&self, stages: &Stages) {
        let now = self.now();
        let completed = stages.completed(0, now, now);
        self.observer.request_completed(&self.context, &completed);
    }
}

impl<F> State<F> {
    /// A request ends after its connection has; says whether it had not before.
    fn settle(&mut self, turn: Turn) -> bool {
        let position = self.unsettled.iter().position(|it| *it == turn);
        position.map(|at| self.unsettled.swap_remove(at)).is_some()
    }
}
