//! Requests go out. (P6.2, P6.3)

use std::time::Instant;

use klamm_wire::header::{CorrelationId, RequestHeader};
use klamm_wire::messages::api_versions::ApiVersionsRequest;
use klamm_wire::{Encoded, Request, Versions, encode_request};
use tracing::{debug, trace};

use super::in_flight::{Purpose, Waiting};
use super::{Action, ConnectionId, NetworkClient};
use crate::answer::{Answer, Failure, NotReady, RequestId, SendOptions};
use crate::backoff::FOREVER;
use crate::node::NodeId;

/// How the client's software calls itself to a server.
const SOFTWARE_NAME: &str = "klamm";

impl NetworkClient {
    /// Sends a request, encoded at once in the highest version that both sides take; records are
    /// shared, not copied. Its [`Answer`] comes later, in every case: if the node takes no version
    /// that would do, with the next batch of actions, and nothing is sent.
    ///
    /// # Errors
    /// [`NotReady`] if the node does not take a request now; nothing is kept then.
    pub fn send<R: Request>(
        &mut self,
        node: NodeId,
        request: &R,
        options: SendOptions,
        now: Instant,
    ) -> Result<RequestId, NotReady> {
        self.send_for(Purpose::Guest, node, request, options, now)
    }

    /// As [`Self::send`].
    pub(super) fn send_for<R: Request>(
        &mut self,
        purpose: Purpose,
        node: NodeId,
        request: &R,
        options: SendOptions,
        now: Instant,
    ) -> Result<RequestId, NotReady> {
        if self.closed || !self.can_send(node, now) {
            return Err(NotReady { node });
        }
        let id = self.next_request_id();
        let encoded = self.version_for::<R>(node, options.versions);
        let encoded = encoded.and_then(|version| {
            let (correlation_id, frame) = self.encode(request, version)?;
            Ok((version, correlation_id, frame))
        });
        match encoded {
            Ok((version, correlation_id, frame)) => {
                let timeout = options.timeout.unwrap_or(self.config.request_timeout);
                let waiting = Waiting {
                    id,
                    purpose,
                    correlation_id,
                    key: R::KEY,
                    version,
                    sent_at: now,
                    timeout: timeout.min(FOREVER),
                    expects_response: !options.no_response,
                };
                self.write(node, waiting, frame);
            }
            Err(failure) => self.not_sent::<R>(id, purpose, node, failure, now),
        }
        Ok(id)
    }

    /// The version for a request: the highest that the node and the caller take.
    fn version_for<R: Request>(
        &self,
        node: NodeId,
        wanted: Option<Versions>,
    ) -> Result<i16, Failure> {
        let ours = R::KEY.served(false);
        let wanted = match (ours, wanted) {
            (Some(ours), Some(wanted)) => ours.common(wanted),
            (ours, _) => ours,
        };
        if !self.config.discover_versions
            && let Some(wanted) = wanted
        {
            return Ok(wanted.max);
        }
        let versions = self.versions(node);
        let usable = versions.zip(wanted);
        let usable = usable.and_then(|(versions, wanted)| versions.usable(R::KEY, wanted));
        usable
            .map(|usable| usable.max)
            .ok_or_else(|| Failure::UnsupportedVersion {
                key: R::KEY,
                wanted,
                theirs: versions.and_then(|versions| versions.listed(R::KEY)),
            })
    }

    /// A frame with the next correlation id.
    fn encode<R: Request>(
        &mut self,
        request: &R,
        version: i16,
    ) -> Result<(CorrelationId, Encoded), Failure> {
        let correlation_id = CorrelationId::new(self.counts.correlation_id);
        self.counts.correlation_id = self.counts.correlation_id.checked_add(1).unwrap_or(0);
        let client_id = Some(self.config.client_id.clone());
        let header = RequestHeader::of::<R>(version, correlation_id, client_id);
        let frame = encode_request(&header, request).map_err(Failure::Unencodable)?;
        Ok((correlation_id, frame))
    }

    fn next_request_id(&mut self) -> RequestId {
        self.counts.requests += 1;
        RequestId(self.counts.requests)
    }

    fn write(&mut self, node: NodeId, waiting: Waiting, frame: Encoded) {
        let Some(link) = self.links.get_mut(node) else {
            return;
        };
        trace!(
            %node,
            api = %waiting.key,
            version = waiting.version,
            correlation_id = %waiting.correlation_id,
            bytes = frame.len(),
            "sending"
        );
        let bytes = frame.len();
        link.last_used = waiting.sent_at;
        link.in_flight.push(waiting);
        self.actions.push(Action::Write {
            connection: link.connection,
            frame,
        });
        self.counts.count(node, |stats| stats.requested(bytes));
    }

    fn not_sent<R: Request>(
        &mut self,
        id: RequestId,
        purpose: Purpose,
        node: NodeId,
        failure: Failure,
        now: Instant,
    ) {
        debug!(%node, api = %R::KEY, error = %failure, "request cannot be sent");
        match purpose {
            Purpose::Guest => self.answer(Answer {
                id,
                node,
                key: R::KEY,
                version: -1,
                sent_at: now,
                received_at: now,
                outcome: Err(failure),
            }),
            Purpose::Metadata(_) => {
                self.refreshing.ended();
                self.metadata.failed(now);
                self.metadata.failed_fatally(failure);
            }
            Purpose::Versions => self.hang_up(node, &Failure::Disconnected, now),
        }
    }

    /// Asks a node for its versions: the first request on a connection, in whose state nothing
    /// else may be sent.
    pub(super) fn ask_versions(&mut self, node: NodeId, version: i16, now: Instant) {
        let request = ApiVersionsRequest {
            client_software_name: SOFTWARE_NAME.into(),
            client_software_version: env!("CARGO_PKG_VERSION").into(),
            ..ApiVersionsRequest::default()
        };
        let id = self.next_request_id();
        match self.encode(&request, version) {
            Ok((correlation_id, frame)) => {
                let waiting = Waiting {
                    id,
                    purpose: Purpose::Versions,
                    correlation_id,
                    key: ApiVersionsRequest::KEY,
                    version,
                    sent_at: now,
                    timeout: self.config.request_timeout,
                    expects_response: true,
                };
                self.write(node, waiting, frame);
            }
            Err(failure) => {
                self.not_sent::<ApiVersionsRequest>(id, Purpose::Versions, node, failure, now);
            }
        }
    }

    /// A request's bytes are with the operating system.
    pub(super) fn written(&mut self, connection: ConnectionId, now: Instant) {
        let Some(node) = self.links.owner(connection) else {
            return;
        };
        let Some(link) = self.links.get_mut(node) else {
            return;
        };
        link.last_used = now;
        // An error says that the answer was faster than this report.
        if let Ok(Some(done)) = link.in_flight.written() {
            self.answer(Answer {
                id: done.id,
                node,
                key: done.key,
                version: done.version,
                sent_at: done.sent_at,
                received_at: now,
                outcome: Ok(bytes::Bytes::new()),
            });
        }
    }
}
