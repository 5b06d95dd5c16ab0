//! What does not grow: an unchanged poll, its claim, and a poller's look through its lanes, with up to a million rows in the
//! index that are not due.

use std::sync::Arc;
use std::time::{Duration, Instant};

use acceptance::{HandClock, MeteredTable};
use anyhow::Context;
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::{AttributeValue, PutRequest, WriteRequest};
use pudu_app::ports::{Clock, SHARDS, TaskStore};
use pudu_domain::task::Command;
use pudu_domain::{Lane, Status, TaskId, TaskKey, Timestamp};
use pudu_dynamo::schema::{INDEX_KEY, TABLE_KEY};
use pudu_testkit::fixture;
use tokio::task::JoinSet;

use crate::life::Life;
use crate::row::Row;

const NOT_DUE: [u64; 4] = [1_000, 10_000, 100_000, 1_000_000];
/// Later than the bench's clock gets.
const YEAR: Duration = Duration::from_secs(365 * 86_400);
/// Polls and looks that are measured at each size, and before that.
const POLLS: usize = 400;
const LOOKS: usize = 40;
const WARM_UP: usize = 20;
/// Rows of one request, which is the most that there may be, and requests at once.
const BATCH: u64 = 25;
const AT_ONCE: usize = 4;

/// A row as the store writes it, from which others are made.
type Template = std::collections::HashMap<String, AttributeValue>;

/// Fills the table further and further, and measures at each size.
pub(crate) async fn run(out: &mut impl FnMut(Row)) -> anyhow::Result<()> {
    let clock = Arc::new(HandClock::default());
    let metered = MeteredTable::new(clock.clone()).await;
    let life = Life::new(metered, clock.clone());
    let key = fixture::task_key(&fixture::thread("grow"), clock.now(), 0);
    life.submit(&key, clock.now(), None).await?;
    let template = hot_row(life.metered.client()).await?;
    let mut made = 0;
    for size in NOT_DUE {
        let began = Instant::now();
        fill(life.metered.client(), &template, made..size, clock.now()).await?;
        made = size;
        let filling = began.elapsed().as_secs_f64();
        let row = Row::of("growth").with("not_due", size);
        out(measured(row, &life, &clock, &key).await?.number("filling_seconds", filling));
    }
    Ok(())
}

async fn measured(row: Row, life: &Life, clock: &HandClock, key: &TaskKey) -> anyhow::Result<Row> {
    let mut claims = Vec::new();
    let mut polls = Vec::new();
    for number in 0..WARM_UP + POLLS {
        if number == WARM_UP {
            life.forget();
        }
        clock.advance(Duration::from_secs(60));
        let began = Instant::now();
        life.poll(key, Command::RecordStatus(fixture::said(Status::Working))).await?;
        polls.push(began.elapsed());
    }
    let poll = life.metered.costs.take();
    for _ in 0..POLLS {
        clock.advance(Duration::from_secs(60));
        let lease = fixture::lease("bench", clock.now());
        let began = Instant::now();
        let claimed = TaskStore::claim(&*life.metered.table, key, Lane::Poll, lease).await?;
        claims.push(began.elapsed());
        claimed.context("it is due")?;
        // The next claim comes when this lease is over.
        clock.advance(fixture::LEASE);
    }
    // The task is not due while the lanes are looked through: what is measured is what finds nothing.
    life.poll(key, Command::RecordStatus(fixture::said(Status::Working))).await?;
    let mut looks = Vec::new();
    for number in 0..WARM_UP + LOOKS {
        if number == WARM_UP {
            life.forget();
        }
        let began = Instant::now();
        life.look().await?;
        looks.push(began.elapsed());
    }
    let look = life.metered.costs.take();
    let each = |total: f64, count: usize| total / count as f64;
    Ok(row
        .number("poll_write", each(poll.write, POLLS))
        .number("poll_read", each(poll.read, POLLS))
        .precise("poll_ms_p50", median(polls.split_off(WARM_UP)))
        .precise("claim_ms_p50", median(claims))
        .number("look_read", each(look.read, LOOKS))
        .precise("look_ms_p50", median(looks.split_off(WARM_UP))))
}

fn median(mut took: Vec<Duration>) -> f64 {
    took.sort();
    took.get(took.len() / 2).map_or(f64::NAN, |middle| middle.as_secs_f64() * 1000.0)
}

/// The one task's hot row.
async fn hot_row(client: &Client) -> anyhow::Result<Template> {
    let page = client.scan().table_name(MeteredTable::NAME).send().await?;
    let [_, sk] = TABLE_KEY;
    let is_hot = |row: &Template| {
        row.contains_key(INDEX_KEY[0])
            && matches!(row.get(sk), Some(AttributeValue::S(sk)) if sk.starts_with("task#"))
    };
    page.items.unwrap_or_default().into_iter().find(is_hot).context("the task has no hot row")
}

/// Writes copies of the row past the stores, many at once: each a task of its own, due in a year, evenly over the shards.
async fn fill(
    client: &Client,
    template: &Template,
    numbers: std::ops::Range<u64>,
    now: Timestamp,
) -> anyhow::Result<()> {
    let mut writing: JoinSet<anyhow::Result<()>> = JoinSet::new();
    let mut next = numbers.start;
    while next < numbers.end || !writing.is_empty() {
        while writing.len() < AT_ONCE && next < numbers.end {
            let batch = next..(next + BATCH).min(numbers.end);
            next = batch.end;
            let rows = batch.map(|number| copy(template, number, now)).collect::<anyhow::Result<Vec<_>>>()?;
            let request = client.batch_write_item().request_items(MeteredTable::NAME, rows);
            writing.spawn(async move {
                let answer = request.send().await?;
                anyhow::ensure!(
                    answer.unprocessed_items.is_none_or(|left| left.is_empty()),
                    "the engine left rows out"
                );
                Ok(())
            });
        }
        if let Some(written) = writing.join_next().await {
            written??;
        }
    }
    Ok(())
}

fn copy(template: &Template, number: u64, now: Timestamp) -> anyhow::Result<WriteRequest> {
    let [_, sk] = TABLE_KEY;
    let [due_pk, due_at] = INDEX_KEY;
    let mut tail = [0xff; 10];
    for (byte, value) in tail.iter_mut().skip(2).zip(number.to_be_bytes()) {
        *byte = value;
    }
    let at = now + YEAR + Duration::from_millis(number);
    let lane = format!("{}#{:02}", Lane::Poll.as_str(), number % u64::from(SHARDS));
    let mut row = template.clone();
    row.insert(sk.to_owned(), AttributeValue::S(format!("task#{}", TaskId::new(now, tail))));
    row.insert(due_pk.to_owned(), AttributeValue::S(lane));
    row.insert(due_at.to_owned(), AttributeValue::N(at.as_millis().to_string()));
    let put = PutRequest::builder().set_item(Some(row)).build()?;
    Ok(WriteRequest::builder().put_request(put).build())
}
