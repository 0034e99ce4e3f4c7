//! The section that Ignition is told about itself.

use ignition_config::v3_5 as types;

use super::{At, Report, resource, text};
use crate::{SpecVersion, url};

pub(super) fn check(ignition: &types::Ignition, at: At<'_>, report: &mut Report) {
    if let Some(config) = &ignition.config {
        let at = at.key("config");
        let merge = at.key("merge");
        // Before 3.1 a reference without a source was let through.
        let required = report.version >= SpecVersion::V3_1;
        check_sources(config.merge.as_deref(), merge, required, report);
        if let Some(replace) = &config.replace {
            resource::check(replace, at.key("replace"), report);
        }
    }
    let tls = ignition.security.as_ref().and_then(|security| security.tls.as_ref());
    if let Some(tls) = tls {
        let security = at.key("security");
        let tls_at = security.key("tls");
        let at = tls_at.key("certificateAuthorities");
        check_sources(tls.certificate_authorities.as_deref(), at, true, report);
    }
    if let Some(proxy) = &ignition.proxy {
        let at = at.key("proxy");
        check_proxy(proxy.http_proxy.as_deref(), at.key("httpProxy"), true, report);
        check_proxy(proxy.https_proxy.as_deref(), at.key("httpsProxy"), false, report);
        report.duplicates(at.key("noProxy"), proxy.no_proxy.as_deref(), String::as_str);
    }
}

fn check_sources(list: Option<&[types::Resource]>, at: At<'_>, required: bool, report: &mut Report) {
    report.duplicates(at, list, |resource| resource.source.as_deref().unwrap_or_default());
    for (index, entry) in list.into_iter().flatten().enumerate() {
        let at = at.index(index);
        if required && text(entry.source.as_deref()).is_none() {
            report.error(at, "a source is required");
        }
        resource::check(entry, at, report);
    }
}

fn check_proxy(proxy: Option<&str>, at: At<'_>, plain: bool, report: &mut Report) {
    let Some(proxy) = proxy else {
        return;
    };
    match url::parse(proxy) {
        None => report.error(at, "the URL cannot be parsed"),
        Some(url) => match url.scheme.as_str() {
            "https" => {}
            "http" if plain => {}
            "http" => report.warning(at, "a plain HTTP proxy is used for HTTPS resources"),
            _ => report.error(at, "a proxy must be http or https"),
        },
    }
}
