//! [`Line`]: tasks that wait in order for something to become free.

use std::collections::BTreeMap;
use std::task::{Context, Waker};

/// Who waits, in the order in which they came.
///
/// Whoever is first stays first until it has got what it waits for, or has gone. So nobody is
/// forgotten as long as the first is woken whenever something is free: when it became free, and
/// when the one before has left the line.
#[derive(Debug, Default)]
pub(crate) struct Line {
    waiting: BTreeMap<u64, Waker>,
    next: u64,
}

/// A place in a [`Line`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place(u64);

impl Line {
    /// Whether it is the turn of the one at this place, or of one without a place.
    pub(crate) fn is_first(&self, place: Option<Place>) -> bool {
        match self.waiting.first_key_value() {
            None => true,
            Some((first, _)) => place == Some(Place(*first)),
        }
    }

    /// Waits at the end, or goes on waiting at its place.
    pub(crate) fn wait(&mut self, place: &mut Option<Place>, context: &Context<'_>) {
        let Place(number) = *place.get_or_insert_with(|| {
            self.next += 1;
            Place(self.next)
        });
        self.waiting.insert(number, context.waker().clone());
    }

    /// Leaves the line, if it was in it.
    pub(crate) fn leave(&mut self, place: &mut Option<Place>) {
        if let Some(Place(number)) = place.take() {
            self.waiting.remove(&number);
        }
    }

    /// How to wake the first.
    pub(crate) fn first(&self) -> Option<Waker> {
        self.waiting
            .first_key_value()
            .map(|(_, waker)| waker.clone())
    }

    /// How many wait.
    pub(crate) fn len(&self) -> usize {
        self.waiting.len()
    }
}
