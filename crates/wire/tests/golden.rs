//! Every message and version against bytes that other implementations have made.
//!
//! `golden/messages.jsonl` has a line a vector: the bytes of a message's body, and the values of
//! its fields.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use klamm_wire::testing::{AnyMessage, Entry, Kind, catalogue};
use serde::Deserialize;
use serde_json::Value;

#[derive(Deserialize)]
struct Vector {
    message: String,
    kind: String,
    key: Option<i16>,
    version: i16,
    variant: String,
    hex: String,
    fields: Value,
}

impl Vector {
    fn bytes(&self) -> Bytes {
        Bytes::from(hex::decode(&self.hex).expect("the vectors are in hex"))
    }

    fn label(&self) -> String {
        format!("{} v{} {}", self.message, self.version, self.variant)
    }
}

fn vectors() -> Vec<Vector> {
    include_str!("golden/messages.jsonl")
        .lines()
        .map(|line| serde_json::from_str(line).expect("a vector"))
        .collect()
}

fn kind_of(name: &str) -> Kind {
    match name {
        "request" => Kind::Request,
        "response" => Kind::Response,
        "header" => Kind::Header,
        "data" => Kind::Data,
        "coordinator-key" => Kind::CoordinatorKey,
        "coordinator-value" => Kind::CoordinatorValue,
        "metadata" => Kind::MetadataRecord,
        other => panic!("unknown kind {other}"),
    }
}

/// The vectors, each with what this crate knows of the message.
fn known() -> (Vec<(Vector, Entry)>, BTreeSet<String>) {
    let by_name: BTreeMap<_, _> = catalogue().into_iter().map(|e| (e.name, e)).collect();
    let mut known = Vec::new();
    let mut missing = BTreeSet::new();
    for vector in vectors() {
        match by_name.get(vector.message.as_str()) {
            Some(entry) => known.push((vector, *entry)),
            None => {
                missing.insert(vector.message);
            }
        }
    }
    (known, missing)
}

/// Decodes the vector, which must use up its bytes.
fn decode(vector: &Vector, entry: &Entry) -> Box<dyn AnyMessage> {
    let mut body = vector.bytes();
    let message = (entry.decode)(&mut body, vector.version)
        .unwrap_or_else(|error| panic!("{}: {error}", vector.label()));
    assert!(
        body.is_empty(),
        "{}: {} bytes are left",
        vector.label(),
        body.len()
    );
    message
}

/// Collects what fails, so that one run shows all of it.
fn check_all(check: impl Fn(&Vector, &Entry) -> Result<(), String>) {
    let (known, _) = known();
    let failures: Vec<_> = known
        .iter()
        .filter_map(|(vector, entry)| check(vector, entry).err())
        .collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// Decodes, or says why not.
fn try_decode(vector: &Vector, entry: &Entry) -> Result<Box<dyn AnyMessage>, String> {
    let mut body = vector.bytes();
    let message = (entry.decode)(&mut body, vector.version)
        .map_err(|error| format!("{}: {error}", vector.label()))?;
    if body.is_empty() {
        Ok(message)
    } else {
        Err(format!("{}: {} bytes left", vector.label(), body.len()))
    }
}

#[test]
fn every_message_has_a_struct() {
    let (_, missing) = known();
    assert!(missing.is_empty(), "no struct for: {missing:#?}");
}

#[test]
fn kinds_keys_and_versions_are_those_of_the_vectors() {
    let (known, _) = known();
    let mut versions: BTreeMap<&str, BTreeSet<i16>> = BTreeMap::new();
    for (vector, entry) in &known {
        assert_eq!(kind_of(&vector.kind), entry.kind, "{}", vector.message);
        assert_eq!(vector.key, entry.key, "{}", vector.message);
        versions
            .entry(entry.name)
            .or_default()
            .insert(vector.version);
    }
    for (_, entry) in &known {
        let ours: BTreeSet<_> = (entry.versions.min..=entry.versions.max).collect();
        assert_eq!(versions[entry.name], ours, "{}", entry.name);
    }
}

/// Covers WI-023, WI-025.
#[test]
fn decoded_values_are_those_of_the_vectors() {
    check_all(|vector, entry| {
        let message = try_decode(vector, entry)?;
        let mut differences = Vec::new();
        compare(
            "",
            &vector.fields,
            &message.to_json(vector.version),
            &mut differences,
        );
        if differences.is_empty() {
            Ok(())
        } else {
            Err(format!("{}: {}", vector.label(), differences.join("; ")))
        }
    });
}

/// Covers WI-023, WI-024.
#[test]
fn encoding_gives_the_same_bytes_and_their_number() {
    check_all(|vector, entry| {
        let message = try_decode(vector, entry)?;
        let label = vector.label();
        let len = message
            .encoded_len(vector.version)
            .map_err(|error| format!("{label}: {error}"))?;
        let encoded = message
            .encode(vector.version)
            .map_err(|error| format!("{label}: {error}"))?;
        let bytes = encoded.into_bytes().ok_or("decoded records are bytes")?;
        if bytes != vector.bytes() {
            return Err(format!(
                "{label}: {} for {}",
                hex::encode(&bytes),
                vector.hex
            ));
        }
        if len != bytes.len() {
            return Err(format!("{label}: length {len} for {}", bytes.len()));
        }
        Ok(())
    });
}

/// A part of a message is refused, unless what is missing was not part of it: never a panic, and
/// never a value made of bytes that are not there.
#[test]
fn every_prefix_fails_or_decodes_cleanly() {
    check_all(|vector, entry| {
        let whole = vector.bytes();
        for len in 0..whole.len() {
            let mut prefix = whole.slice(..len);
            let Ok(message) = (entry.decode)(&mut prefix, vector.version) else {
                continue;
            };
            return Err(format!(
                "{}: {len} bytes read as {message:?}",
                vector.label()
            ));
        }
        Ok(())
    });
}

/// Each byte in turn gets other values: what still decodes must encode to what decodes the same.
#[test]
fn every_altered_byte_fails_or_decodes_cleanly() {
    check_all(|vector, entry| {
        if vector.variant != "full" {
            return Ok(());
        }
        let whole = vector.bytes();
        for at in 0..whole.len() {
            for value in [0x00, 0x80, 0xff, whole[at].wrapping_add(1)] {
                let mut altered = whole.to_vec();
                altered[at] = value;
                let mut body = Bytes::from(altered);
                let Ok(message) = (entry.decode)(&mut body, vector.version) else {
                    continue;
                };
                let place = || format!("{} with {value:#04x} at {at}", vector.label());
                let again = message
                    .encode(vector.version)
                    .map_err(|error| format!("{}: {error}", place()))?
                    .into_bytes()
                    .ok_or("decoded records are bytes")?;
                let mut rest = again.clone();
                let twin = (entry.decode)(&mut rest, vector.version)
                    .map_err(|error| format!("{}: {error}", place()))?;
                let third = twin
                    .encode(vector.version)
                    .map_err(|error| format!("{}: {error}", place()))?;
                if third.into_bytes() != Some(again) || !rest.is_empty() {
                    return Err(format!("{}: not stable", place()));
                }
            }
        }
        Ok(())
    });
}

#[test]
fn versions_outside_the_range_are_refused() {
    for entry in catalogue() {
        for version in [
            entry.versions.min - 1,
            entry.versions.max + 1,
            i16::MIN,
            i16::MAX,
        ] {
            let mut body = Bytes::from_static(&[0; 64]);
            let error = (entry.decode)(&mut body, version).expect_err("no such version");
            assert!(
                matches!(error, klamm_wire::DecodeError::UnsupportedVersion { .. }),
                "{}: {error}",
                entry.name
            );
        }
    }
}

#[test]
fn a_decoded_message_equals_itself_decoded_again() {
    check_all(|vector, entry| {
        let (one, other) = (decode(vector, entry), decode(vector, entry));
        if one.equals(other.as_ref()) || vector.hex.contains("7ff8") {
            Ok(())
        } else {
            Err(vector.label())
        }
    });
}

/// Lists where two JSON trees differ.
fn compare(path: &str, wanted: &Value, found: &Value, differences: &mut Vec<String>) {
    match (wanted, found) {
        (Value::Object(wanted), Value::Object(found)) => {
            let names: BTreeSet<_> = wanted.keys().chain(found.keys()).collect();
            for name in names {
                let path = format!("{path}.{name}");
                match (wanted.get(name), found.get(name)) {
                    (Some(wanted), Some(found)) => compare(&path, wanted, found, differences),
                    (Some(_), None) => differences.push(format!("{path} is missing")),
                    (None, _) => differences.push(format!("{path} is too many")),
                }
            }
        }
        (Value::Array(wanted), Value::Array(found)) if wanted.len() == found.len() => {
            for (index, (wanted, found)) in wanted.iter().zip(found).enumerate() {
                compare(&format!("{path}[{index}]"), wanted, found, differences);
            }
        }
        _ if wanted == found => {}
        _ => differences.push(format!("{path} is {found}, not {wanted}")),
    }
}
