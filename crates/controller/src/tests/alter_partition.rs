//! Leaders change ISRs.

use klamm_primitives::{BrokerEpoch, LeaderEpoch, Uuid};

use super::fixture::{Cluster, assigned, broker, brokers};
use crate::deciders::{
    AlterPartition, AlterPartitionError, AlteredPartition, IsrChange, IsrMember, PartitionRefused,
    ReassignPartitions, StaleBrokerEpoch, TopicSelector,
};
use crate::image::Recovery;

impl Cluster {
    /// A change as the leader of the partition would ask for it.
    fn isr_change(&self, topic: &str, index: i32, isr: &[i32]) -> IsrChange {
        let partition = self.partition(topic, index);
        let member = |id: &i32| IsrMember {
            broker: broker(*id),
            epoch: BrokerEpoch::NONE,
        };
        IsrChange {
            topic: TopicSelector::Name(topic.into()),
            partition: index.into(),
            leader_epoch: partition.leader_epoch,
            partition_epoch: partition.partition_epoch,
            isr: isr.iter().map(member).collect(),
            recovery: Recovery::Recovered,
        }
    }

    fn alter(
        &mut self,
        leader: i32,
        change: IsrChange,
    ) -> Result<AlteredPartition, PartitionRefused> {
        let request = AlterPartition {
            broker: broker(leader),
            epoch: self.epoch(leader),
            changes: vec![change],
        };
        self.ask(request).unwrap().remove(0)
    }

    /// As [`Cluster::join_isr`], where that completes a reassignment which takes the leader away.
    pub(super) fn join_isr_and_leave(&mut self, topic: &str, index: i32, isr: &[i32]) {
        let leader = self.leader(topic, index).unwrap();
        let refused = self.alter(leader, self.isr_change(topic, index, isr));
        assert!(matches!(
            refused,
            Err(PartitionRefused::NewLeaderElected { .. })
        ));
    }

    pub(super) fn join_isr(&mut self, topic: &str, index: i32, isr: &[i32]) {
        let leader = self.leader(topic, index).unwrap();
        self.alter(leader, self.isr_change(topic, index, isr))
            .unwrap();
    }
}

/// Partition 0 of `t`, led by 1, with 2 and 3 in its ISR; 4 is no replica.
fn cluster() -> Cluster {
    let mut cluster = Cluster::of(&[1, 2, 3, 4]);
    cluster.create(assigned("t", &[&[1, 2, 3]])).unwrap();
    cluster
}

#[test]
fn co_071_success_tells_the_partition_as_it_is_now() {
    let mut cluster = cluster();
    let altered = cluster
        .alter(1, cluster.isr_change("t", 0, &[1, 2]))
        .unwrap();
    let partition = cluster.partition("t", 0);
    let expected = AlteredPartition {
        topic: cluster.image.topic("t").unwrap().id,
        partition: 0.into(),
        leader: broker(1),
        leader_epoch: LeaderEpoch::new(0),
        isr: brokers(&[1, 2]),
        partition_epoch: 1,
        recovery: Recovery::Recovered,
    };
    assert_eq!(altered, expected);
    assert_eq!((partition.isr, partition.partition_epoch), (altered.isr, 1));

    let same = cluster
        .alter(1, cluster.isr_change("t", 0, &[1, 2]))
        .unwrap();
    assert_eq!(same, expected, "no change is a success, too");
    assert_eq!(cluster.records, []);
}

#[test]
fn co_072_the_isr_is_made_of_different_replicas_with_the_leader() {
    let mut cluster = cluster();
    for isr in [&[1, 4][..], &[1, 2, 2], &[2, 3], &[]] {
        let change = cluster.isr_change("t", 0, isr);
        assert_eq!(
            cluster.alter(1, change),
            Err(PartitionRefused::InvalidIsr),
            "{isr:?}"
        );
    }
}

#[test]
fn co_073_who_is_not_active_is_not_eligible() {
    let mut cluster = cluster();
    let refused = |cluster: &mut Cluster, id| {
        let change = cluster.isr_change("t", 0, &[1, 2, 3]);
        let error = PartitionRefused::IneligibleReplica { broker: broker(id) };
        assert_eq!(cluster.alter(1, change), Err(error));
    };
    cluster.fence(3);
    refused(&mut cluster, 3);
    cluster.unfence(3);
    cluster.create(assigned("u", &[&[2, 1]])).unwrap();
    cluster.wants_shutdown(2);
    refused(&mut cluster, 2);
    let gone = crate::deciders::UnregisterBroker { broker: broker(2) };
    cluster.ask(gone).unwrap();
    refused(&mut cluster, 2);
}

#[test]
fn co_074_who_has_registered_anew_since_is_not_eligible() {
    let mut cluster = cluster();
    let with_epoch = |cluster: &Cluster, epoch| {
        let mut change = cluster.isr_change("t", 0, &[1, 2, 3]);
        change.isr[2].epoch = epoch;
        change
    };
    let old = BrokerEpoch::new(cluster.epoch(3).get() - 1);
    let error = PartitionRefused::IneligibleReplica { broker: broker(3) };
    let change = with_epoch(&cluster, old);
    assert_eq!(cluster.alter(1, change), Err(error));
    for epoch in [cluster.epoch(3), BrokerEpoch::NONE] {
        let change = with_epoch(&cluster, epoch);
        assert!(cluster.alter(1, change).is_ok());
    }
}

#[test]
fn co_075_unknown_topics_are_told_apart_by_how_they_are_named() {
    let mut cluster = cluster();
    let with = |cluster: &Cluster, topic, partition: i32| IsrChange {
        topic,
        partition: partition.into(),
        ..cluster.isr_change("t", 0, &[1])
    };
    let id = Uuid::from_u128(5);
    let change = with(&cluster, TopicSelector::Id(id), 0);
    assert_eq!(
        cluster.alter(1, change),
        Err(PartitionRefused::UnknownTopicId { id })
    );
    let known = TopicSelector::Id(cluster.image.topic("t").unwrap().id);
    for (topic, index) in [
        (TopicSelector::Name("u".into()), 0),
        (TopicSelector::Name("t".into()), 1),
        (TopicSelector::Name("t".into()), -1),
        (known.clone(), 1),
    ] {
        let change = with(&cluster, topic, index);
        assert_eq!(
            cluster.alter(1, change),
            Err(PartitionRefused::UnknownPartition)
        );
    }
    let change = with(&cluster, known, 0);
    assert!(cluster.alter(1, change).is_ok());
}

#[test]
fn co_076_while_recovering_the_isr_is_the_leader_alone() {
    let mut cluster = Cluster::with_options(crate::options::ControllerOptions {
        unclean_election: true,
        ..Default::default()
    });
    cluster.add(&[1, 2]);
    cluster.create(assigned("t", &[&[1, 2]])).unwrap();
    let recovering = |cluster: &Cluster, isr| IsrChange {
        recovery: Recovery::Recovering,
        ..cluster.isr_change("t", 0, isr)
    };
    let change = recovering(&cluster, &[1]);
    assert_eq!(
        cluster.alter(1, change),
        Err(PartitionRefused::RecoveredAlready)
    );

    cluster.fence(2);
    cluster.unfence(2);
    cluster.fence(1);
    cluster.unfence(1);
    assert_eq!(cluster.partition("t", 0).recovery, Recovery::Recovering);
    let change = recovering(&cluster, &[2, 1]);
    let error = PartitionRefused::RecoveringWithFollowers;
    assert_eq!(cluster.alter(2, change), Err(error));
    let change = recovering(&cluster, &[2]);
    assert!(cluster.alter(2, change).is_ok());
    let change = cluster.isr_change("t", 0, &[2, 1]);
    let altered = cluster.alter(2, change).unwrap();
    assert_eq!(altered.recovery, Recovery::Recovered);
    assert_eq!(cluster.partition("t", 0).recovery, Recovery::Recovered);
}

/// Covers CO-077, CO-017.
#[test]
fn co_077_each_partition_is_judged_alone_and_a_stale_broker_not_at_all() {
    let mut cluster = cluster();
    cluster.create(assigned("u", &[&[1, 2]])).unwrap();
    let request = |cluster: &Cluster, epoch| AlterPartition {
        broker: broker(1),
        epoch,
        changes: vec![
            cluster.isr_change("t", 0, &[1, 4]),
            cluster.isr_change("u", 0, &[1]),
        ],
    };
    let stale = BrokerEpoch::new(cluster.epoch(1).get() + 1);
    let refused = cluster.ask(request(&cluster, stale));
    let error = StaleBrokerEpoch {
        broker: broker(1),
        given: stale,
        present: Some(cluster.epoch(1)),
    };
    assert_eq!(refused, Err(AlterPartitionError::StaleEpoch(error)));

    let answers = cluster.ask(request(&cluster, cluster.epoch(1))).unwrap();
    assert_eq!(answers[0], Err(PartitionRefused::InvalidIsr));
    assert!(answers[1].is_ok());
    assert_eq!(cluster.isr("t", 0), brokers(&[1, 2, 3]));
    assert_eq!(cluster.isr("u", 0), brokers(&[1]));
}

#[test]
fn changes_based_on_other_epochs_are_refused() {
    let mut cluster = cluster();
    cluster.fence(1);
    cluster.unfence(1);
    let based = |cluster: &Cluster, leader_epoch: i32, partition_epoch| IsrChange {
        leader_epoch: leader_epoch.into(),
        partition_epoch,
        ..cluster.isr_change("t", 0, &[2, 3])
    };
    let change = based(&cluster, 0, 1);
    let fenced = PartitionRefused::FencedLeaderEpoch {
        given: 0.into(),
        present: 1.into(),
    };
    assert_eq!(cluster.alter(2, change), Err(fenced));
    let change = based(&cluster, 1, 0);
    let stale = PartitionRefused::StalePartitionEpoch {
        given: 0,
        present: 1,
    };
    assert_eq!(cluster.alter(2, change), Err(stale));
    for (leader_epoch, partition_epoch) in [(2, 1), (1, 2)] {
        let change = based(&cluster, leader_epoch, partition_epoch);
        assert_eq!(
            cluster.alter(2, change),
            Err(PartitionRefused::AheadOfController)
        );
    }
    let change = based(&cluster, 1, 1);
    let leader = Some(broker(2));
    assert_eq!(
        cluster.alter(1, change),
        Err(PartitionRefused::NotLeader { leader })
    );
}

#[test]
fn a_leader_that_a_reassignment_takes_away_learns_who_leads_now() {
    let mut cluster = cluster();
    let target = Some(brokers(&[4, 2]));
    let request = ReassignPartitions {
        partitions: vec![(super::fixture::partition("t", 0), target)],
    };
    assert_eq!(cluster.ask(request), [Ok(())]);
    let change = cluster.isr_change("t", 0, &[1, 2, 4]);
    let leader = Some(broker(4));
    assert_eq!(
        cluster.alter(1, change),
        Err(PartitionRefused::NewLeaderElected { leader })
    );
    let partition = cluster.partition("t", 0);
    assert_eq!(partition.replicas, brokers(&[4, 2]));
    assert_eq!(partition.isr, brokers(&[2, 4]));
}
