//! [`RequestChannel`]: from the connections to the handlers.

use std::fmt;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use parking_lot::{Condvar, Mutex};
use tokio::sync::Notify;

use crate::line::{Line, Place};
use crate::request::Received;
use crate::request_queue::{RequestQueue, Taken};

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
    /// Told for handlers' threads that sleep.
    filled: Condvar,
    /// Told for handlers that are tasks.
    filled_for_tasks: Notify,
}

struct State<F> {
    queue: RequestQueue<Received<F>, Work>,
    /// Connections that wait for room.
    line: Line,
    /// Threads that sleep and have not been woken.
    sleeping: usize,
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
                    sleeping: 0,
                }),
                filled: Condvar::new(),
                filled_for_tasks: Notify::new(),
            }),
        }
    }

    /// The next request; `None` once the caller is to stop. Blocks, and does work that was handed
    /// back with [`Self::resume`] while it is here.
    pub fn recv(&self) -> Option<Received<F>> {
        loop {
            let (taken, waker) = {
                let mut state = self.shared.state.lock();
                loop {
                    if let Some(taken) = state.queue.take() {
                        break (taken, state.who_gets_room());
                    }
                    state.sleeping += 1;
                    self.shared.filled.wait(&mut state);
                }
            };
            wake(waker);
            match taken {
                Taken::Request(received) => return Some(begin(received)),
                Taken::Work(work) => work(),
                Taken::Stop => return None,
            }
        }
    }

    /// The next request, if one is there. Does work that was handed back with [`Self::resume`];
    /// signals to stop are passed over.
    pub fn try_recv(&self) -> Option<Received<F>> {
        loop {
            let (taken, waker) = {
                let mut state = self.shared.state.lock();
                (state.queue.take()?, state.who_gets_room())
            };
            wake(waker);
            match taken {
                Taken::Request(received) => return Some(begin(received)),
                Taken::Work(work) => work(),
                Taken::Stop => {}
            }
        }
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
        let is_asleep = state.sleeping > 0;
        if is_asleep {
            state.sleeping -= 1;
        }
        drop(state);
        if is_asleep {
            self.shared.filled.notify_one();
        } else {
            self.shared.filled_for_tasks.notify_one();
        }
    }
}

impl<F> State<F> {
    fn who_gets_room(&self) -> Option<Waker> {
        self.queue.has_room().then(|| self.line.first())?
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
