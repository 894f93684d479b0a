//! [`Stop`]: whether somebody has asked the program to end, and how often.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use anyhow::{Context, Result};
use klamm_producer::Producer;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

use crate::ending::INTERRUPTED;
use crate::output::Records;

/// Tells how many records are on their way.
type Count = Box<dyn Fn() -> u64 + Send + Sync>;

/// How often somebody has asked. A third time ends the program where it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Asked {
    Never,
    Once,
    Twice,
}

/// Whether the program was asked to end, by Ctrl-C or SIGTERM. The first time it stops sending and
/// waits for what is on its way; the second time it gives that up.
#[derive(Clone)]
pub(crate) struct Stop {
    asked: watch::Receiver<Asked>,
    on_the_way: Arc<OnceLock<Count>>,
}

impl Stop {
    /// Listens from now on. `limit` is `delivery.timeout.ms`, for which a record may be waited for.
    ///
    /// # Errors
    /// If signals cannot be received.
    pub(crate) fn listen(limit: Duration) -> Result<Self> {
        let of = |kind| signal(kind).context("signals cannot be received");
        let mut interrupt = of(SignalKind::interrupt())?;
        let mut terminate = of(SignalKind::terminate())?;
        let (tell, asked) = watch::channel(Asked::Never);
        let on_the_way = Arc::new(OnceLock::<Count>::new());
        let counted = Arc::clone(&on_the_way);
        tokio::spawn(async move {
            loop {
                tokio::select! {
                    _ = interrupt.recv() => {}
                    _ = terminate.recv() => {}
                }
                let count = counted.get().map(|count| count());
                let now = match *tell.borrow() {
                    Asked::Never => Asked::Once,
                    Asked::Once => Asked::Twice,
                    Asked::Twice => {
                        eprintln!("klamm-producer: ended");
                        std::process::exit(INTERRUPTED.into());
                    }
                };
                eprintln!("klamm-producer: {}", words(now, count, limit));
                tell.send_replace(now);
            }
        });
        Ok(Self { asked, on_the_way })
    }

    /// From now on records may be on their way: `count` tells how many have no outcome.
    pub(crate) fn count_by(&self, count: impl Fn() -> u64 + Send + Sync + 'static) {
        // Counted is once a run.
        self.on_the_way.set(Box::new(count)).ok();
    }

    /// Whether it was asked.
    pub(crate) fn is_requested(&self) -> bool {
        *self.asked.borrow() >= Asked::Once
    }

    /// Waits until it is asked.
    pub(crate) async fn requested(&mut self) {
        self.asked_as_often_as(Asked::Once).await;
    }

    /// Waits for what was sent, until all of it has an outcome or somebody asks a second time: then
    /// what has none has failed.
    pub(crate) async fn finish(&mut self, producer: &Producer) {
        tokio::select! {
            // Who failed is known record by record; the flush has nothing to add.
            _ = producer.flush() => {}
            () = self.given_up() => {
                producer.close(Some(Duration::ZERO)).await;
            }
        }
    }

    /// Waits until it is asked a second time.
    pub(crate) async fn given_up(&mut self) {
        self.asked_as_often_as(Asked::Twice).await;
    }

    async fn asked_as_often_as(&mut self, often: Asked) {
        if self.asked.wait_for(|asked| *asked >= often).await.is_err() {
            // The runtime is ending, and whoever waits ends with it.
            std::future::pending::<()>().await;
        }
    }
}

/// What a signal leads to, with so many records on their way; `None` before the first is sent.
fn words(asked: Asked, count: Option<u64>, limit: Duration) -> String {
    match (asked, count.unwrap_or(0)) {
        (Asked::Twice, count) => format!("given up, {} not acknowledged", Records(count)),
        (_, 0) => "ending, nothing is on its way".to_owned(),
        (_, count) => format!(
            "ending, {} not acknowledged yet, waiting up to {limit:?} \
             (delivery.timeout.ms); Ctrl-C again to give them up",
            Records(count)
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_told_what_is_waited_for_and_for_how_long() {
        let words = |asked, count| words(asked, count, Duration::from_mins(2));
        assert_eq!(words(Asked::Once, None), "ending, nothing is on its way");
        assert_eq!(words(Asked::Once, Some(0)), "ending, nothing is on its way");
        assert_eq!(
            words(Asked::Once, Some(7)),
            "ending, 7 records not acknowledged yet, waiting up to 120s (delivery.timeout.ms); \
             Ctrl-C again to give them up"
        );
        let given_up = "given up, 7 records not acknowledged";
        assert_eq!(words(Asked::Twice, Some(7)), given_up);
        let given_up = "given up, 1 record not acknowledged";
        assert_eq!(words(Asked::Twice, Some(1)), given_up);
    }
}
