//! [`FeatureLevels`]: the features that ApiVersions tells from version 3 on.

use bytestring::ByteString;

use crate::codec::Versions;
use crate::messages::api_versions::{
    ApiVersionsResponse, FinalizedFeatureKey, SupportedFeatureKey,
};

/// A feature, such as `metadata.version`: the levels that a server could support, and the one
/// that the cluster has agreed on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FeatureLevels {
    /// The feature's name.
    pub name: ByteString,
    /// The levels that the server could support.
    pub supported: Versions,
    /// The level in force; 0 if the feature is off.
    pub finalized: i16,
}

impl ApiVersionsResponse {
    /// Puts features into an answer of this version. `epoch` rises with each change of the
    /// finalized levels; while it is unknown, nothing is told.
    ///
    /// Clients before version 4 take a lowest level of 0 for an error, so they are not told of
    /// such features (KAFKA-17492). A feature that is off is not listed as finalized.
    pub fn set_features(&mut self, version: i16, epoch: Option<i64>, features: &[FeatureLevels]) {
        let known = if epoch.is_some() { features } else { &[] };
        self.finalized_features_epoch = epoch.unwrap_or(-1);
        self.supported_features = known
            .iter()
            .filter(|feature| version >= 4 || feature.supported.min > 0)
            .map(|feature| SupportedFeatureKey {
                name: feature.name.clone(),
                min_version: feature.supported.min,
                max_version: feature.supported.max,
                ..SupportedFeatureKey::default()
            })
            .collect();
        self.finalized_features = known
            .iter()
            .filter(|feature| feature.finalized > 0)
            .map(|feature| FinalizedFeatureKey {
                name: feature.name.clone(),
                max_version_level: feature.finalized,
                min_version_level: feature.finalized,
                ..FinalizedFeatureKey::default()
            })
            .collect();
    }
}
