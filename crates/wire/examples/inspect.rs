//! Shows the request in a frame: its header, and its body as JSON.
//!
//! `cargo run -p klamm-wire --example inspect -- <hex digits>`; without digits it
//! makes a frame of its own.

use std::error::Error;

use bytes::{Bytes, BytesMut};
use klamm_wire::header::{CorrelationId, RequestHeader};
use klamm_wire::messages::metadata::{MetadataRequest, MetadataRequestTopic};
use klamm_wire::testing::{Kind, catalogue};
use klamm_wire::{ApiSet, FrameCodec, Listener, Offer, RequestFrame, encode_request};
use tokio_util::codec::Decoder;

fn main() -> Result<(), Box<dyn Error>> {
    let frame = match std::env::args().nth(1) {
        Some(digits) => Bytes::from(hex::decode(digits)?),
        None => made_up()?,
    };
    println!("frame    {}", hex::encode(&frame));

    let mut stream = BytesMut::from(&frame[..]);
    let content = FrameCodec::new(1 << 20)
        .decode(&mut stream)?
        .ok_or("the frame is not complete")?;
    let offer = Offer {
        listener: Listener::Broker,
        unstable: true,
        telemetry: true,
        apis: ApiSet::ALL,
    };
    let request = RequestFrame::parse(content, &offer)?;
    println!("request  {} version {}", request.key, request.version());
    println!("from     {:?}", request.header.client_id);

    // A server knows the type and calls `request.decode::<MetadataRequest>()`.
    let number = Some(request.key.number());
    let entry = catalogue()
        .into_iter()
        .find(|entry| entry.kind == Kind::Request && entry.key == number)
        .ok_or("every key that is served has a struct")?;
    let message = (entry.decode)(&mut request.body.clone(), request.version())?;
    println!("body     {:#}", message.to_json(request.version()));
    Ok(())
}

fn made_up() -> Result<Bytes, Box<dyn Error>> {
    let request = MetadataRequest {
        topics: Some(vec![MetadataRequestTopic {
            name: Some("orders".into()),
            ..MetadataRequestTopic::default()
        }]),
        ..MetadataRequest::default()
    };
    let header =
        RequestHeader::of::<MetadataRequest>(9, CorrelationId::new(1), Some("inspect".into()));
    let frame = encode_request(&header, &request)?;
    Ok(frame.into_bytes().ok_or("a request has no gap")?)
}
