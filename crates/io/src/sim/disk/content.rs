//! [`Content`]: the bytes of one file, as read now and as a power cut would leave them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::super::random::Random;

/// What the cache holds as one piece.
pub(super) const PAGE_LEN: usize = 4096;

/// What a device writes whole or not at all.
pub(super) const SECTOR_LEN: usize = 512;

type Page = [u8; PAGE_LEN];

/// The bytes of one file.
///
/// What was written since the last sync is known by page; each change of the length is kept in
/// order, as the journal of a file system would. A power cut takes some first part of the length
/// changes, and of each dirty page each sector or not.
#[derive(Debug, Clone)]
pub(super) struct Content {
    now: Bytes,
    durable: Bytes,
    /// Pages of `now` that differ from what was handed to the device.
    dirty: BTreeSet<u64>,
    /// The durable length, then every length since.
    lens: Vec<u64>,
    /// Pages that the file has space for beyond those written.
    reserved_pages: u64,
    pub(super) modified_ms: i64,
    durable_modified_ms: i64,
}

/// Bytes by page. No page lies wholly behind `len`, and bytes behind it are zero.
#[derive(Debug, Clone, Default)]
struct Bytes {
    len: u64,
    pages: BTreeMap<u64, Arc<Page>>,
}

/// How much of what is not durable yet survives.
pub(super) enum Survival<'a> {
    /// All, as after a successful sync.
    All,
    /// Nothing.
    None,
    /// What chance says. Where the file has become longer, the new part may show what the device
    /// held there before (`stale`).
    Chance { random: &'a mut Random, stale: bool },
}

impl Content {
    pub(super) fn new(now_ms: i64) -> Self {
        Self {
            now: Bytes::default(),
            durable: Bytes::default(),
            dirty: BTreeSet::new(),
            lens: vec![0],
            reserved_pages: 0,
            modified_ms: now_ms,
            durable_modified_ms: now_ms,
        }
    }

    pub(super) fn len(&self) -> u64 {
        self.now.len
    }

    /// Pages that count against the capacity of the disk.
    pub(super) fn used_pages(&self) -> u64 {
        (self.now.pages.len() as u64).max(self.reserved_pages)
    }

    pub(super) fn read(&self, buffer: &mut [u8], position: u64) -> usize {
        self.now.read(buffer, position)
    }

    /// Writes as many of the bytes as find space in `free_pages` and returns how many.
    pub(super) fn write(&mut self, bytes: &[u8], position: u64, free_pages: u64) -> usize {
        let used_pages_max = self.used_pages() + free_pages;
        let mut written = 0;
        for (page, range) in pages_of(position, bytes.len()) {
            let is_new = !self.now.pages.contains_key(&page);
            if is_new && self.now.pages.len() as u64 + 1 > used_pages_max {
                break;
            }
            let count = range.len();
            self.now.page_mut(page)[range].copy_from_slice(&bytes[written..written + count]);
            self.dirty.insert(page);
            written += count;
        }
        if written > 0 {
            self.change_len(self.now.len.max(position + written as u64));
        }
        written
    }

    pub(super) fn set_len(&mut self, len: u64) {
        let shrinks = len < self.now.len;
        self.change_len(len);
        if shrinks {
            self.now.cut(len);
            self.dirty.retain(|page| self.now.pages.contains_key(page));
            // The rest of the last page is zeroed in the cache, which is a write to it.
            let last = len / PAGE_LEN as u64;
            if self.now.pages.contains_key(&last) {
                self.dirty.insert(last);
            }
            self.reserved_pages = self.reserved_pages.min(len.div_ceil(PAGE_LEN as u64));
        }
    }

    /// Reserves space for the first `len` bytes; false where `free_pages` are too few.
    pub(super) fn allocate(&mut self, len: u64, free_pages: u64) -> bool {
        let pages = len.div_ceil(PAGE_LEN as u64);
        // Pages behind `len` keep their own space.
        let behind = self.now.pages.range(pages..).count() as u64;
        let wanted = pages + behind;
        if wanted > self.used_pages() + free_pages {
            return false;
        }
        self.reserved_pages = self.reserved_pages.max(wanted);
        self.change_len(self.now.len.max(len));
        true
    }

    /// Changes the length and notes it; the pages are the caller's.
    fn change_len(&mut self, len: u64) {
        if len != self.now.len {
            self.now.len = len;
            self.lens.push(len);
        }
    }

    /// A successful sync; the modification time goes along only if asked for.
    pub(super) fn sync(&mut self, with_modified: bool) {
        self.persist(&mut Survival::All);
        if with_modified {
            self.durable_modified_ms = self.modified_ms;
        }
    }

    /// A failed sync: chance says what reached the device, and the cache takes all of it for
    /// clean, so that a later sync will not write it.
    pub(super) fn fail_sync(&mut self, random: &mut Random) {
        self.persist(&mut Survival::Chance {
            random,
            stale: false,
        });
    }

    /// The file as it is found after a power cut.
    pub(super) fn after_power_loss(&self, survival: &mut Survival<'_>) -> Self {
        let mut found = self.clone();
        found.persist(survival);
        let keeps_modified = match survival {
            Survival::All => true,
            Survival::None => false,
            Survival::Chance { random, .. } => random.percent(50),
        };
        let modified_ms = if keeps_modified {
            found.modified_ms
        } else {
            found.durable_modified_ms
        };
        Self {
            now: found.durable.clone(),
            reserved_pages: 0,
            modified_ms,
            durable_modified_ms: modified_ms,
            ..found
        }
    }

    /// Moves to the durable side what survives, and forgets what else was not durable.
    fn persist(&mut self, survival: &mut Survival<'_>) {
        let dirty = std::mem::take(&mut self.dirty);
        let (upto, cut_short) = match survival {
            Survival::All => (self.lens.len() - 1, 0),
            Survival::None => (0, 0),
            Survival::Chance { random, .. } => {
                let upto = random.below(self.lens.len() as u64);
                (usize::try_from(upto).expect("an index"), random.next())
            }
        };
        let lens = &self.lens[..=upto];
        let shortest = lens.iter().copied().min().unwrap_or(0);
        let len = match lens {
            // The device may have taken the first sectors of what made the file longer.
            [.., before, after] if before < after && cut_short % 2 == 1 => {
                let sectors = (after - before) / SECTOR_LEN as u64;
                let kept = (cut_short >> 1) % (sectors + 1) * SECTOR_LEN as u64;
                (before + kept)
                    .next_multiple_of(SECTOR_LEN as u64)
                    .min(*after)
            }
            [.., last] => *last,
            [] => 0,
        };
        // What a cut took away stays away, whatever length came later.
        self.durable.cut(shortest.min(self.durable.len));
        self.durable.len = len;
        for page in dirty {
            if page * (PAGE_LEN as u64) < len {
                self.persist_page(page, shortest, survival);
            }
        }
        self.durable.cut(len);
        self.lens = vec![len];
    }

    fn persist_page(&mut self, page: u64, old_len: u64, survival: &mut Survival<'_>) {
        let new = self.now.pages.get(&page);
        match survival {
            Survival::All => match new {
                // Not copied: both sides share it until one is written to.
                Some(new) => _ = self.durable.pages.insert(page, Arc::clone(new)),
                None => _ = self.durable.pages.remove(&page),
            },
            Survival::None => {}
            Survival::Chance { random, stale } => {
                let old = self.durable.page_mut(page);
                for start in (0..PAGE_LEN).step_by(SECTOR_LEN) {
                    let sector = start..start + SECTOR_LEN;
                    if random.percent(50) {
                        match new {
                            Some(new) => old[sector.clone()].copy_from_slice(&new[sector]),
                            None => old[sector].fill(0),
                        }
                    } else if *stale
                        && page * PAGE_LEN as u64 + start as u64 >= old_len
                        && random.percent(50)
                    {
                        for chunk in old[sector].chunks_exact_mut(8) {
                            chunk.copy_from_slice(&random.next().to_le_bytes());
                        }
                    }
                }
            }
        }
    }
}

impl Bytes {
    fn read(&self, buffer: &mut [u8], position: u64) -> usize {
        let left = self.len.saturating_sub(position);
        let count = usize::try_from(left).map_or(buffer.len(), |left| left.min(buffer.len()));
        let mut read = 0;
        for (page, range) in pages_of(position, count) {
            let into = &mut buffer[read..read + range.len()];
            read += range.len();
            match self.pages.get(&page) {
                Some(page) => into.copy_from_slice(&page[range]),
                None => into.fill(0),
            }
        }
        count
    }

    fn page_mut(&mut self, page: u64) -> &mut Page {
        let page = self
            .pages
            .entry(page)
            .or_insert_with(|| Arc::new([0; PAGE_LEN]));
        Arc::make_mut(page)
    }

    /// Drops the bytes from `len` on; they read as zeros if the length grows again.
    fn cut(&mut self, len: u64) {
        self.len = self.len.min(len);
        drop(self.pages.split_off(&len.div_ceil(PAGE_LEN as u64)));
        let tail = within_page(len);
        if tail > 0
            && let Some(last) = self.pages.get_mut(&(len / PAGE_LEN as u64))
        {
            Arc::make_mut(last)[tail..].fill(0);
        }
    }
}

fn within_page(position: u64) -> usize {
    usize::try_from(position % PAGE_LEN as u64).expect("less than the length of a page")
}

/// The pages that a stretch of a file touches, and which of each page's bytes.
fn pages_of(
    position: u64,
    len: usize,
) -> impl Iterator<Item = (u64, std::ops::Range<usize>)> + use<> {
    let mut done = 0;
    std::iter::from_fn(move || {
        if done == len {
            return None;
        }
        let at = position + done as u64;
        let start = within_page(at);
        let count = (PAGE_LEN - start).min(len - done);
        done += count;
        Some((at / PAGE_LEN as u64, start..start + count))
    })
}
