//! Classic groups: joining, leaving, and the versions that tell members apart.

use klamm_wire::messages::heartbeat::{HeartbeatRequest, HeartbeatResponse};
use klamm_wire::messages::join_group::{
    JoinGroupRequest, JoinGroupResponse, is_legal_group_instance_id,
};
use klamm_wire::messages::leave_group::{
    LeaveGroupRequest, LeaveGroupResponse, MemberIdentity, MemberResponse,
};
use klamm_wire::messages::list_groups::ListGroupsRequest;
use klamm_wire::messages::sync_group::SyncGroupRequest;
use klamm_wire::{ErrorCode, FormError, Message, Unencodable};

use crate::coding::{assert_needs, assert_not_in_version, encoded, passed_on, refused};

const UNKNOWN_MEMBER_ID: ErrorCode = ErrorCode::new(25);
const NOT_COORDINATOR: ErrorCode = ErrorCode::new(16);

fn member(id: &'static str) -> MemberIdentity {
    MemberIdentity {
        member_id: id.into(),
        ..MemberIdentity::default()
    }
}

fn leaving(members: Vec<MemberIdentity>) -> LeaveGroupRequest {
    LeaveGroupRequest {
        group_id: "g".into(),
        members,
        ..LeaveGroupRequest::default()
    }
}

fn left(members: &[ErrorCode]) -> LeaveGroupResponse {
    let members = members.iter().map(|&error_code| MemberResponse {
        member_id: "m".into(),
        error_code,
        ..MemberResponse::default()
    });
    LeaveGroupResponse {
        members: members.collect(),
        ..LeaveGroupResponse::default()
    }
}

#[test]
fn wi_087_join_v0_takes_the_session_timeout_for_the_rebalance_timeout() {
    let request = JoinGroupRequest {
        session_timeout_ms: 30_000,
        rebalance_timeout_ms: 300_000,
        ..JoinGroupRequest::default()
    };
    let in_v0 = passed_on(&request, 0);
    assert_eq!(in_v0.rebalance_timeout_ms, -1, "v0 has no such field");
    assert_eq!(in_v0.rebalance_timeout_ms_in(0), 30_000);
    for version in 1..=JoinGroupRequest::VERSIONS.max {
        let decoded = passed_on(&request, version);
        assert_eq!(decoded.rebalance_timeout_ms_in(version), 300_000);
    }
}

#[test]
fn wi_088_a_group_instance_id_needs_join_v5_and_sync_heartbeat_and_leave_v3() {
    let group_instance_id = Some("static-1".into());
    let join = JoinGroupRequest {
        group_instance_id: group_instance_id.clone(),
        ..JoinGroupRequest::default()
    };
    assert_needs(&join, 5, "group_instance_id");
    let sync = SyncGroupRequest {
        group_instance_id: group_instance_id.clone(),
        ..SyncGroupRequest::default()
    };
    assert_needs(&sync, 3, "group_instance_id");
    let heartbeat = HeartbeatRequest {
        group_instance_id: group_instance_id.clone(),
        ..HeartbeatRequest::default()
    };
    assert_needs(&heartbeat, 3, "group_instance_id");

    let leave = leaving(vec![MemberIdentity {
        group_instance_id,
        ..member("m")
    }]);
    assert_needs(&leave, 3, "members");
    for version in 0..3 {
        let field = "group_instance_id";
        let refused = Err(FormError::Field { field, version });
        assert_eq!(leave.clone().for_version(version), refused);
    }
}

#[test]
fn wi_089_a_group_instance_id_is_built_like_a_topic_name() {
    let longest = "x".repeat(249);
    for legal in ["a", "Az09._-", "...", ".a", "-", &longest] {
        assert!(is_legal_group_instance_id(legal), "{legal}");
    }
    let too_long = "x".repeat(250);
    for illegal in [
        "", " ", ".", "..", "a:b", "a=b", "a b", "ä", "a/b", &too_long,
    ] {
        assert!(!is_legal_group_instance_id(illegal), "{illegal}");
    }
}

#[test]
fn wi_090_no_protocol_name_is_empty_up_to_v6_and_null_from_v7() {
    for version in 0..=JoinGroupResponse::VERSIONS.max {
        for protocol_name in [None, Some("".into())] {
            let response = JoinGroupResponse {
                protocol_name,
                ..JoinGroupResponse::default()
            };
            let decoded = passed_on(&response.for_version(version), version);
            let expected = (version < 7).then(|| "".into());
            assert_eq!(decoded.protocol_name, expected, "v{version}");
        }
        let response = JoinGroupResponse {
            protocol_name: Some("range".into()),
            ..JoinGroupResponse::default()
        };
        assert_eq!(response.clone().for_version(version), response);
    }
    let unprepared = JoinGroupResponse {
        protocol_name: None,
        ..JoinGroupResponse::default()
    };
    let expected = ("protocol_name".to_owned(), Unencodable::Null);
    assert_eq!(refused(&unprepared, 6), expected);
}

#[test]
fn wi_091_up_to_v2_one_member_leaves_and_from_v3_a_list_does() {
    let request = leaving(vec![member("m")]);
    for version in 0..=LeaveGroupRequest::VERSIONS.max {
        let sent = request.clone().for_version(version).expect("one member");
        let received = passed_on(&sent, version);
        assert_eq!(received.from_version(version), request, "v{version}");
    }
    let v2 = request.for_version(2).expect("one member");
    assert_eq!(encoded(&v2, 2), b"\0\x01g\0\x01m".as_slice());
    let v3 = leaving(vec![member("m")]);
    assert_eq!(
        encoded(&v3, 3),
        b"\0\x01g\0\0\0\x01\0\x01m\xff\xff".as_slice()
    );

    let two = leaving(vec![member("m"), member("n")]);
    for version in 0..3 {
        assert_not_in_version(&two, version, "members");
    }
    assert_eq!(passed_on(&two, 3), two);
}

#[test]
fn wi_091_two_members_in_v2_or_an_empty_list_are_refused() {
    let things = "leaving members";
    let two = leaving(vec![member("m"), member("n")]);
    for version in 0..=LeaveGroupRequest::VERSIONS.max {
        let refused = Err(FormError::Count {
            things,
            count: 0,
            version,
        });
        assert_eq!(leaving(Vec::new()).for_version(version), refused);
        let expected = if version < 3 {
            Err(FormError::Count {
                things,
                count: 2,
                version,
            })
        } else {
            Ok(two.clone())
        };
        assert_eq!(two.clone().for_version(version), expected);
    }
}

#[test]
fn wi_091_the_answer_up_to_v2_is_one_code_and_from_v3_a_list() {
    let response = left(&[UNKNOWN_MEMBER_ID]);
    for version in 0..=LeaveGroupResponse::VERSIONS.max {
        let sent = response.clone().for_version(version).expect("one member");
        let received = passed_on(&sent, version);
        assert_eq!(received.error(), UNKNOWN_MEMBER_ID, "v{version}");
        assert_eq!(received.members.len(), usize::from(version >= 3));
    }
    let v1 = response.for_version(1).expect("one member");
    assert_eq!(encoded(&v1, 1), b"\0\0\0\0\0\x19".as_slice());

    let (things, version) = ("members that left", 2);
    for (members, count) in [(left(&[]), 0), (left(&[ErrorCode::new(0); 2]), 2)] {
        let refused = Err(FormError::Count {
            things,
            count,
            version,
        });
        assert_eq!(members.for_version(version), refused);
    }
}

#[test]
fn wi_091_the_error_is_the_top_level_one_or_else_the_first_members() {
    assert_eq!(left(&[]).error(), ErrorCode::new(0));
    assert_eq!(
        left(&[UNKNOWN_MEMBER_ID, NOT_COORDINATOR]).error(),
        UNKNOWN_MEMBER_ID
    );
    assert_eq!(
        left(&[ErrorCode::new(0), NOT_COORDINATOR]).error(),
        ErrorCode::new(0)
    );
    for members in [left(&[]), left(&[UNKNOWN_MEMBER_ID])] {
        let response = LeaveGroupResponse {
            error_code: NOT_COORDINATOR,
            ..members
        };
        assert_eq!(response.error(), NOT_COORDINATOR);
        let v2 = response.for_version(2).expect("at most one member");
        assert_eq!(passed_on(&v2, 2).error_code, NOT_COORDINATOR);
    }
}

#[test]
fn wi_098_filters_need_list_groups_v4_for_states_and_v5_for_types() {
    let by_state = ListGroupsRequest {
        states_filter: vec!["Stable".into(), "Empty".into()],
        ..ListGroupsRequest::default()
    };
    assert_needs(&by_state, 4, "states_filter");
    let by_type = ListGroupsRequest {
        types_filter: vec!["classic".into()],
        ..ListGroupsRequest::default()
    };
    assert_needs(&by_type, 5, "types_filter");
}

/// Covers WI-025, WI-026.
#[test]
fn a_throttle_time_is_dropped_in_v0_and_kept_from_v1() {
    let response = HeartbeatResponse {
        throttle_time_ms: 250,
        error_code: UNKNOWN_MEMBER_ID,
        ..HeartbeatResponse::default()
    };
    assert_eq!(encoded(&response, 0), b"\0\x19".as_slice());
    assert_eq!(passed_on(&response, 0).throttle_time_ms, 0);
    assert_eq!(encoded(&response, 1), b"\0\0\0\xfa\0\x19".as_slice());
    assert_eq!(passed_on(&response, 1), response);
}
