//! Events in, actions out.

use std::time::Duration;

use klamm_io::Clock as _;
use klamm_io::sim::SimClock;
use proptest::prelude::*;

use super::Action::{Close, HandOut, Write};
use super::Event::{InputEnded, Read, ReadAndSettled, Settled, Throttled, Tick, Written};
use super::*;

type Actions = Vec<Action<&'static str, &'static str>>;

/// A pipeline, and the time.
struct Connection {
    pipeline: Pipeline<&'static str, &'static str>,
    start: Instant,
    now: Instant,
}

impl Connection {
    fn new(places: usize) -> Self {
        let start = SimClock::new().now();
        Self {
            pipeline: Pipeline::new(places),
            start,
            now: start,
        }
    }

    fn on(&mut self, event: Event<&'static str, &'static str>) -> Actions {
        let mut actions = Vec::new();
        self.pipeline.handle(self.now, event, &mut actions);
        actions
    }

    fn parked(&mut self, turn: u64, parked: Parked) -> Actions {
        self.on(Event::Parked(Turn(turn), parked))
    }

    fn answered(&mut self, turn: u64, answer: &'static str) -> Actions {
        self.on(Settled(Turn(turn), Outcome::Answer(answer)))
    }

    fn at_ms(&self, ms: u64) -> Instant {
        self.start + Duration::from_millis(ms)
    }
}

const NONE: [Action<&str, &str>; 0] = [];

#[test]
fn a_request_ends_once_also_when_its_connection_has() {
    let mut connection = Connection::new(5);
    connection.on(Read("a"));
    connection.parked(0, Parked::Produce);
    connection.on(Read("b"));
    let unsettled = |connection: &Connection| connection.pipeline.unsettled().collect::<Vec<_>>();
    assert_eq!(unsettled(&connection), [Turn(0), Turn(1)]);
    connection.answered(0, "a");
    assert!(!connection.pipeline.is_unsettled(Turn(0)));
    connection.on(Written);
    assert_eq!(unsettled(&connection), [Turn(1)]);
    assert!(!connection.pipeline.settle_unsent(Turn(0)));
    assert!(connection.pipeline.settle_unsent(Turn(1)));
    assert!(!connection.pipeline.settle_unsent(Turn(1)));
    assert_eq!(unsettled(&connection), []);
}

/// Covers NE-011.
#[test]
fn one_request_at_a_time_is_with_a_handler() {
    let mut connection = Connection::new(5);
    assert_eq!(connection.on(Read("a")), [HandOut(Turn(0), "a")]);
    assert!(connection.pipeline.is_readable());
    assert_eq!(connection.on(Read("b")), NONE);
    assert!(!connection.pipeline.is_readable(), "one is read ahead");
    assert_eq!(
        connection.answered(0, "A"),
        [HandOut(Turn(1), "b"), Write("A")]
    );
    assert!(connection.pipeline.is_readable());
}

/// Covers NE-011, NE-012.
#[test]
fn the_next_is_handed_out_behind_parked_produces_and_answers_keep_the_order() {
    let mut connection = Connection::new(5);
    assert_eq!(connection.on(Read("a")), [HandOut(Turn(0), "a")]);
    assert_eq!(connection.on(Read("b")), NONE);
    assert_eq!(
        connection.parked(0, Parked::Produce),
        [HandOut(Turn(1), "b")]
    );
    assert_eq!(connection.parked(1, Parked::Produce), NONE);
    assert_eq!(connection.on(Read("c")), [HandOut(Turn(2), "c")]);
    assert_eq!(connection.answered(2, "C"), NONE, "behind two others");
    assert_eq!(connection.answered(1, "B"), NONE);
    assert_eq!(
        connection.answered(0, "A"),
        [Write("A"), Write("B"), Write("C")]
    );
}

/// Covers NE-011.
#[test]
fn any_other_parked_request_holds_the_connection() {
    let mut connection = Connection::new(5);
    connection.on(Read("produce"));
    connection.parked(0, Parked::Produce);
    connection.on(Read("fetch"));
    assert_eq!(connection.parked(1, Parked::Other), NONE);
    assert_eq!(connection.on(Read("behind")), NONE);
    assert_eq!(connection.answered(0, "A"), [Write("A")]);
    assert_eq!(
        connection.answered(1, "B"),
        [HandOut(Turn(2), "behind"), Write("B")]
    );
}

/// Covers NE-011.
#[test]
fn with_one_place_nothing_is_read_until_the_answer_has_left() {
    let mut connection = Connection::new(1);
    assert_eq!(connection.on(Read("a")), [HandOut(Turn(0), "a")]);
    assert!(!connection.pipeline.is_readable());
    connection.parked(0, Parked::Produce);
    assert!(!connection.pipeline.is_readable());
    assert_eq!(connection.answered(0, "A"), [Write("A")]);
    assert!(!connection.pipeline.is_readable(), "not yet written");
    assert_eq!(connection.on(Written), NONE);
    assert!(connection.pipeline.is_readable());
}

#[test]
fn ne_011_there_is_at_least_one_place() {
    let mut connection = Connection::new(0);
    assert!(connection.pipeline.is_readable());
    assert_eq!(connection.on(Read("a")), [HandOut(Turn(0), "a")]);
}

#[test]
fn ne_014_a_place_is_free_when_the_oldest_answer_has_gone_to_the_socket() {
    let mut connection = Connection::new(2);
    connection.on(Read("a"));
    connection.parked(0, Parked::Produce);
    connection.on(Read("b"));
    connection.parked(1, Parked::Produce);
    assert!(!connection.pipeline.is_readable());
    assert_eq!(connection.answered(1, "B"), NONE);
    assert!(!connection.pipeline.is_readable(), "behind the oldest");
    assert_eq!(connection.answered(0, "A"), [Write("A"), Write("B")]);
    assert!(!connection.pipeline.is_readable(), "queued is not written");
    connection.on(Written);
    assert!(connection.pipeline.is_readable());
}

/// Covers NE-014, NE-015.
#[test]
fn no_answer_frees_its_place_when_its_turn_comes() {
    let mut connection = Connection::new(2);
    connection.on(Read("a"));
    connection.parked(0, Parked::Produce);
    connection.on(Read("b"));
    assert_eq!(connection.on(Settled(Turn(1), Outcome::Nothing)), NONE);
    assert!(!connection.pipeline.is_readable());
    assert_eq!(connection.answered(0, "A"), [Write("A")]);
    assert!(!connection.pipeline.is_readable());
    connection.on(Written);
    assert_eq!(connection.on(Read("c")), [HandOut(Turn(2), "c")]);
    assert!(connection.pipeline.is_readable(), "b's place is free, too");
    assert_eq!(connection.on(Settled(Turn(2), Outcome::Nothing)), NONE);
    assert_eq!(connection.on(Read("d")), [HandOut(Turn(3), "d")]);
}

#[test]
fn ne_015_each_of_the_three_ways_out_ends_the_request() {
    let mut connection = Connection::new(1);
    connection.on(Read("a"));
    assert_eq!(connection.answered(0, "A"), [Write("A")]);
    connection.on(Written);
    connection.on(Read("b"));
    assert_eq!(connection.on(Settled(Turn(1), Outcome::Nothing)), NONE);
    assert!(connection.pipeline.is_readable(), "reading goes on");
    connection.on(Read("c"));
    assert_eq!(connection.on(Settled(Turn(2), Outcome::Close)), [Close]);
}

#[test]
fn ne_016_a_close_waits_for_earlier_answers_and_drops_what_is_behind() {
    let mut connection = Connection::new(5);
    connection.on(Read("a"));
    connection.parked(0, Parked::Produce);
    connection.on(Read("b"));
    connection.parked(1, Parked::Produce);
    connection.on(Read("c"));
    connection.parked(2, Parked::Produce);
    connection.on(Read("d"));
    assert_eq!(connection.on(Read("e")), NONE);
    assert_eq!(connection.on(Settled(Turn(1), Outcome::Close)), NONE);
    assert!(!connection.pipeline.is_readable());
    assert_eq!(connection.answered(3, "D"), NONE, "e is not handed out");
    assert_eq!(connection.answered(2, "C"), NONE);
    assert_eq!(connection.answered(0, "A"), [Write("A")]);
    assert_eq!(connection.on(Written), [Close]);
    assert_eq!(connection.on(Tick), NONE, "nothing follows");
}

/// Covers NE-004, NE-016.
#[test]
fn what_is_no_request_closes_at_its_place() {
    let mut connection = Connection::new(5);
    connection.on(Read("a"));
    assert_eq!(connection.on(ReadAndSettled(Outcome::Close)), NONE);
    assert!(!connection.pipeline.is_readable());
    assert_eq!(connection.answered(0, "A"), [Write("A")]);
    assert_eq!(connection.on(Written), [Close]);
}

/// Covers NE-006, NE-012.
#[test]
fn what_the_network_answers_itself_waits_for_its_turn() {
    let mut connection = Connection::new(5);
    connection.on(Read("a"));
    assert_eq!(connection.on(ReadAndSettled(Outcome::Answer("own"))), NONE);
    assert_eq!(connection.on(Read("c")), NONE);
    assert_eq!(
        connection.answered(0, "A"),
        [HandOut(Turn(2), "c"), Write("A"), Write("own")]
    );
}

#[test]
fn ne_017_a_throttle_stops_reading_and_handing_out_until_its_end() {
    let mut connection = Connection::new(5);
    connection.on(Read("a"));
    connection.on(Read("b"));
    assert_eq!(connection.on(Throttled(connection.at_ms(100))), NONE);
    assert_eq!(connection.answered(0, "A"), [Write("A")], "b is held");
    connection.on(Written);
    assert!(!connection.pipeline.is_readable());
    let deadline = connection.pipeline.next_deadline();
    assert_eq!(deadline, Some(connection.at_ms(100)));
    connection.now = connection.at_ms(99);
    assert_eq!(connection.on(Tick), NONE);
    connection.now = connection.at_ms(100);
    assert_eq!(connection.on(Tick), [HandOut(Turn(1), "b")]);
    assert!(connection.pipeline.is_readable());
    assert_eq!(connection.pipeline.next_deadline(), None);
}

#[test]
fn ne_017_the_latest_of_several_throttles_counts() {
    let mut connection = Connection::new(5);
    connection.on(Throttled(connection.at_ms(100)));
    connection.on(Throttled(connection.at_ms(50)));
    connection.now = connection.at_ms(99);
    connection.on(Tick);
    assert!(!connection.pipeline.is_readable());
    connection.now = connection.at_ms(100);
    connection.on(Tick);
    assert!(connection.pipeline.is_readable());
}

#[test]
fn ne_018_a_throttle_may_begin_before_or_after_its_response() {
    for throttle_first in [true, false] {
        let mut connection = Connection::new(1);
        connection.on(Read("a"));
        let until = connection.at_ms(100);
        if throttle_first {
            assert_eq!(connection.on(Throttled(until)), NONE);
            assert_eq!(connection.answered(0, "A"), [Write("A")]);
        } else {
            assert_eq!(connection.answered(0, "A"), [Write("A")]);
            assert_eq!(connection.on(Throttled(until)), NONE);
        }
        connection.on(Written);
        assert!(!connection.pipeline.is_readable());
        connection.now = until;
        connection.on(Tick);
        assert!(connection.pipeline.is_readable());
    }
}

#[test]
fn ne_019_the_end_of_a_throttle_after_the_close_is_ignored() {
    let mut connection = Connection::new(1);
    connection.on(Read("a"));
    connection.on(Throttled(connection.at_ms(100)));
    assert_eq!(connection.on(Settled(Turn(0), Outcome::Close)), [Close]);
    connection.now = connection.at_ms(100);
    assert_eq!(connection.on(Tick), NONE);
}

#[test]
fn ne_028_a_second_end_of_a_request_is_ignored() {
    let mut connection = Connection::new(5);
    connection.on(Read("a"));
    assert_eq!(connection.answered(0, "A"), [Write("A")]);
    assert_eq!(connection.answered(0, "again"), NONE);
    connection.on(Written);
    assert_eq!(connection.answered(0, "again"), NONE);
    assert_eq!(connection.parked(0, Parked::Produce), NONE);
    assert_eq!(connection.on(Settled(Turn(7), Outcome::Close)), NONE);
}

#[test]
fn ne_067_the_answers_still_leave_when_the_peer_sends_no_more() {
    let mut connection = Connection::new(5);
    connection.on(Read("a"));
    connection.on(Read("b"));
    assert_eq!(connection.on(InputEnded), NONE);
    assert!(!connection.pipeline.is_readable());
    assert_eq!(
        connection.answered(0, "A"),
        [HandOut(Turn(1), "b"), Write("A")]
    );
    connection.on(Written);
    assert_eq!(connection.answered(1, "B"), [Write("B")]);
    assert_eq!(connection.on(Written), [Close]);
    let mut idle = Connection::new(5);
    assert_eq!(idle.on(InputEnded), [Close]);
}

/// A step of a random run: an event that makes sense, drawn by number.
fn run(places: usize, steps: &[(u8, u8)]) -> Result<(), TestCaseError> {
    let mut pipeline = Pipeline::<u64, u64>::new(places);
    let start = SimClock::new().now();
    let (mut now, mut read, mut handed_out, mut given, mut written) = (start, 0, 0, 0, 0);
    // What is with handlers or parked, by turn; and which turns have no answer.
    let mut open: Vec<(u64, Option<Parked>)> = Vec::new();
    let mut silent = Vec::new();
    let mut closed_at = None;
    let mut actions = Vec::new();
    for &(step, choice) in steps {
        let pick = |len: usize| usize::from(choice) % len;
        let with_handler = open.iter().find(|(_, parked)| parked.is_none());
        let event = match step % 6 {
            0 if pipeline.is_readable() => {
                read += 1;
                Event::Read(read - 1)
            }
            1 => match with_handler.copied() {
                Some((turn, _)) => {
                    let parked = [Parked::Produce, Parked::Other][pick(2)];
                    open.retain(|(other, _)| *other != turn);
                    open.push((turn, Some(parked)));
                    Event::Parked(Turn(turn), parked)
                }
                None => Event::Tick,
            },
            2 | 3 if !open.is_empty() => {
                let (turn, _) = open.swap_remove(pick(open.len()));
                let outcome = match choice {
                    0..=199 => Outcome::Answer(turn),
                    200..=245 => {
                        silent.push(turn);
                        Outcome::Nothing
                    }
                    _ => {
                        closed_at = Some(closed_at.unwrap_or(turn).min(turn));
                        Outcome::Close
                    }
                };
                Event::Settled(Turn(turn), outcome)
            }
            4 if written < given => {
                written += 1;
                Event::Written
            }
            5 if choice < 32 => Event::Throttled(now + Duration::from_millis(choice.into())),
            _ => {
                now += Duration::from_millis(choice.into());
                Event::Tick
            }
        };
        actions.clear();
        pipeline.handle(now, event, &mut actions);
        for action in &actions {
            match action {
                Action::HandOut(turn, request) => {
                    prop_assert_eq!(turn.0, *request);
                    prop_assert_eq!(*request, handed_out, "in order, each once");
                    handed_out += 1;
                    prop_assert!(closed_at.is_none(), "nothing behind a close");
                    let held = |(_, parked): &(u64, _)| *parked != Some(Parked::Produce);
                    prop_assert!(!open.iter().any(held), "held");
                    prop_assert!(pipeline.next_deadline().is_none(), "throttled");
                    open.push((turn.0, None));
                    prop_assert!(open.len() <= places);
                }
                Action::Write(answer) => {
                    let mut expected = given_turn(given, &silent);
                    while silent.contains(&expected) {
                        expected += 1;
                    }
                    prop_assert_eq!(*answer, expected, "in order, each once");
                    prop_assert!(closed_at.is_none_or(|at| *answer < at));
                    given += 1;
                }
                Action::Close => {
                    prop_assert!(closed_at.is_some());
                    prop_assert_eq!(written, given, "earlier answers are written first");
                    return Ok(());
                }
            }
        }
        prop_assert!(pipeline.slots.len() <= places);
    }
    Ok(())
}

/// The turn of the answer with this number, when these turns have none.
fn given_turn(number: u64, silent: &[u64]) -> u64 {
    let mut turn = 0;
    let mut left = number;
    loop {
        if !silent.contains(&turn) {
            if left == 0 {
                return turn;
            }
            left -= 1;
        }
        turn += 1;
    }
}

proptest! {
    /// Covers NE-011, NE-012, NE-014, NE-016.
    #[test]
    fn whatever_happens_requests_and_answers_keep_their_order(
        places in 1_usize..7,
        steps in prop::collection::vec(any::<(u8, u8)>(), 0..200),
    ) {
        run(places, &steps)?;
    }
}
