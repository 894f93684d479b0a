//! [`Input`]: where records are read from, and the thread that reads.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::thread;

use anyhow::{Context, Result, ensure};
use bytes::Bytes;
use tokio::sync::mpsc;

/// So much is read at once, and so many such pieces wait at most to be sent.
const PIECE_BYTES: usize = 64 * 1024;
const PIECES_WAITING_MAX: usize = 16;

/// One file, or the standard input.
pub(crate) struct Input {
    /// What it is called in messages.
    pub(crate) name: String,
    /// How many bytes it has, where that is known.
    pub(crate) size: Option<u64>,
    source: Box<dyn Read + Send>,
}

/// What the thread has read.
#[derive(Debug)]
pub(crate) enum Piece {
    /// More of the current input.
    Read(Bytes),
    /// The current input has ended, and the next is the current one.
    End,
    /// The current input cannot be read on.
    Failed(io::Error),
}

impl Input {
    /// Opens all files, so that one that is not there is known before anything is sent.
    ///
    /// # Errors
    /// A file that cannot be opened, or is a directory.
    pub(crate) fn open(files: &[PathBuf]) -> Result<Vec<Self>> {
        if files.is_empty() {
            return Ok(vec![Self::standard()]);
        }
        let open = |path: &PathBuf| {
            if path.as_os_str() == "-" {
                Ok(Self::standard())
            } else {
                Self::file(path).with_context(|| path.display().to_string())
            }
        };
        files.iter().map(open).collect()
    }

    fn standard() -> Self {
        Self {
            name: "standard input".to_owned(),
            size: None,
            source: Box::new(io::stdin()),
        }
    }

    fn file(path: &Path) -> Result<Self> {
        let file = File::open(path)?;
        let about = file.metadata()?;
        ensure!(!about.is_dir(), "it is a directory");
        Ok(Self {
            name: path.display().to_string(),
            // Pipes and devices say 0.
            size: about.is_file().then_some(about.len()),
            source: Box::new(file),
        })
    }

    /// Reads all of them in a thread, one after the other. Whoever drops the receiver ends it at
    /// its next piece; a thread that waits for the standard input ends with the program.
    pub(crate) fn read_all(inputs: Vec<Self>) -> io::Result<mpsc::Receiver<Piece>> {
        let (pieces, received) = mpsc::channel(PIECES_WAITING_MAX);
        let thread = thread::Builder::new().name("input".to_owned());
        thread.spawn(move || {
            for input in inputs {
                if !input.read(&pieces) {
                    return;
                }
            }
        })?;
        Ok(received)
    }

    /// Whether to go on with the next one.
    fn read(mut self, pieces: &mpsc::Sender<Piece>) -> bool {
        let mut buffer = vec![0; PIECE_BYTES];
        loop {
            let (piece, goes_on) = match self.source.read(&mut buffer) {
                Ok(0) => return pieces.blocking_send(Piece::End).is_ok(),
                Ok(size) => (Piece::Read(Bytes::copy_from_slice(&buffer[..size])), true),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => (Piece::Failed(error), false),
            };
            if pieces.blocking_send(piece).is_err() || !goes_on {
                return false;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn files_are_read_one_after_the_other() {
        let directory = tempfile::tempdir().unwrap();
        let paths = ["a", "b"].map(|name| directory.path().join(name));
        std::fs::write(&paths[0], vec![b'a'; PIECE_BYTES + 1]).unwrap();
        std::fs::write(&paths[1], "b").unwrap();
        let inputs = Input::open(&paths).unwrap();
        assert_eq!(inputs[0].size, Some(PIECE_BYTES as u64 + 1));
        let mut pieces = Input::read_all(inputs).unwrap();
        let mut read = vec![0];
        while let Some(piece) = pieces.recv().await {
            match piece {
                Piece::Read(piece) => *read.last_mut().unwrap() += piece.len(),
                Piece::End => read.push(0),
                Piece::Failed(error) => panic!("{error}"),
            }
        }
        assert_eq!(read, [PIECE_BYTES + 1, 1, 0]);
    }

    #[test]
    fn what_cannot_be_read_is_refused_by_name() {
        let directory = tempfile::tempdir().unwrap();
        let missing = directory.path().join("missing");
        for path in [missing, directory.path().to_owned()] {
            let error = Input::open(std::slice::from_ref(&path)).err().unwrap();
            let error = format!("{error:#}");
            assert!(error.starts_with(path.to_str().unwrap()), "{error}");
        }
    }
}
