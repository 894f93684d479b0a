//! [`WireClient`]: the least client that there can be, on a plain blocking socket.
//!
//! It knows frames and messages and nothing else, so that what it sees is what the broker wrote.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use bytes::Bytes;
use klamm_wire::header::{CorrelationId, RequestHeader};
use klamm_wire::{Encoded, Request, decode_response, encode_request};

/// No answer takes longer than this, however slow the machine.
const PATIENCE: Duration = Duration::from_mins(1);

/// One connection to a broker.
pub(crate) struct WireClient {
    stream: TcpStream,
    next_id: i32,
}

impl WireClient {
    /// Connects.
    ///
    /// # Errors
    /// Where nobody listens.
    pub(crate) fn connect(address: SocketAddr) -> Result<Self> {
        let stream = TcpStream::connect(address).with_context(|| format!("{address}"))?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        Ok(Self { stream, next_id: 0 })
    }

    /// Sends a request in a version, and returns by what its answer will be known.
    ///
    /// # Errors
    /// Where the connection is gone, or the version cannot say it.
    pub(crate) fn send<R: Request>(&mut self, request: &R, version: i16) -> Result<CorrelationId> {
        let id = CorrelationId::new(self.next_id);
        self.next_id = self.next_id.wrapping_add(1);
        let header = RequestHeader::of::<R>(version, id, Some("wire-client".into()));
        self.send_bytes(encode_request(&header, request)?)?;
        Ok(id)
    }

    fn send_bytes(&mut self, encoded: Encoded) -> Result<()> {
        let bytes = encoded.into_bytes().context("a request has no gaps")?;
        Ok(self.stream.write_all(&bytes)?)
    }

    /// Receives the answer to the request of this id, which must be the next.
    ///
    /// # Errors
    /// Where the connection ends, or something else comes.
    pub(crate) fn receive<R: Request>(
        &mut self,
        id: CorrelationId,
        version: i16,
    ) -> Result<R::Response> {
        let frame = self.receive_frame().with_context(|| R::NAME)?;
        let (header, response) = decode_response::<R>(frame, version)?;
        ensure!(
            header.correlation_id == id,
            "{} is not answered by {header:?}",
            R::NAME
        );
        Ok(response)
    }

    fn receive_frame(&mut self) -> Result<Bytes> {
        let mut size = [0; 4];
        self.stream.read_exact(&mut size)?;
        let mut frame = vec![0; usize::try_from(i32::from_be_bytes(size))?];
        self.stream.read_exact(&mut frame)?;
        Ok(frame.into())
    }

    /// Sends a request and receives its answer.
    ///
    /// # Errors
    /// As [`Self::send`] and [`Self::receive`].
    pub(crate) fn call<R: Request>(&mut self, request: &R, version: i16) -> Result<R::Response> {
        let id = self.send(request, version)?;
        self.receive::<R>(id, version)
    }
}
