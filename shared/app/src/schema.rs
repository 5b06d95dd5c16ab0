//! A tool's own JSON schema, ready to judge values with.
//!
//! The schema is a stranger's. What it takes to check is estimated first, and a schema that would take too much is not
//! checked here: its server judges, as it does anyway. What remains takes milliseconds.

mod budget;

use std::sync::OnceLock;

use jsonschema::{ValidationError, Validator};
use serde_json::Value;

/// A schema, compiled when it is first needed.
#[derive(Debug, Default)]
pub(crate) struct Schema(OnceLock<Compiled>);

#[derive(Debug)]
enum Compiled {
    /// It is no schema.
    Invalid,
    /// It is too much to check.
    Heavy,
    Ready {
        validator: Box<Validator>,
        /// Its subschemas.
        weight: usize,
    },
}

/// What a schema says of a value.
#[derive(Debug)]
pub(crate) enum Verdict<T> {
    /// Nothing against it.
    Fits,
    /// The schema is no schema.
    Invalid,
    /// Checking it would take too much.
    Heavy,
    /// It does not fit.
    Unfit(T),
}

impl Schema {
    /// Judges `instance` by `schema`, which must be the same at every call; `findings` makes of the first errors what the
    /// caller shows.
    pub(crate) fn judge<T>(
        &self,
        schema: &Value,
        instance: &Value,
        findings: impl FnOnce(&mut dyn Iterator<Item = ValidationError<'_>>) -> T,
    ) -> Verdict<T> {
        match self.0.get_or_init(|| Compiled::of(schema)) {
            Compiled::Invalid => Verdict::Invalid,
            Compiled::Ready { validator, weight } if budget::allows(*weight, instance) => {
                let mut errors = validator.iter_errors(instance).peekable();
                if errors.peek().is_none() {
                    return Verdict::Fits;
                }
                Verdict::Unfit(findings(&mut errors))
            }
            Compiled::Heavy | Compiled::Ready { .. } => Verdict::Heavy,
        }
    }
}

impl Compiled {
    fn of(schema: &Value) -> Self {
        let Some(weight) = budget::weight(schema) else { return Self::Heavy };
        jsonschema::validator_for(schema)
            .map_or(Self::Invalid, |validator| Self::Ready { validator: Box::new(validator), weight })
    }
}
