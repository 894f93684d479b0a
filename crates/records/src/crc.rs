//! CRC-32C (Castagnoli), the checksum of record batches and producer snapshots.

/// The polynomial, its lowest power in the highest bit as the checksum has it.
const POLYNOMIAL: u32 = 0x82f6_3b78;

/// `x^0` in that order of bits.
const ONE: u32 = 1 << 31;

/// `SHIFTS[k]` is `x^(8 * 2^k)` modulo the polynomial: what `2^k` more bytes multiply by.
const SHIFTS: [u32; 32] = shifts();

/// The CRC-32C of `bytes`.
///
/// ```
/// assert_eq!(klamm_records::crc32c(b"Some String"), 608_512_271);
/// ```
#[inline]
pub fn crc32c(bytes: &[u8]) -> u32 {
    ::crc32c::crc32c(bytes)
}

/// The CRC-32C of some bytes with `crc` followed by `bytes`; 0 is the checksum of nothing.
///
/// ```
/// use klamm_records::{crc32c, crc32c_append};
///
/// assert_eq!(crc32c_append(crc32c(b"Some "), b"String"), crc32c(b"Some String"));
/// ```
#[inline]
pub fn crc32c_append(crc: u32, bytes: &[u8]) -> u32 {
    ::crc32c::crc32c_append(crc, bytes)
}

/// What changes in the checksum of a message when `difference` is the exclusive or of the
/// checksums of its old and new beginning (of one length) and `tail_len` unchanged bytes follow.
///
/// The checksum is linear up to a constant that depends on the length alone, so the difference
/// runs through the tail as through zeros: it is multiplied by `x^(8 * tail_len)`. Thus a header
/// changes without the records being read: one multiplication for each bit set in the length.
pub(crate) fn carry_through(difference: u32, tail_len: u32) -> u32 {
    let mut carried = difference;
    let mut rest = tail_len;
    while rest != 0 {
        carried = multiply(SHIFTS[rest.trailing_zeros() as usize], carried);
        rest &= rest - 1;
    }
    carried
}

/// The product of two polynomials over two elements, modulo [`POLYNOMIAL`].
const fn multiply(a: u32, mut b: u32) -> u32 {
    let mut product = 0;
    let mut power = 0;
    while power < 32 {
        let factor_has_power = (a >> (31 - power)) & 1;
        product ^= b & factor_has_power.wrapping_neg();
        b = (b >> 1) ^ (POLYNOMIAL & (b & 1).wrapping_neg());
        power += 1;
    }
    product
}

const fn shifts() -> [u32; 32] {
    let mut table = [0; 32];
    table[0] = ONE >> 8;
    let mut k = 1;
    while k < table.len() {
        table[k] = multiply(table[k - 1], table[k - 1]);
        k += 1;
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rb_004_crc32c_in_pieces_is_that_of_the_whole() {
        let bytes = b"Some String";
        assert_eq!(crc32c(bytes), 608_512_271);
        for cut in 0..=bytes.len() {
            let (front, back) = bytes.split_at(cut);
            assert_eq!(
                crc32c_append(crc32c(front), back),
                608_512_271,
                "cut at {cut}"
            );
        }
        let shared = bytes::Bytes::from_static(b"..Some String..").slice(2..13);
        assert_eq!(crc32c(&shared), 608_512_271);
        assert_eq!(crc32c_append(0, bytes), 608_512_271);
    }

    #[test]
    fn a_changed_front_is_carried_through_a_tail_of_any_length() {
        let tail: Vec<u8> = (0..70_000u32).map(|i| (i * 31 % 251) as u8).collect();
        for len in [0, 1, 2, 3, 61, 255, 256, 4_096, 65_535, 65_536, 70_000] {
            let [old, new] = [b"front".as_slice(), b"FRONT"]
                .map(|front| crc32c(&[front, &tail[..len]].concat()));
            let carried = carry_through(
                crc32c(b"front") ^ crc32c(b"FRONT"),
                u32::try_from(len).unwrap(),
            );
            assert_eq!(old ^ carried, new, "{len} bytes behind");
        }
    }
}
