//! Which crate may use what, checked over everything a crate pulls in.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

use super::Violation;
use crate::workspace::Workspace;

/// The rules that one crate of `crates/` lives under.
#[derive(Debug)]
struct Rule {
    crate_name: &'static str,
    forbidden: &'static [Forbidden],
}

/// Packages that must not appear in a crate's dependencies, however deep, and the reason.
#[derive(Debug)]
struct Forbidden {
    packages: &'static [&'static str],
    why: &'static str,
}

const NO_INPUT_OUTPUT: Forbidden = Forbidden {
    packages: &["tokio", "kube", "kube-client", "sqlx", "axum", "hyper", "reqwest"],
    why: "a pure crate has no network, database or runtime: the same input gives the same answer",
};

const SMALL: Forbidden = Forbidden {
    packages: &["regex", "serde_json"],
    why: "it is linked into the executable on the node, which stays small",
};

const NO_LIBRARIES: Forbidden = Forbidden {
    packages: &["anyhow", "clap", "libc", "rustix"],
    why: "the executable on the node is carried inside machine configs, which have a size limit",
};

const NO_CLUSTER_OR_HTTP: Forbidden = Forbidden {
    packages: &["kube", "kube-client", "axum", "hyper", "reqwest"],
    why: "the store speaks to its database alone; HTTP and the cluster are its callers' business",
};

const NO_CLUSTER_OR_HTTP_BESIDE_THE_STORE: Forbidden = Forbidden {
    packages: &["kube", "kube-client", "axum", "hyper", "reqwest"],
    why: "the API and the command line share it; how they are asked is their business, and the database is the store's",
};

const NO_CLUSTER: Forbidden = Forbidden {
    packages: &["kube", "kube-client", "axum"],
    why: "it is a cluster, and no client of one; reqwest is for the webhooks that it asks",
};

/// The API changes Nodes and asks a cluster who its callers are; sqlx comes in through the store.
const NO_SECOND_CLIENT: Forbidden = Forbidden {
    packages: &["reqwest"],
    why: "the server speaks to clusters through kube alone",
};

const NO_DATABASE_OR_SERVER: Forbidden = Forbidden {
    packages: &["sqlx", "axum", "reqwest"],
    why: "it keeps nothing outside the cluster; documents are handed to it",
};

const NO_SERVER: Forbidden = Forbidden {
    packages: &["axum", "reqwest"],
    why: "requests come to it as values; how they are asked is its callers' business",
};

const NO_SERVICE: Forbidden = Forbidden {
    packages: &["kube", "kube-client", "sqlx", "axum", "reqwest"],
    why: "every server listens through it; what they answer with is their business",
};

const NO_CLUSTER_OR_DATABASE: Forbidden = Forbidden {
    packages: &["kube", "kube-client", "sqlx", "axum", "reqwest"],
    why: "machines are served from values that are handed in; where those come from is its callers' business",
};

/// Every crate of `crates/` has a line here, so a new crate cannot come in without a decision.
const RULES: &[Rule] = &[
    Rule {
        crate_name: "berth",
        forbidden: &[],
    },
    Rule {
        crate_name: "berth-airship",
        forbidden: &[NO_SECOND_CLIENT],
    },
    Rule {
        crate_name: "berth-api",
        forbidden: &[NO_INPUT_OUTPUT],
    },
    Rule {
        crate_name: "berth-boot",
        forbidden: &[NO_INPUT_OUTPUT],
    },
    Rule {
        crate_name: "berth-cel",
        forbidden: &[NO_INPUT_OUTPUT],
    },
    Rule {
        crate_name: "berth-clock",
        forbidden: &[NO_INPUT_OUTPUT],
    },
    Rule {
        crate_name: "berth-cluster",
        forbidden: &[NO_DATABASE_OR_SERVER],
    },
    Rule {
        crate_name: "berth-daemon",
        forbidden: &[NO_INPUT_OUTPUT],
    },
    Rule {
        crate_name: "berth-decide",
        forbidden: &[NO_INPUT_OUTPUT],
    },
    Rule {
        crate_name: "berth-documents",
        forbidden: &[NO_INPUT_OUTPUT],
    },
    Rule {
        crate_name: "berth-ignition",
        forbidden: &[NO_INPUT_OUTPUT],
    },
    Rule {
        crate_name: "berth-ignition-server",
        forbidden: &[NO_CLUSTER_OR_DATABASE],
    },
    Rule {
        crate_name: "berth-iso",
        forbidden: &[NO_INPUT_OUTPUT],
    },
    Rule {
        crate_name: "berth-labels",
        forbidden: &[NO_INPUT_OUTPUT, SMALL],
    },
    Rule {
        crate_name: "berth-listen",
        forbidden: &[NO_SERVICE],
    },
    Rule {
        crate_name: "berth-node",
        forbidden: &[NO_INPUT_OUTPUT, SMALL, NO_LIBRARIES],
    },
    Rule {
        crate_name: "berth-nodes",
        forbidden: &[NO_DATABASE_OR_SERVER],
    },
    Rule {
        crate_name: "berth-placement",
        forbidden: &[NO_INPUT_OUTPUT],
    },
    Rule {
        crate_name: "berth-pools",
        forbidden: &[NO_INPUT_OUTPUT],
    },
    Rule {
        crate_name: "berth-repository",
        forbidden: &[NO_CLUSTER_OR_HTTP_BESIDE_THE_STORE],
    },
    Rule {
        crate_name: "berth-resources",
        forbidden: &[NO_INPUT_OUTPUT],
    },
    Rule {
        crate_name: "berth-sim",
        forbidden: &[NO_CLUSTER],
    },
    Rule {
        crate_name: "berth-site",
        forbidden: &[NO_INPUT_OUTPUT],
    },
    Rule {
        crate_name: "berth-store",
        forbidden: &[NO_CLUSTER_OR_HTTP],
    },
    Rule {
        crate_name: "berth-testing",
        forbidden: &[],
    },
    Rule {
        crate_name: "berth-tokens",
        forbidden: &[NO_CLUSTER_OR_DATABASE],
    },
    Rule {
        crate_name: "berth-units",
        forbidden: &[NO_INPUT_OUTPUT, SMALL],
    },
    Rule {
        crate_name: "berth-workflow",
        forbidden: &[NO_SERVER],
    },
    Rule {
        crate_name: "berth-ztp",
        forbidden: &[NO_INPUT_OUTPUT],
    },
];

/// Crates that use what they must not use, and crates that no rule speaks about.
pub fn dependency_violations(workspace: &Workspace) -> Result<Vec<Violation>> {
    let metadata = workspace.metadata(&[])?;
    let graph = Graph::read(&metadata)?;
    let mut violations = graph.violations(RULES);
    for name in workspace.crates()? {
        if !RULES.iter().any(|rule| rule.crate_name == name) {
            violations.push(Violation {
                place: format!("crates/{name}"),
                message: "has no rule in xtask/src/architecture/dependencies.rs; say what it must not use".to_owned(),
            });
        }
    }
    Ok(violations)
}

/// Normal dependencies between packages, by package id.
///
/// Features are those of the whole workspace together, so the graph can only have more in it than one crate alone
/// would pull in: the check may be too strict, never too lax.
#[derive(Debug)]
struct Graph<'a> {
    names: BTreeMap<&'a str, &'a str>,
    members: BTreeSet<&'a str>,
    uses: BTreeMap<&'a str, Vec<&'a str>>,
}

impl<'a> Graph<'a> {
    fn read(metadata: &'a Value) -> Result<Self> {
        let text = |value: &'a Value| value.as_str();
        let list = |value: &'a Value| value.as_array().map(Vec::as_slice).unwrap_or_default();

        let names = list(&metadata["packages"])
            .iter()
            .filter_map(|package| Some((text(&package["id"])?, text(&package["name"])?)))
            .collect();
        let members = list(&metadata["workspace_members"]).iter().filter_map(text).collect();
        let mut uses = BTreeMap::new();
        for node in list(&metadata["resolve"]["nodes"]) {
            let id = text(&node["id"]).context("a package has no id")?;
            let dependencies = list(&node["deps"])
                .iter()
                // Tests and build scripts may use what they like; a null kind is a normal dependency.
                .filter(|dependency| list(&dependency["dep_kinds"]).iter().any(|kind| kind["kind"].is_null()))
                .filter_map(|dependency| text(&dependency["pkg"]))
                .collect();
            uses.insert(id, dependencies);
        }
        if uses.is_empty() {
            bail!("`cargo metadata` lists no dependencies");
        }
        Ok(Self { names, members, uses })
    }

    fn violations(&self, rules: &[Rule]) -> Vec<Violation> {
        let mut violations = Vec::new();
        for rule in rules {
            let Some(start) = self
                .members
                .iter()
                .copied()
                .find(|id| self.names.get(id) == Some(&rule.crate_name))
            else {
                violations.push(Violation {
                    place: rule.crate_name.to_owned(),
                    message: "has a rule, but is not a crate of the workspace".to_owned(),
                });
                continue;
            };
            let came_from = self.reachable(start);
            for &id in came_from.keys() {
                let name = self.names.get(id).copied().unwrap_or(id);
                for forbidden in rule.forbidden {
                    if forbidden.packages.contains(&name) {
                        violations.push(Violation {
                            place: rule.crate_name.to_owned(),
                            message: format!(
                                "must not use {name} ({}); it comes by {}",
                                forbidden.why,
                                self.path(&came_from, id)
                            ),
                        });
                    }
                }
            }
        }
        violations
    }

    /// Every package that `start` uses, each with the package that it was found through.
    fn reachable(&self, start: &'a str) -> BTreeMap<&'a str, &'a str> {
        let mut came_from = BTreeMap::new();
        let mut queue = VecDeque::from([start]);
        while let Some(id) = queue.pop_front() {
            for &next in self.uses.get(id).into_iter().flatten() {
                if next != start && !came_from.contains_key(next) {
                    came_from.insert(next, id);
                    queue.push_back(next);
                }
            }
        }
        came_from
    }

    /// The shortest way to a package, for the person who has to cut it.
    fn path(&self, came_from: &BTreeMap<&'a str, &'a str>, to: &'a str) -> String {
        let mut names = Vec::new();
        let mut current = Some(to);
        while let Some(id) = current {
            names.push(self.names.get(id).copied().unwrap_or(id));
            current = came_from.get(id).copied();
        }
        names.reverse();
        names.join(" → ")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const PURE: &[Rule] = &[Rule {
        crate_name: "core",
        forbidden: &[NO_INPUT_OUTPUT],
    }];

    /// `core` uses `client` in the given way; `client` uses `tokio`.
    fn metadata(kind: &Value) -> Value {
        json!({
            "packages": [
                {"id": "path+core", "name": "core"},
                {"id": "client@1", "name": "client"},
                {"id": "tokio@1", "name": "tokio"},
            ],
            "workspace_members": ["path+core"],
            "resolve": {"nodes": [
                {"id": "path+core", "deps": [{"pkg": "client@1", "dep_kinds": [{"kind": kind}]}]},
                {"id": "client@1", "deps": [{"pkg": "tokio@1", "dep_kinds": [{"kind": null}]}]},
                {"id": "tokio@1", "deps": []},
            ]},
        })
    }

    #[test]
    fn a_forbidden_package_is_found_with_the_way_to_it() {
        let metadata = metadata(&Value::Null);
        let violations = Graph::read(&metadata).unwrap().violations(PURE);
        assert_eq!(violations.len(), 1, "{violations:?}");
        assert!(
            violations[0].message.ends_with("it comes by core → client → tokio"),
            "{}",
            violations[0]
        );
    }

    #[test]
    fn tests_and_build_scripts_may_use_anything() {
        for kind in ["dev", "build"] {
            let metadata = metadata(&json!(kind));
            assert_eq!(Graph::read(&metadata).unwrap().violations(PURE), []);
        }
    }

    #[test]
    fn a_rule_for_a_crate_that_is_gone_is_a_violation() {
        let metadata = metadata(&json!("dev"));
        let rules = [Rule {
            crate_name: "gone",
            forbidden: &[],
        }];
        let violations = Graph::read(&metadata).unwrap().violations(&rules);
        assert_eq!(violations[0].place, "gone");
    }

    #[test]
    fn metadata_of_another_shape_is_an_error_and_not_a_pass() {
        assert!(Graph::read(&json!({"packages": []})).is_err());
    }
}
