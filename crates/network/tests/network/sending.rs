//! Responses that come from files.

use std::path::Path;

use bytes::Bytes;
use klamm_io::{Disk, DiskFile, FileRange, Net as _, OpenMode, RealDisk};
use klamm_network::Response;
use klamm_wire::header::RequestHeader;
use klamm_wire::messages::fetch::{
    FetchRequest, FetchResponse, FetchableTopicResponse, PartitionData,
};
use klamm_wire::{Encoded, Records, decode_response, encode_request, encode_response};

use crate::support::{Simulated, connect, loopback, start};

const VERSION: i16 = 11;

fn fetch_request() -> Vec<u8> {
    let header = RequestHeader::of::<FetchRequest>(VERSION, 5.into(), None);
    let encoded = encode_request(&header, &FetchRequest::default()).unwrap();
    encoded.into_bytes().unwrap().to_vec()
}

/// An answer with one partition for each of these lengths.
fn fetch_response(lens: &[usize]) -> Encoded {
    let partitions = lens.iter().map(|len| PartitionData {
        records: Some(Records::Elsewhere(*len)),
        ..PartitionData::default()
    });
    let topic = FetchableTopicResponse {
        partitions: partitions.collect(),
        ..FetchableTopicResponse::default()
    };
    let response = FetchResponse {
        responses: vec![topic],
        ..FetchResponse::default()
    };
    encode_response(5.into(), &response, VERSION).unwrap()
}

fn records(frame: Bytes) -> Vec<Bytes> {
    let (_, response) = decode_response::<FetchRequest>(frame, VERSION).unwrap();
    let partitions = response
        .responses
        .into_iter()
        .flat_map(|topic| topic.partitions);
    partitions
        .map(|partition| partition.records.unwrap().bytes().unwrap().clone())
        .collect()
}

fn content(len: usize) -> Vec<u8> {
    (0..len).map(|at| u8::try_from(at % 253).unwrap()).collect()
}

/// Covers B3.5.
#[tokio::test]
async fn file_ranges_fill_the_gaps_whatever_becomes_of_the_file_s_name() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("segment.log");
    let content = content(3_000_000);
    let file = RealDisk.open(&path, OpenMode::CreateNew).unwrap();
    file.write_all_at(&content, 0).unwrap();
    std::fs::remove_file(&path).unwrap();

    let server = start(loopback()).await;
    let mut client = connect(&server).await;
    let ranges = [
        (0, 10),
        (1_000, 0),
        (70_000, 300_000),
        (2_000_000, 1_000_000),
        (5, 1),
    ];
    client.send(&fetch_request()).await;
    let received = server.channel().next().await;
    let encoded = fetch_response(&ranges.map(|(_, len)| len));
    let files = ranges.map(|(position, len)| FileRange::new(file.clone(), position, len));
    let response = Response::with_files(encoded, files.to_vec());
    drop(file);
    received.responder.send(response);
    let sent = records(client.frame().await.unwrap());
    assert_eq!(sent.len(), ranges.len());
    for (sent, (position, len)) in sent.iter().zip(ranges) {
        let begin = usize::try_from(position).unwrap();
        assert!(*sent == content[begin..][..len], "{position} {len}");
    }
    server.stop().await;
}

/// Covers B1.4.
#[tokio::test]
async fn a_file_that_cannot_be_read_closes_its_connection_only() {
    let simulated = Simulated::start(|_| {}).await;
    let mut other = simulated.connect().await;
    let disk = klamm_io::sim::SimDisk::new(0);
    let file = disk.open(Path::new("/log"), OpenMode::CreateNew).unwrap();
    file.write_all_at(&content(100), 0).unwrap();
    for lens in [vec![200], vec![50]] {
        let mut client = simulated.connect().await;
        client.send(&fetch_request()).await;
        let received = simulated.taken().await;
        // One range is longer than its file, one not what the gap asks for.
        let files = vec![FileRange::new(file.clone(), 0, 200)];
        let response = Response::with_files(fetch_response(&lens), files);
        received.responder.send(response);
        client.closed().await;
    }
    other.ask(1, b"").await;
    crate::support::echo(simulated.taken().await);
    assert_eq!(other.answer().await.0, 1);
}

/// Covers NE-012, C128.
#[tokio::test]
async fn many_slow_readers_of_files_are_all_served_in_the_end() {
    let simulated = Simulated::start(|_| {}).await;
    let host = simulated.net.host(crate::support::SERVER);
    assert_eq!(host.resolve("10.0.0.1", 1).await.unwrap().len(), 1);
    let disk = klamm_io::sim::SimDisk::new(0);
    let file = disk.open(Path::new("/log"), OpenMode::CreateNew).unwrap();
    let content = content(150_000);
    file.write_all_at(&content, 0).unwrap();
    let mut clients = Vec::new();
    for _ in 0..200 {
        let mut client = simulated.connect().await;
        client.send(&fetch_request()).await;
        let received = simulated.taken().await;
        let files = vec![FileRange::new(file.clone(), 0, content.len())];
        let response = Response::with_files(fetch_response(&[content.len()]), files);
        received.responder.send(response);
        clients.push(client);
    }
    for client in &mut clients {
        let sent = records(client.frame().await.unwrap());
        assert!(sent == [content.clone()]);
    }
}
