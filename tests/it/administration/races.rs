//! Who changes the config at the same time as others loses nothing of theirs: two processes over one table, and over one file.

use acceptance::Pudu;
use pudu::house::House;
use tokio::task::JoinSet;

use super::*;

/// Four servers and a fifth.
fn config() -> Value {
    let entry = |at: usize| (format!("s{at}"), http(&format!("https://h{at}/mcp")));
    json!({"mcpServers": (0..5).map(entry).collect::<serde_json::Map<_, _>>(), "own": 1})
}

async fn raw(house: &House) -> Value {
    house.wiring.configs.current().await.unwrap().document.expose_raw().clone()
}

/// 4 PUT of one server each and 1 PATCH of another one, half of them through each process, all at once.
async fn each_its_own_server(world: &World) {
    let other = world.second_house();
    let doors = [world.gateway.clone(), other.gateway()];
    for round in 0..5 {
        let mut all = JoinSet::new();
        for at in 0..4 {
            let door = doors[at % 2].clone();
            all.spawn(async move {
                let body = json!({"description": format!("round {round}")});
                send(&door, request(Method::PUT, &format!("{SERVERS}/s{at}"), Some(&body))).await
            });
        }
        let door = doors[round % 2].clone();
        all.spawn(async move {
            let body = json!({"server_name": "s4", "enabled": round % 2 == 0});
            send(&door, request(Method::PATCH, CONFIG, Some(&body))).await
        });
        for answer in all.join_all().await {
            answer.expect(200);
        }
        world.advance(2);
        for house in [&world.house, &other] {
            let now = raw(house).await;
            for at in 0..4 {
                assert_eq!(now["mcpServers"][format!("s{at}")]["description"], format!("round {round}"));
            }
            assert_eq!(
                (&now["mcpServers"]["s4"]["enabled"], &now["own"]),
                (&json!(round % 2 == 0), &json!(1))
            );
        }
    }
}

/// 4 PUT of everything that each adds a server to what it has read, and says so, and 1 PATCH.
async fn everything_over_what_was_read(world: &World) {
    let other = world.second_house();
    let doors = [world.gateway.clone(), other.gateway()];
    let mut all = JoinSet::new();
    for at in 0..4 {
        let door = doors[at % 2].clone();
        all.spawn(async move {
            for _ in 0..100 {
                let read = send(&door, request(Method::GET, CONFIG, None)).await;
                let mut body = read.json();
                body["mcp_servers"][format!("new{at}")] = http("https://n/mcp");
                let put = over(&door, Method::PUT, CONFIG, &etag(&read), Some(&body)).await;
                match put.status.as_u16() {
                    200 => return,
                    412 => {}
                    _ => panic!("{}", put.text),
                }
            }
            panic!("it never got its turn");
        });
    }
    let door = doors[1].clone();
    all.spawn(async move {
        let body = json!({"server_name": "s4", "enabled": true});
        send(&door, request(Method::PATCH, CONFIG, Some(&body))).await.expect(200);
    });
    all.join_all().await;
    world.advance(2);
    for house in [&world.house, &other] {
        let now = raw(house).await;
        let names: Vec<&String> = now["mcpServers"].as_object().unwrap().keys().collect();
        assert_eq!(names.len(), 9, "{names:?}");
        assert_eq!(now["mcpServers"]["s4"]["enabled"], true);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn changes_of_different_servers_by_two_processes_over_one_table_lose_nothing() {
    each_its_own_server(&with_config(config()).await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn changes_of_different_servers_by_two_processes_over_one_file_lose_nothing() {
    each_its_own_server(&World::on_file(|_| config()).await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn changes_of_everything_by_two_processes_over_one_table_lose_nothing() {
    everything_over_what_was_read(&with_config(config()).await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn changes_of_everything_by_two_processes_over_one_file_lose_nothing() {
    everything_over_what_was_read(&World::on_file(|_| config()).await).await;
}

/// Without saying what was read the last writer wins for its own server, and only for that.
#[tokio::test]
async fn the_last_writer_of_one_server_wins_and_the_server_beside_it_is_kept() {
    let world = with_config(config()).await;
    for (name, text) in [("s0", "first"), ("s1", "other"), ("s0", "last")] {
        let body = json!({"description": text});
        world.call(Method::PUT, &format!("{SERVERS}/{name}"), Some(&body)).await.expect(200);
    }
    let now = stored(&world).await;
    assert_eq!(
        (&now["mcpServers"]["s0"]["description"], &now["mcpServers"]["s1"]["description"]),
        (&json!("last"), &json!("other"))
    );
}

/// Programs that share nothing but the file and its lock.
#[tokio::test]
async fn changes_by_two_real_processes_over_one_file_lose_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("extensions_config.json");
    std::fs::write(&file, config().to_string()).unwrap();
    let arguments = ["--no-auth", "--config-file", file.to_str().unwrap()];
    let (one, other) = tokio::join!(Pudu::start(&arguments, &[]), Pudu::start(&arguments, &[]));
    for round in 0..10 {
        let mut all = JoinSet::new();
        for at in 0..4 {
            let door = if at % 2 == 0 { &one } else { &other };
            let put = door.http().put(door.url(&format!("{SERVERS}/s{at}")));
            let body = json!({"description": format!("round {round}")});
            all.spawn(put.header(header::CONTENT_TYPE, "application/json").body(body.to_string()).send());
        }
        let door = if round % 2 == 0 { &other } else { &one };
        let body = json!({"server_name": "s4", "enabled": round % 2 == 0});
        let patch = door.http().patch(door.url(CONFIG)).header(header::CONTENT_TYPE, "application/json");
        all.spawn(patch.body(body.to_string()).send());
        for answer in all.join_all().await {
            let answer = answer.unwrap();
            assert_eq!(answer.status(), 200, "{}", answer.text().await.unwrap());
        }
        let now: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
        for at in 0..4 {
            assert_eq!(now["mcpServers"][format!("s{at}")]["description"], format!("round {round}"));
        }
        assert_eq!((&now["mcpServers"]["s4"]["enabled"], &now["own"]), (&json!(round % 2 == 0), &json!(1)));
    }
}
