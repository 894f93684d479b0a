//! [`Lines`]: the standard output, written by a thread, so that the sender's task never waits for
//! whoever reads it.

use std::io::{self, BufWriter, Write};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use klamm_io::{Clock, SystemClock};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::output::or_unread;
use crate::verify::event::Event;

/// So many records are on their way or wait to be printed, at most. A reader that is slower than
/// the cluster slows the sending down.
const UNTOLD_MAX: usize = 10_000;

/// Lines of the run itself, beside those of records.
const OTHERS_MAX: usize = 8;

/// An event, its time, and the leave to be there until it is printed.
type Told = (i64, Event, Option<OwnedSemaphorePermit>);

/// Prints events. A clone prints to the same place.
#[derive(Debug, Clone)]
pub(crate) struct Lines {
    events: SyncSender<Told>,
    permits: Arc<Semaphore>,
    thread: Arc<Mutex<Option<JoinHandle<io::Result<()>>>>>,
}

impl Lines {
    /// Starts the thread.
    pub(crate) fn start() -> io::Result<Self> {
        let (events, told) = sync_channel(UNTOLD_MAX + OTHERS_MAX);
        let thread = thread::Builder::new().name("output".to_owned());
        let thread = thread.spawn(move || print(&told, io::stdout()))?;
        Ok(Self {
            events,
            permits: Arc::new(Semaphore::new(UNTOLD_MAX)),
            thread: Arc::new(Mutex::new(Some(thread))),
        })
    }

    /// Waits until one more record may be on its way.
    pub(crate) async fn permit(&self) -> OwnedSemaphorePermit {
        let permits = Arc::clone(&self.permits);
        permits.acquire_owned().await.expect("it is never closed")
    }

    /// Prints an event, soon. There is room for it: events of records have a permit, and of others
    /// there are few. With nobody left to read it, it is dropped.
    pub(crate) fn tell(&self, event: Event, permit: Option<OwnedSemaphorePermit>) {
        drop(self.events.try_send((SystemClock.unix_ms(), event, permit)));
    }

    /// Whether nothing can be printed any more.
    pub(crate) fn is_closed(&self) -> bool {
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
        thread.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Waits until everything is printed, or nobody is left to read it; blocks. All other clones must
    /// be gone.
    ///
    /// # Errors
    /// What kept a line from being printed.
    pub(crate) fn finish(self) -> io::Result<()> {
        let Self { events, thread, .. } = self;
        drop(events);
        let mut thread = thread.lock().unwrap_or_else(PoisonError::into_inner);
        match thread.take().map(JoinHandle::join) {
            Some(Ok(printed)) => or_unread(printed),
            Some(Err(_)) => Err(io::Error::other("the output's thread panicked")),
            None => Ok(()),
        }
    }
}

/// Prints until the last sender is gone; what is there is printed before anything is waited for.
fn print(told: &Receiver<Told>, output: impl Write) -> io::Result<()> {
    let mut output = BufWriter::new(output);
    while let Ok(mut next) = told.recv() {
        loop {
            let (timestamp_ms, event, _permit) = next;
            writeln!(output, "{}", event.line(timestamp_ms))?;
            match told.try_recv() {
                Ok(more) => next = more,
                Err(_) => break,
            }
        }
        output.flush()?;
    }
    output.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_is_printed_in_order_and_permits_come_back() {
        let (events, told) = sync_channel(4);
        let permits = Arc::new(Semaphore::new(1));
        let permit = Arc::clone(&permits).try_acquire_owned().ok();
        for told in [
            (1, Event::StartupComplete, permit),
            (2, Event::ShutdownComplete, None),
        ] {
            events.try_send(told).unwrap();
        }
        drop(events);
        let mut output = Vec::new();
        print(&told, &mut output).unwrap();
        let lines = String::from_utf8(output).unwrap();
        let names: Vec<&str> = lines.lines().collect();
        assert!(names[0].contains("startup_complete") && names[1].contains("shutdown_complete"));
        assert_eq!((names.len(), permits.available_permits()), (2, 1));
    }

    /// Nobody reads it.
    struct Gone;
    impl Write for Gone {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::BrokenPipe.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn an_output_that_is_gone_is_an_error() {
        let (events, told) = sync_channel(1);
        events.try_send((1, Event::StartupComplete, None)).unwrap();
        let error = print(&told, Gone).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
    }
}
