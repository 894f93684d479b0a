//! [`NoPeers`]: the network of a quorum of one. Nothing is ever sent; whatever were sent would not
//! arrive.

use std::future::Future;

use klamm_primitives::BrokerId;
use openraft::error::{Fatal, RPCError, RaftError, ReplicationClosed, StreamingError, Unreachable};
use openraft::network::{RPCOption, RaftNetwork, RaftNetworkFactory};
use openraft::raft::{
    AppendEntriesRequest, AppendEntriesResponse, SnapshotResponse, VoteRequest, VoteResponse,
};
use openraft::{BasicNode, Snapshot};

use super::{Types, Vote};

#[derive(Debug, Clone, Copy)]
pub(super) struct NoPeers;

type RpcError = RPCError<BrokerId, BasicNode, RaftError<BrokerId>>;

impl RaftNetworkFactory<Types> for NoPeers {
    type Network = Self;

    async fn new_client(&mut self, _target: BrokerId, _node: &BasicNode) -> Self {
        *self
    }
}

impl RaftNetwork<Types> for NoPeers {
    async fn append_entries(
        &mut self,
        _request: AppendEntriesRequest<Types>,
        _option: RPCOption,
    ) -> Result<AppendEntriesResponse<BrokerId>, RpcError> {
        Err(RPCError::Unreachable(unreachable()))
    }

    async fn vote(
        &mut self,
        _request: VoteRequest<BrokerId>,
        _option: RPCOption,
    ) -> Result<VoteResponse<BrokerId>, RpcError> {
        Err(RPCError::Unreachable(unreachable()))
    }

    async fn full_snapshot(
        &mut self,
        _vote: Vote,
        _snapshot: Snapshot<Types>,
        _cancel: impl Future<Output = ReplicationClosed> + Send + 'static,
        _option: RPCOption,
    ) -> Result<SnapshotResponse<BrokerId>, StreamingError<Types, Fatal<BrokerId>>> {
        Err(StreamingError::Unreachable(unreachable()))
    }
}

fn unreachable() -> Unreachable {
    let source = std::io::Error::other("a quorum of one has nobody to send to");
    Unreachable::new(&source)
}
