//! What Metal3's webhook and Assisted Service reject about a machine: its management controller, boot card, disks and annotations.

use berth_documents::{Document, Node};
use berth_labels::{LabelKey, LabelValue};
use berth_site::{BmcAddress, is_boot_mac, root_device_problem};
use serde_json::Value;

mod spec;

use super::{
    Findings,
    model::{Hub, Text, annotation, name, namespace, text_at},
};
use crate::{
    lints,
    names::{AGENT_LABEL, BMAC, INFRA_ENV},
    rules::installer_args_problem,
};

/// Annotation that switches the inspection of a host off.
const INSPECT: &str = "inspect.metal3.io";

/// Annotation with the hardware of a host that is not inspected.
const HARDWARE: &str = "inspect.metal3.io/hardwaredetails";

/// Annotation with the status of a host that is moved from another cluster.
const STATUS: &str = "baremetalhost.metal3.io/status";

/// Annotation that reboots a host.
const REBOOT: &str = "reboot.metal3.io";

/// What all forms say of a machine.
#[derive(Clone, Copy, Debug)]
struct Machine<'a> {
    name: Text<'a>,
    bmc: Option<Text<'a>>,
    mac: Option<Text<'a>>,
    boot_mode: Option<Text<'a>>,
    hints: Option<&'a Node>,
    installer_args: Option<Text<'a>>,
    /// The machine is not inspected.
    uninspected: bool,
    /// Templates put the installer arguments between apostrophes.
    quoted: bool,
}

pub(super) fn check(hub: &Hub<'_>, findings: &mut Findings) {
    for document in hub.of_kind("BareMetalHost") {
        let (Some((text, span)), Some(spec)) = (document.name(), document.body()) else {
            continue;
        };
        let own = Text { text, span };
        let machine = Machine {
            name: own,
            bmc: text_at(spec, &["bmc", "address"]).filter(|address| !address.text.is_empty()),
            mac: text_at(spec, &["bootMACAddress"]).filter(|mac| !mac.text.is_empty()),
            boot_mode: text_at(spec, &["bootMode"]),
            hints: spec.get("rootDeviceHints"),
            installer_args: annotation(document, &format!("{BMAC}/installer-args")),
            uninspected: is_uninspected(document, spec),
            quoted: false,
        };
        common(machine, findings);
        host(hub, document, spec, machine, findings);
    }
    let nodes = |list: Option<&'_ Node>| list.and_then(Node::as_seq).map(<[Node]>::to_vec).unwrap_or_default();
    for instance in hub.of_kind("ClusterInstance") {
        for node in nodes(instance.body().and_then(|spec| spec.get("nodes"))) {
            of_list(&node, findings);
        }
    }
    for config in hub.of_kind("SiteConfig") {
        for cluster in nodes(config.body().and_then(|spec| spec.get("clusters"))) {
            for node in nodes(cluster.get("nodes")) {
                of_list(&node, findings);
            }
        }
    }
}

/// A node of a `ClusterInstance` or `SiteConfig`.
fn of_list(node: &Node, findings: &mut Findings) {
    let Some(name) = text_at(node, &["hostName"]) else {
        return;
    };
    let filled = |key: &str| text_at(node, &[key]).filter(|text| !text.text.is_empty());
    let machine = Machine {
        name,
        bmc: filled("bmcAddress"),
        mac: filled("bootMACAddress"),
        boot_mode: filled("bootMode"),
        hints: node.get("rootDeviceHints"),
        installer_args: filled("installerArgs"),
        uninspected: text_at(node, &["ironicInspect"]).is_some_and(|text| text.text == "disabled"),
        quoted: true,
    };
    common(machine, findings);
    for card in node
        .at(&["nodeNetwork", "interfaces"])
        .and_then(Node::as_seq)
        .unwrap_or_default()
    {
        network_card(card, findings);
    }
}

fn is_uninspected(document: &Document, spec: &Node) -> bool {
    let by_annotation = annotation(document, INSPECT).is_some_and(|text| text.text == "disabled");
    let mode = text_at(spec, &["inspectionMode"]);
    by_annotation || mode.is_some_and(|mode| mode.text == "disabled")
}

fn common(machine: Machine<'_>, findings: &mut Findings) {
    let host = machine.name.text;
    let driver = machine.bmc.and_then(|address| controller(address, host, findings));
    if let Some(mac) = machine.mac.filter(|mac| !is_boot_mac(mac.text)) {
        findings.add_with_help(
            &lints::VALUE,
            mac.span,
            format!("`{}` of `{host}` is not a MAC address", mac.text),
            "write six pairs of hexadecimal digits with colons, such as 52:54:00:12:34:56",
        );
    }
    if let (Some(driver), None) = (&driver, machine.mac)
        && (driver.needs_mac() || machine.uninspected)
    {
        findings.add(
            &lints::BMC,
            machine.bmc.map_or(machine.name.span, |address| address.span),
            format!("BMC driver {} requires a bootMACAddress for `{host}`", driver.scheme()),
        );
    }
    if let (Some(driver), Some(mode)) = (&driver, machine.boot_mode)
        && mode.text == "UEFISecureBoot"
        && !driver.is_redfish()
    {
        findings.add(
            &lints::BMC,
            mode.span,
            format!("BMC driver {} does not support secure boot", driver.scheme()),
        );
    }
    if let Some(device) = machine.hints.and_then(|hints| text_at(hints, &["deviceName"]))
        && let Some(problem) = root_device_problem(device.text)
    {
        findings.add_with_help(
            &lints::VALUE,
            device.span,
            format!("the root device hint of `{host}` is rejected: {problem}"),
            "use /dev/NAME or /dev/disk/by-path/NAME, or another hint such as wwn",
        );
    }
    if let Some(args) = machine.installer_args {
        let problem = installer_args_problem(args.text).or_else(|| {
            let apostrophe = machine.quoted && args.text.contains('\'');
            apostrophe.then(|| "an apostrophe ends the quotes that the template puts around them".to_owned())
        });
        if let Some(problem) = problem {
            findings.add(
                &lints::INSTALLER_ARGS,
                args.span,
                format!("the installer arguments of `{host}` are rejected: {problem}"),
            );
        }
    }
}

/// The management controller, as far as it can be read.
fn controller(address: Text<'_>, host: &str, findings: &mut Findings) -> Option<BmcAddress> {
    let read = match address.text.parse::<BmcAddress>() {
        Ok(read) => read,
        Err(error) => {
            findings.add_with_help(
                &lints::BMC,
                address.span,
                format!("the BMC address of `{host}` is rejected: {error}"),
                &error.help(),
            );
            return None;
        }
    };
    if let Some(problem) = read.unusable() {
        findings.add(
            &lints::BMC_UNUSABLE,
            address.span,
            format!("the BMC address of `{host}` is accepted and cannot work: {problem}"),
        );
    }
    if read.has_credentials() {
        findings.add_with_help(
            &lints::BMC_UNUSABLE,
            address.span,
            format!("the BMC address of `{host}` holds credentials, which are not used"),
            "put them in the Secret that credentialsName names",
        );
    }
    Some(read)
}

/// MAC addresses of a static network are those of Ethernet cards.
fn network_card(card: &Node, findings: &mut Findings) {
    let Some(mac) = text_at(card, &["macAddress"]).filter(|mac| !mac.text.is_empty()) else {
        return;
    };
    if mac.text.parse::<berth_site::MacAddress>().is_err() {
        findings.add_with_help(
            &lints::VALUE,
            mac.span,
            format!("`{}` is not a MAC address", mac.text),
            "write six pairs of hexadecimal digits with colons, such as 52:54:00:12:34:56",
        );
    }
}

/// The cards of an `NMStateConfig`: written as MAC addresses, and each once.
pub(super) fn cards(spec: &Node, findings: &mut Findings) {
    let cards = spec.get("interfaces").and_then(Node::as_seq).unwrap_or_default();
    for (index, card) in cards.iter().enumerate() {
        network_card(card, findings);
        for key in ["name", "macAddress"] {
            let Some(own) = text_at(card, &[key]) else { continue };
            let same =
                |other: &Node| text_at(other, &[key]).is_some_and(|other| other.text.eq_ignore_ascii_case(own.text));
            if cards.iter().take(index).any(same) {
                findings.add(
                    &lints::NMSTATE,
                    own.span,
                    format!(
                        "{} is there twice: MACs and interfaces for a host must be unique",
                        own.text
                    ),
                );
            }
        }
    }
}

/// What only a `BareMetalHost` can say.
fn host(hub: &Hub<'_>, document: &Document, spec: &Node, machine: Machine<'_>, findings: &mut Findings) {
    let own = machine.name;
    if is_uuid(own.text) {
        findings.add(&lints::VALUE, own.span, "the name of a BareMetalHost cannot be a UUID");
    }
    let assisted = document.labels().is_some_and(|labels| labels.get(INFRA_ENV).is_some());
    if assisted && machine.mac.is_none() {
        findings.add(
            &lints::UNPAIRED,
            own.span,
            format!(
                "`{}` has no bootMACAddress, by which the hub pairs hosts with agents",
                own.text
            ),
        );
    }
    annotations(hub, document, spec, machine, findings);
    power(spec, findings);
    spec::check(spec, machine, findings);
    let there = namespace(document).unwrap_or_default();
    for key in ["userData", "networkData", "metaData"] {
        if let Some(other) = text_at(spec, &[key, "namespace"])
            && !other.text.is_empty()
            && other.text != there
        {
            findings.add(
                &lints::VALUE,
                other.span,
                format!(
                    "`spec.{key}` refers to a Secret of namespace `{}`: it must be in `{there}`",
                    other.text
                ),
            );
        }
    }
}

fn power(spec: &Node, findings: &mut Findings) {
    let says = |key: &str, value: bool| {
        let node = spec.get(key)?;
        (node.as_bool() == Some(value)).then_some(node)
    };
    if let (Some(node), Some(_)) = (says("disablePowerOff", true), says("online", false)) {
        findings.add(
            &lints::VALUE,
            node.span,
            "a host cannot be offline (`online: false`) while power off is disabled",
        );
    }
}

fn annotations(hub: &Hub<'_>, document: &Document, spec: &Node, machine: Machine<'_>, findings: &mut Findings) {
    let bmac = |what: &str| annotation(document, &format!("{BMAC}/{what}"));
    if let Some(role) = bmac("role")
        && !["master", "worker", "arbiter", "auto-assign", ""].contains(&role.text)
    {
        findings.add_with_help(
            &lints::VALUE,
            role.span,
            format!("unsupported role `{}`", role.text),
            "supported: master, worker, arbiter, auto-assign",
        );
    }
    if let Some(reference) = bmac("cluster-reference").filter(|reference| !reference.text.is_empty()) {
        let parts: Vec<&str> = reference.text.split('/').collect();
        if parts.len() != 2 || parts.iter().any(|part| part.is_empty()) {
            findings.add_with_help(
                &lints::VALUE,
                reference.span,
                format!("`{}` is not a reference to a cluster", reference.text),
                "write NAMESPACE/NAME",
            );
        }
        let env = document.labels().and_then(|labels| labels.get(INFRA_ENV)?.as_str());
        let bound = hub.of_kind("InfraEnv").any(|other| {
            name(other) == env
                && namespace(other) == namespace(document)
                && other.body().is_some_and(|spec| spec.get("clusterRef").is_some())
        });
        if bound {
            findings.add(
                &lints::VALUE,
                reference.span,
                format!(
                    "`{}` has a cluster reference, and its InfraEnv has a clusterRef already",
                    machine.name.text
                ),
            );
        }
    }
    let inspect = annotation(document, INSPECT);
    if let Some(inspect) = inspect.filter(|inspect| !matches!(inspect.text, "" | "disabled")) {
        findings.add_with_help(
            &lints::VALUE,
            inspect.span,
            format!("invalid value `{}` of the {INSPECT} annotation", inspect.text),
            "supported: disabled, or an empty value",
        );
    }
    if let (Some(inspect), Some(mode)) = (
        inspect.filter(|inspect| !inspect.text.is_empty()),
        text_at(spec, &["inspectionMode"]).filter(|mode| !mode.text.is_empty()),
    ) && (inspect.text == "disabled") != (mode.text == "disabled")
    {
        findings.add(
            &lints::VALUE,
            mode.span,
            format!("inspectionMode and the {INSPECT} annotation contradict each other"),
        );
    }
    if let Some(mode) = text_at(spec, &["inspectionMode"]).filter(|mode| mode.text == "fast")
        && let Some(Ok(driver)) = machine.bmc.map(|address| address.text.parse::<BmcAddress>())
        && !driver.is_redfish()
    {
        findings.add(
            &lints::BMC,
            mode.span,
            format!("BMC driver {} does not support fast inspection", driver.scheme()),
        );
    }
    hardware_and_reboots(document, machine, findings);
    status(document, findings);
    agents(document, findings);
}

/// What the service copies to the Agent of the host, or reads when the host is deleted.
fn agents(document: &Document, findings: &mut Findings) {
    for (key, node) in document.annotations().into_iter().flatten() {
        let Some(label) = key.text.strip_prefix(AGENT_LABEL) else {
            continue;
        };
        let key_problem = label.parse::<LabelKey>().err().map(|error| error.to_string());
        let value_problem = || Some(node.as_str()?.parse::<LabelValue>().err()?.to_string());
        let Some(problem) = key_problem.or_else(value_problem) else {
            continue;
        };
        findings.add(
            &lints::VALUE,
            key.span,
            format!("`{label}` cannot become a label of the Agent, which then gets nothing of the host: {problem}"),
        );
    }
    if let Some(timeout) = annotation(document, &format!("{BMAC}/drain-timeout"))
        && !is_go_duration(timeout.text)
    {
        findings.add_with_help(
            &lints::VALUE,
            timeout.span,
            format!("`{}` is not a duration", timeout.text),
            "write a number with its unit, such as 90s or 1h30m",
        );
    }
}

/// Whether Go's `time.ParseDuration` takes a text.
fn is_go_duration(text: &str) -> bool {
    let mut rest = text.strip_prefix(['-', '+']).unwrap_or(text);
    if rest == "0" {
        return true;
    }
    while !rest.is_empty() {
        let number = rest
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .unwrap_or(rest.len());
        let (digits, after) = rest.split_at(number);
        let unit = after
            .find(|c: char| c.is_ascii_digit() || c == '.')
            .unwrap_or(after.len());
        let (unit, after) = after.split_at(unit);
        let is_number = digits.bytes().any(|byte| byte.is_ascii_digit()) && digits.matches('.').count() <= 1;
        if !is_number || !["ns", "us", "\u{b5}s", "\u{3bc}s", "ms", "s", "m", "h"].contains(&unit) {
            return false;
        }
        rest = after;
    }
    !text.trim_start_matches(['-', '+']).is_empty()
}

fn hardware_and_reboots(document: &Document, machine: Machine<'_>, findings: &mut Findings) {
    if let Some(details) = annotation(document, HARDWARE).filter(|details| !details.text.is_empty()) {
        if !machine.uninspected {
            findings.add(
                &lints::VALUE,
                details.span,
                format!("the {HARDWARE} annotation needs an inspection that is disabled"),
            );
        }
        if !is_object(details.text) {
            findings.add(
                &lints::VALUE,
                details.span,
                format!("the {HARDWARE} annotation is not a JSON object"),
            );
        }
    }
    for (key, node) in document.annotations().into_iter().flatten() {
        let reboots = &*key.text == REBOOT || key.text.strip_prefix(REBOOT).is_some_and(|rest| rest.starts_with('/'));
        let Some(text) = node.as_str().filter(|text| reboots && !text.is_empty()) else {
            continue;
        };
        let mode = serde_json::from_str::<Value>(text).ok().and_then(|value| {
            let map = value.as_object()?;
            Some(map.get("mode").and_then(Value::as_str).unwrap_or_default().to_owned())
        });
        if mode.is_none_or(|mode| !matches!(&*mode, "" | "hard" | "soft")) {
            findings.add_with_help(
                &lints::VALUE,
                node.span,
                format!("invalid value of the {} annotation", key.text),
                "write {\"mode\": \"hard\"} or {\"mode\": \"soft\"}, or leave it empty",
            );
        }
    }
}

/// The status that Metal3 takes over from an annotation.
fn status(document: &Document, findings: &mut Findings) {
    let Some(text) = annotation(document, STATUS).filter(|text| !text.text.is_empty()) else {
        return;
    };
    let mut refuse = |problem: String| {
        let message = format!("the {STATUS} annotation is rejected: {problem}");
        findings.add(&lints::VALUE, text.span, message);
    };
    let read = serde_json::from_str::<Value>(text.text).ok();
    let Some(status) = read.as_ref().and_then(Value::as_object) else {
        return refuse("it is not a JSON object".to_owned());
    };
    for (key, allowed) in [("operationalStatus", OPERATIONAL), ("errorType", ERRORS)] {
        let value = status.get(key).filter(|value| !value.is_null());
        if value.is_some_and(|value| {
            value
                .as_str()
                .is_none_or(|text| !text.is_empty() && !allowed.contains(&text))
        }) {
            refuse(format!(
                "unsupported value of `{key}`; supported: {}",
                allowed.join(", ")
            ));
        }
    }
}

/// What `operationalStatus` may be in the annotation.
const OPERATIONAL: &[&str] = &["OK", "discovered", "error", "delayed", "detached"];

/// What `errorType` may be in the annotation.
const ERRORS: &[&str] = &[
    "provisioned registration error",
    "registration error",
    "inspection error",
    "preparation error",
    "provisioning error",
    "power management error",
];

fn is_object(text: &str) -> bool {
    serde_json::from_str::<Value>(text).is_ok_and(|value| value.is_object())
}

/// Whether a name is 32 hexadecimal digits, with or without the dashes of a UUID.
fn is_uuid(name: &str) -> bool {
    let parts: Vec<usize> = name.split('-').map(str::len).collect();
    let digits = name.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
    digits && matches!(parts.as_slice(), [32] | [8, 4, 4, 4, 12])
}
