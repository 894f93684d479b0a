//! Brokers that want to be left alone.

use klamm_primitives::PartitionIndex;
use klamm_wire::Versions;
use klamm_wire::messages::produce::{
    PartitionProduceData, ProduceRequest, ProduceResponse, TopicProduceData,
};

use super::*;

fn produce(harness: &mut Harness, version: i16, throttle_time_ms: i32) {
    let request = ProduceRequest {
        acks: -1,
        topic_data: vec![TopicProduceData {
            name: "topic".into(),
            partition_data: vec![PartitionProduceData {
                index: PartitionIndex::new(0),
                ..PartitionProduceData::default()
            }],
            ..TopicProduceData::default()
        }],
        ..ProduceRequest::default()
    };
    let options = SendOptions {
        versions: Some(Versions::new(version, version)),
        ..SendOptions::default()
    };
    (harness.client)
        .send(NODE, &request, options, harness.now)
        .unwrap();
    harness.tick();
    let sent = harness.next_sent();
    assert_eq!(sent.version(), version);
    let response = ProduceResponse {
        throttle_time_ms,
        ..ProduceResponse::default()
    };
    harness.respond::<ProduceRequest>(&sent, &response);
    assert!(harness.next_answer().outcome.is_ok());
}

/// Covers CL-042, P6.8.
#[test]
fn a_throttled_node_is_not_ready_for_as_long_as_it_said() {
    let mut harness = ready(1);
    produce(&mut harness, 9, 100);
    assert!(!harness.client.ready(NODE, harness.now));
    harness.advance_ms(50);
    assert_eq!(harness.client.poll_delay(NODE, harness.now), Some(ms(50)));
    assert!(!harness.client.ready(NODE, harness.now));
    harness.advance_ms(50);
    assert!(harness.client.ready(NODE, harness.now));
}

#[test]
fn cl_043_an_older_broker_has_already_waited() {
    let mut harness = ready(1);
    produce(&mut harness, 5, 100);
    assert!(harness.client.ready(NODE, harness.now));
    produce(&mut harness, 6, 100);
    assert!(!harness.client.ready(NODE, harness.now));
}

#[test]
fn cl_044_a_throttled_node_is_not_chosen() {
    let mut harness = ready(2);
    produce(&mut harness, 9, 100);
    for _ in 0..20 {
        let chosen = harness.client.least_loaded(harness.now).unwrap();
        assert_eq!(chosen.node, Some(OTHER));
    }
    assert_eq!(harness.client.poll_delay(NODE, harness.now), Some(ms(100)));
}

#[test]
fn cl_045_each_throttle_time_is_recorded_0_included() {
    let mut harness = ready(1);
    let before = *harness.client.stats();
    for ms in [0, 70, 0] {
        produce(&mut harness, 9, ms);
        harness.advance_ms(100);
    }
    let after = *harness.client.stats();
    assert_eq!(after.throttle_times - before.throttle_times, 3);
    assert_eq!(after.throttle_total, ms(70));
    assert_eq!(after.throttle_max, ms(70));
}
