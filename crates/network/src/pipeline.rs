//! [`Pipeline`]: which request of a connection is handed out, and which answer may leave.

#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::time::Instant;

use crate::responder::Parked;

/// A request's place in the order of its connection; the first one has 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Turn(pub(crate) u64);

/// How a request ended: exactly one of these for each (NE-015).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Outcome<A> {
    /// By an answer.
    Answer(A),
    /// Without one.
    Nothing,
    /// With the connection, at the request's place in the order.
    Close,
}

/// The order of one connection's requests, of type `R`, and their answers, of type `A`.
///
/// At most one request is with a handler. When that one is answered or parked, the next may be
/// handed out, unless a parked request other than a produce, a throttle or a close that is to
/// come holds the connection. A request keeps its place from when it was read until the last byte
/// of its answer has gone to the socket, and there are only so many places. One request at most
/// is read ahead of being handed out. (NE-011 to NE-019)
#[derive(Debug)]
pub(crate) struct Pipeline<R, A> {
    places: usize,
    /// Oldest first. All that were not handed out yet are at the end.
    slots: VecDeque<Slot<R, A>>,
    /// The turn of the first slot.
    first: u64,
    /// How many slots at the front have been given to the writer, or have nothing for it.
    given: usize,
    throttled_until: Option<Instant>,
    /// No more requests come.
    input_ended: bool,
    /// Some slot closes the connection: nothing is read or handed out any more.
    closing: bool,
    /// [`Action::Close`] was given.
    closed: bool,
}

#[derive(Debug, PartialEq, Eq)]
enum Slot<R, A> {
    Waiting(R),
    WithHandler,
    Parked(Parked),
    Settled(Outcome<A>),
    /// The writer has the answer.
    Leaving,
    /// Without an answer, behind others that are leaving.
    Skipped,
}

/// What happens to a connection.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Event<R, A> {
    /// A request was read.
    Read(R),
    /// A request was read, and ended without a handler.
    ReadAndSettled(Outcome<A>),
    /// The peer sends no more.
    InputEnded,
    /// The handler of a request returned without an answer.
    Parked(Turn, Parked),
    /// A request ended.
    Settled(Turn, Outcome<A>),
    /// The connection is to be left alone until then; the latest of several counts.
    Throttled(Instant),
    /// The last byte of the oldest answer that was given has gone to the socket.
    Written,
    /// Time has passed.
    Tick,
}

/// What is to be done.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Action<R, A> {
    /// Put the request on the channel.
    HandOut(Turn, R),
    /// Send this behind what was given to be sent before.
    Write(A),
    /// Close the connection. Nothing follows.
    Close,
}

impl<R, A> Pipeline<R, A> {
    /// A connection of which so many requests may be unanswered; 0 counts as 1.
    pub(crate) fn new(places: usize) -> Self {
        Self {
            places: places.max(1),
            slots: VecDeque::new(),
            first: 0,
            given: 0,
            throttled_until: None,
            input_ended: false,
            closing: false,
            closed: false,
        }
    }

    /// Whether the next request may be read: a place is free, none waits to be handed out, and
    /// no throttle is active.
    pub(crate) fn is_readable(&self) -> bool {
        !self.input_ended
            && !self.closing
            && self.throttled_until.is_none()
            && self.slots.len() < self.places
            && !matches!(self.slots.back(), Some(Slot::Waiting(_)))
    }

    /// When to come back with [`Event::Tick`].
    pub(crate) const fn next_deadline(&self) -> Option<Instant> {
        self.throttled_until
    }

    /// Takes note of an event and appends what is to be done about it. An event for a request
    /// that has ended, or after the close, is ignored. (NE-028)
    pub(crate) fn handle(
        &mut self,
        now: Instant,
        event: Event<R, A>,
        actions: &mut Vec<Action<R, A>>,
    ) {
        match event {
            Event::Read(request) => self.slots.push_back(Slot::Waiting(request)),
            Event::ReadAndSettled(outcome) => self.settle_last(outcome),
            Event::InputEnded => self.input_ended = true,
            Event::Parked(turn, parked) => {
                if let Some(slot @ Slot::WithHandler) = self.slot(turn) {
                    *slot = Slot::Parked(parked);
                }
            }
            Event::Settled(turn, outcome) => self.settle(turn, outcome),
            Event::Throttled(until) => {
                self.throttled_until = self.throttled_until.max(Some(until));
            }
            Event::Written => self.written(),
            Event::Tick => {}
        }
        if self.throttled_until.is_some_and(|until| until <= now) {
            self.throttled_until = None;
        }
        if self.closed {
            return;
        }
        self.hand_out(actions);
        self.give(actions);
    }

    /// The answers that were settled and not given to be sent, oldest first, when the connection
    /// ends before they could be.
    pub(crate) fn into_unsent(self) -> impl Iterator<Item = A> {
        self.slots.into_iter().filter_map(|slot| match slot {
            Slot::Settled(Outcome::Answer(answer)) => Some(answer),
            _ => None,
        })
    }

    /// Whether a request is with a handler or parked: its first end counts, and no other.
    pub(crate) fn is_unsettled(&self, turn: Turn) -> bool {
        self.unsettled().any(|it| it == turn)
    }

    /// The requests that are with a handler or parked.
    pub(crate) fn unsettled(&self) -> impl Iterator<Item = Turn> {
        let turns = (self.first..).map(Turn).zip(&self.slots);
        turns.filter_map(|(turn, slot)| {
            matches!(slot, Slot::WithHandler | Slot::Parked(_)).then_some(turn)
        })
    }

    /// A request ends when the connection has; says whether it had not before.
    pub(crate) fn settle_unsent(&mut self, turn: Turn) -> bool {
        let is_first = self.is_unsettled(turn);
        self.settle(turn, Outcome::Nothing);
        is_first
    }

    fn slot(&mut self, turn: Turn) -> Option<&mut Slot<R, A>> {
        let index = usize::try_from(turn.0.checked_sub(self.first)?).ok()?;
        self.slots.get_mut(index)
    }

    fn settle(&mut self, turn: Turn, outcome: Outcome<A>) {
        let is_close = matches!(outcome, Outcome::Close);
        if let Some(slot @ (Slot::WithHandler | Slot::Parked(_))) = self.slot(turn) {
            *slot = Slot::Settled(outcome);
            self.closing |= is_close;
        }
    }

    fn settle_last(&mut self, outcome: Outcome<A>) {
        self.closing |= matches!(outcome, Outcome::Close);
        self.slots.push_back(Slot::Settled(outcome));
    }

    fn written(&mut self) {
        let leaving = self.slots.pop_front();
        assert!(
            matches!(leaving, Some(Slot::Leaving)),
            "what was written had been given to be written"
        );
        self.given -= 1;
        self.first += 1;
        self.drop_skipped();
    }

    /// Frees the places of those in front that have no answer.
    fn drop_skipped(&mut self) {
        while let Some(Slot::Skipped) = self.slots.front() {
            self.slots.pop_front();
            self.given -= 1;
            self.first += 1;
        }
    }

    fn hand_out(&mut self, actions: &mut Vec<Action<R, A>>) {
        if self.closing || self.throttled_until.is_some() || self.is_held() {
            return;
        }
        let turn = self.first + self.slots.len() as u64;
        if let Some(slot @ Slot::Waiting(_)) = self.slots.back_mut()
            && let Slot::Waiting(request) = std::mem::replace(slot, Slot::WithHandler)
        {
            actions.push(Action::HandOut(Turn(turn - 1), request));
        }
    }

    /// Whether some request keeps the next one from being handed out.
    fn is_held(&self) -> bool {
        self.slots
            .iter()
            .any(|slot| matches!(slot, Slot::WithHandler | Slot::Parked(Parked::Other)))
    }

    /// Passes on every answer whose turn has come.
    fn give(&mut self, actions: &mut Vec<Action<R, A>>) {
        while let Some(slot) = self.slots.get_mut(self.given) {
            match slot {
                Slot::Settled(Outcome::Close) if self.given > 0 => return,
                Slot::Settled(_) => {}
                _ => break,
            }
            match std::mem::replace(slot, Slot::Skipped) {
                Slot::Settled(Outcome::Answer(answer)) => {
                    *slot = Slot::Leaving;
                    self.given += 1;
                    actions.push(Action::Write(answer));
                }
                Slot::Settled(Outcome::Close) => {
                    self.closed = true;
                    actions.push(Action::Close);
                    return;
                }
                _ => {
                    self.given += 1;
                    self.drop_skipped();
                }
            }
        }
        if self.input_ended && self.slots.is_empty() {
            self.closed = true;
            actions.push(Action::Close);
        }
    }
}
