//! What a path asks for.

/// The paths there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Route<'a> {
    Health,
    /// `/config/<pool>`
    Pool(&'a str),
    /// `/node/<name>`
    Node(&'a str),
}

impl<'a> Route<'a> {
    /// Reads a path. Names of pools and nodes hold nothing that a path must escape, so nothing is unescaped.
    pub(crate) fn of(path: &'a str) -> Option<Self> {
        if path == "/healthz" {
            return Some(Self::Health);
        }
        let (kind, name) = path.strip_prefix('/')?.split_once('/')?;
        if name.is_empty() || name.contains('/') {
            return None;
        }
        match kind {
            "config" => Some(Self::Pool(name)),
            "node" => Some(Self::Node(name)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths() {
        for (path, expected) in [
            ("/healthz", Some(Route::Health)),
            ("/config/worker", Some(Route::Pool("worker"))),
            ("/node/n1.example.com", Some(Route::Node("n1.example.com"))),
            ("/config/%77orker", Some(Route::Pool("%77orker"))),
            ("/config/..", Some(Route::Pool(".."))),
            ("/config/", None),
            ("/config", None),
            ("/config/a/b", None),
            ("//config/a", None),
            ("/config/worker/", None),
            ("/healthz/", None),
            ("/", None),
            ("", None),
            ("*", None),
            ("/é/ü", None),
        ] {
            assert_eq!(Route::of(path), expected, "{path}");
        }
    }
}
