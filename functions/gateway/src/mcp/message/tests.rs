use serde_json::json;

use super::*;

fn refused(body: &str) -> (Value, i64) {
    let Message::Broken(id, error) = read(body.as_bytes()) else { panic!("it is a message: {body}") };
    (id, serde_json::to_value(error).unwrap()["code"].as_i64().unwrap())
}

#[test]
fn a_request_keeps_its_id_as_it_came() {
    for id in [json!(1), json!("a"), json!(-7), json!(1.5), json!(0)] {
        let body = json!({"jsonrpc": "2.0", "id": id, "method": "ping"}).to_string();
        let expected = Request { id, method: "ping".to_owned(), params: Map::new() };
        assert_eq!(read(body.as_bytes()), Message::Request(expected));
    }
}

#[test]
fn what_wants_no_answer_gets_none() {
    for body in [
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":{}}"#,
        r#"{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"m"}}"#,
    ] {
        assert_eq!(read(body.as_bytes()), Message::Other, "{body}");
    }
}

#[test]
fn what_is_no_message_says_why_by_its_code_and_keeps_the_id_that_can_be_read() {
    for (body, id, code) in [
        ("", Value::Null, -32700),
        ("{", Value::Null, -32700),
        ("[", Value::Null, -32700),
        ("[]", Value::Null, -32600),
        (r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, Value::Null, -32600),
        ("7", Value::Null, -32600),
        ("null", Value::Null, -32600),
        ("{}", Value::Null, -32600),
        (r#"{"id":1,"method":"ping"}"#, json!(1), -32600),
        (r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#, json!(1), -32600),
        (r#"{"jsonrpc":"2.0","id":1}"#, json!(1), -32600),
        (r#"{"jsonrpc":"2.0","id":1,"method":7}"#, json!(1), -32600),
        (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, Value::Null, -32600),
        (r#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#, Value::Null, -32600),
        (r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}"#, json!(1), -32600),
    ] {
        assert_eq!(refused(body), (id, code), "{body}");
    }
}
