//! Quantities: `1.5Gi`, `100m`.

use std::cmp::Ordering;

use super::{Outcome, printf};
use crate::{error::EvalError, value::Value};

/// A quantity in units of a billionth, which is as fine as Kubernetes keeps them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quantity(i128);

const ONE: i128 = 1_000_000_000;

impl Quantity {
    fn read(text: &str) -> Option<Self> {
        let end = text
            .find(|character: char| !(character.is_ascii_digit() || ".+-".contains(character)))
            .unwrap_or(text.len());
        let (number, suffix) = text.split_at_checked(end)?;
        let (sign, digits) = match number.strip_prefix(['-', '+']) {
            Some(digits) => (if number.starts_with('-') { -1 } else { 1 }, digits),
            None => (1, number),
        };
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        let plain = |part: &str| part.bytes().all(|digit| digit.is_ascii_digit());
        if whole.is_empty() && fraction.is_empty() || !plain(whole) || !plain(fraction) || digits.len() > 24 {
            return None;
        }
        let scale: i128 = match suffix {
            "n" => 1,
            "u" => 1_000,
            "m" => 1_000_000,
            "" => ONE,
            "k" => ONE * 1_000,
            "M" => ONE * 1_000_000,
            "G" => ONE * 1_000_000_000,
            "T" => ONE * 1_000_000_000_000,
            "P" => ONE * 1_000_000_000_000_000,
            "E" => ONE * 1_000_000_000_000_000_000,
            "Ki" => ONE << 10,
            "Mi" => ONE << 20,
            "Gi" => ONE << 30,
            "Ti" => ONE << 40,
            "Pi" => ONE << 50,
            "Ei" => ONE << 60,
            exponent => {
                let exponent = exponent.strip_prefix(['e', 'E'])?.parse::<i32>().ok()?;
                let power = 10_i128.checked_pow(exponent.unsigned_abs())?;
                if exponent < 0 {
                    ONE.checked_div(power)?
                } else {
                    ONE.checked_mul(power)?
                }
            }
        };
        let whole: i128 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
        let mut value = whole.checked_mul(scale)?;
        if !fraction.is_empty() {
            let parts: i128 = fraction.parse().ok()?;
            let unit = 10_i128.checked_pow(u32::try_from(fraction.len()).ok()?)?;
            value = value.checked_add(parts.checked_mul(scale)?.checked_div(unit)?)?;
        }
        value.checked_mul(sign).map(Self)
    }

    /// Which of two is more.
    pub(crate) fn compare(&self, other: &Self) -> Ordering {
        self.0.cmp(&other.0)
    }

    fn whole(self) -> Option<i64> {
        (self.0 % ONE == 0).then(|| i64::try_from(self.0 / ONE).ok()).flatten()
    }
}

pub(super) fn global(name: &str, value: &Value) -> Outcome {
    let Value::Text(text) = value else {
        return Err(EvalError::no_overload());
    };
    let found = Quantity::read(text);
    if name == "isQuantity" {
        return Ok(Value::Bool(found.is_some()));
    }
    found.map(Value::Quantity).ok_or_else(|| {
        EvalError::new(format!(
            "quantities must match the regular expression {}",
            printf::quoted("^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$").trim_matches('"')
        ))
    })
}

pub(super) fn member(name: &str, quantity: &Quantity, arguments: &[Value]) -> Outcome {
    let overflow = || EvalError::new("quantity overflow");
    let other = match arguments {
        [] => None,
        [Value::Quantity(other)] => Some(*other),
        [Value::Int(other)] => Some(Quantity(i128::from(*other) * ONE)),
        _ => return Err(EvalError::no_overload()),
    };
    #[expect(clippy::cast_precision_loss, reason = "it is said to be approximate")]
    let approximate = quantity.0 as f64 / ONE as f64;
    Ok(match (name, other) {
        ("sign", None) => Value::Int(i64::try_from(quantity.0.signum()).unwrap_or_default()),
        ("isInteger", None) => Value::Bool(quantity.whole().is_some()),
        ("asInteger", None) => Value::Int(
            quantity
                .whole()
                .ok_or_else(|| EvalError::new("cannot convert value to integer"))?,
        ),
        ("asApproximateFloat", None) => Value::Double(approximate),
        ("add", Some(other)) => Value::Quantity(Quantity(quantity.0.checked_add(other.0).ok_or_else(overflow)?)),
        ("sub", Some(other)) => Value::Quantity(Quantity(quantity.0.checked_sub(other.0).ok_or_else(overflow)?)),
        ("isGreaterThan", Some(other)) => Value::Bool(quantity.compare(&other).is_gt()),
        ("isLessThan", Some(other)) => Value::Bool(quantity.compare(&other).is_lt()),
        ("compareTo", Some(other)) => Value::Int(match quantity.compare(&other) {
            Ordering::Less => -1,
            Ordering::Equal => 0,
            Ordering::Greater => 1,
        }),
        _ => return Err(EvalError::no_overload()),
    })
}
