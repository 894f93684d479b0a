//! Blocks of producer ids.

use klamm_primitives::{BrokerEpoch, ProducerId};
use klamm_wire::metadata::producer_ids::ProducerIdsRecord;

use super::fixture::{Cluster, broker};
use crate::deciders::{AllocateProducerIds, ProducerIdBlock, ProducerIdsError, StaleBrokerEpoch};
use crate::image::MetadataImage;

fn request(cluster: &Cluster) -> AllocateProducerIds {
    AllocateProducerIds {
        broker: broker(1),
        epoch: cluster.epoch(1),
    }
}

fn block(first: i64) -> ProducerIdBlock {
    ProducerIdBlock {
        first: ProducerId::new(first),
        count: 1000,
    }
}

#[test]
fn co_085_blocks_follow_one_another_over_restarts_too() {
    let mut cluster = Cluster::of(&[1]);
    assert_eq!(cluster.ask(request(&cluster)), Ok(block(0)));
    assert_eq!(cluster.ask(request(&cluster)), Ok(block(1000)));

    let records = cluster.image.to_records();
    let offset = cluster.image.offset();
    cluster.image = MetadataImage::from_records("a-cluster", &records, offset).unwrap();
    assert_eq!(cluster.ask(request(&cluster)), Ok(block(2000)));
}

/// Covers CO-086, CO-017.
#[test]
fn co_086_asking_needs_the_present_epoch_and_ids_that_are_left() {
    let mut cluster = Cluster::of(&[1]);
    let stale = AllocateProducerIds {
        epoch: BrokerEpoch::NONE,
        ..request(&cluster)
    };
    let error = StaleBrokerEpoch {
        broker: broker(1),
        given: BrokerEpoch::NONE,
        present: Some(cluster.epoch(1)),
    };
    assert_eq!(cluster.ask(stale), Err(error.into()));
    let stranger = AllocateProducerIds {
        broker: broker(2),
        ..request(&cluster)
    };
    assert!(matches!(
        cluster.ask(stranger),
        Err(ProducerIdsError::StaleEpoch(_))
    ));

    let last = i64::MAX - 1000;
    let near_the_end = ProducerIdsRecord {
        next_producer_id: ProducerId::new(last),
        ..ProducerIdsRecord::default()
    };
    cluster.commit(vec![near_the_end.into()]);
    assert_eq!(cluster.ask(request(&cluster)), Ok(block(last)));
    let next = ProducerId::new(i64::MAX);
    assert_eq!(
        cluster.ask(request(&cluster)),
        Err(ProducerIdsError::UsedUp { next })
    );
    assert_eq!(cluster.records, []);
}
