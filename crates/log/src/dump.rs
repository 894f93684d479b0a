//! [`dump`]: prints a file of a log for people, line by line.
//!
//! What a file is, its name says: `.log`, `.index`, `.timeindex` and `.txnindex`, also with a suffix
//! of transit behind, `.snapshot`, the offset checkpoints of a log directory, and
//! `leader-epoch-checkpoint`.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use klamm_io::{Disk, DiskError, DiskErrorKind, DiskFile, OpenMode};
use klamm_primitives::Offset;
use klamm_records::{BatchHeader, Codecs, Record, RecordsError};
use thiserror::Error;

use crate::check::Depth;
use crate::entry_stream::{EntryStream, i32_at, i64_at};
use crate::leader_epochs::LeaderEpochs;
use crate::names::{FileContent, FileName};
use crate::offset_checkpoint::Checkpoint;
use crate::producer_state::{SnapshotError, SnapshotFiles};
use crate::scan::{Scan, ScanError};
use crate::small_file::SmallFileError;

/// Bytes of a key or a value that are printed; of more the length is told.
const PREVIEW_LEN: usize = 80;

/// Whether a file could be printed to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Sound {
    /// It could.
    Yes,
    /// Something in it makes no sense, and a line says where.
    No,
}

/// A file could not be printed.
#[derive(Debug, Error)]
pub enum DumpError {
    /// The disk refused.
    #[error(transparent)]
    Disk(#[from] DiskError),
    /// The output did.
    #[error(transparent)]
    Write(#[from] io::Error),
    /// The name is none that a log has.
    #[error("{} is no file of a log, by its name", path.display())]
    UnknownName {
        /// The file.
        path: PathBuf,
    },
    /// An index is read together with its log, which is not there. (LG-231)
    #[error("{} is missing, of which this is an index", path.display())]
    NoLog {
        /// Where the log should be.
        path: PathBuf,
    },
    /// A log file is larger than a segment can be.
    #[error("{} has {len} bytes, more than a segment can", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// Its bytes.
        len: u64,
    },
    /// A producer snapshot is damaged; nothing of it was printed. (LG-232)
    #[error("{}: {cause}", path.display())]
    Snapshot {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        #[source]
        cause: SnapshotError,
    },
    /// A file of text is damaged.
    #[error(transparent)]
    SmallFile(#[from] SmallFileError),
}

/// Prints the file at `path`; with [`Depth::Records`] the records of each batch too.
///
/// Offsets are printed whole, also where the file holds them relative to its base offset.
///
/// # Errors
/// By variant. Damage in batches and indexes is none: it is printed where it is.
pub fn dump<D: Disk>(
    disk: &D,
    path: &Path,
    depth: Depth,
    out: &mut impl Write,
) -> Result<Sound, DumpError> {
    let unknown = || DumpError::UnknownName {
        path: path.to_owned(),
    };
    let text = path.file_name().and_then(|it| it.to_str());
    let text = text.ok_or_else(unknown)?;
    let directory = path.parent().unwrap_or(Path::new(""));
    if let Some(name) = FileName::parse(text) {
        if name.content == FileContent::ProducerSnapshot && name.transit.is_some() {
            return Err(unknown());
        }
        let dump = Dump {
            disk,
            path,
            directory,
            name,
        };
        return dump.segment_file(depth, out);
    }
    let checkpoints = [
        Checkpoint::RecoveryPoint,
        Checkpoint::LogStart,
        Checkpoint::HighWatermark,
        Checkpoint::Cleaner,
    ];
    if let Some(checkpoint) = checkpoints.into_iter().find(|it| it.file_name() == text) {
        for (partition, offset) in checkpoint.read(disk, directory)? {
            writeln!(out, "{partition} offset {offset}")?;
        }
        return Ok(Sound::Yes);
    }
    if text == "leader-epoch-checkpoint" {
        for start in LeaderEpochs::read(disk, directory)?.entries() {
            writeln!(out, "epoch {} from {}", start.epoch, start.start_offset)?;
        }
        return Ok(Sound::Yes);
    }
    Err(unknown())
}

/// A file of a partition's directory that is printed.
struct Dump<'a, D> {
    disk: &'a D,
    path: &'a Path,
    directory: &'a Path,
    name: FileName,
}

impl<D: Disk> Dump<'_, D> {
    fn segment_file(&self, depth: Depth, out: &mut impl Write) -> Result<Sound, DumpError> {
        match self.name.content {
            FileContent::Log => self.log(depth, out),
            FileContent::OffsetIndex => self.index::<8>(out, |entry, base, out| {
                let (offset, position) = (relative(base, i32_at(entry, 0)), i32_at(entry, 4));
                writeln!(out, "offset {offset} at {position}")
            }),
            FileContent::TimeIndex => self.index::<12>(out, |entry, base, out| {
                let (timestamp, offset) = (i64_at(entry, 0), relative(base, i32_at(entry, 8)));
                writeln!(out, "timestamp {timestamp} offset {offset}")
            }),
            FileContent::TransactionIndex => self.index::<34>(out, |entry, _, out| {
                let version = i16::from_be_bytes([entry[0], entry[1]]);
                let (producer, first) = (i64_at(entry, 2), i64_at(entry, 10));
                let (last, stable) = (i64_at(entry, 18), i64_at(entry, 26));
                writeln!(
                    out,
                    "version {version} producer {producer} offsets {first} to {last} \
                     last stable {stable}"
                )
            }),
            FileContent::ProducerSnapshot => self.snapshot(out),
        }
    }

    fn log(&self, depth: Depth, out: &mut impl Write) -> Result<Sound, DumpError> {
        let file = self.disk.open(self.path, OpenMode::Read)?;
        let len = file.metadata()?.len;
        let size = u32::try_from(len).map_err(|_| DumpError::TooLarge {
            path: self.path.to_owned(),
            len,
        })?;
        let mut codecs = Codecs::default();
        let mut sound = Sound::Yes;
        let mut scan = Scan::new(file, 0, size);
        writeln!(out, "base offset {}", self.name.offset)?;
        loop {
            let scanned = match scan.next() {
                Ok(Some(scanned)) => scanned,
                Ok(None) => return Ok(sound),
                Err(ScanError::Disk(error)) => return Err(error.into()),
                Err(ScanError::Damaged {
                    position, reason, ..
                }) => {
                    let left = size - position;
                    writeln!(out, "at {position}: {reason}")?;
                    writeln!(out, "{left} bytes behind the last whole batch")?;
                    return Ok(Sound::No);
                }
            };
            let Some(header) = &scanned.header else {
                let (position, size) = (scanned.position, scanned.size);
                let last = scanned.last_offset;
                writeln!(
                    out,
                    "at {position}: {size} bytes of magic 0 or 1, up to offset {last}"
                )?;
                continue;
            };
            write_header(scanned.position, scanned.size, header, out)?;
            match scan.check_crc(&scanned) {
                Ok(()) => {}
                Err(ScanError::Disk(error)) => return Err(error.into()),
                Err(ScanError::Damaged { reason, .. }) => {
                    writeln!(out, "  {reason}")?;
                    sound = Sound::No;
                    continue;
                }
            }
            if depth == Depth::Records {
                let batch = match scan.read(&scanned) {
                    Ok(batch) => batch.expect("it has a header of magic 2"),
                    Err(ScanError::Disk(error)) => return Err(error.into()),
                    Err(ScanError::Damaged { reason, .. }) => {
                        writeln!(out, "  {reason}")?;
                        sound = Sound::No;
                        continue;
                    }
                };
                if let Err(error) = write_records(&batch, &mut codecs, out)? {
                    writeln!(out, "  {error}")?;
                    sound = Sound::No;
                }
            }
        }
    }

    fn index<const N: usize>(
        &self,
        out: &mut impl Write,
        mut write: impl FnMut(&[u8; N], Offset, &mut dyn Write) -> io::Result<()>,
    ) -> Result<Sound, DumpError> {
        self.find_log()?;
        let Some(mut stream) = EntryStream::<D::File, N>::open(self.disk, self.path)? else {
            // It was there a moment ago; let the disk say what became of it.
            return Ok(self
                .disk
                .open(self.path, OpenMode::Read)
                .map(|_| Sound::No)?);
        };
        let is_padded = self.name.content != FileContent::TransactionIndex;
        let mut unused = 0_u64;
        while let Some((_, entry)) = stream.next()? {
            if is_padded && entry == [0; N] {
                unused += 1;
            } else {
                if unused > 0 {
                    writeln!(out, "{unused} entries of zeros")?;
                    unused = 0;
                }
                write(&entry, self.name.offset, out)?;
            }
        }
        if unused > 0 {
            writeln!(out, "{unused} entries unused")?;
        }
        let odd = stream.odd_bytes();
        if odd > 0 {
            writeln!(out, "{odd} bytes behind the last whole entry")?;
            return Ok(Sound::No);
        }
        Ok(Sound::Yes)
    }

    /// Looks for the log that an index is of.
    fn find_log(&self) -> Result<(), DumpError> {
        let log = FileName {
            content: FileContent::Log,
            ..self.name
        };
        let path = self.directory.join(log.to_string());
        match self.disk.metadata(&path) {
            Ok(_) => Ok(()),
            Err(error) if error.kind() == DiskErrorKind::NotFound => Err(DumpError::NoLog { path }),
            Err(error) => Err(error.into()),
        }
    }

    fn snapshot(&self, out: &mut impl Write) -> Result<Sound, DumpError> {
        let directory = self.directory.to_owned();
        let files = SnapshotFiles::new(self.disk.clone(), directory, [self.name].into_iter());
        let read = files.read(self.name.offset)?;
        let entries = read.map_err(|cause| DumpError::Snapshot {
            path: self.path.to_owned(),
            cause,
        })?;
        writeln!(out, "before offset {}", self.name.offset)?;
        for it in entries {
            write!(
                out,
                "producer {} epoch {} last sequence {} last offset {} offset delta {} \
                 timestamp {} coordinator epoch {} open transaction ",
                it.producer_id,
                it.producer_epoch,
                it.last_sequence,
                it.last_offset,
                it.offset_delta,
                it.timestamp_ms,
                it.coordinator_epoch,
            )?;
            match it.open_transaction {
                Some(first_offset) => writeln!(out, "from {first_offset}")?,
                None => writeln!(out, "none")?,
            }
        }
        Ok(Sound::Yes)
    }
}

fn relative(base: Offset, relative: i32) -> Offset {
    Offset::new(base.get().saturating_add(i64::from(relative)))
}

fn write_header(
    position: u32,
    size: u32,
    header: &BatchHeader,
    out: &mut impl Write,
) -> io::Result<()> {
    let attributes = header.attributes;
    write!(
        out,
        "at {position}: {size} bytes, offsets {} to {}, {} records, epoch {}, timestamp {}",
        header.base_offset,
        header.last_offset(),
        header.record_count,
        header.leader_epoch,
        header.max_timestamp_ms,
    )?;
    match attributes.codec() {
        Ok(codec) => write!(out, ", {codec}")?,
        Err(error) => write!(out, ", {error}")?,
    }
    if header.producer_id.get() >= 0 {
        write!(
            out,
            ", producer {} epoch {} sequence {}",
            header.producer_id, header.producer_epoch, header.base_sequence
        )?;
    }
    if attributes.is_transactional() {
        write!(out, ", transactional")?;
    }
    if attributes.is_control() {
        write!(out, ", control")?;
    }
    if let Some(horizon) = header.delete_horizon_ms() {
        write!(out, ", delete horizon {horizon}")?;
    }
    writeln!(out, ", crc {:#010x}", header.crc)
}

fn write_records(
    batch: &klamm_records::RecordBatch,
    codecs: &mut Codecs,
    out: &mut impl Write,
) -> io::Result<Result<(), RecordsError>> {
    let mut reader = match batch.read(codecs) {
        Ok(reader) => reader,
        Err(error) => return Ok(Err(error)),
    };
    loop {
        match reader.next() {
            Ok(Some(record)) => write_record(&record, out)?,
            Ok(None) => return Ok(Ok(())),
            Err(error) => return Ok(Err(error)),
        }
    }
}

fn write_record(record: &Record<'_>, out: &mut impl Write) -> io::Result<()> {
    let (offset, timestamp) = (record.offset, record.timestamp_ms);
    write!(out, "  offset {offset} timestamp {timestamp} key ")?;
    write_bytes(record.key, out)?;
    write!(out, " value ")?;
    write_bytes(record.value, out)?;
    let headers = record.headers.clone().count();
    if headers > 0 {
        write!(out, " {headers} headers")?;
    }
    writeln!(out)
}

/// Prints bytes as text where they are text, with everything else escaped.
fn write_bytes(bytes: Option<&[u8]>, out: &mut impl Write) -> io::Result<()> {
    let Some(bytes) = bytes else {
        return write!(out, "null");
    };
    let shown = &bytes[..bytes.len().min(PREVIEW_LEN)];
    write!(out, "\"{}\"", shown.escape_ascii())?;
    if shown.len() < bytes.len() {
        write!(out, "... ({} bytes)", bytes.len())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
