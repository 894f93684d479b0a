//! The options of `verify`. (PR-158)

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Result;
use clap::Args;

use crate::pace::Throughput;
use crate::properties;
use crate::settings::Layers;
use crate::verify::numbered::{CreateTime, Numbered};

/// Options with the names that Apache Kafka's verifiable producer has for them.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// The topic
    #[arg(long)]
    topic: String,
    /// Where the cluster is found: HOST:PORT, with commas between
    #[arg(long, alias = "broker-list", value_name = "HOST:PORT")]
    bootstrap_server: String,
    /// How many records to send; -1: until somebody asks to stop
    #[arg(long, default_value_t = -1, allow_negative_numbers = true, value_name = "COUNT",
        value_parser = clap::value_parser!(i64).range(-1..))]
    max_messages: i64,
    /// Records a second, fractions allowed; -1 for no limit
    #[arg(
        long,
        default_value = "-1",
        allow_negative_numbers = true,
        value_name = "RATE"
    )]
    pub(crate) throughput: Throughput,
    /// Who has to have a record: 0 nobody, 1 the leader, -1 or `all` every in-sync replica
    #[arg(long, default_value = "-1", allow_negative_numbers = true,
        value_parser = ["-1", "0", "1", "all"])]
    acks: String,
    /// A file with settings of the producer
    #[arg(
        long = "producer.config",
        visible_alias = "command-config",
        value_name = "FILE"
    )]
    producer_config: Option<PathBuf>,
    /// The time of the first record in Unix milliseconds; it moves on from there
    #[arg(long, value_name = "MS", allow_negative_numbers = true,
        value_parser = clap::value_parser!(i64).range(-1..))]
    message_create_time: Option<i64>,
    /// With n the values are n.0, n.1, and so on
    #[arg(long, value_name = "NUMBER")]
    value_prefix: Option<u32>,
    /// With k the keys are 0 to k-1, in turn; without, there are none
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..))]
    repeating_keys: Option<u64>,
}

impl Options {
    /// The producer's settings: a record that fails is told at once, so nothing is tried again
    /// unless the file says so. Without that, or without all acks, there is no idempotence, and
    /// nobody needs to be told who did not ask for it.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub(crate) fn layers(&self) -> Result<Layers> {
        let file = self.producer_config.as_deref().map(properties::read);
        let layers = Layers::of(file.transpose()?.unwrap_or_default(), &[])
            .given("acks", Some(&self.acks))
            .given("bootstrap.servers", Some(&self.bootstrap_server));
        let is_plain = matches!(self.acks.as_str(), "0" | "1") || layers.value("retries").is_none();
        let layers = layers.default_value("retries", "0");
        Ok(if is_plain {
            layers.default_value("enable.idempotence", "false")
        } else {
            layers
        })
    }

    /// The records; the clock shows `start_ms`.
    pub(crate) fn numbered(&self, start_ms: i64) -> Numbered {
        let create_time = self.message_create_time.filter(|first| *first >= 0);
        Numbered {
            topic: Arc::from(self.topic.as_str()),
            value_prefix: self.value_prefix,
            key_count: self.repeating_keys,
            create_time: create_time.map(|first_ms| CreateTime { first_ms, start_ms }),
        }
    }

    /// How many records at most.
    pub(crate) fn count_max(&self) -> u64 {
        u64::try_from(self.max_messages).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use klamm_producer::Acks;

    use super::*;

    #[derive(Debug, Parser)]
    struct Alone {
        #[command(flatten)]
        options: Options,
    }

    fn parse(line: &str) -> Option<Options> {
        let arguments = ["verify"].into_iter().chain(line.split_whitespace());
        Alone::try_parse_from(arguments).ok().map(|it| it.options)
    }

    const REQUIRED: &str = "--topic t --bootstrap-server 127.0.0.1:1";

    #[test]
    fn pr_158_the_defaults_are_endless_unlimited_all_acks_and_no_retries() {
        assert!(parse("--topic t").is_none());
        assert!(parse("--bootstrap-server h:1").is_none());
        let options = parse(REQUIRED).unwrap();
        assert_eq!(options.count_max(), u64::MAX);
        assert_eq!(options.throughput, Throughput::Unlimited);
        let config = options.layers().unwrap().config().unwrap();
        assert_eq!(config.delivery.acks, Acks::All);
        assert_eq!(config.delivery.retries, 0);
        assert_eq!(config.warnings(), [], "nobody asked for idempotence");
    }

    #[test]
    fn pr_158_acks_are_one_of_three_and_the_file_may_say_retries() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "retries=4\nacks=all\n").unwrap();
        let path = file.path().display();
        let options = format!("{REQUIRED} --acks 1 --max-messages 7 --producer.config {path}");
        let options = parse(&options).unwrap();
        assert_eq!(options.count_max(), 7);
        let config = options.layers().unwrap().config().unwrap();
        assert_eq!(config.delivery.acks, Acks::Leader);
        assert_eq!(config.delivery.retries, 4);
        assert!(!config.delivery.idempotence && config.warnings().is_empty());
        std::fs::write(file.path(), "retries=4\n").unwrap();
        let options = parse(&format!("{REQUIRED} --producer.config {path}")).unwrap();
        let config = options.layers().unwrap().config().unwrap();
        assert!(config.delivery.idempotence, "all acks, and retries");
        let options = parse(&format!("{REQUIRED} --acks all --producer.config {path}")).unwrap();
        let config = options.layers().unwrap().config().unwrap();
        assert_eq!(config.delivery.acks, Acks::All);
        assert!(config.delivery.idempotence, "the same under its other name");
        for wrong in [
            "--acks 2",
            "--acks none",
            "--repeating-keys 0",
            "--max-messages -2",
        ] {
            assert!(parse(&format!("{REQUIRED} {wrong}")).is_none(), "{wrong}");
        }
    }
}
