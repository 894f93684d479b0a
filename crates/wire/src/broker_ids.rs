//! [`BrokerIds`]: a short list of brokers.

use std::fmt;
use std::ops::Deref;
use std::slice;

use klamm_primitives::BrokerId;

use crate::codec::{
    Context, Fixed, Malformed, Measure, MeasureFault, ReadFault, Reader, Value, Writer,
};

/// How many ids are kept in place: as many as nearly all partitions have replicas.
const IN_PLACE_MAX: usize = 3;

/// Bytes of an id on the wire.
const ID_LEN: usize = size_of::<i32>();

/// A list of brokers, such as a partition's replicas: a slice, with up to three ids in no memory of
/// their own. Metadata has three such lists for each partition of the cluster.
///
/// ```
/// use klamm_wire::BrokerIds;
///
/// let replicas = BrokerIds::from([1.into(), 2.into(), 3.into()]);
/// assert_eq!(replicas.first(), Some(&1.into()));
/// assert_eq!(replicas.iter().count(), 3);
/// ```
#[derive(Clone)]
pub struct BrokerIds {
    /// All ids, if they are too many to be in place.
    #[expect(
        clippy::box_collection,
        reason = "one pointer, as it is hardly ever there"
    )]
    apart: Option<Box<Vec<BrokerId>>>,
    /// How many ids are in place.
    len: u32,
    in_place: [BrokerId; IN_PLACE_MAX],
}

impl BrokerIds {
    /// No brokers.
    #[inline]
    pub const fn new() -> Self {
        Self {
            apart: None,
            len: 0,
            in_place: [BrokerId::new(0); IN_PLACE_MAX],
        }
    }

    /// Puts ids into an empty list.
    #[inline]
    fn fill(&mut self, ids: impl ExactSizeIterator<Item = BrokerId>) {
        match u32::try_from(ids.len()) {
            Ok(len) if ids.len() <= IN_PLACE_MAX => {
                self.len = len;
                for (place, id) in self.in_place.iter_mut().zip(ids) {
                    *place = id;
                }
            }
            _ => self.apart = Some(Box::new(ids.collect())),
        }
    }
}

impl Deref for BrokerIds {
    type Target = [BrokerId];

    #[inline]
    fn deref(&self) -> &[BrokerId] {
        match &self.apart {
            None => self.in_place.get(..self.len as usize).unwrap_or_default(),
            Some(ids) => ids,
        }
    }
}

impl Default for BrokerIds {
    fn default() -> Self {
        Self::new()
    }
}

impl PartialEq for BrokerIds {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for BrokerIds {}

impl fmt::Debug for BrokerIds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

impl From<&[BrokerId]> for BrokerIds {
    fn from(ids: &[BrokerId]) -> Self {
        let mut list = Self::new();
        list.fill(ids.iter().copied());
        list
    }
}

impl<const N: usize> From<[BrokerId; N]> for BrokerIds {
    fn from(ids: [BrokerId; N]) -> Self {
        Self::from(&ids[..])
    }
}

impl From<Vec<BrokerId>> for BrokerIds {
    fn from(ids: Vec<BrokerId>) -> Self {
        if ids.len() <= IN_PLACE_MAX {
            return Self::from(&ids[..]);
        }
        Self {
            apart: Some(Box::new(ids)),
            ..Self::new()
        }
    }
}

impl FromIterator<BrokerId> for BrokerIds {
    fn from_iter<I: IntoIterator<Item = BrokerId>>(ids: I) -> Self {
        let mut ids = ids.into_iter();
        let mut list = Self::new();
        for place in &mut list.in_place {
            match ids.next() {
                Some(id) => *place = id,
                None => return list,
            }
            list.len += 1;
        }
        if let Some(id) = ids.next() {
            let mut all = Vec::from(list.in_place);
            all.push(id);
            all.extend(ids);
            list.apart = Some(Box::new(all));
        }
        list
    }
}

impl<'a> IntoIterator for &'a BrokerIds {
    type Item = &'a BrokerId;
    type IntoIter = slice::Iter<'a, BrokerId>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// As an array of ids.
impl Value for BrokerIds {
    const LEN_MIN: usize = 1;

    fn read_into(&mut self, reader: &mut Reader<'_>, context: Context) -> Result<(), ReadFault> {
        let start = reader.here();
        let Some(count) = reader.count::<BrokerId>(context, ID_LEN)? else {
            return Err(reader.fault_at(start, Malformed::Null));
        };
        let (ids, _) = reader.elements(count, ID_LEN)?.as_chunks();
        self.fill(ids.iter().map(|id| BrokerId::from_wire(*id)));
        Ok(())
    }

    #[inline]
    fn measure(&self, measure: &mut Measure, context: Context) -> Result<(), MeasureFault> {
        let ids: &[BrokerId] = self;
        measure.length(ids.len(), context)?;
        measure.add(size_of_val(ids));
        Ok(())
    }

    fn write(&self, writer: &mut Writer, context: Context) {
        match **self {
            // What most partitions have most of the time.
            [] if context.is_flexible() => writer.put([1]),
            [first, second, third] if context.is_flexible() => {
                let mut run = [0; 1 + 3 * ID_LEN];
                run[0] = 3 + 1;
                first.into_run(&mut run, 1);
                second.into_run(&mut run, 1 + ID_LEN);
                third.into_run(&mut run, 1 + 2 * ID_LEN);
                writer.put(run);
            }
            _ => {
                writer.length(self.len(), context);
                BrokerId::write_many(self, writer, context);
            }
        }
    }

    #[inline]
    fn is_default(&self) -> bool {
        self.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::BrokerIds;
    use klamm_primitives::BrokerId;

    #[test]
    fn lists_are_the_same_however_they_are_made() {
        for len in 0..20 {
            let ids: Vec<_> = (0..len).map(BrokerId::new).collect();
            let collected: BrokerIds = ids.iter().copied().collect();
            assert_eq!(*collected, *ids);
            assert_eq!(collected, BrokerIds::from(&*ids));
            assert_eq!(collected, BrokerIds::from(ids.clone()));
            assert_eq!(collected.clone(), collected);
            assert_eq!(format!("{collected:?}"), format!("{ids:?}"));
            assert_eq!(collected.into_iter().count(), ids.len());
        }
        assert_ne!(
            BrokerIds::from([1.into()]),
            BrokerIds::from([1.into(), 1.into()])
        );
        assert!(BrokerIds::default().is_empty());
    }

    #[test]
    fn a_list_is_no_larger_than_a_vector() {
        assert_eq!(size_of::<BrokerIds>(), size_of::<Vec<BrokerId>>());
    }
}
