//! [`Offer`]: what a server takes, and what both sides of a connection make of it.

use bytes::Bytes;

use crate::api_key::{ApiKey, Listener};
use crate::api_set::ApiSet;
use crate::codec::{DecodeError, Message, Versions};
use crate::error_code::ErrorCode;
use crate::messages::api_versions::{ApiVersion, ApiVersionsRequest, ApiVersionsResponse};

/// Which requests a listener takes in which versions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Offer {
    /// The kind of the listener.
    pub listener: Listener,
    /// Whether versions that may still change are offered (`unstable.api.versions.enable`).
    pub unstable: bool,
    /// Whether somebody wants the clients' telemetry, without which its two APIs are not offered.
    pub telemetry: bool,
    /// The APIs that the server has handlers for; no other is offered.
    pub apis: ApiSet,
}

impl Offer {
    /// The versions in which a request is taken; `None` if not at all.
    pub fn served(&self, key: ApiKey) -> Option<Versions> {
        self.offers(key).then(|| key.served(self.unstable))?
    }

    /// The list that ApiVersions answers with, by rising key.
    pub fn api_versions(&self) -> Vec<ApiVersion> {
        ApiKey::ALL
            .iter()
            .filter(|key| self.offers(**key))
            .filter_map(|key| Some(ApiVersion::new(*key, self.advertised(*key)?)))
            .collect()
    }

    /// The answer to ApiVersions in a version that is not served; to be written in version 0. It
    /// holds the versions of ApiVersions alone.
    pub fn unsupported_api_versions(&self) -> ApiVersionsResponse {
        let versions = self.advertised(ApiKey::ApiVersions);
        ApiVersionsResponse {
            error_code: ErrorCode::UNSUPPORTED_VERSION,
            api_keys: versions
                .map(|versions| ApiVersion::new(ApiKey::ApiVersions, versions))
                .into_iter()
                .collect(),
            ..ApiVersionsResponse::default()
        }
    }

    fn advertised(self, key: ApiKey) -> Option<Versions> {
        key.advertised(self.unstable)
    }

    fn offers(self, key: ApiKey) -> bool {
        let is_telemetry = matches!(
            key,
            ApiKey::GetTelemetrySubscriptions | ApiKey::PushTelemetry
        );
        key.is_for(self.listener) && self.apis.contains(key) && (self.telemetry || !is_telemetry)
    }
}

impl ApiVersion {
    /// An entry of the list.
    pub fn new(key: ApiKey, versions: Versions) -> Self {
        Self {
            api_key: key.number(),
            min_version: versions.min,
            max_version: versions.max,
            ..Self::default()
        }
    }

    /// The versions.
    pub fn versions(&self) -> Versions {
        Versions::new(self.min_version, self.max_version)
    }

    /// The versions that both have; `None` if there are none.
    ///
    /// # Panics
    /// If the two are entries of different APIs.
    pub fn common(&self, other: &Self) -> Option<Versions> {
        assert_eq!(self.api_key, other.api_key, "versions of two APIs");
        self.versions().common(other.versions())
    }
}

impl ApiVersionsResponse {
    /// The versions that the server listed for an API.
    pub fn listed(&self, key: ApiKey) -> Option<Versions> {
        let number = key.number();
        let entry = self.api_keys.iter().find(|entry| entry.api_key == number)?;
        Some(entry.versions())
    }

    /// The versions of an API that the server listed and this crate knows; a client takes the
    /// highest. `None` if there are none.
    pub fn usable(&self, key: ApiKey) -> Option<Versions> {
        self.listed(key)?.common(key.versions()?)
    }

    /// Reads the answer to a request of the version `asked`. A server that does not know that
    /// version answers in version 0, so this is tried next; the error code then says so, and the
    /// list is only good for asking again.
    ///
    /// # Errors
    /// What is wrong with the body in the version asked for, if neither fits.
    pub fn decode_asked(body: &mut Bytes, asked: i16) -> Result<Self, DecodeError> {
        Self::decode(body, asked).or_else(|error| Self::decode(body, 0).map_err(|_| error))
    }
}

impl ApiVersionsRequest {
    /// Whether a server of Apache Kafka would accept it; if not, it answers `INVALID_REQUEST`.
    ///
    /// From version 3 on the software's name and version consist of letters, digits and, not at
    /// either end, `-` and `.`. From version 5 on cluster and node come together or not at all.
    pub fn is_valid(&self, version: i16) -> bool {
        let named = version < 3
            || is_software_word(&self.client_software_name)
                && is_software_word(&self.client_software_version);
        let targeted = version < 5 || self.cluster_id.is_some() == (self.node_id.get() >= 0);
        named && targeted
    }
}

fn is_software_word(word: &str) -> bool {
    let bytes = word.as_bytes();
    let (Some(first), Some(last)) = (bytes.first(), bytes.last()) else {
        return false;
    };
    first.is_ascii_alphanumeric()
        && last.is_ascii_alphanumeric()
        && bytes
            .iter()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.'))
}
