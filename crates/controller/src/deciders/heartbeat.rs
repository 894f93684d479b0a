//! A broker says that it is alive, and what it would like to be. (CO-020 to CO-034)

use std::time::Instant;

use klamm_primitives::{BrokerEpoch, BrokerId, Offset, Uuid};
use klamm_wire::metadata::ClusterMetadataRecord as Record;
use thiserror::Error;

use super::broker_epoch::{StaleBrokerEpoch, check_epoch};
use crate::core::{Core, Decide, Decision};
use crate::error::ControllerError;
use crate::fencing;
use crate::image::{BrokerImage, MetadataImage};

/// A broker's sign of life, every `broker.heartbeat.interval.ms`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Heartbeat {
    /// The broker.
    pub broker: BrokerId,
    /// The epoch of its registration.
    pub epoch: BrokerEpoch,
    /// The offset of the image that it serves from.
    pub metadata_offset: Offset,
    /// Whether it wishes to be fenced, as before it has opened its logs.
    pub wants_fence: bool,
    /// Whether it wishes to stop.
    pub wants_shutdown: bool,
    /// The ids of all log directories that have failed since it registered.
    pub failed_log_dirs: Vec<Uuid>,
}

/// What the controller makes of the broker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeartbeatAnswer {
    /// Whether it has seen its own registration.
    pub is_caught_up: bool,
    /// Whether it is fenced.
    pub is_fenced: bool,
    /// Whether it may stop now.
    pub should_shut_down: bool,
}

/// A heartbeat was refused.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum HeartbeatError {
    /// The controller could not take it.
    #[error(transparent)]
    Controller(#[from] ControllerError),
    /// The broker is not registered. (CO-016, CO-025)
    #[error("broker {broker} is not registered")]
    NotRegistered {
        /// The broker.
        broker: BrokerId,
    },
    /// It speaks under another epoch than its own.
    #[error(transparent)]
    StaleEpoch(#[from] StaleBrokerEpoch),
}

/// What a broker is, as far as heartbeats move it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Fenced,
    Unfenced,
    ControlledShutdown,
    ShutdownNow,
}

impl Decide for Heartbeat {
    type Answer = Result<HeartbeatAnswer, HeartbeatError>;

    fn decide(
        self,
        core: &mut Core,
        image: &MetadataImage,
        now: Instant,
    ) -> Decision<Self::Answer> {
        let Some(broker) = image.broker(self.broker) else {
            let broker = self.broker;
            return Decision::unchanged(Err(HeartbeatError::NotRegistered { broker }));
        };
        if let Err(stale) = check_epoch(image, self.broker, self.epoch) {
            return Decision::unchanged(Err(stale.into()));
        }
        let state = self.next_state(core, image, broker);
        let mut records = match state {
            State::Unfenced if broker.is_fenced => fencing::unfence(core, image, broker),
            State::Fenced | State::ShutdownNow if !broker.is_fenced => {
                fencing::fence(core, image, broker)
            }
            State::ControlledShutdown => fencing::begin_shutdown(core, image, broker),
            State::Fenced | State::Unfenced | State::ShutdownNow => Vec::new(),
        };
        self.add_lost_directories(core, image, &mut records);
        let is_fenced = matches!(state, State::Fenced | State::ShutdownNow);
        let offset = self.metadata_offset;
        core.sessions.touch(self.broker, now, is_fenced, offset);
        let answer = HeartbeatAnswer {
            is_caught_up: self.is_caught_up(),
            is_fenced,
            should_shut_down: state == State::ShutdownNow,
        };
        Decision {
            records,
            answer: Ok(answer),
        }
    }
}

impl Heartbeat {
    /// It has seen its own registration, whose offset is its epoch.
    fn is_caught_up(&self) -> bool {
        self.metadata_offset.get() >= self.epoch.get()
    }

    fn next_state(&self, core: &mut Core, image: &MetadataImage, broker: &BrokerImage) -> State {
        if broker.is_fenced {
            return if self.wants_shutdown {
                State::ShutdownNow
            } else if self.wants_fence || !self.is_caught_up() {
                State::Fenced
            } else {
                State::Unfenced
            };
        }
        if broker.in_controlled_shutdown {
            return if self.may_stop(core, image) {
                State::ShutdownNow
            } else {
                State::ControlledShutdown
            };
        }
        if self.wants_shutdown {
            if fencing::leads_any(image, self.broker) {
                State::ControlledShutdown
            } else {
                State::ShutdownNow
            }
        } else if self.wants_fence {
            State::Fenced
        } else {
            State::Unfenced
        }
    }

    /// It leads nothing any more, and every other active broker knows it.
    fn may_stop(&self, core: &mut Core, image: &MetadataImage) -> bool {
        if fencing::leads_any(image, self.broker) {
            return false;
        }
        let shutdown_offset = core.sessions.shutdown_offset(self.broker, image.offset());
        let lowest = core.sessions.lowest_active_offset(|id| image.is_active(id));
        lowest.is_none_or(|lowest| lowest >= shutdown_offset)
    }

    /// The directories come after what else is decided, against the image that it makes.
    fn add_lost_directories(&self, core: &Core, image: &MetadataImage, records: &mut Vec<Record>) {
        if self.failed_log_dirs.is_empty() {
            return;
        }
        // What was decided here was decided against this image, so it fits.
        let Ok(next) = image.apply(records, image.offset()) else {
            return;
        };
        if let Some(broker) = next.broker(self.broker) {
            let lost = fencing::lose_directories(core, &next, broker, &self.failed_log_dirs);
            records.extend(lost);
        }
    }
}
