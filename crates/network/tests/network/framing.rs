//! Frames, headers, and what is neither.

use klamm_network::Response;
use klamm_wire::messages::api_versions::{ApiVersionsRequest, ApiVersionsResponse};
use klamm_wire::messages::metadata::MetadataRequest;
use klamm_wire::messages::vote::VoteRequest;
use klamm_wire::{ApiKey, ErrorCode, Message as _, Request, encode_request, header::RequestHeader};
use proptest::prelude::*;

use crate::support::{
    Simulated, connect, echo, loopback, payload, request, request_of, spawn_echo, start,
};

/// A frame with these bytes.
fn frame(bytes: &[u8]) -> Vec<u8> {
    let size = u32::try_from(bytes.len()).unwrap().to_be_bytes();
    [&size[..], bytes].concat()
}

/// A frame that begins with a key and version and goes on with these bytes.
fn frame_of(key: i16, version: i16, rest: &[u8]) -> Vec<u8> {
    frame(&[&key.to_be_bytes()[..], &version.to_be_bytes(), rest].concat())
}

/// Correlation id 7 and no client id.
const HEADER_REST: &[u8] = &[0, 0, 0, 7, 255, 255];

/// Covers NE-001, NE-009.
#[tokio::test]
async fn a_frame_is_four_bytes_of_length_and_that_many_bytes() {
    let simulated = Simulated::start(|_| {}).await;
    let mut client = simulated.connect().await;
    for id in [0, 1, -1, i32::MIN, i32::MAX] {
        client.ask(id, b"payload").await;
        echo(simulated.taken().await);
        let frame = client.frame().await.unwrap();
        // Correlation id, error code, no message, seven bytes.
        assert_eq!(frame.len(), 4 + 2 + 2 + 4 + 7);
        assert_eq!(frame[..4], id.to_be_bytes());
        assert!(client.is_quiet().await, "nothing behind it");
    }
}

#[tokio::test]
async fn ne_002_each_frame_is_one_request_however_it_arrives() {
    let simulated = Simulated::start(|_| {}).await;
    let mut client = simulated.connect().await;
    for byte in request(1, b"slowly") {
        assert!(simulated.channel.is_empty());
        client.send(&[byte]).await;
        simulated.settle().await;
    }
    let received = simulated.taken().await;
    assert_eq!(payload(&received), "slowly");
    echo(received);
    assert_eq!(client.answer().await.0, 1);

    let mut several = Vec::new();
    for id in 2..40 {
        several.extend(request(id, &[u8::try_from(id).unwrap(); 300]));
    }
    let (whole, begun) = several.split_at(several.len() - 5);
    client.send(whole).await;
    let _echo = spawn_echo(simulated.channel.clone());
    for id in 2..39 {
        assert_eq!(client.answer().await.0, id);
    }
    assert!(client.is_quiet().await, "the rest is not there");
    client.send(begun).await;
    assert_eq!(client.answer().await.0, 39);
}

#[tokio::test]
async fn ne_003_a_frame_above_the_limit_closes_without_an_answer() {
    let simulated = Simulated::start(|config| config.request_bytes_max = 100).await;
    let mut client = simulated.connect().await;
    let mut fits = request(1, &[0; 80]);
    assert_eq!(fits.len(), 4 + 100);
    client.send(&fits).await;
    echo(simulated.taken().await);
    client.answer().await;
    fits = request(2, &[0; 81]);
    client.send(&fits).await;
    client.closed().await;
    assert!(simulated.channel.is_empty());

    for size in [i32::MAX, -1, 0x1603_0100] {
        let mut client = simulated.connect().await;
        client.send(&size.to_be_bytes()).await;
        client.closed().await;
    }
    assert_eq!(simulated.live(), 0);
}

#[tokio::test]
async fn ne_004_a_header_that_cannot_be_read_closes_without_an_answer() {
    let simulated = Simulated::start(|_| {}).await;
    let metadata = ApiKey::Metadata.number();
    for bytes in [
        frame(&[]),
        frame(&[0]),
        frame(&[0, 3, 0]),
        frame_of(metadata, 9, &[]),
        frame_of(metadata, 9, &[0, 0, 0, 7]),
        frame_of(metadata, 9, &[0, 0, 0, 7, 0, 9, b'x']),
        frame_of(metadata, 9, &[0, 0, 0, 7, 255, 254]),
        frame_of(metadata, 9, &[0, 0, 0, 7, 0, 1, 0xff, 0]),
        // The tagged section is missing.
        frame_of(metadata, 9, HEADER_REST),
    ] {
        let mut client = simulated.connect().await;
        client.send(&bytes).await;
        client.closed().await;
        assert!(simulated.channel.is_empty());
    }
}

#[tokio::test]
async fn ne_005_what_is_not_served_closes_and_no_handler_sees_it() {
    let simulated = Simulated::start(|_| {}).await;
    let vote = RequestHeader::of::<VoteRequest>(0, 7.into(), None);
    let vote = encode_request(&vote, &VoteRequest::default()).unwrap();
    for bytes in [
        frame_of(9_999, 0, HEADER_REST),
        frame_of(-1, 0, HEADER_REST),
        vote.into_bytes().unwrap().to_vec(),
    ] {
        let mut client = simulated.connect().await;
        client.send(&bytes).await;
        client.closed().await;
        assert!(simulated.channel.is_empty());
    }
}

/// Covers NE-006, C007.
#[tokio::test]
async fn an_unserved_version_closes() {
    let simulated = Simulated::start(|_| {}).await;
    for (key, version) in [
        (ApiKey::Metadata, 99),
        (ApiKey::Metadata, -1),
        (ApiKey::Produce, 2),
    ] {
        let mut client = simulated.connect().await;
        let bytes = frame_of(key.number(), version, &[HEADER_REST, &[0]].concat());
        client.send(&bytes).await;
        client.closed().await;
        assert!(simulated.channel.is_empty());
    }
}

/// Covers NE-006, AP-046, C001.
#[tokio::test]
async fn api_versions_of_an_unknown_version_is_answered_in_version_0_and_the_connection_lives() {
    let simulated = Simulated::start(|_| {}).await;
    let mut client = simulated.connect().await;
    let key = ApiKey::ApiVersions;
    for version in [ApiVersionsRequest::VERSIONS.max + 1, 99] {
        let bytes = frame_of(key.number(), version, &[HEADER_REST, &[0, 1, 2]].concat());
        client.send(&bytes).await;
        let mut frame = client.frame().await.unwrap();
        assert_eq!(frame.split_to(4), 7_i32.to_be_bytes().as_slice());
        let answer = ApiVersionsResponse::decode(&mut frame, 0).unwrap();
        assert!(frame.is_empty());
        assert_eq!(answer.error_code, ErrorCode::UNSUPPORTED_VERSION);
        assert_eq!(answer.listed(key), key.advertised(false));
        assert_eq!(answer.api_keys.len(), 1);
    }
    client.ask(8, b"and on").await;
    echo(simulated.taken().await);
    assert_eq!(client.answer().await.0, 8);
}

/// Covers NE-007, C004.
#[tokio::test]
async fn a_null_client_id_counts_as_empty() {
    let simulated = Simulated::start(|_| {}).await;
    let mut client = simulated.connect().await;
    for client_id in [None, Some("")] {
        client.send(&request_of(3, client_id, b"x")).await;
        let received = simulated.taken().await;
        assert_eq!(received.request.client_id(), "");
        echo(received);
        assert_eq!(client.answer().await.0, 3);
    }
}

#[tokio::test]
async fn ne_008_a_body_that_is_cut_off_closes_only_its_connection() {
    let simulated = Simulated::start(|_| {}).await;
    let mut other = simulated.connect().await;
    let mut client = simulated.connect().await;
    let mut cut = request(1, b"payload");
    cut.truncate(cut.len() - 3);
    let size = u32::try_from(cut.len() - 4).unwrap();
    cut[..4].copy_from_slice(&size.to_be_bytes());
    client.send(&cut).await;
    let received = simulated.taken().await;
    let body = received
        .request
        .frame
        .decode::<klamm_wire::messages::sasl_authenticate::SaslAuthenticateRequest>();
    assert!(body.is_err());
    received.responder.close();
    client.closed().await;
    other.ask(2, b"alive").await;
    echo(simulated.taken().await);
    assert_eq!(other.answer().await.0, 2);
}

#[tokio::test]
async fn ne_010_the_client_id_keeps_its_form_and_tags_follow_in_flexible_versions() {
    let simulated = Simulated::start(|_| {}).await;
    let mut client = simulated.connect().await;
    let key = ApiKey::Metadata.number();
    let classic = [0, 0, 0, 7, 0, 2, b'm', b'e'];
    for (version, header_rest) in [(1, &b""[..]), (9, &[1, 5, 1, 42])] {
        let body = b"body";
        let rest = [&classic[..], header_rest, body].concat();
        client.send(&frame_of(key, version, &rest)).await;
        let received = simulated.taken().await;
        assert_eq!(received.request.client_id(), "me");
        assert_eq!(received.request.frame.body, &body[..], "version {version}");
        assert_eq!(received.request.frame.key, MetadataRequest::KEY);
        received.responder.nothing();
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    /// Covers NE-004, C025.
    #[test]
    fn no_bytes_make_the_server_panic_or_stop_serving(
        bytes in prop::collection::vec(any::<u8>(), 0..200),
        framed in any::<bool>(),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let simulated = Simulated::start(|config| config.request_bytes_max = 1_000).await;
            let mut client = simulated.connect().await;
            client.send(&if framed { frame(&bytes) } else { bytes }).await;
            simulated.settle().await;
            while let Some(received) = simulated.channel.try_recv() {
                received.responder.nothing();
                simulated.settle().await;
            }
            drop(client);
            simulated.settle().await;
            assert_eq!(simulated.live(), 0);
            let mut other = simulated.connect().await;
            other.ask(1, b"x").await;
            echo(simulated.taken().await);
            assert_eq!(other.answer().await.0, 1);
        });
    }
}

/// Covers NE-002, NE-009.
#[tokio::test]
async fn over_loopback_frames_of_all_sizes_come_back() {
    let server = start(loopback()).await;
    let _echo = spawn_echo(server.channel().clone());
    let mut client = connect(&server).await;
    for (id, len) in [
        (1, 0),
        (2, 1),
        (3, 4_050),
        (4, 4_096),
        (5, 70_000),
        (6, 3_000_000),
    ] {
        let sent: Vec<u8> = (0..len).map(|at| u8::try_from(at % 251).unwrap()).collect();
        client.ask(id, &sent).await;
        let (answered, echoed) = client.answer().await;
        assert_eq!(answered, id);
        assert!(echoed == sent, "{len} bytes");
    }
    server.stop().await;
}

/// An answer may be made of pieces that are passed on by reference.
#[tokio::test]
async fn ne_001_a_response_in_several_pieces_is_one_frame() {
    let simulated = Simulated::start(|_| {}).await;
    let mut client = simulated.connect().await;
    client.ask(1, b"").await;
    let received = simulated.taken().await;
    let large = vec![7; 50_000];
    let answer = crate::support::answer_to(&received, large.clone());
    received.responder.send(Response::from(answer));
    assert_eq!(client.answer().await, (1, large.into()));
}
