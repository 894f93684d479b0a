//! What a fuzzer's bytes stand for: a message and a body, or a golden vector with edits.
//!
//! Random bytes alone seldom get past the first field. So every other input takes a vector and
//! changes it in a few places, which reaches into every message without a guide.

use klamm_wire::testing::{Entry, Kind};
use serde::Deserialize;

/// A body to be decoded.
pub(crate) struct Case {
    /// The message, by its place in the list.
    pub(crate) entry: usize,
    pub(crate) version: i16,
    pub(crate) body: Vec<u8>,
}

#[derive(Deserialize)]
struct Vector {
    message: String,
    version: i16,
    hex: String,
}

#[derive(Deserialize)]
struct FrameVector {
    hex: String,
}

/// The golden vectors.
pub(crate) struct Corpus {
    bodies: Vec<(usize, i16, Vec<u8>)>,
    frames: Vec<Vec<u8>>,
}

impl Corpus {
    pub(crate) fn load(entries: &[Entry]) -> Self {
        let bodies = include_str!("../golden/messages.jsonl")
            .lines()
            .filter_map(|line| {
                let vector: Vector = serde_json::from_str(line).expect("a vector");
                let entry = entries.iter().position(|e| e.name == vector.message)?;
                Some((entry, vector.version, hex::decode(vector.hex).expect("hex")))
            })
            .collect();
        let frames = include_str!("../golden/frames.jsonl")
            .lines()
            .map(|line| {
                let vector: FrameVector = serde_json::from_str(line).expect("a vector");
                hex::decode(vector.hex).expect("hex")
            })
            .collect();
        Self { bodies, frames }
    }

    /// All vectors as they are.
    pub(crate) fn cases(&self) -> impl Iterator<Item = Case> + '_ {
        self.bodies.iter().map(|(entry, version, body)| Case {
            entry: *entry,
            version: *version,
            body: body.clone(),
        })
    }

    pub(crate) fn frames(&self) -> impl Iterator<Item = &[u8]> + '_ {
        self.frames.iter().map(Vec::as_slice)
    }

    /// What the fuzzer's bytes stand for: a byte that says how, two that choose the message or
    /// vector, one that chooses the version, and the body or the edits.
    pub(crate) fn case(&self, input: &[u8], entries: &[Entry]) -> Option<Case> {
        let [how, high, low, version, rest @ ..] = input else {
            return None;
        };
        let choice = usize::from(u16::from_be_bytes([*high, *low]));
        if how % 2 == 0 {
            let entry = choice % entries.len();
            let versions = entries[entry].versions;
            let count = versions.max - versions.min + 1;
            return Some(Case {
                entry,
                version: versions.min + i16::from(*version) % count,
                body: rest.to_vec(),
            });
        }
        let (entry, version, body) = &self.bodies[choice % self.bodies.len()];
        let mut body = body.clone();
        edit(&mut body, rest);
        Some(Case {
            entry: *entry,
            version: *version,
            body,
        })
    }

    /// A golden frame of a request or response with edits.
    pub(crate) fn edited_frame(&self, input: &[u8]) -> Vec<u8> {
        let [choice, edits @ ..] = input else {
            return Vec::new();
        };
        let mut frame = self.frames[usize::from(*choice) % self.frames.len()].clone();
        edit(&mut frame, edits);
        frame
    }
}

/// Changes the body as edits of four bytes say: what, where (two bytes), and a value.
fn edit(body: &mut Vec<u8>, edits: &[u8]) {
    let (edits, _) = edits.as_chunks::<4>();
    for [what, high, low, value] in edits.iter().take(8) {
        let place = usize::from(u16::from_be_bytes([*high, *low])) % (body.len() + 1);
        match what % 8 {
            0..=2 if place < body.len() => body[place] = *value,
            3 => body.insert(place, *value),
            4 if place < body.len() => {
                body.remove(place);
            }
            5 => body.truncate(place),
            // A great length in the compact form, and in the old one.
            6 => {
                let length = [0xff, 0xff, 0xff, 0xff, 0x07];
                body.splice(place..place, length);
            }
            7 => {
                let end = (place + 4).min(body.len());
                body.splice(place..end, [0x7f, 0xff, 0xff, *value]);
            }
            _ => {}
        }
    }
}

/// Requests alone have headers that say what they are.
#[test]
fn the_corpus_has_requests_and_responses() {
    let entries = klamm_wire::testing::catalogue();
    let corpus = Corpus::load(&entries);
    assert!(corpus.frames.len() > 50);
    let requests = corpus
        .bodies
        .iter()
        .filter(|(entry, ..)| entries[*entry].kind == Kind::Request);
    assert!(requests.count() > 300);
}
