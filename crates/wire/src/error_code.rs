//! [`ErrorCode`]: how the protocol says what went wrong.

use std::fmt;

/// Makes the constants and look-ups out of a table: number, name, what a client may do, and a
/// sentence that explains it.
macro_rules! error_codes {
    ($($code:literal $name:ident $retry:ident: $doc:literal;)*) => {
        impl ErrorCode {
            $(
                #[doc = $doc]
                #[doc = concat!(" (", stringify!($code), ")")]
                pub const $name: Self = Self($code);
            )*

            /// All codes that this crate knows, by rising number.
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            /// The name that the protocol's documents use; `None` for a code not known here.
            pub const fn name(self) -> Option<&'static str> {
                match self.0 {
                    $($code => Some(stringify!($name)),)*
                    _ => None,
                }
            }

            /// What it means, in a sentence; `None` for a code not known here.
            pub const fn meaning(self) -> Option<&'static str> {
                match self.0 {
                    $($code => Some($doc),)*
                    _ => None,
                }
            }

            /// Whether a client may try again, and what it has to do first.
            ///
            /// A code not known here counts as [`UNKNOWN_SERVER_ERROR`](Self::UNKNOWN_SERVER_ERROR).
            pub const fn retry(self) -> Retry {
                match self.0 {
                    $($code => Retry::$retry,)*
                    _ => Retry::Never,
                }
            }
        }
    };
}

/// The number that answers carry in their `error_code` fields.
///
/// Numbers that this crate does not know are kept.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub struct ErrorCode(i16);

/// What a client may do after an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Retry {
    /// Not send the same request again.
    Never,
    /// Send it again after a while.
    Again,
    /// Send it again after it has found the coordinator or the leader anew.
    AfterRefresh,
    /// Send it again after it has asked for the topic's metadata, which are out of date.
    AfterMetadata,
}

impl ErrorCode {
    /// Wraps the number as it stands on the wire.
    #[inline]
    pub const fn new(code: i16) -> Self {
        Self(code)
    }

    /// The number as it stands on the wire.
    #[inline]
    pub const fn get(self) -> i16 {
        self.0
    }

    /// Whether this is [`NONE`](Self::NONE).
    #[inline]
    pub const fn is_none(self) -> bool {
        self.0 == 0
    }

    /// Whether the same request may be sent again.
    pub const fn is_retriable(self) -> bool {
        !matches!(self.retry(), Retry::Never)
    }

    /// Whether the client has to find the coordinator or the leader anew before it tries again.
    pub const fn needs_refresh(self) -> bool {
        matches!(self.retry(), Retry::AfterRefresh | Retry::AfterMetadata)
    }

    /// Whether what the client knows of the topic is out of date.
    pub const fn invalidates_metadata(self) -> bool {
        matches!(self.retry(), Retry::AfterMetadata)
    }

    /// `Ok` if this is [`NONE`](Self::NONE).
    ///
    /// # Errors
    /// The code, if it is another.
    pub const fn ok(self) -> Result<(), Self> {
        if self.is_none() { Ok(()) } else { Err(self) }
    }
}

impl From<i16> for ErrorCode {
    #[inline]
    fn from(code: i16) -> Self {
        Self(code)
    }
}

impl From<ErrorCode> for i16 {
    #[inline]
    fn from(code: ErrorCode) -> Self {
        code.0
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.pad(name),
            None => write!(f, "unknown error {}", self.0),
        }
    }
}

impl fmt::Debug for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}({self})", self.0)
    }
}

/// So that a code can be the cause that another error names.
impl std::error::Error for ErrorCode {}

error_codes! {
    -1 UNKNOWN_SERVER_ERROR Never: "Something failed in the server that it has no better word for.";
    0 NONE Never: "All is well.";
    1 OFFSET_OUT_OF_RANGE Never: "The offset to read from is before the log's start or behind its end.";
    2 CORRUPT_MESSAGE Again: "A batch is damaged, is of the wrong size, or lacks a key where compaction needs one.";
    3 UNKNOWN_TOPIC_OR_PARTITION AfterMetadata: "This broker has no such topic or partition.";
    4 INVALID_FETCH_SIZE Never: "The size of the fetch makes no sense.";
    5 LEADER_NOT_AVAILABLE AfterMetadata: "The partition has no leader at the moment; one is being elected.";
    6 NOT_LEADER_OR_FOLLOWER AfterMetadata: "Another broker leads the partition, or this one holds no replica of it.";
    7 REQUEST_TIMED_OUT Again: "The request's time was up before it was done.";
    8 BROKER_NOT_AVAILABLE Never: "The broker in question cannot be reached.";
    9 REPLICA_NOT_AVAILABLE AfterMetadata: "This broker does not have the replica that was asked for.";
    10 MESSAGE_TOO_LARGE Never: "A batch is larger than the topic or the broker takes.";
    11 STALE_CONTROLLER_EPOCH Never: "The request is from a controller that has been replaced.";
    12 OFFSET_METADATA_TOO_LARGE Never: "The text that goes with a committed offset is too long.";
    13 NETWORK_EXCEPTION AfterMetadata: "The connection broke before the answer came, so the broker may have done what was asked. Only clients tell it.";
    14 COORDINATOR_LOAD_IN_PROGRESS Again: "The coordinator has not finished reading its log.";
    15 COORDINATOR_NOT_AVAILABLE AfterRefresh: "The coordinator does not exist yet, or is down.";
    16 NOT_COORDINATOR AfterRefresh: "Another broker coordinates this group or transactional id.";
    17 INVALID_TOPIC_EXCEPTION Never: "The topic's name is not legal, or the topic may not be used in this way.";
    18 RECORD_LIST_TOO_LARGE Never: "A batch does not fit into a segment of the log.";
    19 NOT_ENOUGH_REPLICAS Again: "Too few replicas are in sync; nothing was written.";
    20 NOT_ENOUGH_REPLICAS_AFTER_APPEND Again: "It was written, but too few replicas were left in sync to acknowledge it.";
    21 INVALID_REQUIRED_ACKS Never: "The acknowledgements asked for are none of -1, 0 and 1.";
    22 ILLEGAL_GENERATION Never: "The group is at another generation than the request says.";
    23 INCONSISTENT_GROUP_PROTOCOL Never: "The member has another protocol type than the group, or no assignor in common with it.";
    24 INVALID_GROUP_ID Never: "The group's id is empty or otherwise of no use.";
    25 UNKNOWN_MEMBER_ID Never: "The group has no such member.";
    26 INVALID_SESSION_TIMEOUT Never: "The session time-out is outside what the broker allows.";
    27 REBALANCE_IN_PROGRESS Never: "The group is rebalancing; the member has to join again.";
    28 INVALID_COMMIT_OFFSET_SIZE Never: "The record of an offset commit would be too large.";
    29 TOPIC_AUTHORIZATION_FAILED Never: "The caller may not do this with the topic.";
    30 GROUP_AUTHORIZATION_FAILED Never: "The caller may not do this with the group.";
    31 CLUSTER_AUTHORIZATION_FAILED Never: "The caller may not do this with the cluster.";
    32 INVALID_TIMESTAMP Never: "A record's timestamp is too far from the broker's time.";
    33 UNSUPPORTED_SASL_MECHANISM Never: "The SASL mechanism is not enabled.";
    34 ILLEGAL_SASL_STATE Never: "The login is not at a point where this request is expected.";
    35 UNSUPPORTED_VERSION Never: "The server does not take this version of the request.";
    36 TOPIC_ALREADY_EXISTS Never: "There is a topic of this name already.";
    37 INVALID_PARTITIONS Never: "The number of partitions is not acceptable.";
    38 INVALID_REPLICATION_FACTOR Never: "The number of replicas is below one or above the number of brokers.";
    39 INVALID_REPLICA_ASSIGNMENT Never: "The replicas that were assigned by hand contradict each other.";
    40 INVALID_CONFIG Never: "A setting's name or value is not valid.";
    41 NOT_CONTROLLER Again: "This node is not the active controller.";
    42 INVALID_REQUEST Never: "The request contradicts itself, or a field has a value that it may not have.";
    43 UNSUPPORTED_FOR_MESSAGE_FORMAT Never: "The log's record format is too old for this.";
    44 POLICY_VIOLATION Never: "A policy of the broker's operator forbids it.";
    45 OUT_OF_ORDER_SEQUENCE_NUMBER Never: "The producer's sequence number leaves a gap.";
    46 DUPLICATE_SEQUENCE_NUMBER Never: "The producer's sequence number has been written before.";
    47 INVALID_PRODUCER_EPOCH Never: "The producer's epoch is older than the one known here.";
    48 INVALID_TXN_STATE Never: "The transaction is in a state that does not allow this.";
    49 INVALID_PRODUCER_ID_MAPPING Never: "The transactional id belongs to another producer id.";
    50 INVALID_TRANSACTION_TIMEOUT Never: "The transaction's time-out is longer than the broker allows.";
    51 CONCURRENT_TRANSACTIONS Again: "An earlier operation on this transaction is still going on.";
    52 TRANSACTION_COORDINATOR_FENCED Never: "The transaction marker is from a coordinator that has been replaced.";
    53 TRANSACTIONAL_ID_AUTHORIZATION_FAILED Never: "The caller may not use the transactional id.";
    54 SECURITY_DISABLED Never: "The server has no authorizer.";
    55 OPERATION_NOT_ATTEMPTED Never: "Not done, because something else in the request failed.";
    56 KAFKA_STORAGE_ERROR AfterMetadata: "The log's directory has failed.";
    57 LOG_DIR_NOT_FOUND Never: "The broker has no such log directory.";
    58 SASL_AUTHENTICATION_FAILED Never: "The credentials are wrong.";
    59 UNKNOWN_PRODUCER_ID Never: "Nothing is known any more of the producer id.";
    60 REASSIGNMENT_IN_PROGRESS Never: "The partition is being moved already.";
    61 DELEGATION_TOKEN_AUTH_DISABLED Never: "Delegation tokens are not enabled.";
    62 DELEGATION_TOKEN_NOT_FOUND Never: "There is no such delegation token.";
    63 DELEGATION_TOKEN_OWNER_MISMATCH Never: "The caller is neither the delegation token's owner nor one of its renewers.";
    64 DELEGATION_TOKEN_REQUEST_NOT_ALLOWED Never: "Delegation tokens are not given out on this kind of connection.";
    65 DELEGATION_TOKEN_AUTHORIZATION_FAILED Never: "The caller may not do this with the delegation token.";
    66 DELEGATION_TOKEN_EXPIRED Never: "The delegation token is too old.";
    67 INVALID_PRINCIPAL_TYPE Never: "Principals of this type are not known.";
    68 NON_EMPTY_GROUP Never: "The group still has members.";
    69 GROUP_ID_NOT_FOUND Never: "There is no such group.";
    70 FETCH_SESSION_ID_NOT_FOUND Again: "The fetch session does not exist, or no longer.";
    71 INVALID_FETCH_SESSION_EPOCH Again: "The fetch session is at another epoch than the request says.";
    72 LISTENER_NOT_FOUND AfterMetadata: "The leader has no listener of the name that this connection came in by.";
    73 TOPIC_DELETION_DISABLED Never: "Topics cannot be deleted here.";
    74 FENCED_LEADER_EPOCH AfterMetadata: "The client knows an older leader epoch than the broker.";
    75 UNKNOWN_LEADER_EPOCH Again: "The client knows a newer leader epoch than the broker.";
    76 UNSUPPORTED_COMPRESSION_TYPE Never: "The client's version of the request cannot carry this compression.";
    77 STALE_BROKER_EPOCH Never: "The broker has registered anew since.";
    78 OFFSET_NOT_AVAILABLE Again: "The leader is new and does not know its high watermark yet.";
    79 MEMBER_ID_REQUIRED Never: "The member has to join again under the id that it just got.";
    80 PREFERRED_LEADER_NOT_AVAILABLE AfterMetadata: "The preferred replica cannot become leader.";
    81 GROUP_MAX_SIZE_REACHED Never: "The group takes no more members.";
    82 FENCED_INSTANCE_ID Never: "Another member has taken over the group instance id.";
    83 ELIGIBLE_LEADERS_NOT_AVAILABLE AfterMetadata: "No replica can become leader.";
    84 ELECTION_NOT_NEEDED AfterMetadata: "The replica that should lead does so already.";
    85 NO_REASSIGNMENT_IN_PROGRESS Never: "The partition is not being moved.";
    86 GROUP_SUBSCRIBED_TO_TOPIC Never: "The group is subscribed to the topic, so its offsets stay.";
    87 INVALID_RECORD Never: "A record breaks a rule of its topic, and its batch was refused.";
    88 UNSTABLE_OFFSET_COMMIT Again: "An open transaction holds offsets of the partition.";
    89 THROTTLING_QUOTA_EXCEEDED Again: "The quota is used up for now.";
    90 PRODUCER_FENCED Never: "A newer producer has taken over the transactional id.";
    91 RESOURCE_NOT_FOUND Never: "What the request names does not exist.";
    92 DUPLICATE_RESOURCE Never: "The request names something twice.";
    93 UNACCEPTABLE_CREDENTIAL Never: "The credential does not meet the rules for credentials.";
    94 INCONSISTENT_VOTER_SET Never: "Not both sides are voters of the quorum.";
    95 INVALID_UPDATE_VERSION Never: "The feature cannot be set to this level.";
    96 FEATURE_UPDATE_FAILED Never: "The features could not be updated.";
    97 PRINCIPAL_DESERIALIZATION_FAILURE Never: "The principal of a forwarded request cannot be read.";
    98 SNAPSHOT_NOT_FOUND Never: "There is no such snapshot.";
    99 POSITION_OUT_OF_RANGE Never: "The position lies outside the snapshot.";
    100 UNKNOWN_TOPIC_ID AfterMetadata: "This broker knows no topic with this id.";
    101 DUPLICATE_BROKER_REGISTRATION Never: "A broker that is up has registered under the same id.";
    102 BROKER_ID_NOT_REGISTERED Never: "No broker has registered under this id.";
    103 INCONSISTENT_TOPIC_ID AfterMetadata: "The partition's log belongs to a topic with another id.";
    104 INCONSISTENT_CLUSTER_ID Never: "The request is meant for another cluster.";
    105 TRANSACTIONAL_ID_NOT_FOUND Never: "There is no such transactional id.";
    106 FETCH_SESSION_TOPIC_ID_ERROR Again: "A fetch session goes either by topic names or by topic ids.";
    107 INELIGIBLE_REPLICA Never: "A replica that should join the in-sync set may not.";
    108 NEW_LEADER_ELECTED Never: "The change was made, and another replica leads now.";
    109 OFFSET_MOVED_TO_TIERED_STORAGE Never: "The offset is in remote storage only.";
    110 FENCED_MEMBER_EPOCH Never: "The group has given up the member at this epoch: it must drop its partitions and join anew.";
    111 UNRELEASED_INSTANCE_ID Never: "The member that has the group instance id has not left yet.";
    112 UNSUPPORTED_ASSIGNOR Never: "The server has no assignor of this name.";
    113 STALE_MEMBER_EPOCH Never: "The member's epoch is out of date; it will get the new one with its next heartbeat.";
    114 MISMATCHED_ENDPOINT_TYPE Never: "The request is for the other kind of node: a broker, or a controller.";
    115 UNSUPPORTED_ENDPOINT_TYPE Never: "There is no such kind of node.";
    116 UNKNOWN_CONTROLLER_ID Never: "There is no controller with this id.";
    117 UNKNOWN_SUBSCRIPTION_ID Never: "The client's telemetry subscription is not the current one.";
    118 TELEMETRY_TOO_LARGE Never: "The client's telemetry is too large.";
    119 INVALID_REGISTRATION Never: "The controller does not accept the broker's registration.";
    120 TRANSACTION_ABORTABLE Never: "The transaction has to be aborted; the producer can go on with a new one.";
    121 INVALID_RECORD_STATE Never: "The record is not in a state that allows such an acknowledgement.";
    122 SHARE_SESSION_NOT_FOUND Again: "The share session does not exist, or no longer.";
    123 INVALID_SHARE_SESSION_EPOCH Again: "The share session is at another epoch than the request says.";
    124 FENCED_STATE_EPOCH Never: "The state of the share partition is at another epoch than the request says.";
    125 INVALID_VOTER_KEY Never: "The replica has another id or directory than the voter named.";
    126 DUPLICATE_VOTER Never: "The replica is a voter already.";
    127 VOTER_NOT_FOUND Never: "The replica is not a voter.";
    128 INVALID_REGULAR_EXPRESSION Never: "The pattern that the member subscribes to is not a regular expression.";
    129 REBOOTSTRAP_REQUIRED Never: "The client should forget all brokers and start from its bootstrap list.";
    130 STREAMS_INVALID_TOPOLOGY Never: "The streams topology is not valid.";
    131 STREAMS_INVALID_TOPOLOGY_EPOCH Never: "The epoch of the streams topology is not valid.";
    132 STREAMS_TOPOLOGY_FENCED Never: "The group has a newer streams topology.";
    133 SHARE_SESSION_LIMIT_REACHED Again: "The broker has as many share sessions as it allows.";
    134 GROUP_DELETION_FAILED Never: "The group was not deleted, for the reason that stands beside.";
    135 STREAMS_TOPOLOGY_DESCRIPTION_UPDATE_FAILED Never: "The description of the topology was not stored, for the reason that stands beside.";
    136 CONTROLLER_ID_NOT_REGISTERED Never: "No controller has registered under this id.";
}
