//! [`Outgoing`]: answers on their way to the socket.
//!
//! This is the one place that knows how a file range is sent: it is read in pieces into a pooled
//! buffer and written from there, together with the bytes around it. For 128 KiB that is one read
//! and one write (two copies by the kernel, no other). `benches/network.rs` has it beside
//! `sendfile`.

#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Instant;

use bytes::Buf;
use klamm_io::{DiskError, DiskFile};
use thiserror::Error;
use tokio::io::AsyncWrite;

use crate::file_buffers::FileBuffers;
use crate::responder::Stages;
use crate::response::{FilesMismatch, Response, Stretch};

/// Stretches that go into one write.
const SLICES_MAX: usize = 64;

/// The answers of a connection that are being sent, oldest first.
pub(crate) struct Outgoing<F> {
    stretches: VecDeque<Stretch<F>>,
    answers: VecDeque<Leaving>,
    /// What the files among the stretches hold, as far as it has been read: from `begin` on, so
    /// many bytes, through however many of them these reach.
    buffer: Option<Box<[u8]>>,
    begin: usize,
    staged: usize,
}

/// An answer, some bytes of which have not been written.
#[derive(Debug)]
pub(crate) struct Leaving {
    pub(crate) stages: Stages,
    /// All its bytes.
    pub(crate) len: usize,
    /// When its turn came.
    pub(crate) began: Instant,
    left: usize,
}

/// Why an answer could not be sent.
#[derive(Debug, Error)]
pub(crate) enum SendError {
    /// The socket takes no more.
    #[error(transparent)]
    Socket(#[from] io::Error),
    /// A file could not be read, so what was promised cannot be sent.
    #[error("a response's file range cannot be read")]
    File(#[from] DiskError),
}

impl<F> Outgoing<F> {
    pub(crate) const fn new() -> Self {
        Self {
            stretches: VecDeque::new(),
            answers: VecDeque::new(),
            buffer: None,
            begin: 0,
            staged: 0,
        }
    }

    /// Whether everything has been written.
    pub(crate) fn is_empty(&self) -> bool {
        self.stretches.is_empty()
    }

    /// Adds an answer behind the others.
    ///
    /// # Errors
    /// [`FilesMismatch`]; nothing of the answer may be sent, but some of it stands here.
    pub(crate) fn push(
        &mut self,
        now: Instant,
        response: Response<F>,
        stages: Stages,
    ) -> Result<(), FilesMismatch> {
        let len = response.len();
        self.answers.push_back(Leaving {
            stages,
            len,
            began: now,
            left: len,
        });
        response.into_stretches(&mut self.stretches)
    }

    /// Takes the oldest answer out once all of it has been written.
    pub(crate) fn pop_sent(&mut self) -> Option<Leaving> {
        self.answers.pop_front_if(|answer| answer.left == 0)
    }

    /// The answers that were not sent to their end.
    pub(crate) fn unsent(&self) -> impl Iterator<Item = &Leaving> {
        self.answers.iter()
    }

    /// Gives the buffer back.
    pub(crate) fn release(&mut self, buffers: &FileBuffers) {
        self.staged = 0;
        if let Some(buffer) = self.buffer.take() {
            buffers.give(buffer);
        }
    }
}

impl<F: DiskFile> Outgoing<F> {
    /// Writes once, as much as one call can take; returns how many bytes that were. Reads files
    /// meanwhile, at most a buffer's worth, which blocks where they are not in memory.
    pub(crate) fn poll_write<S: AsyncWrite + Unpin>(
        &mut self,
        stream: &mut S,
        context: &mut Context<'_>,
        buffers: &FileBuffers,
    ) -> Poll<Result<usize, SendError>> {
        self.stage(buffers)?;
        let written = {
            let mut slices = [IoSlice::new(&[]); SLICES_MAX];
            let count = self.slices(&mut slices);
            Pin::new(stream).poll_write_vectored(context, &slices[..count])
        };
        if written.is_pending() && self.staged > 0 && buffers.are_scarce() {
            self.release(buffers);
        }
        let written = ready!(written)?;
        if written == 0 {
            return Poll::Ready(Err(io::Error::from(io::ErrorKind::WriteZero).into()));
        }
        self.advance(written);
        if self.staged == 0 {
            self.release(buffers);
        }
        Poll::Ready(Ok(written))
    }

    /// Reads from the files that are next, if what was read has been written.
    fn stage(&mut self, buffers: &FileBuffers) -> Result<(), DiskError> {
        if self.staged > 0 {
            return Ok(());
        }
        self.begin = 0;
        for stretch in self.stretches.iter().take(SLICES_MAX) {
            let Stretch::File(range) = stretch else {
                continue;
            };
            let buffer = self.buffer.get_or_insert_with(|| buffers.take());
            let read = range.read_front(&mut buffer[self.staged..])?;
            self.staged += read;
            if read < range.len {
                break;
            }
        }
        Ok(())
    }

    /// What can be written now, in order; returns how many slices that are.
    fn slices<'a>(&'a self, slices: &mut [IoSlice<'a>; SLICES_MAX]) -> usize {
        let buffer = self.buffer.as_deref().unwrap_or(&[]);
        let mut staged = &buffer[self.begin.min(buffer.len())..][..self.staged];
        let mut count = 0;
        for (slice, stretch) in slices.iter_mut().zip(&self.stretches) {
            match stretch {
                Stretch::Bytes(bytes) => *slice = IoSlice::new(bytes),
                Stretch::File(range) => {
                    let (of_this, rest) = staged.split_at(range.len.min(staged.len()));
                    if of_this.is_empty() {
                        break;
                    }
                    *slice = IoSlice::new(of_this);
                    staged = rest;
                    if of_this.len() < range.len {
                        return count + 1;
                    }
                }
            }
            count += 1;
        }
        count
    }

    /// Forgets what has been written.
    fn advance(&mut self, written: usize) {
        let mut left = written;
        while left > 0 {
            let stretch = self.stretches.front_mut();
            let (count, is_done) = match stretch.expect("no more was written than there was") {
                Stretch::Bytes(bytes) => {
                    let count = left.min(bytes.len());
                    bytes.advance(count);
                    (count, bytes.is_empty())
                }
                Stretch::File(range) => {
                    let count = left.min(range.len);
                    range.advance(count);
                    self.begin += count;
                    self.staged -= count;
                    (count, range.is_empty())
                }
            };
            left -= count;
            if is_done {
                self.stretches.pop_front();
            }
        }
        let mut left = written;
        for answer in &mut self.answers {
            let count = left.min(answer.left);
            answer.left -= count;
            left -= count;
            if left == 0 {
                break;
            }
        }
    }
}
