//! Rows 24 and 25 (MCP reference 3.5, 3.6): tools whose schemas are withheld until they are looked for, and hints which tool to
//! prefer for what. What was found stays found, in the state, as long as the tools are the same.

use std::sync::Arc;

use async_trait::async_trait;
use pudu_app::deferral::{self, Deferred, Origin, Promotion, TOOL_SEARCH, Visible};
use pudu_app::hints;
use pudu_app::ports::ToolDefinition;
use pudu_domain::chat::{Message, ORIGINAL, Speaker, ToolCall, ToolStatus};
use pudu_domain::state::{Promoted, State, Write};
use serde_json::{Value, json};

use crate::house::House;
use crate::middleware::{Aside, Middleware, Request};
use crate::options::Options;
use crate::tool::{Bench, Brought, Tool};
use crate::turn::Turn;

/// The tool that searches; there is one only where something can be found.
#[derive(Debug, Clone, Copy, Default)]
pub struct ToolSearch;

/// The middleware: promotes what the user's words ask for, then shows what is promoted and nothing else.
#[derive(Debug, Clone, Copy, Default)]
pub struct DeferredTools;

#[async_trait]
impl Tool for ToolSearch {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition {
            name: TOOL_SEARCH.to_owned(),
            description: "Finds tools that are known by name only, and shows how they are called; then they can be. Write \
                          `select:name,other` for tools by name, `+word more words` for tools whose name has that word, or words \
                          or a regular expression to look for in names and descriptions."
                .to_owned(),
            schema: json!({
                "type": "object",
                "properties": {"query": {"type": "string", "description": "What to look for."}},
                "required": ["query"]
            }),
            server: None,
        }
    }

    fn is_offered(&self, options: &Options) -> bool {
        options.house.deferred.is_some()
    }

    async fn call(&self, bench: Bench<'_>, call: &ToolCall) -> Brought {
        let query = call.args.get("query").and_then(Value::as_str).unwrap_or_default();
        let Some(deferred) = &bench.options.house.deferred else {
            return Brought::only(Message::tool(call, ToolStatus::Error, "There is no tool to look for."));
        };
        let found = deferred.search(query);
        let writes = found.promotion.into_iter().map(write).collect();
        Brought { writes, ..Brought::only(Message::tool(call, ToolStatus::Success, found.text)) }
    }
}

#[async_trait]
impl Middleware for DeferredTools {
    fn name(&self) -> &'static str {
        "deferred_tools"
    }

    async fn before_model(&self, turn: &mut Turn<'_>, _aside: &dyn Aside) {
        let house = Arc::clone(&turn.options.house);
        let Some(deferred) = &house.deferred else { return };
        let kept = kept(turn.state(), deferred);
        let promotion = visible(&house, deferred, turn.state()).promotion.filter(|promotion| {
            // What is promoted already is not written again with every call.
            let known = |name: &String| kept.as_ref().is_some_and(|kept| kept.names.contains(name));
            !promotion.names.iter().all(known)
        });
        if let Some(promotion) = promotion {
            turn.write(write(promotion));
        }
    }

    fn shape(&self, turn: &Turn<'_>, request: &mut Request) {
        let house = &turn.options.house;
        if let Some(deferred) = &house.deferred {
            request.system.push(deferred.block());
            let visible = visible(house, deferred, turn.state());
            request.tools.retain(|tool| !visible.is_deferred(&tool.name));
        }
        // By what is withheld at first, not by what is promoted by now: the system's message stays the same.
        let hints = hints::block(&house.routed, |name| {
            house.deferred.as_ref().is_some_and(|deferred| deferred.has(name))
        });
        if !hints.is_empty() {
            request.system.push(hints);
        }
    }

    fn before_tool(&self, turn: &Turn<'_>, call: &ToolCall) -> Option<Message> {
        let deferred = turn.options.house.deferred.as_ref()?;
        let refused = visible(&turn.options.house, deferred, turn.state()).admit(&call.name).err()?;
        Some(Message::tool(call, ToolStatus::Error, refused.to_string()))
    }
}

fn write(promotion: Promotion) -> Write {
    let catalog_hash = promotion.catalog_hash.as_str().to_owned();
    Write::Promoted(Promoted { catalog_hash, names: promotion.names })
}

/// What the thread has promoted of these tools.
fn kept(state: &State, deferred: &Deferred) -> Option<Promotion> {
    let promoted = state.promoted.as_ref()?;
    let same = promoted.catalog_hash == deferred.hash().as_str();
    same.then(|| Promotion { catalog_hash: deferred.hash().clone(), names: promoted.names.clone() })
}

fn visible<'a>(house: &House, deferred: &'a Deferred, state: &State) -> Visible<'a> {
    let users = state.messages.iter().rev().find(|message| message.is_users());
    let text = users.map(|message| message.content.text());
    let message = users.zip(text.as_deref()).map(|(message, text)| deferral::Message {
        origin: origin(message),
        text,
        original: message.additional_kwargs.get(ORIGINAL).and_then(Value::as_str),
    });
    deferred.promoted(house.search, kept(state, deferred).as_ref(), message.into_iter())
}

fn origin(message: &Message) -> Origin {
    match message.speaker {
        Speaker::Human if message.is_users() => Origin::User,
        Speaker::Human => Origin::Hidden,
        _ => Origin::Other,
    }
}

#[cfg(test)]
mod tests {
    use pudu_app::function::Function;
    use pudu_app::hints::Routed;
    use pudu_config::{Mode, Routing};

    use super::*;
    use crate::fixture::{Says, World, call, human, said};

    fn world() -> World {
        let mut world = World::new(&json!({}));
        let tool = |name: &str, keywords: &[&str]| {
            let keywords: Vec<String> = keywords.iter().map(|&word| word.to_owned()).collect();
            let mode = if keywords.is_empty() { Mode::Off } else { Mode::Prefer };
            let routed = Routed { name: name.into(), routing: Routing { mode, priority: 1, keywords } };
            (Function::new(name, "does things", None), routed)
        };
        let tools = [tool("db_query", &["orders"]), tool("web_fetch", &[]), tool("web_shot", &[])];
        let house = Arc::make_mut(&mut world.options.house);
        house.search.enabled = true;
        house.routed = tools.iter().map(|(_, routed)| routed.clone()).collect();
        house.deferred = Deferred::new(house.search, tools);
        world
    }

    fn shaped(world: &World, state: &State) -> Request {
        let definition = |name: &str| ToolDefinition { name: name.into(), ..ToolSearch.definition() };
        let tools = ["ls", "db_query", "web_fetch", "web_shot"].map(definition).into();
        let mut request = Request { tools, ..Request::default() };
        DeferredTools.shape(&world.turn(state.clone()), &mut request);
        request
    }

    fn names(request: &Request) -> Vec<&str> {
        request.tools.iter().map(|tool| tool.name.as_str()).collect()
    }

    #[tokio::test]
    async fn a_tool_is_known_by_name_until_it_is_found() {
        let (world, mut state) = (world(), said([human("h", "hello")]));
        let before = shaped(&world, &state);
        assert_eq!(names(&before), ["ls"]);
        assert!(before.system[0].contains("<available-deferred-tools>\ndb_query\nweb_fetch\nweb_shot\n"));
        assert!(before.system[1].contains("select:db_query"), "{:?}", before.system);
        let refused =
            DeferredTools.before_tool(&world.turn(state.clone()), &call("c", "web_shot", &json!({})));
        assert!(refused.unwrap().content.text().contains("select:web_shot"));

        let search = call("c", TOOL_SEARCH, &json!({"query": "select:web_shot"}));
        let brought = ToolSearch.call(world.bench(&state), &search).await;
        assert!(brought.message.content.text().contains("web_shot"));
        state.apply_all(brought.writes).unwrap();
        let after = shaped(&world, &state);
        assert_eq!(names(&after), ["ls", "web_shot"]);
        assert_eq!(after.system, before.system, "the system's message stays the same");
        assert_eq!(DeferredTools.before_tool(&world.turn(state), &call("c", "web_shot", &json!({}))), None);
    }

    #[tokio::test]
    async fn what_the_users_words_ask_for_is_promoted_once() {
        let (world, state) = (world(), said([human("h", "show my ORDERS")]));
        let mut turn = world.turn(state);
        DeferredTools.before_model(&mut turn, &Says(None)).await;
        let outcome = turn.finish();
        assert_eq!(outcome.state.promoted.as_ref().unwrap().names, ["db_query"]);
        let mut turn = world.turn(outcome.state);
        DeferredTools.before_model(&mut turn, &Says(None)).await;
        assert_eq!(turn.finish().writes, []);
    }

    #[tokio::test]
    async fn hidden_words_promote_nothing() {
        let (world, state) = (world(), said([human("h", "hello"), human("x", "orders").hidden()]));
        let mut turn = world.turn(state);
        DeferredTools.before_model(&mut turn, &Says(None)).await;
        assert_eq!(turn.finish().writes, []);
    }

    #[test]
    fn what_was_promoted_of_other_tools_counts_for_nothing() {
        let mut state = said([human("h", "hello")]);
        state.promoted = Some(Promoted { catalog_hash: "other".into(), names: vec!["web_shot".into()] });
        assert_eq!(names(&shaped(&world(), &state)), ["ls"]);
    }

    #[test]
    fn without_deferral_there_is_nothing_to_search_and_everything_to_see() {
        let world = World::new(&json!({}));
        assert!(!ToolSearch.is_offered(&world.options));
        let shaped = shaped(&world, &State::default());
        assert_eq!((names(&shaped).len(), shaped.system.len()), (4, 0));
    }
}
