//! [`RequestMemory`]: bytes of requests that are being read or handled.

use std::sync::Arc;
use std::task::{Context, Poll};

use parking_lot::Mutex;

use crate::line::{Line, Place};

/// A budget of bytes for requests (`queued.max.request.bytes`, NE-027).
///
/// Whoever comes while any byte is left gets all it asks for, so that a request larger than the
/// budget gets through, too; the others wait in line.
#[derive(Debug)]
pub(crate) struct RequestMemory {
    bytes_max: usize,
    /// Held for a look or a change only; who waits is woken after it is released.
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    used: usize,
    line: Line,
}

/// Bytes that were taken from the budget; they return to it when this is dropped.
#[derive(Debug)]
pub(crate) struct Lease {
    memory: Arc<RequestMemory>,
    bytes: usize,
}

impl RequestMemory {
    pub(crate) fn new(bytes_max: usize) -> Arc<Self> {
        Arc::new(Self {
            bytes_max,
            state: Mutex::default(),
        })
    }

    /// Takes bytes, or waits in line for some to return.
    pub(crate) fn poll_lease(
        self: &Arc<Self>,
        bytes: usize,
        place: &mut Option<Place>,
        context: &Context<'_>,
    ) -> Poll<Lease> {
        let next = {
            let mut state = self.state.lock();
            if state.used >= self.bytes_max || !state.line.is_first(*place) {
                state.line.wait(place, context);
                return Poll::Pending;
            }
            state.used += bytes;
            state.line.leave(place);
            self.next(&state)
        };
        if let Some(waker) = next {
            waker.wake();
        }
        Poll::Ready(Lease {
            memory: Arc::clone(self),
            bytes,
        })
    }

    /// Leaves the line without having got anything.
    pub(crate) fn leave(&self, place: &mut Option<Place>) {
        if place.is_none() {
            return;
        }
        let next = {
            let mut state = self.state.lock();
            state.line.leave(place);
            self.next(&state)
        };
        if let Some(waker) = next {
            waker.wake();
        }
    }

    fn next(&self, state: &State) -> Option<std::task::Waker> {
        (state.used < self.bytes_max).then(|| state.line.first())?
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let next = {
            let mut state = self.memory.state.lock();
            state.used -= self.bytes;
            self.memory.next(&state)
        };
        if let Some(waker) = next {
            waker.wake();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::{Wake, Waker};

    use super::*;

    #[derive(Default)]
    struct Woken(AtomicUsize);

    impl Wake for Woken {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    impl Woken {
        fn count(&self) -> usize {
            self.0.load(Ordering::Relaxed)
        }
    }

    #[test]
    fn ne_027_who_finds_it_used_up_waits_in_line_until_bytes_return() {
        let memory = RequestMemory::new(100);
        let [first, second] = [(); 2].map(|()| Arc::new(Woken::default()));
        let wakers = [&first, &second].map(|woken| Waker::from(Arc::clone(woken)));
        let contexts = wakers.each_ref().map(Context::from_waker);
        let ask = |who: usize, bytes, place: &mut Option<Place>| match memory.poll_lease(
            bytes,
            place,
            &contexts[who],
        ) {
            Poll::Ready(lease) => Some(lease),
            Poll::Pending => None,
        };
        let (mut place_0, mut place_1) = (None, None);
        let large = ask(0, 1_000, &mut None).expect("a large one gets through");
        assert!(ask(0, 10, &mut place_0).is_none());
        assert!(ask(1, 10, &mut place_1).is_none());
        drop(large);
        assert_eq!((first.count(), second.count()), (1, 0));
        assert!(ask(1, 10, &mut place_1).is_none(), "not its turn");
        let lease = ask(0, 100, &mut place_0).expect("bytes have returned");
        assert_eq!(second.count(), 0, "used up again");
        drop(lease);
        assert_eq!(second.count(), 1);
        assert!(ask(1, 10, &mut place_1).is_some());
    }

    #[test]
    fn ne_027_one_that_leaves_the_line_lets_the_next_know() {
        let memory = RequestMemory::new(1);
        let woken = Arc::new(Woken::default());
        let waker = Waker::from(Arc::clone(&woken));
        let context = Context::from_waker(&waker);
        let idle = Context::from_waker(Waker::noop());
        let (mut gone, mut waits) = (None, None);
        let Poll::Ready(lease) = memory.poll_lease(1, &mut None, &idle) else {
            panic!("nothing is in use")
        };
        assert!(memory.poll_lease(1, &mut gone, &idle).is_pending());
        assert!(memory.poll_lease(1, &mut waits, &context).is_pending());
        drop(lease);
        assert_eq!(woken.count(), 0);
        memory.leave(&mut gone);
        assert_eq!(woken.count(), 1);
    }
}
