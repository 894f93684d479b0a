//! A broker one of whose handlers panics.

use std::sync::atomic::{AtomicBool, Ordering};

use klamm_broker::Machine;
use klamm_wire::ErrorCode;
use klamm_wire::messages::fetch::FetchRequest;

use crate::broker::{TestBroker, batch, create_topic, fetch_request, produce, values};

/// Whether the machine has run out of random numbers, as none does.
static PANICS: AtomicBool = AtomicBool::new(false);

fn random() -> u128 {
    assert!(!PANICS.load(Ordering::Relaxed), "as the test wants it");
    let this = Machine::this();
    (this.random)()
}

/// A fetch that begins a session needs a random number.
#[test]
fn ap_089_a_client_is_told_of_a_panic_and_its_connection_goes_on() {
    let machine = Machine {
        random,
        ..Machine::this()
    };
    let directory = tempfile::tempdir().unwrap();
    let broker = TestBroker::start_on(machine, directory.path(), &[]).unwrap();
    let mut client = broker.connect();
    let id = create_topic(&mut client, "t", 1, &[]);
    produce(&mut client, "t", 0, -1, batch(&["a"]));
    let request = FetchRequest {
        session_epoch: 0,
        ..fetch_request("t", id, 0, 0)
    };
    PANICS.store(true, Ordering::Relaxed);
    let failed = client.call(&request, 12).unwrap();
    assert_eq!(failed.error_code, ErrorCode::UNKNOWN_SERVER_ERROR);
    let partition = &failed.responses[0].partitions[0];
    assert_eq!(partition.error_code, ErrorCode::UNKNOWN_SERVER_ERROR);

    PANICS.store(false, Ordering::Relaxed);
    let answer = client.call(&request, 12).unwrap();
    assert_eq!(values(&answer.responses[0].partitions[0]).len(), 1);
}
