//! Which types of bodies a route takes.
//!
//! A browser sends some types for the page of any site without asking the server first. No route takes those, so that a request
//! which changes something cannot come from a form or a script elsewhere.

use axum::http::{
    HeaderMap, Method, StatusCode,
    header::{CONTENT_LENGTH, CONTENT_TYPE, TRANSFER_ENCODING},
};

use super::{endpoint::Family, problem::Problem};

/// What browsers send for any page.
const OF_ANY_PAGE: [&str; 3] = ["application/x-www-form-urlencoded", "multipart/form-data", "text/plain"];

/// Refuses a body of another type than the route reads. Types are compared as a whole, without their parameters.
pub(super) fn check(
    family: Family,
    method: &Method,
    headers: &HeaderMap,
    reads: Option<&'static str>,
) -> Result<(), Problem> {
    if method.is_safe() {
        return Ok(());
    }
    let mut given = headers.get_all(CONTENT_TYPE).iter();
    let (first, second) = (given.next(), given.next());
    let Some(first) = first else {
        return match reads {
            Some(expected) if has_body(headers) => Err(missing(family, expected)),
            _ => Ok(()),
        };
    };
    let text = String::from_utf8_lossy(first.as_bytes());
    let kind = text.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let is_read = match reads {
        Some(expected) if has_body(headers) => taken(family, expected).contains(&kind.as_str()),
        _ => !OF_ANY_PAGE.contains(&kind.as_str()),
    };
    if is_read && second.is_none() {
        Ok(())
    } else {
        Err(unsupported(family, &text, reads))
    }
}

/// The types that a route takes where it reads this one. Shipyard takes documents under any name for YAML, and JSON is YAML.
fn taken(family: Family, expected: &'static str) -> &'static [&'static str] {
    match (family, expected) {
        (Family::Shipyard, "application/x-yaml") => &["application/x-yaml", "application/yaml", "application/json"],
        (_, "application/x-yaml") => &["application/x-yaml"],
        _ => &["application/json"],
    }
}

fn has_body(headers: &HeaderMap) -> bool {
    let length = headers.get(CONTENT_LENGTH).is_some_and(|length| length != "0");
    length || headers.contains_key(TRANSFER_ENCODING)
}

fn missing(family: Family, expected: &str) -> Problem {
    if family == Family::Deckhand {
        return Problem::deckhand(
            StatusCode::BAD_REQUEST,
            "HTTPMissingHeader",
            "The \"Content-Type\" header is required.",
        );
    }
    let message = format!("The Content-Type header is required; send {expected}.");
    let status = StatusCode::UNSUPPORTED_MEDIA_TYPE;
    Problem::framework(family, status, "HTTPUnsupportedMediaType", &message)
}

fn unsupported(family: Family, given: &str, reads: Option<&'static str>) -> Problem {
    let message = match reads {
        None => format!("Unexpected content type: {given}. Leave it out: nothing is read from the body."),
        Some(expected) => {
            let expected: Vec<String> = taken(family, expected).iter().map(|kind| format!("'{kind}'")).collect();
            format!(
                "Unexpected content type: {given}. Expected content types are: [{}].",
                expected.join(", ")
            )
        }
    };
    let status = StatusCode::UNSUPPORTED_MEDIA_TYPE;
    Problem::framework(family, status, "HTTPUnsupportedMediaType", &message)
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    #[test]
    fn types_are_compared_as_a_whole() {
        const YAML: &str = "application/x-yaml";
        const JSON: &str = "application/json";
        let (deckhand, shipyard) = (Family::Deckhand, Family::Shipyard);
        for (family, reads, given, expected) in [
            (deckhand, Some(YAML), &[YAML] as &[&str], None),
            (deckhand, Some(YAML), &["Application/X-YAML ; charset=utf-8"], None),
            (deckhand, Some(YAML), &[JSON], Some(415)),
            (deckhand, Some(YAML), &[], Some(400)),
            (shipyard, Some(YAML), &[JSON], None),
            (shipyard, Some(YAML), &["application/yaml"], None),
            (shipyard, Some(YAML), &["text/plain"], Some(415)),
            (shipyard, Some(YAML), &[], Some(415)),
            (shipyard, Some(JSON), &["application/json; charset=utf-8"], None),
            (shipyard, Some(JSON), &["text/plain; application/json"], Some(415)),
            (
                shipyard,
                Some(JSON),
                &["text/plain;charset=application/json"],
                Some(415),
            ),
            (shipyard, Some(JSON), &["application/json-patch+json"], Some(415)),
            (shipyard, Some(JSON), &["application/jsonx"], Some(415)),
            (shipyard, Some(JSON), &[YAML], Some(415)),
            (shipyard, Some(JSON), &[JSON, "text/plain"], Some(415)),
            (shipyard, Some(JSON), &["", JSON], Some(415)),
            (shipyard, None, &[], None),
            (shipyard, None, &[YAML], None),
            (shipyard, None, &["text/plain"], Some(415)),
            (shipyard, None, &["multipart/form-data; boundary=x"], Some(415)),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(CONTENT_LENGTH, HeaderValue::from_static("2"));
            for kind in given {
                headers.append(CONTENT_TYPE, HeaderValue::from_str(kind).unwrap());
            }
            let outcome = check(family, &Method::POST, &headers, reads);
            let status = outcome.err().map(|problem| problem.status().as_u16());
            assert_eq!(status, expected, "{family:?} {reads:?} {given:?}");
            assert!(check(family, &Method::GET, &headers, reads).is_ok());
        }
    }
}
