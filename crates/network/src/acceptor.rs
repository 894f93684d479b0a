//! [`Acceptor`]: the task of one listener.

use std::convert::Infallible;
use std::error::Error;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use klamm_io::{Clock, DiskFile, Listener, Net, NetError, NetErrorKind};
use tokio::sync::mpsc;
use tracing::{debug, info, warn};

use crate::config::ListenerConfig;
use crate::connection::{Common, Connection};
use crate::context::{ConnectionContext, ConnectionId};
use crate::end::End;
use crate::mailbox::{Mailbox, Now};
use crate::members::Members;
use crate::observer::Observer;
use crate::quotas::Refusal;
use crate::seat::Seat;
use crate::slots::{Refused, Slot, Slots};
use crate::transport::Transport;

/// How long to wait after a connection could not be accepted: what is wrong then, as a lack of file
/// descriptors or of memory, is so for the next one, too. Twice as long each time in a row.
const PAUSE_MIN: Duration = Duration::from_millis(5);

/// No pause is longer.
const PAUSE_MAX: Duration = Duration::from_secs(1);

/// Failures in a row that concern a single connection each, as one that is gone again, may come
/// without a pause.
const WITHOUT_PAUSE: u32 = 3;

/// Takes the connections of one listener, as fast as the limits allow, and gives each a task.
pub(crate) struct Acceptor<C, F> {
    pub(crate) clock: C,
    /// Its number among the listeners.
    pub(crate) index: usize,
    pub(crate) config: ListenerConfig,
    pub(crate) common: Arc<Common<F>>,
    pub(crate) slots: Arc<Slots>,
    pub(crate) members: Arc<Members<F>>,
    pub(crate) observer: Arc<dyn Observer>,
    pub(crate) now: Now,
    /// Kept by every connection's task, so that their ends can be awaited.
    pub(crate) alive: mpsc::Sender<Infallible>,
}

impl<C: Clock, F: DiskFile> Acceptor<C, F> {
    /// Accepts until it is dropped.
    pub(crate) async fn run<N: Net>(self, mut listener: N::Listener) {
        let (name, address) = (&self.config.name, listener.local_address());
        info!(listener = %name, %address, "listening");
        let mut failures = 0;
        while self.slots.admitted(self.index, &self.clock).await.is_ok() {
            match listener.accept().await {
                Ok((stream, peer)) => {
                    failures = 0;
                    self.take::<N>(stream, address, peer).await;
                }
                Err(error) => {
                    self.tell_of_failure(&error);
                    let pause = pause_after(error.kind(), failures);
                    failures = failures.saturating_add(1);
                    if let Some(pause) = pause {
                        let later = self.clock.now() + pause;
                        self.clock.sleep_until(Some(later)).await;
                    }
                }
            }
        }
    }

    fn tell_of_failure(&self, error: &NetError) {
        let (listener, reason): (_, &dyn Error) = (&self.config.name, error);
        let is_out_of_files = error.kind() == NetErrorKind::TooManyFiles;
        let Some(untold) = self.common.complaints.may_tell(self.clock.now()) else {
            return;
        };
        if is_out_of_files {
            warn!(%listener, error = reason, untold, "no file descriptor is left");
        } else {
            debug!(%listener, error = reason, untold, "a connection could not be accepted");
        }
    }

    async fn take<N: Net>(&self, stream: N::Stream, local: SocketAddr, peer: SocketAddr) {
        let id = ConnectionId {
            local,
            peer,
            listener: self.index,
            index: self.members.next_index(),
        };
        let slot = self.slots.open(self.index, peer.ip(), &self.clock);
        match slot.await {
            Ok(slot) => self.spawn::<N>(stream, id, slot),
            Err(refused) => {
                let (listener, reason): (_, &dyn Error) = (&self.config.name, &refused);
                debug!(connection = %id, %listener, reason, "connection refused");
                let context = self.context(id);
                self.observer.connection_refused(&context);
                if let Refused::Address(Refusal::TooFast { wait, .. }) = refused {
                    self.hold::<N>(stream, context, wait);
                }
            }
        }
    }

    /// Keeps a connection open for so long without serving it, so that its peer does not come
    /// back at once. (NE-046)
    fn hold<N: Net>(&self, stream: N::Stream, context: ConnectionContext, wait: Duration) {
        let Some(held) = self.members.hold(context, &self.observer) else {
            return;
        };
        let end = self.clock.sleep_until(Some(self.clock.now() + wait));
        let alive = self.alive.clone();
        tokio::spawn(async move {
            let _kept = (stream, alive);
            tokio::select! {
                () = end => {}
                () = held.stopped() => {}
            }
        });
    }

    fn context(&self, id: ConnectionId) -> ConnectionContext {
        let ListenerConfig {
            name,
            security,
            offer,
            inter_broker,
            ..
        } = &self.config;
        let mut context = ConnectionContext::new(id, name.clone(), *security, *offer);
        context.privileged = *inter_broker;
        context
    }

    fn spawn<N: Net>(&self, stream: N::Stream, id: ConnectionId, slot: Slot) {
        let mut context = self.context(id);
        let (clock, common) = (self.clock.clone(), Arc::clone(&self.common));
        let lingers = clock.clone();
        let (members, observer) = (Arc::clone(&self.members), Arc::clone(&self.observer));
        let (now, alive) = (Arc::clone(&self.now), self.alive.clone());
        tokio::spawn(async move {
            let _alive = alive;
            let stream = match Transport::establish(context.security, stream).await {
                Ok((stream, principal)) => {
                    context.principal = principal;
                    stream
                }
                Err(error) => {
                    let (connection, error): (_, &dyn Error) = (&context.id, &error);
                    warn!(%connection, error, "connection could not be secured");
                    return;
                }
            };
            let context = Arc::new(context);
            let mailbox = Arc::new(Mailbox::new(Arc::clone(&context), observer, now));
            let Some(member) = members.join(&mailbox, slot) else {
                return;
            };
            let seat = Seat::new(&mailbox, &common, |seat| {
                let common = Arc::clone(&common);
                Connection::new(stream, clock, common, Arc::clone(&mailbox), seat)
            });
            let (end, linger) = seat.run().await;
            end.log(&context);
            if let (End::Closed, Some(linger)) = (end, linger) {
                tokio::select! {
                    () = linger.run(&lingers) => {}
                    () = member.stopped() => {}
                }
            }
        });
    }
}

/// How long to wait after a failure that so many others came before, without a success in between.
fn pause_after(kind: NetErrorKind, failures: u32) -> Option<Duration> {
    let doublings = match kind {
        NetErrorKind::TooManyFiles => failures,
        _ => failures.checked_sub(WITHOUT_PAUSE)?,
    };
    let pause = PAUSE_MIN.saturating_mul(1_u32.checked_shl(doublings).unwrap_or(u32::MAX));
    Some(pause.min(PAUSE_MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Covers NE-038.
    #[test]
    fn failures_in_a_row_make_accepting_slower_but_never_end_it() {
        let ms = |kind, failures| pause_after(kind, failures).map(|it| it.as_millis());
        let pauses = (0..10).map(|it| ms(NetErrorKind::TooManyFiles, it).unwrap());
        let wanted = [5, 10, 20, 40, 80, 160, 320, 640, 1_000, 1_000];
        assert_eq!(pauses.collect::<Vec<_>>(), wanted);
        let pauses: Vec<_> = (0..5).map(|it| ms(NetErrorKind::Failed, it)).collect();
        assert_eq!(pauses, [None, None, None, Some(5), Some(10)]);
        assert_eq!(ms(NetErrorKind::Failed, u32::MAX), Some(1_000));
    }
}
