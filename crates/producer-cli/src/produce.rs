//! `klamm-producer produce`: sends what files or the standard input have, and tells exactly what
//! became of it.

mod arguments;
mod binary_format;
mod framing;
mod input;
mod json_format;
mod line_format;
mod parts;
mod progress;
mod sending;
mod summary;
mod tally;

use std::sync::Arc;

use anyhow::Result;
use klamm_producer::Acks;
use tokio::sync::oneshot;

pub(crate) use self::arguments::Options;
use self::input::Input;
use self::progress::{Bar, watch};
use self::sending::Sending;
use self::summary::Summary;
use self::tally::Tally;
use crate::connect::connect;
use crate::ending::Ending;
use crate::output;
use crate::stop::Stop;

/// Reads, sends, flushes, and prints the summary.
///
/// # Errors
/// Where nothing could begin: a wrong setting, a file that cannot be opened, no such topic.
pub(crate) async fn run(options: Options) -> Result<Ending> {
    let config = options.layers()?.config()?;
    let reader = options.reader()?;
    let inputs = Input::open(&options.files)?;
    let mut stop = Stop::listen(config.delivery.delivery_timeout)?;
    let is_acknowledged = config.delivery.acks != Acks::None;
    let Some(producer) = connect(config, &options.topic, &mut stop).await? else {
        return Ok(Ending::Interrupted);
    };

    let names = inputs.iter().map(|input| input.name.clone()).collect();
    let tally = Arc::new(Tally::new(names));
    let counted = Arc::clone(&tally);
    stop.count_by(move || counted.on_the_way());
    let (done, end) = oneshot::channel();
    let bar = Bar::new(&inputs);
    let watching = tokio::spawn(watch(Arc::clone(&tally), bar, end));

    let topic = Arc::from(options.topic.as_str());
    let sending = Sending::new(&producer, topic, reader, options.sync, &tally);
    let left = sending.run(inputs, &mut stop).await;
    stop.finish(&producer).await;
    producer.close(None).await;
    done.send(()).ok();
    drop(watching.await);

    let summary = Summary::new(&tally, left, is_acknowledged, stop.is_requested());
    if options.json {
        output::line(&serde_json::to_string(&summary)?)?;
    } else {
        eprintln!("{summary}");
    }
    Ok(summary.ending())
}
