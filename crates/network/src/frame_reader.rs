//! [`FrameReader`]: from whatever slices arrive to whole frames.
//!
//! Per frame: one read into a small buffer on the stack, which brings the size and all of a small
//! frame, or of several; what is missing of a large frame is read straight into memory of its
//! own, which comes from [`FrameBuffers`]. So a small frame costs one system call and one
//! allocation, a large one two copies of at most [`FIRST_READ`] bytes more than its bytes; a
//! connection without a frame under way holds no buffer at all.

#[cfg(test)]
mod tests;

use std::io;
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::{Buf, BufMut, Bytes, BytesMut};
use klamm_wire::{FrameCodec, FrameError};
use tokio::io::{AsyncRead, ReadBuf};
use tokio_util::io::poll_read_buf;

use crate::frame_buffers::{FRAME_BUFFER_LEN, FrameBuffer, FrameBuffers};

/// Bytes of the size in front of a frame.
const SIZE_LEN: usize = 4;

/// How much is read where it is not known what comes.
const FIRST_READ: usize = 4096;

/// Room is taken for so much of a frame before it comes, so that most are never moved, and as much is
/// read at a time. A larger frame has more of it, or makes its buffer grow as its bytes arrive.
const RESERVED_MAX: usize = FRAME_BUFFER_LEN;

/// Cuts what arrives into frames, and keeps what it has of the next one between reads.
#[derive(Debug)]
pub(crate) struct FrameReader {
    codec: FrameCodec,
    buffers: Arc<FrameBuffers>,
    state: State,
    /// What was read beyond the frame that was returned last.
    beyond: BytesMut,
    /// All bytes so far.
    received: u64,
}

#[derive(Debug)]
enum State {
    /// Inside the size.
    Size { bytes: [u8; SIZE_LEN], len: usize },
    /// Inside a frame of this size.
    Body { size: usize, body: FrameBuffer },
}

/// What came.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Read {
    /// A frame of so many bytes begins. No room has been taken for it.
    Announced(usize),
    /// The frame that was announced.
    Frame(Bytes),
    /// The stream ended between frames.
    End,
}

impl FrameReader {
    /// Takes frames of at most `size_max` bytes.
    pub(crate) fn new(size_max: usize, buffers: Arc<FrameBuffers>) -> Self {
        Self {
            codec: FrameCodec::new(size_max),
            buffers,
            state: State::start(),
            beyond: BytesMut::new(),
            received: 0,
        }
    }

    /// How many bytes have arrived in all.
    pub(crate) const fn received(&self) -> u64 {
        self.received
    }

    /// Reads until something is to be told. Every frame is announced first, so that the caller
    /// may put off reading it.
    ///
    /// # Errors
    /// [`FrameError`]; the stream is of no use then.
    pub(crate) fn poll_read<S: AsyncRead + Unpin>(
        &mut self,
        stream: &mut S,
        context: &mut Context<'_>,
    ) -> Poll<Result<Read, FrameError>> {
        loop {
            if let Some(read) = self.take_beyond()? {
                return Poll::Ready(Ok(read));
            }
            match &mut self.state {
                State::Body { size, body } if *size - body.bytes.len() > FIRST_READ => {
                    reserve(body, *size, &self.buffers);
                    let missing = *size - body.bytes.len();
                    let mut room = (&mut body.bytes).limit(missing.min(RESERVED_MAX));
                    let count = ready!(poll_read_buf(Pin::new(stream), context, &mut room))?;
                    if count == 0 {
                        return Poll::Ready(Err(self.ended_inside()));
                    }
                    self.received += count as u64;
                }
                _ => {
                    let mut room = [MaybeUninit::uninit(); FIRST_READ];
                    let mut room = ReadBuf::uninit(&mut room);
                    ready!(Pin::new(&mut *stream).poll_read(context, &mut room))?;
                    let mut bytes = room.filled();
                    if bytes.is_empty() {
                        return Poll::Ready(self.end());
                    }
                    self.received += bytes.len() as u64;
                    if let Some(read) = self.take(&mut bytes)? {
                        self.beyond.extend_from_slice(bytes);
                        return Poll::Ready(Ok(read));
                    }
                }
            }
        }
    }

    /// What there is to tell without reading; nothing if that needs more bytes.
    ///
    /// # Errors
    /// As [`Self::poll_read`].
    pub(crate) fn take_beyond(&mut self) -> Result<Option<Read>, FrameError> {
        let mut beyond = std::mem::take(&mut self.beyond);
        let read = match &self.state {
            // The whole frame is there: nothing needs to be moved.
            State::Body { size, body } if body.bytes.is_empty() && beyond.len() >= *size => {
                let frame = beyond.split_to(*size).freeze();
                self.state = State::start();
                Some(Read::Frame(frame))
            }
            _ => {
                let mut bytes = &beyond[..];
                let read = self.take(&mut bytes)?;
                let taken = beyond.len() - bytes.len();
                beyond.advance(taken);
                read
            }
        };
        if !beyond.is_empty() {
            self.beyond = beyond;
        }
        Ok(read)
    }

    /// Moves on by as many of the bytes as there are to the next thing to tell.
    fn take(&mut self, bytes: &mut &[u8]) -> Result<Option<Read>, FrameError> {
        match &mut self.state {
            State::Size { bytes: size, len } => {
                let count = bytes.len().min(SIZE_LEN - *len);
                size[*len..*len + count].copy_from_slice(&bytes[..count]);
                *len += count;
                bytes.advance(count);
                if *len < SIZE_LEN {
                    return Ok(None);
                }
                let size = self.codec.check_size(i32::from_be_bytes(*size))?;
                let body = FrameBuffer::default();
                self.state = State::Body { size, body };
                Ok(Some(Read::Announced(size)))
            }
            State::Body { size, body } => {
                let count = bytes.len().min(*size - body.bytes.len());
                if count > 0 {
                    reserve(body, *size, &self.buffers);
                    body.bytes.put_slice(&bytes[..count]);
                    bytes.advance(count);
                }
                if body.bytes.len() < *size {
                    return Ok(None);
                }
                let frame = std::mem::take(body).freeze();
                self.state = State::start();
                Ok(Some(Read::Frame(frame)))
            }
        }
    }

    fn end(&self) -> Result<Read, FrameError> {
        match &self.state {
            State::Size { len: 0, .. } => Ok(Read::End),
            _ => Err(self.ended_inside()),
        }
    }

    fn ended_inside(&self) -> FrameError {
        let received = match &self.state {
            State::Size { len, .. } => *len,
            State::Body { body, .. } => SIZE_LEN + body.bytes.len(),
        };
        FrameError::Disconnected { received }
    }
}

impl State {
    const fn start() -> Self {
        Self::Size {
            bytes: [0; SIZE_LEN],
            len: 0,
        }
    }
}

/// Sees to it that there is room, if only for a part of what is missing.
fn reserve(body: &mut FrameBuffer, size: usize, buffers: &Arc<FrameBuffers>) {
    if body.bytes.capacity() == 0 {
        *body = buffers.take(size);
    }
    let bytes = &mut body.bytes;
    if bytes.len() == bytes.capacity() {
        let missing = size - bytes.len();
        bytes.reserve_exact(missing.min(bytes.len().max(RESERVED_MAX)));
    }
}

/// What a read that failed says about the peer.
pub(crate) fn is_peer_gone(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionReset
            | io::ErrorKind::ConnectionAborted
            | io::ErrorKind::BrokenPipe
            | io::ErrorKind::TimedOut
            | io::ErrorKind::NotConnected
    )
}
