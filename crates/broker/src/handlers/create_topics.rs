//! `CreateTopics` (key 19).
//!
//! v4 leaves numbers to the broker (-1), v5 tells what a new topic looks like, v7 its id. The
//! answer comes once the partitions are served here.

use std::collections::HashSet;
use std::sync::Arc;

use klamm_controller::{
    ControllerError, CreateTopicError, CreateTopics, CreatedTopic, ManualAssignment, NewTopic,
};
use klamm_io::{Clock, Disk};
use klamm_network::Parked;
use klamm_primitives::TopicId;
use klamm_wire::messages::create_topics::{
    CreatableTopic, CreatableTopicConfigs, CreatableTopicResult, CreateTopicsRequest,
    CreateTopicsResponse,
};
use klamm_wire::{ApiKey, ErrorCode};

use crate::call::{Call, note_refusal};
use crate::error_code;
use crate::node::Node;
use crate::topic_configs;

/// The topic that is the metadata log of Apache Kafka. (AP-066)
pub(super) const METADATA_TOPIC: &str = "__cluster_metadata";

/// The number of replicas that leaves it to the broker.
const DEFAULT_FACTOR: i16 = -1;

pub(super) fn handle<D: Disk, C: Clock>(node: &Arc<Node<D, C>>, call: Call<D::File>) {
    let Some((call, request)) = call.decode::<CreateTopicsRequest>() else {
        return;
    };
    let (forbidden, topics): (Vec<_>, Vec<_>) = request
        .topics
        .iter()
        .partition(|it| &*it.name == METADATA_TOPIC);
    let mut results: Vec<_> = forbidden
        .iter()
        .map(|topic| {
            failed(
                &topic.name,
                ErrorCode::INVALID_REQUEST,
                "the topic is reserved",
            )
        })
        .collect();
    let topics: Vec<_> = topics.into_iter().map(new_topic).collect();
    let named = |it: &NewTopic| (it.name.clone(), it.replication_factor == DEFAULT_FACTOR);
    let names: Vec<_> = topics.iter().map(named).collect();
    let validate_only = request.validate_only;
    let deadline = deadline(node, request.timeout_ms);
    let call = call.park(Parked::Other);
    drop(request);
    let node = Arc::clone(node);
    node.clone().runtime.spawn(async move {
        let request = CreateTopics {
            topics,
            validate_only,
        };
        match node.controller.create_topics(request, deadline).await {
            Ok(outcomes) => {
                if !validate_only {
                    node.caught_up().await;
                }
                for ((name, is_default), outcome) in names.iter().zip(&outcomes) {
                    if let (true, Err(error)) = (is_default, outcome) {
                        node.hints.topic_is_refused(name, error);
                    }
                }
                let each = names.iter().zip(outcomes);
                results.extend(named_once(
                    each.map(|((name, _), it)| result(&node, name, it)),
                ));
            }
            Err(error) => {
                note_refusal(ApiKey::CreateTopics, &error);
                results.extend(named_once(
                    names.iter().map(|(name, _)| refused(name, &error)),
                ));
            }
        }
        call.answer(&CreateTopicsResponse {
            topics: results,
            ..CreateTopicsResponse::default()
        });
    });
}

/// When a request is too old to be carried out.
pub(super) fn deadline<D: Disk, C: Clock>(
    node: &Node<D, C>,
    timeout_ms: i32,
) -> Option<std::time::Instant> {
    let timeout_ms = u64::try_from(timeout_ms).unwrap_or(0);
    let timeout = std::time::Duration::from_millis(timeout_ms);
    node.clock.now().checked_add(timeout)
}

/// A topic of the request, in the controller's words and with its own bytes.
fn new_topic(topic: &CreatableTopic) -> NewTopic {
    let assignments = topic.assignments.iter().map(|it| ManualAssignment {
        partition: it.partition_index,
        replicas: it.broker_ids.clone(),
    });
    let settings = topic.configs.iter().map(|it| {
        let value = it.value.as_deref().map(Into::into);
        ((&*it.name).into(), value)
    });
    NewTopic {
        name: (&*topic.name).into(),
        partition_count: topic.num_partitions,
        replication_factor: topic.replication_factor,
        assignments: assignments.collect(),
        settings: settings.collect(),
    }
}

/// Tells of each name once: a name that was given twice has one answer. (AP-065)
fn named_once(results: impl Iterator<Item = CreatableTopicResult>) -> Vec<CreatableTopicResult> {
    let mut told = HashSet::new();
    let is_news = |result: &CreatableTopicResult| {
        let is_first = told.insert(result.name.clone());
        is_first || result.error_code != ErrorCode::INVALID_REQUEST
    };
    results.filter(is_news).collect()
}

fn result<D: Disk, C: Clock>(
    node: &Node<D, C>,
    name: &str,
    outcome: Result<CreatedTopic, CreateTopicError>,
) -> CreatableTopicResult {
    let created = match outcome {
        Ok(created) => created,
        Err(error) => {
            return failed(
                name,
                error_code::of_create_topic(&error),
                &error.to_string(),
            );
        }
    };
    let settings = topic_configs::effective(&node.settings, Some(&created.settings));
    let configs = settings.map(|it| CreatableTopicConfigs {
        name: it.name.into(),
        value: Some(it.value.into()),
        config_source: it.source.number(),
        ..CreatableTopicConfigs::default()
    });
    CreatableTopicResult {
        name: (&*created.name).into(),
        topic_id: created.id,
        num_partitions: created.partition_count,
        replication_factor: created.replication_factor,
        configs: Some(configs.collect()),
        ..CreatableTopicResult::default()
    }
}

fn refused(name: &str, error: &ControllerError) -> CreatableTopicResult {
    failed(name, error_code::of_controller(error), &error.to_string())
}

fn failed(name: &str, error_code: ErrorCode, message: &str) -> CreatableTopicResult {
    CreatableTopicResult {
        name: name.into(),
        topic_id: TopicId::ZERO,
        error_code,
        error_message: Some(message.into()),
        configs: Some(Vec::new()),
        ..CreatableTopicResult::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ap_065_a_name_that_was_given_twice_is_answered_once() {
        let twice = |name| failed(name, ErrorCode::INVALID_REQUEST, "twice");
        let fine = CreatableTopicResult {
            name: "b".into(),
            ..CreatableTopicResult::default()
        };
        let results = named_once([twice("a"), fine.clone(), twice("a")].into_iter());
        assert_eq!(results, [twice("a"), fine]);
    }
}
