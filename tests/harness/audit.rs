//! What a run with real processes left behind, judged when it is over. Pure: whoever ran it gathers the facts.
//!
//! Three sources say what happened, and none of them is believed alone: the table (tasks, notifications, delivered events),
//! the servers' own ledgers, and the words of the workers and of a reader who watched meanwhile.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use pudu_domain::Status;

/// One version of a task's event: the task's local id, and the version.
pub type Version = (String, u32);

/// A task's rows at the end.
#[derive(Debug, Clone)]
pub struct TaskFacts {
    /// Its local id.
    pub id: String,
    /// Its thread.
    pub thread: String,
    /// Where it stands.
    pub status: Status,
    /// The server's handle, if there is one.
    pub remote: Option<String>,
    /// The version of the event that is true now; 0 is none.
    pub attention: u32,
    /// The highest version ever made.
    pub versions: u32,
    /// How each version's notification stands, by the row's own word.
    pub notes: BTreeMap<u32, &'static str>,
}

/// A task as its server knows it.
#[derive(Debug, Clone)]
pub struct RemoteFacts {
    /// The server's handle.
    pub id: String,
    /// The thread that it was submitted from.
    pub thread: String,
    /// Where it stands.
    pub status: Status,
    /// Whether the server was ever asked to cancel it.
    pub cancel_asked: bool,
}

/// A task that a caller was told of.
#[derive(Debug, Clone)]
pub struct Promise {
    /// Its local id.
    pub task: String,
    /// Its thread.
    pub thread: String,
}

/// Everything that is known.
#[derive(Debug, Clone, Default)]
pub struct Facts {
    /// Local ids that callers were given, each with its thread.
    pub promised: Vec<Promise>,
    /// Threads that callers deleted.
    pub deleted: BTreeSet<String>,
    /// Rows that are left of them.
    pub left_over: Vec<String>,
    /// Requests of callers that were refused and should not have been, with the answers.
    pub refused: Vec<String>,
    /// The rows of all threads.
    pub tasks: Vec<TaskFacts>,
    /// What threads were told, each thread in the order of its deliveries.
    pub told: Vec<Version>,
    /// What a reader saw of it meanwhile, each with its moment; the same version at two moments was delivered twice.
    pub seen: BTreeSet<(Version, String)>,
    /// How often workers say that they delivered it. One that was killed may have said nothing.
    pub claimed: BTreeMap<Version, usize>,
    /// The servers' ledgers.
    pub remotes: Vec<RemoteFacts>,
}

/// What it comes to. Its text is the line that a run ends with.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Verdict {
    /// Tasks in the table, and those that went with their threads.
    pub tasks: usize,
    /// Tasks without their end, without an event that should have been told, or that nobody heard of again; rows that outlived
    /// their thread.
    pub lost: usize,
    /// Deliveries of what had been delivered, or had been overtaken by a newer version.
    pub duplicated: usize,
    /// Remote tasks that no row owns, that nobody cancelled, and of which no thread was told.
    pub untracked: usize,
    /// A sentence for each that is counted.
    pub findings: Vec<String>,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { tasks, lost, duplicated, untracked, .. } = self;
        write!(f, "tasks {tasks}, lost {lost}, duplicated {duplicated}, untracked {untracked}")
    }
}

impl Verdict {
    /// Whether nothing was lost, duplicated or left untracked.
    pub fn is_clean(&self) -> bool {
        (self.lost, self.duplicated, self.untracked) == (0, 0, 0)
    }
}

impl Facts {
    /// Judges them.
    pub fn judge(&self) -> Verdict {
        let known: BTreeSet<&str> = self.tasks.iter().map(|task| task.id.as_str()).collect();
        let gone = self.promised.iter().filter(|promise| {
            self.deleted.contains(&promise.thread) && !known.contains(promise.task.as_str())
        });
        let mut verdict = Verdict { tasks: self.tasks.len() + gone.count(), ..Verdict::default() };
        self.lost(&mut verdict);
        self.duplicated(&mut verdict);
        self.untracked(&mut verdict);
        verdict
    }

    fn lost(&self, verdict: &mut Verdict) {
        let known: BTreeSet<&str> = self.tasks.iter().map(|task| task.id.as_str()).collect();
        let told: BTreeSet<&Version> = self.told.iter().collect();
        let ends: BTreeMap<&str, Status> =
            self.remotes.iter().map(|remote| (remote.id.as_str(), remote.status)).collect();
        let mut findings: Vec<String> =
            self.refused.iter().map(|answer| format!("a caller was refused: {answer}")).collect();
        findings
            .extend(self.left_over.iter().map(|row| format!("its thread was deleted, not the row {row}")));
        let missing = |promise: &&Promise| {
            !known.contains(promise.task.as_str()) && !self.deleted.contains(&promise.thread)
        };
        let missing = self.promised.iter().filter(missing);
        findings.extend(missing.map(|promise| format!("{} was promised and has no row", promise.task)));
        let erased: BTreeSet<&str> = self
            .promised
            .iter()
            .filter(|promise| self.deleted.contains(&promise.thread))
            .map(|promise| promise.task.as_str())
            .collect();
        let gone = |((task, _), _): &&(Version, String)| !erased.contains(task.as_str());
        let gone = self.seen.iter().filter(gone).filter(|(version, _)| !told.contains(version));
        findings.extend(
            gone.map(|((task, version), _)| format!("{task} was told version {version}, which is gone")),
        );
        for task in &self.tasks {
            let end = task.remote.as_deref().and_then(|remote| ends.get(remote));
            // One finding per task, since it is tasks that are counted.
            let missing = task.unfinished().or_else(|| task.untold(&told)).or_else(|| match end {
                Some(end) if *end != task.status => {
                    Some(format!("ended {}, and {} at its server", task.status.as_str(), end.as_str()))
                }
                _ => None,
            });
            findings.extend(missing.map(|what| format!("{} {what}", task.id)));
        }
        verdict.lost = findings.len();
        verdict.findings.extend(findings);
    }

    fn duplicated(&self, verdict: &mut Verdict) {
        let mut newest: BTreeMap<&str, u32> = BTreeMap::new();
        let mut findings = Vec::new();
        for (task, version) in &self.told {
            let last = newest.entry(task).or_default();
            if version <= last {
                findings.push(format!("{task} was told version {version} after version {last}"));
            }
            *last = (*last).max(*version);
        }
        let mut moments: BTreeMap<&Version, usize> = BTreeMap::new();
        for (version, _) in &self.seen {
            *moments.entry(version).or_default() += 1;
        }
        for ((task, version), count) in moments.into_iter().filter(|(_, count)| *count > 1) {
            findings.push(format!("{task} was seen to be told version {version} at {count} moments"));
        }
        for ((task, version), count) in self.claimed.iter().filter(|(_, count)| **count > 1) {
            findings.push(format!("{count} workers say that they told {task} version {version}"));
        }
        verdict.duplicated = findings.len();
        verdict.findings.extend(findings);
    }

    fn untracked(&self, verdict: &mut Verdict) {
        let owned: BTreeSet<&str> = self.tasks.iter().filter_map(|task| task.remote.as_deref()).collect();
        // A thread that was told of a submission with an unknown outcome knows of one remote task, whichever it was.
        let mut reports: BTreeMap<&str, usize> = BTreeMap::new();
        for task in self.tasks.iter().filter(|task| task.is_report_of_unknown(&self.told)) {
            *reports.entry(task.thread.as_str()).or_default() += 1;
        }
        for remote in self.remotes.iter().filter(|remote| !owned.contains(remote.id.as_str())) {
            let ended_in_time = remote.status.is_terminal() && self.deleted.contains(&remote.thread);
            if remote.cancel_asked || ended_in_time {
                continue;
            }
            match reports.get_mut(remote.thread.as_str()) {
                Some(left) if *left > 0 => *left -= 1,
                _ => {
                    verdict.untracked += 1;
                    verdict
                        .findings
                        .push(format!("nobody owns {}, submitted from {}", remote.id, remote.thread));
                }
            }
        }
    }
}

impl TaskFacts {
    fn unfinished(&self) -> Option<String> {
        (!self.status.is_terminal()).then(|| format!("has no end: it is {}", self.status.as_str()))
    }

    /// Each version either reached its thread, or was judged not to be worth telling; the one that is true now must have
    /// reached it.
    fn untold(&self, told: &BTreeSet<&Version>) -> Option<String> {
        if self.remote.is_some() && self.attention == 0 {
            return Some("has no event of its end".to_owned());
        }
        (1..=self.versions).find_map(|version| {
            let was_told = told.contains(&(self.id.clone(), version));
            let note = self.notes.get(&version).copied().unwrap_or("missing");
            let settled = match note {
                "delivered" => was_told,
                "withdrawn" | "superseded" => version != self.attention && !was_told,
                _ => false,
            };
            let state = if was_told { "told" } else { "not told" };
            (!settled).then(|| format!("has a version {version} that is {state} and {note}"))
        })
    }

    fn is_report_of_unknown(&self, told: &[Version]) -> bool {
        let current = (self.id.clone(), self.attention);
        self.remote.is_none() && self.status == Status::Failed && told.contains(&current)
    }
}
