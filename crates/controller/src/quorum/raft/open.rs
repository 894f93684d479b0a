//! Opening a [`RaftQuorum`]: from its files to a node that leads, or follows.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use klamm_io::{Clock, Disk, DiskError, DiskErrorKind};
use klamm_log::{CleanupPolicy, DiskFailure, Log, LogConfig, OpenError, OpenOptions};
use klamm_primitives::{BrokerId, Offset};
use openraft::{Config, Raft, SnapshotPolicy};
use thiserror::Error;
use tracing::info;

use super::log_store::{BATCH_SIZE_MAX, LogStore, LogStoreError};
use super::no_peers::NoPeers;
use super::quorum_state::{self, QuorumState, QuorumStateError};
use super::reserve::Reserve;
use super::snapshot::{self, Snapshot};
use super::snapshots::Snapshots;
use super::state_machine::{Applied, StateMachine};
use super::tail::{self, TailError};
use super::{Membership, RaftOptions, RaftQuorum, Types, Vote, durable_point, offset_of};
use crate::image::ApplyError;
use crate::quorum::{ProposeError, Quorum};

/// A quorum could not be opened. Nothing in its directory was lost by trying.
#[derive(Debug, Error)]
pub enum OpenQuorumError {
    /// The disk refused, or another process has the directory.
    #[error(transparent)]
    Disk(#[from] DiskError),
    /// The log could not be opened.
    #[error("the metadata log cannot be opened")]
    Log(#[from] OpenError),
    /// The log belongs to another cluster.
    #[error("{} holds the metadata of cluster {found}, this is {expected}", directory.display())]
    OtherCluster {
        /// Where the log is.
        directory: PathBuf,
        /// Its cluster.
        found: String,
        /// The cluster that asks.
        expected: String,
    },
    /// A file of the log, or beside it, is damaged. Going on without what it held might undo what
    /// was promised.
    #[error("{path} is damaged: {reason}", path = path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// Entries at the end of the log that were durable are not there.
    #[error("the log in {} ends at {end}, and was durable up to {durable}", directory.display())]
    Lost {
        /// Where the log is.
        directory: PathBuf,
        /// Where it ends.
        end: Offset,
        /// Up to where it should go.
        durable: Offset,
    },
    /// An entry of the log cannot be read.
    #[error("the metadata log cannot be read: {reason}")]
    Unreadable {
        /// What is wrong, and where.
        reason: String,
    },
    /// The log was cut, and the snapshot that stands for what is missing is not there.
    #[error("the metadata log begins at {log_start}, and the snapshot ends before that")]
    NoSnapshot {
        /// The first offset of the log.
        log_start: Offset,
    },
    /// A record does not fit those before it. (CO-006)
    #[error("the metadata log makes no sense at {offset}")]
    Replay {
        /// Where it stands.
        offset: Offset,
        /// What is wrong.
        source: ApplyError,
    },
    /// The log belongs to a quorum in which this node has no vote by itself.
    #[error("the quorum has {voters} voters, and this node cannot reach the others")]
    NotAlone {
        /// How many.
        voters: usize,
    },
    /// The first records of the log could not be written.
    #[error(transparent)]
    Propose(#[from] ProposeError),
    /// Raft did not start, or stopped at once.
    #[error("the quorum did not start: {reason}")]
    Raft {
        /// Why.
        reason: String,
    },
}

impl From<LogStoreError> for OpenQuorumError {
    fn from(error: LogStoreError) -> Self {
        match error {
            LogStoreError::Disk(error) => Self::Disk(error),
            other => Self::Unreadable {
                reason: with_sources(&other),
            },
        }
    }
}

impl<D: Disk, C: Clock> RaftQuorum<D, C> {
    /// Opens the node of a quorum of one, making its files where there are none. It leads when
    /// this returns, and its image has all that the log had.
    ///
    /// A new quorum costs three syncs: of its directory's name, and two of the vote; and one more for
    /// each directory above that is made with it. Its first entry becomes durable with the next. One
    /// that led before takes up its term again, and costs none after a clean stop.
    ///
    /// # Errors
    /// By variant.
    pub async fn open(disk: D, options: RaftOptions, clock: C) -> Result<Self, OpenQuorumError> {
        let opening = {
            let (options, clock) = (options.clone(), clock.clone());
            tokio::task::spawn_blocking(move || Found::read(disk, &options, clock))
        };
        let found = opening.await.map_err(|error| raft_failed(&error))??;
        let voters: Vec<_> = found.membership.voter_ids().collect();
        if !voters.is_empty() && voters != [options.node_id] {
            return Err(OpenQuorumError::NotAlone {
                voters: voters.len(),
            });
        }

        let disk = found.disk;
        let machine = StateMachine::new(disk.clone(), options.directory.clone(), found.applied);
        let (images, shown) = (machine.images(), machine.shown());
        let log = found.log;
        let node_id = options.node_id;
        let raft = Raft::<Types>::new(node_id, config(), NoPeers, log.clone(), machine).await;
        let raft = raft.map_err(|error| raft_failed(&error))?;
        if !log.vote().is_some_and(|vote| is_won_by(&vote, node_id)) {
            let elected = raft.trigger().elect().await;
            elected.map_err(|error| raft_failed(&error))?;
        }
        lead(&raft, node_id).await?;

        let (taker, now) = (raft.clone(), clock.now());
        let snapshots = Snapshots::new(disk, &options, taker, shown, found.grown, now);
        let quorum = Self {
            raft,
            images,
            options,
            log,
            clock,
            snapshots,
        };
        quorum.bootstrap().await?;
        Ok(quorum)
    }

    /// Writes the first records, unless there have been some. (CO-007)
    async fn bootstrap(&self) -> Result<(), OpenQuorumError> {
        let records = self.options.bootstrap.clone();
        if !records.is_empty() && self.images.borrow().is_empty() {
            self.propose(records).await?;
        }
        Ok(())
    }
}

/// Waits until the node leads and has applied all that it had.
async fn lead(raft: &Raft<Types>, node_id: BrokerId) -> Result<(), OpenQuorumError> {
    let mut metrics = raft.metrics();
    let led = metrics.wait_for(|metrics| {
        let is_current = metrics.last_applied.map(|it| it.index) == metrics.last_log_index;
        let leads = metrics.current_leader == Some(node_id) && metrics.state.is_leader();
        metrics.running_state.is_err() || leads && is_current
    });
    let metrics = led.await.map_err(|error| raft_failed(&error))?;
    match &metrics.running_state {
        Ok(()) => Ok(()),
        Err(fatal) => Err(raft_failed(fatal)),
    }
}

/// What was in the directory.
struct Found<D: Disk, C: Clock> {
    disk: D,
    log: LogStore<D, C>,
    applied: Applied,
    /// The last one in the log, or of the snapshot.
    membership: Membership,
    /// Bytes of records behind the snapshot.
    grown: u64,
}

impl<D: Disk, C: Clock> Found<D, C> {
    /// Blocks.
    fn read(disk: D, options: &RaftOptions, clock: C) -> Result<Self, OpenQuorumError> {
        let directory = &options.directory;
        create_durably(&disk, directory)?;
        let lock = disk.try_lock(&directory.join(".lock"))?;
        let mut reserve = Reserve::open(disk.clone(), directory);
        let (state, mut applied, log) = loop {
            match open_files(&disk, options, &clock) {
                Err(error) if lack_of(&error).is_some_and(|it| reserve.relieve(it, 0)) => {}
                opened => break opened?,
            }
        };
        let log = LogStore::new(
            disk.clone(),
            directory.clone(),
            clock,
            log,
            state,
            reserve,
            lock,
        );

        let mut membership = applied.membership.membership().clone();
        let from = applied.last;
        let mut grown = 0;
        let mut is_alone = is_sole_voter(&membership, options.node_id) || from.is_none();
        log.replay(from, |entry| {
            if from.is_some_and(|from| entry.log_id.index <= from.index) {
                return Ok(());
            }
            if let openraft::EntryPayload::Membership(found) = &entry.payload {
                membership = found.clone();
                is_alone = is_alone && is_sole_voter(found, options.node_id);
            }
            if let openraft::EntryPayload::Normal(change) = &entry.payload {
                grown += change.size() as u64;
            }
            // Where no other node votes, what is durable here is committed.
            if is_alone {
                let offset = offset_of(entry.log_id.index);
                let replayed = applied.apply(&entry);
                replayed.map_err(|source| OpenQuorumError::Replay { offset, source })?;
            }
            Ok(())
        })?;
        check_vote(&log, &membership, options)?;
        if log.last().is_none() {
            let first = log.begin(options.node_id)?;
            let replayed = applied.apply(&first);
            let offset = offset_of(first.log_id.index);
            replayed.map_err(|source| OpenQuorumError::Replay { offset, source })?;
            membership = applied.membership.membership().clone();
        }
        info!(directory = %directory.display(), offset = %applied.image.offset(),
            "opened the metadata log");
        Ok(Self {
            disk,
            log,
            applied,
            membership,
            grown,
        })
    }
}

/// Reads the files beside the log, and opens it, cutting off what a crash has torn. Where it fails
/// for want of room or descriptors it may be tried again.
fn open_files<D: Disk, C: Clock>(
    disk: &D,
    options: &RaftOptions,
    clock: &C,
) -> Result<(QuorumState, Applied, Log<D>), OpenQuorumError> {
    let directory = &options.directory;
    let state = read_state(disk, options)?;
    let applied = read_snapshot(disk, options)?;
    let log_start = state
        .purged
        .map_or(Offset::ZERO, |it| offset_of(it.index) + 1);
    if applied.image.offset() + 1 < log_start {
        return Err(OpenQuorumError::NoSnapshot { log_start });
    }
    let durable = durable_point::read(disk, directory)?.unwrap_or(log_start);
    let torn = tail::check(disk, directory, log_start, durable);
    if let Some(torn) = torn.map_err(|error| damaged_tail(directory, error))? {
        torn.cut(disk)?;
    }
    let how = OpenOptions {
        recovery_point: durable.max(log_start),
        log_start,
        high_watermark: log_start,
        ..OpenOptions::new(false, clock.unix_ms())
    };
    let (log, _) = Log::open(disk.clone(), directory.clone(), log_config(), &how)?;
    Ok((state, applied, log))
}

/// Whether the vote may be one of this log's. Raft takes it as it is, and one that cannot be, as a
/// file without a checksum may have it, ends it in ways that say nothing.
fn check_vote<D: Disk, C: Clock>(
    log: &LogStore<D, C>,
    membership: &Membership,
    options: &RaftOptions,
) -> Result<(), OpenQuorumError> {
    let last_term = log.last().map_or(0, |last| last.leader_id.term);
    // Without one it has not voted yet, and only the first entry of all comes before that.
    let vote = log.vote().unwrap_or_else(|| Vote::new(0, options.node_id));
    let (term, node) = (vote.leader_id.term, vote.leader_id.node_id);
    let is_known = node == options.node_id || membership.get_node(&node).is_some();
    let reason = if !is_known {
        format!("the vote is for node {node}, which is no member of the quorum")
    } else if term < last_term {
        format!("the vote is of term {term}, and the log goes on to term {last_term}")
    } else if i32::try_from(term).is_err() {
        format!("the vote is of term {term}, which no log can have")
    } else {
        return Ok(());
    };
    Err(damaged_state(options, reason))
}

fn damaged_state(options: &RaftOptions, reason: impl Into<String>) -> OpenQuorumError {
    OpenQuorumError::Damaged {
        path: options.directory.join(quorum_state::FILE_NAME),
        reason: reason.into(),
    }
}

/// The disk's own error, where it is one.
fn lack_of(error: &OpenQuorumError) -> Option<&DiskError> {
    match error {
        OpenQuorumError::Disk(error) => Some(error),
        OpenQuorumError::Log(error) => error.disk_error(),
        _ => None,
    }
}

/// The state, of this cluster. That of old, which names none, is of this one from here on.
fn read_state<D: Disk>(disk: &D, options: &RaftOptions) -> Result<QuorumState, OpenQuorumError> {
    let directory = &options.directory;
    let state = QuorumState::read(disk, directory)?;
    let expected = options.cluster_id.to_string();
    match &state.cluster_id {
        Some(found) if *found == expected => Ok(state),
        Some(found) => Err(OpenQuorumError::OtherCluster {
            directory: directory.clone(),
            found: found.clone(),
            expected,
        }),
        None => {
            let is_new = state == QuorumState::default();
            let state = QuorumState {
                cluster_id: Some(expected),
                ..state
            };
            // A new node writes its vote before anything else.
            if !is_new {
                state.write(disk, directory)?;
            }
            Ok(state)
        }
    }
}

/// The cluster to which the metadata log in this directory belongs; `None` where there is no log,
/// or it does not say.
///
/// # Errors
/// [`OpenQuorumError::Disk`], [`OpenQuorumError::Damaged`].
pub fn cluster_of<D: Disk>(disk: &D, directory: &Path) -> Result<Option<String>, OpenQuorumError> {
    Ok(QuorumState::read(disk, directory)?.cluster_id)
}

impl From<QuorumStateError> for OpenQuorumError {
    fn from(error: QuorumStateError) -> Self {
        match error {
            QuorumStateError::Disk(error) => Self::Disk(error),
            QuorumStateError::Damaged { path } => Self::Damaged {
                path,
                reason: "its checksum does not fit, or a line makes no sense or is missing"
                    .to_owned(),
            },
        }
    }
}

fn damaged_tail(directory: &Path, error: TailError) -> OpenQuorumError {
    let reason = error.to_string();
    match error {
        TailError::Disk(error) => OpenQuorumError::Disk(error),
        TailError::Broken { path, .. } | TailError::Headless { path, .. } => {
            OpenQuorumError::Damaged { path, reason }
        }
        TailError::Short { end, durable } => OpenQuorumError::Lost {
            directory: directory.to_owned(),
            end,
            durable,
        },
    }
}

fn read_snapshot<D: Disk>(disk: &D, options: &RaftOptions) -> Result<Applied, OpenQuorumError> {
    let Some(bytes) = snapshot::read(disk, &options.directory)? else {
        return Ok(Applied::new(options.cluster_id.clone()));
    };
    match Snapshot::decode(&bytes, &options.cluster_id) {
        Ok(snapshot) => Ok(snapshot.into()),
        Err(error) => Err(OpenQuorumError::Damaged {
            path: options.directory.join("snapshot"),
            reason: with_sources(&error),
        }),
    }
}

/// Makes a directory and those above it that are missing, so that their names survive the power.
fn create_durably<D: Disk>(disk: &D, directory: &Path) -> Result<(), DiskError> {
    let mut missing = Vec::new();
    for ancestor in directory.ancestors() {
        match disk.metadata(ancestor) {
            Ok(_) => break,
            Err(error) if error.kind() == DiskErrorKind::NotFound => missing.push(ancestor),
            Err(error) => return Err(error),
        }
    }
    disk.create_dir_all(directory)?;
    for made in missing {
        match made.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => disk.sync_dir(parent)?,
            Some(_) => disk.sync_dir(Path::new("."))?,
            None => {}
        }
    }
    Ok(())
}

/// The log of entries keeps what no snapshot stands for, whatever its age and size.
fn log_config() -> LogConfig {
    LogConfig {
        segment_bytes: 16 << 20,
        index_bytes: 64 << 10,
        batch_bytes_max: u32::try_from(BATCH_SIZE_MAX).unwrap_or(u32::MAX),
        cleanup_policy: CleanupPolicy {
            delete: false,
            compact: false,
        },
        retention_age: None,
        keeps_producer_snapshots: false,
        // Each entry has its term.
        keeps_leader_epochs: false,
        ..LogConfig::default()
    }
}

/// A quorum of one needs neither ticks nor heartbeats: it is elected when it is told to be. openraft
/// wakes up for each tick even where ticks are off, so they are days apart.
fn config() -> Arc<Config> {
    const DAY_MS: u64 = 24 * 60 * 60 * 1000;
    Arc::new(Config {
        cluster_name: "klamm".to_owned(),
        heartbeat_interval: DAY_MS,
        election_timeout_min: 2 * DAY_MS,
        election_timeout_max: 3 * DAY_MS,
        enable_tick: false,
        enable_heartbeat: false,
        enable_elect: false,
        snapshot_policy: SnapshotPolicy::Never,
        max_in_snapshot_log_to_keep: 0,
        ..Config::default()
    })
}

fn is_sole_voter(membership: &Membership, node_id: BrokerId) -> bool {
    membership.voter_ids().eq([node_id])
}

fn is_won_by(vote: &Vote, node_id: BrokerId) -> bool {
    vote.committed && vote.leader_id.node_id == node_id
}

fn raft_failed(error: &dyn std::error::Error) -> OpenQuorumError {
    OpenQuorumError::Raft {
        reason: with_sources(error),
    }
}

/// An error and what caused it, in one line.
fn with_sources(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        source = cause.source();
    }
    text
}
