//! `quorum-state`: the cluster, the vote of this node, and up to where the log was cut.
//!
//! ```text
//! version=2
//! cluster.id=AAECAwQFBgcICQoLDA0ODw
//! vote.term=3
//! vote.node=1
//! vote.committed=true
//! purged.term=2
//! purged.node=1
//! purged.index=41
//! crc32c=0f1e2d3c
//! ```
//!
//! Replaced as a whole, so that after a crash it is the former one or the new one. Without a vote,
//! or without a cut, their lines are missing, and so is the cluster's in files of old. The last
//! line is the checksum of those before it; files of version 1 have none.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use klamm_io::{Disk, DiskError, DiskErrorKind, read_whole, replace_whole};
use klamm_primitives::BrokerId;
use klamm_records::crc32c;

use super::{LogId, Vote, entry};

pub(super) const FILE_NAME: &str = "quorum-state";

/// What the line of the checksum begins with.
const CHECKSUM: &str = "crc32c=";

/// Far more than its lines can be.
const LEN_MAX: usize = 4096;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct QuorumState {
    pub(super) cluster_id: Option<String>,
    pub(super) vote: Option<Vote>,
    /// The last entry that was cut off the log's front.
    pub(super) purged: Option<LogId>,
}

/// Why it was not read.
#[derive(Debug)]
pub(super) enum QuorumStateError {
    Disk(DiskError),
    /// The checksum does not fit, a line makes no sense, or one is missing.
    Damaged {
        path: PathBuf,
    },
}

impl QuorumState {
    /// Reads it; that of a new node where there is no file.
    pub(super) fn read<D: Disk>(disk: &D, directory: &Path) -> Result<Self, QuorumStateError> {
        let path = directory.join(FILE_NAME);
        match read_whole(disk, &path, LEN_MAX) {
            Ok(bytes) => {
                let text = std::str::from_utf8(&bytes).ok();
                let state = text.and_then(Self::parse);
                state.ok_or(QuorumStateError::Damaged { path })
            }
            Err(error) if error.kind() == DiskErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(QuorumStateError::Disk(error)),
        }
    }

    /// Writes it, durably.
    pub(super) fn write<D: Disk>(&self, disk: &D, directory: &Path) -> Result<(), DiskError> {
        replace_whole(disk, &directory.join(FILE_NAME), self.to_text().as_bytes())
    }

    fn parse(text: &str) -> Option<Self> {
        let lines: Vec<_> = text.lines().map(|line| line.split_once('=')).collect();
        let value = |name: &str| {
            let mut lines = lines.iter().flatten();
            lines.find(|(key, _)| *key == name).map(|(_, value)| *value)
        };
        let number = |name: &str| value(name)?.parse::<i64>().ok();
        let node = |name: &str| Some(BrokerId::new(i32::try_from(number(name)?).ok()?));
        match (value("version")?, text.rfind(CHECKSUM)) {
            ("1", None) => {}
            ("2", Some(at)) if text[at..] == checksum_of(&text[..at]) => {}
            _ => return None,
        }
        let cluster_id = value("cluster.id").map(str::to_owned);
        let vote = match value("vote.term") {
            Some(term) => Some(Vote {
                leader_id: openraft::LeaderId::new(term.parse().ok()?, node("vote.node")?),
                committed: value("vote.committed")?.parse().ok()?,
            }),
            None => None,
        };
        let purged = match number("purged.index") {
            Some(index) => {
                let (term, node) = (number("purged.term")?, node("purged.node")?);
                Some(entry::log_id(term, node, index).ok()?)
            }
            None => None,
        };
        Some(Self {
            cluster_id,
            vote,
            purged,
        })
    }

    fn to_text(&self) -> String {
        let mut text = "version=2\n".to_owned();
        if let Some(cluster_id) = &self.cluster_id {
            _ = writeln!(text, "cluster.id={cluster_id}");
        }
        if let Some(Vote {
            leader_id,
            committed,
        }) = &self.vote
        {
            let (term, node) = (leader_id.term, leader_id.node_id);
            _ = write!(text, "vote.term={term}\nvote.node={node}\n");
            _ = writeln!(text, "vote.committed={committed}");
        }
        if let Some(LogId { leader_id, index }) = &self.purged {
            let (term, node) = (leader_id.term, leader_id.node_id);
            _ = write!(text, "purged.term={term}\npurged.node={node}\n");
            _ = writeln!(text, "purged.index={index}");
        }
        let checksum = checksum_of(&text);
        text + &checksum
    }
}

/// The last line, for these before it.
fn checksum_of(lines: &str) -> String {
    format!("{CHECKSUM}{:08x}\n", crc32c(lines.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_is_read_as_it_was_written() {
        let vote = Vote::new_committed(3, BrokerId::new(7));
        let purged = entry::log_id(2, BrokerId::new(1), 41).unwrap();
        for vote in [None, Some(Vote::new(0, BrokerId::new(0))), Some(vote)] {
            for purged in [None, Some(purged)] {
                for cluster_id in [None, Some("a=cluster".to_owned())] {
                    let state = QuorumState {
                        cluster_id,
                        vote,
                        purged,
                    };
                    assert_eq!(QuorumState::parse(&state.to_text()), Some(state));
                }
            }
        }
    }

    #[test]
    fn a_state_of_old_is_read() {
        let text = "version=1\nvote.term=3\nvote.node=7\nvote.committed=true\n";
        let state = QuorumState {
            vote: Some(Vote::new_committed(3, BrokerId::new(7))),
            ..QuorumState::default()
        };
        assert_eq!(QuorumState::parse(text), Some(state));
    }

    #[test]
    fn any_altered_byte_is_told() {
        let state = QuorumState {
            cluster_id: Some("a-cluster".to_owned()),
            vote: Some(Vote::new_committed(3, BrokerId::new(7))),
            purged: Some(entry::log_id(2, BrokerId::new(1), 41).unwrap()),
        };
        let text = state.to_text().into_bytes();
        for at in 0..text.len() {
            for bit in 0..8 {
                let mut altered = text.clone();
                altered[at] ^= 1 << bit;
                let altered = std::str::from_utf8(&altered);
                let parsed = altered.ok().and_then(QuorumState::parse);
                assert_eq!(parsed, None, "bit {bit} of byte {at}");
            }
            let cut = std::str::from_utf8(&text[..at]).unwrap();
            assert_eq!(QuorumState::parse(cut), None, "cut at {at}");
        }
    }

    #[test]
    fn what_makes_no_sense_is_no_state() {
        for text in [
            "",
            "version=2\n",
            "version=3\n",
            "version=1\nvote.term=x\nvote.node=1\nvote.committed=true\n",
            "version=1\nvote.term=1\nvote.node=1\n",
            "version=1\nvote.term=-1\nvote.node=1\nvote.committed=true\n",
            "version=1\nvote.term=1\nvote.node=4294967296\nvote.committed=true\n",
            "version=1\npurged.index=4\npurged.node=1\n",
            "version=1\npurged.index=-4\npurged.term=1\npurged.node=1\n",
        ] {
            assert_eq!(QuorumState::parse(text), None, "{text:?}");
        }
    }
}
