//! Expressions: no text panics, an evaluation ends within its budget, and gives the same value again.
//!
//! Input: an expression, and the JSON value of `self`; separated by a line of `====`.
#![no_main]

use std::collections::BTreeMap;

use berth_cel::{Program, Value};
use berth_fuzz::byte_parts;
use libfuzzer_sys::fuzz_target;

/// Steps of an evaluation. More of them are more of the same.
const BUDGET: u64 = 1000;

fuzz_target!(|data: &[u8]| {
    let parts = byte_parts(data, 2);
    let part = |at: usize| String::from_utf8_lossy(parts.get(at).copied().unwrap_or_default()).into_owned();
    let json = serde_json::from_str(&part(1)).unwrap_or_default();
    let names = BTreeMap::from([("self".to_owned(), Value::of_json(&json))]);
    let Ok(program) = Program::compile(&part(0), &["self", "Object", "JSONPatch"]) else {
        return;
    };
    let evaluate = || {
        let mut budget = BUDGET;
        let value = program.evaluate(&names, &mut budget);
        assert!(budget <= BUDGET);
        format!("{value:?}")
    };
    assert_eq!(evaluate(), evaluate());
});
