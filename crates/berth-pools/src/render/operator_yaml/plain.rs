//! Which texts a YAML reader would take for something else when they stand without quotes.

/// Whether the text without quotes reads as a text again, and not as a number, a truth value, a date or nothing.
pub(super) fn reads_as_text(text: &str) -> bool {
    !(is_word(text) || is_number(text) || is_date(text) || is_base_60(text))
}

/// The words of YAML 1.1.
fn is_word(text: &str) -> bool {
    const WORDS: &[&str] = &[
        "", "~", "y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON", "n", "N", "no", "No", "NO",
        "false", "False", "FALSE", "off", "Off", "OFF", "null", "Null", "NULL", ".nan", ".NaN", ".NAN", ".inf", ".Inf",
        ".INF", "+.inf", "+.Inf", "+.INF", "-.inf", "-.Inf", "-.INF",
    ];
    WORDS.contains(&text)
}

fn is_number(text: &str) -> bool {
    if text.starts_with('.') {
        return is_decimal(text);
    }
    if !text.starts_with(|first: char| first.is_ascii_digit() || matches!(first, '+' | '-')) {
        return false;
    }
    let plain = text.replace('_', "");
    is_integer(&plain) || is_decimal(&plain)
}

/// As Go reads integers whose beginning says their base.
fn is_integer(text: &str) -> bool {
    let (is_signed, digits) = match text.strip_prefix(['+', '-']) {
        Some(digits) => (true, digits),
        None => (false, text),
    };
    let prefixed = |small: &str, capital: &str| digits.strip_prefix(small).or_else(|| digits.strip_prefix(capital));
    let (base, digits) = if let Some(digits) = prefixed("0x", "0X") {
        (16, digits)
    } else if let Some(digits) = prefixed("0b", "0B") {
        (2, digits)
    } else if let Some(digits) = prefixed("0o", "0O") {
        (8, digits)
    } else if digits.len() > 1 && digits.starts_with('0') {
        (8, digits)
    } else {
        (10, digits)
    };
    // A second sign is none.
    if !digits.starts_with(|first: char| first.is_ascii_alphanumeric()) {
        return false;
    }
    match u64::from_str_radix(digits, base) {
        Ok(_) if !is_signed => true,
        Ok(value) if text.starts_with('-') => value <= 1 << 63,
        Ok(value) => i64::try_from(value).is_ok(),
        Err(_) => false,
    }
}

/// `[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?`, and not too large.
fn is_decimal(text: &str) -> bool {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (unsigned, None),
    };
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let mantissa = match mantissa.split_once('.') {
        Some(("", fraction)) => digits(fraction),
        Some((whole, fraction)) => digits(whole) && (fraction.is_empty() || digits(fraction)),
        None => digits(mantissa),
    };
    let exponent = exponent.is_none_or(|text| digits(text.strip_prefix(['+', '-']).unwrap_or(text)));
    mantissa && exponent && text.parse::<f64>().is_ok_and(f64::is_finite)
}

/// Numbers of minutes and seconds, which only some readers know.
fn is_base_60(text: &str) -> bool {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (unsigned, fraction) = match unsigned.split_once('.') {
        Some((whole, fraction)) => (whole, fraction),
        None => (unsigned, ""),
    };
    let mut parts = unsigned.split(':');
    let first = parts.next().unwrap_or_default();
    let mut parts = parts.peekable();
    let number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'_');
    let sixty = |part: &str| match part.as_bytes() {
        [one] => one.is_ascii_digit(),
        [ten, one] => (b'0'..=b'5').contains(ten) && one.is_ascii_digit(),
        _ => false,
    };
    first.starts_with(|c: char| c.is_ascii_digit())
        && number(first)
        && number(fraction)
        && parts.peek().is_some()
        && parts.all(sixty)
}

/// A date, alone or with a time: `2006-1-2`, `2006-1-2T15:4:5.9Z`, `2006-1-2 15:4:5`.
fn is_date(text: &str) -> bool {
    date(text).is_some()
}

fn date(text: &str) -> Option<()> {
    let mut rest = text;
    let year = number(&mut rest, 4, 4)?;
    literal(&mut rest, '-')?;
    let month = number(&mut rest, 1, 2)?;
    literal(&mut rest, '-')?;
    let day = number(&mut rest, 1, 2)?;
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = match month {
        2 if is_leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return None,
    };
    (1..=days).contains(&day).then_some(())?;
    let Some(separator) = rest.chars().next() else {
        return Some(());
    };
    literal(&mut rest, separator)?;
    let has_zone = match separator {
        'T' | 't' => true,
        ' ' => {
            rest = rest.trim_start_matches(' ');
            false
        }
        _ => return None,
    };
    (number(&mut rest, 1, 2)? < 24).then_some(())?;
    literal(&mut rest, ':')?;
    (number(&mut rest, 1, 2)? < 60).then_some(())?;
    literal(&mut rest, ':')?;
    (number(&mut rest, 1, 2)? < 60).then_some(())?;
    if let Some(fraction) = rest.strip_prefix(['.', ',']) {
        let after = fraction.trim_start_matches(|c: char| c.is_ascii_digit());
        (after.len() < fraction.len()).then_some(())?;
        rest = after;
    }
    if has_zone && literal(&mut rest, 'Z').is_none() {
        rest = rest.strip_prefix(['+', '-'])?;
        (number(&mut rest, 2, 2)? <= 24).then_some(())?;
        literal(&mut rest, ':')?;
        (number(&mut rest, 2, 2)? < 60).then_some(())?;
    }
    rest.is_empty().then_some(())
}

fn literal(rest: &mut &str, character: char) -> Option<()> {
    *rest = rest.strip_prefix(character)?;
    Some(())
}

fn number(rest: &mut &str, least: usize, most: usize) -> Option<u32> {
    let length = rest.bytes().take(most).take_while(u8::is_ascii_digit).count();
    let (digits, after) = rest.split_at_checked(length).filter(|_| length >= least)?;
    *rest = after;
    digits.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::reads_as_text;

    #[test]
    fn what_reads_as_something_else_needs_quotes() {
        for text in [
            "",
            "~",
            "null",
            "yes",
            "N",
            "on",
            ".inf",
            "1",
            "-1",
            "+7",
            "0x1F",
            "0b10",
            "0o17",
            "017",
            "089",
            "1_000",
            "1.5",
            ".5",
            "1e3",
            "1.",
            "18446744073709551615",
            "2024-02-29",
            "2024-1-2T3:4:5Z",
            "2024-1-2 3:4:5.5",
            "2024-01-02T03:04:05+01:00",
            "12:30",
            "1:2:3.4",
            "-9223372036854775808",
        ] {
            assert!(!reads_as_text(text), "{text:?}");
        }
    }

    #[test]
    fn everything_else_stands_as_it_is() {
        for text in [
            "a",
            "nop",
            "yEs",
            "1a",
            "0x",
            "0xg",
            ".",
            "1e",
            "--1",
            "2024-02-30",
            "2023-02-29",
            "24-01-02",
            "2024-01-02T",
            "12:60",
            "a:b",
            "1.2.3",
            "+",
            "-",
            "1e999",
            "2024-1-2T3:4:5",
            "sha256:0",
            "99-worker",
        ] {
            assert!(reads_as_text(text), "{text:?}");
        }
    }
}
