//! [`ApiKey`]: which request it is, and what is known of each.

use crate::codec::{Listeners, Message, Request, Versions};

/// Makes the enum out of a table: number, name, and the request's type, or `gone` for a key whose
/// message is no more. What the type says of itself is not repeated. In brackets stand versions
/// that the newest release of Apache Kafka (4.3) lacks: a server does not offer them yet.
macro_rules! api_keys {
    ($($number:literal $name:ident: $($request:ident)::+ $(($($released:tt)+))?;)*) => {
        /// The number in front of every request.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(i16)]
        pub enum ApiKey {
            $(
                #[doc = concat!("`", stringify!($name), "`, key ", stringify!($number), ".")]
                $name = $number,
            )*
        }

        impl ApiKey {
            /// All keys, by rising number.
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            /// The key with this number, if there is one.
            pub const fn from_number(number: i16) -> Option<Self> {
                match number {
                    $($number => Some(Self::$name),)*
                    _ => None,
                }
            }

            /// The name that the protocol's documents use.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$name => stringify!($name),)*
                }
            }

            /// What the request's type says; `None` if the message is gone.
            const fn facts(self) -> Option<Facts> {
                match self {
                    $(Self::$name => facts!($($request)::+ $(, $($released)+)?),)*
                }
            }
        }

        /// All requests and responses.
        #[cfg(feature = "testing")]
        pub(crate) fn messages() -> Vec<crate::testing::Entry> {
            let mut messages = Vec::new();
            $(pair!(messages, $($request)::+);)*
            messages
        }
    };
}

macro_rules! facts {
    (gone) => {
        None
    };
    ($($request:ident)::+) => {
        Some(Facts::of::<crate::messages::$($request)::+>(Released::All))
    };
    ($($request:ident)::+, not released) => {
        Some(Facts::of::<crate::messages::$($request)::+>(Released::None))
    };
    ($($request:ident)::+, released up to $max:literal) => {
        Some(Facts::of::<crate::messages::$($request)::+>(Released::UpTo($max)))
    };
}

#[cfg(feature = "testing")]
macro_rules! pair {
    ($messages:ident, gone) => {};
    ($messages:ident, $($request:ident)::+) => {
        crate::testing::pair::<crate::messages::$($request)::+>(&mut $messages);
    };
}

api_keys! {
    0 Produce: produce::ProduceRequest;
    1 Fetch: fetch::FetchRequest;
    2 ListOffsets: list_offsets::ListOffsetsRequest;
    3 Metadata: metadata::MetadataRequest;
    4 LeaderAndIsr: gone;
    5 StopReplica: gone;
    6 UpdateMetadata: gone;
    7 ControlledShutdown: gone;
    8 OffsetCommit: offset_commit::OffsetCommitRequest;
    9 OffsetFetch: offset_fetch::OffsetFetchRequest;
    10 FindCoordinator: find_coordinator::FindCoordinatorRequest;
    11 JoinGroup: join_group::JoinGroupRequest;
    12 Heartbeat: heartbeat::HeartbeatRequest;
    13 LeaveGroup: leave_group::LeaveGroupRequest;
    14 SyncGroup: sync_group::SyncGroupRequest;
    15 DescribeGroups: describe_groups::DescribeGroupsRequest;
    16 ListGroups: list_groups::ListGroupsRequest;
    17 SaslHandshake: sasl_handshake::SaslHandshakeRequest;
    18 ApiVersions: api_versions::ApiVersionsRequest (released up to 4);
    19 CreateTopics: create_topics::CreateTopicsRequest;
    20 DeleteTopics: delete_topics::DeleteTopicsRequest;
    21 DeleteRecords: delete_records::DeleteRecordsRequest;
    22 InitProducerId: init_producer_id::InitProducerIdRequest;
    23 OffsetForLeaderEpoch: offset_for_leader_epoch::OffsetForLeaderEpochRequest;
    24 AddPartitionsToTxn: add_partitions_to_txn::AddPartitionsToTxnRequest;
    25 AddOffsetsToTxn: add_offsets_to_txn::AddOffsetsToTxnRequest;
    26 EndTxn: end_txn::EndTxnRequest;
    27 WriteTxnMarkers: write_txn_markers::WriteTxnMarkersRequest;
    28 TxnOffsetCommit: txn_offset_commit::TxnOffsetCommitRequest (released up to 5);
    29 DescribeAcls: describe_acls::DescribeAclsRequest;
    30 CreateAcls: create_acls::CreateAclsRequest;
    31 DeleteAcls: delete_acls::DeleteAclsRequest;
    32 DescribeConfigs: describe_configs::DescribeConfigsRequest;
    33 AlterConfigs: alter_configs::AlterConfigsRequest;
    34 AlterReplicaLogDirs: alter_replica_log_dirs::AlterReplicaLogDirsRequest;
    35 DescribeLogDirs: describe_log_dirs::DescribeLogDirsRequest;
    36 SaslAuthenticate: sasl_authenticate::SaslAuthenticateRequest;
    37 CreatePartitions: create_partitions::CreatePartitionsRequest;
    38 CreateDelegationToken: create_delegation_token::CreateDelegationTokenRequest;
    39 RenewDelegationToken: renew_delegation_token::RenewDelegationTokenRequest;
    40 ExpireDelegationToken: expire_delegation_token::ExpireDelegationTokenRequest;
    41 DescribeDelegationToken: describe_delegation_token::DescribeDelegationTokenRequest;
    42 DeleteGroups: delete_groups::DeleteGroupsRequest (released up to 2);
    43 ElectLeaders: elect_leaders::ElectLeadersRequest;
    44 IncrementalAlterConfigs: incremental_alter_configs::IncrementalAlterConfigsRequest;
    45 AlterPartitionReassignments: alter_partition_reassignments::AlterPartitionReassignmentsRequest;
    46 ListPartitionReassignments: list_partition_reassignments::ListPartitionReassignmentsRequest;
    47 OffsetDelete: offset_delete::OffsetDeleteRequest;
    48 DescribeClientQuotas: describe_client_quotas::DescribeClientQuotasRequest;
    49 AlterClientQuotas: alter_client_quotas::AlterClientQuotasRequest;
    50 DescribeUserScramCredentials: describe_user_scram_credentials::DescribeUserScramCredentialsRequest;
    51 AlterUserScramCredentials: alter_user_scram_credentials::AlterUserScramCredentialsRequest;
    52 Vote: vote::VoteRequest;
    53 BeginQuorumEpoch: begin_quorum_epoch::BeginQuorumEpochRequest;
    54 EndQuorumEpoch: end_quorum_epoch::EndQuorumEpochRequest;
    55 DescribeQuorum: describe_quorum::DescribeQuorumRequest;
    56 AlterPartition: alter_partition::AlterPartitionRequest;
    57 UpdateFeatures: update_features::UpdateFeaturesRequest;
    58 Envelope: envelope::EnvelopeRequest;
    59 FetchSnapshot: fetch_snapshot::FetchSnapshotRequest;
    60 DescribeCluster: describe_cluster::DescribeClusterRequest;
    61 DescribeProducers: describe_producers::DescribeProducersRequest;
    62 BrokerRegistration: broker_registration::BrokerRegistrationRequest;
    63 BrokerHeartbeat: broker_heartbeat::BrokerHeartbeatRequest;
    64 UnregisterBroker: unregister_broker::UnregisterBrokerRequest;
    65 DescribeTransactions: describe_transactions::DescribeTransactionsRequest;
    66 ListTransactions: list_transactions::ListTransactionsRequest;
    67 AllocateProducerIds: allocate_producer_ids::AllocateProducerIdsRequest;
    68 ConsumerGroupHeartbeat: consumer_group_heartbeat::ConsumerGroupHeartbeatRequest;
    69 ConsumerGroupDescribe: consumer_group_describe::ConsumerGroupDescribeRequest;
    70 ControllerRegistration: controller_registration::ControllerRegistrationRequest;
    71 GetTelemetrySubscriptions: get_telemetry_subscriptions::GetTelemetrySubscriptionsRequest;
    72 PushTelemetry: push_telemetry::PushTelemetryRequest;
    73 AssignReplicasToDirs: assign_replicas_to_dirs::AssignReplicasToDirsRequest;
    74 ListConfigResources: list_config_resources::ListConfigResourcesRequest;
    75 DescribeTopicPartitions: describe_topic_partitions::DescribeTopicPartitionsRequest;
    76 ShareGroupHeartbeat: share_group_heartbeat::ShareGroupHeartbeatRequest;
    77 ShareGroupDescribe: share_group_describe::ShareGroupDescribeRequest;
    78 ShareFetch: share_fetch::ShareFetchRequest;
    79 ShareAcknowledge: share_acknowledge::ShareAcknowledgeRequest;
    80 AddRaftVoter: add_raft_voter::AddRaftVoterRequest;
    81 RemoveRaftVoter: remove_raft_voter::RemoveRaftVoterRequest;
    82 UpdateRaftVoter: update_raft_voter::UpdateRaftVoterRequest;
    83 InitializeShareGroupState: initialize_share_group_state::InitializeShareGroupStateRequest;
    84 ReadShareGroupState: read_share_group_state::ReadShareGroupStateRequest;
    85 WriteShareGroupState: write_share_group_state::WriteShareGroupStateRequest;
    86 DeleteShareGroupState: delete_share_group_state::DeleteShareGroupStateRequest;
    87 ReadShareGroupStateSummary: read_share_group_state_summary::ReadShareGroupStateSummaryRequest;
    88 StreamsGroupHeartbeat: streams_group_heartbeat::StreamsGroupHeartbeatRequest (released up to 0);
    89 StreamsGroupDescribe: streams_group_describe::StreamsGroupDescribeRequest (released up to 0);
    90 DescribeShareGroupOffsets: describe_share_group_offsets::DescribeShareGroupOffsetsRequest;
    91 AlterShareGroupOffsets: alter_share_group_offsets::AlterShareGroupOffsetsRequest;
    92 DeleteShareGroupOffsets: delete_share_group_offsets::DeleteShareGroupOffsetsRequest;
    93 StreamsGroupTopologyDescriptionUpdate: streams_group_topology_description_update::StreamsGroupTopologyDescriptionUpdateRequest (not released);
    94 UnregisterController: unregister_controller::UnregisterControllerRequest (not released);
}

/// A kind of listener.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Listener {
    /// One of a broker, for clients and other brokers.
    Broker,
    /// One of a controller.
    Controller,
}

/// Which versions the newest release has.
#[derive(Debug, Clone, Copy)]
enum Released {
    All,
    UpTo(i16),
    None,
}

/// What a request's and its response's types say.
struct Facts {
    versions: Versions,
    released: Released,
    latest_unstable: bool,
    listeners: Listeners,
    request_flexible_since: Option<i16>,
    response_flexible_since: Option<i16>,
}

impl Facts {
    const fn of<R: Request>(released: Released) -> Self {
        Self {
            versions: R::VERSIONS,
            released,
            latest_unstable: R::LATEST_UNSTABLE,
            listeners: R::LISTENERS,
            request_flexible_since: R::FLEXIBLE_SINCE,
            response_flexible_since: <R::Response as Message>::FLEXIBLE_SINCE,
        }
    }
}

impl ApiKey {
    /// The number on the wire.
    pub const fn number(self) -> i16 {
        self as i16
    }

    /// The versions that this crate reads and writes; `None` if the message is gone and the key
    /// only keeps its number.
    pub const fn versions(self) -> Option<Versions> {
        match self.facts() {
            Some(facts) => Some(facts.versions),
            None => None,
        }
    }

    /// The versions that a server takes: those that have been released, without a highest one
    /// that may still change unless `unstable` (`unstable.api.versions.enable`). `None` if none
    /// is left.
    pub const fn served(self, unstable: bool) -> Option<Versions> {
        let Some(facts) = self.facts() else {
            return None;
        };
        let Versions { min, mut max } = facts.versions;
        if facts.latest_unstable && !unstable {
            max -= 1;
        }
        match facts.released {
            Released::None => return None,
            Released::UpTo(released) if released < max => max = released,
            Released::UpTo(_) | Released::All => {}
        }
        if min <= max {
            Some(Versions { min, max })
        } else {
            None
        }
    }

    /// The versions that a server lists when asked: those that it serves, but for Produce, which
    /// brokers list from version 0 although nothing below 3 is served. Some versions of
    /// librdkafka would otherwise not compress (KAFKA-18659).
    pub const fn advertised(self, unstable: bool) -> Option<Versions> {
        match (self, self.served(unstable)) {
            (Self::Produce, Some(Versions { max, .. })) => Some(Versions { min: 0, max }),
            (_, served) => served,
        }
    }

    /// Whether a listener of this kind takes the request.
    pub const fn is_for(self, listener: Listener) -> bool {
        match (self.facts(), listener) {
            (Some(facts), Listener::Broker) => facts.listeners.broker,
            (Some(facts), Listener::Controller) => facts.listeners.controller,
            (None, _) => false,
        }
    }

    /// The version of the header in front of a request of this version.
    ///
    /// It can be asked for versions that do not exist, so that the header of a request that must
    /// be refused can still be read. `ControlledShutdown` version 0, long gone, was the only
    /// request without a client id (header version 0), which this crate does not read.
    pub const fn request_header_version(self, version: i16) -> i16 {
        match self.facts() {
            Some(facts) if is_flexible(facts.request_flexible_since, version) => 2,
            _ => 1,
        }
    }

    /// The version of the header in front of a response of this version. That of `ApiVersions` is
    /// 0 always, as the client does not know yet what the server speaks.
    pub const fn response_header_version(self, version: i16) -> i16 {
        match (self, self.facts()) {
            (Self::ApiVersions, _) => 0,
            (_, Some(facts)) if is_flexible(facts.response_flexible_since, version) => 1,
            _ => 0,
        }
    }

    /// The key that an attribute names; an unknown one does not compile.
    pub(crate) const fn known(number: i16) -> Self {
        match Self::from_number(number) {
            Some(key) => key,
            None => panic!("no API has this key"),
        }
    }
}

const fn is_flexible(since: Option<i16>, version: i16) -> bool {
    match since {
        Some(first) => version >= first,
        None => false,
    }
}

impl std::fmt::Display for ApiKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}
