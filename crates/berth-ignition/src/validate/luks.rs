//! Encrypted volumes.

use ignition_config::v3_5 as types;

use super::{At, Report, check_path, resource, text};
use crate::{SpecVersion, url};

/// The field on disk has 48 bytes with the terminator.
const LABEL_MAX: usize = 47;

pub(super) fn check(list: Option<&[types::Luks]>, at: At<'_>, report: &mut Report) {
    report.duplicates(at, list, |luks| &luks.name);
    for (index, luks) in list.into_iter().flatten().enumerate() {
        check_volume(luks, at.index(index), report);
    }
}

fn check_volume(luks: &types::Luks, at: At<'_>, report: &mut Report) {
    if luks.name.contains('/') {
        report.error(at.key("name"), "the name has a slash");
    }
    if text(luks.label.as_deref()).is_some_and(|label| label.len() > LABEL_MAX) {
        report.error(at.key("label"), format!("the label is longer than {LABEL_MAX} bytes"));
    }
    match text(luks.device.as_deref()) {
        None => report.error(at.key("device"), "a device is required"),
        Some(device) => report.on_error(at.key("device"), check_path(device)),
    }
    if let Some(key_file) = &luks.key_file {
        resource::check(key_file, at.key("keyFile"), report);
    }
    let express = luks.cex.as_ref().is_some_and(|cex| cex.enabled == Some(true));
    let Some(clevis) = &luks.clevis else {
        return;
    };
    let pinned = is_pinned(clevis);
    let custom = clevis
        .custom
        .as_ref()
        .is_some_and(|custom| text(custom.pin.as_deref()).is_some());
    if custom && pinned {
        report.error(at.key("clevis"), "a custom pin excludes tang, tpm2 and threshold");
    }
    if express && (custom || pinned) {
        report.error(at.key("cex"), "cex and clevis exclude each other");
    }
    let at = at.key("clevis");
    if let Some(custom) = &clevis.custom {
        check_custom(custom, at.key("custom"), report);
    }
    let tang = at.key("tang");
    report.duplicates(tang, clevis.tang.as_deref(), |tang| {
        tang.url.as_deref().unwrap_or_default()
    });
    for (index, server) in clevis.tang.iter().flatten().enumerate() {
        check_tang(server, tang.index(index), report);
    }
}

fn is_pinned(clevis: &types::Clevis) -> bool {
    clevis.tang.as_ref().is_some_and(|tang| !tang.is_empty())
        || clevis.tpm2 == Some(true)
        || clevis.threshold.is_some_and(|threshold| threshold != 0)
}

fn check_custom(custom: &types::ClevisCustom, at: At<'_>, report: &mut Report) {
    let (pin, config) = (text(custom.pin.as_deref()), text(custom.config.as_deref()));
    // Since 3.3 asking for the network counts as using the section.
    let network = custom.needs_network == Some(true) && report.version >= SpecVersion::V3_3;
    if pin.is_none() && config.is_none() && !network {
        return;
    }
    match pin {
        Some("tpm2" | "tang" | "sss") => {}
        Some(pin) => report.error(at.key("pin"), format!("the pin `{pin}` is not known")),
        None => report.error(at.key("pin"), "a pin is required"),
    }
    if config.is_none() {
        report.error(at.key("config"), "a config is required");
    }
}

fn check_tang(tang: &types::Tang, at: At<'_>, report: &mut Report) {
    match url::parse(tang.url.as_deref().unwrap_or_default()) {
        Some(url) if matches!(url.scheme.as_str(), "http" | "https") => {}
        Some(_) => report.error(at.key("url"), "the URL must be http or https"),
        None => report.error(at.key("url"), "the URL cannot be parsed"),
    }
    if text(tang.thumbprint.as_deref()).is_none() {
        report.error(at.key("thumbprint"), "a thumbprint is required");
    }
    if let Some(advertisement) = text(tang.advertisement.as_deref())
        && serde_json::from_str::<serde::de::IgnoredAny>(advertisement).is_err()
    {
        report.error(at.key("advertisement"), "the advertisement is not JSON");
    }
}
