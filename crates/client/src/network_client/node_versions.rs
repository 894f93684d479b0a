//! [`NodeVersions`]: which requests a node takes, in which versions. (P6.2)

use std::collections::BTreeMap;
use std::fmt;

use klamm_wire::messages::api_versions::ApiVersionsResponse;
use klamm_wire::{ApiKey, Versions};

/// What a node said that it takes, by API number. As text it is a list for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeVersions {
    listed: BTreeMap<i16, Versions>,
}

impl NodeVersions {
    /// What the answer lists. APIs that are not known here are kept.
    pub(crate) fn new(response: &ApiVersionsResponse) -> Self {
        let entries = response.api_keys.iter();
        Self {
            listed: entries
                .map(|entry| (entry.api_key, entry.versions()))
                .collect(),
        }
    }

    /// The versions that the node takes; `None` if it does not list the request.
    pub fn listed(&self, key: ApiKey) -> Option<Versions> {
        self.listed.get(&key.number()).copied()
    }

    /// Those of `wanted` that the node takes: a client takes the highest.
    pub fn usable(&self, key: ApiKey, wanted: Versions) -> Option<Versions> {
        self.listed(key)?.common(wanted)
    }
}

impl fmt::Display for NodeVersions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, listed) in &self.listed {
            let Some(key) = ApiKey::from_number(*number) else {
                writeln!(f, "unknown ({number}): {listed}")?;
                continue;
            };
            write!(f, "{key} ({number}): {listed}, ")?;
            match key.served(false) {
                None => writeln!(f, "not known here any more")?,
                Some(ours) => match ours.common(*listed) {
                    Some(common) => writeln!(f, "usable {}", common.max)?,
                    None if listed.min > ours.max => writeln!(f, "unusable: node too new")?,
                    None => writeln!(f, "unusable: node too old")?,
                },
            }
        }
        let missing = ApiKey::ALL
            .iter()
            .filter(|key| key.served(false).is_some() && !self.listed.contains_key(&key.number()));
        for key in missing {
            writeln!(f, "{key} ({}): unsupported", key.number())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use klamm_wire::messages::api_versions::ApiVersion;

    use super::*;

    fn node(entries: &[(i16, i16, i16)]) -> NodeVersions {
        let entry = |(api_key, min_version, max_version): &(i16, i16, i16)| ApiVersion {
            api_key: *api_key,
            min_version: *min_version,
            max_version: *max_version,
            ..ApiVersion::default()
        };
        NodeVersions::new(&ApiVersionsResponse {
            api_keys: entries.iter().map(entry).collect(),
            ..ApiVersionsResponse::default()
        })
    }

    #[test]
    fn cl_052_the_highest_version_in_both_ranges() {
        let node = node(&[(0, 1, 3)]);
        for ((min, max), highest) in [
            ((0, 1), 1),
            ((1, 2), 2),
            ((2, 2), 2),
            ((2, 3), 3),
            ((3, 4), 3),
        ] {
            let usable = node.usable(ApiKey::Produce, Versions::new(min, max));
            assert_eq!(usable.unwrap().max, highest);
        }
    }

    #[test]
    fn cl_053_without_overlap_or_entry_there_is_none() {
        for (listed, (min, max)) in [((1, 2), (3, 4)), ((2, 3), (0, 1)), ((300, 300), (0, 13))] {
            let node = node(&[(0, listed.0, listed.1)]);
            let wanted = Versions::new(min, max);
            assert_eq!(node.usable(ApiKey::Produce, wanted), None);
            assert_eq!(node.usable(ApiKey::Metadata, wanted), None);
        }
    }

    #[test]
    fn cl_054_unknown_apis_are_shown_by_number_and_known_ones_with_what_is_usable() {
        let node = node(&[
            (0, 0, 9),
            (1, 900, 901),
            (3, -5, -1),
            (4, 0, 0),
            (999, 1, 2),
        ]);
        let text = node.to_string();
        for line in [
            "Produce (0): 0 to 9, usable 9",
            "Fetch (1): 900 to 901, unusable: node too new",
            "Metadata (3): -5 to -1, unusable: node too old",
            "LeaderAndIsr (4): 0 to 0, not known here any more",
            "unknown (999): 1 to 2",
            "ApiVersions (18): unsupported",
        ] {
            assert!(text.lines().any(|shown| shown == line), "{line} in {text}");
        }
        assert_eq!(
            node.usable(ApiKey::Produce, Versions::new(3, 13))
                .unwrap()
                .max,
            9
        );
    }
}
