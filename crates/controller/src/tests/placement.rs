//! Where replicas of new partitions go.

use std::collections::{BTreeMap, BTreeSet};

use fastrand::Rng;
use klamm_primitives::BrokerId;

use super::fixture::{Cluster, registration};
use crate::deciders::RegisterBroker;
use crate::placement::Placement;

/// Brokers with their racks, all unfenced.
fn racks(brokers: &[(i32, Option<&str>)]) -> Cluster {
    let mut cluster = Cluster::empty();
    for (id, rack) in brokers {
        let request = RegisterBroker {
            rack: rack.map(Into::into),
            ..registration(*id, 1)
        };
        cluster.ask(request).unwrap();
        cluster.unfence(*id);
    }
    cluster
}

fn place(cluster: &Cluster, count: usize, partitions: usize) -> Vec<Vec<i32>> {
    let mut rng = Rng::with_seed(7);
    let mut placement = Placement::new(&cluster.image, &mut rng);
    let mut next = || placement.next(count, &mut rng);
    let ids = |replicas: Vec<BrokerId>| replicas.into_iter().map(BrokerId::get).collect();
    (0..partitions).map(|_| ids(next())).collect()
}

fn counts(brokers: impl Iterator<Item = i32>) -> BTreeMap<i32, usize> {
    let mut counts = BTreeMap::new();
    for broker in brokers {
        *counts.entry(broker).or_default() += 1;
    }
    counts
}

#[test]
fn co_052_fenced_brokers_come_last_and_only_where_others_are_too_few() {
    let mut cluster = racks(&[
        (0, Some("a")),
        (1, Some("b")),
        (2, Some("b")),
        (3, Some("c")),
    ]);
    cluster.fence(1);
    cluster.fence(3);
    for replicas in place(&cluster, 2, 20) {
        assert_eq!(
            counts(replicas.into_iter()),
            BTreeMap::from([(0, 1), (2, 1)])
        );
    }
    for replicas in place(&cluster, 4, 20) {
        let front: BTreeSet<_> = replicas[..2].iter().copied().collect();
        let back: BTreeSet<_> = replicas[2..].iter().copied().collect();
        assert_eq!(
            (front, back),
            (BTreeSet::from([0, 2]), BTreeSet::from([1, 3]))
        );
    }
}

#[test]
fn co_053_in_one_rack_the_list_turns_by_one_each_time() {
    let mut cluster = Cluster::of(&[0, 1, 2, 3, 4]);
    cluster.fence(1);
    let placed = place(&cluster, 4, 4);
    let first = placed[0].clone();
    assert_eq!(
        first.iter().copied().collect::<BTreeSet<_>>(),
        BTreeSet::from([0, 2, 3, 4])
    );
    for (turn, replicas) in placed.iter().enumerate() {
        let mut turned = first.clone();
        turned.rotate_left(turn);
        assert_eq!(*replicas, turned);
    }
}

/// Covers CO-051, CO-054.
#[test]
fn co_054_the_first_replicas_go_to_different_racks() {
    let cluster = racks(&[
        (0, Some("a")),
        (1, Some("a")),
        (2, Some("b")),
        (3, Some("b")),
        (4, Some("c")),
    ]);
    let rack = |id: &i32| (*id).min(4) / 2;
    for replicas in place(&cluster, 4, 50) {
        let racks: BTreeSet<_> = replicas[..3].iter().map(rack).collect();
        assert_eq!(racks.len(), 3, "{replicas:?}");
        let brokers: BTreeSet<_> = replicas.iter().collect();
        assert_eq!(brokers.len(), 4, "{replicas:?}");
    }
}

#[test]
fn co_051_where_it_begins_is_left_to_chance() {
    let cluster = Cluster::of(&[0, 1, 2, 3]);
    let mut firsts = BTreeSet::new();
    for seed in 0..40 {
        let mut rng = Rng::with_seed(seed);
        let mut placement = Placement::new(&cluster.image, &mut rng);
        firsts.insert(placement.next(1, &mut rng)[0]);
    }
    assert_eq!(firsts.len(), 4);
}

#[test]
fn co_055_each_broker_leads_and_follows_about_equally_often() {
    let flat: Vec<_> = (0..5).map(|id| (id, None)).collect();
    let racks_in_turn = ["a", "b", "c"].into_iter().cycle();
    let racked: Vec<_> = (0..9).zip(racks_in_turn.map(Some)).collect();
    for brokers in [flat, racked] {
        let cluster = racks(&brokers);
        let turns = 200;
        let placed = place(&cluster, 3, brokers.len() * turns);
        let leaders = counts(placed.iter().map(|it| it[0]));
        assert!(leaders.values().all(|count| *count == turns), "{leaders:?}");
        let all = counts(placed.iter().flatten().copied());
        let even = 3 * turns;
        let is_near = |count: &usize| count.abs_diff(even) < even / 5;
        assert!(all.values().all(is_near), "{all:?}");

        let pairs: BTreeSet<_> = placed.iter().map(|it| (it[0], it[1])).collect();
        assert!(
            pairs.len() > 2 * brokers.len(),
            "who follows whom changes with the shuffles"
        );
    }
}
