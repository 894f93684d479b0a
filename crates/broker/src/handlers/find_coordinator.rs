//! `FindCoordinator` (key 10).
//!
//! v4 asks for several keys at once. Differs from Apache Kafka: there are no coordinators, so that
//! every client is told to ask again later.

use klamm_primitives::BrokerId;
use klamm_wire::ErrorCode;
use klamm_wire::messages::find_coordinator::{
    Coordinator, FindCoordinatorRequest, FindCoordinatorResponse,
};

use crate::call::Call;

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
        error_code: ErrorCode::COORDINATOR_NOT_AVAILABLE,
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
