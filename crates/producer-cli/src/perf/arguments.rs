//! The options of `perf`. (PR-149)

use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::{ArgGroup, Args};

use crate::pace::Throughput;
use crate::perf::payload::Payload;
use crate::properties::{self, Property};
use crate::settings::Layers;

/// Options with the names that Apache Kafka's performance tool has for them.
#[derive(Debug, Args)]
#[command(
    group = ArgGroup::new("payload").required(true),
    group = ArgGroup::new("settings").required(true).multiple(true),
)]
pub(crate) struct Options {
    /// The topic
    #[arg(long)]
    pub(crate) topic: String,
    /// How many records to send
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..), value_name = "COUNT")]
    pub(crate) num_records: u64,
    /// Records a second, fractions allowed; -1 for no limit
    #[arg(long, allow_negative_numbers = true, value_name = "RATE")]
    pub(crate) throughput: Throughput,

    /// Each value is so many random capital letters
    #[arg(long, group = "payload", value_name = "BYTES",
        value_parser = clap::value_parser!(u32).range(1..))]
    record_size: Option<u32>,
    /// Each value is a random piece of this file
    #[arg(long, group = "payload", value_name = "FILE")]
    payload_file: Option<PathBuf>,
    /// Each value is the record's number, as text
    #[arg(long, group = "payload")]
    payload_monotonic: bool,
    /// What is between two pieces of the file; \n, \t, \0 and \\ are understood
    #[arg(long, default_value = "\\n", value_name = "TEXT")]
    payload_delimiter: String,

    /// Settings of the producer, as `acks=1 linger.ms=5`; they win over the file
    #[arg(
        long,
        visible_alias = "command-property",
        alias = "producer-property",
        group = "settings",
        num_args = 1..,
        value_name = "NAME=VALUE",
    )]
    producer_props: Vec<Property>,
    /// A file with settings of the producer
    #[arg(
        long = "producer.config",
        visible_alias = "command-config",
        group = "settings",
        value_name = "FILE"
    )]
    producer_config: Option<PathBuf>,
    /// Where the cluster is found, with commas between; wins over bootstrap.servers in both
    #[arg(
        long,
        alias = "broker-list",
        group = "settings",
        value_name = "HOST:PORT"
    )]
    bootstrap_server: Option<String>,

    /// Print the producer's metrics at the end
    #[arg(long)]
    pub(crate) print_metrics: bool,
    /// Print each line as JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Refused: this producer does not do transactions
    #[arg(long, value_name = "ID")]
    transactional_id: Option<String>,
    /// Refused: this producer does not do transactions
    #[arg(long, value_name = "MS", value_parser = clap::value_parser!(u64).range(1..))]
    transaction_duration_ms: Option<u64>,
}

impl Options {
    /// What would have a run without transactions pass for one with them is not let pass.
    ///
    /// # Errors
    /// If either option was given.
    pub(crate) fn refuse_transactions(&self) -> Result<()> {
        let given = [
            ("--transactional-id", self.transactional_id.is_some()),
            (
                "--transaction-duration-ms",
                self.transaction_duration_ms.is_some(),
            ),
        ];
        match given.into_iter().find(|(_, is_given)| *is_given) {
            Some((name, _)) => bail!("{name}: this producer does not do transactions"),
            None => Ok(()),
        }
    }

    /// The producer's settings.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub(crate) fn layers(&self) -> Result<Layers> {
        let file = self.producer_config.as_deref().map(properties::read);
        let file = file.transpose()?.unwrap_or_default();
        Ok(Layers::of(file, &self.producer_props)
            .default_value("client.id", "perf-producer-client")
            .given("bootstrap.servers", self.bootstrap_server.as_ref()))
    }

    /// What the values are.
    ///
    /// # Errors
    /// If the file cannot be read, or there is nothing in it.
    pub(crate) fn payload(&self, random: fastrand::Rng) -> Result<Payload> {
        match (&self.payload_file, self.record_size) {
            (Some(path), _) => Payload::file(path, &self.payload_delimiter, random),
            (None, Some(size)) => Ok(Payload::letters(size as usize, random)),
            (None, None) => Ok(Payload::Number),
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use clap::error::ErrorKind;

    use super::*;

    #[derive(Debug, Parser)]
    struct Alone {
        #[command(flatten)]
        options: Options,
    }

    fn parse(line: &str) -> Result<Options, ErrorKind> {
        let arguments = ["perf"].into_iter().chain(line.split_whitespace());
        let parsed = Alone::try_parse_from(arguments);
        parsed
            .map(|it| it.options)
            .map_err(|refused| refused.kind())
    }

    const COUNTED: &str = "--topic t --num-records 10 --throughput -1";
    const SETTINGS: &str = "--producer-props bootstrap.servers=h:1 acks=1";

    #[test]
    fn pr_149_topic_count_and_throughput_are_required_and_in_range() {
        let tail = format!("--record-size 1 {SETTINGS}");
        assert!(parse(&format!("{COUNTED} {tail}")).is_ok());
        let missing = ErrorKind::MissingRequiredArgument;
        for (less, kind) in [
            ("--num-records 10 --throughput -1", missing),
            ("--topic t --throughput -1", missing),
            ("--topic t --num-records 10", missing),
            (
                "--topic t --num-records 0 --throughput -1",
                ErrorKind::ValueValidation,
            ),
            (
                "--topic t --num-records 10 --throughput -2",
                ErrorKind::ValueValidation,
            ),
            (
                "--topic t --num-records 10 --throughput x",
                ErrorKind::ValueValidation,
            ),
        ] {
            assert_eq!(
                parse(&format!("{less} {tail}")).unwrap_err(),
                kind,
                "{less}"
            );
        }
        let fraction = format!("--topic t --num-records 10 --throughput 0.5 {tail}");
        let fraction = parse(&fraction).unwrap();
        assert_eq!(fraction.throughput, Throughput::PerSecond(0.5));
    }

    #[test]
    fn pr_149_exactly_one_payload() {
        let with = |payload: &str| parse(&format!("{COUNTED} {SETTINGS} {payload}")).map(drop);
        for fine in ["--record-size 9", "--payload-file f", "--payload-monotonic"] {
            assert_eq!(with(fine), Ok(()), "{fine}");
        }
        assert_eq!(with(""), Err(ErrorKind::MissingRequiredArgument));
        assert_eq!(with("--record-size 0"), Err(ErrorKind::ValueValidation));
        for two in [
            "--record-size 9 --payload-file f",
            "--record-size 9 --payload-monotonic",
            "--payload-file f --payload-monotonic",
        ] {
            assert_eq!(with(two), Err(ErrorKind::ArgumentConflict), "{two}");
        }
    }

    #[test]
    fn pr_149_settings_come_from_a_file_or_pairs_and_pairs_win() {
        let base = format!("{COUNTED} --record-size 1");
        let missing = ErrorKind::MissingRequiredArgument;
        assert_eq!(parse(&base).unwrap_err(), missing);
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "bootstrap.servers=f:1\nacks=1\nretries=3\n").unwrap();
        let path = file.path().display();
        let value = |line: &str, name: &str| {
            let options = parse(&format!("{base} {line}")).unwrap();
            options.layers().unwrap().value(name).map(str::to_owned)
        };
        let both = format!("--producer.config {path} --producer-props acks=0 linger.ms=7");
        assert_eq!(value(&both, "acks").unwrap(), "0");
        assert_eq!(value(&both, "linger.ms").unwrap(), "7");
        assert_eq!(value(&both, "retries").unwrap(), "3");
        let server = format!("--producer.config {path} --bootstrap-server h:2");
        assert_eq!(value(&server, "bootstrap.servers").unwrap(), "h:2");
    }

    #[test]
    fn pr_150_the_client_id_is_the_tools_unless_one_is_set() {
        let id = |settings: &str| {
            let options = parse(&format!("{COUNTED} --record-size 1 {settings}")).unwrap();
            let layers = options.layers().unwrap();
            layers.value("client.id").unwrap().to_owned()
        };
        assert_eq!(id(SETTINGS), "perf-producer-client");
        assert_eq!(id("--producer-props client.id=mine"), "mine");
    }

    #[test]
    fn pr_149_unknown_options_are_errors_and_transactions_are_refused_by_name() {
        let base = format!("{COUNTED} {SETTINGS} --record-size 1");
        let unknown = parse(&format!("{base} --frobnicate"));
        assert_eq!(unknown.unwrap_err(), ErrorKind::UnknownArgument);
        let duration = parse(&format!("{base} --transaction-duration-ms 0"));
        assert_eq!(duration.unwrap_err(), ErrorKind::ValueValidation);
        assert!(parse(&base).unwrap().refuse_transactions().is_ok());
        for option in ["--transactional-id x", "--transaction-duration-ms 9"] {
            let options = parse(&format!("{base} {option}")).unwrap();
            let error = options.refuse_transactions().unwrap_err().to_string();
            assert!(
                error.starts_with(option.split(' ').next().unwrap()),
                "{error}"
            );
        }
    }
}
