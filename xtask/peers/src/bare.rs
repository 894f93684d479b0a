//! One request after the other on a bare socket: what a round trip takes without a client around it.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use bytes::Bytes;
use klamm_records::{BatchOptions, Codecs, RecordBatchBuilder};
use klamm_wire::header::{CorrelationId, RequestHeader};
use klamm_wire::messages::produce::{PartitionProduceData, ProduceRequest, TopicProduceData};
use klamm_wire::{decode_response, encode_request};
use serde::Serialize;

use crate::latency::{Beat, Latencies};
use crate::records::Records;

/// The newest that knows topics by their names.
const VERSION: i16 = 12;

#[derive(clap::Args)]
pub(crate) struct Options {
    #[command(flatten)]
    records: Records,
    /// Records each second.
    #[arg(long, default_value_t = 1000)]
    rate: u64,
}

#[derive(Serialize)]
pub(crate) struct RoundTrips {
    p50_ms: f64,
    p99_ms: f64,
}

/// Produces record by record to a topic that is there, and times each from when it was sent.
pub(crate) fn round_trips(options: &Options) -> Result<RoundTrips> {
    let request = request(&options.records)?;
    let header = RequestHeader::of::<ProduceRequest>(VERSION, CorrelationId::new(1), None);
    let frame = encode_request(&header, &request)?;
    let frame = frame.into_bytes().context("a request has no gaps")?;
    let mut stream = TcpStream::connect(options.records.address)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(Duration::from_secs(30)))?;

    let mut latencies = Latencies::new()?;
    let beat = Beat::new(options.rate);
    for index in 0..options.records.count {
        beat.wait(index);
        let sent = Instant::now();
        stream.write_all(&frame)?;
        let mut size = [0; 4];
        stream.read_exact(&mut size)?;
        let mut answer = vec![0; usize::try_from(i32::from_be_bytes(size))?];
        stream.read_exact(&mut answer)?;
        latencies.note(sent);
        let (_, answer) = decode_response::<ProduceRequest>(answer.into(), VERSION)?;
        let topics = answer.responses.iter();
        let mut partitions = topics.flat_map(|topic| &topic.partition_responses);
        let appended = partitions.all(|partition| partition.error_code.is_none());
        ensure!(appended, "a record was refused: {answer:?}");
    }
    let quantiles = latencies.quantiles();
    Ok(RoundTrips {
        p50_ms: quantiles.p50_ms,
        p99_ms: quantiles.p99_ms,
    })
}

fn request(records: &Records) -> Result<ProduceRequest> {
    let mut batch = RecordBatchBuilder::new(BatchOptions::default(), Vec::new());
    batch.append(0, None, Some(&records.value()), &[])?;
    batch.close(&mut Codecs::default())?;
    let bytes = Bytes::copy_from_slice(batch.bytes().context("the batch is closed")?);
    let partition = PartitionProduceData {
        records: Some(bytes.into()),
        ..PartitionProduceData::default()
    };
    let topic = TopicProduceData {
        name: records.topic.as_str().into(),
        partition_data: vec![partition],
        ..TopicProduceData::default()
    };
    Ok(ProduceRequest {
        acks: -1,
        timeout_ms: 30_000,
        topic_data: vec![topic],
        ..ProduceRequest::default()
    })
}
