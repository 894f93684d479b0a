//! The `klamm-broker` program: arguments, logging, signals, and the exit code.

mod arguments;
mod logging;

use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Parser;
use klamm_broker::settings::Settings;
use klamm_broker::{Broker, Machine};
use klamm_io::{Clock, SystemClock};
use tokio::runtime::{Builder, Runtime};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tracing::{info, warn};

use self::arguments::Arguments;

/// Room for each thread of the runtime. What is deepest there is the writing of an answer; memory
/// that is not touched is not taken.
const STACK_BYTES: usize = 512 * 1024;

fn main() -> ExitCode {
    let began = SystemClock.now();
    let arguments = Arguments::parse();
    match run(&arguments, began) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("klamm-broker: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments, began: std::time::Instant) -> Result<()> {
    logging::start(arguments)?;
    // Variables that are not Unicode are none of ours.
    let variables = std::env::vars_os();
    let variables = variables.filter_map(|(name, value)| {
        let name = name.into_string().ok()?;
        Some((name, value.into_string().ok()?))
    });
    let file = arguments.config.as_deref();
    let (settings, warnings) = Settings::load(file, variables, &arguments.set)?;
    for warning in warnings {
        warn!(setting = warning.name, origin = %warning.origin, "{}", warning.reason);
    }
    let runtime = runtime(settings.network_threads)?;
    runtime.block_on(serve(settings, began))
}

fn runtime(threads: usize) -> Result<Runtime> {
    Builder::new_multi_thread()
        .worker_threads(threads)
        .thread_name("klamm-network")
        .thread_stack_size(STACK_BYTES)
        .enable_all()
        .build()
        .context("the network's threads cannot be started")
}

async fn serve(settings: Settings, began: std::time::Instant) -> Result<()> {
    // Before anything is opened, so that a signal that comes early is not missed.
    let mut signals = Signals::new()?;
    let listener = settings
        .listeners
        .bound
        .iter()
        .find(|it| !it.is_controllers);
    let listener = listener
        .map(|it| it.address.name.clone())
        .unwrap_or_default();
    let broker = tokio::select! {
        broker = Broker::start(Machine::this(), settings) => broker?,
        // What a start has done so far is found again by the next one.
        name = signals.next() => {
            info!(signal = name, "stopped while starting");
            return Ok(());
        }
    };
    say_ready(&broker, &listener, began);
    let failed = tokio::select! {
        name = signals.next() => {
            info!(signal = name, "stopping");
            false
        }
        () = broker.failed() => true,
    };
    // Whoever asks again does not want to wait for a clean end.
    tokio::spawn(async move {
        let name = signals.next().await;
        eprintln!("klamm-broker: {name} while stopping, ending at once");
        std::process::exit(1);
    });
    broker.stop().await;
    if failed {
        anyhow::bail!("no log directory is left that works");
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
    println!(
        "klamm-broker ready on {} (node {node}, cluster {}) in {} ms",
        address.unwrap_or_default(),
        image.cluster_id(),
        took.as_millis()
    );
}

/// The signals that ask a program to end.
struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    fn new() -> Result<Self> {
        let of = |kind| signal(kind).context("signals cannot be received");
        Ok(Self {
            terminate: of(SignalKind::terminate())?,
            interrupt: of(SignalKind::interrupt())?,
        })
    }

    /// Waits for the next one; returns its name.
    async fn next(&mut self) -> &'static str {
        tokio::select! {
            _ = self.terminate.recv() => "SIGTERM",
            _ = self.interrupt.recv() => "SIGINT",
        }
    }
}
