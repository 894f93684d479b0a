//! Produce (key 0).
//!
//! v5 tells the log start offset, v7 allows zstd, v8 tells the records for which a batch was
//! refused, v10 where the leader has gone, v13 names topics by id. Versions 0 to 2 are listed by
//! ApiVersions but not served. Differs from Apache Kafka: records of transactions are refused, as
//! there is no coordinator that could have begun one; a partition that is named twice is refused.

mod response;

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use klamm_controller::MetadataImage;
use klamm_io::{Clock, Disk};
use klamm_network::{ListenerName, Parked};
use klamm_records::BatchHeader;
use klamm_replica::{AppendEntry, AppendOutcome, AppendRequest, Origin, PartitionAppended};
use klamm_wire::ErrorCode;
use klamm_wire::messages::produce::{PartitionProduceData, ProduceRequest};
use tracing::info;

use self::response::{errors, response};
use super::Ticket;
use crate::call::{Call, ParkedCall};
use crate::layout::{Layout, Named};
use crate::node::Node;

/// The first version in which batches may be compressed by zstd.
const ZSTD_SINCE: i16 = 7;

/// The first version that names topics by their ids.
const IDS_SINCE: i16 = 13;

/// A request that waits until its records are safe.
pub(crate) struct Waiting<F> {
    call: ParkedCall<F>,
    layout: Layout,
    listener: ListenerName,
}

impl<F> Waiting<F> {
    /// Answers with what has become of the partitions that were passed on.
    pub(crate) fn answer(self, image: &MetadataImage, results: Vec<PartitionAppended>) {
        let version = self.call.head.version;
        let listener = self.listener.as_str();
        let answer = response(&self.layout, results, image, listener, version);
        self.call.answer(&answer);
    }
}

pub(super) fn handle<D: Disk, C: Clock>(node: &Arc<Node<D, C>>, call: Call<D::File>) {
    let version = call.version();
    let Some((call, request)) = call.decode::<ProduceRequest>() else {
        return;
    };
    let acks = request.acks;
    let timeout_ms = u64::try_from(request.timeout_ms).unwrap_or(0);
    let image = node.image();
    let (layout, entries) = lay_out(&image, request, version);
    let append = AppendRequest {
        acks,
        timeout: Duration::from_millis(timeout_ms),
        origin: Origin::Client,
        zstd_allowed: version >= ZSTD_SINCE,
        entries,
    };
    let (outcome, then) = node
        .codecs
        .lend(|codecs| node.replicas.append(append, codecs, node.now()));
    match outcome {
        AppendOutcome::Done(results) if acks == 0 => end_unanswered(call, &layout, &results),
        AppendOutcome::Done(results) => {
            let answer = response(&layout, results, &image, call.listener(), version);
            call.answer(&answer);
        }
        AppendOutcome::Waits(wait) => {
            let waiting = Waiting {
                listener: call.request.context.listener.clone(),
                call: call.park(Parked::Produce),
                layout,
            };
            let mut finished = Vec::new();
            node.replicas
                .wait_produce(wait, Ticket::Produce(waiting), &mut finished);
            node.settle(finished);
        }
    }
    node.follow_up(then);
}

/// Notes all partitions, and passes those on that can be written to.
fn lay_out(
    image: &MetadataImage,
    request: ProduceRequest,
    version: i16,
) -> (Layout, Vec<AppendEntry>) {
    let is_named = request.transactional_id.is_some();
    let partitions = request
        .topic_data
        .iter()
        .map(|it| it.partition_data.len())
        .sum();
    let mut layout = Layout::with_capacity(request.topic_data.len());
    let mut entries = Vec::with_capacity(partitions);
    let mut is_forged = false;
    for topic in request.topic_data {
        let named = Named::by_version(version, IDS_SINCE, &topic.name, topic.topic_id);
        let topic_id = (version >= IDS_SINCE).then_some(topic.topic_id);
        let mut open = layout.topic(image, named, topic.partition_data.len());
        for data in topic.partition_data {
            let index = data.index;
            let records = records_of(&data);
            let is_transactional = is_transactional(&records);
            is_forged |= is_transactional && !is_named;
            let Some(partition) = open.partition(index) else {
                continue;
            };
            if is_transactional {
                open.refuse(ErrorCode::INVALID_TXN_STATE);
            } else {
                entries.push(AppendEntry {
                    partition,
                    topic_id,
                    records,
                });
            }
        }
    }
    if is_forged {
        // Whoever may not use a transactional id has nothing of the request done. (AP-013)
        layout.refuse_all(ErrorCode::TRANSACTIONAL_ID_AUTHORIZATION_FAILED);
        entries.clear();
    } else if has_twice(&entries) {
        layout.refuse_all(ErrorCode::INVALID_REQUEST);
        entries.clear();
    }
    (layout, entries)
}

fn records_of(data: &PartitionProduceData) -> Bytes {
    let records = data.records.as_ref().and_then(klamm_wire::Records::bytes);
    records.cloned().unwrap_or_default()
}

/// Whether the records say that they belong to a transaction. What is no batch says nothing.
fn is_transactional(records: &Bytes) -> bool {
    BatchHeader::read(records).is_ok_and(|it| it.attributes.is_transactional())
}

fn has_twice(entries: &[AppendEntry]) -> bool {
    let mut seen = HashSet::new();
    entries.len() > 1 && entries.iter().any(|it| !seen.insert(&it.partition))
}

/// Ends a request that wants no answer. After any error its connection is closed, so that the
/// producer notices and asks for metadata. (B2.8, AP-005, AP-006)
fn end_unanswered<F>(call: Call<F>, layout: &Layout, results: &[PartitionAppended]) {
    let errors = errors(layout, results);
    if errors.is_empty() {
        call.answer_nothing();
        return;
    }
    let header = &call.request.frame.header;
    info!(
        client_id = call.request.client_id(),
        correlation_id = %header.correlation_id,
        connection = %call.request.context.id,
        errors,
        "produce request with acks=0 failed, closing its connection"
    );
    call.close();
}

#[cfg(test)]
mod tests {
    use klamm_primitives::{PartitionIndex, Uuid};
    use klamm_wire::header::RequestHeader;
    use klamm_wire::messages::produce::TopicProduceData;
    use klamm_wire::metadata::partition::PartitionRecord;
    use klamm_wire::metadata::topic::TopicRecord;
    use klamm_wire::{ApiSet, Listener, Offer, RequestFrame, encode_request};

    use super::*;

    /// Bytes of a frame, which are let go together with a count of them.
    struct Counted(
        Bytes,
        #[expect(dead_code, reason = "it is only counted")] Arc<()>,
    );

    impl AsRef<[u8]> for Counted {
        fn as_ref(&self) -> &[u8] {
            &self.0
        }
    }

    fn image() -> MetadataImage {
        let topic = TopicRecord {
            name: "a-topic".into(),
            topic_id: Uuid::ONE,
            ..TopicRecord::default()
        };
        let partition = PartitionRecord {
            partition_id: PartitionIndex::new(0),
            topic_id: Uuid::ONE,
            replicas: vec![1.into()],
            isr: vec![1.into()],
            leader: 1.into(),
            ..PartitionRecord::default()
        };
        let empty = MetadataImage::new("a-cluster");
        let image = empty.apply(
            &[topic.into(), partition.into()],
            klamm_primitives::Offset::ZERO,
        );
        image.unwrap()
    }

    /// Covers AP-016: once the records are appended, and the request let go of, nothing of its bytes
    /// is kept by what waits: names are those of the metadata.
    #[test]
    fn ap_016_what_waits_keeps_nothing_of_the_requests_bytes() {
        const VERSION: i16 = 9;
        let partition = |index| PartitionProduceData {
            index: PartitionIndex::new(index),
            records: Some(Bytes::from(vec![7; 10_000]).into()),
            ..PartitionProduceData::default()
        };
        let topic = |name: &'static str| TopicProduceData {
            name: name.into(),
            partition_data: vec![partition(0), partition(9)],
            ..TopicProduceData::default()
        };
        let request = ProduceRequest {
            acks: -1,
            timeout_ms: 30_000,
            topic_data: vec![topic("a-topic"), topic("nobodys")],
            ..ProduceRequest::default()
        };
        let header = RequestHeader::of::<ProduceRequest>(VERSION, 7.into(), Some("me".into()));
        let sent = encode_request(&header, &request).unwrap();
        let sent = sent.into_bytes().unwrap().slice(4..);
        let held = Arc::new(());
        let received = Bytes::from_owner(Counted(sent, Arc::clone(&held)));
        let offer = Offer {
            listener: Listener::Broker,
            unstable: false,
            telemetry: false,
            apis: ApiSet::ALL,
        };
        let frame = RequestFrame::parse(received, &offer).unwrap();
        let (layout, entries) = lay_out(&image(), frame.decode().unwrap(), VERSION);
        assert_eq!(entries.len(), 1);
        // As where the request is parked, and its records are appended.
        drop(frame);
        assert_eq!(Arc::strong_count(&held), 2, "the records are slices of it");
        drop(entries);
        assert_eq!(Arc::strong_count(&held), 1);
        let names: Vec<_> = layout.topics.iter().map(|it| &*it.name).collect();
        assert_eq!(names, ["a-topic", "nobodys"]);
    }
}
