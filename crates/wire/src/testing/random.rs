//! [`Random`]: values that are legal in a version, out of any source of numbers.

use bytes::Bytes;
use bytestring::ByteString;
use klamm_primitives::{
    BrokerEpoch, BrokerId, LeaderEpoch, Offset, PartitionIndex, ProducerEpoch, ProducerId, Uuid,
};

use crate::broker_ids::BrokerIds;
use crate::codec::{Context, Records, UnknownTags};
use crate::error_code::ErrorCode;
use crate::header::CorrelationId;

/// Where random values come from: a seed, or bytes that a fuzzer chooses.
pub trait Entropy {
    /// The next 64 bits.
    fn draw(&mut self) -> u64;
}

/// Numbers out of a seed, the same ones each time (the generator `SplitMix64`).
#[derive(Debug, Clone)]
pub struct Seeded(u64);

impl Seeded {
    /// Starts at a seed.
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }
}

impl Entropy for Seeded {
    fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}

/// Bytes that somebody chose, one a number; when they have run out, zeros.
#[derive(Debug, Clone)]
pub struct Chosen<'a>(&'a [u8]);

impl<'a> Chosen<'a> {
    /// Starts at the first byte.
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }
}

impl Entropy for Chosen<'_> {
    fn draw(&mut self) -> u64 {
        match self.0 {
            [first, rest @ ..] => {
                self.0 = rest;
                // Spread over all bits, so that few bytes reach large numbers too.
                u64::from(*first).wrapping_mul(0x0101_0101_0101_0101)
            }
            [] => 0,
        }
    }
}

/// A type of which random values can be made.
pub trait Random: Sized {
    /// A value that is legal in the context's version.
    fn random(entropy: &mut dyn Entropy, context: Context) -> Self;
}

/// True once in eight times.
fn seldom(entropy: &mut dyn Entropy) -> bool {
    entropy.draw() % 8 == 7
}

/// Gives a field that `exists` a random value, but for a default now and then, which a tagged field
/// leaves out.
pub(crate) fn vary<T: Random>(
    field: &mut T,
    exists: bool,
    entropy: &mut dyn Entropy,
    context: Context,
) {
    if exists && !seldom(entropy) {
        *field = T::random(entropy, context);
    }
}

/// As [`vary`], for a field in which null may be legal. Where it is not, it is no default either.
pub(crate) fn vary_nullable<T: Random + Default>(
    field: &mut Option<T>,
    exists: bool,
    nullable: bool,
    entropy: &mut dyn Entropy,
    context: Context,
) {
    if exists && !seldom(entropy) {
        let null = nullable && seldom(entropy);
        *field = (!null).then(|| T::random(entropy, context));
    } else if exists && !nullable && field.is_none() {
        *field = Some(T::default());
    }
}

/// A length: short ones mostly, seldom one around where the form of a length changes.
fn length(entropy: &mut dyn Entropy) -> usize {
    let draw = entropy.draw();
    let around = [126, 127, 128, 300, 5000];
    match draw % 64 {
        0 => around[usize::try_from(draw / 64 % 5).unwrap_or_default()],
        short => usize::try_from(short % 12).unwrap_or_default(),
    }
}

/// A number whose extremes and neighbours of zero come often.
fn number(entropy: &mut dyn Entropy) -> i64 {
    let draw = entropy.draw();
    match draw % 8 {
        0 => 0,
        1 => -1,
        2 => 1,
        3 => i64::MAX,
        4 => i64::MIN,
        // Of any size: the shift leaves as many bits as it may.
        _ => (entropy.draw() >> (draw / 8 % 64)).cast_signed(),
    }
}

macro_rules! integers {
    ($($type:ty)*) => {$(
        impl Random for $type {
            #[expect(
                clippy::allow_attributes,
                reason = "not every type of the list truncates"
            )]
            #[allow(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                clippy::unnecessary_cast,
                reason = "any bits will do"
            )]
            fn random(entropy: &mut dyn Entropy, _: Context) -> Self {
                let number = number(entropy);
                match number {
                    i64::MAX => Self::MAX,
                    i64::MIN => Self::MIN,
                    _ => number as Self,
                }
            }
        }
    )*};
}

integers!(i8 i16 u16 i32 u32 i64);

macro_rules! newtypes {
    ($($type:ty)*) => {$(
        impl Random for $type {
            fn random(entropy: &mut dyn Entropy, context: Context) -> Self {
                Self::new(Random::random(entropy, context))
            }
        }
    )*};
}

newtypes! {
    BrokerEpoch BrokerId CorrelationId ErrorCode LeaderEpoch Offset PartitionIndex ProducerEpoch
    ProducerId
}

impl Random for bool {
    fn random(entropy: &mut dyn Entropy, _: Context) -> Self {
        entropy.draw() % 2 == 1
    }
}

impl Random for f64 {
    /// Any but those that are not numbers, as they are not equal to themselves.
    fn random(entropy: &mut dyn Entropy, _: Context) -> Self {
        let float = Self::from_bits(entropy.draw());
        if float.is_nan() { -0.0 } else { float }
    }
}

impl Random for Uuid {
    fn random(entropy: &mut dyn Entropy, _: Context) -> Self {
        let (high, low) = (entropy.draw(), entropy.draw());
        Self::from_u128(u128::from(high) << 64 | u128::from(low))
    }
}

impl Random for ByteString {
    fn random(entropy: &mut dyn Entropy, _: Context) -> Self {
        const CHARACTERS: [char; 8] = ['a', 'Z', '-', '0', '"', 'ß', '日', '🦀'];
        let text: String = (0..length(entropy))
            .map(|_| CHARACTERS[usize::try_from(entropy.draw() % 8).unwrap_or_default()])
            .collect();
        Self::from(text)
    }
}

impl Random for Bytes {
    fn random(entropy: &mut dyn Entropy, _: Context) -> Self {
        (0..length(entropy))
            .map(|_| entropy.draw().to_le_bytes()[0])
            .collect()
    }
}

impl Random for Records {
    fn random(entropy: &mut dyn Entropy, context: Context) -> Self {
        Self::Here(Bytes::random(entropy, context))
    }
}

impl<T: Random> Random for Vec<T> {
    fn random(entropy: &mut dyn Entropy, context: Context) -> Self {
        let count =
            [0, 1, 1, 1, 2, 2, 3, 5][usize::try_from(entropy.draw() % 8).unwrap_or_default()];
        let mut values = Self::with_capacity(count);
        while values.len() < count {
            values.push(T::random(entropy, context));
        }
        values
    }
}

impl Random for BrokerIds {
    fn random(entropy: &mut dyn Entropy, context: Context) -> Self {
        // Now and then more than it keeps in place.
        let mut ids = Vec::random(entropy, context);
        if seldom(entropy) {
            ids.extend(Vec::<BrokerId>::random(entropy, context));
        }
        ids.into()
    }
}

impl Random for UnknownTags {
    /// Seldom any, and with numbers that no schema has.
    fn random(entropy: &mut dyn Entropy, context: Context) -> Self {
        let mut tags = Self::new();
        if seldom(entropy) {
            for tag in [100, 128, 20_000, u32::MAX >> 1] {
                if bool::random(entropy, context) {
                    tags.insert(tag, Bytes::random(entropy, context));
                }
            }
        }
        tags
    }
}
