//! Whose the directories are that a broker is to use, looked at before anything is made in them: a
//! start that is refused must leave nothing that would refuse the next one.

use std::iter::once;
use std::path::Path;

use klamm_io::{Disk, DiskErrorKind};
use klamm_log::{LogManager, MetaProperties, Owner, SmallFileError};

use super::storage;
use crate::machine::Machine;
use crate::settings::Settings;
use crate::start_error::StartError;

/// What Apache Kafka has in a directory from before its first topic on: its metadata log, and what
/// that begins with.
const OF_APACHE_KAFKA: [&str; 2] = ["__cluster_metadata-0", "bootstrap.checkpoint"];

/// Whose a directory is by its `meta.properties`; `None` if it is nobody's.
///
/// Where a file has the name of a log directory, nobody's it is as well: it is offline once the logs
/// are opened. The directory of the metadata log cannot be.
///
/// # Errors
/// [`StartError::Owner`].
pub(super) fn properties<D: Disk>(
    disk: &D,
    settings: &Settings,
    path: &Path,
) -> Result<Option<MetaProperties>, StartError> {
    match MetaProperties::read(disk, path) {
        Err(SmallFileError::Disk(error))
            if error.kind() == DiskErrorKind::NotADirectory
                && path != settings.logs.metadata_directory =>
        {
            Ok(None)
        }
        read => Ok(read?),
    }
}

/// Sees that no directory is another node's or Apache Kafka's, before anything is opened that would
/// say so less plainly.
///
/// # Errors
/// [`StartError::OtherNode`], [`StartError::ApacheKafka`], [`StartError::Owner`].
pub(super) fn check_node<N, D: Disk, C>(
    machine: &Machine<N, D, C>,
    settings: &Settings,
) -> Result<(), StartError> {
    let logs = &settings.logs;
    for path in once(&logs.metadata_directory).chain(&logs.directories) {
        let is_there = |name: &&str| machine.disk.metadata(&path.join(name)).is_ok();
        if let Some(name) = OF_APACHE_KAFKA.into_iter().find(is_there) {
            return Err(StartError::ApacheKafka {
                directory: path.clone(),
                name,
            });
        }
        let owner = properties(&machine.disk, settings, path)?;
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
