//! Values of settings out of text.

use std::fmt::Display;
use std::ops::RangeInclusive;
use std::str::FromStr;
use std::time::Duration;

use crate::config::error::ConfigError;

/// The name of a setting and the text that it was given.
#[derive(Clone, Copy)]
pub(super) struct Given<'a> {
    pub(super) name: &'a str,
    pub(super) value: &'a str,
}

/// The largest of Kafka's 32-bit numbers.
pub(super) const INT_MAX: i64 = i32::MAX as i64;

impl Given<'_> {
    pub(super) fn unreadable(self, expected: impl Into<String>) -> ConfigError {
        ConfigError::Unreadable {
            name: self.name.to_owned(),
            value: self.value.to_owned(),
            expected: expected.into(),
        }
    }

    pub(super) fn out_of_range(self, expected: impl Into<String>) -> ConfigError {
        ConfigError::OutOfRange {
            name: self.name.to_owned(),
            value: self.value.to_owned(),
            expected: expected.into(),
        }
    }

    /// A whole number in a range; blanks around it do not count.
    pub(super) fn number<T>(self, range: RangeInclusive<T>) -> Result<T, ConfigError>
    where
        T: FromStr + PartialOrd + Display + Copy,
    {
        let expected = || format!("a whole number from {} to {}", range.start(), range.end());
        let text = self.value.trim();
        let Ok(number) = text.parse::<T>() else {
            // A number that no type of this size holds is one all the same.
            return Err(match text.parse::<i128>() {
                Ok(_) => self.out_of_range(expected()),
                Err(_) => self.unreadable(expected()),
            });
        };
        if !range.contains(&number) {
            return Err(self.out_of_range(expected()));
        }
        Ok(number)
    }

    /// Milliseconds, not negative, of Kafka's 64-bit kind.
    pub(super) fn millis(self) -> Result<Duration, ConfigError> {
        let millis = self.number(0..=i64::MAX)?;
        Ok(Duration::from_millis(millis.unsigned_abs()))
    }

    /// Milliseconds, not negative, of Kafka's 32-bit kind.
    pub(super) fn short_millis(self) -> Result<Duration, ConfigError> {
        let millis = self.number(0..=INT_MAX)?;
        Ok(Duration::from_millis(millis.unsigned_abs()))
    }

    /// Bytes, not negative, of Kafka's 32-bit kind.
    pub(super) fn size(self) -> Result<usize, ConfigError> {
        let size = self.number(0..=i32::MAX)?;
        Ok(size.cast_unsigned() as usize)
    }

    pub(super) fn flag(self) -> Result<bool, ConfigError> {
        match self.value.trim() {
            text if text.eq_ignore_ascii_case("true") => Ok(true),
            text if text.eq_ignore_ascii_case("false") => Ok(false),
            _ => Err(self.unreadable("true or false")),
        }
    }
}
