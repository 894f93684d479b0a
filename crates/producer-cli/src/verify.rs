//! `klamm-producer verify`: numbered values, and a JSON line for each outcome, so that whoever
//! reads the log afterwards knows what has to be in it.

mod arguments;
mod event;
mod lines;
mod numbered;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::{Context, Result};
use klamm_io::{Clock, SystemClock};
use klamm_producer::{DeliveryError, Producer, RecordMetadata, SendError};
use tokio::sync::OwnedSemaphorePermit;

pub(crate) use self::arguments::Options;
use self::event::{Event, Sent};
use self::lines::Lines;
use self::numbered::Numbered;
use crate::ending::Ending;
use crate::pace::{Pace, Wait};
use crate::stop::Stop;

/// So long whoever reads the output has for the rest of it, once somebody has asked twice to end. A
/// reader that works takes far less for all that may wait.
const UNREAD_MAX: Duration = Duration::from_secs(1);

/// Sends until all are sent or somebody asks to stop, and prints what became of each.
///
/// # Errors
/// A wrong setting, no address of the cluster, or an output that cannot be written to.
pub(crate) async fn run(options: Options) -> Result<Ending> {
    let config = options.layers()?.config()?;
    let mut stop = Stop::listen(config.delivery.delivery_timeout)?;
    let producer = Producer::builder(config).build().await?;
    let lines = Lines::start().context("the output's thread cannot be started")?;
    lines.tell(Event::StartupComplete, None);

    let start = SystemClock.now();
    let counts = Arc::new(Counts::default());
    let counted = Arc::clone(&counts);
    stop.count_by(move || counted.on_the_way());
    let sending = Sending {
        producer: &producer,
        numbered: options.numbered(SystemClock.unix_ms()),
        pace: Pace::new(options.throughput, start),
        count_max: options.count_max(),
        lines: &lines,
        counts: &counts,
    };
    let sent = sending.run(&mut stop).await;
    stop.finish(&producer).await;
    producer.close(None).await;

    lines.tell(Event::ShutdownComplete, None);
    let acked = counts.acked.load(Ordering::Relaxed);
    let elapsed = SystemClock.now() - start;
    let throughput = options.throughput.number();
    lines.tell(Event::tool_data(sent, acked, throughput, elapsed), None);
    let written = tokio::task::spawn_blocking(move || lines.finish());
    tokio::select! {
        biased;
        written = written => written?.context("standard output")?,
        () = unread(&mut stop) => {
            eprintln!("klamm-producer: nobody reads the standard output, which lacks outcomes");
            return Ok(Ending::Incomplete);
        }
    }
    Ok(if sent == acked {
        Ending::Complete
    } else {
        Ending::Incomplete
    })
}

/// Waits until somebody has given up what nobody reads.
async fn unread(stop: &mut Stop) {
    stop.given_up().await;
    let now = SystemClock.now();
    SystemClock.sleep_until(Some(now + UNREAD_MAX)).await;
}

struct Sending<'a> {
    producer: &'a Producer,
    numbered: Numbered,
    pace: Pace,
    count_max: u64,
    lines: &'a Lines,
    counts: &'a Arc<Counts>,
}

/// What became of records.
#[derive(Debug, Default)]
struct Counts {
    /// Handed over. One may have its outcome before it is counted here.
    sent: AtomicU64,
    /// Of these, those that were acknowledged.
    acked: AtomicU64,
    /// And those that failed.
    failed: AtomicU64,
}

impl Counts {
    /// How many have no outcome.
    fn on_the_way(&self) -> u64 {
        let settled = self.acked.load(Ordering::Relaxed) + self.failed.load(Ordering::Relaxed);
        self.sent.load(Ordering::Relaxed).saturating_sub(settled)
    }
}

impl Sending<'_> {
    /// Returns how many were handed over.
    async fn run(&self, stop: &mut Stop) -> u64 {
        let mut sent = 0;
        while sent < self.count_max && !self.lines.is_closed() {
            let next = tokio::select! {
                biased;
                () = stop.requested() => return sent,
                next = self.next(sent) => next,
            };
            sent += 1;
            if next.is_err() {
                // A record of bytes fails in the call only when the producer cannot go on.
                return sent;
            }
        }
        sent
    }

    /// Sends the record that has so many before it, when it is due. Whoever drops this before its
    /// end has sent nothing.
    async fn next(&self, number: u64) -> Result<(), SendError> {
        match self.pace.before(number, SystemClock.now()) {
            Wait::No => {}
            Wait::Until(due) => SystemClock.sleep_until(Some(due)).await,
            Wait::Forever => std::future::pending().await,
        }
        let permit = self.lines.permit().await;
        let (record, sent) = self.numbered.record(number, SystemClock.unix_ms());
        let told = self.lines.clone();
        let counts = Arc::clone(self.counts);
        let callback = {
            let sent = sent.clone();
            move |outcome| tell(&told, &counts, sent, outcome, permit)
        };
        match self.producer.send_with(record, callback).await {
            Ok(_) => {
                self.counts.sent.store(number + 1, Ordering::Relaxed);
                Ok(())
            }
            Err(error) => {
                self.lines.tell(Event::refused(sent, &error), None);
                Err(error)
            }
        }
    }
}

fn tell(
    lines: &Lines,
    counts: &Counts,
    sent: Sent,
    outcome: Result<RecordMetadata, DeliveryError>,
    permit: OwnedSemaphorePermit,
) {
    let event = match outcome {
        Ok(metadata) => {
            counts.acked.fetch_add(1, Ordering::Relaxed);
            Event::acknowledged(sent, &metadata)
        }
        Err(error) => {
            counts.failed.fetch_add(1, Ordering::Relaxed);
            Event::failed(sent, &error)
        }
    };
    lines.tell(event, Some(permit));
}
