//! [`Arguments`]: what the program is asked to do.

use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{Parser, Subcommand};

use crate::{perf, produce, verify};

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
    #[command(arg_required_else_help = true)]
    Produce(Box<produce::Options>),
    /// Measure how many records a second are acknowledged, and how soon
    #[command(arg_required_else_help = true)]
    Perf(Box<perf::Options>),
    /// Send numbered values and print a JSON line for each acknowledgement
    #[command(arg_required_else_help = true)]
    Verify(verify::Options),
}

/// Prints what the parser has to say: help is no error, everything else ends with 1. (PR-149)
pub(crate) fn answer(refused: &clap::Error) -> ExitCode {
    // A closed output leaves nobody to tell.
    drop(refused.print());
    match refused.kind() {
        ErrorKind::DisplayHelp
        | ErrorKind::DisplayVersion
        | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => ExitCode::SUCCESS,
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
