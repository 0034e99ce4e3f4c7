//! Domains that the API server refuses in an `IngressController`.

use super::IngressController;
use crate::problem::{PlacementProblem, ProblemKind};

/// How long a domain may be.
const LONGEST: usize = 244;

/// How long a part of it may be.
const LONGEST_LABEL: usize = 63;

/// How long a DNS name may be: the routers are called `router-NAME.DOMAIN`.
const LONGEST_NAME: usize = 253;

/// What is wrong with the domain that a controller names.
pub(super) fn problem(controller: &IngressController) -> Option<PlacementProblem> {
    let domain = controller.domain.as_deref().filter(|domain| !domain.is_empty())?;
    let legal = |part: &str| {
        let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        !part.is_empty() && part.bytes().all(inner) && !part.starts_with('-') && !part.ends_with('-')
    };
    let reason = if !domain.split('.').all(legal) {
        "it must consist of lower-case letters, digits, `-` and `.`, and each part must begin and end with a letter or digit"
            .to_owned()
    } else if let Some(part) = domain.split('.').find(|part| part.len() > LONGEST_LABEL) {
        format!("`{part}` is longer than {LONGEST_LABEL} characters")
    } else if domain.len() > LONGEST {
        format!("it is longer than {LONGEST} characters")
    } else if "router-.".len() + controller.name.len() + domain.len() > LONGEST_NAME {
        format!(
            "router-{}.DOMAIN is longer than {LONGEST_NAME} characters",
            controller.name
        )
    } else {
        return None;
    };
    let message = format!(
        "the API server rejects the domain `{domain}` of ingress controller `{}`: {reason}",
        controller.name
    );
    Some(PlacementProblem::new(ProblemKind::IngressDomainName, message))
}
