//! `klamm-log`: looks at the files of a log, and repairs it when it is told to.
//!
//! Ends with 0 if all is well, 1 if something is wrong with what was read, 2 if it could not be
//! read. If nobody reads what it prints any more, as behind `| head`, it ends with 0: it was not asked
//! for the rest.

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use klamm_io::{Clock as _, Disk as _, DiskErrorKind, RealDisk, SystemClock};
use klamm_log::{CleanupPolicy, Depth, DumpError, Log, LogConfig, OpenOptions, Report, Sound};

/// Looks at the files of a log, and repairs it when told to.
#[derive(Parser)]
#[command(version, about)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Say what is in a partition's directory and what is wrong with it. Writes nothing.
    Check {
        /// The partition's directory.
        directory: PathBuf,
        /// Read the records of each batch too.
        #[arg(long)]
        records: bool,
    },
    /// Cut a log behind its last good batch and make its indexes anew. Nobody else may have it
    /// open.
    Repair {
        /// The partition's directory.
        directory: PathBuf,
    },
    /// Print a file: .log, .index, .timeindex, .txnindex, .snapshot, or a checkpoint.
    Dump {
        /// The file.
        file: PathBuf,
        /// Print the records of each batch too.
        #[arg(long)]
        records: bool,
    },
}

const GOOD: u8 = 0;
const PROBLEMS: u8 = 1;
const UNREADABLE: u8 = 2;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let mut out = BufWriter::new(io::stdout().lock());
    let ended = match &arguments.command {
        Command::Check { directory, records } => check(directory, depth(*records), &mut out),
        Command::Repair { directory } => repair(directory, &mut out),
        Command::Dump { file, records } => dump(file, depth(*records), &mut out),
    };
    let ended = ended.and_then(|code| out.flush().map(|()| code).map_err(Into::into));
    match ended {
        Ok(code) => code.into(),
        Err(error) if is_closed_pipe(&*error) => GOOD.into(),
        Err(error) => {
            eprintln!("klamm-log: {}", with_causes(&*error));
            UNREADABLE.into()
        }
    }
}

/// Whether an error is that nobody reads what is printed.
fn is_closed_pipe(error: &(dyn std::error::Error + 'static)) -> bool {
    let written = match error.downcast_ref() {
        Some(DumpError::Write(error)) => Some(error),
        _ => error.downcast_ref::<io::Error>(),
    };
    written.is_some_and(|it| it.kind() == io::ErrorKind::BrokenPipe)
}

/// What went wrong, and why, as far as the message does not say it itself.
fn with_causes(error: &dyn std::error::Error) -> String {
    let mut told = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_told = cause.to_string();
        if !told.ends_with(&cause_told) {
            told = format!("{told}: {cause_told}");
        }
        source = cause.source();
    }
    told
}

type Ended = Result<u8, Box<dyn std::error::Error>>;

fn depth(records: bool) -> Depth {
    if records {
        Depth::Records
    } else {
        Depth::Batches
    }
}

fn check(directory: &Path, depth: Depth, out: &mut impl Write) -> Ended {
    let report = klamm_log::check(&RealDisk, directory, depth)?;
    let metadata = directory.join("partition.metadata");
    if report.segments.is_empty() && RealDisk.metadata(&metadata).is_err() {
        return Err(no_segments(directory));
    }
    write_report(&report, out)?;
    Ok(if report.is_good() { GOOD } else { PROBLEMS })
}

/// A directory of partitions, say, is not to be called good unread, nor to be made a log.
fn no_segments(directory: &Path) -> Box<dyn std::error::Error> {
    let directory = directory.display();
    format!("{directory} has no segments; what is wanted is the directory of one partition").into()
}

fn write_report(report: &Report, out: &mut impl Write) -> io::Result<()> {
    for segment in &report.segments {
        let path = segment.path.display();
        let (len, batches, records) = (segment.len, segment.batches, segment.records);
        write!(
            out,
            "{path}: {len} bytes, {batches} batches, {records} records"
        )?;
        if let (Some(first), Some(last)) = (segment.first_offset, segment.last_offset) {
            write!(out, ", offsets {first} to {last}")?;
        }
        if let Some(timestamp) = segment.max_timestamp_ms {
            write!(out, ", timestamp {timestamp}")?;
        }
        writeln!(out)?;
    }
    for path in &report.left_overs {
        writeln!(
            out,
            "{}: left over, the next start clears it up",
            path.display()
        )?;
    }
    for problem in &report.problems {
        writeln!(out, "problem: {problem}")?;
    }
    if report.problems_left_out > 0 {
        writeln!(out, "and {} more problems", report.problems_left_out)?;
    }
    if let Some(cut) = &report.would_cut {
        let (path, bytes, position) = (cut.path.display(), cut.bytes, cut.position);
        writeln!(
            out,
            "repair would cut {path} by {bytes} bytes to {position}: {}",
            cut.reason
        )?;
    }
    for path in &report.would_remove {
        writeln!(out, "repair would remove {}", path.display())?;
    }
    let count = report.problems.len() as u64 + report.problems_left_out;
    match count {
        0 => writeln!(out, "good"),
        1 => writeln!(out, "1 problem"),
        _ => writeln!(out, "{count} problems"),
    }
}

fn repair(directory: &Path, out: &mut impl Write) -> Ended {
    // What is no log is not to be made one, nor one that a broker has open to be cut.
    if klamm_log::check(&RealDisk, directory, Depth::Batches)?
        .segments
        .is_empty()
    {
        return Err(no_segments(directory));
    }
    let lock = directory.parent().unwrap_or(Path::new("")).join(".lock");
    let _held = match RealDisk.metadata(&lock) {
        Ok(_) => match RealDisk.try_lock(&lock) {
            Err(error) if error.kind() == DiskErrorKind::Locked => {
                return Err(format!("{} is in use by another process", directory.display()).into());
            }
            lock => Some(lock?),
        },
        Err(error) if error.kind() == DiskErrorKind::NotFound => None,
        Err(error) => return Err(error.into()),
    };
    let options = OpenOptions::new(false, SystemClock.unix_ms());
    // The topic's settings are not known here, and a compacted log has gaps between its segments,
    // which must not be taken for the end of the log.
    let config = LogConfig {
        cleanup_policy: CleanupPolicy::COMPACT,
        ..LogConfig::default()
    };
    let (mut log, opening) = Log::open(RealDisk, directory.to_owned(), config, &options)?;
    let (start, end) = (log.log_start_offset(), log.log_end_offset());
    log.close()?;
    if let Some(cut) = &opening.cut {
        let (path, bytes, position) = (cut.path.display(), cut.bytes, cut.position);
        writeln!(
            out,
            "cut {path} by {bytes} bytes to {position}: {}",
            cut.reason
        )?;
    }
    for path in &opening.segments_removed {
        writeln!(out, "removed {}", path.display())?;
    }
    for saved in &opening.saved {
        let (path, batches) = (saved.path.display(), saved.batches);
        let (first, last) = (saved.first_offset, saved.last_offset);
        if !saved.is_all {
            writeln!(
                out,
                "kept {path}, of which not all was checked: {batches} good batches were found, there may be more"
            )?;
            continue;
        }
        writeln!(
            out,
            "kept {batches} good batches, offsets {first} to {last}, in {path}"
        )?;
    }
    let segments = opening.segments_recovered;
    writeln!(
        out,
        "{segments} segments read through, offsets {start} to {end}"
    )?;
    Ok(GOOD)
}

fn dump(file: &Path, depth: Depth, out: &mut impl Write) -> Ended {
    Ok(match klamm_log::dump(&RealDisk, file, depth, out)? {
        Sound::Yes => GOOD,
        Sound::No => PROBLEMS,
    })
}
