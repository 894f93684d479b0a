//! Who leads.

use klamm_primitives::TopicPartition;

use super::fixture::{Cluster, assigned, broker, brokers, partition};
use crate::deciders::{
    ElectLeaderError, ElectLeaders, ElectionKind, balance, elect_unclean_leaders,
};
use crate::image::{ConfigResource, Recovery};
use crate::options::ControllerOptions;
use crate::partition_change::{Election, PartitionChange};

fn elect(kind: ElectionKind, partitions: Option<Vec<TopicPartition>>) -> ElectLeaders {
    ElectLeaders { kind, partitions }
}

/// Covers CO-061, CO-063.
#[test]
fn co_061_the_leader_stays_else_the_first_of_the_isr_in_the_order_of_replicas() {
    let mut cluster = Cluster::of(&[1, 2, 3]);
    cluster.create(assigned("t", &[&[3, 1, 2]])).unwrap();
    cluster.fence(1);
    let partition = cluster.partition("t", 0);
    assert_eq!(
        (partition.leader, partition.leader_epoch.get()),
        (Some(broker(3)), 0)
    );
    assert_eq!(partition.partition_epoch, 1, "the ISR changed");

    cluster.fence(3);
    let partition = cluster.partition("t", 0);
    assert_eq!(
        (partition.leader, partition.leader_epoch.get()),
        (Some(broker(2)), 1)
    );
    assert_eq!(partition.partition_epoch, 2);

    cluster.unfence(3);
    cluster.fence(2);
    let partition = cluster.partition("t", 0);
    assert_eq!((partition.leader, partition.leader_epoch.get()), (None, 2));
    assert_eq!(
        partition.isr,
        brokers(&[2]),
        "3 is alive and not in the ISR"
    );
}

#[test]
fn co_064_no_change_is_no_record() {
    let mut cluster = Cluster::of(&[1, 2]);
    cluster.create(assigned("t", &[&[1, 2]])).unwrap();
    let topic = cluster.image.topic("t").unwrap();
    let partition = cluster.partition("t", 0);
    for election in [Election::Clean, Election::Preferred, Election::Unclean] {
        let change = PartitionChange::of(topic.id, 0.into(), &partition);
        assert_eq!(change.build(election, |_| true), None);
    }
}

/// Covers CO-065, CO-069.
#[test]
fn co_065_a_preferred_election_prefers_the_first_replica() {
    let mut cluster = Cluster::of(&[1, 2, 3]);
    cluster
        .create(assigned("t", &[&[1, 2, 3], &[2, 1, 3]]))
        .unwrap();
    cluster.fence(1);
    cluster.unfence(1);
    let name = || partition("t", 0);
    let answer = cluster.ask(elect(ElectionKind::Preferred, Some(vec![name()])));
    let unavailable = Err(ElectLeaderError::PreferredNotAvailable);
    assert_eq!(answer, [(name(), unavailable)], "it is not in the ISR");

    let all = cluster.ask(elect(ElectionKind::Preferred, None));
    assert_eq!(
        all,
        [(name(), unavailable)],
        "where none is needed nothing is said"
    );

    cluster.join_isr("t", 0, &[2, 3, 1]);
    let unknown = partition("t", 9);
    let request = vec![
        name(),
        partition("t", 1),
        unknown.clone(),
        partition("u", 0),
    ];
    let answer = cluster.ask(elect(ElectionKind::Preferred, Some(request)));
    let expected = [
        (name(), Ok(())),
        (partition("t", 1), Err(ElectLeaderError::NotNeeded)),
        (unknown, Err(ElectLeaderError::UnknownPartition)),
        (partition("u", 0), Err(ElectLeaderError::UnknownPartition)),
    ];
    assert_eq!(answer, expected);
    assert_eq!(cluster.leader("t", 0), Some(1));
}

/// Covers CO-066, CO-067.
#[test]
fn co_066_balancing_moves_leadership_back_in_batches() {
    let mut cluster = Cluster::of(&[1, 2]);
    let lists = vec![&[1, 2][..]; 1_500];
    cluster.create(assigned("t", &lists)).unwrap();
    cluster.create(assigned("u", &[&[2, 1]])).unwrap();
    cluster.fence(1);
    cluster.unfence(1);
    let (records, has_more) = balance(&cluster.image);
    assert_eq!(
        (records.len(), has_more),
        (0, false),
        "1 is not back in an ISR"
    );

    for index in 0..1_500 {
        cluster.join_isr("t", index, &[2, 1]);
    }
    let (records, has_more) = balance(&cluster.image);
    assert_eq!((records.len(), has_more), (1_000, true));
    cluster.commit(records);
    let (records, has_more) = balance(&cluster.image);
    assert_eq!((records.len(), has_more), (500, false));
    cluster.commit(records);
    assert_eq!(cluster.leader("t", 1_499), Some(1));
    assert_eq!(balance(&cluster.image), (Vec::new(), false));
}

#[test]
fn co_068_where_it_is_allowed_a_replica_outside_of_the_isr_leads_at_once() {
    let topic = ConfigResource::Topic("t".into());
    for set in [None, Some(topic), Some(ConfigResource::AllBrokers)] {
        let mut cluster = Cluster::with_options(ControllerOptions {
            unclean_election: set.is_none(),
            ..ControllerOptions::default()
        });
        cluster.add(&[1, 2]);
        cluster.create(assigned("t", &[&[1, 2]])).unwrap();
        if let Some(resource) = &set {
            cluster.set(resource, "unclean.leader.election.enable", "true");
        }
        cluster.fence(2);
        cluster.unfence(2);
        assert_eq!(cluster.isr("t", 0), brokers(&[1]));
        cluster.fence(1);
        let partition = cluster.partition("t", 0);
        assert_eq!(partition.leader, Some(broker(2)), "{set:?}");
        assert_eq!(partition.isr, brokers(&[2]));
        assert_eq!(partition.recovery, Recovery::Recovering);
    }
}

#[test]
fn co_068_a_topic_can_forbid_what_the_cluster_allows() {
    let mut cluster = Cluster::with_options(ControllerOptions {
        unclean_election: true,
        ..ControllerOptions::default()
    });
    cluster.add(&[1, 2]);
    cluster.create(assigned("t", &[&[1, 2]])).unwrap();
    let topic = ConfigResource::Topic("t".into());
    cluster.set(&topic, "unclean.leader.election.enable", "false");
    cluster.fence(2);
    cluster.unfence(2);
    cluster.fence(1);
    assert_eq!(cluster.leader("t", 0), None);
}

#[test]
fn co_068_what_is_allowed_later_is_done_by_the_periodic_look() {
    let mut cluster = leaderless();
    let look = |cluster: &Cluster| elect_unclean_leaders(&cluster.core, &cluster.image);
    assert_eq!(look(&cluster), (Vec::new(), false), "it is not allowed");
    let topic = ConfigResource::Topic("t".into());
    cluster.set(&topic, "unclean.leader.election.enable", "true");
    assert_eq!(
        cluster.leader("t", 0),
        None,
        "a setting alone elects nobody"
    );
    let (records, has_more) = look(&cluster);
    assert!(!has_more);
    cluster.commit(records);
    assert_eq!(cluster.leader("t", 0), Some(2));
    assert_eq!(look(&cluster), (Vec::new(), false));
}

#[test]
fn co_070_an_unclean_election_needs_a_partition_without_leader_and_a_live_replica() {
    let mut cluster = Cluster::of(&[1, 2]);
    cluster.create(assigned("t", &[&[1, 2]])).unwrap();
    let request = || elect(ElectionKind::Unclean, Some(vec![partition("t", 0)]));
    let outcome = |error| [(partition("t", 0), Err(error))];
    assert_eq!(cluster.ask(request()), outcome(ElectLeaderError::NotNeeded));

    let mut cluster = leaderless();
    cluster.fence(2);
    assert_eq!(
        cluster.ask(request()),
        outcome(ElectLeaderError::NoneAvailable)
    );
    cluster.unfence(2);
    assert_eq!(cluster.ask(request()), [(partition("t", 0), Ok(()))]);
    let partition = cluster.partition("t", 0);
    assert_eq!(
        (partition.leader, partition.isr),
        (Some(broker(2)), brokers(&[2]))
    );
}

/// Partition 0 of `t` without a leader: 1 is in the ISR and fenced, 2 is alive and not in it.
fn leaderless() -> Cluster {
    let mut cluster = Cluster::of(&[1, 2]);
    cluster.create(assigned("t", &[&[1, 2]])).unwrap();
    cluster.fence(2);
    cluster.unfence(2);
    cluster.fence(1);
    assert_eq!(cluster.leader("t", 0), None);
    cluster
}
