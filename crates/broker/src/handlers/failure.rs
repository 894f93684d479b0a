//! What a client is told where a handler has panicked: the answer of its own API with an unknown
//! server error, in every entry where the answer as a whole has no place for one. (AP-089)

use klamm_network::{Request, Response};
use klamm_primitives::{BrokerId, Offset, ProducerEpoch};
use klamm_wire::header::CorrelationId;
use klamm_wire::messages::api_versions::{ApiVersionsRequest, ApiVersionsResponse};
use klamm_wire::messages::create_topics::{
    CreatableTopicResult, CreateTopicsRequest, CreateTopicsResponse,
};
use klamm_wire::messages::delete_records::{
    DeleteRecordsPartitionResult, DeleteRecordsRequest, DeleteRecordsResponse,
    DeleteRecordsTopicResult,
};
use klamm_wire::messages::delete_topics::{
    DeletableTopicResult, DeleteTopicsRequest, DeleteTopicsResponse,
};
use klamm_wire::messages::describe_cluster::{DescribeClusterRequest, DescribeClusterResponse};
use klamm_wire::messages::describe_configs::{
    DescribeConfigsRequest, DescribeConfigsResponse, DescribeConfigsResult,
};
use klamm_wire::messages::fetch::{
    FetchRequest, FetchResponse, FetchableTopicResponse, PartitionData,
};
use klamm_wire::messages::find_coordinator::{
    Coordinator, FindCoordinatorRequest, FindCoordinatorResponse,
};
use klamm_wire::messages::init_producer_id::{InitProducerIdRequest, InitProducerIdResponse};
use klamm_wire::messages::list_offsets::{
    ListOffsetsPartitionResponse, ListOffsetsRequest, ListOffsetsResponse, ListOffsetsTopicResponse,
};
use klamm_wire::messages::metadata::{MetadataRequest, MetadataResponse, MetadataResponseTopic};
use klamm_wire::messages::offset_for_leader_epoch::{
    EpochEndOffset, OffsetForLeaderEpochRequest, OffsetForLeaderEpochResponse,
    OffsetForLeaderTopicResult,
};
use klamm_wire::messages::produce::{
    PartitionProduceResponse, ProduceRequest, ProduceResponse, TopicProduceResponse,
};
use klamm_wire::{ApiKey, Encoded, ErrorCode, FormError, Records, RequestFrame, encode_response};

/// Nobody knows more than that of it; the log has the rest.
const CODE: ErrorCode = ErrorCode::UNKNOWN_SERVER_ERROR;

/// The version from which on a fetch that fails as a whole names no partitions.
const FETCH_WITHOUT_PARTITIONS_SINCE: i16 = 13;

/// The answer to a request at which a handler has panicked. `None` closes the connection: the
/// request wants no answer, or cannot be read.
pub(super) fn answer<F>(request: &Request) -> Option<Response<F>> {
    encoded(&request.frame).map(Response::new)
}

fn encoded(frame: &RequestFrame) -> Option<Encoded> {
    let version = frame.version();
    let failing = Failing {
        frame,
        correlation_id: frame.header.correlation_id,
    };
    match frame.key {
        ApiKey::Produce => {
            let request: ProduceRequest = frame.decode().ok()?;
            (request.acks != 0).then(|| failing.with(&produce(request)))?
        }
        ApiKey::Fetch => failing.by(|request| fetch(request, version)),
        ApiKey::ListOffsets => failing.by(list_offsets),
        ApiKey::Metadata => failing.by(metadata),
        ApiKey::FindCoordinator => {
            let request: FindCoordinatorRequest = frame.decode().ok()?;
            failing.with(&find_coordinator(request, version).ok()?)
        }
        ApiKey::ApiVersions => failing.by(|_: ApiVersionsRequest| ApiVersionsResponse {
            error_code: CODE,
            ..ApiVersionsResponse::default()
        }),
        ApiKey::CreateTopics => failing.by(create_topics),
        ApiKey::DeleteTopics => failing.by(|request| delete_topics(request, version)),
        ApiKey::DeleteRecords => failing.by(delete_records),
        ApiKey::InitProducerId => failing.by(|_: InitProducerIdRequest| InitProducerIdResponse {
            error_code: CODE,
            producer_epoch: ProducerEpoch::NONE,
            ..InitProducerIdResponse::default()
        }),
        ApiKey::OffsetForLeaderEpoch => failing.by(offset_for_leader_epoch),
        ApiKey::DescribeConfigs => failing.by(describe_configs),
        ApiKey::DescribeCluster => {
            failing.by(|_: DescribeClusterRequest| DescribeClusterResponse {
                error_code: CODE,
                ..DescribeClusterResponse::default()
            })
        }
        _ => None,
    }
}

/// A request that could not be handled.
struct Failing<'a> {
    frame: &'a RequestFrame,
    correlation_id: CorrelationId,
}

impl Failing<'_> {
    /// The answer that is made of the request.
    fn by<R: klamm_wire::Request>(&self, answer: impl FnOnce(R) -> R::Response) -> Option<Encoded> {
        self.with(&answer(self.frame.decode().ok()?))
    }

    fn with<M: klamm_wire::Response>(&self, answer: &M) -> Option<Encoded> {
        encode_response(self.correlation_id, answer, self.frame.version()).ok()
    }
}

fn produce(request: ProduceRequest) -> ProduceResponse {
    let topics = request.topic_data.into_iter().map(|topic| {
        let partitions = topic.partition_data.into_iter();
        let partitions = partitions.map(|it| PartitionProduceResponse {
            index: it.index,
            error_code: CODE,
            base_offset: Offset::UNKNOWN,
            ..PartitionProduceResponse::default()
        });
        TopicProduceResponse {
            name: topic.name,
            topic_id: topic.topic_id,
            partition_responses: partitions.collect(),
            ..TopicProduceResponse::default()
        }
    });
    ProduceResponse {
        responses: topics.collect(),
        ..ProduceResponse::default()
    }
}

fn fetch(request: FetchRequest, version: i16) -> FetchResponse {
    let topics = request.topics.into_iter().map(|topic| {
        let partitions = topic.partitions.into_iter();
        let partitions = partitions.map(|it| PartitionData {
            partition_index: it.partition,
            error_code: CODE,
            high_watermark: Offset::UNKNOWN,
            aborted_transactions: None,
            records: Some(Records::default()),
            ..PartitionData::default()
        });
        FetchableTopicResponse {
            topic: topic.topic,
            partitions: partitions.collect(),
            ..FetchableTopicResponse::default()
        }
    });
    let names_partitions = version < FETCH_WITHOUT_PARTITIONS_SINCE;
    FetchResponse {
        error_code: CODE,
        session_id: if version >= 7 { request.session_id } else { 0 },
        responses: topics.filter(|_| names_partitions).collect(),
        ..FetchResponse::default()
    }
}

fn list_offsets(request: ListOffsetsRequest) -> ListOffsetsResponse {
    let topics = request.topics.into_iter().map(|topic| {
        let partitions = topic.partitions.into_iter();
        let partitions = partitions.map(|it| ListOffsetsPartitionResponse {
            partition_index: it.partition_index,
            error_code: CODE,
            ..ListOffsetsPartitionResponse::default()
        });
        ListOffsetsTopicResponse {
            name: topic.name,
            partitions: partitions.collect(),
            ..ListOffsetsTopicResponse::default()
        }
    });
    ListOffsetsResponse {
        topics: topics.collect(),
        ..ListOffsetsResponse::default()
    }
}

fn metadata(request: MetadataRequest) -> MetadataResponse {
    let topics = request.topics.into_iter().flatten();
    let topics = topics.map(|topic| MetadataResponseTopic {
        error_code: CODE,
        name: Some(topic.name.unwrap_or_default()),
        topic_id: topic.topic_id,
        ..MetadataResponseTopic::default()
    });
    MetadataResponse {
        topics: topics.collect(),
        error_code: CODE,
        ..MetadataResponse::default()
    }
}

fn find_coordinator(
    request: FindCoordinatorRequest,
    version: i16,
) -> Result<FindCoordinatorResponse, FormError> {
    let keys = request.from_version(version).coordinator_keys;
    let coordinators = keys.into_iter().map(|key| Coordinator {
        key,
        node_id: BrokerId::NONE,
        port: -1,
        error_code: CODE,
        ..Coordinator::default()
    });
    let answer = FindCoordinatorResponse {
        coordinators: coordinators.collect(),
        ..FindCoordinatorResponse::default()
    };
    answer.for_version(version)
}

fn create_topics(request: CreateTopicsRequest) -> CreateTopicsResponse {
    let topics = request.topics.into_iter().map(|it| CreatableTopicResult {
        name: it.name,
        error_code: CODE,
        configs: Some(Vec::new()),
        ..CreatableTopicResult::default()
    });
    CreateTopicsResponse {
        topics: topics.collect(),
        ..CreateTopicsResponse::default()
    }
}

fn delete_topics(request: DeleteTopicsRequest, version: i16) -> DeleteTopicsResponse {
    let topics = request.from_version(version).topics.into_iter();
    let topics = topics.map(|it| DeletableTopicResult {
        name: it.name,
        topic_id: it.topic_id,
        error_code: CODE,
        ..DeletableTopicResult::default()
    });
    DeleteTopicsResponse {
        responses: topics.collect(),
        ..DeleteTopicsResponse::default()
    }
}

fn delete_records(request: DeleteRecordsRequest) -> DeleteRecordsResponse {
    let topics = request.topics.into_iter().map(|topic| {
        let partitions = topic.partitions.into_iter();
        let partitions = partitions.map(|it| DeleteRecordsPartitionResult {
            partition_index: it.partition_index,
            low_watermark: Offset::UNKNOWN,
            error_code: CODE,
            ..DeleteRecordsPartitionResult::default()
        });
        DeleteRecordsTopicResult {
            name: topic.name,
            partitions: partitions.collect(),
            ..DeleteRecordsTopicResult::default()
        }
    });
    DeleteRecordsResponse {
        topics: topics.collect(),
        ..DeleteRecordsResponse::default()
    }
}

fn offset_for_leader_epoch(request: OffsetForLeaderEpochRequest) -> OffsetForLeaderEpochResponse {
    let topics = request.topics.into_iter().map(|topic| {
        let partitions = topic.partitions.into_iter();
        let partitions = partitions.map(|it| EpochEndOffset {
            error_code: CODE,
            partition: it.partition,
            ..EpochEndOffset::default()
        });
        OffsetForLeaderTopicResult {
            topic: topic.topic,
            partitions: partitions.collect(),
            ..OffsetForLeaderTopicResult::default()
        }
    });
    OffsetForLeaderEpochResponse {
        topics: topics.collect(),
        ..OffsetForLeaderEpochResponse::default()
    }
}

fn describe_configs(request: DescribeConfigsRequest) -> DescribeConfigsResponse {
    let resources = request.resources.into_iter();
    let results = resources.map(|it| DescribeConfigsResult {
        error_code: CODE,
        resource_type: it.resource_type,
        resource_name: it.resource_name,
        ..DescribeConfigsResult::default()
    });
    DescribeConfigsResponse {
        results: results.collect(),
        ..DescribeConfigsResponse::default()
    }
}

#[cfg(test)]
mod tests;
