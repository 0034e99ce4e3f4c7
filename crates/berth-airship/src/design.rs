//! References to a design: which revision they mean, and whether it is one of this server.
//!
//! Labels come from the committed revision of this server. A reference that means anything else is refused rather than not
//! followed: whoever sent it believes that something else is applied. One to another Deckhand is fetched if that Deckhand is
//! configured, and then has to say the same.

mod elsewhere;

use axum::http::{HeaderMap, StatusCode, header::HOST};

use self::elsewhere::Fetched;
pub use self::elsewhere::{FetchDesign, OtherDeckhand};
use super::{
    auth::{self, Auth},
    endpoint::Family,
    problem::Problem,
    state::ApiState,
};

/// What a refusal of a reference is headed with, where there is a heading.
const TITLE: &str = "Invalid design_ref parameter";

/// The schemes of references to a design: those of Drydock, and the two for TLS that it lacks.
const SCHEMES: [&str; 7] = [
    "http",
    "https",
    "file",
    "deckhand+http",
    "deckhand+https",
    "promenade+http",
    "promenade+https",
];

/// What a design is in the API, behind the number of its revision.
const DESIGNS: [&str; 2] = ["rendered-documents", "documents"];

/// The names under which callers know this server.
#[derive(Clone, Debug)]
struct OwnNames<'a> {
    /// What this request was sent to.
    host: Option<&'a str>,
    /// What the server was told.
    configured: &'a [String],
    /// Deckhands that it was told of.
    others: &'a [OtherDeckhand],
}

impl<'a> OwnNames<'a> {
    fn new(headers: &'a HeaderMap, configured: &'a [String], others: &'a [OtherDeckhand]) -> Self {
        Self {
            host: headers.get(HOST).and_then(|host| host.to_str().ok()),
            configured,
            others,
        }
    }

    fn has(&self, authority: &str) -> bool {
        let same = |name: &str| plain(name) == plain(authority);
        let any_port = |name: &str| host_of(name) == name && host_of(authority) == name;
        let mut configured = self.configured.iter().map(String::as_str);
        self.host.is_some_and(same) || configured.any(|name| same(name) || any_port(name))
    }
}

/// An authority without the ports that go without saying.
fn plain(authority: &str) -> String {
    let authority = authority.to_ascii_lowercase();
    let short = authority.strip_suffix(":80").or_else(|| authority.strip_suffix(":443"));
    short.unwrap_or(&authority).to_owned()
}

/// An authority without its port.
fn host_of(authority: &str) -> &str {
    match authority.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) && !host.ends_with(':') => host,
        _ => authority,
    }
}

/// What a reference means.
#[derive(Clone, Copy, Debug)]
enum Meaning<'a> {
    /// A revision of this server.
    Revision(u64),
    /// A revision of another Deckhand.
    Elsewhere(&'a OtherDeckhand, u64),
    /// No address: a mere name, as in the blueprint.
    Name,
}

/// What a reference means, or why it does not mean a design of this server.
fn meaning<'a>(reference: &str, own: &OwnNames<'a>) -> Result<Meaning<'a>, String> {
    let mut other = None;
    let path = match reference.split_once("://") {
        None if reference.starts_with('/') => reference,
        // What looks like a part of an address would be one to its sender.
        None if reference.contains(['/', ':', '?', '#', '@', '\\']) => {
            return Err("is neither an address with a scheme nor a name".to_owned());
        }
        None => return Ok(Meaning::Name),
        Some((scheme, rest)) => {
            let scheme = scheme.to_ascii_lowercase();
            if !SCHEMES.contains(&scheme.as_str()) {
                return Err(format!("has the scheme '{scheme}'; known are {}", SCHEMES.join(", ")));
            }
            if scheme == "file" || scheme.starts_with("promenade+") {
                return Err("is not an address of documents in revisions".to_owned());
            }
            let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
            let (authority, path) = rest.split_at(end);
            if !own.has(authority) {
                other = own.others.iter().find(|other| other.is_at(&scheme, authority));
                if other.is_none() {
                    return Err(format!(
                        "is at '{authority}', which is not this server; if it is, start the server with --design-host {authority}, and \
                         with --deckhand if it is a Deckhand whose designs this server is to compare with its own"
                    ));
                }
            }
            path
        }
    };
    let Some(number) = revision(path) else {
        return Err(
            "does not name the documents of a revision: its path should be /api/v1.0/revisions/NUMBER/rendered-documents"
                .to_owned(),
        );
    };
    Ok(match other {
        Some(other) => Meaning::Elsewhere(other, number),
        None => Meaning::Revision(number),
    })
}

/// The revision in a path such as `/api/v1.0/revisions/3/rendered-documents`; nothing may follow.
fn revision(path: &str) -> Option<u64> {
    let rest = ["/api/v1.0/revisions/", "/v1.0/revisions/", "/revisions/"]
        .into_iter()
        .find_map(|prefix| path.strip_prefix(prefix))?;
    let (number, design) = rest.split_once('/')?;
    let digits = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    (digits && DESIGNS.contains(&design)).then(|| number.parse().ok())?
}

/// What is left to do about a reference.
#[derive(Clone, Copy, Debug)]
enum Verdict<'a> {
    /// It means what is applied.
    Fits,
    /// That has to be seen.
    Fetch(&'a OtherDeckhand, u64),
}

/// Refuses a reference that does not mean what is applied, as far as its text says so.
fn judge<'a>(reference: &str, own: &OwnNames<'a>, committed: u64) -> Result<Verdict<'a>, String> {
    let refuse = |problem: String| {
        format!(
            "design_ref '{reference}' {problem}. Labels come from the committed revision: \
             /api/v1.0/revisions/{committed}/rendered-documents of this server"
        )
    };
    match meaning(reference, own).map_err(refuse)? {
        Meaning::Revision(named) if named != committed => Err(refuse(format!(
            "names revision {named}, and revision {committed} is committed"
        ))),
        Meaning::Revision(_) | Meaning::Name => Ok(Verdict::Fits),
        Meaning::Elsewhere(other, revision) => Ok(Verdict::Fetch(other, revision)),
    }
}

/// Refuses a reference that does not mean what is applied.
pub(super) async fn check(
    state: &ApiState,
    headers: &HeaderMap,
    family: Family,
    reference: &str,
    committed: u64,
) -> Result<(), Problem> {
    let own = OwnNames::new(headers, &state.design_hosts, &state.deckhands);
    let wrong = |problem: String| refusal(family, StatusCode::BAD_REQUEST, TITLE, problem);
    match judge(reference, &own, committed).map_err(wrong)? {
        Verdict::Fits => Ok(()),
        Verdict::Fetch(other, revision) => {
            let text = other.design(family, revision, token(state, headers)).await?;
            elsewhere::compare(state, family, committed, text, other.authority()).await
        }
    }
}

/// A design that somebody wants to be validated.
#[derive(Debug)]
pub(super) enum Design {
    /// A revision of this server.
    Revision(u64),
    /// Rendered documents of another Deckhand.
    Text(Fetched),
}

/// The design that an address means, whether it is committed or not.
pub(super) async fn find(state: &ApiState, headers: &HeaderMap, family: Family, href: &str) -> Result<Design, Problem> {
    let own = OwnNames::new(headers, &state.design_hosts, &state.deckhands);
    let wrong = |problem: &str| {
        refusal(
            family,
            StatusCode::BAD_REQUEST,
            TITLE,
            format!("href '{href}' {problem}"),
        )
    };
    match meaning(href, &own).map_err(|problem| wrong(&problem))? {
        Meaning::Revision(revision) => Ok(Design::Revision(revision)),
        Meaning::Elsewhere(other, revision) => {
            let text = other.design(family, revision, token(state, headers)).await?;
            Ok(Design::Text(text))
        }
        Meaning::Name => Err(wrong("is not the address of a revision's documents")),
    }
}

/// The token that another Deckhand may see: one of a Keystone, which both ask. Tokens of other kinds stay here.
fn token(state: &ApiState, headers: &HeaderMap) -> Option<String> {
    match state.auth {
        Auth::Keystone(_) => auth::token(headers).map(str::to_owned),
        Auth::None | Auth::Tokens(_) | Auth::Kubernetes(_) => None,
    }
}

fn refusal(family: Family, status: StatusCode, title: &'static str, message: String) -> Problem {
    match family {
        Family::Drydock => Problem::drydock(status, message),
        _ => Problem::shipyard(status, title, message),
    }
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    /// References that do not say what is applied, and why.
    const REFUSED: &[(&str, &str)] = &[
        (
            "ftp://berth.example:8080/api/v1.0/revisions/3/rendered-documents",
            "has the scheme 'ftp'",
        ),
        ("://x", "has the scheme ''"),
        (
            "other.example/api/v1.0/revisions/3/rendered-documents",
            "is neither an address with a scheme nor a name",
        ),
        (
            "http:/other.example/api/v1.0/revisions/3/rendered-documents",
            "is neither an address with a scheme nor a name",
        ),
        (
            "revisions/7/rendered-documents",
            "is neither an address with a scheme nor a name",
        ),
        ("other.example:9000", "is neither an address with a scheme nor a name"),
        ("file:///site.yaml", "is not an address of documents in revisions"),
        (
            "promenade+http://berth.example:8080/x",
            "is not an address of documents in revisions",
        ),
        (
            "deckhand+http://other.example/api/v1.0/revisions/3/rendered-documents",
            "is at 'other.example', which is not this server",
        ),
        (
            "deckhand+http://berth.example:9000/api/v1.0/revisions/3/rendered-documents",
            "is at 'berth.example:9000', which is not this server",
        ),
        (
            "http://berth.example:8080@other.example/api/v1.0/revisions/3/rendered-documents",
            "is at 'berth.example:8080@other.example'",
        ),
        (
            "http://berth.example:8080/site.yaml",
            "does not name the documents of a revision",
        ),
        (
            "http://berth.example:8080/api/v1.0/revisions/x/rendered-documents",
            "does not name the documents of a revision",
        ),
        (
            "http://berth.example:8080/api/v1.0/revisions/3/tags",
            "does not name the documents of a revision",
        ),
        (
            "http://berth.example:8080/api/v1.0/revisions/3/rendered-documents?schema=x",
            "does not name the documents of a revision",
        ),
        (
            "http://berth.example:8080/x/api/v1.0/revisions/3/rendered-documents",
            "does not name the documents of a revision",
        ),
        (
            "/api/v1.0/revisions/4/rendered-documents",
            "names revision 4, and revision 3 is committed",
        ),
        ("/etc/passwd", "does not name the documents of a revision"),
        (
            "deckhand+https://deckhand.other.example:9000/api/v1.0/revisions/3/rendered-documents",
            "is at 'deckhand.other.example:9000', which is not this server",
        ),
        (
            "http://deckhand.other.example/api/v1.0/revisions/3/rendered-documents",
            "is at 'deckhand.other.example', which is not this server",
        ),
        (
            "http://x@deckhand.other.example:9000/api/v1.0/revisions/3/rendered-documents",
            "is at 'x@deckhand.other.example:9000', which is not this server",
        ),
        (
            "http://deckhand.other.example:9000/api/v1.0/revisions/3/rendered-documents/../../tags",
            "does not name the documents of a revision",
        ),
    ];

    /// Every way to miss has a row, and beside each the reference that must pass.
    #[test]
    fn only_what_is_applied_is_taken() {
        let mut headers = HeaderMap::new();
        headers.insert(HOST, HeaderValue::from_static("berth.example:8080"));
        let configured = [
            "deckhand-int.ucp.svc.cluster.local:9000".to_owned(),
            "docs.example".to_owned(),
        ];
        let unused: FetchDesign = std::sync::Arc::new(|_, _| Box::pin(async { Err("nobody fetches here".into()) }));
        let others = [OtherDeckhand::new("http", "deckhand.other.example:9000", unused)];
        let own = OwnNames::new(&headers, &configured, &others);
        for reference in [
            "deckhand+http://berth.example:8080/api/v1.0/revisions/3/rendered-documents",
            "DECKHAND+HTTPS://BERTH.example:8080/api/v1.0/revisions/3/rendered-documents",
            "http://berth.example:8080/api/v1.0/revisions/3/documents",
            "deckhand+http://deckhand-int.ucp.svc.cluster.local:9000/api/v1.0/revisions/3/rendered-documents",
            "https://docs.example/v1.0/revisions/3/rendered-documents",
            "https://docs.example:9000/api/v1.0/revisions/3/rendered-documents",
            "/api/v1.0/revisions/3/rendered-documents",
            "<deckhand_uri>",
            "site",
        ] {
            let verdict = judge(reference, &own, 3);
            assert!(matches!(verdict, Ok(Verdict::Fits)), "{reference}: {verdict:?}");
        }
        for reference in [
            "deckhand+http://deckhand.other.example:9000/api/v1.0/revisions/7/rendered-documents",
            "HTTP://deckhand.OTHER.example:9000/revisions/7/documents",
        ] {
            let verdict = judge(reference, &own, 3);
            assert!(matches!(verdict, Ok(Verdict::Fetch(_, 7))), "{reference}: {verdict:?}");
        }
        for (reference, problem) in REFUSED {
            let refused = judge(reference, &own, 3).unwrap_err();
            assert!(refused.contains(problem), "{reference}: {refused}");
        }
    }
}
