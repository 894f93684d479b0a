//! [`Writer`]: writes values that were measured into the room that this takes.

use std::slice;

use bytes::Bytes;
use klamm_primitives::varint;

use super::context::Context;
use super::encoded::{Encoded, Piece};
use super::measure::Measure;
use super::unknown_tags::UnknownTags;

/// Bytes of this length or more are passed on by reference, not copied. A piece of its own costs
/// some 90 ns (a reference counted up and down, two places in a vectored write), which is what it
/// costs to copy so many bytes.
const APART_LEN_MIN: usize = 2048;

/// Whether bytes of this length are a piece of their own.
#[inline]
pub(super) const fn goes_apart(len: usize) -> bool {
    len >= APART_LEN_MIN
}

/// A message while it is written.
#[derive(Debug)]
pub struct Writer {
    /// What is copied, without breaks. It has the room that was measured and never grows.
    copied: Vec<u8>,
    len_copied: usize,
    /// What comes between, each with the number of copied bytes before it.
    apart: Vec<(usize, Piece)>,
}

impl Writer {
    /// Takes the room that `measure` found.
    pub(crate) fn new(measure: &Measure) -> Self {
        Self {
            copied: Vec::with_capacity(measure.len_copied()),
            len_copied: measure.len_copied(),
            apart: Vec::with_capacity(measure.apart()),
        }
    }

    /// Takes the room that `measure` found and four bytes for the size, which it writes.
    pub(crate) fn of_frame(measure: &mut Measure) -> Self {
        let size = measure.len();
        measure.add(size_of::<i32>());
        let mut writer = Self::new(measure);
        debug_assert!(size <= super::measure::LEN_MAX, "measured");
        #[expect(
            clippy::cast_possible_truncation,
            reason = "measuring refuses what does not fit"
        )]
        writer.put((size as u32).to_be_bytes());
        writer
    }

    /// Gives what was written.
    ///
    /// # Panics
    /// If it is not as long as what was measured, as a frame's size would then be wrong.
    pub(crate) fn finish(self) -> Encoded {
        assert_eq!(
            self.copied.len(),
            self.len_copied,
            "what is written is as long as what was measured"
        );
        Encoded::new(self.copied.into(), self.apart)
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

    /// The length in front of bytes or an array; measuring has seen that it fits.
    #[inline]
    pub(crate) fn length(&mut self, len: usize, context: Context) {
        debug_assert!(len <= super::measure::LEN_MAX, "measured");
        #[expect(
            clippy::cast_possible_truncation,
            reason = "measuring refuses what does not fit"
        )]
        let length = len as u32;
        if context.is_flexible() {
            self.varint(length + 1);
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
        #[expect(
            clippy::cast_possible_truncation,
            reason = "measuring refuses what does not fit"
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
        if goes_apart(bytes.len()) {
            self.apart(Piece::Bytes(bytes.clone()));
        } else {
            self.copy(bytes);
        }
    }

    pub(super) fn gap(&mut self, len: usize, context: Context) {
        self.length(len, context);
        self.apart(Piece::Gap(len));
    }

    fn apart(&mut self, piece: Piece) {
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

    /// What stands before a tagged field's value of `len` bytes.
    pub(crate) fn tag(&mut self, tag: u32, len: usize) {
        self.varint(tag);
        self.long_varint(len as u64);
    }

    /// A whole tagged section of which no field is known.
    #[inline]
    pub(crate) fn unknown_tags(&mut self, tags: &UnknownTags) {
        if tags.is_empty() {
            self.put([0]);
        } else {
            self.some_unknown_tags(tags);
        }
    }

    #[cold]
    #[inline(never)]
    fn some_unknown_tags(&mut self, tags: &UnknownTags) {
        self.tag_count(0, tags);
        self.unknown_tags_rest(tags.iter());
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
