//! Each codec on bytes that are no records.

use crate::compression::{Codec, Codecs, InflateError, Inflated, Levels};

/// Sizes about those of the codecs' blocks, and about a chunk.
const LENGTHS: [usize; 12] = [
    0, 1, 2, 1023, 1024, 32_767, 32_768, 32_769, 65_535, 65_536, 65_537, 200_000,
];

const COMPRESSING: [Codec; 4] = [Codec::Gzip, Codec::Snappy, Codec::Lz4, Codec::Zstd];

fn noise(len: usize) -> Vec<u8> {
    let mut state = 1_u32;
    let next = || {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        state.to_le_bytes()[1]
    };
    std::iter::repeat_with(next).take(len).collect()
}

fn pack(codec: Codec, plain: &[u8], codecs: &mut Codecs) -> Vec<u8> {
    let mut buffer = [b"before", plain].concat();
    let compression = codec.at(&Levels::default());
    codecs
        .deflate_in_place(compression, &mut buffer, 6, usize::MAX)
        .unwrap();
    assert_eq!(buffer[..6], *b"before");
    buffer.split_off(6)
}

/// Reads a payload to its end, some bytes at a time.
fn unpack(
    codec: Codec,
    payload: &[u8],
    step: usize,
    codecs: &mut Codecs,
) -> Result<Vec<u8>, InflateError> {
    let mut inflated = Inflated::new(codec, payload, codecs).expect("the codec compresses");
    let mut plain = Vec::new();
    loop {
        let there = inflated.at_least(step)?;
        let taken = there.len().min(step);
        plain.extend_from_slice(&there[..taken]);
        inflated.consume(taken);
        assert_eq!(inflated.position(), plain.len() as u64);
        if taken == 0 {
            return Ok(plain);
        }
    }
}

/// Covers RB-088.
#[test]
fn each_codec_gives_back_what_it_was_given() {
    let mut codecs = Codecs::default();
    for codec in COMPRESSING {
        for len in LENGTHS {
            let text = b"a klamm is a narrow gorge; "
                .iter()
                .copied()
                .cycle()
                .take(len)
                .collect();
            for plain in [noise(len), vec![0; len], text] {
                let payload = pack(codec, &plain, &mut codecs);
                for step in [1, 1000, 1 << 20] {
                    if len / step < 70_000 {
                        let read = unpack(codec, &payload, step, &mut codecs).unwrap();
                        assert!(read == plain, "{codec}: {len} bytes in steps of {step}");
                    }
                }
            }
        }
    }
}

#[test]
fn rb_090_skipping_never_passes_the_end_and_tells_how_far_it_came() {
    let mut codecs = Codecs::default();
    let plain = noise(100_000);
    for codec in COMPRESSING {
        let payload = pack(codec, &plain, &mut codecs);
        let mut inflated = Inflated::new(codec, &payload, &mut codecs).unwrap();
        assert_eq!(inflated.skip(0), Ok(0));
        assert_eq!(inflated.skip(1), Ok(1));
        assert_eq!(inflated.at_least(2).unwrap()[..2], plain[1..3]);
        assert_eq!(inflated.skip(70_000), Ok(70_000));
        assert_eq!(inflated.at_least(2).unwrap()[..2], plain[70_001..70_003]);
        assert_eq!(inflated.skip(usize::MAX), Ok(29_999));
        assert_eq!(inflated.skip(1), Ok(0));
        assert!(inflated.at_least(1).unwrap().is_empty());
        assert_eq!(inflated.position(), 100_000);
    }
}

/// Covers RB-091: what is there at once is often less than what is asked for.
#[test]
fn the_window_holds_little_more_than_what_is_asked_for() {
    let mut codecs = Codecs::default();
    let plain = vec![0; 3_000_000];
    for codec in COMPRESSING {
        let payload = pack(codec, &plain, &mut codecs);
        let mut inflated = Inflated::new(codec, &payload, &mut codecs).unwrap();
        let mut longest = 0;
        while inflated.at_least(1000).unwrap().len() >= 1000 {
            longest = longest.max(inflated.unread().len());
            inflated.consume(1000);
        }
        assert!(
            (1000..=1000 + (64 << 10)).contains(&longest),
            "{codec}: {longest}"
        );
        drop(inflated);
        assert!(
            codecs.window.capacity() <= 256 << 10,
            "{codec}: {}",
            codecs.window.capacity()
        );

        // One long piece needs all of it, and the buffer is given back afterwards.
        let mut inflated = Inflated::new(codec, &payload, &mut codecs).unwrap();
        assert!(inflated.at_least(plain.len()).unwrap() == plain);
        drop(inflated);
        assert_eq!(codecs.window.capacity(), 0, "{codec}");
    }
}

#[test]
fn limits_hold_to_the_byte() {
    let plain = noise(50_000);
    for codec in COMPRESSING {
        let payload = pack(codec, &plain, &mut Codecs::default());
        let unpack = |limit| unpack(codec, &payload, 1000, &mut Codecs::with_inflated_max(limit));
        assert!(unpack(50_000).unwrap() == plain, "{codec}");
        for limit in [0, 1, 49_999] {
            assert_eq!(
                unpack(limit),
                Err(InflateError::TooLarge { limit }),
                "{codec}"
            );
        }
    }
}

#[test]
fn every_cut_of_a_payload_is_an_error_or_all_of_it() {
    let mut codecs = Codecs::default();
    let plain = noise(300);
    for codec in COMPRESSING {
        let payload = pack(codec, &plain, &mut codecs);
        for len in 0..payload.len() {
            match unpack(codec, &payload[..len], 100, &mut codecs) {
                Ok(read) => assert!(
                    read.is_empty() && (len == 0 || codec == Codec::Snappy),
                    "{codec}: {} bytes out of {len} of {}",
                    read.len(),
                    payload.len()
                ),
                Err(error) => assert!(
                    matches!(
                        error,
                        InflateError::Truncated { .. } | InflateError::Corrupt { .. }
                    ),
                    "{codec}, {len}: {error}"
                ),
            }
        }
    }
}

#[test]
fn what_grows_beyond_the_limit_leaves_the_buffer_as_it_was() {
    let mut codecs = Codecs::default();
    let (before, start) = (b"kept, then a few bytes", 4);
    for codec in COMPRESSING {
        let compression = codec.at(&Levels::default());
        let mut buffer = before.to_vec();
        let mut deflate = |len_max, buffer: &mut Vec<u8>| {
            codecs.deflate_in_place(compression, buffer, start, len_max)
        };
        // Each codec makes so short an input longer.
        let error = deflate(before.len() - start, &mut buffer).unwrap_err();
        assert_eq!(error.codec, codec);
        assert_eq!(buffer, before);
        deflate(100, &mut buffer).unwrap();
        assert!(buffer.len() > before.len() && buffer.starts_with(b"kept"));
    }
}
