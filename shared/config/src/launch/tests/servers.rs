//! Launch lines of public MCP servers, as public repositories have them (`corpus/servers.jsonl`): they must pass, but for those
//! that are refused for a reason that is written beside each.

use serde_json::Value;

use super::with;

#[test]
fn the_launch_lines_of_public_servers_pass() {
    let rows: Vec<Value> = include_str!("../../../corpus/servers.jsonl")
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let texts = |row: &Value, key: &str| -> Vec<String> {
        row[key].as_array().unwrap().iter().map(|text| text.as_str().unwrap().to_owned()).collect()
    };
    let (mut npx, mut uvx, mut justified, mut other, mut wrong) = (0, 0, 0, 0, Vec::new());
    for row in &rows {
        assert!(
            row["source"].as_str().unwrap().contains('/') && !row["path"].as_str().unwrap().is_empty(),
            "{row}"
        );
        let command = row["command"].as_str().unwrap();
        let (args, env) = (texts(row, "args"), texts(row, "env"));
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let env: Vec<&str> = env.iter().map(String::as_str).collect();
        let verdict = with("", command, &args, &env);
        match command {
            "npx" => npx += 1,
            "uvx" => uvx += 1,
            // Out by design: the operator adds such a command, or names the server in a file.
            _ => {
                assert!(verdict.is_err(), "{row}");
                other += 1;
                continue;
            }
        }
        match (&row["refused_because"], verdict) {
            (Value::Null, Ok(_)) => {}
            (Value::String(why), Err(_)) if why.len() > 20 => justified += 1,
            (_, verdict) => wrong.push(format!("{row}: {verdict:?}")),
        }
    }
    println!(
        "{npx} lines of npx and {uvx} of uvx, {justified} refused for a reason; {other} of other commands"
    );
    assert_eq!(wrong, [] as [String; 0]);
    assert!(npx >= 150 && uvx >= 150 && justified * 20 <= npx + uvx, "{npx} {uvx} {justified}");
}
