//! [`Uuid`] and [`TopicId`]: 128-bit names.

use std::fmt;
use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use thiserror::Error;

/// What names a topic for good: a topic made again under an old name has another id.
pub type TopicId = Uuid;

/// 16 bytes, the most significant half first, as they stand on the wire and on disk.
///
/// As text it is Kafka's form: URL-safe base64 without padding, 22 characters.
///
/// ```
/// use klamm_primitives::Uuid;
///
/// let id: Uuid = "AAAAAAAAAAAAAAAAAAAAAQ".parse().unwrap();
/// assert_eq!(id, Uuid::ONE);
/// ```
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Uuid([u8; 16]);

impl Uuid {
    /// All zero: how the protocol writes "none".
    pub const ZERO: Self = Self([0; 16]);

    /// The second reserved value: for long the id of the metadata topic.
    pub const ONE: Self = Self::from_u128(1);

    /// Wraps the bytes as they stand on the wire.
    #[inline]
    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// The number whose big-endian form the bytes are.
    #[inline]
    pub const fn from_u128(value: u128) -> Self {
        Self(value.to_be_bytes())
    }

    /// The bytes as they stand on the wire.
    #[inline]
    pub const fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }

    /// Whether this is the id that stands for "none".
    pub const fn is_zero(&self) -> bool {
        u128::from_be_bytes(self.0) == 0
    }

    /// A version 4 id out of 128 random bits.
    ///
    /// It is none of the reserved values, and its text holds no `-`, which a command line might
    /// take for an option: Apache Kafka draws again until that is so; here each `-` becomes an
    /// `e`, its likeness but for one bit, so that one draw is always enough.
    pub const fn from_random(random: u128) -> Self {
        let version = (random & !(0xf << VERSION_BIT)) | (0x4 << VERSION_BIT);
        let mut value = (version & !(0x3 << VARIANT_BIT)) | (0x2 << VARIANT_BIT);
        // The characters stand for six bits each, from the most significant on; the last stands
        // for two and is never a `-`. The version's bits are the first of a character, which
        // makes another of it, and the variant's are the last.
        let mut shift = 128 - BITS_OF_CHARACTER;
        while shift > 0 {
            if (value >> shift) & 0x3f == HYPHEN {
                value ^= 0x20 << shift;
            }
            shift = shift.saturating_sub(BITS_OF_CHARACTER);
        }
        Self::from_u128(value)
    }
}

/// The lowest of the four bits that say how the id was made.
const VERSION_BIT: u32 = 76;

/// The lowest of the two bits that say how the id is laid out.
const VARIANT_BIT: u32 = 62;

const BITS_OF_CHARACTER: u32 = 6;

/// What `-` stands for in the URL-safe alphabet.
const HYPHEN: u128 = 62;

impl fmt::Display for Uuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = [0; 22];
        let written = URL_SAFE_NO_PAD.encode_slice(self.0, &mut text);
        debug_assert_eq!(written, Ok(22), "16 bytes are 22 characters of base64");
        f.pad(std::str::from_utf8(&text).map_err(|_| fmt::Error)?)
    }
}

impl fmt::Debug for Uuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The text is not 22 characters of URL-safe base64 for 16 bytes.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("`{text}` is not an id: expected 22 characters of URL-safe base64 without padding")]
pub struct ParseUuidError {
    text: String,
}

impl FromStr for Uuid {
    type Err = ParseUuidError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut bytes = [0; 16];
        match URL_SAFE_NO_PAD.decode_slice(text, &mut bytes) {
            Ok(16) => Ok(Self(bytes)),
            _ => Err(ParseUuidError {
                text: text.to_owned(),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn wi_010_an_id_is_sixteen_bytes_the_most_significant_first() {
        let bytes: [u8; 16] = std::array::from_fn(|at| u8::try_from(at).unwrap());
        let id = Uuid::from_u128(0x0001_0203_0405_0607_0809_0a0b_0c0d_0e0f);
        assert_eq!(id, Uuid::from_bytes(bytes));
        assert_eq!(id.as_bytes(), &bytes);
        assert_eq!(size_of::<Uuid>(), 16);

        assert!(Uuid::ZERO.is_zero() && Uuid::default().is_zero());
        assert_eq!(Uuid::ZERO.as_bytes(), &[0; 16]);
        assert!(!Uuid::ONE.is_zero());
    }

    #[test]
    fn wi_011_text_is_url_safe_base64_without_padding() {
        let id = Uuid::from_u128(0xffef_bf00_0000_0000_0000_0000_0000_00ff);
        assert_eq!(id.to_string(), "_--_AAAAAAAAAAAAAAAA_w");
        assert_eq!("_--_AAAAAAAAAAAAAAAA_w".parse(), Ok(id));
        assert_eq!(Uuid::ZERO.to_string(), "AAAAAAAAAAAAAAAAAAAAAA");
        assert_eq!(
            format!("{:?} {:>24}", Uuid::ONE, Uuid::ONE),
            "AAAAAAAAAAAAAAAAAAAAAQ   AAAAAAAAAAAAAAAAAAAAAQ"
        );
    }

    #[test]
    fn text_of_another_form_is_refused() {
        for text in [
            "",
            "AAAAAAAAAAAAAAAAAAAAA",
            "AAAAAAAAAAAAAAAAAAAAAAA",
            "AAAAAAAAAAAAAAAAAAAAAQ==",
            // Bits that no byte holds.
            "AAAAAAAAAAAAAAAAAAAAAB",
            "+//+AAAAAAAAAAAAAAAA/w",
            " AAAAAAAAAAAAAAAAAAAAQ",
            "00000000-0000-0000-0000-000000000001",
            "ÄÄÄÄÄÄÄÄÄÄÄ",
            &"A".repeat(10_000),
        ] {
            let error = text.parse::<Uuid>().unwrap_err();
            assert!(error.to_string().contains(text));
        }
    }

    #[test]
    fn wi_011_fresh_ids_avoid_the_reserved_values() {
        for random in [0, 1, 2, u128::MAX] {
            let id = Uuid::from_random(random);
            assert!(![0, 1, 2].map(Uuid::from_u128).contains(&id));
        }
    }

    proptest! {
        #[test]
        fn wi_011_fresh_ids_hold_no_hyphen(
            random: u128,
            hyphens in prop::collection::vec(0u32..21, 0..4),
        ) {
            let random = hyphens.iter().fold(random, |random, character| {
                random | (HYPHEN << (122 - 6 * character))
            });
            let id = Uuid::from_random(random);
            prop_assert!(!id.to_string().contains('-'));
            prop_assert_eq!(id.as_bytes()[6] >> 4, 4, "version");
            prop_assert_eq!(id.as_bytes()[8] >> 6, 2, "variant");
            // All other bits are as drawn, but for one of each hyphen.
            let changed = (u128::from_be_bytes(*id.as_bytes()) ^ random).count_ones();
            let drawn = Uuid::from_u128(random).to_string();
            let hyphens = drawn.bytes().filter(|byte| *byte == b'-').count();
            // The variant can make a hyphen of what was none.
            prop_assert!(usize::try_from(changed).unwrap() <= 6 + hyphens + 1);
        }

        #[test]
        fn wi_011_text_and_id_stand_for_each_other(value: u128) {
            let id = Uuid::from_u128(value);
            let text = id.to_string();
            prop_assert_eq!(text.len(), 22);
            prop_assert_eq!(text.parse(), Ok(id));
        }

        #[test]
        fn any_text_parses_or_is_refused(text in ".{0,30}") {
            if let Ok(id) = text.parse::<Uuid>() {
                prop_assert_eq!(id.to_string(), text);
            }
        }
    }
}
