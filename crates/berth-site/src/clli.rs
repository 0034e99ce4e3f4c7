//! CLLI codes: the place names of the North American telephone network, which many sites use in host names.
//!
//! A code has one of three forms, and the form must be known before positions mean anything:
//!
//! | form | characters |
//! |---|---|
//! | building | place (4 letters), state (2 letters), building (2 letters or 2 digits), then optionally an entity (3 letters or digits) |
//! | non-building | place, state, one of `B E J M P Q S U X`, 4 digits |
//! | customer | place, state, a digit, a letter, 3 digits |
//!
//! The forms exclude each other: characters seven and eight are two letters or two digits, a letter and a digit,
//! or a digit and a letter.

use std::ops::Range;

/// Which of the three forms a code has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClliForm {
    /// A building, or equipment in it.
    Building,
    /// A place that is not a building: a pole, a manhole, a hut.
    NonBuilding,
    /// A customer's premises.
    Customer,
}

impl ClliForm {
    /// The word used in label values.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Building => "building",
            Self::NonBuilding => "non-building",
            Self::Customer => "customer",
        }
    }
}

/// A decoded code. The parts keep the letter case of the input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clli<'a> {
    /// The form, which decides what `site` and `entity` are.
    pub form: ClliForm,
    /// Characters 1 to 4.
    pub place: &'a str,
    /// Characters 5 and 6: state, province or country.
    pub state: &'a str,
    /// The building, or the whole location code of the other two forms.
    pub site: &'a str,
    /// Characters 9 to 11 of the building form: the equipment.
    pub entity: Option<&'a str>,
}

/// Why a text is not a CLLI code.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ClliError {
    /// Neither 8 nor 11 characters.
    #[error("a CLLI code has 8 or 11 characters, `{code}` has {length}")]
    Length {
        /// The text.
        code: String,
        /// Its length in characters.
        length: usize,
    },
    /// The first six characters are not letters.
    #[error("the first six characters of a CLLI code are letters (place and state), in `{code}` they are not")]
    Place {
        /// The text.
        code: String,
    },
    /// What follows the state fits none of the forms.
    #[error(
        "`{rest}` in `{code}` is neither a building (two letters or two digits, then a three-character entity), nor a \
         non-building code (one of B E J M P Q S U X and four digits), nor a customer code (digit, letter, three digits)"
    )]
    Location {
        /// The text.
        code: String,
        /// The characters from the seventh on.
        rest: String,
    },
}

/// Decodes a code. Letter case does not matter.
///
/// ```
/// let code = berth_site::decode_clli("ATLNGATLDS0")?;
/// assert_eq!((code.place, code.state), ("ATLN", "GA"));
/// # Ok::<(), berth_site::ClliError>(())
/// ```
pub fn decode(code: &str) -> Result<Clli<'_>, ClliError> {
    let bytes = code.as_bytes();
    if !matches!(bytes.len(), 8 | 11) || !code.is_ascii() {
        return Err(ClliError::Length {
            code: code.to_owned(),
            length: code.chars().count(),
        });
    }
    let part = |range: Range<usize>| code.get(range).unwrap_or_default();
    let all = |range: Range<usize>, test: fn(&u8) -> bool| {
        bytes
            .get(range)
            .is_some_and(|slice| !slice.is_empty() && slice.iter().all(test))
    };
    if !all(0..6, u8::is_ascii_alphabetic) {
        return Err(ClliError::Place { code: code.to_owned() });
    }
    let (place, state) = (part(0..4), part(4..6));
    let building = all(6..8, u8::is_ascii_alphabetic) || all(6..8, u8::is_ascii_digit);
    if building && (bytes.len() == 8 || all(8..11, u8::is_ascii_alphanumeric)) {
        let entity = Some(part(8..11)).filter(|entity| !entity.is_empty());
        return Ok(Clli {
            form: ClliForm::Building,
            place,
            state,
            site: part(6..8),
            entity,
        });
    }
    let location = part(6..11);
    let form = if all(6..7, |b| b"BEJMPQSUX".contains(&b.to_ascii_uppercase())) && all(7..11, u8::is_ascii_digit) {
        ClliForm::NonBuilding
    } else if all(6..7, u8::is_ascii_digit) && all(7..8, u8::is_ascii_alphabetic) && all(8..11, u8::is_ascii_digit) {
        ClliForm::Customer
    } else {
        return Err(ClliError::Location {
            code: code.to_owned(),
            rest: code.get(6..).unwrap_or_default().to_owned(),
        });
    };
    Ok(Clli {
        form,
        place,
        state,
        site: location,
        entity: None,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_three_forms() {
        use ClliForm::{Building, Customer, NonBuilding};
        for (code, form, place, state, site, entity) in [
            ("ATLNGAMA27W", Building, "ATLN", "GA", "MA", Some("27W")),
            ("atlngacxds0", Building, "atln", "ga", "cx", Some("ds0")),
            ("NYCMNY54", Building, "NYCM", "NY", "54", None),
            ("nycmny5401t", Building, "nycm", "ny", "54", Some("01t")),
            ("SMYRGAU0062", NonBuilding, "SMYR", "GA", "U0062", None),
            ("dllstx1a234", Customer, "dlls", "tx", "1a234", None),
        ] {
            let clli = decode(code).unwrap();
            assert_eq!(
                clli,
                Clli {
                    form,
                    place,
                    state,
                    site,
                    entity
                },
                "{code}"
            );
        }
    }

    #[test]
    fn what_is_no_code_is_refused_with_the_reason() {
        for (code, text) in [
            ("", "8 or 11"),
            ("atlngama2", "8 or 11"),
            ("atl1gama", "first six"),
            ("atlnga4a", "neither a building"),
            ("atlngau006x", "neither a building"),
            ("atlngaa0062", "neither a building"),
            ("atlngama2-w", "neither a building"),
            ("atlngamä", "8 or 11"),
        ] {
            let error = decode(code).unwrap_err().to_string();
            assert!(error.contains(text), "{code}: {error}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_decoded_or_refused(code in "\\PC{0,14}") {
            if let Ok(clli) = decode(&code) {
                let joined = [clli.place, clli.state, clli.site, clli.entity.unwrap_or_default()].concat();
                prop_assert_eq!(joined, code);
            }
        }
    }
}
