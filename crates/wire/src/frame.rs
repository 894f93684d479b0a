//! [`FrameCodec`]: cuts a stream of bytes into frames.
//!
//! | bytes | what |
//! |---|---|
//! | 4 | size of what follows, a signed number |
//! | size | a header and a body, or a SASL token |

use std::io;

use bytes::{Buf, BufMut, Bytes, BytesMut};
use thiserror::Error;
use tokio_util::codec::{Decoder, Encoder};

/// Bytes of the size in front of a frame.
const SIZE_LEN: usize = 4;

/// The most that the size can say.
const SIZE_MAX: usize = i32::MAX as usize;

/// Room is taken for so much of a frame before it comes. A larger one makes its buffer grow as its
/// bytes arrive, so that a size alone costs nobody memory.
const RESERVED_MAX: usize = 256 * 1024;

/// Reads and writes frames, for `tokio_util::codec`; what is read are the bytes behind the size.
///
/// ```
/// use bytes::{Bytes, BytesMut};
/// use klamm_wire::FrameCodec;
/// use tokio_util::codec::{Decoder, Encoder};
///
/// let mut codec = FrameCodec::new(1024);
/// let mut stream = BytesMut::new();
/// codec.encode(Bytes::from_static(b"one"), &mut stream)?;
/// codec.encode(Bytes::from_static(b"two"), &mut stream)?;
/// assert_eq!(codec.decode(&mut stream)?.as_deref(), Some(&b"one"[..]));
/// assert_eq!(codec.decode(&mut stream)?.as_deref(), Some(&b"two"[..]));
/// assert_eq!(codec.decode(&mut stream)?, None);
/// # Ok::<(), klamm_wire::FrameError>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct FrameCodec {
    size_max: usize,
}

/// Why a stream is not one of frames. The connection is to be closed: there is no telling where
/// the next frame would begin.
#[derive(Debug, Error)]
pub enum FrameError {
    /// The size is negative.
    #[error("frame of {size} bytes{}", hint(*size))]
    NegativeSize {
        /// What stands there.
        size: i32,
    },
    /// The size is above the limit. No room was taken for it.
    #[error("frame of {size} bytes, more than {size_max}{}", hint(*size))]
    TooLarge {
        /// What stands there.
        size: i32,
        /// The limit.
        size_max: usize,
    },
    /// The stream ended inside a frame.
    #[error("the stream ended after {received} bytes of a frame, size included")]
    Disconnected {
        /// What had come of it.
        received: usize,
    },
    /// Reading or writing failed.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// What the other side seems to speak instead of Kafka's protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stranger {
    /// A TLS handshake or alert.
    Tls,
    /// An HTTP request or response.
    Http,
}

impl FrameError {
    /// What the other side seems to speak, judged by the first bytes: a TLS client on a plaintext
    /// port, or the reverse, otherwise only shows as an absurd size.
    pub fn stranger(&self) -> Option<Stranger> {
        match self {
            Self::NegativeSize { size } | Self::TooLarge { size, .. } => stranger(*size),
            Self::Disconnected { .. } | Self::Io(_) => None,
        }
    }
}

fn stranger(size: i32) -> Option<Stranger> {
    match &size.to_be_bytes() {
        // A record of the kind handshake or alert, of version 3.0 to 3.4.
        [0x15 | 0x16, 0x03, 0..=4, _] => Some(Stranger::Tls),
        b"HTTP" | b"GET " | b"POST" | b"PUT " | b"HEAD" => Some(Stranger::Http),
        _ => None,
    }
}

fn hint(size: i32) -> &'static str {
    match stranger(size) {
        Some(Stranger::Tls) => "; the other side seems to speak TLS",
        Some(Stranger::Http) => "; the other side seems to speak HTTP",
        None => "",
    }
}

impl FrameCodec {
    /// Takes frames of up to `size_max` bytes, the size itself not counted.
    pub const fn new(size_max: usize) -> Self {
        Self { size_max }
    }

    /// Checks the size in front of a frame.
    ///
    /// # Errors
    /// [`FrameError::NegativeSize`] and [`FrameError::TooLarge`].
    pub fn check_size(self, size: i32) -> Result<usize, FrameError> {
        let checked = usize::try_from(size).map_err(|_| FrameError::NegativeSize { size })?;
        if checked > self.size_max {
            return Err(FrameError::TooLarge {
                size,
                size_max: self.size_max,
            });
        }
        Ok(checked)
    }
}

impl Decoder for FrameCodec {
    type Item = Bytes;
    type Error = FrameError;

    fn decode(&mut self, stream: &mut BytesMut) -> Result<Option<Bytes>, FrameError> {
        let Some(size) = stream.first_chunk::<SIZE_LEN>() else {
            return Ok(None);
        };
        let size = self.check_size(i32::from_be_bytes(*size))?;
        let missing = (SIZE_LEN + size).saturating_sub(stream.len());
        if missing > 0 {
            stream.reserve(missing.min(RESERVED_MAX));
            return Ok(None);
        }
        stream.advance(SIZE_LEN);
        Ok(Some(stream.split_to(size).freeze()))
    }

    fn decode_eof(&mut self, stream: &mut BytesMut) -> Result<Option<Bytes>, FrameError> {
        match self.decode(stream)? {
            None if !stream.is_empty() => Err(FrameError::Disconnected {
                received: stream.len(),
            }),
            frame => Ok(frame),
        }
    }
}

impl Encoder<Bytes> for FrameCodec {
    type Error = FrameError;

    /// Writes the size and the bytes.
    ///
    /// # Errors
    /// [`FrameError::TooLarge`]. What is longer than a size can say is told as 2147483647 bytes.
    fn encode(&mut self, frame: Bytes, stream: &mut BytesMut) -> Result<(), FrameError> {
        let Ok(size) = i32::try_from(frame.len()) else {
            return Err(FrameError::TooLarge {
                size: i32::MAX,
                size_max: self.size_max.min(SIZE_MAX),
            });
        };
        self.check_size(size)?;
        stream.reserve(SIZE_LEN + frame.len());
        stream.put_i32(size);
        stream.put(frame);
        Ok(())
    }
}
