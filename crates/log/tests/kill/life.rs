//! One life of the writing process, up to its violent end.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::thread;
use std::time::Duration;

use klamm_io::{Clock, SystemClock};

use crate::random::Random;
use crate::writer;

/// Longest life. Starting takes some milliseconds of it, and a life may well end before any append.
const LIFE_MICROS_MAX: u64 = 40_000;

/// Lines that wait to be read; a writer that is ahead of them waits too.
const LINES_WAITING_MAX: usize = 1 << 16;

/// What a writer is told, through its environment.
pub(crate) struct Orders<'a> {
    /// Which writer: see [`writer`].
    pub(crate) role: &'a str,
    pub(crate) directory: &'a Path,
    /// The recovery point of a log without manager.
    pub(crate) recovery_point: i64,
}

/// Lets a writer live for a random time and kills it. Returns all that it has said: what is in
/// the pipe when it dies counts, for somebody could have acted on it.
///
/// # Panics
/// If it ends by itself, which it does on any error.
pub(crate) fn live(orders: &Orders<'_>, random: &mut Random) -> Vec<String> {
    let seed = random.next();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "writer::writes_until_it_is_killed",
            "--nocapture",
        ])
        .env(writer::ROLE, orders.role)
        .env(writer::DIRECTORY, orders.directory)
        .env(writer::SEED, seed.to_string())
        .env(writer::RECOVERY_POINT, orders.recovery_point.to_string())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let out = BufReader::new(child.stdout.take().unwrap());
    let (sender, receiver) = sync_channel(LINES_WAITING_MAX);
    let reading = thread::spawn(move || {
        for line in out.lines() {
            // What the test harness says has no mark.
            if let Some(said) = line.unwrap().strip_prefix(writer::MARK) {
                sender.send(said.to_owned()).unwrap();
            }
        }
    });
    let end = SystemClock.now() + Duration::from_micros(random.below(LIFE_MICROS_MAX));
    let mut said = Vec::new();
    loop {
        let left = end.saturating_duration_since(SystemClock.now());
        match receiver.recv_timeout(left) {
            Ok(line) if !left.is_zero() => said.push(line),
            Ok(line) => {
                said.push(line);
                break;
            }
            Err(RecvTimeoutError::Timeout) => break,
            Err(RecvTimeoutError::Disconnected) => panic!("the writer ended by itself"),
        }
    }
    child.kill().unwrap();
    let status = child.wait().unwrap();
    assert_eq!(status.code(), None, "it was killed, and did not end");
    said.extend(receiver.iter());
    reading.join().unwrap();
    said
}
