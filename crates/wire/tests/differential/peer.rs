//! The peer: kafka-protocol reads and writes a message.

use bytes::{Bytes, BytesMut};
use kafka_protocol::messages::{self, RequestKind, ResponseKind};
use kafka_protocol::protocol::{Decodable, Encodable, Message};
use klamm_wire::testing::{Entry, Kind};

/// What the peer made of some bytes.
pub(crate) struct Reading {
    /// Written again.
    pub(crate) bytes: Bytes,
    /// The value as text.
    pub(crate) debug: String,
}

/// Whether the peer has the message in this version.
pub(crate) fn knows(entry: &Entry, version: i16) -> bool {
    let versions = match entry.kind {
        Kind::Request | Kind::Response => key(entry).map(|key| key.valid_versions()),
        _ => other(entry.name).map(|other| other.versions),
    };
    versions.is_some_and(|versions| versions.min <= version && version <= versions.max)
}

/// Lets the peer read the bytes, which it must use up, and write them.
pub(crate) fn read_and_write(
    entry: &Entry,
    version: i16,
    mut body: Bytes,
) -> Result<Reading, String> {
    let mut bytes = BytesMut::new();
    let debug = match entry.kind {
        Kind::Request => {
            let key = key(entry).ok_or("no such key there")?;
            let request = RequestKind::decode(key, &mut body, version).map_err(text)?;
            request.encode(&mut bytes, version).map_err(text)?;
            inside(&format!("{request:?}"))
        }
        Kind::Response => {
            let key = key(entry).ok_or("no such key there")?;
            let response = ResponseKind::decode(key, &mut body, version).map_err(text)?;
            response.encode(&mut bytes, version).map_err(text)?;
            inside(&format!("{response:?}"))
        }
        _ => {
            let other = other(entry.name).ok_or("no such message there")?;
            (other.read_and_write)(&mut body, version, &mut bytes)?
        }
    };
    if !body.is_empty() {
        return Err(format!("{} bytes are left there", body.len()));
    }
    Ok(Reading {
        bytes: bytes.freeze(),
        debug,
    })
}

fn key(entry: &Entry) -> Option<messages::ApiKey> {
    messages::ApiKey::try_from(entry.key?).ok()
}

fn text(error: impl std::fmt::Display) -> String {
    format!("refused there: {error:#}")
}

/// The value without the variant's name around it.
fn inside(debug: &str) -> String {
    let open = debug.find('(').map_or(0, |at| at + 1);
    debug[open..].trim_end_matches(')').to_owned()
}

/// A message that has no API key.
struct Other {
    versions: kafka_protocol::protocol::VersionRange,
    read_and_write: fn(&mut Bytes, i16, &mut BytesMut) -> Result<String, String>,
}

fn other(name: &str) -> Option<Other> {
    Some(match name {
        "RequestHeader" => of::<messages::RequestHeader>(),
        "ResponseHeader" => of::<messages::ResponseHeader>(),
        "ConsumerProtocolAssignment" => of::<messages::ConsumerProtocolAssignment>(),
        "ConsumerProtocolSubscription" => of::<messages::ConsumerProtocolSubscription>(),
        "DefaultPrincipalData" => of::<messages::DefaultPrincipalData>(),
        "EndTxnMarker" => of::<messages::EndTxnMarker>(),
        "KRaftVersionRecord" => of::<messages::KRaftVersionRecord>(),
        "LeaderChangeMessage" => of::<messages::LeaderChangeMessage>(),
        "SnapshotFooterRecord" => of::<messages::SnapshotFooterRecord>(),
        "SnapshotHeaderRecord" => of::<messages::SnapshotHeaderRecord>(),
        "VotersRecord" => of::<messages::VotersRecord>(),
        _ => return None,
    })
}

fn of<M: Message + Decodable + Encodable + std::fmt::Debug>() -> Other {
    Other {
        versions: M::VERSIONS,
        read_and_write: |body, version, bytes| {
            let message = M::decode(body, version).map_err(text)?;
            message.encode(bytes, version).map_err(text)?;
            Ok(format!("{message:?}"))
        },
    }
}
