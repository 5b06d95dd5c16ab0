//! Arbitrary runs, and everything that is stored of them.

use proptest::collection::{btree_map, btree_set, vec};
use proptest::option::of;
use proptest::prelude::*;
use pudu_domain::chat::Usage;
use pudu_domain::conversation::{Conversation, Head, Status};
use pudu_domain::feedback::{Feedback, Rating};
use pudu_domain::run::{
    Body, Checkpoint, Compaction, End, Keep, Notice, Operation, Origin, Outcome, Phase, Run, RunSpec, Source,
    StopReason, Strategy as Many, Subagent, Told, Totals,
};
use pudu_domain::state::{State, Write};
use pudu_domain::{Generation, Scope, Timestamp};
use serde_json::{Map, Value};

use super::{durable, json, run_id, run_key, snippet, thread_key, time};

fn object() -> impl Strategy<Value = Map<String, Value>> {
    vec((any::<String>(), json()), 0..3).prop_map(Map::from_iter)
}

fn scope() -> impl Strategy<Value = Scope> {
    prop_oneof![Just(Scope::All), btree_set("\\PC{1,20}", 0..4).prop_map(Scope::Only)]
}

fn head() -> impl Strategy<Value = Head> {
    (run_id(), any::<u32>()).prop_map(|(run, number)| Head { run, number })
}

fn usage() -> impl Strategy<Value = Usage> {
    any::<[u64; 3]>().prop_map(|[input_tokens, output_tokens, total_tokens]| Usage {
        input_tokens,
        output_tokens,
        total_tokens,
    })
}

fn totals() -> impl Strategy<Value = Totals> {
    let by_model = btree_map("\\PC{0,30}", usage(), 0..4);
    (any::<[u32; 2]>(), usage(), any::<[u64; 3]>(), by_model).prop_map(
        |([calls, messages], tokens, [lead, subagent, middleware], by_model)| Totals {
            calls,
            tokens,
            lead,
            subagent,
            middleware,
            by_model,
            messages,
        },
    )
}

fn phase() -> impl Strategy<Value = Phase> {
    let outcomes = [Outcome::Success, Outcome::Error, Outcome::Timeout, Outcome::Interrupted];
    let reasons = [
        StopReason::LoopCapped,
        StopReason::TokenCapped,
        StopReason::SafetyCapped,
        StopReason::SubagentLimitCapped,
        StopReason::ModelLengthCapped,
        StopReason::TurnCapped,
    ];
    let end = (0..outcomes.len(), of(0..reasons.len()), of(snippet()), time()).prop_map(
        move |(outcome, reason, error, at)| End {
            outcome: outcomes[outcome],
            stop_reason: reason.map(|reason| reasons[reason]),
            error,
            at,
        },
    );
    prop_oneof![
        Just(Phase::Queued),
        Just(Phase::Pending),
        Just(Phase::Running),
        btree_set(run_id(), 0..4).prop_map(|open| Phase::Parked { open }),
        end.prop_map(Phase::Ended),
    ]
}

pub(crate) fn run() -> impl Strategy<Value = Run> {
    let origin = prop_oneof![
        Just(Origin::Lead),
        Just(Origin::Aside),
        (run_id(), "\\PC{0,60}").prop_map(|(parent, call)| Origin::Child { parent, call }),
    ];
    let counters = (any::<[u32; 3]>(), any::<[u64; 2]>(), of(time()));
    (run_key(), origin, phase(), durable(), counters, totals(), time(), time()).prop_map(
        |(key, origin, phase, durable, counters, totals, created_at, updated_at)| {
            let ([ordinal, checkpoints, children], [told, progressed], until) = counters;
            Run {
                key,
                origin,
                ordinal,
                phase,
                durable,
                checkpoints,
                told,
                children,
                progressed: Generation::new(progressed),
                until,
                totals,
                created_at,
                updated_at,
            }
        },
    )
}

pub(crate) fn run_spec() -> impl Strategy<Value = RunSpec> {
    let many = [Many::Reject, Many::Interrupt, Many::Rollback, Many::Enqueue];
    let tools = (of(vec("\\PC{0,20}", 0..3)), vec("\\PC{0,20}", 0..3), "\\PC{0,60}");
    let subagent = ("\\PC{0,20}", "\\PC{0,60}", any::<u32>(), any::<u64>(), tools).prop_map(
        |(name, description, max_turns, token_budget, (tools, without, instructions))| Subagent {
            name,
            description,
            max_turns,
            token_budget,
            instructions,
            tools,
            without,
        },
    );
    let flags = (0..many.len(), any::<bool>(), of("[0-9a-f]{64}"), operation());
    ("\\PC{0,30}", object(), object(), object(), scope(), of(head()), of(subagent), flags).prop_map(
        move |(
            assistant,
            options,
            metadata,
            kwargs,
            scope,
            base,
            subagent,
            (strategy, secrets, key, operation),
        )| {
            RunSpec {
                operation,
                assistant,
                input: Vec::new(),
                options,
                metadata,
                kwargs,
                strategy: many[strategy],
                scope,
                base,
                subagent,
                secrets,
                key,
            }
        },
    )
}

fn operation() -> impl Strategy<Value = Operation> {
    let keep = of(prop_oneof![any::<u64>().prop_map(Keep::Messages), any::<u64>().prop_map(Keep::Tokens)]);
    prop_oneof![
        Just(Operation::Run),
        Just(Operation::Remember),
        (any::<bool>(), keep).prop_map(|(force, keep)| Operation::Compact(Compaction { force, keep })),
    ]
}

pub(crate) fn checkpoint() -> impl Strategy<Value = Checkpoint> {
    let sources = [Source::Input, Source::Loop, Source::Update];
    let writes = prop_oneof!["\\PC{0,60}".prop_map(Write::Title), json().prop_map(Write::ThreadData)];
    let body = prop_oneof![
        of("\\PC{0,60}").prop_map(|title| Body::Snapshot(Box::new(State { title, ..State::default() }))),
        vec(writes, 0..4).prop_map(Body::Delta),
        ("[0-9a-f]{64}", any::<bool>()).prop_map(|(digest, snapshot)| Body::Blob { digest, snapshot }),
    ];
    (run_key(), any::<u32>(), time(), 0..sources.len(), of(head()), body).prop_map(
        move |(run, number, at, source, parent, body)| Checkpoint {
            run,
            number,
            at,
            source: sources[source],
            parent,
            body,
        },
    )
}

fn notice() -> impl Strategy<Value = Notice> {
    prop_oneof![
        ("\\PC{0,20}", json()).prop_map(|(event, data)| Notice::Frame { event, data }),
        any::<(u32, Option<u32>)>().prop_map(|(number, behind)| Notice::Values { number, behind }),
        ("\\PC{0,32}", "[a-z]{0,16}", json(), json()).prop_map(
            |(event_type, category, content, metadata)| {
                Notice::Record { event_type, category, content, metadata }
            }
        ),
    ]
}

/// What one write tells of one run: numbers without gaps, one moment.
pub(crate) fn told() -> impl Strategy<Value = Vec<Told>> {
    let begin = (run_key(), any::<u32>(), 1..1_000_000_u64, 0..4_000_000_000_000_u64);
    (begin, vec(notice(), 1..12)).prop_map(|((run, ordinal, first, at), notices)| {
        let at = Timestamp::from_millis(at);
        let numbered = (first..).zip(notices);
        numbered.map(|(seq, notice)| Told { run: run.clone(), ordinal, seq, at, notice }).collect()
    })
}

pub(crate) fn conversation() -> impl Strategy<Value = Conversation> {
    let statuses = [Status::Idle, Status::Busy, Status::Interrupted, Status::Error];
    let numbers = (any::<u64>(), any::<u32>(), 0..statuses.len(), of(0..statuses.len()));
    let named = (of("\\PC{0,60}"), of("\\PC{0,30}"), object(), scope());
    let times = (time(), time(), any::<[u32; 2]>());
    (thread_key(), numbers, of(run_id()), vec(run_id(), 0..4), of(head()), named, times).prop_map(
        move |(
            thread,
            (revision, runs, status, stood),
            active,
            queue,
            head,
            named,
            (created_at, updated_at, [to_remember, remembered]),
        )| {
            let (title, assistant, metadata, scope) = named;
            Conversation {
                thread,
                revision,
                active,
                queue,
                head,
                runs,
                status: statuses[status],
                stood: stood.map(|stood| statuses[stood]),
                title,
                metadata,
                assistant,
                scope,
                to_remember,
                remembered,
                created_at,
                updated_at,
            }
        },
    )
}

pub(crate) fn feedback() -> impl Strategy<Value = Feedback> {
    let text = || of("\\PC{0,99}x");
    (run_key(), any::<bool>(), text(), text(), time()).prop_map(|(run, good, comment, message, at)| {
        Feedback { run, rating: if good { Rating::Good } else { Rating::Bad }, comment, message, at }
    })
}
