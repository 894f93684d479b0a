//! A slab: values in one vector, found by index in constant time, their places reused.
//!
//! A [`Key`] carries the index and the generation of its value, so a key whose value has gone
//! finds nothing, even when another value has the place. Code inside the crate that knows a value
//! to be there (a link from a neighbour) uses the bare index.

use std::num::NonZeroU32;

/// No place: the end of the list of vacant ones.
const NONE: u32 = u32::MAX;

/// Indices are less than this, which leaves the highest bit to whoever links to them.
pub(crate) const PLACES_MAX: u32 = 1 << 31;

/// What an emptied slab keeps of its memory, in places; above that it gives all of it back, so
/// that a burst leaves nothing behind.
pub(crate) const PLACES_KEPT_MAX: usize = 64;

/// Where a value is, and which of the values that were ever there.
///
/// Generations are drawn from one counter per slab and are used again after 2³² insertions. A
/// stale key is taken for a live one only if it was kept over exactly a multiple of that.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    pub(crate) index: u32,
    generation: NonZeroU32,
}

#[derive(Debug)]
enum Place<T> {
    Vacant { next: u32 },
    Occupied { generation: NonZeroU32, value: T },
}

/// Values under [`Key`]s. Insertion and removal take constant time (insertion amortised).
#[derive(Debug)]
pub(crate) struct Slab<T> {
    places: Vec<Place<T>>,
    first_vacant: u32,
    len: usize,
    next_generation: NonZeroU32,
}

impl<T> Slab<T> {
    pub(crate) const fn new() -> Self {
        Self {
            places: Vec::new(),
            first_vacant: NONE,
            len: 0,
            next_generation: NonZeroU32::MIN,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// The index that the next value to be inserted will have, so that others can be linked to it
    /// before it is there.
    ///
    /// # Panics
    /// With 2³¹ values in place, which is far beyond any memory that holds them.
    #[inline]
    pub(crate) fn next_index(&mut self) -> u32 {
        if self.first_vacant == NONE {
            self.add_place();
        }
        self.first_vacant
    }

    /// Puts a value at [`Slab::next_index`].
    #[inline]
    pub(crate) fn insert(&mut self, value: T) -> Key {
        let index = self.next_index();
        let generation = self.next_generation;
        self.next_generation = generation.checked_add(1).unwrap_or(NonZeroU32::MIN);
        self.len += 1;
        let place = &mut self.places[index as usize];
        let Place::Vacant { next } = *place else {
            unreachable!("the list of vacant places leads to vacant places");
        };
        self.first_vacant = next;
        *place = Place::Occupied { generation, value };
        Key { index, generation }
    }

    #[cold]
    fn add_place(&mut self) {
        let index = u32::try_from(self.places.len()).unwrap_or(NONE);
        assert!(index < PLACES_MAX, "a slab is full");
        self.places.push(Place::Vacant { next: NONE });
        self.first_vacant = index;
    }

    pub(crate) fn get_mut(&mut self, key: Key) -> Option<&mut T> {
        match self.places.get_mut(key.index as usize) {
            Some(Place::Occupied { generation, value }) if *generation == key.generation => {
                Some(value)
            }
            _ => None,
        }
    }

    pub(crate) fn contains(&self, key: Key) -> bool {
        matches!(
            self.places.get(key.index as usize),
            Some(Place::Occupied { generation, .. }) if *generation == key.generation
        )
    }

    /// The value at `index`.
    ///
    /// # Panics
    /// If there is none: links inside the crate lead to values only.
    #[inline]
    pub(crate) fn at(&self, index: u32) -> &T {
        match &self.places[index as usize] {
            Place::Occupied { value, .. } => value,
            Place::Vacant { .. } => unreachable!("a link leads to a value"),
        }
    }

    /// As [`Slab::at`].
    #[inline]
    pub(crate) fn at_mut(&mut self, index: u32) -> &mut T {
        match &mut self.places[index as usize] {
            Place::Occupied { value, .. } => value,
            Place::Vacant { .. } => unreachable!("a link leads to a value"),
        }
    }

    /// The full key of the value at `index`, which must be there.
    pub(crate) fn key_at(&self, index: u32) -> Key {
        match self.places[index as usize] {
            Place::Occupied { generation, .. } => Key { index, generation },
            Place::Vacant { .. } => unreachable!("a link leads to a value"),
        }
    }

    /// Takes out the value under `key`, if it is still there.
    #[inline]
    pub(crate) fn take(&mut self, key: Key) -> Option<T> {
        self.contains(key).then(|| self.take_at(key.index))
    }

    /// Takes out the value at `index`, which must be there.
    #[inline]
    pub(crate) fn take_at(&mut self, index: u32) -> T {
        let vacant = Place::Vacant {
            next: self.first_vacant,
        };
        let place = std::mem::replace(&mut self.places[index as usize], vacant);
        let Place::Occupied { value, .. } = place else {
            unreachable!("a link leads to a value");
        };
        self.note_vacant(index);
        value
    }

    /// As [`Slab::take_at`], and drops the value where it is, which spares moving a large one.
    #[inline]
    pub(crate) fn remove_at(&mut self, index: u32) {
        let place = &mut self.places[index as usize];
        assert!(
            matches!(place, Place::Occupied { .. }),
            "a link leads to a value"
        );
        *place = Place::Vacant {
            next: self.first_vacant,
        };
        self.note_vacant(index);
    }

    #[inline]
    fn note_vacant(&mut self, index: u32) {
        self.first_vacant = index;
        self.len -= 1;
        if self.len == 0 && self.places.capacity() > PLACES_KEPT_MAX {
            self.places = Vec::new();
            self.first_vacant = NONE;
        }
    }

    /// What a value takes, the place that it is in included.
    #[cfg(test)]
    pub(crate) const BYTES_PER_VALUE: usize = size_of::<Place<T>>();

    #[cfg(test)]
    pub(crate) fn capacity(&self) -> usize {
        self.places.capacity()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_outlives_its_value_without_finding_the_next_one() {
        let mut slab = Slab::new();
        let first = slab.insert("first");
        assert_eq!(slab.take_at(first.index), "first");
        let second = slab.insert("second");
        assert_eq!(second.index, first.index);
        assert!(!slab.contains(first));
        assert_eq!(slab.get_mut(first), None);
        assert_eq!(slab.get_mut(second), Some(&mut "second"));
        assert_eq!(slab.key_at(second.index), second);
    }

    #[test]
    fn vacant_places_are_used_before_new_ones() {
        let mut slab = Slab::new();
        let keys: Vec<Key> = (0..10).map(|value| slab.insert(value)).collect();
        for key in &keys[3..6] {
            slab.remove_at(key.index);
        }
        let again: Vec<u32> = (0..3).map(|value| slab.insert(value).index).collect();
        assert_eq!(again, [5, 4, 3]);
        assert_eq!(slab.insert(9).index, 10);
        assert_eq!(slab.len(), 11);
    }

    #[test]
    fn an_emptied_slab_gives_its_memory_back_and_its_old_keys_stay_dead() {
        let mut slab = Slab::new();
        let keys: Vec<Key> = (0..1000).map(|value| slab.insert(value)).collect();
        for key in &keys {
            slab.take_at(key.index);
        }
        assert_eq!((slab.len(), slab.capacity()), (0, 0));
        let new = slab.insert(1);
        assert_eq!(new.index, keys[0].index);
        assert!(!slab.contains(keys[0]));
    }

    #[test]
    fn the_generation_costs_four_bytes_and_vacancy_none() {
        assert_eq!(size_of::<Place<[u32; 5]>>(), 24);
        assert_eq!(size_of::<Option<Key>>(), 8);
    }

    #[test]
    fn generations_wrap_past_zero() {
        let mut slab = Slab::new();
        slab.next_generation = NonZeroU32::MAX;
        let last = slab.insert(1);
        let wrapped = slab.insert(2);
        assert_eq!(last.generation, NonZeroU32::MAX);
        assert_eq!(wrapped.generation, NonZeroU32::MIN);
    }
}
