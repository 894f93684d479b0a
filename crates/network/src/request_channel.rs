//! [`RequestChannel`]: from the connections to the handlers.

use std::fmt;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::thread::{self, Thread};

use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::line::{Line, Place};
use crate::request::Received;
use crate::request_queue::{RequestQueue, Taken};
use crate::responder::Then;

/// Work that is done on a handler's thread.
type Work = Box<dyn FnOnce() + Send>;

/// The bounded queue between the connections and the handlers. A clone is the same channel.
///
/// When it is full (`queued.max.requests`), connections are not read until there is room: nothing
/// is dropped, and the peers' sends fill up. (NE-020, B1.2)
pub struct RequestChannel<F> {
    shared: Arc<Shared<F>>,
}

struct Shared<F> {
    /// Held to add or take one entry; who waits is woken after it is released, and work is done
    /// after it, too.
    state: Mutex<State<F>>,
    /// Told for handlers that are tasks.
    filled_for_tasks: Notify,
}

struct State<F> {
    queue: RequestQueue<Received<F>, Work>,
    /// Connections that wait for room.
    line: Line,
    /// Threads that sleep and have not been woken. The one that came last is woken first: what it
    /// needs is still in the processor's caches, and under light load the others sleep on.
    sleeping: Vec<Thread>,
}

impl<F> Clone for RequestChannel<F> {
    fn clone(&self) -> Self {
        Self {
            shared: Arc::clone(&self.shared),
        }
    }
}

impl<F> RequestChannel<F> {
    /// A channel for so many requests; 0 counts as 1.
    pub(crate) fn new(capacity: usize) -> Self {
        Self {
            shared: Arc::new(Shared {
                state: Mutex::new(State {
                    queue: RequestQueue::new(capacity),
                    line: Line::default(),
                    sleeping: Vec::new(),
                }),
                filled_for_tasks: Notify::new(),
            }),
        }
    }

    /// The next request; `None` once the caller is to stop. Blocks, and does work that was handed
    /// back with [`Self::resume`] while it is here.
    pub fn recv(&self) -> Option<Received<F>> {
        loop {
            let (taken, waker) = self.wait();
            wake(waker);
            match taken {
                Taken::Request(received) => return Some(begin(received)),
                Taken::Work(work) => work(),
                Taken::Stop => {
                    // What is behind may count on this thread, which will not be back.
                    self.announce(1);
                    return None;
                }
            }
        }
    }

    /// Takes what comes next, and who can be let in for it. Sleeps until there is something.
    fn wait(&self) -> (Taken<Received<F>, Work>, Option<Waker>) {
        let mut state = self.shared.state.lock();
        if let Some(taken) = state.queue.take() {
            return (taken, state.who_gets_room());
        }
        let me = thread::current();
        loop {
            // Woken for nothing, it is still among those that sleep.
            if !state.is_asleep(&me) {
                state.sleeping.push(me.clone());
            }
            drop(state);
            thread::park();
            state = self.shared.state.lock();
            if let Some(taken) = state.queue.take() {
                state.is_up(&me);
                return (taken, state.who_gets_room());
            }
        }
    }

    /// As [`Self::recv`], for a thread that is certain to call it again.
    pub(crate) fn recv_in_pool(&self) -> Option<Received<F>> {
        let mut received = self.recv()?;
        received.responder.taken_by(Then::TakesAnother);
        Some(received)
    }

    /// The next request, if one is there. Does work that was handed back with [`Self::resume`];
    /// signals to stop are for the threads of a pool, which get them all.
    pub fn try_recv(&self) -> Option<Received<F>> {
        let mut stops = 0;
        let received = loop {
            let (taken, waker) = {
                let mut state = self.shared.state.lock();
                match state.queue.take() {
                    Some(taken) => (taken, state.who_gets_room()),
                    None => break None,
                }
            };
            wake(waker);
            match taken {
                Taken::Request(received) => break Some(begin(received)),
                Taken::Work(work) => work(),
                Taken::Stop => stops += 1,
            }
        };
        for _ in 0..stops {
            let mut state = self.shared.state.lock();
            state.queue.put_stop();
            let sleeper = state.sleeping.pop();
            drop(state);
            // A task that waits is none of those that stop.
            if let Some(thread) = sleeper {
                thread.unpark();
            }
        }
        received
    }

    /// The next request, for a handler that is a task: where all runs on one thread, as in a
    /// simulation, or where nothing blocks. May be dropped at any time.
    pub async fn next(&self) -> Received<F> {
        loop {
            let filled = self.shared.filled_for_tasks.notified();
            if let Some(received) = self.try_recv() {
                // One notice may have stood for several requests.
                if !self.shared.state.lock().queue.is_empty() {
                    self.shared.filled_for_tasks.notify_one();
                }
                return received;
            }
            filled.await;
        }
    }

    /// Has work done on a handler's thread, ahead of the requests that wait. (NE-023)
    pub fn resume(&self, work: impl FnOnce() + Send + 'static) {
        let mut state = self.shared.state.lock();
        state.queue.put_work(Box::new(work));
        self.notify(state);
    }

    /// How many requests wait.
    pub fn len(&self) -> usize {
        self.shared.state.lock().queue.len()
    }

    /// Whether no request waits.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many connections wait for room.
    pub fn blocked(&self) -> usize {
        self.shared.state.lock().line.len()
    }

    /// Tells one handler to stop, behind the requests that wait now.
    pub(crate) fn stop_one(&self) {
        let mut state = self.shared.state.lock();
        state.queue.put_stop();
        self.notify(state);
    }

    /// Puts a request, taking it out of `received`, or waits in line for room. No handler is woken
    /// before [`Self::announce`].
    pub(crate) fn poll_put(
        &self,
        received: &mut Option<Received<F>>,
        place: &mut Option<Place>,
        context: &Context<'_>,
    ) -> Poll<()> {
        let mut state = self.shared.state.lock();
        if !state.queue.has_room() || !state.line.is_first(*place) {
            state.line.wait(place, context);
            return Poll::Pending;
        }
        state.line.leave(place);
        if let Some(received) = received.take() {
            state.queue.put(received);
        }
        let next = state.who_gets_room();
        drop(state);
        wake(next);
        Poll::Ready(())
    }

    /// Wakes handlers for so many requests that were put, as far as these are still there.
    pub(crate) fn announce(&self, requests: usize) {
        for _ in 0..requests {
            let state = self.shared.state.lock();
            if state.queue.is_empty() {
                return;
            }
            self.notify(state);
        }
    }

    /// Leaves the line without having put anything.
    pub(crate) fn leave(&self, place: &mut Option<Place>) {
        if place.is_none() {
            return;
        }
        let next = {
            let mut state = self.shared.state.lock();
            state.line.leave(place);
            state.who_gets_room()
        };
        wake(next);
    }

    /// Wakes one handler for what was added, after the lock.
    fn notify(&self, mut state: parking_lot::MutexGuard<'_, State<F>>) {
        let sleeper = state.sleeping.pop();
        drop(state);
        match sleeper {
            Some(thread) => thread.unpark(),
            None => self.shared.filled_for_tasks.notify_one(),
        }
    }
}

impl<F> State<F> {
    fn who_gets_room(&self) -> Option<Waker> {
        self.queue.has_room().then(|| self.line.first())?
    }

    fn is_asleep(&self, thread: &Thread) -> bool {
        self.sleeping.iter().any(|it| it.id() == thread.id())
    }

    /// A thread found something before anybody woke it.
    fn is_up(&mut self, thread: &Thread) {
        self.sleeping.retain(|it| it.id() != thread.id());
    }
}

/// A handler has it from now on.
fn begin<F>(mut received: Received<F>) -> Received<F> {
    received.responder.taken();
    received
}

fn wake(waker: Option<Waker>) {
    if let Some(waker) = waker {
        waker.wake();
    }
}

impl<F> fmt::Debug for RequestChannel<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RequestChannel")
            .field("len", &self.len())
            .finish_non_exhaustive()
    }
}
