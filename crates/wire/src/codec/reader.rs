//! [`Reader`]: walks through a body and takes slices of its frame.

use bytes::Bytes;
use bytestring::ByteString;

use super::context::Context;
use super::fault::{Malformed, ReadFault};
use super::primitive::{self, Parsed};
use super::unknown_tags::UnknownTags;

/// Bytes that a string has at most, in either form.
pub(super) const STRING_LEN_MAX: usize = 32767;

/// An array's room is taken at once only while it is at most so many times the bytes that are
/// left; beyond that it grows as elements really come. Structs in memory are a few times larger
/// than on the wire, so honest arrays are not hindered.
const RESERVED_PER_BYTE_LEFT: usize = 4;

/// What is left of a body, and the buffer that it lies in.
pub struct Reader<'a> {
    body: &'a Bytes,
    rest: &'a [u8],
    /// How many bytes of memory the elements of arrays may still take.
    memory_left: usize,
}

/// A tagged section while it is read.
pub(crate) struct Tags<'a> {
    left: u32,
    previous: Option<u32>,
    /// What follows the tagged field at hand.
    behind: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(crate) fn new(body: &'a Bytes, memory_max: usize) -> Self {
        Self {
            body,
            rest: body,
            memory_left: memory_max,
        }
    }

    /// How many bytes of the body are not read yet.
    #[inline]
    pub(crate) fn left(&self) -> usize {
        self.rest.len()
    }

    /// What is not read yet: the place of what comes next.
    #[inline]
    pub(crate) fn here(&self) -> &'a [u8] {
        self.rest
    }

    /// Says whether a nullable struct in a tagged field is there: 0 if not.
    pub(crate) fn marker_in_tag(&mut self) -> Result<u32, ReadFault> {
        self.parse(primitive::unsigned_varint)
    }

    /// Reads a primitive.
    #[inline]
    pub(super) fn parse<T>(
        &mut self,
        parser: impl FnOnce(&'a [u8]) -> Parsed<'a, T>,
    ) -> Result<T, ReadFault> {
        match parser(self.rest) {
            Ok((rest, value)) => {
                self.rest = rest;
                Ok(value)
            }
            Err(error) => Err(self.refused(error)),
        }
    }

    /// A fault at what is read next.
    #[cold]
    #[inline(never)]
    pub(crate) fn fault(&self, reason: Malformed) -> ReadFault {
        self.fault_at(self.rest, reason)
    }

    /// A fault at the start of `place`, a part of the body.
    #[cold]
    #[inline(never)]
    pub(crate) fn fault_at(&self, place: &[u8], reason: Malformed) -> ReadFault {
        let position = place.as_ptr().addr() - self.body.as_ptr().addr();
        ReadFault::malformed(position, reason)
    }

    #[cold]
    #[inline(never)]
    #[expect(clippy::needless_pass_by_value, reason = "the error ends here")]
    fn refused(&self, error: nom::Err<Malformed>) -> ReadFault {
        let reason = match error {
            nom::Err::Error(reason) | nom::Err::Failure(reason) => reason,
            nom::Err::Incomplete(_) => Malformed::Truncated,
        };
        self.fault(reason)
    }

    /// Reads the length of bytes or the count of an array; `None` is null.
    #[inline]
    fn length(&mut self, context: Context) -> Result<Option<u32>, ReadFault> {
        match self.short_length(context) {
            Some(length) => Ok(length.checked_sub(1)),
            None => self.long_length(context),
        }
    }

    /// As [`Self::length`], for strings.
    #[inline]
    fn string_length(&mut self, context: Context) -> Result<Option<u32>, ReadFault> {
        match self.short_length(context) {
            Some(length) => Ok(length.checked_sub(1)),
            None => self.long_string_length(context),
        }
    }

    /// Reads a length in the compact form of one byte, if it is one, as it stands there: 0 is null,
    /// 1 is empty.
    #[inline]
    fn short_length(&mut self, context: Context) -> Option<u32> {
        match self.rest {
            [first @ 0..0x80, rest @ ..] if context.is_flexible() => {
                self.rest = rest;
                Some(u32::from(*first))
            }
            _ => None,
        }
    }

    #[inline(never)]
    fn long_length(&mut self, context: Context) -> Result<Option<u32>, ReadFault> {
        if context.is_flexible() {
            return self.long_compact_length();
        }
        let start = self.rest;
        let length = i32::from_be_bytes(self.parse(primitive::fixed)?);
        self.old_length(start, i64::from(length))
    }

    #[inline(never)]
    fn long_string_length(&mut self, context: Context) -> Result<Option<u32>, ReadFault> {
        if context.is_flexible() {
            return self.long_compact_length();
        }
        let start = self.rest;
        let length = i16::from_be_bytes(self.parse(primitive::fixed)?);
        self.old_length(start, i64::from(length))
    }

    /// Reads a length in the compact form; what has two bytes is most of what is not short.
    #[inline]
    fn long_compact_length(&mut self) -> Result<Option<u32>, ReadFault> {
        let length = if let [low @ 0x80..=0xff, high @ 0..0x80, rest @ ..] = self.rest {
            self.rest = rest;
            u32::from(*low & 0x7f) | u32::from(*high) << 7
        } else {
            self.parse(primitive::unsigned_varint)?
        };
        Ok(length.checked_sub(1))
    }

    #[inline]
    fn old_length(&self, start: &[u8], length: i64) -> Result<Option<u32>, ReadFault> {
        match u32::try_from(length) {
            Ok(length) => Ok(Some(length)),
            Err(_) if length == -1 => Ok(None),
            Err(_) => Err(self.fault_at(start, Malformed::NegativeLength { length })),
        }
    }

    /// Takes the next `length` bytes; `start` is where the length stands.
    #[inline]
    fn take(&mut self, start: &[u8], length: u32) -> Result<&'a [u8], ReadFault> {
        match self.rest.split_at_checked(length as usize) {
            Some((taken, rest)) => {
                self.rest = rest;
                Ok(taken)
            }
            None => Err(self.fault_at(
                start,
                Malformed::LengthBeyondInput {
                    length,
                    left: self.rest.len(),
                },
            )),
        }
    }

    /// Finds bytes and steps over them; `None` is null.
    #[inline]
    pub(super) fn find_bytes(&mut self, context: Context) -> Result<Option<&'a [u8]>, ReadFault> {
        let start = self.rest;
        match self.length(context)? {
            Some(length) => self.take(start, length).map(Some),
            None => Ok(None),
        }
    }

    /// Finds a string's bytes and steps over them; `None` is null. Whether they are UTF-8 is still
    /// to be seen.
    #[inline]
    pub(super) fn find_string(&mut self, context: Context) -> Result<Option<&'a [u8]>, ReadFault> {
        let start = self.rest;
        let Some(length) = self.string_length(context)? else {
            return Ok(None);
        };
        if length as usize > STRING_LEN_MAX {
            return Err(self.fault_at(start, Malformed::StringTooLong { length }));
        }
        self.take(start, length).map(Some)
    }

    /// The bytes as a slice that keeps the frame alive.
    #[inline]
    pub(super) fn bytes(&self, found: &[u8]) -> Bytes {
        self.body.slice_ref(found)
    }

    /// The same for a string.
    #[inline]
    pub(super) fn string(&self, found: &[u8]) -> Result<ByteString, ReadFault> {
        match ByteString::try_from(self.body.slice_ref(found)) {
            Ok(text) => Ok(text),
            Err(error) => Err(self.fault_at(&found[error.valid_up_to()..], error.into())),
        }
    }

    /// Reads the count of an array whose elements take `len_min` bytes or more each on the wire;
    /// `None` is null. So many elements can be there, and there is memory for them.
    #[inline]
    pub(crate) fn count<T>(
        &mut self,
        context: Context,
        len_min: usize,
    ) -> Result<Option<usize>, ReadFault> {
        let start = self.rest;
        let Some(count) = self.length(context)? else {
            return Ok(None);
        };
        // An element of no bytes at all would let a count ask for any amount of work.
        let len_min = len_min.max(1);
        if (count as usize).saturating_mul(len_min) > self.rest.len() {
            return Err(self.too_many(start, count, len_min));
        }
        self.take_memory(start, count, count as usize * size_of::<T>())?;
        Ok(Some(count as usize))
    }

    #[cold]
    #[inline(never)]
    fn too_many(&self, start: &[u8], count: u32, len_min: usize) -> ReadFault {
        let left = self.rest.len();
        let reason = Malformed::CountBeyondInput {
            count,
            len_min,
            left,
        };
        self.fault_at(start, reason)
    }

    /// Counts memory that `count` elements take; `start` is where they are announced.
    #[inline]
    fn take_memory(&mut self, start: &[u8], count: u32, memory: usize) -> Result<(), ReadFault> {
        match self.memory_left.checked_sub(memory) {
            Some(left) => {
                self.memory_left = left;
                Ok(())
            }
            None => Err(self.too_much(start, count, memory)),
        }
    }

    #[cold]
    #[inline(never)]
    fn too_much(&self, start: &[u8], count: u32, memory: usize) -> ReadFault {
        let left = self.memory_left;
        let reason = Malformed::TooMuchMemory {
            count,
            memory,
            left,
        };
        self.fault_at(start, reason)
    }

    /// For how many of `count` elements, which are still to come, room is taken at once.
    #[inline]
    pub(super) fn room<T>(&self, count: usize) -> usize {
        let room = self.rest.len().saturating_mul(RESERVED_PER_BYTE_LEFT);
        count.min(room / size_of::<T>().max(1))
    }

    /// Takes the next `N` bytes, if there are so many.
    #[inline]
    pub(crate) fn run<const N: usize>(&mut self) -> Option<&'a [u8; N]> {
        let (run, rest) = self.rest.split_first_chunk()?;
        self.rest = rest;
        Some(run)
    }

    /// What is wrong where the input ends inside a run of fields, each with its name and its width.
    #[cold]
    #[inline(never)]
    pub(crate) fn cut_in_run(&mut self, fields: &[(&'static str, usize)]) -> ReadFault {
        for (name, width) in fields {
            match self.rest.get(*width..) {
                Some(rest) => self.rest = rest,
                None => return self.fault(Malformed::Truncated).within(name),
            }
        }
        self.fault(Malformed::Truncated)
    }

    /// Takes `count` elements of `len` bytes each; [`Self::count`] has seen that they are there.
    #[inline]
    pub(crate) fn elements(&mut self, count: usize, len: usize) -> Result<&'a [u8], ReadFault> {
        match self.rest.split_at_checked(count.saturating_mul(len)) {
            Some((taken, rest)) => {
                self.rest = rest;
                Ok(taken)
            }
            None => Err(self.fault(Malformed::Truncated)),
        }
    }

    /// Reads a tagged section of which no tag is known; nothing if the version has none.
    #[inline]
    pub(crate) fn unknown_tags(
        &mut self,
        unknown_tags: &mut UnknownTags,
        context: Context,
    ) -> Result<(), ReadFault> {
        if !context.is_flexible() {
            return Ok(());
        }
        if let [0, rest @ ..] = self.rest {
            self.rest = rest;
            return Ok(());
        }
        self.some_unknown_tags(unknown_tags, context)
    }

    #[cold]
    #[inline(never)]
    fn some_unknown_tags(
        &mut self,
        unknown_tags: &mut UnknownTags,
        context: Context,
    ) -> Result<(), ReadFault> {
        let mut tags = self.tags(context)?;
        while let Some(tag) = self.next_tag(&mut tags)? {
            self.unknown_tag(tag, unknown_tags)?;
            self.end_tag(tag, &tags)?;
        }
        Ok(())
    }

    /// Begins a tagged section, an empty one if the version has none.
    #[inline]
    pub(crate) fn tags(&mut self, context: Context) -> Result<Tags<'a>, ReadFault> {
        let left = if context.is_flexible() {
            self.parse(primitive::unsigned_varint)?
        } else {
            0
        };
        Ok(Tags {
            left,
            previous: None,
            behind: self.rest,
        })
    }

    /// The next tag; until [`Self::end_tag`] there is nothing left but its value.
    #[inline]
    pub(crate) fn next_tag(&mut self, tags: &mut Tags<'a>) -> Result<Option<u32>, ReadFault> {
        if tags.left == 0 {
            return Ok(None);
        }
        self.some_tag(tags).map(Some)
    }

    #[inline(never)]
    fn some_tag(&mut self, tags: &mut Tags<'a>) -> Result<u32, ReadFault> {
        tags.left -= 1;
        let start = self.rest;
        let tag = self.parse(primitive::unsigned_varint)?;
        if let Some(previous) = tags.previous.replace(tag)
            && previous >= tag
        {
            return Err(self.fault_at(start, Malformed::TagOrder { tag, previous }));
        }
        let start = self.rest;
        let length = self.parse(primitive::unsigned_varint)?;
        let value = self.take(start, length)?;
        tags.behind = std::mem::replace(&mut self.rest, value);
        Ok(tag)
    }

    /// Keeps the value of a tag that is not known. What that takes is counted like the elements
    /// of arrays: a tag of two bytes is some hundred bytes of memory.
    #[cold]
    pub(crate) fn unknown_tag(
        &mut self,
        tag: u32,
        unknown_tags: &mut UnknownTags,
    ) -> Result<(), ReadFault> {
        self.take_memory(self.rest, 1, unknown_tags.memory_of_next())?;
        let (value, end) = self.rest.split_at(self.rest.len());
        unknown_tags.push(tag, self.body.slice_ref(value));
        self.rest = end;
        Ok(())
    }

    /// Goes on behind the tag's value, which must be used up.
    #[inline]
    pub(crate) fn end_tag(&mut self, tag: u32, tags: &Tags<'a>) -> Result<(), ReadFault> {
        if !self.rest.is_empty() {
            let left = self.rest.len();
            return Err(self.fault(Malformed::TagNotUsedUp { tag, left }));
        }
        self.rest = tags.behind;
        Ok(())
    }
}
