//! [`Controller`]: the task that gives requests their turn.

use std::sync::Arc;
use std::time::{Duration, Instant};

use klamm_io::Clock;
use klamm_primitives::Offset;
use klamm_wire::metadata::ClusterMetadataRecord as Record;
use klamm_wire::metadata::no_op::NoOpRecord;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tracing::{info, warn};

use crate::core::Core;
use crate::deciders::{balance, elect_unclean_leaders};
use crate::error::ControllerError;
use crate::fencing;
use crate::handle::{ControllerHandle, Turn};
use crate::image::MetadataImage;
use crate::options::{ControllerOptions, SettingRules};
use crate::quorum::{
    PROPOSAL_SIZE_MAX, ProposeError, Quorum, adds, divide, may_be_divided, size_of,
};

/// Requests that wait for their turn; who comes then waits outside.
const QUEUE_LEN: usize = 1024;

/// Requests that are decided upon together, and committed at one offset.
const BATCH_LEN: usize = 64;

/// Records after which no further request joins a batch.
const BATCH_RECORD_COUNT: usize = 10_000;

/// How long after periodic work that came to nothing it is tried again.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// The controller of one node. It decides while its node leads the quorum, and refuses otherwise.
///
/// One task takes requests in order. Each is decided against the image as it will be after those
/// before it; the records of several go to the quorum together, and all are answered when these
/// are committed. Nothing that was not committed is visible to anybody (CO-002).
pub struct Controller {
    handle: ControllerHandle,
    stop: watch::Sender<bool>,
    task: JoinHandle<()>,
}

impl Controller {
    /// Starts the controller's task on the runtime of the caller.
    pub fn start<Q: Quorum, C: Clock>(
        quorum: Arc<Q>,
        options: ControllerOptions,
        rules: Arc<dyn SettingRules>,
        clock: C,
    ) -> Self {
        let (handle, turns) = ControllerHandle::new(QUEUE_LEN);
        let (stop, stopping) = watch::channel(false);
        let shell = Shell {
            images: quorum.watch(),
            periods: Periods::default(),
            core: Core::new(options, rules),
            is_active: false,
            quorum,
            clock,
        };
        let task = tokio::spawn(shell.run(turns, stopping));
        Self { handle, stop, task }
    }

    /// A handle for requests.
    pub fn handle(&self) -> ControllerHandle {
        self.handle.clone()
    }

    /// Lets the requests that have had their turn end, refuses the others with
    /// [`ControllerError::Stopped`], and ends the task.
    pub async fn stop(self) {
        // The task is gone already only if it panicked; that shows below.
        _ = self.stop.send(true);
        if let Err(error) = self.task.await {
            warn!(%error, "the controller's task did not end well");
        }
    }
}

/// When the periodic work is due; `None` while this controller is not active, or never.
#[derive(Default)]
struct Periods {
    balance: Option<Instant>,
    unclean: Option<Instant>,
    no_op: Option<Instant>,
    /// Nothing is done before: something has just come to nothing.
    not_before: Option<Instant>,
}

struct Shell<Q, C> {
    quorum: Arc<Q>,
    images: watch::Receiver<Arc<MetadataImage>>,
    core: Core,
    clock: C,
    is_active: bool,
    periods: Periods,
}

impl<Q: Quorum, C: Clock> Shell<Q, C> {
    async fn run(
        mut self,
        mut turns: mpsc::Receiver<Box<dyn Turn>>,
        mut stopping: watch::Receiver<bool>,
    ) {
        let mut batch = Vec::with_capacity(BATCH_LEN);
        loop {
            self.follow_leadership();
            let deadline = self.next_deadline();
            tokio::select! {
                biased;
                // An error means that nobody is left to stop it.
                _ = stopping.changed() => return,
                received = turns.recv_many(&mut batch, BATCH_LEN) => {
                    if received == 0 {
                        return;
                    }
                    self.follow_leadership();
                    self.serve(&mut batch).await;
                }
                () = self.clock.sleep_until(deadline) => self.tick().await,
                // Leadership changes with the image at the latest: a new leader writes a record.
                changed = self.images.changed() => {
                    if changed.is_err() {
                        return;
                    }
                }
            }
        }
    }

    /// Takes over, or lets go.
    fn follow_leadership(&mut self) {
        let is_active = self.quorum.leader() == Some(self.quorum.node_id());
        if is_active == self.is_active {
            return;
        }
        self.is_active = is_active;
        let now = self.clock.now();
        if is_active {
            info!(node = %self.quorum.node_id(), "this controller is the active one");
            let image = self.images.borrow().clone();
            self.core.activate(&image, now);
            let options = &self.core.options;
            self.periods = Periods {
                balance: options.balance_interval.map(|it| now + it),
                unclean: Some(now + options.unclean_election_interval),
                no_op: options.idle_interval.map(|it| now + it),
                not_before: None,
            };
        } else {
            info!(node = %self.quorum.node_id(), "this controller is no longer the active one");
            self.periods = Periods::default();
        }
    }

    fn next_deadline(&self) -> Option<Instant> {
        if !self.is_active {
            return None;
        }
        let periods = &self.periods;
        let deadlines = [periods.balance, periods.unclean, periods.no_op];
        let session = self.core.sessions.next_deadline();
        let first = deadlines.into_iter().chain([session]).flatten().min();
        first.max(first.and(periods.not_before))
    }

    /// Gives all requests of the batch their turn, in parts that are committed together.
    async fn serve(&mut self, batch: &mut Vec<Box<dyn Turn>>) {
        let mut waiting = batch.drain(..).peekable();
        let mut next_part: Option<Decided> = None;
        while next_part.is_some() || waiting.peek().is_some() {
            if !self.is_active {
                let leader = self.quorum.leader();
                let decided = next_part.into_iter().flat_map(|it| it.turns);
                for turn in decided.chain(waiting) {
                    turn.answer(Err(ControllerError::NotController { leader }));
                }
                return;
            }
            let image = self.images.borrow_and_update().clone();
            let mut part = next_part.take().unwrap_or_else(|| Decided::new(&image));
            while !part.is_full() && next_part.is_none() {
                let Some(mut turn) = waiting.next() else {
                    break;
                };
                let is_last = turn.needs_offset();
                let records = turn.decide(&mut self.core, &part.image, self.clock.now());
                next_part = part.take(turn, records, is_last);
            }
            let outcome = self.commit(part.records, part.size, &image).await;
            for turn in part.turns {
                turn.answer(outcome.clone());
            }
            if let Err(error) = outcome {
                // What follows was decided as if this had come to be.
                for turn in next_part.take().into_iter().flat_map(|it| it.turns) {
                    turn.answer(Err(error.clone()));
                }
            }
        }
    }

    /// Returns the offset of the last of the records, or where there are none, of the image. Records
    /// that are too many for one proposal, by their `size` in bytes, and may be divided go in several;
    /// where one of these is refused, those before it stand.
    async fn commit(
        &mut self,
        records: Vec<Record>,
        size: usize,
        image: &MetadataImage,
    ) -> Result<Offset, ControllerError> {
        if records.is_empty() {
            return Ok(image.offset());
        }
        let proposed = self.propose(records, size).await;
        if let Some(interval) = self.core.options.idle_interval {
            self.periods.no_op = Some(self.clock.now() + interval);
        }
        proposed.map_err(ControllerError::from)
    }

    async fn propose(&self, records: Vec<Record>, size: usize) -> Result<Offset, ProposeError> {
        if size <= PROPOSAL_SIZE_MAX || !may_be_divided(&records) {
            return self.quorum.propose(records).await;
        }
        let mut offset = Offset::UNKNOWN;
        for part in divide(records)? {
            offset = self.quorum.propose(part).await?;
        }
        Ok(offset)
    }

    /// Does one thing that is due; what else is due comes in the next turns. What came to nothing
    /// is tried again a little later.
    async fn tick(&mut self) {
        let image = self.images.borrow_and_update().clone();
        let now = self.clock.now();
        let due = |at: Option<Instant>| at.is_some_and(|at| at <= now);
        let stale = self.core.sessions.stalest(now);
        let records = if let Some(stale) = stale {
            match image.broker(stale).filter(|broker| !broker.is_fenced) {
                Some(broker) => {
                    warn!(broker = %stale, "no heartbeat for a whole session, fencing the broker");
                    fencing::fence(&self.core, &image, broker)
                }
                None => Vec::new(),
            }
        } else if due(self.periods.unclean) {
            let (records, has_more) = elect_unclean_leaders(&self.core, &image);
            let interval = self.core.options.unclean_election_interval;
            self.periods.unclean = Some(if has_more { now } else { now + interval });
            records
        } else if due(self.periods.balance) {
            let (records, has_more) = balance(&image);
            let interval = self.core.options.balance_interval;
            self.periods.balance = interval.map(|it| if has_more { now } else { now + it });
            records
        } else if due(self.periods.no_op) {
            vec![NoOpRecord::default().into()]
        } else {
            Vec::new()
        };
        // What cannot be written has no size, and is refused where it is proposed.
        let size = size_of(&records).unwrap_or(0);
        match self.commit(records, size, &image).await {
            Ok(_) => {
                self.periods.not_before = None;
                // Not earlier: until it is fenced, its session is what sees to that.
                if let Some(stale) = stale {
                    self.core.sessions.fence(stale);
                }
            }
            Err(error) => {
                self.periods.not_before = Some(now + RETRY_AFTER);
                let is_told = matches!(
                    error,
                    ControllerError::NotController { .. }
                        | ControllerError::Quorum(ProposeError::NoRoom { .. })
                );
                if !is_told {
                    warn!(
                        error = &error as &dyn std::error::Error,
                        "periodic work came to nothing"
                    );
                }
            }
        }
    }
}

/// Requests that were decided upon, and are committed together: all of them, or none.
struct Decided {
    /// As it will be after them.
    image: MetadataImage,
    records: Vec<Record>,
    /// Bytes of the records in a proposal; 0 if they cannot be written.
    size: usize,
    turns: Vec<Box<dyn Turn>>,
    /// Nothing may join.
    is_closed: bool,
    /// Whether the records add to what the cluster has, and so are refused on a full disk.
    adds: bool,
}

impl Decided {
    fn new(image: &MetadataImage) -> Self {
        Self {
            image: image.clone(),
            records: Vec::new(),
            size: 0,
            turns: Vec::new(),
            is_closed: false,
            adds: false,
        }
    }

    fn is_full(&self) -> bool {
        self.is_closed || self.records.len() >= BATCH_RECORD_COUNT
    }

    /// Adds a request that was decided upon by `image`. One that cannot be committed along with
    /// those before it, because they would be too much together, because one of the two may be
    /// refused for want of room and the other not, or because it cannot be committed at all, comes
    /// back as what is to be committed next. Nothing joins after one that must be the last.
    fn take(&mut self, turn: Box<dyn Turn>, records: Vec<Record>, is_last: bool) -> Option<Self> {
        let after = if records.is_empty() {
            Ok(self.image.clone())
        } else {
            self.image.apply(&records, self.image.offset())
        };
        let size = size_of(&records).ok();
        let is_one_proposal = size.is_some_and(|it| it <= PROPOSAL_SIZE_MAX);
        let is_sound = after.is_ok() && is_one_proposal;
        let (after, size) = (
            after.unwrap_or_else(|_| self.image.clone()),
            size.unwrap_or(0),
        );
        let adds = adds(&records);
        let is_alike = records.is_empty() || self.records.is_empty() || adds == self.adds;
        let fits = is_sound && is_alike && self.size + size <= PROPOSAL_SIZE_MAX;
        if fits || self.turns.is_empty() {
            self.image = after;
            self.records.extend(records);
            self.size += size;
            self.turns.push(turn);
            self.is_closed = is_last || !is_sound;
            self.adds |= adds;
            return None;
        }
        Some(Self {
            image: after,
            records,
            size,
            turns: vec![turn],
            is_closed: is_last || !is_sound,
            adds,
        })
    }
}
