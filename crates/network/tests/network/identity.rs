//! Whose request it is.

use klamm_network::ClientSoftware;
use klamm_wire::header::RequestHeader;
use klamm_wire::messages::api_versions::ApiVersionsRequest;
use klamm_wire::{ApiKey, SecurityProtocol};
use klamm_wire::{encode_request, encode_response};

use crate::support::{CLIENT, PLAIN, SERVER, Simulated, echo, listener, request_of};

#[tokio::test]
async fn ne_060_a_request_carries_its_context() {
    let simulated = Simulated::start(|_| {}).await;
    let mut client = simulated.connect().await;
    let bytes = request_of(1, Some("reader"), b"payload");
    client.send(&bytes).await;
    let received = simulated.taken().await;
    let request = &received.request;
    assert_eq!(request.client_id(), "reader");
    assert_eq!(request.size, bytes.len() - 4);
    assert_eq!(request.received_at, klamm_io::Clock::now(&simulated.clock));
    let context = &request.context;
    assert_eq!(context.peer().ip(), CLIENT);
    assert_ne!(context.peer().port(), 0);
    assert_eq!(context.listener.as_str(), PLAIN);
    assert_eq!(context.security, SecurityProtocol::Plaintext);
    assert_eq!(context.principal.to_string(), "User:ANONYMOUS");
    assert_eq!(context.client_software(), ClientSoftware::unknown());
    assert_eq!(context.offer, crate::support::offer());
}

#[tokio::test]
async fn ne_061_what_the_client_says_it_is_holds_for_all_later_requests() {
    let simulated = Simulated::start(|_| {}).await;
    let mut client = simulated.connect().await;
    let header = RequestHeader::of::<ApiVersionsRequest>(3, 1.into(), None);
    let request = ApiVersionsRequest {
        client_software_name: "librdkafka".into(),
        client_software_version: "2.8.0".into(),
        ..ApiVersionsRequest::default()
    };
    let encoded = encode_request(&header, &request).unwrap();
    client.send(&encoded.into_bytes().unwrap()).await;
    // The next is read ahead, before anybody has looked at the first.
    client.ask(2, b"").await;
    let received = simulated.taken().await;
    let context = &received.request.context;
    assert_eq!(received.request.frame.key, ApiKey::ApiVersions);
    assert_eq!(context.client_software().name, "unknown");
    let asked: ApiVersionsRequest = received.request.frame.decode().unwrap();
    assert!(asked.is_valid(3));
    context.set_client_software(ClientSoftware {
        name: asked.client_software_name,
        version: asked.client_software_version,
    });
    let answer = klamm_wire::messages::api_versions::ApiVersionsResponse::default();
    let answer = encode_response(1.into(), &answer, 3).unwrap();
    received.responder.send(answer.into());
    client.frame().await.unwrap();
    let received = simulated.taken().await;
    let software = received.request.context.client_software();
    assert_eq!(
        (&*software.name, &*software.version),
        ("librdkafka", "2.8.0")
    );
    echo(received);
    let mut other = simulated.connect().await;
    other.ask(3, b"").await;
    let received = simulated.taken().await;
    assert_eq!(received.request.context.client_software().name, "unknown");
}

#[tokio::test]
async fn ne_062_requests_among_brokers_are_privileged() {
    let simulated = Simulated::start(|config| {
        let mut brokers = listener("BROKERS", SERVER, 9093);
        brokers.inter_broker = true;
        config.listeners.push(brokers);
    })
    .await;
    for (port, privileged) in [(9092, false), (9093, true)] {
        let mut client = simulated.connect_from(CLIENT, port).await;
        client.ask(1, b"").await;
        let received = simulated.taken().await;
        assert_eq!(received.request.context.privileged, privileged);
        echo(received);
    }
}
