//! Replicas move.

use super::fixture::{Cluster, assigned, broker, brokers, partition};
use crate::deciders::{AssignmentError, ReassignError, ReassignPartitions, RunningReassignment};

impl Cluster {
    fn reassign(&mut self, target: Option<&[i32]>) -> Result<(), ReassignError> {
        let request = ReassignPartitions {
            partitions: vec![(partition("t", 0), target.map(brokers))],
        };
        self.ask(request).remove(0)
    }

    /// Replicas, those added and those taken away.
    fn lists(&self) -> [Vec<i32>; 3] {
        let partition = self.partition("t", 0);
        [partition.replicas, partition.adding, partition.removing]
            .map(|list| list.into_iter().map(i32::from).collect())
    }
}

/// Partition 0 of `t` on 1, 2 and 3, led by 1.
fn cluster() -> Cluster {
    let mut cluster = Cluster::of(&[1, 2, 3, 4, 5]);
    cluster.create(assigned("t", &[&[1, 2, 3]])).unwrap();
    cluster
}

#[test]
fn co_078_while_it_runs_the_replicas_are_the_target_and_what_it_takes_away() {
    let mut cluster = cluster();
    cluster.reassign(Some(&[4, 2])).unwrap();
    assert_eq!(cluster.lists(), [vec![4, 2, 1, 3], vec![4], vec![1, 3]]);
    assert_eq!(cluster.leader("t", 0), Some(1));
    assert_eq!(cluster.isr("t", 0), brokers(&[1, 2, 3]));
    let directories = cluster.partition("t", 0).directories;
    assert_eq!(directories.len(), 4);
}

#[test]
fn co_079_it_is_complete_when_all_of_the_target_are_in_sync() {
    let mut cluster = cluster();
    cluster.reassign(Some(&[4, 5])).unwrap();
    cluster.join_isr("t", 0, &[1, 2, 3, 4]);
    assert_eq!(
        cluster.lists(),
        [vec![4, 5, 1, 2, 3], vec![4, 5], vec![1, 2, 3]]
    );
    let epoch = cluster.partition("t", 0).leader_epoch.get();
    let change = super::fixture::partition("t", 0);
    assert_eq!(
        cluster.image.running_reassignments(None)[0].partition,
        change
    );

    // The leader goes with it, so it learns of its successor instead of a success.
    cluster.join_isr_and_leave("t", 0, &[1, 2, 3, 4, 5]);
    assert_eq!(cluster.lists(), [vec![4, 5], vec![], vec![]]);
    let partition = cluster.partition("t", 0);
    assert_eq!(partition.isr, brokers(&[4, 5]));
    assert_eq!(
        partition.leader,
        Some(broker(4)),
        "a removed leader is replaced"
    );
    assert_eq!(partition.leader_epoch.get(), epoch + 1);
    assert_eq!(partition.directories.len(), 2);
}

#[test]
fn co_080_reordering_and_removing_are_complete_at_once() {
    let mut cluster = cluster();
    cluster.reassign(Some(&[3, 2, 1])).unwrap();
    assert_eq!(cluster.lists(), [vec![3, 2, 1], vec![], vec![]]);
    assert_eq!(cluster.leader("t", 0), Some(1), "who leads goes on");
    let epoch = cluster.partition("t", 0).leader_epoch.get();

    cluster.reassign(Some(&[2, 1])).unwrap();
    assert_eq!(cluster.lists(), [vec![2, 1], vec![], vec![]]);
    assert_eq!(cluster.isr("t", 0), brokers(&[1, 2]));
    let after = cluster.partition("t", 0).leader_epoch.get();
    assert_eq!(after, epoch + 1, "3 must not go on as a follower");
}

#[test]
fn co_081_cancelling_goes_back_to_the_replicas_of_before() {
    let mut cluster = cluster();
    assert_eq!(cluster.reassign(None), Err(ReassignError::NotRunning));
    cluster.reassign(Some(&[1, 2, 3, 4])).unwrap();
    cluster.reassign(None).unwrap();
    assert_eq!(cluster.lists(), [vec![1, 2, 3], vec![], vec![]]);
    assert_eq!(cluster.isr("t", 0), brokers(&[1, 2, 3]));
}

#[test]
fn co_081_a_cancel_that_would_leave_nobody_in_sync_is_refused() {
    let mut cluster = Cluster::of(&[1, 2, 3]);
    cluster.create(assigned("t", &[&[1]])).unwrap();
    cluster.reassign(Some(&[2, 3])).unwrap();
    cluster.join_isr("t", 0, &[1, 2]);
    cluster.fence(1);
    assert_eq!(cluster.leader("t", 0), Some(2));
    assert_eq!(cluster.reassign(None), Err(ReassignError::NoneInSync));
    assert_eq!(cluster.lists(), [vec![2, 3, 1], vec![2, 3], vec![1]]);

    let topic = crate::image::ConfigResource::Topic("t".into());
    cluster.set(&topic, "unclean.leader.election.enable", "true");
    cluster.unfence(1);
    cluster.reassign(None).unwrap();
    assert_eq!(cluster.lists(), [vec![1], vec![], vec![]]);
    assert_eq!(cluster.leader("t", 0), Some(1));
}

#[test]
fn co_082_bad_targets_are_refused_and_others_go_on() {
    let mut cluster = cluster();
    let bad = |error: AssignmentError| Err(error.into());
    assert_eq!(cluster.reassign(Some(&[])), bad(AssignmentError::Empty));
    let unknown = AssignmentError::UnknownBroker { broker: broker(9) };
    assert_eq!(cluster.reassign(Some(&[1, 9])), bad(unknown));
    let repeated = AssignmentError::Repeated { broker: broker(1) };
    assert_eq!(cluster.reassign(Some(&[1, 1])), bad(repeated));

    let request = ReassignPartitions {
        partitions: vec![
            (partition("u", 0), Some(brokers(&[1]))),
            (partition("t", 1), Some(brokers(&[1]))),
            (partition("t", 0), Some(brokers(&[4]))),
        ],
    };
    let unknown = || Err(ReassignError::UnknownPartition);
    assert_eq!(cluster.ask(request), [unknown(), unknown(), Ok(())]);
    assert_eq!(cluster.lists(), [vec![4, 1, 2, 3], vec![4], vec![1, 2, 3]]);
}

#[test]
fn co_083_running_reassignments_are_listed() {
    let mut cluster = cluster();
    assert_eq!(cluster.image.running_reassignments(None), []);
    cluster.create(assigned("u", &[&[1]])).unwrap();
    cluster.reassign(Some(&[4, 2])).unwrap();
    let running = RunningReassignment {
        partition: partition("t", 0),
        replicas: brokers(&[4, 2, 1, 3]),
        adding: brokers(&[4]),
        removing: brokers(&[1, 3]),
    };
    let asked = [partition("u", 0), partition("x", 0), partition("t", 0)];
    let of_those = cluster.image.running_reassignments(Some(&asked));
    assert_eq!(cluster.image.running_reassignments(None), of_those);
    assert_eq!(of_those, [running]);
}

#[test]
fn co_084_a_new_target_takes_the_place_of_the_one_that_runs() {
    let mut cluster = cluster();
    cluster.reassign(Some(&[4, 2])).unwrap();
    cluster.join_isr("t", 0, &[1, 2, 3]);
    cluster.reassign(Some(&[5, 1])).unwrap();
    assert_eq!(cluster.lists(), [vec![5, 1, 2, 3], vec![5], vec![2, 3]]);
}
