//! [`FinalizedFeatures`]: what the cluster has agreed on.

use std::collections::BTreeMap;

use klamm_wire::Versions;
use klamm_wire::messages::api_versions::ApiVersionsResponse;

/// The features that a cluster has agreed on, with the levels in force, as nodes tell them when
/// they are asked for their versions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FinalizedFeatures {
    epoch: i64,
    levels: BTreeMap<String, Versions>,
}

impl Default for FinalizedFeatures {
    fn default() -> Self {
        Self {
            epoch: -1,
            levels: BTreeMap::new(),
        }
    }
}

impl FinalizedFeatures {
    /// Rises with each change; -1 before any node has told.
    pub const fn epoch(&self) -> i64 {
        self.epoch
    }

    /// The levels in force, by name.
    pub const fn levels(&self) -> &BTreeMap<String, Versions> {
        &self.levels
    }

    /// Takes in what a node tells, if it is newer.
    pub(crate) fn learn(&mut self, response: &ApiVersionsResponse) {
        if response.finalized_features_epoch <= self.epoch {
            return;
        }
        self.epoch = response.finalized_features_epoch;
        let levels = response.finalized_features.iter().map(|feature| {
            let levels = Versions::new(feature.min_version_level, feature.max_version_level);
            (feature.name.to_string(), levels)
        });
        self.levels = levels.collect();
    }
}

#[cfg(test)]
mod tests {
    use klamm_wire::messages::api_versions::FinalizedFeatureKey;

    use super::*;

    #[test]
    fn cl_058_only_a_higher_epoch_replaces_them() {
        let told = |epoch, level| ApiVersionsResponse {
            finalized_features_epoch: epoch,
            finalized_features: vec![FinalizedFeatureKey {
                name: "metadata.version".into(),
                max_version_level: level,
                min_version_level: 1,
                ..FinalizedFeatureKey::default()
            }],
            ..ApiVersionsResponse::default()
        };
        let mut features = FinalizedFeatures::default();
        assert_eq!(features.epoch(), -1);
        features.learn(&told(-1, 1));
        assert!(features.levels().is_empty());
        for (epoch, level, expected) in [(5, 20, 20), (5, 21, 20), (4, 22, 20), (6, 23, 23)] {
            features.learn(&told(epoch, level));
            let levels = Versions::new(1, expected);
            assert_eq!(features.levels()["metadata.version"], levels);
        }
        assert_eq!(features.epoch(), 6);
    }
}
