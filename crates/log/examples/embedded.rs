//! A log of one's own, without a broker: append, read, look up by time, close, open again.
//!
//! It needs klamm-io for the disk and the clock, klamm-primitives for offsets and epochs, and
//! klamm-records to make batches and to read them.
//!
//! A log by itself does not keep how it was left: the caller does, as at the end of this, or a
//! `LogManager`, in checkpoints and a mark beside its partitions.
//!
//! Run with `cargo run -p klamm-log --example embedded`. The directory that it leaves is one that
//! Apache Kafka's dump tool reads, and so does `klamm-log dump`.

use std::error::Error;
use std::path::Path;

use klamm_io::{Clock, RealDisk, SystemClock};
use klamm_log::{Isolation, Log, LogConfig, OpenOptions, ReadLimit, TimeTarget};
use klamm_primitives::{LeaderEpoch, Offset};
use klamm_records::{
    BatchOptions, Codecs, RecordBatchBuilder, RecordBatches, ValidationRules, validate,
};

fn main() -> Result<(), Box<dyn Error>> {
    let now_ms = SystemClock.unix_ms();
    let name = format!("klamm-embedded-{}-0", std::process::id());
    let directory = std::env::temp_dir().join(name);
    let config = LogConfig::default();
    let mut codecs = Codecs::default();

    // What is not there is made. A log that was not closed well would be recovered here.
    let options = OpenOptions::new(false, now_ms);
    let (mut log, _) = Log::open(RealDisk, directory.clone(), config.clone(), &options)?;

    // A batch is built, checked, and gets its place in the log.
    for word in ["first", "second", "third"] {
        let mut builder = RecordBatchBuilder::new(BatchOptions::default(), Vec::new());
        builder.append(now_ms, Some(b"key"), Some(word.as_bytes()), &[])?;
        builder.close(&mut codecs)?;
        let rules = ValidationRules::default();
        let batch = validate(builder.into_bytes()?, &rules, now_ms, &mut codecs)?;
        let appended = log.append(&[batch], LeaderEpoch::new(0), now_ms)?;
        println!("appended {word} at {}", appended.first_offset);
    }
    log.flush()?;

    // Readers are handles of their own; another thread may have one. This one reads up to the log end.
    // `Isolation::HighWatermark`, for consumers, would show nothing yet: how far records are in enough
    // places is the caller's to know and to say.
    log.set_high_watermark(log.log_end_offset());
    let reader = log.reader();
    let limit = ReadLimit {
        bytes_max: 1 << 20,
        whole_first_batch: true,
    };
    let read = reader.read(Offset::new(1), limit, Isolation::LogEnd)?;
    if let Some(range) = read.range {
        for batch in RecordBatches::new(range.read()?) {
            let batch = batch?;
            let mut records = batch.read(&mut codecs)?;
            while let Some(record) = records.next()? {
                let value = String::from_utf8_lossy(record.value.unwrap_or_default());
                println!("read {value} at {}", record.offset);
            }
        }
    }
    let found = reader.offset_for_timestamp(TimeTarget::AtOrAfter(now_ms), &mut codecs)?;
    println!("the first record since {now_ms} is {found:?}");

    log.close()?;
    println!("left in {}", files(&directory)?);

    // This is what a program writes down before it ends, and takes away again once it has begun. A
    // program that is killed has not written `was_clean`; it gives the offsets it wrote last, and the
    // log is read through from that recovery point on. What is below it is never cut.
    let options = OpenOptions {
        was_clean: true,
        recovery_point: log.recovery_point(),
        log_start: log.log_start_offset(),
        high_watermark: log.high_watermark(),
        now_ms,
    };
    let (log, _) = Log::open(RealDisk, directory.clone(), config, &options)?;
    println!("open again, it ends at {}", log.log_end_offset());
    std::fs::remove_dir_all(directory)?;
    Ok(())
}

fn files(directory: &Path) -> Result<String, std::io::Error> {
    let mut lines = vec![directory.display().to_string()];
    for entry in std::fs::read_dir(directory)? {
        let entry = entry?;
        let (name, len) = (entry.file_name(), entry.metadata()?.len());
        lines.push(format!("  {} ({len} bytes)", name.to_string_lossy()));
    }
    Ok(lines.join("\n"))
}
