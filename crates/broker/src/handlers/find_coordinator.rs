//! `FindCoordinator` (key 10).
//!
//! v1 tells a message beside the code, v4 asks for several keys at once. Differs from Apache Kafka:
//! there are no coordinators. A consumer with a group's name is told to come again later, as it
//! asks even where it was given its partitions, and would pass a lasting error on; a producer with
//! a transactional id can do nothing without, so it is told for good.

use klamm_io::{Clock, Disk};
use klamm_primitives::BrokerId;
use klamm_wire::ErrorCode;
use klamm_wire::messages::find_coordinator::{
    Coordinator, FindCoordinatorRequest, FindCoordinatorResponse,
};

use crate::call::Call;
use crate::node::Node;

/// The type of a key that is a transactional id; 0 is a group.
const TRANSACTION: i8 = 1;

/// What people read of it.
const WHY: &str = "this broker has no consumer groups and no transactions";

pub(super) fn handle<D: Disk, C: Clock>(node: &Node<D, C>, call: Call<D::File>) {
    let version = call.version();
    let Some((call, request)) = call.decode::<FindCoordinatorRequest>() else {
        return;
    };
    let error_code = if request.key_type == TRANSACTION {
        node.hints.transaction_is_asked_for();
        ErrorCode::UNSUPPORTED_VERSION
    } else {
        node.hints.group_is_asked_for();
        ErrorCode::COORDINATOR_NOT_AVAILABLE
    };
    let keys = request.from_version(version).coordinator_keys;
    let coordinators = keys.into_iter().map(|key| Coordinator {
        key,
        node_id: BrokerId::NONE,
        port: -1,
        error_code,
        error_message: Some(WHY.into()),
        ..Coordinator::default()
    });
    let answer = FindCoordinatorResponse {
        coordinators: coordinators.collect(),
        ..FindCoordinatorResponse::default()
    };
    match answer.for_version(version) {
        Ok(answer) => call.answer(&answer),
        // The request had one key, so that there is one answer.
        Err(_) => call.close(),
    }
}
