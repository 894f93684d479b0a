//! [`ControllerError`]: why a request was not decided upon, whatever it was.

use klamm_primitives::BrokerId;
use thiserror::Error;

use crate::quorum::ProposeError;

/// The controller of this node did nothing about a request.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ControllerError {
    /// Another node has the active controller, or none has. (CO-001, CO-005)
    #[error("this node does not have the active controller (it may be on {leader:?})")]
    NotController {
        /// Where it is, if that is known.
        leader: Option<BrokerId>,
    },
    /// The request's deadline had passed before its turn came; it has no effect. (CO-004)
    #[error("the request's time was up before its turn came")]
    TimedOut,
    /// The quorum did not take the records. After [`ProposeError::Unsure`] they may be in the log.
    #[error(transparent)]
    Quorum(ProposeError),
    /// The controller has stopped; if the request was under way, its records may be in the log.
    #[error("the controller has stopped")]
    Stopped,
}

impl From<ProposeError> for ControllerError {
    fn from(error: ProposeError) -> Self {
        match error {
            ProposeError::NotLeader { leader } => Self::NotController { leader },
            other => Self::Quorum(other),
        }
    }
}
