//! Recovering a log after an unclean stop: every segment from the recovery point on, up to where
//! the log breaks off.

use std::ops::{ControlFlow, Range};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use klamm_io::{Disk, OpenMode};
use klamm_primitives::Offset;
use tracing::{debug, error, warn};

use crate::bounds::Place;
use crate::config::LogConfig;
use crate::disk_failure::DiskFailure as _;
use crate::leader_epochs::LeaderEpochs;
use crate::leap::Witnesses;
use crate::names::{FileContent, FileName, Transit};
use crate::open::{OpenError, OpenOptions, Opening, Segments, replay_to};
use crate::producer_state::{ProducerStates, SnapshotFiles};
use crate::recover::{Cut, Damage, DamageKind, Saved, Trust, recover};
use crate::replay::{Replay, replay};
use crate::scan::{BatchFault, Found, Scan, Wanted};
use crate::segment::Segment;

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

/// What stands behind the last good batch of a segment, and is to be cut off.
struct Tail {
    damage: Damage,
    holds: Holds,
}

enum Holds {
    NothingGood,
    /// Space that was reserved and never written.
    ReservedSpace,
    /// Batches that have got a segment of their own.
    CopiedBatches,
    /// Good batches, of which nobody can tell whether they were durable.
    GoodBatches(Found),
}

impl<D: Disk> Recovery<'_, D> {
    /// Reads the segments through and cuts the log where it breaks off. Returns where it ends,
    /// and what is known of the producers there. `recovered_one` is called after each segment,
    /// and may end it there.
    pub(crate) fn run(
        mut self,
        recovered_one: &dyn Fn() -> ControlFlow<()>,
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
            self.note_producers(&segment, &producers)?;
            next = self.follower_of(base_offset);
            let trust = Trust {
                expected: end.offset,
                log_start: self.options.log_start,
                witnesses: Witnesses {
                    follower: next,
                    epochs: &former_epochs,
                    recovery_point: self.durable(),
                    high_watermark: self.beyond_log_start(self.options.high_watermark),
                    may_have_gaps: self.config.cleanup_policy.compact,
                },
            };
            let mut recovered = recover(&segment, self.config, trust, self.epochs, &mut producers)?;
            self.opening.segments_recovered += 1;
            if recovered_one().is_break() {
                return Err(OpenError::Stopped);
            }
            if let Some(damage) = &mut recovered.damage
                && let DamageKind::OutOfReach(first) = damage.kind
                && (next.is_some_and(|follower| follower < first)
                    || goes_back_behind(&segment, damage.position)?)
            {
                // No checksum covers a batch's offset. One that leaps over the segments or the
                // batches behind was never given out, so this is no overlong segment.
                damage.kind = DamageKind::Broken;
            }
            let end_offset = recovered.end_offset;
            let kind = recovered.damage.as_ref().map(|it| it.kind);
            let tail = match recovered.damage {
                Some(damage) => Some(self.look_behind(damage, &segment, end_offset, next)?),
                None => None,
            };
            next = self.follower_of(base_offset);
            if !next.is_some_and(|it| self.follows(it, end_offset, kind)) {
                // Whoever is to rescue what was durable finds everything as it is.
                self.options.check_tail(self.directory, end_offset)?;
                // Before the cut, which takes the sign of the damage away: to a compacted log that
                // was stopped in between, the hole would be one that compaction has left.
                if let Some(follower) = next.take() {
                    self.remove_from(follower, end_offset)?;
                }
            }
            if let Some(tail) = tail {
                self.cut_off(tail, &segment, end_offset)?;
            }
            end = Place {
                offset: end_offset,
                segment_base: base_offset,
                position: segment.size(),
            };
            // The next flush begins with the segment that holds the recovery point.
            if next.is_some_and(|follower| follower < self.options.recovery_point) {
                segment.sync_all()?;
            }
            // However many there are, no more than one is open.
            self.segments
                .insert(base_offset, Arc::new(segment.let_go()));
        }
        producers.set_end_offset(end.offset);
        Ok((end, producers))
    }

    /// Writes what is known of the producers where a segment begins, so that a later recovery can go
    /// on from there. A log without records has no use for it, and without room on the disk it is not
    /// worth giving up the recovery.
    fn note_producers(
        &mut self,
        segment: &Segment<D>,
        producers: &ProducerStates,
    ) -> Result<(), OpenError> {
        let is_empty = self.segments.len() == 1 && segment.size() == 0;
        let entries = producers.to_snapshot();
        if is_empty && entries.is_empty() || !self.config.keeps_producer_snapshots {
            return Ok(());
        }
        match self.snapshots.write(segment.base_offset(), &entries) {
            Err(error) if error.may_pass() => {
                debug!(%error, "no producer snapshot at a recovered segment");
                Ok(())
            }
            written => Ok(written?),
        }
    }

    /// The segment behind the one with this base offset.
    fn follower_of(&self, base_offset: Offset) -> Option<Offset> {
        let mut behind = self.segments.range(base_offset + 1..);
        behind.next().map(|it| *it.0)
    }

    /// The segment with the last record that can be trusted: if it was rolled since, its indexes
    /// may not have been synced.
    fn first_suspect(&self) -> Offset {
        let holds_it = self.segments.range(..self.trusted_to).next_back();
        let first = holds_it.or_else(|| self.segments.first_key_value());
        *first.expect("a log has a segment").0
    }

    /// Everything below was synced.
    fn durable(&self) -> Offset {
        self.beyond_log_start(self.options.recovery_point)
    }

    /// A point of the log; 0 if it is at the log start. There it says nothing: it was raised along with
    /// that one.
    fn beyond_log_start(&self, point: Offset) -> Offset {
        if point > self.options.log_start {
            point
        } else {
            Offset::ZERO
        }
    }

    /// Whether a segment goes on where the one before it ends.
    ///
    /// Segments are made where the log ends, so only compaction leaves a gap between two. Another
    /// one behind the recovery point means that the end of the former segment was lost. Where one
    /// begins exactly where the former one's good batches end, nothing is missing, whatever stands
    /// behind those.
    fn follows(&self, base_offset: Offset, end_offset: Offset, damage: Option<DamageKind>) -> bool {
        base_offset < self.durable()
            || base_offset == end_offset
            || match damage {
                None => self.config.cleanup_policy.compact,
                Some(DamageKind::OutOfReach(_)) => true,
                Some(DamageKind::Broken | DamageKind::Blank) => false,
            }
    }

    /// Looks at what stands behind a segment's good batches, and changes nothing but that it moves what
    /// is out of the segment's reach into one of its own. If anything there was durable, it is an error;
    /// nothing was that the `follower` has as well.
    fn look_behind(
        &mut self,
        damage: Damage,
        segment: &Segment<D>,
        log_end: Offset,
        follower: Option<Offset>,
    ) -> Result<Tail, OpenError> {
        let position = damage.position;
        if let DamageKind::OutOfReach(first) = damage.kind {
            self.split(segment, position, first)?;
            let holds = Holds::CopiedBatches;
            return Ok(Tail { damage, holds });
        }
        let mut scan = segment.scan(position)?;
        // Space that was reserved is cut off whenever a segment was not closed. A page that was not
        // written in the middle of a log looks like it, so that the zeros must go on to the end.
        if damage.kind == DamageKind::Blank
            && self.config.preallocate
            && scan.is_blank_from(position)?
        {
            let holds = Holds::ReservedSpace;
            return Ok(Tail { damage, holds });
        }
        let durable = if follower == Some(log_end) {
            log_end..log_end
        } else {
            log_end..self.durable()
        };
        // The batch itself is good, and its offset was one of those.
        if matches!(damage.fault, BatchFault::Leaps { .. }) && !durable.is_empty() {
            return Err(scan.damaged(position, damage.fault).into());
        }
        let holds = match scan.find_good(position, &wanted(segment, durable))? {
            Some(found) if found.any_durable => {
                return Err(scan.damaged(position, damage.fault).into());
            }
            Some(found) => Holds::GoodBatches(found),
            None => Holds::NothingGood,
        };
        Ok(Tail { damage, holds })
    }

    /// Cuts a segment behind its good batches. Were there good ones behind that, damage is likelier
    /// than a crash, and what may have been durable is kept in a file.
    fn cut_off(
        &mut self,
        Tail { damage, holds }: Tail,
        segment: &Segment<D>,
        log_end: Offset,
    ) -> Result<(), OpenError> {
        let position = damage.position;
        let path = segment.path(FileContent::Log);
        if let Holds::GoodBatches(found) = &holds {
            let saved = segment.save_from(position, log_end)?;
            self.note_saved(&path, saved, found);
        }
        let cut = Cut {
            bytes: segment.size() - position,
            reason: damage.fault.to_string(),
            path,
            position,
        };
        segment.cut(position)?;
        if matches!(holds, Holds::CopiedBatches | Holds::ReservedSpace) {
            return Ok(());
        }
        warn!(path = %cut.path.display(), position, bytes = cut.bytes,
            reason = cut.reason, "log cut behind its last good batch");
        self.opening.cut = Some(cut);
        Ok(())
    }

    fn note_saved(&mut self, path: &Path, saved: PathBuf, found: &Found) {
        let Found {
            batches,
            first_offset,
            last_offset,
            is_all,
            ..
        } = *found;
        if is_all {
            error!(path = %path.display(), saved = %saved.display(), batches, %first_offset,
                %last_offset,
                "good batches lie behind damage, the log goes on without them and a file keeps them");
        } else {
            error!(path = %path.display(), saved = %saved.display(), batches, %first_offset,
                %last_offset,
                "good batches may lie behind damage, the log goes on without them and a file keeps all of it");
        }
        self.opening.saved.push(Saved {
            path: saved,
            batches,
            first_offset,
            last_offset,
            is_all,
        });
    }

    /// Copies the batches from this position on, of which the first has this offset, into a
    /// segment of their own, before they are cut off this one. Brokers of long ago wrote segments
    /// whose offsets do not fit into 32 bits. A crash leaves the one segment, or the second as well,
    /// which is then complete.
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
            segment.copy_from(position, &copy)?;
            let path = self.directory.join(plain.to_string());
            self.disk.rename(&unfinished, &path)?;
            self.disk.sync_dir(self.directory)?;
            let size = segment.size() - position;
            let split = Segment::new(segment.home().clone(), first, size);
            self.segments.insert(first, Arc::new(split));
        }
        Ok(())
    }

    /// Takes out the segments behind the end of the log, newest first. Their batches are kept in
    /// files, if any is good.
    fn remove_from(&mut self, base_offset: Offset, log_end: Offset) -> Result<(), OpenError> {
        let all_lost = self.segments.split_off(&base_offset);
        for lost in all_lost.values().rev() {
            let path = lost.path(FileContent::Log);
            let file = lost.open_anew()?;
            let mut scan = Scan::new(file, 0, lost.size());
            let found = scan.find_good(0, &wanted(lost, Offset::ZERO..Offset::ZERO))?;
            warn!(path = %path.display(), bytes = lost.size(), end_offset = %log_end,
                "segment behind the end of the log, removing it");
            if let Some(found) = found {
                let saved = lost.set_aside(log_end)?;
                self.note_saved(&path, saved, &found);
            } else {
                lost.remove()?;
            }
            self.snapshots.remove(lost.base_offset())?;
            self.opening.segments_removed.push(path);
        }
        self.disk.sync_dir(self.directory)?;
        Ok(())
    }
}

/// Whether good batches that belong into the segment stand at or behind this position, where one stands
/// that does not.
fn goes_back_behind<D: Disk>(segment: &Segment<D>, position: u32) -> Result<bool, OpenError> {
    let nothing = Offset::ZERO..Offset::ZERO;
    let mut scan = segment.scan(position)?;
    let found = scan.find_good(position, &wanted(segment, nothing))?;
    Ok(found.is_some())
}

/// Good batches of this segment, of which those that begin in a range were durable.
fn wanted<D: Disk>(segment: &Segment<D>, durable: Range<Offset>) -> Wanted {
    let first = segment.base_offset();
    let reach = first.get().saturating_add(i64::from(i32::MAX));
    Wanted {
        offsets: first..Offset::new(reach),
        durable,
    }
}
