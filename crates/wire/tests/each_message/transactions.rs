//! What a transaction is made of: its partitions and its offsets.

use klamm_primitives::{PartitionIndex, ProducerEpoch, ProducerId};
use klamm_wire::messages::add_partitions_to_txn::{
    AddPartitionsToTxnPartitionResult, AddPartitionsToTxnRequest, AddPartitionsToTxnResponse,
    AddPartitionsToTxnResult, AddPartitionsToTxnTopic, AddPartitionsToTxnTopicResult,
    AddPartitionsToTxnTransaction,
};
use klamm_wire::messages::txn_offset_commit::TxnOffsetCommitRequest;
use klamm_wire::{ErrorCode, FormError, Message};

use crate::coding::{assert_needs, assert_not_in_version, passed_on};

const INVALID_TXN_STATE: ErrorCode = ErrorCode::new(48);

fn transaction(id: &'static str) -> AddPartitionsToTxnTransaction {
    AddPartitionsToTxnTransaction {
        transactional_id: id.into(),
        producer_id: ProducerId::new(4000),
        producer_epoch: ProducerEpoch::new(2),
        topics: vec![AddPartitionsToTxnTopic {
            name: "t".into(),
            partitions: vec![PartitionIndex::new(1)],
            ..AddPartitionsToTxnTopic::default()
        }],
        ..AddPartitionsToTxnTransaction::default()
    }
}

fn adding(transactions: Vec<AddPartitionsToTxnTransaction>) -> AddPartitionsToTxnRequest {
    AddPartitionsToTxnRequest {
        transactions,
        ..AddPartitionsToTxnRequest::default()
    }
}

fn result(id: &'static str) -> AddPartitionsToTxnResult {
    AddPartitionsToTxnResult {
        transactional_id: id.into(),
        topic_results: vec![AddPartitionsToTxnTopicResult {
            name: "t".into(),
            results_by_partition: vec![AddPartitionsToTxnPartitionResult {
                partition_index: PartitionIndex::new(1),
                partition_error_code: INVALID_TXN_STATE,
                ..AddPartitionsToTxnPartitionResult::default()
            }],
            ..AddPartitionsToTxnTopicResult::default()
        }],
        ..AddPartitionsToTxnResult::default()
    }
}

fn added(results_by_transaction: Vec<AddPartitionsToTxnResult>) -> AddPartitionsToTxnResponse {
    AddPartitionsToTxnResponse {
        results_by_transaction,
        ..AddPartitionsToTxnResponse::default()
    }
}

#[test]
fn wi_096_one_transaction_is_flat_up_to_v3_and_its_results_keep_it() {
    let (request, response) = (adding(vec![transaction("tx")]), added(vec![result("tx")]));
    for version in 0..=AddPartitionsToTxnRequest::VERSIONS.max {
        let sent = request
            .clone()
            .for_version(version)
            .expect("one transaction");
        assert_eq!(sent.transactions.is_empty(), version < 4);
        let received = passed_on(&sent, version).from_version(version);
        assert_eq!(received, request, "v{version}");

        let sent = response
            .clone()
            .for_version(version)
            .expect("one transaction");
        assert_eq!(sent.results_by_transaction.is_empty(), version < 4);
        let received = passed_on(&sent, version).from_version(version, &"tx".into());
        assert_eq!(received, response, "v{version}");
    }
}

#[test]
fn wi_096_several_transactions_and_verify_only_need_v4() {
    let verifying = AddPartitionsToTxnTransaction {
        verify_only: true,
        ..transaction("tx")
    };
    let request = adding(vec![verifying.clone(), transaction("other")]);
    assert_needs(&request, 4, "transactions");
    let response = added(vec![result("tx"), result("other")]);
    assert_needs(&response, 4, "results_by_transaction");

    let (things, count) = ("transactions", 2);
    for version in 0..4 {
        let several = FormError::Count {
            things,
            count,
            version,
        };
        assert_eq!(request.clone().for_version(version), Err(several));
        assert_eq!(response.clone().for_version(version), Err(several));
        let field = "verify_only";
        let refused = Err(FormError::Field { field, version });
        assert_eq!(
            adding(vec![verifying.clone()]).for_version(version),
            refused
        );
    }
}

#[test]
fn wi_097_a_transactional_commit_names_the_member_from_v3_on() {
    let default = TxnOffsetCommitRequest::default;
    let by_member = TxnOffsetCommitRequest {
        member_id: "m".into(),
        ..default()
    };
    assert_needs(&by_member, 3, "member_id");
    let in_generation = TxnOffsetCommitRequest {
        generation_id_or_member_epoch: 1,
        ..default()
    };
    assert_needs(&in_generation, 3, "generation_id_or_member_epoch");
    let by_static_member = TxnOffsetCommitRequest {
        group_instance_id: Some("static-1".into()),
        ..default()
    };
    assert_needs(&by_static_member, 3, "group_instance_id");
    for version in 0..=TxnOffsetCommitRequest::VERSIONS.max {
        let received = passed_on(&default(), version);
        assert_eq!(received.generation_id_or_member_epoch, -1, "v{version}");
    }
    assert_not_in_version(&by_member, 0, "member_id");
}
