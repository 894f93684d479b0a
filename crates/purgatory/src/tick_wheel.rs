//! The hierarchical timing wheel, in ticks: numbers in, values out, no time of its own.
//!
//! A deadline up to one ring of slots away sits in the slot of its own tick. What is farther away
//! sits in the next wheel, whose slots are as long as the whole ring below, and so on upwards;
//! a wheel is made when it is first needed. When the time reaches a slot of an upper wheel, what
//! is in it moves down, until it sits in the slot of its own tick.
//!
//! Costs. To add or to cancel: find the wheel (one comparison each, from the top), one division,
//! one list operation, no allocation but for the slab's growth. To advance: one step for each
//! *occupied* slot that has come, found through a word of bits per wheel; empty slots and idle
//! wheels cost nothing however long the jump. A value moves down at most once per wheel.

use crate::level::Level;
use crate::list::{Links, List, Nodes};
use crate::slab::Slab;

/// The wheels: in which slot each node waits. The nodes themselves lie in a [`Slab`] of the
/// owner's, the same for all calls.
#[derive(Debug)]
pub(crate) struct TickWheel {
    /// From the lowest upwards, none until something waits.
    levels: Vec<Level>,
    /// What was due when it was added; it needs no move of the time.
    due: List,
    now: u64,
    slots: u32,
    len: usize,
}

/// The part of a node that the wheel works with.
#[derive(Debug)]
pub(crate) struct Timer {
    deadline: Tick,
    links: Links,
    place: Place,
}

/// A tick that is content with four-byte alignment, which saves each node eight bytes.
#[derive(Debug, Clone, Copy)]
#[repr(C, packed(4))]
struct Tick(u64);

impl Timer {
    /// Not set.
    pub(crate) const OFF: Self = Self {
        deadline: Tick(0),
        links: Links::UNLINKED,
        place: Place::NOWHERE,
    };
}

/// The list that a node is in: a wheel's slot, or one of two others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Place(u32);

impl Place {
    const NOWHERE: Self = Self(u32::MAX);
    const DUE: Self = Self(u32::MAX - 1);

    /// Level 0 is the lowest.
    #[inline]
    fn slot(level: usize, position: u32) -> Self {
        // At least two slots a wheel, so at most 64 levels.
        let level = u32::try_from(level).expect("there are at most 64 levels");
        Self(level << 6 | position)
    }

    /// Level and position of a slot.
    #[inline]
    fn level_and_position(self) -> (usize, u32) {
        ((self.0 >> 6) as usize, self.0 & 63)
    }
}

/// A node with a timer in it.
pub(crate) trait Timed {
    #[cfg(test)]
    fn timer(&self) -> &Timer;
    fn timer_mut(&mut self) -> &mut Timer;
}

impl<N: Timed> Nodes for Slab<N> {
    #[inline]
    fn links_mut(&mut self, node: u32) -> &mut Links {
        &mut self.at_mut(node).timer_mut().links
    }
}

impl TickWheel {
    /// `slots` is at least 2 and at most 64.
    pub(crate) fn new(slots: u32) -> Self {
        debug_assert!((2..=64).contains(&slots));
        Self {
            levels: Vec::new(),
            due: List::EMPTY,
            now: 0,
            slots,
            len: 0,
        }
    }

    /// How many timers are set, over all wheels.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Sets the timer of the node at `index`, which is off, to `deadline`, which is less than
    /// `u64::MAX`. Returns the tick at which [`TickWheel::advance`] will first have to do with it:
    /// no later than the deadline.
    #[inline]
    pub(crate) fn start<N: Timed>(
        &mut self,
        nodes: &mut Slab<N>,
        index: u32,
        deadline: u64,
    ) -> u64 {
        debug_assert!(deadline < u64::MAX);
        self.len += 1;
        self.link(nodes, index, deadline)
    }

    /// Takes the timer of the node at `index` off, if it is set.
    #[inline]
    pub(crate) fn stop<N: Timed>(&mut self, nodes: &mut Slab<N>, index: u32) {
        let timer = std::mem::replace(nodes.at_mut(index).timer_mut(), Timer::OFF);
        match timer.place {
            Place::NOWHERE => return,
            Place::DUE => self.due.close_gap(nodes, timer.links),
            slot => {
                let (level, position) = slot.level_and_position();
                let level = &mut self.levels[level];
                level.list_mut(position).close_gap(nodes, timer.links);
                level.note_removal(position);
            }
        }
        self.len -= 1;
    }

    /// Sets the timer of the node at `index` anew. Returns the same tick as
    /// [`TickWheel::start`].
    pub(crate) fn restart<N: Timed>(
        &mut self,
        nodes: &mut Slab<N>,
        index: u32,
        deadline: u64,
    ) -> u64 {
        self.stop(nodes, index);
        self.start(nodes, index, deadline)
    }

    /// The tick at which [`TickWheel::advance`] will next have anything to do. No deadline is
    /// earlier; the earliest may be later, by less than a slot of the wheel that it sits in.
    pub(crate) fn next_visit(&self) -> Option<u64> {
        if !self.due.is_empty() {
            return Some(self.now);
        }
        self.next_slot()
    }

    /// Moves the time to `now` and calls `expire` for all nodes that are due, in order of ticks.
    /// Their timers are off by then, and `expire` may take the node out of the slab.
    /// A `now` that lies back leaves the time where it is.
    pub(crate) fn advance<N: Timed>(
        &mut self,
        nodes: &mut Slab<N>,
        now: u64,
        mut expire: impl FnMut(&mut Slab<N>, u32),
    ) {
        let due = std::mem::replace(&mut self.due, List::EMPTY);
        self.expire_or_link(nodes, due, &mut expire);
        while let Some(start) = self.next_slot()
            && start <= now
        {
            self.turn_to(start);
            // Slots of several wheels may begin together. From the top, since what an upper one
            // holds may belong into a lower one, ahead of the present.
            for level in (0..self.levels.len()).rev() {
                let list = self.levels[level].empty_present();
                self.expire_or_link(nodes, list, &mut expire);
            }
        }
        self.catch_up(now);
    }

    /// Moves the time to `now` where nothing is to be visited up to then, which spares later
    /// timers a detour through upper wheels. A `now` that lies back changes nothing.
    #[inline]
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

    /// Takes a list apart: what is due expires, the rest goes to where it now belongs.
    fn expire_or_link<N: Timed>(
        &mut self,
        nodes: &mut Slab<N>,
        list: List,
        expire: &mut impl FnMut(&mut Slab<N>, u32),
    ) {
        let mut next = list.first();
        while let Some(index) = next {
            let timer = nodes.at_mut(index).timer_mut();
            next = timer.links.next();
            let Tick(deadline) = timer.deadline;
            if deadline <= self.now {
                *timer = Timer::OFF;
                self.len -= 1;
                expire(nodes, index);
            } else {
                self.link(nodes, index, deadline);
            }
        }
    }

    /// Appends a node to the list where its deadline belongs, and notes both in its timer.
    /// Returns the tick at which that list will be visited.
    #[inline]
    fn link<N: Timed>(&mut self, nodes: &mut Slab<N>, index: u32, deadline: u64) -> u64 {
        let (list, place, visit) = if deadline <= self.now {
            (&mut self.due, Place::DUE, self.now)
        } else {
            let number = self.level_holding(deadline);
            let level = &mut self.levels[number];
            let (position, start) = level.slot_of(deadline);
            let place = Place::slot(number, position);
            (level.list_to_fill(position), place, start)
        };
        let links = list.append(nodes, index);
        *nodes.at_mut(index).timer_mut() = Timer {
            deadline: Tick(deadline),
            links,
            place,
        };
        visit
    }

    /// The lowest wheel that reaches as far as `deadline`; makes those that are missing.
    ///
    /// Looks from the top, since each wheel reaches farther than those below it and most timers
    /// are set far ahead: the lower wheels are then not even read.
    #[inline]
    fn level_holding(&mut self, deadline: u64) -> usize {
        let too_short = |level: &Level| !level.holds(deadline);
        let level = match self.levels.iter().rposition(too_short) {
            Some(below) => below + 1,
            None => 0,
        };
        if level < self.levels.len() {
            level
        } else {
            self.make_levels_up_to(deadline)
        }
    }

    #[cold]
    fn make_levels_up_to(&mut self, deadline: u64) -> usize {
        loop {
            let next = match self.levels.last() {
                None => Level::lowest(self.slots, self.now),
                Some(highest) if highest.holds(deadline) => return self.levels.len() - 1,
                Some(highest) => highest.above(self.now),
            };
            self.levels.push(next);
        }
    }

    /// What must hold between any two calls.
    #[cfg(test)]
    pub(crate) fn assert_invariants<N: Timed>(&self, nodes: &Slab<N>) {
        let next = |index| nodes.at(index).timer().links.next();
        let mut seen = 0;
        for index in self.due.nodes(next) {
            let timer = nodes.at(index).timer();
            assert_eq!(timer.place, Place::DUE);
            let Tick(deadline) = timer.deadline;
            assert!(deadline <= self.now);
            seen += 1;
        }
        let mut tick = 1;
        for (number, level) in self.levels.iter().enumerate() {
            assert_eq!(level.tick(), tick);
            assert_eq!(level.now(), self.now / tick);
            for (position, marked, list) in level.lists() {
                assert_eq!(marked, !list.is_empty());
                for index in list.nodes(next) {
                    let timer = nodes.at(index).timer();
                    assert_eq!(timer.place, Place::slot(number, position));
                    let Tick(deadline) = timer.deadline;
                    let ahead = deadline / tick - self.now / tick;
                    assert!(ahead > 0 && ahead < u64::from(self.slots));
                    seen += 1;
                }
            }
            tick = tick.saturating_mul(u64::from(self.slots));
        }
        assert_eq!(seen, self.len, "each set timer is in exactly one list");
    }

    #[cfg(test)]
    pub(crate) fn level_ticks(&self) -> Vec<u64> {
        self.levels.iter().map(Level::tick).collect()
    }

    #[cfg(test)]
    pub(crate) fn now(&self) -> u64 {
        self.now
    }

    #[cfg(test)]
    pub(crate) fn level_nows(&self) -> Vec<u64> {
        self.levels.iter().map(Level::now).collect()
    }
}
