//! ApiVersions (key 18).
//!
//! v3 names the client's software and tells features. A version that is not served is answered by
//! the network layer. Differs from Apache Kafka: no feature is told, as none is agreed on.

use std::sync::Arc;

use klamm_io::{Clock, Disk};
use klamm_network::ClientSoftware;
use klamm_wire::ErrorCode;
use klamm_wire::messages::api_versions::{ApiVersionsRequest, ApiVersionsResponse};

use crate::call::Call;
use crate::node::Node;

pub(super) fn handle<D: Disk, C: Clock>(node: &Arc<Node<D, C>>, call: Call<D::File>) {
    let version = call.version();
    let Some((call, request)) = call.decode::<ApiVersionsRequest>() else {
        return;
    };
    let error_code = check(
        &request,
        version,
        node.image().cluster_id(),
        node.id().get(),
    );
    if error_code.is_none() && version >= 3 {
        // Copied, or they would hold on to the whole frame for as long as the connection lives.
        call.request.context.set_client_software(ClientSoftware {
            name: (&*request.client_software_name).into(),
            version: (&*request.client_software_version).into(),
        });
    }
    let api_keys = match error_code {
        ErrorCode::NONE => call.request.context.offer.api_versions(),
        _ => Vec::new(),
    };
    call.answer(&ApiVersionsResponse {
        error_code,
        api_keys,
        ..ApiVersionsResponse::default()
    });
}

/// Whether the client may go on, and means this node.
fn check(request: &ApiVersionsRequest, version: i16, cluster_id: &str, node_id: i32) -> ErrorCode {
    if !request.is_valid(version) {
        return ErrorCode::INVALID_REQUEST;
    }
    let other_cluster = request
        .cluster_id
        .as_deref()
        .is_some_and(|it| it != cluster_id);
    let other_node = request.node_id.get() >= 0 && request.node_id.get() != node_id;
    if other_cluster || other_node {
        return ErrorCode::REBOOTSTRAP_REQUIRED;
    }
    ErrorCode::NONE
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(name: &'static str) -> ApiVersionsRequest {
        ApiVersionsRequest {
            client_software_name: name.into(),
            client_software_version: "1.0".into(),
            ..ApiVersionsRequest::default()
        }
    }

    #[test]
    fn ap_044_software_is_named_in_letters_digits_dots_and_hyphens() {
        for name in ["librdkafka", "a-b.c", "7"] {
            assert_eq!(check(&request(name), 3, "c", 1), ErrorCode::NONE, "{name}");
        }
        for name in ["", "-a", "a.", "a b", "ü"] {
            let code = check(&request(name), 3, "c", 1);
            assert_eq!(code, ErrorCode::INVALID_REQUEST, "{name}");
            assert_eq!(check(&request(name), 2, "c", 1), ErrorCode::NONE, "{name}");
        }
    }

    #[test]
    fn a_client_that_means_another_node_is_to_start_over() {
        let meant = |cluster: &'static str, node: i32| ApiVersionsRequest {
            cluster_id: Some(cluster.into()),
            node_id: node.into(),
            ..request("a")
        };
        assert_eq!(check(&meant("c", 1), 5, "c", 1), ErrorCode::NONE);
        for other in [meant("d", 1), meant("c", 2)] {
            assert_eq!(check(&other, 5, "c", 1), ErrorCode::REBOOTSTRAP_REQUIRED);
        }
    }
}
