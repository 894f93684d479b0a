//! Counts against limits.

use klamm_io::Clock as _;
use klamm_io::sim::SimClock;
use klamm_wire::{Listener, Offer};

use super::*;

const A: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 1));
const B: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 2));

fn listener(name: &str) -> ListenerConfig {
    let offer = Offer {
        listener: Listener::Broker,
        unstable: false,
        telemetry: false,
        apis: klamm_wire::ApiSet::ALL,
    };
    ListenerConfig::plaintext(name, "10.0.0.9:9092".parse().unwrap(), offer)
}

fn limits() -> ResolvedLimits {
    ResolvedLimits {
        max: u32::MAX,
        max_per_ip: u32::MAX,
        max_per_ip_overrides: HashMap::new(),
        rate: None,
        rate_per_ip: None,
        rate_per_ip_overrides: HashMap::new(),
    }
}

fn rate(per_second: u32) -> Option<NonZeroU32> {
    NonZeroU32::new(per_second)
}

fn now() -> Instant {
    SimClock::new().now()
}

#[test]
fn ne_039_an_address_has_no_more_than_its_connections() {
    let (now, mut quotas) = (now(), ConnectionQuotas::new(&[listener("one")]));
    quotas.set_limits(ResolvedLimits {
        max_per_ip: 2,
        ..limits()
    });
    assert_eq!(quotas.open(0, A, now), Ok(()));
    assert_eq!(quotas.open(0, A, now), Ok(()));
    let too_many = Refusal::TooMany {
        address: A,
        count: 2,
    };
    assert_eq!(quotas.open(0, A, now), Err(too_many));
    assert_eq!(quotas.count(0), Ok(2), "it does not count");
    assert_eq!(quotas.open(0, B, now), Ok(()), "another address");
    quotas.close(0, A).unwrap();
    assert_eq!(quotas.open(0, A, now), Ok(()));
}

#[test]
fn ne_039_an_address_is_the_same_in_either_form() {
    let (now, mut quotas) = (now(), ConnectionQuotas::new(&[listener("one")]));
    quotas.set_limits(ResolvedLimits {
        max_per_ip: 1,
        ..limits()
    });
    quotas.open(0, A, now).unwrap();
    let mapped = "::ffff:10.0.0.1".parse().unwrap();
    assert!(quotas.open(0, mapped, now).is_err());
    assert_eq!(quotas.close(0, mapped), Ok(()));
}

#[test]
fn ne_040_an_address_with_its_own_number_has_that_and_both_may_change() {
    let (now, mut quotas) = (now(), ConnectionQuotas::new(&[listener("one")]));
    let set = |quotas: &mut ConnectionQuotas, max_per_ip, of_a| {
        quotas.set_limits(ResolvedLimits {
            max_per_ip,
            max_per_ip_overrides: HashMap::from([(A, of_a)]),
            ..limits()
        });
    };
    set(&mut quotas, 0, 1);
    assert_eq!(quotas.open(0, A, now), Ok(()));
    assert!(quotas.open(0, A, now).is_err());
    assert!(quotas.open(0, B, now).is_err(), "0 is none");
    set(&mut quotas, 1, 2);
    assert_eq!(quotas.open(0, A, now), Ok(()));
    assert_eq!(quotas.open(0, B, now), Ok(()));
    set(&mut quotas, 1, 1);
    assert_eq!(quotas.count(0), Ok(3), "what is open stays");
    assert!(quotas.open(0, A, now).is_err());
}

#[test]
fn ne_041_a_listener_at_its_bound_waits_until_one_closes() {
    let mut narrow = listener("narrow");
    (narrow.max_connections, narrow.inter_broker) = (1, true);
    let (now, mut quotas) = (now(), ConnectionQuotas::new(&[narrow, listener("wide")]));
    assert_eq!(quotas.admission(0, now), Ok(Admission::Now));
    quotas.open(0, A, now).unwrap();
    assert_eq!(quotas.admission(0, now), Ok(Admission::WhenOneCloses));
    assert_eq!(quotas.admission(1, now), Ok(Admission::Now));
    quotas.close(0, A).unwrap();
    assert_eq!(quotas.admission(0, now), Ok(Admission::Now));
}

#[test]
fn ne_042_one_listener_may_use_up_the_broker_wide_bound() {
    let (now, mut quotas) = (
        now(),
        ConnectionQuotas::new(&[listener("a"), listener("b")]),
    );
    quotas.set_limits(ResolvedLimits { max: 3, ..limits() });
    for _ in 0..3 {
        assert_eq!(quotas.admission(0, now), Ok(Admission::Now));
        quotas.open(0, A, now).unwrap();
    }
    for listener in [0, 1] {
        let admission = quotas.admission(listener, now);
        assert_eq!(admission, Ok(Admission::WhenOneCloses));
    }
    quotas.close(0, A).unwrap();
    assert_eq!(quotas.admission(1, now), Ok(Admission::Now));
}

/// Covers NE-043, NE-045.
#[test]
fn above_a_rate_the_acceptor_waits_until_the_rate_is_gone() {
    let (now, mut quotas) = (now(), ConnectionQuotas::new(&[listener("one")]));
    let set = |quotas: &mut ConnectionQuotas, rate| {
        quotas.set_limits(ResolvedLimits { rate, ..limits() });
    };
    set(&mut quotas, rate(4));
    for _ in 0..4 {
        assert_eq!(quotas.admission(0, now), Ok(Admission::Now));
        quotas.open(0, A, now).unwrap();
    }
    let wait = Duration::from_millis(250);
    assert_eq!(quotas.admission(0, now), Ok(Admission::After(wait)));
    assert_eq!(quotas.admission(0, now + wait), Ok(Admission::Now));
    set(&mut quotas, None);
    assert_eq!(quotas.admission(0, now), Ok(Admission::Now));
}

#[test]
fn ne_044_among_brokers_only_the_listener_s_own_rate_holds() {
    let mut brokers = listener("brokers");
    brokers.inter_broker = true;
    let broker_wide = ResolvedLimits {
        rate: rate(1),
        ..limits()
    };

    let now = now();
    let mut alone = ConnectionQuotas::new(&[brokers.clone()]);
    alone.set_limits(broker_wide.clone());
    alone.open(0, A, now).unwrap();
    let one_second = Admission::After(Duration::from_secs(1));
    assert_eq!(alone.admission(0, now), Ok(one_second));

    let mut beside = ConnectionQuotas::new(&[brokers.clone(), listener("clients")]);
    beside.set_limits(broker_wide.clone());
    beside.open(0, A, now).unwrap();
    beside.open(1, A, now).unwrap();
    assert_eq!(beside.admission(0, now), Ok(Admission::Now));
    assert_eq!(beside.admission(1, now), Ok(one_second));

    brokers.max_connection_creation_rate = rate(2);
    let mut own = ConnectionQuotas::new(&[brokers, listener("clients")]);
    own.set_limits(broker_wide);
    own.open(0, A, now).unwrap();
    own.open(0, A, now).unwrap();
    let half_a_second = Admission::After(Duration::from_millis(500));
    assert_eq!(own.admission(0, now), Ok(half_a_second));
}

#[test]
fn ne_048_a_count_that_is_not_there_is_reported() {
    let (now, mut quotas) = (
        now(),
        ConnectionQuotas::new(&[listener("a"), listener("b")]),
    );
    let unknown = CountError::UnknownListener { listener: 2 };
    assert_eq!(quotas.count(2), Err(unknown));
    assert_eq!(quotas.admission(2, now), Err(unknown));
    assert_eq!(quotas.close(2, A), Err(unknown));
    quotas.open(0, A, now).unwrap();
    let address = CountError::UnknownAddress { address: B };
    assert_eq!(quotas.close(0, B), Err(address));
    let none = CountError::NoneOpen { listener: 1 };
    assert_eq!(quotas.close(1, A), Err(none));
    assert_eq!(quotas.count(0), Ok(1));
}

#[test]
fn ne_050_a_close_is_counted_everywhere_and_once() {
    let (now, mut quotas) = (now(), ConnectionQuotas::new(&[listener("one")]));
    quotas.set_limits(ResolvedLimits {
        max: 1,
        max_per_ip: 1,
        ..limits()
    });
    quotas.open(0, A, now).unwrap();
    assert_eq!(quotas.close(0, A), Ok(()));
    assert_eq!(quotas.count(0), Ok(0));
    assert_eq!(quotas.admission(0, now), Ok(Admission::Now));
    assert_eq!(quotas.open(0, A, now), Ok(()));
    assert_eq!(quotas.close(0, A), Ok(()));
    assert!(quotas.close(0, A).is_err());
}

#[test]
fn ne_046_an_address_that_is_too_fast_is_told_how_long_to_wait() {
    let (now, mut quotas) = (now(), ConnectionQuotas::new(&[listener("one")]));
    quotas.set_limits(ResolvedLimits {
        rate_per_ip: rate(2),
        ..limits()
    });
    assert_eq!(quotas.open(0, A, now), Ok(()));
    assert_eq!(quotas.open(0, A, now), Ok(()));
    let wait = Duration::from_millis(500);
    let too_fast = Refusal::TooFast { address: A, wait };
    assert_eq!(quotas.open(0, A, now), Err(too_fast));
    assert_eq!(quotas.open(0, A, now), Err(too_fast), "it did not count");
    assert_eq!(quotas.open(0, B, now), Ok(()), "another address");
    assert_eq!(quotas.count(0), Ok(3));
    assert_eq!(quotas.open(0, A, now + wait), Ok(()));
}

#[test]
fn ne_047_one_refused_by_its_address_counts_for_no_other_rate() {
    let (now, mut quotas) = (now(), ConnectionQuotas::new(&[listener("one")]));
    quotas.set_limits(ResolvedLimits {
        rate: rate(2),
        rate_per_ip: rate(1),
        ..limits()
    });
    quotas.open(0, A, now).unwrap();
    for _ in 0..5 {
        quotas.open(0, A, now).unwrap_err();
        assert_eq!(quotas.admission(0, now), Ok(Admission::Now));
    }
    quotas.open(0, B, now).unwrap();
    let wait = Duration::from_millis(500);
    assert_eq!(quotas.admission(0, now), Ok(Admission::After(wait)));
}

#[test]
fn ne_047_an_address_s_own_rate_outlives_the_default_and_goes_back_to_it() {
    let (now, mut quotas) = (now(), ConnectionQuotas::new(&[listener("one")]));
    let set = |quotas: &mut ConnectionQuotas, default: Option<NonZeroU32>, of_a: Option<_>| {
        quotas.set_limits(ResolvedLimits {
            rate_per_ip: default,
            rate_per_ip_overrides: of_a.map(|rate| (A, rate)).into_iter().collect(),
            ..limits()
        });
    };
    let taken_at = |quotas: &mut ConnectionQuotas, second: u64| {
        let at = now + Duration::from_secs(10 * second);
        (0..100)
            .take_while(|_| quotas.open(0, A, at).is_ok())
            .count()
    };
    for (step, (default, of_a, taken)) in (0..).zip([
        (rate(2), rate(5), 5),
        (rate(3), rate(5), 5),
        (None, rate(5), 5),
        (rate(3), None, 3),
        (None, None, 100),
    ]) {
        set(&mut quotas, default, of_a);
        assert_eq!(taken_at(&mut quotas, step), taken, "step {step}");
    }
}
