//! Requests as frames: [`RequestFrame`] on the server's side, [`encode_request`] on the client's.

use bytes::Bytes;
use bytestring::ByteString;
use thiserror::Error;

use crate::api_key::ApiKey;
use crate::codec::{DecodeError, EncodeError, Encoded, Message, Request, encode_frame};
use crate::header::{CorrelationId, RequestHeader};
use crate::offer::Offer;

/// A request whose header is read and whose body is not.
#[derive(Debug, Clone, PartialEq)]
pub struct RequestFrame {
    /// Which request it is.
    pub key: ApiKey,
    /// The header, of a version that the server serves.
    pub header: RequestHeader,
    /// The body, and whatever is behind it.
    pub body: Bytes,
}

/// Why there is no request in a frame.
///
/// All but [`ApiVersionsUnknown`](Self::ApiVersionsUnknown) end the connection without an answer:
/// the client speaks something that this server does not.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum RequestError {
    /// The frame ends before key and version do.
    #[error("a frame of {len} bytes is too short for a request")]
    TooShort {
        /// The frame's size.
        len: usize,
    },
    /// The header cannot be read.
    #[error("the request's header cannot be read")]
    Header(#[from] DecodeError),
    /// There is no API with this key.
    #[error("there is no API with key {key}")]
    UnknownKey {
        /// The key.
        key: i16,
    },
    /// The API is not for this kind of listener, or has no version left.
    #[error("{key} is not served here")]
    NotServed {
        /// The API.
        key: ApiKey,
        /// The header, for the log.
        header: Box<RequestHeader>,
    },
    /// The API is served, but not in this version.
    #[error("{key} is not served in version {}", header.request_api_version)]
    UnsupportedVersion {
        /// The API.
        key: ApiKey,
        /// The header, for the log.
        header: Box<RequestHeader>,
    },
    /// ApiVersions in a version that is not served. It has to be answered, in version 0, with
    /// [`Offer::unsupported_api_versions`]: only so can a newer client find out what to speak.
    #[error("ApiVersions is not served in version {}", header.request_api_version)]
    ApiVersionsUnknown {
        /// The header, of which the answer needs the correlation id.
        header: Box<RequestHeader>,
    },
}

impl RequestError {
    /// Whether the connection is to be closed without an answer.
    pub const fn closes_connection(&self) -> bool {
        match self {
            Self::TooShort { .. }
            | Self::Header(_)
            | Self::UnknownKey { .. }
            | Self::NotServed { .. }
            | Self::UnsupportedVersion { .. } => true,
            Self::ApiVersionsUnknown { .. } => false,
        }
    }
}

impl RequestFrame {
    /// Reads the header of a frame, and checks that `offer` has the request.
    ///
    /// # Errors
    /// See [`RequestError`].
    pub fn parse(mut frame: Bytes, offer: &Offer) -> Result<Self, RequestError> {
        // Key and version say how the rest of the header is coded.
        let Some([k0, k1, v0, v1]) = frame.first_chunk().copied() else {
            return Err(RequestError::TooShort { len: frame.len() });
        };
        let (number, version) = (i16::from_be_bytes([k0, k1]), i16::from_be_bytes([v0, v1]));
        let key = ApiKey::from_number(number).ok_or(RequestError::UnknownKey { key: number })?;
        let header_version = key.request_header_version(version);
        let header = RequestHeader::decode(&mut frame, header_version)?;
        match offer.served(key) {
            Some(versions) if versions.contains(version) => Ok(Self {
                key,
                header,
                body: frame,
            }),
            _ if key == ApiKey::ApiVersions => Err(RequestError::ApiVersionsUnknown {
                header: Box::new(header),
            }),
            Some(_) => Err(RequestError::UnsupportedVersion {
                key,
                header: Box::new(header),
            }),
            None => Err(RequestError::NotServed {
                key,
                header: Box::new(header),
            }),
        }
    }

    /// The request's version.
    pub fn version(&self) -> i16 {
        self.header.request_api_version
    }

    /// Reads the body. Bytes behind it are ignored, as Apache Kafka does.
    ///
    /// # Errors
    /// [`DecodeError::Malformed`].
    ///
    /// # Panics
    /// If the frame holds another request than `R`: the caller has looked at [`Self::key`].
    pub fn decode<R: Request>(&self) -> Result<R, DecodeError> {
        assert_eq!(self.key, R::KEY, "the frame's key says what its body is");
        R::decode(&mut self.body.clone(), self.version())
    }
}

impl RequestHeader {
    /// The header for a request.
    pub fn of<R: Request>(
        version: i16,
        correlation_id: CorrelationId,
        client_id: Option<ByteString>,
    ) -> Self {
        Self {
            request_api_key: R::KEY.number(),
            request_api_version: version,
            correlation_id,
            client_id,
            ..Self::default()
        }
    }
}

/// Writes a whole frame: size, header and request, in the version that the header gives.
///
/// # Errors
/// [`EncodeError::HeaderMismatch`] if the header is one of another API; else as
/// [`Message::encode`].
pub fn encode_request<R: Request>(
    header: &RequestHeader,
    request: &R,
) -> Result<Encoded, EncodeError> {
    if header.request_api_key != R::KEY.number() {
        return Err(EncodeError::HeaderMismatch {
            message: R::NAME,
            header_key: header.request_api_key,
        });
    }
    let version = header.request_api_version;
    let header_version = R::KEY.request_header_version(version);
    encode_frame((header, header_version), (request, version))
}
