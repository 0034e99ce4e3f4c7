//! The certificate request of a kubelet.

use rcgen::{CertificateParams, DistinguishedName, DnType, KeyPair};

/// The request for a node, in PEM, as its kubelet writes it. Nothing is encrypted here, so the key is thrown away.
pub(crate) fn certificate_request(node: &str) -> Result<String, rcgen::Error> {
    let mut parameters = CertificateParams::default();
    parameters.distinguished_name = DistinguishedName::new();
    let name = &mut parameters.distinguished_name;
    name.push(DnType::OrganizationName, "system:nodes");
    name.push(DnType::CommonName, format!("system:node:{node}"));
    parameters.serialize_request(&KeyPair::generate()?)?.pem()
}

#[cfg(test)]
mod tests {
    use base64::{Engine as _, engine::general_purpose::STANDARD};
    use serde_json::json;

    use super::*;
    use crate::cluster::requested_node;

    #[test]
    fn the_node_is_found_in_its_request() {
        for node in [
            "w1",
            "a-long-name-of-a-machine.in.some.site.example.org",
            &"x".repeat(120),
        ] {
            let request = STANDARD.encode(certificate_request(node).unwrap());
            let request = json!({"spec": {"request": request, "username": "u"}});
            assert_eq!(requested_node(&request).as_deref(), Some(node));
        }
    }
}
