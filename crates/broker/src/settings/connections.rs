//! [`ConnectionSettings`]: what connections may do.

use std::num::NonZeroU32;
use std::time::Duration;

use super::error::SettingsError;
use super::values::Values;

/// What connections may do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConnectionSettings {
    /// `socket.request.max.bytes`.
    pub request_bytes_max: usize,
    /// `socket.send.buffer.bytes`; `None` leaves it to the system.
    pub send_buffer_bytes: Option<u32>,
    /// `socket.receive.buffer.bytes`; `None` leaves it to the system.
    pub receive_buffer_bytes: Option<u32>,
    /// `socket.listen.backlog.size`.
    pub backlog: u32,
    /// `connections.max.idle.ms`; `None` is for ever.
    pub idle_max: Option<Duration>,
    /// `max.connections`.
    pub count_max: u32,
    /// `max.connections.per.ip`.
    pub per_address_max: u32,
    /// `max.connections.per.ip.overrides`, hosts unresolved.
    pub per_address_overrides: Vec<(String, u32)>,
    /// `max.connection.creation.rate` per second; `None` is without bound.
    pub creation_rate_max: Option<NonZeroU32>,
    /// `klamm.requests.per.connection`.
    pub requests_per_connection: usize,
    /// `queued.max.requests`.
    pub queued_requests_max: usize,
    /// `queued.max.request.bytes`; `None` is without bound.
    pub queued_bytes_max: Option<usize>,
}

impl ConnectionSettings {
    pub(super) fn read(values: &Values) -> Result<Self, SettingsError> {
        const OVERRIDES: &str = "max.connections.per.ip.overrides";
        // -1 leaves the size to the system.
        let buffer = |name| values.number(name).and_then(|it| u32::try_from(it).ok());
        let mut overrides = Vec::new();
        for entry in values.list(OVERRIDES) {
            let parts = entry.rsplit_once(':');
            let parsed = parts.and_then(|(host, count)| {
                let host = host.trim_start_matches('[').trim_end_matches(']');
                Some((host.to_owned(), count.trim().parse().ok()?)).filter(|it| !it.0.is_empty())
            });
            let parsed = parsed.ok_or_else(|| values.invalid(OVERRIDES, "host:count,…"))?;
            overrides.push(parsed);
        }
        let idle_ms = values.number("connections.max.idle.ms");
        Ok(Self {
            request_bytes_max: values.whole("socket.request.max.bytes"),
            send_buffer_bytes: buffer("socket.send.buffer.bytes"),
            receive_buffer_bytes: buffer("socket.receive.buffer.bytes"),
            backlog: values.whole("socket.listen.backlog.size"),
            idle_max: idle_ms
                .and_then(|ms| u64::try_from(ms).ok())
                .map(Duration::from_millis),
            count_max: values.whole("max.connections"),
            per_address_max: values.whole("max.connections.per.ip"),
            per_address_overrides: overrides,
            creation_rate_max: creation_rate(values)?,
            requests_per_connection: values.whole("klamm.requests.per.connection"),
            queued_requests_max: values.whole("queued.max.requests"),
            queued_bytes_max: values
                .number("queued.max.request.bytes")
                .and_then(|bytes| usize::try_from(bytes).ok()),
        })
    }
}

/// The greatest number is "no bound", and nobody at all may come at a rate of 0.
fn creation_rate(values: &Values) -> Result<Option<NonZeroU32>, SettingsError> {
    const RATE: &str = "max.connection.creation.rate";
    let rate = values.whole::<u32>(RATE);
    match NonZeroU32::new(rate) {
        None => Err(values.invalid(RATE, "1 or more")),
        Some(rate) => Ok(Some(rate).filter(|it| it.get() < i32::MAX.unsigned_abs())),
    }
}

#[cfg(test)]
mod tests {
    use crate::settings::Settings;

    #[test]
    fn lists_of_hosts_are_read_or_refused() {
        let given = [
            "max.connections.per.ip=0",
            "max.connections.per.ip.overrides=a:1,[::1]:2",
        ];
        let (settings, _) = Settings::load(None, [], &given.map(str::to_owned)).unwrap();
        let overrides = settings.connections.per_address_overrides;
        assert_eq!(overrides, [("a".to_owned(), 1), ("::1".to_owned(), 2)]);
        for text in ["a", "a:", ":1", "a:-1", "a:x"] {
            let given = format!("max.connections.per.ip.overrides={text}");
            assert!(Settings::load(None, [], &[given]).is_err(), "{text}");
        }
    }
}
