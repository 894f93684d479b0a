//! [`SimStream`]: one side of a simulated connection.

use std::fmt;
use std::future::Future;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Instant;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::Shared;
use super::wire::{End, Progress, Wire};
use crate::sim::SimSleep;

/// One side of a simulated connection.
pub struct SimStream {
    shared: Shared,
    end: End,
    /// Set while bytes, or a reset, are on their way here.
    reading: Option<SimSleep>,
    writing: Option<SimSleep>,
}

impl SimStream {
    pub(super) const fn new(shared: Shared, end: End) -> Self {
        Self {
            shared,
            end,
            reading: None,
            writing: None,
        }
    }
}

/// Tries until it is done, or waits for a change or for the instant that was named.
fn poll<T>(
    shared: &Shared,
    sleep: &mut Option<SimSleep>,
    context: &mut Context<'_>,
    mut attempt: impl FnMut(&mut Wire, Instant, &Context<'_>) -> Progress<T>,
) -> Poll<T> {
    loop {
        *sleep = match shared.with(|wire, now| attempt(wire, now, context)) {
            Progress::Done(done) => return Poll::Ready(done),
            Progress::Wait(until) => until.map(|until| shared.clock.sleep(Some(until))),
        };
        match sleep {
            Some(sleep) => ready!(Pin::new(sleep).poll(context)),
            None => return Poll::Pending,
        }
    }
}

impl AsyncRead for SimStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if buffer.remaining() == 0 {
            return Poll::Ready(Ok(()));
        }
        let Self {
            shared,
            end,
            reading,
            ..
        } = &mut *self;
        poll(shared, reading, context, |wire, now, context| {
            wire.read(*end, buffer.remaining(), now, context)
        })
        .map_ok(|bytes| buffer.put_slice(&bytes))
    }
}

impl AsyncWrite for SimStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        if bytes.is_empty() {
            return Poll::Ready(Ok(0));
        }
        let Self {
            shared,
            end,
            writing,
            ..
        } = &mut *self;
        poll(shared, writing, context, |wire, now, context| {
            wire.write(*end, bytes, now, context)
        })
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let bytes: Vec<u8> = pieces
            .iter()
            .flat_map(|piece| piece.iter().copied())
            .collect();
        self.poll_write(context, &bytes)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.shared.with(|wire, now| wire.finish(self.end, now));
        Poll::Ready(Ok(()))
    }
}

impl Drop for SimStream {
    fn drop(&mut self) {
        self.shared.with(|wire, now| wire.close(self.end, now));
    }
}

impl fmt::Debug for SimStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SimStream")
            .field("end", &self.end)
            .finish_non_exhaustive()
    }
}
