//! Whose the directories are that a broker is to use, looked at before anything is made in them: a
//! start that is refused must leave nothing that would refuse the next one.

use std::iter::once;

use klamm_io::{Disk, DiskErrorKind};
use klamm_log::{LogManager, MetaProperties, Owner};

use super::storage;
use crate::machine::Machine;
use crate::settings::Settings;
use crate::start_error::StartError;

/// Sees that no directory is another node's, before anything is opened that would say so less
/// plainly.
///
/// # Errors
/// [`StartError::OtherNode`], [`StartError::Owner`].
pub(super) fn check_node<N, D: Disk, C>(
    machine: &Machine<N, D, C>,
    settings: &Settings,
) -> Result<(), StartError> {
    let logs = &settings.logs;
    for path in once(&logs.metadata_directory).chain(&logs.directories) {
        let owner = MetaProperties::read(&machine.disk, path)?;
        if let Some(node) = owner.and_then(|it| it.node_id)
            && node != settings.node_id
        {
            return Err(StartError::OtherNode {
                path: path.clone(),
                node,
                own: settings.node_id,
            });
        }
    }
    Ok(())
}

/// Sees that the log directories can be taken, and that a cluster that is new, as it has no metadata
/// log yet, finds no partitions in them.
///
/// # Errors
/// [`StartError::Logs`], [`StartError::ForeignLogs`].
pub(super) fn check_contents<N, D: Disk, C>(
    machine: &Machine<N, D, C>,
    settings: &Settings,
    cluster_id: &str,
) -> Result<(), StartError> {
    let owner = Owner {
        cluster_id: cluster_id.to_owned(),
        node_id: settings.node_id,
    };
    let directories = &settings.logs.directories;
    let mut partitions = LogManager::survey(&machine.disk, &owner, directories)?;
    let metadata = machine.disk.metadata(&storage::metadata_log(settings));
    let is_new = metadata.is_err_and(|error| error.kind() == DiskErrorKind::NotFound);
    if !is_new {
        return Ok(());
    }
    partitions.sort_by(|(_, one), (_, other)| one.cmp(other));
    match partitions.first() {
        None => Ok(()),
        Some((directory, partition)) => Err(StartError::ForeignLogs {
            directory: directory.clone(),
            partition: partition.to_string(),
            others: partitions.len() - 1,
        }),
    }
}
