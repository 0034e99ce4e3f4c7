//! The URL of a pointer.

/// The whole URL for a pool or a node. One without a path gets it; one with a path of Berth's must be for the same machine.
pub(super) fn complete(url: &str, pool: &str, node: Option<&str>) -> Result<String, String> {
    let host_at = url.find("://").map_or(0, |at| at + 3);
    let path_at = url
        .get(host_at..)
        .and_then(|rest| rest.find('/'))
        .map(|at| host_at + at);
    let path = path_at.and_then(|at| url.get(at..)).unwrap_or_default();
    match (path, node) {
        ("" | "/", node) => {
            let base = url.trim_end_matches('/');
            Ok(match node {
                Some(node) => format!("{base}/node/{node}"),
                None => format!("{base}/config/{pool}"),
            })
        }
        (path, node) => {
            let named = |prefix: &str| path.strip_prefix(prefix).filter(|name| !name.contains('/'));
            if let Some(other) = named("/config/").filter(|other| *other != pool) {
                return Err(match node {
                    Some(node) => format!("`{url}` is for pool `{other}`, but node `{node}` is in pool `{pool}`"),
                    None => format!("`{url}` is for pool `{other}`, not for pool `{pool}`"),
                });
            }
            match (named("/node/"), node) {
                (Some(other), Some(node)) if other != node => {
                    Err(format!("`{url}` is for node `{other}`, not for node `{node}`"))
                }
                (Some(other), None) => Err(format!("`{url}` is for node `{other}` alone, not for pool `{pool}`")),
                _ => Ok(url.to_owned()),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::complete;

    #[test]
    fn a_url_is_completed_or_must_fit() {
        let pool = |url| complete(url, "worker", None);
        let node = |url| complete(url, "worker", Some("n1"));
        assert_eq!(pool("https://h:22623").unwrap(), "https://h:22623/config/worker");
        assert_eq!(pool("https://h:22623/").unwrap(), "https://h:22623/config/worker");
        assert_eq!(node("https://h").unwrap(), "https://h/node/n1");
        for url in [
            "https://h/config/worker",
            "https://h/else/where",
            "https://h/worker.ign",
        ] {
            assert_eq!(pool(url).unwrap(), url);
            assert_eq!(node(url).unwrap(), url);
        }
        assert_eq!(node("https://h/node/n1").unwrap(), "https://h/node/n1");
        assert_eq!(
            node("https://h/config/infra").unwrap_err(),
            "`https://h/config/infra` is for pool `infra`, but node `n1` is in pool `worker`"
        );
        assert!(pool("https://h/config/infra").is_err());
        assert!(pool("https://h/node/n1").is_err());
        assert!(node("https://h/node/n2").is_err());
    }
}
