//! What a path asks for.

use super::query::decoded;

/// What a path asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Route {
    Root,
    Health,
    Version,
    /// `/api`.
    Core,
    /// `/apis`.
    Groups,
    /// `/apis/GROUP`.
    Group(String),
    /// `/api/v1` or `/apis/GROUP/VERSION`.
    Resources {
        group: String,
        version: String,
    },
    /// `/openapi/v2`.
    OpenApiKinds,
    OpenApiIndex,
    OpenApi(String),
    Object(ObjectPath),
}

/// A collection, an object or a part of one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ObjectPath {
    pub(super) group: String,
    pub(super) version: String,
    pub(super) namespace: String,
    pub(super) plural: String,
    /// Empty for a collection.
    pub(super) name: String,
    pub(super) subresource: String,
}

impl Route {
    pub(super) fn parse(path: &str) -> Option<Self> {
        let parts: Vec<String> = path.split('/').filter(|part| !part.is_empty()).map(decoded).collect();
        let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        Some(match parts.as_slice() {
            [] => Self::Root,
            ["healthz" | "livez" | "readyz", ..] => Self::Health,
            ["version"] => Self::Version,
            ["api"] => Self::Core,
            ["apis"] => Self::Groups,
            ["apis", group] => Self::Group((*group).to_owned()),
            ["api", version] => Self::Resources {
                group: String::new(),
                version: (*version).to_owned(),
            },
            ["apis", group, version] => Self::Resources {
                group: (*group).to_owned(),
                version: (*version).to_owned(),
            },
            ["openapi", "v2"] => Self::OpenApiKinds,
            ["openapi", "v3"] => Self::OpenApiIndex,
            ["openapi", "v3", rest @ ..] => Self::OpenApi(rest.join("/")),
            ["api", version, rest @ ..] => Self::Object(object("", version, rest)?),
            ["apis", group, version, rest @ ..] => Self::Object(object(group, version, rest)?),
            _ => return None,
        })
    }
}

fn object(group: &str, version: &str, rest: &[&str]) -> Option<ObjectPath> {
    // Below a namespace are the objects in it, except for the two parts that a namespace has itself.
    let (namespace, rest) = match rest {
        ["namespaces", _, "status" | "finalize"] => ("", rest),
        ["namespaces", namespace, below @ ..] if !below.is_empty() => (*namespace, below),
        _ => ("", rest),
    };
    let (plural, name, subresource) = match rest {
        [plural] => (*plural, "", ""),
        [plural, name] => (*plural, *name, ""),
        [plural, name, subresource] => (*plural, *name, *subresource),
        _ => return None,
    };
    Some(ObjectPath {
        group: group.to_owned(),
        version: version.to_owned(),
        namespace: namespace.to_owned(),
        plural: plural.to_owned(),
        name: name.to_owned(),
        subresource: subresource.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths() {
        let object = |path: &str| match Route::parse(path) {
            Some(Route::Object(path)) => [
                path.group,
                path.version,
                path.namespace,
                path.plural,
                path.name,
                path.subresource,
            ]
            .join("|"),
            other => format!("{other:?}"),
        };
        for (path, expected) in [
            ("/api/v1/nodes", "|v1||nodes||"),
            ("/api/v1/nodes/n1/status", "|v1||nodes|n1|status"),
            ("/api/v1/namespaces", "|v1||namespaces||"),
            ("/api/v1/namespaces/a", "|v1||namespaces|a|"),
            ("/api/v1/namespaces/a/status", "|v1||namespaces|a|status"),
            ("/api/v1/namespaces/a/pods", "|v1|a|pods||"),
            ("/api/v1/namespaces/a/pods/p/eviction", "|v1|a|pods|p|eviction"),
            ("/apis/berth.dev/v1alpha1/berths/b%31", "berth.dev|v1alpha1||berths|b1|"),
            ("/api/v1/a/b/c/d", "None"),
            ("/other", "None"),
        ] {
            assert_eq!(object(path), expected, "{path}");
        }
        assert_eq!(
            Route::parse("/openapi/v3/apis/a/v1"),
            Some(Route::OpenApi("apis/a/v1".to_owned()))
        );
    }
}
