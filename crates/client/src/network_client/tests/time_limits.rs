//! What took too long.

use super::*;

/// Covers CL-035, P6.6.
#[test]
fn one_late_request_closes_the_connection_and_fails_all_of_them_in_order() {
    let mut harness = ready(2);
    let now = harness.now;
    let short = SendOptions {
        timeout: Some(ms(1_000)),
        ..SendOptions::default()
    };
    let first = send(&mut harness, NODE, 1);
    let second = try_send(&mut harness, NODE, 2, short).unwrap();
    send(&mut harness, OTHER, 3);
    harness.now = now + ms(1_000);
    harness.tick();
    assert!(harness.answers.is_empty(), "strictly more");
    assert_eq!(
        harness.client.next_deadline(harness.now),
        Some(now + ms(1_001))
    );
    harness.now = now + ms(1_001);
    harness.tick();
    let late = || Err(Failure::TimedOut);
    assert_eq!(outcomes(&mut harness), [(first, late()), (second, late())]);
    assert!(Failure::TimedOut.is_disconnect());
    assert_eq!(harness.closed, [harness.connection(NODE)]);
    assert!(harness.client.metadata().update_requested());
    assert_eq!(harness.client.in_flight(OTHER), 2, "a refresh goes there");
}

#[test]
fn cl_035_a_late_refresh_counts_as_failed() {
    let mut harness = ready(1);
    harness.client.metadata().request_update();
    harness.tick();
    harness.advance_ms(30_001);
    assert!(harness.answers.is_empty());
    assert_eq!(harness.closed.len(), 1);
    let due_at = harness.client.metadata().due_at(harness.now);
    assert!(due_at >= harness.now + ms(80), "the backoff goes first");
}

#[test]
fn cl_038_the_next_deadline_is_the_first_of_all() {
    let mut harness = ready(1);
    let start = harness.now;
    let age = harness.client.metadata().due_at(start);
    assert_eq!(age, start + ms(300_000));
    assert_eq!(harness.client.next_deadline(start), Some(age));
    let short = SendOptions {
        timeout: Some(ms(5)),
        ..SendOptions::default()
    };
    try_send(&mut harness, NODE, 1, short).unwrap();
    assert_eq!(harness.client.next_deadline(start), Some(start + ms(6)));
    respond(&mut harness);
    assert_eq!(harness.client.next_deadline(start), Some(age));
    harness.lose(NODE);
    let due_at = harness.client.metadata().due_at(harness.now);
    assert_eq!(harness.client.next_deadline(harness.now), Some(due_at));
    harness.client.ready(NODE, harness.now);
    harness.advance_ms(61);
    harness.client.ready(NODE, harness.now);
    harness.tick();
    let deadline = harness.client.next_deadline(harness.now).unwrap();
    assert!(deadline <= harness.now + ms(12_001), "the set-up");
}

/// Covers CL-092, P6.8.
#[test]
fn a_connection_unused_for_long_is_closed_and_its_next_use_reconnects() {
    let config = ClientConfig {
        metadata_max_age: Duration::from_hours(2),
        ..ClientConfig::default()
    };
    let mut harness = ready_with(config, 2);
    harness.advance_ms(300_000);
    send(&mut harness, OTHER, 1);
    respond(&mut harness);
    let deadline = harness.client.next_deadline(harness.now).unwrap();
    assert_eq!(deadline, harness.now + ms(240_000));
    harness.advance_ms(240_000);
    assert_eq!(harness.closed, [harness.connection(NODE)]);
    assert_eq!(harness.client.stats().connections_expired, 1);
    assert!(harness.client.ready(OTHER, harness.now));
    // It is no failure: no backoff, no refresh.
    assert!(!harness.client.metadata().update_requested());
    harness.set_up(NODE);
    assert!(harness.client.ready(NODE, harness.now));
    let id = send(&mut harness, NODE, 2);
    harness.advance_ms(20_000);
    respond(&mut harness);
    harness.answers.retain(|answer| answer.id == id);
    assert_eq!(harness.answers.len(), 1);
}

/// Covers CL-028: values at their greatest are limits, not sizes.
#[test]
fn the_greatest_settings_are_no_trouble() {
    let config = ClientConfig {
        request_timeout: Duration::MAX,
        max_in_flight: usize::MAX,
        reconnect_backoff: Duration::MAX,
        reconnect_backoff_max: Duration::MAX,
        retry_backoff: Duration::MAX,
        retry_backoff_max: Duration::MAX,
        setup_timeout: Duration::MAX,
        setup_timeout_max: Duration::MAX,
        connections_max_idle: Some(Duration::MAX),
        metadata_max_age: Duration::MAX,
        metadata_max_idle: Some(Duration::MAX),
        rebootstrap_trigger: Duration::MAX,
        ..ClientConfig::default()
    };
    let mut harness = ready_with(config, 1);
    let options = SendOptions {
        timeout: Some(Duration::MAX),
        ..SendOptions::default()
    };
    try_send(&mut harness, NODE, 1, options).unwrap();
    harness.advance_ms(1_000);
    assert!(harness.client.next_deadline(harness.now).unwrap() > harness.now);
    harness.lose(NODE);
    harness.advance_ms(1_000);
    assert!(harness.client.is_backing_off(NODE, harness.now));
}
