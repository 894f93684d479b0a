//! Progress on a terminal, and failures as they occur.

use std::io::{IsTerminal, stderr, stdin};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use klamm_io::{Clock, SystemClock};
use tokio::sync::oneshot;

use crate::produce::input::Input;
use crate::produce::tally::Tally;

/// How often it is looked at.
const INTERVAL: Duration = Duration::from_millis(250);

/// A progress bar, where somebody sees it.
pub(crate) struct Bar(Option<ProgressBar>);

impl Bar {
    /// Shows how much of the inputs was read. There is none if the standard error is no terminal,
    /// nor while lines are typed at one.
    pub(crate) fn new(inputs: &[Input]) -> Self {
        let sizes: Option<u64> = inputs.iter().map(|input| input.size).sum();
        let is_typed = sizes.is_none() && stdin().is_terminal();
        if is_typed || !stderr().is_terminal() {
            return Self(None);
        }
        let (bar, template) = match sizes {
            Some(size) => {
                let template = "{wide_bar} {bytes}/{total_bytes} {eta} {msg}";
                (ProgressBar::new(size), template)
            }
            None => (
                ProgressBar::new_spinner(),
                "{spinner} {bytes} {elapsed} {msg}",
            ),
        };
        let style = ProgressStyle::with_template(template);
        Self(Some(bar.with_style(style.expect("the template is legal"))))
    }

    fn show(&self, tally: &Tally) {
        for failure in tally.take_failures() {
            match &self.0 {
                Some(bar) => bar.suspend(|| eprintln!("klamm-producer: {failure}")),
                None => eprintln!("klamm-producer: {failure}"),
            }
        }
        if let Some(bar) = &self.0 {
            let acknowledged = tally.acknowledged.load(Ordering::Relaxed);
            let failed = tally.failed.load(Ordering::Relaxed);
            bar.set_position(tally.read_bytes.load(Ordering::Relaxed));
            bar.set_message(format!("{acknowledged} acknowledged, {failed} failed"));
        }
    }
}

/// Shows progress and failures until `end` comes or its sender is gone.
pub(crate) async fn watch(tally: Arc<Tally>, bar: Bar, mut end: oneshot::Receiver<()>) {
    loop {
        let next = SystemClock.now() + INTERVAL;
        tokio::select! {
            _ = &mut end => break,
            () = SystemClock.sleep_until(Some(next)) => bar.show(&tally),
        }
    }
    bar.show(&tally);
    if let Some(bar) = &bar.0 {
        bar.finish_and_clear();
    }
}
