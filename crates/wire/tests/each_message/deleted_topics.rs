//! Deleting topics by name and by id.

use klamm_primitives::Uuid;
use klamm_wire::messages::delete_topics::{
    DeletableTopicResult, DeleteTopicState, DeleteTopicsRequest, DeleteTopicsResponse,
};
use klamm_wire::{ErrorCode, FormError, Message};

use crate::coding::{assert_needs, assert_not_in_version, passed_on};

fn by_name(name: &'static str) -> DeleteTopicState {
    DeleteTopicState {
        name: Some(name.into()),
        ..DeleteTopicState::default()
    }
}

fn by_id() -> DeleteTopicState {
    DeleteTopicState {
        topic_id: Uuid::from_u128(77),
        ..DeleteTopicState::default()
    }
}

fn deleting(topics: Vec<DeleteTopicState>) -> DeleteTopicsRequest {
    DeleteTopicsRequest {
        topics,
        timeout_ms: 1000,
        ..DeleteTopicsRequest::default()
    }
}

#[test]
fn wi_086_topics_are_names_up_to_v5_and_names_or_ids_from_v6() {
    let named = deleting(vec![by_name("a"), by_name("b")]);
    let mixed = deleting(vec![by_name("a"), by_id()]);
    for version in 1..=DeleteTopicsRequest::VERSIONS.max {
        let sent = named.clone().for_version(version).expect("names alone");
        assert_eq!(sent.topics.is_empty(), version < 6);
        assert_eq!(sent.topic_names.is_empty(), version >= 6);
        let received = passed_on(&sent, version).from_version(version);
        assert_eq!(received, named, "v{version}");
        if version < 6 {
            let field = "topic_id";
            let refused = Err(FormError::Field { field, version });
            assert_eq!(mixed.clone().for_version(version), refused);
        }
    }
    assert_needs(&mixed, 6, "topics");
    assert_eq!(by_id().name, None, "by id the name is null");
}

#[test]
fn wi_086_each_topic_is_answered_with_no_error_message_by_default() {
    let answer = |name: Option<&'static str>, topic_id| DeletableTopicResult {
        name: name.map(Into::into),
        topic_id,
        error_code: ErrorCode::new(100),
        ..DeletableTopicResult::default()
    };
    let by_name = answer(Some("a"), Uuid::ZERO);
    assert_eq!(by_name.error_message, None);
    let responses = vec![by_name.clone(), answer(None, Uuid::from_u128(77))];
    let response = DeleteTopicsResponse {
        responses,
        ..DeleteTopicsResponse::default()
    };
    assert_eq!(passed_on(&response, 6), response);

    let named = DeleteTopicsResponse {
        responses: vec![by_name],
        ..DeleteTopicsResponse::default()
    };
    for version in 1..=DeleteTopicsResponse::VERSIONS.max {
        assert_eq!(passed_on(&named, version), named, "v{version}");
    }
}

/// The names are ignorable: a request that lists names alone would lose them in v6.
#[test]
fn names_given_in_the_old_form_do_not_reach_v6() {
    let old_form = DeleteTopicsRequest {
        topic_names: vec!["a".into()],
        ..DeleteTopicsRequest::default()
    };
    assert_eq!(passed_on(&old_form, 5), old_form);
    assert_eq!(passed_on(&old_form, 6), DeleteTopicsRequest::default());
    assert_not_in_version(&deleting(vec![by_name("a")]), 5, "topics");
}
