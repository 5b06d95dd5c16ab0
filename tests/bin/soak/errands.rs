//! What callers will do: a thousand tasks with mixed lives, drawn from the seed before anything starts. Pure.

use std::time::Duration;

use pudu_testkit::SeededRandom;
use serde_json::{Value, json};

use crate::story::Settings;

/// Tasks of one thread, so that all of its events fit on one page of the API.
const PER_THREAD: usize = 10;
/// The last submission comes after this share of the rough time, in percent.
const SUBMITTING: u32 = 70;
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

/// All of them, in the order of their submission.
pub(crate) fn draw(settings: &Settings, random: &SeededRandom) -> Vec<Errand> {
    let mut errands: Vec<Errand> = (0..settings.tasks).map(|number| one(number, settings, random)).collect();
    errands.sort_by_key(|errand| errand.at);
    errands
}

fn one(number: usize, settings: &Settings, random: &SeededRandom) -> Errand {
    let server = number % settings.servers;
    let submitting = settings.rough * SUBMITTING / 100;
    // The server that hangs takes its tasks before it does: a submission that is not answered is another story.
    let at = if server == 0 { Duration::ZERO } else { random.millis(0..millis(submitting)) };
    let most = settings.rough.saturating_sub(at) + BEYOND;
    let work = random.millis(1_000..millis(most));
    let thread = format!("soak-{}", number / PER_THREAD);
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
    let cancel_after = random.chance(15).then(|| random.millis(0..millis(work)));
    Errand { at, server, thread, arguments, cancel_after }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
