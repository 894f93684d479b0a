//! [`Controller`]: the task that gives requests their turn.

use std::sync::Arc;
use std::time::Instant;

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
use crate::quorum::Quorum;

/// Requests that wait for their turn; who comes then waits outside.
const QUEUE_LEN: usize = 1024;

/// Requests that are decided upon together, and committed at one offset.
const BATCH_LEN: usize = 64;

/// Records after which no further request joins a batch.
const BATCH_RECORD_COUNT: usize = 10_000;

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
        deadlines.into_iter().chain([session]).flatten().min()
    }

    /// Gives all requests of the batch their turn, in parts that are committed together.
    async fn serve(&mut self, batch: &mut Vec<Box<dyn Turn>>) {
        let mut waiting = batch.drain(..).peekable();
        while waiting.peek().is_some() {
            if !self.is_active {
                let leader = self.quorum.leader();
                for turn in waiting.by_ref() {
                    turn.answer(Err(ControllerError::NotController { leader }));
                }
                return;
            }
            let image = self.images.borrow_and_update().clone();
            let mut decided = Decided::new(&image);
            for mut turn in waiting.by_ref() {
                let is_last = turn.needs_offset();
                decided.take(turn.decide(&mut self.core, &decided.image, self.clock.now()));
                decided.turns.push(turn);
                if is_last || decided.records.len() >= BATCH_RECORD_COUNT {
                    break;
                }
            }
            let outcome = self.commit(decided.records, &image).await;
            for turn in decided.turns {
                turn.answer(outcome.clone());
            }
        }
    }

    /// Returns the offset of the records, or where there are none, of the image.
    async fn commit(
        &mut self,
        records: Vec<Record>,
        image: &MetadataImage,
    ) -> Result<Offset, ControllerError> {
        if records.is_empty() {
            return Ok(image.offset());
        }
        let proposed = self.quorum.propose(records).await;
        if let Some(interval) = self.core.options.idle_interval {
            self.periods.no_op = Some(self.clock.now() + interval);
        }
        proposed.map_err(ControllerError::from)
    }

    /// Does one thing that is due; what else is due comes in the next turns.
    async fn tick(&mut self) {
        let image = self.images.borrow_and_update().clone();
        let now = self.clock.now();
        let due = |at: Option<Instant>| at.is_some_and(|at| at <= now);
        let records = if let Some(stale) = self.core.sessions.stalest(now) {
            self.core.sessions.fence(stale);
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
        match self.commit(records, &image).await {
            Ok(_) | Err(ControllerError::NotController { .. }) => {}
            Err(error) => {
                warn!(
                    error = &error as &dyn std::error::Error,
                    "periodic work came to nothing"
                );
            }
        }
    }
}

/// Requests that were decided upon, and are not committed yet.
struct Decided {
    /// As it will be after them.
    image: MetadataImage,
    records: Vec<Record>,
    turns: Vec<Box<dyn Turn>>,
}

impl Decided {
    fn new(image: &MetadataImage) -> Self {
        Self {
            image: image.clone(),
            records: Vec::new(),
            turns: Vec::new(),
        }
    }

    fn take(&mut self, records: Vec<Record>) {
        if records.is_empty() {
            return;
        }
        // Records that do not fit are refused by the quorum, for all of the batch.
        if let Ok(next) = self.image.apply(&records, self.image.offset()) {
            self.image = next;
        }
        self.records.extend(records);
    }
}
