//! A broker that may have fewer files open than it has partitions.

use std::path::Path;

use klamm_wire::ErrorCode;
use klamm_wire::messages::delete_topics::{DeleteTopicState, DeleteTopicsRequest};
use klamm_wire::messages::metadata::MetadataRequest;
use rustix::process::Signal;

use crate::broker::{batch, create_topic, fetch, produce, values};
use crate::program::{Program, command_within};
use crate::wire_client::WireClient;

/// Files that the broker may have open.
const LIMIT: u32 = 96;

/// Partitions of each of the two topics: more than that.
const PARTITIONS: i32 = 100;

/// Records of each partition, one a batch: some make a segment.
const RECORDS: usize = 6;

/// Each has an entry in the index of its segment, and three of these fill that.
const RECORD_BYTES: usize = 5_000;

fn start(directory: &Path) -> Program {
    let mut command = command_within(LIMIT);
    command.args(["--set", "log.index.size.max.bytes=24"]);
    // All that it says is wrong, then.
    command.args(["--log", "warn"]);
    Program::start_by(command, directory)
}

/// What the record of this number in a partition says.
fn value(partition: i32, number: usize) -> String {
    format!("{partition} {number} {}", "x".repeat(RECORD_BYTES))
}

/// Appends to each partition in turn, so that the one that is next was used longest ago.
fn fill(client: &mut WireClient, topic: &'static str, numbers: std::ops::Range<usize>) {
    for number in numbers {
        for partition in 0..PARTITIONS {
            let records = batch(&[&value(partition, number)]);
            let answer = produce(client, topic, partition, -1, records);
            assert_eq!(answer.error_code, ErrorCode::NONE, "{topic}-{partition}");
            assert_eq!(answer.base_offset.get(), i64::try_from(number).unwrap());
        }
    }
}

/// Reads each partition from its start, and finds all that was written, up to this number.
fn read_all(client: &mut WireClient, topic: &'static str, end: usize) {
    for partition in 0..PARTITIONS {
        let mut found = Vec::new();
        while found.len() < end {
            let offset = i64::try_from(found.len()).unwrap();
            let answer = fetch(client, topic, partition, offset);
            assert_eq!(answer.error_code, ErrorCode::NONE, "{topic}-{partition}");
            let read = values(&answer);
            assert!(!read.is_empty(), "{topic}-{partition} ends at {offset}");
            found.extend(read.into_iter().map(|(_, value)| value));
        }
        let wanted: Vec<_> = (0..end).map(|number| value(partition, number)).collect();
        assert!(found == wanted, "{topic}-{partition}");
    }
}

fn delete(client: &mut WireClient, topic: &'static str) {
    let request = DeleteTopicsRequest {
        topics: vec![DeleteTopicState {
            name: Some(topic.into()),
            ..DeleteTopicState::default()
        }],
        timeout_ms: 10_000,
        ..DeleteTopicsRequest::default()
    };
    let answer = client.call(&request, 6).unwrap();
    assert_eq!(answer.responses[0].error_code, ErrorCode::NONE);
}

/// Idle connections, of the most that there may be beside the one that works.
fn others(program: &Program) -> Vec<WireClient> {
    let connect = |_| {
        let mut other = program.connect();
        other.call(&MetadataRequest::default(), 12).unwrap();
        other
    };
    (0..20).map(connect).collect()
}

#[test]
fn more_partitions_are_served_than_files_may_be_open_and_nothing_fails() {
    let directory = tempfile::tempdir().unwrap();
    let program = start(directory.path());
    let mut client = program.connect();
    let idle = others(&program);
    create_topic(&mut client, "one", PARTITIONS, &[]);
    create_topic(&mut client, "other", PARTITIONS, &[]);
    fill(&mut client, "one", 0..RECORDS);
    fill(&mut client, "other", 0..RECORDS);
    read_all(&mut client, "one", RECORDS);
    read_all(&mut client, "other", RECORDS);
    delete(&mut client, "one");
    fill(&mut client, "other", RECORDS..RECORDS + 2);
    create_topic(&mut client, "third", PARTITIONS, &[]);
    fill(&mut client, "third", 0..1);
    drop(idle);
    program.signal(Signal::TERM);
    let (code, log) = program.ended();
    assert_eq!((code, &*log), (Some(0), ""));

    // What was closed meanwhile is there, and after the next one, which gets no time to close anything.
    for killed in [false, true] {
        let program = start(directory.path());
        let mut client = program.connect();
        let idle = others(&program);
        read_all(&mut client, "other", RECORDS + 2);
        read_all(&mut client, "third", if killed { 2 } else { 1 });
        if !killed {
            fill(&mut client, "third", 1..2);
        }
        drop(idle);
        program.signal(if killed { Signal::TERM } else { Signal::KILL });
        let (code, log) = program.ended();
        assert_eq!((code, &*log), (killed.then_some(0), ""));
    }
}
