//! Defaults, names, ranges, and settings that have to go together.

use super::*;

const SERVER: (&str, &str) = ("bootstrap.servers", "127.0.0.1:9092");

fn with(properties: &[(&str, &str)]) -> Result<ProducerConfig, ConfigError> {
    ProducerConfig::from_properties(std::iter::once(SERVER).chain(properties.iter().copied()))
}

fn config(properties: &[(&str, &str)]) -> ProducerConfig {
    with(properties).unwrap()
}

/// Covers P1.7, P1.10.
#[test]
fn the_defaults_are_kafkas() {
    let config = config(&[]);
    assert_eq!(config.batching, Batching::default());
    assert_eq!(config.batching.batch_size, 16_384);
    assert_eq!(config.batching.linger, Duration::from_millis(5));
    assert_eq!(config.batching.buffer_memory, 33_554_432);
    assert_eq!(config.batching.max_block, Duration::from_mins(1));
    assert_eq!(config.batching.max_request_size, 1_048_576);
    assert_eq!(config.delivery, DeliveryRules::default());
    assert_eq!(config.delivery.delivery_timeout, Duration::from_mins(2));
    assert_eq!(config.client.request_timeout, Duration::from_secs(30));
    assert_eq!(
        (config.delivery.retries, config.client.max_in_flight),
        (2_147_483_647, 5)
    );
    assert!(config.delivery.idempotence && config.delivery.acks == Acks::All);
    assert_eq!(
        config.client.connections_max_idle,
        Some(Duration::from_mins(9))
    );
    assert!(config.warnings().is_empty());
}

/// Covers P1.8.
#[test]
fn each_name_sets_its_setting() {
    let config = config(&[
        ("client.id", "tester"),
        ("batch.size", "0"),
        ("linger.ms", "9223372036854775807"),
        ("buffer.memory", "1000"),
        ("compression.zstd.level", "-7"),
        ("compression.type", "zstd"),
        ("acks", " ALL "),
        ("request.timeout.ms", "1000"),
        ("metadata.max.idle.ms", "5000"),
        ("send.buffer.bytes", "-1"),
        ("connections.max.idle.ms", "-1"),
        (
            "partitioner.class",
            "org.apache.kafka.clients.producer.RoundRobinPartitioner",
        ),
        ("partitioner.ignore.keys", "TRUE"),
        ("metrics.num.samples", "3"),
    ]);
    assert_eq!(config.client.client_id, "tester");
    assert_eq!(config.batching.batch_size, 1, "0 is used as 1");
    assert_eq!(config.batching.linger, Duration::from_millis(2_147_483_647));
    let level = klamm_records::ZstdLevel::new(-7).unwrap();
    assert_eq!(config.batching.compression, Compression::Zstd(level));
    assert_eq!(config.delivery.acks, Acks::All);
    assert_eq!(config.client.socket.send_buffer_bytes, None);
    assert_eq!(config.client.connections_max_idle, None);
    assert_eq!(config.partitioning.strategy, Strategy::RoundRobin);
    assert!(config.partitioning.ignore_keys);
    assert_eq!(config.metrics.samples, 3);
}

#[test]
fn an_error_names_the_setting_and_its_value() {
    for (name, value) in [
        ("batch.size", "-1"),
        ("batch.size", "2147483648"),
        ("batch.size", "16k"),
        ("linger.ms", "-1"),
        ("linger.ms", "five"),
        ("retries", "-1"),
        ("max.in.flight.requests.per.connection", "0"),
        ("compression.type", "LZ4"),
        ("compression.gzip.level", "0"),
        ("compression.lz4.level", "18"),
        ("acks", "2"),
        ("enable.idempotence", "yes"),
        ("metadata.max.idle.ms", "4999"),
        ("metadata.recovery.strategy", "hope"),
        ("client.dns.lookup", "default"),
        ("send.buffer.bytes", "-2"),
        ("metrics.num.samples", "0"),
        ("security.protocol", "TLS"),
        ("partitioner.class", "com.example.Mine"),
    ] {
        let text = with(&[(name, value)]).unwrap_err().to_string();
        assert!(text.contains(name) && text.contains(value), "{text}");
    }
}

#[test]
fn what_would_promise_security_or_transactions_is_refused_by_name() {
    for (name, value) in [
        ("security.protocol", "SASL_SSL"),
        ("ssl.truststore.password", "hunter2"),
        ("sasl.jaas.config", "hunter2"),
        ("transactional.id", "mine"),
    ] {
        let error = with(&[(name, value)]).unwrap_err();
        let text = error.to_string();
        assert!(text.contains(name) && !text.contains("hunter2"), "{text}");
    }
    config(&[("security.protocol", "plaintext")]);
}

#[test]
fn unknown_names_and_those_without_effect_are_warnings() {
    let config = config(&[
        ("my.own", "1"),
        ("metric.reporters", ""),
        ("enable.metrics.push", "true"),
    ]);
    let [unknown, unused, also_unused] = config.warnings() else {
        panic!("{:?}", config.warnings());
    };
    let name = "my.own".to_owned();
    assert_eq!(*unknown, ConfigWarning::Unknown { name });
    assert!(matches!(unused, ConfigWarning::Unused { .. }));
    assert!(matches!(also_unused, ConfigWarning::Unused { .. }));
}

#[test]
fn bootstrap_servers_have_to_be_given() {
    let error = ProducerConfig::builder().build().unwrap_err().to_string();
    assert!(error.contains("bootstrap.servers"), "{error}");
    let error = ProducerConfig::builder()
        .bootstrap_servers("a")
        .unwrap_err();
    assert!(error.to_string().contains("bootstrap.servers"), "{error}");
}

#[test]
fn idempotence_gives_way_to_what_was_set_unless_it_was_set_itself() {
    for against in [
        ("acks", "1"),
        ("retries", "0"),
        ("max.in.flight.requests.per.connection", "6"),
    ] {
        let config = config(&[against]);
        assert!(!config.delivery.idempotence);
        assert!(matches!(
            config.warnings(),
            [ConfigWarning::Adjusted {
                name: "enable.idempotence",
                ..
            }]
        ));
        let error = with(&[against, ("enable.idempotence", "true")]).unwrap_err();
        assert!(error.to_string().contains(against.0), "{error}");
        let off = self::config(&[against, ("enable.idempotence", "false")]);
        assert!(off.warnings().is_empty());
    }
}

/// Covers C083.
#[test]
fn a_delivery_takes_at_least_linger_and_one_request() {
    let equal = [
        ("delivery.timeout.ms", "1000"),
        ("linger.ms", "999"),
        ("request.timeout.ms", "1"),
    ];
    config(&equal);
    let mut short = equal;
    short[1].1 = "1000";
    let text = with(&short).unwrap_err().to_string();
    assert!(
        text.contains("delivery.timeout.ms") && text.contains("linger.ms"),
        "{text}"
    );

    let raised = config(&[("request.timeout.ms", "120000")]);
    assert_eq!(
        raised.delivery.delivery_timeout,
        Duration::from_millis(120_005)
    );
    assert_eq!(raised.warnings().len(), 1);
    let capped = config(&[("request.timeout.ms", "2147483647")]);
    assert_eq!(
        capped.delivery.delivery_timeout,
        Duration::from_millis(2_147_483_647)
    );
}

#[test]
fn a_reconnect_backoff_alone_is_constant() {
    let alone = config(&[("reconnect.backoff.ms", "2000")]);
    assert_eq!(alone.client.reconnect_backoff_max, Duration::from_secs(2));
    assert_eq!(alone.warnings().len(), 1);
    let both = config(&[
        ("reconnect.backoff.ms", "10"),
        ("reconnect.backoff.max.ms", "20"),
    ]);
    assert_eq!(both.client.reconnect_backoff_max, Duration::from_millis(20));
    assert_eq!(
        config(&[("retry.backoff.max.ms", "10")]).warnings().len(),
        1
    );
}

#[test]
fn typed_values_have_the_same_ranges() {
    let builder = || ProducerConfig::builder().bootstrap_servers("a:1").unwrap();
    assert!(builder().batch_size(usize::MAX).build().is_err());
    assert!(builder().max_in_flight(0).build().is_err());
    assert!(builder().metadata_max_idle(Duration::ZERO).build().is_err());
    assert!(builder().delivery_timeout(Duration::MAX).build().is_err());
    assert!(
        builder()
            .linger(Duration::MAX)
            .request_timeout(Duration::ZERO)
            .build()
            .is_ok()
    );
}

/// Covers C073.
#[test]
fn the_largest_values_are_limits_and_take_no_memory() {
    let config = config(&[
        ("retries", "2147483647"),
        ("buffer.memory", "9223372036854775807"),
        ("max.request.size", "2147483647"),
        ("max.block.ms", "9223372036854775807"),
        ("metrics.num.samples", "2147483647"),
    ]);
    let pool = crate::buffer_pool::BufferPool::new(config.batching.buffer_memory, 16_384);
    assert_eq!(pool.available(), 9_223_372_036_854_775_807);
}
