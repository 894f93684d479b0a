//! `FindCoordinator` (key 10).
//!
//! v1 tells a message beside the code, v4 asks for several keys at once. Differs from Apache Kafka:
//! there are no coordinators and never will be while it runs, so a client is told an error that it
//! passes on to whoever uses it. `COORDINATOR_NOT_AVAILABLE` would have it ask again for ever, in
//! silence.

use klamm_primitives::BrokerId;
use klamm_wire::ErrorCode;
use klamm_wire::messages::find_coordinator::{
    Coordinator, FindCoordinatorRequest, FindCoordinatorResponse,
};

use crate::call::Call;

/// What people read of it.
const WHY: &str = "this broker has no consumer groups and no transactions";

pub(super) fn handle<F>(call: Call<F>) {
    let version = call.version();
    let Some((call, request)) = call.decode::<FindCoordinatorRequest>() else {
        return;
    };
    let keys = request.from_version(version).coordinator_keys;
    let coordinators = keys.into_iter().map(|key| Coordinator {
        key,
        node_id: BrokerId::NONE,
        port: -1,
        error_code: ErrorCode::UNSUPPORTED_VERSION,
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
