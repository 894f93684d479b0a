//! Clients that leave while their requests wait.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};

use klamm_wire::header::{CorrelationId, RequestHeader};
use klamm_wire::messages::fetch::FetchRequest;
use klamm_wire::{decode_response, encode_request};

use crate::broker::{TestBroker, batch, create_topic, fetch_request, produce, values};

/// Some 24 days, the longest wait that a fetch can ask for.
const FOR_EVER_MS: i32 = i32::MAX;

/// Connections that are open at a time: so few that the backlog takes those of two rounds, as the
/// kernel makes others wait for a second.
const AT_A_TIME: usize = 20;

fn waiting_request(id: klamm_primitives::TopicId) -> FetchRequest {
    FetchRequest {
        max_wait_ms: FOR_EVER_MS,
        ..fetch_request("t", id, 0, 0)
    }
}

#[test]
fn fetches_of_two_thousand_connections_that_close_leave_nothing() {
    let broker = TestBroker::start(&[]);
    let id = create_topic(&mut broker.connect(), "t", 1, &[]);
    let request = waiting_request(id);
    for round in 0..2_000 / AT_A_TIME {
        let mut clients: Vec<_> = (0..AT_A_TIME).map(|_| broker.connect()).collect();
        for client in &mut clients {
            client.send(&request, 12).unwrap();
        }
        if round % 2 == 0 {
            broker.until("all wait", || broker.waiting_fetches() == AT_A_TIME);
        }
        // Some close while theirs waits, others before it does.
        drop(clients);
    }
    broker.until("none waits", || broker.waiting_fetches() == 0);
    // One that stays is not disturbed.
    let mut client = broker.connect();
    let asked = client.send(&request, 12).unwrap();
    produce(&mut broker.connect(), "t", 0, -1, batch(&["a"]));
    let answer = client.receive::<FetchRequest>(asked, 12).unwrap();
    let found = values(&answer.responses[0].partitions[0]);
    assert_eq!(found, [(0, "a".to_owned())]);
}

/// Covers NE-067.
#[test]
fn a_client_that_closes_its_side_is_answered_with_what_there_is() {
    let broker = TestBroker::start(&[]);
    let id = create_topic(&mut broker.connect(), "t", 1, &[]);
    let header = RequestHeader::of::<FetchRequest>(12, CorrelationId::new(7), None);
    let request = encode_request(&header, &waiting_request(id)).unwrap();
    let mut stream = TcpStream::connect(broker.address()).unwrap();
    stream.write_all(&request.into_bytes().unwrap()).unwrap();
    broker.until("one waits", || broker.waiting_fetches() == 1);
    stream.shutdown(Shutdown::Write).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    let (header, answer) = decode_response::<FetchRequest>(answer.split_off(4).into(), 12).unwrap();
    assert_eq!(header.correlation_id.get(), 7);
    let data = &answer.responses[0].partitions[0];
    assert!(data.error_code.is_none() && values(data).is_empty());
    assert_eq!(broker.waiting_fetches(), 0);
}
