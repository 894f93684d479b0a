//! Codecs as batches have them.

use bytes::BytesMut;
use klamm_records::{
    BatchOptions, Codec, Codecs, Compression, GzipLevel, HEADER_LEN, InflateError, LevelError,
    Levels, Lz4Level, RecordBatch, RecordBatchBuilder, RecordsError, TopicCompression, ZstdLevel,
    crc32c,
};

use crate::support::{
    Plain, batch_around, build, compressions, noise, read, read_both_ways, read_until, three,
    three_plain,
};

/// Compresses with an implementation that is not ours.
pub(crate) fn pack(codec: Codec, plain: &[u8]) -> Vec<u8> {
    use kafka_protocol::compression::{Compressor, Gzip, Lz4, Snappy, Zstd};
    let mut packed = BytesMut::new();
    let fill = |buffer: &mut BytesMut| {
        buffer.extend_from_slice(plain);
        Ok(())
    };
    match codec {
        Codec::None => packed.extend_from_slice(plain),
        Codec::Gzip => Gzip::compress(&mut packed, fill).unwrap(),
        Codec::Snappy => Snappy::compress(&mut packed, fill).unwrap(),
        Codec::Lz4 => Lz4::compress(&mut packed, fill).unwrap(),
        Codec::Zstd => Zstd::compress(&mut packed, fill).unwrap(),
    }
    packed.to_vec()
}

/// Why a batch with that payload cannot be read.
fn refusal(codec: Codec, payload: &[u8]) -> InflateError {
    let batch = batch_around(3, codec, payload);
    match read_both_ways(&batch, &mut Codecs::default()) {
        Err(RecordsError::Inflate { source, .. }) => source,
        other => panic!("{other:?}"),
    }
}

fn corrupt(codec: Codec, reason: &'static str) -> InflateError {
    InflateError::Corrupt { codec, reason }
}

fn plain_payload() -> Vec<u8> {
    three(Compression::None).payload().to_vec()
}

fn check_reads(codec: Codec, payload: &[u8]) {
    let batch = batch_around(3, codec, payload);
    assert_eq!(
        read_both_ways(&batch, &mut Codecs::default()).unwrap(),
        three_plain()
    );
}

#[test]
fn rb_080_only_the_records_are_compressed_and_the_checksum_is_over_that() {
    let plain = three(Compression::None);
    for compression in compressions() {
        let batch = three(compression);
        assert_eq!(batch.header().crc, crc32c(&batch.bytes()[21..]));
        assert_eq!(batch.header().attributes.codec(), Ok(compression.codec()));
        let apart = |batch: &RecordBatch| batch.bytes()[23..HEADER_LEN].to_vec();
        assert_eq!(apart(&batch), apart(&plain));
        let packed = pack(compression.codec(), plain.payload());
        let by_others = batch_around(3, compression.codec(), &packed);
        assert_eq!(read(&by_others).unwrap(), read(&batch).unwrap());
    }
}

#[test]
fn rb_081_gzip_is_a_usual_stream_at_levels_1_to_9() {
    let payload = three(Compression::Gzip(GzipLevel::default()))
        .payload()
        .to_vec();
    assert_eq!(payload[..3], [0x1f, 0x8b, 8]);
    assert_eq!(GzipLevel::new(-1), Ok(GzipLevel::default()));
    assert_eq!(GzipLevel::new(6), Ok(GzipLevel::default()));
    for level in 1..=9 {
        let level = GzipLevel::new(level).unwrap();
        assert_eq!(
            read(&three(Compression::Gzip(level))).unwrap(),
            three_plain()
        );
    }
    for level in [-2, 0, 10, i32::MAX, i32::MIN] {
        let codec = Codec::Gzip;
        assert_eq!(
            GzipLevel::new(level),
            Err(LevelError {
                codec,
                level,
                least: 1,
                most: 9
            })
        );
    }

    let two_members = [
        &pack(Codec::Gzip, &plain_payload()[..9])[..],
        &pack(Codec::Gzip, &plain_payload()[9..]),
    ]
    .concat();
    check_reads(Codec::Gzip, &two_members);
    let mut wrong = payload.clone();
    let last = wrong.len() - 8;
    wrong[last] ^= 1;
    assert_eq!(
        refusal(Codec::Gzip, &wrong),
        corrupt(Codec::Gzip, "wrong checksum")
    );
    assert_eq!(
        refusal(Codec::Gzip, b"no gzip"),
        corrupt(Codec::Gzip, "wrong header")
    );
    let truncated = InflateError::Truncated { codec: Codec::Gzip };
    assert_eq!(
        refusal(Codec::Gzip, &payload[..payload.len() - 1]),
        truncated
    );
}

const XERIAL: [u8; 16] = *b"\x82SNAPPY\0\0\0\0\x01\0\0\0\x01";

#[test]
fn rb_082_snappy_has_the_framing_of_snappy_java() {
    let payload = three(Compression::Snappy).payload().to_vec();
    assert_eq!(payload[..16], XERIAL);
    let block_len = u32::from_be_bytes(payload[16..20].try_into().unwrap());
    assert_eq!(payload.len(), 20 + usize::try_from(block_len).unwrap());
    check_reads(Codec::Snappy, &payload);

    // Many blocks, as of 32 KiB each.
    let value = noise(100_000);
    let record = Plain {
        value: Some(value),
        ..Plain::default()
    };
    let options = BatchOptions {
        compression: Compression::Snappy,
        ..BatchOptions::default()
    };
    let batch = build(options, std::slice::from_ref(&record));
    let mut rest = &batch.payload()[16..];
    let mut plain_lens = Vec::new();
    while let Some((len, behind)) = rest.split_first_chunk() {
        let (block, behind) = behind.split_at(u32::from_be_bytes(*len) as usize);
        plain_lens.push(snap::raw::decompress_len(block).unwrap());
        rest = behind;
    }
    assert_eq!(plain_lens, [32_768, 32_768, 32_768, 1_707]);
    assert_eq!(read(&batch).unwrap(), [record]);
}

/// One raw block without framing, of any length, also one that looks like the framing at first
/// (see also C038 and C040).
#[test]
fn raw_snappy_is_told_from_the_framing_by_all_eight_bytes() {
    let raw = |plain: &[u8]| snap::raw::Encoder::new().compress_vec(plain).unwrap();
    check_reads(Codec::Snappy, &raw(&plain_payload()));
    // The header around the payload has 1000 for its base timestamp.
    let one = |value_len| Plain {
        timestamp_ms: 1000,
        value: Some(noise(value_len)),
        ..Plain::default()
    };
    for value_len in [
        0, 1, 2, 114, 115, 116, 117, 118, 119, 120, 200, 1000, 50_000,
    ] {
        let plain = build(BatchOptions::default(), &[one(value_len)]);
        let batch = batch_around(1, Codec::Snappy, &raw(plain.payload()));
        let records = read_both_ways(&batch, &mut Codecs::default()).unwrap();
        assert_eq!(records, [one(value_len)], "{value_len}");
    }
    // 130 plain bytes: the length of the block is written 82 01.
    let plain = build(BatchOptions::default(), &[one(121)]);
    assert_eq!(plain.payload().len(), 130);
    assert_eq!(raw(plain.payload())[0], XERIAL[0]);

    let snappy = Codec::Snappy;
    let framed = |blocks: &[u8]| [&XERIAL, blocks].concat();
    let truncated = InflateError::Truncated { codec: snappy };
    assert_eq!(refusal(snappy, &XERIAL[..15]), truncated);
    assert_eq!(refusal(snappy, &framed(&[0, 0, 0])), truncated);
    assert_eq!(refusal(snappy, &framed(&[0, 0, 0, 9, 1])), truncated);
    let negative = corrupt(snappy, "negative block length");
    assert_eq!(refusal(snappy, &framed(&[0xff; 8])), negative);
    let mut version_0 = XERIAL;
    version_0[11] = 0;
    let version = corrupt(snappy, "unknown version of the stream format");
    assert_eq!(refusal(snappy, &version_0), version);
    let announced = corrupt(snappy, "block announces more than it can hold");
    assert_eq!(refusal(snappy, &[0xff, 0xff, 0x03, 0]), announced);
}

/// A frame with these flags and this block size, its checksum right, and blocks behind.
fn lz4_frame(flags: u8, descriptor: u8, content_size: &[u8], blocks: &[u8]) -> Vec<u8> {
    let header = [&[flags, descriptor], content_size].concat();
    let check = twox_hash::XxHash32::oneshot(0, &header).to_le_bytes()[1];
    [&[0x04, 0x22, 0x4d, 0x18], &header[..], &[check], blocks].concat()
}

/// A block that is stored as it is, and the end mark.
fn lz4_stored(plain: &[u8]) -> Vec<u8> {
    let len = u32::try_from(plain.len()).unwrap() | 1 << 31;
    [&len.to_le_bytes(), plain, &[0; 4]].concat()
}

#[test]
fn rb_083_lz4_is_written_as_a_frame_of_independent_blocks() {
    let payload = three(Compression::Lz4(Lz4Level::default()))
        .payload()
        .to_vec();
    assert_eq!(payload[..7], [0x04, 0x22, 0x4d, 0x18, 0x60, 0x40, 0x82]);
    assert_eq!(payload[payload.len() - 4..], [0; 4]);
    assert_eq!(lz4_frame(0x60, 0x40, &[], &[]), payload[..7]);
    check_reads(Codec::Lz4, &payload);
    assert_eq!(Lz4Level::default().get(), 9);
    for level in 1..=17 {
        let level = Lz4Level::new(level).unwrap();
        assert_eq!(
            read(&three(Compression::Lz4(level))).unwrap(),
            three_plain()
        );
    }
    for level in [i32::MIN, -1, 0, 18] {
        let codec = Codec::Lz4;
        assert_eq!(
            Lz4Level::new(level),
            Err(LevelError {
                codec,
                level,
                least: 1,
                most: 17
            })
        );
    }
}

#[test]
fn rb_084_lz4_frames_that_are_not_right_are_refused() {
    let plain = plain_payload();
    let stored = lz4_stored(&plain);
    let lz4 = Codec::Lz4;
    let good = lz4_frame(0x60, 0x40, &[], &stored);
    check_reads(lz4, &good);

    let mut wrong_magic = good.clone();
    wrong_magic[0] = 5;
    assert_eq!(refusal(lz4, &wrong_magic), corrupt(lz4, "wrong magic"));
    let mut wrong_checksum = good.clone();
    wrong_checksum[6] ^= 1;
    assert_eq!(
        refusal(lz4, &wrong_checksum),
        corrupt(lz4, "wrong header checksum")
    );
    let refused = |flags, descriptor| refusal(lz4, &lz4_frame(flags, descriptor, &[], &stored));
    let version = corrupt(lz4, "unknown version of the frame format");
    for flags in [0x20, 0xa0, 0xe0] {
        assert_eq!(refused(flags, 0x40), version);
    }
    let reserved = corrupt(lz4, "reserved bits are set");
    assert_eq!(refused(0x62, 0x40), reserved);
    for descriptor in [0xc0, 0x41, 0x48] {
        assert_eq!(refused(0x60, descriptor), reserved);
    }
    for size_code in 0..4 {
        assert_eq!(
            refused(0x60, size_code << 4),
            corrupt(lz4, "unknown block size")
        );
    }
    for size_code in 4..8 {
        check_reads(lz4, &lz4_frame(0x60, size_code << 4, &[], &stored));
    }
    let linked = corrupt(lz4, "blocks that depend on each other");
    assert_eq!(refused(0x40, 0x40), linked);
    assert_eq!(refused(0x61, 0x40), corrupt(lz4, "a dictionary is needed"));

    let large = lz4_frame(0x60, 0x40, &[], &lz4_stored(&vec![0; 65_537]));
    let too_large = corrupt(lz4, "block larger than the frame's maximum");
    assert_eq!(refusal(lz4, &large), too_large);
    // A compressed block that holds 64 KiB and one byte.
    let block = lz4_flex::block::compress(&vec![0; 65_537]);
    let len = u32::try_from(block.len()).unwrap();
    let blocks = [&len.to_le_bytes(), &block[..], &[0; 4]].concat();
    let too_much = corrupt(lz4, "block holds more than the frame's maximum");
    assert_eq!(refusal(lz4, &lz4_frame(0x60, 0x40, &[], &blocks)), too_much);
    assert_eq!(
        refusal(
            lz4,
            &lz4_frame(0x60, 0x40, &[], &[5, 0, 0, 0, 0xf0, 1, 2, 3, 4])
        ),
        corrupt(lz4, "block ends early")
    );

    // The records are there; what is missing is the end of the frame.
    let truncated = InflateError::Truncated { codec: lz4 };
    for missing in 1..good.len() {
        let cut = batch_around(3, lz4, &good[..good.len() - missing]);
        let (records, end) = read_until(&cut, &mut Codecs::default());
        assert!(
            matches!(&end, Err(RecordsError::Inflate { source, .. }) if *source == truncated),
            "{missing} missing: {end:?}"
        );
        assert_eq!(records.len(), if missing <= 4 { 3 } else { 0 });
    }
}

#[test]
fn rb_085_lz4_checksums_and_sizes_are_taken_into_account() {
    let plain = plain_payload();
    let checksum = twox_hash::XxHash32::oneshot(0, &plain).to_le_bytes();
    let len = (u32::try_from(plain.len()).unwrap() | 1 << 31).to_le_bytes();
    let checked = [&len, &plain[..], &checksum, &[0; 4]].concat();
    check_reads(Codec::Lz4, &lz4_frame(0x70, 0x40, &[], &checked));
    let mut wrong = checked;
    wrong[4] ^= 1;
    let refused = refusal(Codec::Lz4, &lz4_frame(0x70, 0x40, &[], &wrong));
    assert_eq!(refused, corrupt(Codec::Lz4, "wrong block checksum"));

    let stored = lz4_stored(&plain);
    let with_size = lz4_frame(0x68, 0x40, &plain.len().to_le_bytes(), &stored);
    check_reads(Codec::Lz4, &with_size);
    // A content checksum has to be there and may be anything.
    let with_checksum = [&stored[..], &[1, 2, 3, 4]].concat();
    check_reads(Codec::Lz4, &lz4_frame(0x64, 0x40, &[], &with_checksum));
    let truncated = InflateError::Truncated { codec: Codec::Lz4 };
    assert_eq!(
        refusal(Codec::Lz4, &lz4_frame(0x64, 0x40, &[], &stored)),
        truncated
    );
    // The reference stops after the first frame.
    let behind = [&lz4_frame(0x60, 0x40, &[], &stored)[..], b"anything"].concat();
    check_reads(Codec::Lz4, &behind);
}

/// A frame whose writer did not know how long it would be.
fn zstd_streamed(plain: &[u8], level: i32) -> Vec<u8> {
    let mut encoder = zstd::stream::Encoder::new(Vec::new(), level).unwrap();
    std::io::Write::write_all(&mut encoder, plain).unwrap();
    std::io::Write::flush(&mut encoder).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn rb_086_zstd_is_read_with_and_without_sizes_and_in_several_frames() {
    let plain = plain_payload();
    let payload = three(Compression::Zstd(ZstdLevel::default()))
        .payload()
        .to_vec();
    assert_eq!(payload[..4], [0x28, 0xb5, 0x2f, 0xfd]);
    assert_eq!(ZstdLevel::default().get(), 3);
    let streamed = zstd_streamed(&plain, 3);
    assert_eq!(
        zstd::zstd_safe::get_frame_content_size(&streamed).unwrap(),
        None
    );
    check_reads(Codec::Zstd, &streamed);
    let frames = plain
        .chunks(10)
        .map(|part| zstd::bulk::compress(part, 3).unwrap());
    check_reads(Codec::Zstd, &frames.collect::<Vec<_>>().concat());
    let mut checked = zstd::stream::Encoder::new(Vec::new(), 3).unwrap();
    checked.include_checksum(true).unwrap();
    std::io::Write::write_all(&mut checked, &plain).unwrap();
    let mut checked = checked.finish().unwrap();
    check_reads(Codec::Zstd, &checked);
    *checked.last_mut().unwrap() ^= 1;
    assert!(matches!(
        refusal(Codec::Zstd, &checked),
        InflateError::Corrupt { .. }
    ));

    for level in [-131_072, -7, -1, 0, 1, 19, 22] {
        let level = ZstdLevel::new(level).unwrap();
        assert_eq!(
            read(&three(Compression::Zstd(level))).unwrap(),
            three_plain()
        );
    }
    for level in [i32::MIN, -131_073, 23] {
        let (codec, least, most) = (Codec::Zstd, -131_072, 22);
        assert_eq!(
            ZstdLevel::new(level),
            Err(LevelError {
                codec,
                level,
                least,
                most
            })
        );
    }
}

/// The levels above 19 ask readers for windows of up to 128 MiB when the size is not known
/// beforehand; those are read as far as the limit allows.
#[test]
fn zstd_windows_are_bounded_by_the_limit_but_not_below_8_mib() {
    let plain = plain_payload();
    for (level, limit, taken) in [
        (19, 1, true),
        (22, 128 << 20, true),
        (22, 127 << 20, true),
        (22, 64 << 20, false),
    ] {
        let payload = zstd_streamed(&plain, level);
        let batch = batch_around(3, Codec::Zstd, &payload);
        let mut codecs = Codecs::with_inflated_max(limit);
        let (records, end) = read_until(&batch, &mut codecs);
        let window_refused = matches!(
            &end,
            Err(RecordsError::Inflate {
                source: InflateError::Corrupt { .. },
                ..
            })
        );
        assert_eq!(
            !window_refused, taken,
            "level {level}, limit {limit}: {end:?}"
        );
        assert_eq!(records.len(), if limit > 1 && taken { 3 } else { 0 });
    }
}

/// Covers RB-087, RB-092.
#[test]
fn names_and_levels_are_checked() {
    for (codec, name) in Codec::ALL
        .into_iter()
        .zip(["none", "gzip", "snappy", "lz4", "zstd"])
    {
        assert_eq!(name.parse(), Ok(codec));
        assert_eq!(codec.to_string(), name);
        assert_eq!(Codec::from_id(codec.id()), Ok(codec));
        let levels = Levels::default();
        let fixed = TopicCompression::Fixed(codec.at(&levels));
        assert_eq!(TopicCompression::from_name(name, &levels), Ok(fixed));
        assert_eq!(fixed.target(Codec::Gzip), codec.at(&levels));
        assert_eq!(TopicCompression::Producer.target(codec), codec.at(&levels));
    }
    for name in [
        "",
        "GZIP",
        "Zstd",
        " lz4",
        "brotli",
        "producer",
        "uncompressed",
    ] {
        let error = name.parse::<Codec>().unwrap_err();
        assert!(error.to_string().contains(&format!("`{name}`")));
    }
    let levels = Levels {
        zstd: ZstdLevel::new(7).unwrap(),
        ..Levels::default()
    };
    let topic = |name| TopicCompression::from_name(name, &levels);
    assert_eq!(topic("producer"), Ok(TopicCompression::Producer));
    assert_eq!(
        topic("uncompressed"),
        Ok(TopicCompression::Fixed(Compression::None))
    );
    let zstd = Compression::Zstd(ZstdLevel::new(7).unwrap());
    assert_eq!(topic("zstd"), Ok(TopicCompression::Fixed(zstd)));
    assert!(
        topic("brotli")
            .unwrap_err()
            .to_string()
            .contains("producer")
    );
    assert!(Codec::from_id(5).is_err());

    let text = |error: LevelError| error.to_string();
    assert_eq!(
        text(GzipLevel::new(10).unwrap_err()),
        "10 is no gzip level: expected 1 to 9 or -1 for the default"
    );
    assert_eq!(
        text(Lz4Level::new(0).unwrap_err()),
        "0 is no lz4 level: expected 1 to 17"
    );
    assert_eq!(
        text(ZstdLevel::new(23).unwrap_err()),
        "23 is no zstd level: expected -131072 to 22"
    );
    // The level stands nowhere in the batch.
    let at = |level| three(Compression::Gzip(GzipLevel::new(level).unwrap()));
    assert_eq!(at(1).header().attributes, at(9).header().attributes);
}

#[test]
fn rb_089_a_payload_in_a_larger_buffer_is_read_within_its_bounds() {
    for compression in compressions() {
        let batch = three(compression);
        let buffer = [&noise(77)[..], batch.bytes(), batch.bytes(), &noise(99)].concat();
        let slice = bytes::Bytes::from(buffer).slice(77..77 + batch.size());
        let inside = RecordBatch::parse(slice).unwrap();
        assert_eq!(
            read_both_ways(&inside, &mut Codecs::default()).unwrap(),
            three_plain()
        );
    }
}

/// A batch of one record of many zeros, which shrinks to a thousandth and more.
#[test]
fn bombs_are_stopped_at_the_limit() {
    let record = Plain {
        value: Some(vec![0; 20 << 20]),
        ..Plain::default()
    };
    for compression in compressions().into_iter().skip(1) {
        let options = BatchOptions {
            compression,
            ..BatchOptions::default()
        };
        let batch = build(options, std::slice::from_ref(&record));
        let limit = 1 << 20;
        let mut codecs = Codecs::with_inflated_max(limit);
        assert_eq!(codecs.inflated_max(), limit);
        let error = read_both_ways(&batch, &mut codecs).unwrap_err();
        assert!(
            matches!(
                &error,
                RecordsError::Inflate { source: InflateError::TooLarge { limit: l }, .. }
                    if *l == limit
            ),
            "{compression:?}: {error}"
        );
        let exact = batch_size(&batch);
        assert!(read(&batch).is_ok());
        assert!(
            read_until(&batch, &mut Codecs::with_inflated_max(exact))
                .1
                .is_ok()
        );
        assert!(
            read_until(&batch, &mut Codecs::with_inflated_max(exact - 1))
                .1
                .is_err()
        );
    }
}

/// Plain bytes of the records of a batch.
fn batch_size(batch: &RecordBatch) -> usize {
    let mut codecs = Codecs::default();
    batch
        .skim(&mut codecs)
        .unwrap()
        .map(|meta| meta.unwrap().size)
        .sum()
}

/// Every codec one after the other through the same contexts, at changing levels and sizes.
///
/// Covers RB-072: buffers and contexts are one set for all batches.
#[test]
fn contexts_serve_batches_of_all_codecs_in_turn() {
    let mut codecs = Codecs::default();
    let mut buffer = Vec::new();
    for round in 1..=9 {
        for codec in Codec::ALL {
            let levels = Levels {
                gzip: GzipLevel::new(round).unwrap(),
                lz4: Lz4Level::new(round).unwrap(),
                zstd: ZstdLevel::new(round).unwrap(),
            };
            let options = BatchOptions {
                compression: codec.at(&levels),
                ..BatchOptions::default()
            };
            let value = noise(usize::try_from(round).unwrap() * 9_000);
            let mut builder = RecordBatchBuilder::new(options, buffer);
            builder.append(1, None, Some(&value), &[]).unwrap();
            builder.append(1, None, Some(&value), &[]).unwrap();
            builder.close(&mut codecs).unwrap();
            let batch = RecordBatch::parse(builder.into_bytes().unwrap()).unwrap();
            let records = read_both_ways(&batch, &mut codecs).unwrap();
            assert_eq!(records[1].value.as_ref(), Some(&value));
            buffer = Vec::from(batch.into_bytes());
            buffer.clear();
        }
    }
}
