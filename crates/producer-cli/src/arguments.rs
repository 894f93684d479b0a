//! [`Arguments`]: what the program is asked to do.

use std::process::ExitCode;

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Parser, Subcommand};

use crate::{perf, produce, verify};

/// Behind the help of `produce`.
const AFTER_PRODUCE: &str = "\
Examples:
  seq 1000 | klamm-producer produce --bootstrap-server 127.0.0.1:9092 --topic clicks
  klamm-producer produce --bootstrap-server 127.0.0.1:9092 --topic clicks --property parse.key=true \
--property key.separator=: pairs.txt

Settings of --producer-property and --producer.config have Apache Kafka's names (linger.ms).
Exit code: 0 all acknowledged, 1 nothing sent, 2 something failed or given up, 130 ended by Ctrl-C.";

/// Behind the help of `perf`.
const AFTER_PERF: &str = "\
Example:
  klamm-producer perf --bootstrap-server 127.0.0.1:9092 --topic bench --num-records 1000000 \
--record-size 100 --throughput -1 --producer-props linger.ms=20

Settings of --producer-props and --producer.config have Apache Kafka's names.
Exit code: 0 all acknowledged, 1 nothing sent, 2 something failed or given up, 130 ended by Ctrl-C.";

/// Behind the help of `verify`.
const AFTER_VERIFY: &str = "\
Example:
  klamm-producer verify --bootstrap-server 127.0.0.1:9092 --topic checked --max-messages 1000

Exit code: 0 all acknowledged, 1 nothing sent, 2 something failed or given up. Without
--max-messages it goes on until Ctrl-C.";

/// Sends records to a cluster that speaks Apache Kafka's protocol.
#[derive(Debug, Parser)]
#[command(name = "klamm-producer", version, arg_required_else_help = true)]
pub(crate) struct Arguments {
    /// What is logged to the standard error, as `warn` or `klamm_client=debug`
    #[arg(long, global = true, default_value = "warn", value_name = "FILTER")]
    pub(crate) log: String,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The three things that it can do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Send the records of files or of the standard input
    #[command(arg_required_else_help = true, after_help = AFTER_PRODUCE)]
    Produce(Box<produce::Options>),
    /// Measure how many records a second are acknowledged, and how soon
    #[command(arg_required_else_help = true, after_help = AFTER_PERF)]
    Perf(Box<perf::Options>),
    /// Send numbered values and print a JSON line for each acknowledgement
    #[command(arg_required_else_help = true, after_help = AFTER_VERIFY)]
    Verify(verify::Options),
}

/// What an option is called here that people know from another program. Those that mean the same in
/// every case are aliases in their place instead.
fn called_here(command: &str, typed: &str) -> Option<&'static str> {
    let here = match (command, typed) {
        (_, "-b" | "--brokers") => "--bootstrap-server HOST:PORT",
        (_, "-t") => "--topic TOPIC",
        ("produce", "--producer-props") => "--producer-property NAME=VALUE, once for each setting",
        ("perf", "--acks" | "--request-required-acks") => "--producer-props acks=ACKS",
        ("perf", "--batch-size") => "--producer-props batch.size=BYTES",
        ("perf", "--compression-codec") => "--producer-props compression.type=CODEC",
        ("perf", "--property") => "--producer-props NAME=VALUE",
        ("perf", "--messages") => "--num-records COUNT",
        ("perf", "--message-size") => "--record-size BYTES",
        ("verify", "--request-required-acks") => "--acks ACKS",
        ("verify", "--num-records") => "--max-messages COUNT",
        (
            "verify",
            "--command-property" | "--producer-property" | "--producer-props" | "--property",
        ) => "a line NAME=VALUE in a file, and --producer.config FILE",
        _ => return None,
    };
    Some(here)
}

/// Puts what an option is called here in the place of the parser's guess, which goes by letters.
fn with_tip(mut refused: clap::Error, mut line: impl Iterator<Item = String>) -> clap::Error {
    let typed = match refused.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(typed)) if refused.kind() == ErrorKind::UnknownArgument => typed,
        _ => return refused,
    };
    let command = line.find(|word| ["produce", "perf", "verify"].contains(&word.as_str()));
    let name = typed.split('=').next().unwrap_or(typed);
    if let Some(here) = called_here(&command.unwrap_or_default(), name) {
        let tip = StyledStr::from(format!("here it is {here}"));
        refused.remove(ContextKind::SuggestedArg);
        refused.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip]));
    }
    refused
}

/// Prints what the parser has to say: help that was asked for is no error, everything else ends with
/// 1, help in the place of what is missing as well. (PR-149)
pub(crate) fn answer(refused: clap::Error) -> ExitCode {
    let refused = with_tip(refused, std::env::args());
    // A closed output leaves nobody to tell.
    drop(refused.print());
    match refused.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_arguments_hold_together() {
        Arguments::command().debug_assert();
    }
}
