//! A batch from the producer's buffer to a consumer's records, with a leader in between.
//!
//! `cargo run -p klamm-records --example produce_and_consume`

use std::error::Error;

use klamm_records::{
    BatchOptions, Codecs, Compression, CompressionRatios, Header, RecordBatchBuilder,
    RecordBatches, ValidationRules, ZstdLevel, record_size_max, validate,
};

fn main() -> Result<(), Box<dyn Error>> {
    let mut codecs = Codecs::default();
    let mut ratios = CompressionRatios::default();
    let now_ms = 1_700_000_000_000;

    // A producer fills batches of 4 KiB. How many records fit is estimated from how well the
    // batches before shrank.
    let compression = Compression::Zstd(ZstdLevel::new(3)?);
    let mut sent = Vec::new();
    for round in 0..4 {
        let options = BatchOptions {
            compression,
            size_limit: 4096,
            expected_ratio: ratios.estimate(compression.codec()),
            ..BatchOptions::default()
        };
        let mut builder = RecordBatchBuilder::new(options, Vec::with_capacity(4096));
        let headers = [Header::new("source", Some(b"gauge 7"))];
        loop {
            let value = format!("water level at {}: {} mm", builder.count(), 1200 + round);
            let value = Some(value.as_bytes());
            if !builder.has_room_for(record_size_max(None, value, &headers)) {
                break;
            }
            builder.append(now_ms + round, None, value, &headers)?;
        }
        builder.close(&mut codecs)?;
        let ratio = builder.compression_ratio().unwrap_or(1.0);
        ratios.observe(compression.codec(), ratio);
        println!(
            "batch of {} records: {} bytes, {} before compression",
            builder.count(),
            builder.bytes()?.len(),
            builder.plain_len(),
        );
        sent.push(builder.into_bytes()?);
    }

    // A leader checks them and gives them their places; no record is copied on the way.
    let mut log = Vec::new();
    let mut next_offset = 0.into();
    for records in sent {
        let valid = validate(records, &ValidationRules::default(), now_ms, &mut codecs)?;
        let header = valid.stamped(next_offset, 1.into(), now_ms);
        log.extend_from_slice(&header.to_bytes());
        log.extend_from_slice(valid.records());
        next_offset = header.next_offset();
    }

    // A consumer is sent a piece that ends in the middle of a batch.
    log.truncate(log.len() - 100);
    let mut read = 0;
    for batch in RecordBatches::new(log.into()) {
        let batch = batch?;
        batch.check_crc()?;
        let mut records = batch.read(&mut codecs)?;
        while let Some(record) = records.next()? {
            assert_eq!(record.offset.get(), read);
            read += 1;
        }
    }
    println!("{read} records read of {next_offset} written, the last batch was cut");
    Ok(())
}
