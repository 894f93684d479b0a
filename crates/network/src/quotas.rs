//! [`ConnectionQuotas`]: how many connections there are, and whether one more may come.

#[cfg(test)]
mod tests;

use std::net::IpAddr;
use std::num::NonZeroU32;
use std::time::{Duration, Instant};

use hashbrown::HashMap;
use thiserror::Error;

use crate::address_rates::AddressRates;
use crate::config::ListenerConfig;
use crate::creation_rate::CreationRate;

/// Counts live connections by listener, by address and in all, and compares them with limits that
/// may change meanwhile. What is open stays open when a limit falls below it.
#[derive(Debug)]
pub(crate) struct ConnectionQuotas {
    max: u32,
    max_per_ip: u32,
    max_per_ip_overrides: HashMap<IpAddr, u32>,
    rate: Option<NonZeroU32>,
    total: u32,
    creation: CreationRate,
    listeners: Vec<ListenerCount>,
    by_ip: HashMap<IpAddr, u32>,
    by_ip_creation: AddressRates,
}

#[derive(Debug)]
struct ListenerCount {
    max: u32,
    rate: Option<NonZeroU32>,
    count: u32,
    creation: CreationRate,
    /// The broker-wide limits do not hold it up.
    is_free: bool,
}

/// The limits over all listeners, with the hosts that have their own resolved.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ResolvedLimits {
    pub(crate) max: u32,
    pub(crate) max_per_ip: u32,
    pub(crate) max_per_ip_overrides: HashMap<IpAddr, u32>,
    pub(crate) rate: Option<NonZeroU32>,
    pub(crate) rate_per_ip: Option<NonZeroU32>,
    pub(crate) rate_per_ip_overrides: HashMap<IpAddr, NonZeroU32>,
}

/// Whether the acceptor of a listener may take the next connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Admission {
    /// At once.
    Now,
    /// After so long, unless a limit changes.
    After(Duration),
    /// When a connection has closed, or a limit has changed.
    WhenOneCloses,
}

/// Why a connection that was accepted is not served.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub(crate) enum Refusal {
    /// Its address has as many as it may.
    #[error("{address} has {count} connections already")]
    TooMany { address: IpAddr, count: u32 },
    /// Its address makes them too fast; the next could be served after so long.
    #[error("{address} makes connections too fast")]
    TooFast { address: IpAddr, wait: Duration },
}

/// A count that does not exist was asked for or lowered: an error of the caller. (NE-048)
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub(crate) enum CountError {
    /// There is no such listener.
    #[error("there is no listener {listener}")]
    UnknownListener { listener: usize },
    /// No connection of the listener is open.
    #[error("listener {listener} has no connection that could close")]
    NoneOpen { listener: usize },
    /// No connection of the address is open.
    #[error("{address} has no connection that could close")]
    UnknownAddress { address: IpAddr },
}

impl ConnectionQuotas {
    /// No connections, and no limits but those of the listeners.
    pub(crate) fn new(listeners: &[ListenerConfig]) -> Self {
        let several = listeners.len() > 1;
        let counts = listeners.iter().map(|listener| ListenerCount {
            max: listener.max_connections,
            rate: listener.max_connection_creation_rate,
            count: 0,
            creation: CreationRate::default(),
            is_free: several && listener.inter_broker,
        });
        Self {
            max: u32::MAX,
            max_per_ip: u32::MAX,
            max_per_ip_overrides: HashMap::new(),
            rate: None,
            total: 0,
            creation: CreationRate::default(),
            listeners: counts.collect(),
            by_ip: HashMap::new(),
            by_ip_creation: AddressRates::default(),
        }
    }

    /// Replaces the limits over all listeners.
    pub(crate) fn set_limits(&mut self, limits: ResolvedLimits) {
        let ResolvedLimits {
            max,
            max_per_ip,
            max_per_ip_overrides,
            rate,
            rate_per_ip,
            rate_per_ip_overrides,
        } = limits;
        self.by_ip_creation.rate = rate_per_ip;
        self.by_ip_creation.overrides = rate_per_ip_overrides;
        self.max = max;
        self.max_per_ip = max_per_ip;
        self.max_per_ip_overrides = max_per_ip_overrides;
        self.rate = rate;
    }

    /// Replaces the limits of a listener.
    ///
    /// # Errors
    /// [`CountError::UnknownListener`].
    pub(crate) fn set_listener_limits(
        &mut self,
        listener: usize,
        max: u32,
        rate: Option<NonZeroU32>,
    ) -> Result<(), CountError> {
        let own = self.listeners.get_mut(listener);
        let own = own.ok_or(CountError::UnknownListener { listener })?;
        (own.max, own.rate) = (max, rate);
        Ok(())
    }

    /// Whether the acceptor of a listener may take a connection.
    ///
    /// # Errors
    /// [`CountError::UnknownListener`].
    pub(crate) fn admission(&self, listener: usize, now: Instant) -> Result<Admission, CountError> {
        let own = self.listener(listener)?;
        if own.count >= own.max || !own.is_free && self.total >= self.max {
            return Ok(Admission::WhenOneCloses);
        }
        let mut wait = own.creation.wait(now, own.rate);
        if !own.is_free {
            wait = wait.max(self.creation.wait(now, self.rate));
        }
        Ok(match wait {
            Duration::ZERO => Admission::Now,
            wait => Admission::After(wait),
        })
    }

    /// Counts a connection that was taken. Whether it had to wait is not asked again.
    ///
    /// # Errors
    /// [`Refusal`]; it is not counted then, and not for any rate. (NE-047)
    ///
    /// # Panics
    /// For a listener that there is not.
    pub(crate) fn open(
        &mut self,
        listener: usize,
        address: IpAddr,
        now: Instant,
    ) -> Result<(), Refusal> {
        let address = address.to_canonical();
        let of_address = self.by_ip.get(&address).copied().unwrap_or(0);
        let max = self.max_per_ip_overrides.get(&address);
        if of_address >= max.copied().unwrap_or(self.max_per_ip) {
            return Err(Refusal::TooMany {
                address,
                count: of_address,
            });
        }
        self.by_ip_creation.record(address, now)?;
        let own = &mut self.listeners[listener];
        own.count += 1;
        own.creation.record(now, own.rate);
        if !own.is_free {
            self.creation.record(now, self.rate);
        }
        self.total += 1;
        self.by_ip.insert(address, of_address + 1);
        Ok(())
    }

    /// Counts a connection that has closed.
    ///
    /// # Errors
    /// [`CountError`]; nothing is changed then.
    pub(crate) fn close(&mut self, listener: usize, address: IpAddr) -> Result<(), CountError> {
        let address = address.to_canonical();
        if self.listener(listener)?.count == 0 {
            return Err(CountError::NoneOpen { listener });
        }
        let of_address = self.by_ip.get_mut(&address);
        let of_address = of_address.ok_or(CountError::UnknownAddress { address })?;
        *of_address -= 1;
        if *of_address == 0 {
            self.by_ip.remove(&address);
        }
        self.listeners[listener].count -= 1;
        self.total -= 1;
        Ok(())
    }

    /// Live connections of a listener.
    ///
    /// # Errors
    /// [`CountError::UnknownListener`].
    pub(crate) fn count(&self, listener: usize) -> Result<u32, CountError> {
        Ok(self.listener(listener)?.count)
    }

    fn listener(&self, listener: usize) -> Result<&ListenerCount, CountError> {
        let own = self.listeners.get(listener);
        own.ok_or(CountError::UnknownListener { listener })
    }
}
