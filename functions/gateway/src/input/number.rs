//! Whole numbers in bodies: for JSON Schema, and so for the contract, `3.0` is the integer 3, and some clients write it so.

use serde::de::{Deserialize, Deserializer, Error};
use serde_json::Number;

/// A whole number of 32 bits, however it is written; in a type that has room for it.
pub(crate) fn whole<'de, D: Deserializer<'de>, N: TryFrom<u32>>(reader: D) -> Result<N, D::Error> {
    read(&Number::deserialize(reader)?).ok_or_else(|| D::Error::custom("no whole number of 32 bits"))
}

/// The same where there may be none; with `#[serde(default)]`.
pub(crate) fn optional<'de, D: Deserializer<'de>, N: TryFrom<u32>>(reader: D) -> Result<Option<N>, D::Error> {
    let given = Option::<Number>::deserialize(reader)?;
    given
        .map(|number| read(&number).ok_or_else(|| D::Error::custom("no whole number of 32 bits")))
        .transpose()
}

/// A whole number of a query that every reader of JSON keeps exactly, below 2^53; with `#[serde(default)]`.
pub(crate) fn exact<'de, D: Deserializer<'de>>(reader: D) -> Result<Option<u64>, D::Error> {
    let given = Option::<u64>::deserialize(reader)?;
    if given.is_some_and(|number| number >= 1 << 53) {
        return Err(D::Error::custom("no whole number below 9007199254740992"));
    }
    Ok(given)
}

fn read<N: TryFrom<u32>>(number: &Number) -> Option<N> {
    if let Some(whole) = number.as_u64() {
        return N::try_from(u32::try_from(whole).ok()?).ok();
    }
    let number = number.as_f64().filter(|number| number.fract() == 0.0)?;
    if !(0.0..=f64::from(u32::MAX)).contains(&number) {
        return None;
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a whole number within the bounds"
    )]
    let whole = number as u32;
    N::try_from(whole).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn numbers_of_queries_are_exact() {
        assert_eq!(exact(&json!((1_u64 << 53) - 1)).unwrap(), Some((1 << 53) - 1));
        assert_eq!(exact(&json!(null)).unwrap(), None);
        for other in [json!(1_u64 << 53), json!(u64::MAX), json!(-1), json!("3")] {
            assert!(exact(&other).is_err(), "{other}");
        }
    }

    #[test]
    fn whole_numbers_are_whole_however_they_are_written() {
        for (written, number) in
            [("3", 3), ("3.0", 3), ("3e0", 3), ("0", 0), ("-0.0", 0), ("4294967295.0", u32::MAX)]
        {
            assert_eq!(
                whole::<_, u32>(&mut serde_json::Deserializer::from_str(written)).unwrap(),
                number,
                "{written}"
            );
            assert_eq!(optional(&mut serde_json::Deserializer::from_str(written)).unwrap(), Some(number));
        }
        for other in [
            json!(3.5),
            json!(-1),
            json!(-1.0),
            json!(4_294_967_296_u64),
            json!(1e300),
            json!("3"),
            json!(true),
        ] {
            assert!(whole::<_, u32>(&other).is_err(), "{other}");
            assert!(optional::<_, usize>(&other).is_err(), "{other}");
        }
        assert_eq!(optional::<_, u64>(&json!(null)).unwrap(), None);
    }
}
