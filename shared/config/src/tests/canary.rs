//! A random config with a canary at every sensitive place. The places are written down here a second time, on purpose
//! without the walk or the key test of the crate: a place that the walk forgets must not be forgotten here too.

use proptest::collection::{hash_map, vec};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use crate::*;

const CANARY: &str = "CANARY";
const SECRET_NUMBER: u32 = 777_777;
const PLAIN: &str = "PLAIN";
const TELLING: &[&str] =
    &["apiKey", "X-API-Key", "token", "clientSecret", "db.password", "AWS_ACCESS_KEY_ID"];
const HARMLESS: &[&str] = &["name", "tokens", "folder", "note", "session_id", "a.b"];

/// What an extra is made of: shape first, secrets are planted afterwards.
#[derive(Clone, Debug)]
enum Shape {
    Text,
    Url,
    Reference,
    Number,
    Flag,
    List(Vec<Shape>),
    Object(Vec<(bool, usize, Shape)>),
}

fn shape() -> impl Strategy<Value = Shape> {
    let leaf = prop_oneof![
        4 => Just(Shape::Text),
        1 => Just(Shape::Url),
        1 => Just(Shape::Reference),
        1 => Just(Shape::Number),
        1 => Just(Shape::Flag),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Shape::List),
            vec((any::<bool>(), 0..6_usize, inner), 0..4).prop_map(Shape::Object),
        ]
    })
}

/// Counts up, so that no two secrets are equal and a swap of two is seen.
struct Planter(u32);

impl Planter {
    fn secret(&mut self) -> String {
        self.0 += 1;
        format!("{CANARY}-{}", self.0)
    }

    fn plain(&mut self) -> String {
        self.0 += 1;
        format!("{PLAIN}-{}", self.0)
    }

    fn grow(&mut self, shape: &Shape, sensitive: bool) -> Value {
        match shape {
            Shape::Text if sensitive => self.secret().into(),
            Shape::Text => self.plain().into(),
            Shape::Url if sensitive => format!("https://h/{}", self.secret()).into(),
            Shape::Url => self.url("db").into(),
            Shape::Reference => "$SOME_VAR".into(),
            Shape::Number if sensitive => SECRET_NUMBER.into(),
            Shape::Number => 424_242.into(),
            Shape::Flag => true.into(),
            Shape::List(items) => items.iter().map(|item| self.grow(item, sensitive)).collect(),
            Shape::Object(fields) => self.extras(fields, sensitive).into(),
        }
    }

    fn extras(&mut self, fields: &[(bool, usize, Shape)], sensitive: bool) -> Map<String, Value> {
        let mut map = Map::new();
        for (telling, at, shape) in fields {
            let key = if *telling { TELLING[*at] } else { HARMLESS[*at] };
            map.insert(key.to_owned(), self.grow(shape, sensitive || *telling));
        }
        map
    }

    fn url(&mut self, scheme: &str) -> String {
        let (user, token, page) = (self.secret(), self.secret(), self.plain());
        format!("{scheme}://u:{user}@host.test/mcp?page={page}&access_token={token}&page=2")
    }

    fn args(&mut self) -> Value {
        let json = format!(r#"--config={{"{}":"{}"}}"#, "apiKey", self.secret());
        json!([
            "--db",
            self.url("postgres"),
            "--db",
            self.url("postgres"),
            self.plain(),
            "--token",
            self.secret(),
            "--api-key",
            "$SOME_VAR",
            format!("--password={}", self.secret()),
            "-H",
            format!("X-Own: {}", self.secret()),
            json,
            format!("AWS_ACCESS_KEY_ID={}", self.secret()),
            "--page",
            self.plain(),
            "--token",
            self.secret(),
        ])
    }

    fn map(&mut self, names: &[String]) -> Value {
        names
            .iter()
            .enumerate()
            .map(|(at, name)| (name.clone(), if at == 1 { json!("$SOME_VAR") } else { json!(self.secret()) }))
            .collect::<Map<_, _>>()
            .into()
    }
}

type Fields = Vec<(bool, usize, Shape)>;

#[derive(Clone, Debug)]
struct Seed {
    names: Vec<String>,
    server: Fields,
    oauth: Fields,
    user_auth: Fields,
    from_context: Fields,
    tool: Fields,
    top: Fields,
    stdio: bool,
}

fn seed() -> impl Strategy<Value = Seed> {
    let fields = || vec((any::<bool>(), 0..6_usize, shape()), 0..4);
    let names = hash_map("[a-z][a-zA-Z-]{0,6}", Just(()), 0..4).prop_map(|names| {
        // Two spellings of one header would be refused.
        names.into_keys().enumerate().map(|(at, name)| format!("{name}{at}")).collect()
    });
    (names, fields(), fields(), fields(), fields(), fields(), fields(), any::<bool>()).prop_map(
        |(names, server, oauth, user_auth, from_context, tool, top, stdio)| Seed {
            names,
            server,
            oauth,
            user_auth,
            from_context,
            tool,
            top,
            stdio,
        },
    )
}

fn config(seed: &Seed) -> Value {
    let mut plant = Planter(0);
    let mut entry = plant.extras(&seed.server, false);
    let with = |block: Value, extras: Map<String, Value>| {
        let mut all = extras;
        all.extend(block.as_object().unwrap().clone());
        Value::Object(all)
    };
    let oauth = json!({"token_url": plant.url("https"), "client_id": plant.plain(), "client_secret": plant.secret(),
                       "refresh_token": plant.secret(), "extra_token_params": plant.map(&seed.names)});
    let user_auth = json!({"users": plant.map(&seed.names), "header": "X-User"});
    let from_context = json!({"headers": {"Authorization": plant.plain()}});
    let declared = json!({
        "type": if seed.stdio { "stdio" } else { "http" }, "command": plant.plain(), "url": plant.url("https"),
        "args": plant.args(), "description": plant.plain(),
        "env": plant.map(&seed.names), "headers": plant.map(&seed.names),
        "oauth": with(oauth, plant.extras(&seed.oauth, false)),
        "user_auth": with(user_auth, plant.extras(&seed.user_auth, false)),
        "headers_from_context": with(from_context, plant.extras(&seed.from_context, false)),
        "tools": {"get_token": with(json!({"routing": {"priority": 500}}), plant.extras(&seed.tool, false))},
    });
    entry.extend(declared.as_object().unwrap().clone());
    let mut top = plant.extras(&seed.top, false);
    top.insert(
        "mcpServers".into(),
        json!({"web": entry, "other": {"url": plant.url("https"), "type": "http"}}),
    );
    Value::Object(top)
}

fn count(text: &str, word: &str) -> usize {
    text.matches(word).count()
}

/// A nonce per call; the key is fixed, the test is about places.
fn nonces() -> impl FnMut() -> [u8; NONCE_BYTES] {
    let mut next = 0_u8;
    move || {
        next = next.wrapping_add(1);
        [next; NONCE_BYTES]
    }
}

proptest! {
    #[test]
    fn no_way_out_shows_a_canary_and_nothing_else_is_lost(seed in seed()) {
        let raw = config(&seed);
        let document = Document::parse(raw.clone()).unwrap();
        let key = SealKey::new([3; 32]);
        let sealed = key.seal_document(&document, &mut nonces()).unwrap();
        let masked = document.masked();

        for shown in [
            masked.to_string(),
            sealed.to_string(),
            document.response().to_string(),
            format!("{document:?}"),
            format!("{:?}", document.servers()),
            format!("{:?}", document.warnings()),
        ] {
            prop_assert!(!shown.contains(CANARY), "{}", shown);
        }
        prop_assert!(!masked.to_string().contains(&SECRET_NUMBER.to_string()));
        for kept in [&masked, &sealed] {
            prop_assert_eq!(count(&kept.to_string(), ":424242"), count(&raw.to_string(), ":424242"));
            prop_assert_eq!(count(&kept.to_string(), PLAIN), count(&raw.to_string(), PLAIN));
            prop_assert_eq!(count(&kept.to_string(), "$SOME_VAR"), count(&raw.to_string(), "$SOME_VAR"));
        }

        let opened = key.open_document(sealed).unwrap();
        prop_assert_eq!(opened.expose_raw().to_string(), raw.to_string());
        let merged = merge(masked, Some(&document)).unwrap();
        prop_assert_eq!(&merged, &raw);

        let again = Document::parse(merge(document.response(), Some(&document)).unwrap()).unwrap();
        for server in document.servers() {
            prop_assert_eq!(key.digest(again.server(&server.name).unwrap()), key.digest(server));
        }

        // Without the stored document every placeholder is refused, and the refusal shows no secret either.
        let problems = merge(document.masked(), None).unwrap_err();
        prop_assert!(problems.iter().all(|problem| !problem.to_string().contains(CANARY)));
    }
}

/// Each declared field gets canaries of every wrong type, and legal ones that break a rule.
#[test]
fn no_problem_shows_a_value() {
    let shapes = [
        json!(CANARY),
        json!([CANARY]),
        json!({"key": CANARY}),
        json!({"key": [CANARY]}),
        json!({"key": {"deep": CANARY}}),
        json!([{"name": {"deep": CANARY}}]),
        json!({"key": format!("{CANARY}\n")}),
        json!({"key": format!("${{{CANARY}}}")}),
        json!({"key": format!("sealed:{CANARY}")}),
        json!(format!("$_{CANARY}")),
    ];
    let blocks = ["oauth", "user_auth", "headers_from_context", "routing"];
    let inner = [
        "enabled",
        "header",
        "users",
        "headers",
        "on_missing",
        "token_url",
        "grant_type",
        "client_id",
        "client_secret",
        "refresh_token",
        "scope",
        "audience",
        "token_field",
        "refresh_skew_seconds",
        "extra_token_params",
        "mode",
        "priority",
        "keywords",
        "apiKey",
    ];
    let mut refused = 0;
    let mut check = |entry: Value| {
        let raw = json!({"mcpServers": {"web": entry}});
        if let Err(problems) = Document::parse(raw.clone()) {
            refused += 1;
            for problem in problems {
                assert!(!format!("{problem} {problem:?}").contains(CANARY), "{problem:?} of {raw}");
            }
        }
    };
    for shape in &shapes {
        for field in crate::server::DECLARED {
            check(json!({"type": "http", (*field): shape}));
        }
        for block in blocks {
            for field in inner {
                check(json!({"type": "http", block: {field: shape}}));
            }
        }
    }
    assert!(refused > 300, "only {refused} of the cases were wrong");
}
