//! [`Members`]: the connections that are open.

use std::sync::Arc;

use hashbrown::HashMap;
use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::context::ConnectionContext;
use crate::mailbox::{Letter, Mailbox};
use crate::observer::Observer;
use crate::responder::Peer;
use crate::slots::Slot;

/// Connections that are not served and kept open for a while, at most. Beyond it they are closed
/// at once.
const HELD_MAX: usize = 1_000;

/// The open connections of a server, so that they can be told when it stops.
pub(crate) struct Members<F> {
    /// Told to those that are not served, when the server is about to stop and when it does.
    stopping: Notify,
    /// Held to add, remove or take connections only; nobody is told under it.
    state: Mutex<State<F>>,
}

struct State<F> {
    open: HashMap<u64, Arc<Mailbox<F>>>,
    /// How many are kept without being served.
    held: usize,
    next_index: u64,
    /// No connection is taken any more.
    is_stopping: bool,
    /// All connections are told to end.
    is_stopped: bool,
}

/// A connection that is open until this is dropped, whatever the reason.
pub(crate) struct Member<F> {
    members: Arc<Members<F>>,
    mailbox: Arc<Mailbox<F>>,
    /// Falls last, so that the count says how many there really are.
    _slot: Slot,
}

/// A connection that is kept without being served until this is dropped.
pub(crate) struct Held<F> {
    members: Arc<Members<F>>,
    context: ConnectionContext,
    observer: Arc<dyn Observer>,
}

impl<F> Members<F> {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self {
            stopping: Notify::new(),
            state: Mutex::new(State {
                held: 0,
                open: HashMap::new(),
                next_index: 0,
                is_stopping: false,
                is_stopped: false,
            }),
        })
    }

    /// A number that no other connection has or had. (NE-053)
    pub(crate) fn next_index(&self) -> u64 {
        let mut state = self.state.lock();
        state.next_index += 1;
        state.next_index
    }

    /// Adds a connection; `None` once the server stops.
    pub(crate) fn join(
        self: &Arc<Self>,
        mailbox: &Arc<Mailbox<F>>,
        slot: Slot,
    ) -> Option<Member<F>> {
        {
            let mut state = self.state.lock();
            if state.is_stopping {
                return None;
            }
            let index = mailbox.context().id.index;
            state.open.insert(index, Arc::clone(mailbox));
        }
        mailbox.observer().connection_opened(mailbox.context());
        Some(Member {
            members: Arc::clone(self),
            mailbox: Arc::clone(mailbox),
            _slot: slot,
        })
    }

    /// Counts a connection that is kept without being served; `None` if there are too many, or
    /// the server stops.
    pub(crate) fn hold(
        self: &Arc<Self>,
        context: ConnectionContext,
        observer: &Arc<dyn Observer>,
    ) -> Option<Held<F>> {
        {
            let mut state = self.state.lock();
            if state.is_stopping || state.held >= HELD_MAX {
                return None;
            }
            state.held += 1;
        }
        observer.connection_held(&context);
        Some(Held {
            members: Arc::clone(self),
            context,
            observer: Arc::clone(observer),
        })
    }

    /// How many are open.
    pub(crate) fn len(&self) -> usize {
        self.state.lock().open.len()
    }

    /// How many are open whose requests may not have been answered.
    pub(crate) fn unanswered(&self) -> usize {
        let open: Vec<_> = self.state.lock().open.values().cloned().collect();
        let may_answer = |it: &&Arc<Mailbox<F>>| it.peer() != Peer::Gone;
        open.iter().filter(may_answer).count()
    }

    /// Tells every connection to end once it has answered what was sent, and takes no more.
    pub(crate) fn finish(&self) {
        self.tell(false, || Letter::Finish);
    }

    /// Tells every connection that the server stops, and takes no more.
    pub(crate) fn stop(&self) {
        self.tell(true, || Letter::Stop);
    }

    fn tell(&self, is_stopped: bool, letter: impl Fn() -> Letter<F>) {
        let open: Vec<_> = {
            let mut state = self.state.lock();
            state.is_stopping = true;
            state.is_stopped |= is_stopped;
            state.open.values().cloned().collect()
        };
        for mailbox in open {
            mailbox.post(letter());
        }
        self.stopping.notify_waiters();
    }
}

impl<F> Member<F> {
    /// Ends when the server stops.
    pub(crate) async fn stopped(&self) {
        loop {
            let told = self.members.stopping.notified();
            if self.members.state.lock().is_stopped {
                return;
            }
            told.await;
        }
    }
}

impl<F> Held<F> {
    /// Ends when the server is about to stop.
    pub(crate) async fn stopped(&self) {
        let stopping = self.members.stopping.notified();
        if !self.members.state.lock().is_stopping {
            stopping.await;
        }
    }
}

impl<F> Drop for Held<F> {
    fn drop(&mut self) {
        self.members.state.lock().held -= 1;
        self.observer.held_connection_closed(&self.context);
    }
}

impl<F> Drop for Member<F> {
    fn drop(&mut self) {
        let context = self.mailbox.context();
        self.members.state.lock().open.remove(&context.id.index);
        // Where the task was dropped before it ran, nobody else has.
        self.mailbox.close(Vec::new());
        self.mailbox.observer().connection_closed(context);
    }
}
