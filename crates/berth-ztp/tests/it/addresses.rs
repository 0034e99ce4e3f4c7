//! Addresses of management controllers are read as Metal3 reads them.

use berth_site::BmcAddress;
use serde_json::{Value, json};

const TABLE: &str = include_str!("../conformance/bmc-addresses.txt");

#[test]
fn addresses_are_read_as_metal3_reads_them() {
    let mut wrong = Vec::new();
    let mut refused = 0_usize;
    let rows: Vec<&str> = TABLE.lines().filter(|line| !line.starts_with('#')).collect();
    for line in &rows {
        let (address, wanted) = line.split_once('\t').unwrap();
        let address: String = serde_json::from_str(address).unwrap();
        let read = address.parse::<BmcAddress>();
        refused += usize::from(wanted == "refused");
        let fits = match &read {
            Ok(read) => {
                let port = read.port().unwrap_or_default();
                serde_json::from_str::<Value>(wanted).ok() == Some(json!([read.scheme(), read.host(), port]))
            }
            Err(_) => wanted == "refused",
        };
        if !fits {
            wrong.push(format!("{address:?}: {read:?}, Metal3: {wanted}"));
        }
    }
    assert!(
        refused > 100 && rows.len() - refused > 100,
        "{refused} of {}",
        rows.len()
    );
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
