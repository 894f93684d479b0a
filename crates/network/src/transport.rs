//! [`Transport`]: a connection's bytes, secured as its listener asks.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};

use klamm_wire::SecurityProtocol;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::context::Principal;

/// A connection's bytes, with whatever stands between them and the socket.
///
/// Every way to secure a connection is a variant here, made by [`Transport::establish`] within
/// the connection's own task; what reads and writes does not see the difference.
pub(crate) enum Transport<S> {
    /// The socket itself.
    Plain(S),
}

impl<S> Transport<S> {
    /// Does what the protocol asks for before the first request, and finds out who is at the
    /// other end.
    ///
    /// # Errors
    /// Where the peer does not do its part, or the protocol is none that a server opens with.
    #[expect(
        clippy::unused_async,
        reason = "a handshake waits; a plaintext connection has none"
    )]
    pub(crate) async fn establish(
        security: SecurityProtocol,
        stream: S,
    ) -> io::Result<(Self, Principal)> {
        match security {
            SecurityProtocol::Plaintext => Ok((Self::Plain(stream), Principal::anonymous())),
            SecurityProtocol::Ssl | SecurityProtocol::SaslPlaintext | SecurityProtocol::SaslSsl => {
                Err(io::ErrorKind::Unsupported.into())
            }
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Transport<S> {
    #[inline]
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_read(context, buffer),
        }
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Transport<S> {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_write(context, bytes),
        }
    }

    #[inline]
    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_write_vectored(context, slices),
        }
    }

    fn is_write_vectored(&self) -> bool {
        match self {
            Self::Plain(stream) => stream.is_write_vectored(),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_flush(context),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_shutdown(context),
        }
    }
}
