//! Checkpoints: chains, histories, and conversations that are written alone.

use std::collections::BTreeSet;

use pudu_app::ports::ConversationKept;
use pudu_domain::chat::{Message, Speaker};
use pudu_domain::conversation::{Head, Status};
use pudu_domain::run::{Body, Checkpoint, Source, Step};
use pudu_domain::state::{State, Write};
use pudu_domain::{Conversation, RunKey, Scope};
use serde_json::json;

use super::super::life::fail;
use super::{Case, World, cases, run_in, run_key};
use crate::fixture::thread;

pub(in super::super) const CASES: &[Case] = cases![
    a_chain_begins_at_the_last_whole_state,
    a_checkpoint_that_is_not_there_has_no_chain,
    a_history_is_newest_first,
    bodies_of_every_kind_are_read_as_they_were_written,
    a_conversation_that_is_kept_alone_makes_its_thread,
    a_conversation_is_kept_under_the_revision_that_was_read,
    a_conversation_is_read_as_it_was_written,
];

fn whole(text: &str) -> Body {
    let message = Message::new(Speaker::Human, "m", text);
    Body::Snapshot(Box::new(State { messages: vec![message], ..State::default() }))
}

fn delta(text: &str) -> Body {
    Body::Delta(vec![Write::Title(text.into()), Write::RemoveAllMessages])
}

fn step(body: Body) -> Step {
    Step { body: Some(body), ..Step::default() }
}

impl World {
    pub(super) async fn chain(&self, key: &RunKey, number: u32) -> Vec<Checkpoint> {
        self.runs.checkpoints(key, number).await.unwrap_or_else(|e| fail(&e))
    }

    pub(super) async fn history_of(&self, key: &RunKey, number: u32, limit: usize) -> Vec<Checkpoint> {
        self.runs.history(key, number, limit).await.unwrap_or_else(|e| fail(&e))
    }

    /// A run with so many checkpoints, every tenth a whole state.
    async fn of_many(&self, key: &RunKey, many: u32) {
        let mut run = self.working(key).await;
        for number in 0..many {
            let body = if number % 10 == 0 { whole(&number.to_string()) } else { delta(&number.to_string()) };
            run = self.advance(&run, step(body)).await;
        }
        assert_eq!(run.checkpoints, many);
    }

    async fn keep(&self, kept: &pudu_domain::conversation::Kept) -> ConversationKept {
        self.runs.keep(kept, None).await.unwrap_or_else(|e| fail(&e))
    }
}

fn numbers(chain: &[Checkpoint]) -> Vec<u32> {
    chain.iter().map(|checkpoint| checkpoint.number).collect()
}

async fn a_chain_begins_at_the_last_whole_state(world: World) {
    world.of_many(&run_key(1), 23).await;
    world.of_many(&run_in(&thread("t2"), 1), 2).await;
    for (number, from) in [(0, 0), (1, 0), (9, 0), (10, 10), (15, 10), (19, 10), (22, 20)] {
        let chain = world.chain(&run_key(1), number).await;
        assert_eq!(numbers(&chain), (from..=number).collect::<Vec<_>>(), "{number}");
        let first = chain.first().map(|checkpoint| &checkpoint.body);
        assert_eq!(first, Some(&whole(&from.to_string())));
    }
    let first = world.chain(&run_key(1), 0).await;
    assert_eq!(first.first().map(|it| (it.source, it.run.clone())), Some((Source::Input, run_key(1))));
}

async fn a_checkpoint_that_is_not_there_has_no_chain(world: World) {
    assert_eq!(world.chain(&run_key(1), 0).await, []);
    world.of_many(&run_key(1), 3).await;
    assert_eq!(world.chain(&run_key(1), 3).await, [], "what came before it is not the state");
    assert_eq!(world.chain(&run_key(2), 0).await, []);
}

async fn a_history_is_newest_first(world: World) {
    world.of_many(&run_key(1), 12).await;
    assert_eq!(numbers(&world.history_of(&run_key(1), 11, 3).await), [11, 10, 9]);
    assert_eq!(numbers(&world.history_of(&run_key(1), 1, 10).await), [1, 0]);
    assert_eq!(numbers(&world.history_of(&run_key(1), 99, 2).await), [11, 10]);
    assert_eq!(world.history_of(&run_key(2), 5, 10).await, []);
}

async fn bodies_of_every_kind_are_read_as_they_were_written(world: World) {
    let mut run = world.working(&run_key(1)).await;
    let large = whole(&"a large message that a row holds only when it is packed; ".repeat(9_000));
    let blob = Body::Blob { digest: "d".repeat(64), snapshot: true };
    for (number, body) in [large, delta("\u{fc}\u{1f98c}"), blob].into_iter().enumerate() {
        run = world.advance(&run, step(body.clone())).await;
        let number = u32::try_from(number).unwrap_or(u32::MAX);
        let chain = world.history_of(&run_key(1), number, 1).await;
        assert!(chain.first().is_some_and(|it| it.body == body), "number {number}");
    }
    assert_eq!(numbers(&world.chain(&run_key(1), 2).await), [2], "a blob may be a whole state");
}

async fn a_conversation_that_is_kept_alone_makes_its_thread(world: World) {
    let key = run_key(1);
    let new = Conversation::new(key.thread.clone(), Scope::All, world.now());
    let head = Head { run: key.id.clone(), number: 0 };
    let kept = Conversation::kept(None, Conversation { head: Some(head), ..new }, world.now());
    let checkpoint = Checkpoint {
        run: key.clone(),
        number: 0,
        at: world.now(),
        source: Source::Update,
        parent: Some(Head { run: run_key(2).id, number: 4 }),
        body: whole("seed"),
    };
    let answer = world.runs.keep(&kept, Some(&checkpoint)).await.unwrap_or_else(|e| fail(&e));
    assert_eq!(answer, ConversationKept::Done);
    assert_eq!(world.talk().await, kept.conversation);
    assert_eq!(world.chain(&key, 0).await, [checkpoint]);
    let row = world.threads.load(&key.thread).await.unwrap_or_else(|e| fail(&e));
    assert!(row.is_some_and(|thread| !thread.is_going()));
    assert_eq!(world.listed_conversations(5, None).await, std::slice::from_ref(&kept.conversation));
    assert_eq!(world.keep(&kept).await, ConversationKept::Moved, "there is one now");
    world.entombed(&key.thread).await;
    let later = Conversation::kept(Some(&kept.conversation), kept.conversation.clone(), world.now());
    assert_eq!(world.keep(&later).await, ConversationKept::ThreadGone);
    assert_eq!(world.talk().await, kept.conversation);
}

async fn a_conversation_is_kept_under_the_revision_that_was_read(world: World) {
    world.admitted(&run_key(1)).await;
    let read = world.talk().await;
    let named = |title: &str| Conversation { title: Some(title.into()), ..read.clone() };
    let first = Conversation::kept(Some(&read), named("a"), world.now());
    let second = Conversation::kept(Some(&read), named("b"), world.now());
    assert_eq!(world.keep(&first).await, ConversationKept::Done);
    assert_eq!(world.keep(&second).await, ConversationKept::Moved);
    assert_eq!(world.talk().await.title.as_deref(), Some("a"));
    let unknown = Conversation::new(thread("t9"), Scope::All, world.now());
    let unknown = Conversation::kept(Some(&unknown), unknown.clone(), world.now());
    assert_eq!(world.keep(&unknown).await, ConversationKept::Moved, "it is not made by being changed");
    assert_eq!(world.conversation(&thread("t9")).await, None);
}

async fn a_conversation_is_read_as_it_was_written(world: World) {
    let scope = Scope::Only(BTreeSet::from(["a".to_owned(), "\u{fc}".to_owned()]));
    let mut all = Conversation::new(thread("t1"), scope, world.now());
    all.active = Some(run_key(1).id);
    all.queue = vec![run_key(2).id, run_key(3).id];
    all.head = Some(Head { run: run_key(4).id, number: 17 });
    all.runs = 5;
    all.status = Status::Interrupted;
    all.title = Some(String::new());
    all.assistant = Some("lead_agent".into());
    all.metadata.insert("a".into(), json!({"nested": [1, null, "x"]}));
    let kept = Conversation::kept(None, all, world.now());
    assert_eq!(world.keep(&kept).await, ConversationKept::Done);
    assert_eq!(world.talk().await, kept.conversation);
    let nobody = Scope::Only(BTreeSet::new());
    let next = Conversation { scope: nobody, title: None, ..kept.conversation.clone() };
    let kept = Conversation::kept(Some(&kept.conversation), next, world.now());
    assert_eq!(world.keep(&kept).await, ConversationKept::Done);
    assert_eq!(world.talk().await, kept.conversation, "no server is not every server");
}
