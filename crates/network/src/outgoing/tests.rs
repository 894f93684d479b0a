//! Answers into a socket that takes little.

use std::path::Path;
use std::task::Waker;

use bytes::Bytes;
use klamm_io::sim::{SimClock, SimDisk, SimFile};
use klamm_io::{Clock as _, Disk, FileRange, OpenMode};
use klamm_wire::ApiKey;
use klamm_wire::messages::fetch::{FetchResponse, FetchableTopicResponse, PartitionData};
use klamm_wire::{Encoded, Records, encode_response};
use proptest::prelude::*;

use super::*;
use crate::file_buffers::FILE_BUFFER_LEN;

/// A socket that takes at most so many bytes a write, and blocks where it is told to.
struct Narrow {
    taken: Vec<u8>,
    bytes_max: usize,
    writes: usize,
    is_blocked: bool,
}

impl AsyncWrite for Narrow {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(context, &[IoSlice::new(bytes)])
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        if self.is_blocked {
            return Poll::Pending;
        }
        self.writes += 1;
        let before = self.taken.len();
        for slice in slices {
            let left = self.bytes_max - (self.taken.len() - before);
            let count = slice.len().min(left);
            self.taken.extend(&slice[..count]);
        }
        Poll::Ready(Ok(self.taken.len() - before))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

impl Narrow {
    fn new(bytes_max: usize) -> Self {
        Self {
            taken: Vec::new(),
            bytes_max,
            writes: 0,
            is_blocked: false,
        }
    }
}

fn file(len: usize) -> SimFile {
    let disk = SimDisk::new(0);
    let file = disk.open(Path::new("/log"), OpenMode::CreateNew).unwrap();
    file.write_all_at(&content(len), 0).unwrap();
    file
}

fn content(len: usize) -> Vec<u8> {
    (0..len).map(|at| u8::try_from(at % 251).unwrap()).collect()
}

fn range(file: &SimFile, position: usize, len: usize) -> FileRange<SimFile> {
    FileRange::new(file.clone(), position as u64, len)
}

/// A fetch response with these partitions, and the same with the gaps filled.
fn fetch(records: &[(usize, usize)], content: &[u8]) -> (Encoded, Vec<u8>) {
    let encode = |records: Vec<Records>| {
        let partitions = records.into_iter().map(|records| PartitionData {
            records: Some(records),
            ..PartitionData::default()
        });
        let topic = FetchableTopicResponse {
            partitions: partitions.collect(),
            ..FetchableTopicResponse::default()
        };
        let response = FetchResponse {
            responses: vec![topic],
            ..FetchResponse::default()
        };
        encode_response(7.into(), &response, 4).unwrap()
    };
    let gaps = records.iter().map(|(_, len)| Records::Elsewhere(*len));
    let filled = records.iter().map(|(position, len)| {
        Records::Here(Bytes::copy_from_slice(&content[*position..][..*len]))
    });
    let filled = encode(filled.collect()).into_bytes().unwrap();
    (encode(gaps.collect()), filled.to_vec())
}

fn stages(now: Instant) -> Stages {
    Stages::new(ApiKey::Fetch, 4, 0, now)
}

fn write(
    outgoing: &mut Outgoing<SimFile>,
    socket: &mut Narrow,
    buffers: &FileBuffers,
) -> Poll<Result<usize, SendError>> {
    outgoing.poll_write(socket, &mut Context::from_waker(Waker::noop()), buffers)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    /// Covers NE-012, NE-014, B3.5.
    #[test]
    fn bytes_and_files_leave_in_order_through_any_socket(
        answers in prop::collection::vec(
            prop::collection::vec((0_usize..1_000, 0_usize..200_000), 0..4), 1..4),
        bytes_max in prop_oneof![1_000_usize..5_000, 50_000..500_000_usize],
    ) {
        let now = SimClock::new().now();
        let (file, content) = (file(201_000), content(201_000));
        let buffers = FileBuffers::default();
        let (mut outgoing, mut socket) = (Outgoing::new(), Narrow::new(bytes_max));
        let mut expected = Vec::new();
        let mut ends = Vec::new();
        for answer in &answers {
            let (encoded, filled) = fetch(answer, &content);
            let files = answer.iter().map(|(position, len)| range(&file, *position, *len));
            let response = Response::with_files(encoded, files.collect());
            prop_assert_eq!(response.len(), filled.len());
            outgoing.push(now, response, stages(now)).unwrap();
            expected.extend(filled);
            ends.push(expected.len());
        }
        let mut sent = 0;
        while !outgoing.is_empty() {
            let Poll::Ready(Ok(_)) = write(&mut outgoing, &mut socket, &buffers) else {
                panic!("the socket takes it");
            };
            while let Some(leaving) = outgoing.pop_sent() {
                prop_assert!(socket.taken.len() >= ends[sent]);
                prop_assert!(leaving.len > 0);
                sent += 1;
            }
            let whole = ends.iter().filter(|end| socket.taken.len() >= **end).count();
            prop_assert_eq!(sent, whole, "told as soon as the last byte has left");
        }
        prop_assert_eq!(sent, answers.len());
        prop_assert!(socket.taken == expected);
        prop_assert!(outgoing.buffer.is_none(), "given back");
    }
}

/// Covers B3.5.
#[test]
fn a_large_range_takes_one_buffer_and_one_write_for_each() {
    let now = SimClock::new().now();
    let len = 4 * FILE_BUFFER_LEN;
    let (file, content) = (file(len), content(len));
    let (encoded, filled) = fetch(&[(0, len)], &content);
    let mut outgoing = Outgoing::new();
    let response = Response::with_files(encoded, vec![range(&file, 0, len)]);
    outgoing.push(now, response, stages(now)).unwrap();
    let (mut socket, buffers) = (Narrow::new(usize::MAX), FileBuffers::default());
    while !outgoing.is_empty() {
        assert!(write(&mut outgoing, &mut socket, &buffers).is_ready());
        let held = outgoing.buffer.as_ref().map_or(0, |buffer| buffer.len());
        assert!(held <= FILE_BUFFER_LEN);
    }
    assert!(socket.taken == filled);
    assert!(socket.writes <= 5, "{} writes", socket.writes);
}

/// Covers C128.
#[test]
fn slow_readers_give_their_buffers_back_when_there_are_many() {
    let now = SimClock::new().now();
    let (file, content) = (file(50_000), content(50_000));
    let buffers = FileBuffers::default();
    let mut blocked = Vec::new();
    for _ in 0..500 {
        let (encoded, _) = fetch(&[(0, 50_000)], &content);
        let mut outgoing = Outgoing::new();
        let response = Response::with_files(encoded, vec![range(&file, 0, 50_000)]);
        outgoing.push(now, response, stages(now)).unwrap();
        let mut socket = Narrow::new(usize::MAX);
        socket.is_blocked = true;
        assert!(write(&mut outgoing, &mut socket, &buffers).is_pending());
        blocked.push((outgoing, socket));
    }
    let held = blocked
        .iter()
        .filter(|(outgoing, _)| outgoing.buffer.is_some());
    assert!(held.count() <= 128);
    // What was given up is read again.
    for (mut outgoing, mut socket) in blocked {
        socket.is_blocked = false;
        while !outgoing.is_empty() {
            assert!(write(&mut outgoing, &mut socket, &buffers).is_ready());
        }
        assert!(socket.taken.ends_with(&content));
    }
}

#[test]
fn a_response_that_does_not_fit_together_is_refused() {
    let now = SimClock::new().now();
    let file = file(100);
    let push = |records: &[(usize, usize)], files| {
        let (encoded, _) = fetch(records, &content(100));
        let response = Response::with_files(encoded, files);
        Outgoing::new().push(now, response, stages(now))
    };
    let wrong = |gap, wanted, given| Err(FilesMismatch::Length { gap, wanted, given });
    assert_eq!(push(&[(0, 10)], vec![]), wrong(0, 10, 0));
    assert_eq!(
        push(
            &[(0, 10), (0, 20)],
            vec![range(&file, 0, 10), range(&file, 0, 19)]
        ),
        wrong(1, 20, 19)
    );
    assert_eq!(
        push(&[(0, 10)], vec![range(&file, 0, 10), range(&file, 0, 1)]),
        Err(FilesMismatch::LeftOver { count: 1, gaps: 1 })
    );
    let empty_ones = vec![range(&file, 0, 0), range(&file, 0, 10), range(&file, 0, 0)];
    assert_eq!(push(&[(0, 0), (0, 10)], empty_ones), Ok(()));
}

#[test]
fn a_file_that_became_shorter_is_an_error() {
    let now = SimClock::new().now();
    let (encoded, _) = fetch(&[(0, 100)], &content(100));
    let mut outgoing = Outgoing::new();
    let response = Response::with_files(encoded, vec![range(&file(99), 0, 100)]);
    outgoing.push(now, response, stages(now)).unwrap();
    let (mut socket, buffers) = (Narrow::new(usize::MAX), FileBuffers::default());
    let written = write(&mut outgoing, &mut socket, &buffers);
    assert!(matches!(written, Poll::Ready(Err(SendError::File(_)))));
}
