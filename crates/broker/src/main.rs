//! The `klamm-broker` program: arguments, logging, signals, and the exit code.

mod arguments;
mod limits;
mod logging;
mod signals;

use std::io::stdout;
use std::process::ExitCode;

use anyhow::{Context, Result, anyhow};
use clap::Parser;
use klamm_broker::settings::Settings;
use klamm_broker::{Broker, Machine};
use klamm_io::{Clock, SystemClock};
use tokio::runtime::{Builder, Runtime};
use tracing::{info, warn};

use self::arguments::{Arguments, LogFormat};

/// Room for each thread of the runtime. What is deepest there is the writing of an answer; memory
/// that is not touched is not taken.
const STACK_BYTES: usize = 512 * 1024;

fn main() -> ExitCode {
    let began = SystemClock.now();
    let arguments = Arguments::parse();
    match run(&arguments, began) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            logging::say_fatal(arguments.log_format, &told(&error));
            ExitCode::FAILURE
        }
    }
}

/// An error and its causes, but for those that it has told already.
fn told(error: &anyhow::Error) -> String {
    let mut told = String::new();
    for cause in error.chain().map(ToString::to_string) {
        if !told.contains(&cause) {
            let before = if told.is_empty() { "" } else { ": " };
            told.push_str(before);
            told.push_str(&cause);
        }
    }
    told
}

fn run(arguments: &Arguments, began: std::time::Instant) -> Result<()> {
    logging::start(arguments)?;
    limits::raise_open_files();
    // Variables that are not Unicode are none of ours.
    let variables = std::env::vars_os();
    let variables = variables.filter_map(|(name, value)| {
        let name = name.into_string().ok()?;
        Some((name, value.into_string().ok()?))
    });
    let (settings, warnings) = Settings::load(arguments.config(), variables, &arguments.set)?;
    for warning in warnings {
        warn!(setting = warning.name, origin = %warning.origin, reason = %warning,
            "a setting may not do what it seems to");
    }
    let runtime = runtime(settings.network_threads)?;
    runtime.block_on(serve(settings, arguments.log_format, began))
}

fn runtime(threads: usize) -> Result<Runtime> {
    const FAILED: &str = "the network's threads cannot be started";
    let build = || {
        Builder::new_multi_thread()
            .worker_threads(threads)
            .thread_name("klamm-network")
            .thread_stack_size(STACK_BYTES)
            .enable_all()
            .build()
    };
    // Where the system gives no thread, this panics.
    let built = std::panic::catch_unwind(build);
    built.map_err(|_| anyhow!(FAILED))?.context(FAILED)
}

async fn serve(settings: Settings, log_format: LogFormat, began: std::time::Instant) -> Result<()> {
    // Before anything is opened, so that a signal that comes early is not missed.
    let mut signals = signals::attend(log_format)?;
    let listener = settings
        .listeners
        .bound
        .iter()
        .find(|it| !it.is_controllers);
    let listener = listener
        .map(|it| it.address.name.clone())
        .unwrap_or_default();
    let broker = Broker::start(Machine::this(), settings).await?;
    signals.has_started();
    say_ready(&broker, &listener, began);
    let why = tokio::select! {
        name = signals.asked() => {
            info!(signal = name, "stopping");
            None
        }
        why = broker.failed() => Some(why),
    };
    broker.stop().await;
    if let Some(why) = why {
        anyhow::bail!("{why}");
    }
    info!("stopped");
    Ok(())
}

/// The one line on the standard output: whoever waits for it can begin.
fn say_ready(
    broker: &Broker<klamm_io::TcpNet, klamm_io::RealDisk, SystemClock>,
    listener: &str,
    began: std::time::Instant,
) {
    let took = SystemClock.now().saturating_duration_since(began);
    let (node, image) = (broker.settings().node_id, broker.image());
    let address = broker.address(listener).map(|it| it.to_string());
    let line = format!(
        "klamm-broker ready on {} (node {node}, cluster {}) in {} ms",
        address.unwrap_or_default(),
        image.cluster_id(),
        took.as_millis()
    );
    logging::say(stdout(), &line);
}
