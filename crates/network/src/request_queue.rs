//! [`RequestQueue`]: the order in which handlers take what there is.

use std::collections::VecDeque;

/// What waits for handlers: requests `R`, at most so many, work handed back to them `W`, and
/// signals that one of them should stop.
///
/// Work is taken first. A signal to stop is behind the requests that were there before it.
/// (NE-020, NE-023, NE-026)
#[derive(Debug)]
pub(crate) struct RequestQueue<R, W> {
    capacity: usize,
    work: VecDeque<W>,
    entries: VecDeque<Entry<R>>,
    /// How many of the entries are requests.
    requests: usize,
}

#[derive(Debug)]
enum Entry<R> {
    Request(R),
    Stop,
}

/// What a handler takes.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Taken<R, W> {
    /// The oldest request.
    Request(R),
    /// The oldest work.
    Work(W),
    /// One handler is to stop.
    Stop,
}

impl<R, W> RequestQueue<R, W> {
    /// A queue for so many requests; 0 counts as 1.
    pub(crate) fn new(capacity: usize) -> Self {
        Self {
            capacity: capacity.max(1),
            work: VecDeque::new(),
            entries: VecDeque::new(),
            requests: 0,
        }
    }

    /// Whether there is room for a request.
    pub(crate) const fn has_room(&self) -> bool {
        self.requests < self.capacity
    }

    /// Adds a request.
    ///
    /// # Panics
    /// Without room.
    pub(crate) fn put(&mut self, request: R) {
        assert!(self.has_room(), "the caller has asked for room");
        self.requests += 1;
        self.entries.push_back(Entry::Request(request));
    }

    /// Adds work, for which there is always room.
    pub(crate) fn put_work(&mut self, work: W) {
        self.work.push_back(work);
    }

    /// Asks one handler to stop when it has taken all that is here now.
    pub(crate) fn put_stop(&mut self) {
        self.entries.push_back(Entry::Stop);
    }

    /// What comes next.
    pub(crate) fn take(&mut self) -> Option<Taken<R, W>> {
        if let Some(work) = self.work.pop_front() {
            return Some(Taken::Work(work));
        }
        match self.entries.pop_front()? {
            Entry::Request(request) => {
                self.requests -= 1;
                Some(Taken::Request(request))
            }
            Entry::Stop => Some(Taken::Stop),
        }
    }

    /// How many requests there are.
    pub(crate) const fn len(&self) -> usize {
        self.requests
    }

    /// Whether nothing at all is there.
    pub(crate) fn is_empty(&self) -> bool {
        self.work.is_empty() && self.entries.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Queue = RequestQueue<u32, &'static str>;

    #[test]
    fn ne_020_no_more_requests_than_the_bound_and_none_is_lost_or_overtaken() {
        let mut queue = Queue::new(2);
        queue.put(1);
        assert!(queue.has_room());
        queue.put(2);
        assert!(!queue.has_room());
        assert_eq!(queue.take(), Some(Taken::Request(1)));
        assert!(queue.has_room());
        queue.put(3);
        assert_eq!(queue.take(), Some(Taken::Request(2)));
        assert_eq!(queue.take(), Some(Taken::Request(3)));
        assert_eq!(queue.take(), None);
    }

    #[test]
    fn ne_020_the_bound_is_at_least_one() {
        let mut queue = Queue::new(0);
        assert!(queue.has_room());
        queue.put(1);
        assert!(!queue.has_room());
    }

    #[test]
    fn ne_023_work_is_taken_before_requests_and_needs_no_room() {
        let mut queue = Queue::new(1);
        queue.put(1);
        queue.put_work("first");
        queue.put_work("second");
        assert_eq!(queue.take(), Some(Taken::Work("first")));
        assert_eq!(queue.take(), Some(Taken::Work("second")));
        assert_eq!(queue.take(), Some(Taken::Request(1)));
    }

    #[test]
    fn ne_026_a_signal_to_stop_is_behind_the_requests_in_front_of_it() {
        let mut queue = Queue::new(2);
        queue.put(1);
        queue.put_stop();
        queue.put_stop();
        queue.put(2);
        assert_eq!(queue.len(), 2, "signals take no room");
        let taken: Vec<_> = std::iter::from_fn(|| queue.take()).collect();
        assert_eq!(
            taken,
            [
                Taken::Request(1),
                Taken::Stop,
                Taken::Stop,
                Taken::Request(2)
            ]
        );
        assert!(queue.is_empty());
    }
}
