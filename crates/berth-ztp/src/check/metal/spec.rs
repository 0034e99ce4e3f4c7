//! What the spec of a `BareMetalHost` says of volumes, images and interfaces.

use berth_documents::Node;
use berth_site::BmcAddress;

use super::{Findings, Machine, text_at};
use crate::lints;

pub(super) fn check(spec: &Node, machine: Machine<'_>, findings: &mut Findings) {
    if let Some(firmware) = spec.get("firmware").filter(|firmware| !firmware.is_null()) {
        findings.add_with_help(
            &lints::VALUE,
            firmware.span,
            "the field `firmware` is no longer supported",
            "use a HostFirmwareSettings object",
        );
    }
    raid(spec, machine, findings);
    interfaces(spec, findings);
    image(spec, findings);
}

fn raid(spec: &Node, machine: Machine<'_>, findings: &mut Findings) {
    let volumes = |key: &str| {
        spec.at(&["raid", key])
            .filter(|node| node.as_seq().is_some_and(|list| !list.is_empty()))
    };
    let (hardware, software) = (volumes("hardwareRAIDVolumes"), volumes("softwareRAIDVolumes"));
    if let (Some(_), Some(software)) = (hardware, software) {
        findings.add(
            &lints::VALUE,
            software.span,
            "hardwareRAIDVolumes and softwareRAIDVolumes cannot be set at the same time",
        );
    }
    if let (Some(hardware), Some(Ok(driver))) = (hardware, machine.bmc.map(|it| it.text.parse::<BmcAddress>()))
        && !driver.is_redfish()
    {
        findings.add(
            &lints::BMC,
            hardware.span,
            format!("BMC driver {} does not support configuring RAID", driver.scheme()),
        );
    }
    for volume in hardware.and_then(Node::as_seq).unwrap_or_default() {
        let disks = volume.get("physicalDisks").and_then(Node::as_seq).unwrap_or_default();
        if !disks.is_empty() && text_at(volume, &["controller"]).is_none_or(|text| text.text.is_empty()) {
            findings.add(
                &lints::VALUE,
                volume.span,
                "`physicalDisks` of a RAID volume needs `controller`",
            );
        }
        let count = volume.get("numberOfPhysicalDisks").and_then(Node::as_u64);
        if let (Some(count), false) = (count, disks.is_empty())
            && usize::try_from(count).ok() != Some(disks.len())
        {
            findings.add(
                &lints::VALUE,
                volume.span,
                format!(
                    "numberOfPhysicalDisks is {count}, and physicalDisks has {}",
                    disks.len()
                ),
            );
        }
    }
    let volumes = software.and_then(Node::as_seq).unwrap_or_default().iter();
    let is_root = |volume: &&Node| volume.get("rootVolume").and_then(Node::as_bool) == Some(true);
    let roots: Vec<&Node> = volumes.filter(is_root).collect();
    root_volume(spec, &roots, findings);
}

/// The software volume that the operating system goes to.
fn root_volume(spec: &Node, roots: &[&Node], findings: &mut Findings) {
    if let [_, second, ..] = roots {
        findings.add(
            &lints::VALUE,
            second.span,
            "only one RAID volume can be the root volume",
        );
    }
    if let ([root], Some(hints)) = (roots, spec.get("rootDeviceHints").filter(|hints| !hints.is_null())) {
        findings.add_related(
            &lints::VALUE,
            hints.span,
            "`rootDeviceHints` and `rootVolume` of a RAID volume cannot be set at the same time".to_owned(),
            root.span,
            "the root volume",
        );
    }
    for root in roots {
        if let Some(level) = text_at(root, &["level"]).filter(|level| level.text != "1") {
            findings.add(
                &lints::VALUE,
                level.span,
                format!("the root volume has RAID level {} and must have level 1", level.text),
            );
        }
    }
}

/// Interfaces are selected by their name or their MAC address.
fn interfaces(spec: &Node, findings: &mut Findings) {
    let mut seen: Vec<String> = Vec::new();
    for entry in spec.get("networkInterfaces").and_then(Node::as_seq).unwrap_or_default() {
        let own = |key: &str| text_at(entry, &[key]).filter(|text| !text.text.is_empty());
        let problem = match (own("name"), own("macAddress")) {
            (None, None) => Some("an interface needs `name` or `macAddress`".to_owned()),
            (Some(_), Some(_)) => Some("`name` and `macAddress` of an interface exclude each other".to_owned()),
            (Some(name), None) => {
                let legal = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
                let wrong = !name.text.bytes().all(legal);
                wrong.then(|| format!("`{}` is not the name of an interface", name.text))
            }
            (None, Some(mac)) => {
                let wrong = mac.text.parse::<berth_site::MacAddress>().is_err();
                wrong.then(|| format!("`{}` is not a MAC address", mac.text))
            }
        };
        let key = own("name")
            .or_else(|| own("macAddress"))
            .map(|text| text.text.to_ascii_lowercase());
        let twice = key.as_ref().filter(|key| seen.contains(key));
        let problem = problem.or_else(|| Some(format!("`{}` is selected twice", twice?)));
        if let Some(problem) = problem {
            findings.add(&lints::VALUE, entry.span, problem);
        }
        seen.extend(key);
    }
}

fn image(spec: &Node, findings: &mut Findings) {
    let Some(image) = spec.get("image").filter(|image| image.as_map().is_some()) else {
        return;
    };
    let url = text_at(image, &["url"]).map_or("", |text| text.text);
    let scheme = url.split_once("://").map(|(scheme, _)| scheme.to_ascii_lowercase());
    if !scheme.is_some_and(|scheme| matches!(&*scheme, "http" | "https" | "ftp" | "gopher" | "oci")) {
        findings.add(&lints::VALUE, image.span, format!("the image URL `{url}` is invalid"));
        return;
    }
    let live = text_at(image, &["format"]).is_some_and(|format| format.text == "live-iso");
    let oci = url.to_ascii_lowercase().starts_with("oci://");
    let checksum = text_at(image, &["checksum"]).filter(|checksum| !checksum.text.is_empty());
    if let (true, Some(checksum)) = (oci, checksum) {
        findings.add(
            &lints::VALUE,
            checksum.span,
            "an image from a registry has no `checksum`: its digest is in the registry",
        );
    }
    if !live && !oci && checksum.is_none() {
        findings.add(
            &lints::VALUE,
            image.span,
            "an image that is written to disk needs `checksum`",
        );
    }
    if let Some(kind) = text_at(image, &["checksumType"])
        && !["", "md5", "sha256", "sha512", "auto"].contains(&kind.text)
    {
        findings.add(
            &lints::VALUE,
            kind.span,
            format!("unknown checksumType `{}`", kind.text),
        );
    }
}
