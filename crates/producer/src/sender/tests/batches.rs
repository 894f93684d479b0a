//! Batches that are divided.

use klamm_fake_broker::Fault;
use klamm_wire::{ApiKey, ErrorCode};

use super::world::{World, config, offset, outcome, plain};
use crate::error::Failure;

/// Covers PR-087, PR-090, PR-091, P7.3, C071.
#[test]
fn a_batch_that_is_too_large_goes_in_parts_that_keep_its_sequences() {
    let mut world = World::warm(config(), 1, 1);
    world.faults([Fault::Error(ErrorCode::MESSAGE_TOO_LARGE)]);
    let deliveries = ["a", "b"].map(|value| world.append("t", 0, value, None));
    world.settle();
    world.run_ms(1000);
    assert_eq!(deliveries.each_ref().map(offset), [1, 2]);
    assert_eq!(world.log(0), ["a", "b"]);
    let sequences: Vec<_> = world
        .cluster
        .batches_seen()
        .iter()
        .map(|seen| seen.header.base_sequence.get())
        .collect();
    assert_eq!(sequences, [1, 1, 2]);
    let next = world.send(0, "c");
    assert_eq!(offset(&next), 3);
    assert_eq!(
        world
            .cluster
            .batches_seen()
            .last()
            .unwrap()
            .header
            .base_sequence
            .get(),
        3
    );
    assert!((world.metric("batch-split-total") - 1.0).abs() < 1e-9);
    assert!(world.metric("record-retry-total").abs() < 1e-9);
    world.assert_at_rest();
}

#[test]
fn pr_088_a_single_record_that_is_too_large_fails() {
    let mut world = World::warm(config(), 1, 1);
    world.faults([Fault::Error(ErrorCode::MESSAGE_TOO_LARGE)]);
    let delivery = world.send(0, "a");
    world.run_ms(5000);
    assert_eq!(outcome(&delivery), Err(Failure::RecordRefusedForSize));
    assert_eq!(world.cluster.count(ApiKey::Produce), 1);
    let next = world.send(0, "b");
    world.run_ms(1000);
    assert_eq!(offset(&next), 1);
    world.assert_at_rest();
}

/// Covers C076.
#[test]
fn parts_are_divided_down_to_single_records_and_only_those_too_large_fail() {
    for codec in ["none", "gzip", "snappy", "lz4", "zstd"] {
        for config in [plain(), config()] {
            let config = config
                .set("compression.type", codec)
                .unwrap()
                .batch_size(1 << 20)
                .linger(std::time::Duration::from_millis(100));
            let mut world = World::warm(config, 1, 1);
            world.cluster.set_batch_bytes_max(3_000);
            let mut rng = fastrand::Rng::with_seed(5);
            let deliveries: Vec<_> = (0..200)
                .map(|index| {
                    // Random letters compress a little; every fiftieth record never fits.
                    let len = if index % 50 == 49 { 8_000 } else { 300 };
                    let value: String = (0..len).map(|_| rng.alphabetic()).collect();
                    (value.clone(), world.append("t", 0, &value, None))
                })
                .collect();
            world.run_ms(60_000);
            let mut written = Vec::new();
            for (value, delivery) in &deliveries {
                match outcome(delivery) {
                    Ok(_) => written.push(value.clone()),
                    Err(failure) => {
                        assert_eq!(failure, Failure::RecordRefusedForSize);
                        assert_eq!(value.len(), 8_000);
                    }
                }
            }
            assert_eq!(written.len(), 196, "{codec}");
            assert_eq!(world.log(0), written, "{codec}: once each and in order");
            world.assert_at_rest();
        }
    }
}
