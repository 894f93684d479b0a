//! Settings as text, under Apache Kafka's names.

use std::time::Duration;

use thiserror::Error;

use super::{ClientConfig, RecoveryStrategy};
use crate::bootstrap::{BootstrapAddress, BootstrapError};

/// Why a setting is refused.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ConfigError {
    /// The value is not of the setting's kind.
    #[error("{name} is {expected}, not `{value}`")]
    Kind {
        /// The setting.
        name: String,
        /// The value.
        value: String,
        /// What it should be, with its article.
        expected: &'static str,
    },
    /// The value is out of range.
    #[error("{name} must be {allowed}, not {value}")]
    Range {
        /// The setting.
        name: String,
        /// The value.
        value: i64,
        /// The range, in words.
        allowed: &'static str,
    },
    /// An entry of `bootstrap.servers` is wrong, or there is none.
    #[error("bootstrap.servers: {0}")]
    Bootstrap(BootstrapError),
    /// The setting asks for something that is not there yet; going on without it would promise
    /// what is not kept.
    #[error("{name} = {value} is not supported yet")]
    NotYet {
        /// The setting.
        name: String,
        /// The value.
        value: String,
    },
}

// The words of the cause are in those of the error: it is not its source, too.
impl From<BootstrapError> for ConfigError {
    fn from(error: BootstrapError) -> Self {
        Self::Bootstrap(error)
    }
}

/// What is odd about a setting that was taken all the same.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ConfigWarning {
    /// The upper bound is below the base, so it is used as it is, each time.
    #[error("{max} is less than {base}, so it is used as the constant value")]
    Constant {
        /// The setting of the base.
        base: &'static str,
        /// The setting of the upper bound.
        max: &'static str,
    },
}

const AT_LEAST_0: &str = "at least 0";

impl ClientConfig {
    /// Sets a setting by its name. `Ok(false)` says that it is none of the client's.
    ///
    /// Settings that would turn on TLS or SASL are refused by name, and so is the canonical
    /// look-up of the bootstrap list.
    ///
    /// # Errors
    /// [`ConfigError`]; nothing has changed then.
    pub fn set(&mut self, name: &str, value: &str) -> Result<bool, ConfigError> {
        let text = Text { name, value };
        match name {
            "bootstrap.servers" => self.bootstrap = BootstrapAddress::parse_list(value)?,
            "client.id" => self.client_id = value.into(),
            "request.timeout.ms" => self.request_timeout = text.i32_ms()?,
            "max.in.flight.requests.per.connection" => {
                let count = text.in_range(1, i64::from(i32::MAX), "at least 1")?;
                self.max_in_flight = usize::try_from(count).unwrap_or(usize::MAX);
            }
            "reconnect.backoff.ms" => self.reconnect_backoff = text.ms()?,
            "reconnect.backoff.max.ms" => self.reconnect_backoff_max = text.ms()?,
            "retry.backoff.ms" => self.retry_backoff = text.ms()?,
            "retry.backoff.max.ms" => self.retry_backoff_max = text.ms()?,
            "socket.connection.setup.timeout.ms" => self.setup_timeout = text.ms()?,
            "socket.connection.setup.timeout.max.ms" => self.setup_timeout_max = text.ms()?,
            "connections.max.idle.ms" => {
                // Any number is allowed; a negative one means never.
                self.connections_max_idle = u64::try_from(text.number()?)
                    .ok()
                    .map(Duration::from_millis);
            }
            "send.buffer.bytes" => self.socket.send_buffer_bytes = text.buffer()?,
            "receive.buffer.bytes" => self.socket.receive_buffer_bytes = text.buffer()?,
            "metadata.max.age.ms" => self.metadata_max_age = text.ms()?,
            "metadata.max.idle.ms" => {
                let ms = text.in_range(5_000, i64::MAX, "at least 5000")?;
                self.metadata_max_idle = Some(Duration::from_millis(ms.unsigned_abs()));
            }
            "metadata.recovery.strategy" => {
                self.recovery = match value.to_ascii_lowercase().as_str() {
                    "none" => RecoveryStrategy::None,
                    "rebootstrap" => RecoveryStrategy::Rebootstrap,
                    _ => return Err(text.kind("`none` or `rebootstrap`")),
                }
            }
            "metadata.recovery.rebootstrap.trigger.ms" => self.rebootstrap_trigger = text.ms()?,
            "client.dns.lookup" => match value {
                "use_all_dns_ips" => {}
                "resolve_canonical_bootstrap_servers_only" => return Err(text.not_yet()),
                _ => return Err(text.kind("`use_all_dns_ips`")),
            },
            "security.protocol" => match value.to_ascii_uppercase().as_str() {
                "PLAINTEXT" => {}
                "SSL" | "SASL_PLAINTEXT" | "SASL_SSL" => return Err(text.not_yet()),
                _ => return Err(text.kind("`PLAINTEXT`, `SSL`, `SASL_PLAINTEXT` or `SASL_SSL`")),
            },
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Sets settings in their order. What is not the client's is returned, in order, for others
    /// to look at.
    ///
    /// If `reconnect.backoff.ms` is given and its maximum is not, that takes the same value, so
    /// that the backoff is constant.
    ///
    /// # Errors
    /// Of the first setting that has one.
    pub fn set_all<'a>(
        &mut self,
        settings: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<Vec<(&'a str, &'a str)>, ConfigError> {
        let (mut base, mut max) = (false, false);
        let mut others = Vec::new();
        for (name, value) in settings {
            base |= name == "reconnect.backoff.ms";
            max |= name == "reconnect.backoff.max.ms";
            if !self.set(name, value)? {
                others.push((name, value));
            }
        }
        if base && !max {
            self.reconnect_backoff_max = self.reconnect_backoff;
        }
        Ok(others)
    }

    /// Checks what concerns several settings, or was set in code.
    ///
    /// # Errors
    /// [`ConfigError`].
    pub fn check(&self) -> Result<Vec<ConfigWarning>, ConfigError> {
        if self.bootstrap.is_empty() {
            return Err(BootstrapError::Empty.into());
        }
        if self.max_in_flight == 0 {
            return Err(ConfigError::Range {
                name: "max.in.flight.requests.per.connection".to_owned(),
                value: 0,
                allowed: "at least 1",
            });
        }
        let pairs = [
            (
                "reconnect.backoff.ms",
                "reconnect.backoff.max.ms",
                self.reconnect_backoff > self.reconnect_backoff_max,
            ),
            (
                "retry.backoff.ms",
                "retry.backoff.max.ms",
                self.retry_backoff > self.retry_backoff_max,
            ),
            (
                "socket.connection.setup.timeout.ms",
                "socket.connection.setup.timeout.max.ms",
                self.setup_timeout > self.setup_timeout_max,
            ),
        ];
        let odd = pairs.into_iter().filter(|(.., odd)| *odd);
        Ok(odd
            .map(|(base, max, _)| ConfigWarning::Constant { base, max })
            .collect())
    }
}

/// A setting that is being read.
#[derive(Clone, Copy)]
struct Text<'a> {
    name: &'a str,
    value: &'a str,
}

impl Text<'_> {
    fn kind(self, expected: &'static str) -> ConfigError {
        ConfigError::Kind {
            name: self.name.to_owned(),
            value: self.value.to_owned(),
            expected,
        }
    }

    fn not_yet(self) -> ConfigError {
        ConfigError::NotYet {
            name: self.name.to_owned(),
            value: self.value.to_owned(),
        }
    }

    fn number(self) -> Result<i64, ConfigError> {
        let number = self.value.trim().parse();
        number.map_err(|_| self.kind("a whole number"))
    }

    fn in_range(self, min: i64, max: i64, allowed: &'static str) -> Result<i64, ConfigError> {
        let value = self.number()?;
        if !(min..=max).contains(&value) {
            return Err(ConfigError::Range {
                name: self.name.to_owned(),
                value,
                allowed,
            });
        }
        Ok(value)
    }

    fn ms(self) -> Result<Duration, ConfigError> {
        let ms = self.in_range(0, i64::MAX, AT_LEAST_0)?;
        Ok(Duration::from_millis(ms.unsigned_abs()))
    }

    fn i32_ms(self) -> Result<Duration, ConfigError> {
        let ms = self.in_range(0, i64::from(i32::MAX), "from 0 to 2147483647")?;
        Ok(Duration::from_millis(ms.unsigned_abs()))
    }

    fn buffer(self) -> Result<Option<u32>, ConfigError> {
        let bytes = self.in_range(-1, i64::from(i32::MAX), "at least -1")?;
        Ok(u32::try_from(bytes).ok())
    }
}
