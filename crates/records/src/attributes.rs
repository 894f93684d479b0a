//! [`Attributes`]: the flags of a record batch.

use crate::compression::{Codec, UnknownCodec};

/// Whose time the records of a batch carry.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum TimestampType {
    /// Each record has the time that its producer gave it.
    #[default]
    Create,
    /// All records have the time of the leader that appended them: the batch's max timestamp.
    LogAppend,
}

/// The 16 bits of a batch that say how the rest is to be read.
///
/// | bits | meaning |
/// |---|---|
/// | 0 to 2 | codec: 0 none, 1 gzip, 2 snappy, 3 lz4, 4 zstd; 5 to 7 mean nothing |
/// | 3 | timestamp type: 0 create time, 1 log append time |
/// | 4 | transactional |
/// | 5 | control batch |
/// | 6 | delete horizon: the base timestamp is the time from which tombstones may go (KIP-534) |
/// | 7 to 15 | unused: written 0; what is read stays as it is |
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Attributes(u16);

const CODEC: u16 = 0b111;
const LOG_APPEND_TIME: u16 = 1 << 3;
const TRANSACTIONAL: u16 = 1 << 4;
const CONTROL: u16 = 1 << 5;
const DELETE_HORIZON: u16 = 1 << 6;

impl Attributes {
    /// Wraps the bits as they stand in a batch.
    pub const fn from_bits(bits: u16) -> Self {
        Self(bits)
    }

    /// The bits as they stand in a batch.
    pub const fn bits(self) -> u16 {
        self.0
    }

    /// How the records are compressed.
    ///
    /// # Errors
    /// [`UnknownCodec`] for 5, 6 and 7.
    pub fn codec(self) -> Result<Codec, UnknownCodec> {
        Codec::from_id((self.0 & CODEC) as u8)
    }

    /// Whose time the records carry.
    pub const fn timestamp_type(self) -> TimestampType {
        if self.0 & LOG_APPEND_TIME == 0 {
            TimestampType::Create
        } else {
            TimestampType::LogAppend
        }
    }

    /// Whether the batch belongs to a transaction.
    pub const fn is_transactional(self) -> bool {
        self.0 & TRANSACTIONAL != 0
    }

    /// Whether the batch holds control records, which no application sees.
    pub const fn is_control(self) -> bool {
        self.0 & CONTROL != 0
    }

    /// Whether the base timestamp is a delete horizon.
    pub const fn has_delete_horizon(self) -> bool {
        self.0 & DELETE_HORIZON != 0
    }

    /// The same with another codec.
    #[must_use]
    pub const fn with_codec(self, codec: Codec) -> Self {
        Self((self.0 & !CODEC) | codec.id() as u16)
    }

    /// The same with another timestamp type.
    #[must_use]
    pub const fn with_timestamp_type(self, timestamp_type: TimestampType) -> Self {
        match timestamp_type {
            TimestampType::Create => Self(self.0 & !LOG_APPEND_TIME),
            TimestampType::LogAppend => Self(self.0 | LOG_APPEND_TIME),
        }
    }

    /// The same, transactional.
    #[must_use]
    pub const fn with_transactional(self) -> Self {
        Self(self.0 | TRANSACTIONAL)
    }

    /// The same for control records.
    #[must_use]
    pub const fn with_control(self) -> Self {
        Self(self.0 | CONTROL)
    }

    /// The same with a delete horizon.
    #[must_use]
    pub const fn with_delete_horizon(self) -> Self {
        Self(self.0 | DELETE_HORIZON)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rb_007_each_flag_has_its_bit_and_unused_ones_stay() {
        let cases = [
            (0x04, TimestampType::Create, false, false, false),
            (0x0c, TimestampType::LogAppend, false, false, false),
            (0x14, TimestampType::Create, true, false, false),
            (0x24, TimestampType::Create, false, true, false),
            (0x44, TimestampType::Create, false, false, true),
            (0xff84, TimestampType::Create, false, false, false),
        ];
        for (bits, timestamp_type, transactional, control, delete_horizon) in cases {
            let attributes = Attributes::from_bits(bits);
            assert_eq!(attributes.codec(), Ok(Codec::Zstd), "{bits:#x}");
            assert_eq!(attributes.timestamp_type(), timestamp_type, "{bits:#x}");
            assert_eq!(attributes.is_transactional(), transactional, "{bits:#x}");
            assert_eq!(attributes.is_control(), control, "{bits:#x}");
            assert_eq!(attributes.has_delete_horizon(), delete_horizon, "{bits:#x}");
            assert_eq!(attributes.bits(), bits);
        }
        let codecs = [
            Codec::None,
            Codec::Gzip,
            Codec::Snappy,
            Codec::Lz4,
            Codec::Zstd,
        ];
        for (id, codec) in codecs.into_iter().enumerate() {
            let bits = u16::try_from(id).unwrap();
            assert_eq!(Attributes::from_bits(bits).codec(), Ok(codec));
            assert_eq!(Attributes::default().with_codec(codec).bits(), bits);
        }
        let all = Attributes::default()
            .with_timestamp_type(TimestampType::LogAppend)
            .with_transactional()
            .with_control()
            .with_delete_horizon();
        assert_eq!(all.bits(), 0b111_1000);
        assert_eq!(
            all.with_timestamp_type(TimestampType::Create).bits(),
            0b111_0000
        );
    }

    #[test]
    fn rb_008_codecs_5_to_7_are_an_error() {
        for id in 5..=7 {
            assert_eq!(
                Attributes::from_bits(id.into()).codec(),
                Err(UnknownCodec { id })
            );
        }
    }

    #[test]
    fn rb_015_a_batch_has_one_of_two_timestamp_types_whatever_its_bits() {
        for bits in 0..=u16::MAX {
            let expected = [TimestampType::Create, TimestampType::LogAppend];
            let timestamp_type = Attributes::from_bits(bits).timestamp_type();
            assert_eq!(timestamp_type, expected[usize::from(bits >> 3 & 1)]);
        }
    }
}
