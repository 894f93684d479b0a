//! Random messages of every kind and version: what is written is read again.

use klamm_wire::testing::{Chosen, Entropy, Seeded, catalogue};
use proptest::prelude::*;

/// Checks one random message of every kind and version.
fn round_trip(entropy: &mut dyn Entropy) -> Result<(), String> {
    for entry in catalogue() {
        for version in entry.versions.min..=entry.versions.max {
            let message = (entry.random)(entropy, version).ok_or("a version of its own")?;
            let label = |what: &str| format!("{} v{version}: {what}", entry.name);
            let len = message
                .encoded_len(version)
                .map_err(|error| label(&error.to_string()))?;
            let bytes = message
                .encode(version)
                .map_err(|error| label(&error.to_string()))?
                .into_bytes()
                .ok_or_else(|| label("a gap"))?;
            if bytes.len() != len {
                return Err(label("its length is not what was measured"));
            }
            let mut body = bytes.clone();
            let read =
                (entry.decode)(&mut body, version).map_err(|error| label(&error.to_string()))?;
            if !body.is_empty() {
                return Err(label("bytes are left"));
            }
            if !read.equals(message.as_ref()) {
                return Err(label(&format!("{message:?} became {read:?}")));
            }
            let again = read
                .encode(version)
                .map_err(|error| label(&error.to_string()))?;
            if again.into_bytes() != Some(bytes) {
                return Err(label("other bytes the second time"));
            }
        }
    }
    Ok(())
}

/// Measures and writes every message, made for each of its versions, in each of its versions and in
/// the two beside them: a value may hold what the version cannot say, or the version not be known.
fn measured_as_written(entropy: &mut dyn Entropy) -> Result<(), String> {
    for entry in catalogue() {
        for made_for in entry.versions.min..=entry.versions.max {
            let message = (entry.random)(entropy, made_for).ok_or("a version of its own")?;
            for version in entry.versions.min - 1..=entry.versions.max + 1 {
                let measured = message
                    .encoded_len(version)
                    .map_err(|error| error.to_string());
                let written = message
                    .encode(version)
                    .map_err(|error| error.to_string())
                    .map(|encoded| encoded.into_bytes().map_or(0, |bytes| bytes.len()));
                if measured != written {
                    let name = entry.name;
                    return Err(format!(
                        "{name} of v{made_for} in v{version}: {measured:?} became {written:?}"
                    ));
                }
            }
        }
    }
    Ok(())
}

/// Covers WI-024.
#[test]
fn a_message_in_any_version_is_written_as_it_was_measured_or_refused_alike() {
    for seed in 0..5 {
        let outcome = measured_as_written(&mut Seeded::new(seed));
        assert_eq!(outcome, Ok(()), "seed {seed}");
    }
}

/// Covers WI-023, WI-024, WI-033.
#[test]
fn random_messages_are_read_as_they_were_written() {
    for seed in 0..20 {
        let outcome = round_trip(&mut Seeded::new(seed));
        assert_eq!(outcome, Ok(()), "seed {seed}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]

    /// Covers WI-023, WI-024. Driven by bytes, a failure shrinks.
    #[test]
    fn chosen_messages_are_read_as_they_were_written(
        bytes in proptest::collection::vec(any::<u8>(), 0..4000),
    ) {
        prop_assert_eq!(round_trip(&mut Chosen::new(&bytes)), Ok(()));
    }
}
