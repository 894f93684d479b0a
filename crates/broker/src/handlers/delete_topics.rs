//! `DeleteTopics` (key 20).
//!
//! v6 takes topics by id, too. Exactly one of name and id must be given (AP-068).

use std::sync::Arc;

use klamm_controller::{DeleteTopicError, DeleteTopics, DeletedTopic, TopicSelector};
use klamm_io::{Clock, Disk};
use klamm_network::Parked;
use klamm_primitives::TopicId;
use klamm_wire::messages::delete_topics::{
    DeletableTopicResult, DeleteTopicState, DeleteTopicsRequest, DeleteTopicsResponse,
};
use klamm_wire::{ApiKey, ErrorCode};

use super::create_topics::deadline;
use crate::call::{Call, note_refusal};
use crate::error_code;
use crate::node::Node;

pub(super) fn handle<D: Disk, C: Clock>(node: &Arc<Node<D, C>>, call: Call<D::File>) {
    let version = call.version();
    let Some((call, request)) = call.decode::<DeleteTopicsRequest>() else {
        return;
    };
    let deadline = deadline(node, request.timeout_ms);
    let request = request.from_version(version);
    let mut responses = Vec::new();
    let mut topics = Vec::new();
    for topic in &request.topics {
        match selector(topic) {
            Some(selector) => topics.push(selector),
            None => responses.push(DeletableTopicResult {
                name: topic.name.as_deref().map(Into::into),
                topic_id: topic.topic_id,
                error_code: ErrorCode::INVALID_REQUEST,
                error_message: Some("give a name or an id, and not both".into()),
                ..DeletableTopicResult::default()
            }),
        }
    }
    let call = call.park(Parked::Other);
    drop(request);
    let node = Arc::clone(node);
    node.clone().runtime.spawn(async move {
        let request = DeleteTopics {
            topics: topics.clone(),
        };
        match node.controller.delete_topics(request, deadline).await {
            Ok(outcomes) => {
                node.caught_up().await;
                let each = topics.iter().zip(outcomes);
                responses.extend(each.map(|(topic, outcome)| result(topic, outcome, version)));
            }
            Err(error) => {
                note_refusal(ApiKey::DeleteTopics, &error);
                let code = error_code::of_controller(&error);
                let message = error.to_string();
                responses.extend(topics.iter().map(|topic| failed(topic, code, &message)));
            }
        }
        call.answer(&DeleteTopicsResponse {
            responses,
            ..DeleteTopicsResponse::default()
        });
    });
}

/// What a topic of the request means; `None` if that cannot be told.
fn selector(topic: &DeleteTopicState) -> Option<TopicSelector> {
    match (topic.name.as_deref(), topic.topic_id.is_zero()) {
        (Some(name), true) => Some(TopicSelector::Name(name.into())),
        (None, false) => Some(TopicSelector::Id(topic.topic_id)),
        (Some(_), false) | (None, true) => None,
    }
}

fn result(
    asked: &TopicSelector,
    outcome: Result<DeletedTopic, DeleteTopicError>,
    version: i16,
) -> DeletableTopicResult {
    match outcome {
        Ok(deleted) => DeletableTopicResult {
            name: Some((&*deleted.name).into()),
            topic_id: deleted.id,
            ..DeletableTopicResult::default()
        },
        Err(error) => failed(
            asked,
            error_code::of_delete_topic(&error, version),
            &error.to_string(),
        ),
    }
}

fn failed(asked: &TopicSelector, error_code: ErrorCode, message: &str) -> DeletableTopicResult {
    let (name, topic_id) = match asked {
        TopicSelector::Name(name) => (Some((&**name).into()), TopicId::ZERO),
        TopicSelector::Id(id) => (None, *id),
    };
    DeletableTopicResult {
        name,
        topic_id,
        error_code,
        error_message: Some(message.into()),
        ..DeletableTopicResult::default()
    }
}

#[cfg(test)]
mod tests {
    use klamm_primitives::Uuid;

    use super::*;

    #[test]
    fn ap_068_a_topic_is_given_by_name_or_by_id() {
        let state = |name: Option<&'static str>, topic_id| DeleteTopicState {
            name: name.map(Into::into),
            topic_id,
            ..DeleteTopicState::default()
        };
        let by_name = selector(&state(Some("a"), Uuid::ZERO));
        assert_eq!(by_name, Some(TopicSelector::Name("a".into())));
        let by_id = selector(&state(None, Uuid::ONE));
        assert_eq!(by_id, Some(TopicSelector::Id(Uuid::ONE)));
        assert_eq!(selector(&state(Some("a"), Uuid::ONE)), None);
        assert_eq!(selector(&state(None, Uuid::ZERO)), None);
    }
}
