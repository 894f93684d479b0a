//! What is answered to a fetch request.

use klamm_controller::MetadataImage;
use klamm_io::{DiskFile, FileRange};
use klamm_primitives::{Offset, TopicPartition};
use klamm_replica::{FetchError, FetchedRecords, PartitionFetched};
use klamm_wire::messages::fetch::{
    AbortedTransaction, EpochEndOffset, FetchResponse, FetchableTopicResponse, LeaderIdAndEpoch,
    NodeEndpoint, PartitionData,
};
use klamm_wire::{ErrorCode, Records};

use crate::error_code;
use crate::layout::Layout;
use crate::node::CurrentLeader;

/// The first version that tells where the leader has gone.
const LEADERS_SINCE: i16 = 16;

/// The last version whose clients do not know `KAFKA_STORAGE_ERROR`.
const STORAGE_ERROR_UNKNOWN_UNTIL: i16 = 5;

/// A response, and the ranges of files that go into it.
pub(super) struct Answer<F> {
    pub(super) message: FetchResponse,
    pub(super) files: Vec<FileRange<F>>,
}

/// The answer: each partition of the request, in its order.
pub(super) fn response<F: DiskFile>(
    layout: &Layout,
    results: Vec<PartitionFetched<F>>,
    image: &MetadataImage,
    listener: &str,
    version: i16,
) -> Answer<F> {
    let mut results = results.into_iter();
    let mut files = Vec::with_capacity(results.len());
    let mut node_endpoints: Vec<NodeEndpoint> = Vec::new();
    let mut responses = Vec::with_capacity(layout.topics.len());
    for topic in &layout.topics {
        let mut partitions = Vec::with_capacity(topic.partitions.len());
        for partition in &topic.partitions {
            let mut data = match partition.refused {
                Some(code) => refused(code, version),
                None => match results.next().map(|it| it.result) {
                    Some(Ok(found)) => found_records(found, &mut files),
                    Some(Err(error)) => failed(&error, version),
                    None => refused(ErrorCode::UNKNOWN_SERVER_ERROR, version),
                },
            };
            data.partition_index = partition.index;
            // Beside any other error a hint makes some clients look for topics that are gone. (K003)
            let has_moved = [
                ErrorCode::NOT_LEADER_OR_FOLLOWER,
                ErrorCode::FENCED_LEADER_EPOCH,
            ];
            if version >= LEADERS_SINCE && has_moved.contains(&data.error_code) {
                let name = TopicPartition::new(topic.name.clone(), partition.index);
                if let Some(leader) = CurrentLeader::of(image, &name, listener) {
                    data.current_leader = LeaderIdAndEpoch {
                        leader_id: leader.id,
                        leader_epoch: leader.epoch,
                        ..LeaderIdAndEpoch::default()
                    };
                    add_endpoint(&mut node_endpoints, &leader);
                }
            }
            partitions.push(data);
        }
        responses.push(FetchableTopicResponse {
            topic: (&*topic.name).into(),
            topic_id: topic.id,
            partitions,
            ..FetchableTopicResponse::default()
        });
    }
    let message = FetchResponse {
        responses,
        node_endpoints,
        ..FetchResponse::default()
    };
    Answer { message, files }
}

fn found_records<F: DiskFile>(
    found: FetchedRecords<F>,
    files: &mut Vec<FileRange<F>>,
) -> PartitionData {
    let aborted = found.aborted.map(|aborted| {
        let told = aborted.into_iter().map(|it| AbortedTransaction {
            producer_id: it.producer_id,
            first_offset: it.first_offset,
            ..AbortedTransaction::default()
        });
        told.collect()
    });
    let diverging_epoch = found.diverging.map(|end| EpochEndOffset {
        epoch: end.epoch,
        end_offset: end.end_offset,
        ..EpochEndOffset::default()
    });
    // Without any there are still records: none, rather than null. (B3.5)
    let records = found.records.map_or_else(Records::default, |range| {
        let len = range.len;
        files.push(range);
        Records::Elsewhere(len)
    });
    PartitionData {
        high_watermark: found.high_watermark,
        last_stable_offset: found.last_stable_offset,
        log_start_offset: found.log_start_offset,
        aborted_transactions: aborted,
        diverging_epoch: diverging_epoch.unwrap_or_default(),
        records: Some(records),
        ..PartitionData::default()
    }
}

fn refused(code: ErrorCode, version: i16) -> PartitionData {
    let is_unknown = version <= STORAGE_ERROR_UNKNOWN_UNTIL;
    PartitionData {
        error_code: match code {
            ErrorCode::KAFKA_STORAGE_ERROR if is_unknown => ErrorCode::NOT_LEADER_OR_FOLLOWER,
            code => code,
        },
        high_watermark: Offset::UNKNOWN,
        aborted_transactions: None,
        records: Some(Records::default()),
        ..PartitionData::default()
    }
}

fn failed(error: &FetchError, version: i16) -> PartitionData {
    refused(error_code::of_fetch(error), version)
}

fn add_endpoint(endpoints: &mut Vec<NodeEndpoint>, leader: &CurrentLeader<'_>) {
    let address = leader.endpoint_beside(endpoints.iter().map(|it| it.node_id));
    endpoints.extend(address.map(|it| NodeEndpoint {
        node_id: leader.id,
        host: it.host,
        port: it.port,
        rack: it.rack,
        ..NodeEndpoint::default()
    }));
}

#[cfg(test)]
mod tests {
    use klamm_io::RealFile;
    use klamm_primitives::PartitionIndex;
    use klamm_replica::NotServed;

    use super::*;
    use crate::layout::{PartitionLayout, TopicLayout};

    fn answered(error: FetchError, version: i16) -> PartitionData {
        let layout = Layout {
            topics: vec![TopicLayout {
                name: "t".into(),
                id: klamm_primitives::Uuid::ONE,
                partitions: vec![PartitionLayout {
                    index: PartitionIndex::new(3),
                    refused: None,
                }],
            }],
        };
        let result = PartitionFetched::<RealFile> {
            partition: TopicPartition::new("t", PartitionIndex::new(3)),
            result: Err(error),
        };
        let image = MetadataImage::new("c");
        let answer = response(&layout, vec![result], &image, "A", version);
        assert!(answer.files.is_empty());
        answer.message.responses[0].partitions[0].clone()
    }

    #[test]
    fn ap_019_a_partition_without_records_has_no_offsets_either() {
        let data = answered(NotServed::UnknownPartition.into(), 12);
        assert_eq!(data.error_code, ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
        assert_eq!(data.partition_index.get(), 3);
        let offsets = [
            data.high_watermark,
            data.last_stable_offset,
            data.log_start_offset,
        ];
        assert_eq!(offsets, [Offset::UNKNOWN; 3]);
        assert_eq!(data.records, Some(Records::default()));
    }

    #[test]
    fn ap_027_old_clients_are_told_another_error_than_the_storages() {
        let code = |version| {
            answered(NotServed::Offline.into(), version)
                .error_code
                .get()
        };
        assert_eq!((code(5), code(6)), (6, 56));
    }
}
