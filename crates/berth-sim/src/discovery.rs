//! What resources there are, told to clients in the two ways that they ask.

use serde_json::{Value, json};

use crate::resources::{Registry, Resource, Version, api_version};

/// The verbs of every resource.
const VERBS: [&str; 8] = [
    "create",
    "delete",
    "deletecollection",
    "get",
    "list",
    "patch",
    "update",
    "watch",
];

/// The reviews, which can only be created.
pub(crate) const REVIEWS: [(&str, &str, &str, bool); 5] = [
    ("authentication.k8s.io", "tokenreviews", "TokenReview", false),
    (
        "authentication.k8s.io",
        "selfsubjectreviews",
        "SelfSubjectReview",
        false,
    ),
    (
        "authorization.k8s.io",
        "subjectaccessreviews",
        "SubjectAccessReview",
        false,
    ),
    (
        "authorization.k8s.io",
        "selfsubjectaccessreviews",
        "SelfSubjectAccessReview",
        false,
    ),
    (
        "authorization.k8s.io",
        "localsubjectaccessreviews",
        "LocalSubjectAccessReview",
        true,
    ),
];

/// The version that clients are told, which decides what they try.
pub(crate) fn version() -> Value {
    json!({
        "major": "1",
        "minor": "36",
        "gitVersion": concat!("v1.36.4+berth-", env!("CARGO_PKG_VERSION")),
        "gitCommit": "0000000000000000000000000000000000000000",
        "gitTreeState": "clean",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "none",
        "compiler": "rustc",
        "platform": "embedded",
    })
}

/// `/api`.
pub(crate) fn core_versions(address: &str) -> Value {
    json!({
        "kind": "APIVersions",
        "versions": ["v1"],
        "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": address}],
    })
}

fn all_groups(registry: &Registry) -> Vec<(String, Vec<String>)> {
    let mut groups: Vec<(String, Vec<String>)> = registry
        .groups()
        .into_iter()
        .map(|(group, versions)| {
            (
                group.to_owned(),
                versions.into_iter().map(str::to_owned).collect::<Vec<_>>(),
            )
        })
        .collect();
    for (group, ..) in REVIEWS {
        if !groups.iter().any(|(known, _)| known == group) {
            groups.push((group.to_owned(), vec!["v1".to_owned()]));
        }
    }
    groups
}

fn group(name: &str, versions: &[String]) -> Value {
    let form = |version: &String| json!({"groupVersion": api_version(name, version), "version": version});
    json!({
        "name": name,
        "versions": versions.iter().map(form).collect::<Vec<_>>(),
        "preferredVersion": versions.first().map(form),
    })
}

/// `/apis`.
pub(crate) fn group_list(registry: &Registry) -> Value {
    let groups: Vec<Value> = all_groups(registry)
        .iter()
        .filter(|(name, _)| !name.is_empty())
        .map(|(name, versions)| group(name, versions))
        .collect();
    json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups})
}

/// `/apis/GROUP`.
pub(crate) fn one_group(registry: &Registry, name: &str) -> Option<Value> {
    let groups = all_groups(registry);
    let (name, versions) = groups.iter().find(|(known, _)| known == name)?;
    let mut answer = group(name, versions);
    answer["kind"] = json!("APIGroup");
    answer["apiVersion"] = json!("v1");
    Some(answer)
}

fn in_version<'a>(
    registry: &'a Registry,
    group: &'a str,
    version: &'a str,
) -> impl Iterator<Item = (&'a Resource, &'a Version)> {
    registry
        .iter()
        .filter(move |resource| resource.group == group)
        .filter_map(move |resource| Some((&**resource, resource.version(version)?)))
}

/// `/api/v1` and `/apis/GROUP/VERSION`.
pub(crate) fn resource_list(registry: &Registry, group: &str, version: &str) -> Option<Value> {
    let mut resources = Vec::new();
    for (resource, served) in in_version(registry, group, version) {
        let mut entry = json!({
            "name": resource.plural,
            "singularName": resource.singular,
            "namespaced": resource.namespaced,
            "kind": resource.kind,
            "verbs": VERBS,
            "storageVersionHash": "",
        });
        if !resource.short_names.is_empty() {
            entry["shortNames"] = json!(resource.short_names);
        }
        if !resource.categories.is_empty() {
            entry["categories"] = json!(resource.categories);
        }
        resources.push(entry);
        for (name, kind, kind_version, verbs) in subresources(resource, served) {
            let mut entry = json!({
                "name": format!("{}/{name}", resource.plural),
                "singularName": "",
                "namespaced": resource.namespaced,
                "kind": kind,
                "verbs": verbs,
            });
            // `kubectl drain` evicts only where it finds these two.
            if let Some((group, version)) = kind_version.split_once('/') {
                entry["group"] = json!(group);
                entry["version"] = json!(version);
            }
            resources.push(entry);
        }
    }
    for (_, plural, kind, namespaced) in reviews(group, version) {
        resources.push(json!({
            "name": plural, "singularName": kind.to_lowercase(), "namespaced": namespaced, "kind": kind,
            "verbs": ["create"],
        }));
    }
    (!resources.is_empty()).then(|| {
        json!({
            "kind": "APIResourceList",
            "apiVersion": "v1",
            "groupVersion": api_version(group, version),
            "resources": resources,
        })
    })
}

fn reviews(group: &str, version: &str) -> impl Iterator<Item = (&'static str, &'static str, &'static str, bool)> {
    let wanted = version == "v1";
    REVIEWS.into_iter().filter(move |(own, ..)| wanted && *own == group)
}

/// Name, kind, version and verbs of each.
fn subresources(resource: &Resource, version: &Version) -> Vec<(String, String, String, Vec<&'static str>)> {
    let mut all = Vec::new();
    if version.status {
        all.push((
            "status".to_owned(),
            resource.kind.clone(),
            resource.api_version(&version.name),
            vec!["get", "patch", "update"],
        ));
    }
    for (name, kind, kind_version) in resource.subresources {
        let verbs = if ["eviction", "binding"].contains(name) {
            vec!["create"]
        } else {
            vec!["get", "patch", "update"]
        };
        all.push((
            (*name).to_owned(),
            (*kind).to_owned(),
            (*kind_version).to_owned(),
            verbs,
        ));
    }
    all
}

/// Everything at once, as newer clients ask for it.
pub(crate) fn aggregated(registry: &Registry, core: bool) -> Value {
    let items: Vec<Value> = all_groups(registry)
        .iter()
        .filter(|(name, _)| name.is_empty() == core)
        .map(|(name, versions)| {
            let versions: Vec<Value> = versions
                .iter()
                .map(|version| {
                    json!({
                        "version": version,
                        "resources": aggregated_resources(registry, name, version),
                        "freshness": "Current",
                    })
                })
                .collect();
            json!({"metadata": {"name": name, "creationTimestamp": null}, "versions": versions})
        })
        .collect();
    json!({"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {}, "items": items})
}

fn aggregated_resources(registry: &Registry, group: &str, version: &str) -> Vec<Value> {
    let kind_of = |kind: &str, api_version: &str| {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        json!({"group": group, "version": version, "kind": kind})
    };
    let scope = |namespaced: bool| if namespaced { "Namespaced" } else { "Cluster" };
    let mut all: Vec<Value> = in_version(registry, group, version)
        .map(|(resource, served)| {
            let mut entry = json!({
                "resource": resource.plural,
                "responseKind": kind_of(&resource.kind, &api_version(group, version)),
                "scope": scope(resource.namespaced),
                "singularResource": resource.singular,
                "verbs": VERBS,
            });
            if !resource.short_names.is_empty() {
                entry["shortNames"] = json!(resource.short_names);
            }
            if !resource.categories.is_empty() {
                entry["categories"] = json!(resource.categories);
            }
            let below: Vec<Value> = subresources(resource, served)
                .into_iter()
                .map(|(name, kind, kind_version, verbs)| {
                    json!({"subresource": name, "responseKind": kind_of(&kind, &kind_version), "verbs": verbs})
                })
                .collect();
            if !below.is_empty() {
                entry["subresources"] = json!(below);
            }
            entry
        })
        .collect();
    all.extend(reviews(group, version).map(|(_, plural, kind, namespaced)| {
        json!({
            "resource": plural,
            "responseKind": kind_of(kind, &api_version(group, version)),
            "scope": scope(namespaced),
            "singularResource": kind.to_lowercase(),
            "verbs": ["create"],
        })
    }));
    all
}
