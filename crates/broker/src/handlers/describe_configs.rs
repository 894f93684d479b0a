//! `DescribeConfigs` (key 32), for topics and for this broker.
//!
//! v1 tells sources and synonyms, v3 types and documentation. A broker's settings are told by that
//! broker alone. Differs from Apache Kafka: settings of other resources there are none of.

use std::collections::HashSet;
use std::sync::Arc;

use bytestring::ByteString;
use klamm_controller::{ConfigResource, MetadataImage};
use klamm_io::{Clock, Disk};
use klamm_wire::ErrorCode;
use klamm_wire::messages::describe_configs::{
    DescribeConfigsRequest, DescribeConfigsResource, DescribeConfigsResourceResult,
    DescribeConfigsResponse, DescribeConfigsResult, DescribeConfigsSynonym,
};

use crate::call::Call;
use crate::node::Node;
use crate::settings::{Change, catalogue};
use crate::topic_configs::{self, Source, type_number};

pub(super) fn handle<D: Disk, C: Clock>(node: &Arc<Node<D, C>>, call: Call<D::File>) {
    let version = call.version();
    let Some((call, request)) = call.decode::<DescribeConfigsRequest>() else {
        return;
    };
    let image = node.image();
    let wanted = Wanted {
        synonyms: request.include_synonyms,
        documentation: version >= 3 && request.include_documentation,
    };
    // Each once, however often it is asked for: the answer must not grow beyond the cluster.
    let mut told = HashSet::new();
    let resources = request.resources.iter();
    let news = resources.filter(|it| told.insert((it.resource_type, &*it.resource_name)));
    let results = news.map(|resource| {
        let described = describe(node, &image, resource, wanted);
        let (error_code, error_message, configs) = match described {
            Ok(configs) => (ErrorCode::NONE, None, configs),
            Err((code, message)) => (code, Some(ByteString::from(message)), Vec::new()),
        };
        DescribeConfigsResult {
            error_code,
            error_message,
            resource_type: resource.resource_type,
            resource_name: resource.resource_name.clone(),
            configs,
            ..DescribeConfigsResult::default()
        }
    });
    call.answer(&DescribeConfigsResponse {
        results: results.collect(),
        ..DescribeConfigsResponse::default()
    });
}

/// What the client wants to know beside names and values.
#[derive(Debug, Clone, Copy)]
struct Wanted {
    synonyms: bool,
    documentation: bool,
}

type Described = Result<Vec<DescribeConfigsResourceResult>, (ErrorCode, String)>;

fn describe<D: Disk, C: Clock>(
    node: &Node<D, C>,
    image: &MetadataImage,
    asked: &DescribeConfigsResource,
    wanted: Wanted,
) -> Described {
    let resource = ConfigResource::from_parts(asked.resource_type, &asked.resource_name);
    let mut configs = match &resource {
        Some(ConfigResource::Topic(name)) => {
            if image.topic(name).is_none() {
                let message = format!("there is no topic {name}");
                return Err((ErrorCode::UNKNOWN_TOPIC_OR_PARTITION, message));
            }
            let own = resource.as_ref().and_then(|it| image.settings(it));
            of_topic(node, own.map(AsRef::as_ref), wanted)
        }
        Some(ConfigResource::Broker(id)) if *id == node.id() => of_broker(node, wanted),
        Some(ConfigResource::Broker(id)) => {
            let message = format!("this is broker {}, not {id}", node.id());
            return Err((ErrorCode::INVALID_REQUEST, message));
        }
        // Nothing can be set for all brokers yet, and hence nothing is.
        Some(ConfigResource::AllBrokers) => Vec::new(),
        Some(ConfigResource::ClientMetrics(_) | ConfigResource::Group(_)) | None => {
            let message = format!("resources of type {} have no settings", asked.resource_type);
            return Err((ErrorCode::INVALID_REQUEST, message));
        }
    };
    if let Some(names) = &asked.configuration_keys {
        configs.retain(|it| names.contains(&it.name));
    }
    Ok(configs)
}

fn of_topic<D: Disk, C: Clock>(
    node: &Node<D, C>,
    own: Option<&klamm_controller::Settings>,
    wanted: Wanted,
) -> Vec<DescribeConfigsResourceResult> {
    let effective = topic_configs::effective(&node.settings, own);
    let described = effective.map(|it| {
        let synonyms = it
            .synonyms
            .iter()
            .map(|(name, value, source)| synonym(name, value, *source));
        DescribeConfigsResourceResult {
            name: it.name.into(),
            value: Some(it.value.into()),
            config_source: it.source.number(),
            synonyms: if wanted.synonyms {
                synonyms.collect()
            } else {
                Vec::new()
            },
            config_type: type_number(it.kind),
            documentation: wanted.documentation.then(|| it.meaning.into()),
            ..DescribeConfigsResourceResult::default()
        }
    });
    described.collect()
}

fn of_broker<D: Disk, C: Clock>(
    node: &Node<D, C>,
    wanted: Wanted,
) -> Vec<DescribeConfigsResourceResult> {
    let values = node.settings.values();
    let described = values.iter().filter_map(|(name, entry)| {
        let setting = catalogue::find(name).filter(|it| it.change != Change::Entity)?;
        let source = Source::of(&entry.origin);
        let mut synonyms = Vec::new();
        if wanted.synonyms {
            if let Some(value) = entry.text.as_deref().filter(|_| source == Source::Broker) {
                synonyms.push(synonym(name, value, source));
            }
            if let Some(default) = setting.default {
                synonyms.push(synonym(name, default, Source::Default));
            }
        }
        Some(DescribeConfigsResourceResult {
            name: name.into(),
            value: entry.text.as_deref().map(Into::into),
            // Nothing of a broker can be changed while it runs.
            read_only: true,
            config_source: source.number(),
            synonyms,
            config_type: type_number(setting.kind),
            documentation: wanted.documentation.then(|| setting.meaning.into()),
            ..DescribeConfigsResourceResult::default()
        })
    });
    described.collect()
}

fn synonym(name: &str, value: &str, source: Source) -> DescribeConfigsSynonym {
    DescribeConfigsSynonym {
        name: name.into(),
        value: Some(value.into()),
        source: source.number(),
        ..DescribeConfigsSynonym::default()
    }
}
