//! [`Connection`]: all that happens on one connection.
//!
//! It reads frames, keeps the order with a [`Pipeline`], puts requests on the channel or keeps a
//! quick one for the thread that runs it, and writes what comes back. It is only run when there is
//! something to do: bytes or room at the socket, a letter from a handler, room in the channel, a
//! deadline. Its one timer is set for the idle limit and only looked at when it fires, so that
//! traffic does not touch it.
//!
//! A [`Seat`](crate::seat::Seat) has its task run it, and lets a handler that has just answered
//! run as much of it as its answer needs.

mod reading;

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, OnceLock, Weak};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use klamm_io::{Clock, DiskFile};
use tokio::io::{AsyncRead, AsyncWrite};

use crate::after_panic::AfterPanic;
use crate::complaints::Complaints;
use crate::end::End;
use crate::file_buffers::FileBuffers;
use crate::frame_buffers::FrameBuffers;
use crate::frame_reader::FrameReader;
use crate::inline::Inline;
use crate::line::Place;
use crate::linger::Linger;
use crate::mailbox::{Letter, Mailbox, Settlement};
use crate::outgoing::{Outgoing, SendError};
use crate::pipeline::{Action, Event, Outcome, Pipeline, Turn};
use crate::request::{Received, Request};
use crate::request_channel::RequestChannel;
use crate::request_memory::{Lease, RequestMemory};
use crate::responder::{Responder, Stages};
use crate::response::Response;
use crate::seat::Deliver;

/// Rounds that a connection may make before others get the thread.
const ROUNDS_MAX: usize = 64;

/// Writes, and so buffers' worth of files that are read, before others get the thread.
const WRITES_MAX: usize = 8;

/// What the connections of a server have in common.
pub(crate) struct Common<F> {
    pub(crate) channel: RequestChannel<F>,
    /// What handles quick requests without the channel, if anything does.
    pub(crate) inline: OnceLock<Inline<F>>,
    pub(crate) memory: Option<Arc<RequestMemory>>,
    pub(crate) buffers: FileBuffers,
    pub(crate) frame_buffers: Arc<FrameBuffers>,
    pub(crate) complaints: Complaints,
    pub(crate) request_bytes_max: usize,
    pub(crate) requests_per_connection: usize,
    pub(crate) idle_max: Option<Duration>,
}

/// One connection, from the first byte to the end.
pub(crate) struct Connection<S, C, F> {
    stream: S,
    clock: C,
    common: Arc<Common<F>>,
    mailbox: Arc<Mailbox<F>>,
    /// Where it is, for those who are to answer its requests.
    seat: Weak<dyn Deliver<F>>,
    /// It has ended, and its task does not know yet.
    end: Option<End>,
    /// Its task knows.
    has_ended: bool,
    /// Whether the thread that runs it now handles requests, too.
    may_handle_here: bool,
    afterwards: Afterwards<F>,
    reader: FrameReader,
    pipeline: Pipeline<Unassigned, Answer<F>>,
    outgoing: Outgoing<F>,
    /// What is in the way of reading on.
    holdup: Holdup<F>,
    /// Once nothing is waited for but what the socket has already: after how many bytes in all
    /// reading ends in any case.
    input_end: Option<u64>,
    timer: Option<Timer>,
    last_traffic: Instant,
    letters: Vec<Letter<F>>,
    actions: Vec<Action<Unassigned, Answer<F>>>,
}

/// What whoever runs a connection has to do once it is free again.
pub(crate) struct Afterwards<F> {
    /// Requests to be announced in the channel: the handler is to find the connection free.
    pub(crate) unannounced: usize,
    /// A request to be handled on this thread.
    pub(crate) here: Option<Received<F>>,
    /// The observer is to be told that the peer sends no more.
    pub(crate) is_end_untold: bool,
}

impl<F> Default for Afterwards<F> {
    fn default() -> Self {
        Self {
            unannounced: 0,
            here: None,
            is_end_untold: false,
        }
    }
}

/// A request that waits to be handed out.
struct Unassigned {
    request: Request,
    lease: Option<Lease>,
}

/// A response and its request's account.
struct Answer<F> {
    response: Response<F>,
    stages: Stages,
}

/// What keeps the next frame from being read, apart from the order of requests.
struct Holdup<F> {
    /// Handed out, but the channel has no room.
    blocked: Option<Received<F>>,
    in_channel_line: Option<Place>,
    /// Announced, but the budget of bytes is used up.
    announced: Option<usize>,
    in_memory_line: Option<Place>,
    /// For the frame that was announced.
    lease: Option<Lease>,
}

struct Timer {
    at: Instant,
    sleep: Pin<Box<dyn Future<Output = ()> + Send>>,
}

impl<S, C, F> Connection<S, C, F>
where
    S: AsyncRead + AsyncWrite + Unpin,
    C: Clock,
    F: DiskFile,
{
    pub(crate) fn new(
        stream: S,
        clock: C,
        common: Arc<Common<F>>,
        mailbox: Arc<Mailbox<F>>,
        seat: Weak<dyn Deliver<F>>,
    ) -> Self {
        Self {
            stream,
            seat,
            end: None,
            has_ended: false,
            may_handle_here: false,
            afterwards: Afterwards::default(),
            reader: FrameReader::new(common.request_bytes_max, Arc::clone(&common.frame_buffers)),
            pipeline: Pipeline::new(common.requests_per_connection),
            outgoing: Outgoing::new(),
            holdup: Holdup {
                blocked: None,
                in_channel_line: None,
                announced: None,
                in_memory_line: None,
                lease: None,
            },
            input_end: None,
            timer: None,
            last_traffic: clock.now(),
            letters: Vec::new(),
            actions: Vec::new(),
            clock,
            common,
            mailbox,
        }
    }

    /// Does all that can be done now. When it returns without an end, everything that could let
    /// it go on wakes the task, whose context this must be.
    pub(crate) fn poll(&mut self, context: &mut Context<'_>) -> Result<(), End> {
        self.may_handle_here = true;
        let outcome = match self.end.take() {
            Some(end) => Err(end),
            None => self.run(context),
        };
        self.has_ended |= outcome.is_err();
        outcome
    }

    fn run(&mut self, context: &mut Context<'_>) -> Result<(), End> {
        let mut writes_left = WRITES_MAX;
        for _ in 0..ROUNDS_MAX {
            let now = self.clock.now();
            let moved = self.take_letters(now, context)?
                | self.put_blocked(context)
                | self.write(now, &mut writes_left, context)?
                | self.read(now, context)?;
            if !moved {
                return self.wait(context);
            }
            if writes_left == 0 {
                break;
            }
        }
        context.waker().wake_by_ref();
        Ok(())
    }

    /// Takes the letters and does what they ask for: hands out, writes, and goes on with frames
    /// that were read before, but reads no more. For a thread that has left one, and that may
    /// handle the next request itself; `context` must be that of the connection's task. Returns
    /// whether the task has to be woken for what is left.
    pub(crate) fn poll_letters(
        &mut self,
        may_handle_here: bool,
        context: &mut Context<'_>,
    ) -> bool {
        if self.has_ended || self.end.is_some() {
            return false;
        }
        self.may_handle_here = may_handle_here;
        let (did_read, deadline) = (self.may_read(), self.pipeline.next_deadline());
        match self.do_as_letters_say(context) {
            // The task waits for bytes only if it could take them when it last ran.
            Ok(is_done) => {
                !is_done
                    || self.may_read() && !did_read
                    || self.pipeline.next_deadline() != deadline
            }
            Err(end) => {
                self.end = Some(end);
                true
            }
        }
    }

    /// Has the task end the connection, which a panic has left in no state to go on from.
    pub(crate) fn break_off(&mut self) {
        self.end = Some(End::Broken);
    }

    /// Returns whether all was done that could be.
    fn do_as_letters_say(&mut self, context: &mut Context<'_>) -> Result<bool, End> {
        let mut writes_left = WRITES_MAX;
        for _ in 0..ROUNDS_MAX {
            let now = self.clock.now();
            let moved = self.take_letters(now, context)?
                | self.put_blocked(context)
                | self.write(now, &mut writes_left, context)?
                | self.read_buffered(now, context)?;
            if !moved {
                return Ok(true);
            }
            if writes_left == 0 {
                break;
            }
        }
        Ok(false)
    }

    /// Whether the order of requests and the channel let the next frame be read.
    fn may_read(&self) -> bool {
        self.holdup.blocked.is_none() && self.pipeline.is_readable()
    }

    fn take_letters(&mut self, now: Instant, context: &mut Context<'_>) -> Result<bool, End> {
        let mut letters = std::mem::take(&mut self.letters);
        self.mailbox.take(&mut letters, context);
        let moved = !letters.is_empty();
        let mut outcome = Ok(());
        for letter in letters.drain(..) {
            match letter {
                // What comes behind an end is told to whoever keeps accounts.
                Letter::Settled(turn, settlement) if outcome.is_err() => {
                    let is_first = self.pipeline.settle_unsent(turn);
                    self.mailbox.settle_unsent(&settlement, is_first);
                }
                _ if outcome.is_err() => {}
                Letter::Stop => outcome = Err(End::Stopped),
                Letter::Finish => outcome = self.finish(now, context),
                Letter::Parked(turn, parked) => {
                    outcome = self.handle(now, Event::Parked(turn, parked), context);
                }
                Letter::Settled(turn, settlement) => {
                    outcome = self.settle(now, turn, settlement, context);
                }
            }
        }
        self.letters = letters;
        outcome.map(|()| moved)
    }

    fn settle(
        &mut self,
        now: Instant,
        turn: Turn,
        settlement: Settlement<F>,
        context: &mut Context<'_>,
    ) -> Result<(), End> {
        let Settlement {
            outcome,
            stages,
            is_after_panic,
        } = settlement;
        let is_first = self.pipeline.is_unsettled(turn);
        if is_after_panic {
            AfterPanic::of(&outcome, is_first).log(self.mailbox.context(), stages.key);
        }
        if !is_first {
            return Ok(());
        }
        if !stages.throttle.is_zero() {
            let until = now.checked_add(stages.throttle).unwrap_or(now);
            self.handle(now, Event::Throttled(until), context)?;
        }
        let outcome = match outcome {
            Outcome::Answer(response) => Outcome::Answer(Answer { response, stages }),
            Outcome::Nothing => {
                self.mailbox.complete_unsent(&stages);
                Outcome::Nothing
            }
            Outcome::Close => {
                self.mailbox.complete_unsent(&stages);
                Outcome::Close
            }
        };
        self.handle(now, Event::Settled(turn, outcome), context)
    }

    /// Lets the pipeline decide, and does what it says.
    fn handle(
        &mut self,
        now: Instant,
        event: Event<Unassigned, Answer<F>>,
        context: &mut Context<'_>,
    ) -> Result<(), End> {
        let mut actions = std::mem::take(&mut self.actions);
        self.pipeline.handle(now, event, &mut actions);
        let mut outcome = Ok(());
        for action in actions.drain(..) {
            match action {
                Action::HandOut(turn, unassigned) => self.hand_out(turn, unassigned, context),
                Action::Write(Answer { response, stages }) => {
                    if let Err(mismatch) = self.outgoing.push(now, response, stages) {
                        outcome = Err(End::Mismatch(mismatch));
                        break;
                    }
                }
                Action::Close => {
                    outcome = Err(End::Closed);
                    break;
                }
            }
        }
        actions.clear();
        self.actions = actions;
        outcome
    }

    fn hand_out(&mut self, turn: Turn, unassigned: Unassigned, context: &mut Context<'_>) {
        let Unassigned { request, lease } = unassigned;
        let stages = Stages::new(
            request.frame.key,
            request.frame.version(),
            request.size,
            request.received_at,
        );
        let Some(seat) = self.seat.upgrade() else {
            unreachable!("whoever runs it holds its seat");
        };
        let mut responder = Responder::new(seat, turn, stages);
        responder.hold(lease);
        let received = Received { request, responder };
        if self.may_handle_here && self.is_for_here(&received.request) {
            self.afterwards.here = Some(received);
        } else {
            self.holdup.blocked = Some(received);
            self.put_blocked(context);
        }
    }

    /// Whether a request is handled by who runs the connection. Those that wait in the channel
    /// come first.
    fn is_for_here(&self, request: &Request) -> bool {
        let inline = self.common.inline.get();
        inline.is_some_and(|it| it.takes(request, self.clock.now()))
            && self.common.channel.is_empty()
    }

    /// The request that whoever runs the connection is to handle, after it is done with it.
    pub(crate) const fn take_here(&mut self) -> Option<Received<F>> {
        self.afterwards.here.take()
    }

    /// What is left for its task to do, after it is done with it.
    pub(crate) fn take_afterwards(&mut self) -> Afterwards<F> {
        std::mem::take(&mut self.afterwards)
    }

    /// Puts on the channel what was handed out, if there is room by now.
    fn put_blocked(&mut self, context: &mut Context<'_>) -> bool {
        let Holdup {
            blocked,
            in_channel_line,
            ..
        } = &mut self.holdup;
        let channel = &self.common.channel;
        let is_put = blocked.is_some()
            && channel
                .poll_put(blocked, in_channel_line, context)
                .is_ready();
        self.afterwards.unannounced += usize::from(is_put);
        is_put
    }

    /// The requests that were put on the channel since the last call.
    pub(crate) const fn take_unannounced(&mut self) -> usize {
        std::mem::replace(&mut self.afterwards.unannounced, 0)
    }

    fn write(
        &mut self,
        now: Instant,
        writes_left: &mut usize,
        context: &mut Context<'_>,
    ) -> Result<bool, End> {
        let mut moved = false;
        while *writes_left > 0 && !self.outgoing.is_empty() {
            let buffers = &self.common.buffers;
            let written = self.outgoing.poll_write(&mut self.stream, context, buffers);
            match written {
                Poll::Pending => break,
                Poll::Ready(Ok(_)) => {
                    moved = true;
                    *writes_left -= 1;
                }
                Poll::Ready(Err(SendError::Socket(error))) => return Err(End::PeerGone(error)),
                Poll::Ready(Err(SendError::File(error))) => return Err(End::File(error)),
            }
        }
        if moved {
            self.last_traffic = now;
            let sent = self.clock.now();
            while let Some(leaving) = self.outgoing.pop_sent() {
                let completed = leaving.stages.completed(leaving.len, leaving.began, sent);
                let mailbox = &self.mailbox;
                mailbox
                    .observer()
                    .request_completed(mailbox.context(), &completed);
                self.handle(sent, Event::Written, context)?;
            }
        }
        Ok(moved)
    }

    /// Waits for the next deadline, or ends the connection at it.
    fn wait(&mut self, context: &mut Context<'_>) -> Result<(), End> {
        loop {
            let idle_at = match self.common.idle_max {
                // A limit beyond what the clock can say is none.
                Some(idle_max) => self.last_traffic.checked_add(idle_max),
                None => None,
            };
            let throttled = self.pipeline.next_deadline();
            let Some(deadline) = idle_at.into_iter().chain(throttled).min() else {
                return Ok(());
            };
            // A timer that fires too early costs less than one that is moved with each request.
            let timer = match self.timer.take() {
                Some(timer) if timer.at <= deadline => timer,
                _ => Timer {
                    at: deadline,
                    sleep: Box::pin(self.clock.sleep_until(Some(deadline))),
                },
            };
            let timer = self.timer.insert(timer);
            if timer.sleep.as_mut().poll(context).is_pending() {
                return Ok(());
            }
            self.timer = None;
            let now = self.clock.now();
            if idle_at.is_some_and(|at| at <= now) {
                return Err(End::Idle);
            }
            if throttled.is_some_and(|until| until <= now) {
                self.handle(now, Event::Tick, context)?;
                context.waker().wake_by_ref();
                return Ok(());
            }
        }
    }

    /// Leaves every line, and tells of the requests that will not be answered any more. What comes
    /// back is how to close a connection that has [finished](Self::finish).
    pub(crate) fn close_accounts(self) -> Option<Linger<S>> {
        let Self {
            stream,
            input_end,
            last_traffic,
            mut outgoing,
            mut holdup,
            pipeline,
            common,
            mailbox,
            ..
        } = self;
        common.channel.leave(&mut holdup.in_channel_line);
        if let Some(memory) = &common.memory {
            memory.leave(&mut holdup.in_memory_line);
        }
        outgoing.release(&common.buffers);
        for leaving in outgoing.unsent() {
            mailbox.complete_unsent(&leaving.stages);
        }
        mailbox.close(pipeline.unsettled().collect());
        for answer in pipeline.into_unsent() {
            mailbox.complete_unsent(&answer.stages);
        }
        input_end.map(|_| Linger::new(stream, last_traffic))
    }
}
