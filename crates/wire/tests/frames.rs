//! Cutting a stream into frames, and whole frames with header and body.

use bytes::{Bytes, BytesMut};
use klamm_wire::header::{RequestHeader, ResponseHeader};
use klamm_wire::testing::{Kind, catalogue};
use klamm_wire::{ApiKey, FrameCodec, FrameError, Message, Stranger};
use serde::Deserialize;
use serde_json::Value;
use tokio_util::codec::{Decoder, Encoder};

/// `socket.request.max.bytes`, unless it is set otherwise.
const SIZE_MAX: usize = 104_857_600;

fn frame_of(len: usize) -> Vec<u8> {
    let mut frame = u32::try_from(len).expect("small").to_be_bytes().to_vec();
    frame.extend((0..len).map(|at| at.to_le_bytes()[0]));
    frame
}

#[test]
fn wi_055_a_frame_is_complete_with_its_last_byte() {
    let frame = frame_of(128);
    let mut codec = FrameCodec::new(SIZE_MAX);
    let mut stream = BytesMut::new();
    for piece in [&frame[..2], &frame[2..4], &frame[4..68], &frame[68..131]] {
        stream.extend_from_slice(piece);
        assert!(matches!(codec.decode(&mut stream), Ok(None)));
    }
    stream.extend_from_slice(&frame[131..]);
    stream.extend_from_slice(&[0, 0, 0, 9, 1]);
    let read = codec
        .decode(&mut stream)
        .expect("a frame")
        .expect("all is there");
    assert_eq!(read, frame[4..]);
    assert_eq!(stream[..], [0, 0, 0, 9, 1], "the next frame's bytes stay");
    assert!(matches!(codec.decode(&mut stream), Ok(None)));
}

#[test]
fn wi_056_a_bad_size_is_refused_before_room_is_taken() {
    let mut codec = FrameCodec::new(SIZE_MAX);
    for size in [-1, i32::MIN] {
        let mut stream = BytesMut::from(&size.to_be_bytes()[..]);
        let error = codec.decode(&mut stream).expect_err("negative");
        assert!(matches!(error, FrameError::NegativeSize { size: s } if s == size));
        assert!(stream.capacity() < 64);
    }
    for size in [104_857_601, i32::MAX] {
        let mut stream = BytesMut::from(&size.to_be_bytes()[..]);
        let error = codec.decode(&mut stream).expect_err("too large");
        assert!(matches!(error, FrameError::TooLarge { size: s, size_max: SIZE_MAX } if s == size));
        assert!(stream.capacity() < 64);
    }
    // One that is just small enough is waited for, and takes no room to speak of until it comes.
    let mut stream = BytesMut::from(&104_857_600i32.to_be_bytes()[..]);
    assert!(matches!(codec.decode(&mut stream), Ok(None)));
    assert!(stream.capacity() < 1024 * 1024);
}

#[test]
fn wi_057_an_end_inside_a_frame_is_a_disconnect_and_between_frames_a_close() {
    let mut codec = FrameCodec::new(SIZE_MAX);
    let mut stream = BytesMut::from(&frame_of(3)[..]);
    let read = codec.decode_eof(&mut stream).expect("a frame");
    assert_eq!(read.as_deref(), Some(&[0, 1, 2][..]));
    assert!(matches!(codec.decode_eof(&mut stream), Ok(None)));

    for cut in 1..7 {
        let mut stream = BytesMut::from(&frame_of(3)[..cut]);
        let error = codec.decode_eof(&mut stream).expect_err("cut");
        assert!(matches!(error, FrameError::Disconnected { received } if received == cut));
    }
}

#[test]
fn wi_058_several_frames_in_one_read_are_found_in_order() {
    let mut codec = FrameCodec::new(SIZE_MAX);
    let frames = [frame_of(5), frame_of(0), frame_of(300), frame_of(1)];
    let mut stream = BytesMut::from(&frames.concat()[..]);
    for frame in frames {
        let read = codec
            .decode(&mut stream)
            .expect("a frame")
            .expect("all is there");
        assert_eq!(read, frame[4..]);
    }
    assert!(matches!(codec.decode(&mut stream), Ok(None)));
    assert!(stream.is_empty());
}

#[test]
fn written_frames_are_read_again_and_the_limit_holds_for_both() {
    let mut codec = FrameCodec::new(8);
    let mut stream = BytesMut::new();
    codec
        .encode(Bytes::from_static(b"12345678"), &mut stream)
        .expect("fits");
    assert_eq!(stream[..], *b"\0\0\0\x0812345678");
    assert_eq!(
        codec.decode(&mut stream).expect("a frame").as_deref(),
        Some(&b"12345678"[..])
    );
    let error = codec
        .encode(Bytes::from_static(b"123456789"), &mut stream)
        .expect_err("does not fit");
    assert!(matches!(
        error,
        FrameError::TooLarge {
            size: 9,
            size_max: 8
        }
    ));
    assert!(stream.is_empty());
}

#[test]
fn what_is_longer_than_a_size_can_say_is_not_written() {
    // The memory comes zeroed from the system and is never touched.
    let frame = Bytes::from(vec![0; (1 << 31) + 5]);
    let mut codec = FrameCodec::new(usize::MAX);
    let mut stream = BytesMut::new();
    let error = codec.encode(frame, &mut stream).expect_err("above 31 bits");
    assert!(matches!(error, FrameError::TooLarge { .. }));
    assert!(stream.is_empty());
}

#[test]
fn other_protocols_are_told_by_their_first_bytes() {
    let mut codec = FrameCodec::new(SIZE_MAX);
    let mut stranger = |bytes: &[u8]| {
        let error = codec
            .decode(&mut BytesMut::from(bytes))
            .expect_err("absurd");
        (error.stranger(), error.to_string())
    };
    let (tls, text) = stranger(&[0x15, 3, 1, 0, 2]);
    assert_eq!(tls, Some(Stranger::Tls));
    assert_eq!(
        text,
        "frame of 352518400 bytes, more than 104857600; the other side seems to speak TLS"
    );
    assert_eq!(stranger(&[0x16, 3, 1, 2]).0, Some(Stranger::Tls));
    assert_eq!(stranger(b"GET / HTTP/1.1").0, Some(Stranger::Http));
    assert_eq!(stranger(b"HTTP/1.1 400").0, Some(Stranger::Http));
    assert_eq!(stranger(&[0x7f, 0xff, 0xff, 0xff]).0, None);
}

#[derive(Deserialize)]
struct Vector {
    message: String,
    kind: String,
    key: i16,
    version: i16,
    header_version: i16,
    header_fields: Value,
    header_bytes: usize,
    hex: String,
    fields: Value,
}

/// Covers WI-037, WI-040, WI-041.
#[test]
fn golden_frames_have_the_right_header_and_body() {
    let entries = catalogue();
    let mut seen = 0;
    for line in include_str!("golden/frames.jsonl").lines() {
        let vector: Vector = serde_json::from_str(line).expect("a vector");
        let Some(entry) = entries.iter().find(|entry| entry.name == vector.message) else {
            panic!("no struct for {}", vector.message);
        };
        let label = format!("{} v{}", vector.message, vector.version);
        let bytes = hex::decode(&vector.hex).expect("hex");
        let mut stream = BytesMut::from(&bytes[..]);
        let mut frame = FrameCodec::new(SIZE_MAX)
            .decode(&mut stream)
            .expect("a frame")
            .expect("all is there");
        assert!(stream.is_empty());

        let key = ApiKey::from_number(vector.key).expect("a known key");
        let before = frame.len();
        let (header, header_version) = if entry.kind == Kind::Request {
            let version = key.request_header_version(vector.version);
            let header = RequestHeader::decode(&mut frame, version).expect("a header");
            assert_eq!(header.request_api_key, vector.key);
            assert_eq!(header.request_api_version, vector.version);
            (json(&header, version), version)
        } else {
            assert_eq!(vector.kind, "response");
            let version = key.response_header_version(vector.version);
            let header = ResponseHeader::decode(&mut frame, version).expect("a header");
            (json(&header, version), version)
        };
        assert_eq!(header_version, vector.header_version, "{label}");
        assert_eq!(header, vector.header_fields, "{label}");
        assert_eq!(before - frame.len(), vector.header_bytes, "{label}");

        let message = (entry.decode)(&mut frame, vector.version).expect("a body");
        assert!(frame.is_empty(), "{label}");
        assert_eq!(message.to_json(vector.version), vector.fields, "{label}");
        seen += 1;
    }
    assert_eq!(seen, 92);
}

fn json<M: klamm_wire::testing::AnyMessage>(message: &M, version: i16) -> Value {
    message.to_json(version)
}
