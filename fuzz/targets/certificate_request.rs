//! Certificate requests of kubelets: there is one way to write each, so what is read can be written again, byte for byte.
//!
//! Input: a request in PEM, or its DER.
#![no_main]

#[path = "../../crates/berth-decide/src/certificate/pkcs10.rs"]
mod pkcs10;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use libfuzzer_sys::fuzz_target;
use pkcs10::{KubeletRequest, LONGEST, NODE_USER, NODES_GROUP, is_node_name, read};

fuzz_target!(|data: &[u8]| {
    let is_der = data.first() == Some(&0x30);
    let text = if is_der { pem(data) } else { data.to_vec() };
    let Ok(request) = read(&text) else {
        return;
    };
    assert!(text.len() <= LONGEST && is_node_name(&request.node));
    let lines = String::from_utf8(text.clone()).expect("text");
    let body: String = lines.lines().filter(|line| !line.starts_with('-')).collect();
    let der = STANDARD.decode(body).expect("base64");
    let (given, again) = (lines.trim_end_matches('\n'), pem(&der));
    assert!(
        again.starts_with(given.as_bytes()) && again.len() == given.len() + 1,
        "{lines}"
    );
    check_bytes(&request, &der);
});

/// Nothing but this name and this key is signed.
fn check_bytes(request: &KubeletRequest, der: &[u8]) {
    let name = format!("{NODE_USER}{}", request.node);
    let mut written = Vec::new();
    for (first, second) in [(0x0C, 0x0C), (0x0C, 0x13), (0x13, 0x0C), (0x13, 0x13)] {
        let organization = part(0x0A, first, NODES_GROUP);
        let common_name = part(0x03, second, &name);
        written.push([organization.clone(), common_name.clone()].concat());
        written.push([common_name, organization].concat());
    }
    let infos = written.into_iter().map(|subject| {
        let subject = tlv(0x30, &subject);
        tlv(
            0x30,
            &[&[0x02, 0x01, 0x00], subject.as_slice(), &request.key, &[0xA0, 0x00]].concat(),
        )
    });
    let found = infos.into_iter().any(|info| {
        let Some(at) = der.windows(info.len()).position(|window| window == info) else {
            return false;
        };
        // Before it there is only the header of the whole.
        der == tlv(0x30, &der[at..])
    });
    assert!(found, "{request:?}\n{der:02x?}");
}

fn part(kind: u8, tag: u8, text: &str) -> Vec<u8> {
    let pair = [&[0x06, 0x03, 0x55, 0x04, kind], tlv(tag, text.as_bytes()).as_slice()].concat();
    tlv(0x31, &tlv(0x30, &pair))
}

fn tlv(tag: u8, contents: &[u8]) -> Vec<u8> {
    let [high, low] = u16::try_from(contents.len()).expect("short").to_be_bytes();
    let header = match (high, low) {
        (0, 0..0x80) => vec![tag, low],
        (0, _) => vec![tag, 0x81, low],
        _ => vec![tag, 0x82, high, low],
    };
    [header.as_slice(), contents].concat()
}

fn pem(der: &[u8]) -> Vec<u8> {
    let base64 = STANDARD.encode(der);
    let lines: Vec<&[u8]> = base64.as_bytes().chunks(64).collect();
    let body = lines.join(&b'\n');
    let (begin, end) = (
        "-----BEGIN CERTIFICATE REQUEST-----\n",
        "\n-----END CERTIFICATE REQUEST-----\n",
    );
    [begin.as_bytes(), &body, end.as_bytes()].concat()
}
