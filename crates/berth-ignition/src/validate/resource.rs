//! Sources, their hashes, compression and headers.

use ignition_config::v3_5 as types;

use super::{At, Report, text};
use crate::{SpecVersion, data_url, url};

const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

pub(super) fn check(resource: &types::Resource, at: At<'_>, report: &mut Report) {
    let gzip = match resource.compression.as_deref() {
        None | Some("") => false,
        Some(data_url::GZIP) => true,
        Some(other) => {
            let message = format!("the compression `{other}` is not known; use gzip");
            report.error(at.key("compression"), message);
            false
        }
    };
    let verification = resource.verification.as_ref();
    if let Some(hash) = verification.and_then(|verification| verification.hash.as_deref()) {
        let verification = at.key("verification");
        check_hash(hash, verification.key("hash"), report);
        if resource.source.is_none() {
            report.error(verification.key("hash"), "a hash needs a source");
        }
    }
    if let Some(source) = text(resource.source.as_deref()) {
        match check_source(source, report.version) {
            Err(message) => report.error(at.key("source"), message),
            Ok(Some(data)) if gzip && !data.is_empty() && !data.starts_with(&GZIP_MAGIC) => {
                report.warning(
                    at.key("source"),
                    "the data is not gzip, so the file will not be written",
                );
            }
            Ok(_) => {}
        }
    }
    check_headers(resource, at.key("httpHeaders"), report);
}

/// Checks a URL; gives the data of a data URL.
pub(super) fn check_source(source: &str, version: SpecVersion) -> Result<Option<Vec<u8>>, String> {
    let url = url::parse(source).ok_or("the URL cannot be parsed")?;
    let object_version = || {
        if url.has_empty_parameter("versionId") {
            return Err("the versionId of the S3 object is empty".to_owned());
        }
        Ok(None)
    };
    let too_new = |needs: SpecVersion| {
        let message = format!("the URL scheme `{}` needs spec {needs}", url.scheme);
        if version >= needs { Ok(()) } else { Err(message) }
    };
    match url.scheme.as_str() {
        "http" | "https" | "tftp" => Ok(None),
        "gs" => too_new(SpecVersion::V3_2).map(|()| None),
        "s3" => object_version(),
        "arn" => {
            too_new(SpecVersion::V3_4)?;
            if !is_s3_arn(url.rest) {
                return Err("the ARN does not name an S3 object".to_owned());
            }
            object_version()
        }
        "data" => data_url::decode_data_url(source)
            .map(Some)
            .map_err(|error| error.to_string()),
        other => Err(format!("the URL scheme `{other}` is not known")),
    }
}

/// `aws:s3:REGION:ACCOUNT:RESOURCE` with an object in a bucket or access point.
fn is_s3_arn(rest: &str) -> bool {
    let mut parts = rest.splitn(5, ':');
    let service = parts.nth(1);
    let Some(resource) = parts.nth(2) else {
        return false;
    };
    let slashes = rest.matches('/').count();
    let needed = if resource.starts_with("accesspoint/") { 2 } else { 1 };
    service == Some("s3") && slashes >= needed
}

fn check_hash(hash: &str, at: At<'_>, report: &mut Report) {
    let Some((function, sum)) = hash.split_once('-') else {
        report.error(at, "the hash is not of the form FUNCTION-SUM");
        return;
    };
    let length = match function {
        "sha512" => 128,
        "sha256" if report.version >= SpecVersion::V3_1 => 64,
        "sha256" => {
            report.error(at, format!("the hash function sha256 needs spec {}", SpecVersion::V3_1));
            return;
        }
        other => {
            report.error(at, format!("the hash function `{other}` is not known"));
            return;
        }
    };
    if sum.len() != length {
        report.error(at, format!("the sum of {function} must have {length} digits"));
    } else if !sum.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        report.warning(at, "the sum is not hexadecimal, so nothing can match it");
    }
}

fn check_headers(resource: &types::Resource, at: At<'_>, report: &mut Report) {
    report.duplicates(at, resource.http_headers.as_deref(), |header| &header.name);
    let headers = resource.http_headers.as_deref().unwrap_or_default();
    for (index, header) in headers.iter().enumerate() {
        let at = at.index(index);
        if header.name.is_empty() {
            report.error(at.key("name"), "the header has no name");
        }
        if header.value.as_deref() == Some("") {
            report.error(at.key("value"), "the header has no value");
        }
    }
    if headers.is_empty() {
        return;
    }
    match text(resource.source.as_deref()).and_then(url::parse) {
        Some(url) if matches!(url.scheme.as_str(), "http" | "https") => {}
        Some(_) => report.error(at, "headers can only be sent to http and https sources"),
        None => report.error(at, "headers need a source that can be parsed"),
    }
}
