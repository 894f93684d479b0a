//! [`Placement`]: on which brokers the replicas of new partitions go. (CO-051 to CO-055)

use std::collections::BTreeMap;
use std::sync::Arc;

use fastrand::Rng;
use klamm_primitives::BrokerId;

use crate::image::MetadataImage;

/// Deals replicas out to brokers: over racks first, then over the brokers of a rack.
///
/// Each partition begins one rack further than the one before, and each time around one broker
/// further in each rack, so that every broker leads about equally often; when each has led once
/// all is shuffled, so that followers are spread as well. Fenced brokers come last, and only
/// where there are too few others.
pub(crate) struct Placement {
    racks: Vec<Rack>,
    active_count: usize,
    total_count: usize,
    /// How many partitions were placed since the last shuffle.
    turn: usize,
}

#[derive(Default)]
struct Rack {
    active: Vec<BrokerId>,
    fenced: Vec<BrokerId>,
}

impl Placement {
    /// Over the brokers that are registered and not in controlled shutdown (CO-032).
    pub(crate) fn new(image: &MetadataImage, rng: &mut Rng) -> Self {
        let mut racks: BTreeMap<Option<Arc<str>>, Rack> = BTreeMap::new();
        let (mut active_count, mut total_count) = (0, 0);
        for broker in image.brokers().filter(|it| !it.in_controlled_shutdown) {
            let rack = racks.entry(broker.rack.clone()).or_default();
            total_count += 1;
            if broker.is_fenced {
                rack.fenced.push(broker.id);
            } else {
                active_count += 1;
                rack.active.push(broker.id);
            }
        }
        // A rack in which nobody can lead would only pass its turn to its neighbour.
        let (mut racks, mut dark): (Vec<_>, Vec<_>) = racks
            .into_values()
            .partition(|rack| !rack.active.is_empty());
        if let Some(first) = racks.first_mut() {
            first.fenced.extend(dark.drain(..).flat_map(|it| it.fenced));
        }
        let mut placement = Self {
            racks,
            active_count,
            total_count,
            turn: 0,
        };
        placement.shuffle(rng);
        placement
    }

    /// How many brokers could hold a replica, fenced ones too.
    pub(crate) fn usable_count(&self) -> usize {
        self.total_count
    }

    /// How many of them are not fenced.
    pub(crate) fn active_count(&self) -> usize {
        self.active_count
    }

    fn shuffle(&mut self, rng: &mut Rng) {
        self.turn = 0;
        rng.shuffle(&mut self.racks);
        for rack in &mut self.racks {
            rng.shuffle(&mut rack.active);
            rng.shuffle(&mut rack.fenced);
        }
    }

    /// The replicas of the next partition, the leader first. `count` is between 1 and
    /// [`Placement::usable_count`], and at least one broker is active.
    pub(crate) fn next(&mut self, count: usize, rng: &mut Rng) -> Vec<BrokerId> {
        if self.turn == self.active_count {
            self.shuffle(rng);
        }
        let rack_count = self.racks.len();
        let (first_rack, rotation) = (self.turn % rack_count, self.turn / rack_count);
        self.turn += 1;
        let racks = &self.racks;
        let deal = |list: fn(&Rack) -> &Vec<BrokerId>| {
            let longest = racks.iter().map(|rack| list(rack).len()).max();
            let rounds = 0..longest.unwrap_or(0);
            rounds.flat_map(move |round| {
                (0..rack_count).filter_map(move |step| {
                    let brokers = list(&racks[(first_rack + step) % rack_count]);
                    let is_left = round < brokers.len();
                    is_left.then(|| brokers[(round + rotation) % brokers.len()])
                })
            })
        };
        let dealt = deal(|rack| &rack.active).chain(deal(|rack| &rack.fenced));
        dealt.take(count).collect()
    }
}
