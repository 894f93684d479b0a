//! [`AddressRates`]: how fast each address makes connections.

use std::net::IpAddr;
use std::num::NonZeroU32;
use std::time::{Duration, Instant};

use hashbrown::HashMap;

use crate::creation_rate::CreationRate;
use crate::quotas::Refusal;

/// Addresses that are remembered before it is looked which of them can be forgotten.
const REMEMBERED_MIN: usize = 1_024;

/// A rate per second for every address, and other ones for some. (NE-046)
#[derive(Debug, Default)]
pub(crate) struct AddressRates {
    pub(crate) rate: Option<NonZeroU32>,
    pub(crate) overrides: HashMap<IpAddr, NonZeroU32>,
    recent: HashMap<IpAddr, CreationRate>,
    /// How many there may be until those that have been quiet are forgotten.
    recent_max: usize,
}

impl AddressRates {
    /// Counts a connection of an address.
    ///
    /// # Errors
    /// [`Refusal::TooFast`]; it is not counted then.
    pub(crate) fn record(&mut self, address: IpAddr, now: Instant) -> Result<(), Refusal> {
        let rate = self.overrides.get(&address).copied().or(self.rate);
        if rate.is_none() {
            self.recent.remove(&address);
            return Ok(());
        }
        if self.recent.len() >= self.recent_max {
            self.recent.retain(|_, creation| !creation.is_spent(now));
            self.recent_max = REMEMBERED_MIN.max(2 * self.recent.len());
        }
        let creation = self.recent.entry(address).or_default();
        match creation.wait(now, rate) {
            Duration::ZERO => {
                creation.record(now, rate);
                Ok(())
            }
            wait => Err(Refusal::TooFast { address, wait }),
        }
    }
}

#[cfg(test)]
mod tests {
    use klamm_io::Clock as _;
    use klamm_io::sim::SimClock;

    use super::*;

    #[test]
    fn ne_046_addresses_that_have_been_quiet_are_forgotten() {
        let mut rates = AddressRates {
            rate: NonZeroU32::new(1),
            ..AddressRates::default()
        };
        let start = SimClock::new().now();
        for number in 0..100_000_u32 {
            let now = start + Duration::from_millis(u64::from(number));
            rates.record(number.to_be_bytes().into(), now).unwrap();
        }
        // A second's worth is a thousand.
        assert!(rates.recent.len() <= 2_048, "{}", rates.recent.len());
    }
}
