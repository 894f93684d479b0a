//! `klamm-producer perf`: how many records a second are acknowledged, and how soon.

mod arguments;
mod payload;
mod report;
mod statistics;

use std::sync::Arc;

use anyhow::Result;
use klamm_io::{Clock, SystemClock};
use klamm_producer::{Producer, Record};
use tokio::sync::oneshot;

pub(crate) use self::arguments::Options;
use self::payload::Payload;
use self::report::{Form, Report};
use self::statistics::{Shared, WINDOW};
use crate::connect::connect;
use crate::ending::Ending;
use crate::output::{self, Records};
use crate::pace::{Pace, Wait};
use crate::stop::Stop;

/// Sends, waits for every outcome, and prints the report.
///
/// # Errors
/// Where nothing could begin: a wrong setting, no payload, no such topic.
pub(crate) async fn run(options: Options) -> Result<Ending> {
    options.refuse_transactions()?;
    let config = options.layers()?.config()?;
    let mut payload = options.payload(fastrand::Rng::new())?;
    let form = Form::of(options.json);
    let mut stop = Stop::listen(config.delivery.delivery_timeout)?;
    let Some(producer) = connect(config, &options.topic, &mut stop).await? else {
        return Ok(Ending::Interrupted);
    };

    let start = SystemClock.now();
    let statistics = Arc::new(Shared::new(start));
    let counted = Arc::clone(&statistics);
    stop.count_by(move || counted.on_the_way());
    let (done, end) = oneshot::channel();
    let watching = tokio::spawn(watch(Arc::clone(&statistics), form, end));
    let pace = Pace::new(options.throughput, start);
    let sent = send(
        &producer,
        &options,
        &mut payload,
        pace,
        &statistics,
        &mut stop,
    )
    .await;
    stop.finish(&producer).await;
    let finish = SystemClock.now();
    done.send(()).ok();
    drop(watching.await);
    let metrics = options.print_metrics.then(|| producer.metrics());
    let client_id = producer.client_id().to_owned();
    producer.close(None).await;

    output::line(&form.line(&statistics.total(finish)))?;
    for metric in metrics.into_iter().flatten() {
        output::line(&form.metric(&metric, &client_id))?;
    }
    let failed = statistics.failed();
    if let Some((count, first)) = &failed {
        let records = Records(*count);
        eprintln!("klamm-producer: {records} failed, the first: {first}");
    }
    Ok(
        match (failed, sent == options.num_records, stop.is_requested()) {
            (None, true, _) => Ending::Complete,
            (None, false, true) => Ending::Interrupted,
            _ => Ending::Incomplete,
        },
    )
}

/// Sends as many as asked for, or until somebody asks to stop; returns how many.
async fn send(
    producer: &Producer,
    options: &Options,
    payload: &mut Payload,
    pace: Pace,
    statistics: &Arc<Shared>,
    stop: &mut Stop,
) -> u64 {
    let topic: Arc<str> = Arc::from(options.topic.as_str());
    for number in 0..options.num_records {
        if stop.is_requested() || !due(&pace, number, stop).await {
            return number;
        }
        let value = payload.next(number);
        let size = value.len();
        let began = SystemClock.now();
        let noted = Arc::clone(statistics);
        let record = Record::to(Arc::clone(&topic)).with_value(value);
        let sending = producer.send_with(record, move |outcome| match outcome {
            Ok(_) => noted.acknowledged(size, began, SystemClock.now()),
            Err(error) => noted.fail(&error),
        });
        let sent = tokio::select! {
            biased;
            sent = sending => sent,
            () = stop.requested() => return number,
        };
        statistics.sent(number + 1);
        if let Err(error) = sent {
            // A record of bytes fails in the call only when the producer cannot go on.
            statistics.fail(&error);
            return number;
        }
    }
    options.num_records
}

/// Waits until the next record is due; false if somebody asks to stop before.
async fn due(pace: &Pace, number: u64, stop: &mut Stop) -> bool {
    if !pace.is_limited() {
        return true;
    }
    let until = match pace.before(number, SystemClock.now()) {
        Wait::No => return true,
        Wait::Until(due) => Some(due),
        Wait::Forever => None,
    };
    tokio::select! {
        () = SystemClock.sleep_until(until) => true,
        () = stop.requested() => false,
    }
}

/// Prints a line for every window until `end` comes or its sender is gone.
async fn watch(statistics: Arc<Shared>, form: Form, mut end: oneshot::Receiver<()>) {
    let mut next = SystemClock.now() + WINDOW;
    loop {
        tokio::select! {
            _ = &mut end => return,
            () = SystemClock.sleep_until(Some(next)) => {}
        }
        next += WINDOW;
        let report: Report = statistics.window(SystemClock.now());
        // If nobody reads it, the total will tell.
        output::line(&form.line(&report)).ok();
    }
}
