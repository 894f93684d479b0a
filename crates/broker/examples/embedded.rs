//! A broker within another program: started on a free port, asked for its metadata, stopped.
//!
//! `cargo run -p klamm-broker --example embedded`

use std::error::Error;
use std::io::{Read, Write};
use std::net::TcpStream;

use klamm_broker::settings::Settings;
use klamm_broker::{Broker, Machine};
use klamm_wire::header::{CorrelationId, RequestHeader};
use klamm_wire::messages::metadata::{MetadataRequest, MetadataRequestTopic};
use klamm_wire::{decode_response, encode_request};

fn main() -> Result<(), Box<dyn Error>> {
    let directory = tempfile::tempdir()?;
    let assignments = [
        "node.id=1".to_owned(),
        "listeners=PLAINTEXT://127.0.0.1:0".to_owned(),
        format!("log.dirs={}", directory.path().display()),
    ];
    let (settings, warnings) = Settings::load(None, [], &assignments)?;
    assert!(warnings.is_empty());
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()?;
    let broker = runtime.block_on(Broker::start(Machine::this(), settings))?;
    let address = broker.address("PLAINTEXT").ok_or("it is bound")?;

    // Asking for a topic creates it.
    let request = MetadataRequest {
        topics: Some(vec![MetadataRequestTopic {
            name: Some("greetings".into()),
            ..MetadataRequestTopic::default()
        }]),
        ..MetadataRequest::default()
    };
    let version = 12;
    let header = RequestHeader::of::<MetadataRequest>(version, CorrelationId::new(1), None);
    let encoded = encode_request(&header, &request)?;
    let mut stream = TcpStream::connect(address)?;
    stream.write_all(&encoded.into_bytes().ok_or("a request has no gaps")?)?;
    let mut size = [0; 4];
    stream.read_exact(&mut size)?;
    let mut frame = vec![0; usize::try_from(i32::from_be_bytes(size))?];
    stream.read_exact(&mut frame)?;
    let (_, metadata) = decode_response::<MetadataRequest>(frame.into(), version)?;
    for topic in &metadata.topics {
        let name = topic.name.as_deref().unwrap_or_default();
        let leader = topic.partitions.first().map(|it| it.leader_id);
        println!("{address} has topic {name}, led by {leader:?}");
    }
    runtime.block_on(broker.stop());
    Ok(())
}
