//! Fuzz targets: no input makes a decoder panic or take memory out of proportion, and whatever it
//! reads it writes in such a way that the same is read again.
//!
//! Under `cargo test` each target goes over the golden vectors, then over random input for a
//! second, or for as long as `BOLERO_RANDOM_TEST_TIME_MS` says; the same functions run under
//! libFuzzer with `cargo bolero`.

mod counting_allocator;
mod input;

use bytes::{Bytes, BytesMut};
use klamm_wire::testing::{Entry, Kind, catalogue};
use klamm_wire::{ApiSet, FrameCodec, Listener, Offer, RequestFrame};
use tokio_util::codec::Decoder;

use counting_allocator::peak_of;
use input::{Case, Corpus};

/// Memory that decoding takes is at most this for each byte of input ...
const MEMORY_PER_BYTE: usize = 33;

/// ... and this, which has room for an error as well.
const MEMORY_MIN: usize = 68 * 1024;

#[test]
fn messages() {
    let entries = catalogue();
    let corpus = Corpus::load(&entries);
    for case in corpus.cases() {
        check_message(&entries, &case);
    }
    bolero::check!().for_each(|input: &[u8]| {
        if let Some(case) = corpus.case(input, &entries) {
            check_message(&entries, &case);
        }
    });
}

fn check_message(entries: &[Entry], case: &Case) {
    let entry = &entries[case.entry];
    let version = case.version;
    let len = case.body.len();
    let mut body = Bytes::from(case.body.clone());
    let (read, peak) = peak_of(|| (entry.decode)(&mut body, version));
    assert!(
        peak <= len * MEMORY_PER_BYTE + MEMORY_MIN,
        "{} v{version} takes {peak} bytes of memory for {len}",
        entry.name
    );
    let Ok(message) = read else {
        assert_eq!(body.len(), len, "a refused body is left as it was");
        return;
    };
    // Neither is a second encoding of the same: varints may be padded, tags at their default.
    let once = message
        .encode(version)
        .expect("what was read can be written");
    assert_eq!(message.encoded_len(version), Ok(once.len()));
    let once = once.into_bytes().expect("what was read is here");
    let mut again = once.clone();
    let twin = (entry.decode)(&mut again, version).expect("what was written can be read");
    assert!(again.is_empty(), "all that was written is read");
    let twice = twin.encode(version).expect("what was read can be written");
    assert_eq!(twice.into_bytes(), Some(once), "{} v{version}", entry.name);
    // Values that are not numbers are not equal to themselves.
    if !format!("{message:?}").contains("NaN") {
        assert!(message.equals(twin.as_ref()), "{} v{version}", entry.name);
    }
}

/// The limit that the frames are cut under.
const SIZE_MAX: usize = 1 << 20;

/// Room for a frame may be taken before it is there, up to this.
const RESERVED_MAX: usize = 512 * 1024;

#[test]
fn frames() {
    let entries = catalogue();
    let corpus = Corpus::load(&entries);
    for frame in corpus.frames() {
        check_frames(frame, 7);
    }
    bolero::check!().for_each(|input: &[u8]| {
        if let [step, bytes @ ..] = input {
            check_frames(bytes, usize::from(*step));
            check_frames(&corpus.edited_frame(input), usize::from(*step));
        }
    });
}

/// Cuts the bytes into frames, given at once and in steps, and reads those that are requests.
fn check_frames(bytes: &[u8], step: usize) {
    let whole = cut(bytes, bytes.len().max(1));
    let stepwise = cut(bytes, step.max(1));
    assert_eq!(whole, stepwise, "pieces make no difference");
    let (frames, _) = whole;
    let offers = [Listener::Broker, Listener::Controller].map(|listener| Offer {
        listener,
        unstable: true,
        telemetry: true,
        apis: ApiSet::ALL,
    });
    let entries = catalogue();
    for frame in frames {
        for offer in &offers {
            let (request, peak) = peak_of(|| RequestFrame::parse(frame.clone(), offer));
            assert!(peak <= MEMORY_MIN, "a header takes {peak} bytes of memory");
            let Ok(request) = request else {
                continue;
            };
            let number = request.key.number();
            let entry = entries
                .iter()
                .position(|entry| entry.kind == Kind::Request && entry.key == Some(number))
                .expect("what is served has a struct");
            let case = Case {
                entry,
                version: request.version(),
                body: request.body.to_vec(),
            };
            check_message(&entries, &case);
        }
    }
}

/// The frames in a stream that comes `step` bytes at a time, and whether it ended well.
fn cut(bytes: &[u8], step: usize) -> (Vec<Bytes>, bool) {
    let mut codec = FrameCodec::new(SIZE_MAX);
    let mut stream = BytesMut::new();
    let mut frames = Vec::new();
    let mut come = 0;
    for piece in bytes.chunks(step) {
        stream.extend_from_slice(piece);
        come += piece.len();
        loop {
            let (frame, peak) = peak_of(|| codec.decode(&mut stream));
            assert!(peak <= RESERVED_MAX + 2 * come, "{peak} bytes of memory");
            match frame {
                Ok(Some(frame)) => frames.push(frame),
                Ok(None) => break,
                Err(_) => return (frames, false),
            }
        }
    }
    let ended = codec.decode_eof(&mut stream).is_ok();
    (frames, ended)
}
