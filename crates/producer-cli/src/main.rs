//! The `klamm-producer` program: `produce` sends records from files or the standard input, `perf`
//! measures, `verify` tells each acknowledgement to whoever checks.
//!
//! Everything that is hard is in klamm-producer. Here are arguments, the reading of input, the
//! counting of outcomes, and the exit code.

mod arguments;
mod connect;
mod ending;
mod logging;
mod output;
mod pace;
mod perf;
mod produce;
mod properties;
mod settings;
mod stop;
mod verify;

use std::process::ExitCode;

use clap::Parser;

use crate::arguments::{Arguments, Command};
use crate::ending::Ending;

fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(refused) => return arguments::answer(refused),
    };
    match run(arguments) {
        Ok(ending) => ending.into(),
        Err(error) => {
            eprintln!("klamm-producer: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: Arguments) -> anyhow::Result<Ending> {
    logging::start(&arguments.log)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(WORKER_THREADS)
        .thread_name("klamm-producer")
        .enable_all()
        .build()?;
    let ended = runtime.block_on(async {
        match arguments.command {
            Command::Produce(options) => produce::run(*options).await,
            Command::Perf(options) => perf::run(*options).await,
            Command::Verify(options) => verify::run(options).await,
        }
    });
    // A look-up of a host's name cannot be called back, and nobody waits for it any more.
    runtime.shutdown_background();
    ended
}

/// The sender with its sockets takes one; the other is for what prints.
const WORKER_THREADS: usize = 2;
