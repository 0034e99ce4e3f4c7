use super::*;

fn show(text: &str) -> String {
    match resolve(text) {
        None => "text".to_owned(),
        Some(Value::Null) => "null".to_owned(),
        Some(Value::Bool(value)) => value.to_string(),
        Some(Value::Int(value)) => format!("int {value}"),
        Some(Value::UInt(value)) => format!("uint {value}"),
        Some(Value::Float(value)) => format!("float {value:?}"),
        Some(other) => format!("{other:?}"),
    }
}

#[test]
fn words() {
    for text in ["true", "True", "TRUE", "yes", "Yes", "YES", "on", "On", "ON", "y", "Y"] {
        assert_eq!(show(text), "true", "{text}");
    }
    for text in [
        "false", "False", "FALSE", "no", "No", "NO", "off", "Off", "OFF", "n", "N",
    ] {
        assert_eq!(show(text), "false", "{text}");
    }
    for text in ["", "~", "null", "Null", "NULL"] {
        assert_eq!(show(text), "null", "{text}");
    }
    for text in [
        "tRUE", "yEs", "oN", "nULL", "none", "yes!", "node", "offset", "trueish", "~x",
    ] {
        assert_eq!(show(text), "text", "{text}");
    }
}

#[test]
fn whole_numbers() {
    for (text, expected) in [
        ("0", "int 0"),
        ("-0", "int 0"),
        ("7", "int 7"),
        ("+12", "int 12"),
        ("-12", "int -12"),
        ("0644", "int 420"),
        ("0o644", "int 420"),
        ("-0644", "int -420"),
        ("0x1F", "int 31"),
        ("0X1f", "int 31"),
        ("-0x1F", "int -31"),
        ("0b101", "int 5"),
        ("1_000", "int 1000"),
        ("0_644", "int 420"),
        ("9223372036854775807", "int 9223372036854775807"),
        ("-9223372036854775808", "int -9223372036854775808"),
        ("9223372036854775808", "uint 9223372036854775808"),
        ("18446744073709551615", "uint 18446744073709551615"),
        // No octal digits, so not octal.
        ("08", "int 8"),
        ("0o8", "text"),
        ("0x", "text"),
        ("0b2", "text"),
        ("+-1", "text"),
        ("0x-1", "text"),
        ("-", "text"),
        ("--1", "text"),
    ] {
        assert_eq!(show(text), expected, "{text}");
    }
}

#[test]
fn other_numbers() {
    for (text, expected) in [
        ("1e3", "float 1000.0"),
        ("1E+3", "float 1000.0"),
        ("1.5", "float 1.5"),
        ("1.", "float 1.0"),
        ("1.e2", "float 100.0"),
        (".5", "float 0.5"),
        ("-.5", "float -0.5"),
        ("1_000.5", "float 1000.5"),
        (".inf", "float inf"),
        ("+.Inf", "float inf"),
        ("-.INF", "float -inf"),
        (".nan", "float NaN"),
        ("18446744073709551616", "float 1.8446744073709552e19"),
        ("-9223372036854775809", "float -9.223372036854776e18"),
        // Too large for a float: changing it to infinity would hide the mistake.
        ("1e400", "text"),
        ("1e", "text"),
        ("e3", "text"),
        (".", "text"),
        ("..", "text"),
        ("+.", "text"),
        (".e3", "text"),
        ("-.nan", "text"),
        ("1.2.3", "text"),
        ("1-2", "text"),
    ] {
        assert_eq!(show(text), expected, "{text}");
    }
}

#[test]
fn times_dates_and_addresses_are_text() {
    for text in [
        "12:30",
        "12:30:45",
        "190:20:30",
        "2024-01-31",
        "2001-12-14t21:59:43.10-05:00",
        "10.0.0.1",
        "1.2.3.4/24",
        "00:1a:2b:3c:4d:5e",
        "<<",
        "=",
    ] {
        assert_eq!(show(text), "text", "{text}");
    }
}

#[test]
fn base64() {
    for (text, expected) in [
        ("", Some("")),
        ("YQ==", Some("a")),
        ("YWI=", Some("ab")),
        ("YWJj", Some("abc")),
        ("YW\n Jj", Some("abc")),
        ("YWJjZA==", Some("abcd")),
        ("YQ", None),
        ("YQ=", None),
        ("YQ==YQ==", None),
        ("Y", None),
        ("!", None),
    ] {
        assert_eq!(decode_base64(text).as_deref(), expected.map(str::as_bytes), "{text:?}");
    }
}
