//! What the program tells of what it was asked in vain.

use klamm_wire::ErrorCode;
use klamm_wire::messages::find_coordinator::FindCoordinatorRequest;
use klamm_wire::messages::metadata::{MetadataRequest, MetadataRequestTopic};
use rustix::process::Signal;

use crate::broker::try_create_topic;
use crate::program::{Program, command};

/// Each time the client is told; whoever runs the broker is told once, and what to do.
#[test]
fn what_is_asked_for_in_vain_is_told_of_once() {
    let directory = tempfile::tempdir().unwrap();
    let mut command = command();
    command.args(["--set", "default.replication.factor=3"]);
    command
        .env("KAFKA_NODE_ID", "7")
        .env("KAFKA_HEAP_OPTS", "-Xmx1g");
    let program = Program::start_by(command, directory.path());
    let mut client = program.connect();
    for _ in 0..2 {
        for key_type in [0, 1] {
            let request = FindCoordinatorRequest {
                key_type,
                coordinator_keys: vec!["k".into()],
                ..FindCoordinatorRequest::default()
            };
            let answer = client.call(&request, 4).unwrap();
            assert_ne!(answer.coordinators[0].error_code, ErrorCode::NONE);
        }
        let topic = MetadataRequestTopic {
            name: Some("t".into()),
            ..MetadataRequestTopic::default()
        };
        let request = MetadataRequest {
            topics: Some(vec![topic]),
            ..MetadataRequest::default()
        };
        let answer = client.call(&request, 12).unwrap();
        assert_ne!(answer.topics[0].error_code, ErrorCode::NONE);
        let answer = try_create_topic(&mut client, "t", 1, &[]);
        let code = answer.topics[0].error_code;
        assert_eq!(code, ErrorCode::INVALID_REPLICATION_FACTOR);
    }
    program.signal(Signal::TERM);
    let (code, log) = program.ended();
    assert_eq!(code, Some(0), "{log}");
    for told in [
        "asks for a consumer group",
        "asks for transactions",
        "set default.replication.factor to no more than",
        "`--set node.id=…`",
    ] {
        assert_eq!(log.matches(told).count(), 1, "{told}: {log}");
    }
    assert!(!log.contains("HEAP_OPTS"), "{log}");
}

/// What is said is the same line for each, and what it is about are fields of it.
#[test]
fn a_setting_that_nobody_knows_is_told_by_its_name_and_place() {
    let directory = tempfile::tempdir().unwrap();
    let mut command = command();
    command.args(["--set", "none.such=1"]);
    let mut program = Program::start_by(command, directory.path());
    program.has_said(
        "a setting may not do what it seems to setting=\"none.such\" origin=--set reason=unknown setting",
    );
}
