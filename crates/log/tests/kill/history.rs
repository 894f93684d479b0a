//! What was acknowledged, over all lives of a directory.

use std::collections::{BTreeMap, HashMap, HashSet};

use klamm_io::Disk;
use klamm_log::{Log, LogReader};
use klamm_primitives::{LeaderEpoch, Offset, ProducerId};
use klamm_records::{Codecs, ValidationRules, validate};

use crate::batches::{Held, NOW_MS, read_all};

/// What the writers of one log have said.
#[derive(Default)]
pub(crate) struct History {
    /// The ids of acknowledged batches, by their first offsets.
    acknowledged: BTreeMap<Offset, String>,
    /// Everything below was synced.
    pub(crate) durable: Offset,
}

/// The histories of several logs, by their names.
#[derive(Default)]
pub(crate) struct Histories(HashMap<String, History>);

impl Histories {
    pub(crate) fn of(&mut self, log: &str) -> &mut History {
        self.0.entry(log.to_owned()).or_default()
    }

    /// Notes what a writer has said: `acked LOG OFFSET ID` or `durable LOG OFFSET`.
    pub(crate) fn note(&mut self, line: &str) {
        let words: Vec<_> = line.split(' ').collect();
        let at = Offset::new(words[2].parse().expect("an offset"));
        let history = self.of(words[1]);
        match (words[0], words.get(3)) {
            ("acked", Some(id)) => {
                let former = history.acknowledged.insert(at, (*id).to_owned());
                assert_eq!(former, None, "offset {at} was given out twice");
            }
            ("durable", None) => history.durable = history.durable.max(at),
            _ => panic!("the writer said `{line}`"),
        }
    }

    pub(crate) fn acknowledged_count(&self) -> usize {
        self.0.values().map(|it| it.acknowledged.len()).sum()
    }
}

impl History {
    /// Holds a log against it that was opened again: each acknowledged batch is there, in its
    /// place; none is there twice; and reading finds all in order and with right checksums.
    pub(crate) fn check<D: Disk>(&self, reader: &LogReader<D>) -> Vec<Held> {
        let held = read_all(reader);
        let log_end = reader.offsets().log_end;
        assert!(log_end >= self.durable, "{log_end} < {}", self.durable);
        let mut ids = HashSet::new();
        for it in &held {
            assert!(ids.insert(&it.id), "{} is there twice", it.id);
        }
        let by_offset: HashMap<_, _> = held.iter().map(|it| (it.base_offset, &it.id)).collect();
        for (at, id) in &self.acknowledged {
            assert_eq!(by_offset.get(at), Some(&id), "acknowledged at {at}");
        }
        held
    }
}

/// Each producer sends its last batch once more, and learns that it is there: the log knows the
/// producers of what it holds. Its end does not move.
pub(crate) fn send_again<D: Disk>(log: &mut Log<D>, held: &[Held]) {
    let mut last_by_producer: HashMap<ProducerId, &Held> = HashMap::new();
    for it in held {
        last_by_producer.insert(it.batch.header().producer_id, it);
    }
    let end = log.log_end_offset();
    for it in last_by_producer.into_values() {
        // As the producer had it: offsets are the log's to give.
        let mut bytes = it.batch.bytes().to_vec();
        bytes[..8].fill(0);
        let (rules, mut codecs) = (ValidationRules::default(), Codecs::default());
        let again = validate(bytes.into(), &rules, NOW_MS, &mut codecs).unwrap();
        let appended = log.append(&[again], LeaderEpoch::new(0), NOW_MS).unwrap();
        assert!(appended.is_duplicate, "{}", it.id);
        let offsets = (appended.first_offset, appended.last_offset);
        assert_eq!(offsets, (it.base_offset, it.last_offset));
    }
    assert_eq!(log.log_end_offset(), end);
}
