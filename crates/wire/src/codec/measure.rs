//! [`Measure`]: counts what [`Writer`](super::Writer) writes, and says what is wrong with it.

use klamm_primitives::varint;

use super::context::Context;
use super::fault::{MeasureFault, Unencodable};
use super::reader::STRING_LEN_MAX;
use super::unknown_tags::UnknownTags;

/// The greatest length that the protocol can say.
pub(super) const LEN_MAX: usize = i32::MAX as usize;

/// Kept out of the way, as it is seldom wanted and would stand in every array's code.
#[cold]
#[inline(never)]
fn long_varint_len(value: usize) -> usize {
    varint::u64_len(value as u64)
}

/// Lengths so far.
#[derive(Debug, Default)]
pub struct Measure {
    len: usize,
}

impl Measure {
    /// All bytes so far.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    #[inline]
    pub(crate) fn add(&mut self, len: usize) {
        self.len += len;
    }

    #[inline]
    fn varint(&mut self, value: usize) {
        self.len += match value {
            0..0x80 => 1,
            0x80..0x4000 => 2,
            _ => long_varint_len(value),
        };
    }

    /// The length in front of bytes or an array.
    #[inline]
    pub(crate) fn length(&mut self, len: usize, context: Context) -> Result<(), MeasureFault> {
        if len > LEN_MAX {
            return Err(MeasureFault::unencodable(Unencodable::TooLong { len }));
        }
        if context.is_flexible() {
            self.varint(len + 1);
        } else {
            self.len += size_of::<i32>();
        }
        Ok(())
    }

    /// Null in the place of bytes or an array.
    #[inline]
    pub(super) fn null(&mut self, context: Context) {
        self.len += if context.is_flexible() {
            1
        } else {
            size_of::<i32>()
        };
    }

    /// Null in the place of a string.
    #[inline]
    pub(super) fn null_string(&mut self, context: Context) {
        self.len += if context.is_flexible() {
            1
        } else {
            size_of::<i16>()
        };
    }

    #[inline]
    pub(super) fn string(&mut self, text: &str, context: Context) -> Result<(), MeasureFault> {
        let len = text.len();
        if len > STRING_LEN_MAX {
            return Err(MeasureFault::unencodable(Unencodable::StringTooLong {
                len,
            }));
        }
        self.len += len;
        if context.is_flexible() {
            self.varint(len + 1);
        } else {
            self.len += size_of::<i16>();
        }
        Ok(())
    }

    /// Bytes, be they here or supplied by somebody else.
    #[inline]
    pub(super) fn bytes(&mut self, len: usize, context: Context) -> Result<(), MeasureFault> {
        self.length(len, context)?;
        self.len += len;
        Ok(())
    }

    /// Begins a tagged field's value.
    #[inline]
    pub(crate) fn begin_tag(&self) -> usize {
        self.len
    }

    /// Adds what stands before the value that began at `start`.
    #[inline]
    pub(crate) fn end_tag(&mut self, tag: u32, start: usize) {
        let len = self.len - start;
        // A value too long for its size makes a message too long for its frame, which is
        // refused when all is measured.
        self.varint(tag as usize);
        self.varint(len);
    }

    /// The count in front of a tagged section.
    #[inline]
    pub(crate) fn tag_count(&mut self, count: u32) {
        self.varint(count as usize);
    }

    /// Those tagged fields that the schema does not name, and the count in front of all; `known`
    /// of them go with it. `is_known` has the tags that the schema names, and whether it does so
    /// in this version.
    #[cold]
    #[inline(never)]
    pub(crate) fn unknown_tags(
        &mut self,
        known: u32,
        unknown: &UnknownTags,
        is_known: &[(u32, bool)],
    ) -> Result<(), MeasureFault> {
        let mut count = known;
        for (tag, value) in unknown {
            if is_known.contains(&(*tag, true)) {
                let reason = Unencodable::KnownTag { tag: *tag };
                return Err(MeasureFault::unencodable(reason).within("unknown_tags"));
            }
            let start = self.begin_tag();
            self.len += value.len();
            self.end_tag(*tag, start);
            count += 1;
        }
        self.varint(count as usize);
        Ok(())
    }
}
