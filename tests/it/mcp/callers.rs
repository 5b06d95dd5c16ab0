//! Who sees what: servers by the key's scope, tasks by its user.

use std::collections::BTreeSet;

use acceptance::Town;
use pudu_domain::Scope;
use serde_json::{Value, json};

use super::{OLDER, error, post_to};

/// A door that asks for keys, and two of them: one for everything, one for a server that is not there.
struct Keyed {
    town: Town,
    ann: String,
    bob: String,
}

impl Keyed {
    async fn new() -> Self {
        let town = Town::new().await;
        let ann = town.key("ann", Scope::All).await;
        let bob = town.key("bob", Scope::Only(BTreeSet::from(["other".to_owned()]))).await;
        Self { town, ann, bob }
    }

    async fn ask(&self, key: &str, method: &str, params: Value) -> Value {
        let body = json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params}).to_string();
        let headers = [
            ("authorization".to_owned(), format!("Bearer {key}")),
            ("mcp-protocol-version".to_owned(), OLDER[0].to_owned()),
        ];
        post_to(&self.town.gateway, &body, &headers).await.expect(200)
    }
}

#[tokio::test]
async fn a_server_outside_of_a_keys_scope_is_not_there() {
    let door = Keyed::new().await;
    let listed = door.ask(&door.ann, "tools/list", json!({})).await;
    assert_eq!(listed["result"]["tools"][0]["name"], "example_echo", "{listed}");
    let listed = door.ask(&door.bob, "tools/list", json!({})).await;
    assert_eq!(
        listed["result"]["tools"],
        json!([]),
        "nor what follows tasks: there is nothing that starts one"
    );
    let call = |name: &str| json!({"name": name, "arguments": {"text": "x"}});
    assert_eq!(
        door.ask(&door.ann, "tools/call", call("example_echo")).await["result"]["content"][0]["text"],
        "x"
    );
    let (hidden, nowhere) = (
        error(&door.ask(&door.bob, "tools/call", call("example_echo")).await),
        error(&door.ask(&door.bob, "tools/call", call("example_nope")).await),
    );
    assert_eq!((hidden.0, hidden.1.replace("example_echo", "example_nope")), nowhere, "the same words");
    assert_eq!(hidden.0, -32602);
}

#[tokio::test]
async fn a_task_of_another_user_is_not_there() {
    let door = Keyed::new().await;
    let order =
        json!({"name": "example_submit_report", "arguments": {"title": "Deer", "duration_seconds": 600}});
    let told = door.ask(&door.ann, "tools/call", order).await;
    let id = told["result"]["structuredContent"]["task_id"].clone();
    let get = |id: &Value| json!({"name": "pudu_tasks_get", "arguments": {"task_id": id}});
    let own = door.ask(&door.ann, "tools/call", get(&id)).await;
    assert_eq!(own["result"]["structuredContent"]["taskId"], id, "{own}");
    let foreign = door.ask(&door.bob, "tools/call", get(&id)).await;
    let nowhere = door.ask(&door.bob, "tools/call", get(&json!("no~id"))).await;
    assert_eq!((&foreign["result"], &foreign["result"]["isError"]), (&nowhere["result"], &json!(true)));
    let none = door.ask(&door.bob, "tools/call", json!({"name": "pudu_tasks_list", "arguments": {}})).await;
    assert_eq!(none["result"]["structuredContent"], json!({"tasks": []}));
}
