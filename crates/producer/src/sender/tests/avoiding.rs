//! Nodes that take no data, and the choice of a partition.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use klamm_fake_broker::Fault;

use super::world::{World, offset, plain};

/// The partitions that a hundred draws of the sticky choice come to.
fn drawn(world: &World) -> BTreeSet<i32> {
    let accumulator = &world.accumulator;
    let cluster = world.client.metadata().cluster();
    let known = cluster.topic("t").unwrap();
    let queues = accumulator.topic(&Arc::from("t"));
    let draw = |_| {
        let batches = 2 * accumulator.rules().batch_size;
        let candidates = || accumulator.candidates(&queues, known);
        queues.sticky().appended(batches, true, candidates);
        let current = queues.sticky().current(candidates);
        current.unwrap().get()
    };
    (0..100).map(draw).collect()
}

#[test]
fn pr_030_a_node_that_takes_no_data_is_left_out_of_the_choice_until_it_does() {
    for (timeout_ms, expected) in [(100, [0].into()), (0, BTreeSet::from([0, 1]))] {
        let timeout = Duration::from_millis(timeout_ms);
        let config = plain().max_in_flight(2).availability_timeout(timeout);
        let mut world = World::warm(config, 2, 2);
        assert_eq!(drawn(&world), [0, 1].into());
        // Two requests are all that broker 2, which leads partition 1, has at a time.
        let slow = Fault::Delay(Duration::from_secs(1));
        world.faults([slow.clone(), slow]);
        let taken = [world.send(1, "a"), world.send(1, "b")];
        let waiting = world.send(1, "c");
        world.run_ms(100);
        let other = world.send(0, "d");
        assert_eq!(drawn(&world), [0, 1].into(), "the time is not over");
        world.run_ms(1);
        world.send(0, "e");
        assert_eq!(drawn(&world), expected, "with {timeout_ms} ms");
        world.run_ms(2_000);
        assert_eq!(drawn(&world), [0, 1].into(), "it takes data again");
        assert_eq!((offset(&taken[1]), offset(&waiting)), (2, 3));
        assert_eq!(offset(&other), 1);
        world.assert_at_rest();
    }
}
