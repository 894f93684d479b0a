//! [`OffsetMap`]: the newest offset of each key, in 24 bytes a key.
//!
//! Keys are kept as 128 bits of their BLAKE3 hash and never compared: of two keys that hash alike
//! the older one's record would be lost. By chance that takes some 2^64 keys. But producers choose
//! their keys, so the hash must also be one for which nobody can find a collision on purpose: MD5,
//! which Apache Kafka has here, and the fast hashes of hash tables are not.

use klamm_primitives::Offset;

/// Bytes of a key's entry: 16 of hash, 8 of offset.
const ENTRY_LEN: usize = 24;

/// Of 100 places so many are used, so that a search ends soon.
const LOAD_PERCENT: usize = 90;

/// A hash in two halves, and the offset plus one: zeros are an unused place.
type Place = [u64; 3];

/// From keys to offsets, with a bound on memory.
pub(super) struct OffsetMap {
    /// Open addressing: the next places are tried in turn.
    places: Vec<Place>,
    len: usize,
    len_max: usize,
    latest: Option<Offset>,
}

impl OffsetMap {
    /// A map of at most `bytes_max` bytes, less where `keys_max` keys need less. It has room for
    /// one key at least.
    pub(super) fn new(bytes_max: usize, keys_max: u64) -> Self {
        let places_max = (bytes_max / ENTRY_LEN).max(2);
        let wanted = keys_max
            .saturating_mul(100)
            .div_ceil(LOAD_PERCENT as u64)
            .saturating_add(1);
        let count =
            usize::try_from(wanted).map_or(places_max, |wanted| wanted.clamp(2, places_max));
        Self {
            places: vec![[0; 3]; count],
            len: 0,
            len_max: (count / 100 * LOAD_PERCENT + count % 100 * LOAD_PERCENT / 100).max(1),
            latest: None,
        }
    }

    /// Notes the offset of a key, in the place of an older one. `false` if the key is new and no
    /// room is left; nothing has changed then.
    pub(super) fn put(&mut self, key: &[u8], offset: Offset) -> bool {
        let hash = hash(key);
        let place = self.find(hash);
        let value = offset.get().cast_unsigned() + 1;
        if self.places[place][2] == 0 {
            if self.len == self.len_max {
                return false;
            }
            self.len += 1;
        }
        let [high, low] = hash;
        self.places[place] = [high, low, value];
        true
    }

    /// The newest offset of a key.
    pub(super) fn get(&self, key: &[u8]) -> Option<Offset> {
        let value = self.places[self.find(hash(key))][2];
        let value = value.checked_sub(1)?;
        Some(Offset::new(value.cast_signed()))
    }

    /// Says that all keys up to this offset are in the map.
    pub(super) fn set_latest(&mut self, offset: Offset) {
        self.latest = Some(offset);
    }

    /// Up to which offset, that one too, all keys are in the map.
    pub(super) fn latest(&self) -> Option<Offset> {
        self.latest
    }

    /// How many keys there are.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// The place of a hash, or the unused one where it would be put. There is always an unused
    /// one, since not all are ever used.
    fn find(&self, hash: [u64; 2]) -> usize {
        let [high, low] = hash;
        let count = self.places.len();
        // The upper half of the product lies in 0..count, evenly.
        let product = u128::from(high) * count as u128;
        let mut place = usize::try_from(product >> 64).expect("less than the count");
        while self.places[place][2] != 0 && self.places[place][..2] != [high, low] {
            place += 1;
            if place == count {
                place = 0;
            }
        }
        place
    }
}

fn hash(key: &[u8]) -> [u64; 2] {
    let hash = blake3::hash(key);
    let (halves, _) = hash.as_bytes().as_chunks::<8>();
    [u64::from_le_bytes(halves[0]), u64::from_le_bytes(halves[1])]
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn lg_211_a_key_takes_24_bytes_and_nine_tenths_of_the_places_are_used() {
        let mut map = OffsetMap::new(24 * 1000 + 23, u64::MAX);
        assert_eq!(map.places.len(), 1000);
        assert_eq!(size_of::<Place>(), 24);
        for key in 0..900_u32 {
            assert!(map.put(&key.to_be_bytes(), Offset::new(i64::from(key))));
        }
        assert!(!map.put(b"one too many", Offset::new(900)), "full");
        assert_eq!(map.get(b"one too many"), None);
        // A key that is there gets its newer offset all the same.
        assert!(map.put(&7_u32.to_be_bytes(), Offset::new(901)));
        assert_eq!(map.get(&7_u32.to_be_bytes()), Some(Offset::new(901)));
        assert_eq!(map.len(), 900);
    }

    #[test]
    fn lg_211_few_records_take_a_small_map() {
        let mut map = OffsetMap::new(128 << 20, 10);
        assert!(map.places.len() < 20);
        for key in 0..10_u8 {
            assert!(map.put(&[key], Offset::ZERO));
        }
        assert!(OffsetMap::new(0, 0).put(b"", Offset::ZERO));
    }

    proptest! {
        #[test]
        fn lg_211_it_is_a_map(
            puts in prop::collection::vec((0_u8..40, 0_i64..1000), 0..200),
            places in 2_usize..60,
        ) {
            let mut map = OffsetMap::new(24 * places, u64::MAX);
            let mut model = HashMap::new();
            for (key, offset) in puts {
                let fits = map.put(&[key], Offset::new(offset));
                if fits {
                    model.insert(key, offset);
                } else {
                    prop_assert!(!model.contains_key(&key));
                    prop_assert_eq!(model.len(), (places * 90 / 100).max(1));
                }
            }
            for key in 0..40 {
                let expected = model.get(&key).map(|offset| Offset::new(*offset));
                prop_assert_eq!(map.get(&[key]), expected);
            }
        }
    }
}
