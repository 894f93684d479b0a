//! A broker that may have few files open.

use klamm_broker::Machine;
use klamm_wire::ErrorCode;
use klamm_wire::messages::metadata::MetadataRequest;

use crate::broker::{TestBroker, batch, create_topic, produce};

/// Partitions may take three quarters of the files, connections not counted: many clients alone do
/// not keep topics from being made.
#[test]
fn connections_do_not_use_up_what_partitions_may_take() {
    let machine = Machine {
        open_files_max: Some(64),
        open_files: || Some(50),
        ..Machine::this()
    };
    let directory = tempfile::tempdir().unwrap();
    let broker = TestBroker::start_on(machine, directory.path(), &[]).unwrap();
    let mut client = broker.connect();
    create_topic(&mut client, "a", 1, &[]);
    let refused = produce(&mut client, "a", 0, -1, batch(&["x"]));
    assert_eq!(
        refused.error_code,
        ErrorCode::KAFKA_STORAGE_ERROR,
        "50 are of partitions"
    );

    let others: Vec<_> = (0..10)
        .map(|_| {
            let mut other = broker.connect();
            other.call(&MetadataRequest::default(), 12).unwrap();
            other
        })
        .collect();
    create_topic(&mut client, "b", 1, &[]);
    let taken = produce(&mut client, "b", 0, -1, batch(&["x"]));
    assert_eq!(taken.error_code, ErrorCode::NONE, "40 are");
    drop(others);
}
