//! Error codes: numbers, names, and what a client does.

use std::collections::BTreeSet;

use klamm_wire::messages::init_producer_id::InitProducerIdResponse;
use klamm_wire::{ErrorCode, Message, Retry};

#[test]
fn wi_059_codes_names_and_retries_are_those_of_the_protocol() {
    let mut seen = 0;
    for line in include_str!("golden/error-codes.tsv").lines() {
        let Some((code, rest)) = line.split_once('\t').filter(|_| !line.starts_with('#')) else {
            continue;
        };
        let (name, retry) = rest.split_once('\t').expect("three columns");
        let code = ErrorCode::new(code.parse().expect("a number"));
        let retry = match retry {
            "never" => Retry::Never,
            "again" => Retry::Again,
            "refresh" => Retry::AfterRefresh,
            "metadata" => Retry::AfterMetadata,
            other => panic!("{other}"),
        };
        assert_eq!(code.name(), Some(name));
        assert_eq!(code.retry(), retry, "{name}");
        assert_eq!(code.is_retriable(), retry != Retry::Never, "{name}");
        assert_eq!(
            code.invalidates_metadata(),
            retry == Retry::AfterMetadata,
            "{name}"
        );
        let refreshes = matches!(retry, Retry::AfterRefresh | Retry::AfterMetadata);
        assert_eq!(code.needs_refresh(), refreshes, "{name}");
        seen += 1;
    }
    assert_eq!(seen, ErrorCode::ALL.len());
}

#[test]
fn wi_059_no_code_has_two_names_and_no_name_two_codes() {
    let codes: BTreeSet<_> = ErrorCode::ALL.iter().map(|code| code.get()).collect();
    let names: BTreeSet<_> = ErrorCode::ALL
        .iter()
        .filter_map(|code| code.name())
        .collect();
    assert_eq!(codes.len(), ErrorCode::ALL.len());
    assert_eq!(names.len(), ErrorCode::ALL.len());
    assert_eq!(ErrorCode::NONE.get(), 0);
    assert_eq!(ErrorCode::UNKNOWN_SERVER_ERROR.get(), -1);
    assert_eq!(ErrorCode::default(), ErrorCode::NONE);
}

#[test]
fn wi_059_a_code_not_known_here_is_kept() {
    let response = InitProducerIdResponse {
        error_code: ErrorCode::new(31_000),
        ..InitProducerIdResponse::default()
    };
    let mut body = response
        .encode(1)
        .expect("legal")
        .into_bytes()
        .expect("no gap");
    let read = InitProducerIdResponse::decode(&mut body, 1).expect("as good as any");
    assert_eq!(read, response);
    assert_eq!(read.error_code.name(), None);
    assert_eq!(
        read.error_code.retry(),
        ErrorCode::UNKNOWN_SERVER_ERROR.retry()
    );
    assert_eq!(read.error_code.to_string(), "unknown error 31000");
    assert_eq!(read.error_code.ok(), Err(ErrorCode::new(31_000)));
}
