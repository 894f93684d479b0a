//! [`Linger`]: how a connection is closed so that its last answers arrive.
//!
//! To close a socket with bytes in it that nobody has read, or at which some arrive afterwards, is to
//! reset the connection; and a reset throws away what the peer has not acknowledged. So writing ends
//! first, and what comes is thrown away until the peer has closed its side, too.

use std::future::poll_fn;
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use klamm_io::Clock;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// What was sent so long ago has been acknowledged, by a peer that is ever going to.
pub(crate) const LINGER: Duration = Duration::from_millis(500);

/// How much is thrown away at a time.
const THROWN_AWAY: usize = 4096;

/// Reads before others get the thread.
const READS_MAX: usize = 64;

/// A connection of which nothing is left but to close it.
pub(crate) struct Linger<S> {
    stream: S,
    until: Instant,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Linger<S> {
    /// A connection on which bytes came or went last at `last_traffic`.
    pub(crate) fn new(stream: S, last_traffic: Instant) -> Self {
        let until = last_traffic.checked_add(LINGER).unwrap_or(last_traffic);
        Self { stream, until }
    }

    /// Ends writing and closes the connection when its peer has, or when there is nothing to wait
    /// for any more. The future may be dropped, which closes the connection at once.
    pub(crate) async fn run(mut self, clock: &impl Clock) {
        let time_is_up = clock.sleep_until(Some(self.until));
        let peer_has_closed = async {
            if poll_fn(|context| Pin::new(&mut self.stream).poll_shutdown(context))
                .await
                .is_ok()
            {
                poll_fn(|context| throw_away(&mut self.stream, context)).await;
            }
        };
        tokio::select! {
            biased;
            () = peer_has_closed => {}
            () = time_is_up => {}
        }
    }
}

/// Reads what there is; ready when no more can come.
fn throw_away<S: AsyncRead + Unpin>(stream: &mut S, context: &mut Context<'_>) -> Poll<()> {
    for _ in 0..READS_MAX {
        let mut room = [MaybeUninit::uninit(); THROWN_AWAY];
        let mut room = ReadBuf::uninit(&mut room);
        let read = ready!(Pin::new(&mut *stream).poll_read(context, &mut room));
        if read.is_err() || room.filled().is_empty() {
            return Poll::Ready(());
        }
    }
    context.waker().wake_by_ref();
    Poll::Pending
}
