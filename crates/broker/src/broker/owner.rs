//! Whose the directories are that a broker is to use.

use klamm_io::Disk;
use klamm_log::MetaProperties;

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
    for path in &settings.logs.directories {
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
