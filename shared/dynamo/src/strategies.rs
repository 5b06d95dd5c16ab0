//! Arbitrary domain values, for the property tests of keys and codecs.

mod runs;

use proptest::collection::vec;
use proptest::option::of;
use proptest::prelude::*;
use pudu_app::ports::Outcome as Came;
use pudu_app::ports::{
    AuditRecord, Author, Background, Made, NoteKey, RawTool, Revision, StoredKey, StoredListing,
    TaskProtocol, TokenKey,
};
use pudu_domain::event::Fingerprint;
use pudu_domain::snapshot::Artifact;
use pudu_domain::task::{
    Answer, Attention, Cancel, Delivery, Outcome, Phase, Repeatable, Stand, State, Tracking,
};
use pudu_domain::text::Snippet;
use pudu_domain::token::{Access, Rejections, Sealed, Trouble};
use pudu_domain::{
    AgentName, CredentialTag, Due, Durable, Event, Generation, KeyDigest, KeyId, KeyName, Lane, Lease,
    MemoryKey, Note, Owner, Payload, RemoteTaskId, Role, RunId, RunKey, Scope, ServerName, ServerTag, Status,
    Task, TaskId, TaskKey, TaskName, TaskSpec, Thread, ThreadId, ThreadKey, Timestamp, Token, UserId,
};
use pudu_domain::{note, thread};
use serde_json::{Map, Value};

pub(crate) use runs::{checkpoint, conversation, feedback, run, run_spec, told};

use crate::key::Key;

fn user() -> impl Strategy<Value = UserId> {
    "[a-z]{1,8}:[a-zA-Z0-9#/@:.%ü-]{1,20}".prop_map(|text| UserId::parse(text).unwrap())
}

pub(crate) fn thread_key() -> impl Strategy<Value = ThreadKey> {
    let thread = "[A-Za-z0-9_-]{1,64}".prop_map(|text| ThreadId::parse(text).unwrap());
    (user(), thread).prop_map(|(user, thread)| ThreadKey { user, thread })
}

pub(crate) fn task_id() -> impl Strategy<Value = TaskId> {
    (any::<u64>(), any::<[u8; 10]>()).prop_map(|(at, random)| TaskId::new(Timestamp::from_millis(at), random))
}

pub(crate) fn task_key() -> impl Strategy<Value = TaskKey> {
    (thread_key(), task_id()).prop_map(|(thread, id)| TaskKey { thread, id })
}

pub(crate) fn note_key() -> impl Strategy<Value = NoteKey> {
    (task_key(), any::<u32>()).prop_map(|(task, version)| NoteKey { task, version })
}

pub(crate) fn server_name() -> impl Strategy<Value = ServerName> {
    "\\PC{0,127}x".prop_map(|text| ServerName::parse(text).unwrap())
}

pub(crate) fn token_key() -> impl Strategy<Value = TokenKey> {
    ("\\PC{0,200}", "[0-9a-f]{32}").prop_map(|(server, identity)| TokenKey { server, identity })
}

fn sealed() -> impl Strategy<Value = Sealed> {
    "sealed:v1:[0-9a-f]{1,300}".prop_map(Sealed::new)
}

pub(crate) fn token() -> impl Strategy<Value = Token> {
    let access = (sealed(), time(), time()).prop_map(|(sealed, granted_at, expires_at)| Access {
        sealed,
        granted_at,
        expires_at,
    });
    let trouble = prop_oneof![
        Just(Trouble::None),
        (any::<u32>(), time(), "\\PC{0,60}").prop_map(|(attempts, retry_at, reason)| Trouble::Failing {
            attempts,
            retry_at,
            reason
        }),
        "\\PC{0,60}".prop_map(|reason| Trouble::Refused { reason }),
    ];
    let rejections = (any::<u32>(), time()).prop_map(|(count, at)| Rejections { count, at });
    let lease = ("[a-z]{1,9}", any::<u64>(), time())
        .prop_map(|(worker, nonce, until)| Lease { owner: Owner::new(&worker, nonce), until });
    let rest = (any::<u64>(), trouble, of(rejections));
    (any::<u64>(), of(lease), of(access), of(sealed()), rest).prop_map(
        |(generation, lease, access, refresh, (granted_in, trouble, rejections))| Token {
            generation: Generation::new(generation),
            lease,
            access,
            refresh,
            granted_in: Generation::new(granted_in),
            trouble,
            rejections,
        },
    )
}

pub(crate) fn run_id() -> impl Strategy<Value = RunId> {
    (any::<u64>(), any::<[u8; 10]>()).prop_map(|(at, random)| RunId::new(Timestamp::from_millis(at), random))
}

pub(crate) fn run_key() -> impl Strategy<Value = RunKey> {
    (thread_key(), run_id()).prop_map(|(thread, id)| RunKey { thread, id })
}

fn memory_key() -> impl Strategy<Value = MemoryKey> {
    let agent = of("[a-z0-9-]{1,128}".prop_map(|name| AgentName::parse(name).unwrap()));
    (user(), agent).prop_map(|(user, agent)| MemoryKey { user, agent })
}

pub(crate) fn key() -> impl Strategy<Value = Key> {
    let handle = (thread_key(), server_name(), "\\PC{0,200}", "\\PC{0,100}x");
    prop_oneof![
        task_key().prop_map(Key::Task),
        task_key().prop_map(Key::Spec),
        task_key().prop_map(Key::Payload),
        task_key().prop_map(Key::Answer),
        note_key().prop_map(Key::Note),
        note_key().prop_map(Key::Body),
        note_key().prop_map(Key::Event),
        task_key().prop_map(Key::Notified),
        thread_key().prop_map(Key::Thread),
        handle.prop_map(|(thread, server, identity, remote)| {
            Key::handle(&thread.user, &server, &identity, &RemoteTaskId::parse(remote).unwrap())
        }),
        (thread_key(), "[0-9a-f]{64}").prop_map(|(thread, digest)| Key::Idempotency { thread, digest }),
        run_key().prop_map(Key::Run),
        run_key().prop_map(Key::RunSpec),
        run_key().prop_map(Key::Secret),
        run_key().prop_map(Key::Feedback),
        (run_key(), any::<u32>()).prop_map(|(run, number)| Key::Checkpoint(run, number)),
        (run_key(), any::<u64>()).prop_map(|(run, first)| Key::Frames(run, first)),
        (thread_key(), any::<u32>(), any::<u64>()).prop_map(|(thread, ordinal, seq)| Key::Record {
            thread,
            ordinal,
            seq
        }),
        thread_key().prop_map(Key::Conversation),
        (user(), "[0-9a-f]{64}").prop_map(|(user, digest)| Key::RunKeyed { user, digest }),
        (thread_key(), time()).prop_map(|(thread, made)| Key::Listed { thread, made }),
        "[0-9a-f]{64}".prop_map(Key::Peer),
        memory_key().prop_map(Key::Memory),
        "[0-9a-f]{32}".prop_map(Key::Audit),
        "[0-9a-z]{12}".prop_map(|id| Key::ApiKey(KeyId::parse(id).unwrap())),
        task_key().prop_map(|key| Key::Bucket(key.thread.user)),
        (0..Background::ALL.len()).prop_map(|at| Key::Beacon(Background::ALL[at])),
        token_key().prop_map(|key| Key::token(&key)),
        Just(Key::Pointer),
        Just(Key::WrappedKey),
        any::<u64>().prop_map(Key::Revision),
        (any::<u64>(), "[0-9a-f]{64}", any::<u16>()).prop_map(|(number, digest, part)| Key::RevisionPart {
            number,
            digest,
            part
        }),
        ("\\PC{0,150}", "[0-9a-f]{32}").prop_map(|(server, digest)| Key::catalogue(&server, &digest)),
        ("\\PC{0,150}", "[0-9a-f]{32}", "[0-9a-f]{64}", any::<u16>()).prop_map(
            |(server, digest, content, part)| Key::catalogue_part(&server, &digest, &content, part)
        ),
    ]
}

pub(crate) fn time() -> impl Strategy<Value = Timestamp> {
    any::<u64>().prop_map(Timestamp::from_millis)
}

pub(crate) fn durable() -> impl Strategy<Value = Durable> {
    let due = (0..Lane::ALL.len(), time()).prop_map(|(lane, at)| Due { lane: Lane::ALL[lane], at });
    let lease = ("\\PC{0,40}", any::<u64>(), time())
        .prop_map(|(worker, nonce, until)| Lease { owner: Owner::new(&worker, nonce), until });
    (of(due), of(lease), any::<u64>(), any::<u64>()).prop_map(|(due, lease, generation, wake)| Durable {
        due,
        lease,
        generation: Generation::new(generation),
        wake,
    })
}

pub(crate) fn snippet() -> impl Strategy<Value = Snippet> {
    "\\PC{0,220}".prop_map(|text| Snippet::of(&text))
}

fn state() -> impl Strategy<Value = State> {
    let phase = prop_oneof![Just(Phase::Submitted), Just(Phase::Working), Just(Phase::InputRequired)];
    let outcome = prop_oneof![Just(Outcome::Completed), Just(Outcome::Failed), Just(Outcome::Cancelled)];
    prop_oneof![
        time().prop_map(|deadline| State::Intent { deadline }),
        (phase, time()).prop_map(|(phase, next_poll_at)| State::Active { phase, next_poll_at }),
        (outcome, time()).prop_map(|(outcome, at)| State::Ended { outcome, at }),
    ]
}

fn delivery() -> impl Strategy<Value = Delivery> {
    prop_oneof![Just(Delivery::Event), Just(Delivery::Run)]
}

pub(crate) fn task() -> impl Strategy<Value = Task> {
    let cancel = (time(), time(), any::<u32>(), of(time()), of(snippet())).prop_map(
        |(requested_at, until, attempts, next_at, last_error)| Cancel {
            requested_at,
            until,
            attempts,
            next_at,
            last_error,
        },
    );
    let stand = prop_oneof![
        (any::<u32>(), of(snippet()))
            .prop_map(|(attempts, last_error)| Stand::Waiting { attempts, last_error }),
        time().prop_map(|at| Stand::Taken { at }),
        snippet().prop_map(Stand::Refused),
    ];
    let answer = ("[0-9a-f]{16}", any::<u64>(), stand).prop_map(|(question, given_in, stand)| Answer {
        question,
        given_in: Generation::new(given_in),
        stand,
    });
    let tracking = (of(time()), any::<u32>(), of(snippet()))
        .prop_map(|(last_polled_at, errors, last_error)| Tracking { last_polled_at, errors, last_error });
    let attention = (any::<u32>(), any::<u32>(), of("[0-9a-f]{16}")).prop_map(|(version, last, print)| {
        Attention { version, last, fingerprint: print.map(Fingerprint::stored) }
    });
    let head = (task_key(), server_name(), (state(), delivery()), durable(), of(cancel), of(answer));
    let tail = (tracking, attention, of(snippet()), of("[0-9a-f]{16}"), time(), time());
    (head, tail).prop_map(
        |(
            (key, server, (state, delivery), durable, cancel, answer),
            (tracking, attention, error, payload, created_at, updated_at),
        )| Task {
            key,
            server: ServerTag::of(&server),
            delivery,
            state,
            durable,
            cancel,
            answer,
            tracking,
            attention,
            error,
            payload,
            created_at,
            updated_at,
        },
    )
}

/// Any JSON, with numbers that have one text: floats do not round-trip exactly without a feature of `serde_json`.
pub(crate) fn json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<i32>().prop_map(|half| Value::from(f64::from(half) / 2.0)),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 6, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..6).prop_map(Value::from),
            vec((any::<String>(), inner), 0..6).prop_map(|entries| Value::Object(Map::from_iter(entries))),
        ]
    })
}

fn artifact() -> impl Strategy<Value = Artifact> {
    ("\\PC{0,60}", "\\PC{0,20}").prop_map(|(uri, mime_type)| Artifact { uri, mime_type })
}

pub(crate) fn payload() -> impl Strategy<Value = Payload> {
    let texts = (of("\\PC{0,300}"), any::<bool>(), of("\\PC{0,300}"));
    (of(json()), texts, of(artifact()), of(json())).prop_map(
        |(result, (result_preview, result_truncated, error), result_artifact, input_required)| Payload {
            result,
            result_preview,
            result_truncated,
            result_artifact,
            error,
            input_required,
        },
    )
}

/// An event. On its wire a result that is null and none are one.
pub(crate) fn event() -> impl Strategy<Value = Event> {
    let name = "\\PC{0,100}x".prop_map(|text| TaskName::parse(text).unwrap());
    let status = (0..Status::ALL.len()).prop_map(|at| Status::ALL[at]);
    (task_id(), name, status, payload(), of("\\PC{0,200}")).prop_map(
        |(id, name, status, payload, degraded)| {
            let plain = Payload {
                result: payload.result.filter(|value| !value.is_null()),
                input_required: payload.input_required.filter(|value| !value.is_null()),
                ..payload
            };
            Event::new(id, name, status, plain, degraded)
        },
    )
}

pub(crate) fn note() -> impl Strategy<Value = Note> {
    let state = prop_oneof![
        Just(note::State::Pending),
        "[a-zA-Z0-9_.:-]{1,128}".prop_map(|run| note::State::Dispatched { run: RunId::parse(run).unwrap() }),
        time().prop_map(|at| note::State::Delivered { at }),
        Just(note::State::Withdrawn),
        Just(note::State::Superseded),
        Just(note::State::Dead),
    ];
    let status = (0..Status::ALL.len()).prop_map(|at| Status::ALL[at]);
    let rest = (any::<u32>(), any::<u32>(), of(snippet()), time(), of(event().prop_map(Box::new)));
    (note_key(), delivery(), status, state, durable(), rest).prop_map(
        |(key, delivery, status, state, durable, (attempts, dispatch, last_error, created_at, carried))| {
            Note {
                task: key.task,
                version: key.version,
                delivery,
                status,
                state,
                durable,
                attempts,
                dispatch,
                last_error,
                created_at,
                carried,
            }
        },
    )
}

pub(crate) fn thread() -> impl Strategy<Value = Thread> {
    let going = proptest::option::of((time(), any::<u32>(), durable()));
    (thread_key(), time(), going).prop_map(|(key, created_at, going)| {
        let open = Thread::open(key, created_at);
        match going {
            None => open,
            Some((since, looks, durable)) => {
                Thread { state: thread::State::Deleting { since, looks }, durable, ..open }
            }
        }
    })
}

pub(crate) fn repeatable() -> impl Strategy<Value = Repeatable> {
    ("[0-9a-f]{64}", "[0-9a-f]{64}").prop_map(|(key, request)| Repeatable { key, request })
}

pub(crate) fn spec() -> impl Strategy<Value = TaskSpec> {
    let name = "\\PC{0,100}x".prop_map(|text| TaskName::parse(text).unwrap());
    let remote = "\\PC{0,100}x".prop_map(|text| RemoteTaskId::parse(text).unwrap());
    (name, server_name(), "\\PC{0,100}", "\\PC{0,20}", json(), of(remote), of(repeatable())).prop_map(
        |(name, server, identity, driver, driver_data, remote, repeatable)| TaskSpec {
            name,
            server,
            identity,
            driver,
            driver_data,
            remote,
            repeatable,
        },
    )
}

fn author() -> impl Strategy<Value = Author> {
    let tag = "[a-z0-9-]{1,32}".prop_map(|tag| CredentialTag::parse(tag).unwrap());
    (user(), tag, "[a-z.]{0,20}", any::<String>()).prop_map(|(user, tag, action, target)| Author {
        user,
        tag,
        action,
        target,
    })
}

pub(crate) fn revision() -> impl Strategy<Value = Revision> {
    let made = (1..u64::MAX, time(), of(author()));
    let made = made.prop_map(|(number, at, author)| Made { number, at, author });
    (made, json()).prop_map(|(made, sealed)| Revision { made, sealed })
}

/// Server, digest and list.
pub(crate) fn catalogue() -> impl Strategy<Value = (String, String, StoredListing)> {
    let tool = ("\\PC{0,20}", json()).prop_map(|(name, definition)| RawTool { name, definition });
    let tasks = of(proptest::sample::select(vec![TaskProtocol::Extension, TaskProtocol::Core]));
    ("\\PC{0,150}", "[0-9a-f]{32}", vec(tool, 0..6), tasks, time(), time()).prop_map(
        |(server, digest, tools, tasks, listed_at, fresh_until)| {
            (server, digest, StoredListing { tools, tasks, listed_at, fresh_until })
        },
    )
}

pub(crate) fn api_key() -> impl Strategy<Value = StoredKey> {
    let name = "\\PC{0,60}x".prop_map(|text| KeyName::parse(text).unwrap());
    let role = prop_oneof![Just(Role::Admin), Just(Role::User)];
    let scope = of(vec("\\PC{0,30}", 0..4));
    ("[0-9a-z]{12}", name, thread_key(), role, scope, (time(), of(time()), any::<[u8; 32]>())).prop_map(
        |(id, name, thread, role, scope, (created_at, revoked_at, digest))| StoredKey {
            id: KeyId::parse(id).unwrap(),
            name,
            user: thread.user,
            role,
            scope: scope.map_or(Scope::All, |names| Scope::Only(names.into_iter().collect())),
            created_at,
            revoked_at,
            digest: KeyDigest::stored(digest),
        },
    )
}

pub(crate) fn audit_record() -> impl Strategy<Value = AuditRecord> {
    let outcome = prop_oneof![
        Just(Came::Requested),
        Just(Came::Done),
        "\\PC{0,60}".prop_map(|reason| Came::Failed { reason }),
    ];
    ("[0-9a-f]{32}", time(), thread_key(), "[a-z0-9-]{1,32}", ("[a-z.]{1,20}", "\\PC{0,60}"), outcome)
        .prop_map(|(id, at, thread, tag, (action, target), outcome)| AuditRecord {
            id,
            at,
            user: thread.user,
            tag: CredentialTag::parse(tag).unwrap(),
            action,
            target,
            outcome,
        })
}

/// Hex of a generator's bytes: text that deflates to little more than half.
pub(crate) fn noise(bytes: usize) -> String {
    let mut state = 1_u64;
    let digits = std::iter::repeat_with(|| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        hex::encode((state >> 32).to_be_bytes()).split_off(8)
    });
    digits.take(bytes.div_ceil(8)).collect()
}
