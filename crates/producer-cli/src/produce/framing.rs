//! [`Frames`]: cuts what is read into lines, or into frames with their length in front.

use bytes::{Buf, Bytes, BytesMut};
use thiserror::Error;

/// The longest line or frame; far more than any broker takes in one record. Input that never ends
/// a line must not take all memory.
pub(crate) const FRAME_BYTES_MAX: usize = 256 * 1024 * 1024;

/// The length in front of a frame: 4 bytes, big-endian.
const LENGTH_SIZE: usize = 4;

/// How input is cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Framing {
    /// At each `\n`, or `\r\n`. The last line need not have an end.
    Lines,
    /// Each has its length in front: 4 bytes, big-endian, without these 4.
    LengthPrefixed,
}

/// What cannot be cut. Nothing behind it can be read.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub(crate) enum FramingError {
    /// It is longer than [`FRAME_BYTES_MAX`].
    #[error("longer than {FRAME_BYTES_MAX} bytes")]
    TooLong,
    /// The input ends within a frame.
    #[error("the input ends within a record, {got} bytes of it are there")]
    Unfinished {
        /// How many bytes were there, the length included.
        got: usize,
    },
}

/// Cuts what is read, however it comes in pieces.
#[derive(Debug)]
pub(crate) struct Frames {
    framing: Framing,
    buffer: BytesMut,
    /// So many bytes at the front are known to have no line's end in them.
    searched: usize,
}

impl Frames {
    /// With nothing read yet.
    pub(crate) fn new(framing: Framing) -> Self {
        let buffer = BytesMut::new();
        Self {
            framing,
            buffer,
            searched: 0,
        }
    }

    /// Takes what was read next.
    pub(crate) fn extend(&mut self, read: &[u8]) {
        self.buffer.extend_from_slice(read);
    }

    /// The next frame that is there as a whole.
    ///
    /// # Errors
    /// [`FramingError::TooLong`].
    pub(crate) fn next(&mut self) -> Result<Option<Bytes>, FramingError> {
        match self.framing {
            Framing::Lines => self.next_line(),
            Framing::LengthPrefixed => self.next_prefixed(),
        }
    }

    fn next_line(&mut self) -> Result<Option<Bytes>, FramingError> {
        let unseen = &self.buffer[self.searched..];
        let Some(end) = unseen.iter().position(|byte| *byte == b'\n') else {
            self.searched = self.buffer.len();
            return if self.searched > FRAME_BYTES_MAX {
                Err(FramingError::TooLong)
            } else {
                Ok(None)
            };
        };
        let line = self.buffer.split_to(self.searched + end);
        self.buffer.advance(1);
        self.searched = 0;
        Ok(Some(without_return(line.freeze())))
    }

    fn next_prefixed(&mut self) -> Result<Option<Bytes>, FramingError> {
        let Some(length) = self.buffer.first_chunk::<LENGTH_SIZE>() else {
            return Ok(None);
        };
        let length = usize::try_from(u32::from_be_bytes(*length));
        let length = length.ok().filter(|length| *length <= FRAME_BYTES_MAX);
        let length = length.ok_or(FramingError::TooLong)?;
        if self.buffer.len() - LENGTH_SIZE < length {
            return Ok(None);
        }
        self.buffer.advance(LENGTH_SIZE);
        Ok(Some(self.buffer.split_to(length).freeze()))
    }

    /// What is left when the input has ended: a last line without its end.
    ///
    /// # Errors
    /// [`FramingError::Unfinished`].
    pub(crate) fn finish(&mut self) -> Result<Option<Bytes>, FramingError> {
        let rest = self.buffer.split().freeze();
        self.searched = 0;
        match (rest.len(), self.framing) {
            (0, _) => Ok(None),
            (_, Framing::Lines) => Ok(Some(without_return(rest))),
            (got, Framing::LengthPrefixed) => Err(FramingError::Unfinished { got }),
        }
    }
}

fn without_return(line: Bytes) -> Bytes {
    match line.last() {
        Some(b'\r') => line.slice(..line.len() - 1),
        _ => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All frames of an input that comes in pieces of that size.
    fn cut(framing: Framing, input: &[u8], piece: usize) -> (Vec<Bytes>, Option<FramingError>) {
        let (mut frames, mut cut) = (Frames::new(framing), Vec::new());
        for piece in input.chunks(piece) {
            frames.extend(piece);
            loop {
                match frames.next() {
                    Ok(Some(frame)) => cut.push(frame),
                    Ok(None) => break,
                    Err(error) => return (cut, Some(error)),
                }
            }
        }
        match frames.finish() {
            Ok(last) => {
                cut.extend(last);
                (cut, None)
            }
            Err(error) => (cut, Some(error)),
        }
    }

    #[test]
    fn lines_are_the_same_in_whatever_pieces_they_come() {
        let input = b"one\n\ntwo\r\nth\rree\r\r\nlast";
        for piece in 1..=input.len() {
            let (lines, error) = cut(Framing::Lines, input, piece);
            assert_eq!(lines, ["one", "", "two", "th\rree\r", "last"]);
            assert_eq!(error, None);
        }
        assert_eq!(cut(Framing::Lines, b"a\n", 9).0, ["a"]);
        assert_eq!(cut(Framing::Lines, b"", 9).0, [""; 0]);
    }

    #[test]
    fn prefixed_frames_are_whole_or_the_end_is_told() {
        let input = b"\0\0\0\x03abc\0\0\0\0\0\0\0\x01\n";
        let whole: [&[u8]; 3] = [b"abc", b"", b"\n"];
        for piece in 1..=input.len() {
            let (frames, error) = cut(Framing::LengthPrefixed, input, piece);
            assert_eq!(frames, whole);
            assert_eq!(error, None);
        }
        for end in 0..input.len() {
            let (frames, error) = cut(Framing::LengthPrefixed, &input[..end], 5);
            let (count, got) = match end {
                0..7 => (0, end),
                7..11 => (1, end - 7),
                _ => (2, end - 11),
            };
            assert_eq!(frames, whole[..count]);
            let unfinished = (got > 0).then_some(FramingError::Unfinished { got });
            assert_eq!(error, unfinished);
        }
    }

    #[test]
    fn a_length_beyond_the_bound_is_refused_before_anything_is_read_for_it() {
        let (_, error) = cut(Framing::LengthPrefixed, &u32::MAX.to_be_bytes(), 4);
        assert_eq!(error, Some(FramingError::TooLong));
        let negative = cut(Framing::LengthPrefixed, &(-1_i32).to_be_bytes(), 4);
        assert_eq!(negative.1, Some(FramingError::TooLong));
    }
}
