//! The hash by which keys are spread over partitions.
//!
//! It is Austin Appleby's second `MurmurHash` in 32 bits, reading four bytes at a time with the
//! lowest first. All clients must agree on each bit, or records of one key would go to different
//! partitions.

use std::num::NonZeroU32;

use crate::PartitionIndex;

/// Where all clients start.
const SEED: u32 = 0x9747_b28c;

const MULTIPLIER: u32 = 0x5bd1_e995;

/// The hash of a key, signed as the protocol's clients have it.
///
/// ```
/// assert_eq!(klamm_primitives::murmur2(b"foobar"), -790_332_482);
/// ```
#[expect(
    clippy::cast_possible_truncation,
    reason = "the length counts modulo 2^32; a key is shorter"
)]
pub fn murmur2(key: &[u8]) -> i32 {
    let (words, tail) = key.as_chunks::<4>();
    let mut hash = SEED ^ key.len() as u32;
    for word in words {
        let mut word = u32::from_le_bytes(*word).wrapping_mul(MULTIPLIER);
        word = (word ^ (word >> 24)).wrapping_mul(MULTIPLIER);
        hash = hash.wrapping_mul(MULTIPLIER) ^ word;
    }
    if !tail.is_empty() {
        let mut word = [0; 4];
        word[..tail.len()].copy_from_slice(tail);
        hash = (hash ^ u32::from_le_bytes(word)).wrapping_mul(MULTIPLIER);
    }
    hash = (hash ^ (hash >> 13)).wrapping_mul(MULTIPLIER);
    (hash ^ (hash >> 15)).cast_signed()
}

/// The partition of a key in a topic of so many partitions.
///
/// The sign bit of the hash is masked away. Its absolute value would be another number, and
/// -2147483648 has none.
///
/// ```
/// use std::num::NonZeroU32;
/// use klamm_primitives::{PartitionIndex, partition_for_key};
///
/// let count = NonZeroU32::new(12).unwrap();
/// assert_eq!(partition_for_key(b"order-1", count), PartitionIndex::new(10));
/// ```
pub fn partition_for_key(key: &[u8], partition_count: NonZeroU32) -> PartitionIndex {
    partition_for_hash(murmur2(key), partition_count)
}

fn partition_for_hash(hash: i32, partition_count: NonZeroU32) -> PartitionIndex {
    let masked = hash & i32::MAX;
    PartitionIndex::new((masked.cast_unsigned() % partition_count).cast_signed())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn wi_099_murmur2_hashes_as_every_other_client() {
        let expected: [(&[u8], i32); 7] = [
            (b"21", -973_932_308),
            (b"foobar", -790_332_482),
            (b"a-little-bit-long-string", -985_981_536),
            (b"a-little-bit-longer-string", -1_486_304_829),
            (b"abc", 479_470_107),
            (
                b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8",
                -58_897_971,
            ),
            (b"", 275_646_681),
        ];
        for (key, hash) in expected {
            assert_eq!(murmur2(key), hash, "{key:?}");
        }
    }

    #[test]
    fn wi_100_the_sign_bit_is_masked_away() {
        let of = |hash, count| partition_for_hash(hash, NonZeroU32::new(count).unwrap()).get();
        // The absolute value of -1 would give 1.
        assert_eq!(of(-1, 10), i32::MAX % 10);
        assert_eq!(of(i32::MIN, 10), 0);
        assert_eq!(of(i32::MIN + 1, 10), 1);
        assert_eq!(of(i32::MAX, 1), 0);
        assert_eq!(of(i32::MAX, u32::MAX), i32::MAX);
    }

    proptest! {
        #[test]
        fn a_key_is_always_in_the_topic(key: Vec<u8>, count in 1u32..=i32::MAX.cast_unsigned()) {
            let partition = partition_for_key(&key, NonZeroU32::new(count).unwrap()).get();
            prop_assert!((0..count.cast_signed()).contains(&partition));
        }
    }
}
