//! librdkafka, with as many records on their way as the others have.

use anyhow::Result;

use super::{Beat, Meter, OPEN_MAX, Options, Sent, Steady, SteadyOptions, steady};
use crate::librdkafka::{Sender, config};

fn sender(options: &Options, timed: bool) -> Result<Sender<'_>> {
    let mut config = config(&options.records)?;
    config.set("queue.buffering.max.messages", OPEN_MAX.to_string());
    Sender::start(&config, &options.records, timed)
}

pub(super) fn send(options: &Options) -> Result<Sent> {
    let sender = sender(options, false)?;
    let meter = Meter::start()?;
    sender.send_all()?;
    meter.stop(&options.records)
}

pub(super) fn send_steadily(options: &SteadyOptions) -> Result<Steady> {
    let sender = sender(&options.options, true)?;
    let records = options.options.records.count;
    let beat = Beat::new(options.rate);
    for index in 0..records {
        sender.send(index, beat.wait(index))?;
    }
    sender.finish()?;
    Ok(steady(records, &sender.quantiles()?))
}
