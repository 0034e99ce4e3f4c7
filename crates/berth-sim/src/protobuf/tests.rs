use proptest::prelude::*;

use super::*;

fn encoded(number: u64, bytes: &[u8]) -> Vec<u8> {
    let mut out = vec![
        u8::try_from(number << 3 | 2).unwrap(),
        u8::try_from(bytes.len()).unwrap(),
    ];
    out.extend_from_slice(bytes);
    out
}

fn enveloped(api_version: &str, kind: &str, raw: &[u8]) -> Vec<u8> {
    let type_meta = [encoded(1, api_version.as_bytes()), encoded(2, kind.as_bytes())].concat();
    [MAGIC.to_vec(), encoded(1, &type_meta), encoded(2, raw)].concat()
}

#[test]
fn a_config_map() {
    let metadata = [encoded(1, b"c"), encoded(3, b""), encoded(8, b"")].concat();
    let pair = [encoded(1, b"a"), encoded(2, b"b")].concat();
    let raw = [encoded(1, &metadata), encoded(2, &pair)].concat();
    assert_eq!(
        read(&enveloped("v1", "ConfigMap", &raw)).unwrap(),
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"a": "b"}})
    );
}

#[test]
fn an_eviction_without_grace_keeps_its_zero() {
    let options = [vec![1 << 3, 0], encoded(4, b"Background")].concat();
    let raw = [encoded(1, &encoded(1, b"p")), encoded(2, &options)].concat();
    assert_eq!(
        read(&enveloped("policy/v1", "Eviction", &raw)).unwrap(),
        json!({
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": "p"},
            "deleteOptions": {"gracePeriodSeconds": 0, "propagationPolicy": "Background"},
        })
    );
}

#[test]
fn other_kinds_are_not_read() {
    assert_eq!(read(&enveloped("v1", "Pod", b"")), None);
    assert_eq!(read(b"{}"), None);
}

proptest! {
    #[test]
    fn damaged_bytes_do_no_harm(raw in prop::collection::vec(any::<u8>(), 0..100)) {
        let _ = read(&enveloped("v1", "Namespace", &raw));
        let _ = read(&[MAGIC.to_vec(), raw].concat());
    }
}
