//! Recovering a log after an unclean stop: every segment from the recovery point on, up to where
//! the log breaks off.

use std::path::Path;
use std::sync::Arc;

use klamm_io::{Disk, DiskFile, OpenMode};
use klamm_primitives::Offset;
use tracing::warn;

use crate::bounds::Place;
use crate::config::LogConfig;
use crate::leader_epochs::LeaderEpochs;
use crate::names::{FileContent, FileName, Transit};
use crate::open::{OpenError, OpenOptions, Opening, Segments, replay_to};
use crate::producer_state::{ProducerStates, SnapshotFiles};
use crate::recover::{Damage, DamageKind, Trust, recover};
use crate::replay::{Replay, replay};
use crate::segment::Segment;

/// Bytes that are copied at once.
const COPY_CHUNK_LEN: usize = 256 << 10;

/// A log that is being recovered.
pub(crate) struct Recovery<'a, D: Disk> {
    pub(crate) disk: &'a D,
    pub(crate) directory: &'a Path,
    pub(crate) config: &'a LogConfig,
    pub(crate) options: &'a OpenOptions,
    /// Everything below is as it should be: the recovery point, or less.
    pub(crate) trusted_to: Offset,
    pub(crate) opening: &'a mut Opening,
    pub(crate) segments: &'a mut Segments<D>,
    pub(crate) epochs: &'a mut LeaderEpochs,
    pub(crate) snapshots: &'a mut SnapshotFiles<D>,
}

impl<D: Disk> Recovery<'_, D> {
    /// Reads the segments through and cuts the log where it breaks off. Returns where it ends,
    /// and what is known of the producers there. `recovered_one` is called after each segment.
    pub(crate) fn run(
        mut self,
        recovered_one: &dyn Fn(),
    ) -> Result<(Place, ProducerStates), OpenError> {
        let first = self.first_suspect();
        let trusted: Vec<_> = self
            .segments
            .range(..first)
            .map(|it| it.1.clone())
            .collect();
        // Snapshots behind may have been written of what was lost, and so may epochs.
        self.snapshots.remove_above(first)?;
        let former_epochs = self.epochs.clone();
        self.epochs.truncate_from_end(first);
        let to = Replay {
            high_watermark: first,
            ..replay_to(self.options, self.config, first)
        };
        let mut producers = replay(self.snapshots, &trusted, &to)?;

        let mut end = Place {
            offset: first,
            segment_base: first,
            position: 0,
        };
        let mut next = Some(first);
        while let Some(base_offset) = next {
            let segment = self.segments[&base_offset].clone();
            self.snapshots
                .write(base_offset, &producers.to_snapshot())?;
            let trust = Trust {
                expected: end.offset,
                durable: self.durable(),
                log_start: self.options.log_start,
                epochs: &former_epochs,
            };
            let mut recovered = recover(&segment, self.config, trust, self.epochs, &mut producers)?;
            self.opening.segments_recovered += 1;
            recovered_one();
            next = self
                .segments
                .range(base_offset + 1..)
                .next()
                .map(|it| *it.0);
            if let Some(damage) = &mut recovered.damage
                && let DamageKind::OutOfReach(first) = damage.kind
                && next.is_some_and(|follower| follower < first)
            {
                // No checksum covers a batch's offset. One that leaps over the segments behind
                // was never given out, so this is no overlong segment.
                damage.kind = DamageKind::Broken;
                segment.cut(damage.cut.position)?;
            }
            if let Some(damage) = &recovered.damage {
                self.settle(damage, &segment)?;
            }
            end = Place {
                offset: recovered.end_offset,
                segment_base: base_offset,
                position: segment.size(),
            };
            next = self
                .segments
                .range(base_offset + 1..)
                .next()
                .map(|it| *it.0);
            if let Some(follower) = next
                && !self.follows(follower, end.offset, recovered.damage.as_ref())
            {
                self.remove_from(follower, end.offset)?;
                next = None;
            }
        }
        producers.set_end_offset(end.offset);
        Ok((end, producers))
    }

    /// The segment with the last record that can be trusted: if it was rolled since, its indexes
    /// may not have been synced.
    fn first_suspect(&self) -> Offset {
        let holds_it = self.segments.range(..self.trusted_to).next_back();
        let first = holds_it.or_else(|| self.segments.first_key_value());
        *first.expect("a log has a segment").0
    }

    /// Everything below was synced. A recovery point at the log start says nothing: it was raised
    /// along with that one.
    fn durable(&self) -> Offset {
        let point = self.options.recovery_point;
        if point > self.options.log_start {
            point
        } else {
            Offset::ZERO
        }
    }

    /// Whether a segment goes on where the one before it ends.
    ///
    /// Segments are made where the log ends, so only compaction leaves a gap between two. Another
    /// one behind the recovery point means that the end of the former segment was lost; so does
    /// damage, unless nothing is missing.
    fn follows(&self, base_offset: Offset, end_offset: Offset, damage: Option<&Damage>) -> bool {
        let is_next = base_offset == end_offset;
        base_offset < self.durable()
            || match damage.map(|it| it.kind) {
                None => is_next || self.config.cleanup_policy.compact,
                Some(DamageKind::Blank) => is_next,
                Some(DamageKind::OutOfReach(_)) => true,
                Some(DamageKind::Broken) => false,
            }
    }

    /// Says what was cut off a segment; moves what is out of its reach.
    fn settle(&mut self, damage: &Damage, segment: &Segment<D>) -> Result<(), OpenError> {
        let cut = &damage.cut;
        match damage.kind {
            // Space that was reserved is cut off whenever a segment was not closed.
            DamageKind::Blank if self.config.preallocate => {}
            DamageKind::Blank | DamageKind::Broken => {
                warn!(path = %cut.path.display(), position = cut.position, bytes = cut.bytes,
                    reason = cut.reason, "log cut behind its last good batch");
                self.opening.cut = Some(cut.clone());
            }
            DamageKind::OutOfReach(first) => self.split(segment, cut.position, first)?,
        }
        Ok(())
    }

    /// Moves the batches from this position on, of which the first has this offset, into a
    /// segment of their own. Brokers of long ago wrote segments whose offsets do not fit into
    /// 32 bits. A crash leaves the one segment, or the second as well, which is then complete.
    fn split(
        &mut self,
        segment: &Segment<D>,
        position: u32,
        first: Offset,
    ) -> Result<(), OpenError> {
        if !self.segments.contains_key(&first) {
            let path = segment.path(FileContent::Log);
            warn!(path = %path.display(), position, %first, "splitting an overlong segment");
            let plain = FileName::new(first, FileContent::Log);
            let name = plain.in_transit(Transit::Cleaned).to_string();
            let unfinished = self.directory.join(name);
            let copy = self.disk.open(&unfinished, OpenMode::CreateOrTruncate)?;
            let file = segment.file()?;
            let (mut from, mut chunk) = (position, vec![0; COPY_CHUNK_LEN]);
            while from < segment.size() {
                let part_len = COPY_CHUNK_LEN.min((segment.size() - from) as usize);
                let part = &mut chunk[..part_len];
                file.read_exact_at(part, u64::from(from))?;
                copy.write_all_at(part, u64::from(from - position))?;
                from += u32::try_from(part_len).expect("a chunk is small");
            }
            copy.sync_data()?;
            let path = self.directory.join(plain.to_string());
            self.disk.rename(&unfinished, &path)?;
            self.disk.sync_dir(self.directory)?;
            let split = Segment::new(
                self.disk.clone(),
                self.directory.to_owned(),
                first,
                self.config.index_bytes,
                segment.size() - position,
            );
            self.segments.insert(first, Arc::new(split));
        }
        segment.cut(position)?;
        Ok(())
    }

    /// Removes the segments behind the end of the log, newest first.
    fn remove_from(&mut self, base_offset: Offset, end_offset: Offset) -> Result<(), OpenError> {
        for lost in self.segments.split_off(&base_offset).values().rev() {
            let path = lost.path(FileContent::Log);
            warn!(path = %path.display(), bytes = lost.size(), %end_offset,
                "segment behind the end of the log, removing it");
            lost.remove()?;
            self.snapshots.remove(lost.base_offset())?;
            self.opening.segments_removed.push(path);
        }
        self.disk.sync_dir(self.directory)?;
        Ok(())
    }
}
