//! Reading: from the socket to what a frame is to the connection.

use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

use bytes::Bytes;
use klamm_io::{Clock, DiskFile};
use klamm_wire::{FrameError, RequestError, RequestFrame, encode_response};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::task::coop::has_budget_remaining;

use super::{Answer, Connection, Unassigned};
use crate::end::End;
use crate::frame_reader::{Read, is_peer_gone};
use crate::pipeline::{Event, Outcome};
use crate::request::Request;
use crate::responder::Stages;
use crate::response::Response;

/// So much is still read of a connection when the server is about to stop, and the frame in which it
/// ends: more than a socket holds by what Linux allows without being asked (6 MiB), so all that had
/// come is among it. A peer that goes on sending is not read for ever.
pub(crate) const INPUT_MAX: u64 = 8 * 1024 * 1024;

impl<S, C, F> Connection<S, C, F>
where
    S: AsyncRead + AsyncWrite + Unpin,
    C: Clock,
    F: DiskFile,
{
    /// Reads one frame, if the order of requests and the budgets allow.
    pub(super) fn read(&mut self, now: Instant, context: &mut Context<'_>) -> Result<bool, End> {
        if !self.may_read() {
            return Ok(false);
        }
        if let Some(size) = self.holdup.announced {
            let Some(memory) = &self.common.memory else {
                unreachable!("only a budget holds a frame up");
            };
            let place = &mut self.holdup.in_memory_line;
            let Poll::Ready(lease) = memory.poll_lease(size, place, context) else {
                return Ok(false);
            };
            self.holdup.announced = None;
            self.holdup.lease = Some(lease);
        }
        let received = self.reader.received();
        let read = loop {
            match self.next_read(context) {
                Poll::Ready(Ok(Read::Announced(size))) if self.common.memory.is_some() => {
                    self.holdup.announced = Some(size);
                    break Poll::Ready(Ok(Read::Announced(size)));
                }
                Poll::Ready(Ok(Read::Announced(_))) => {}
                other => break other,
            }
        };
        if self.reader.received() > received {
            self.last_traffic = now;
        }
        match read {
            // Once its budget is used up, the runtime has a task believe that nothing is there, and
            // wakes it again.
            Poll::Pending if self.input_end.is_some() && has_budget_remaining() => {
                self.handle(now, Event::InputEnded, context)?;
                Ok(true)
            }
            Poll::Pending => Ok(false),
            Poll::Ready(Ok(Read::Announced(_))) => Ok(true),
            Poll::Ready(read) => self.take_in(now, read, context).map(|()| true),
        }
    }

    /// What comes next, unless reading has come to its end.
    fn next_read(&mut self, context: &mut Context<'_>) -> Poll<Result<Read, FrameError>> {
        let received = self.reader.received();
        if self.input_end.is_some_and(|end| received >= end) {
            let beyond = self.reader.take_beyond().transpose();
            return beyond.map_or(Poll::Pending, Poll::Ready);
        }
        self.reader.poll_read(&mut self.stream, context)
    }

    /// Reads no more than what the socket has already, whole frames of it and about [`INPUT_MAX`] at
    /// most, and tells those who could let a request wait that its peer is not to be waited for.
    pub(super) fn finish(&mut self, now: Instant, context: &mut Context<'_>) -> Result<(), End> {
        self.input_end = Some(self.reader.received() + INPUT_MAX);
        self.mailbox.input_ended();
        self.afterwards.is_end_untold = true;
        if self.pipeline.next_deadline().is_some() {
            // Throttled, it would not be read for a while.
            return self.handle(now, Event::InputEnded, context);
        }
        Ok(())
    }

    /// As [`Self::read`], of what the socket has brought already; leaves budgets to the task.
    pub(super) fn read_buffered(
        &mut self,
        now: Instant,
        context: &mut Context<'_>,
    ) -> Result<bool, End> {
        if self.common.memory.is_some() || !self.may_read() {
            return Ok(false);
        }
        loop {
            match self.reader.take_beyond() {
                Ok(None) => return Ok(false),
                Ok(Some(Read::Announced(_))) => {}
                Ok(Some(read)) => return self.take_in(now, Ok(read), context).map(|()| true),
                Err(error) => return self.take_in(now, Err(error), context).map(|()| true),
            }
        }
    }

    /// Puts in its place what was read.
    fn take_in(
        &mut self,
        now: Instant,
        read: Result<Read, FrameError>,
        context: &mut Context<'_>,
    ) -> Result<(), End> {
        let event = match read {
            Ok(Read::Announced(_)) => return Ok(()),
            Ok(Read::Frame(frame)) => self.request_in(frame),
            Ok(Read::End) => {
                self.mailbox.input_ended();
                self.afterwards.is_end_untold = true;
                Event::InputEnded
            }
            Err(FrameError::Io(error)) if is_peer_gone(&error) => {
                return Err(End::PeerGone(error));
            }
            Err(error) => {
                if let Some(untold) = self.common.complaints.may_tell(now) {
                    End::log_frame(&error, self.mailbox.context(), untold);
                }
                Event::ReadAndSettled(Outcome::Close)
            }
        };
        self.handle(now, event, context)
    }

    /// What a frame is to the connection.
    fn request_in(&mut self, frame: Bytes) -> Event<Unassigned, Answer<F>> {
        let (size, received_at) = (frame.len(), self.clock.now());
        let context = self.mailbox.context();
        match RequestFrame::parse(frame, &context.offer) {
            Ok(frame) => Event::Read(Unassigned {
                request: Request {
                    frame,
                    context: Arc::clone(context),
                    received_at,
                    size,
                },
                lease: self.holdup.lease.take(),
            }),
            Err(RequestError::ApiVersionsUnknown { header }) => {
                self.holdup.lease = None;
                let key = klamm_wire::ApiKey::ApiVersions;
                let version = header.request_api_version;
                let mut stages = Stages::new(key, version, size, received_at);
                stages.answered_at = Some(received_at);
                let answer = context.offer.unsupported_api_versions();
                let encoded = encode_response(header.correlation_id, &answer, 0);
                Event::ReadAndSettled(match encoded {
                    Ok(encoded) => Outcome::Answer(Answer {
                        response: Response::new(encoded),
                        stages,
                    }),
                    Err(_) => Outcome::Close,
                })
            }
            Err(error) => {
                self.holdup.lease = None;
                if let Some(untold) = self.common.complaints.may_tell(received_at) {
                    End::log_request(&error, context, untold);
                }
                Event::ReadAndSettled(Outcome::Close)
            }
        }
    }
}
