//! The contract that the routes generate: kept beside them, whole, in the README, and shown as a page.

mod kept;
mod page;
mod served;
mod whole;

use serde_json::Value;

/// One operation of the contract.
struct Operation {
    /// Such as `GET /healthz`.
    place: String,
    /// As it is described.
    described: Value,
}

fn contract() -> Value {
    serde_json::from_str(&pudu_gateway::contract()).unwrap()
}

/// Every operation, in the contract's order.
fn operations(contract: &Value) -> Vec<Operation> {
    let paths = contract["paths"].as_object().unwrap();
    let all = paths.iter().flat_map(|(path, item)| {
        let methods =
            item.as_object().unwrap().iter().filter(|(_, described)| described["responses"].is_object());
        methods.map(move |(method, described)| Operation {
            place: format!("{} {path}", method.to_uppercase()),
            described: described.clone(),
        })
    });
    all.collect()
}
