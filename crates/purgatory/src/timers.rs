//! Values in a timing wheel, in ticks.

use crate::slab::{Key, Slab};
use crate::tick_wheel::{TickWheel, Timed, Timer};

/// Values, each with the tick at which it is due.
#[derive(Debug)]
pub(crate) struct Timers<T> {
    nodes: Slab<Node<T>>,
    wheel: TickWheel,
}

#[derive(Debug)]
struct Node<T> {
    timer: Timer,
    value: T,
}

impl<T> Timed for Node<T> {
    #[cfg(test)]
    fn timer(&self) -> &Timer {
        &self.timer
    }

    #[inline]
    fn timer_mut(&mut self) -> &mut Timer {
        &mut self.timer
    }
}

impl<T> Timers<T> {
    /// `slots` is at least 2 and at most 64.
    pub(crate) fn new(slots: u32) -> Self {
        Self {
            nodes: Slab::new(),
            wheel: TickWheel::new(slots),
        }
    }

    /// How many values wait.
    pub(crate) fn len(&self) -> usize {
        self.wheel.len()
    }

    pub(crate) fn contains(&self, key: Key) -> bool {
        self.nodes.contains(key)
    }

    /// Adds `value`, due at `deadline`, which is less than `u64::MAX`.
    #[inline]
    pub(crate) fn insert(&mut self, deadline: u64, value: T) -> Key {
        let timer = Timer::OFF;
        let key = self.nodes.insert(Node { timer, value });
        self.wheel.start(&mut self.nodes, key.index, deadline);
        key
    }

    /// Takes a value out. `None` if it is no longer there.
    #[inline]
    pub(crate) fn remove(&mut self, key: Key) -> Option<T> {
        self.nodes.contains(key).then(|| {
            self.wheel.stop(&mut self.nodes, key.index);
            self.nodes.take_at(key.index).value
        })
    }

    /// Gives a waiting value another deadline. False if it is no longer there.
    pub(crate) fn reschedule(&mut self, key: Key, deadline: u64) -> bool {
        let waits = self.nodes.contains(key);
        if waits {
            self.wheel.restart(&mut self.nodes, key.index, deadline);
        }
        waits
    }

    /// As [`TickWheel::next_visit`].
    pub(crate) fn next_visit(&self) -> Option<u64> {
        self.wheel.next_visit()
    }

    /// Moves the time to `now` and hands out all that is due, in order of ticks.
    pub(crate) fn advance(&mut self, now: u64, expired: &mut Vec<T>) {
        self.wheel.advance(&mut self.nodes, now, |nodes, index| {
            expired.push(nodes.take_at(index).value);
        });
    }

    /// Bytes that one waiting value takes, with its place in the slab.
    #[cfg(test)]
    pub(crate) const fn bytes_per_value() -> usize {
        Slab::<Node<T>>::BYTES_PER_VALUE
    }
}

#[cfg(test)]
mod tests;
