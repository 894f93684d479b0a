//! The hierarchical timing wheel, in ticks: numbers in, values out, no time of its own.
//!
//! A deadline up to one ring of slots away sits in the slot of its own tick. What is farther away
//! sits in the next wheel, whose slots are as long as the whole ring below, and so on upwards;
//! a wheel is made when it is first needed. When the time reaches a slot of an upper wheel, what
//! is in it moves down, until it sits in the slot of its own tick.
//!
//! Costs. To add or to cancel: find the wheel (one comparison each), one division, one list
//! operation, no allocation but for the slab's growth. To advance: one step for each *occupied*
//! slot that has come, found through a word of bits per wheel; empty slots and idle wheels cost
//! nothing however long the jump. A value moves down at most once per wheel.

use crate::level::Level;
use crate::list::{Linked, Links, List, following};
use crate::slab::{Key, Slab};

/// Values, each with the tick at which it is due.
#[derive(Debug)]
pub(crate) struct TickWheel<T> {
    nodes: Slab<Node<T>>,
    /// From the lowest upwards, none until something waits.
    levels: Vec<Level>,
    /// What was due when it was added; it needs no move of the time.
    due: List,
    now: u64,
    slots: u32,
}

#[derive(Debug)]
struct Node<T> {
    deadline: u64,
    links: Links,
    place: Place,
    value: T,
}

impl<T> Linked for Node<T> {
    fn links(&self) -> &Links {
        &self.links
    }

    fn links_mut(&mut self) -> &mut Links {
        &mut self.links
    }
}

/// The list that a node is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Due,
    /// Level 0 is the lowest. At least two slots a wheel, so at most 64 levels.
    Slot {
        level: u8,
        position: u8,
    },
}

impl<T> TickWheel<T> {
    /// `slots` is at least 2 and at most 64.
    pub(crate) fn new(slots: u32) -> Self {
        debug_assert!((2..=64).contains(&slots));
        Self {
            nodes: Slab::new(),
            levels: Vec::new(),
            due: List::EMPTY,
            now: 0,
            slots,
        }
    }

    /// How many values wait, over all wheels.
    pub(crate) fn len(&self) -> usize {
        self.nodes.len()
    }

    pub(crate) fn contains(&self, key: Key) -> bool {
        self.nodes.contains(key)
    }

    /// Adds `value`, due at `deadline`, which is less than `u64::MAX`. With the key comes the tick at which
    /// [`TickWheel::advance`] will first have to do with it: no later than the deadline.
    pub(crate) fn insert(&mut self, deadline: u64, value: T) -> (Key, u64) {
        let key = self.nodes.insert(Node {
            deadline,
            links: Links::UNLINKED,
            place: Place::Due,
            value,
        });
        let visit = self.link(key.index);
        (key, visit)
    }

    /// Takes a value out. `None` if it is no longer there.
    pub(crate) fn remove(&mut self, key: Key) -> Option<T> {
        self.nodes.contains(key).then(|| {
            self.unlink(key.index);
            self.nodes.take_at(key.index).value
        })
    }

    /// Gives a waiting value another deadline, as for [`TickWheel::insert`]. False if it is no longer there.
    pub(crate) fn reschedule(&mut self, key: Key, deadline: u64) -> bool {
        let waits = self.nodes.contains(key);
        if waits {
            self.unlink(key.index);
            self.nodes.at_mut(key.index).deadline = deadline;
            self.link(key.index);
        }
        waits
    }

    /// The tick at which [`TickWheel::advance`] will next have anything to do. No deadline is
    /// earlier; the earliest may be later, by less than a slot of the wheel that it sits in.
    pub(crate) fn next_visit(&self) -> Option<u64> {
        if !self.due.is_empty() {
            return Some(self.now);
        }
        self.next_slot()
    }

    /// Moves the time to `now` and hands out all that is due, in order of ticks.
    /// A `now` that lies back leaves the time where it is.
    pub(crate) fn advance(&mut self, now: u64, expired: &mut Vec<T>) {
        let due = std::mem::replace(&mut self.due, List::EMPTY);
        self.hand_out_or_link(due, expired);
        while let Some(start) = self.next_slot()
            && start <= now
        {
            self.turn_to(start);
            // Slots of several wheels may begin together. From the top, since what an upper one
            // holds may belong into a lower one, ahead of the present.
            for level in (0..self.levels.len()).rev() {
                let list = self.levels[level].empty_present();
                self.hand_out_or_link(list, expired);
            }
        }
        self.catch_up(now);
    }

    /// Moves the time to `now` where nothing is to be visited up to then, which spares later
    /// additions a detour through upper wheels. A `now` that lies back changes nothing.
    pub(crate) fn catch_up(&mut self, now: u64) {
        debug_assert!(self.next_slot().is_none_or(|start| start > now));
        if now > self.now {
            self.turn_to(now);
        }
    }

    /// The tick at which the first of the occupied slots begins.
    fn next_slot(&self) -> Option<u64> {
        self.levels.iter().filter_map(Level::next_occupied).min()
    }

    fn turn_to(&mut self, now: u64) {
        self.now = now;
        let mut slot = now;
        for level in &mut self.levels {
            // A slot contains whole slots of the wheel below, so those above do not move either.
            if slot == level.now() {
                break;
            }
            level.turn_to(slot);
            slot /= u64::from(self.slots);
        }
    }

    /// Takes a list apart: what is due goes out, the rest to where it now belongs.
    fn hand_out_or_link(&mut self, list: List, expired: &mut Vec<T>) {
        let mut next = list.first();
        while let Some(index) = next {
            next = following(&self.nodes, index);
            if self.nodes.at(index).deadline <= self.now {
                expired.push(self.nodes.take_at(index).value);
            } else {
                self.link(index);
            }
        }
    }

    /// Puts a node that is in no list into the one where it belongs. Returns the tick at which
    /// that list will be visited.
    fn link(&mut self, index: u32) -> u64 {
        let deadline = self.nodes.at(index).deadline;
        debug_assert!(deadline < u64::MAX);
        if deadline <= self.now {
            self.nodes.at_mut(index).place = Place::Due;
            self.due.push_back(&mut self.nodes, index);
            return self.now;
        }
        let level = self.level_holding(deadline);
        let wheel = &mut self.levels[level];
        let (position, start) = wheel.slot_of(deadline);
        self.nodes.at_mut(index).place = Place::Slot {
            level: u8::try_from(level).expect("there are at most 64 levels"),
            position: u8::try_from(position).expect("there are at most 64 slots"),
        };
        wheel
            .list_to_fill(position)
            .push_back(&mut self.nodes, index);
        start
    }

    fn unlink(&mut self, index: u32) {
        match self.nodes.at(index).place {
            Place::Due => self.due.unlink(&mut self.nodes, index),
            Place::Slot { level, position } => {
                let wheel = &mut self.levels[usize::from(level)];
                let position = u32::from(position);
                wheel.list_mut(position).unlink(&mut self.nodes, index);
                wheel.note_removal(position);
            }
        }
    }

    /// The lowest wheel that reaches as far as `deadline`; makes those that are missing.
    fn level_holding(&mut self, deadline: u64) -> usize {
        if self.levels.is_empty() {
            self.levels.push(Level::lowest(self.slots, self.now));
        }
        let mut level = 0;
        while !self.levels[level].holds(deadline) {
            level += 1;
            if level == self.levels.len() {
                let above = self.levels[level - 1].above(self.now);
                self.levels.push(above);
            }
        }
        level
    }

    /// Bytes that one waiting value takes, with its place in the slab.
    #[cfg(test)]
    pub(crate) const fn bytes_per_value() -> usize {
        // The slab adds a generation; the deadline's alignment decides the rest.
        (size_of::<Node<T>>() + 4).next_multiple_of(align_of::<Node<T>>())
    }

    /// What must hold between any two calls.
    #[cfg(test)]
    pub(crate) fn assert_invariants(&self) {
        let nodes_of = |list: List| {
            std::iter::successors(list.first(), |&index| following(&self.nodes, index))
                .collect::<Vec<_>>()
        };
        let mut seen = 0;
        for index in nodes_of(self.due) {
            assert_eq!(self.nodes.at(index).place, Place::Due);
            assert!(self.nodes.at(index).deadline <= self.now);
            seen += 1;
        }
        let mut tick = 1;
        for (number, level) in self.levels.iter().enumerate() {
            assert_eq!(level.tick(), tick);
            assert_eq!(level.now(), self.now / tick);
            for (position, marked, list) in level.lists() {
                assert_eq!(marked, !list.is_empty());
                for index in nodes_of(list) {
                    let node = self.nodes.at(index);
                    let place = Place::Slot {
                        level: u8::try_from(number).unwrap(),
                        position: u8::try_from(position).unwrap(),
                    };
                    assert_eq!(node.place, place);
                    let ahead = node.deadline / tick - self.now / tick;
                    assert!(ahead > 0 && ahead < u64::from(self.slots));
                    seen += 1;
                }
            }
            tick = tick.saturating_mul(u64::from(self.slots));
        }
        assert_eq!(seen, self.len(), "each node is in exactly one list");
    }

    #[cfg(test)]
    pub(crate) fn level_ticks(&self) -> Vec<u64> {
        self.levels.iter().map(Level::tick).collect()
    }
}

#[cfg(test)]
mod tests;
