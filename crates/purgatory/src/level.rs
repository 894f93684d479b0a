//! One wheel of the hierarchy: a ring of slots, and which of them hold anything.

use crate::list::List;

/// A ring of `slots` lists, each standing for `tick` ticks of the lowest wheel.
///
/// Of all the slots that time is divided into, the ring holds those from the one that contains
/// the present up to `slots - 1` later. The present one is empty: what falls into it belongs to a
/// lower wheel or is due.
#[derive(Debug)]
pub(crate) struct Level {
    /// Length of a slot, in ticks of the lowest wheel.
    tick: u64,
    slots: u32,
    /// The slot that contains the present, counted from the start of time.
    now: u64,
    /// The same slot's place in the ring: `now % slots`.
    position: u32,
    /// The first tick that is too far away for this ring.
    limit: u64,
    /// Bit `n` is set if the list at `n` is not empty. One word, hence at most 64 slots.
    occupied: u64,
    lists: Box<[List]>,
}

impl Level {
    pub(crate) fn new(tick: u64, slots: u32, now_tick: u64) -> Self {
        let mut level = Self {
            tick,
            slots,
            now: 0,
            position: 0,
            limit: 0,
            occupied: 0,
            lists: vec![List::EMPTY; slots as usize].into_boxed_slice(),
        };
        level.turn_to(now_tick / tick);
        level
    }

    /// The lowest wheel: its slots are single ticks.
    pub(crate) fn lowest(slots: u32, now_tick: u64) -> Self {
        Self::new(1, slots, now_tick)
    }

    /// The wheel above this one: a slot there is this whole ring. Only for a time that does not
    /// fit here, which shows that the product does not overflow.
    pub(crate) fn above(&self, now_tick: u64) -> Self {
        Self::new(self.tick * u64::from(self.slots), self.slots, now_tick)
    }

    pub(crate) fn holds(&self, tick: u64) -> bool {
        tick < self.limit
    }

    /// The slot that contains the present, counted from the start of time.
    pub(crate) fn now(&self) -> u64 {
        self.now
    }

    /// Makes `now` the slot that contains the present. The slots passed over must be empty; what
    /// is in the new one is to be taken with [`Level::empty_present`].
    pub(crate) fn turn_to(&mut self, now: u64) {
        let slots = u64::from(self.slots);
        self.now = now;
        self.position = below_64(now % slots);
        self.limit = now.saturating_add(slots).saturating_mul(self.tick);
    }

    /// Where `tick`, which the ring holds and which is in no lower ring, belongs: the position,
    /// and the tick at which that slot begins.
    #[inline]
    pub(crate) fn slot_of(&self, tick: u64) -> (u32, u64) {
        let slot = tick / self.tick;
        debug_assert!(slot > self.now && slot - self.now < u64::from(self.slots));
        let ahead = self.position + below_64(slot - self.now);
        let position = if ahead >= self.slots {
            ahead - self.slots
        } else {
            ahead
        };
        (position, slot * self.tick)
    }

    /// The tick at which the first slot ahead begins that holds anything.
    pub(crate) fn next_occupied(&self) -> Option<u64> {
        if self.occupied == 0 {
            return None;
        }
        let up_to_the_end = self.occupied & (u64::MAX << self.position);
        let ahead = if up_to_the_end == 0 {
            self.slots - self.position + self.occupied.trailing_zeros()
        } else {
            up_to_the_end.trailing_zeros() - self.position
        };
        debug_assert!(ahead > 0, "the present slot is empty");
        Some((self.now + u64::from(ahead)) * self.tick)
    }

    /// The list at `position`, about to be appended to.
    #[inline]
    pub(crate) fn list_to_fill(&mut self, position: u32) -> &mut List {
        self.occupied |= 1 << position;
        &mut self.lists[position as usize]
    }

    /// The list at `position`, to take a node out of; then [`Level::note_removal`].
    #[inline]
    pub(crate) fn list_mut(&mut self, position: u32) -> &mut List {
        &mut self.lists[position as usize]
    }

    #[inline]
    pub(crate) fn note_removal(&mut self, position: u32) {
        if self.lists[position as usize].is_empty() {
            self.occupied &= !(1 << position);
        }
    }

    /// Takes what is in the slot that has just become the present one.
    pub(crate) fn empty_present(&mut self) -> List {
        self.occupied &= !(1 << self.position);
        std::mem::replace(&mut self.lists[self.position as usize], List::EMPTY)
    }

    #[cfg(test)]
    pub(crate) fn tick(&self) -> u64 {
        self.tick
    }

    #[cfg(test)]
    pub(crate) fn lists(&self) -> impl Iterator<Item = (u32, bool, List)> {
        (0..self.slots).map(|position| {
            let marked = self.occupied >> position & 1 == 1;
            (position, marked, self.lists[position as usize])
        })
    }
}

/// A number of slots or a position among them.
#[inline]
fn below_64(number: u64) -> u32 {
    u32::try_from(number).expect("a ring has at most 64 slots")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_occupied_slot_is_found_around_the_end_of_the_ring() {
        for slots in [2, 3, 20, 63, 64] {
            for now in 0..2 * u64::from(slots) {
                for ahead in 1..u64::from(slots) {
                    let mut level = Level::lowest(slots, now);
                    let (position, start) = level.slot_of(now + ahead);
                    assert_eq!(start, now + ahead);
                    level.list_to_fill(position);
                    assert_eq!(level.next_occupied(), Some(now + ahead));
                }
            }
        }
    }

    #[test]
    fn of_two_occupied_slots_the_nearer_is_next() {
        for now in 0..20 {
            let mut level = Level::lowest(10, now);
            for tick in [now + 7, now + 4] {
                let (position, _) = level.slot_of(tick);
                level.list_to_fill(position);
            }
            assert_eq!(level.next_occupied(), Some(now + 4));
        }
    }
}
