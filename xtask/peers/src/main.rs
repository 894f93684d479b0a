//! What Klamm is measured with and against: a load by librdkafka, producers beside our own, and the
//! machine's raw limits.
//!
//! Each command prints one JSON object; `cargo xtask bench --peers` calls them and makes a table.

mod bare;
mod cpu;
mod discard;
mod first_answer;
mod latency;
mod librdkafka;
mod limits;
mod load;
mod producer;
mod records;

use anyhow::Result;
use clap::{Parser, Subcommand};

#[derive(Parser)]
struct Cli {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// What the machine can do at most, for the same bytes.
    Limits(limits::Options),
    /// Produce records of one size as fast as librdkafka can.
    Produce(load::Options),
    /// Read a topic from its beginning.
    Consume(load::Options),
    /// Produce at a steady rate, and time each record from when it was due.
    Latency(load::LatencyOptions),
    /// Send one request after the other at a steady rate, and time each from when it was sent.
    RoundTrips(bare::Options),
    /// Serve producers and throw away what they send, until the standard input ends.
    Discard(discard::Options),
    /// Send records by one producer, and tell what it costs this process.
    Send(producer::Options),
    /// Send records by one producer at a steady rate, and time each from when it was due.
    SendSteadily(producer::SteadyOptions),
    /// Start a broker, and time it until it has answered a Metadata request.
    FirstAnswer(first_answer::Options),
}

fn main() -> Result<()> {
    let printed = match Cli::parse().task {
        Task::Limits(options) => serde_json::to_string(&limits::measure(&options)?),
        Task::Produce(options) => serde_json::to_string(&load::produce(&options)?),
        Task::Consume(options) => serde_json::to_string(&load::consume(&options)?),
        Task::Latency(options) => serde_json::to_string(&load::latency(&options)?),
        Task::RoundTrips(options) => serde_json::to_string(&bare::round_trips(&options)?),
        Task::Discard(options) => return discard::serve(&options),
        Task::Send(options) => serde_json::to_string(&producer::send(&options)?),
        Task::SendSteadily(options) => serde_json::to_string(&producer::send_steadily(&options)?),
        Task::FirstAnswer(options) => serde_json::to_string(&first_answer::measure(&options)?),
    };
    println!("{}", printed?);
    Ok(())
}
