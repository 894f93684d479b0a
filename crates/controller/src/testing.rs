//! What every [`Quorum`] must do, whoever implements it.

use klamm_primitives::{BrokerId, Offset, ProducerId, TopicId, Uuid};
use klamm_wire::metadata::ClusterMetadataRecord;
use klamm_wire::metadata::producer_ids::ProducerIdsRecord;
use klamm_wire::metadata::topic::TopicRecord;

use crate::{ApplyError, ProposeError, Quorum};

/// Proposes to a quorum that has no topics yet and of which this node is the leader.
///
/// # Panics
/// Where the quorum does not do what the trait says.
pub async fn check_quorum<Q: Quorum>(leader: &Q) {
    assert_eq!(leader.leader(), Some(leader.node_id()), "it leads");
    let before = leader.watch().borrow().offset();

    let mut images = leader.watch();
    images.mark_unchanged();
    let first = propose_topic(leader, "first", 1).await;
    assert!(first > before, "the log grows");
    assert!(images.has_changed().unwrap(), "who watches is told");
    let image = images.borrow_and_update().clone();
    assert_eq!(image.offset(), first, "the image is at the records' offset");
    assert!(image.topic("first").is_some(), "and has them");

    let second = propose_topic(leader, "second", 2).await;
    assert!(second > first, "offsets rise");
    assert!(image.topic("second").is_none(), "an image never changes");

    check_all_or_none(leader).await;
    check_many_at_once(leader).await;
}

async fn propose_topic<Q: Quorum>(leader: &Q, name: &str, id: u128) -> Offset {
    let proposed = leader.propose(vec![topic(name, id)]).await;
    proposed.unwrap_or_else(|error| panic!("`{name}` was refused: {error}"))
}

fn topic(name: &str, id: u128) -> ClusterMetadataRecord {
    TopicRecord {
        name: name.into(),
        topic_id: topic_id(id),
        ..TopicRecord::default()
    }
    .into()
}

fn topic_id(id: u128) -> TopicId {
    Uuid::from_u128(id << 64)
}

/// Records that belong together are written all or none. (CO-003)
async fn check_all_or_none<Q: Quorum>(leader: &Q) {
    let before = leader.watch().borrow().clone();
    let records = vec![topic("third", 3), topic("first", 4)];
    let refused = leader.propose(records).await;
    let exists = ApplyError::TopicExists {
        name: "first".into(),
        id: topic_id(4),
    };
    assert_eq!(refused, Err(ProposeError::Rejected(exists)));
    assert_eq!(*leader.watch().borrow(), before, "nothing was written");

    let records = vec![topic("third", 3), topic("fourth", 4)];
    let offset = leader.propose(records).await.unwrap();
    let after = leader.watch().borrow().clone();
    assert_eq!(after.offset(), offset);
    assert!(after.topic("third").is_some() && after.topic("fourth").is_some());
}

/// Proposals that overlap are all carried out, each at an offset of its own.
async fn check_many_at_once<Q: Quorum>(leader: &Q) {
    let propose = |next: i64| async move {
        let record = ProducerIdsRecord {
            broker_id: BrokerId::new(1),
            next_producer_id: ProducerId::new(next),
            ..ProducerIdsRecord::default()
        };
        leader.propose(vec![record.into()]).await.unwrap()
    };
    let offsets = tokio::join!(propose(1000), propose(2000), propose(3000));
    assert!(
        offsets.0 < offsets.1 && offsets.1 < offsets.2,
        "{offsets:?}"
    );
    let image = leader.watch().borrow().clone();
    assert_eq!(image.next_producer_id(), ProducerId::new(3000));
    assert_eq!(image.offset(), offsets.2);
}
