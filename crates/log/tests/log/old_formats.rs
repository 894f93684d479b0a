//! Segments with messages of magic 0 and 1, as brokers of long ago wrote them.

use klamm_log::{Isolation, OpenOptions};

use crate::support::{Batch, Bed, NOW_MS, WHOLE, log_file, offset, open, small, unclean};

/// A message of magic 0 or 1 without key.
fn legacy(magic: u8, offset: i64, value: &[u8]) -> Vec<u8> {
    let mut body = vec![magic, 0];
    if magic == 1 {
        body.extend(NOW_MS.to_be_bytes());
    }
    body.extend((-1i32).to_be_bytes());
    body.extend(i32::try_from(value.len()).unwrap().to_be_bytes());
    body.extend(value);
    let crc = crc32(&body);
    let mut message = offset.to_be_bytes().to_vec();
    message.extend(i32::try_from(4 + body.len()).unwrap().to_be_bytes());
    message.extend(crc.to_be_bytes());
    message.extend(body);
    message
}

fn crc32(bytes: &[u8]) -> u32 {
    let mut crc = u32::MAX;
    for byte in bytes {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = if crc & 1 == 1 {
                (crc >> 1) ^ 0xedb8_8320
            } else {
                crc >> 1
            };
        }
    }
    !crc
}

#[test]
fn lg_130_messages_of_old_brokers_are_read_through() {
    let old: Vec<_> = (0..6)
        .map(|i| legacy(u8::from(i >= 3), i, format!("old {i}").as_bytes()))
        .collect();
    let new = Batch::of(2).at_offset(6).build().into_bytes();
    let whole = [old.concat(), new.to_vec()].concat();
    for was_clean in [true, false] {
        let bed = Bed::new(small());
        bed.overwrite(&log_file(0), &whole);
        let options = OpenOptions::new(was_clean, NOW_MS);
        let (log, opening) = open(&bed.disk, small(), &options).unwrap();
        assert_eq!(opening.cut, None);
        assert_eq!(log.log_end_offset(), offset(8));
        let read = |from| {
            let read = log.reader().read(offset(from), WHOLE, Isolation::LogEnd);
            read.unwrap().range.unwrap().read().unwrap()
        };
        assert_eq!(read(0), whole);
        assert_eq!(read(4), whole[old[..4].concat().len()..]);
        assert_eq!(read(6), new);
    }
    // Torn, one goes as any other batch.
    let bed = Bed::new(small());
    let mut torn = old.concat();
    *torn.last_mut().unwrap() ^= 1;
    bed.overwrite(&log_file(0), &torn);
    let (log, opening) = open(&bed.disk, small(), &unclean(0)).unwrap();
    assert_eq!(opening.cut.unwrap().bytes as usize, old[5].len());
    assert_eq!(log.log_end_offset(), offset(5));
}
