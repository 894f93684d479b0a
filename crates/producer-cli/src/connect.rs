//! Building a producer and seeing that the topic is there, before anything is read or sent.

use anyhow::{Context, Result};
use klamm_producer::{Producer, ProducerConfig};

use crate::stop::Stop;

/// A producer whose cluster has the topic; `None` if somebody asked to end while it was looked
/// for. Without the look, every record of a long input would wait for `max.block.ms` and fail.
///
/// # Errors
/// No address in `bootstrap.servers` can be found; nobody answered, or the topic is not there or
/// not allowed, within `max.block.ms`.
pub(crate) async fn connect(
    config: ProducerConfig,
    topic: &str,
    stop: &mut Stop,
) -> Result<Option<Producer>> {
    let servers: Vec<String> = config
        .client
        .bootstrap
        .iter()
        .map(ToString::to_string)
        .collect();
    let producer = Producer::builder(config).build().await?;
    let known = tokio::select! {
        known = producer.partitions_for(topic) => known?,
        () = stop.requested() => return Ok(None),
    };
    if let Err(error) = known {
        producer.close(Some(std::time::Duration::ZERO)).await;
        let servers = servers.join(",");
        return Err(error.failure).with_context(|| format!("topic {topic} at {servers}"));
    }
    Ok(Some(producer))
}
