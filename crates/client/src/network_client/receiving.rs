//! Answers come in. (P6.2, P6.5, P6.8)

use std::time::{Duration, Instant};

use bytes::Bytes;
use klamm_wire::header::{CorrelationId, ResponseHeader};
use klamm_wire::messages::api_versions::ApiVersionsResponse;
use klamm_wire::messages::metadata::MetadataResponse;
use klamm_wire::{ApiKey, ErrorCode, Message};
use tracing::{debug, warn};

use super::in_flight::{Purpose, Unexpected, Waiting};
use super::node_versions::NodeVersions;
use super::throttle::{client_waits, throttle_time_ms};
use super::{ConnectionId, NetworkClient};
use crate::answer::{Answer, Failure};
use crate::node::NodeId;
use crate::trouble::{Loss, LossKind};

impl NetworkClient {
    /// A frame came. What cannot be the answer to the oldest request ends the connection: nothing
    /// behind it could be trusted.
    pub(super) fn received(&mut self, connection: ConnectionId, mut frame: Bytes, now: Instant) {
        let Some(node) = self.links.owner(connection) else {
            return;
        };
        let waiting = match self.match_up(node, &mut frame) {
            Ok(waiting) => waiting,
            Err(reason) => {
                warn!(%node, reason, "answer cannot be matched, closing the connection");
                self.note_trouble(node, Loss::new(LossKind::Unusable, reason));
                self.hang_up(node, &Failure::Disconnected, now);
                return;
            }
        };
        if let Some(link) = self.links.get_mut(node) {
            link.last_used = now;
        }
        self.counts.count(node, |stats| stats.answers += 1);
        match waiting.purpose {
            Purpose::Guest => {
                if let Some(ms) = throttle_time_ms(waiting.key, waiting.version, &frame) {
                    self.throttle(node, waiting.key, waiting.version, ms, now);
                }
                self.answer(Answer {
                    id: waiting.id,
                    node,
                    key: waiting.key,
                    version: waiting.version,
                    sent_at: waiting.sent_at,
                    received_at: now,
                    outcome: Ok(frame),
                });
            }
            Purpose::Versions => self.versions_received(node, &waiting, frame, now),
            Purpose::Metadata(asked) => {
                match MetadataResponse::decode(&mut frame, waiting.version) {
                    Ok(response) => {
                        let ms = response.throttle_time_ms;
                        self.throttle(node, waiting.key, waiting.version, ms, now);
                        self.refreshed(&response, waiting.version, asked, now);
                    }
                    Err(error) => {
                        self.unreadable(node, &error, now);
                        self.refreshing.ended();
                        self.metadata.failed(now);
                    }
                }
            }
        }
    }

    /// Takes the header off a frame, and its request out of those in flight.
    fn match_up(&mut self, node: NodeId, frame: &mut Bytes) -> Result<Waiting, String> {
        let link = self.links.get_mut(node);
        let link = link.ok_or_else(|| Unexpected::NoneInFlight.to_string())?;
        let id = klamm_wire::correlation_id(frame);
        let id: CorrelationId = id.ok_or_else(|| "the answer is too short".to_owned())?;
        let waiting = (link.in_flight.received(id)).map_err(|error| error.to_string())?;
        let version = waiting.key.response_header_version(waiting.version);
        ResponseHeader::decode(frame, version).map_err(|error| error.to_string())?;
        (link.in_flight.pop_oldest()).map_err(|error| error.to_string())
    }

    fn unreadable(&mut self, node: NodeId, error: &klamm_wire::DecodeError, now: Instant) {
        warn!(
            %node,
            error = error as &dyn std::error::Error,
            "answer cannot be read, closing the connection"
        );
        let loss = Loss::new(LossKind::Unusable, error.to_string());
        self.note_trouble(node, loss);
        self.hang_up(node, &Failure::Disconnected, now);
    }

    /// Notes a throttle time, and leaves the node alone for as long if it has not waited itself.
    fn throttle(&mut self, node: NodeId, key: ApiKey, version: i16, ms: i32, now: Instant) {
        let time = Duration::from_millis(u64::try_from(ms).unwrap_or(0));
        self.counts.count(node, |stats| stats.throttled(time));
        if !time.is_zero() && client_waits(key, version) {
            debug!(%node, ?time, "throttled");
            self.states.throttle(node, now + time);
        }
    }

    /// The node said what it takes, or that it does not know the question in that version.
    fn versions_received(
        &mut self,
        node: NodeId,
        waiting: &Waiting,
        mut body: Bytes,
        now: Instant,
    ) {
        let response = match ApiVersionsResponse::decode_asked(&mut body, waiting.version) {
            Ok(response) => response,
            Err(error) => return self.unreadable(node, &error, now),
        };
        if response.error_code == ErrorCode::UNSUPPORTED_VERSION && waiting.version > 0 {
            // Each question is in a lower version than the one before, so this ends.
            let highest = response.usable(ApiKey::ApiVersions);
            let highest = highest.map_or(0, |versions| versions.max);
            let version = highest.min(waiting.version - 1);
            debug!(%node, version, "node is older, asking for its versions again");
            return self.ask_versions(node, version, now);
        }
        if !response.error_code.is_none() {
            warn!(%node, code = %response.error_code, "node does not tell its versions");
            let loss = Loss::new(LossKind::Unusable, response.error_code.to_string());
            self.note_trouble(node, loss);
            return self.hang_up(node, &Failure::Disconnected, now);
        }
        let ms = response.throttle_time_ms;
        self.throttle(node, waiting.key, waiting.version, ms, now);
        self.features.learn(&response);
        if let Some(link) = self.links.get_mut(node) {
            link.versions = Some(NodeVersions::new(&response));
        }
        self.states.ready(node, &mut self.random);
        debug!(%node, "ready");
    }
}
