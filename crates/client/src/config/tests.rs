//! Settings by name, and what they become.

use super::*;

fn set(name: &str, value: &str) -> Result<ClientConfig, ConfigError> {
    let mut config = ClientConfig::default();
    let known = config.set(name, value)?;
    assert!(known, "{name}");
    Ok(config)
}

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

type Field = fn(&ClientConfig) -> Option<Duration>;

/// Covers P1.9, CL-085: the values reach the field that they are for.
#[test]
fn each_setting_reaches_its_field() {
    let max = i64::MAX.to_string();
    let times: [(&str, Field); 10] = [
        ("request.timeout.ms", |c| Some(c.request_timeout)),
        ("reconnect.backoff.ms", |c| Some(c.reconnect_backoff)),
        ("reconnect.backoff.max.ms", |c| {
            Some(c.reconnect_backoff_max)
        }),
        ("retry.backoff.ms", |c| Some(c.retry_backoff)),
        ("retry.backoff.max.ms", |c| Some(c.retry_backoff_max)),
        ("socket.connection.setup.timeout.ms", |c| {
            Some(c.setup_timeout)
        }),
        ("socket.connection.setup.timeout.max.ms", |c| {
            Some(c.setup_timeout_max)
        }),
        ("connections.max.idle.ms", |c| c.connections_max_idle),
        ("metadata.max.age.ms", |c| Some(c.metadata_max_age)),
        ("metadata.recovery.rebootstrap.trigger.ms", |c| {
            Some(c.rebootstrap_trigger)
        }),
    ];
    for (name, field) in times {
        assert_eq!(
            field(&set(name, "12345").unwrap()),
            Some(ms(12_345)),
            "{name}"
        );
        assert_eq!(field(&set(name, " 0 ").unwrap()), Some(ms(0)), "{name}");
        let greatest = set(name, &max);
        assert_eq!(greatest.is_ok(), name != "request.timeout.ms", "{name}");
    }
    let idle = set("metadata.max.idle.ms", "5000").unwrap();
    assert_eq!(idle.metadata_max_idle, Some(ms(5_000)));
    let never = set("connections.max.idle.ms", "-1").unwrap();
    assert_eq!(never.connections_max_idle, None);
    let in_flight = set("max.in.flight.requests.per.connection", "1").unwrap();
    assert_eq!(in_flight.max_in_flight, 1);
    assert_eq!(set("client.id", "me").unwrap().client_id, "me");
    let sent = set("send.buffer.bytes", "7").unwrap();
    assert_eq!(sent.socket.send_buffer_bytes, Some(7));
    let system = set("receive.buffer.bytes", "-1").unwrap();
    assert_eq!(system.socket.receive_buffer_bytes, None);
    let bootstrap = set("bootstrap.servers", "a:1, b:2").unwrap();
    assert_eq!(bootstrap.bootstrap.len(), 2);
    for (value, strategy) in [
        ("none", RecoveryStrategy::None),
        ("ReBootstrap", RecoveryStrategy::Rebootstrap),
    ] {
        assert_eq!(
            set("metadata.recovery.strategy", value).unwrap().recovery,
            strategy
        );
    }
    assert!(set("client.dns.lookup", "use_all_dns_ips").is_ok());
    assert!(set("security.protocol", "plaintext").is_ok());
}

/// Covers P1.9: the error names the setting and the value.
#[test]
fn a_value_of_the_wrong_kind_or_out_of_range_is_named() {
    for (name, value) in [
        ("request.timeout.ms", "soon"),
        ("request.timeout.ms", "2147483648"),
        ("request.timeout.ms", "-1"),
        ("reconnect.backoff.ms", "-1"),
        ("retry.backoff.ms", ""),
        ("retry.backoff.ms", "9223372036854775808"),
        ("max.in.flight.requests.per.connection", "0"),
        ("metadata.max.idle.ms", "4999"),
        ("send.buffer.bytes", "-2"),
        ("receive.buffer.bytes", "2147483648"),
        ("metadata.recovery.strategy", "hope"),
        ("client.dns.lookup", "first"),
        ("security.protocol", "TLS"),
    ] {
        let mut config = ClientConfig::default();
        let error = config.set(name, value).unwrap_err().to_string();
        assert!(error.contains(name) && error.contains(value), "{error}");
        assert_eq!(config, ClientConfig::default(), "nothing has changed");
    }
    let error = set("bootstrap.servers", "broker").unwrap_err().to_string();
    assert!(error.starts_with("bootstrap.servers: `broker`"), "{error}");
}

#[test]
fn what_would_promise_security_that_is_not_there_is_refused_by_name() {
    for value in ["SSL", "SASL_PLAINTEXT", "sasl_ssl"] {
        let error = set("security.protocol", value).unwrap_err();
        assert!(matches!(error, ConfigError::NotYet { .. }));
        let error = error.to_string();
        assert_eq!(
            error,
            format!("security.protocol = {value} is not supported yet")
        );
    }
    let canonical = set(
        "client.dns.lookup",
        "resolve_canonical_bootstrap_servers_only",
    );
    assert!(matches!(canonical, Err(ConfigError::NotYet { .. })));
}

#[test]
fn other_settings_are_left_to_others_in_their_order() {
    let mut config = ClientConfig::default();
    let others = config
        .set_all([("acks", "all"), ("client.id", "me"), ("linger.ms", "5")])
        .unwrap();
    assert_eq!(others, [("acks", "all"), ("linger.ms", "5")]);
    assert_eq!(config.client_id, "me");
}

/// Covers CL-007: without a maximum the reconnect backoff is constant.
#[test]
fn a_base_without_a_maximum_is_its_own_maximum() {
    let mut config = ClientConfig::default();
    config.set_all([("reconnect.backoff.ms", "3000")]).unwrap();
    assert_eq!(config.reconnect_backoff_max, ms(3_000));
    let mut config = ClientConfig::default();
    let both = [
        ("reconnect.backoff.max.ms", "9"),
        ("reconnect.backoff.ms", "3"),
    ];
    config.set_all(both).unwrap();
    assert_eq!(config.reconnect_backoff_max, ms(9));
}

#[test]
fn a_maximum_below_its_base_is_warned_of_and_no_address_is_an_error() {
    let mut config = ClientConfig::default();
    let error = config.check().unwrap_err();
    assert!(matches!(error, ConfigError::Bootstrap(_)));
    config.set("bootstrap.servers", "a:1").unwrap();
    assert_eq!(config.check(), Ok(Vec::new()));
    config.set("retry.backoff.ms", "2000").unwrap();
    config
        .set("socket.connection.setup.timeout.max.ms", "1")
        .unwrap();
    let warnings = config.check().unwrap();
    let texts: Vec<String> = warnings.iter().map(ToString::to_string).collect();
    assert_eq!(texts.len(), 2);
    assert!(texts[0].starts_with("retry.backoff.max.ms is less than retry.backoff.ms"));
    config.max_in_flight = 0;
    assert!(matches!(config.check(), Err(ConfigError::Range { .. })));
}
