//! Sessions: who was not heard of for too long.

use std::time::{Duration, Instant};

use klamm_io::Clock;
use klamm_io::sim::SimClock;
use klamm_primitives::Offset;

use super::fixture::{Cluster, broker};
use crate::sessions::Sessions;

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// Four brokers, heard of at 0, 2, 3 and 4 ms, with sessions of 10 ms.
fn four() -> (Sessions, Instant) {
    let start = SimClock::new().now();
    let mut sessions = Sessions::new(ms(10));
    for (id, at) in [(0, 0), (1, 2), (2, 3), (3, 4)] {
        sessions.touch(broker(id), start + ms(at), false, Offset::ZERO);
    }
    (sessions, start)
}

/// Covers CO-022, CO-023.
#[test]
fn co_023_the_stalest_goes_first_one_at_a_time() {
    let (mut sessions, start) = four();
    let due = |sessions: &Sessions| sessions.next_deadline().map(|it| it - start);
    assert_eq!(due(&sessions), Some(ms(10)));
    assert_eq!(sessions.stalest(start + ms(9)), None);
    assert_eq!(sessions.stalest(start + ms(11)), Some(broker(0)));
    sessions.fence(broker(0));
    assert_eq!(due(&sessions), Some(ms(12)));
    assert_eq!(sessions.stalest(start + ms(11)), None);
    let at_13 = start + ms(13);
    assert_eq!(sessions.stalest(at_13), Some(broker(1)));
    sessions.fence(broker(1));
    assert_eq!(sessions.stalest(at_13), Some(broker(2)));
    sessions.fence(broker(2));
    assert_eq!(due(&sessions), Some(ms(14)));
    sessions.fence(broker(3));
    assert_eq!(due(&sessions), None, "nobody is left to lose a session");
}

#[test]
fn co_022_a_heartbeat_begins_the_session_anew() {
    let (mut sessions, start) = four();
    sessions.touch(broker(0), start + ms(9), false, Offset::ZERO);
    assert_eq!(sessions.stalest(start + ms(11)), None);
    assert_eq!(sessions.stalest(start + ms(12)), Some(broker(1)));
}

#[test]
fn co_024_a_fenced_broker_has_no_session_to_lose() {
    let (mut sessions, start) = four();
    sessions.touch(broker(0), start + ms(1), true, Offset::ZERO);
    assert!(!sessions.is_alive(broker(0), start + ms(1)));
    assert_eq!(sessions.next_deadline(), Some(start + ms(12)));
}

#[test]
fn co_022_a_new_active_controller_gives_everybody_a_whole_session() {
    let mut cluster = Cluster::of(&[1, 2]);
    cluster.fence(2);
    cluster.pass(60_000);
    let (image, now) = (cluster.image.clone(), cluster.now);
    cluster.core.activate(&image, now);
    let sessions = &cluster.core.sessions;
    assert_eq!(sessions.next_deadline(), Some(now + ms(9_000)));
    assert_eq!(sessions.stalest(now + ms(8_999)), None);
    assert_eq!(sessions.stalest(now + ms(9_000)), Some(broker(1)));
}
