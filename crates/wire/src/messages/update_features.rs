//! `UpdateFeatures` (key 57): sets the levels of the features that the whole cluster agrees on.
//!
//! Flexible from the start. v1 told apart safe and unsafe downgrades and added the dry run; v2
//! answers for all features at once, since they change all together or not at all. A broker
//! passes the request on to the active controller (KIP-584).

use crate::prelude::*;

/// Raises or lowers feature levels.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(request(57), versions = 0..=2, flexible = 0.., listeners(broker, controller))]
pub struct UpdateFeaturesRequest {
    /// Milliseconds that the server may take before it answers `REQUEST_TIMED_OUT`.
    #[wire(default = 60_000)]
    pub timeout_ms: i32,
    /// The features to change; one entry a feature.
    pub feature_updates: Vec<FeatureUpdateKey>,
    /// Whether to check only, and to change nothing.
    #[wire(versions = 1..)]
    pub validate_only: bool,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// One feature's new level, in [`UpdateFeaturesRequest`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct FeatureUpdateKey {
    /// The feature's name, such as `metadata.version`.
    pub feature: ByteString,
    /// The level that the cluster shall work at; 0 switches the feature off.
    pub max_version_level: i16,
    /// Whether the level may become lower. v0 only: see `upgrade_type`.
    #[wire(versions = ..=0)]
    pub allow_downgrade: bool,
    /// 1 lets the level rise only, 2 lets it fall if no metadata is lost by that, 3 lets it fall
    /// in any case.
    #[wire(versions = 1.., default = 1)]
    pub upgrade_type: i8,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// Answers [`UpdateFeaturesRequest`].
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(response(57), versions = 0..=2, flexible = 0..)]
pub struct UpdateFeaturesResponse {
    /// Milliseconds for which the client should hold back; 0 when no quota is exceeded.
    pub throttle_time_ms: i32,
    /// What concerns the request as a whole; from v2 also why a feature could not be changed,
    /// such as `INVALID_UPDATE_VERSION`.
    pub error_code: ErrorCode,
    /// Text for people on the top-level error; `None` when there is none.
    #[wire(nullable = ..)]
    pub error_message: Option<ByteString>,
    /// One entry for each feature asked for, up to v1.
    #[wire(versions = ..=1, ignorable)]
    pub results: Vec<UpdatableFeatureResult>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// What became of one feature, in [`UpdateFeaturesResponse`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct UpdatableFeatureResult {
    /// The feature's name.
    pub feature: ByteString,
    /// Why the level stayed as it was, such as `INVALID_UPDATE_VERSION`.
    pub error_code: ErrorCode,
    /// Text for people on what went wrong; `None` when nothing did.
    #[wire(nullable = ..)]
    pub error_message: Option<ByteString>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}
