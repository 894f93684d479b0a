//! The list. Requests and responses come out of [`ApiKey`](crate::ApiKey)'s table, records of the
//! coordinators out of the enums over their keys, metadata records out of the enums of their logs.

use super::{Entry, Kind, data, entry};
use crate::coordinator::{ConsumerOffsetsKey, ShareGroupStateKey, TransactionStateKey};
use crate::data::aborted_txn::AbortedTxn;
use crate::data::consumer_protocol::{ConsumerProtocolAssignment, ConsumerProtocolSubscription};
use crate::data::control_record_type_schema::ControlRecordTypeSchema;
use crate::data::default_principal_data::DefaultPrincipalData;
use crate::data::end_txn_marker::EndTxnMarker;
use crate::data::kraft_version_record::KRaftVersionRecord;
use crate::data::leader_change_message::LeaderChangeMessage;
use crate::data::producer_snapshot::ProducerSnapshot;
use crate::data::quorum_state_data::QuorumStateData;
use crate::data::snapshot_records::{SnapshotFooterRecord, SnapshotHeaderRecord};
use crate::data::voters_record::VotersRecord;
use crate::header::{RequestHeader, ResponseHeader};
use crate::metadata::{ClusterMetadataRecord, RemoteLogMetadataRecord};

/// Every message of this crate.
pub fn catalogue() -> Vec<Entry> {
    let mut entries = vec![
        entry::<RequestHeader>(Kind::Header, None),
        entry::<ResponseHeader>(Kind::Header, None),
    ];
    entries.extend(crate::api_key::messages());
    data::<AbortedTxn>(&mut entries);
    data::<ConsumerProtocolAssignment>(&mut entries);
    data::<ConsumerProtocolSubscription>(&mut entries);
    data::<ControlRecordTypeSchema>(&mut entries);
    data::<DefaultPrincipalData>(&mut entries);
    data::<EndTxnMarker>(&mut entries);
    data::<KRaftVersionRecord>(&mut entries);
    data::<LeaderChangeMessage>(&mut entries);
    data::<ProducerSnapshot>(&mut entries);
    data::<QuorumStateData>(&mut entries);
    data::<SnapshotFooterRecord>(&mut entries);
    data::<SnapshotHeaderRecord>(&mut entries);
    data::<VotersRecord>(&mut entries);
    ClusterMetadataRecord::add_to_catalogue(&mut entries);
    RemoteLogMetadataRecord::add_to_catalogue(&mut entries);
    entries.extend(ConsumerOffsetsKey::messages());
    entries.extend(TransactionStateKey::messages());
    entries.extend(ShareGroupStateKey::messages());
    entries
}
