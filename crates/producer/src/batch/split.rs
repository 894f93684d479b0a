//! Dividing a batch that a broker found too large. (P7.3)

use std::sync::Arc;

use klamm_records::{Codecs, HEADER_LEN, Header, RecordBatch, RecordBatchBuilder};

use crate::batch::{Batch, BatchPlan, Boxed, Content, Holding, Note};
use crate::completion::{Completion, Outcome, Part};

impl Batch {
    /// Divides the batch into at least two, of at most `plan.size_limit` uncompressed bytes each
    /// and of at most half the records' bytes, unless a single record is larger. They keep what
    /// the records had, their sequences, and the time since which the whole was on its way; the
    /// futures of the whole go on to the parts.
    ///
    /// A part counts no memory of its own: the whole's goes back with the last of them.
    ///
    /// # Errors
    /// The batch as it was, if its bytes cannot be read, which were written here.
    pub(crate) fn split(
        mut self: Box<Self>,
        plan: BatchPlan,
        codecs: &mut Codecs,
    ) -> Result<Vec<Boxed>, Boxed> {
        let Some(built) = self.divide(plan, codecs) else {
            return Err(self);
        };
        let Self {
            completion,
            holding,
            record_size_max,
            created,
            attempts,
            stamp,
            sent,
            notes,
            ..
        } = *self;
        let whole = match holding {
            Holding::Own(memory) => Arc::new(memory),
            Holding::Shared {
                _of_the_whole: whole,
            } => whole,
        };
        let mut notes = notes.into_iter().peekable();
        let mut first: u32 = 0;
        let mut links = Vec::with_capacity(built.len());
        let mut parts = Vec::with_capacity(built.len());
        for builder in built {
            let count = builder.count();
            let part = Self {
                completion: Arc::new(Completion::new(completion.partition().clone())),
                holding: Holding::Shared {
                    _of_the_whole: Arc::clone(&whole),
                },
                content: Content::Building(builder),
                open: false,
                record_count: count,
                record_size_max,
                compression_ratio: None,
                created,
                attempts,
                last_code: None,
                not_before: None,
                stamp: stamp.map(|stamp| klamm_records::ProducerStamp {
                    base_sequence: stamp.base_sequence.advance(first.cast_signed()),
                    ..stamp
                }),
                sent_to_epoch: None,
                sent,
                done: false,
                notes: take_notes(&mut notes, first, count),
            };
            links.push(Part {
                first,
                completion: Arc::clone(&part.completion),
            });
            first += count;
            parts.push(Box::new(part));
        }
        completion.settle(Outcome::Split(links));
        Ok(parts)
    }

    /// Builders of the parts.
    fn divide(&mut self, plan: BatchPlan, codecs: &mut Codecs) -> Option<Vec<RecordBatchBuilder>> {
        let Content::Sealed { bytes, .. } = &self.content else {
            return None;
        };
        let batch = RecordBatch::parse(bytes.clone()).ok()?;
        let mut plain_len = 0;
        for meta in batch.skim(codecs).ok()? {
            plain_len += meta.ok()?.size;
        }
        let plain_max = (plain_len / 2).min(plan.size_limit.saturating_sub(HEADER_LEN));
        let mut parts: Vec<RecordBatchBuilder> = Vec::new();
        let mut records = batch.read(codecs).ok()?;
        while let Some(record) = records.next().ok()? {
            let headers: Vec<Header<'_>> = record.headers.clone().collect();
            let size = klamm_records::record_size(0, 0, record.key, record.value, &headers);
            let fits = parts
                .last()
                .is_some_and(|part| part.plain_len() + size <= plain_max);
            if !fits {
                let options = plan.options();
                parts.push(RecordBatchBuilder::new(options, Vec::new()));
            }
            let part = parts.last_mut()?;
            let (key, value) = (record.key, record.value);
            part.append(record.timestamp_ms, key, value, &headers)
                .ok()?;
        }
        Some(parts)
    }
}

/// The notes of a part, whose records begin at `first` of the whole.
fn take_notes(
    notes: &mut std::iter::Peekable<impl Iterator<Item = Note>>,
    first: u32,
    count: u32,
) -> Vec<Note> {
    let mut taken = Vec::new();
    while let Some(mut note) = notes.next_if(|note| note.index < first + count) {
        note.index -= first;
        taken.push(note);
    }
    taken
}
