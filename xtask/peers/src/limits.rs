//! What the machine itself can do with the same bytes: the floor under a broker's figures.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use hdrhistogram::Histogram;
use serde::Serialize;

use crate::cpu;

/// Bytes at a time: a produce request, or what a fetch is given of a partition.
const CHUNK: usize = 1 << 20;

/// Long enough for free memory to be given back to a host.
const GIVEN_BACK: Duration = Duration::from_secs(4);

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Where files are written.
    directory: PathBuf,
    /// Bytes that each limit is measured with.
    #[arg(long, default_value_t = 2 << 30)]
    bytes: u64,
    /// How long the ping-pong lasts, in seconds.
    #[arg(long, default_value_t = 10)]
    seconds: u64,
}

#[derive(Serialize)]
pub(crate) struct Limits {
    /// Processor seconds for each GB (10^9 bytes), of the thread that does it.
    receive_crc_pwrite: f64,
    sendfile: f64,
    pread_write: f64,
    /// A byte there and back over loopback, a thousand times a second.
    ping_pong_p50_ms: f64,
    ping_pong_p99_ms: f64,
    fdatasync_p50_ms: f64,
}

pub(crate) fn measure(options: &Options) -> Result<Limits> {
    let path = options.directory.join("limits");
    let receive_crc_pwrite = median(|| {
        forget(&path)?;
        receive(options, &path)
    })?;
    let file = File::open(&path)?;
    let sendfile = median(|| {
        send(options, |socket, position, length| {
            let mut offset = position;
            let mut left = length;
            while left > 0 {
                left -= rustix::fs::sendfile(socket, &file, Some(&mut offset), left)?;
            }
            Ok(())
        })
    })?;
    let mut buffer = vec![0; 256 << 10];
    let pread_write = median(|| {
        send(options, |mut socket, position, length| {
            let mut done = 0;
            while done < length {
                let part = buffer.len().min(length - done);
                file.read_exact_at(&mut buffer[..part], position + done as u64)?;
                socket.write_all(&buffer[..part])?;
                done += part;
            }
            Ok(())
        })
    })?;
    let (ping_pong_p50_ms, ping_pong_p99_ms) = ping_pong(options.seconds)?;
    let fdatasync_p50_ms = fdatasync(&path)?;
    std::fs::remove_file(&path)?;
    Ok(Limits {
        receive_crc_pwrite,
        sendfile,
        pread_write,
        ping_pong_p50_ms,
        ping_pong_p99_ms,
        fdatasync_p50_ms,
    })
}

/// The run in the middle of three.
fn median(mut run: impl FnMut() -> Result<f64>) -> Result<f64> {
    let mut runs = [run()?, run()?, run()?];
    runs.sort_by(f64::total_cmp);
    Ok(runs[1])
}

/// Removes the file, and waits until its memory is as that of a load's files will be: a virtual machine
/// gives memory that it has no use for back to its host, and to get it again can cost more than all the
/// rest. So a file that is written at once in the memory of the former is no measure for loads, between
/// which brokers start and stop.
fn forget(path: &PathBuf) -> Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error.into()),
        Ok(()) | Err(_) => {}
    }
    thread::sleep(GIVEN_BACK);
    Ok(())
}

fn pair() -> Result<(TcpStream, TcpStream)> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let near = TcpStream::connect(listener.local_addr()?)?;
    let (far, _) = listener.accept()?;
    near.set_nodelay(true)?;
    far.set_nodelay(true)?;
    Ok((near, far))
}

fn per_gb(spent: Duration, bytes: u64) -> f64 {
    spent.as_secs_f64() / (bytes as f64 / 1e9)
}

/// Receives, takes the CRC, writes: what a broker must do with what is produced.
fn receive(options: &Options, path: &PathBuf) -> Result<f64> {
    let (mut near, mut far) = pair()?;
    let chunks = options.bytes / CHUNK as u64;
    let sender = thread::spawn(move || -> Result<()> {
        let chunk: Vec<u8> = (0..=u8::MAX).cycle().step_by(7).take(CHUNK).collect();
        for _ in 0..chunks {
            near.write_all(&chunk)?;
        }
        Ok(())
    });
    let file = OpenOptions::new()
        .create(true)
        .truncate(true)
        .write(true)
        .open(path)?;
    let mut chunk = vec![0; CHUNK];
    let before = cpu::of_this_thread()?;
    let mut sum = 0;
    for index in 0..chunks {
        far.read_exact(&mut chunk)?;
        sum ^= crc32c::crc32c(&chunk);
        file.write_all_at(&chunk, index * CHUNK as u64)?;
    }
    let spent = cpu::of_this_thread()?.saturating_sub(before);
    std::hint::black_box(sum);
    sender.join().expect("the sender does not panic")?;
    Ok(per_gb(spent, chunks * CHUNK as u64))
}

/// Sends a file chunk by chunk, by `how`, to somebody who reads it.
fn send(
    options: &Options,
    mut how: impl FnMut(&TcpStream, u64, usize) -> Result<()>,
) -> Result<f64> {
    let (near, mut far) = pair()?;
    let chunks = options.bytes / CHUNK as u64;
    let reader = thread::spawn(move || -> Result<()> {
        let mut buffer = vec![0; CHUNK];
        while far.read(&mut buffer)? > 0 {}
        Ok(())
    });
    let before = cpu::of_this_thread()?;
    for index in 0..chunks {
        how(&near, index * CHUNK as u64, CHUNK)?;
    }
    let spent = cpu::of_this_thread()?.saturating_sub(before);
    drop(near);
    reader.join().expect("the reader does not panic")?;
    Ok(per_gb(spent, chunks * CHUNK as u64))
}

fn ping_pong(seconds: u64) -> Result<(f64, f64)> {
    let (mut near, mut far) = pair()?;
    let echo = thread::spawn(move || {
        let mut byte = [0];
        while far.read_exact(&mut byte).is_ok() && far.write_all(&byte).is_ok() {}
    });
    let mut times = Histogram::<u64>::new(3)?;
    let start = Instant::now();
    for index in 0..seconds * 1000 {
        let due = start + Duration::from_millis(index);
        thread::sleep(due.saturating_duration_since(Instant::now()));
        let sent = Instant::now();
        let mut byte = [0];
        near.write_all(&byte)?;
        near.read_exact(&mut byte)?;
        times.record(u64::try_from(sent.elapsed().as_nanos())?)?;
    }
    drop(near);
    echo.join().expect("the echo does not panic");
    let ms = |quantile| times.value_at_quantile(quantile) as f64 / 1e6;
    Ok((ms(0.5), ms(0.99)))
}

fn fdatasync(path: &PathBuf) -> Result<f64> {
    let file = OpenOptions::new().write(true).open(path)?;
    let mut times = Vec::new();
    for index in 0..200 {
        file.write_all_at(&[1; 4096], index * 4096)?;
        let before = Instant::now();
        file.sync_data()?;
        times.push(before.elapsed().as_secs_f64() * 1e3);
    }
    times.sort_by(f64::total_cmp);
    times.get(100).copied().context("nothing was measured")
}
