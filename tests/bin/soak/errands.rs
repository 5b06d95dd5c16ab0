//! What callers will do: a thousand tasks with mixed lives, drawn from the seed before anything starts. Pure.

use std::collections::BTreeMap;
use std::ops::Range;
use std::time::Duration;

use pudu_testkit::SeededRandom;
use serde_json::{Value, json};

use crate::story::Settings;

/// Tasks of one thread, so that all of its events fit on one page of the API.
const PER_THREAD: usize = 10;
/// The last submission comes after this share of the rough time, in percent.
const SUBMITTING: u32 = 70;
/// Threads are deleted in this part of the rough time, in percent.
const DELETING: Range<u32> = 75..95;
/// No task works longer than this beyond the rough time: the drain is for what is late, not for what is long.
const BEYOND: Duration = Duration::from_secs(5);

/// One task of one caller.
#[derive(Debug, Clone)]
pub(crate) struct Errand {
    /// When it is submitted, from the beginning.
    pub(crate) at: Duration,
    /// To which server, by number.
    pub(crate) server: usize,
    /// In which thread.
    pub(crate) thread: String,
    /// With which arguments.
    pub(crate) arguments: Value,
    /// When its caller wants it cancelled, from its submission.
    pub(crate) cancel_after: Option<Duration>,
}

/// Everything that will be done.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    /// In the order of their submission.
    pub(crate) errands: Vec<Errand>,
    /// Threads that are deleted, and when; after their last submission in any case.
    pub(crate) deletions: BTreeMap<String, Duration>,
}

impl Plan {
    /// Draws all of it.
    pub(crate) fn draw(settings: &Settings, random: &SeededRandom) -> Self {
        let threads = settings.tasks.div_ceil(PER_THREAD);
        let late = millis(settings.rough * DELETING.start / 100)..millis(settings.rough * DELETING.end / 100);
        let doomed = (0..threads).filter(|_| random.chance(6)).collect::<Vec<_>>();
        let deletions: BTreeMap<String, Duration> =
            doomed.into_iter().map(|number| (name(number), random.millis(late.clone()))).collect();
        let mut errands: Vec<Errand> =
            (0..settings.tasks).map(|number| one(number, &deletions, settings, random)).collect();
        errands.sort_by_key(|errand| errand.at);
        Self { errands, deletions }
    }

    /// Every thread, with its number of tasks.
    pub(crate) fn threads(&self) -> BTreeMap<String, usize> {
        let mut threads = BTreeMap::new();
        for errand in &self.errands {
            *threads.entry(errand.thread.clone()).or_default() += 1;
        }
        threads
    }
}

fn name(thread: usize) -> String {
    format!("soak-{thread}")
}

fn one(
    number: usize,
    deletions: &BTreeMap<String, Duration>,
    settings: &Settings,
    random: &SeededRandom,
) -> Errand {
    let server = number % settings.servers;
    let submitting = settings.rough * SUBMITTING / 100;
    // The server that hangs takes its tasks before it does: a submission that is not answered is another story.
    let at = if server == 0 { Duration::ZERO } else { random.millis(0..millis(submitting)) };
    let most = settings.rough.saturating_sub(at) + BEYOND;
    let work = random.millis(1_000..millis(most));
    let thread = name(number / PER_THREAD);
    let mut arguments = json!({ "title": thread, "duration_seconds": work.as_secs_f64() });
    let mut set = |name: &str, value: Value| {
        if let Value::Object(fields) = &mut arguments {
            fields.insert(name.to_owned(), value);
        }
    };
    if random.chance(15) {
        set("fail", true.into());
    }
    if random.chance(20) {
        // Half of the work comes after the answer, so the whole life stays within bounds.
        let wait = random.millis(2_000..12_000).min(most.saturating_sub(work));
        set("ask", "Which year?".into());
        set("answer_after_seconds", wait.as_secs_f64().into());
    }
    if random.chance(30) {
        set("poll_after_seconds", random.millis(500..8_000).as_secs_f64().into());
    }
    // Slow enough to be overtaken by a cancel, and just within what a call may take.
    if random.chance(20) {
        set("status_delay_seconds", random.millis(200..2_000).as_secs_f64().into());
    }
    // Who deletes a thread cancels its tasks by that.
    let cancels = random.chance(15) && !deletions.contains_key(&thread);
    let cancel_after = cancels.then(|| random.millis(0..millis(work)));
    Errand { at, server, thread, arguments, cancel_after }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
