//! `UnregisterController` (key 94): forgets a controller that will not come back.
//!
//! Until then the cluster counts the feature levels of the absent node and may refuse to raise a
//! feature. A controller that is still up registers again by itself.

use crate::prelude::*;

/// Removes the registration of a controller; brokers forward it to the active controller.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(request(94), versions = 0..=0, flexible = 0.., listeners(broker, controller))]
pub struct UnregisterControllerRequest {
    /// The node id of the controller.
    pub controller_id: BrokerId,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// Answers [`UnregisterControllerRequest`].
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(response(94), versions = 0..=0, flexible = 0..)]
pub struct UnregisterControllerResponse {
    /// Milliseconds for which a quota holds the client back; 0 when none does.
    pub throttle_time_ms: i32,
    /// 0 or what went wrong: `CONTROLLER_ID_NOT_REGISTERED` when there is nothing to remove.
    pub error_code: ErrorCode,
    /// The error in words; null without an error or without more to say.
    #[wire(nullable = ..)]
    pub error_message: Option<ByteString>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}
