//! Metadata (key 3).
//!
//! v1 tells racks and replicas that are down, v4 lets the client forbid creation, v10 tells topic
//! ids and v12 looks topics up by them, v13 has an error for the whole. Below v1 an empty list of
//! topics means all of them. Topics that are created for the request are in its answer, with their
//! leaders (AP-051). A partition of this broker whose log cannot be used has no leader for as long
//! as that lasts, like one of a failed log directory. Differs from Apache Kafka: the cluster's
//! internal topics are not created by asking for them; and what has failed is known to the broker
//! that is asked, not by way of the controller.

mod describe;

use std::collections::BTreeSet;
use std::collections::HashSet;
use std::sync::Arc;

use klamm_controller::{CreateTopicError, CreateTopics, MetadataImage, NewTopic};
use klamm_io::{Clock, Disk};
use klamm_network::Parked;
use klamm_replica::is_internal_topic;
use klamm_wire::messages::metadata::{
    MetadataRequest, MetadataRequestTopic, MetadataResponse, MetadataResponseBroker,
    MetadataResponseTopic,
};
use klamm_wire::{ApiKey, ErrorCode, UnknownTags};
use tracing::debug;

use self::describe::{Asker, View, failed, is_legal_name};
use super::operations;
use crate::call::{Call, note_refusal};
use crate::node::{Node, reachable};

pub(super) fn handle<D: Disk, C: Clock>(node: &Arc<Node<D, C>>, call: Call<D::File>) {
    let version = call.version();
    let Some((call, request)) = call.decode::<MetadataRequest>() else {
        return;
    };
    let asker = Asker {
        listener: call.listener().into(),
        version,
        wants_operations: request.include_topic_authorized_operations,
    };
    if !request.is_valid(version) {
        call.answer(&refused(&request));
        return;
    }
    let image = node.image();
    let may_create = request.allow_auto_topic_creation && node.settings.requests.may_create_topics;
    let missing = if may_create {
        to_create(&request, &image)
    } else {
        Vec::new()
    };
    if missing.is_empty() {
        call.answer(&answer(node, &asker, &request));
        return;
    }
    let call = call.park(Parked::Other);
    // Copied, so that the request's bytes need not be kept until the topics are there.
    let request = owned(&request);
    let node = Arc::clone(node);
    node.clone().runtime.spawn(async move {
        create(&node, missing).await;
        call.answer(&answer(&node, &asker, &request));
    });
}

/// The names that nobody has and that could be a topic's, each once.
fn to_create(request: &MetadataRequest, image: &MetadataImage) -> Vec<NewTopic> {
    let named = request.topics.iter().flatten();
    let names = named.filter_map(|topic| topic.name.as_deref());
    let missing: BTreeSet<_> = names
        .filter(|name| {
            image.topic(name).is_none() && is_legal_name(name) && !is_internal_topic(name)
        })
        .collect();
    missing.into_iter().map(NewTopic::new).collect()
}

/// Creates topics, and waits until their partitions are served. What is refused shows in the
/// answer as unknown.
async fn create<D: Disk, C: Clock>(node: &Node<D, C>, topics: Vec<NewTopic>) {
    let names: Vec<_> = topics.iter().map(|it| it.name.clone()).collect();
    let request = CreateTopics {
        topics,
        validate_only: false,
    };
    match node.controller.create_topics(request, None).await {
        Ok(results) => {
            for (topic, result) in names.iter().zip(results) {
                // Another request may have been faster.
                if let Err(error) = result
                    && error != CreateTopicError::Exists
                {
                    node.hints.topic_is_refused(topic, &error);
                    debug!(%topic, %error, "topic not created for a client that asked for it");
                }
            }
            node.caught_up().await;
        }
        Err(error) => note_refusal(ApiKey::Metadata, &error),
    }
}

fn owned(request: &MetadataRequest) -> MetadataRequest {
    let topic = |it: &MetadataRequestTopic| MetadataRequestTopic {
        name: it.name.as_deref().map(Into::into),
        topic_id: it.topic_id,
        ..MetadataRequestTopic::default()
    };
    let topics = request.topics.as_ref();
    MetadataRequest {
        topics: topics.map(|topics| topics.iter().map(topic).collect()),
        unknown_tags: UnknownTags::new(),
        ..*request
    }
}

/// The answer to a request that goes by ids where only names are looked up (AP-053).
fn refused(request: &MetadataRequest) -> MetadataResponse {
    let topics = request.topics.iter().flatten().map(|topic| {
        let name = topic.name.clone().unwrap_or_default();
        MetadataResponseTopic {
            error_code: ErrorCode::INVALID_REQUEST,
            name: Some(name),
            topic_id: topic.topic_id,
            topic_authorized_operations: operations::NOT_ASKED,
            ..MetadataResponseTopic::default()
        }
    });
    MetadataResponse {
        topics: topics.collect(),
        cluster_authorized_operations: operations::NOT_ASKED,
        ..MetadataResponse::default()
    }
}

fn answer<D: Disk, C: Clock>(
    node: &Node<D, C>,
    asker: &Asker,
    request: &MetadataRequest,
) -> MetadataResponse {
    let image = node.image();
    let is_all = match &request.topics {
        None => true,
        Some(topics) => asker.version == 0 && topics.is_empty(),
    };
    let view = View {
        image: &image,
        asker,
        local: node.id(),
        is_offline_here: &|partition| node.replicas.is_offline(partition),
    };
    let topics = if is_all {
        let topics = image.topics();
        topics.map(|topic| view.describe(topic)).collect()
    } else {
        // Each once, however often it is asked for: the answer must not grow beyond the cluster.
        let mut told = HashSet::new();
        let named = request.topics.iter().flatten();
        let news = named.filter(|it| told.insert((it.name.as_deref(), it.topic_id)));
        news.map(|it| named_topic(&view, it)).collect()
    };
    let brokers: Vec<_> = image
        .brokers()
        .filter_map(|broker| {
            let endpoint = reachable(broker, &asker.listener)?;
            Some(MetadataResponseBroker {
                node_id: broker.id,
                host: (&*endpoint.host).into(),
                port: endpoint.port.into(),
                rack: broker.rack.as_deref().map(Into::into),
                ..MetadataResponseBroker::default()
            })
        })
        .collect();
    // Any broker passes on what is for the controller; the nearest is this one.
    let is_up = |id| brokers.iter().any(|it| it.node_id == id);
    let controller_id = Some(node.id()).filter(|id| is_up(*id));
    let controller_id = controller_id.or_else(|| brokers.first().map(|it| it.node_id));
    MetadataResponse {
        cluster_id: Some((&**image.cluster_id()).into()),
        controller_id: controller_id.unwrap_or(klamm_primitives::BrokerId::NONE),
        cluster_authorized_operations: if request.include_cluster_authorized_operations {
            operations::ON_CLUSTER
        } else {
            operations::NOT_ASKED
        },
        brokers,
        topics,
        ..MetadataResponse::default()
    }
}

/// A topic as it was asked for, by id or by name.
fn named_topic(view: &View<'_>, asked: &MetadataRequestTopic) -> MetadataResponseTopic {
    let by_id = asked.name.is_none();
    let topic = match asked.name.as_deref() {
        Some(name) => view.image.topic(name),
        None => view.image.topic_by_id(asked.topic_id),
    };
    match topic {
        Some(topic) => view.describe(topic),
        None if by_id => failed(ErrorCode::UNKNOWN_TOPIC_ID, asked),
        None if asked.name.as_deref().is_some_and(is_legal_name) => {
            failed(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION, asked)
        }
        None => failed(ErrorCode::INVALID_TOPIC_EXCEPTION, asked),
    }
}
