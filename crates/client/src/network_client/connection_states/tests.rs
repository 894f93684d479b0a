//! The states of connections, without a client around them.

use klamm_io::{Clock, sim::SimClock};

use super::*;

const NODE: NodeId = NodeId::new(0);
const OTHER: NodeId = NodeId::new(1);

struct Fixture {
    states: ConnectionStates,
    random: fastrand::Rng,
    now: Instant,
}

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// Whether a wait is that of `middle`, give or take a fifth.
#[track_caller]
fn assert_about(wait: Duration, middle: Duration) {
    let about = middle.mul_f64(0.8)..=middle.mul_f64(1.2);
    assert!(about.contains(&wait), "{wait:?}, expected {middle:?}");
}

impl Fixture {
    fn new() -> Self {
        Self::with(&ClientConfig::default())
    }

    fn with(config: &ClientConfig) -> Self {
        Self {
            states: ConnectionStates::new(config),
            random: fastrand::Rng::with_seed(3),
            now: SimClock::new().now(),
        }
    }

    fn connecting(&mut self, node: NodeId) {
        self.connecting_to(node, "host");
    }

    fn connecting_to(&mut self, node: NodeId, host: &str) {
        let place = (&Arc::from(host), 9092);
        self.states
            .connecting(node, place, self.now, &mut self.random);
    }

    fn make_ready(&mut self, node: NodeId) {
        self.connecting(node);
        self.states.checking_versions(node, &mut self.random);
        self.states.ready(node, &mut self.random);
    }

    fn lose(&mut self, node: NodeId) {
        self.states.disconnected(node, self.now, &mut self.random);
    }

    fn delay(&self, node: NodeId) -> Option<Duration> {
        self.states.connection_delay(node, self.now)
    }

    fn can_connect(&self, node: NodeId) -> bool {
        self.states.can_connect(node, self.now)
    }

    /// Backs off to the end.
    fn wait(&mut self, node: NodeId) -> Duration {
        let delay = self.delay(node).unwrap();
        self.now += delay;
        delay
    }
}

#[test]
fn cl_001_an_unknown_node_may_be_connected_to_at_once() {
    let fixture = Fixture::new();
    assert!(fixture.can_connect(NODE));
    assert_eq!(fixture.delay(NODE), Some(Duration::ZERO));
    assert!(!fixture.states.is_ready(NODE, fixture.now));
    assert!(!fixture.states.is_backing_off(NODE, fixture.now));
}

#[test]
fn cl_003_a_connecting_node_is_waited_for_as_long_as_the_set_up_may_take() {
    let mut fixture = Fixture::new();
    fixture.connecting(NODE);
    assert_about(fixture.delay(NODE).unwrap(), ms(10_000));
    assert!(!fixture.can_connect(NODE));
    assert!(!fixture.states.is_backing_off(NODE, fixture.now));
}

#[test]
fn cl_004_a_ready_node_is_never_waited_for() {
    let mut fixture = Fixture::new();
    fixture.make_ready(NODE);
    assert_eq!(fixture.delay(NODE), None);
    assert!(fixture.states.is_ready(NODE, fixture.now));
}

#[test]
fn cl_005_after_a_disconnect_the_node_backs_off_and_may_be_tried_right_after() {
    let mut fixture = Fixture::new();
    fixture.make_ready(NODE);
    fixture.lose(NODE);
    assert!(fixture.states.is_backing_off(NODE, fixture.now));
    assert!(!fixture.can_connect(NODE));
    assert_about(fixture.delay(NODE).unwrap(), ms(50));
    let delay = fixture.delay(NODE).unwrap();
    let (start, moment) = (fixture.now, Duration::from_nanos(1));
    fixture.now = start + delay.saturating_sub(moment);
    assert!(!fixture.can_connect(NODE));
    fixture.now = start + delay;
    assert!(fixture.can_connect(NODE));
    assert!(!fixture.states.is_backing_off(NODE, fixture.now));
}

#[test]
fn cl_006_repeated_failures_double_the_delay_up_to_the_maximum() {
    let mut fixture = Fixture::new();
    for failures in 0..100 {
        fixture.connecting(NODE);
        fixture.lose(NODE);
        let middle = (50.0 * 2f64.powi(failures)).min(1_000.0);
        let delay = fixture.wait(NODE);
        assert_about(delay, Duration::from_secs_f64(middle / 1_000.0));
        assert!(delay <= ms(1_000));
    }
    fixture.make_ready(NODE);
    fixture.lose(NODE);
    assert_about(fixture.delay(NODE).unwrap(), ms(50));
}

#[test]
fn cl_007_with_the_base_as_maximum_the_delay_is_constant() {
    let mut fixture = Fixture::with(&ClientConfig {
        reconnect_backoff: ms(80),
        reconnect_backoff_max: ms(80),
        ..ClientConfig::default()
    });
    for _ in 0..20 {
        fixture.connecting(NODE);
        fixture.lose(NODE);
        assert_eq!(fixture.wait(NODE), ms(80));
    }
}

#[test]
fn cl_008_of_a_forgotten_node_nothing_remains() {
    let mut fixture = Fixture::new();
    for _ in 0..5 {
        fixture.connecting(NODE);
        fixture.lose(NODE);
    }
    fixture.states.remove(NODE);
    assert!(fixture.can_connect(NODE));
    assert_eq!(fixture.delay(NODE), Some(Duration::ZERO));
    fixture.connecting(NODE);
    fixture.lose(NODE);
    assert_about(fixture.delay(NODE).unwrap(), ms(50));
}

#[test]
fn cl_009_the_states_of_nodes_are_independent() {
    let mut fixture = Fixture::new();
    let now = fixture.now;
    assert!(!fixture.states.any_ready(now));
    fixture.make_ready(NODE);
    fixture.make_ready(OTHER);
    fixture.lose(NODE);
    assert!(fixture.states.is_ready(OTHER, now));
    assert!(!fixture.states.is_ready(NODE, now));
    assert!(fixture.states.any_ready(now));
    fixture.states.throttle(OTHER, now + ms(10));
    assert!(!fixture.states.any_ready(now));
    assert!(fixture.states.any_ready(now + ms(10)));
}

#[test]
fn cl_010_an_authentication_failure_is_kept_until_the_node_is_ready() {
    let mut fixture = Fixture::new();
    fixture.connecting(NODE);
    let now = fixture.now;
    let reason: Arc<str> = "wrong password".into();
    (fixture.states).authentication_failed(NODE, reason.clone(), now, &mut fixture.random);
    let failed = Phase::AuthenticationFailed(reason);
    assert_eq!(fixture.states.phase(NODE), Some(&failed));
    assert!(fixture.states.is_backing_off(NODE, now));
    assert!(!fixture.can_connect(NODE));
    fixture.wait(NODE);
    assert!(fixture.can_connect(NODE));
    assert_eq!(fixture.states.phase(NODE), Some(&failed));
    fixture.make_ready(NODE);
    assert_eq!(fixture.states.phase(NODE), Some(&Phase::Ready));
}

#[test]
fn cl_011_the_time_for_the_set_up_doubles_per_failed_set_up() {
    let mut fixture = Fixture::new();
    for middle in [10_000, 20_000, 30_000, 30_000, 30_000] {
        fixture.connecting(NODE);
        let timeout = fixture.delay(NODE).unwrap();
        assert!(timeout <= ms(30_000));
        assert_about(timeout, ms(middle));
        fixture.lose(NODE);
        fixture.wait(NODE);
    }
    // A success takes it back, and the loss of what was established does not raise it.
    fixture.make_ready(NODE);
    fixture.lose(NODE);
    fixture.wait(NODE);
    fixture.connecting(NODE);
    assert_about(fixture.delay(NODE).unwrap(), ms(10_000));
}

#[test]
fn cl_012_only_connections_that_took_too_long_are_late() {
    let mut fixture = Fixture::new();
    let third = NodeId::new(2);
    fixture.connecting(NODE);
    fixture.connecting(OTHER);
    fixture.now += ms(5_000);
    fixture.connecting(third);
    assert!(fixture.states.late(fixture.now).is_empty());
    let deadline = fixture.states.next_setup_deadline().unwrap();
    assert!(deadline > fixture.now);
    fixture.now += ms(7_500);
    let late = fixture.states.late(fixture.now);
    assert_eq!(late, [NODE, OTHER]);
    fixture.lose(NODE);
    fixture.lose(OTHER);
    assert!(fixture.states.late(fixture.now).is_empty());
    assert!(!fixture.can_connect(third));
}

#[test]
fn cl_015_another_host_means_another_machine() {
    let mut fixture = Fixture::new();
    let [old, new]: [SocketAddr; 2] = ["10.0.0.1:1", "10.0.0.2:1"].map(|a| a.parse().unwrap());
    fixture.connecting_to(NODE, "old");
    fixture.states.resolved(NODE, vec![old, new]);
    assert_eq!(fixture.states.address(NODE), Some(old));
    for _ in 0..4 {
        fixture.lose(NODE);
        fixture.connecting_to(NODE, "old");
    }
    fixture.lose(NODE);
    fixture.connecting_to(NODE, "new");
    assert_eq!(fixture.states.address(NODE), None, "to be resolved");
    fixture.lose(NODE);
    assert_about(fixture.delay(NODE).unwrap(), ms(50));
}

#[test]
fn cl_018_after_the_loss_of_an_established_connection_the_name_is_resolved_again() {
    let mut fixture = Fixture::new();
    let addresses: Vec<SocketAddr> = ["10.0.0.1:1", "10.0.0.2:1", "10.0.0.3:1"]
        .map(|a| a.parse().unwrap())
        .to_vec();
    fixture.connecting(NODE);
    fixture.states.resolved(NODE, addresses.clone());
    fixture.lose(NODE);
    fixture.connecting(NODE);
    assert_eq!(
        fixture.states.address(NODE),
        Some(addresses[1]),
        "a failed attempt goes on to the next address"
    );
    fixture.states.checking_versions(NODE, &mut fixture.random);
    fixture.states.ready(NODE, &mut fixture.random);
    fixture.lose(NODE);
    fixture.connecting(NODE);
    assert_eq!(fixture.states.address(NODE), None);
}

#[test]
fn cl_042_a_throttled_node_is_not_ready_until_its_time_is_over() {
    let mut fixture = Fixture::new();
    fixture.make_ready(NODE);
    let now = fixture.now;
    fixture.states.throttle(NODE, now + ms(100));
    assert!(!fixture.states.is_ready(NODE, now));
    assert_eq!(fixture.states.poll_delay(NODE, now), Some(ms(100)));
    let half = now + ms(50);
    assert_eq!(fixture.states.throttle_left(NODE, half), ms(50));
    assert_eq!(fixture.states.poll_delay(NODE, half), Some(ms(50)));
    let end = now + ms(100);
    assert!(fixture.states.is_ready(NODE, end));
    assert_eq!(fixture.states.poll_delay(NODE, end), None);
}

#[test]
fn a_node_that_cannot_be_reached_fails_for_the_first_time_once_until_it_was_ready() {
    let mut fixture = Fixture::new();
    assert!(!fixture.states.is_first_failure(NODE));
    fixture.connecting(NODE);
    assert!(fixture.states.is_first_failure(NODE));
    for _ in 0..3 {
        fixture.lose(NODE);
        fixture.connecting(NODE);
        assert!(!fixture.states.is_first_failure(NODE));
    }
    fixture.make_ready(NODE);
    assert!(!fixture.states.is_first_failure(NODE), "lost, but reached");
    fixture.lose(NODE);
    fixture.connecting(NODE);
    assert!(fixture.states.is_first_failure(NODE), "it went away");
    fixture.lose(NODE);
    fixture.connecting(NODE);
    assert!(!fixture.states.is_first_failure(NODE));
}
