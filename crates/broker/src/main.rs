//! The `klamm-broker` program: arguments, logging, signals, and the exit code.

mod arguments;
mod limits;
mod logging;

use std::io::stdout;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result, anyhow};
use clap::Parser;
use klamm_broker::settings::Settings;
use klamm_broker::{Broker, Machine};
use klamm_io::{Clock, SystemClock};
use tokio::runtime::{Builder, Runtime};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc;
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
    let file = arguments.config.as_deref();
    let (settings, warnings) = Settings::load(file, variables, &arguments.set)?;
    for warning in warnings {
        warn!(setting = warning.name, origin = %warning.origin, "{}", warning.reason);
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
    let (phase, mut asked) = attend_signals(log_format)?;
    let listener = settings
        .listeners
        .bound
        .iter()
        .find(|it| !it.is_controllers);
    let listener = listener
        .map(|it| it.address.name.clone())
        .unwrap_or_default();
    let broker = Broker::start(Machine::this(), settings).await?;
    phase.store(true, Ordering::Release);
    say_ready(&broker, &listener, began);
    let why = tokio::select! {
        name = asked.recv() => {
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

/// Waits for signals on a task of their own, as a start may block for long while it reads logs
/// through. Returns where to note that the broker has started, and where the signal to stop comes.
fn attend_signals(
    log_format: LogFormat,
) -> Result<(Arc<AtomicBool>, mpsc::Receiver<&'static str>)> {
    let mut signals = Signals::new()?;
    let has_started = Arc::new(AtomicBool::new(false));
    let (ask, asked) = mpsc::channel(1);
    let noted = Arc::clone(&has_started);
    tokio::spawn(async move {
        let name = signals.next().await;
        if !noted.load(Ordering::Acquire) {
            // What a start has done so far is found again by the next one.
            info!(signal = name, "stopped while starting");
            std::process::exit(0);
        }
        // It ends only with the process.
        _ = ask.send(name).await;
        // Whoever asks again does not want to wait for a clean end.
        let name = signals.next().await;
        logging::say_fatal(
            log_format,
            &format!("{name} while stopping, ending at once"),
        );
        std::process::exit(1);
    });
    Ok((has_started, asked))
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
