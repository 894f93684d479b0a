//! [`LogManager::survey`]: a look at log directories before anything is made in them.

use std::path::{Path, PathBuf};

use klamm_io::Disk;
use klamm_primitives::{TopicPartition, Uuid};

use super::LogManager;
use super::open::{StartError, refuse_twice};
use crate::directory::{self, Owner};

impl<D: Disk> LogManager<D> {
    /// Sees whether `owner` could take these directories as they are, and returns the partitions
    /// that are in them, in the order of the directories. Changes nothing: whoever starts other
    /// things beside the logs asks first, so that nothing of them is made in vain.
    ///
    /// A directory that is missing, or that the disk refuses, is passed over: the one is made by
    /// [`LogManager::open`], the other is offline there.
    ///
    /// # Errors
    /// [`StartError`] as of [`LogManager::open`], but for [`StartError::NoDirectory`].
    pub fn survey(
        disk: &D,
        owner: &Owner,
        directories: &[PathBuf],
    ) -> Result<Vec<(PathBuf, TopicPartition)>, StartError> {
        refuse_twice(disk, directories)?;
        let mut ids: Vec<(&Path, Uuid)> = Vec::new();
        let mut found: Vec<(PathBuf, TopicPartition)> = Vec::new();
        for path in directories {
            let Some(surveyed) = directory::survey(disk, path, owner)? else {
                continue;
            };
            if let Some(id) = surveyed.id {
                if let Some((first, _)) = ids.iter().find(|(_, other)| *other == id) {
                    return Err(StartError::SameId {
                        id,
                        first: first.to_path_buf(),
                        second: path.clone(),
                    });
                }
                ids.push((path, id));
            }
            found.extend(surveyed.partitions.into_iter().map(|it| (path.clone(), it)));
        }
        Ok(found)
    }
}
