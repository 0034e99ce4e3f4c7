use berth_ignition::parse;

use super::*;

const PEM: &[u8] = b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";

#[test]
fn the_pointer_names_server_token_and_certificates() {
    let token = Secret::parse(&format!("berth.0123456789abcdef.{}", "A".repeat(43))).unwrap();
    let written = pointer(&Pointer {
        url: "https://berth.example.com:22623/node/n1",
        ca_pem: Some(PEM),
        token: Some(&token),
        headers: &[("X-Site".to_owned(), "a".to_owned())],
    })
    .unwrap();
    assert_eq!(
        written,
        json!({"ignition": {
            "version": "3.1.0",
            "config": {"merge": [{
                "source": "https://berth.example.com:22623/node/n1",
                "httpHeaders": [
                    {"name": "Authorization", "value": format!("Bearer {}", token.reveal())},
                    {"name": "X-Site", "value": "a"},
                ],
            }]},
            "security": {"tls": {"certificateAuthorities": [
                {"source": format!("data:text/plain;charset=utf-8;base64,{}", STANDARD.encode(PEM))},
            ]}},
        }})
    );
    assert_eq!(parse(&written).findings, []);
    let small = pointer(&Pointer {
        url: "http://192.0.2.1/config/worker",
        ..Pointer::default()
    })
    .unwrap();
    assert_eq!(
        small,
        json!({"ignition": {"version": "3.1.0", "config": {"merge": [{"source": "http://192.0.2.1/config/worker"}]}}})
    );
}

/// URL, certificates, whether there is a token, headers, and what the error says.
type Row<'a> = (&'a str, Option<&'a [u8]>, bool, Vec<(String, String)>, &'a str);

#[test]
fn what_would_not_work_or_not_be_safe_is_refused() {
    let token = Secret::parse(&format!("berth.0123456789abcdef.{}", "A".repeat(43))).unwrap();
    let https = "https://h/config/a";
    let header = |name: &str, value: &str| vec![(name.to_owned(), value.to_owned())];
    let table: &[Row<'_>] = &[
        ("h/config/a", None, false, vec![], "is not a URL"),
        ("", None, false, vec![], "is not a URL"),
        ("ftp://h/a", None, false, vec![], "is not a URL"),
        ("https:///a", None, false, vec![], "is not a URL"),
        ("http://h/a", None, true, vec![], "not sent over plain HTTP"),
        ("http://h/a", Some(PEM), false, vec![], "of no use for a plain HTTP"),
        (https, Some(b"hello"), false, vec![], "no certificate"),
        (https, None, false, header("a b", "c"), "`a b` cannot be sent"),
        (https, None, false, header("a", "c\nd"), "`a` cannot be sent"),
        (https, None, true, header("authorization", "x"), "leave out either"),
    ];
    for (url, ca_pem, has_token, headers, expected) in table {
        let error = pointer(&Pointer {
            url,
            ca_pem: *ca_pem,
            token: has_token.then_some(&token),
            headers,
        })
        .unwrap_err()
        .to_string();
        assert!(error.contains(expected), "{url}: {error}");
        assert!(!error.contains(token.reveal()));
    }
}
