//! API versions are negotiated.

use klamm_wire::messages::api_versions::{
    ApiVersion, ApiVersionsRequest, ApiVersionsResponse, FinalizedFeatureKey,
};
use klamm_wire::{ErrorCode, Versions};

use super::*;

#[test]
fn cl_050_the_first_request_asks_for_versions_and_only_a_good_answer_makes_ready() {
    let mut harness = Harness::with_nodes(ClientConfig::default(), 1);
    let connection = harness.connect(NODE);
    let sent = harness.next_sent();
    assert_eq!(sent.connection, connection);
    assert_eq!(sent.key(), ApiKey::ApiVersions);
    let request: ApiVersionsRequest = sent.decode();
    assert!(request.is_valid(sent.version()), "{request:?}");
    assert!(!harness.client.ready(NODE, harness.now));
    let refused = try_send(&mut harness, NODE, 1, SendOptions::default());
    assert_eq!(refused, Err(NotReady { node: NODE }));
    let response = harness.api_versions.clone();
    harness.respond::<ApiVersionsRequest>(&sent, &response);
    assert!(harness.client.ready(NODE, harness.now));
    assert!(harness.answers.is_empty());
}

/// Covers CL-050.
#[test]
fn a_bad_answer_ends_the_connection() {
    for code in [
        ErrorCode::CLUSTER_AUTHORIZATION_FAILED,
        ErrorCode::INVALID_REQUEST,
    ] {
        let mut harness = Harness::with_nodes(ClientConfig::default(), 1);
        let connection = harness.connect(NODE);
        let sent = harness.next_sent();
        let response = ApiVersionsResponse {
            error_code: code,
            ..ApiVersionsResponse::default()
        };
        harness.respond::<ApiVersionsRequest>(&sent, &response);
        assert_eq!(harness.closed, [connection]);
        assert!(harness.client.connection_failed(NODE));
    }
    let mut harness = Harness::with_nodes(ClientConfig::default(), 1);
    let connection = harness.connect(NODE);
    let sent = harness.next_sent();
    let mut frame = sent.response::<ApiVersionsRequest>(&ApiVersionsResponse::default());
    frame.truncate(7);
    harness.event(Event::Received(connection, frame));
    assert_eq!(harness.closed, [connection]);
}

fn too_new(listed: Option<(i16, i16)>) -> ApiVersionsResponse {
    let versions = listed.map(|(min, max)| Versions::new(min, max));
    ApiVersionsResponse {
        error_code: ErrorCode::UNSUPPORTED_VERSION,
        api_keys: versions
            .map(|versions| ApiVersion::new(ApiKey::ApiVersions, versions))
            .into_iter()
            .collect(),
        ..ApiVersionsResponse::default()
    }
}

/// Covers CL-051, P6.2.
#[test]
fn an_older_node_is_asked_again_in_the_version_that_it_names() {
    for (listed, expected) in [
        (Some((0, 2)), 2),
        (Some((0, 0)), 0),
        (None, 0),
        (Some((7, 9)), 0),
    ] {
        let mut harness = Harness::with_nodes(ClientConfig::default(), 1);
        let connection = harness.connect(NODE);
        let sent = harness.next_sent();
        assert_eq!(sent.version(), 4, "the newest that is released");
        let frame = sent.response_in::<ApiVersionsRequest>(&too_new(listed), 0);
        harness.event(Event::Received(connection, frame));
        let again = harness.next_sent();
        assert_eq!(again.connection, connection, "the same connection");
        assert_eq!(
            (again.key(), again.version()),
            (ApiKey::ApiVersions, expected)
        );
        let response = harness.api_versions.clone();
        harness.respond::<ApiVersionsRequest>(&again, &response);
        assert!(harness.client.ready(NODE, harness.now));
    }
}

/// Covers CL-051.
#[test]
fn asking_again_comes_to_an_end() {
    let mut harness = Harness::with_nodes(ClientConfig::default(), 1);
    let connection = harness.connect(NODE);
    let mut asked = Vec::new();
    while let Some(sent) = harness.sent.pop_front() {
        asked.push(sent.version());
        let frame = sent.response_in::<ApiVersionsRequest>(&too_new(Some((0, 9))), 0);
        harness.event(Event::Received(connection, frame));
    }
    assert_eq!(asked, [4, 3, 2, 1, 0]);
    assert_eq!(harness.closed, [connection]);
}

#[test]
fn cl_052_a_request_goes_in_the_highest_version_that_both_sides_allow() {
    let mut harness = Harness::with_nodes(ClientConfig::default(), 1);
    harness.list(ApiKey::InitProducerId, Some(Versions::new(1, 3)));
    harness.set_up(NODE);
    for (wanted, expected) in [
        (Some((0, 1)), 1),
        (Some((1, 2)), 2),
        (Some((2, 2)), 2),
        (Some((2, 3)), 3),
        (Some((3, 4)), 3),
        (None, 3),
    ] {
        let options = SendOptions {
            versions: wanted.map(|(min, max)| Versions::new(min, max)),
            ..SendOptions::default()
        };
        try_send(&mut harness, NODE, 1, options).unwrap();
        assert_eq!(harness.sent.front().unwrap().version(), expected);
        respond(&mut harness);
    }
}

#[test]
fn cl_036_what_no_version_can_express_is_answered_at_once_and_not_sent() {
    let mut harness = Harness::with_nodes(ClientConfig::default(), 1);
    harness.list(ApiKey::InitProducerId, Some(Versions::new(300, 300)));
    harness.set_up(NODE);
    let id = send(&mut harness, NODE, 1);
    let failure = Failure::UnsupportedVersion {
        key: ApiKey::InitProducerId,
        wanted: Some(Versions::new(0, 5)),
        theirs: Some(Versions::new(300, 300)),
    };
    assert_eq!(outcomes(&mut harness), [(id, Err(failure))]);
    assert!(harness.sent.is_empty());
    assert_eq!(harness.client.in_flight(NODE), 0);
    assert!(harness.client.ready(NODE, harness.now));
}

/// Covers CL-036, CL-053.
#[test]
fn a_request_that_the_node_does_not_list_or_that_does_not_fit_is_not_sent() {
    let mut harness = Harness::with_nodes(ClientConfig::default(), 1);
    harness.list(ApiKey::InitProducerId, None);
    harness.list(ApiKey::Metadata, Some(Versions::new(0, 3)));
    harness.set_up(NODE);
    let first = send(&mut harness, NODE, 1);
    // Version 3 cannot say that topics may not be created.
    let request = klamm_wire::messages::metadata::MetadataRequest {
        allow_auto_topic_creation: false,
        ..Default::default()
    };
    let second = (harness.client)
        .send(NODE, &request, SendOptions::default(), harness.now)
        .unwrap();
    harness.tick();
    let answers = outcomes(&mut harness);
    assert_eq!(answers[0].0, first);
    assert!(matches!(
        answers[0].1,
        Err(Failure::UnsupportedVersion { theirs: None, .. })
    ));
    assert_eq!(answers[1].0, second);
    assert!(matches!(answers[1].1, Err(Failure::Unencodable(_))));
    assert!(harness.sent.is_empty());
}

/// Covers CL-036.
#[test]
fn metadata_in_no_usable_version_is_a_fatal_error() {
    let mut harness = Harness::new(ClientConfig::default());
    harness.list(ApiKey::Metadata, Some(Versions::new(90, 91)));
    harness.tick();
    harness.set_up(NodeId::bootstrap(0));
    harness.tick();
    let error = harness.client.metadata().take_error();
    assert!(matches!(
        error,
        Some(crate::MetadataError::Fatal(
            Failure::UnsupportedVersion { .. }
        ))
    ));
    assert!(harness.answers.is_empty());
    assert!(harness.client.metadata().due_at(harness.now) > harness.now);
}

#[test]
fn cl_056_without_discovery_a_connection_is_ready_and_requests_are_the_newest() {
    let config = ClientConfig {
        discover_versions: false,
        ..ClientConfig::default()
    };
    let mut harness = Harness::new(config);
    harness.tick();
    harness.connect(NodeId::bootstrap(0));
    harness.tick();
    let sent = harness.next_sent();
    assert_eq!((sent.key(), sent.version()), (ApiKey::Metadata, 13));
}

#[test]
fn cl_058_features_are_learned_from_the_nodes() {
    let mut harness = Harness::with_nodes(ClientConfig::default(), 2);
    assert_eq!(harness.client.features().epoch(), -1);
    let level = |level| FinalizedFeatureKey {
        name: "transaction.version".into(),
        max_version_level: level,
        min_version_level: 0,
        ..FinalizedFeatureKey::default()
    };
    for (id, epoch, told, expected) in [(0, 8, 2, 2), (1, 7, 1, 2)] {
        harness.api_versions.finalized_features_epoch = epoch;
        harness.api_versions.finalized_features = vec![level(told)];
        harness.set_up(NodeId::new(id));
        let levels = harness.client.features().levels();
        assert_eq!(levels["transaction.version"].max, expected);
    }
}

#[test]
fn cl_059_a_connection_lost_while_versions_are_asked_for_answers_nobody() {
    let mut harness = Harness::with_nodes(ClientConfig::default(), 1);
    harness.connect(NODE);
    harness.lose(NODE);
    harness.tick();
    assert!(harness.answers.is_empty());
    assert!(harness.client.is_backing_off(NODE, harness.now));
}

/// Covers CL-043: a throttle time in the answer that tells the versions counts.
#[test]
fn a_node_may_throttle_from_the_first_answer_on() {
    let mut harness = Harness::with_nodes(ClientConfig::default(), 1);
    harness.api_versions.throttle_time_ms = 20;
    harness.set_up(NODE);
    assert!(!harness.client.ready(NODE, harness.now));
    harness.advance_ms(20);
    assert!(harness.client.ready(NODE, harness.now));
}
