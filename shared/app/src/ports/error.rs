//! What can go wrong at the table, with the decision whether to try again already made.

/// A failed table operation. "Not found" and "lost the condition" are answers, not errors.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The table could not be reached, throttled, or did not answer in time. A write may have been applied all the same.
    #[error("the table did not answer {operation}; try again")]
    Unavailable {
        /// Which port operation.
        operation: &'static str,
        /// What the adapter saw.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The table refused the request in a way that no retry cures: a missing table, missing rights, an item too large.
    #[error("the table refused {operation}; check its name, the role's rights and the item's size")]
    Refused {
        /// Which port operation.
        operation: &'static str,
        /// What the adapter saw.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A stored row does not decode.
    #[error("row {key} of kind {item} does not decode at attribute {attribute}: {problem}")]
    Corrupt {
        /// The kind of row.
        item: &'static str,
        /// Its key.
        key: String,
        /// The attribute that is missing or wrong.
        attribute: &'static str,
        /// What is wrong with it; never its content.
        problem: &'static str,
    },
}
