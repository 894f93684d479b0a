//! [`Writer`]: writes values as they come, and checks them on the way.

use std::slice;

use bytes::Bytes;
use klamm_primitives::varint;

use super::context::Context;
use super::encoded::{Encoded, Piece};
use super::fault::MeasureFault;
use super::measure::{LEN_MAX, Measure};
use super::reader::STRING_LEN_MAX;
use super::unknown_tags::UnknownTags;

/// Bytes of this length or more are passed on by reference, not copied. A piece of its own costs
/// some 90 ns (a reference counted up and down, two places in a vectored write), which is what it
/// costs to copy so many bytes.
const APART_LEN_MIN: usize = 2048;

/// Room for so many bytes is taken at first: more than most messages have that are not large.
const ROOM_MIN: usize = 512;

/// With less room left than this where an array begins, more is taken.
const ROOM_LOW: usize = ROOM_MIN / 2;

/// From this length on the buffer doubles; below it becomes four times as large, as then what was
/// written is copied.
const DOUBLES_FROM: usize = 128 * 1024;

/// Where there is no room for something, so many like it are expected.
const MORE_LIKE_IT: usize = 16;

/// A message while it is written.
///
/// What the version cannot say is noted and the rest is written all the same: it hardly ever
/// happens, and to tell which field it was is [`Measure`]'s, which walks over the message again.
/// Thus a good message is walked over once.
#[derive(Debug)]
pub struct Writer {
    /// What is copied, without breaks.
    copied: Vec<u8>,
    /// What comes between, each with the number of copied bytes before it.
    apart: Vec<(usize, Piece)>,
    len_apart: usize,
    /// Bytes in front for a frame's size.
    size_len: usize,
    refused: bool,
}

impl Writer {
    /// Writes a message.
    pub(crate) fn new() -> Self {
        Self {
            copied: Vec::with_capacity(ROOM_MIN),
            apart: Vec::new(),
            len_apart: 0,
            size_len: 0,
            refused: false,
        }
    }

    /// Writes what makes up a frame, whose size is put in front at the end.
    pub(crate) fn of_frame() -> Self {
        let size = [0; size_of::<i32>()];
        let mut writer = Self::new();
        writer.put(size);
        writer.size_len = size.len();
        writer
    }

    /// What was written; `None` if the version cannot say it, or it is longer than can be said.
    pub(crate) fn finish(mut self) -> Option<Encoded> {
        let len = (self.copied.len() - self.size_len).saturating_add(self.len_apart);
        if self.refused || len > LEN_MAX {
            return None;
        }
        if let Some(size) = self.copied.first_chunk_mut().filter(|_| self.size_len > 0) {
            *size = u32::try_from(len).ok()?.to_be_bytes();
        }
        Some(Encoded::new(self.copied.into(), self.apart))
    }

    /// Takes more room, if there is less than `len` bytes.
    #[inline]
    fn make_room(&mut self, len: usize) {
        if self.copied.capacity() - self.copied.len() < len {
            self.grow(len);
        }
    }

    /// Takes more room, and much of it: large messages are made of many small parts.
    #[cold]
    #[inline(never)]
    fn grow(&mut self, len: usize) {
        let now = self.copied.capacity();
        let more = if now < DOUBLES_FROM { 3 * now } else { now };
        self.copied.reserve(more.max(MORE_LIKE_IT * len));
    }

    /// Notes that there is something which cannot be written.
    #[inline]
    pub(crate) fn refuse(&mut self) {
        self.refused = true;
    }

    #[inline]
    pub(crate) fn put<const N: usize>(&mut self, bytes: [u8; N]) {
        self.copied.extend_from_slice(&bytes);
    }

    #[inline]
    pub(crate) fn copy(&mut self, bytes: &[u8]) {
        self.copied.extend_from_slice(bytes);
    }

    #[inline]
    pub(super) fn varint(&mut self, value: u32) {
        let [low, high, ..] = value.to_le_bytes();
        if value < 0x80 {
            self.put([low]);
        } else if value < 0x4000 {
            self.put([low | 0x80, (high << 1) | (low >> 7)]);
        } else {
            self.long_varint(u64::from(value));
        }
    }

    #[cold]
    #[inline(never)]
    fn long_varint(&mut self, value: u64) {
        let encoded = varint::encode_u64(value);
        self.copy(encoded.as_slice());
    }

    /// The length in front of bytes or an array.
    #[inline]
    pub(crate) fn length(&mut self, len: usize, context: Context) {
        self.refused |= len > LEN_MAX;
        self.make_room(ROOM_LOW);
        #[expect(
            clippy::cast_possible_truncation,
            reason = "nothing is made of what was refused"
        )]
        let length = len as u32;
        if context.is_flexible() {
            self.varint(length.wrapping_add(1));
        } else {
            self.put(length.to_be_bytes());
        }
    }

    /// Null in the place of bytes or an array.
    #[inline]
    pub(super) fn null(&mut self, context: Context) {
        if context.is_flexible() {
            self.put([0]);
        } else {
            self.put((-1i32).to_be_bytes());
        }
    }

    /// Null in the place of a string.
    #[inline]
    pub(super) fn null_string(&mut self, context: Context) {
        if context.is_flexible() {
            self.put([0]);
        } else {
            self.put((-1i16).to_be_bytes());
        }
    }

    #[inline]
    pub(super) fn string(&mut self, text: &str, context: Context) {
        self.refused |= text.len() > STRING_LEN_MAX;
        #[expect(
            clippy::cast_possible_truncation,
            reason = "nothing is made of what was refused"
        )]
        let length = text.len() as u16;
        if context.is_flexible() {
            self.varint(u32::from(length) + 1);
        } else {
            self.put(length.to_be_bytes());
        }
        self.copy(text.as_bytes());
    }

    pub(super) fn bytes(&mut self, bytes: &Bytes, context: Context) {
        self.length(bytes.len(), context);
        if bytes.len() >= APART_LEN_MIN {
            self.apart(Piece::Bytes(bytes.clone()));
        } else {
            self.make_room(bytes.len());
            self.copy(bytes);
        }
    }

    pub(super) fn gap(&mut self, len: usize, context: Context) {
        self.length(len, context);
        self.apart(Piece::Gap(len));
    }

    fn apart(&mut self, piece: Piece) {
        // What saturates is refused for its length.
        self.len_apart = self.len_apart.saturating_add(piece.len());
        self.apart.push((self.copied.len(), piece));
    }

    /// The count in front of a tagged section.
    #[inline]
    pub(crate) fn tag_count(&mut self, known: u32, unknown: &UnknownTags) {
        #[expect(
            clippy::cast_possible_truncation,
            reason = "tags are distinct 32-bit numbers"
        )]
        let unknown = unknown.iter().len() as u32;
        self.varint(known + unknown);
    }

    /// What stands before the value that `measure` measures.
    #[inline]
    pub(crate) fn known_tag(
        &mut self,
        tag: u32,
        measure: impl FnOnce(&mut Measure) -> Result<(), MeasureFault>,
    ) {
        let mut lengths = Measure::default();
        self.refused |= measure(&mut lengths).is_err();
        self.tag(tag, lengths.len());
    }

    /// What stands before a tagged field's value of `len` bytes.
    fn tag(&mut self, tag: u32, len: usize) {
        self.varint(tag);
        self.long_varint(len as u64);
    }

    /// A whole tagged section of which no field is known; nothing if the version has none.
    #[inline]
    pub(crate) fn unknown_tags(&mut self, tags: &UnknownTags, context: Context) {
        if !tags.is_empty() {
            self.some_unknown_tags(tags, context);
        } else if context.is_flexible() {
            self.put([0]);
        }
    }

    #[cold]
    #[inline(never)]
    fn some_unknown_tags(&mut self, tags: &UnknownTags, context: Context) {
        if !context.is_flexible() {
            return self.refuse();
        }
        self.tag_count(0, tags);
        self.unknown_tags_rest(tags.iter());
    }

    /// Refuses unknown tags that the schema names. `is_known` has those, each with whether it does so
    /// in this version.
    #[cold]
    #[inline(never)]
    pub(crate) fn refuse_known(&mut self, tags: &UnknownTags, is_known: &[(u32, bool)]) {
        let mut tags = tags.iter();
        self.refused |= tags.any(|(tag, _)| is_known.contains(&(*tag, true)));
    }

    /// Those unknown tags that come before the known tag `below`.
    #[inline]
    pub(crate) fn unknown_tags_below(
        &mut self,
        below: u32,
        tags: &mut slice::Iter<'_, (u32, Bytes)>,
    ) {
        while let Some((tag, value)) = tags.as_slice().first().filter(|(tag, _)| *tag < below) {
            self.unknown_tag(*tag, value);
            tags.next();
        }
    }

    /// The unknown tags that are left.
    #[inline]
    pub(crate) fn unknown_tags_rest(&mut self, tags: slice::Iter<'_, (u32, Bytes)>) {
        for (tag, value) in tags {
            self.unknown_tag(*tag, value);
        }
    }

    #[cold]
    fn unknown_tag(&mut self, tag: u32, value: &Bytes) {
        self.tag(tag, value.len());
        self.copy(value);
    }
}
