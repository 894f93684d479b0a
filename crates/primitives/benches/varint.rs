//! Reading and writing variable-length integers, against a plain loop over the bytes.
//!
//! The numbers of a run lie one behind the other, as in a message. `mixed` has lengths at
//! random, most of them short, so that the processor cannot foresee the next.

use std::hint::black_box;

use criterion::{Criterion, Throughput};
use klamm_primitives::varint;

/// Enough for `mixed` not to be learnt by heart.
const COUNT: usize = 50_000;

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    read_unsigned(&mut criterion);
    read_signed_64(&mut criterion);
    write_unsigned(&mut criterion);
    criterion.final_summary();
}

/// Numbers whose written form has this many bytes, and the mixture.
fn inputs() -> Vec<(String, Vec<u32>)> {
    let of_len = |len: u32| 1u32 << (7 * (len - 1));
    let mut inputs: Vec<(String, Vec<u32>)> = [1, 2, 5]
        .map(|len| (format!("{len}_bytes"), vec![of_len(len); COUNT]))
        .into();
    let mut state = 1u32;
    let mixed = (0..COUNT).map(|_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        match state >> 28 {
            0..=7 => of_len(1),
            8..=11 => of_len(2),
            12..=13 => of_len(3),
            14 => of_len(4),
            _ => of_len(5),
        }
    });
    inputs.push(("mixed".to_owned(), mixed.collect()));
    inputs
}

fn written(numbers: &[u32]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for number in numbers {
        varint::append_u32(*number, &mut bytes);
    }
    bytes
}

fn read_unsigned(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("varint_read_u32");
    group.throughput(Throughput::Elements(COUNT as u64));
    for (name, numbers) in inputs() {
        let bytes = written(&numbers);
        group.bench_function(format!("klamm/{name}"), |bencher| {
            bencher.iter(|| {
                let mut left: &[u8] = black_box(&bytes);
                let mut sum = 0u32;
                while !left.is_empty() {
                    let (value, len) = varint::read_u32(left).expect("well formed");
                    sum = sum.wrapping_add(value);
                    left = &left[len..];
                }
                sum
            });
        });
        group.bench_function(format!("loop/{name}"), |bencher| {
            bencher.iter(|| {
                let mut left: &[u8] = black_box(&bytes);
                let mut sum = 0u32;
                while !left.is_empty() {
                    let (value, len) = plain_read(left).expect("well formed");
                    sum = sum.wrapping_add(value);
                    left = &left[len..];
                }
                sum
            });
        });
    }
    group.finish();
}

fn read_signed_64(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("varint_read_i64");
    group.throughput(Throughput::Elements(COUNT as u64));
    for (name, value) in [("1_byte", 50), ("6_bytes", 1 << 35), ("10_bytes", i64::MIN)] {
        let bytes = varint::encode_i64(value).as_slice().repeat(COUNT);
        group.bench_function(format!("klamm/{name}"), |bencher| {
            bencher.iter(|| {
                let mut left: &[u8] = black_box(&bytes);
                let mut sum = 0i64;
                while !left.is_empty() {
                    let (value, len) = varint::read_i64(left).expect("well formed");
                    sum = sum.wrapping_add(value);
                    left = &left[len..];
                }
                sum
            });
        });
    }
    group.finish();
}

fn write_unsigned(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("varint_write_u32");
    group.throughput(Throughput::Elements(COUNT as u64));
    for (name, numbers) in inputs() {
        let mut bytes = Vec::with_capacity(COUNT * varint::LEN_MAX_32);
        group.bench_function(format!("klamm/{name}"), |bencher| {
            bencher.iter(|| {
                bytes.clear();
                for number in black_box(&numbers) {
                    varint::append_u32(*number, &mut bytes);
                }
                bytes.len()
            });
        });
        group.bench_function(format!("klamm_encode/{name}"), |bencher| {
            bencher.iter(|| {
                bytes.clear();
                for number in black_box(&numbers) {
                    bytes.extend_from_slice(varint::encode_u32(*number).as_slice());
                }
                bytes.len()
            });
        });
        group.bench_function(format!("loop/{name}"), |bencher| {
            bencher.iter(|| {
                bytes.clear();
                for number in black_box(&numbers) {
                    plain_write(*number, &mut bytes);
                }
                bytes.len()
            });
        });
    }
    group.finish();
}

/// What one would write first.
#[inline]
fn plain_read(input: &[u8]) -> Option<(u32, usize)> {
    let mut value = 0;
    for (at, byte) in input.iter().take(varint::LEN_MAX_32).enumerate() {
        value |= u32::from(byte & 0x7f) << (7 * at);
        if byte & 0x80 == 0 {
            return Some((value, at + 1));
        }
    }
    None
}

/// What one would write first.
#[inline]
fn plain_write(mut value: u32, into: &mut Vec<u8>) {
    while value >= 0x80 {
        into.push(value.to_le_bytes()[0] | 0x80);
        value >>= 7;
    }
    into.push(value.to_le_bytes()[0]);
}
