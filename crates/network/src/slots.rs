//! [`Slots`]: the counts of connections, shared by the acceptors.

use std::error::Error;
use std::net::IpAddr;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Instant;

use klamm_io::Clock;
use parking_lot::Mutex;
use thiserror::Error;
use tokio::sync::Notify;
use tracing::error;

use crate::quotas::{Admission, ConnectionQuotas, CountError, Refusal, ResolvedLimits};

/// [`ConnectionQuotas`] for several acceptors, who wait until one may take the next connection.
pub(crate) struct Slots {
    /// Held for a look or a change only; who waits is woken after it is released.
    quotas: Mutex<ConnectionQuotas>,
    /// Told when a connection has closed or a limit has changed.
    changed: Notify,
}

/// A connection that counts until this is dropped. (NE-050)
pub(crate) struct Slot {
    slots: Arc<Slots>,
    listener: usize,
    address: IpAddr,
}

/// Why a connection is not counted, and so not served.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub(crate) enum Refused {
    /// Its address has too many, or makes them too fast.
    #[error(transparent)]
    Address(#[from] Refusal),
    /// There is no such listener.
    #[error(transparent)]
    Count(#[from] CountError),
}

impl Slots {
    pub(crate) fn new(quotas: ConnectionQuotas) -> Arc<Self> {
        Arc::new(Self {
            quotas: Mutex::new(quotas),
            changed: Notify::new(),
        })
    }

    /// Waits until the acceptor of a listener may take a connection. May be dropped at any time.
    pub(crate) async fn admitted(
        &self,
        listener: usize,
        clock: &impl Clock,
    ) -> Result<(), CountError> {
        self.when_admitted(listener, clock, |_, _| ()).await
    }

    /// Counts a connection that was taken, as soon as it may be: another listener may have got
    /// the last place meanwhile. May be dropped at any time.
    pub(crate) async fn open(
        self: &Arc<Self>,
        listener: usize,
        address: IpAddr,
        clock: &impl Clock,
    ) -> Result<Slot, Refused> {
        self.when_admitted(listener, clock, |quotas, now| {
            quotas.open(listener, address, now)
        })
        .await??;
        Ok(Slot {
            slots: Arc::clone(self),
            listener,
            address,
        })
    }

    async fn when_admitted<T>(
        &self,
        listener: usize,
        clock: &impl Clock,
        act: impl FnOnce(&mut ConnectionQuotas, Instant) -> T,
    ) -> Result<T, CountError> {
        loop {
            let changed = self.changed.notified();
            let now = clock.now();
            let admission = {
                let mut quotas = self.quotas.lock();
                match quotas.admission(listener, now)? {
                    Admission::Now => return Ok(act(&mut quotas, now)),
                    later => later,
                }
            };
            if let Admission::After(wait) = admission {
                tokio::select! {
                    () = changed => {}
                    () = clock.sleep_until(Some(now + wait)) => {}
                }
            } else {
                changed.await;
            }
        }
    }

    pub(crate) fn set_limits(&self, limits: ResolvedLimits) {
        self.quotas.lock().set_limits(limits);
        self.changed.notify_waiters();
    }

    pub(crate) fn set_listener_limits(
        &self,
        listener: usize,
        max: u32,
        rate: Option<NonZeroU32>,
    ) -> Result<(), CountError> {
        let mut quotas = self.quotas.lock();
        quotas.set_listener_limits(listener, max, rate)?;
        drop(quotas);
        self.changed.notify_waiters();
        Ok(())
    }

    pub(crate) fn count(&self, listener: usize) -> Result<u32, CountError> {
        self.quotas.lock().count(listener)
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let closed = self.slots.quotas.lock().close(self.listener, self.address);
        if let Err(wrong) = closed {
            let wrong: &dyn Error = &wrong;
            error!(error = wrong, "a connection was not counted");
        }
        self.slots.changed.notify_waiters();
    }
}
