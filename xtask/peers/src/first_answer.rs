//! From the start of a process to the first answer that a client has of it.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde::Serialize;

use crate::cpu;

#[derive(clap::Args)]
pub(crate) struct Options {
    /// The broker's program.
    program: PathBuf,
    /// Where it will listen.
    address: SocketAddr,
    /// Its arguments; `{data}` stands for a new directory.
    #[arg(last = true)]
    arguments: Vec<String>,
    /// How often it is started.
    #[arg(long, default_value_t = 15)]
    starts: usize,
}

#[derive(Serialize)]
pub(crate) struct FirstAnswer {
    /// Medians over all starts, on an empty directory.
    first_answer_ms: f64,
    idle_bytes: u64,
}

/// Metadata (key 3) in version 1, correlation id 7, no client id, no topics: all that a broker
/// must know to answer is who it is.
const METADATA: [u8; 18] = [0, 0, 0, 14, 0, 3, 0, 1, 0, 0, 0, 7, 255, 255, 0, 0, 0, 0];

pub(crate) fn measure(options: &Options) -> Result<FirstAnswer> {
    let mut times = Vec::new();
    let mut sizes = Vec::new();
    for _ in 0..options.starts.max(1) {
        let data = tempfile::tempdir()?;
        let shown = data.path().display().to_string();
        let arguments = options
            .arguments
            .iter()
            .map(|it| it.replace("{data}", &shown));
        let started = Instant::now();
        let child = Command::new(&options.program)
            .args(arguments)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .context("cannot start the broker")?;
        let broker = Broker(child);
        ask(options.address, started)?;
        times.push(started.elapsed().as_secs_f64() * 1e3);
        // Let what it does after the first answer be over.
        thread::sleep(Duration::from_millis(300));
        sizes.push(cpu::resident_bytes(broker.0.id())?);
    }
    times.sort_by(f64::total_cmp);
    sizes.sort_unstable();
    Ok(FirstAnswer {
        first_answer_ms: times[times.len() / 2],
        idle_bytes: sizes[sizes.len() / 2],
    })
}

/// Connects, again and again until somebody listens, and waits for the answer.
fn ask(address: SocketAddr, started: Instant) -> Result<()> {
    let mut connection = loop {
        match TcpStream::connect(address) {
            Ok(connection) => break connection,
            Err(error) if started.elapsed() > Duration::from_mins(1) => return Err(error.into()),
            Err(_) => thread::sleep(Duration::from_micros(100)),
        }
    };
    connection.set_read_timeout(Some(Duration::from_secs(10)))?;
    connection.write_all(&METADATA)?;
    let mut answer = [0; 8];
    connection.read_exact(&mut answer)?;
    if answer[4..] != [0, 0, 0, 7] {
        bail!("that is no answer to the request");
    }
    Ok(())
}

/// Killed when dropped, so that a failed run leaves no broker behind.
struct Broker(Child);

impl Drop for Broker {
    fn drop(&mut self) {
        // Both fail only if it has ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
