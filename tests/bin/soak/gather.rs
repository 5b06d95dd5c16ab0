//! What is left when everything is over: the table by its stores, and the servers' ledgers.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use acceptance::audit::{Facts, RemoteFacts, TaskFacts};
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::AttributeValue;
use pudu::example::{Act, Example, State};
use pudu::house::House;
use pudu_app::ports::{Clock, DueIndex, EventLog, NoteKey, NoteStore, SHARDS, TaskStore};
use pudu_domain::{Lane, Status, Task, TaskSpec, ThreadId, ThreadKey};
use pudu_dynamo::schema::TABLE_KEY;
use pudu_lambda::clock::SystemClock;

/// More than any thread has, of tasks and of events.
const ALL: usize = 1_000;
/// Later than anything is due.
const EVER: Duration = Duration::from_secs(365 * 86_400);

/// Whether nothing in the table still waits for a worker, now or later.
pub(crate) async fn is_settled(house: &House) -> anyhow::Result<bool> {
    for lane in [Lane::Cancel, Lane::Poll, Lane::Intent, Lane::Notify, Lane::Delete] {
        for shard in 0..SHARDS {
            let page = house.table.due(lane, shard, SystemClock.now() + EVER, 1, None).await?;
            if !page.hints.is_empty() {
                return Ok(false);
            }
        }
    }
    Ok(true)
}

/// The rows and events of these threads, and what the servers know; nothing of callers and workers.
pub(crate) async fn facts(house: &House, threads: &[String], servers: &[Example]) -> anyhow::Result<Facts> {
    let mut facts = Facts::default();
    for name in threads {
        let thread = ThreadKey { user: house.user.clone(), thread: ThreadId::parse(name.as_str())? };
        for (task, spec) in house.table.list(&thread, ALL, None).await? {
            facts.tasks.push(task_facts(house, name, task, spec).await?);
        }
        let events = house.table.events(&thread, ALL).await?;
        facts.told.extend(events.iter().map(|told| (told.event.task_id.to_string(), told.version)));
    }
    facts.remotes = servers.iter().flat_map(remotes).collect();
    Ok(facts)
}

/// The rows of the table `table` that belong to these threads.
pub(crate) async fn rows_of(
    client: &Client,
    table: &str,
    threads: &BTreeSet<String>,
) -> anyhow::Result<Vec<String>> {
    let mut pages = client.scan().table_name(table).consistent_read(true).into_paginator().items().send();
    let mut found = Vec::new();
    while let Some(row) = pages.try_next().await? {
        let key = TABLE_KEY.map(|name| match row.get(name) {
            Some(AttributeValue::S(text)) => text.as_str(),
            _ => "",
        });
        let [pk, sk] = key;
        if pk
            .rsplit_once('#')
            .is_some_and(|(kind, name)| kind.starts_with("thread#") && threads.contains(name))
        {
            found.push(format!("{pk} {sk}"));
        }
    }
    Ok(found)
}

async fn task_facts(house: &House, thread: &str, task: Task, spec: TaskSpec) -> anyhow::Result<TaskFacts> {
    let mut notes = BTreeMap::new();
    for version in 1..=task.attention.last {
        let key = NoteKey { task: task.key.clone(), version };
        if let Some(note) = NoteStore::load(&*house.table, &key).await? {
            notes.insert(version, note.state.as_str());
        }
    }
    Ok(TaskFacts {
        id: task.key.id.to_string(),
        thread: thread.to_owned(),
        status: task.status(),
        remote: spec.remote.map(|remote| remote.as_str().to_owned()),
        attention: task.attention.version,
        versions: task.attention.last,
        notes,
    })
}

fn remotes(server: &Example) -> Vec<RemoteFacts> {
    let asked: BTreeSet<String> = server
        .log()
        .seen
        .into_iter()
        .filter(|seen| matches!(seen.act, Act::Cancelled | Act::CancelledInVain))
        .map(|seen| seen.id)
        .collect();
    let now = SystemClock.now();
    let facts = |report: pudu::example::Report| RemoteFacts {
        status: match report.state(now) {
            State::Running => Status::Working,
            State::InputRequired => Status::InputRequired,
            State::Completed => Status::Completed,
            State::Failed => Status::Failed,
            State::Cancelled => Status::Cancelled,
        },
        cancel_asked: asked.contains(&report.id),
        id: report.id,
        // Every errand is titled with its thread.
        thread: report.order.title,
    };
    server.reports().into_iter().map(facts).collect()
}
