//! The options of `produce`. (PR-154)

use std::path::PathBuf;
use std::str::FromStr;

use anyhow::Result;
use clap::Args;
use thiserror::Error;
use tracing::warn;

use crate::produce::framing::Framing;
use crate::produce::line_format::LineFormat;
use crate::produce::sending::Reader;
use crate::properties::{self, Property};
use crate::settings::Layers;

/// Options with the names that Apache Kafka's console producer has for them.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Where the cluster is found: HOST:PORT, with commas between
    #[arg(long, alias = "broker-list", value_name = "HOST:PORT")]
    pub(crate) bootstrap_server: String,
    /// The topic
    #[arg(long)]
    pub(crate) topic: String,
    /// Files to read one after the other; none, or `-`, is the standard input
    pub(crate) files: Vec<PathBuf>,

    /// How records are read: `lines`, `json` or `length-prefixed`
    #[arg(
        long,
        visible_alias = "format",
        default_value = "lines",
        value_name = "READER"
    )]
    pub(crate) line_reader: ReaderKind,
    /// A property of the reader of lines, as `parse.key=true`; wins over the file
    #[arg(
        long = "property",
        visible_alias = "reader-property",
        value_name = "NAME=VALUE"
    )]
    pub(crate) reader_properties: Vec<Property>,
    /// A file with properties of the reader
    #[arg(long, value_name = "FILE")]
    pub(crate) reader_config: Option<PathBuf>,
    /// Wait for each record's acknowledgement before the next is sent
    #[arg(long)]
    pub(crate) sync: bool,
    /// Print the summary as JSON, to the standard output
    #[arg(long)]
    pub(crate) json: bool,

    /// A setting of the producer, as `acks=1`; wins over the file
    #[arg(
        long = "producer-property",
        visible_alias = "command-property",
        value_name = "NAME=VALUE"
    )]
    pub(crate) producer_properties: Vec<Property>,
    /// A file with settings of the producer
    #[arg(
        long = "producer.config",
        visible_alias = "command-config",
        value_name = "FILE"
    )]
    pub(crate) producer_config: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) settings: SettingOptions,
}

/// Settings that have options of their own. The defaults hold where neither a property nor the
/// file says anything.
#[derive(Debug, Default, Args)]
pub(crate) struct SettingOptions {
    /// compression.type; `gzip` without a value [default: none]
    #[arg(long, num_args = 0..=1, default_missing_value = "gzip", value_name = "CODEC")]
    compression_codec: Option<String>,
    /// batch.size [default: 16384]
    #[arg(long, value_name = "BYTES")]
    batch_size: Option<i64>,
    /// batch.size, too; wins over --batch-size
    #[arg(long, value_name = "BYTES")]
    max_partition_memory_bytes: Option<i64>,
    /// retries [default: 3]
    #[arg(long, value_name = "COUNT")]
    message_send_max_retries: Option<i64>,
    /// retry.backoff.ms [default: 100]
    #[arg(long, value_name = "MS")]
    retry_backoff_ms: Option<i64>,
    /// linger.ms, for which a record waits for others [default: 1000]
    #[arg(long, value_name = "MS")]
    timeout: Option<i64>,
    /// acks: 0 nobody, 1 the leader, -1 or `all` every in-sync replica [default: -1]
    #[arg(long, alias = "acks", value_name = "ACKS", allow_hyphen_values = true)]
    request_required_acks: Option<String>,
    /// request.timeout.ms [default: 1500]
    #[arg(long, value_name = "MS")]
    request_timeout_ms: Option<i64>,
    /// metadata.max.age.ms [default: 300000]
    #[arg(long, value_name = "MS")]
    metadata_expiry_ms: Option<i64>,
    /// max.block.ms, for which metadata and memory are waited for [default: 60000]
    #[arg(long, value_name = "MS")]
    max_block_ms: Option<i64>,
    /// buffer.memory [default: 33554432]
    #[arg(long, value_name = "BYTES")]
    max_memory_bytes: Option<i64>,
    /// send.buffer.bytes [default: 102400]
    #[arg(long, value_name = "BYTES", allow_negative_numbers = true)]
    socket_buffer_size: Option<i64>,
}

impl Options {
    /// The producer's settings, with Kafka's defaults for this program.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub(crate) fn layers(&self) -> Result<Layers> {
        let file = self.producer_config.as_deref().map(properties::read);
        let file = file.transpose()?.unwrap_or_default();
        let layers = Layers::of(file, &self.producer_properties)
            .given("bootstrap.servers", Some(&self.bootstrap_server));
        Ok(self.settings.over(layers))
    }

    /// What turns input into records.
    ///
    /// # Errors
    /// If the file cannot be read, or its properties do not go together.
    pub(crate) fn reader(&self) -> Result<Reader> {
        let file = self.reader_config.as_deref().map(properties::read);
        let mut properties = file.transpose()?.unwrap_or_default();
        properties.extend_from_slice(&self.reader_properties);
        match self.line_reader {
            ReaderKind::Lines => {
                let (format, unknown) = LineFormat::of(&properties)?;
                for name in unknown {
                    warn!(name, "no such property of the reader");
                }
                return Ok(Reader::Lines(format));
            }
            _ if properties.is_empty() => {}
            _ => warn!("properties of the reader are for lines, and have no effect"),
        }
        match self.line_reader {
            ReaderKind::Json => Ok(Reader::Json),
            _ => Ok(Reader::Binary),
        }
    }
}

impl SettingOptions {
    fn over(&self, layers: Layers) -> Layers {
        let batch_size = self.max_partition_memory_bytes.or(self.batch_size);
        layers
            .default_value("client.id", "console-producer")
            .option("compression.type", self.compression_codec.as_ref(), "none")
            .option("batch.size", batch_size, "16384")
            .option("retries", self.message_send_max_retries, "3")
            .option("retry.backoff.ms", self.retry_backoff_ms, "100")
            .option("linger.ms", self.timeout, "1000")
            .option("acks", self.request_required_acks.as_ref(), "-1")
            .option("request.timeout.ms", self.request_timeout_ms, "1500")
            .option("metadata.max.age.ms", self.metadata_expiry_ms, "300000")
            .option("max.block.ms", self.max_block_ms, "60000")
            .option("buffer.memory", self.max_memory_bytes, "33554432")
            .option("send.buffer.bytes", self.socket_buffer_size, "102400")
    }
}

/// How records are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReaderKind {
    /// A line each, with separators.
    Lines,
    /// A JSON object on a line each.
    Json,
    /// Bytes behind their length.
    LengthPrefixed,
}

/// No such reader.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("expected lines, json or length-prefixed")]
pub(crate) struct NoSuchReader;

impl FromStr for ReaderKind {
    type Err = NoSuchReader;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        // Scripts that were written for Kafka's own program may give its class's name.
        match text.rsplit('.').next() {
            Some("lines" | "LineMessageReader") => Ok(Self::Lines),
            Some("json") => Ok(Self::Json),
            Some("length-prefixed") => Ok(Self::LengthPrefixed),
            _ => Err(NoSuchReader),
        }
    }
}

impl Reader {
    /// How its input is cut.
    pub(crate) fn framing(&self) -> Framing {
        match self {
            Self::Lines(_) | Self::Json => Framing::Lines,
            Self::Binary => Framing::LengthPrefixed,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use clap::Parser;
    use klamm_producer::{Acks, ProducerConfig};

    use super::*;

    #[derive(Debug, Parser)]
    struct Alone {
        #[command(flatten)]
        options: Options,
    }

    const REQUIRED: [&str; 5] = [
        "produce",
        "--bootstrap-server",
        "127.0.0.1:9092",
        "--topic",
        "t",
    ];

    fn options(more: &[&str]) -> Options {
        let arguments = REQUIRED.iter().chain(more);
        Alone::try_parse_from(arguments).unwrap().options
    }

    fn config(more: &[&str]) -> ProducerConfig {
        options(more).layers().unwrap().config().unwrap()
    }

    #[test]
    fn pr_154_server_and_topic_are_required_and_unknown_options_are_not_taken() {
        assert!(Alone::try_parse_from(["produce", "--topic", "t"]).is_err());
        assert!(Alone::try_parse_from(["produce", "--bootstrap-server", "h:1"]).is_err());
        assert!(Alone::try_parse_from(REQUIRED.iter().chain(&["--frobnicate"])).is_err());
        assert!(Alone::try_parse_from(REQUIRED.iter().chain(&["--line-reader", "xml"])).is_err());
    }

    #[test]
    fn pr_154_the_defaults_are_the_console_tools() {
        let config = config(&[]);
        assert_eq!(&*config.client.client_id, "console-producer");
        assert_eq!(config.batching.batch_size, 16_384);
        assert_eq!(config.batching.linger, Duration::from_secs(1));
        assert_eq!(config.batching.buffer_memory, 33_554_432);
        assert_eq!(config.batching.max_block, Duration::from_mins(1));
        assert_eq!(config.delivery.retries, 3);
        assert_eq!(config.delivery.acks, Acks::All);
        assert_eq!(config.client.retry_backoff, Duration::from_millis(100));
        assert_eq!(config.client.request_timeout, Duration::from_millis(1_500));
        assert_eq!(config.client.metadata_max_age, Duration::from_mins(5));
    }

    #[test]
    fn pr_154_a_codec_without_a_name_is_gzip_and_partition_memory_wins() {
        let with = |more: &[&str], name: &str| {
            let layers = options(more).layers().unwrap();
            layers.value(name).map(str::to_owned)
        };
        let codec = |more: &[&str]| with(more, "compression.type").unwrap();
        assert_eq!(codec(&["--compression-codec"]), "gzip");
        assert_eq!(codec(&["--compression-codec", "zstd"]), "zstd");
        assert_eq!(codec(&[]), "none");
        let both = ["--max-partition-memory-bytes", "7", "--batch-size", "9"];
        assert_eq!(with(&both, "batch.size").unwrap(), "7");
        assert_eq!(with(&both[2..], "batch.size").unwrap(), "9");
        let size = ["--socket-buffer-size", "-1"];
        assert_eq!(with(&size, "send.buffer.bytes").unwrap(), "-1");
    }

    #[test]
    fn pr_154_an_option_wins_over_a_property_and_that_over_the_file_and_the_default() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "retries=7\nlinger.ms=8\nacks=1\nclient.id=f\n").unwrap();
        let path = file.path().to_str().unwrap();
        let config = config(&[
            "--producer.config",
            path,
            "--producer-property",
            "linger.ms=9",
            "--producer-property",
            "acks=0",
            "--request-required-acks",
            "-1",
        ]);
        assert_eq!(config.delivery.retries, 7);
        assert_eq!(config.batching.linger, Duration::from_millis(9));
        assert_eq!(config.delivery.acks, Acks::All);
        assert_eq!(&*config.client.client_id, "f");
    }

    /// Covers PR-154, PR-155.
    #[test]
    fn a_property_of_the_reader_wins_over_its_file() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "parse.key=true\nkey.separator=;\n").unwrap();
        let path = file.path().to_str().unwrap();
        let arguments = ["--reader-config", path, "--property", "key.separator=:"];
        let Reader::Lines(format) = options(&arguments).reader().unwrap() else {
            panic!("lines are the default");
        };
        let read = format.read(&"a;b:c".into()).unwrap();
        assert_eq!(read.key.as_deref(), Some(&b"a;b"[..]));
        let class = ["--line-reader", "org.apache.kafka.tools.LineMessageReader"];
        assert!(matches!(options(&class).reader(), Ok(Reader::Lines(_))));
        assert!(matches!(
            options(&["--format", "json"]).reader(),
            Ok(Reader::Json)
        ));
        let binary = options(&["--format", "length-prefixed"]).reader().unwrap();
        assert_eq!(binary.framing(), Framing::LengthPrefixed);
    }
}
