//! [`Stop`]: whether somebody has asked the program to end.

use anyhow::{Context, Result};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

use crate::ending::INTERRUPTED;

/// Whether the program was asked to end, by Ctrl-C or SIGTERM. The first time it stops sending and
/// flushes; the second time it ends at once.
#[derive(Debug, Clone)]
pub(crate) struct Stop(watch::Receiver<bool>);

impl Stop {
    /// Listens from now on.
    ///
    /// # Errors
    /// If signals cannot be received.
    pub(crate) fn listen() -> Result<Self> {
        let of = |kind| signal(kind).context("signals cannot be received");
        let mut interrupt = of(SignalKind::interrupt())?;
        let mut terminate = of(SignalKind::terminate())?;
        let (asked, stop) = watch::channel(false);
        tokio::spawn(async move {
            loop {
                tokio::select! {
                    _ = interrupt.recv() => {}
                    _ = terminate.recv() => {}
                }
                if asked.send_replace(true) {
                    eprintln!("klamm-producer: ending at once, what is on its way is not counted");
                    std::process::exit(INTERRUPTED.into());
                }
                eprintln!("klamm-producer: flushing; a second signal ends at once");
            }
        });
        Ok(Self(stop))
    }

    /// Whether it was asked.
    pub(crate) fn is_requested(&self) -> bool {
        *self.0.borrow()
    }

    /// Waits until it is asked.
    pub(crate) async fn requested(&mut self) {
        if self.0.wait_for(|asked| *asked).await.is_err() {
            // The runtime is ending, and whoever waits ends with it.
            std::future::pending::<()>().await;
        }
    }
}
