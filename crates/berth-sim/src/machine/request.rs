//! The certificate request of a kubelet.

use base64::{Engine as _, engine::general_purpose::STANDARD};

/// The request for a node, in PEM: the subject is the kubelet's. Key and signature are placeholders, because nothing is
/// encrypted here; everything else is where a real request has it.
pub(crate) fn certificate_request(node: &str) -> String {
    let organization = attribute(&[0x55, 0x04, 0x0A], "system:nodes");
    let common_name = attribute(&[0x55, 0x04, 0x03], &format!("system:node:{node}"));
    let subject = sequence(&[organization, common_name].concat());
    // id-ecPublicKey on prime256v1, and an uncompressed point.
    let algorithm = sequence(
        &[
            tagged(0x06, &[0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x02, 0x01]),
            tagged(0x06, &[0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x03, 0x01, 0x07]),
        ]
        .concat(),
    );
    let mut point = vec![0, 4];
    point.extend([0; 64]);
    let key = sequence(&[algorithm, tagged(0x03, &point)].concat());
    let info = sequence(&[tagged(0x02, &[0]), subject, key, tagged(0xA0, &[])].concat());
    // ecdsa-with-SHA256.
    let signature_algorithm = sequence(&tagged(0x06, &[0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x04, 0x03, 0x02]));
    let der = sequence(&[info, signature_algorithm, tagged(0x03, &[0, 0])].concat());
    let body = STANDARD.encode(der);
    let lines: Vec<&str> = body
        .as_bytes()
        .chunks(64)
        .filter_map(|line| std::str::from_utf8(line).ok())
        .collect();
    format!(
        "-----BEGIN CERTIFICATE REQUEST-----\n{}\n-----END CERTIFICATE REQUEST-----\n",
        lines.join("\n")
    )
}

fn attribute(oid: &[u8], text: &str) -> Vec<u8> {
    let pair = sequence(&[tagged(0x06, oid), tagged(0x0C, text.as_bytes())].concat());
    tagged(0x31, &pair)
}

fn sequence(contents: &[u8]) -> Vec<u8> {
    tagged(0x30, contents)
}

fn tagged(tag: u8, contents: &[u8]) -> Vec<u8> {
    let mut bytes = vec![tag];
    let length = contents.len();
    if let (true, Ok(short)) = (length < 128, u8::try_from(length)) {
        bytes.push(short);
    } else {
        let long = length.to_be_bytes();
        let significant: Vec<u8> = long.into_iter().skip_while(|byte| *byte == 0).collect();
        bytes.push(0x80 | u8::try_from(significant.len()).unwrap_or(0));
        bytes.extend(significant);
    }
    bytes.extend_from_slice(contents);
    bytes
}

#[cfg(test)]
mod tests {
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
            let request = json!({"spec": {"request": STANDARD.encode(certificate_request(node)), "username": "u"}});
            let found = requested_node(&request);
            assert_eq!(found.as_deref(), Some(node));
        }
    }
}
