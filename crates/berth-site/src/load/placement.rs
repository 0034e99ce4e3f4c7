//! Ingress controllers and egress addresses.

use berth_documents::{Diagnostic, Node};
use berth_labels::LabelSelector;
use berth_placement::{IngressController, Ports, Publishing, Toleration};

use super::{Object, network::items};
use crate::{
    fields::{Fields, Report, SelectorField},
    lints,
    model::Spanned,
    placement::{EgressIpDocument, IngressDocument, IngressSpans},
};

/// Fields of an `IngressController` that say nothing about places.
const OTHER_FIELDS: &[&str] = &[
    "clientTLS",
    "closedClientConnectionPolicy",
    "defaultCertificate",
    "httpCompression",
    "httpEmptyRequestsPolicy",
    "httpErrorCodePages",
    "httpHeaders",
    "idleConnectionTerminationPolicy",
    "logging",
    "routeAdmission",
    "tlsSecurityProfile",
    "tuningOptions",
    "unsupportedConfigOverrides",
];

pub(super) fn read_ingress(object: &Object<'_>, report: &mut Report<'_>) -> IngressDocument {
    let mut fields = Fields::open(object.body, "IngressController spec", report);
    let span_of = |key: &str| Some(object.body?.get(key)?.span);
    let mut spans = IngressSpans {
        domain: span_of("domain"),
        replicas: span_of("replicas"),
        ports: span_of("endpointPublishingStrategy"),
        routes: span_of("routeSelector").or_else(|| span_of("namespaceSelector")),
        ..IngressSpans::default()
    };
    let mut placement = fields.open_field("nodePlacement", report);
    let node_selector = match placement.selector("nodeSelector", report) {
        SelectorField::Read(selector) => {
            spans.selector = Some(selector.span);
            Some(selector.value)
        }
        SelectorField::Missing | SelectorField::Broken => None,
    };
    let tolerations = items(&mut placement, "tolerations", report)
        .iter()
        .map(|item| toleration(item, report))
        .collect();
    placement.finish(report);
    let controller = IngressController {
        name: object.name.value.to_string(),
        domain: fields.string("domain", report).map(|text| text.value),
        replicas: fields.int("replicas", report).and_then(|count| {
            let replicas = u32::try_from(count).ok();
            if replicas.is_none() {
                let message = format!("`replicas` cannot be {count}");
                report.push(Diagnostic::new(&lints::INVALID_VALUE, spans.replicas, message));
            }
            replicas
        }),
        node_selector,
        tolerations,
        publishing: publishing(&mut fields, report),
        route_selector: valid_selector(&mut fields, "routeSelector", report).map(|found| found.value),
        namespace_selector: valid_selector(&mut fields, "namespaceSelector", report).map(|found| found.value),
    };
    fields.allow(OTHER_FIELDS);
    fields.finish(report);
    let mut document = object.document.root.to_json();
    if let Some(map) = document.as_object_mut() {
        map.remove("status");
    }
    IngressDocument {
        name: object.name.clone(),
        controller,
        document,
        spans,
    }
}

/// A selector with operators and values that Kubernetes accepts; what is wrong with it is reported.
fn valid_selector(
    fields: &mut Fields<'_>,
    key: &'static str,
    report: &mut Report<'_>,
) -> Option<Spanned<LabelSelector>> {
    let selector = fields.selector(key, report).ok()?;
    for error in selector.value.errors() {
        let message = format!("`{key}` is invalid: {error}");
        report.push(Diagnostic::new(&lints::INVALID_SELECTOR, selector.span, message));
    }
    Some(selector)
}

fn toleration(item: &Node, report: &mut Report<'_>) -> Toleration {
    let mut fields = Fields::open(Some(item), "toleration", report);
    let toleration = Toleration {
        key: fields.string("key", report).map(|text| text.value),
        exists: fields
            .choice("operator", &[("Exists", true), ("Equal", false)], report)
            .unwrap_or_default(),
        value: fields
            .string("value", report)
            .map(|text| text.value)
            .unwrap_or_default(),
        effect: fields.string("effect", report).map(|text| text.value),
    };
    fields.allow(&["tolerationSeconds"]);
    fields.finish(report);
    toleration
}

fn publishing(fields: &mut Fields<'_>, report: &mut Report<'_>) -> Option<Publishing> {
    const TYPES: &[(&str, bool)] = &[
        ("HostNetwork", true),
        ("LoadBalancerService", false),
        ("NodePortService", false),
        ("Private", false),
    ];
    let mut strategy = fields.open_field("endpointPublishingStrategy", report);
    let host_network = strategy.choice("type", TYPES, report);
    let mut host = strategy.open_field("hostNetwork", report);
    let mut port = |key: &'static str, default: u16| {
        let span = host.get(key).map(|node| node.span);
        let written = host.int(key, report);
        let port = written.and_then(|port| u16::try_from(port).ok());
        if let (Some(written), None) = (written, port) {
            let message = format!("`{key}` is {written} and must be between 0 and 65535");
            report.push(Diagnostic::new(&lints::INVALID_VALUE, span, message));
        }
        // The API leaves 0 to mean the default.
        port.filter(|port| *port != 0).unwrap_or(default)
    };
    let standard = Ports::default();
    let ports = Ports {
        http: port("httpPort", standard.http),
        https: port("httpsPort", standard.https),
        stats: port("statsPort", standard.stats),
    };
    host.allow(&["protocol"]);
    host.finish(report);
    strategy.allow(&["loadBalancer", "nodePort", "private"]);
    strategy.finish(report);
    host_network.map(|host_network| {
        if host_network {
            Publishing::HostNetwork(ports)
        } else {
            Publishing::Other
        }
    })
}

pub(super) fn read_egress(object: &Object<'_>, report: &mut Report<'_>) -> EgressIpDocument {
    let mut fields = Fields::open(object.body, "EgressIP spec", report);
    let addresses = fields.strings("egressIPs", report);
    let selector = valid_selector(&mut fields, "namespaceSelector", report);
    // Which pods are meant does not change where an address can be.
    let _ = valid_selector(&mut fields, "podSelector", report);
    fields.finish(report);
    for key in ["egressIPs", "namespaceSelector"] {
        if object.body.and_then(|body| body.get(key)).is_none_or(Node::is_null) {
            let message = format!("EgressIP `{}` has no `{key}`", object.name.value);
            report.push(Diagnostic::new(&lints::MISSING_FIELD, object.name.span, message));
        }
    }
    let text = |item: &Node, key: &str| item.get(key).and_then(Node::as_str).map(str::to_owned);
    let status = object.document.root.at(&["status", "items"]).and_then(Node::as_seq);
    EgressIpDocument {
        name: object.name.clone(),
        all_namespaces: selector.is_some_and(|selector| selector.value.is_empty()),
        status: status
            .into_iter()
            .flatten()
            .filter_map(|item| {
                let address = Spanned::new(text(item, "egressIP")?, item.span);
                Some((text(item, "node")?, address))
            })
            .collect(),
        addresses,
    }
}

/// How long OVN-Kubernetes waits for a node before it takes its egress addresses away, in seconds.
pub(super) fn read_egress_timeout(object: &Object<'_>) -> Option<u32> {
    let path = [
        "defaultNetwork",
        "ovnKubernetesConfig",
        "egressIPConfig",
        "reachabilityTotalTimeoutSeconds",
    ];
    object
        .body?
        .at(&path)?
        .as_u64()
        .and_then(|seconds| u32::try_from(seconds).ok())
}
