//! [`StartError`]: why a broker did not start.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use klamm_controller::{HeartbeatError, OpenQuorumError, RegisterBrokerError};
use klamm_io::NetError;
use klamm_log::SmallFileError;
use klamm_primitives::BrokerId;
use thiserror::Error;

/// Why a broker did not start. Nothing of it is left running, and what it had opened is closed.
#[derive(Debug, Error)]
pub enum StartError {
    /// A listener's host has no address.
    #[error("listener {listener}: {source}")]
    Host {
        /// The listener's name.
        listener: String,
        /// Why.
        source: NetError,
    },
    /// A listener could not be opened.
    #[error(transparent)]
    Network(#[from] klamm_network::StartError),
    /// It cannot be told whose a log directory is.
    #[error(transparent)]
    Owner(#[from] SmallFileError),
    /// A directory belongs to another node.
    #[error("{} belongs to node {node}, and node.id is {own}", path.display())]
    OtherNode {
        /// The directory.
        path: PathBuf,
        /// Whose it is.
        node: BrokerId,
        /// This node.
        own: BrokerId,
    },
    /// A directory has Apache Kafka's metadata in it, which are not read here. Where Klamm has begun
    /// its own, Apache Kafka does not start any more.
    #[error(
        "{} is a directory of Apache Kafka: it holds {name}, and Apache Kafka would not start there \
         any more. Give another directory",
        directory.display()
    )]
    ApacheKafka {
        /// The directory.
        directory: PathBuf,
        /// What of Apache Kafka it holds.
        name: &'static str,
    },
    /// Another process, such as a broker that runs already, uses the directory.
    #[error("{} is in use by another process", directory.display())]
    InUse {
        /// The directory.
        directory: PathBuf,
    },
    /// Two directories belong to different clusters.
    #[error(
        "{} belongs to cluster {cluster}, and {} to cluster {other_cluster}",
        path.display(), other.display()
    )]
    TwoClusters {
        /// One directory.
        path: PathBuf,
        /// Its cluster.
        cluster: String,
        /// Another directory.
        other: PathBuf,
        /// Its cluster.
        other_cluster: String,
    },
    /// The metadata log could not be opened.
    #[error("{}{source}", Beside(directory, source))]
    Quorum {
        /// Its directory.
        directory: PathBuf,
        /// Why.
        source: OpenQuorumError,
    },
    /// The logs could not be opened.
    #[error(transparent)]
    Logs(#[from] klamm_log::StartError),
    /// The log directories hold partitions that this cluster does not know and has not deleted: they
    /// may be another cluster's, or its metadata are elsewhere. Nothing of them is touched.
    #[error(
        "{} holds {partition}{}, of a topic that this cluster neither knows nor has deleted: its \
         metadata are elsewhere, or it is another broker's, of Apache Kafka perhaps. Move it out of the log directory to \
         start without it",
        directory.display(), AndOthers(*others)
    )]
    ForeignLogs {
        /// One of the log directories.
        directory: PathBuf,
        /// One of the partitions.
        partition: String,
        /// How many there are besides.
        others: usize,
    },
    /// A thread could not be had.
    #[error("no thread to be had: {0}")]
    Thread(#[from] io::Error),
    /// The controller did not let the broker in.
    #[error(transparent)]
    Register(#[from] RegisterBrokerError),
    /// The controller did not take a sign of life.
    #[error(transparent)]
    Heartbeat(#[from] HeartbeatError),
}

/// The directory in front of an error that does not name the place itself.
struct Beside<'a>(&'a Path, &'a OpenQuorumError);

impl fmt::Display for Beside<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.1 {
            OpenQuorumError::Disk(_)
            | OpenQuorumError::OtherCluster { .. }
            | OpenQuorumError::Damaged { .. }
            | OpenQuorumError::Lost { .. } => Ok(()),
            OpenQuorumError::Log(_)
            | OpenQuorumError::Unreadable { .. }
            | OpenQuorumError::NoSnapshot { .. }
            | OpenQuorumError::Replay { .. }
            | OpenQuorumError::NotAlone { .. }
            | OpenQuorumError::Propose(_)
            | OpenQuorumError::Raft { .. } => write!(f, "{}: ", self.0.display()),
        }
    }
}

struct AndOthers(usize);

impl fmt::Display for AndOthers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0 => Ok(()),
            count => write!(f, " (and {count} more)"),
        }
    }
}
