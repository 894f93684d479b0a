//! [`ApiSet`]: some of the APIs.

use std::fmt;

use crate::api_key::ApiKey;

/// Some of the APIs: those that a server has handlers for.
///
/// ```
/// use klamm_wire::{ApiKey, ApiSet};
///
/// const SERVED: ApiSet = ApiSet::of(&[ApiKey::ApiVersions, ApiKey::Metadata]);
/// assert!(SERVED.contains(ApiKey::Metadata));
/// assert!(!SERVED.contains(ApiKey::Produce));
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct ApiSet {
    /// Bit n is the API with key n.
    bits: u128,
}

impl ApiSet {
    /// Every API that this crate knows.
    pub const ALL: Self = Self::of(ApiKey::ALL);

    /// These APIs.
    pub const fn of(keys: &[ApiKey]) -> Self {
        let mut bits = 0;
        let mut index = 0;
        while index < keys.len() {
            bits |= bit(keys[index]);
            index += 1;
        }
        Self { bits }
    }

    /// Whether it is one of them.
    pub const fn contains(self, key: ApiKey) -> bool {
        self.bits & bit(key) != 0
    }
}

const fn bit(key: ApiKey) -> u128 {
    let number = key.number();
    assert!(0 <= number && number < 128, "keys are small");
    1 << number
}

impl fmt::Debug for ApiSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let keys = ApiKey::ALL.iter().filter(|key| self.contains(**key));
        f.debug_set().entries(keys).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_holds_what_it_was_made_of() {
        let set = ApiSet::of(&[ApiKey::Produce, ApiKey::UnregisterController]);
        for key in ApiKey::ALL {
            let wanted = matches!(key, ApiKey::Produce | ApiKey::UnregisterController);
            assert_eq!(set.contains(*key), wanted, "{key}");
            assert!(ApiSet::ALL.contains(*key), "{key}");
        }
        assert_eq!(format!("{set:?}"), "{Produce, UnregisterController}");
    }
}
