//! From the fields of a `ControllerConfig` to the values that templates have, each checked for where it is written to.

use std::collections::BTreeMap;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Map, Value};

use super::{PULL_SECRET, TemplateFinding, TemplateInput, TemplateObject, template_references};
use crate::render::yaml;

/// Values by name. One that is not there is an empty list.
pub(super) type Values = BTreeMap<&'static str, Vec<String>>;

/// What a `ControllerConfig` says.
#[derive(Debug, Default)]
pub(super) struct Settings {
    pub(super) family: String,
    pub(super) values: Values,
    /// The values that differ from registry to registry.
    pub(super) registries: Vec<Values>,
    pub(super) ssh_keys: Vec<String>,
}

const FAMILIES: [&str; 2] = ["debian", "fedora"];

/// Runtimes with what the kubelet has to know of them.
const RUNTIMES: [(&str, &str, &str); 2] = [
    (
        "containerd",
        "containerd.service",
        "unix:///run/containerd/containerd.sock",
    ),
    ("cri-o", "crio.service", "unix:///var/run/crio/crio.sock"),
];

const FIELDS: [&str; 10] = [
    "clusterDomain",
    "containerRuntime",
    "family",
    "imageCredentialProviders",
    "kubelet",
    "ntpServers",
    "registries",
    "sshAuthorizedKeys",
    "sysctls",
    "templates",
];

/// Reads everything, and says everything that is wrong.
pub(super) fn settings(input: &TemplateInput<'_>, findings: &mut Vec<TemplateFinding>) -> Settings {
    let mut reader = Reader { findings };
    let none = Map::new();
    let spec = input.spec.as_object().unwrap_or(&none);
    let berth = reader.object(spec, "spec", "berth").unwrap_or(&none);
    let mut settings = Settings::default();
    let at = "spec.berth";
    reader.known(berth, at, &FIELDS);

    settings.family = reader.choice(berth, at, "family", &FAMILIES, None);
    let names = RUNTIMES.map(|(name, ..)| name);
    let runtime = reader.choice(berth, at, "containerRuntime", &names, Some("containerd"));
    let (_, unit, endpoint) = RUNTIMES
        .into_iter()
        .find(|(name, ..)| *name == runtime)
        .unwrap_or_default();
    let flag = |name: &str| {
        if runtime == name {
            vec!["true".to_owned()]
        } else {
            Vec::new()
        }
    };
    let values = &mut settings.values;
    values.insert("containerd", flag("containerd"));
    values.insert("crio", flag("cri-o"));
    values.insert("runtimeUnit", vec![unit.to_owned()]);
    values.insert("runtimeEndpoint", vec![endpoint.to_owned()]);

    let address = reader.text(
        spec,
        "spec",
        "clusterDNSIP",
        |text| text.parse::<std::net::IpAddr>().is_ok(),
        "an IP address",
    );
    if address.is_none() {
        reader.required(
            spec,
            "spec",
            "clusterDNSIP",
            "write the address of the Service of the cluster's DNS",
        );
    }
    values.insert("clusterDNSIP", address.into_iter().collect());
    let domain = reader.text(
        berth,
        at,
        "clusterDomain",
        is_domain,
        "a DNS domain in lower-case letters",
    );
    values.insert(
        "clusterDomain",
        vec![domain.unwrap_or_else(|| "cluster.local".to_owned())],
    );
    let kubelet = reader.object(berth, at, "kubelet").unwrap_or(&none);
    reader.known(kubelet, "spec.berth.kubelet", &["path"]);
    let path = reader.text(
        kubelet,
        "spec.berth.kubelet",
        "path",
        is_path,
        "an absolute path without spaces",
    );
    values.insert(
        "kubeletPath",
        vec![path.unwrap_or_else(|| "/usr/bin/kubelet".to_owned())],
    );

    reader.all_certificates(spec, values);
    reader.proxy(spec, values);
    let images = reader.object(spec, "spec", "images").unwrap_or(&none);
    let image = reader.text(images, "spec.images", "infraImageKey", is_plain, "the name of an image");
    values.insert("sandboxImage", image.into_iter().collect());

    let host = "a name or an address";
    values.insert("ntpServers", reader.texts(berth, at, "ntpServers", is_host, host));
    values.insert("sysctls", reader.sysctls(berth));
    settings.ssh_keys = reader.texts(
        berth,
        at,
        "sshAuthorizedKeys",
        is_ssh_key,
        "a public key such as `ssh-ed25519 AAAA…`",
    );
    reader.credential_providers(berth, values);
    let registries = reader.registries(berth, runtime == "containerd");
    values.insert("registries", registries.iter().map(Registry::crio).collect());
    settings.registries = registries.iter().map(Registry::containerd).collect();
    // Known names, also where there is no registry to fill them in for.
    for name in ["registry", "registryServer", "registryHosts"] {
        settings.values.insert(name, Vec::new());
    }
    reader.references(spec, berth, input, &mut settings.values);
    settings
}

/// The credentials in a Secret.
pub(super) fn pull_secret(secret: &Value) -> Result<String, String> {
    const KEY: &str = ".dockerconfigjson";
    let member = |map: &str| secret.get(map)?.get(KEY)?.as_str();
    let text = match (member("stringData"), member("data")) {
        (Some(text), _) => text.to_owned(),
        (None, Some(data)) => {
            let bytes = STANDARD
                .decode(data.trim())
                .map_err(|error| format!("data[{KEY}] is not base64: {error}"))?;
            String::from_utf8(bytes).map_err(|_| format!("data[{KEY}] is not text"))?
        }
        (None, None) => {
            return Err(format!(
                "it has no data[{KEY}]; its type must be kubernetes.io/dockerconfigjson"
            ));
        }
    };
    let is_right =
        serde_json::from_str::<Value>(&text).is_ok_and(|json| json.get("auths").is_some_and(Value::is_object));
    is_right
        .then_some(text)
        .ok_or_else(|| format!("data[{KEY}] is not JSON with `auths`"))
}

struct Reader<'a> {
    findings: &'a mut Vec<TemplateFinding>,
}

impl Reader<'_> {
    fn wrong(&mut self, path: String, message: impl Into<String>, help: impl Into<String>) {
        self.findings.push(TemplateFinding {
            object: TemplateObject::ControllerConfig,
            path,
            message: message.into(),
            help: help.into(),
            is_missing_object: false,
        });
    }

    /// A field that must be there, unless what is there has been found wrong already.
    fn required(&mut self, map: &Map<String, Value>, at: &str, name: &str, help: &str) {
        let is_there = map.get(name).is_some_and(|value| !value.is_null() && value != "");
        if !is_there {
            self.wrong(format!("{at}.{name}"), "the field is missing", help);
        }
    }

    fn known(&mut self, map: &Map<String, Value>, at: &str, fields: &[&str]) {
        for name in map.keys().filter(|name| !fields.contains(&name.as_str())) {
            self.wrong(
                format!("{at}.{name}"),
                "there is no such field",
                format!("the fields of {at} are {}", fields.join(", ")),
            );
        }
    }

    fn object<'v>(&mut self, map: &'v Map<String, Value>, at: &str, name: &str) -> Option<&'v Map<String, Value>> {
        match map.get(name) {
            None | Some(Value::Null) => None,
            Some(Value::Object(object)) => Some(object),
            Some(_) => {
                self.wrong(format!("{at}.{name}"), "it is not a mapping", "");
                None
            }
        }
    }

    fn text(
        &mut self,
        map: &Map<String, Value>,
        at: &str,
        name: &str,
        is_right: fn(&str) -> bool,
        what: &str,
    ) -> Option<String> {
        match map.get(name) {
            None | Some(Value::Null) => None,
            Some(Value::String(text)) if text.is_empty() => None,
            Some(Value::String(text)) if is_right(text) => Some(text.clone()),
            Some(value) => {
                self.wrong(format!("{at}.{name}"), format!("{value} is not {what}"), "");
                None
            }
        }
    }

    fn texts(
        &mut self,
        map: &Map<String, Value>,
        at: &str,
        name: &str,
        is_right: fn(&str) -> bool,
        what: &str,
    ) -> Vec<String> {
        let items = match map.get(name) {
            None | Some(Value::Null) => return Vec::new(),
            Some(Value::Array(items)) => items,
            Some(_) => {
                self.wrong(format!("{at}.{name}"), "it is not a list", "");
                return Vec::new();
            }
        };
        let mut texts: Vec<String> = Vec::new();
        for (index, item) in items.iter().enumerate() {
            match item.as_str().filter(|text| is_right(text)) {
                Some(text) if texts.iter().any(|known| known == text) => {}
                Some(text) => texts.push(text.to_owned()),
                None => self.wrong(format!("{at}.{name}[{index}]"), format!("{item} is not {what}"), ""),
            }
        }
        texts
    }

    fn choice(
        &mut self,
        map: &Map<String, Value>,
        at: &str,
        name: &str,
        choices: &[&str],
        default: Option<&str>,
    ) -> String {
        let help = format!("write {}", choices.join(" or "));
        match (map.get(name), default) {
            (None | Some(Value::Null), Some(default)) => default.to_owned(),
            (None | Some(Value::Null), None) => {
                self.wrong(format!("{at}.{name}"), "the field is missing", help);
                String::new()
            }
            (Some(Value::String(text)), _) if choices.contains(&text.as_str()) => text.clone(),
            (Some(value), _) => {
                self.wrong(format!("{at}.{name}"), format!("{value} is not supported"), help);
                String::new()
            }
        }
    }

    /// Certificates in PEM, written in base64 as OpenShift's type has them.
    fn certificates(&mut self, spec: &Map<String, Value>, name: &str) -> Option<String> {
        let text = match spec.get(name) {
            None | Some(Value::Null) => return None,
            Some(Value::String(text)) if text.is_empty() => return None,
            Some(value) => value.as_str(),
        };
        let decoded = text.and_then(|text| {
            let bytes = STANDARD.decode(text.split_whitespace().collect::<String>()).ok()?;
            String::from_utf8(bytes).ok()
        });
        let is_pem =
            |text: &String| text.contains("-----BEGIN CERTIFICATE-----") && text.contains("-----END CERTIFICATE-----");
        let found = decoded.filter(is_pem);
        if found.is_none() {
            let help = "write the output of `base64 -w0 ca.crt`";
            self.wrong(format!("spec.{name}"), "it is not base64 of certificates in PEM", help);
        }
        found
    }

    fn all_certificates(&mut self, spec: &Map<String, Value>, values: &mut Values) {
        for name in ["rootCAData", "kubeAPIServerServingCAData", "additionalTrustBundle"] {
            let certificates = self.certificates(spec, name);
            if name == "kubeAPIServerServingCAData" && certificates.is_none() {
                let help = "write the certificates, in PEM and then in base64, by which kubelets know the API server when it connects to them";
                self.required(spec, "spec", name, help);
            }
            values.insert(name, certificates.into_iter().collect());
        }
    }

    fn proxy(&mut self, spec: &Map<String, Value>, values: &mut Values) {
        let none = Map::new();
        let proxy = self.object(spec, "spec", "proxy").unwrap_or(&none);
        let mut any = Vec::new();
        for name in ["httpProxy", "httpsProxy", "noProxy"] {
            let text = self.text(proxy, "spec.proxy", name, is_plain, "a text without spaces and quotes");
            // A percent sign is systemd's.
            let text: Vec<String> = text.into_iter().map(|text| text.replace('%', "%%")).collect();
            if !text.is_empty() {
                any = vec!["true".to_owned()];
            }
            values.insert(name, text);
        }
        values.insert("proxy", any);
    }

    fn sysctls(&mut self, berth: &Map<String, Value>) -> Vec<String> {
        let none = Map::new();
        let sysctls = self.object(berth, "spec.berth", "sysctls").unwrap_or(&none);
        let mut lines = Vec::new();
        // In the order of the keys, whatever order they are written in.
        let sysctls: BTreeMap<&String, &Value> = sysctls.iter().collect();
        for (key, value) in sysctls {
            let path = format!("spec.berth.sysctls[{key}]");
            let is_key = |key: &str| {
                let mut bytes = key.bytes();
                key.contains(['.', '/']) && bytes.all(|byte| byte.is_ascii_alphanumeric() || b"._-/*".contains(&byte))
            };
            let text = match value {
                Value::String(text) => {
                    Some(text.clone()).filter(|text| !text.is_empty() && !text.chars().any(char::is_control))
                }
                Value::Number(number) => Some(number.to_string()),
                _ => None,
            };
            match text {
                _ if !is_key(key) => self.wrong(path, "it is not the name of a kernel setting", ""),
                Some(text) => lines.push(format!("{key} = {text}")),
                None => self.wrong(
                    path,
                    format!("{value} is not a value on one line"),
                    "write it as a string",
                ),
            }
        }
        lines
    }

    fn credential_providers(&mut self, berth: &Map<String, Value>, values: &mut Values) {
        let at = "spec.berth.imageCredentialProviders";
        let (mut config, mut folder) = (Vec::new(), Vec::new());
        if let Some(providers) = self.object(berth, "spec.berth", "imageCredentialProviders") {
            self.known(providers, at, &["binDir", "config"]);
            folder.extend(self.text(providers, at, "binDir", is_path, "an absolute path without spaces"));
            self.required(providers, at, "binDir", "write the folder that the programs are in");
            if let Some(said) = self.object(providers, at, "config") {
                if said.get("kind").is_some_and(|kind| kind == "CredentialProviderConfig") {
                    config.push(yaml(&Value::Object(said.clone())));
                } else {
                    self.wrong(format!("{at}.config.kind"), "it is not CredentialProviderConfig", "");
                }
            } else {
                self.required(providers, at, "config", "write the kubelet's CredentialProviderConfig");
            }
        }
        values.insert("credentialProviders", config);
        values.insert("credentialProviderBinDir", folder);
    }

    fn registries(&mut self, berth: &Map<String, Value>, is_containerd: bool) -> Vec<Registry> {
        let items = match berth.get("registries") {
            None | Some(Value::Null) => return Vec::new(),
            Some(Value::Array(items)) => items,
            Some(_) => {
                self.wrong("spec.berth.registries".to_owned(), "it is not a list", "");
                return Vec::new();
            }
        };
        let mut registries: BTreeMap<String, Registry> = BTreeMap::new();
        for (index, item) in items.iter().enumerate() {
            let at = format!("spec.berth.registries[{index}]");
            let Some(item) = item.as_object() else {
                self.wrong(at, "it is not a mapping", "");
                continue;
            };
            self.known(item, &at, &["insecure", "location", "mirrors"]);
            let location = self.text(
                item,
                &at,
                "location",
                is_location,
                "a registry such as `registry.example:5000`",
            );
            let Some(location) = location else {
                self.required(item, &at, "location", "write the registry");
                continue;
            };
            if is_containerd && location.contains('/') {
                let message = format!("containerd has mirrors for whole registries, and `{location}` is a part of one");
                self.wrong(format!("{at}.location"), message, "write the host alone");
                continue;
            }
            let insecure = match item.get("insecure") {
                None | Some(Value::Null) => false,
                Some(Value::Bool(insecure)) => *insecure,
                Some(value) => {
                    self.wrong(format!("{at}.insecure"), format!("{value} is not true or false"), "");
                    false
                }
            };
            let mirrors = self.texts(
                item,
                &at,
                "mirrors",
                is_location,
                "a registry such as `mirror.example/hub`",
            );
            let registry = Registry {
                location: location.clone(),
                mirrors,
                insecure,
            };
            if registries.insert(location.clone(), registry).is_some() {
                self.wrong(format!("{at}.location"), format!("`{location}` is there twice"), "");
            }
        }
        registries.into_values().collect()
    }

    /// The objects that are named.
    fn references(
        &mut self,
        spec: &Map<String, Value>,
        berth: &Map<String, Value>,
        input: &TemplateInput<'_>,
        values: &mut Values,
    ) {
        self.object(spec, "spec", "pullSecret");
        if let Some(templates) = self.object(berth, "spec.berth", "templates") {
            self.known(templates, "spec.berth.templates", &["name", "namespace"]);
        }
        let references = template_references(input.spec);
        if references.pull_secret.as_ref().is_some_and(|name| name != PULL_SECRET) {
            let help = format!("give the controllers a Secret {PULL_SECRET} in the namespace they run in");
            self.wrong(
                "spec.pullSecret.name".to_owned(),
                "the controllers may read no other Secret",
                help,
            );
            values.insert("pullSecret", Vec::new());
            return;
        }
        let mut credentials = Vec::new();
        match (&references.pull_secret, input.pull_secret) {
            (None, _) => {}
            (Some(_), Some(Ok(text))) => credentials.push(text.clone()),
            (Some(_), Some(Err(message))) => self.findings.push(TemplateFinding {
                object: TemplateObject::Secret,
                path: "data".to_owned(),
                message: message.clone(),
                help: "make it with `kubectl create secret docker-registry`".to_owned(),
                is_missing_object: false,
            }),
            (Some(name), None) => self.missing("spec.pullSecret.name", "Secret", name),
        }
        values.insert("pullSecret", credentials);
        if let (Some(name), None) = (&references.templates, input.overrides) {
            self.missing("spec.berth.templates.name", "ConfigMap", name);
        }
    }

    fn missing(&mut self, path: &str, kind: &str, name: &str) {
        self.findings.push(TemplateFinding {
            object: TemplateObject::ControllerConfig,
            path: path.to_owned(),
            message: format!("there is no {kind} `{name}`"),
            help: String::new(),
            is_missing_object: true,
        });
    }
}

/// Where the images of one registry come from.
struct Registry {
    location: String,
    mirrors: Vec<String>,
    insecure: bool,
}

impl Registry {
    fn crio(&self) -> String {
        let mut text = format!("[[registry]]\nlocation = \"{}\"\n", self.location);
        if self.insecure {
            text.push_str("insecure = true\n");
        }
        for mirror in &self.mirrors {
            text.push_str("\n[[registry.mirror]]\nlocation = \"");
            text.push_str(mirror);
            text.push_str("\"\n");
            if self.insecure {
                text.push_str("insecure = true\n");
            }
        }
        text.push('\n');
        text
    }

    fn containerd(&self) -> Values {
        let server = match self.location.as_str() {
            "docker.io" => "registry-1.docker.io",
            other => other,
        };
        let verify = if self.insecure { "  skip_verify = true\n" } else { "" };
        let host = |mirror: &String| {
            let (host, path) = mirror.split_once('/').unwrap_or((mirror, ""));
            let (path, whole) = match path {
                "" => (String::new(), ""),
                path => (format!("/v2/{path}"), "  override_path = true\n"),
            };
            format!("\n[host.\"https://{host}{path}\"]\n  capabilities = [\"pull\", \"resolve\"]\n{whole}{verify}")
        };
        let mut hosts: Vec<String> = self.mirrors.iter().map(host).collect();
        if self.insecure {
            hosts.push(format!(
                "\n[host.\"https://{server}\"]\n  capabilities = [\"pull\", \"resolve\"]\n{verify}"
            ));
        }
        [
            ("registry", vec![self.location.clone()]),
            ("registryServer", vec![format!("https://{server}")]),
            ("registryHosts", hosts),
        ]
        .into()
    }
}

/// A text that means the same in a unit, in YAML and in TOML, between quotes.
fn is_plain(text: &str) -> bool {
    !text.is_empty()
        && text
            .bytes()
            .all(|byte| byte.is_ascii_graphic() && !b"\"'\\`$".contains(&byte))
}

fn is_path(text: &str) -> bool {
    text.starts_with('/') && is_plain(text) && !text.contains(['%', ';'])
}

fn is_domain(text: &str) -> bool {
    let is_part = |part: &str| {
        let legal = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        !part.is_empty() && part.len() <= 63 && part.bytes().all(legal)
    };
    text.len() <= 253 && text.split('.').all(is_part)
}

fn is_host(text: &str) -> bool {
    !text.is_empty()
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b".-:".contains(&byte))
}

fn is_location(text: &str) -> bool {
    let is_part = |part: &str| {
        !part.is_empty()
            && part != ".."
            && part
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b".-_:".contains(&byte))
    };
    text.split('/').all(is_part)
}

fn is_ssh_key(text: &str) -> bool {
    let mut words = text.split_whitespace();
    let kinds = ["ssh-", "ecdsa-", "sk-ssh-", "sk-ecdsa-"];
    let is_kind = words
        .next()
        .is_some_and(|kind| kinds.iter().any(|known| kind.starts_with(known)));
    is_kind && words.next().is_some() && !text.chars().any(char::is_control)
}
