//! What signals do to the program.

use std::time::Duration;

use klamm_io::{Clock, SystemClock};
use klamm_wire::messages::fetch::FetchRequest;
use klamm_wire::messages::metadata::MetadataRequest;
use klamm_wire::messages::produce::ProduceRequest;
use rustix::process::Signal;

use crate::broker::{batch, create_topic, fetch, fetch_request, produce, produce_request, values};
use crate::program::Program;
use crate::wire_client::WireClient;

/// Requests that each connection has sent when the signal comes: more than are read at a time.
const IN_FLIGHT: usize = 40;

/// Requests that wait for a sync, that are still in the socket, and one that would wait for weeks.
#[test]
fn what_was_asked_before_a_signal_is_answered_before_the_end() {
    let directory = tempfile::tempdir().unwrap();
    let program = Program::start(directory.path());
    let mut client = program.connect();
    create_topic(&mut client, "t", 1, &[("flush.messages", "1")]);
    let empty = create_topic(&mut client, "empty", 1, &[]);
    let mut producers: Vec<_> = (0..5).map(|_| program.connect()).collect();
    for producer in &mut producers {
        producer.call(&MetadataRequest::default(), 12).unwrap();
    }
    let mut reader = program.connect();
    let waiting = FetchRequest {
        max_wait_ms: i32::MAX,
        ..fetch_request("empty", empty, 0, 0)
    };
    let waiting = reader.send(&waiting, 12).unwrap();

    let request = produce_request("t", 0, -1, batch(&["a"]));
    let asked: Vec<Vec<_>> = producers
        .iter_mut()
        .map(|it| {
            (0..IN_FLIGHT)
                .map(|_| it.send(&request, 12).unwrap())
                .collect()
        })
        .collect();
    program.signal(Signal::TERM);
    for (producer, ids) in producers.iter_mut().zip(&asked) {
        for id in ids {
            let answer = producer.receive::<ProduceRequest>(*id, 12).unwrap();
            let partition = &answer.responses[0].partition_responses[0];
            assert!(partition.error_code.is_none(), "{partition:?}");
        }
        // The signal may be noticed later than that.
        while producer.call(&MetadataRequest::default(), 12).is_ok() {}
    }
    let answer = reader.receive::<FetchRequest>(waiting, 12).unwrap();
    assert!(values(&answer.responses[0].partitions[0]).is_empty());
    let (code, log) = program.ended();
    assert_eq!(code, Some(0), "{log}");

    let program = Program::start(directory.path());
    let found = values(&fetch(&mut program.connect(), "t", 0, 0));
    assert_eq!(found.len(), 5 * IN_FLIGHT);
}

/// A client that does not take its answer, of which a stop waits for some seconds.
fn one_who_does_not_read(program: &Program) -> WireClient {
    let mut client = program.connect();
    let id = create_topic(&mut client, "t", 1, &[]);
    let value = "x".repeat(900_000);
    for _ in 0..32 {
        let answer = produce(&mut client, "t", 0, -1, batch(&[&value]));
        assert!(answer.error_code.is_none(), "{answer:?}");
    }
    let mut request = fetch_request("t", id, 0, 0);
    request.max_bytes = i32::MAX;
    request.topics[0].partitions[0].partition_max_bytes = i32::MAX;
    client.send(&request, 12).unwrap();
    client
}

fn pause(time: Duration) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build();
    let until = SystemClock.now() + time;
    runtime
        .unwrap()
        .block_on(SystemClock.sleep_until(Some(until)));
}

#[test]
fn a_signal_that_comes_twice_at_once_is_one() {
    let directory = tempfile::tempdir().unwrap();
    let mut program = Program::start(directory.path());
    let client = one_who_does_not_read(&program);
    program.signal(Signal::TERM);
    program.has_said("stopping");
    program.signal(Signal::TERM);
    program.signal(Signal::INT);
    let (code, log) = program.ended();
    assert_eq!(code, Some(0), "{log}");
    assert!(log.contains("requests that are not answered"), "{log}");
    drop(client);
}

#[test]
fn a_later_signal_ends_a_stop_that_takes_long_and_says_so() {
    let directory = tempfile::tempdir().unwrap();
    let mut program = Program::start(directory.path());
    let client = one_who_does_not_read(&program);
    program.signal(Signal::TERM);
    program.has_said("stopping");
    // What comes within a second is the first one once more.
    pause(Duration::from_millis(1_100));
    program.signal(Signal::TERM);
    let (code, log) = program.ended();
    assert_eq!(code, Some(1), "{log}");
    assert!(log.contains("SIGTERM again while stopping"), "{log}");
    drop(client);
}
