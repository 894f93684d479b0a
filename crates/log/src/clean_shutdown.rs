//! `.kafka_cleanshutdown`: says that every log of a directory was closed well.
//!
//! One line of JSON, `{"version":0,"brokerEpoch":42}`; written last when stopping, removed
//! first when starting. Older ones are empty.

use std::path::{Path, PathBuf};

use klamm_io::{Disk, DiskError, DiskErrorKind};
use klamm_primitives::BrokerEpoch;

use crate::small_file::{self, SmallFileError};

const FILE_NAME: &str = ".kafka_cleanshutdown";

/// What the marker of a clean stop says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CleanShutdown {
    /// The broker's epoch when it stopped, [`BrokerEpoch::NONE`] where the marker does not tell.
    pub broker_epoch: BrokerEpoch,
}

impl CleanShutdown {
    fn path(directory: &Path) -> PathBuf {
        directory.join(FILE_NAME)
    }

    /// Reads the marker; `None` where there is none. A marker that makes no sense still is one,
    /// since it was written last; its broker epoch is then unknown.
    ///
    /// # Errors
    /// [`SmallFileError`] where it is there and cannot be read.
    pub fn read<D: Disk>(disk: &D, directory: &Path) -> Result<Option<Self>, SmallFileError> {
        let text = match small_file::read(disk, &Self::path(directory)) {
            Ok(Some(text)) => text,
            Ok(None) => return Ok(None),
            Err(SmallFileError::Damaged { .. }) => String::new(),
            Err(error) => return Err(error),
        };
        let broker_epoch = broker_epoch(&text).map_or(BrokerEpoch::NONE, BrokerEpoch::new);
        Ok(Some(Self { broker_epoch }))
    }

    /// Puts the marker there, durably.
    ///
    /// # Errors
    /// The marker may be there or not.
    pub fn write<D: Disk>(self, disk: &D, directory: &Path) -> Result<(), DiskError> {
        let text = format!("{{\"version\":0,\"brokerEpoch\":{}}}", self.broker_epoch);
        small_file::replace(disk, &Self::path(directory), &text)
    }

    /// Takes the marker away, durably: from here on a crash is one. Names in the directory that a
    /// process had no time to sync, because it was killed, are durable then, too.
    ///
    /// # Errors
    /// The marker may be there or not.
    pub fn remove<D: Disk>(disk: &D, directory: &Path) -> Result<(), DiskError> {
        match disk.remove_file(&Self::path(directory)) {
            Err(error) if error.kind() != DiskErrorKind::NotFound => Err(error),
            _ => disk.sync_dir(directory),
        }
    }
}

/// The number behind `"brokerEpoch":`. A reader of JSON would be a dependency for one number.
fn broker_epoch(text: &str) -> Option<i64> {
    let (_, behind) = text.split_once("\"brokerEpoch\"")?;
    let number = behind.trim_start().strip_prefix(':')?.trim_start();
    let end = number.find(|c: char| !c.is_ascii_digit() && c != '-');
    number[..end.unwrap_or(number.len())].parse().ok()
}

#[cfg(test)]
mod tests {
    use klamm_io::RealDisk;

    use super::*;

    #[test]
    fn lg_008_the_marker_is_written_and_read_in_kafkas_form() {
        let directory = tempfile::tempdir().unwrap();
        let read = || CleanShutdown::read(&RealDisk, directory.path()).unwrap();
        let path = directory.path().join(".kafka_cleanshutdown");
        assert_eq!(read(), None);

        let marker = CleanShutdown {
            broker_epoch: BrokerEpoch::new(42),
        };
        marker.write(&RealDisk, directory.path()).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(text, "{\"version\":0,\"brokerEpoch\":42}");
        assert_eq!(read(), Some(marker));

        for (text, epoch) in [
            ("", -1),
            ("{ \"brokerEpoch\" : -1 , \"version\" : 0 }", -1),
            ("{\"brokerEpoch\": 7}", 7),
            ("{\"brokerEpoch\":\"7\"}", -1),
            ("{\"brokerEpoch\":", -1),
            ("garbage", -1),
        ] {
            std::fs::write(&path, text).unwrap();
            let broker_epoch = BrokerEpoch::new(epoch);
            assert_eq!(read(), Some(CleanShutdown { broker_epoch }), "{text}");
        }

        CleanShutdown::remove(&RealDisk, directory.path()).unwrap();
        CleanShutdown::remove(&RealDisk, directory.path()).unwrap();
        assert_eq!(read(), None);
    }
}
