//! Settings by Kafka's names.

use klamm_records::{Codec, GzipLevel, Lz4Level, ZstdLevel};

use crate::config::builder::ProducerConfigBuilder;
use crate::config::error::{ConfigError, ConfigWarning};
use crate::config::value::{Given, INT_MAX};
use crate::config::{Acks, Strategy};

impl ProducerConfigBuilder {
    /// Sets one setting by its name. Names that no producer has, or that have no effect here, are
    /// kept as warnings.
    ///
    /// # Errors
    /// [`ConfigError::Unreadable`] and [`ConfigError::OutOfRange`] with name and value;
    /// [`ConfigError::Refused`] for what would promise security or transactions.
    pub fn set(mut self, name: &str, value: &str) -> Result<Self, ConfigError> {
        let given = Given { name, value };
        let known = self.set_batching(given)?
            || self.set_delivery(given)?
            || self.set_partitioning(given)?
            || self.set_client(given)?
            || self.set_rest(given)?;
        if !known {
            let name = name.to_owned();
            self.warnings.push(ConfigWarning::Unknown { name });
        }
        Ok(self)
    }

    fn set_batching(&mut self, given: Given<'_>) -> Result<bool, ConfigError> {
        let batching = &mut self.batching;
        match given.name {
            "batch.size" => batching.batch_size = given.size()?,
            "linger.ms" => batching.linger = given.millis()?,
            "buffer.memory" => {
                batching.buffer_memory = given.number(0..=i64::MAX)?.unsigned_abs();
            }
            "max.block.ms" => batching.max_block = given.millis()?,
            "max.request.size" => batching.max_request_size = given.size()?,
            "compression.type" => {
                let codec = given.value.parse::<Codec>();
                self.codec =
                    codec.map_err(|_| given.unreadable("none, gzip, snappy, lz4 or zstd"))?;
            }
            "compression.gzip.level" => {
                let level = GzipLevel::new(given.number(i32::MIN..=i32::MAX)?);
                self.levels.gzip =
                    level.map_err(|_| given.out_of_range("1 to 9, or -1 for the default"))?;
            }
            "compression.lz4.level" => {
                let level = Lz4Level::new(given.number(i32::MIN..=i32::MAX)?);
                self.levels.lz4 = level.map_err(|_| given.out_of_range("1 to 17"))?;
            }
            "compression.zstd.level" => {
                let level = ZstdLevel::new(given.number(i32::MIN..=i32::MAX)?);
                self.levels.zstd = level.map_err(|_| given.out_of_range("-131072 to 22"))?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn set_delivery(&mut self, given: Given<'_>) -> Result<bool, ConfigError> {
        match given.name {
            "acks" => {
                self.delivery.acks = match given.value.trim() {
                    "-1" => Acks::All,
                    "0" => Acks::None,
                    "1" => Acks::Leader,
                    text if text.eq_ignore_ascii_case("all") => Acks::All,
                    _ => return Err(given.unreadable("all, -1, 0 or 1")),
                };
            }
            "retries" => {
                self.delivery.retries = given.number(0..=i32::MAX)?.cast_unsigned();
            }
            "delivery.timeout.ms" => self.delivery_timeout = Some(given.short_millis()?),
            "enable.idempotence" => self.idempotence = Some(given.flag()?),
            "transactional.id" => {
                return Err(ConfigError::Refused {
                    name: given.name.to_owned(),
                    reason: "this producer does not do transactions",
                });
            }
            "transaction.timeout.ms" => {
                given.number(i32::MIN..=i32::MAX)?;
                self.unused(given.name, "this producer does not do transactions");
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn set_partitioning(&mut self, given: Given<'_>) -> Result<bool, ConfigError> {
        let partitioning = &mut self.partitioning;
        match given.name {
            "partitioner.class" => {
                // Configurations that were written for Kafka's own client give a class's name.
                partitioning.strategy = match given.value.trim().rsplit('.').next() {
                    Some("" | "built-in" | "DefaultPartitioner") => Strategy::BuiltIn,
                    Some("round-robin" | "RoundRobinPartitioner") => Strategy::RoundRobin,
                    _ => return Err(given.unreadable("round-robin, built-in or nothing")),
                };
            }
            "partitioner.ignore.keys" => partitioning.ignore_keys = given.flag()?,
            "partitioner.adaptive.partitioning.enable" => partitioning.adaptive = given.flag()?,
            "partitioner.availability.timeout.ms" => {
                partitioning.availability_timeout = given.millis()?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// What all clients have. What would make a connection secure is refused before.
    fn set_client(&mut self, given: Given<'_>) -> Result<bool, ConfigError> {
        match given.name {
            "reconnect.backoff.ms" => self.reconnect_backoff_set = true,
            "reconnect.backoff.max.ms" => self.reconnect_backoff_max_set = true,
            _ => {}
        }
        Ok(self.client.set(given.name, given.value)?)
    }

    /// Metrics, security, and what has no effect here.
    fn set_rest(&mut self, given: Given<'_>) -> Result<bool, ConfigError> {
        match given.name {
            "metrics.num.samples" => {
                self.metrics.samples = given.number(1..=i32::MAX)?.cast_unsigned() as usize;
            }
            "metrics.sample.window.ms" => self.metrics.window = given.millis()?,
            "metrics.recording.level" => {
                let levels = ["INFO", "DEBUG", "TRACE"];
                if !levels.contains(&given.value.trim()) {
                    return Err(given.unreadable("INFO, DEBUG or TRACE"));
                }
                self.unused(given.name, "all metrics are recorded");
            }
            "enable.metrics.push" => {
                given.flag()?;
                self.unused(given.name, "metrics are not sent to the cluster");
            }
            "metric.reporters" => self.unused(given.name, "metrics are read from the producer"),
            "key.serializer" | "value.serializer" | "interceptor.classes" => {
                self.unused(given.name, "it is given to the producer's builder, in code");
            }
            "security.providers" => self.unused(given.name, "it belongs to the Java platform"),
            name if name.starts_with("ssl.") || name.starts_with("sasl.") => {
                return Err(ConfigError::Refused {
                    name: name.to_owned(),
                    reason: "connections are PLAINTEXT alone, without encryption or login",
                });
            }
            name if name.starts_with("metrics.context.") => {
                self.unused(name, "metrics are read from the producer");
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn unused(&mut self, name: &str, reason: &'static str) {
        let name = name.to_owned();
        self.warnings.push(ConfigWarning::Unused { name, reason });
    }
}

/// The most that `linger.ms` may be; what is above counts as this.
pub(super) const LINGER_MS_MAX: u64 = INT_MAX.unsigned_abs();
